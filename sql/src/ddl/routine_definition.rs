//! CREATE and DROP of procedures and functions.

use std::sync::Arc;

use hyades_engine::storage::catalog::{NewId, duplicate_routine};
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::definition::{
    CatalogChange, ParameterMode, Returns, RoutineDefinition, RoutineId, RoutineKind, RoutineParameter,
    RoutineTraits, TableId, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refusal};
use hyades_types::search_path::PUBLIC;
use hyades_types::system_type::SystemType;
use hyades_types::value::SqlType;
use hyades_types::value::composite::CompositeType;

use super::command::{CatalogStatement, SchemaCommand};
use super::dependents::Object;
use super::extensions::required_by_extension;
use super::schemas::no_schema;
use crate::answer::Output;
use crate::bind::polymorphic::check_results;
use crate::bind::visible_variables::IN_SQL;
use crate::bind::{Place, types};
use crate::emit::{Compiler, unsupported};
use crate::statement::query::{self, parse_expression};
use crate::statement::standard_body;
use crate::statement::{CreateRoutine, DropRoutine, QualifiedName, WrittenParameter, WrittenReturns};
use crate::viewpoint::Viewpoint;

/// PostgreSQL's limit.
const MOST_PARAMETERS: usize = 100;

impl Compiler<'_> {
    pub(crate) fn create_routine(&mut self, create: &CreateRoutine) -> Result<CatalogStatement> {
        let name = self.created_name(&create.name, None)?;
        let definition = self.routine_definition(create, name)?;
        match definition.language.as_str() {
            "plpgsql" | "sql" => {}
            "c" | "internal" => {
                return unsupported(Missing::Languages, &format!("LANGUAGE {} is", definition.language));
            }
            other => {
                let message = format!("language \"{other}\" does not exist");
                return Err(Error::input(sqlstate::UNDEFINED_OBJECT, message));
            }
        }
        if create.is_standard {
            check_standard(&definition)?;
        }
        let command = match create.kind {
            RoutineKind::Procedure => "CREATE PROCEDURE",
            RoutineKind::Function | RoutineKind::Aggregate => "CREATE FUNCTION",
        };
        let or_replace = create.or_replace;
        Ok(CatalogStatement::new(
            command,
            SchemaCommand::CreateRoutine {
                definition: Box::new(definition),
                body_offset: create.body_offset,
                or_replace,
            },
        ))
    }

    /// The path under which names in a body are looked up: that of the SET clause, or that of the user who
    /// creates the routine. A path without schemas counts as none: dumps of pg_dump are restored under it.
    fn path_of_body(&self, written: Option<&[String]>) -> Option<Vec<String>> {
        let path: Vec<String> = match written {
            Some(written) => written.to_vec(),
            None => self.binder.context.path.named().map(str::to_owned).collect(),
        };
        (path != [PUBLIC] && !path.is_empty()).then_some(path)
    }

    pub(crate) fn routine_definition(
        &mut self,
        create: &CreateRoutine,
        name: TableName,
    ) -> Result<RoutineDefinition> {
        let parameters = self.written_parameters(&create.parameters)?;
        let mut seen_default = false;
        let mut is_variadic = false;
        for (parameter, written) in parameters.iter().zip(&create.parameters) {
            check_variadic(parameter, is_variadic, create.kind)?;
            is_variadic |= parameter.mode == ParameterMode::Variadic;
            if parameter.mode == ParameterMode::Out {
                if seen_default && create.kind == RoutineKind::Procedure {
                    let message = "procedure OUT parameters cannot appear after one with a default value";
                    return invalid(message, 0);
                }
                if parameter.default.is_some() {
                    return invalid("only input parameters can have default values", written.position);
                }
                continue;
            }
            if seen_default && parameter.default.is_none() {
                let message = "input parameters after one with a default value must also have defaults";
                return invalid(message, written.position);
            }
            seen_default |= parameter.default.is_some();
        }
        let returns = self.written_returns(create, &parameters)?;
        check_names(&parameters, &returns, &create.language)?;
        let row_type = match (&returns, &create.returns) {
            (Returns::SetOfRow(_), WrittenReturns::Type { name, .. }) => {
                self.written_type(name)?.composite_type()
            }
            _ => None,
        };
        let is_created = |row_type: &CompositeType| row_type.relation().is_none();
        let traits = RoutineTraits {
            row_of: row_type.and_then(CompositeType::relation).map(TableId),
            row_type: row_type.filter(is_created).map(SqlType::Composite),
            sets_path: create.path.as_ref().is_some_and(|path| !path.is_empty()),
            ..create.traits.clone()
        };
        let definition = RoutineDefinition {
            name,
            kind: create.kind,
            parameters,
            returns,
            language: create.language.clone(),
            body: create.body.clone(),
            is_strict: create.is_strict,
            path: self.path_of_body(create.path.as_deref()),
            traits,
            uses: create.is_standard.then(Box::default),
            aggregate: None,
            cast: None,
            declared: None,
        };
        check_results(&definition)?;
        Ok(definition)
    }

    pub(crate) fn written_parameters(
        &mut self,
        written: &[WrittenParameter],
    ) -> Result<Vec<RoutineParameter>> {
        if written.len() > MOST_PARAMETERS {
            let message = format!("functions cannot have more than {MOST_PARAMETERS} arguments");
            return Err(Error::input(sqlstate::TOO_MANY_COLUMNS, message));
        }
        written.iter().map(|written| self.written_parameter(written)).collect()
    }

    fn written_parameter(&mut self, written: &WrittenParameter) -> Result<RoutineParameter> {
        let sql_type =
            self.written_type(&written.type_name).map_err(|error| placed(error, written.position))?;
        let mut kept = None;
        if let Some(default) = &written.default {
            let parsed = parse_expression(default).map_err(|error| placed(error, written.position))?;
            self.binder
                .refuse_queries(&parsed, "DEFAULT expression")
                .map_err(|error| placed(error, written.position))?;
            let (bound, meanings) = self.binder.noting(|binder| binder.default_value(&parsed, sql_type));
            let (coerced, from) = bound.map_err(|error| placed(error, written.position))?;
            kept = Some(self.binder.kept_default(default, &parsed, &meanings));
            if let Some(expr) = &coerced {
                let refused = self.binder.refuse_clock_literals(expr, Place::Unknown);
                refused.map_err(|error| placed(error, written.position))?;
            }
            if coerced.is_none() {
                let message =
                    format!("argument of DEFAULT must be type {}, not type {from}", sql_type.base_name());
                return Err(
                    Error::input(sqlstate::DATATYPE_MISMATCH, message).with_position(written.position)
                );
            }
        }
        Ok(RoutineParameter { name: written.name.clone(), sql_type, mode: written.mode, default: kept })
    }

    /// The name of a type, also `table.column%TYPE`. Lengths and precisions do not count in a signature.
    pub(super) fn written_type(&self, name: &str) -> Result<SqlType> {
        let Some((column, suffix)) = name.rsplit_once('%') else {
            let folded = name.trim().to_ascii_lowercase();
            let own = folded.strip_prefix("pg_catalog.").unwrap_or(&folded);
            if let Some(polymorphic) = SystemType::polymorphic(own) {
                return Ok(SqlType::System(polymorphic));
            }
            let stored =
                query::parse_type(name).and_then(|parsed| types::resolve_stored(&parsed, &self.binder))?;
            return Ok(stored.without_modifier());
        };
        let parts: Vec<String> = column.split('.').map(|part| part.trim().to_ascii_lowercase()).collect();
        let (table, column) = match parts.as_slice() {
            [table, column] => (self.binder.meant(None, table, Place::Unknown), column),
            [schema, table, column] => (self.binder.meant(Some(schema), table, Place::Unknown), column),
            _ => return unsupported(Missing::ParameterTypes, &format!("the type {name} is")),
        };
        if !suffix.trim().eq_ignore_ascii_case("type") {
            return Err(refusal(
                Missing::ParameterTypes,
                format!("the type {name} is not supported yet for a parameter"),
            ));
        }
        let Some(found) = self.binder.context.tables.table(&table) else {
            let message = format!("relation \"{}\" does not exist", table.name);
            return Err(Error::input(sqlstate::UNDEFINED_TABLE, message));
        };
        let definition = found.definition();
        match definition.visible_columns().iter().find(|known| known.name == *column) {
            Some(column) if column.domain.is_some() => {
                unsupported(Missing::DomainsElsewhere, &format!("the type {name}, which is a domain, is"))
            }
            Some(column) => Ok(column.sql_type.without_modifier()),
            None => {
                let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
                Err(Error::input(sqlstate::UNDEFINED_COLUMN, message))
            }
        }
    }

    fn written_returns(
        &mut self,
        create: &CreateRoutine,
        parameters: &[RoutineParameter],
    ) -> Result<Returns> {
        let outputs: Vec<&RoutineParameter> =
            parameters.iter().filter(|parameter| parameter.mode.is_output()).collect();
        if create.kind == RoutineKind::Procedure {
            return Ok(Returns::Nothing);
        }
        match &create.returns {
            WrittenReturns::Unsaid => match outputs.as_slice() {
                [] => invalid("function result type must be specified", 0),
                [only] => Ok(Returns::Value(only.sql_type)),
                _ => Ok(Returns::Record),
            },
            WrittenReturns::Table(columns) => {
                if !outputs.is_empty() {
                    return invalid("OUT and INOUT arguments aren't allowed in TABLE functions", 0);
                }
                let columns = self.written_parameters(columns)?;
                let named = |column: RoutineParameter| (column.name.unwrap_or_default(), column.sql_type);
                Ok(Returns::Table(columns.into_iter().map(named).collect()))
            }
            WrittenReturns::Type { name, is_set, position } => {
                let word = name.trim().to_ascii_lowercase();
                match (word.as_str(), is_set, outputs.as_slice()) {
                    ("void", false, []) => Ok(Returns::Nothing),
                    ("trigger", false, []) => Ok(Returns::Trigger),
                    ("event_trigger", ..) => unsupported(Missing::EventTriggers, "event triggers are"),
                    ("record", false, [_, _, ..]) => Ok(Returns::Record),
                    ("record", true, [_, _, ..]) => Ok(Returns::SetOfRecord),
                    ("record", _, [only]) => {
                        let message = format!(
                            "function result type must be {} because of OUT parameters",
                            only.sql_type.base_name()
                        );
                        invalid(&message, *position)
                    }
                    ("record", ..) => {
                        let what = "functions that return records of unknown columns are";
                        unsupported(Missing::RecordResults, what)
                    }
                    _ => {
                        let sql_type = self.written_type(name).map_err(|error| placed(error, *position))?;
                        match outputs.as_slice() {
                            [] => {}
                            [only] if only.sql_type.is_same_base(sql_type) => {}
                            [only] => {
                                let message = format!(
                                    "function result type must be {} because of OUT parameters",
                                    only.sql_type.base_name()
                                );
                                return invalid(&message, *position);
                            }
                            _ => {
                                let message = "function result type must be record because of OUT parameters";
                                return invalid(message, *position);
                            }
                        }
                        Ok(returned(sql_type, *is_set, outputs.is_empty()))
                    }
                }
            }
        }
    }

    pub(crate) fn drop_routine(&mut self, drop: &DropRoutine) -> Result<CatalogStatement> {
        let mut names = Vec::with_capacity(drop.names.len());
        for (name, arguments) in &drop.names {
            names.push((name.clone(), self.signature(arguments.as_deref())?));
        }
        let command = match drop.kind {
            Some(RoutineKind::Procedure) => "DROP PROCEDURE",
            Some(RoutineKind::Function) => "DROP FUNCTION",
            Some(RoutineKind::Aggregate) => "DROP AGGREGATE",
            None => "DROP ROUTINE",
        };
        let (kind, if_exists) = (drop.kind, drop.if_exists);
        Ok(CatalogStatement::new(
            command,
            SchemaCommand::DropRoutine { kind, if_exists, names, cascades: drop.cascades },
        ))
    }

    /// The types of the inputs, if given. They distinguish a routine from others of its name.
    pub(super) fn signature(&self, arguments: Option<&[WrittenParameter]>) -> Result<Option<Vec<SqlType>>> {
        let Some(written) = arguments else { return Ok(None) };
        let inputs = written.iter().filter(|written| written.mode.is_input());
        inputs.map(|written| self.written_type(&written.type_name)).collect::<Result<_>>().map(Some)
    }
}

