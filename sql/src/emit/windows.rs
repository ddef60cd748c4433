//! Window functions: how their rows are laid out, and what is computed from the results.
//!
//! The stage (`plan::window_stage`) is fed with the columns that are needed afterwards and the values that
//! window functions take. The columns of the result are computed from its output rows, as PostgreSQL does:
//! what only some rows evaluate is not evaluated for the others.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Register};
use hyades_types::error::{Result, SqlState, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};

use super::row_sink::Sink;
use super::select::BoundSelect;
use super::stages::SpooledBody;
use super::{Compiler, Purpose};
use crate::bind::AGGREGATE_PLACEHOLDER;
use crate::bind::aggregation::AggregateOrder;
use crate::bind::tree::{BoundDistinct, OrderTarget};
use crate::bind::windowing::{
    FrameBound, FrameUnit, Offset, WINDOW_PLACEHOLDER, Window, WindowCall, WindowFunction, Windowing,
    is_window_result,
};
use crate::expr;
use crate::plan::level::Step;
use crate::plan::stage::{AggregateCall, SortKey};
use crate::plan::window_stage::{
    StagedBound, StagedCall, StagedFrame, StagedWindow, WindowPass, WindowStage,
};

/// A key of a window, without its type.
type Key<'w> = (&'w Expr, bool, bool);

fn key_of(key: &AggregateOrder) -> Key<'_> {
    (&key.expr, key.is_descending, key.nulls_first)
}

/// Emits these values for each row.
type Feed<'f> = dyn FnMut(&mut Compiler<'_>, Vec<Expr>) -> Result<()> + 'f;

/// A stage, the values with which it is fed, and the place of each call's result after these.
struct LaidOut {
    stage: WindowStage,
    fed: Vec<Expr>,
    results: Vec<usize>,
}

/// The number of the call for whose result this stands.
fn result_number(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Register(register) if is_window_result(expr) => {
            Some(usize::from(register - WINDOW_PLACEHOLDER))
        }
        _ => None,
    }
}

/// The values with which a stage is fed, each once.
#[derive(Default)]
struct Fed {
    exprs: Vec<Expr>,
}

impl Fed {
    fn place_of(&mut self, expr: &Expr) -> usize {
        let known = self.exprs.iter().position(|known| known == expr && !expr::is_volatile(expr));
        known.unwrap_or_else(|| {
            self.exprs.push(expr.clone());
            self.exprs.len() - 1
        })
    }

    fn sort_key(&mut self, key: &AggregateOrder) -> SortKey {
        SortKey {
            value: self.place_of(&key.expr),
            is_descending: key.is_descending,
            nulls_first: key.nulls_first,
            is_char: matches!(key.sql_type, SqlType::Char(_)),
        }
    }
}

/// Windows whose partitions and orders are equal.
pub(super) struct Pass<'b> {
    /// The numbers of the windows.
    pub(super) windows: Vec<usize>,
    /// The keys of the partitions, then those of the order, each once.
    pub(super) keys: Vec<&'b AggregateOrder>,
    /// Whether the rows are not sorted so already.
    pub(super) needs_sort: bool,
}

/// The passes over the windows that have calls.
pub(super) fn passes_of(bound: &BoundSelect) -> Vec<Pass<'_>> {
    let windows = &bound.windowing.windows;
    let mut sorted: Vec<&AggregateOrder> = Vec::new();
    let passes = grouped_windows(bound).into_iter().map(|numbers| {
        let mut keys: Vec<&AggregateOrder> = Vec::new();
        for key in numbers.first().into_iter().flat_map(|number| windows[*number].keys()) {
            if !keys.iter().any(|known| known.expr == key.expr) {
                keys.push(key);
            }
        }
        let needs_sort = !sorted.starts_with(&keys);
        if needs_sort {
            sorted.clone_from(&keys);
        }
        Pass { windows: numbers, keys, needs_sort }
    });
    passes.collect()
}

