//! What an instruction does and looks at, defined once: all analyses of procedures (the compiler's optimizer,
//! the decision whether a call may be logged as a command, the frame's slots) use only this.
//!
//! 1. No match here has a wildcard arm: the effects of a new instruction or kind of expression must be given
//!    here before it compiles.
//! 2. [`Instruction::for_each_expr`] visits every expression that is evaluated: stages get computed values.

use hyades_types::definition::{IndexDefinition, TableId};
use hyades_types::environment::Severity;
use hyades_types::function::LooksAt;
use hyades_types::value::SqlType;
use smallvec::{SmallVec, smallvec};

use super::cursor_statement::CursorAction;
use super::deep::with_stack;
use super::ir::{
    Expr, IndexNumber, Instruction, JoinStep, Label, Procedure, Register, Report, RowSlot, ScanBound, Sight,
    TableIndex,
};

/// What an instruction does besides evaluating its expressions.
#[derive(Debug)]
pub struct Effects {
    /// Registers that it reads.
    pub reads: Registers,
    /// Registers that it sets.
    pub sets: SmallVec<[Register; 4]>,
    /// Whether all of `sets` is set on every way out of it. (If it fails with an error, they keep their
    /// values.)
    pub sets_always: bool,
    /// A row slot whose row it reads.
    pub row_read: Option<RowSlot>,
    /// A row slot that holds another row afterwards.
    pub row_filled: Option<RowSlot>,
    /// A row slot that holds the new state of the same row afterwards.
    pub row_changed: Option<RowSlot>,
    /// The table that it works on. (A step of a scan works on that of the scan's beginning.)
    pub table: Option<(TableIndex, TableUse)>,
    /// Any table may have changed afterwards: other procedures have run, or an error may lead back to here.
    pub is_barrier: bool,
    /// Whether execution may continue with the next instruction.
    pub falls_through: bool,
}

/// Some registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registers {
    These(SmallVec<[Register; 2]>),
    /// Possibly all.
    All,
}

/// How an instruction works on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableUse {
    /// The row under a key.
    Point,
    /// The rows of a range of an index.
    Scan(IndexNumber),
    /// Rows, and with them entries of secondary indexes: [`Instruction::written_indexes`].
    Write,
}

impl Default for Effects {
    /// The effects of an instruction that only evaluates.
    fn default() -> Effects {
        Effects {
            reads: Registers::These(SmallVec::new()),
            sets: SmallVec::new(),
            sets_always: true,
            row_read: None,
            row_filled: None,
            row_changed: None,
            table: None,
            is_barrier: false,
            falls_through: true,
        }
    }
}

impl Effects {
    fn nothing() -> Effects {
        Effects::default()
    }

    fn setting(registers: impl IntoIterator<Item = Register>) -> Effects {
        Effects { sets: registers.into_iter().collect(), ..Effects::default() }
    }

    /// Reads these, and may leave `sets` unset.
    fn sometimes<const N: usize>(self, reads: [Register; N]) -> Effects {
        let reads = Registers::These(reads.into_iter().collect());
        Effects { sets_always: false, reads, ..self }
    }

    fn on(table: TableIndex, table_use: TableUse) -> Effects {
        Effects { table: Some((table, table_use)), ..Effects::default() }
    }

    fn reading(self, row: RowSlot) -> Effects {
        Effects { row_read: Some(row), ..self }
    }

    fn filling(self, row: RowSlot) -> Effects {
        Effects { row_filled: Some(row), ..self }
    }

    fn changing(self, row: RowSlot) -> Effects {
        Effects { row_read: Some(row), row_changed: Some(row), ..self }
    }

    fn last() -> Effects {
        Effects { falls_through: false, ..Effects::default() }
    }

    fn barrier() -> Effects {
        Effects::nothing().and_barrier()
    }

    fn and_barrier(self) -> Effects {
        Effects { is_barrier: true, ..self }
    }

