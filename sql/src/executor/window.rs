//! Window functions: for each row a value computed from the rows of its partition.
//!
//! ```text
//!   rows -> sorted by partition and order -> one partition after the other -> rows with results -> next pass
//! ```
//! A pass (`plan::window_stage`) reads its sorted rows one by one and keeps those of the current partition
//! that some function may still look at: the frames of following rows never begin before the current one, so
//! what lies in front of all of them is dropped. `row_number` keeps a single row, `sum` over all rows of the
//! partition keeps all. Rows that exceed `work_mem` go to a file. A pass makes its rows when they are asked
//! for, so a pass that needs no sort of its own follows without keeping anything in between.
//!
//! Files:
//! * `window_rows`: the rows of a partition, and the peers of the current one;
//! * `frame_bounds`: where the frame of the current row begins and ends; `in_range`: the same for RANGE with
//!   an offset;
//! * `window_functions`: the functions.
//!
//! Reference: Leis et al., "Efficient Processing of Window Functions in Analytical SQL Queries" (2015);
//! PostgreSQL 15's `nodeWindowAgg.c`.

mod frame_bounds;
mod in_range;
mod window_functions;
mod window_rows;

use std::sync::Arc;

use hyades_engine::procedure::ir::{Register, Stage, StageRows, StageRun};
use hyades_types::environment::{Environment, WorkMemory};
use hyades_types::error::Result;
use hyades_types::value::Value;
use jiff::tz::TimeZone;

use super::sorter::{Sorted, Sorter};
use super::staged_row::Row;
use crate::plan::window_stage::{StagedBound, WindowPass, WindowStage};
use frame_bounds::FrameBounds;
use window_functions::CallRun;
use window_rows::{Peers, Rows, WindowRows};

/// How many passes may ask each other for rows: each takes some of the stack. More than that meet at a sort,
/// though it has no keys.
const LONGEST_CHAIN: usize = 16;

/// The stage in progress: it collects the rows.
struct WindowRun {
    stage: Arc<WindowStage>,
    /// The rows in the order of the first pass.
    sorter: Sorter,
    /// The offsets of each pass and window: of the start and of the end.
    offsets: Vec<Vec<[Value; 2]>>,
    time_zone: TimeZone,
    work: WorkMemory,
    /// How many values a row has in the end.
    width: usize,
}

impl Stage for WindowStage {
    fn registers(&self) -> Vec<Register> {
        let windows = self.passes.iter().flat_map(|pass| &pass.windows);
        let bounds = windows.flat_map(|window| [window.frame.start, window.frame.end]);
        bounds
            .filter_map(|bound| match bound {
                StagedBound::Preceding(register) | StagedBound::Following(register) => Some(register),
                _ => None,
            })
            .collect()
    }

    fn start(self: Arc<Self>, registers: &[Value], environment: &Environment) -> Box<dyn StageRun> {
        let value = |bound: StagedBound| match bound {
            StagedBound::Preceding(register) | StagedBound::Following(register) => {
                registers.get(usize::from(register)).cloned().unwrap_or_default()
            }
            _ => Value::Null,
        };
        let offsets = self.passes.iter().map(|pass| {
            let windows = pass.windows.iter();
            windows.map(|window| [value(window.frame.start), value(window.frame.end)]).collect()
        });
        let calls = self.passes.iter().flat_map(|pass| &pass.windows).map(|window| window.calls.len());
        let work = environment.work_memory.clone();
        let keys = self.passes.first().map(|pass| pass.sort.clone()).unwrap_or_default();
        Box::new(WindowRun {
            sorter: Sorter::new(keys.into(), (None, false), false, work.clone()),
            offsets: offsets.collect(),
            time_zone: environment.time_zone.clone(),
            work,
            width: self.fed + calls.sum::<usize>(),
            stage: self,
        })
    }
}

