//! Procedures as text, one line for each instruction, as EXPLAIN (VERBOSE) shows them.
//!
//! ```text
//! procedure transfer(bigint, bigint)
//!    0  row0 := accounts[$1] for no key update, or go to 4
//!    1  update row0 of accounts set balance = accounts.balance - $2
//!    2  count row
//!    3  ...
//! ```
//!
//! Parameters are `$1` and so on, the other registers are `r2` and so on by number. A column has its table's
//! name, or the slot's where a slot has rows of several tables, or a table has several slots.

mod expression;

use std::fmt;

pub use expression::{SlotNames, conditions, shown};

use super::cursor_statement::{CursorAction, CursorStatement};
use super::ir::{
    Arbiter, Callee, Condition, Direction, DynamicStatement, Expr, Impatience, Instruction, Intent, JoinSlot,
    JoinStep, JoinedParts, Label, Procedure, Register, RowSlot, ScanBound, ScanRange, Strength, TableIndex,
};
use expression::list;

/// The names of the slots, from the procedure's own declarations.
struct Names<'p> {
    procedure: &'p Procedure,
    /// The table whose rows a slot holds, if it is always the same.
    tables: Vec<Option<TableIndex>>,
    /// Whether that is the only slot for its rows.
    is_only: Vec<bool>,
    /// Whether registers have the names of variables.
    names_variables: bool,
}

impl<'p> Names<'p> {
    fn of(procedure: &'p Procedure) -> Names<'p> {
        let mut filled: Vec<Vec<TableIndex>> = vec![Vec::new(); usize::from(procedure.rows)];
        for instruction in &procedure.code {
            if let Some((table, row)) = procedure.filled_slot(instruction) {
                filled[usize::from(row)].push(table);
            }
        }
        let tables: Vec<Option<TableIndex>> = filled
            .into_iter()
            .map(|tables| match tables.split_first() {
                Some((first, rest)) if rest.iter().all(|table| table == first) => Some(*first),
                _ => None,
            })
            .collect();
        let is_only = |table: &Option<TableIndex>| tables.iter().filter(|other| *other == table).count() == 1;
        Names { procedure, is_only: tables.iter().map(is_only).collect(), tables, names_variables: false }
    }

    fn table(&self, table: TableIndex) -> &str {
        &self.procedure.table(table).definition.name.name
    }

    fn expr(&self, expr: &Expr) -> String {
        let text = shown(expr, self);
        match text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
            // The brackets belong together.
            Some(inner) if matches!(expr, Expr::Binary { .. }) => inner.to_owned(),
            _ => text,
        }
    }

    fn list(&self, items: &[Expr]) -> String {
        list(items, self)
    }

    fn registers(&self, registers: &[Register]) -> String {
        let names: Vec<String> = registers.iter().map(|register| self.register(*register)).collect();
        names.join(", ")
    }

    fn row(&self, into: Register, width: u16) -> String {
        let registers: Vec<Register> = (into..into.saturating_add(width)).collect();
        self.registers(&registers)
    }
}

impl SlotNames for Names<'_> {
    fn register(&self, register: Register) -> String {
        let mut variables = self.procedure.variables.iter().filter(|_| self.names_variables);
        if let Some((_, name)) = variables.find(|(known, _)| *known == register) {
            return name.clone();
        }
        match usize::from(register) < self.procedure.parameters.len() {
            true => format!("${}", u32::from(register) + 1),
            false => format!("r{register}"),
        }
    }

    fn column(&self, row: RowSlot, column: u16) -> String {
        let table = self.tables.get(usize::from(row)).copied().flatten();
        let definition = table.map(|table| &self.procedure.table(table).definition);
        match definition
            .and_then(|definition| Some((definition, definition.columns.get(usize::from(column))?)))
        {
            Some((definition, column)) if self.is_only[usize::from(row)] => {
                format!("{}.{}", definition.name.name, column.name)
            }
            Some((_, column)) => format!("row{row}.{}", column.name),
            None => format!("row{row}.{column}"),
        }
    }

    fn routine(&self, callee: u16) -> String {
        match self.procedure.callees.get(usize::from(callee)) {
            Some(Callee::Procedure(called)) => called.procedure.name.clone(),
            Some(Callee::Member { name, .. }) => name.clone(),
            None => self.procedure.name.clone(),
        }
    }
}

impl Procedure {
    /// An expression of its code, with the names of variables.
    pub fn shown(&self, expr: &Expr) -> String {
        Names { names_variables: true, ..Names::of(self) }.expr(expr)
    }
}

impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Names::of(self);
        let parameters: Vec<_> = self.parameters.iter().map(|sql_type| sql_type.name()).collect();
        write!(f, "procedure {}", self.name)?;
        if !parameters.is_empty() && !self.name.contains('(') {
            write!(f, "({})", parameters.join(", "))?;
        }
        for (label, instruction) in self.code.iter().enumerate() {
            write!(f, "\n{label:4}  {}", line(instruction, &names))?;
        }
        Ok(())
    }
}

impl Names<'_> {
    /// The instructions that foreign keys need besides reads.
    fn referential(&self, instruction: &Instruction) -> String {
        match instruction {
            Instruction::RowKey { row, into } => format!("{} := key of row{row}", self.register(*into)),
            Instruction::ReadKey { table, key, row, intent, absent } => {
                let (name, key, locking) = (self.table(*table), self.expr(key), locking(*intent));
                format!("row{row} := {name} under key {key}{locking}, or go to {absent}")
            }
            _ => String::new(),
        }
    }

    /// The instructions that only replay programs and slices have.
    fn of_replay(&self, instruction: &Instruction) -> String {
        match instruction {
            Instruction::Put { tape, values } => format!("tape{tape} += ({})", self.list(values)),
            Instruction::Take { tape, into } => format!("{} := next of tape{tape}", self.registers(into)),
            Instruction::Trap { line, routine } => {
                let of = routine.as_ref().map(|routine| format!(" of {routine}")).unwrap_or_default();
                format!("trap: a check in line {line}{of} fails")
            }
            _ => String::new(),
        }
    }

    fn read_spool(&self, instruction: &Instruction) -> String {
        if let Instruction::EmitSpooled { spool, width } = instruction {
            let values = if *width == 1 { "value".to_owned() } else { format!("{width} values") };
            return format!("emit the first {values} of each row of spool{spool}");
        }
        let Instruction::ReadSpool { spool, position, into, width, end } = instruction else {
            return String::new();
        };
        let (into, row) = (self.row(*into, *width), self.register(*position));
        format!("{into} := row {row} of spool{spool}, {row} + 1, or go to {end}")
    }

    /// The instructions that constraints with deferred checks need.
    fn later_check(&self, instruction: &Instruction) -> String {
        match instruction {
            Instruction::Defer { check, values, immediate } => {
                let (constraint, values) = (&check.constraint, self.list(values));
                format!("check {constraint} of ({values}) at the end, or go to {immediate}")
            }
            Instruction::SkipUnlessTwin { table, row, index, alone } => {
                let index = self.index(*table, *index);
                format!("unless another row may have the values of row{row} in {index} go to {alone}")
            }
            Instruction::RefuseTwin { table, row, index } => {
                format!("fail if another row has the values of row{row} in {}", self.index(*table, *index))
            }
            _ => String::new(),
        }
    }
}