/// The windows that have calls, those with equal partitions and orders together, in the order of the passes.
fn grouped_windows(bound: &BoundSelect) -> Vec<Vec<usize>> {
    let Windowing { windows, calls, .. } = &bound.windowing;
    let mut ranked: Vec<(Vec<(usize, Key<'_>)>, usize)> = Vec::new();
    let mut known = known_keys(bound);
    for (number, window) in windows.iter().enumerate() {
        // The order is numbered before the partitions.
        for key in window.order.iter().chain(&window.partition) {
            if !known.contains(&&key.expr) {
                known.push(&key.expr);
            }
        }
        if !calls.iter().any(|call| call.window == number) {
            continue;
        }
        let mut unique: Vec<(usize, Key<'_>)> = Vec::new();
        for key in window.keys().map(key_of) {
            let rank = known.iter().position(|known| *known == key.0).unwrap_or(usize::MAX);
            if !unique.contains(&(rank, key)) {
                unique.push((rank, key));
            }
        }
        ranked.push((unique, number));
    }
    // The key that was numbered last comes first, descending before ascending; of windows whose keys begin
    // alike the longest comes first.
    ranked.sort_by(|(left, _), (right, _)| {
        let order = |(rank, (_, is_descending, nulls_first)): &(usize, Key<'_>)| {
            std::cmp::Reverse((*rank, *is_descending, *nulls_first))
        };
        let different = left.iter().zip(right).map(|(left, right)| order(left).cmp(&order(right)));
        different
            .into_iter()
            .find(|ordering| ordering.is_ne())
            .unwrap_or_else(|| right.len().cmp(&left.len()))
    });
    let mut passes: Vec<Vec<usize>> = Vec::new();
    for (_, number) in ranked {
        let is_same = |other: &usize| {
            let (one, other) = (&windows[number], &windows[*other]);
            one.partition == other.partition && one.order == other.order
        };
        match passes.iter_mut().find(|pass| pass.first().is_some_and(is_same)) {
            Some(pass) => pass.push(number),
            None => passes.push(vec![number]),
        }
    }
    passes
}

/// The keys of the clauses that are numbered before those of windows.
fn known_keys<'b>(bound: &'b BoundSelect) -> Vec<&'b Expr> {
    let of_target = |target: &'b OrderTarget| match target {
        OrderTarget::Output(at) => &bound.outputs[*at].expr,
        OrderTarget::Expression(expr) => expr,
    };
    let mut known: Vec<&Expr> = bound.order.iter().map(|order| of_target(&order.target)).collect();
    known.extend(bound.group.iter().flat_map(|group| &group.keys).map(|(key, _)| key));
    match &bound.distinct {
        BoundDistinct::No => {}
        BoundDistinct::Rows => known.extend(bound.outputs.iter().map(|output| &output.expr)),
        BoundDistinct::On(targets) => known.extend(targets.iter().map(|(target, _)| of_target(target))),
    }
    known
}