    fn stepping(counter: Register, step: Register) -> Effects {
        Effects { falls_through: false, ..Effects::setting([counter]).sometimes([counter, step]) }
    }
}

/// The registers of a row.
fn row_of(into: Register, width: u16) -> std::ops::Range<Register> {
    into..into.saturating_add(width)
}

impl Effects {
    fn looking_at(registers: SmallVec<[Register; 2]>) -> Effects {
        Effects { reads: Registers::These(registers), ..Effects::default() }
    }
}

impl Instruction {
    /// See [`Effects`].
    pub fn effects(&self) -> Effects {
        match self {
            Instruction::Evaluate { into, .. } | Instruction::ErrorField { into, .. } => {
                Effects::setting([*into])
            }
            Instruction::Take { into, .. } => Effects::setting(into.iter().copied()),
            Instruction::Call { into, .. } => Effects::setting(into.iter().copied()).and_barrier(),
            Instruction::Dynamic(dynamic) => Effects::setting([dynamic.count]).and_barrier(),
            Instruction::Cursor(cursor) => Effects::setting(cursor.sets()).and_barrier(),
            Instruction::RowKey { row, into } => Effects::setting([*into]).reading(*row),
            Instruction::TakeCount { found, count } => Effects::setting(found.iter().chain(count).copied()),
            Instruction::NextSpooled { .. } | Instruction::ReadSpool { .. } => self.effects_of_spooled(),
            Instruction::Join { step, .. } => step.effects(),
            Instruction::ReadPoint { table, row, .. } | Instruction::ReadKey { table, row, .. } => {
                Effects::on(*table, TableUse::Point).filling(*row)
            }
            Instruction::LookAhead { variable, last, .. } => Effects::looking_at(smallvec![*variable, *last]),
            Instruction::OpenScan { table, range, .. } => Effects::on(*table, TableUse::Scan(range.index)),
            Instruction::NextRow { row, .. }
            | Instruction::AbsentRow { row, .. }
            | Instruction::MakeRow { row, .. } => Effects::nothing().filling(*row),
            Instruction::Insert { table, row, .. }
            | Instruction::InsertBlind { table, row, .. }
            | Instruction::InsertOr { table, row, .. } => Effects::on(*table, TableUse::Write).filling(*row),
            Instruction::Update { table, row, .. } => Effects::on(*table, TableUse::Write).changing(*row),
            // It does not make the row another one, but may show its newer state.
            Instruction::LockRow { table, row, .. } | Instruction::LockAgain { table, row, .. } => {
                Effects::on(*table, TableUse::Point).changing(*row)
            }
            Instruction::Delete { table, row } => Effects::on(*table, TableUse::Write).reading(*row),
            Instruction::SkipUnlessTwin { row, .. }
            | Instruction::RefuseTwin { row, .. }
            | Instruction::NoteWritten { row, .. }
            | Instruction::RefuseWritten { row, .. }
            | Instruction::SkipWritten { row, .. } => Effects::nothing().reading(*row),
            Instruction::Report(report) => report.effects(),
            // The number of rows wanted is passed to it from the registers.
            Instruction::OpenStage { .. } => Effects { reads: Registers::All, ..Effects::default() },
            Instruction::EnterBlock { .. } | Instruction::LeaveBlock | Instruction::EndTransaction { .. } => {
                Effects::barrier()
            }
            Instruction::ForNext { counter, last, variable, .. } => {
                Effects::setting([*variable]).sometimes([*counter, *last])
            }
            Instruction::ForStep { counter, step, .. } => Effects::stepping(*counter, *step),
            Instruction::SetElement { array, .. } => Effects::setting([*array]).sometimes([*array]),
            Instruction::Jump { .. }
            | Instruction::Return
            | Instruction::Raise { .. }
            | Instruction::RaiseViolation(_)
            | Instruction::Trap { .. }
            | Instruction::Rethrow => Effects::last(),
            Instruction::RefuseRow { row, .. } => Effects::last().reading(*row),
            Instruction::JumpUnless { .. }
            | Instruction::Emit { .. }
            | Instruction::EmitSpooled { .. }
            | Instruction::CountRow
            | Instruction::ResetCount
            | Instruction::OpenSpool { .. }
            | Instruction::Spool { .. }
            | Instruction::Defer { .. }
            | Instruction::FeedStage { .. }
            | Instruction::FinishStage { .. }
            | Instruction::ReadCatalog { .. }
            | Instruction::MatchError { .. }
            | Instruction::ForgetError
            | Instruction::Put { .. }
            | Instruction::BeginStatement => Effects::nothing(),
        }
    }