/// Checks what a body in standard SQL needs.
fn check_standard(definition: &RoutineDefinition) -> Result<()> {
    if definition.language != IN_SQL {
        return Err(standard_body::invalid("inline SQL function body only valid for language SQL"));
    }
    if definition.parameters.iter().any(|parameter| parameter.sql_type.is_polymorphic()) {
        let message = "SQL function with unquoted function body cannot have polymorphic arguments";
        return Err(standard_body::invalid(message));
    }
    Ok(())
}

/// Refuses a name that two parameters have. In SQL one may be an input and the other an output.
fn check_names(parameters: &[RoutineParameter], returns: &Returns, language: &str) -> Result<()> {
    let columns: &[(String, SqlType)] = match returns {
        Returns::Table(columns) => columns,
        _ => &[],
    };
    let named = parameters.iter().filter_map(|own| Some((own.name.as_deref()?, own.mode)));
    let columns = columns.iter().map(|(name, _)| (name.as_str(), ParameterMode::Out));
    let mut known: Vec<(&str, ParameterMode)> = Vec::new();
    for (name, mode) in named.chain(columns) {
        let clashes = |other: ParameterMode| {
            let is_both = mode.is_input() && other.is_input() || mode.is_output() && other.is_output();
            is_both || language == "plpgsql"
        };
        if known.iter().any(|(own, other)| *own == name && clashes(*other)) {
            return invalid(&format!("parameter name \"{name}\" used more than once"), 0);
        }
        known.push((name, mode));
    }
    Ok(())
}

