//! What a trigger runs: its function, compiled for one event on one table.
//!
//! The columns of the records `NEW` and `OLD` are those of the table, and `TG_OP`, `TG_NAME` and so on are
//! constants, so that code for other events or tables is not even compiled. The procedure takes the columns
//! of the old row, if there is one, then those of the new row. Its results are whether a row was returned,
//! then the columns of the new row as the function has left them. Its first spools are the transition tables
//! that the trigger names: the old one, then the new one.
//!
//! Reference: plpgsql_exec_trigger of PostgreSQL's pl_exec.c, do_compile of pl_comp.c.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Procedure, Register};
use hyades_engine::storage::stored_routine::Firing;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    Returns, RoutineDefinition, TableDefinition, TriggerDefinition, TriggerEvent, TriggerTiming,
};
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::function::Volatility;
use hyades_types::refusal::{Missing, refused};
use hyades_types::system_type::SystemType;
use hyades_types::value::array_value::Dimension;
use hyades_types::value::{ArrayElement, SqlType, Value};
use sqlparser::ast;

use super::fired_trigger::FiredTrigger;
use super::parse;
use super::routine_body::{Routine, When, mentions};
use super::tree::{Body, Fragment};
use crate::bind::scope::named_columns;
use crate::bind::tree::{BoundCommonTable, CommonTable};
use crate::bind::visible_variables::IN_SQL;
use crate::bind::visible_variables::{Columns, Found, Names, RecordState, Scalar, Scope, Variable};
use crate::bind::{BindContext, Bound, Class, Place, Tables};
use crate::evaluation;
use crate::expr::{any, replace};
use crate::statement::names::{fold, split_arguments};
use crate::statement::query::parse_expression;

impl Routine<'_> {
    /// Refuses what no trigger function may be, when it is created.
    pub(super) fn check_trigger_function(definition: &RoutineDefinition) -> Result<()> {
        let (message, hint) = if definition.language == IN_SQL {
            ("SQL functions cannot return type trigger", None)
        } else if definition.parameters.is_empty() {
            return Ok(());
        } else {
            let hint = "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.";
            ("trigger functions cannot have declared arguments", Some(hint))
        };
        let error = Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message);
        Err(match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        })
    }

    /// Compiles the routine that stands for a firing.
    pub(super) fn of_firing(firing: &RoutineDefinition, tables: &dyn Tables) -> Result<Procedure> {
        let gone = || Error::Abort(Abort::StalePlan);
        let fired = Firing::read(&firing.body).ok_or_else(gone)?;
        let table = tables.by_id(fired.table).ok_or_else(gone)?;
        let definition = table.definition();
        let trigger = definition.trigger(&fired.trigger).ok_or_else(gone)?;
        let mut named = tables.routines_named(&firing.name).into_iter();
        let function = named.find(|one| one.definition.returns == Returns::Trigger).ok_or_else(gone)?;
        let function = &function.definition;
        let zone = jiff::tz::TimeZone::UTC;
        let path = function.search_path(tables.temporary_schema());
        let context = BindContext::of_routine(tables, &zone, &path);
        let Body::Block(block) = parse::parse(function)? else { return Err(gone()) };
        let mut routine = Routine::new(function, context, 0)?;
        // A change of the table makes the procedure stale.
        routine.compiler.code.table(&table)?;
        let results = routine.fire(&table, trigger, fired.event)?;
        if let Err(error) = routine.block(&block) {
            return Err(routine.explained(error, When::Called));
        }
        routine.fall_off();
        routine.finish(results, When::Called)
    }
}

