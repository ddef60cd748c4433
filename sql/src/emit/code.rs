//! Assembles a procedure: instructions with labels that are placed later, tables, slots.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use hyades_engine::procedure::ir::{
    CalleeIndex, CursorSlot, Deep, Expr, Instruction, JoinSlot, Label, Line, Procedure, Register, RowSlot,
    SpoolSlot, Stage, StageIndex, TableIndex, TableReference,
};
use hyades_engine::storage::table::Table;
use hyades_types::access::NeededRight;
use hyades_types::definition::{TableDefinition, TableId};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::value::{SqlType, Value};

use crate::bind::callee::{CalleeEntry, DEEPEST_NESTING, too_deeply_nested};
use crate::bind::{Binder, Slots, UsedCasts, UsedTypes};
use crate::expr;

/// An expression of more parts counts as work of a guest each time it is evaluated.
const MANY_PARTS: usize = 128;

/// A procedure under construction. Labels in instructions are numbers into `labels` until [`Code::finish`].
#[derive(Default)]
pub(crate) struct Code {
    instructions: Vec<Instruction>,
    labels: Vec<Label>,
    tables: Vec<TableReference>,
    cursors: u16,
    /// The next free slots, shared with the binder.
    slots: Rc<Slots>,
    stages: Vec<Option<Arc<dyn Stage>>>,
    /// Routines that the code calls, shared with the binder.
    callees: Rc<RefCell<Vec<CalleeEntry>>>,
    types: UsedTypes,
    casts: UsedCasts,
    lines: Vec<Line>,
    rights: Vec<NeededRight>,
    /// Code of subqueries, by number.
    fragments: Vec<Fragment>,
    /// Instructions copied from fragments.
    copied: usize,
    /// Row slots for rows of which only the existence matters, shared by all checks of a table.
    check_rows: Vec<(TableIndex, RowSlot)>,
}

fn calls_routine(expr: &Expr) -> bool {
    expr::any(expr, &|part| matches!(part, Expr::Routine { .. } | Expr::Query { .. }))
}

/// The code of a subquery, which is copied to where its value is needed.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    instructions: Vec<Instruction>,
    /// The number of its first label, and the positions of its labels in it.
    first_label: usize,
    labels: Vec<Label>,
    result: FragmentResult,
}

/// The inputs and outputs of a fragment.
#[derive(Clone, Debug)]
pub(crate) struct FragmentResult {
    /// The registers that receive values of the enclosing query.
    pub(crate) outer: Vec<Register>,
    pub(crate) result: Register,
    /// The spool with its rows, if they are kept.
    pub(crate) spool: Option<SpoolSlot>,
    /// Whether it has run, if it is to run only once.
    pub(crate) done: Option<Register>,
}

/// The code that was assembled before a fragment was begun.
pub(crate) struct Interrupted {
    instructions: Vec<Instruction>,
    first_label: usize,
}

/// Limit on the instructions copied. Code of nested subqueries is copied again and again, and a subquery may
/// occur in an expression several times.
const MOST_COPIED: usize = 100_000;

/// Successive jumps that are merged into one.
const MOST_JUMPS: usize = 16;

/// A label that has not been placed yet.
const UNPLACED: Label = Label::MAX;

fn too_large() -> Error {
    Error::input(sqlstate::STATEMENT_TOO_COMPLEX, "the statement is too large")
}

impl Code {
    pub(crate) fn new(binder: &Binder<'_>) -> Code {
        Code {
            slots: binder.slots(),
            callees: Rc::clone(&binder.callees),
            types: Rc::clone(&binder.types),
            casts: Rc::clone(&binder.casts),
            ..Code::default()
        }
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(UNPLACED);
        Label::try_from(self.labels.len() - 1).unwrap_or(UNPLACED)
    }

    /// Places the label before the next instruction.
    pub(crate) fn place(&mut self, label: Label) {
        self.labels[label as usize] = Label::try_from(self.instructions.len()).unwrap_or(UNPLACED);
    }

    /// Appends an instruction. Calls of routines in its expressions become instructions in front of it.
    pub(crate) fn push(&mut self, mut instruction: Instruction) {
        if !self.callees.borrow().is_empty() || !self.fragments.is_empty() {
            self.lower(&mut instruction);
        }
        self.instructions.push(instruction);
    }

