//! The code of nested loops.

use hyades_engine::procedure::deep::with_stack;
use hyades_engine::procedure::ir::{
    CursorSlot, Direction, Expr, Impatience, IndexNumber, Instruction, Intent, Label, Register, RowSlot,
    ScanBound, ScanRange, Sight, Strength, TableIndex,
};
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::interval::Interval;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{BigDecimal, SqlType, Value};

use super::{Compiler, Purpose};
use crate::bind::tree::{DerivedTable, RoutineSource, Series, Source};
use crate::evaluation;
use crate::explain::counted::Counted;
use crate::plan::access::{Access, Reading, narrowed};
use crate::plan::level::{Level, Step};

/// Emits the code for each combination of rows, given the label that leads to the next one.
pub(crate) type Body<'b> = dyn FnMut(&mut Compiler<'_>, Label) -> Result<()> + 'b;

/// Emits the code for each row that is found, given the label that leads to the next one and the cursor of
/// the scan that found it.
type FoundBody<'b> = dyn FnMut(&mut Compiler<'_>, Label, Option<CursorSlot>) -> Result<()> + 'b;

/// The last parts of the keys under which one table is read, one after the other.
enum Keys {
    /// The branches of a CASE over the number of the key.
    OfList(Vec<Expr>),
    /// A register with an array, and the types that its elements are narrowed from and to.
    OfArray(Register, Option<(SqlType, SqlType)>),
}

fn number(number: usize) -> Expr {
    Expr::Const(Value::Integer(i32::try_from(number).unwrap_or(i32::MAX)))
}

fn binary(operator: BinaryOperator, left: Register, right: Expr) -> Expr {
    Expr::Binary { operator, left: Box::new(Expr::Register(left)), right: Box::new(right) }
}

impl Keys {
    fn count(&self) -> Expr {
        match self {
            Keys::OfList(items) => number(items.len()),
            Keys::OfArray(array, _) => {
                Expr::Call { function: Function::Cardinality, arguments: vec![Expr::Register(*array)] }
            }
        }
    }

    /// The key with the number in this register. Numbers count from 1.
    fn item(self, counter: Register) -> Expr {
        match self {
            Keys::OfList(items) => {
                let branch = |(at, item)| (binary(BinaryOperator::Equal, counter, number(at + 1)), item);
                let branches = items.into_iter().enumerate().map(branch).collect();
                Expr::Case { branches, otherwise: Box::new(Expr::Const(Value::Null)) }
            }
            Keys::OfArray(array, _) => Expr::Element {
                array: Box::new(Expr::Register(array)),
                index: Box::new(Expr::Register(counter)),
            },
        }
    }
}