    fn effects_of_spooled(&self) -> Effects {
        match self {
            Instruction::NextSpooled { into, width, .. } => {
                Effects::setting(row_of(*into, *width)).sometimes([])
            }
            Instruction::ReadSpool { position, into, width, .. } => {
                Effects::setting(row_of(*into, *width).chain([*position])).sometimes([*position])
            }
            _ => Effects::nothing(),
        }
    }

    /// The secondary indexes of its table that it may write to, by number. In unique ones it looks for other
    /// rows first.
    pub fn written_indexes(&self, procedure: &Procedure) -> Vec<u16> {
        let Some((table, TableUse::Write)) = self.effects().table else { return Vec::new() };
        let is_written = |index: &IndexDefinition| match self {
            Instruction::Update { set, .. } => set.iter().any(|(column, _)| index.has_column(*column)),
            _ => true,
        };
        let indexes = (0u16..).zip(&procedure.table(table).definition.indexes);
        indexes.filter(|(_, index)| is_written(index)).map(|(number, _)| number).collect()
    }

    /// What it looks at besides registers and rows. The procedures that it calls are asked separately.
    pub fn looks_at(&self) -> LooksAt {
        let mut seen = LooksAt::NOTHING;
        self.for_each_expr(&mut |expr| seen = seen.and(expr.looks_at()));
        if matches!(self, Instruction::ReadCatalog { .. }) {
            seen = seen.and(LooksAt::CATALOG);
        }
        seen
    }
}

impl Report {
    fn effects(&self) -> Effects {
        Effects { falls_through: self.severity != Severity::Exception, ..Effects::default() }
    }
}

impl JoinStep {
    fn effects(&self) -> Effects {
        match self {
            JoinStep::Open | JoinStep::Forget | JoinStep::KeepNew { .. } => Effects::nothing(),
            JoinStep::Keep { parts, .. } => Effects {
                reads: Registers::These(parts.registers().collect()),
                row_read: parts.row.map(|(_, row)| row),
                ..Effects::default()
            },
            JoinStep::Probe { position, parts, .. } | JoinStep::NextUnjoined { position, parts, .. } => {
                Effects {
                    row_filled: parts.row.map(|(_, row)| row),
                    ..Effects::setting(parts.registers().chain([*position])).sometimes([*position])
                }
            }
            JoinStep::ProbeOnly { parts, .. } => Effects {
                row_filled: parts.row.map(|(_, row)| row),
                ..Effects::setting(parts.registers()).sometimes([])
            },
            JoinStep::Note { position } => Effects::looking_at(smallvec![*position]),
        }
    }
}

impl Procedure {
    /// The row slot that an instruction fills, with the table whose rows it shows.
    pub fn filled_slot(&self, instruction: &Instruction) -> Option<(TableIndex, RowSlot)> {
        let effects = instruction.effects();
        let row = effects.row_filled.or(effects.row_changed)?;
        if let Some((table, _)) = effects.table {
            return Some((table, row));
        }
        match instruction {
            Instruction::Join {
                step:
                    JoinStep::Probe { parts, .. }
                    | JoinStep::ProbeOnly { parts, .. }
                    | JoinStep::NextUnjoined { parts, .. },
                ..
            } => parts.row,
            Instruction::AbsentRow { table, row } | Instruction::MakeRow { table, row, .. } => {
                Some((*table, *row))
            }
            Instruction::NextRow { cursor, .. } => self.code.iter().find_map(|other| match other {
                Instruction::OpenScan { cursor: opened, table, .. } if opened == cursor => {
                    Some((*table, row))
                }
                _ => None,
            }),
            _ => None,
        }
    }