    /// Begins the code of a subquery.
    pub(crate) fn begin_fragment(&mut self) -> Interrupted {
        let instructions = std::mem::take(&mut self.instructions);
        Interrupted { instructions, first_label: self.labels.len() }
    }

    /// Ends the code of a subquery and resumes the code before it.
    pub(crate) fn end_fragment(&mut self, interrupted: Interrupted, result: FragmentResult) -> Fragment {
        let Interrupted { instructions, first_label } = interrupted;
        let instructions = std::mem::replace(&mut self.instructions, instructions);
        let labels = self.labels[first_label..].to_vec();
        Fragment { instructions, first_label, labels, result }
    }

    pub(crate) fn fragment_count(&self) -> usize {
        self.fragments.len()
    }

    pub(crate) fn add_fragment(&mut self, fragment: Fragment) {
        self.fragments.push(fragment);
    }

    /// Stands for a query whose rows are already in this spool.
    pub(crate) fn add_kept(&mut self, spool: SpoolSlot) {
        let result = FragmentResult { outer: Vec::new(), result: 0, spool: Some(spool), done: None };
        let (instructions, labels) = (Vec::new(), Vec::new());
        self.fragments.push(Fragment { instructions, first_label: self.labels.len(), labels, result });
    }

    /// Whether the query runs at most once in a statement.
    pub(crate) fn runs_once(&self, query: u16) -> bool {
        let fragment = self.fragments.get(usize::from(query));
        fragment.is_some_and(|fragment| fragment.result.done.is_some())
    }

    /// Inserts the code that keeps a query's rows here. Returns their spool.
    pub(crate) fn kept_rows(&mut self, query: u16, outer: &[Expr]) -> Option<SpoolSlot> {
        let outer = outer.iter().map(|value| self.lowered(value.clone())).collect();
        self.place_fragment(query, outer);
        self.fragments.get(usize::from(query))?.result.spool
    }

    /// Inserts the code that runs a step of a recursive query here.
    pub(crate) fn place_step(&mut self, query: u16) {
        self.place_fragment(query, Vec::new());
    }

    /// Copies a subquery's code to this place. Returns its value.
    fn place_fragment(&mut self, query: u16, outer: Vec<Expr>) -> Expr {
        let fragment = self.fragments.get(usize::from(query));
        self.copied += fragment.map_or(0, |fragment| fragment.instructions.len());
        if self.copied > MOST_COPIED {
            // Reported when the procedure is finished.
            return Expr::Const(Value::Null);
        }
        let Some(fragment) = fragment.cloned() else {
            // Code that emits a clause prepares its subqueries first.
            self.instructions.push(Instruction::Raise {
                state: sqlstate::INTERNAL_ERROR.0,
                message: Expr::Const(Value::text("a subquery was not compiled")),
            });
            return Expr::Const(Value::Null);
        };
        let Fragment { instructions, first_label, labels, result } = fragment;
        let FragmentResult { outer: registers, result, spool: _, done } = result;
        let end = self.label();
        if let Some(done) = done {
            self.instructions.push(Instruction::JumpUnless {
                condition: Expr::Not(Box::new(Expr::Register(done))),
                to: end,
            });
        }
        for (register, value) in registers.into_iter().zip(outer) {
            self.instructions.push(Instruction::Evaluate { expr: value, into: register });
        }
        let base = Label::try_from(self.instructions.len()).unwrap_or(UNPLACED);
        let first = self.labels.len();
        let placed = |label: &Label| if *label == UNPLACED { UNPLACED } else { label + base };
        self.labels.extend(labels.iter().map(placed));
        for mut instruction in instructions {
            instruction.for_each_label_mut(&mut |label| {
                let at = *label as usize - first_label + first;
                *label = Label::try_from(at).unwrap_or(UNPLACED);
            });
            self.instructions.push(instruction);
        }
        if let Some(done) = done {
            let expr = Expr::Const(Value::Boolean(true));
            self.instructions.push(Instruction::Evaluate { expr, into: done });
        }
        self.place(end);
        Expr::Register(result)
    }

    pub(crate) fn new_spool(&mut self) -> Result<SpoolSlot> {
        self.slots.new_spool()
    }

