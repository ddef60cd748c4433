//! What foreign keys do when a statement is done: checks that could not be decided before, and actions. Also
//! checks of keys that can be deferred, but are not.
//!
//! While the statement runs, events go to spools: one spool for each kind of event, and one that holds the
//! kinds in the order in which they occurred. After the statement comes a loop that processes the events in
//! that order, as PostgreSQL fires its triggers. An action changes rows like any statement, through
//! [`Compiler::write`], and so adds events at the end. The code for each kind is emitted there once, so
//! cascades may be cyclic.
//!
//! ```text
//! Missing    a row that had no parent: if it still exists and still refers to that key, and there is no
//!            such parent now -> 23503
//! Removed    a key that is gone: the rows that refer to it are deleted or set to something else. NO ACTION
//!            fails if such a row exists and no other row has the key
//! Moved      the same for a key that has changed
//! Twin       a row whose values another one may have: if so -> 23505 (`deferred_unique`)
//! Row        a trigger after a row: it is called (`triggers`)
//! Statement  a trigger after the statement
//! ```
//!
//! Reference: PostgreSQL's ri_triggers.c and AfterTriggerEndQuery.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Intent, Procedure, Strength, TableIndex, Violation};
use hyades_engine::storage::table::Table;
use hyades_types::deferred_checks::{CheckKind, DeferrableCheck};
use hyades_types::definition::{ForeignKey, KeyAction, ParentKey, TableDefinition, TableId, TriggerEvent};
use hyades_types::error::{Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};

use super::Compiler;
use super::event_kinds::{Event, Kind};
use super::foreign_key::{Reference, all_same, is_null, reference};
use super::triggers::{compile_deferred, with_generated};
use crate::bind::{BindContext, coerce};

/// The procedure that makes a deferred check. `None`: the constraint no longer exists.
pub(crate) fn compile_check(
    context: BindContext<'_>,
    check: &DeferrableCheck,
) -> Result<Option<Arc<Procedure>>> {
    if let CheckKind::Trigger(event) = check.kind {
        return compile_deferred(context, check, event);
    }
    let Some(child) = context.tables.by_id(check.table) else { return Ok(None) };
    let definition = child.definition();
    if check.kind == CheckKind::Twin {
        return compile_twin_check(context, &child, check);
    }
    let Some(number) = definition.foreign_keys.iter().position(|key| key.name == check.constraint) else {
        return Ok(None);
    };
    let key = &definition.foreign_keys[number];
    let Some(parent) = context.tables.by_id(key.parent) else { return Ok(None) };
    let types_in = |definition: &TableDefinition, columns: &[u16]| -> Vec<SqlType> {
        columns.iter().map(|column| definition.columns[usize::from(*column)].sql_type).collect()
    };
    let types = match check.kind {
        CheckKind::Missing => [vec![SqlType::Bytea], types_in(&definition, &key.columns)].concat(),
        CheckKind::Twin | CheckKind::Trigger(_) => return Ok(None),
        CheckKind::Removed | CheckKind::Moved => types_in(&parent.definition(), &key.parent_columns),
    };
    let mut compiler = Compiler::new("", context, &[], 0)?;
    let width = u16::try_from(types.len()).unwrap_or(u16::MAX);
    compiler.binder.parameter_types = types.into_iter().map(Some).collect();
    for _ in 0..width {
        compiler.binder.new_register()?;
    }
    match check.kind {
        CheckKind::Missing => {
            let table = compiler.code.table(&child)?;
            let kind = Kind { event: Event::Missing { table, number }, spool: 0, first: 0, width };
            compiler.look_for_parent(&kind, table, number)?;
        }
        CheckKind::Removed | CheckKind::Moved => {
            let table = compiler.code.table(&parent)?;
            let values: Vec<Expr> = (0..width).map(Expr::Register).collect();
            match reference(&mut compiler, table, (check.table, number)) {
                Some(reference) => compiler.refuse_referenced(table, &reference, &values, true)?,
                None => compiler.code.make_stale(table),
            }
        }
        CheckKind::Twin | CheckKind::Trigger(_) => {}
    }
    compiler.finish_code("check", Vec::new()).map(Some)
}

