//! The functions of SQL that read the catalog.

use std::sync::Arc;

use hyades_types::definition::{RoutineDefinition, SequenceOwner};
use hyades_types::sequence::Sequence;
use hyades_types::system_catalog::Question;
use hyades_types::system_type::SystemType;
use hyades_types::value::Value;

use super::builtins;
use super::class::ClassKind;
use super::definitions;
use super::information_schema::measured;
use super::object_id;
use super::row::{int8, or_null, text, truth};
use super::snapshot::System;
use crate::settings::Shown;
use crate::statement::names::quoted;

impl System {
    /// The answer to a question that is not about an object with a number.
    fn answer_without_number(&self, question: Question, arguments: &[Value]) -> Option<Value> {
        Some(match (question, arguments) {
            (Question::Setting, [Value::Text(name)]) => {
                let is_meant = |shown: &&Shown| shown.name.eq_ignore_ascii_case(name);
                or_null(self.facts.settings.iter().find(is_meant), |shown| text(&shown.value))
            }
            (Question::SerialSequence, [Value::Text(table), Value::Text(column)]) => {
                or_null(self.serial_sequence(table, column), text)
            }
            (Question::TypesOfVector, [Value::Array(types)]) => {
                let oids = types.values.iter().filter_map(number_of);
                let names: Vec<String> = oids.map(|oid| self.format_type(oid, None)).collect();
                text(names.join(", "))
            }
            _ => return None,
        })
    }

    pub(super) fn answer_question(&self, question: Question, arguments: &[Value]) -> Value {
        if let Some(answer) = self.answer_without_number(question, arguments) {
            return answer;
        }
        let number = arguments.first().and_then(number_of);
        let Some(oid) = number else { return Value::Null };
        let routine = || self.routine(oid).map(|routine| &routine.definition);
        let shown = |show: &dyn Fn(&System, &RoutineDefinition) -> Option<String>| {
            or_null(routine().and_then(|definition| show(self, definition)), text)
        };
        if let Some(function) = builtins::by_oid(oid) {
            match question {
                Question::RoutineIsVisible => return truth(true),
                Question::RoutineResult => return text(function.shown_result(self)),
                Question::RoutineArguments | Question::RoutineIdentity => {
                    return text(function.shown_arguments(self));
                }
                _ => {}
            }
        }
        match question {
            Question::FormatType => text(self.format_type(oid, arguments.get(1))),
            Question::UserById => match self.role_name(oid) {
                Some(name) => text(name),
                None => text(format!("unknown (OID={oid})")),
            },
            Question::TableIsVisible => {
                or_null(self.class(oid), |class| truth(self.is_visible(class.schema, &class.name)))
            }
            Question::TypeIsVisible => or_null(self.type_is_found(oid), truth),
            Question::RoutineIsVisible => {
                or_null(routine(), |definition| truth(self.is_routine_visible(definition)))
            }
            Question::CollationIsVisible => truth(true),
            Question::IndexDefinition => self.index_text(oid, &arguments[1..]),
            Question::ViewDefinition => self.view_definition(oid, arguments.get(1)),
            Question::RuleDefinition => or_null(self.rule_text(oid, is_pretty(arguments)), text),
            Question::ConstraintDefinition => self.constraint_text(oid, is_pretty(arguments)),
            Question::TriggerDefinition => or_null(self.trigger_text(oid, is_pretty(arguments)), text),
            Question::RoutineSource => shown(&definitions::routine),
            Question::RoutineBody => shown(&definitions::standard_body),
            Question::RoutineResult => shown(&definitions::result),
            Question::RoutineArguments => {
                or_null(routine(), |definition| text(definitions::arguments(self, definition, true)))
            }
            Question::RoutineIdentity => {
                or_null(routine(), |definition| text(definitions::arguments(self, definition, false)))
            }
            Question::RoutineDefault => {
                let number = arguments.get(1).and_then(Value::as_i64).unwrap_or(0);
                let shown = |definition| definitions::argument_default(self, definition, number);
                or_null(routine().and_then(shown), text)
            }
            Question::Description => self.description(oid, arguments.get(1)),
            Question::Setting | Question::SerialSequence | Question::TypesOfVector => Value::Null,
            Question::SequenceLastValue => {
                let is_meant = |one: &&Arc<Sequence>| object_id::of_sequence(one.id) == oid;
                let state = self.facts.sequences.iter().find(is_meant).map(|sequence| sequence.state());
                or_null(state.filter(|state| state.is_called), |state| int8(state.value))
            }
            Question::Measure(measure) => {
                let modifier = arguments.get(1).and_then(Value::as_i64);
                let modifier = modifier.and_then(|modifier| i32::try_from(modifier).ok()).unwrap_or(-1);
                or_null(self.sql_type(oid, modifier), |sql_type| measured(measure, sql_type))
            }
            Question::IsPublishable => {
                truth(self.class(oid).is_some_and(|class| matches!(class.kind, ClassKind::Table(_))))
            }
        }
    }

