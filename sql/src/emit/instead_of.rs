//! Changes of views that have INSTEAD OF triggers: the triggers do what they like with each row.
//!
//! The rows of an UPDATE or DELETE are found by a query of the view, and kept before the first trigger runs.
//! A row counts as changed if all its triggers return one.
//!
//! Reference: ExecIRUpdateTriggers of PostgreSQL's trigger.c, rewriteTargetView of rewriteHandler.c.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Label, Register, TableReference};
use hyades_engine::storage::table::Table;
use hyades_types::access::Privileges;
use hyades_types::definition::{TriggerEvent, TriggerTiming};
use hyades_types::error::{Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;
use sqlparser::ast::{
    self, AssignmentTarget, FromTable, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor,
    TableWithJoins, UpdateTableFromKind,
};

use super::insert::is_default;
use super::row_sink::Sink;
use super::run_plan::Tag;
use super::select::described;
use super::trigger_call::Rows;
use super::{CompiledQuery, Compiler};
use crate::bind::aggregation::AggregateMode;
use crate::bind::scope::{Relation, RelationKind, Scope, Visibility, named_columns};
use crate::bind::view_target::{ChangeTarget, ViewChange};
use crate::bind::{Bound, Place};
use crate::explain::PlanNode;
use crate::explain::counted::Counted;
use crate::statement::names::{fold, parts};
use crate::statement::query::select_of;

/// A change of a view.
struct ViewRows<'c> {
    view: Arc<Table>,
    event: TriggerEvent,
    target: &'c TableWithJoins,
    from: Option<&'c [TableWithJoins]>,
    selection: Option<&'c ast::Expr>,
    returning: Option<&'c [SelectItem]>,
}

