//! Aggregation: one [`Group`] for each distinct key, one [`Accumulator`] for each aggregate of a group.
//!
//! Groups come out in the order of their first rows (`folding`). With grouping sets every row goes to a group
//! of each set, and a set without keys has its single group even if there were no rows. What a single group
//! gathers (arrays, texts, DISTINCT, ORDER BY inside an aggregate) stays in memory.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Register, Stage, StageRows, StageRun};
use hyades_types::collect;
use hyades_types::environment::Environment;
use hyades_types::error::Result;
use hyades_types::guest;
use hyades_types::memory;
use hyades_types::value::{SqlType, Value};

use super::accumulator::Accumulator;
use super::folding::{Fold, Folding};
use super::row_keys::RowKeys;
use super::sorter::sort;
use super::staged_row::{Row, held_bytes};
use crate::bind::aggregation::AggregateKind;
use crate::plan::stage::{Grouping, SortKey};

/// The size of an aggregate's state in a group, apart from what it gathers.
const CALL_BYTES: usize = size_of::<Accumulator>() + size_of::<RowKeys>() + size_of::<Vec<Value>>();

/// The number of rows for which a group reserves memory at first, when rows wait to be sorted.
const FEW_WAITING: usize = 4;

#[derive(Debug)]
pub(super) struct Group {
    /// The number of its grouping set, from 1.
    set: i32,
    keys: Row,
    accumulators: Vec<Accumulator>,
    /// For DISTINCT aggregates, if there are any: the arguments seen.
    seen: Vec<RowKeys>,
    /// For aggregates with ORDER BY, if there are any: arguments and keys of the rows to be sorted, one row
    /// after the other.
    waiting: Vec<Vec<Value>>,
}

/// A grouping in progress.
struct GroupingRun {
    grouping: Arc<Grouping>,
    folding: Folding<Grouping>,
    /// The single group of a grouping without keys.
    only: Option<Group>,
    is_empty: bool,
}

impl Group {
    fn new(grouping: &Grouping, set: usize, keys: Row) -> Group {
        let (has_distinct, has_order) = (
            grouping.calls.iter().any(|call| call.is_distinct),
            grouping.calls.iter().any(|call| !call.order.is_empty()),
        );
        let width = |is_needed: bool| if is_needed { grouping.calls.len() } else { 0 };
        Group {
            set: i32::try_from(set).unwrap_or(i32::MAX) + 1,
            keys,
            accumulators: grouping.calls.iter().map(Accumulator::new).collect(),
            seen: (0..width(has_distinct)).map(|_| RowKeys::default()).collect(),
            waiting: vec![Vec::new(); width(has_order)],
        }
    }

    /// Returns how many bytes it gathers.
    fn add(&mut self, grouping: &Grouping, values: &[Value]) -> Result<usize> {
        let mut gathered = 0;
        for (at, call) in grouping.calls.iter().enumerate() {
            let argument = call.arguments.first().map(|first| &values[*first]);
            if call.is_plain() && self.accumulators[at].add_plain(call.kind, argument) {
                continue;
            }
            if call.filter.is_some_and(|filter| values[filter].as_bool() != Some(true)) {
                continue;
            }
            // The arguments are adjacent, and the keys of the order follow them.
            let first = call.arguments.first().copied().unwrap_or_default();
            let arguments = &values[first..first + call.arguments.len()];
            if arguments.first().is_some_and(Value::is_null) && !call.kind.takes_null() {
                continue;
            }
            if call.is_distinct {
                let is_char = matches!(call.argument_type, SqlType::Char(_));
                if !self.seen[at].is_new(arguments, is_char)? {
                    continue;
                }
                gathered += held_bytes(arguments);
            }
            if call.order.is_empty() {
                let accumulator = &mut self.accumulators[at];
                let before = accumulator.text_bytes();
                accumulator.add(call.kind, arguments)?;
                gathered += accumulator.text_bytes().saturating_sub(before);
                if call.kind.keeps_values() {
                    let kept = if call.kind == AggregateKind::Collect { arguments } else { &arguments[..1] };
                    gathered += held_bytes(kept);
                }
            } else {
                let width = call.arguments.len() + call.order.len();
                let values = &values[first..first + width];
                gathered += held_bytes(values);
                let waiting = &mut self.waiting[at];
                if waiting.is_empty() {
                    waiting.reserve(FEW_WAITING * width);
                }
                memory::check_growth::<Value>(waiting.capacity(), waiting.len() + values.len())?;
                for value in values {
                    waiting.push(collect::values::copy(value)?);
                }
            }
        }
        Ok(gathered)
    }

