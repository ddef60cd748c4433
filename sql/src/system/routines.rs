//! Procedures and functions: `pg_proc`.

use hyades_engine::storage::stored_routine::Routine;
use hyades_types::access::ObjectKind;
use hyades_types::definition::{
    DeclaredParallel, DeclaredVolatility, ParameterMode, Returns, RoutineDefinition, RoutineId, RoutineKind,
    SupportFunction,
};
use hyades_types::identifier::quoted_identifier;
use hyades_types::system_type::{Polymorphic, SystemType};
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{SqlType, Value};

use super::row::{NamedRow, int2, int4, letters, oid, oids, or_null, text, texts, truth};
use super::snapshot::System;
use super::{builtins, definitions, object_id};

/// The pseudo-types of results.
const VOID: u32 = 2278;
const TRIGGER: u32 = 2279;
const RECORD: u32 = 2249;

/// The number of a call's result type.
pub(super) fn result_type(definition: &RoutineDefinition) -> u32 {
    let mut outputs = definition.parameters.iter().filter(|parameter| parameter.mode.is_output());
    let single = match (outputs.next(), outputs.next()) {
        (Some(only), None) => only.sql_type.oid(),
        _ => RECORD,
    };
    match &definition.returns {
        Returns::Nothing if definition.kind == RoutineKind::Procedure => {
            if definition.parameters.iter().any(|parameter| parameter.mode.is_output()) {
                RECORD
            } else {
                VOID
            }
        }
        Returns::Nothing => VOID,
        Returns::Trigger => TRIGGER,
        Returns::Value(sql_type) | Returns::SetOf(sql_type) => sql_type.oid(),
        Returns::Table(columns) => match columns.as_slice() {
            [(_, sql_type)] => sql_type.oid(),
            _ => RECORD,
        },
        Returns::SetOfRow(_) => {
            let of_relation = definition.traits.row_of.map(|table| CompositeType::number_of_rows(table.0));
            let named = of_relation.or_else(|| definition.traits.row_type.map(|row_type| row_type.oid()));
            named.unwrap_or(RECORD)
        }
        Returns::Record | Returns::SetOfRecord => single,
    }
}

/// The values of `proallargtypes`, `proargmodes` and `proargnames`.
struct Arguments {
    types: Vec<SqlType>,
    modes: Vec<&'static str>,
    names: Vec<String>,
}

fn all_arguments(definition: &RoutineDefinition) -> Arguments {
    let mut all = Arguments { types: Vec::new(), modes: Vec::new(), names: Vec::new() };
    for parameter in &definition.parameters {
        all.types.push(parameter.sql_type);
        all.modes.push(match parameter.mode {
            ParameterMode::In => "i",
            ParameterMode::Out => "o",
            ParameterMode::InOut => "b",
            ParameterMode::Variadic => "v",
        });
        all.names.push(parameter.name.clone().unwrap_or_default());
    }
    if let Returns::Table(columns) = &definition.returns {
        for (name, sql_type) in columns {
            all.types.push(*sql_type);
            all.modes.push("t");
            all.names.push(name.clone());
        }
    }
    all
}

/// `pg_proc`
pub(super) fn routines(system: &System) -> Vec<NamedRow> {
    let mut rows = builtins::functions();
    let routines = &system.facts.routines;
    rows.extend(routines.iter().map(|routine| routine_row(system, routine.id, &routine.definition)));
    rows
}

fn routine_row(system: &System, id: RoutineId, definition: &RoutineDefinition) -> NamedRow {
    let all = all_arguments(definition);
    let has_modes = all.modes.iter().any(|mode| *mode != "i");
    let has_names = all.names.iter().any(|name| !name.is_empty());
    let is_set = definition.returns.is_set();
    let defaults = definition.inputs().filter(|parameter| parameter.default.is_some());
    let language = match definition.language.as_str() {
        "plpgsql" => object_id::PLPGSQL,
        "internal" => object_id::INTERNAL,
        _ => object_id::SQL,
    };
    let traits = &definition.traits;
    let rows = if is_set { traits.rows.unwrap_or(definitions::USUAL_ROWS) } else { 0.0 };
    vec![
        ("oid", oid(object_id::of_routine(id))),
        ("proname", text(&definition.name.name)),
        ("pronamespace", oid(system.schema_oid(&definition.name.schema))),
        ("proowner", oid(system.owner_of(id.0))),
        ("prolang", oid(language)),
        ("procost", Value::Real(traits.cost.unwrap_or(definitions::USUAL_COST))),
        ("prorows", Value::Real(rows)),
        ("provariadic", oid(variadic_element(definition))),
        ("prokind", text(kind_letter(definition.kind))),
        ("proleakproof", truth(traits.is_leakproof)),
        ("proisstrict", truth(definition.is_strict)),
        ("proretset", truth(is_set)),
        (
            "provolatile",
            text(match traits.volatility {
                DeclaredVolatility::Volatile => "v",
                DeclaredVolatility::Stable => "s",
                DeclaredVolatility::Immutable => "i",
            }),
        ),
        (
            "proparallel",
            text(match traits.parallel {
                DeclaredParallel::Unsafe => "u",
                DeclaredParallel::Restricted => "r",
                DeclaredParallel::Safe => "s",
            }),
        ),
        ("pronargs", int2(definition.inputs().count())),
        ("pronargdefaults", int2(defaults.count())),
        ("prorettype", oid(result_type(definition))),
        ("proargtypes", oids(definition.inputs().map(|parameter| parameter.sql_type.oid()))),
        (
            "proallargtypes",
            or_null(has_modes.then_some(&all.types), |types| {
                oids(types.iter().map(|sql_type| sql_type.oid()))
            }),
        ),
        ("proargmodes", or_null(has_modes.then_some(all.modes), letters)),
        ("proargnames", or_null(has_names.then_some(all.names), texts)),
        ("prosrc", text(source_of(definition))),
        ("prosqlbody", or_null(definition.uses.as_ref().map(|_| &definition.body), text)),
        ("proconfig", or_null(path_shown(definition), |path| texts([path]))),
        ("proacl", system.access_list(id.0, ObjectKind::Routine)),
    ]
}

