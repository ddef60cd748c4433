//! UPDATE and DELETE.
//!
//! The rows are found with intent to write and changed where they are found, unless the statement could meet
//! rows that it has changed: see `collected_change`.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Intent, Register, RowSlot, Strength, TableIndex};
use hyades_engine::storage::table::Table;
use hyades_types::access::Privileges;
use hyades_types::definition::{ColumnDefinition, Identity, TriggerEvent};
use hyades_types::error::{Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::Value;
use sqlparser::ast::{self, AssignmentTarget, FromTable, TableFactor, TableWithJoins, UpdateTableFromKind};
use sqlparser::tokenizer::Location;

use super::insert::{generated_always, is_default};
use super::inserted_elements::subscripts;
use super::run_plan::Tag;
use super::select::{described, is_single};
use super::triggers::with_generated;
use super::{CompiledQuery, Compiler};
use crate::bind::aggregation::AggregateMode;
use crate::bind::coerce::cast;
use crate::bind::scope::{Relation, Scope};
use crate::bind::tree::OutputColumn;
use crate::bind::tree::{Item, JoinGroup, Source};
use crate::bind::view_target::{ChangeTarget, ViewChange};
use crate::bind::{Place, start_of, start_of_query};
use crate::explain::PlanNode;
use crate::explain::counted::Counted;
use crate::expr;
use crate::plan::level::{Step, for_each_level};
use crate::plan::order;
use crate::statement::cursor_syntax;
use crate::statement::names::{fold, parts};

/// What happens to each row.
pub(super) enum Change {
    Update(Vec<(u16, Expr)>),
    Delete,
}

impl Change {
    pub(super) fn verb(&self) -> &'static str {
        match self {
            Change::Update(_) => "Update",
            Change::Delete => "Delete",
        }
    }

    pub(super) fn tag(&self) -> Tag {
        match self {
            Change::Update(_) => Tag::Update,
            Change::Delete => Tag::Delete,
        }
    }

    pub(super) fn instruction(&self, table: TableIndex, row: RowSlot) -> Instruction {
        match self {
            Change::Update(set) => Instruction::Update { table, row, set: set.clone() },
            Change::Delete => Instruction::Delete { table, row },
        }
    }

    pub(super) fn new_values(&self) -> &[(u16, Expr)] {
        match self {
            Change::Update(set) => set,
            Change::Delete => &[],
        }
    }
}

/// The table being changed.
pub(super) struct Changed {
    /// The target that the statement names: the table, or a view of it.
    named: Arc<Table>,
    pub(crate) table: Arc<Table>,
    pub(crate) row: RowSlot,
    pub(crate) steps: Vec<Step>,
    /// Conditions that read no row.
    pub(crate) constant: Vec<Expr>,
    /// The conditions of WHERE on its row.
    pub(crate) wanted: Vec<Expr>,
    /// Row slots and registers of the relations of FROM or USING. `None`: there is no such clause.
    pub(crate) beside: Option<(Vec<RowSlot>, Vec<Register>)>,
    pub(crate) outputs: Option<Vec<OutputColumn>>,
    /// How its rows are locked.
    pub(crate) strength: Strength,
    label: String,
}

/// The clauses that describe the rows to be changed.
struct Clauses<'c> {
    change: ViewChange,
    target: &'c TableWithJoins,
    from: Option<&'c [TableWithJoins]>,
    selection: Option<&'c ast::Expr>,
    returning: Option<&'c Vec<ast::SelectItem>>,
}

impl Changed {
    /// Sets the same lock for every row that is to be changed.
    fn set_intent(&mut self, strength: Strength, is_kept: bool) {
        let intent = Intent::chosen(strength, None);
        self.strength = strength;
        for step in &mut self.steps {
            if let Step::Loop(level) = step
                && matches!(&level.source, Source::Table { row, .. } if *row == self.row)
            {
                (level.intent, level.is_kept) = (intent, is_kept);
            }
        }
    }

    /// Whether setting these columns may move rows ahead of the scan that finds them: along the primary key,
    /// or along the index that the scan uses.
    fn moves(&self, set: &[u16]) -> bool {
        let definition = self.table.definition();
        let is_set = |column: u16| set.contains(&column);
        let mut index = None;
        for_each_level(&self.steps, &mut |level| {
            if matches!(&level.source, Source::Table { row, .. } if *row == self.row) {
                index = index.or(level.choice.access.index());
            }
        });
        let index = index.and_then(|index| definition.indexes.get(usize::from(index)));
        let key = definition.primary_key.iter().flat_map(|key| key.columns.iter().copied());
        key.chain(index.into_iter().flat_map(|index| index.key_columns())).any(is_set)
    }
}

