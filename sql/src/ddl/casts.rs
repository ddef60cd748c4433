//! CREATE and DROP CAST.
//!
//! A cast is a routine without a body. What it does is `bind::user_cast`.
//!
//! Reference: CreateCast of PostgreSQL's functioncmds.c.

use std::sync::Arc;

use hyades_engine::procedure::ir::Expr;
use hyades_engine::storage::catalog::{NewId, duplicate_cast};
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::cast::CastContext;
use hyades_types::definition::{
    CastDefinition, CastMethod, CatalogChange, Returns, RoutineDefinition, RoutineId, RoutineKind,
    SupportFunction, TableName,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::system_type::SystemType;
use hyades_types::value::SqlType;

use super::command::{CatalogStatement, SchemaCommand};
use super::dependents::Object;
use super::ownership::own_type;
use crate::answer::Output;
use crate::bind::support_call::BUILT_IN;
use crate::bind::types;
use crate::emit::{Compiler, unsupported};
use crate::statement::query::parse_type;
use crate::statement::{CastCommand, QualifiedName, WrittenMethod, WrittenParameter};
use crate::system::{builtins, physical_form};
use crate::viewpoint::Viewpoint;

/// Types of which no value exists, besides the polymorphic ones.
const PSEUDO_TYPES: [&str; 6] = ["any", "cstring", "internal", "record", "trigger", "void"];

fn invalid<T>(message: &str) -> Result<T> {
    Err(Error::input(sqlstate::INVALID_OBJECT_DEFINITION, message))
}

/// `cast from type a to type b`, for messages.
fn shown(types: &[SqlType]) -> String {
    let names: Vec<&str> = types.iter().map(|own| own.base_name()).collect();
    format!("cast from type {}", names.join(" to type "))
}

/// Whether a value of one type is one of the other without a conversion.
fn is_same_value(from: SqlType, to: SqlType) -> bool {
    from.is_same_base(to) || builtins::cast_between(from, to) == Some(true)
}

/// The function of a cast, and the type of its result if it has one.
struct Found {
    function: SupportFunction,
    returned: Option<SqlType>,
    kind: RoutineKind,
    is_set: bool,
}

impl Found {
    /// Error 42P17 unless it can be that of a cast between these types.
    fn check(&self, source: SqlType, target: SqlType) -> Result<()> {
        let types = &self.function.types;
        if !(1..=3).contains(&types.len()) {
            return invalid("cast function must take one to three arguments");
        }
        if !is_same_value(source, types[0]) {
            return invalid(
                "argument of cast function must match or be binary-coercible from source data type",
            );
        }
        if types.get(1).is_some_and(|own| *own != SqlType::Integer) {
            return invalid("second argument of cast function must be type integer");
        }
        if types.get(2).is_some_and(|own| *own != SqlType::Boolean) {
            return invalid("third argument of cast function must be type boolean");
        }
        if !self.returned.is_some_and(|returned| is_same_value(returned, target)) {
            return invalid(
                "return data type of cast function must match or be binary-coercible to target data type",
            );
        }
        if self.kind != RoutineKind::Function {
            return invalid("cast function must be a normal function");
        }
        if self.is_set {
            return invalid("cast function must not return a set");
        }
        Ok(())
    }
}

impl Compiler<'_> {
    pub(super) fn cast_command(
        &self,
        command: &CastCommand<Vec<WrittenParameter>>,
    ) -> Result<CatalogStatement> {
        let (tag, command) = match command {
            CastCommand::Create { types, context, method } => {
                let method = match method {
                    WrittenMethod::Function(name, arguments) => {
                        WrittenMethod::Function(name.clone(), self.signature(arguments.as_deref())?)
                    }
                    WrittenMethod::InOut => WrittenMethod::InOut,
                    WrittenMethod::WithoutFunction => WrittenMethod::WithoutFunction,
                };
                let types = self.cast_types(types)?;
                ("CREATE CAST", CastCommand::Create { types, context: *context, method })
            }
            CastCommand::Drop { types, if_exists, cascades } => {
                let command = match self.cast_types(types) {
                    Ok(types) => CastCommand::Drop { types, if_exists: *if_exists, cascades: *cascades },
                    Err(error) if *if_exists && error.sqlstate() == sqlstate::UNDEFINED_OBJECT => {
                        CastCommand::Skip(format!("{error}, skipping"))
                    }
                    Err(error) => return Err(error),
                };
                ("DROP CAST", command)
            }
            CastCommand::Skip(message) => ("DROP CAST", CastCommand::Skip(message.clone())),
        };
        Ok(CatalogStatement::new(tag, SchemaCommand::Cast(command)))
    }

    /// The source and the target of a cast.
    pub(super) fn cast_types(&self, written: &[WrittenParameter]) -> Result<Vec<SqlType>> {
        let words = ["source", "target"];
        let each = words.iter().zip(written).map(|(word, written)| {
            let name = written.type_name.to_ascii_lowercase();
            let own = name.strip_prefix("pg_catalog.").unwrap_or(&name);
            if PSEUDO_TYPES.contains(&own) || SystemType::polymorphic(own).is_some() {
                let message = format!("{word} data type {name} is a pseudo-type");
                return Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            let found = types::declared(&parse_type(&written.type_name)?, &self.binder);
            let found = found.map_err(Error::without_position)?;
            match found.domain {
                Some(_) => unsupported(Missing::Casts, "casts of domains are"),
                None => Ok(found.sql_type.without_modifier()),
            }
        });
        each.collect()
    }
}

impl Viewpoint {
    /// Error 42501 unless the session may run this command.
    pub(super) fn check_cast_command(&self, command: &CastCommand<Vec<SqlType>>) -> Result<()> {
        match command {
            CastCommand::Create { types, .. } => {
                self.check_cast_owner(types)?;
                self.check_types(types.iter().filter_map(|own| own_type(*own)))
            }
            CastCommand::Drop { types, .. } => match self.user_cast(types) {
                Some(_) => self.check_cast_owner(types),
                None => Ok(()),
            },
            CastCommand::Skip(_) => Ok(()),
        }
    }

    /// Error 42501 unless the session owns one of the types.
    pub(super) fn check_cast_owner(&self, types: &[SqlType]) -> Result<()> {
        let owns = |own: &SqlType| own_type(*own).is_some_and(|id| self.access().is_owner(self.role(), id));
        if types.iter().any(owns) {
            return Ok(());
        }
        let names: Vec<&str> = types.iter().map(|own| own.base_name()).collect();
        let message = format!("must be owner of type {}", names.join(" or type "));
        Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message))
    }

    /// The cast between two types that a user has created.
    fn user_cast(&self, types: &[SqlType]) -> Option<Arc<Routine>> {
        let known = self.worker.routines_named(&RoutineDefinition::name_of_casts());
        known.into_iter().find(|routine| routine.definition.identity() == types)
    }

    /// The same, or an error if there is none.
    pub(super) fn cast_meant(&self, types: &[SqlType]) -> Result<Arc<Routine>> {
        if let Some(found) = self.user_cast(types) {
            return Ok(found);
        }
        if let [source, target] = types
            && builtins::cast_between(*source, *target).is_some()
        {
            return unsupported(Missing::Comments, "comments on PostgreSQL's own casts are");
        }
        Err(Error::input(sqlstate::UNDEFINED_OBJECT, format!("{} does not exist", shown(types))))
    }

    pub(super) fn cast_changes(
        &mut self,
        command: &CastCommand<Vec<SqlType>>,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        match command {
            CastCommand::Create { types, context, method } => match types.as_slice() {
                [source, target] => self.created_cast((*source, *target), *context, method),
                _ => Ok(Vec::new()),
            },
            CastCommand::Drop { types, if_exists, cascades } => {
                self.dropped_cast(types, (*if_exists, *cascades), output)
            }
            CastCommand::Skip(message) => {
                self.note(output, "00000", message.clone());
                Ok(Vec::new())
            }
        }
    }

    fn created_cast(
        &mut self,
        (source, target): (SqlType, SqlType),
        context: CastContext,
        method: &WrittenMethod<Vec<SqlType>>,
    ) -> Result<Vec<CatalogChange>> {
        let mut is_of_length = false;
        let method = match method {
            WrittenMethod::Function(name, arguments) => {
                let found = self.function_of_cast(name, arguments.as_deref())?;
                found.check(source, target)?;
                is_of_length = found.function.types.len() > 1;
                CastMethod::Function(found.function)
            }
            WrittenMethod::InOut => CastMethod::Text,
            WrittenMethod::WithoutFunction => {
                self.check_same_values(source, target)?;
                CastMethod::Same
            }
        };
        if source.is_same_base(target) {
            if is_of_length {
                return unsupported(Missing::Casts, "casts of a type to itself are");
            }
            return invalid("source data type and target data type are the same");
        }
        if builtins::cast_between(source, target).is_some() || self.user_cast(&[source, target]).is_some() {
            return Err(duplicate_cast(source, target));
        }
        let definition = RoutineDefinition::of_cast((source, target), CastDefinition { context, method });
        let id = RoutineId(self.worker.new_id(NewId::Object));
        Ok(vec![CatalogChange::CreateRoutine { id, definition, replaces: None }])
    }

    /// The function that a cast names.
    fn function_of_cast(&self, name: &QualifiedName, arguments: Option<&[SqlType]>) -> Result<Found> {
        if let Some(types) = arguments
            && name.schema.as_deref().is_none_or(|schema| schema == BUILT_IN)
            && let Some(found) = self.built_in_function(&name.name, types)?
        {
            return Ok(found);
        }
        let routine = match self.find_routine((Some(RoutineKind::Function), arguments), name)? {
            Ok(routine) => routine,
            Err(missing) => return Err(missing.error()),
        };
        let definition = &routine.definition;
        let returned = match definition.returns {
            Returns::Value(own) | Returns::SetOf(own) => Some(own),
            _ => None,
        };
        let function = SupportFunction {
            name: definition.name.clone(),
            types: definition.identity(),
            is_strict: definition.is_strict,
            is_variadic: false,
        };
        Ok(Found { function, returned, kind: definition.kind, is_set: definition.returns.is_set() })
    }

    /// PostgreSQL's own function of this name with these parameters.
    fn built_in_function(&self, name: &str, types: &[SqlType]) -> Result<Option<Found>> {
        let is_it =
            |own: &builtins::Callable| own.types.iter().copied().eq(types.iter().map(|one| one.oid()));
        let Some(found) = builtins::callable(name).find(is_it) else { return Ok(None) };
        let function = SupportFunction {
            name: TableName { schema: BUILT_IN.to_owned(), name: name.to_owned() },
            types: types.to_vec(),
            is_strict: found.is_strict,
            is_variadic: false,
        };
        // Some functions exist here only as operators.
        let arguments = types.iter().map(|own| (Expr::Register(0), *own)).collect();
        let (_, returned) = self.with_binder(|binder| binder.cast_function(&function, arguments))?;
        let kind = RoutineKind::Function;
        Ok(Some(Found { function, returned: Some(returned), kind, is_set: false }))
    }

    /// An error unless the two types can have the same values.
    fn check_same_values(&self, source: SqlType, target: SqlType) -> Result<()> {
        if !self.is_superuser() {
            let message = "must be superuser to create a cast WITHOUT FUNCTION";
            return Err(Error::input(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        if physical_form(source) != physical_form(target) {
            return invalid("source and target data types are not physically compatible");
        }
        let is_any = |is: fn(SqlType) -> bool| is(source) || is(target);
        if is_any(|own| matches!(own, SqlType::Composite(_))) {
            return invalid("composite data types are not binary-compatible");
        }
        if is_any(|own| matches!(own, SqlType::Enum(_))) {
            return invalid("enum data types are not binary-compatible");
        }
        if is_any(|own| matches!(own, SqlType::Array(_))) {
            return invalid("array data types are not binary-compatible");
        }
        let is_text = |own: SqlType| own.is_string() || own == SqlType::Json;
        if is_text(source) && is_text(target) {
            return Ok(());
        }
        let (source, target) = (source.base_name(), target.base_name());
        unsupported(Missing::Casts, &format!("using values of {source} as values of {target} is"))
    }

    fn dropped_cast(
        &mut self,
        types: &[SqlType],
        (if_exists, cascades): (bool, bool),
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        if let Some(found) = self.user_cast(types) {
            return self.dropped_objects(&[Object::Routine(found)], cascades, output);
        }
        if let [source, target] = types
            && builtins::cast_between(*source, *target).is_some()
        {
            let (source, target) = (source.base_name(), target.base_name());
            let message = format!(
                "cannot drop cast from {source} to {target} because it is required by the database system"
            );
            return Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
        }
        let missing = format!("{} does not exist", shown(types));
        if !if_exists {
            return Err(Error::input(sqlstate::UNDEFINED_OBJECT, missing));
        }
        self.note(output, "00000", format!("{missing}, skipping"));
        Ok(Vec::new())
    }
}