impl<'a> Routine<'a> {
    /// Declares what a trigger function sees. Returns the registers of the results.
    fn fire(
        &mut self,
        table: &Table,
        trigger: &TriggerDefinition,
        event: TriggerEvent,
    ) -> Result<Vec<Register>> {
        let definition = table.definition();
        let columns = named_columns(definition.visible_columns());
        let is_there = |has: bool| has && trigger.is_for_rows;
        let (has_old, has_new) = (is_there(event.has_old()), is_there(event.has_new()));
        // Parameters come first.
        let mut records = [(has_old, Columns::new()), (has_new, Columns::new())];
        for (_, record) in records.iter_mut().filter(|(is_given, _)| *is_given) {
            *record = self.record(&columns)?;
        }
        for (_, record) in records.iter_mut().filter(|(is_given, _)| !is_given) {
            *record = self.record(&columns)?;
        }
        let [(_, old), (_, new)] = records;
        let parameters = [(has_old, &old), (has_new, &new)];
        let parameters = parameters.into_iter().filter(|(is_given, _)| *is_given);
        let parameters = parameters.flat_map(|(_, columns)| columns.iter().map(|(_, sql_type, _)| *sql_type));
        let parameters = parameters.collect();
        let is_asked = trigger.is_for_rows && trigger.timing != TriggerTiming::After;
        let verdict = if is_asked { Some(self.compiler.binder.new_register()?) } else { None };
        let results = verdict.iter().copied().chain(new.iter().map(|(.., register)| *register)).collect();
        let mut names = Names::default();
        names.scopes.push(Scope::default());
        let function = self.definition.name.name.clone();
        names.scopes.push(Scope { label: Some(function), variables: Vec::new() });
        for (name, columns) in [("new", &new), ("old", &old)] {
            let record = names.new_record(RecordState::Known(columns.clone()), true, None);
            names.add(name, Variable::Record(record));
        }
        let found = self.compiler.binder.new_register()?;
        let is_found = Variable::Scalar(Scalar::new(found, SqlType::Boolean));
        names.scopes[0].variables.push(("found".to_owned(), is_found));
        let constants = self.constants(table, trigger, event, &mut names)?;
        self.compiler.binder.names = Some(names);
        self.compiler.binder.current = Some(Arc::clone(&self.definition));
        self.asked_for(found)?;
        self.transition_tables(&definition, trigger)?;
        let (old, new) = ((old, has_old), (new, has_new));
        self.trigger = Some(FiredTrigger { parameters, old, new, verdict, constants });
        Ok(if is_asked { results } else { Vec::new() })
    }

    fn record(&mut self, columns: &[(String, SqlType)]) -> Result<Columns> {
        let columns = columns.iter();
        columns
            .map(|(name, sql_type)| Ok((name.clone(), *sql_type, self.compiler.binder.new_register()?)))
            .collect()
    }

    /// The variables `TG_OP` and so on, and their values.
    fn constants(
        &mut self,
        table: &Table,
        trigger: &TriggerDefinition,
        event: TriggerEvent,
        names: &mut Names,
    ) -> Result<Vec<(Register, Value)>> {
        let definition = table.definition();
        let count = i32::try_from(trigger.arguments.len()).unwrap_or(i32::MAX);
        let text = |text: &str| (SqlType::Text, Value::text(text));
        let named = |name: &str| (SqlType::System(SystemType::Name), Value::text(name));
        let arguments = trigger.arguments.iter().map(|argument| Value::text(argument.as_str()));
        // It counts from 0.
        let dimensions = [Dimension { lower: 0, length: count }];
        let arguments = match count {
            0 => Value::Null,
            _ => Value::shaped_array(ArrayElement::Text, &dimensions, arguments.collect()),
        };
        let variables = [
            ("tg_name", named(&trigger.name)),
            ("tg_when", text(trigger.timing.words())),
            ("tg_level", text(if trigger.is_for_rows { "ROW" } else { "STATEMENT" })),
            ("tg_op", text(event.word())),
            ("tg_relid", (SqlType::System(SystemType::Oid), Value::Oid(table.id().0))),
            ("tg_relname", named(&definition.name.name)),
            ("tg_table_name", named(&definition.name.name)),
            ("tg_table_schema", named(&definition.name.schema)),
            ("tg_nargs", (SqlType::Integer, Value::Integer(count))),
            ("tg_argv", (SqlType::Array(ArrayElement::Text), arguments)),
        ];
        let mut constants = Vec::with_capacity(variables.len());
        for (name, (sql_type, value)) in variables {
            if !mentions(&self.definition.body, name) {
                continue;
            }
            let register = self.compiler.binder.new_register()?;
            self.compiler.code.evaluate(register, Expr::Const(value.clone()));
            let scalar = Scalar { is_constant: true, ..Scalar::new(register, sql_type) };
            names.add(name, Variable::Scalar(scalar));
            constants.push((register, value));
        }
        Ok(constants)
    }

    /// The transition tables hide other relations of their names.
    fn transition_tables(&mut self, definition: &TableDefinition, trigger: &TriggerDefinition) -> Result<()> {
        let columns = named_columns(definition.visible_columns());
        for name in trigger.old_table.iter().chain(&trigger.new_table) {
            let spool = self.compiler.code.new_spool()?;
            let query = self.compiler.binder.kept_query();
            self.compiler.code.add_kept(spool);
            let bound = BoundCommonTable { query, columns: columns.clone(), recursion: None };
            self.compiler.binder.common_tables.push(CommonTable::kept(name.clone(), bound)?);
        }
        Ok(())
    }