impl Compiler<'_> {
    fn changed(&mut self, clauses: &Clauses<'_>) -> Result<Changed> {
        let TableFactor::Table { name, alias, .. } = &clauses.target.relation else {
            return self.binder.lacks(Missing::Dialects, "changing something other than a table is");
        };
        if !clauses.target.joins.is_empty() {
            return self.binder.lacks(Missing::Dialects, "joins in UPDATE and DELETE are");
        }
        let named = self.binder.table(name)?;
        let is_update = matches!(clauses.change, ViewChange::Update);
        let right = if is_update { Privileges::UPDATE } else { Privileges::DELETE };
        self.binder.need_to_change(&named, right);
        let alias = alias.as_ref().map(|alias| self.binder.alias(&alias.name)).transpose()?;
        let target = self.binder.change_target(Arc::clone(&named), alias, clauses.change)?;
        let ChangeTarget { table, row, relation, mut conditions, through } = target;
        self.binder.tables_read.push(table.id());
        self.through = through;
        let own_name = table.definition().name.name.clone();
        let label =
            if relation.name == own_name { own_name } else { format!("{own_name} {}", relation.name) };
        let mut others = self.relations_beside(relation, clauses.from.unwrap_or_default())?;
        let beside = clauses.from.map(|_| places_of(&mut others)).transpose()?;
        let own_conditions = conditions.len();
        let mut found = None;
        if let Some(cursor) = clauses.selection.and_then(cursor_syntax::current_of) {
            if self.through.is_some() {
                let message = "WHERE CURRENT OF on a view is not implemented";
                return self.binder.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, Place::Unknown);
            }
            found = self.current_of(cursor, (&table, row), &mut conditions)?;
        } else if let Some(selection) = clauses.selection {
            self.binder.aggregate_mode = AggregateMode::Forbidden("in WHERE");
            let condition = self.binder.condition_of(selection, "WHERE")?;
            expr::conjuncts(condition, &mut conditions);
        }
        self.binder.aggregate_mode = AggregateMode::Forbidden("in RETURNING");
        self.binder.sees_changes = true;
        let outputs = clauses.returning.map(|items| self.binder.outputs(items)).transpose();
        self.binder.sees_changes = false;
        let outputs = outputs?;
        let read = conditions[own_conditions..].iter();
        let read = read.chain(outputs.iter().flatten().map(|output| &output.expr));
        self.need_to_read(&named, row, read);
        let wanted =
            conditions.iter().filter(|condition| expr::reads(condition, row, &[])).cloned().collect();
        let computed = self.binder.computed_for_indexes(&table, row)?;
        let old_snapshot = self.binder.context.tables.old_snapshot();
        let source = Source::Table { table: Arc::clone(&table), row, computed, old_snapshot };
        let item =
            Item { intent: Intent::chosen(Strength::Write, None), ..Item::new(source, label.clone(), 0) };
        let mut from = JoinGroup { conditions, ..JoinGroup::of(item) };
        from.append(others);
        let (mut steps, constant) = order::steps(from, None, self)?;
        for step in &mut steps {
            if let Step::Loop(level) = step
                && matches!(&level.source, Source::Table { row: own, .. } if *own == row)
                && let Some(access) = found.take()
            {
                let choice = &mut level.choice;
                choice.filter.append(&mut choice.steering);
                (choice.access, choice.is_single) = (access, true);
            }
        }
        if found.is_some() {
            return self.binder.lacks(Missing::CurrentOf, "WHERE CURRENT OF in such a join is");
        }
        let strength = Strength::Write;
        Ok(Changed { named, table, row, steps, constant, wanted, beside, outputs, strength, label })
    }

    /// Reading columns of the rows to be changed needs the SELECT right.
    fn need_to_read<'e>(&self, named: &Arc<Table>, row: RowSlot, read: impl Iterator<Item = &'e Expr>) {
        let mut read = read;
        if read.any(|expr| expr::reads(expr, row, &[])) {
            self.binder.need_on_table(named, Privileges::SELECT);
        }
    }

    /// FROM or USING: its items do not see the table that is changed. Everything after it sees both.
    fn relations_beside(&mut self, target: Relation, from: &[TableWithJoins]) -> Result<JoinGroup> {
        self.binder.scope = Scope::default();
        let mut others = self.binder.from(from)?;
        others.for_each_item_mut(&mut |item, _| {
            item.relation += 1;
            Ok(())
        })?;
        if self.binder.scope.named().any(|(_, known)| known.name == target.name) {
            let message = format!("table name \"{}\" specified more than once", target.name);
            return self.binder.fail(sqlstate::DUPLICATE_ALIAS, message, Place::Unknown);
        }
        self.binder.scope.put_first(target);
        Ok(others)
    }

    pub(crate) fn update(&mut self, update: &ast::Update) -> Result<CompiledQuery> {
        if let Some(compiled) = self.update_instead(update)? {
            return Ok(compiled);
        }
        let from = match &update.from {
            Some(UpdateTableFromKind::AfterSet(from)) => Some(from.as_slice()),
            Some(UpdateTableFromKind::BeforeSet(_)) | None => None,
        };
        let mut changed = self.changed(&Clauses {
            change: ViewChange::Update,
            target: &update.table,
            from,
            selection: update.selection.as_ref(),
            returning: update.returning.as_ref(),
        })?;
        self.binder.aggregate_mode = AggregateMode::Forbidden("in UPDATE");
        let set = self.assignments(&update.assignments, &changed.table, changed.row)?;
        self.need_to_read(&changed.named, changed.row, set.iter().map(|(_, value)| value));
        let definition = changed.table.definition();
        let mut columns: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
        let updated = with_generated(&definition, &columns);
        columns.extend(self.set_by_triggers(&changed.table, &updated)?);
        // Transactions that rely only on the key may go on.
        let sets_key = columns.iter().any(|column| definition.is_key_column(*column));
        let strength = if sets_key { Strength::Write } else { Strength::NoKeyWrite };
        let is_single = is_single(&changed.steps);
        let collects = (!is_single && changed.moves(&columns))
            || Self::must_collect(&changed, &set)
            || self.is_disturbed(&changed.table, TriggerEvent::Update, &updated)?;
        changed.set_intent(strength, !collects);
        self.before_statement(&changed.table, TriggerEvent::Update, &updated)?;
        let change = Change::Update(set);
        if collects { self.collect_then_change(changed, change) } else { self.change(changed, change) }
    }

    pub(crate) fn delete(&mut self, delete: &ast::Delete) -> Result<CompiledQuery> {
        if let Some(compiled) = self.delete_instead(delete)? {
            return Ok(compiled);
        }
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let [target] = from.as_slice() else {
            return self.binder.lacks(Missing::Dialects, "DELETE from several tables is");
        };
        let mut changed = self.changed(&Clauses {
            change: ViewChange::Delete,
            target,
            from: delete.using.as_deref(),
            selection: delete.selection.as_ref(),
            returning: delete.returning.as_ref(),
        })?;
        let collects = Self::must_collect(&changed, &[])
            || self.is_disturbed(&changed.table, TriggerEvent::Delete, &[])?;
        changed.set_intent(Strength::Write, !collects);
        self.before_statement(&changed.table, TriggerEvent::Delete, &[])?;
        if collects {
            self.collect_then_change(changed, Change::Delete)
        } else {
            self.change(changed, Change::Delete)
        }
    }

    /// Whether a row that is changed where it is found could be found again, or could change what other rows
    /// are compared with.
    fn must_collect(changed: &Changed, set: &[(u16, Expr)]) -> bool {
        let asks_again = |expr: &Expr| matches!(expr, Expr::Query { outer, .. } if !outer.is_empty());
        let values = set.iter().map(|(_, value)| value);
        let mut computed = changed.wanted.iter().chain(values);
        let mut looks_around = || computed.any(|expr| expr::any(expr, &asks_again));
        changed.beside.is_some() || (!is_single(&changed.steps) && looks_around())
    }

    /// Changes each row where it is found.
    fn change(&mut self, changed: Changed, change: Change) -> Result<CompiledQuery> {
        self.prepare_subqueries()?;
        let explain = self.explain_change(&changed, &change);
        if let Some(outputs) = &changed.outputs {
            self.describe(described(outputs), is_single(&changed.steps))?;
        }
        let table = self.code.table(&changed.table)?;
        let end = self.code.label();
        self.check(&changed.constant, end);
        self.loops(&changed.steps, end, &mut |compiler, next| {
            compiler.write(change.instruction(table, changed.row), next)?;
            compiler.code.push(Instruction::CountRow);
            compiler.emit_outputs(changed.outputs.as_deref())
        })?;
        self.code.place(end);
        self.finish_change(&changed, &change, explain)
    }

    pub(super) fn finish_change(
        &mut self,
        changed: &Changed,
        change: &Change,
        explain: Option<PlanNode>,
    ) -> Result<CompiledQuery> {
        let (event, updated) = match change {
            Change::Update(set) => {
                let set: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
                (TriggerEvent::Update, with_generated(&changed.table.definition(), &set))
            }
            Change::Delete => (TriggerEvent::Delete, Vec::new()),
        };
        self.after_statement(&changed.table, event, &updated)?;
        let outputs = changed.outputs.as_deref();
        let columns = outputs.map(|outputs| self.result_columns(outputs));
        let types = outputs.unwrap_or_default().iter().map(|output| output.sql_type).collect();
        let procedure = self.finish_code(&change.verb().to_ascii_lowercase(), types)?;
        Ok(CompiledQuery { run: self.direct_run(procedure, change.tag(), explain), columns })
    }

    pub(super) fn emit_outputs(&mut self, outputs: Option<&[OutputColumn]>) -> Result<()> {
        match outputs {
            Some(outputs) => self.emit(outputs.iter().map(|output| output.expr.clone()).collect()),
            None => Ok(()),
        }
    }

    pub(super) fn explain_change(&mut self, changed: &Changed, change: &Change) -> Option<PlanNode> {
        self.explained(|compiler| {
            PlanNode::new(format!("{} on {}", change.verb(), changed.label))
                .counted(Counted::Started, Counted::Told)
                .over(compiler.explain_steps(&changed.steps))
        })
    }

    /// SET of UPDATE and of ON CONFLICT: column numbers and their new values.
    pub(crate) fn assignments(
        &mut self,
        assignments: &[ast::Assignment],
        table: &Arc<Table>,
        row: RowSlot,
    ) -> Result<Vec<(u16, Expr)>> {
        let definition = table.definition();
        let mut defaults = None;
        let mut set: Vec<(u16, Expr)> = Vec::with_capacity(assignments.len());
        let mut in_parts = Vec::new();
        for assignment in assignments {
            if let AssignmentTarget::ColumnName(name) = &assignment.target
                && let Some(chain) = subscripts(name)?
            {
                self.assign_elements(
                    (name, &chain, &assignment.value),
                    (table, row),
                    &mut set,
                    &mut in_parts,
                )?;
                continue;
            }
            match (&assignment.target, &assignment.value) {
                (AssignmentTarget::ColumnName(name), value) => {
                    let at = self.assigned_column(name, table, &set)?;
                    let value = self.new_value(value, at, table, &mut defaults)?;
                    set.push((column_number(at), value));
                }
                (AssignmentTarget::Tuple(names), ast::Expr::Tuple(values)) => {
                    self.check_width_of_row(names, start_of(&assignment.value), values.len())?;
                    for (name, value) in names.iter().zip(values) {
                        let at = self.assigned_column(name, table, &set)?;
                        let value = self.new_value(value, at, table, &mut defaults)?;
                        set.push((column_number(at), value));
                    }
                }
                (AssignmentTarget::Tuple(names), ast::Expr::Subquery(query)) => {
                    let values = self.binder.row_subquery(query)?;
                    self.check_width_of_row(names, start_of_query(query), values.len())?;
                    for (name, value) in names.iter().zip(values) {
                        let at = self.assigned_column(name, table, &set)?;
                        let column = &definition.columns[at];
                        refuse_generated(column)?;
                        let value = self.binder.assign(value, column.sql_type, &column.name)?;
                        set.push((column_number(at), value));
                    }
                }
                (AssignmentTarget::Tuple(_), _) => {
                    let message =
                        "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                    return self.binder.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, Place::Unknown);
                }
            }
        }
        Ok(set)
    }

    /// `column[...] = value`: each sees what the previous ones have assigned to the column.
    fn assign_elements(
        &mut self,
        (name, chain, value): (&ast::ObjectName, &[ast::AccessExpr], &ast::Expr),
        (table, row): (&Arc<Table>, RowSlot),
        set: &mut Vec<(u16, Expr)>,
        in_parts: &mut Vec<u16>,
    ) -> Result<()> {
        let column_only = ast::ObjectName(name.0[..name.0.len() - 1].to_vec());
        let at = match set.iter().any(|(known, _)| in_parts.contains(known)) {
            true => self.assigned_column(&column_only, table, &[])?,
            false => self.assigned_column(&column_only, table, set)?,
        };
        let number = column_number(at);
        let column = &table.definition().columns[at];
        refuse_generated(column)?;
        if is_default(value) {
            let message = "cannot set an array element to DEFAULT";
            return self.binder.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, Place::of(name));
        }
        let known = set.iter().position(|(known, _)| *known == number);
        if known.is_some() && !in_parts.contains(&number) {
            let message = format!("multiple assignments to same column \"{}\"", column.name);
            return self.binder.fail(sqlstate::SYNTAX_ERROR, message, Place::Unknown);
        }
        let before = match known {
            Some(known) => set.remove(known).1,
            None => Expr::Column { row, column: number },
        };
        let value = self.binder.expression(value)?;
        let target = (before, column.sql_type, column.name.as_str());
        let assigned = self.binder.assigned_elements(target, chain, value, Place::of(name))?;
        let fitted = cast(assigned, column.sql_type.without_modifier(), column.sql_type, false)?;
        in_parts.push(number);
        set.push((number, fitted));
        Ok(())
    }

    fn check_width_of_row(&self, names: &[ast::ObjectName], first: Location, values: usize) -> Result<()> {
        if names.len() == values {
            return Ok(());
        }
        let message = "number of columns does not match number of values";
        self.binder.fail(sqlstate::SYNTAX_ERROR, message, Place::before(first))
    }

    /// The number of a column that has no new value yet.
    fn assigned_column(
        &self,
        name: &ast::ObjectName,
        table: &Arc<Table>,
        set: &[(u16, Expr)],
    ) -> Result<usize> {
        let definition = table.definition();
        let idents = parts(name)?;
        let column_name = idents.first().map(|ident| fold(ident)).unwrap_or_default();
        let found = match &self.through {
            Some(through) => through.column(&column_name, ViewChange::Update)?,
            None => definition.column_index(&column_name),
        };
        let Some(at) = found else {
            let relation = self.through.as_ref().map_or(definition, |through| through.view.definition());
            let message =
                format!("column \"{column_name}\" of relation \"{}\" does not exist", relation.name.name);
            return self.binder.fail(sqlstate::UNDEFINED_COLUMN, message, Place::of(name));
        };
        if idents.len() > 1 {
            return self.binder.unsupported(
                Missing::AssignedParts,
                "assigning to a field of a column is",
                Place::of(name),
            );
        }
        if set.iter().any(|(known, _)| *known == column_number(at)) {
            let message = format!("multiple assignments to same column \"{column_name}\"");
            return self.binder.fail(sqlstate::SYNTAX_ERROR, message, Place::Unknown);
        }
        Ok(at)
    }

    /// `defaults` are looked up when the first one is needed.
    fn new_value(
        &mut self,
        value: &ast::Expr,
        at: usize,
        table: &Arc<Table>,
        defaults: &mut Option<Vec<Expr>>,
    ) -> Result<Expr> {
        if is_default(value) {
            // Columns of views have no defaults of their own.
            if self.through.is_some() {
                return Ok(Expr::Const(Value::Null));
            }
            let defaults = match defaults {
                Some(defaults) => defaults,
                None => defaults.insert(self.binder.defaults(table)?),
            };
            return Ok(defaults[at].clone());
        }
        let definition = table.definition();
        let column = &definition.columns[at];
        refuse_generated(column)?;
        let bound = self.binder.expression(value)?;
        self.binder.assign(bound, column.sql_type, &column.name)
    }
}

fn column_number(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}

fn refuse_generated(column: &ColumnDefinition) -> Result<()> {
    if column.identity != Some(Identity::Always) && column.generation.is_none() {
        return Ok(());
    }
    let message = format!("column \"{}\" can only be updated to DEFAULT", column.name);
    Err(generated_always(message, column))
}

/// The row slots and registers with the values of these relations.
fn places_of(relations: &mut JoinGroup) -> Result<(Vec<RowSlot>, Vec<Register>)> {
    let (mut rows, mut registers) = (Vec::new(), Vec::new());
    relations.for_each_item_mut(&mut |item, _| {
        if let Source::Table { row, .. } = &item.source {
            rows.push(*row);
        }
        registers.extend(item.source.registers());
        Ok(())
    })?;
    Ok((rows, registers))
}