impl Compiler<'_> {
    /// Passes `body` these values of each row, for which the window functions are computed. `feed` emits the
    /// values that it is given for each row of FROM or of the groups.
    pub(super) fn windows(
        &mut self,
        bound: &BoundSelect,
        values: Vec<Expr>,
        feed: &mut Feed<'_>,
        body: &mut SpooledBody<'_>,
    ) -> Result<()> {
        let LaidOut { stage, fed, results } = self.laid_out(bound, &values)?;
        let carried = &fed[..stage.carried];
        let width = carried.len() + results.len();
        let spool = self.through(Arc::new(stage), None, &mut |compiler| feed(compiler, fed.clone()))?;
        self.for_spooled(spool, width, &mut |compiler, row, next| {
            let settled = |mut expr: Expr| {
                expr::replace(&mut expr, &mut |part| {
                    if let Some(number) = result_number(part) {
                        return row.get(carried.len() + results.get(number)?).cloned();
                    }
                    let at = carried.iter().position(|carried| carried == part)?;
                    row.get(at).cloned()
                });
                expr
            };
            let values: Vec<Expr> = values.iter().cloned().map(&settled).collect();
            let mut sets = bound.sets.clone();
            for level in &mut sets {
                for argument in level.source.arguments_mut() {
                    *argument = settled(argument.clone());
                }
            }
            let sets: Vec<Step> = sets.into_iter().map(|level| Step::Loop(Box::new(level))).collect();
            compiler.nest(&sets, next, &mut |compiler, next| body(compiler, values.clone(), next))
        })
    }

    /// Emits these values of each row as the stage outputs them, if they are columns and results as they are
    /// and go where rows can be put whole. Returns false if nothing was done.
    pub(super) fn whole_window_rows(
        &mut self,
        bound: &BoundSelect,
        values: &[Expr],
        feed: &mut Feed<'_>,
    ) -> Result<bool> {
        let into = match (&self.sink, self.purpose) {
            (_, Purpose::Analyze) => return Ok(false),
            (Sink::Answer, Purpose::Run | Purpose::Explain) => None,
            (Sink::Filled(spool), _) => Some(*spool),
            _ => return Ok(false),
        };
        let is_column = |value: &Expr| result_number(value).is_some() || self.is_column(value, &[]);
        let is_new = |(at, value): (usize, &Expr)| !values[..at].contains(value);
        let is_whole = bound.sets.is_empty() && values.iter().all(is_column);
        if !is_whole || !values.iter().enumerate().all(is_new) {
            return Ok(false);
        }
        let LaidOut { mut stage, fed, results } = self.laid_out(bound, values)?;
        let place_of = |value: &Expr| match result_number(value) {
            Some(number) => results.get(number).map(|at| stage.fed + at),
            None => fed.iter().position(|fed| fed == value),
        };
        let output = values.iter().filter_map(place_of).collect::<Vec<usize>>();
        let in_order = (0..stage.carried).chain(stage.fed..stage.fed + results.len());
        stage.output = if output.iter().copied().eq(in_order) { None } else { Some(output) };
        let width = u16::try_from(values.len()).unwrap_or(u16::MAX);
        let spool = self.through(Arc::new(stage), into, &mut |compiler| feed(compiler, fed.clone()))?;
        if into.is_none() {
            self.code.push(Instruction::EmitSpooled { spool, width });
        }
        Ok(true)
    }

    fn laid_out(&mut self, bound: &BoundSelect, values: &[Expr]) -> Result<LaidOut> {
        let mut fed = Fed::default();
        let of_sets = bound.sets.iter().flat_map(|level| level.source.arguments());
        // Set-returning functions have no rows yet.
        let unknown: Vec<Register> =
            bound.sets.iter().flat_map(|level| level.source.registers()).copied().collect();
        for value in values.iter().chain(of_sets) {
            self.add_columns(value, &unknown, &mut fed);
        }
        let mut results = vec![0; bound.windowing.calls.len()];
        let stage = self.window_stage(bound, fed.exprs.len(), &mut fed, &mut results)?;
        Ok(LaidOut { stage, fed: fed.exprs, results })
    }

    /// Whether it is a column of FROM, the key of a group or the result of an aggregate, and not unknown.
    fn is_column(&self, expr: &Expr, unknown: &[Register]) -> bool {
        match expr {
            Expr::Column { .. } => true,
            Expr::Register(register) if unknown.contains(register) => false,
            Expr::Register(register) => *register >= AGGREGATE_PLACEHOLDER || self.binder.scope.reads(expr),
            _ => false,
        }
    }

    /// Adds the columns that an expression reads.
    fn add_columns(&self, expr: &Expr, unknown: &[Register], fed: &mut Fed) {
        if self.is_column(expr, unknown) {
            fed.place_of(expr);
        }
        expr.for_each_part(&mut |part| self.add_columns(part, unknown, fed));
    }

    /// The stage of a query. `results` receives the place of each call's result after the carried values.
    fn window_stage(
        &mut self,
        bound: &BoundSelect,
        carried: usize,
        fed: &mut Fed,
        results: &mut [usize],
    ) -> Result<WindowStage> {
        let Windowing { windows, calls, .. } = &bound.windowing;
        let (mut passes, mut count) = (Vec::new(), 0);
        for Pass { windows: numbers, keys, needs_sort } in passes_of(bound) {
            let Some(first) = numbers.first().map(|number| &windows[*number]) else { continue };
            let partition = first.partition.iter().map(|key| fed.sort_key(key)).collect();
            let order = first.order.iter().map(|key| fed.sort_key(key)).collect();
            let sort = keys.into_iter().filter(|_| needs_sort).map(|key| fed.sort_key(key)).collect();
            let mut staged = Vec::with_capacity(numbers.len());
            for number in numbers {
                let own = calls.iter().enumerate().filter(|(_, call)| call.window == number);
                let mut staged_calls = Vec::new();
                for (at, call) in own {
                    results[at] = count;
                    count += 1;
                    staged_calls.push(staged_call(call, fed));
                }
                let frame = self.staged_frame(&windows[number])?;
                staged.push(StagedWindow { frame, calls: staged_calls });
            }
            passes.push(WindowPass { sort, partition, order, windows: staged });
        }
        Ok(WindowStage { fed: fed.exprs.len(), carried, output: None, passes })
    }

    /// Evaluates the offsets of a frame into registers.
    fn staged_frame(&mut self, window: &Window) -> Result<StagedFrame> {
        let frame = &window.frame;
        let start = self.staged_bound(&frame.start, frame.unit, "starting")?;
        let end = self.staged_bound(&frame.end, frame.unit, "ending")?;
        Ok(StagedFrame { unit: frame.unit, start, end, exclusion: frame.exclusion })
    }

    fn staged_bound(&mut self, bound: &FrameBound, unit: FrameUnit, which: &str) -> Result<StagedBound> {
        let offset = match bound.offset() {
            Some(offset) => self.frame_offset(offset, unit, which)?,
            None => 0,
        };
        Ok(match bound {
            FrameBound::UnboundedPreceding => StagedBound::UnboundedPreceding,
            FrameBound::Preceding(_) => StagedBound::Preceding(offset),
            FrameBound::CurrentRow => StagedBound::CurrentRow,
            FrameBound::Following(_) => StagedBound::Following(offset),
            FrameBound::UnboundedFollowing => StagedBound::UnboundedFollowing,
        })
    }

    /// The offset, which is evaluated once and may be neither NULL nor, as a number of rows, negative.
    fn frame_offset(&mut self, offset: &Offset, unit: FrameUnit, which: &str) -> Result<Register> {
        let register = self.binder.new_register()?;
        self.code.evaluate(register, offset.expr.clone());
        let mut refuse_if = |condition: Expr, state: SqlState, what: &str| {
            let fine = self.code.label();
            self.code.jump_unless(condition, fine);
            let message = Expr::Const(Value::text(format!("frame {which} offset must not be {what}")));
            self.code.push(Instruction::Raise { state: state.0, message });
            self.code.place(fine);
        };
        let value = || Box::new(Expr::Register(register));
        refuse_if(Expr::IsNull(value()), sqlstate::NULL_VALUE_NOT_ALLOWED, "null");
        if unit != FrameUnit::Range {
            let zero = Box::new(Expr::Const(Value::BigInt(0)));
            let is_negative = Expr::Binary { operator: BinaryOperator::Less, left: value(), right: zero };
            refuse_if(is_negative, sqlstate::INVALID_PRECEDING_OR_FOLLOWING_SIZE, "negative");
        }
        Ok(register)
    }
}