/// Checks a parameter, and whether it may follow a VARIADIC one.
pub(super) fn check_variadic(
    parameter: &RoutineParameter,
    follows_one: bool,
    kind: RoutineKind,
) -> Result<()> {
    let is_array = match parameter.sql_type.polymorphic() {
        Some(kind) => kind.is_array(),
        None => matches!(parameter.sql_type, SqlType::Array(_)),
    };
    match parameter.mode {
        ParameterMode::Out if follows_one && kind == RoutineKind::Procedure => {
            invalid("VARIADIC parameter must be the last parameter", 0)
        }
        ParameterMode::Out => Ok(()),
        _ if follows_one => invalid("VARIADIC parameter must be the last input parameter", 0),
        ParameterMode::Variadic if !is_array => invalid("VARIADIC parameter must be an array", 0),
        _ => Ok(()),
    }
}

/// What a function of this type returns. The rows of a set are taken apart, unless a parameter is the result.
fn returned(sql_type: SqlType, is_set: bool, has_no_outputs: bool) -> Returns {
    match sql_type {
        SqlType::Composite(row_type) if is_set && has_no_outputs => Returns::SetOfRow(row_type.columns()),
        _ if is_set => Returns::SetOf(sql_type),
        _ => Returns::Value(sql_type),
    }
}

