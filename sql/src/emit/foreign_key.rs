//! Foreign keys: the code that INSERT, UPDATE, DELETE and COPY carry for them.
//!
//! Every instruction that changes a row goes through [`Compiler::write`] (`row_write`), which appends:
//!
//! ```text
//! new or changed row of a child    search for the parent by the key that is referenced; absent -> event
//! deleted row of a parent          search for its key among the child's rows; found -> event
//! changed key of a parent          the same with the old key
//! ```
//!
//! What counts is the state when the statement is done, as in PostgreSQL: the *events* are kept until then,
//! and processed by the code that `referential_events` appends to the statement. Where a search finds that
//! all is well, no event is needed: if a row that was found disappears later, that is an event of its own.
//! Actions (CASCADE, SET NULL, SET DEFAULT) are always events. If a foreign key is deferred, its checks wait
//! for the end of the transaction instead (`session::deferred`). Keys that can be deferred are checked in the
//! same way (`deferred_unique`).
//!
//! The reads lock what they see, absent rows and gaps included, so the result holds until the transaction
//! ends. Of a parent only the key is read and locked (FOR KEY SHARE): other transactions may change the rest
//! of it, and refer to it, at the same time.
//!
//! A procedure is compiled without locks. If a table that it must read is not visible yet (its transaction is
//! still running), the procedure is made stale: it waits for the table it changes, which that transaction has
//! locked, and is compiled again.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Intent, Label, RowSlot, Strength, TableIndex};
use hyades_engine::storage::table::Table;
use hyades_types::deferred_checks::{CheckKind, DeferrableCheck};
use hyades_types::definition::{
    Deferral, ForeignKey, KeyAction, KeyComparison, ParentKey, TableDefinition, TableId,
};
use hyades_types::error::Result;
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};

use super::Compiler;
use super::event_kinds::Event;
use crate::bind::coerce;
use crate::bind::tree::Source;
use crate::plan::access;
use crate::plan::level::{Level, Step};

/// A foreign key, as seen from the table that it references.
pub(super) struct Reference {
    pub(crate) child: Arc<Table>,
    /// The position of the foreign key among those of the child.
    pub(crate) number: usize,
    pub(crate) key: ForeignKey,
}

/// Values of columns, by column number.
pub(super) type ColumnValues = Vec<(u16, Expr)>;

pub(super) fn negated(expr: Expr) -> Expr {
    Expr::Not(Box::new(expr))
}

pub(super) fn is_null(expr: &Expr) -> Expr {
    Expr::IsNull(Box::new(expr.clone()))
}

fn both(left: Expr, right: Expr) -> Expr {
    Expr::And(Box::new(left), Box::new(right))
}

/// Each pair is equal, NULLs included.
pub(super) fn all_same(pairs: impl Iterator<Item = (Expr, Expr)>) -> Option<Expr> {
    pairs.map(|(left, right)| Expr::NotDistinct(Box::new(left), Box::new(right))).reduce(both)
}

