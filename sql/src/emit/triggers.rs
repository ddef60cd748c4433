//! Triggers: the calls that INSERT, UPDATE, DELETE and COPY make of their functions.
//!
//! What a trigger runs is a procedure of its own (`plpgsql::trigger_function`), which the statement's
//! procedure calls. So what a trigger does is known wherever it is known what the statement does. The
//! occasions:
//!
//! ```text
//! BEFORE STATEMENT   in front of the statement's code
//! BEFORE ROW         before the row is written, and before its constraints are checked. The new row is in
//!                    registers, where the triggers change it; one that returns no row makes the statement
//!                    skip it
//! AFTER ROW          an event (`event_kinds`), in the order of those of foreign keys, with the columns that
//!                    the function reads. A constraint trigger that is deferred waits for the end of the
//!                    transaction instead
//! AFTER STATEMENT    an event after all those of rows
//! ```
//!
//! WHEN is decided when the occasion arises. Transition tables are spools, filled while rows are written,
//! which the function has during its call.
//!
//! Reference: PostgreSQL's trigger.c (ExecBRInsertTriggers, AfterTriggerSaveEvent) and nodeModifyTable.c.

use std::rc::Rc;
use std::sync::Arc;

use hyades_engine::procedure::ir::{
    Callee, Expr, Instruction, Intent, Label, Procedure, Register, RowSlot, SpoolSlot, TableIndex,
};
use hyades_engine::storage::stored_routine::{Firing, Routine, TRIGGER};
use hyades_engine::storage::table::Table;
use hyades_types::deferred_checks::{CheckKind, DeferrableCheck};
use hyades_types::definition::{
    Deferral, Returns, TableDefinition, TriggerDefinition, TriggerEvent, TriggerFiring, TriggerTiming,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::{SqlType, Value};

use super::Compiler;
use super::event_kinds::{Event, Kind, Transition};
use super::row_sink::report;
use super::trigger_call::{Occasion, Rows, TriggerCall};
use crate::bind::BindContext;
use crate::bind::callee::{CalleeEntry, callee_of, compiled};
use crate::bind::row_expression::columns_of;
use crate::expr;
use crate::statement::query::parse_expression;

fn is_enabled(trigger: &TriggerDefinition) -> bool {
    matches!(trigger.firing, TriggerFiring::Origin | TriggerFiring::Always)
}

/// The expressions that read the columns of a stored row.
pub(super) fn stored_row(definition: &TableDefinition, row: RowSlot) -> Vec<Expr> {
    let columns = 0..u16::try_from(definition.visible_columns().len()).unwrap_or(u16::MAX);
    columns.map(|column| Expr::Column { row, column }).collect()
}

impl Compiler<'_> {
    /// The triggers of a table for an event, in the order in which they run. `set`: the columns that an
    /// UPDATE sets.
    pub(super) fn fired(
        &self,
        definition: &TableDefinition,
        (timing, is_for_rows): (TriggerTiming, bool),
        event: TriggerEvent,
        set: &[u16],
    ) -> Vec<u16> {
        let is_meant = |trigger: &TriggerDefinition| {
            trigger.timing == timing
                && trigger.is_for_rows == is_for_rows
                && is_enabled(trigger)
                && trigger.is_for(event, set)
        };
        let numbered = (0u16..).zip(&definition.triggers);
        numbered.filter(|(_, trigger)| is_meant(trigger)).map(|(at, _)| at).collect()
    }

    /// The procedure of a trigger.
    pub(super) fn trigger_call(&mut self, (table, at, event): Occasion) -> Result<Rc<TriggerCall>> {
        let occasion = (table, at, event);
        if let Some((_, known)) = self.trigger_calls.iter().find(|(known, _)| *known == occasion) {
            return Ok(Rc::clone(known));
        }
        let named = self.code.table_of(table);
        let definition = self.code.definition(table);
        let trigger = &definition.triggers[usize::from(at)];
        let callee = self.trigger_procedure(&named, trigger, event)?;
        let procedure = compiled(&callee);
        let entry = CalleeEntry { callee, is_strict: false };
        let callee = self.binder.callee_number(entry)?;
        let width = definition.visible_columns().len();
        let given = |has: bool| if has && trigger.is_for_rows { width } else { 0 };
        let (old, new) = (given(event.has_old()), given(event.has_new()));
        let call = match procedure {
            // What it does is not known yet.
            None => {
                TriggerCall { callee, reads: vec![true; old + new], sets: vec![true; new], disturbs: true }
            }
            Some(procedure) => {
                let (reads, sets) = procedure.register_uses();
                TriggerCall {
                    callee,
                    reads: reads[..old + new].to_vec(),
                    sets: sets[old..old + new].to_vec(),
                    disturbs: procedure.may_write(named.id()),
                }
            }
        };
        let call = Rc::new(call);
        self.trigger_calls.push((occasion, Rc::clone(&call)));
        Ok(call)
    }

    /// What a trigger runs.
    fn trigger_procedure(
        &mut self,
        table: &Arc<Table>,
        trigger: &TriggerDefinition,
        event: TriggerEvent,
    ) -> Result<Callee> {
        let mut functions = self.binder.context.tables.routines_named(&trigger.function).into_iter();
        let Some(function) = functions.find(|one| one.definition.returns == Returns::Trigger) else {
            let message = format!("function {}() does not exist", trigger.function.name);
            return Err(Error::input(sqlstate::UNDEFINED_FUNCTION, message));
        };
        let firing = Firing { table: table.id(), event, trigger: trigger.name.clone() };
        let routine: Arc<Routine> = function.on(&firing);
        debug_assert_eq!(routine.definition.language, TRIGGER);
        callee_of(self.binder.context.tables, &routine, &function)
    }

    /// Emits a call. `into` receives the results.
    fn call_trigger(&mut self, call: &TriggerCall, rows: &Rows, into: Vec<Register>, lent: Vec<SpoolSlot>) {
        let null = Expr::Const(Value::Null);
        let arguments = rows.all().zip(&call.reads);
        let arguments =
            arguments.map(|(value, is_read)| if *is_read { value } else { &null }).cloned().collect();
        let callee = call.callee;
        self.code.push(Instruction::Call { callee, arguments, into, rows: None, lent });
    }

    /// The WHEN clause of a trigger, and the slots of the old and the new row in it.
    fn condition_of_trigger(
        &mut self,
        table: TableIndex,
        at: u16,
    ) -> Result<Option<(Expr, (RowSlot, RowSlot))>> {
        let (definition, named) = (self.code.definition(table), self.code.table_of(table));
        let Some(condition) = &definition.triggers[usize::from(at)].condition else { return Ok(None) };
        let parsed = parse_expression(&condition.expression)?;
        let slots = (self.binder.new_row()?, self.binder.new_row()?);
        let bound = self.binder.of_kept(|binder| binder.condition_on_rows(&named, slots, &parsed));
        Ok(Some((bound.map_err(Error::without_position)?, slots)))
    }

    /// The WHEN clause of a trigger, over these rows.
    fn when(&mut self, table: TableIndex, at: u16, rows: &Rows) -> Result<Option<Expr>> {
        let Some((mut bound, slots)) = self.condition_of_trigger(table, at)? else { return Ok(None) };
        expr::replace(&mut bound, &mut |part| {
            let Expr::Column { row, column } = part else { return None };
            let values = if *row == slots.0 { &rows.old } else { &rows.new };
            Some(values.get(usize::from(*column)).cloned().unwrap_or(Expr::Const(Value::Null)))
        });
        Ok(Some(bound))
    }

    /// Columns that the triggers before an update may set too.
    pub(super) fn set_by_triggers(&mut self, table: &Arc<Table>, set: &[u16]) -> Result<Vec<u16>> {
        let definition = table.definition();
        let occasion = (TriggerTiming::Before, true);
        let fired = self.fired(&definition, occasion, TriggerEvent::Update, set);
        if fired.is_empty() {
            return Ok(Vec::new());
        }
        let table = self.code.table(table)?;
        let mut columns = Vec::new();
        for at in fired {
            let call = self.trigger_call((table, at, TriggerEvent::Update))?;
            columns.extend(set_columns(&definition, &call));
        }
        columns.sort_unstable();
        columns.dedup();
        Ok(columns)
    }

    /// Whether a trigger that runs before rows are written may change rows of the same table.
    pub(super) fn is_disturbed(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        set: &[u16],
    ) -> Result<bool> {
        let fired = self.fired(&table.definition(), (TriggerTiming::Before, true), event, set);
        if fired.is_empty() {
            return Ok(false);
        }
        let table = self.code.table(table)?;
        for at in fired {
            if self.trigger_call((table, at, event))?.disturbs {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs the triggers before an instruction that writes a row. Returns it with the row that they have
    /// made.
    pub(super) fn before_row(
        &mut self,
        instruction: Instruction,
        updated: &[u16],
        skip: Label,
    ) -> Result<Instruction> {
        match instruction {
            Instruction::Insert { table, values, row, given } => {
                let values = self.before_insert(table, values, skip)?;
                Ok(Instruction::Insert { table, values, row, given })
            }
            Instruction::InsertOr { table, values, row, arbiter, duplicate, given } => {
                let values = self.before_insert(table, values, skip)?;
                Ok(Instruction::InsertOr { table, values, row, arbiter, duplicate, given })
            }
            Instruction::Update { table, row, set } => {
                let set = self.before_update((table, row), set, updated, skip)?;
                Ok(Instruction::Update { table, row, set })
            }
            Instruction::Delete { table, row } => {
                let definition = self.code.definition(table);
                let rows = Rows { old: stored_row(&definition, row), new: Vec::new() };
                self.run_before((table, TriggerEvent::Delete, &[]), &rows, Some(row), skip)?;
                Ok(Instruction::Delete { table, row })
            }
            other => Ok(other),
        }
    }

    /// The values of a new row, after the triggers before its insertion.
    pub(super) fn before_insert(
        &mut self,
        table: TableIndex,
        mut values: Vec<Expr>,
        skip: Label,
    ) -> Result<Vec<Expr>> {
        let definition = self.code.definition(table);
        let event = TriggerEvent::Insert;
        if self.fired(&definition, (TriggerTiming::Before, true), event, &[]).is_empty() {
            return Ok(values);
        }
        let visible = definition.visible_columns();
        let registers = self.fresh_row(table, visible.len())?;
        for ((value, column), register) in values.iter_mut().zip(visible).zip(registers) {
            let given = std::mem::replace(value, Expr::Register(register));
            let given = if column.generation.is_some() { Expr::Const(Value::Null) } else { given };
            self.code.evaluate(register, given);
        }
        self.before_insert_of(table, &values, skip)?;
        Ok(values)
    }

    /// The registers of a row to be inserted. All rows of a statement have the same: one is inserted after
    /// the other, and no value of one depends on another.
    fn fresh_row(&mut self, table: TableIndex, width: usize) -> Result<Vec<Register>> {
        if let Some((_, known)) = self.fresh_rows.iter().find(|(known, _)| *known == table) {
            return Ok(known.clone());
        }
        let registers = (0..width).map(|_| self.binder.new_register()).collect::<Result<Vec<Register>>>()?;
        self.fresh_rows.push((table, registers.clone()));
        Ok(registers)
    }

    /// The same for a row whose values are in registers of their own.
    pub(super) fn before_insert_of(&mut self, table: TableIndex, values: &[Expr], skip: Label) -> Result<()> {
        let width = self.code.definition(table).visible_columns().len();
        let rows = Rows { old: Vec::new(), new: values[..width].to_vec() };
        self.run_before((table, TriggerEvent::Insert, &[]), &rows, None, skip)
    }

    fn before_update(
        &mut self,
        (table, row): (TableIndex, RowSlot),
        set: Vec<(u16, Expr)>,
        updated: &[u16],
        skip: Label,
    ) -> Result<Vec<(u16, Expr)>> {
        let (definition, named) = (self.code.definition(table), self.code.table_of(table));
        let event = TriggerEvent::Update;
        if self.fired(&definition, (TriggerTiming::Before, true), event, updated).is_empty() {
            return Ok(set);
        }
        let written = set.iter().map(|(column, _)| *column);
        let mut columns: Vec<u16> = written.chain(self.set_by_triggers(&named, updated)?).collect();
        columns.sort_unstable();
        columns.dedup();
        let old = stored_row(&definition, row);
        let mut rows = Rows { new: old.clone(), old };
        for (column, value) in set {
            rows.new[usize::from(column)] = value;
        }
        for column in &columns {
            let register = self.binder.new_register()?;
            let value = std::mem::replace(&mut rows.new[usize::from(*column)], Expr::Register(register));
            self.code.evaluate(register, value);
        }
        self.run_before((table, event, updated), &rows, Some(row), skip)?;
        Ok(columns.into_iter().map(|column| (column, rows.new[usize::from(column)].clone())).collect())
    }

    /// Calls the triggers before a row is written, and jumps to `skip` if one of them returns no row.
    /// `stored` is the row that is there already, which must still be the same.
    fn run_before(
        &mut self,
        (table, event, set): (TableIndex, TriggerEvent, &[u16]),
        rows: &Rows,
        stored: Option<RowSlot>,
        skip: Label,
    ) -> Result<()> {
        let definition = self.code.definition(table);
        for at in self.fired(&definition, (TriggerTiming::Before, true), event, set) {
            let call = self.trigger_call((table, at, event))?;
            let done = self.code.label();
            if let Some(condition) = self.when(table, at, rows)? {
                self.code.jump_unless(condition, done);
            }
            let verdict = self.call_for_row(&call, rows)?;
            self.code.jump_unless(Expr::Register(verdict), skip);
            if let Some(row) = stored.filter(|_| call.disturbs) {
                self.refuse_disturbed(table, row, event);
            }
            self.code.place(done);
        }
        Ok(())
    }

    /// Calls a trigger that may change the new row, whose columns are in registers where it does. Returns the
    /// register that says whether it has returned a row.
    pub(super) fn call_for_row(&mut self, call: &TriggerCall, rows: &Rows) -> Result<Register> {
        let (verdict, unused) = (self.binder.new_register()?, self.binder.new_register()?);
        let results = rows.new.iter().zip(call.sets.iter().chain(std::iter::repeat(&false)));
        let results = results.map(|(value, is_set)| match value {
            Expr::Register(register) if *is_set => *register,
            _ => unused,
        });
        let into = std::iter::once(verdict).chain(results).collect();
        self.call_trigger(call, rows, into, Vec::new());
        Ok(verdict)
    }

    /// Fails if the row in a slot is no longer as it was when it was read.
    fn refuse_disturbed(&mut self, table: TableIndex, row: RowSlot, event: TriggerEvent) {
        let (disturbed, fine) = (self.code.label(), self.code.label());
        let (intent, changed, gone) = (Intent::IN_THE_WAY, disturbed, disturbed);
        self.code.push(Instruction::LockAgain { table, row, intent, changed, gone });
        self.code.jump(fine);
        self.code.place(disturbed);
        let what = if event == TriggerEvent::Delete { "deleted" } else { "updated" };
        let message = format!(
            "tuple to be {what} was already modified by an operation triggered by the current command"
        );
        let hint =
            "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.";
        self.code.push(report(sqlstate::TRIGGERED_DATA_CHANGE_VIOLATION, &message, Some(hint)));
        self.code.place(fine);
    }

    /// The values of a row that is about to change, as far as the triggers after it need them.
    pub(super) fn kept_for_triggers(
        &mut self,
        table: TableIndex,
        row: RowSlot,
        set: &[u16],
    ) -> Result<Vec<Expr>> {
        let definition = self.code.definition(table);
        let event = TriggerEvent::Update;
        let fired = self.fired(&definition, (TriggerTiming::After, true), event, set);
        let (old_table, _) = self.transition(table, event, set)?;
        let mut kept = stored_row(&definition, row);
        let mut is_needed = vec![old_table.is_some(); kept.len()];
        for at in &fired {
            if definition.triggers[usize::from(*at)].can_be_deferred() {
                is_needed.fill(true);
            }
            let call = self.trigger_call((table, *at, event))?;
            is_needed.iter_mut().zip(&call.reads).for_each(|(is_needed, is_read)| *is_needed |= is_read);
            if let Some((condition, (old, _))) = self.condition_of_trigger(table, *at)? {
                let read = columns_of(&condition, old);
                read.into_iter().for_each(|at| is_needed[usize::from(at)] = true);
            }
        }
        for (value, is_needed) in kept.iter_mut().zip(is_needed) {
            *value = match is_needed {
                true => {
                    let register = self.binder.new_register()?;
                    let value = std::mem::replace(value, Expr::Register(register));
                    self.code.evaluate(register, value);
                    Expr::Register(register)
                }
                false => Expr::Const(Value::Null),
            };
        }
        Ok(kept)
    }

    /// Queues the triggers after a row was written.
    pub(super) fn after_row(
        &mut self,
        (table, event, set): (TableIndex, TriggerEvent, &[u16]),
        rows: &Rows,
    ) -> Result<()> {
        let definition = self.code.definition(table);
        let (old, new) = self.transition(table, event, set)?;
        for (spool, values) in [(old, &rows.old), (new, &rows.new)] {
            if let Some(spool) = spool {
                self.code.push(Instruction::Spool { spool, values: values.clone() });
            }
        }
        for at in self.fired(&definition, (TriggerTiming::After, true), event, set) {
            let call = self.trigger_call((table, at, event))?;
            let done = self.code.label();
            if let Some(condition) = self.when(table, at, rows)? {
                self.code.jump_unless(condition, done);
            }
            self.defer_trigger(table, &definition.triggers[usize::from(at)], event, (&call, rows), done);
            let carried = rows.all().zip(&call.reads).filter(|(_, is_read)| **is_read);
            let carried = carried.map(|(value, _)| value.clone()).collect();
            self.queue(Event::Row((table, at, event)), carried)?;
            self.code.place(done);
        }
        Ok(())
    }

    /// For a constraint trigger that can be deferred: if it is, it waits for the end of the transaction.
    fn defer_trigger(
        &mut self,
        table: TableIndex,
        trigger: &TriggerDefinition,
        event: TriggerEvent,
        (call, rows): (&TriggerCall, &Rows),
        done: Label,
    ) {
        let Some(deferral) = trigger.constraint.filter(|deferral| *deferral != Deferral::Never) else {
            return;
        };
        let check = Box::new(DeferrableCheck {
            table: self.code.table_id(table),
            constraint: trigger.name.clone(),
            kind: CheckKind::Trigger(event),
            is_initially_deferred: deferral == Deferral::InitiallyDeferred,
        });
        // All columns: until it runs, its function may be replaced by one that reads others.
        let values = rows.all().take(call.reads.len()).cloned().collect();
        let immediate = self.code.label();
        self.code.push(Instruction::Defer { check, values, immediate });
        self.code.jump(done);
        self.code.place(immediate);
    }

    /// The spools of the rows that a statement changes in this way, if a trigger reads them.
    fn transition(
        &mut self,
        table: TableIndex,
        event: TriggerEvent,
        set: &[u16],
    ) -> Result<(Option<SpoolSlot>, Option<SpoolSlot>)> {
        let known = self.events.transitions.iter().find(|known| (known.table, known.event) == (table, event));
        if let Some(Transition { old, new, .. }) = known {
            return Ok((*old, *new));
        }
        let definition = self.code.definition(table);
        let is_meant = |trigger: &&TriggerDefinition| is_enabled(trigger) && trigger.is_for(event, set);
        let mut named = definition.triggers.iter().filter(is_meant);
        let (mut has_old, mut has_new) = (false, false);
        named.by_ref().for_each(|trigger| {
            has_old |= trigger.old_table.is_some();
            has_new |= trigger.new_table.is_some();
        });
        if !has_old && !has_new {
            return Ok((None, None));
        }
        let mut spool = |is_there: bool| if is_there { self.code.new_spool().map(Some) } else { Ok(None) };
        let (old, new) = (spool(has_old)?, spool(has_new)?);
        self.events.transitions.push(Transition { table, event, old, new });
        Ok((old, new))
    }

    /// Runs the triggers before a statement that does this.
    pub(super) fn before_statement(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        set: &[u16],
    ) -> Result<()> {
        let fired = self.fired(&table.definition(), (TriggerTiming::Before, false), event, set);
        if fired.is_empty() {
            return Ok(());
        }
        let table = self.code.table(table)?;
        for at in fired {
            let call = self.trigger_call((table, at, event))?;
            let done = self.code.label();
            if let Some(condition) = self.when(table, at, &Rows::default())? {
                self.code.jump_unless(condition, done);
            }
            self.call_trigger(&call, &Rows::default(), Vec::new(), Vec::new());
            self.code.place(done);
        }
        Ok(())
    }

    /// Queues the triggers after it.
    pub(super) fn after_statement(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        set: &[u16],
    ) -> Result<()> {
        let fired = self.fired(&table.definition(), (TriggerTiming::After, false), event, set);
        if fired.is_empty() {
            return Ok(());
        }
        let table = self.code.table(table)?;
        self.transition(table, event, set)?;
        for at in fired {
            let done = self.code.label();
            if let Some(condition) = self.when(table, at, &Rows::default())? {
                self.code.jump_unless(condition, done);
            }
            self.queue(Event::Statement((table, at, event)), Vec::new())?;
            self.code.place(done);
        }
        Ok(())
    }

    /// A procedure that runs the triggers for a statement, if there are any: for statements that are not
    /// compiled as a whole.
    pub(crate) fn statement_triggers(
        &mut self,
        table: &Arc<Table>,
        (timing, event): (TriggerTiming, TriggerEvent),
    ) -> Result<Option<Arc<Procedure>>> {
        if self.fired(&table.definition(), (timing, false), event, &[]).is_empty() {
            return Ok(None);
        }
        match timing {
            TriggerTiming::Before => self.before_statement(table, event, &[])?,
            _ => self.after_statement(table, event, &[])?,
        }
        self.finish_code("triggers", Vec::new()).map(Some)
    }

    /// The same for rows that actions of foreign keys change: only once for all actions of a statement.
    pub(super) fn around_action(
        &mut self,
        table: &Arc<Table>,
        event: TriggerEvent,
        set: &[u16],
    ) -> Result<()> {
        let definition = table.definition();
        let is_meant = |trigger: &TriggerDefinition| {
            !trigger.is_for_rows && is_enabled(trigger) && trigger.is_for(event, set)
        };
        if !definition.triggers.iter().any(is_meant) {
            return Ok(());
        }
        let index = self.code.table(table)?;
        let known = self.events.begun.iter().find(|(occasion, _)| *occasion == (index, event));
        let begun = match known {
            Some((_, begun)) => *begun,
            None => {
                let begun = self.binder.new_register()?;
                self.events.begun.push(((index, event), begun));
                begun
            }
        };
        let done = self.code.label();
        self.code.jump_unless(Expr::IsNull(Box::new(Expr::Register(begun))), done);
        self.code.evaluate(begun, Expr::Const(Value::Boolean(true)));
        self.before_statement(table, event, set)?;
        self.after_statement(table, event, set)?;
        self.code.place(done);
        Ok(())
    }

    /// The code for a queued trigger.
    pub(super) fn run_queued(&mut self, kind: &Kind, occasion: Occasion) -> Result<()> {
        let (table, at, event) = occasion;
        let call = self.trigger_call(occasion)?;
        let definition = self.code.definition(table);
        let trigger = &definition.triggers[usize::from(at)];
        let mut carried = kind.carried().into_iter();
        let null = || Expr::Const(Value::Null);
        let given = call.reads.iter().map(|is_read| match is_read {
            true => carried.next().unwrap_or_else(null),
            false => null(),
        });
        let rows = Rows { old: given.collect(), new: Vec::new() };
        let (old, new) = self.transition(table, event, &[])?;
        let old = old.filter(|_| trigger.old_table.is_some());
        let new = new.filter(|_| trigger.new_table.is_some());
        self.call_trigger(&call, &rows, Vec::new(), old.into_iter().chain(new).collect());
        Ok(())
    }
}

/// Columns, and the generated columns that are computed from them.
pub(super) fn with_generated(definition: &TableDefinition, columns: &[u16]) -> Vec<u16> {
    [columns, &definition.generated_from(columns)].concat()
}

/// The columns that a trigger may set. Generated columns are computed anew.
fn set_columns(definition: &TableDefinition, call: &TriggerCall) -> Vec<u16> {
    let columns = (0u16..).zip(definition.visible_columns()).zip(&call.sets);
    let columns = columns.filter(|((_, column), is_set)| **is_set && column.generation.is_none());
    columns.map(|((at, _), _)| at).collect()
}

/// A procedure that runs the triggers for a statement, for one that is not compiled at all.
pub(crate) fn triggers_of_statement(
    context: BindContext<'_>,
    table: &Arc<Table>,
    occasion: (TriggerTiming, TriggerEvent),
) -> Result<Option<Arc<Procedure>>> {
    Compiler::new("", context, &[], 0)?.statement_triggers(table, occasion)
}

/// The procedure that runs a deferred trigger. `None`: it no longer exists.
pub(super) fn compile_deferred(
    context: BindContext<'_>,
    check: &DeferrableCheck,
    event: TriggerEvent,
) -> Result<Option<Arc<Procedure>>> {
    let Some(table) = context.tables.by_id(check.table) else { return Ok(None) };
    let definition = table.definition();
    let found = (0u16..).zip(&definition.triggers).find(|(_, own)| own.name == check.constraint);
    let Some((at, _)) = found else { return Ok(None) };
    let mut compiler = Compiler::new("", context, &[], 0)?;
    let types = definition.visible_columns().iter().map(|column| column.sql_type);
    let types: Vec<SqlType> = [event.has_old(), event.has_new()]
        .into_iter()
        .filter(|is_there| *is_there)
        .flat_map(|_| types.clone())
        .collect();
    let mut values = Vec::with_capacity(types.len());
    compiler.binder.parameter_types = types.into_iter().map(Some).collect();
    for _ in 0..compiler.binder.parameter_types.len() {
        values.push(Expr::Register(compiler.binder.new_register()?));
    }
    let index = compiler.code.table(&table)?;
    let call = compiler.trigger_call((index, at, event))?;
    let rows = Rows { old: values, new: Vec::new() };
    compiler.call_trigger(&call, &rows, Vec::new(), Vec::new());
    compiler.finish_code("trigger", Vec::new()).map(Some)
}