/// An instruction, in one line.
fn line(instruction: &Instruction, names: &Names<'_>) -> String {
    use Instruction as Do;
    match instruction {
        Do::Evaluate { expr, into } => format!("{} := {}", names.register(*into), names.expr(expr)),
        Do::Jump { to } => format!("go to {to}"),
        Do::JumpUnless { condition, to } => format!("unless {} go to {to}", names.expr(condition)),
        Do::ReadPoint { table, key, row, intent, absent } => {
            let (found, locking) = (names.keyed(*table, key), locking(*intent));
            format!("row{row} := {found}{locking}, or go to {absent}")
        }
        Do::RowKey { .. } | Do::ReadKey { .. } => names.referential(instruction),
        Do::Defer { .. } | Do::SkipUnlessTwin { .. } | Do::RefuseTwin { .. } => {
            names.later_check(instruction)
        }
        Do::LookAhead { variable, last, reads } => names.look_ahead(*variable, *last, reads),
        Do::OpenScan { cursor, table, range, direction, intent } => {
            format!("cursor{cursor} := {}{}", names.scan(*table, range, *direction), locking(*intent))
        }
        Do::NextRow { cursor, row, end } => format!("row{row} := next of cursor{cursor}, or go to {end}"),
        Do::LockRow { row, changed, gone, .. } | Do::LockAgain { row, changed, gone, .. } => {
            format!("lock row{row}, or go to {changed} if it has changed, to {gone} if it is gone")
        }
        Do::BeginStatement => "a statement begins".to_owned(),
        Do::MakeRow { values, row, .. } => format!("row{row} := ({})", names.list(values)),
        Do::RefuseRow { row, constraint, .. } => format!("fail with row{row}: constraint {constraint}"),
        Do::Insert { .. } | Do::InsertBlind { .. } | Do::InsertOr { .. } => names.change(instruction),
        Do::Update { .. } | Do::Delete { .. } => names.change(instruction),
        Do::Emit { values } => format!("emit ({})", names.list(values)),
        Do::CountRow => "count row".to_owned(),
        Do::ResetCount => "count := 0".to_owned(),
        Do::TakeCount { found, count } => names.take_count(*found, *count),
        Do::OpenSpool { spool } => format!("spool{spool} := ()"),
        Do::Spool { spool, values } => format!("spool{spool} += ({})", names.list(values)),
        Do::NextSpooled { spool, into, width, end } => {
            format!("{} := next of spool{spool}, or go to {end}", names.row(*into, *width))
        }
        Do::EmitSpooled { .. } | Do::ReadSpool { .. } => names.read_spool(instruction),
        Do::Join { join, step } => names.join(*join, step),
        Do::AbsentRow { table, row } => format!("row{row} := NULLs as in {}", names.table(*table)),
        Do::NoteWritten { spool, row } => format!("note row{row} in spool{spool}"),
        Do::RefuseWritten { spool, row } => format!("fail if row{row} is noted in spool{spool}"),
        Do::SkipWritten { spool, row, to } => format!("if row{row} is noted in spool{spool} go to {to}"),
        Do::OpenStage { stage } => format!("stage{stage} := ()"),
        Do::FeedStage { stage, values } => format!("stage{stage} += ({})", names.list(values)),
        Do::FinishStage { stage, spool } => format!("spool{spool} += rows of stage{stage}"),
        Do::ReadCatalog { relation, spool } => format!("spool{spool} += rows of catalog relation {relation}"),
        Do::Call { .. } => names.call(instruction),
        Do::Dynamic(dynamic) => names.dynamic(dynamic),
        Do::Cursor(cursor) => names.cursor(cursor),
        Do::EndTransaction { commits } => format!("end the transaction, committing: {commits}"),
        Do::Put { .. } | Do::Take { .. } | Do::Trap { .. } => names.of_replay(instruction),
        Do::Return => "return".to_owned(),
        Do::Raise { state, message } => format!("fail with {state}: {}", names.expr(message)),
        Do::RaiseViolation(broken) => format!("fail with {}: constraint {}", broken.state, broken.constraint),
        Do::Report(report) => format!("raise {:?}: {}", report.severity, names.expr(&report.message)),
        Do::EnterBlock { handler } => format!("enter a block, its handler at {handler}"),
        Do::LeaveBlock => "leave the block".to_owned(),
        Do::MatchError { conditions, otherwise: to } => match_error(conditions, *to),
        Do::ErrorField { field, into } => format!("{} := error.{field:?}", names.register(*into)),
        Do::Rethrow => "fail with the same error".to_owned(),
        Do::ForgetError => "forget the error".to_owned(),
        Do::ForNext { counter, last, variable, is_reverse, end } => {
            names.for_next((*counter, *last, *variable), *is_reverse, *end)
        }
        Do::ForStep { counter, step, is_reverse, again, end } => {
            names.for_step((*counter, *step), *is_reverse, (*again, *end))
        }
        Do::SetElement { array, index, value, .. } => names.set_element(*array, index, value),
    }
}

fn match_error(conditions: &[Condition], otherwise: Label) -> String {
    format!("unless the error is {} go to {otherwise}", alternatives(conditions))
}