    pub(crate) fn new_join(&mut self) -> Result<JoinSlot> {
        self.slots.new_join()
    }

    /// A stage that is set later: see [`Code::set_stage`].
    pub(crate) fn new_stage(&mut self) -> Result<StageIndex> {
        self.stages.push(None);
        StageIndex::try_from(self.stages.len() - 1).map_err(|_| too_large())
    }

    pub(crate) fn set_stage(&mut self, stage: StageIndex, meaning: Arc<dyn Stage>) {
        self.stages[usize::from(stage)] = Some(meaning);
    }

    /// Reserves a place for instructions that are known only later.
    pub(crate) fn reserve(&mut self) -> usize {
        self.instructions.push(Instruction::Return);
        self.instructions.len() - 1
    }

    /// Puts instructions into a reserved place. They must not jump.
    pub(crate) fn fill(&mut self, place: usize, instructions: Vec<Instruction>) {
        let added = Label::try_from(instructions.len()).unwrap_or(UNPLACED);
        self.instructions.splice(place..=place, instructions);
        let moved = |label: &mut Label| {
            if *label as usize > place && *label != UNPLACED {
                *label = *label - 1 + added;
            }
        };
        self.labels.iter_mut().for_each(moved);
        self.lines.iter_mut().for_each(|line| moved(&mut line.from));
    }

    /// Puts instructions before all others. They must not jump.
    pub(crate) fn put_first(&mut self, instructions: Vec<Instruction>) {
        let added = Label::try_from(instructions.len()).unwrap_or(UNPLACED);
        self.instructions.splice(0..0, instructions);
        let lines = self.lines.iter_mut().map(|line| &mut line.from);
        let labels = self.labels.iter_mut().filter(|label| **label != UNPLACED);
        labels.chain(lines).for_each(|label| *label += added);
    }

    /// Assigns the code that follows to this line of a body.
    pub(crate) fn line(&mut self, line: u32, kind: &'static str) {
        let from = Label::try_from(self.instructions.len()).unwrap_or(UNPLACED);
        if self.lines.last().is_some_and(|last| last.from == from) {
            self.lines.pop();
        }
        self.lines.push(Line { from, line, routine: None, kind });
    }

    /// Makes the statements that begin in this part continue the enclosing one.
    pub(crate) fn join_statements(&mut self, part: Range<usize>) {
        let unused = self.new_register();
        for instruction in &mut self.instructions[part] {
            if matches!(instruction, Instruction::BeginStatement) {
                *instruction = Instruction::Evaluate { expr: Expr::Const(Value::Null), into: unused };
            }
        }
    }

    pub(crate) fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    fn new_register(&self) -> Register {
        let register = self.slots.registers.get();
        self.slots.registers.set(register + 1);
        Register::try_from(register).unwrap_or(Register::MAX)
    }

    fn lower(&mut self, instruction: &mut Instruction) {
        let mut has_call = false;
        instruction.for_each_expr(&mut |part| has_call |= calls_routine(part));
        if has_call {
            instruction.for_each_expr_mut(&mut |part| {
                let whole = std::mem::replace(part, Expr::Const(Value::Null));
                *part = self.lowered(whole);
            });
        }
    }

    /// The expression with its calls moved in front of it. CASE, COALESCE, AND and OR still evaluate only
    /// what they need.
    fn lowered(&mut self, expr: Expr) -> Expr {
        if !calls_routine(&expr) {
            return expr;
        }
        match expr {
            Expr::Case { branches, otherwise } => self.lowered_case(branches, *otherwise),
            Expr::Coalesce(items) => {
                let (result, end) = (self.new_register(), self.label());
                for item in items {
                    let item = self.lowered(item);
                    self.evaluate(result, item);
                    self.jump_unless(Expr::IsNull(Box::new(Expr::Register(result))), end);
                }
                self.place(end);
                Expr::Register(result)
            }
            Expr::And(left, right) => self.lowered_both(*left, *right, false),
            Expr::Or(left, right) => self.lowered_both(*left, *right, true),
            Expr::Routine { callee, arguments } => {
                let arguments: Vec<Expr> =
                    arguments.into_iter().map(|argument| self.lowered(argument)).collect();
                self.lowered_call(callee, arguments)
            }
            Expr::Query { query, outer } => {
                let outer: Vec<Expr> = outer.into_iter().map(|value| self.lowered(value)).collect();
                self.place_fragment(query, outer)
            }
            mut other => {
                other.for_each_part_mut(&mut |part| {
                    let whole = std::mem::replace(part, Expr::Const(Value::Null));
                    *part = self.lowered(whole);
                });
                other
            }
        }
    }