    /// The value for [`Procedure::asks_catalog`].
    pub fn looks_at_catalog(&self) -> bool {
        self.code.iter().any(|instruction| instruction.looks_at().catalog)
            || self.called().any(|called| called.procedure.asks_catalog)
    }

    /// Whether it changes and locks no rows.
    pub fn only_looks(&self) -> bool {
        let looks = |instruction: &Instruction| match instruction {
            Instruction::ReadPoint { intent, .. }
            | Instruction::ReadKey { intent, .. }
            | Instruction::OpenScan { intent, .. } => intent.sight == Sight::Snapshot,
            Instruction::Dynamic(_) | Instruction::EndTransaction { .. } | Instruction::Cursor(_) => false,
            other => !matches!(other.effects().table, Some((_, TableUse::Write))),
        };
        self.code.iter().all(looks) && self.called().all(|called| called.procedure.only_looks())
    }

    /// For each register, whether the procedure reads it, and whether it sets it.
    pub fn register_uses(&self) -> (Vec<bool>, Vec<bool>) {
        self.register_uses_from(0)
    }

    /// As [`Procedure::register_uses`], for the instructions from this number on.
    pub(super) fn register_uses_from(&self, first: usize) -> (Vec<bool>, Vec<bool>) {
        let count = usize::from(self.registers);
        let (mut reads, mut sets) = (vec![false; count], vec![false; count]);
        for instruction in self.code.iter().skip(first) {
            let effects = instruction.effects();
            effects.sets.iter().for_each(|register| sets[usize::from(*register)] = true);
            match effects.reads {
                Registers::All => reads.fill(true),
                Registers::These(registers) => {
                    registers.iter().for_each(|register| reads[usize::from(*register)] = true);
                }
            }
            instruction.for_each_expr(&mut |expr| note_reads(expr, &mut reads));
        }
        (reads, sets)
    }

    /// Whether it, or what it calls, may change rows of this table. The rest of a member's cycle may.
    pub fn may_write(&self, table: TableId) -> bool {
        let writes = |procedure: &Procedure, instruction: &Instruction| match instruction {
            Instruction::Dynamic(_) | Instruction::Cursor(_) => true,
            other => match other.effects().table {
                Some((written, TableUse::Write)) => procedure.table(written).table.id() == table,
                _ => false,
            },
        };
        self.with_all_called().into_iter().any(|called| {
            called.is_member || called.code.iter().any(|instruction| writes(called, instruction))
        })
    }

    /// Whether it, or what it calls, ends transactions.
    pub fn ends_transactions(&self) -> bool {
        let ends = |instruction: &Instruction| matches!(instruction, Instruction::EndTransaction { .. });
        self.code.iter().any(ends) || self.called().any(|called| called.procedure.ends_transactions())
    }
}

fn note_reads(expr: &Expr, reads: &mut [bool]) {
    let mut open = vec![expr];
    while let Some(part) = open.pop() {
        if let Expr::Register(register) = part {
            reads[usize::from(*register)] = true;
        }
        part.for_each_part(&mut |inner| open.push(inner));
    }
}