impl Names<'_> {
    fn join(&self, join: JoinSlot, step: &JoinStep) -> String {
        match step {
            JoinStep::Open => format!("join{join} := ()"),
            JoinStep::Keep { key, parts } => {
                format!("join{join}[{}] += ({})", self.list(key), self.parts(parts))
            }
            JoinStep::KeepNew { key, known } => {
                format!("join{join} += ({}), or go to {known} if it is there", self.list(key))
            }
            JoinStep::Probe { key, position, parts, end } => {
                let (parts, position) = (self.parts(parts), self.register(*position));
                format!("{parts} := next of join{join}[{}] after {position}, or go to {end}", self.list(key))
            }
            JoinStep::ProbeOnly { key, parts, end } => {
                format!("{} := only row of join{join}[{}], or go to {end}", self.parts(parts), self.list(key))
            }
            JoinStep::Note { position } => {
                format!("row {} of join{join} is joined", self.register(*position))
            }
            JoinStep::Forget => format!("no row of join{join} is joined"),
            JoinStep::NextUnjoined { position, parts, end } => {
                let (parts, position) = (self.parts(parts), self.register(*position));
                format!("{parts} := next of join{join} not joined after {position}, or go to {end}")
            }
        }
    }

    fn parts(&self, parts: &JoinedParts) -> String {
        let row = parts.row.map(|(_, row)| format!("row{row}"));
        let registers = parts.registers().map(|register| self.register(register));
        row.into_iter().chain(registers).collect::<Vec<String>>().join(", ")
    }

    fn scan(&self, table: TableIndex, range: &ScanRange, direction: Direction) -> String {
        let backward = if direction == Direction::Backward { " backward" } else { "" };
        format!("scan of {}{}{backward}", self.scanned(table, range), self.range(range))
    }

    fn for_next(
        &self,
        (counter, last, variable): (Register, Register, Register),
        is_reverse: bool,
        end: Label,
    ) -> String {
        let (counter, last) = (self.register(counter), self.register(last));
        let to = if is_reverse { "down to" } else { "up to" };
        format!("{} := {counter} {to} {last}, or go to {end}", self.register(variable))
    }

    fn for_step(
        &self,
        (counter, step): (Register, Register),
        is_reverse: bool,
        (again, end): (Label, Label),
    ) -> String {
        let (counter, step) = (self.register(counter), self.register(step));
        format!("{counter} {}= {step} and go to {again}, or {end}", if is_reverse { '-' } else { '+' })
    }

    fn set_element(&self, array: Register, index: &Expr, value: &Expr) -> String {
        format!("{}[{}] := {}", self.register(array), self.expr(index), self.expr(value))
    }

    fn keyed(&self, table: TableIndex, key: &[Expr]) -> String {
        format!("{}[{}]", self.table(table), self.list(key))
    }

    fn look_ahead(&self, variable: Register, last: Register, reads: &[(TableIndex, Vec<Expr>)]) -> String {
        let keys: Vec<String> = reads.iter().map(|(table, key)| self.keyed(*table, key)).collect();
        let (variable, last) = (self.register(variable), self.register(last));
        format!("ask ahead for {} while {variable} goes to {last}", keys.join(", "))
    }

    /// A table, and the secondary index by which its rows are found.
    fn scanned(&self, table: TableIndex, range: &ScanRange) -> String {
        match range.index {
            None => self.table(table).to_owned(),
            Some(index) => format!("{} by {}", self.table(table), self.index(table, index)),
        }
    }

    fn index(&self, table: TableIndex, index: u16) -> &str {
        &self.procedure.table(table).definition.indexes[usize::from(index)].name
    }

    /// The secondary indexes that change with the rows. Unique ones are marked, because other rows are looked
    /// up there.
    fn written_indexes(&self, instruction: &Instruction) -> String {
        let Some((table, _)) = instruction.effects().table else { return String::new() };
        let indexes = &self.procedure.table(table).definition.indexes;
        let looks = !matches!(instruction, Instruction::Delete { .. });
        let shown: Vec<String> = instruction
            .written_indexes(self.procedure)
            .into_iter()
            .map(|index| &indexes[usize::from(index)])
            .map(|index| {
                if looks && index.is_always_unique() {
                    format!("unique {}", index.name)
                } else {
                    index.name.clone()
                }
            })
            .collect();
        if shown.is_empty() { String::new() } else { format!(", by {}", shown.join(", ")) }
    }

    fn arbiter(&self, table: TableIndex, arbiter: Arbiter) -> String {
        match arbiter {
            Arbiter::Index(Some(index)) => format!(" because of {}", self.index(table, index)),
            Arbiter::Index(None) | Arbiter::Any => String::new(),
        }
    }

    fn range(&self, range: &ScanRange) -> String {
        let bound = |word: &str, bound: &ScanBound, inclusive: &str, exclusive: &str| match bound {
            ScanBound::Unbounded => String::new(),
            ScanBound::Included(values) => format!(" {word} {inclusive} ({})", self.list(values)),
            ScanBound::Excluded(values) => format!(" {word} {exclusive} ({})", self.list(values)),
            ScanBound::NotNull(values) if values.is_empty() => format!(" {word} (not null)"),
            ScanBound::NotNull(values) => format!(" {word} ({}, not null)", self.list(values)),
        };
        bound("from", &range.lower, ">=", ">") + &bound("to", &range.upper, "<=", "<")
    }

    /// An instruction that changes rows and therefore indexes.
    fn change(&self, instruction: &Instruction) -> String {
        let indexes = self.written_indexes(instruction);
        match instruction {
            Instruction::Insert { table, values, row, .. } => self.insert(*table, values, *row) + &indexes,
            Instruction::InsertBlind { table, values, row } => {
                format!("{}{indexes}, blind", self.insert(*table, values, *row))
            }
            Instruction::InsertOr { table, values, row, arbiter, duplicate, .. } => {
                let arbiter = self.arbiter(*table, *arbiter);
                format!("{}{indexes}, or go to {duplicate}{arbiter}", self.insert(*table, values, *row))
            }
            Instruction::Update { table, row, set } => self.update(*table, *row, set) + &indexes,
            Instruction::Delete { table, row } => {
                format!("delete row{row} of {}{indexes}", self.table(*table))
            }
            _ => String::new(),
        }
    }

    fn insert(&self, table: TableIndex, values: &[Expr], row: RowSlot) -> String {
        format!("row{row} := insert into {} ({})", self.table(table), self.list(values))
    }

    fn update(&self, table: TableIndex, row: RowSlot, set: &[(u16, Expr)]) -> String {
        let columns = &self.procedure.table(table).definition.columns;
        let set: Vec<String> = set
            .iter()
            .map(|(column, value)| format!("{} = {}", columns[usize::from(*column)].name, self.expr(value)))
            .collect();
        format!("update row{row} of {} set {}", self.table(table), set.join(", "))
    }

    fn take_count(&self, found: Option<Register>, count: Option<Register>) -> String {
        let found = found.map(|found| format!("{} := count > 0", self.register(found)));
        let count = count.map(|count| format!("{} := count", self.register(count)));
        found.into_iter().chain(count).collect::<Vec<_>>().join(", ")
    }

    fn dynamic(&self, dynamic: &DynamicStatement) -> String {
        format!("execute {} with ({})", self.expr(&dynamic.text), self.list(&dynamic.arguments))
    }

    fn cursor(&self, cursor: &CursorStatement) -> String {
        let name = self.expr(&cursor.name);
        match &cursor.action {
            CursorAction::Refuse => format!("fail if cursor {name} is open"),
            CursorAction::Open { spool, into, .. } => {
                format!("{} := open cursor {name} on spool{spool}", self.register(*into))
            }
            CursorAction::Fetch { way, steps, rows, count } => {
                let steps = steps.as_ref().map_or_else(|| "all".to_owned(), |steps| self.expr(steps));
                let rows =
                    rows.as_ref().map_or_else(String::new, |rows| format!(", rows to spool{}", rows.spool));
                let (count, way) = (self.register(*count), format!("{way:?}").to_lowercase());
                format!("{count} := move cursor {name} {way} {steps}{rows}")
            }
            CursorAction::Close => format!("close cursor {name}"),
        }
    }

    fn call(&self, instruction: &Instruction) -> String {
        let Instruction::Call { callee, arguments, into, rows, lent } = instruction else {
            return String::new();
        };
        let results = if into.is_empty() { String::new() } else { format!("{} := ", self.registers(into)) };
        let mut rows = rows.map_or_else(String::new, |spool| format!(", rows to spool{spool}"));
        rows.extend(lent.iter().map(|spool| format!(", with spool{spool}")));
        let name = self.routine(*callee);
        // Without the types of its parameters.
        let name = name.split_once('(').map_or(name.as_str(), |(name, _)| name);
        format!("{results}call {name}({}){rows}", self.list(arguments))
    }
}

/// As a locking clause, if there is one for it.
fn locking(intent: Intent) -> String {
    let strength = match intent.strength {
        Strength::Read => "",
        Strength::KeyRead => " for key share",
        Strength::NoKeyWrite => " for no key update",
        Strength::Write => " for update",
    };
    let impatience = match intent.impatience {
        None => "",
        Some(Impatience::SkipLocked) => " skip locked",
        Some(Impatience::NoWait) => " nowait",
    };
    format!("{strength}{impatience}")
}

fn alternatives(conditions: &[Condition]) -> String {
    let shown: Vec<&str> = conditions
        .iter()
        .map(|condition| match condition {
            Condition::Others => "any",
            Condition::State(state) => state.0,
        })
        .collect();
    shown.join(" or ")
}
