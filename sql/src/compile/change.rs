//! UPDATE and DELETE.
//!
//! The rows are found with intent to write and changed where they are found. Only an UPDATE that changes the
//! primary key while it scans collects the keys first: otherwise it could meet the rows it has moved ahead of
//! itself (the Halloween problem).

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Intent, RowSlot, Strength};
use hyades_engine::storage::table::Table;
use hyades_types::definition::Identity;
use hyades_types::error::{Result, sqlstate};
use hyades_types::value::SqlType;
use sqlparser::ast::{self, AssignmentTarget, FromTable, TableFactor, TableWithJoins};

use super::insert::{generated_always, is_default};
use super::level::{Level, Step, only_level};
use super::row_sink::Sink;
use super::select::{described, is_single};
use super::{CompiledQuery, Compiler, order};
use crate::bind::Place;
use crate::bind::aggregation::AggregateMode;
use crate::bind::scope::{Relation, Scope};
use crate::bind::tree::OutputColumn;
use crate::bind::tree::{Item, JoinGroup, Source};
use crate::explain::PlanNode;
use crate::expr;
use crate::plan::Tag;
use crate::statement::names::fold;

/// The table being changed.
struct Changed {
    table: Arc<Table>,
    row: RowSlot,
    steps: Vec<Step>,
    constant: Vec<Expr>,
    outputs: Option<Vec<OutputColumn>>,
    label: String,
}