impl Compiler<'_> {
    /// Whether triggers do what a statement does to this relation.
    fn is_replaced(&self, relation: &Table, event: TriggerEvent) -> bool {
        let definition = relation.definition();
        definition.view().is_some()
            && !self.fired(&definition, (TriggerTiming::InsteadOf, true), event, &[]).is_empty()
    }

    /// Makes the statement stale when the view changes.
    fn note_view(&mut self, view: &Arc<Table>) {
        self.binder.views.push(TableReference::new(Arc::clone(view)));
    }

    /// Runs the triggers for a row. Jumps to `skip` if one of them returns none.
    fn run_instead(
        &mut self,
        view: &Arc<Table>,
        event: TriggerEvent,
        rows: &Rows,
        skip: Label,
    ) -> Result<()> {
        let table = self.code.table(view)?;
        for at in self.fired(&view.definition(), (TriggerTiming::InsteadOf, true), event, &[]) {
            let call = self.trigger_call((table, at, event))?;
            let verdict = self.call_for_row(&call, rows)?;
            self.code.jump_unless(Expr::Register(verdict), skip);
        }
        Ok(())
    }

    /// The target of an INSERT. Where triggers insert the rows of a view, the new row is in registers.
    pub(super) fn inserted_target(
        &mut self,
        view: &Arc<Table>,
        alias: Option<String>,
    ) -> Result<(ChangeTarget, Option<Vec<Register>>)> {
        if !self.is_replaced(view, TriggerEvent::Insert) {
            return Ok((self.binder.change_target(Arc::clone(view), alias, ViewChange::Insert)?, None));
        }
        let definition = view.definition();
        let columns = named_columns(definition.visible_columns());
        let registers = self.new_registers(columns.len())?;
        self.note_view(view);
        let relation = Relation {
            name: alias.unwrap_or_else(|| definition.name.name.clone()),
            columns,
            kind: RelationKind::Registers(registers.clone()),
            visibility: Visibility::Everywhere,
        };
        let (table, row, conditions) = (Arc::clone(view), self.binder.new_row()?, Vec::new());
        Ok((ChangeTarget { table, row, relation, conditions, through: None }, Some(registers)))
    }

    /// Has triggers insert a row of these values, which go into the registers.
    pub(super) fn insert_instead(
        &mut self,
        view: &Arc<Table>,
        registers: &[Register],
        values: Vec<Expr>,
        skip: Label,
    ) -> Result<()> {
        for (register, value) in registers.iter().zip(values) {
            self.code.evaluate(*register, value);
        }
        let new = registers.iter().map(|register| Expr::Register(*register)).collect();
        self.run_instead(view, TriggerEvent::Insert, &Rows { old: Vec::new(), new }, skip)
    }

    /// UPDATE of such a view. `None`: it is none.
    pub(super) fn update_instead(&mut self, update: &ast::Update) -> Result<Option<CompiledQuery>> {
        let Some(view) = self.replaced_view(&update.table, TriggerEvent::Update)? else { return Ok(None) };
        let from = match &update.from {
            Some(UpdateTableFromKind::AfterSet(from)) => Some(from.as_slice()),
            Some(UpdateTableFromKind::BeforeSet(_)) | None => None,
        };
        self.binder.need_to_change(&view, Privileges::UPDATE);
        let set = self.set_of_view(&view, &update.assignments)?;
        let change = ViewRows {
            view,
            event: TriggerEvent::Update,
            target: &update.table,
            from,
            selection: update.selection.as_ref(),
            returning: update.returning.as_deref(),
        };
        self.change_instead(&change, &set).map(Some)
    }

    /// DELETE from such a view. `None`: it is none.
    pub(super) fn delete_instead(&mut self, delete: &ast::Delete) -> Result<Option<CompiledQuery>> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let [target] = from.as_slice() else { return Ok(None) };
        let Some(view) = self.replaced_view(target, TriggerEvent::Delete)? else { return Ok(None) };
        self.binder.need_to_change(&view, Privileges::DELETE);
        let change = ViewRows {
            view,
            event: TriggerEvent::Delete,
            target,
            from: delete.using.as_deref(),
            selection: delete.selection.as_ref(),
            returning: delete.returning.as_deref(),
        };
        self.change_instead(&change, &[]).map(Some)
    }

    fn replaced_view(&self, target: &TableWithJoins, event: TriggerEvent) -> Result<Option<Arc<Table>>> {
        let TableFactor::Table { name, .. } = &target.relation else { return Ok(None) };
        let Some(view) = self.binder.view_named(name)? else { return Ok(None) };
        Ok(self.is_replaced(&view, event).then_some(view))
    }

    /// The columns that an UPDATE sets, and the values as they are written.
    fn set_of_view(
        &mut self,
        view: &Arc<Table>,
        assignments: &[ast::Assignment],
    ) -> Result<Vec<(usize, ast::Expr)>> {
        let definition = view.definition();
        let mut set: Vec<(usize, ast::Expr)> = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let pairs: Vec<(&ast::ObjectName, &ast::Expr)> = match (&assignment.target, &assignment.value) {
                (AssignmentTarget::ColumnName(name), value) => vec![(name, value)],
                (AssignmentTarget::Tuple(names), ast::Expr::Tuple(values)) if names.len() == values.len() => {
                    names.iter().zip(values).collect()
                }
                _ => {
                    return self.binder.lacks(Missing::OtherForms, "this form of SET for a view is");
                }
            };
            for (name, value) in pairs {
                let idents = parts(name)?;
                let [column] = idents.as_slice() else {
                    return self.binder.unsupported(
                        Missing::AssignedParts,
                        "assigning to a part of a column is",
                        Place::of(name),
                    );
                };
                let column = fold(column);
                let Some(at) = definition.column_index(&column) else {
                    let relation = &definition.name.name;
                    let message = format!("column \"{column}\" of relation \"{relation}\" does not exist");
                    return self.binder.fail(sqlstate::UNDEFINED_COLUMN, message, Place::of(name));
                };
                if set.iter().any(|(known, _)| *known == at) {
                    let message = format!("multiple assignments to same column \"{column}\"");
                    return self.binder.fail(sqlstate::SYNTAX_ERROR, message, Place::Unknown);
                }
                set.push((at, value.clone()));
            }
        }
        Ok(set)
    }

    fn change_instead(&mut self, change: &ViewRows<'_>, set: &[(usize, ast::Expr)]) -> Result<CompiledQuery> {
        let definition = change.view.definition();
        let columns = named_columns(definition.visible_columns());
        let width = columns.len();
        let query = rows_query(change, set)?;
        let hints = set.iter().map(|(at, _)| (columns[*at].1, columns[*at].0.clone()));
        self.binder.output_hints =
            columns.iter().map(|(name, sql_type)| (*sql_type, name.clone())).chain(hints).collect();
        self.binder.aggregate_mode = AggregateMode::Forbidden("in UPDATE");
        let mut bound = self.bind_query(&query)?;
        self.binder.output_hints.clear();
        for (output, (at, _)) in bound.outputs[width..].iter_mut().zip(set) {
            let (name, sql_type) = &columns[*at];
            let value = Bound::typed(output.expr.clone(), output.sql_type, output.place);
            output.expr = self.binder.assign(value, *sql_type, name)?;
            output.sql_type = *sql_type;
        }
        let total = bound.outputs.len();
        let (seen, is_new) = (self.new_registers(width)?, change.event.has_new());
        let outputs = match change.returning {
            Some(items) => {
                self.see_row(&change.view, change.target, seen.clone())?;
                self.binder.aggregate_mode = AggregateMode::Forbidden("in RETURNING");
                Some(self.binder.outputs(items)?)
            }
            None => None,
        };
        self.before_statement(&change.view, change.event, &[])?;
        let spool = self.code.new_spool()?;
        self.code.push(Instruction::OpenSpool { spool });
        let outer = std::mem::replace(&mut self.sink, Sink::Spool(spool));
        let below = self.select_run(bound)?.explain;
        self.sink = outer;
        self.prepare_subqueries()?;
        if let Some(outputs) = &outputs {
            self.describe(described(outputs), false)?;
        }
        self.note_view(&change.view);
        self.for_spooled(spool, total, &mut |compiler, row, next| {
            let (old, given) = row.split_at(width);
            let values = (0..width).map(|at| {
                let place = set.iter().position(|(column, _)| *column == at);
                place.map_or(&old[at], |place| &given[place]).clone()
            });
            for (register, value) in seen.iter().zip(values) {
                compiler.code.evaluate(*register, value);
            }
            let new = if is_new { seen.iter().map(|own| Expr::Register(*own)).collect() } else { Vec::new() };
            let rows = Rows { old: old.to_vec(), new };
            compiler.run_instead(&change.view, change.event, &rows, next)?;
            compiler.code.push(Instruction::CountRow);
            compiler.emit_outputs(outputs.as_deref())
        })?;
        self.after_statement(&change.view, change.event, &[])?;
        let columns = outputs.as_deref().map(|outputs| self.result_columns(outputs));
        let types: Vec<SqlType> = outputs.iter().flatten().map(|output| output.sql_type).collect();
        let (verb, tag) = match change.event {
            TriggerEvent::Delete => ("Delete", Tag::Delete),
            _ => ("Update", Tag::Update),
        };
        let procedure = self.finish_code(&verb.to_ascii_lowercase(), types)?;
        let explain = below.map(|child| {
            let node = PlanNode::new(format!("{verb} on {}", definition.name.name));
            node.counted(Counted::Started, Counted::Told).over(child)
        });
        Ok(CompiledQuery { run: self.direct_run(procedure, tag, explain), columns })
    }

    fn new_registers(&mut self, count: usize) -> Result<Vec<Register>> {
        (0..count).map(|_| self.binder.new_register()).collect()
    }

    /// Makes only the row in these registers visible, under the name that the statement gives the view.
    fn see_row(
        &mut self,
        view: &Arc<Table>,
        target: &TableWithJoins,
        registers: Vec<Register>,
    ) -> Result<()> {
        let definition = view.definition();
        let alias = match &target.relation {
            TableFactor::Table { alias: Some(alias), .. } => Some(self.binder.alias(&alias.name)?),
            _ => None,
        };
        self.binder.scope = Scope::of(Relation {
            name: alias.unwrap_or_else(|| definition.name.name.clone()),
            columns: named_columns(definition.visible_columns()),
            kind: RelationKind::Registers(registers),
            visibility: Visibility::Everywhere,
        });
        Ok(())
    }
}

/// The query for the rows to be changed: the columns of the view, then the new values.
fn rows_query(change: &ViewRows<'_>, set: &[(usize, ast::Expr)]) -> Result<ast::Query> {
    let mut query = select_of(ast::Expr::value(ast::Value::Null))?;
    let SetExpr::Select(select) = query.body.as_mut() else { return Ok(query) };
    let TableFactor::Table { name, alias, .. } = &change.target.relation else { return Ok(query) };
    let shown = match alias {
        Some(alias) => ast::ObjectName::from(vec![alias.name.clone()]),
        None => name.clone(),
    };
    let all = SelectItemQualifiedWildcardKind::ObjectName(shown);
    let value = |value: &ast::Expr| match is_default(value) {
        true => ast::Expr::value(ast::Value::Null),
        false => value.clone(),
    };
    select.projection = vec![SelectItem::QualifiedWildcard(all, ast::WildcardAdditionalOptions::default())];
    select.projection.extend(set.iter().map(|(_, written)| SelectItem::UnnamedExpr(value(written))));
    select.from = vec![change.target.clone()];
    select.from.extend(change.from.unwrap_or_default().iter().cloned());
    select.selection = change.selection.cloned();
    Ok(query)
}