/// `prosrc`
pub(super) fn source_of(definition: &RoutineDefinition) -> &str {
    match (&definition.aggregate, &definition.uses) {
        (Some(_), _) => "aggregate_dummy",
        (None, Some(_)) => "",
        (None, None) => &definition.body,
    }
}

/// `prokind`
fn kind_letter(kind: RoutineKind) -> &'static str {
    match kind {
        RoutineKind::Function => "f",
        RoutineKind::Procedure => "p",
        RoutineKind::Aggregate => "a",
    }
}

/// `provariadic`
fn variadic_element(definition: &RoutineDefinition) -> u32 {
    let mut parameters = definition.parameters.iter();
    let variadic = parameters.find(|parameter| parameter.mode == ParameterMode::Variadic);
    variadic.map_or(0, |parameter| match (parameter.sql_type, parameter.sql_type.polymorphic()) {
        (_, Some(Polymorphic::CompatibleArray)) => SystemType::Polymorphic(Polymorphic::Compatible).oid(),
        (_, Some(_)) => SystemType::Polymorphic(Polymorphic::Element).oid(),
        (array, None) => array.element().map_or(0, |element| element.sql_type().oid()),
    })
}

/// SET search_path, in the form of `proconfig`.
fn path_shown(definition: &RoutineDefinition) -> Option<String> {
    let path = definitions::path_of(definition);
    let names: Vec<String> = path.iter().map(|schema| quoted_identifier(schema).to_string()).collect();
    definition.traits.sets_path.then(|| format!("search_path={}", names.join(", ")))
}

/// `pg_aggregate`
pub(super) fn aggregates(system: &System) -> Vec<NamedRow> {
    let mut rows = builtins::aggregates(system);
    rows.extend(system.facts.routines.iter().filter_map(|routine| aggregate_row(system, routine)));
    rows
}

/// The row of `pg_aggregate`, if it is an aggregate.
fn aggregate_row(system: &System, routine: &Routine) -> Option<NamedRow> {
    let aggregate = routine.definition.aggregate.as_ref()?;
    let reference = |number: u32| {
        let shown = system.shown_object(SystemType::RegProc, number);
        Value::reference(SystemType::RegProc, number, shown)
    };
    let function =
        |own: Option<&SupportFunction>| reference(own.map_or(0, |own| builtins::number_of(system, own)));
    let steps = &aggregate.steps;
    let moving = aggregate.moving.as_deref();
    let moving_steps = moving.map(|(steps, _)| steps);
    let first = routine.definition.inputs().next().map_or(0, |input| input.sql_type.oid());
    let sort_operator = aggregate.sort_operator.as_deref();
    Some(vec![
        ("aggfnoid", reference(object_id::of_routine(routine.id))),
        ("aggkind", text("n")),
        ("aggnumdirectargs", int2(0)),
        ("aggtransfn", function(Some(&steps.transition))),
        ("aggfinalfn", function(steps.last.as_ref())),
        ("aggcombinefn", reference(0)),
        ("aggserialfn", reference(0)),
        ("aggdeserialfn", reference(0)),
        ("aggmtransfn", function(moving_steps.map(|own| &own.transition))),
        ("aggminvtransfn", function(moving.map(|(_, inverse)| inverse))),
        ("aggmfinalfn", function(moving_steps.and_then(|own| own.last.as_ref()))),
        ("aggfinalextra", truth(steps.last_takes_arguments)),
        ("aggmfinalextra", truth(moving_steps.is_some_and(|own| own.last_takes_arguments))),
        ("aggfinalmodify", text("r")),
        ("aggmfinalmodify", text("r")),
        ("aggsortop", oid(sort_operator.map_or(0, |name| builtins::operator_on(name, first)))),
        ("aggtranstype", oid(steps.state.oid())),
        ("aggtransspace", int4(0)),
        ("aggmtranstype", oid(moving_steps.map_or(0, |own| own.state.oid()))),
        ("aggmtransspace", int4(0)),
        ("agginitval", or_null(steps.initial.as_deref(), text)),
        ("aggminitval", or_null(moving_steps.and_then(|own| own.initial.as_deref()), text)),
    ])
}