fn compile_twin_check(
    context: BindContext<'_>,
    table: &Arc<Table>,
    check: &DeferrableCheck,
) -> Result<Option<Arc<Procedure>>> {
    let definition = table.definition();
    let named = (0u16..).zip(&definition.indexes).find(|(_, index)| index.name == check.constraint);
    let Some((number, _)) = named.filter(|(_, index)| index.is_unique) else { return Ok(None) };
    let mut compiler = Compiler::new("", context, &[], 0)?;
    compiler.binder.parameter_types = vec![Some(SqlType::Bytea)];
    let stored = compiler.binder.new_register()?;
    let table = compiler.code.table(table)?;
    compiler.refuse_twin(table, number, Expr::Register(stored))?;
    compiler.finish_code("check", Vec::new()).map(Some)
}

impl Compiler<'_> {
    /// Emits the code that keeps an event until the statement is done.
    pub(super) fn queue(&mut self, event: Event, carried: Vec<Expr>) -> Result<()> {
        let order = match self.events.order {
            Some(order) => order,
            None => *self.events.order.insert(self.code.new_spool()?),
        };
        let known = self.events.kinds.iter().position(|kind| kind.event == event);
        let number = match known {
            Some(number) => number,
            None => {
                let spool = self.code.new_spool()?;
                let first = self.binder.new_register()?;
                for _ in 1..carried.len() {
                    self.binder.new_register()?;
                }
                let width = u16::try_from(carried.len()).unwrap_or(u16::MAX);
                self.events.kinds.push(Kind { event, spool, first, width });
                self.events.kinds.len() - 1
            }
        };
        let spool = self.events.kinds[number].spool;
        self.code.push(Instruction::Spool { spool: order, values: vec![kind_number(number)] });
        self.code.push(Instruction::Spool { spool, values: carried });
        Ok(())
    }

    /// Emits the code that runs when a statement is done. Returns the code that must run before it begins.
    pub(crate) fn end_events(&mut self) -> Result<Vec<Instruction>> {
        let Some(order) = self.events.order else { return Ok(Vec::new()) };
        let (next, end) = (self.code.label(), self.code.label());
        let number = self.binder.new_register()?;
        self.code.jump(next);
        let mut starts = Vec::new();
        // Actions may add kinds.
        while let Some(kind) = self.events.kinds.get(starts.len()).copied() {
            let start = self.code.label();
            self.code.place(start);
            starts.push(start);
            let Kind { spool, first, width, .. } = kind;
            self.code.push(Instruction::NextSpooled { spool, into: first, width, end: next });
            match kind.event {
                Event::Missing { table, number } => self.look_for_parent(&kind, table, number)?,
                Event::Twin { table, index } => self.refuse_twin(table, index, Expr::Register(first))?,
                Event::Removed { table, child, number } | Event::Moved { table, child, number } => {
                    match reference(self, table, (child, number)) {
                        Some(reference) => self.act(&kind, table, &reference)?,
                        None => self.code.make_stale(table),
                    }
                }
                Event::Row(occasion) | Event::Statement(occasion) => self.run_queued(&kind, occasion)?,
            }
            self.code.jump(next);
        }
        self.code.place(next);
        self.code.push(Instruction::NextSpooled { spool: order, into: number, width: 1, end });
        for (at, start) in starts.into_iter().enumerate() {
            let other = self.code.label();
            let is_this = Expr::Binary {
                operator: BinaryOperator::Equal,
                left: Box::new(Expr::Register(number)),
                right: Box::new(kind_number(at)),
            };
            self.code.jump_unless(is_this, other);
            self.code.jump(start);
            self.code.place(other);
        }
        self.code.place(end);
        let events = std::mem::take(&mut self.events);
        let transitions = events.transitions.iter().flat_map(|own| own.old.into_iter().chain(own.new));
        let spools = events.kinds.iter().map(|kind| kind.spool).chain([order]).chain(transitions);
        let begun = events.begun.iter().map(|(_, begun)| *begun);
        let begun = begun.map(|into| Instruction::Evaluate { expr: Expr::Const(Value::Null), into });
        Ok(spools.map(|spool| Instruction::OpenSpool { spool }).chain(begun).collect())
    }

    /// A row that had no parent: fails unless it has one now.
    fn look_for_parent(&mut self, kind: &Kind, table: TableIndex, number: usize) -> Result<()> {
        let definition = self.code.definition(table);
        let Some(key) = definition.foreign_keys.get(number).cloned() else { return Ok(()) };
        let done = self.code.label();
        let carried = kind.carried();
        let Some((stored, values)) = carried.split_first() else { return Ok(()) };
        let row = self.code.new_row()?;
        let intent = Intent::newest(Strength::Read);
        self.code.push(Instruction::ReadKey { table, key: stored.clone(), row, intent, absent: done });
        let columns = key.columns.iter().map(|&column| Expr::Column { row, column });
        // If it refers to something else now, that change has an event of its own.
        if let Some(is_same) = all_same(columns.zip(values.iter().cloned())) {
            self.code.jump_unless(is_same, done);
        }
        let (absent, mixed) = (self.code.label(), self.code.label());
        self.skip_nulls(&key, values, done, mixed);
        self.parent_of((table, &key), values, absent)?;
        self.code.jump(done);
        self.code.place(mixed);
        if key.is_full && values.len() > 1 {
            let detail = "MATCH FULL does not allow mixing of null and nonnull key values.";
            let violation = refused_child(&key, &definition, (Expr::Const(Value::text(detail)), None));
            self.code.push(Instruction::RaiseViolation(Box::new(violation)));
        }
        self.code.place(absent);
        let parent = self.binder.context.tables.by_id(key.parent);
        let parent = parent.map_or_else(String::new, |parent| parent.definition().name.name.clone());
        let rest = format!("is not present in table \"{parent}\".");
        let hidden = (self.code.table_id(table), format!("Key {rest}"));
        let detail = detail(&definition, &key.columns, values, &rest);
        let violation = refused_child(&key, &definition, (detail, Some(hidden)));
        self.code.push(Instruction::RaiseViolation(Box::new(violation)));
        self.code.place(done);
        Ok(())
    }

    /// A key is gone, or has changed.
    fn act(&mut self, kind: &Kind, table: TableIndex, reference: &Reference) -> Result<()> {
        let carried = kind.carried();
        let is_removed = matches!(kind.event, Event::Removed { .. });
        let (old, new) = carried.split_at(reference.key.columns.len());
        match if is_removed { reference.key.on_delete } else { reference.key.on_update } {
            KeyAction::NoAction => self.refuse_referenced(table, reference, old, true),
            KeyAction::Restrict => self.refuse_referenced(table, reference, old, false),
            KeyAction::Cascade if is_removed => {
                let child = self.code.table(&reference.child)?;
                self.around_action(&reference.child, TriggerEvent::Delete, &[])?;
                self.children_of(table, reference, old, Strength::Write, &mut |compiler, row| {
                    let next = compiler.code.label();
                    compiler.write(Instruction::Delete { table: child, row }, next)?;
                    compiler.code.place(next);
                    Ok(())
                })
            }
            KeyAction::Cascade => {
                let (definition, own) = (self.code.definition(table), reference.child.definition());
                let mut set = Vec::with_capacity(new.len());
                let columns = reference.key.columns.iter().zip(&reference.key.parent_columns);
                for ((column, parent_column), value) in columns.zip(new) {
                    let from = definition.columns[usize::from(*parent_column)].sql_type;
                    let to = own.columns[usize::from(*column)].sql_type;
                    set.push((*column, coerce::cast(value.clone(), from, to, false)?));
                }
                self.set_children(table, reference, old, set)
            }
            KeyAction::SetNull => {
                let columns = self.columns_set(reference, is_removed);
                let set = columns.into_iter().map(|column| (column, Expr::Const(Value::Null))).collect();
                self.set_children(table, reference, old, set)
            }
            KeyAction::SetDefault => {
                let columns = self.columns_set(reference, is_removed);
                let defaults = self.binder.defaults(&reference.child)?;
                let default = |column: u16| (column, defaults[usize::from(column)].clone());
                let set = columns.into_iter().map(default).collect();
                self.set_children(table, reference, old, set)?;
                // The default may be the key that is gone.
                self.refuse_referenced(table, reference, old, true)
            }
        }
    }

    fn columns_set(&self, reference: &Reference, is_removed: bool) -> Vec<u16> {
        let key = &reference.key;
        if is_removed && !key.delete_columns.is_empty() {
            key.delete_columns.clone()
        } else {
            key.columns.clone()
        }
    }

    /// Sets columns of all rows that refer to a key.
    fn set_children(
        &mut self,
        table: TableIndex,
        reference: &Reference,
        key: &[Expr],
        set: Vec<(u16, Expr)>,
    ) -> Result<()> {
        let child = self.code.table(&reference.child)?;
        let definition = self.code.definition(child);
        let columns: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
        let updated = with_generated(&definition, &columns);
        self.around_action(&reference.child, TriggerEvent::Update, &updated)?;
        let by_triggers = self.set_by_triggers(&reference.child, &updated)?;
        let mut columns = columns.iter().chain(&by_triggers);
        let sets_key = columns.any(|column| definition.is_key_column(*column));
        let strength = if sets_key { Strength::Write } else { Strength::NoKeyWrite };
        self.children_of(table, reference, key, strength, &mut |compiler, row| {
            let mut kept = Vec::with_capacity(set.len());
            for (column, value) in &set {
                // A retry after a wait must not draw from a sequence again.
                let register = compiler.binder.new_register()?;
                compiler.code.evaluate(register, value.clone());
                kept.push((*column, Expr::Register(register)));
            }
            let next = compiler.code.label();
            compiler.write(Instruction::Update { table: child, row, set: kept }, next)?;
            compiler.code.place(next);
            Ok(())
        })
    }

    /// Fails if a row refers to this key. With `may_return`, only if no other row has the key now.
    fn refuse_referenced(
        &mut self,
        table: TableIndex,
        reference: &Reference,
        key: &[Expr],
        may_return: bool,
    ) -> Result<()> {
        let definition = self.code.definition(table);
        let done = self.code.label();
        if may_return && let Some(ParentKey { index, .. }) = reference.key.parent_key(&definition) {
            let absent = self.code.label();
            let row = self.code.check_row(table)?;
            let place = |column: &u16| reference.key.parent_columns.iter().position(|own| own == column);
            let columns = definition.key_columns(index);
            let sought = columns.iter().filter_map(place).filter_map(|at| key.get(at).cloned()).collect();
            let parent_key = ParentKey { index, columns };
            self.row_with_key((table, row), &parent_key, sought, absent)?;
            self.code.jump(done);
            self.code.place(absent);
        }
        let parent = (self.code.table_id(table), &*definition);
        let violation = referenced(&reference.key, &reference.child.definition(), parent, key);
        self.children_of(table, reference, key, Strength::Read, &mut |compiler, _| {
            compiler.code.push(Instruction::RaiseViolation(Box::new(violation.clone())));
            Ok(())
        })?;
        self.code.place(done);
        Ok(())
    }
}