fn invalid<T>(message: &str, position: u32) -> Result<T> {
    let error = Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message);
    Err(if position > 0 { error.with_position(position) } else { error })
}

fn placed(error: Error, position: u32) -> Error {
    error.with_position(position)
}

/// The functions of an extension are dropped with it.
fn refuse_member(routine: &Routine) -> Result<()> {
    let Some(extension) = &routine.definition.traits.extension else { return Ok(()) };
    let signature = routine.definition.signature().replace(", ", ",");
    Err(required_by_extension(&format!("function {signature}"), extension))
}

/// Whether a statement about routines of a kind may mean this one: FUNCTION also says aggregate.
fn is_of_kind(definition: &RoutineDefinition, kind: RoutineKind) -> bool {
    let is_aggregate = definition.kind == RoutineKind::Aggregate && kind == RoutineKind::Function;
    definition.kind == kind || is_aggregate
}

/// A routine that does not exist.
pub(super) struct MissingRoutine {
    word: &'static str,
    name: String,
    /// The types of its arguments, if they are given.
    types: Option<Vec<&'static str>>,
}

impl MissingRoutine {
    fn shown(&self) -> String {
        let types = match self.types.as_deref() {
            Some([]) if self.word == RoutineKind::Aggregate.word() => "*".to_owned(),
            types => types.map_or(String::new(), |types| types.join(", ")),
        };
        format!("{} {}({types})", self.word, self.name)
    }

    pub(super) fn error(&self) -> Error {
        let message = match self.types {
            Some(_) => format!("{} does not exist", self.shown()),
            None => format!("could not find a {} named \"{}\"", self.word, self.name),
        };
        Error::input(sqlstate::UNDEFINED_FUNCTION, message)
    }
}

