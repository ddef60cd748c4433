//! Foreign keys: reading their clauses, and the checks that INSERT, UPDATE, DELETE and COPY carry.
//!
//! Every instruction that changes a row goes through [`Compiler::write`], which puts the checks behind it:
//!
//! ```text
//! new or changed row of a child    search for the parent by the key that is referenced; absent -> 23503
//! deleted row of a parent          search for its key among the child's rows; found -> 23503
//! changed key of a parent          the same with the old key
//! ```
//!
//! The reads lock what they see, absent rows and gaps included, so the answer holds until the transaction
//! ends. Of a parent only the key is looked at and locked (FOR KEY SHARE): others may change the rest of it,
//! and refer to it, at the same time.
//!
//! PostgreSQL checks when the statement is done, Hyades after each row. That is the same as long as one
//! statement changes either the children or the parents and takes a key away only once; so a foreign key to
//! its own table and an UPDATE that moves the keys of several referenced rows are refused.
//!
//! A procedure is compiled without locks. If a table that it must check is not visible yet (its transaction
//! runs), the procedure is made stale: it waits for the table it changes, which that transaction has locked,
//! and is compiled again.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Intent, RowSlot, Strength, TableIndex, Violation};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{ForeignKey, ParentKey, TableDefinition, TableId};
use hyades_types::error::{Result, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{
    self, ColumnOption, ConstraintReferenceMatchKind, DeferrableInitial, ForeignKeyConstraint,
    ReferentialAction,
};

use super::level::{Level, Step};
use super::{Compiler, access, unsupported};
use crate::bind::Place;
use crate::bind::tree::Source;
use crate::plan::WantedForeignKey;
use crate::statement::names::fold;

impl Compiler<'_> {
    /// The REFERENCES clauses of columns.
    pub(super) fn column_foreign_keys(&self, create: &ast::CreateTable) -> Result<Vec<WantedForeignKey>> {
        let mut wanted = Vec::new();
        for column in &create.columns {
            for option in &column.options {
                if let ColumnOption::ForeignKey(key) = &option.option {
                    let mut key = self.foreign_key(key)?;
                    key.name = option.name.as_ref().map(fold).or(key.name);
                    key.columns = vec![fold(&column.name)];
                    wanted.push(key);
                }
            }
        }
        Ok(wanted)
    }

    pub(super) fn foreign_key(&self, key: &ForeignKeyConstraint) -> Result<WantedForeignKey> {
        for action in [key.on_delete, key.on_update].into_iter().flatten() {
            if !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict) {
                return unsupported(format!("foreign keys with {action} are not supported yet"));
            }
        }
        let is_composite = key.columns.len() > 1;
        match key.match_kind {
            None | Some(ConstraintReferenceMatchKind::Simple) => {}
            // With one column it means the same.
            Some(ConstraintReferenceMatchKind::Full) if !is_composite => {}
            Some(kind) => return unsupported(format!("foreign keys with {kind} are not supported yet")),
        }
        if let Some(characteristics) = &key.characteristics
            && (characteristics.deferrable == Some(true)
                || characteristics.initially == Some(DeferrableInitial::Deferred)
                || characteristics.enforced == Some(false))
        {
            return unsupported("deferrable and unenforced foreign keys are not supported yet");
        }
        Ok(WantedForeignKey {
            name: key.name.as_ref().map(fold),
            columns: key.columns.iter().map(fold).collect(),
            parent: self.name(&key.foreign_table)?,
            parent_columns: key.referred_columns.iter().map(fold).collect(),
        })
    }

    /// Emits an instruction that changes a row, with the checks of foreign keys.
    pub(crate) fn write(&mut self, instruction: Instruction) -> Result<()> {
        match &instruction {
            Instruction::Insert { table, row, .. } | Instruction::InsertOr { table, row, .. } => {
                let (table, row) = (*table, *row);
                self.code.push(instruction);
                self.check_parents(table, row, None)
            }
            Instruction::Update { table, row, set } => {
                let (table, row) = (*table, *row);
                let changed: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
                let old_key = self.old_key(table, row, &changed)?;
                self.code.push(instruction);
                self.check_parents(table, row, Some(&changed))?;
                self.check_moved(table, row, &old_key)
            }
            Instruction::Delete { table, row } => {
                let (table, row) = (*table, *row);
                self.code.push(instruction);
                let key: Vec<(u16, Expr)> = key_columns(&self.code.definition(table))
                    .map(|column| (column, Expr::Column { row, column }))
                    .collect();
                self.check_children(table, &key)
            }
            _ => {
                self.code.push(instruction);
                Ok(())
            }
        }
    }

    /// Refuses an UPDATE that may move the keys of several referenced rows; see the module head.
    pub(crate) fn refuse_moving(&self, table: TableIndex, set: &[(u16, Expr)]) -> Result<()> {
        let definition = self.code.definition(table);
        let parent = self.code.table_id(table);
        let is_set = |column: &u16| set.iter().any(|(set, _)| set == column);
        let moves = |child: &TableId| match self.binder.context.tables.by_id(*child) {
            Some(child) => {
                let keys = child.definition().foreign_keys.clone();
                keys.iter().any(|key| key.parent == parent && key.parent_columns.iter().any(is_set))
            }
            None => key_columns(&definition).any(|column| is_set(&column)),
        };
        if definition.referenced_by.iter().any(moves) {
            let what = "changing the keys of several rows that a foreign key references is";
            return self.binder.unsupported(what, Place::Unknown);
        }
        Ok(())
    }

    /// The row in `row` is new, or these columns of it have changed: its parents must exist.
    fn check_parents(&mut self, table: TableIndex, row: RowSlot, changed: Option<&[u16]>) -> Result<()> {
        let definition = self.code.definition(table);
        for foreign_key in &definition.foreign_keys {
            let is_touched = |columns: &[u16]| columns.iter().any(|at| foreign_key.columns.contains(at));
            if !changed.is_none_or(is_touched) {
                continue;
            }
            let parent = self.binder.context.tables.by_id(foreign_key.parent);
            let parent = parent.map(|parent| self.code.table(&parent)).transpose()?;
            let found = parent.and_then(|parent| {
                let definition = self.code.definition(parent);
                foreign_key.parent_key(&definition).map(|key| (parent, definition, key))
            });
            match found {
                Some((parent, parent_definition, key)) => {
                    let violation = missing_parent(foreign_key, &definition, &parent_definition, row);
                    self.check_parent(parent, &key, row, violation)?;
                }
                None => self.code.make_stale(table),
            }
        }
        Ok(())
    }

    fn check_parent(
        &mut self,
        parent: TableIndex,
        key: &ParentKey,
        row: RowSlot,
        violation: Violation,
    ) -> Result<()> {
        let (present, absent) = (self.code.label(), self.code.label());
        let index = key.index;
        let key: Vec<Expr> = key.columns.iter().map(|&column| Expr::Column { row, column }).collect();
        for column in &key {
            // A NULL refers to nothing, whatever the other columns say.
            let is_null = Expr::IsNull(Box::new(column.clone()));
            self.code.jump_unless(Expr::Not(Box::new(is_null)), present);
        }
        let row = self.code.check_row(parent)?;
        let intent = Intent::newest(Strength::KeyRead);
        match index {
            None => self.code.push(Instruction::ReadPoint { table: parent, key, row, intent, absent }),
            Some(_) => self.first_row_with(index, key, (parent, row, intent), absent)?,
        }
        self.code.jump(present);
        self.code.place(absent);
        self.code.push(Instruction::RaiseViolation(Box::new(violation)));
        self.code.place(present);
        Ok(())
    }

    /// Keeps the key of a referenced row that is about to change; nothing if nobody will ask.
    fn old_key(&mut self, table: TableIndex, row: RowSlot, changed: &[u16]) -> Result<Vec<(u16, Expr)>> {
        let definition = self.code.definition(table);
        if definition.referenced_by.is_empty() || !key_columns(&definition).any(|key| changed.contains(&key))
        {
            return Ok(Vec::new());
        }
        let mut key = Vec::new();
        for column in key_columns(&definition) {
            let register = self.binder.new_register()?;
            self.code.evaluate(register, Expr::Column { row, column });
            key.push((column, Expr::Register(register)));
        }
        Ok(key)
    }

    /// Where the key of the row is another one now, nothing may refer to the old one.
    fn check_moved(&mut self, table: TableIndex, row: RowSlot, old_key: &[(u16, Expr)]) -> Result<()> {
        if old_key.is_empty() {
            return Ok(());
        }
        self.check_children_unless(table, old_key, &|column| {
            let (new, old) = (Expr::Column { row, column }, value_of(old_key, column));
            Some(Expr::NotDistinct(Box::new(new), Box::new(old)))
        })
    }

    /// No row may have a row of this key as its parent any more.
    fn check_children(&mut self, table: TableIndex, key: &[(u16, Expr)]) -> Result<()> {
        self.check_children_unless(table, key, &|_| None)
    }

    /// The same, but not by foreign keys to columns that all fulfil a condition.
    fn check_children_unless(
        &mut self,
        table: TableIndex,
        key: &[(u16, Expr)],
        is_same: &dyn Fn(u16) -> Option<Expr>,
    ) -> Result<()> {
        let definition = self.code.definition(table);
        let mut children = definition.referenced_by.clone();
        children.sort_unstable();
        children.dedup();
        for id in children {
            let Some(child) = self.binder.context.tables.by_id(id) else {
                self.code.make_stale(table);
                continue;
            };
            let index = self.code.table(&child)?;
            let child_definition = self.code.definition(index);
            let parent = self.code.table_id(table);
            for foreign_key in child_definition.foreign_keys.iter().filter(|known| known.parent == parent) {
                let violation = referenced(foreign_key, &child_definition, &definition, key);
                let both = |left, right| Expr::And(Box::new(left), Box::new(right));
                let done = self.code.label();
                let columns = foreign_key.parent_columns.iter();
                if let Some(is_same) = columns.filter_map(|column| is_same(*column)).reduce(both) {
                    self.code.jump_unless(Expr::Not(Box::new(is_same)), done);
                }
                self.check_child(&child, foreign_key, key, violation)?;
                self.code.place(done);
            }
        }
        Ok(())
    }

    fn check_child(
        &mut self,
        child: &Arc<Table>,
        foreign_key: &ForeignKey,
        key: &[(u16, Expr)],
        violation: Violation,
    ) -> Result<()> {
        let row = self.code.new_row()?;
        let conditions: Vec<Expr> = foreign_key
            .columns
            .iter()
            .zip(&foreign_key.parent_columns)
            .map(|(column, parent_column)| Expr::Binary {
                operator: BinaryOperator::Equal,
                left: Box::new(Expr::Column { row, column: *column }),
                right: Box::new(value_of(key, *parent_column)),
            })
            .collect();
        let level = Level {
            source: Source::Table { table: Arc::clone(child), row },
            choice: access::choose(child, row, &conditions, &|_| true),
            intent: Intent::newest(Strength::Read),
            is_kept: true,
            label: String::new(),
        };
        let end = self.code.label();
        self.loops(&[Step::Loop(Box::new(level))], end, &mut |compiler, _| {
            compiler.code.push(Instruction::RaiseViolation(Box::new(violation.clone())));
            Ok(())
        })?;
        self.code.place(end);
        Ok(())
    }
}