    fn lowered_call(&mut self, callee: CalleeIndex, arguments: Vec<Expr>) -> Expr {
        let result = self.new_register();
        let end = self.label();
        let is_strict = self.callees.borrow()[usize::from(callee)].is_strict;
        if is_strict {
            self.evaluate(result, Expr::Const(Value::Null));
            for argument in &arguments {
                self.jump_unless(Expr::Not(Box::new(Expr::IsNull(Box::new(argument.clone())))), end);
            }
        }
        self.instructions.push(Instruction::Call {
            callee,
            arguments,
            into: vec![result],
            rows: None,
            lent: Vec::new(),
        });
        self.place(end);
        Expr::Register(result)
    }

    fn lowered_case(&mut self, branches: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
        let (result, end) = (self.new_register(), self.label());
        for (when, then) in branches {
            let next = self.label();
            let when = self.lowered(when);
            self.jump_unless(when, next);
            let then = self.lowered(then);
            self.evaluate(result, then);
            self.jump(end);
            self.place(next);
        }
        let otherwise = self.lowered(otherwise);
        self.evaluate(result, otherwise);
        self.place(end);
        Expr::Register(result)
    }

    /// AND (or OR) that stops when the left side is `decides`.
    fn lowered_both(&mut self, left: Expr, right: Expr, decides: bool) -> Expr {
        let (result, end) = (self.new_register(), self.label());
        let left = self.lowered(left);
        self.evaluate(result, left);
        let own = || Box::new(Expr::Register(result));
        let decided = Expr::NotDistinct(own(), Box::new(Expr::Const(Value::Boolean(decides))));
        self.jump_unless(Expr::Not(Box::new(decided)), end);
        let right = Box::new(self.lowered(right));
        self.evaluate(result, if decides { Expr::Or(own(), right) } else { Expr::And(own(), right) });
        self.place(end);
        Expr::Register(result)
    }

    pub(crate) fn evaluate(&mut self, into: Register, expr: Expr) {
        self.push(Instruction::Evaluate { expr, into });
    }

    pub(crate) fn jump(&mut self, to: Label) {
        self.push(Instruction::Jump { to });
    }

    pub(crate) fn jump_unless(&mut self, condition: Expr, to: Label) {
        self.push(Instruction::JumpUnless { condition, to });
    }

    pub(crate) fn new_row(&mut self) -> Result<RowSlot> {
        self.slots.new_row()
    }

    pub(crate) fn new_cursor(&mut self) -> Result<CursorSlot> {
        self.cursors = self.cursors.checked_add(1).ok_or_else(too_large)?;
        Ok(self.cursors - 1)
    }

    pub(crate) fn table(&mut self, table: &Arc<Table>) -> Result<TableIndex> {
        let known = self.tables.iter().position(|reference| Arc::ptr_eq(&reference.table, table));
        let index = known.unwrap_or_else(|| {
            self.tables.push(TableReference::new(Arc::clone(table)));
            self.tables.len() - 1
        });
        TableIndex::try_from(index).map_err(|_| too_large())
    }

    /// Adds rights that the user who runs the procedure needs.
    pub(crate) fn add_rights(&mut self, rights: Vec<NeededRight>) {
        self.rights.extend(rights);
    }

    /// Adds the views whose queries are in the code.
    pub(crate) fn add_views(&mut self, views: Vec<TableReference>) {
        for view in views {
            if !self.tables.iter().any(|known| Arc::ptr_eq(&known.table, &view.table)) {
                self.tables.push(view);
            }
        }
    }

    /// The definition that the procedure is compiled against.
    pub(crate) fn definition(&self, table: TableIndex) -> Arc<TableDefinition> {
        Arc::clone(&self.tables[usize::from(table)].definition)
    }

    pub(crate) fn table_of(&self, table: TableIndex) -> Arc<Table> {
        Arc::clone(&self.tables[usize::from(table)].table)
    }

