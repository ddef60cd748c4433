//! Triggers: `pg_trigger`, `pg_get_triggerdef`, and the views of `information_schema` about them.
//!
//! Reference: pg_get_triggerdef_worker of PostgreSQL's ruleutils.c, information_schema.sql.

use std::sync::Arc;

use hyades_engine::storage::stored_routine::Routine;
use hyades_types::access::ObjectKind;
use hyades_types::definition::{
    Deferral, RoutineKind, TableDefinition, TableName, TriggerDefinition, TriggerEvent, TriggerFiring,
    TriggerTiming,
};
use hyades_types::system_type::SystemType;
use hyades_types::value::Value;

use super::names::quoted;
use super::object_id::{self, Part};
use super::row::{NamedRow, column_numbers, int2, int4, oid, or_null, text, truth};
use super::snapshot::System;
use super::visibility::{self, Audience, Entry};
use crate::statement::kept_names::full_name;

/// The number and the definition of a relation, and a trigger of it.
type Triggered<'a> = (u32, &'a TableDefinition, &'a TriggerDefinition);

/// The bits of `tgtype`.
const ROW: i16 = 1;
const BEFORE: i16 = 1 << 1;
const INSTEAD: i16 = 1 << 6;

/// The events in the order in which they are shown.
const EVENTS: [(TriggerEvent, i16); 4] = [
    (TriggerEvent::Insert, 1 << 2),
    (TriggerEvent::Delete, 1 << 3),
    (TriggerEvent::Update, 1 << 4),
    (TriggerEvent::Truncate, 1 << 5),
];

fn type_bits(trigger: &TriggerDefinition) -> i16 {
    let events = EVENTS.iter().filter(|(event, _)| trigger.events.contains(event));
    let timing = match trigger.timing {
        TriggerTiming::Before => BEFORE,
        TriggerTiming::After => 0,
        TriggerTiming::InsteadOf => INSTEAD,
    };
    events.fold(timing | if trigger.is_for_rows { ROW } else { 0 }, |bits, (_, bit)| bits | bit)
}

/// The arguments as the catalog keeps them: each with a zero byte after it.
fn argument_bytes(trigger: &TriggerDefinition) -> Value {
    let mut bytes = Vec::new();
    for argument in &trigger.arguments {
        bytes.extend_from_slice(argument.as_bytes());
        bytes.push(0);
    }
    Value::Bytea(bytes.into())
}

/// A text in quotes, with each of them doubled. A backslash stands for itself.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `pg_trigger`
pub(super) fn triggers(system: &System) -> Vec<NamedRow> {
    let all = system.triggers().into_iter();
    all.map(|(table, definition, trigger)| {
        let deferral = trigger.constraint.unwrap_or_default();
        let name = |name: &Option<String>| or_null(name.as_ref(), text);
        vec![
            ("oid", oid(object_id::of_part(table, Part::Trigger, &trigger.name))),
            ("tgrelid", oid(table)),
            ("tgname", text(&trigger.name)),
            ("tgfoid", oid(system.trigger_function(&trigger.function))),
            ("tgtype", Value::SmallInt(type_bits(trigger))),
            (
                "tgenabled",
                text(match trigger.firing {
                    TriggerFiring::Origin => "O",
                    TriggerFiring::Never => "D",
                    TriggerFiring::Replica => "R",
                    TriggerFiring::Always => "A",
                }),
            ),
            ("tgconstrrelid", oid(trigger.referenced.map_or(0, |table| table.0))),
            (
                "tgconstraint",
                oid(trigger
                    .constraint
                    .map_or(0, |_| object_id::of_part(table, Part::Constraint, &trigger.name))),
            ),
            ("tgdeferrable", truth(deferral != Deferral::Never)),
            ("tginitdeferred", truth(deferral == Deferral::InitiallyDeferred)),
            ("tgnargs", int2(trigger.arguments.len())),
            ("tgattr", column_numbers(definition, &trigger.columns)),
            ("tgargs", argument_bytes(trigger)),
            ("tgqual", or_null(trigger.condition.as_ref(), |own| text(system.unqualified(&own.shown)))),
            ("tgoldtable", name(&trigger.old_table)),
            ("tgnewtable", name(&trigger.new_table)),
        ]
    })
    .collect()
}