impl StageRun for WindowRun {
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        // With room for the results.
        let mut row = Row::with_capacity(self.width);
        row.extend(values.iter_mut().map(std::mem::take));
        self.sorter.push(row)
    }

    fn finish(self: Box<Self>) -> Result<StageRows> {
        let WindowRun { stage, sorter, offsets, time_zone, work, .. } = *self;
        let sorted = sorter.finish()?;
        let mut is_spilled = matches!(sorted, Sorted::Spilled(..));
        let mut rows: Rows = Box::new(sorted);
        let mut chained = 0;
        for (number, offsets) in offsets.into_iter().enumerate() {
            let sort = &stage.passes[number].sort;
            chained += 1;
            if number > 0 && (!sort.is_empty() || chained > LONGEST_CHAIN) {
                chained = 1;
                let mut sorter = Sorter::new(sort.clone().into(), (None, false), false, work.clone());
                rows.try_for_each(|row| sorter.push(row?))?;
                let sorted = sorter.finish()?;
                is_spilled = matches!(sorted, Sorted::Spilled(..));
                rows = Box::new(sorted);
            }
            // What a sort holds in memory may stay there.
            let work = if is_spilled { work.clone() } else { WorkMemory::default() };
            let rows_of_pass = WindowRows::new(rows, &stage.passes[number], work);
            rows = Box::new(PassRun::new(&stage, number, offsets, rows_of_pass, &time_zone));
        }
        let answers = rows.map(move |row| {
            let mut row = row?;
            match &stage.output {
                None => drop(row.drain(stage.carried..stage.fed)),
                Some(output) => row = output.iter().map(|at| std::mem::take(&mut row[*at])).collect(),
            }
            Ok(row)
        });
        Ok(StageRows::Later(Box::new(answers)))
    }
}

/// One pass over sorted rows.
struct PassRun {
    stage: Arc<WindowStage>,
    number: usize,
    rows: WindowRows,
    peers: Peers,
    windows: Vec<FramedRun>,
    /// The number of the current row in its partition.
    current: usize,
    is_in_partition: bool,
    /// The results for the current row.
    results: Vec<Value>,
    /// Nothing comes after an error.
    is_over: bool,
}

/// The functions over one frame.
struct FramedRun {
    bounds: FrameBounds,
    uses_frame: bool,
    calls: Vec<CallRun>,
}

impl PassRun {
    fn new(
        stage: &Arc<WindowStage>,
        number: usize,
        offsets: Vec<[Value; 2]>,
        rows: WindowRows,
        time_zone: &TimeZone,
    ) -> PassRun {
        let pass = &stage.passes[number];
        let windows = pass.windows.iter().zip(offsets).map(|(window, offsets)| FramedRun {
            bounds: FrameBounds::new(window.frame, offsets, pass.order.first().copied(), time_zone.clone()),
            uses_frame: window.calls.iter().any(|call| call.function.uses_frame()),
            calls: window.calls.iter().map(|_| CallRun::default()).collect(),
        });
        PassRun {
            windows: windows.collect(),
            rows,
            peers: Peers::default(),
            stage: Arc::clone(stage),
            number,
            current: 0,
            is_in_partition: false,
            results: Vec::new(),
            is_over: false,
        }
    }

    /// Moves to the next row. Returns false if there is none.
    fn advance(&mut self) -> Result<bool> {
        if self.is_in_partition && self.rows.has(self.current)? {
            return Ok(true);
        }
        self.is_in_partition = self.rows.next_partition()?;
        self.current = 0;
        self.peers = Peers::default();
        for window in &mut self.windows {
            window.bounds.restart();
            window.calls.iter_mut().for_each(CallRun::restart);
        }
        Ok(self.is_in_partition)
    }

    fn next_row(&mut self) -> Result<Option<Row>> {
        if !self.advance()? {
            return Ok(None);
        }
        let pass: &WindowPass = &self.stage.passes[self.number];
        let current = self.current;
        let mut needed = current + 1;
        for (run, window) in self.windows.iter_mut().zip(&pass.windows) {
            if run.uses_frame {
                run.bounds.settle(current, &mut self.peers, &mut self.rows)?;
                needed = needed.min(run.bounds.needed());
            }
            for (run_of_call, call) in run.calls.iter_mut().zip(&window.calls) {
                let place = (current, &mut self.peers, &run.bounds);
                self.results.push(run_of_call.value(call, &mut self.rows, place)?);
                needed = needed.min(run_of_call.needed(call, current + 1, &run.bounds));
            }
        }
        self.peers.advance(current, &mut self.rows)?;
        let mut row = self.rows.take(current, needed)?;
        row.append(&mut self.results);
        self.current += 1;
        Ok(Some(row))
    }
}

impl Iterator for PassRun {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        if self.is_over {
            return None;
        }
        let next = self.next_row().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

#[cfg(test)]
mod tests;