    pub(crate) fn table_id(&self, table: TableIndex) -> TableId {
        self.tables[usize::from(table)].table.id()
    }

    /// Marks the procedure as stale: a table is not visible yet, so the procedure is to wait for this one and
    /// be compiled again.
    pub(crate) fn make_stale(&mut self, table: TableIndex) {
        self.tables[usize::from(table)].version = u64::MAX;
    }

    /// A row slot that nothing reads.
    pub(crate) fn check_row(&mut self, table: TableIndex) -> Result<RowSlot> {
        if let Some((_, row)) = self.check_rows.iter().find(|(known, _)| *known == table) {
            return Ok(*row);
        }
        let row = self.new_row()?;
        self.check_rows.push((table, row));
        Ok(row)
    }

    /// Moves labels in front of a jump to its target: the end of an inner loop is the next iteration of the
    /// enclosing one, and there are many rows.
    fn look_through_jumps(&mut self) {
        for at in 0..self.labels.len() {
            let mut place = self.labels[at];
            // An endless loop ends somewhere within itself.
            for _ in 0..MOST_JUMPS {
                match self.instructions.get(place as usize) {
                    Some(Instruction::Jump { to }) if self.labels[*to as usize] != UNPLACED => {
                        place = self.labels[*to as usize];
                    }
                    _ => break,
                }
            }
            self.labels[at] = place;
        }
    }

    /// The finished procedure. All labels must have been placed.
    pub(crate) fn finish(
        mut self,
        name: &str,
        parameters: Vec<SqlType>,
        registers: u16,
        output: Vec<SqlType>,
    ) -> Result<Procedure> {
        if self.copied > MOST_COPIED {
            return Err(too_large());
        }
        self.look_through_jumps();
        for instruction in &mut self.instructions {
            let mut is_placed = true;
            instruction.for_each_label_mut(&mut |label| {
                *label = self.labels[*label as usize];
                is_placed &= *label != UNPLACED;
            });
            if !is_placed {
                return Err(Error::input(sqlstate::INTERNAL_ERROR, "a jump leads nowhere"));
            }
        }
        count_long_expressions(&mut self.instructions)?;
        let mut procedure = Procedure {
            name: name.to_owned(),
            parameters,
            registers,
            rows: self.slots.rows.get(),
            cursors: self.cursors,
            tables: self.tables,
            code: self.instructions,
            output,
            spools: self.slots.spools.get(),
            joins: self.slots.joins.get(),
            stages: self.stages.into_iter().flatten().collect(),
            callees: self.callees.borrow().iter().map(|entry| entry.callee.clone()).collect(),
            lines: self.lines,
            rights: self.rights,
            types: self.types.take(),
            casts: self.casts.take(),
            ..Procedure::default()
        };
        procedure.note_leading();
        procedure.asks_catalog = procedure.looks_at_catalog();
        let is_view = |used: &TableReference| used.definition.view.is_some();
        procedure.uses_unopened = !procedure.types.is_empty()
            || !procedure.casts.is_empty()
            || procedure.tables.iter().any(is_view)
            || procedure.called().any(|called| called.procedure.uses_unopened);
        procedure.needs_owners_rights = procedure.rights.iter().any(|right| right.owner_of.is_some())
            || procedure.called().any(|called| called.procedure.needs_owners_rights);
        // What walks through procedures needs stack.
        procedure.depth = 1 + procedure.called().map(|called| called.procedure.depth).max().unwrap_or(0);
        if procedure.depth > DEEPEST_NESTING {
            return Err(too_deeply_nested());
        }
        Ok(procedure)
    }
}

/// Makes the evaluation of long expressions count as more than one instruction.
fn count_long_expressions(code: &mut [Instruction]) -> Result<()> {
    let mut all = 0;
    for instruction in code {
        instruction.for_each_expr_mut(&mut |expr| {
            let parts = expr::count(expr);
            all += parts;
            if parts >= MANY_PARTS {
                let parts = u32::try_from(parts).unwrap_or(u32::MAX);
                *expr = Expr::Deep(Deep::of_parts(std::mem::replace(expr, Expr::Const(Value::Null)), parts));
            }
        });
    }
    guest::spend_for(all)
}