impl Viewpoint {
    /// The changes of CREATE for a routine.
    pub(super) fn created_routine(
        &mut self,
        definition: &RoutineDefinition,
        or_replace: bool,
    ) -> Result<Vec<CatalogChange>> {
        let known = self.worker.routines_named(&definition.name);
        let existing = known.iter().find(|routine| routine.definition.is_same_routine(definition));
        if let Some(existing) = existing {
            let old = &existing.definition;
            if !or_replace {
                return Err(duplicate_routine(definition));
            }
            if old.kind != definition.kind {
                return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, "cannot change routine kind")
                    .with_detail(match old.kind {
                        RoutineKind::Aggregate => format!("\"{}\" is an aggregate function.", old.name.name),
                        kind => format!("\"{}\" is a {}.", old.name.name, kind.word()),
                    }));
            }
            if old.returns != definition.returns {
                let message = "cannot change return type of existing function";
                return Err(Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message).with_hint(
                    format!(
                        "Use DROP {} {} first.",
                        old.kind.word().to_ascii_uppercase(),
                        old.signature().replace(", ", ",")
                    ),
                ));
            }
            let renamed = old
                .inputs()
                .zip(definition.inputs())
                .find_map(|(old, new)| old.name.as_ref().filter(|name| new.name.as_ref() != Some(name)));
            if let Some(name) = renamed {
                let word = old.kind.word().to_ascii_uppercase();
                let message = format!("cannot change name of input parameter \"{name}\"");
                return Err(Error::input(sqlstate::INVALID_PARAMETER_DEFINITION, message)
                    .with_hint(format!("Use DROP {word} {} first.", old.signature().replace(", ", ","))));
            }
        }
        let replaces = existing.map(|existing| existing.id);
        let id = RoutineId(self.worker.new_id(NewId::Object));
        Ok(vec![CatalogChange::CreateRoutine { id, definition: definition.clone(), replaces }])
    }

    /// The routines of this name along the search path, without those that earlier schemas hide.
    fn routines_meant(&self, name: &QualifiedName) -> Vec<Arc<Routine>> {
        let path = self.search_path();
        let schemas: Vec<&str> = match &name.schema {
            Some(schema) => vec![path.schema(schema)],
            None => path.searched_for_routines().collect(),
        };
        let mut known: Vec<Arc<Routine>> = Vec::new();
        for schema in schemas {
            let name = TableName { schema: schema.to_owned(), name: name.name.clone() };
            for routine in self.worker.routines_named(&name) {
                if !known.iter().any(|other| other.definition.identity() == routine.definition.identity()) {
                    known.push(routine);
                }
            }
        }
        known
    }

    /// The only routine that a statement can mean. The inner error is for one that does not exist.
    pub(super) fn find_routine(
        &self,
        (kind, types): (Option<RoutineKind>, Option<&[SqlType]>),
        name: &QualifiedName,
    ) -> Result<std::result::Result<Arc<Routine>, MissingRoutine>> {
        let word = kind.map_or("routine", RoutineKind::word);
        let known = self.routines_meant(name);
        let fitting: Vec<&Arc<Routine>> = known
            .iter()
            .filter(|routine| match types {
                Some(types) => routine.definition.identity() == *types,
                None => kind.is_none_or(|kind| is_of_kind(&routine.definition, kind)),
            })
            .collect();
        match fitting.as_slice() {
            [only] if kind.is_some_and(|kind| !is_of_kind(&only.definition, kind)) => {
                let signature = only.definition.signature();
                let message = match kind {
                    Some(RoutineKind::Aggregate) => format!("function {signature} is not an aggregate"),
                    _ => format!("{signature} is not a {word}"),
                };
                Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message))
            }
            [only] => Ok(Ok(Arc::clone(only))),
            [] => {
                let name = name.shown();
                let types = types.map(|types| types.iter().map(|one| one.base_name()).collect());
                Ok(Err(MissingRoutine { word, name, types }))
            }
            _ => {
                let message = format!("{word} name \"{}\" is not unique", name.shown());
                Err(Error::input(sqlstate::AMBIGUOUS_FUNCTION, message)
                    .with_hint(format!("Specify the argument list to select the {word} unambiguously.")))
            }
        }
    }

    /// The changes of DROP for routines.
    pub(super) fn dropped_routines(
        &mut self,
        (kind, if_exists): (Option<RoutineKind>, bool),
        names: &[(QualifiedName, Option<Vec<SqlType>>)],
        cascades: bool,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut dropped: Vec<Arc<Routine>> = Vec::with_capacity(names.len());
        for (name, types) in names {
            if let Some(schema) = name.schema.as_deref().filter(|schema| !self.has_schema(schema)) {
                if !if_exists {
                    return Err(no_schema(schema));
                }
                self.note(output, "00000", format!("schema \"{schema}\" does not exist, skipping"));
                continue;
            }
            match self.find_routine((kind, types.as_deref()), name)? {
                Ok(routine) => {
                    if kind == Some(RoutineKind::Function) && routine.definition.aggregate.is_some() {
                        let message = format!("\"{}\" is an aggregate function", name.shown());
                        return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                            .with_hint("Use DROP AGGREGATE to drop aggregate functions."));
                    }
                    refuse_member(&routine)?;
                    dropped.push(routine);
                }
                Err(missing) if if_exists => {
                    self.note(output, "00000", format!("{} does not exist, skipping", missing.shown()));
                }
                Err(missing) => return Err(missing.error()),
            }
        }
        let dropped: Vec<Object> = dropped.into_iter().map(Object::Routine).collect();
        self.dropped_objects(&dropped, cascades, output)
    }
}