impl Compiler<'_> {
    fn changed(
        &mut self,
        target: &TableWithJoins,
        selection: Option<&ast::Expr>,
        returning: Option<&Vec<ast::SelectItem>>,
    ) -> Result<Changed> {
        let TableFactor::Table { name, alias, .. } = &target.relation else {
            return self.binder.unsupported("changing something other than a table is", Place::Unknown);
        };
        if !target.joins.is_empty() {
            return self.binder.unsupported("joins in UPDATE and DELETE are", Place::Unknown);
        }
        let table = self.binder.table(name)?;
        let row = self.code.new_row()?;
        let alias = alias.as_ref().map(|alias| self.binder.alias(&alias.name)).transpose()?;
        let relation = Relation::table(&table, alias, row);
        let own_name = table.definition().name.name.clone();
        let label =
            if relation.name == own_name { own_name } else { format!("{own_name} {}", relation.name) };
        self.binder.scope = Scope::of(relation);
        let mut conditions = Vec::new();
        if let Some(selection) = selection {
            self.binder.aggregate_mode = AggregateMode::Forbidden("in WHERE");
            let condition = self.binder.condition_of(selection, "WHERE")?;
            expr::conjuncts(condition, &mut conditions);
        }
        self.binder.aggregate_mode = AggregateMode::Forbidden("in RETURNING");
        let outputs = match returning {
            Some(items) => Some(self.binder.outputs(items)?),
            None => None,
        };
        let source = Source::Table { table: Arc::clone(&table), row };
        let item =
            Item { intent: Intent::chosen(Strength::Write, None), ..Item::new(source, label.clone(), 0) };
        let from = JoinGroup { conditions, ..JoinGroup::of(item) };
        let (steps, constant) = order::steps(from, &mut || self.code.new_join())?;
        Ok(Changed { table, row, steps, constant, outputs, label })
    }

    pub(crate) fn update(&mut self, update: &ast::Update) -> Result<CompiledQuery> {
        self.refuse_foreign(&[
            (update.or.is_some(), "OR"),
            (!update.order_by.is_empty(), "ORDER"),
            (update.limit.is_some(), "LIMIT"),
            (update.output.is_some(), "OUTPUT"),
        ])?;
        if update.from.is_some() {
            return self.binder.unsupported("UPDATE ... FROM is", Place::Unknown);
        }
        let mut changed =
            self.changed(&update.table, update.selection.as_ref(), update.returning.as_ref())?;
        self.binder.aggregate_mode = AggregateMode::Forbidden("in UPDATE");
        let set = self.assignments(&update.assignments, &changed.table)?;
        let definition = changed.table.definition();
        let key_columns = definition.primary_key.as_ref().map(|key| key.columns.clone()).unwrap_or_default();
        let is_moving = set.iter().any(|(column, _)| key_columns.contains(column));
        if !is_moving {
            // Those who only rely on the key may go on.
            let intent = Intent::chosen(Strength::NoKeyWrite, None);
            for step in &mut changed.steps {
                if let Step::Loop(level) = step {
                    level.intent = intent;
                }
            }
        }
        let is_point = only_level(&changed.steps).is_some_and(Level::is_point);
        if is_moving && !is_point {
            return self.spool_then_update(&changed, &set, &key_columns);
        }
        self.change(changed, Tag::Update, "Update", |table, row| Instruction::Update {
            table,
            row,
            set: set.clone(),
        })
    }

    pub(crate) fn delete(&mut self, delete: &ast::Delete) -> Result<CompiledQuery> {
        self.refuse_foreign(&[
            (!delete.order_by.is_empty(), "ORDER"),
            (delete.limit.is_some(), "LIMIT"),
            (delete.output.is_some(), "OUTPUT"),
        ])?;
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        if delete.using.is_some() {
            return self.binder.unsupported("DELETE ... USING is", Place::Unknown);
        }
        let [target] = from.as_slice() else {
            return self.binder.unsupported("DELETE from several tables is", Place::Unknown);
        };
        let changed = self.changed(target, delete.selection.as_ref(), delete.returning.as_ref())?;
        self.change(changed, Tag::Delete, "Delete", |table, row| Instruction::Delete { table, row })
    }

    /// Changes each row where it is found.
    fn change(
        &mut self,
        changed: Changed,
        tag: Tag,
        verb: &str,
        instruction: impl Fn(u16, RowSlot) -> Instruction,
    ) -> Result<CompiledQuery> {
        self.prepare_subqueries()?;
        let columns = changed.outputs.as_ref().map(|outputs| self.result_columns(outputs));
        let explain = self.explain_change(&changed, verb);
        if let Some(outputs) = &changed.outputs {
            self.describe(described(outputs), is_single(&changed.steps))?;
        }
        let table = self.code.table(&changed.table)?;
        let end = self.code.label();
        self.check(&changed.constant, end);
        self.loops(&changed.steps, end, &mut |compiler, _| {
            compiler.write(instruction(table, changed.row))?;
            compiler.code.push(Instruction::CountRow);
            compiler.emit_outputs(changed.outputs.as_deref())
        })?;
        self.code.place(end);
        let source = self.finish_code(&verb.to_ascii_lowercase(), types(changed.outputs.as_deref()))?;
        let run = self.direct_run(source, tag, explain);
        Ok(CompiledQuery { run, columns })
    }

    fn emit_outputs(&mut self, outputs: Option<&[OutputColumn]>) -> Result<()> {
        match outputs {
            Some(outputs) => self.emit(outputs.iter().map(|output| output.expr.clone()).collect()),
            None => Ok(()),
        }
    }

    fn explain_change(&self, changed: &Changed, verb: &str) -> Option<PlanNode> {
        self.explained(|compiler| {
            PlanNode::new(format!("{verb} on {}", changed.label)).over(compiler.explain_steps(&changed.steps))
        })
    }

    /// The keys go to a spool first, then the row of each is updated.
    fn spool_then_update(
        &mut self,
        changed: &Changed,
        set: &[(u16, Expr)],
        key_columns: &[u16],
    ) -> Result<CompiledQuery> {
        self.prepare_subqueries()?;
        let explain = self.explain_change(changed, "Update");
        let spool = self.code.new_spool()?;
        self.code.push(Instruction::OpenSpool { spool });
        let row = changed.row;
        let key: Vec<Expr> = key_columns.iter().map(|column| Expr::Column { row, column: *column }).collect();
        let outer = std::mem::replace(&mut self.sink, Sink::Spool(spool));
        let end = self.code.label();
        self.check(&changed.constant, end);
        self.loops(&changed.steps, end, &mut |compiler, _| compiler.emit(key.clone()))?;
        self.code.place(end);
        self.sink = outer;
        if let Some(outputs) = &changed.outputs {
            self.describe(described(outputs), false)?;
        }
        let table = self.code.table(&changed.table)?;
        self.for_spooled(spool, key.len(), &mut |compiler, key, next| {
            compiler.code.push(Instruction::ReadPoint {
                table,
                key,
                row,
                intent: Intent::newest(Strength::Write),
                absent: next,
            });
            compiler.refuse_moving(table, set)?;
            compiler.write(Instruction::Update { table, row, set: set.to_vec() })?;
            compiler.code.push(Instruction::CountRow);
            compiler.emit_outputs(changed.outputs.as_deref())
        })?;
        let procedure = self.finish_code("update", types(changed.outputs.as_deref()))?;
        let columns = changed.outputs.as_ref().map(|outputs| self.result_columns(outputs));
        Ok(CompiledQuery { run: self.direct_run(procedure, Tag::Update, explain), columns })
    }

    /// SET of UPDATE and of ON CONFLICT: column numbers and their new values.
    pub(crate) fn assignments(
        &mut self,
        assignments: &[ast::Assignment],
        table: &Arc<Table>,
    ) -> Result<Vec<(u16, Expr)>> {
        let definition = table.definition();
        let mut defaults = None;
        let mut set: Vec<(u16, Expr)> = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let pairs: Vec<(&ast::ObjectName, &ast::Expr)> = match (&assignment.target, &assignment.value) {
                (AssignmentTarget::ColumnName(name), value) => vec![(name, value)],
                (AssignmentTarget::Tuple(names), ast::Expr::Tuple(values)) => {
                    if names.len() != values.len() {
                        let message = "number of columns does not match number of values";
                        return self.binder.fail(sqlstate::SYNTAX_ERROR, message, Place::Unknown);
                    }
                    names.iter().zip(values).collect()
                }
                (AssignmentTarget::Tuple(_), _) => {
                    return self
                        .binder
                        .unsupported("assigning a query to several columns is", Place::Unknown);
                }
            };
            for (name, value) in pairs {
                let place = Place::of(name);
                let column_name =
                    name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
                let Some(at) = definition.column_index(&column_name) else {
                    let message = format!(
                        "column \"{column_name}\" of relation \"{}\" does not exist",
                        definition.name.name
                    );
                    return self.binder.fail(sqlstate::UNDEFINED_COLUMN, message, place);
                };
                let number = u16::try_from(at).unwrap_or(u16::MAX);
                if set.iter().any(|(known, _)| *known == number) {
                    let message = format!("multiple assignments to same column \"{column_name}\"");
                    return self.binder.fail(sqlstate::SYNTAX_ERROR, message, Place::Unknown);
                }
                let value = if is_default(value) {
                    if defaults.is_none() {
                        defaults = Some(self.binder.defaults(table)?);
                    }
                    defaults
                        .as_ref()
                        .map(|defaults| defaults[at].clone())
                        .unwrap_or(Expr::Const(hyades_types::value::Value::Null))
                } else {
                    if definition.columns[at].identity == Some(Identity::Always) {
                        let message = format!("column \"{column_name}\" can only be updated to DEFAULT");
                        return Err(generated_always(message, &column_name));
                    }
                    let bound = self.binder.expression(value)?;
                    self.binder.assign(bound, definition.columns[at].sql_type, &column_name)?
                };
                set.push((number, value));
            }
        }
        Ok(set)
    }
}

fn types(outputs: Option<&[OutputColumn]>) -> Vec<SqlType> {
    outputs.unwrap_or_default().iter().map(|output| output.sql_type).collect()
}