/// Passes every expression of an instruction to a visitor, in the order of evaluation. The two methods below
/// differ in what they borrow.
macro_rules! visit_expressions {
    ($instruction:ident, $visit:ident, $iter:ident $(, $mutable:tt)?) => {
        match $instruction {
            Instruction::Evaluate { expr, .. }
            | Instruction::JumpUnless { condition: expr, .. }
            | Instruction::ReadKey { key: expr, .. } => $visit(expr),
            Instruction::ReadPoint { key: values, .. }
            | Instruction::Join { step:
                    JoinStep::Keep { key: values, .. }
                    | JoinStep::KeepNew { key: values, .. }
                    | JoinStep::Probe { key: values, .. }
                    | JoinStep::ProbeOnly { key: values, .. }, .. }
            | Instruction::MakeRow { values, .. }
            | Instruction::Insert { values, .. }
            | Instruction::InsertBlind { values, .. }
            | Instruction::InsertOr { values, .. }
            | Instruction::Emit { values }
            | Instruction::Spool { values, .. }
            | Instruction::Defer { values, .. }
            | Instruction::FeedStage { values, .. }
            | Instruction::Put { values, .. }
            | Instruction::Call { arguments: values, .. } => values.$iter().for_each($visit),
            Instruction::LookAhead { reads, .. } => reads.$iter().flat_map(|(_, key)| key).for_each($visit),
            Instruction::Update { set, .. } => set.$iter().for_each(|(_, value)| $visit(value)),
            Instruction::Dynamic(dynamic) => {
                let dynamic = &$($mutable)? **dynamic;
                $visit(&$($mutable)? dynamic.text);
                dynamic.arguments.$iter().for_each($visit);
            }
            Instruction::Cursor(cursor) => {
                let cursor = &$($mutable)? **cursor;
                $visit(&$($mutable)? cursor.name);
                match &$($mutable)? cursor.action {
                    CursorAction::Open { text, .. } => $visit(text),
                    CursorAction::Fetch { steps, .. } => steps.$iter().for_each($visit),
                    CursorAction::Refuse | CursorAction::Close => {}
                }
            }
            Instruction::Raise { message, .. } => $visit(message),
            Instruction::RaiseViolation(violation) => $visit(&$($mutable)? violation.detail),
            Instruction::SetElement { index, value, .. } => {
                $visit(index);
                $visit(value);
            }
            Instruction::Report(report) => {
                let report = &$($mutable)? **report;
                $visit(&$($mutable)? report.state);
                $visit(&$($mutable)? report.message);
                report.fields.$iter().for_each(|(_, value)| $visit(value));
            }
            Instruction::OpenScan { range, .. } => {
                for bound in [&$($mutable)? range.lower, &$($mutable)? range.upper] {
                    match bound {
                        ScanBound::Unbounded => {}
                        ScanBound::Included(values)
                        | ScanBound::Excluded(values)
                        | ScanBound::NotNull(values) => {
                            values.$iter().for_each(&mut *$visit);
                        }
                    }
                }
            }
            Instruction::Jump { .. }
            | Instruction::RowKey { .. }
            | Instruction::NextRow { .. }
            | Instruction::LockRow { .. }
            | Instruction::LockAgain { .. }
            | Instruction::BeginStatement
            | Instruction::RefuseRow { .. }
            | Instruction::Delete { .. }
            | Instruction::CountRow
            | Instruction::ResetCount
            | Instruction::TakeCount { .. }
            | Instruction::OpenSpool { .. }
            | Instruction::SkipUnlessTwin { .. }
            | Instruction::RefuseTwin { .. }
            | Instruction::NoteWritten { .. }
            | Instruction::RefuseWritten { .. }
            | Instruction::SkipWritten { .. }
            | Instruction::NextSpooled { .. }
            | Instruction::EmitSpooled { .. }
            | Instruction::ReadSpool { .. }
            | Instruction::Join {
                step: JoinStep::Open | JoinStep::Note { .. } | JoinStep::Forget | JoinStep::NextUnjoined { .. },
                ..
            }
            | Instruction::AbsentRow { .. }
            | Instruction::OpenStage { .. }
            | Instruction::FinishStage { .. }
            | Instruction::ReadCatalog { .. }
            | Instruction::EnterBlock { .. }
            | Instruction::EndTransaction { .. }
            | Instruction::LeaveBlock
            | Instruction::MatchError { .. }
            | Instruction::ErrorField { .. }
            | Instruction::Rethrow
            | Instruction::ForgetError
            | Instruction::ForNext { .. }
            | Instruction::ForStep { .. }
            | Instruction::Trap { .. }
            | Instruction::Take { .. }
            | Instruction::Return => {}
        }
    };
}