fn staged_call(call: &WindowCall, fed: &mut Fed) -> StagedCall {
    let WindowFunction::Aggregate(kind) = call.function else {
        let distance = match (call.function, call.arguments.get(1)) {
            (WindowFunction::Lag | WindowFunction::Lead, None) => Some(1),
            (_, Some(Expr::Const(value))) => value.as_i64(),
            _ => None,
        };
        return StagedCall {
            function: call.function,
            arguments: call.arguments.iter().map(|argument| fed.place_of(argument)).collect(),
            distance,
            aggregate: None,
        };
    };
    let mut place_of = |value: &Expr| match &call.filter {
        None => fed.place_of(value),
        // Computed only where the filter is true.
        Some(filter) => fed.place_of(&Expr::Case {
            branches: vec![(filter.clone(), value.clone())],
            otherwise: Box::new(Expr::Const(Value::Null)),
        }),
    };
    let arguments = call.arguments.iter().map(&mut place_of).collect();
    let filter = call.filter.as_ref().map(|filter| fed.place_of(filter));
    let aggregate = AggregateCall {
        kind,
        arguments,
        argument_type: call.argument_type,
        filter,
        is_distinct: false,
        order: Vec::new(),
    };
    StagedCall { function: call.function, arguments: Vec::new(), distance: None, aggregate: Some(aggregate) }
}