fn kind_number(number: usize) -> Expr {
    Expr::Const(Value::Integer(i32::try_from(number).unwrap_or(i32::MAX)))
}

fn refused_child(
    key: &ForeignKey,
    child: &TableDefinition,
    (detail, hidden): (Expr, Option<(TableId, String)>),
) -> Violation {
    let (table, constraint) = (child.name.clone(), key.name.clone());
    Violation {
        state: sqlstate::FOREIGN_KEY_VIOLATION.0,
        message: format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{constraint}\"",
            table.name
        ),
        detail,
        hidden,
        table,
        constraint,
    }
}

fn referenced(
    key: &ForeignKey,
    child: &TableDefinition,
    (parent_id, parent): (TableId, &TableDefinition),
    values: &[Expr],
) -> Violation {
    let (table, constraint) = (child.name.clone(), key.name.clone());
    let rest = format!("is still referenced from table \"{}\".", table.name);
    Violation {
        state: sqlstate::FOREIGN_KEY_VIOLATION.0,
        message: format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{constraint}\" on table \"{}\"",
            parent.name.name, table.name
        ),
        detail: detail(parent, &key.parent_columns, values, &rest),
        hidden: Some((parent_id, format!("Key {rest}"))),
        table,
        constraint,
    }
}

/// `Key (a, b)=(1, x) is ...`
fn detail(definition: &TableDefinition, columns: &[u16], values: &[Expr], rest: &str) -> Expr {
    let names: Vec<&str> =
        columns.iter().map(|column| &*definition.columns[usize::from(*column)].name).collect();
    let text = |text: String| Expr::Const(Value::text(text));
    let join = |left, right| Expr::Binary {
        operator: BinaryOperator::Concat,
        left: Box::new(left),
        right: Box::new(right),
    };
    let mut joined = text(format!("Key ({})=(", names.join(", ")));
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            joined = join(joined, text(", ".to_owned()));
        }
        let shown = Expr::Cast { operand: Box::new(value.clone()), to: SqlType::Text, explicit: true };
        let null = text("null".to_owned());
        joined =
            join(joined, Expr::Case { branches: vec![(is_null(value), null)], otherwise: Box::new(shown) });
    }
    join(joined, text(format!(") {rest}")))
}