impl System {
    /// The triggers of all relations, with the number and the definition of the relation.
    fn triggers(&self) -> Vec<Triggered<'_>> {
        fn of_table(
            (table, definition): (u32, &Arc<TableDefinition>),
        ) -> impl Iterator<Item = Triggered<'_>> {
            let definition: &TableDefinition = definition;
            definition.triggers.iter().map(move |trigger| (table, definition, trigger))
        }
        self.tables().flat_map(of_table).collect()
    }

    fn trigger_function(&self, name: &TableName) -> u32 {
        let is_meant = |one: &&Arc<Routine>| {
            let definition = &one.definition;
            definition.name == *name
                && definition.kind == RoutineKind::Function
                && definition.parameters.is_empty()
        };
        self.facts.routines.iter().find(is_meant).map_or(0, |one| object_id::of_routine(one.id))
    }

    /// `pg_get_triggerdef`
    pub(super) fn trigger_text(&self, oid: u32, is_pretty: bool) -> Option<String> {
        let mut all = self.triggers().into_iter();
        let is_meant = |(table, _, trigger): &Triggered<'_>| {
            object_id::of_part(*table, Part::Trigger, &trigger.name) == oid
        };
        let (own, definition, trigger) = all.find(is_meant)?;
        let relation = |table: u32| self.shown_object(SystemType::RegClass, table).to_string();
        let kind = if trigger.constraint.is_some() { "CONSTRAINT " } else { "" };
        let mut shown = format!("CREATE {kind}TRIGGER {} {}", quoted(&trigger.name), trigger.timing.words());
        let mut between = " ";
        for (event, _) in EVENTS.iter().filter(|(event, _)| trigger.events.contains(event)) {
            shown.push_str(between);
            shown.push_str(event.word());
            between = " OR ";
            if *event == TriggerEvent::Update && !trigger.columns.is_empty() {
                let name = |column: &u16| quoted(&definition.columns[usize::from(*column)].name);
                let names: Vec<String> = trigger.columns.iter().map(name).collect();
                shown.push_str(&format!(" OF {}", names.join(", ")));
            }
        }
        let table = match is_pretty {
            true => relation(own),
            false => full_name(&definition.name),
        };
        shown.push_str(&format!(" ON {table} "));
        if let Some(deferral) = trigger.constraint {
            if let Some(referenced) = trigger.referenced {
                shown.push_str(&format!("FROM {} ", relation(referenced.0)));
            }
            shown.push_str(match deferral {
                Deferral::Never => "NOT DEFERRABLE INITIALLY IMMEDIATE ",
                Deferral::InitiallyImmediate => "DEFERRABLE INITIALLY IMMEDIATE ",
                Deferral::InitiallyDeferred => "DEFERRABLE INITIALLY DEFERRED ",
            });
        }
        if trigger.has_transition_tables() {
            shown.push_str("REFERENCING ");
        }
        for (words, name) in [("OLD TABLE AS", &trigger.old_table), ("NEW TABLE AS", &trigger.new_table)] {
            if let Some(name) = name {
                shown.push_str(&format!("{words} {} ", quoted(name)));
            }
        }
        shown.push_str(if trigger.is_for_rows { "FOR EACH ROW " } else { "FOR EACH STATEMENT " });
        if let Some(condition) = &trigger.condition {
            let condition = self.condition_text(&condition.shown, &condition.pretty, is_pretty);
            shown.push_str(&format!("WHEN ({condition}) "));
        }
        shown.push_str(&self.trigger_action(trigger));
        Some(shown)
    }

    /// `EXECUTE FUNCTION name(...)`
    fn trigger_action(&self, trigger: &TriggerDefinition) -> String {
        let arguments: Vec<String> = trigger.arguments.iter().map(|own| literal(own)).collect();
        let function = self.trigger_function(&trigger.function);
        let name = match self.routine(function) {
            Some(routine) => self.shown_routine(&routine.definition),
            None => full_name(&trigger.function),
        };
        format!("EXECUTE FUNCTION {name}({})", arguments.join(", "))
    }

    /// The place of a trigger among those that run on the same occasion, from 1.
    fn trigger_order(
        definition: &TableDefinition,
        trigger: &TriggerDefinition,
        event: TriggerEvent,
    ) -> usize {
        let is_same = |other: &&TriggerDefinition| {
            other.events.contains(&event)
                && (other.timing, other.is_for_rows) == (trigger.timing, trigger.is_for_rows)
                && other.name <= trigger.name
        };
        definition.triggers.iter().filter(is_same).count()
    }
}

fn named(system: &System, definition: &TableDefinition, trigger: &TriggerDefinition) -> NamedRow {
    vec![
        ("trigger_catalog", text(&system.facts.database)),
        ("trigger_schema", text(&definition.name.schema)),
        ("trigger_name", text(&trigger.name)),
    ]
}

fn object(system: &System, definition: &TableDefinition) -> NamedRow {
    vec![
        ("event_object_catalog", text(&system.facts.database)),
        ("event_object_schema", text(&definition.name.schema)),
        ("event_object_table", text(&definition.name.name)),
    ]
}

/// `information_schema.triggers`: a row for each event. TRUNCATE is not in the standard.
pub(super) fn in_standard(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for (table, definition, trigger) in system.triggers() {
        for (event, _) in EVENTS.iter().filter(|(event, _)| trigger.events.contains(event)) {
            if *event == TriggerEvent::Truncate {
                continue;
            }
            let shown = |shown: &str| text(shown);
            let condition = trigger.condition.as_ref().map(|own| system.unqualified(&own.shown));
            let mut row = named(system, definition, trigger);
            row.push(("event_manipulation", shown(event.word())));
            row.extend(object(system, definition));
            row.extend([
                ("action_order", int4(System::trigger_order(definition, trigger, *event))),
                ("action_condition", or_null(condition, text)),
                ("action_statement", text(system.trigger_action(trigger))),
                ("action_orientation", shown(if trigger.is_for_rows { "ROW" } else { "STATEMENT" })),
                ("action_timing", shown(trigger.timing.words())),
                ("action_reference_old_table", or_null(trigger.old_table.as_ref(), text)),
                ("action_reference_new_table", or_null(trigger.new_table.as_ref(), text)),
            ]);
            rows.push((audience(table), row));
        }
    }
    rows
}

/// `information_schema.triggered_update_columns`
pub(super) fn update_columns(system: &System) -> Vec<Entry> {
    let mut rows = Vec::new();
    for (table, definition, trigger) in system.triggers() {
        for column in &trigger.columns {
            let mut row = named(system, definition, trigger);
            row.extend(object(system, definition));
            row.push(("event_object_column", text(&definition.columns[usize::from(*column)].name)));
            rows.push((audience(table), row));
        }
    }
    rows
}

fn audience(table: u32) -> Audience {
    Audience::Holders(table, ObjectKind::Relation, visibility::of_changes())
}
