//! INSERT.
//!
//! Rows of VALUES become one Insert instruction each. A SELECT becomes the loops with the Insert innermost,
//! unless it reads the table it fills or needs the executor: then its rows are collected first and inserted
//! by a second procedure.

use std::collections::BTreeSet;
use std::sync::Arc;

use hyades_engine::procedure::ir::{
    Arbiter, Expr, Given, IndexNumber, Instruction, Intent, Label, Procedure, Register, RowSlot, SpoolSlot,
    TableIndex,
};
use hyades_engine::procedure::listing::shown as shown_expression;
use hyades_engine::storage::table::Table;
use hyades_types::access::Privileges;
use hyades_types::definition::{ColumnDefinition, Identity, TriggerEvent, TriggerTiming};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{self, OnConflictAction, OnInsert, SetExpr, TableObject};

use super::inserted_elements::{Inserted, InsertedColumn, subscripts};
use super::row_sink::Sink;
use super::run_plan::{RunPlan, Tag};
use super::select::{BoundSelect, described};
use super::triggers::with_generated;
use super::{CompiledQuery, Compiler, Purpose};
use crate::answer::ResultColumn;
use crate::bind::aggregation::AggregateMode;
use crate::bind::scope::{Relation, RelationKind, Scope, Visibility, named_columns};
use crate::bind::select::clause_around;
use crate::bind::tree::BoundDistinct;
use crate::bind::tree::OutputColumn;
use crate::bind::view_target::{ChangeTarget, ThroughView, ViewChange, unsupported_through};
use crate::bind::{Bound, Place};
use crate::explain::PlanNode;
use crate::explain::counted::Counted;
use crate::expr;
use crate::statement::Overriding;
use crate::statement::element_target;
use crate::statement::names::fold;
use crate::statement::sequence_syntax::overriding;

/// What happens when another row has the same key.
enum Conflict {
    Fail,
    Nothing(Arbiter),
    Update {
        index: IndexNumber,
        set: Vec<(u16, Expr)>,
        condition: Option<Expr>,
        /// The condition, for EXPLAIN.
        shown: Option<String>,
    },
}

/// The `xmax` that RETURNING shows for an inserted row, and for one that already existed. In PostgreSQL the
/// latter is the number of the transaction that has locked the row. Clients compare it with 0.
const INSERTED: Value = Value::Oid(0);
const REPLACED: Value = Value::Oid(1);

/// The target of an INSERT while it is compiled.
struct Target {
    table: Arc<Table>,
    row: RowSlot,
    through: Option<ThroughView>,
    /// What each given value goes to. Empty if the statement names no columns.
    columns: Vec<InsertedColumn>,
    /// For every table column, its value if none is given.
    defaults: Vec<Expr>,
    overriding: Option<Overriding>,
    conflict: Conflict,
    /// With ON CONFLICT DO UPDATE: the registers with the new row's values, for `excluded`.
    excluded: Option<Vec<Register>>,
    /// With ON CONFLICT DO UPDATE: [`INSERTED`] or [`REPLACED`], for `xmax`.
    replaced: Option<Register>,
    /// With ON CONFLICT DO UPDATE and more than one row: records which rows the statement has written.
    written: Option<SpoolSlot>,
    outputs: Option<Vec<OutputColumn>>,
    /// Of a view with INSTEAD OF triggers: the registers with the new row.
    instead: Option<Vec<Register>>,
}

impl Target {
    /// With ON CONFLICT DO UPDATE: the columns that it sets, and those computed from them.
    fn updated(&self) -> Option<Vec<u16>> {
        let Conflict::Update { set, .. } = &self.conflict else { return None };
        let set: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
        Some(with_generated(&self.table.definition(), &set))
    }
}

/// The columns of a table that a statement gives values for.
fn given_columns<'c>(columns: impl IntoIterator<Item = &'c usize>) -> Given {
    let numbers = columns.into_iter().filter_map(|at| u16::try_from(*at).ok());
    numbers.collect::<BTreeSet<u16>>().into_iter().collect()
}