impl Compiler<'_> {
    /// Emits the loops and, innermost, the body. The code after it runs when all rows have been seen.
    pub(crate) fn loops(&mut self, steps: &[Step], next: Label, body: &mut Body<'_>) -> Result<()> {
        self.refuse_unpopulated(steps)?;
        self.build_joins(steps)?;
        self.nest(steps, next, body)
    }

    /// The same when the join tables have been filled.
    pub(super) fn nest(&mut self, steps: &[Step], next: Label, body: &mut Body<'_>) -> Result<()> {
        with_stack(|| self.nest_here(steps, next, body))
    }

    fn nest_here(&mut self, steps: &[Step], next: Label, body: &mut Body<'_>) -> Result<()> {
        let Some((step, inner)) = steps.split_first() else { return body(self, next) };
        match step {
            Step::Loop(level) => {
                let end = self.code.label();
                self.level(level, end, &mut |compiler, next| compiler.nest(inner, next, body))?;
                self.code.place(end);
                Ok(())
            }
            Step::Left(join) => self.left_join(join, &mut |compiler, next| compiler.nest(inner, next, body)),
            Step::Full(join) => self.full_join(join, &mut |compiler, next| compiler.nest(inner, next, body)),
        }
    }

    /// Continues only if all conditions are true.
    pub(crate) fn check(&mut self, conditions: &[Expr], otherwise: Label) {
        for condition in conditions {
            self.code.jump_unless(condition.clone(), otherwise);
        }
    }

    /// Continues with a row of a table only if it is wanted, and then locks it, if it is to be locked and has
    /// not been yet.
    fn choose(
        &mut self,
        level: &Level,
        (table, row, intent): (TableIndex, RowSlot, Intent),
        cursor: Option<CursorSlot>,
        otherwise: Label,
    ) -> Result<()> {
        let locks = level.is_kept && intent.sight == Sight::Chosen;
        let changed = self.code.label();
        self.code.place(changed);
        self.filter(level, otherwise)?;
        if locks {
            // The row may have left the place where it was found.
            if level.choice.access.index().is_some() {
                self.check(&level.choice.steering, otherwise);
            }
            // Only a scan that skips rows has locks to give up.
            let cursor = cursor.filter(|_| intent.impatience == Some(Impatience::SkipLocked));
            self.code.push(Instruction::LockRow { table, row, cursor, intent, changed, gone: otherwise });
        }
        Ok(())
    }

    /// Continues only with wanted rows.
    pub(super) fn filter(&mut self, level: &Level, otherwise: Label) -> Result<()> {
        if !level.choice.filter.is_empty() {
            self.count(Counted::Read(level.name()))?;
        }
        self.check(&level.choice.filter, otherwise);
        Ok(())
    }

    /// The loop over one relation.
    pub(super) fn level(&mut self, level: &Level, end: Label, inner: &mut Body<'_>) -> Result<()> {
        if let (Some(into), Source::Table { row, .. }) = (level.key_into, &level.source) {
            return self.counted_level(level, end, &mut |compiler, next| {
                compiler.code.push(Instruction::RowKey { row: *row, into });
                inner(compiler, next)
            });
        }
        self.counted_level(level, end, inner)
    }

    fn counted_level(&mut self, level: &Level, end: Label, inner: &mut Body<'_>) -> Result<()> {
        if self.purpose != Purpose::Analyze {
            return self.plain_level(level, end, inner);
        }
        self.count(Counted::Opened(level.name()))?;
        self.plain_level(level, end, &mut |compiler, next| {
            compiler.count(Counted::Found(level.name()))?;
            inner(compiler, next)
        })
    }

    /// The same, without counting.
    pub(super) fn plain_level(&mut self, level: &Level, end: Label, inner: &mut Body<'_>) -> Result<()> {
        if let Some(kept) = level.kept() {
            return match &kept.reading {
                Reading::SecondTime(mark, first) => self.second_time(level, kept, (*mark, first), end, inner),
                _ => self.probe(level, kept, end, inner),
            };
        }
        match &level.source {
            Source::Series(series) => self.series(series, level, end, inner),
            Source::Routine(routine) => self.routine(routine, level, end, inner),
            Source::Query(derived) => self.derived(derived, level, end, inner),
            Source::Working(working, registers) => self.working_rows((working, registers), level, end, inner),
            Source::Table { table, row, .. } => {
                let (row, mut intent) = (*row, level.intent);
                let table = self.code.table(table)?;
                // No choice is left. (Under a lock on the key alone the row must not be read.)
                let is_point = matches!(level.choice.access, Access::Point { .. } | Access::Stored { .. });
                let is_chosen =
                    level.is_kept && intent.sight == Sight::Chosen && intent.strength != Strength::KeyRead;
                if is_chosen && is_point && level.choice.filter.is_empty() {
                    intent = intent.decided();
                }
                match &level.choice.access {
                    Access::Point { key } => {
                        let key = key.clone();
                        self.code.push(Instruction::ReadPoint { table, key, row, intent, absent: end });
                        self.choose(level, (table, row, intent), None, end)?;
                        inner(self, end)
                    }
                    Access::Stored { key, .. } => {
                        let key = key.clone();
                        self.code.push(Instruction::ReadKey { table, key, row, intent, absent: end });
                        self.choose(level, (table, row, intent), None, end)?;
                        inner(self, end)
                    }
                    Access::PointList { index, before, items } => {
                        let (before, keys) = ((*index, before.clone()), Keys::OfList(items.clone()));
                        self.points(before, keys, (table, row, intent), end, &mut |compiler, next, cursor| {
                            compiler.choose(level, (table, row, intent), cursor, next)?;
                            inner(compiler, next)
                        })
                    }
                    Access::PointArray { index, before, array, narrows } => {
                        let before = (*index, before.clone());
                        let keys = self.keys_of_array(array.clone(), *narrows)?;
                        self.points(before, keys, (table, row, intent), end, &mut |compiler, next, cursor| {
                            compiler.choose(level, (table, row, intent), cursor, next)?;
                            inner(compiler, next)
                        })
                    }
                    Access::Scan { range, direction } => {
                        let scanned = (range.clone(), *direction);
                        self.scan(scanned, (table, row, intent), end, &mut |compiler, next, cursor| {
                            compiler.choose(level, (table, row, intent), cursor, next)?;
                            inner(compiler, next)
                        })
                    }
                    // Handled above.
                    Access::Kept(_) => Ok(()),
                }
            }
        }
    }

    /// The rows of a range, in order.
    fn scan(
        &mut self,
        (range, direction): (ScanRange, Direction),
        (table, row, intent): (TableIndex, RowSlot, Intent),
        end: Label,
        inner: &mut FoundBody<'_>,
    ) -> Result<()> {
        let cursor = self.code.new_cursor()?;
        let again = self.code.label();
        self.code.push(Instruction::OpenScan { cursor, table, range, direction, intent });
        self.code.place(again);
        self.code.push(Instruction::NextRow { cursor, row, end });
        inner(self, again, Some(cursor))?;
        self.code.jump(again);
        Ok(())
    }

    /// The rows with these values in the first columns of an index. Continues after `inner`, and jumps to
    /// `end` when there are no more.
    fn rows_with(
        &mut self,
        index: IndexNumber,
        values: Vec<Expr>,
        found: (TableIndex, RowSlot, Intent),
        end: Label,
        inner: &mut FoundBody<'_>,
    ) -> Result<()> {
        let (lower, upper) = (ScanBound::Included(values.clone()), ScanBound::Included(values));
        self.scan((ScanRange { index, lower, upper }, Direction::Forward), found, end, inner)
    }

    /// The first row with these values. Jumps to `absent` if there is none.
    pub(crate) fn first_row_with(
        &mut self,
        index: IndexNumber,
        values: Vec<Expr>,
        (table, row, intent): (TableIndex, RowSlot, Intent),
        absent: Label,
    ) -> Result<()> {
        let cursor = self.code.new_cursor()?;
        let (lower, upper) = (ScanBound::Included(values.clone()), ScanBound::Included(values));
        let (range, direction) = (ScanRange { index, lower, upper }, Direction::Forward);
        self.code.push(Instruction::OpenScan { cursor, table, range, direction, intent });
        self.code.push(Instruction::NextRow { cursor, row, end: absent });
        Ok(())
    }

    /// The array's elements are sorted into a register first: a key that occurs twice finds its row once.
    fn keys_of_array(&mut self, array: Expr, narrows: Option<(SqlType, SqlType)>) -> Result<Keys> {
        let sorted = self.binder.new_register()?;
        self.code.evaluate(sorted, Expr::Call { function: Function::ArrayDistinct, arguments: vec![array] });
        Ok(Keys::OfArray(sorted, narrows))
    }

    /// Reads one key of an index after another: `before`, then the part that a counter selects.
    fn points(
        &mut self,
        (index, before): (IndexNumber, Vec<Expr>),
        keys: Keys,
        (table, row, intent): (TableIndex, RowSlot, Intent),
        end: Label,
        inner: &mut FoundBody<'_>,
    ) -> Result<()> {
        let counter = self.binder.new_register()?;
        let item = self.binder.new_register()?;
        self.code.evaluate(counter, number(1));
        let again = self.code.label();
        self.code.place(again);
        // The number of keys is NULL if the array is: then there is no row.
        self.code.jump_unless(binary(BinaryOperator::LessEqual, counter, keys.count()), end);
        let narrows = match keys {
            Keys::OfArray(_, narrows) => narrows,
            Keys::OfList(_) => None,
        };
        self.code.evaluate(item, keys.item(counter));
        if let Some((wide, narrow)) = narrows
            && let Some(narrowed) = narrowed(&Expr::Register(item), wide, narrow, BinaryOperator::Equal)
        {
            self.code.evaluate(item, narrowed);
        }
        self.code.evaluate(counter, binary(BinaryOperator::Add, counter, number(1)));
        let mut key = before;
        key.push(Expr::Register(item));
        if index.is_some() {
            return self.rows_with(index, key, (table, row, intent), again, inner);
        }
        self.code.push(Instruction::ReadPoint { table, key, row, intent, absent: again });
        inner(self, again, None)?;
        self.code.jump(again);
        Ok(())
    }

    /// The rows of a function are all kept before the first one is read.
    fn routine(
        &mut self,
        routine: &RoutineSource,
        level: &Level,
        end: Label,
        inner: &mut Body<'_>,
    ) -> Result<()> {
        let RoutineSource { callee, registers, is_set, is_strict, .. } = routine;
        let called = self.code.label();
        let mut arguments = routine.arguments.clone();
        if *is_strict {
            for register in registers.iter().filter(|_| !is_set) {
                self.code.evaluate(*register, Expr::Const(Value::Null));
            }
            for argument in &mut arguments {
                let register = self.binder.new_register()?;
                let value = std::mem::replace(argument, Expr::Register(register));
                self.code.evaluate(register, value);
                let is_null = Expr::IsNull(Box::new(Expr::Register(register)));
                self.code.jump_unless(Expr::Not(Box::new(is_null)), if *is_set { end } else { called });
            }
        }
        if !is_set {
            let into = registers.clone();
            self.code.push(Instruction::Call {
                callee: *callee,
                arguments,
                into,
                rows: None,
                lent: Vec::new(),
            });
            self.code.place(called);
            self.filter(level, end)?;
            return inner(self, end);
        }
        let spool = self.code.new_spool()?;
        self.code.push(Instruction::OpenSpool { spool });
        self.code.push(Instruction::Call {
            callee: *callee,
            arguments,
            into: Vec::new(),
            rows: Some(spool),
            lent: Vec::new(),
        });
        self.code.place(called);
        let again = self.code.label();
        self.code.place(again);
        let width = u16::try_from(registers.len()).unwrap_or(u16::MAX);
        let into = registers.first().copied().unwrap_or_default();
        self.code.push(Instruction::NextSpooled { spool, into, width, end });
        self.filter(level, again)?;
        inner(self, again)?;
        self.code.jump(again);
        Ok(())
    }

    /// The rows of a query in FROM, which are kept for the next time.
    fn derived(
        &mut self,
        derived: &DerivedTable,
        level: &Level,
        end: Label,
        inner: &mut Body<'_>,
    ) -> Result<()> {
        let DerivedTable { query, registers, outer, recursion } = derived;
        let Some(spool) = self.code.kept_rows(*query, outer) else { return Ok(()) };
        let position = self.binder.new_register()?;
        self.code.evaluate(position, Expr::Const(Value::BigInt(0)));
        let again = self.code.label();
        self.code.place(again);
        let width = u16::try_from(registers.len()).unwrap_or(u16::MAX);
        let into = registers.first().copied().unwrap_or_default();
        let over = self.code.label();
        self.code.push(Instruction::ReadSpool { spool, position, into, width, end: over });
        self.filter(level, again)?;
        inner(self, again)?;
        self.code.jump(again);
        self.code.place(over);
        if let Some((step, recursion)) = recursion {
            self.step(*step, recursion, again, end);
        }
        Ok(())
    }

    /// `current` runs from start to stop. The step is added only when the result will be used, so the last
    /// value of the type does not overflow.
    fn series(&mut self, series: &Series, level: &Level, end: Label, inner: &mut Body<'_>) -> Result<()> {
        let stop = self.binder.new_register()?;
        let step = self.binder.new_register()?;
        let last = self.binder.new_register()?;
        let register = |register| Box::new(Expr::Register(register));
        let binary = |operator, left, right| Expr::Binary { operator, left, right };
        let constant = |value| Box::new(Expr::Const(value));
        let (zero, bounds) = zero_and_bounds(series.sql_type);
        for (register, array) in &series.arrays {
            self.code.evaluate(*register, array.clone());
        }
        self.code.evaluate(series.current, series.start.clone());
        self.code.evaluate(stop, series.stop.clone());
        self.code.evaluate(step, series.step.clone());
        let is_positive = binary(BinaryOperator::Greater, register(step), constant(zero.clone()));
        let is_numeric = matches!(series.sql_type, SqlType::Numeric(_));
        if is_numeric || !matches!(series.step, Expr::Const(_)) || evaluation::is_zero(&series.step) {
            let valid = self.code.label();
            self.code.jump_unless(binary(BinaryOperator::Equal, register(step), constant(zero)), valid);
            self.code.push(Instruction::Raise {
                state: sqlstate::INVALID_PARAMETER_VALUE.0,
                message: Expr::Const(Value::text("step size cannot equal zero")),
            });
            self.code.place(valid);
        }
        let either = |forward, backward| Expr::Case {
            branches: vec![(is_positive.clone(), forward)],
            otherwise: Box::new(backward),
        };
        if let Some((minimum, maximum)) = bounds.clone() {
            // The last value from which a step stays within the type.
            let reach = |bound| binary(BinaryOperator::Subtract, constant(bound), register(step));
            self.code.evaluate(last, either(reach(maximum), reach(minimum)));
        }
        let within = |bound| {
            either(
                binary(BinaryOperator::LessEqual, register(series.current), register(bound)),
                binary(BinaryOperator::GreaterEqual, register(series.current), register(bound)),
            )
        };
        let again = self.code.label();
        let advance = self.code.label();
        self.code.place(again);
        self.code.jump_unless(within(stop), end);
        // A NULL step or bound makes the series empty. `within(stop)` has checked the bound.
        self.code.jump_unless(Expr::Not(Box::new(Expr::IsNull(register(step)))), end);
        self.filter(level, advance)?;
        inner(self, advance)?;
        self.code.place(advance);
        if bounds.is_some() {
            self.code.jump_unless(within(last), end);
        } else if is_numeric {
            // A step further may be no number of the type any more.
            self.code.evaluate(last, binary(BinaryOperator::Subtract, register(stop), register(step)));
            self.code.jump_unless(within(last), end);
        }
        self.code.evaluate(series.current, next_of(series, step));
        self.code.jump(again);
        Ok(())
    }
}

/// A step of length zero, and the ends of the type if sums could exceed them unnoticed: an overflow of times
/// is an error, as in PostgreSQL.
fn zero_and_bounds(sql_type: SqlType) -> (Value, Option<(Value, Value)>) {
    match sql_type {
        SqlType::Integer => (Value::Integer(0), Some((Value::Integer(i32::MIN), Value::Integer(i32::MAX)))),
        SqlType::BigInt => (Value::BigInt(0), Some((Value::BigInt(i64::MIN), Value::BigInt(i64::MAX)))),
        SqlType::Numeric(_) => (Value::numeric(BigDecimal::from(0)), None),
        _ => (Value::Interval(Interval::default()), None),
    }
}

/// The current value of a series, one step further.
fn next_of(series: &Series, step: Register) -> Expr {
    let (current, step) = (Expr::Register(series.current), Expr::Register(step));
    match series.sql_type {
        SqlType::TimestampTz(_) => {
            Expr::Call { function: Function::AddInterval, arguments: vec![current, step] }
        }
        _ => Expr::Binary { operator: BinaryOperator::Add, left: Box::new(current), right: Box::new(step) },
    }
}