    /// A register that does not change gets the value of this expression.
    pub(super) fn note_copy(&mut self, register: Register, value: &Expr) {
        let Some(trigger) = &mut self.trigger else { return };
        let known = trigger.constants.iter().find(|(known, _)| *value == Expr::Register(*known));
        if let Some((_, value)) = known.cloned() {
            trigger.constants.push((register, value));
        }
    }

    /// The value of a condition, if it follows from the event alone.
    pub(super) fn decided(&self, condition: &Expr) -> Option<bool> {
        let constants = &self.trigger.as_ref()?.constants;
        let decided = |part: &Expr| self.decided(part);
        match condition {
            Expr::And(left, right) => match (decided(left), decided(right)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Expr::Or(left, right) => match (decided(left), decided(right)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            _ => {
                let mut known = condition.clone();
                replace(&mut known, &mut |part| {
                    let Expr::Register(register) = part else { return None };
                    let constant = constants.iter().find(|(known, _)| known == register);
                    constant.map(|(_, value)| Expr::Const(value.clone()))
                });
                let is_open = any(&known, &|part| match part {
                    Expr::Call { function, .. } => function.volatility() != Volatility::Immutable,
                    Expr::Register(_) | Expr::Column { .. } | Expr::Routine { .. } | Expr::Query { .. } => {
                        true
                    }
                    _ => false,
                });
                if is_open {
                    return None;
                }
                match evaluation::fold(known).ok()? {
                    Expr::Const(Value::Boolean(is_true)) => Some(is_true),
                    Expr::Const(Value::Null) => Some(false),
                    _ => None,
                }
            }
        }
    }

    /// RETURN of a trigger function.
    pub(super) fn returned_row(&mut self, value: &'a Fragment) -> Result<()> {
        let parsed = parse_expression(&value.text).map_err(|error| self.placed(error, value))?;
        let is_there = self.return_expression(&parsed, value)?;
        if let Some(verdict) = self.trigger.as_ref().and_then(|trigger| trigger.verdict) {
            self.compiler.code.evaluate(verdict, is_there);
        }
        self.compiler.code.push(Instruction::Return);
        Ok(())
    }

    /// Makes the new row that of this expression. Returns whether there is one.
    fn return_expression(&mut self, written: &ast::Expr, value: &'a Fragment) -> Result<Expr> {
        let is_there = |is_there: bool| Ok(Expr::Const(Value::Boolean(is_there)));
        match written {
            ast::Expr::Value(literal) if matches!(literal.value, ast::Value::Null) => is_there(false),
            ast::Expr::Nested(inner) => self.return_expression(inner, value),
            ast::Expr::Identifier(ident) => self.return_record(&fold(ident), value),
            ast::Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case("coalesce") => {
                let (arguments, _) = split_arguments(call_arguments(call), |_| not_a_record())?;
                for argument in arguments.into_iter().flatten() {
                    if self.is_foreign_row(argument) {
                        continue;
                    }
                    let result = self.return_expression(argument, value)?;
                    if result != Expr::Const(Value::Boolean(false)) {
                        return Ok(result);
                    }
                }
                is_there(false)
            }
            ast::Expr::Case { operand: None, conditions, else_result, .. } => {
                for when in conditions {
                    self.begin(value)?;
                    let condition = self.with_subqueries(&when.condition);
                    let condition = condition.map_err(|error| self.placed(error, value))?;
                    match self.decided(&condition.expr) {
                        Some(true) => return self.return_expression(&when.result, value),
                        Some(false) => {}
                        None => {
                            return self.unsupported(
                                Missing::ChangingRecords,
                                "RETURN of a CASE that depends on the rows is",
                                value.start,
                            );
                        }
                    }
                }
                match else_result {
                    Some(otherwise) => self.return_expression(otherwise, value),
                    None => is_there(false),
                }
            }
            ast::Expr::Tuple(fields) => self.return_fields(fields.iter(), value),
            ast::Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case("row") => {
                let (fields, _) = split_arguments(call_arguments(call), |_| not_a_record())?;
                self.return_fields(fields.into_iter().flatten(), value)
            }
            _ => self.return_scalar(value),
        }
    }

    /// A value that is no row: PostgreSQL refuses it, unless the result does not matter or it is NULL.
    fn return_scalar(&mut self, value: &'a Fragment) -> Result<Expr> {
        let bound = self.bind(value)?;
        if bound.class == Class::Null {
            return Ok(Expr::Const(Value::Boolean(false)));
        }
        let message = "cannot return non-composite value from function returning composite type";
        self.fail(sqlstate::DATATYPE_MISMATCH, message, value.start)
    }

    fn return_record(&mut self, name: &str, value: &'a Fragment) -> Result<Expr> {
        let Some(Found::Record(record)) = self.names().find(&[name.to_owned()]) else {
            return self.return_scalar(value);
        };
        let state = self.names().records[record].state.clone();
        let RecordState::Known(columns) = state else {
            return match state {
                RecordState::Unassigned => Ok(Expr::Const(Value::Boolean(false))),
                _ => self.unsupported(
                    Missing::ChangingRecords,
                    "RETURN of a record whose columns are not known is",
                    value.start,
                ),
            };
        };
        let Some(trigger) = &self.trigger else { return self.return_scalar(value) };
        let own = |(known, is_there): &(Columns, bool)| (*known == columns).then_some(*is_there);
        let (new, old) = (own(&trigger.new), own(&trigger.old));
        // An UPDATE has both rows, and the old one replaces the new one.
        let has_only_old = trigger.old.1 && !trigger.new.1;
        if new == Some(true) || (old == Some(true) && has_only_old) {
            return Ok(Expr::Const(Value::Boolean(true)));
        }
        // The row that the event does not have may have been assigned.
        let is_there = match old {
            Some(true) => Expr::Const(Value::Boolean(true)),
            _ => is_any(&columns),
        };
        if new.is_some() {
            return Ok(is_there);
        }
        let fields = columns
            .into_iter()
            .map(|(_, sql_type, register)| Bound::typed(Expr::Register(register), sql_type, Place::Unknown));
        self.become_row(fields.collect(), value)?;
        Ok(is_there)
    }

    /// Whether it is the row that the event does not have: NEW of a DELETE, OLD of an INSERT.
    fn is_foreign_row(&mut self, written: &ast::Expr) -> bool {
        let ast::Expr::Identifier(ident) = written else { return false };
        let Some(Found::Record(record)) = self.names().find(&[fold(ident)]) else { return false };
        let state = self.names().records[record].state.clone();
        let (RecordState::Known(columns), Some(trigger)) = (state, &self.trigger) else { return false };
        [&trigger.new, &trigger.old].into_iter().any(|(known, is_there)| *known == columns && !is_there)
    }

    fn return_fields<'f>(
        &mut self,
        fields: impl Iterator<Item = &'f ast::Expr>,
        value: &'a Fragment,
    ) -> Result<Expr> {
        let mut bound = Vec::new();
        for field in fields {
            self.begin(value)?;
            bound.push(self.with_subqueries(field).map_err(|error| self.placed(error, value))?);
        }
        self.become_row(bound, value)?;
        Ok(Expr::Const(Value::Boolean(true)))
    }

    /// Assigns these values to the new row.
    fn become_row(&mut self, fields: Vec<Bound>, value: &'a Fragment) -> Result<()> {
        let Some(trigger) = self.trigger.as_ref().filter(|trigger| trigger.verdict.is_some()) else {
            return Ok(());
        };
        let (new, _) = trigger.new.clone();
        if new.len() != fields.len() {
            let message = "returned row structure does not match the structure of the triggering table";
            let detail = format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                fields.len(),
                new.len()
            );
            let error = Error::input(sqlstate::DATATYPE_MISMATCH, message).with_detail(detail);
            return Err(self.placed(error, value));
        }
        let mut assigned = Vec::with_capacity(fields.len());
        for (field, (_, sql_type, register)) in fields.into_iter().zip(new) {
            assigned.push((register, self.converted(field, sql_type)?));
        }
        self.compiler.assign_all(assigned)
    }
}

/// Whether one of the columns is not NULL. A record to which no row was assigned has only NULLs.
fn is_any(columns: &Columns) -> Expr {
    let is_set = columns
        .iter()
        .map(|(.., register)| Expr::Not(Box::new(Expr::IsNull(Box::new(Expr::Register(*register))))));
    let any = is_set.reduce(|left, right| Expr::Or(Box::new(left), Box::new(right)));
    any.unwrap_or(Expr::Const(Value::Boolean(true)))
}

fn call_arguments(call: &ast::Function) -> &[ast::FunctionArg] {
    match &call.args {
        ast::FunctionArguments::List(list) => &list.args,
        _ => &[],
    }
}

fn not_a_record() -> Error {
    refused(Missing::ChangingRecords, "this value of a trigger function is")
}