    /// The name of the sequence that belongs to a column.
    fn serial_sequence(&self, table: &str, column: &str) -> Option<String> {
        let oid = self.find_object(SystemType::RegClass, table).ok()?;
        let table = self.facts.tables.iter().find(|table| table.id().0 == oid)?;
        let at = table.definition().column_index(column)?;
        let is_of_column =
            |owner: SequenceOwner| owner.table == table.id() && usize::from(owner.column) == at;
        let owned = |one: &&Arc<Sequence>| one.definition.owner.is_some_and(is_of_column);
        let name = &self.facts.sequences.iter().find(owned)?.definition.name;
        Some(format!("{}.{}", quoted(&name.schema), quoted(&name.name)))
    }

    /// The whole definition of an index, or one of its columns.
    fn index_text(&self, oid: u32, options: &[Value]) -> Value {
        let Some(ClassKind::Index(at, index)) = self.class(oid).map(|class| &class.kind) else {
            return Value::Null;
        };
        let table = &self.definitions[*at];
        let is_pretty = options.get(1).and_then(Value::as_bool) == Some(true);
        match options.first().and_then(Value::as_i64) {
            None | Some(0) => text(self.index_definition(table, index, !is_pretty)),
            Some(column) => {
                let columns = index.all_columns();
                let column = usize::try_from(column - 1).ok().and_then(|column| columns.get(column));
                text(column.map_or(String::new(), |column| self.indexed_name(table, *column, is_pretty)))
            }
        }
    }

    /// NULL for a relation that is not a view, as in PostgreSQL. A column number to wrap at means the
    /// pretty form.
    fn view_definition(&self, oid: u32, form: Option<&Value>) -> Value {
        let is_pretty = match form {
            Some(Value::Boolean(is_pretty)) => *is_pretty,
            form => form.is_some(),
        };
        match self.class(oid).map(|class| &class.kind) {
            Some(ClassKind::View(at) | ClassKind::Materialized(at)) => {
                or_null(self.view_text(*at, is_pretty), text)
            }
            _ => Value::Null,
        }
    }

    fn constraint_text(&self, oid: u32, is_pretty: bool) -> Value {
        let found = self.constraints().into_iter().find(|(_, own, _)| *own == oid);
        let Some((table, _, constraint)) = found else {
            return or_null(self.domain_constraint_definition(oid, is_pretty), text);
        };
        or_null(self.definition(table), |table| {
            text(self.constraint_definition(table, &constraint, is_pretty))
        })
    }
}

/// Whether the second argument asks for the pretty form.
fn is_pretty(arguments: &[Value]) -> bool {
    arguments.get(1).and_then(Value::as_bool) == Some(true)
}

fn number_of(value: &Value) -> Option<u32> {
    match value {
        Value::Oid(oid) => Some(*oid),
        Value::Reference(reference) => Some(reference.oid),
        _ => None,
    }
}