/// The same for the labels of an instruction.
macro_rules! visit_labels {
    ($instruction:ident, $visit:ident) => {
        match $instruction {
            Instruction::Jump { to } | Instruction::JumpUnless { to, .. } => $visit(to),
            Instruction::ReadPoint { absent, .. } | Instruction::ReadKey { absent, .. } => $visit(absent),
            Instruction::InsertOr { duplicate, .. } => $visit(duplicate),
            Instruction::NextRow { end, .. }
            | Instruction::NextSpooled { end, .. }
            | Instruction::ReadSpool { end, .. }
            | Instruction::Join {
                step:
                    JoinStep::Probe { end, .. }
                    | JoinStep::ProbeOnly { end, .. }
                    | JoinStep::NextUnjoined { end, .. }
                    | JoinStep::KeepNew { known: end, .. },
                ..
            }
            | Instruction::ForNext { end, .. } => $visit(end),
            Instruction::ForStep { again, end, .. } => {
                $visit(again);
                $visit(end);
            }
            Instruction::SkipWritten { to, .. }
            | Instruction::SkipUnlessTwin { alone: to, .. }
            | Instruction::Defer { immediate: to, .. } => $visit(to),
            Instruction::LockRow { changed, gone, .. } | Instruction::LockAgain { changed, gone, .. } => {
                $visit(changed);
                $visit(gone);
            }
            Instruction::EnterBlock { handler } => $visit(handler),
            Instruction::MatchError { otherwise, .. } => $visit(otherwise),
            Instruction::Evaluate { .. }
            | Instruction::RowKey { .. }
            | Instruction::LookAhead { .. }
            | Instruction::OpenScan { .. }
            | Instruction::BeginStatement
            | Instruction::MakeRow { .. }
            | Instruction::RefuseRow { .. }
            | Instruction::Insert { .. }
            | Instruction::InsertBlind { .. }
            | Instruction::Update { .. }
            | Instruction::Delete { .. }
            | Instruction::Emit { .. }
            | Instruction::EmitSpooled { .. }
            | Instruction::CountRow
            | Instruction::Raise { .. }
            | Instruction::RaiseViolation(_)
            | Instruction::Report(_)
            | Instruction::Call { .. }
            | Instruction::Dynamic(_)
            | Instruction::Cursor(_)
            | Instruction::EndTransaction { .. }
            | Instruction::ResetCount
            | Instruction::TakeCount { .. }
            | Instruction::OpenSpool { .. }
            | Instruction::Spool { .. }
            | Instruction::RefuseTwin { .. }
            | Instruction::NoteWritten { .. }
            | Instruction::RefuseWritten { .. }
            | Instruction::Join {
                step: JoinStep::Open | JoinStep::Keep { .. } | JoinStep::Note { .. } | JoinStep::Forget,
                ..
            }
            | Instruction::AbsentRow { .. }
            | Instruction::OpenStage { .. }
            | Instruction::FeedStage { .. }
            | Instruction::FinishStage { .. }
            | Instruction::ReadCatalog { .. }
            | Instruction::LeaveBlock
            | Instruction::ErrorField { .. }
            | Instruction::Rethrow
            | Instruction::ForgetError
            | Instruction::SetElement { .. }
            | Instruction::Trap { .. }
            | Instruction::Put { .. }
            | Instruction::Take { .. }
            | Instruction::Return => {}
        }
    };
}

impl Instruction {
    /// Calls `visit` on every expression that it evaluates, in the order of evaluation.
    pub fn for_each_expr<'i>(&'i self, visit: &mut dyn FnMut(&'i Expr)) {
        visit_expressions!(self, visit, iter);
    }

    /// As [`Instruction::for_each_expr`].
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        visit_expressions!(self, visit, iter_mut, mut);
    }

    /// Calls `visit` on every label that it may lead to.
    pub fn for_each_label(&self, visit: &mut dyn FnMut(&Label)) {
        visit_labels!(self, visit);
    }

    /// As [`Instruction::for_each_label`].
    pub fn for_each_label_mut(&mut self, visit: &mut dyn FnMut(&mut Label)) {
        visit_labels!(self, visit);
    }
}