impl Compiler<'_> {
    pub(crate) fn insert(&mut self, insert: &ast::Insert) -> Result<CompiledQuery> {
        let TableObject::TableName(name) = &insert.table else {
            return self.binder.lacks(Missing::OtherForms, "this target of INSERT is");
        };
        if let Some(alias) = insert.table_alias.as_ref().filter(|alias| !alias.explicit) {
            let message = format!("syntax error at or near \"{}\"", alias.alias);
            return self.binder.fail(sqlstate::SYNTAX_ERROR, message, Place::at(alias.alias.span.start));
        }
        let table = self.binder.table(name)?;
        self.need_to_insert(insert, &table);
        let mut target = self.insert_target(insert, Arc::clone(&table))?;
        let mut outputs = target.outputs.iter().flatten();
        if outputs.any(|output| expr::reads(&output.expr, target.row, &[])) {
            self.binder.need_to_change(&table, Privileges::SELECT);
        }
        if target.excluded.is_some() && !is_one_row(insert) {
            let written = self.code.new_spool()?;
            self.code.push(Instruction::OpenSpool { spool: written });
            target.written = Some(written);
        }
        self.before_statement(&target.table, TriggerEvent::Insert, &[])?;
        if let Some(updated) = target.updated() {
            self.before_statement(&target.table, TriggerEvent::Update, &updated)?;
        }
        let columns = target.outputs.as_ref().map(|outputs| self.returned(&target, outputs));
        let own_name = target.table.definition().name.name.clone();
        let label = match self.binder.scope.relations.first() {
            Some(relation) if target.through.is_none() && relation.name != own_name => {
                format!("{own_name} {}", relation.name)
            }
            _ => own_name,
        };
        let run = match insert.source.as_deref() {
            None => self.insert_rows(&target, &[Vec::new()], &label)?,
            Some(query) => match query.body.as_ref() {
                SetExpr::Values(values) if clause_around(query).is_none() => {
                    self.insert_values(&target, values, &label)?
                }
                _ => self.insert_select(target, query, &label)?,
            },
        };
        Ok(CompiledQuery { run, columns })
    }

    /// Finding a conflict reads existing rows.
    fn need_to_insert(&self, insert: &ast::Insert, table: &Arc<Table>) {
        let mut needed = Privileges::INSERT;
        if let Some(OnInsert::OnConflict(conflict)) = &insert.on {
            if conflict.conflict_target.is_some() {
                needed = needed | Privileges::SELECT;
            }
            if matches!(conflict.action, OnConflictAction::DoUpdate(_)) {
                needed = needed | Privileges::UPDATE;
            }
        }
        self.binder.need_to_change(table, needed);
    }

    fn insert_target(&mut self, insert: &ast::Insert, named: Arc<Table>) -> Result<Target> {
        let alias = insert.table_alias.as_ref().map(|alias| self.binder.alias(&alias.alias)).transpose()?;
        let (target, instead) = self.inserted_target(&named, alias)?;
        let ChangeTarget { table, row, relation, through, .. } = target;
        if insert.on.is_some() {
            if through.is_some() || instead.is_some() {
                unsupported_through(&self.binder, "INSERT ... ON CONFLICT")?;
            }
            self.binder.tables_read.push(table.id());
        }
        let definition = table.definition();
        let mut columns: Vec<InsertedColumn> = Vec::with_capacity(insert.columns.len());
        for name in &insert.columns {
            let place = Place::of(name);
            let column = element_target::column(name).map(fold).unwrap_or_default();
            let found = match &through {
                Some(through) => through.column(&column, ViewChange::Insert)?,
                None => definition.column_index(&column),
            };
            let Some(at) = found else {
                let relation = &named.definition().name.name;
                let message = format!("column \"{column}\" of relation \"{relation}\" does not exist");
                return self.binder.fail(sqlstate::UNDEFINED_COLUMN, message, place);
            };
            let subscripts = subscripts(name)?;
            let is_whole = |known: &InsertedColumn| known.subscripts.is_none() || subscripts.is_none();
            if columns.iter().any(|known| known.at == at && is_whole(known)) {
                let message = format!("column \"{column}\" specified more than once");
                return self.binder.fail(sqlstate::DUPLICATE_COLUMN, message, place);
            }
            columns.push(InsertedColumn { at, subscripts, place });
        }
        let defaults = self.binder.defaults(&table)?;
        self.binder.scope = Scope::of(relation);
        let mut excluded = None;
        self.binder.sees_changes = true;
        let conflict = match &insert.on {
            None => Conflict::Fail,
            Some(OnInsert::OnConflict(on)) => self.conflict(on, (&table, row), &mut excluded)?,
            Some(_) => {
                return self.binder.fail(
                    sqlstate::SYNTAX_ERROR,
                    "syntax error at or near \"DUPLICATE\"",
                    Place::Unknown,
                );
            }
        };
        let (replaced, outputs) = self.returning(insert.returning.as_deref(), &conflict)?;
        self.binder.sees_changes = false;
        let written = None;
        let has_identity = definition.columns.iter().any(|column| column.identity.is_some());
        let overriding = if has_identity { overriding(self.binder.sql)? } else { None };
        Ok(Target {
            table,
            row,
            through,
            columns,
            defaults,
            overriding,
            conflict,
            excluded,
            replaced,
            written,
            outputs,
            instead,
        })
    }

    /// The outputs of RETURNING, and the register that tells them whether the row already existed.
    fn returning(
        &mut self,
        items: Option<&[ast::SelectItem]>,
        conflict: &Conflict,
    ) -> Result<(Option<Register>, Option<Vec<OutputColumn>>)> {
        self.binder.scope.keep_first();
        self.binder.aggregate_mode = AggregateMode::Forbidden("in RETURNING");
        let replaced = match conflict {
            Conflict::Update { .. } => Some(self.binder.new_register()?),
            Conflict::Fail | Conflict::Nothing(_) => None,
        };
        self.binder.replaced = Some(replaced.map_or(Expr::Const(INSERTED), Expr::Register));
        let outputs = items.map(|items| self.binder.outputs(items)).transpose();
        self.binder.replaced = None;
        Ok((replaced, outputs?))
    }

    fn conflict(
        &mut self,
        on: &ast::OnConflict,
        (table, row): (&Arc<Table>, RowSlot),
        excluded: &mut Option<Vec<Register>>,
    ) -> Result<Conflict> {
        let definition = table.definition();
        let arbiter = self.arbiter(on, (table, row))?;
        let (index, update) = match (&on.action, arbiter) {
            (OnConflictAction::DoUpdate(update), Arbiter::Index(index)) => (index, update),
            (OnConflictAction::DoUpdate(_), Arbiter::Any) => return Err(self.no_arbiter(on)),
            (OnConflictAction::DoNothing, arbiter) => return Ok(Conflict::Nothing(arbiter)),
        };
        let registers = (0..definition.columns.len())
            .map(|_| self.binder.new_register())
            .collect::<Result<Vec<Register>>>()?;
        let columns = named_columns(definition.visible_columns());
        self.binder.scope.add(Relation {
            name: "excluded".to_owned(),
            columns,
            kind: RelationKind::Registers(registers.clone()),
            visibility: Visibility::Qualified,
        });
        *excluded = Some(registers);
        self.binder.aggregate_mode = AggregateMode::Forbidden("in UPDATE");
        let set = self.assignments(&update.assignments, table, row)?;
        let condition = match &update.selection {
            Some(selection) => Some(self.binder.condition_of(selection, "WHERE")?),
            None => None,
        };
        let names = self.names();
        let shown = condition.as_ref().filter(|_| self.purpose != Purpose::Run);
        let shown = shown.map(|condition| shown_expression(condition, &names));
        Ok(Conflict::Update { index, set, condition, shown })
    }

    fn returned(&self, target: &Target, outputs: &[OutputColumn]) -> Vec<ResultColumn> {
        let mut columns = self.result_columns(outputs);
        for (column, output) in columns.iter_mut().zip(outputs) {
            if let Expr::Column { column: number, .. } = output.expr {
                let number = target.table.definition().column_number(usize::from(number));
                column.source = Some((target.table.id().0, i16::try_from(number).unwrap_or(i16::MAX)));
            }
        }
        columns
    }

    /// The columns that `width` given values go to, or an error about the wrong number of them.
    fn value_columns(&self, target: &Target, width: usize, place: Place) -> Result<Vec<InsertedColumn>> {
        let named = target.columns.len();
        let room = value_room(target);
        if width > room {
            let message = "INSERT has more expressions than target columns";
            return self.binder.fail(sqlstate::SYNTAX_ERROR, message, place);
        }
        if named > width {
            let message = "INSERT has more target columns than expressions";
            let place = target.columns.get(width).map_or(Place::Unknown, |column| column.place);
            return self.binder.fail(sqlstate::SYNTAX_ERROR, message, place);
        }
        if named > 0 {
            return Ok(target.columns.clone());
        }
        let numbers: Vec<usize> = match &target.through {
            Some(through) => {
                (0..width).map(|at| through.column_at(at, ViewChange::Insert)).collect::<Result<_>>()?
            }
            None => (0..width).collect(),
        };
        Ok(numbers.into_iter().map(InsertedColumn::whole).collect())
    }

    fn insert_values(&mut self, target: &Target, values: &ast::Values, label: &str) -> Result<RunPlan> {
        self.binder.scope = Scope::default();
        self.binder.aggregate_mode = AggregateMode::Forbidden("in VALUES");
        let definition = target.table.definition();
        let mut rows = Vec::with_capacity(values.rows.len());
        let mut width = None;
        for row in &values.rows {
            let expanded = self.binder.without_wildcards(&row.content)?;
            let content = expanded.as_ref().unwrap_or(&row.content);
            let place_of = |at: usize| content.get(at).map_or(Place::Unknown, Place::of_expr);
            if content.len() != *width.get_or_insert(content.len()) {
                let message = "VALUES lists must all be the same length";
                return self.binder.fail(sqlstate::SYNTAX_ERROR, message, place_of(0));
            }
            let width = content.len();
            let columns = self.value_columns(target, width, place_of(value_room(target).min(width)))?;
            let mut given: Vec<(usize, Expr)> = Vec::with_capacity(width);
            for (item, goal) in content.iter().zip(&columns) {
                let column = &definition.columns[goal.at];
                if goal.subscripts.is_none() {
                    let value =
                        self.value_or_default(item, target, goal.at, column.sql_type, &column.name)?;
                    given.push((goal.at, value));
                    continue;
                }
                self.takes_value(target, goal.at)?;
                if is_default(item) {
                    let message = "cannot set an array element to DEFAULT";
                    return self.binder.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, goal.place);
                }
                let value = self.binder.expression(item)?;
                let known = given.iter().position(|(at, _)| *at == goal.at).map(|at| given.remove(at).1);
                given.push((goal.at, self.with_element(known, column, goal, value)?));
            }
            rows.push(given);
        }
        self.insert_rows(target, &rows, label)
    }

    /// Whether a value given for a column is stored in it. That of an identity column may be ignored, or
    /// refused.
    fn takes_value(&self, target: &Target, at: usize) -> Result<bool> {
        let definition = target.table.definition();
        let column = &definition.columns[at];
        let message = || format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
        match (column.identity, target.overriding) {
            _ if column.generation.is_some() => Err(generated_always(message(), column)),
            (Some(_), Some(Overriding::User)) => Ok(false),
            (Some(Identity::Always), None) => {
                Err(generated_always(message(), column).with_hint("Use OVERRIDING SYSTEM VALUE to override."))
            }
            _ => Ok(true),
        }
    }

    fn value_or_default(
        &mut self,
        item: &ast::Expr,
        target: &Target,
        at: usize,
        sql_type: SqlType,
        name: &str,
    ) -> Result<Expr> {
        if is_default(item) || !self.takes_value(target, at)? {
            return Ok(target.defaults[at].clone());
        }
        let bound = self.binder.expression(item)?;
        self.binder.assign(bound, sql_type, name)
    }

    /// Rows of (column, value). Columns without a value get their defaults.
    fn insert_rows(&mut self, target: &Target, rows: &[Vec<(usize, Expr)>], label: &str) -> Result<RunPlan> {
        self.prepare_subqueries()?;
        if let Some(outputs) = &target.outputs {
            self.describe(described(outputs), rows.len() == 1)?;
        }
        let table = self.code.table(&target.table)?;
        for row in rows {
            let mut values = target.defaults.clone();
            for (at, value) in row {
                values[*at] = value.clone();
            }
            let next = self.code.label();
            let given = given_columns(row.iter().map(|(at, _)| at));
            self.insert_one(target, table, (values, given), next)?;
            self.code.place(next);
        }
        self.after_insert(target)?;
        let types = output_types(target);
        let source = self.finish_code("insert", types)?;
        let explain = self.explained(|compiler| {
            let child = if rows.len() > 1 { "Values Scan on \"*VALUES*\"" } else { "Result" };
            compiler
                .explain_insert(target, label)
                .over(PlanNode::new(child).counted(Counted::Started, Counted::Times(rows.len())))
        });
        Ok(self.direct_run(source, Tag::Insert, explain))
    }

    /// Queues the triggers after the statement.
    fn after_insert(&mut self, target: &Target) -> Result<()> {
        if let Some(updated) = target.updated() {
            self.after_statement(&target.table, TriggerEvent::Update, &updated)?;
        }
        self.after_statement(&target.table, TriggerEvent::Insert, &[])
    }

    /// Inserts one row and emits it. Jumps to `next` when there is nothing to do.
    fn insert_one(
        &mut self,
        target: &Target,
        table: TableIndex,
        (mut values, given): (Vec<Expr>, Given),
        next: Label,
    ) -> Result<()> {
        let row = target.row;
        self.draw_once(&mut values)?;
        match &target.conflict {
            Conflict::Fail if target.instead.is_some() => {
                let registers = target.instead.as_deref().unwrap_or_default();
                self.insert_instead(&target.table, registers, values, next)?;
            }
            Conflict::Fail => self.write(Instruction::Insert { table, values, row, given }, next)?,
            Conflict::Nothing(arbiter) => {
                let arbiter = *arbiter;
                let duplicate = next;
                let insert = Instruction::InsertOr { table, values, row, arbiter, duplicate, given };
                self.write(insert, next)?;
            }
            Conflict::Update { index, set, condition, .. } => {
                let new = (values, given);
                self.upsert(target, (table, *index), new, next, (set, condition.as_ref()))?;
            }
        }
        self.code.push(Instruction::CountRow);
        if let Some(outputs) = &target.outputs {
            self.emit(outputs.iter().map(|output| output.expr.clone()).collect())?;
        }
        Ok(())
    }

    /// Moves draws from sequences in front of the insert, which may have to wait and is then started again.
    fn draw_once(&mut self, values: &mut [Expr]) -> Result<()> {
        let mut registers = std::mem::take(&mut self.draw_registers).into_iter();
        let mut used = Vec::new();
        for value in values.iter_mut().filter(|value| value.looks_at().sequences) {
            let register = match registers.next() {
                Some(register) => register,
                None => self.binder.new_register()?,
            };
            self.code.evaluate(register, std::mem::replace(value, Expr::Register(register)));
            used.push(register);
        }
        used.extend(registers);
        self.draw_registers = used;
        Ok(())
    }

    /// Inserts the row, or updates the existing one. If that is gone when it is to be updated, inserts again.
    fn upsert(
        &mut self,
        target: &Target,
        (table, index): (TableIndex, IndexNumber),
        (values, given): (Vec<Expr>, Given),
        next: Label,
        (set, condition): (&[(u16, Expr)], Option<&Expr>),
    ) -> Result<()> {
        let row = target.row;
        let registers = target.excluded.clone().unwrap_or_default();
        for (register, value) in registers.iter().zip(values) {
            self.code.evaluate(*register, value);
        }
        let values: Vec<Expr> = registers.iter().map(|register| Expr::Register(*register)).collect();
        self.before_insert_of(table, &values, next)?;
        let definition = target.table.definition();
        let key_columns: Vec<u16> = match (index, &definition.primary_key) {
            (Some(index), _) => definition.indexes[usize::from(index)].key_columns().collect(),
            (None, Some(key)) => key.columns.clone(),
            (None, None) => Vec::new(),
        };
        let key: Vec<Expr> = key_columns.iter().map(|at| values[usize::from(*at)].clone()).collect();
        let has_generated = definition.columns.iter().any(|column| column.generation.is_some());
        let (again, duplicate, done) = (self.code.label(), self.code.label(), self.code.label());
        self.code.place(again);
        let arbiter = Arbiter::Index(index);
        let note = |compiler: &mut Self, value: Value| {
            if let Some(replaced) = target.replaced.filter(|_| target.outputs.is_some()) {
                compiler.code.evaluate(replaced, Expr::Const(value));
            }
        };
        note(self, INSERTED);
        self.write_made(Instruction::InsertOr { table, values, row, arbiter, duplicate, given }, &[])?;
        self.code.jump(done);
        self.code.place(duplicate);
        note(self, REPLACED);
        if has_generated {
            // From the row that could not be inserted.
            for (at, value) in self.draft_of(table, row)?.computed.iter() {
                self.code.evaluate(registers[usize::from(*at)], value.clone());
            }
        }
        let intent = Intent::IN_THE_WAY;
        match index {
            None => self.code.push(Instruction::ReadPoint { table, key, row, intent, absent: again }),
            Some(_) => self.first_row_with(index, key, (table, row, intent), again)?,
        }
        if let Some(spool) = target.written {
            self.code.push(Instruction::RefuseWritten { spool, row });
        }
        if let Some(condition) = condition {
            self.code.jump_unless(condition.clone(), next);
        }
        self.write(Instruction::Update { table, row, set: set.to_vec() }, next)?;
        self.code.place(done);
        if let Some(spool) = target.written {
            self.code.push(Instruction::NoteWritten { spool, row });
        }
        Ok(())
    }

    fn insert_select(&mut self, target: Target, query: &ast::Query, label: &str) -> Result<RunPlan> {
        self.binder.scope = Scope::default();
        self.binder.aggregate_mode = AggregateMode::Allowed;
        let definition = target.table.definition();
        let whole = |at: usize| (definition.columns[at].sql_type, definition.columns[at].name.clone());
        self.binder.output_hints = match (&target.through, target.columns.is_empty()) {
            (_, false) => target.columns.iter().map(|goal| goal.hint(&definition)).collect(),
            // A column that takes no value is reported when its value is assigned.
            (Some(through), true) => through.columns.iter().map_while(|column| column.map(whole)).collect(),
            (None, true) => (0..definition.visible_columns().len()).map(whole).collect(),
        };
        let before = self.binder.tables_read.len();
        let mut bound = self.bind_query(query)?;
        self.binder.output_hints.clear();
        let extra = bound.outputs.get(value_room(&target)).or(bound.outputs.last());
        let place = extra.map_or(Place::Unknown, |output| output.place);
        let columns = self.value_columns(&target, bound.outputs.len(), place)?;
        let takes: Vec<bool> =
            columns.iter().map(|goal| self.takes_value(&target, goal.at)).collect::<Result<_>>()?;
        // Values are converted to the columns' types at their source, those of elements in the new row.
        for (output, goal) in bound.outputs.iter_mut().zip(&columns) {
            let column = &definition.columns[goal.at];
            if goal.subscripts.is_some() {
                continue;
            }
            let value = Bound::typed(output.expr.clone(), output.sql_type, output.place);
            output.expr = self.binder.assign(value, column.sql_type, &column.name)?;
            output.sql_type = column.sql_type;
        }
        let reads_target = self.binder.tables_read[before..].contains(&target.table.id());
        let is_simple = bound.is_plain()
            && matches!(bound.distinct, BoundDistinct::No)
            && bound.order.is_empty()
            && bound.limits.limit.is_none()
            && bound.limits.offset.is_none();
        let given = given_columns(columns.iter().map(|goal| &goal.at));
        // A column that takes no value gets its default instead.
        let types = bound.outputs.iter().map(|output| output.sql_type);
        let inserted = Inserted::new(columns, takes, types);
        // A trigger may change what the query reads.
        let occasion = (TriggerTiming::Before, true);
        let fired = self.fired(&definition, occasion, TriggerEvent::Insert, &[]);
        let is_triggered = target.instead.is_some() || !fired.is_empty();
        if reads_target || !is_simple || is_triggered {
            return self.spool_then_insert(&target, bound, (&inserted, given), label);
        }
        let explain = self.explained(|compiler| {
            compiler.explain_insert(&target, label).over(compiler.explain_select(&bound, true))
        });
        if let Some(outputs) = &target.outputs {
            self.describe(described(outputs), false)?;
        }
        let table = self.code.table(&target.table)?;
        let end = self.code.label();
        self.check(&bound.constant, end);
        self.loops(&bound.steps, end, &mut |compiler, next| {
            let outputs = bound.outputs.iter().map(|output| output.expr.clone());
            let values = compiler.inserted_row(&definition, &target.defaults, &inserted, outputs)?;
            compiler.insert_one(&target, table, (values, Given::clone(&given)), next)
        })?;
        self.code.place(end);
        self.after_insert(&target)?;
        let source = self.finish_code("insert", output_types(&target))?;
        Ok(self.direct_run(source, Tag::Insert, explain))
    }

    /// Collects the rows in a spool first, then inserts each.
    fn spool_then_insert(
        &mut self,
        target: &Target,
        bound: BoundSelect,
        (inserted, given): (&Inserted, Given),
        label: &str,
    ) -> Result<RunPlan> {
        let width = bound.outputs.len();
        let spool = self.code.new_spool()?;
        self.code.push(Instruction::OpenSpool { spool });
        let outer = std::mem::replace(&mut self.sink, Sink::Spool(spool));
        let explain = self.select_run(bound)?.explain;
        self.sink = outer;
        if let Some(outputs) = &target.outputs {
            self.describe(described(outputs), false)?;
        }
        let table = self.code.table(&target.table)?;
        self.for_spooled(spool, width, &mut |compiler, row, next| {
            let definition = target.table.definition();
            let values = compiler.inserted_row(&definition, &target.defaults, inserted, row.into_iter())?;
            compiler.insert_one(target, table, (values, Given::clone(&given)), next)
        })?;
        self.after_insert(target)?;
        let procedure = self.finish_code("insert", output_types(target))?;
        let explain = explain.map(|child| self.explain_insert(target, label).over(child));
        Ok(self.direct_run(procedure, Tag::Insert, explain))
    }

    /// The node for what is done with the rows, above the node of their source.
    fn explain_insert(&self, target: &Target, label: &str) -> PlanNode {
        let node = PlanNode::new(format!("Insert on {label}")).counted(Counted::Started, Counted::Told);
        let (resolution, index, filter) = match &target.conflict {
            Conflict::Fail => return node,
            Conflict::Nothing(Arbiter::Any) => ("NOTHING", None, None),
            Conflict::Nothing(Arbiter::Index(index)) => ("NOTHING", Some(*index), None),
            Conflict::Update { index, shown, .. } => ("UPDATE", Some(*index), shown.clone()),
        };
        let definition = target.table.definition();
        let arbiter = index.and_then(|index| match index {
            None => definition.primary_key.as_ref().map(|key| key.name.clone()),
            Some(at) => definition.indexes.get(usize::from(at)).map(|index| index.name.clone()),
        });
        node.with("Conflict Resolution", Some(resolution.to_owned()))
            .with("Conflict Arbiter Indexes", arbiter)
            .with("Conflict Filter", filter)
    }

    /// Inserts the rows of a query into a table, for CREATE TABLE AS.
    pub(crate) fn fill(&mut self, query: &ast::Query, table: &Arc<Table>) -> Result<RunPlan> {
        let definition = table.definition();
        let target = self.plain_target(table, (0..definition.visible_columns().len()).collect())?;
        self.insert_select(target, query, &definition.name.name)
    }

    /// A target that takes rows as they are.
    fn plain_target(&mut self, table: &Arc<Table>, columns: Vec<usize>) -> Result<Target> {
        Ok(Target {
            through: None,
            table: Arc::clone(table),
            row: self.code.new_row()?,
            columns: columns.into_iter().map(InsertedColumn::whole).collect(),
            defaults: self.binder.defaults(table)?,
            overriding: None,
            conflict: Conflict::Fail,
            excluded: None,
            replaced: None,
            written: None,
            outputs: None,
            instead: None,
        })
    }

    /// A procedure that inserts the row with these columns, which are its parameters, if it satisfies the
    /// condition: for COPY.
    pub(crate) fn insert_procedure(
        &mut self,
        table: &Arc<Table>,
        columns: &[usize],
        condition: Option<&ast::Expr>,
    ) -> Result<Arc<Procedure>> {
        let definition = table.definition();
        for at in columns {
            self.binder.parameter_types.push(Some(definition.columns[*at].sql_type));
            self.binder.new_register()?;
        }
        let target = self.plain_target(table, columns.to_vec())?;
        let mut values = target.defaults.clone();
        for (register, at) in (0u16..).zip(columns) {
            values[*at] = Expr::Register(register);
        }
        let index = self.code.table(table)?;
        let end = self.code.label();
        if let Some(condition) = condition {
            self.draw_once(&mut values)?;
            let row = self.code.new_row()?;
            let condition = self.binder.copied_if(table, row, condition)?;
            let given = Given::default();
            self.code.push(Instruction::MakeRow { table: index, values, row, is_partial: true, given });
            self.code.jump_unless(condition, end);
            let all = 0..u16::try_from(definition.columns.len()).unwrap_or(u16::MAX);
            values = all.map(|column| Expr::Column { row, column }).collect();
        }
        self.insert_one(&target, index, (values, given_columns(columns)), end)?;
        self.code.place(end);
        self.finish_code("insert", Vec::new())
    }
}

/// Whether it certainly inserts exactly one row.
fn is_one_row(insert: &ast::Insert) -> bool {
    match insert.source.as_deref().map(|query| query.body.as_ref()) {
        None => true,
        Some(SetExpr::Values(values)) => values.rows.len() == 1,
        Some(_) => false,
    }
}

/// How many values the target takes.
fn value_room(target: &Target) -> usize {
    match (&target.through, target.columns.is_empty()) {
        (_, false) => target.columns.len(),
        (Some(through), true) => through.columns.len(),
        (None, true) => target.table.definition().visible_columns().len(),
    }
}

fn output_types(target: &Target) -> Vec<SqlType> {
    target.outputs.iter().flatten().map(|output| output.sql_type).collect()
}

/// 428C9: a value for a column that takes none.
pub(super) fn generated_always(message: String, column: &ColumnDefinition) -> Error {
    let name = &column.name;
    let detail = match column.generation {
        Some(_) => format!("Column \"{name}\" is a generated column."),
        None => format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS."),
    };
    Error::input(sqlstate::GENERATED_ALWAYS, message).with_detail(detail)
}

/// DEFAULT in place of a value.
pub(crate) fn is_default(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(ident)
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}