    /// Its keys, followed by the results.
    fn result(self, grouping: &Grouping) -> Result<Row> {
        let mut row = self.keys;
        for (at, (mut accumulator, call)) in self.accumulators.into_iter().zip(&grouping.calls).enumerate() {
            if !call.order.is_empty() {
                let first = call.arguments.first().copied().unwrap_or_default();
                let order: Vec<SortKey> =
                    call.order.iter().map(|key| SortKey { value: key.value - first, ..*key }).collect();
                let mut rows: Vec<&[Value]> =
                    self.waiting[at].chunks_exact(call.arguments.len() + call.order.len()).collect();
                sort(&mut rows, &order)?;
                for values in rows {
                    guest::spend(1)?;
                    accumulator.add(call.kind, &values[..call.arguments.len()])?;
                }
            }
            row.push(match call.kind {
                AggregateKind::Grouping => Value::Integer(self.set),
                _ => accumulator.result(call)?,
            });
        }
        Ok(row)
    }
}

impl Stage for Grouping {
    fn registers(&self) -> Vec<Register> {
        Vec::new()
    }

    fn start(self: Arc<Self>, _registers: &[Value], environment: &Environment) -> Box<dyn StageRun> {
        let is_one = self.keys == 0 && self.sets.is_empty();
        Box::new(GroupingRun {
            folding: Folding::new(Arc::clone(&self), environment.work_memory.clone()),
            only: (is_one && !self.is_grouped).then(|| Group::new(&self, 0, Row::new())),
            is_empty: true,
            grouping: self,
        })
    }
}

impl Fold for Grouping {
    type State = Group;

    fn sets(&self) -> usize {
        self.sets.len().max(1)
    }

    fn push_key(&self, set: usize, values: &[Value], key: &mut RowKeys) {
        let mut push = |at: usize| key.push_perhaps_char(&values[at], self.chars.contains(&at));
        match self.sets.get(set) {
            Some(set) => set.iter().for_each(|at| push(*at)),
            None => (0..self.keys).for_each(push),
        }
    }

    fn state(&self, set: usize, values: &mut [Value]) -> (Group, usize) {
        let keys: Row = match self.sets.get(set) {
            Some(set) => {
                let mut keys = vec![Value::Null; self.keys];
                set.iter().for_each(|key| keys[*key] = values[*key].clone());
                keys
            }
            None => values[..self.keys].iter_mut().map(std::mem::take).collect(),
        };
        let bytes = held_bytes(&keys) + size_of::<Group>() + self.calls.len() * CALL_BYTES;
        (Group::new(self, set, keys), bytes)
    }

    fn add(&self, group: &mut Group, values: &mut [Value]) -> Result<usize> {
        group.add(self, values)
    }

    fn finish(&self, group: Group, rows: &mut Vec<Row>) -> Result<()> {
        rows.push(group.result(self)?);
        Ok(())
    }
}

impl StageRun for GroupingRun {
    fn key_width(&self) -> usize {
        let has_plain_keys = self.grouping.sets.is_empty() && self.grouping.chars.is_empty();
        if has_plain_keys && self.only.is_none() { self.grouping.keys } else { 0 }
    }

    fn knows(&mut self, key: &[u8]) -> bool {
        self.folding.knows(key)
    }

    /// The first values are the keys.
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        self.is_empty = false;
        match &mut self.only {
            Some(group) => group.add(&self.grouping, values).map(drop),
            None => self.folding.feed(values),
        }
    }

    fn finish(self: Box<Self>) -> Result<StageRows> {
        let grouping = self.grouping;
        if let Some(group) = self.only {
            return Ok(StageRows::InMemory(vec![group.result(&grouping)?]));
        }
        if !self.is_empty {
            return self.folding.finish();
        }
        // A set without keys has its single group even then.
        let without_keys = grouping.sets.iter().enumerate().filter(|(_, set)| set.is_empty());
        let keys = vec![Value::Null; grouping.keys];
        let groups = without_keys.map(|(number, _)| Group::new(&grouping, number, keys.clone()));
        let rows = groups.map(|group| group.result(&grouping)).collect::<Result<Vec<Row>>>()?;
        Ok(StageRows::InMemory(rows))
    }
}