impl Compiler<'_> {
    /// The foreign keys that reference a table, in the order of their creation.
    pub(super) fn references_to(&mut self, table: TableIndex) -> Vec<Reference> {
        let definition = self.code.definition(table);
        let parent = self.code.table_id(table);
        let mut references: Vec<Reference> = Vec::new();
        for id in &definition.referenced_by {
            let Some(child) = self.binder.context.tables.by_id(*id) else {
                self.code.make_stale(table);
                continue;
            };
            let before = references.iter().filter(|known| known.child.id() == *id).count();
            let child_definition = child.definition();
            let keys = child_definition.foreign_keys.iter().enumerate();
            match keys.filter(|(_, key)| key.parent == parent).nth(before) {
                Some((number, key)) => references.push(Reference { child, number, key: key.clone() }),
                None => self.code.make_stale(table),
            }
        }
        references
    }

    /// Keeps the old values of a row that is about to change, as far as the checks need them.
    pub(super) fn old_values(
        &mut self,
        table: TableIndex,
        row: RowSlot,
        changed: &[u16],
        references: &[Reference],
    ) -> Result<ColumnValues> {
        let definition = self.code.definition(table);
        let checked_later = definition.indexes.iter().filter(|index| index.is_checked_later());
        let later: Vec<Vec<u16>> = checked_later.map(|index| index.key_columns().collect()).collect();
        let own = definition.foreign_keys.iter().map(|key| &key.columns).chain(&later);
        let others = references.iter().map(|reference| &reference.key.parent_columns);
        let mut old: ColumnValues = Vec::new();
        for columns in own.chain(others).filter(|columns| touches(columns, changed)) {
            for column in columns {
                if old.iter().any(|(known, _)| known == column) {
                    continue;
                }
                let register = self.binder.new_register()?;
                self.code.evaluate(register, Expr::Column { row, column: *column });
                old.push((*column, Expr::Register(register)));
            }
        }
        Ok(old)
    }

    /// The row in `row` is new, or these columns of it have changed. Its parents must exist.
    pub(super) fn check_parents(
        &mut self,
        table: TableIndex,
        row: RowSlot,
        changed: Option<(&[u16], &ColumnValues)>,
    ) -> Result<()> {
        let definition = self.code.definition(table);
        let primary_key = definition.key_columns(None);
        for (number, key) in definition.foreign_keys.iter().enumerate() {
            let done = self.code.label();
            if let Some((columns, old)) = changed {
                // A pending event identifies the row by the key under which it was stored.
                let moves = touches(&primary_key, columns) && !key.is_not_valid;
                let is_touched = touches(&key.columns, columns);
                if !moves && !is_touched {
                    continue;
                }
                let pairs =
                    key.columns.iter().map(|&column| (Expr::Column { row, column }, value_of(old, column)));
                if !moves && let Some(is_same) = all_same(pairs) {
                    self.code.jump_unless(negated(is_same), done);
                }
            }
            let values: Vec<Expr> = key.columns.iter().map(|&column| Expr::Column { row, column }).collect();
            let (absent, looked) = (self.code.label(), self.code.label());
            self.skip_nulls(key, &values, done, absent);
            if key.deferral == Deferral::Never {
                self.parent_of((table, key), &values, absent)?;
                self.code.jump(done);
            }
            self.code.place(absent);
            let stored = self.binder.new_register()?;
            self.code.push(Instruction::RowKey { row, into: stored });
            let carried: Vec<Expr> =
                std::iter::once(Expr::Register(stored)).chain(values.iter().cloned()).collect();
            if key.deferral != Deferral::Never {
                let child = self.code.table_id(table);
                self.defer(key, child, (CheckKind::Missing, &carried), done);
                let simple = simple(key);
                self.skip_nulls(&simple, &values, looked, looked);
                self.parent_of((table, key), &values, looked)?;
                self.code.jump(done);
            }
            self.code.place(looked);
            self.queue(Event::Missing { table, number }, carried)?;
            self.code.place(done);
        }
        Ok(())
    }

    /// For a foreign key that can be deferred: if it is, its check waits for the end of the transaction.
    fn defer(&mut self, key: &ForeignKey, child: TableId, (kind, values): (CheckKind, &[Expr]), done: Label) {
        if key.deferral == Deferral::Never {
            return;
        }
        let check = Box::new(DeferrableCheck {
            table: child,
            constraint: key.name.clone(),
            kind,
            is_initially_deferred: key.deferral == Deferral::InitiallyDeferred,
        });
        let immediate = self.code.label();
        self.code.push(Instruction::Defer { check, values: values.to_vec(), immediate });
        self.code.jump(done);
        self.code.place(immediate);
    }

    /// A NULL refers to nothing, whatever the other columns contain. Under MATCH FULL all of them must be
    /// NULL.
    pub(super) fn skip_nulls(&mut self, key: &ForeignKey, values: &[Expr], done: Label, mixed: Label) {
        if key.is_full && values.len() > 1 {
            if let Some(all) = values.iter().map(is_null).reduce(both) {
                self.code.jump_unless(negated(all), done);
            }
            for value in values {
                self.code.jump_unless(negated(is_null(value)), mixed);
            }
            return;
        }
        for value in values {
            self.code.jump_unless(negated(is_null(value)), done);
        }
    }

    /// Continues if the parent of a row with these values in the columns of the foreign key exists.
    pub(super) fn parent_of(
        &mut self,
        (table, key): (TableIndex, &ForeignKey),
        values: &[Expr],
        absent: Label,
    ) -> Result<()> {
        let definition = self.code.definition(table);
        let parent = self.binder.context.tables.by_id(key.parent);
        let parent = parent.map(|parent| Ok((self.code.table(&parent)?, parent))).transpose()?;
        let found = parent.and_then(|(index, parent)| {
            let parent_definition = self.code.definition(index);
            let parent_key = key.parent_key(&parent_definition)?;
            let types = types_of(key, &definition, &parent_definition);
            let comparisons = types.iter().map(|(own, other)| KeyComparison::of(*own, *other));
            Some((index, parent, parent_key, comparisons.collect::<Option<Vec<_>>>()?, types))
        });
        let Some((index, parent, parent_key, comparisons, types)) = found else {
            self.code.make_stale(table);
            return Ok(());
        };
        let row = self.code.check_row(index)?;
        let convert = |at: usize| {
            let (own, other) = types[at];
            match comparisons[at] {
                KeyComparison::AsParent => {
                    coerce::cast(values[at].clone(), own, other.without_modifier(), false)
                }
                KeyComparison::Same | KeyComparison::AsChild => Ok(values[at].clone()),
            }
        };
        if comparisons.contains(&KeyComparison::AsChild) {
            let mut conditions = Vec::with_capacity(types.len());
            for (at, &column) in key.parent_columns.iter().enumerate() {
                let (own, other) = types[at];
                let mut column = Expr::Column { row, column };
                if comparisons[at] == KeyComparison::AsChild {
                    column = coerce::cast(column, other, own.without_modifier(), false)?;
                }
                conditions.push(equal(column, convert(at)?));
            }
            let found = self.code.label();
            self.rows_that(&parent, row, &conditions, Strength::Read, &mut |compiler| {
                compiler.code.jump(found);
                Ok(())
            })?;
            self.code.jump(absent);
            self.code.place(found);
            return Ok(());
        }
        let place = |column: &u16| key.columns.iter().position(|own| own == column).unwrap_or_default();
        let sought = parent_key.columns.iter().map(|column| convert(place(column))).collect::<Result<_>>()?;
        self.row_with_key((index, row), &parent_key, sought, absent)
    }

    /// Continues if a row has this key, in the order of the key.
    pub(super) fn row_with_key(
        &mut self,
        (table, row): (TableIndex, RowSlot),
        parent_key: &ParentKey,
        key: Vec<Expr>,
        absent: Label,
    ) -> Result<()> {
        let intent = Intent::newest(Strength::KeyRead);
        match parent_key.index {
            None => self.code.push(Instruction::ReadPoint { table, key, row, intent, absent }),
            Some(_) => self.first_row_with(parent_key.index, key, (table, row, intent), absent)?,
        }
        Ok(())
    }

    /// A row is gone. No other row may refer to it, or an action applies to those that do.
    pub(super) fn check_removed(&mut self, table: TableIndex, row: RowSlot) -> Result<()> {
        for reference in self.references_to(table) {
            let key = &reference.key;
            let values: Vec<Expr> =
                key.parent_columns.iter().map(|&column| Expr::Column { row, column }).collect();
            let done = self.code.label();
            self.skip_nulls(&simple(key), &values, done, done);
            if key.on_delete == KeyAction::NoAction {
                self.defer(key, reference.child.id(), (CheckKind::Removed, &values), done);
            }
            self.skip_unreferenced(key.on_delete, table, &reference, &values, done)?;
            let event = Event::Removed { table, child: reference.child.id(), number: reference.number };
            self.queue(event, values)?;
            self.code.place(done);
        }
        Ok(())
    }

    /// The same where the key of the row has changed.
    pub(super) fn check_moved(
        &mut self,
        table: TableIndex,
        row: RowSlot,
        (changed, old): (&[u16], &ColumnValues),
        references: &[Reference],
    ) -> Result<()> {
        let definition = self.code.definition(table);
        for reference in references.iter().filter(|reference| touches(&reference.key.parent_columns, changed))
        {
            let key = &reference.key;
            let was: Vec<Expr> = key.parent_columns.iter().map(|column| value_of(old, *column)).collect();
            let is: Vec<Expr> =
                key.parent_columns.iter().map(|&column| Expr::Column { row, column }).collect();
            let done = self.code.label();
            let sql_type = |column: &u16| definition.columns[usize::from(*column)].sql_type;
            let pairs = was.iter().zip(&is).zip(key.parent_columns.iter().map(sql_type));
            let pairs = pairs.flat_map(|((was, is), sql_type)| as_stored(was, is, sql_type));
            if let Some(is_same) = all_same(pairs) {
                self.code.jump_unless(negated(is_same), done);
            }
            self.skip_nulls(&simple(key), &was, done, done);
            if key.on_update == KeyAction::NoAction {
                self.defer(key, reference.child.id(), (CheckKind::Moved, &was), done);
            }
            self.skip_unreferenced(key.on_update, table, reference, &was, done)?;
            let event = Event::Moved { table, child: reference.child.id(), number: reference.number };
            self.queue(event, was.into_iter().chain(is).collect())?;
            self.code.place(done);
        }
        Ok(())
    }

    /// If only a check would follow, it is not needed if no row refers to the key now.
    fn skip_unreferenced(
        &mut self,
        action: KeyAction,
        table: TableIndex,
        reference: &Reference,
        key: &[Expr],
        done: Label,
    ) -> Result<()> {
        if !matches!(action, KeyAction::NoAction | KeyAction::Restrict) {
            return Ok(());
        }
        let found = self.code.label();
        self.children_of(table, reference, key, Strength::Read, &mut |compiler, _| {
            compiler.code.jump(found);
            Ok(())
        })?;
        self.code.jump(done);
        self.code.place(found);
        Ok(())
    }

    /// The rows that refer to a key, whose values are in the order of the foreign key.
    pub(super) fn children_of(
        &mut self,
        table: TableIndex,
        reference: &Reference,
        key: &[Expr],
        strength: Strength,
        body: &mut dyn FnMut(&mut Compiler<'_>, RowSlot) -> Result<()>,
    ) -> Result<()> {
        let definition = self.code.definition(table);
        let child_definition = reference.child.definition();
        let row = self.code.new_row()?;
        let types = types_of(&reference.key, &child_definition, &definition);
        let mut conditions = Vec::with_capacity(key.len());
        for ((&column, value), (own, other)) in reference.key.columns.iter().zip(key).zip(types) {
            let (mut left, mut right) = (Expr::Column { row, column }, value.clone());
            match KeyComparison::of(own, other) {
                Some(KeyComparison::AsParent) => {
                    left = coerce::cast(left, own, other.without_modifier(), false)?;
                }
                Some(KeyComparison::AsChild) => {
                    right = coerce::cast(right, other, own.without_modifier(), false)?;
                }
                Some(KeyComparison::Same) | None => {}
            }
            conditions.push(equal(left, right));
        }
        self.rows_that(&reference.child, row, &conditions, strength, &mut |compiler| body(compiler, row))
    }

    /// The newest rows of a table that satisfy these conditions, locked.
    fn rows_that(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        conditions: &[Expr],
        strength: Strength,
        body: &mut dyn FnMut(&mut Compiler<'_>) -> Result<()>,
    ) -> Result<()> {
        let level = Level {
            source: Source::newest(table, row),
            choice: access::choose(table, (row, None), conditions, &|_| true),
            intent: Intent::newest(strength),
            is_kept: true,
            key_into: None,
            label: String::new(),
        };
        let end = self.code.label();
        self.loops(&[Step::Loop(Box::new(level))], end, &mut |compiler, _| body(compiler))?;
        self.code.place(end);
        Ok(())
    }
}

/// The foreign key from the parent's side: a referenced key with a NULL in it is not a key.
fn simple(key: &ForeignKey) -> ForeignKey {
    ForeignKey { is_full: false, ..key.clone() }
}

pub(super) fn touches(columns: &[u16], changed: &[u16]) -> bool {
    columns.iter().any(|column| changed.contains(column))
}

fn equal(left: Expr, right: Expr) -> Expr {
    Expr::Binary { operator: BinaryOperator::Equal, left: Box::new(left), right: Box::new(right) }
}

/// The types of the columns of a foreign key, and of those that they reference.
fn types_of(key: &ForeignKey, child: &TableDefinition, parent: &TableDefinition) -> Vec<(SqlType, SqlType)> {
    let sql_type =
        |definition: &TableDefinition, column: u16| definition.columns[usize::from(column)].sql_type;
    let pairs = key.columns.iter().zip(&key.parent_columns);
    pairs.map(|(own, other)| (sql_type(child, *own), sql_type(parent, *other))).collect()
}

/// The values that must be equal for a key not to have changed: equal numbers and intervals may be written
/// differently, and the rows that refer to them follow.
fn as_stored(was: &Expr, is: &Expr, sql_type: SqlType) -> Vec<(Expr, Expr)> {
    let text =
        |expr: &Expr| Expr::Cast { operand: Box::new(expr.clone()), to: SqlType::Text, explicit: true };
    match sql_type {
        SqlType::Numeric(_) | SqlType::Interval(_) => vec![(text(was), text(is))],
        _ => vec![(was.clone(), is.clone())],
    }
}

pub(super) fn value_of(values: &ColumnValues, column: u16) -> Expr {
    let found = values.iter().find(|(known, _)| *known == column);
    found.map_or(Expr::Const(Value::Null), |(_, value)| value.clone())
}

/// The table of a foreign key that an event is about.
pub(super) fn reference(
    compiler: &mut Compiler<'_>,
    table: TableIndex,
    (child, number): (TableId, usize),
) -> Option<Reference> {
    let references = compiler.references_to(table);
    references.into_iter().find(|known| known.child.id() == child && known.number == number)
}