/// Passes every direct part of an expression to a visitor.
macro_rules! visit_parts {
    ($expr:ident, $visit:ident, $iter:ident, $whole:ident) => {
        match $expr {
            Expr::Const(_) | Expr::Register(_) | Expr::Column { .. } => {}
            Expr::Unary { operand, .. } | Expr::Cast { operand, .. } => $visit(operand),
            Expr::Not(operand) | Expr::IsNull(operand) => $visit(operand),
            Expr::Binary { left, right, .. }
            | Expr::And(left, right)
            | Expr::Or(left, right)
            | Expr::NotDistinct(left, right) => {
                $visit(left);
                $visit(right);
            }
            Expr::Like { operand, pattern, .. } => {
                $visit(operand);
                $visit(pattern);
            }
            Expr::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    $visit(condition);
                    $visit(result);
                }
                $visit(otherwise);
            }
            Expr::Coalesce(items)
            | Expr::Call { arguments: items, .. }
            | Expr::Array { items, .. }
            | Expr::Routine { arguments: items, .. }
            | Expr::Query { outer: items, .. } => items.$iter().for_each($visit),
            Expr::Element { array, index } => {
                $visit(array);
                $visit(index);
            }
            Expr::Quantified { left, array, .. } => {
                $visit(left);
                $visit(array);
            }
            Expr::InList { operand, list } => {
                $visit(operand);
                list.$iter().for_each($visit);
            }
            Expr::Deep(deep) => with_stack(|| $visit(deep.$whole())),
        }
    };
}

impl Expr {
    /// Calls `visit` on every direct part.
    pub fn for_each_part<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit_parts!(self, visit, iter, expr);
    }

    /// As [`Expr::for_each_part`].
    pub fn for_each_part_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        visit_parts!(self, visit, iter_mut, expr_mut);
    }

    /// What its value depends on besides registers and rows.
    pub fn looks_at(&self) -> LooksAt {
        let mut seen = LooksAt::NOTHING;
        let mut open = vec![self];
        while let Some(part) = open.pop() {
            seen = seen.and(part.itself_looks_at());
            part.for_each_part(&mut |inner| open.push(inner));
        }
        seen
    }

    /// What the expression itself looks at, without its parts.
    fn itself_looks_at(&self) -> LooksAt {
        match self {
            Expr::Call { function, .. } => function.looks_at(),
            // Between texts, dates and times the session's time zone matters, and the text may be 'today'.
            Expr::Cast { to: SqlType::Array(element), .. } if element.sql_type().is_oid() => {
                LooksAt::LOCAL_TIME.and(LooksAt::CATALOG)
            }
            Expr::Cast { to, .. } if to.is_datetime() || matches!(to, SqlType::Array(_)) => {
                LooksAt::LOCAL_TIME
            }
            Expr::Cast { to, .. } if to.is_oid() => LooksAt::CATALOG,
            Expr::Cast { to, .. } if to.is_string() => LooksAt::IDENTITY,
            // What a routine looks at is found in its procedure, what a subquery looks at in its code.
            Expr::Routine { .. } | Expr::Query { .. } => LooksAt::NOTHING,
            Expr::Cast { .. }
            | Expr::Const(_)
            | Expr::Register(_)
            | Expr::Column { .. }
            | Expr::Unary { .. }
            | Expr::Binary { .. }
            | Expr::And(..)
            | Expr::Or(..)
            | Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::NotDistinct(..)
            | Expr::Case { .. }
            | Expr::Coalesce(_)
            | Expr::InList { .. }
            | Expr::Quantified { .. }
            | Expr::Like { .. }
            | Expr::Element { .. }
            | Expr::Array { .. }
            | Expr::Deep(_) => LooksAt::NOTHING,
        }
    }
}