/// The columns that a foreign key may reference: those of the primary key and of unique indexes.
fn key_columns(definition: &TableDefinition) -> impl Iterator<Item = u16> {
    let numbers = (0u16..).zip(&definition.columns).map(|(number, _)| number);
    numbers.filter(|column| definition.is_key_column(*column))
}

fn value_of(key: &[(u16, Expr)], column: u16) -> Expr {
    let found = key.iter().find(|(known, _)| *known == column);
    found.map_or(Expr::Const(Value::Null), |(_, value)| value.clone())
}

fn missing_parent(
    foreign_key: &ForeignKey,
    child: &TableDefinition,
    parent: &TableDefinition,
    row: RowSlot,
) -> Violation {
    let (table, constraint) = (child.name.name.clone(), foreign_key.name.clone());
    let values = foreign_key.columns.iter().map(|&column| Expr::Column { row, column });
    Violation {
        state: sqlstate::FOREIGN_KEY_VIOLATION.0,
        message: format!(
            "insert or update on table \"{table}\" violates foreign key constraint \"{constraint}\""
        ),
        detail: detail(
            child,
            &foreign_key.columns,
            values,
            &format!("is not present in table \"{}\".", parent.name.name),
        ),
        table,
        constraint,
    }
}

fn referenced(
    foreign_key: &ForeignKey,
    child: &TableDefinition,
    parent: &TableDefinition,
    key: &[(u16, Expr)],
) -> Violation {
    let (table, constraint) = (child.name.name.clone(), foreign_key.name.clone());
    let values = foreign_key.parent_columns.iter().map(|&column| value_of(key, column));
    Violation {
        state: sqlstate::FOREIGN_KEY_VIOLATION.0,
        message: format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{constraint}\" on table \"{table}\"",
            parent.name.name
        ),
        detail: detail(
            parent,
            &foreign_key.parent_columns,
            values,
            &format!("is still referenced from table \"{table}\"."),
        ),
        table,
        constraint,
    }
}

/// `Key (a, b)=(1, x) is ...`
fn detail(
    definition: &TableDefinition,
    columns: &[u16],
    values: impl Iterator<Item = Expr>,
    rest: &str,
) -> Expr {
    let names: Vec<&str> =
        columns.iter().map(|column| &*definition.columns[usize::from(*column)].name).collect();
    let text = |text: String| Expr::Const(Value::text(text));
    let join = |left, right| Expr::Binary {
        operator: BinaryOperator::Concat,
        left: Box::new(left),
        right: Box::new(right),
    };
    let mut joined = text(format!("Key ({})=(", names.join(", ")));
    for (at, value) in values.enumerate() {
        if at > 0 {
            joined = join(joined, text(", ".to_owned()));
        }
        let value = Expr::Cast { operand: Box::new(value), to: SqlType::Text, explicit: true };
        joined = join(joined, value);
    }
    join(joined, text(format!(") {rest}")))
}
