//! CREATE and DROP EXTENSION.
//!
//! An extension is its functions and the type that it brings: CREATE EXTENSION creates them in a schema, and
//! the functions say to which extension they belong. It exists as long as one of them does.
//!
//! Reference: PostgreSQL's extension.c and its contrib.

use std::sync::Arc;

use hyades_engine::storage::catalog::{NewId, duplicate_routine};
use hyades_engine::storage::stored_routine::Routine;
use hyades_types::definition::{
    CatalogChange, DeclaredParallel, ParameterMode, RoutineDefinition, RoutineId, RoutineKind,
    RoutineParameter, RoutineTraits, TableName, TypeDefinition, TypeKind,
};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refused};
use hyades_types::value::SqlType;

use super::command::{CatalogStatement, SchemaCommand};
use super::dependents::Object;
use super::schemas::no_schema;
use crate::answer::Output;
use crate::emit::Compiler;
use crate::statement::{CreateExtension, ExtensionCommand};
use crate::system::available_extensions::{AVAILABLE, BUILT_IN, Member, PLPGSQL_COMMENT};
use crate::viewpoint::Viewpoint;

fn definition_of(member: &Member, extension: &str, schema: &str) -> RoutineDefinition {
    let parameter = |sql_type: &SqlType| RoutineParameter {
        name: None,
        sql_type: *sql_type,
        mode: ParameterMode::In,
        default: None,
    };
    RoutineDefinition {
        name: TableName { schema: schema.to_owned(), name: member.name.to_owned() },
        kind: RoutineKind::Function,
        parameters: member.arguments.iter().map(parameter).collect(),
        returns: member.returns(),
        language: "sql".to_owned(),
        body: member.body.to_owned(),
        is_strict: member.is_strict,
        path: None,
        traits: RoutineTraits {
            volatility: member.volatility,
            parallel: DeclaredParallel::Safe,
            extension: Some(extension.to_owned()),
            ..RoutineTraits::default()
        },
        uses: None,
        aggregate: None,
        cast: None,
        declared: None,
    }
}

/// Error 2BP01: an extension's own objects are dropped with it.
pub(super) fn required_by_extension(what: &str, extension: &str) -> Error {
    let message = format!("cannot drop {what} because extension {extension} requires it");
    Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .with_hint(format!("You can drop extension {extension} instead."))
}

impl Compiler<'_> {
    pub(crate) fn extension_command(&self, command: &ExtensionCommand) -> CatalogStatement {
        let tag = match command {
            ExtensionCommand::Create(_) => "CREATE EXTENSION",
            ExtensionCommand::Drop { .. } => "DROP EXTENSION",
        };
        CatalogStatement::new(tag, SchemaCommand::Extension(command.clone()))
    }
}

impl Viewpoint {
    pub(super) fn changed_extensions(
        &mut self,
        command: &ExtensionCommand,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        match command {
            ExtensionCommand::Create(create) => self.created_extension(create, output),
            ExtensionCommand::Drop { names, if_exists, cascades } => {
                self.dropped_extensions(names, (*if_exists, *cascades), output)
            }
        }
    }

    /// COMMENT ON EXTENSION. The comment is fixed, so a dump may say it again.
    pub(super) fn commented_extension(&self, name: &str, text: Option<&str>) -> Result<Vec<CatalogChange>> {
        if name != BUILT_IN && self.members_of(name).is_empty() {
            let message = format!("extension \"{name}\" does not exist");
            return Err(Error::input(sqlstate::UNDEFINED_OBJECT, message));
        }
        let known = AVAILABLE.iter().find(|available| available.name == name);
        let comment = known.map_or(PLPGSQL_COMMENT, |known| known.comment);
        if text == Some(comment) {
            return Ok(Vec::new());
        }
        Err(refused(Missing::ExtensionChanges, "changing the comment on an extension is"))
    }

    /// The functions of an extension.
    fn members_of(&self, extension: &str) -> Vec<Arc<Routine>> {
        let mut routines = self.worker.routines();
        routines.retain(|routine| routine.extension() == Some(extension));
        routines
    }

    fn created_extension(
        &mut self,
        create: &CreateExtension,
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let name = create.name.as_str();
        if name == BUILT_IN || !self.members_of(name).is_empty() {
            if create.if_not_exists {
                let message = format!("extension \"{name}\" already exists, skipping");
                self.note(output, "42710", message);
                return Ok(Vec::new());
            }
            let message = format!("extension \"{name}\" already exists");
            return Err(Error::input(sqlstate::DUPLICATE_OBJECT, message));
        }
        let Some(available) = AVAILABLE.iter().find(|available| available.name == name) else {
            let message = format!("extension \"{name}\" is not available");
            return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message)
                .with_hint("pg_available_extensions lists those that are."));
        };
        if let Some(version) = create.version.as_ref().filter(|version| *version != available.version) {
            let message = format!(
                "extension \"{name}\" has no installation script nor update path for version \"{version}\""
            );
            return Err(Error::input(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        let schema = match &create.schema {
            Some(schema) => schema.clone(),
            None => self.search_path().created_in().map(str::to_owned).ok_or_else(|| {
                let message = "no schema has been selected to create in";
                Error::input(sqlstate::INVALID_SCHEMA_NAME, message)
            })?,
        };
        if !self.has_schema(&schema) {
            return Err(no_schema(&schema));
        }
        let mut changes = Vec::with_capacity(1 + available.members.len());
        if let Some(extension) = available.brings() {
            let full = TableName { schema: schema.clone(), name: name.to_owned() };
            self.check_type_name(&full)?;
            let numbers = (extension.oid(), extension.array_oid());
            let definition = TypeDefinition::new(numbers, &full, TypeKind::Extension { extension });
            changes.push(CatalogChange::CreateType { definition });
        }
        for member in available.members {
            let definition = definition_of(member, name, &schema);
            let known = self.worker.routines_named(&definition.name);
            if known.iter().any(|other| other.definition.is_same_routine(&definition)) {
                return Err(duplicate_routine(&definition));
            }
            let id = RoutineId(self.worker.new_id(NewId::Object));
            changes.push(CatalogChange::CreateRoutine { id, definition, replaces: None });
        }
        Ok(changes)
    }

    fn dropped_extensions(
        &mut self,
        names: &[String],
        (if_exists, cascades): (bool, bool),
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut dropped = Vec::new();
        for name in names {
            if name == BUILT_IN {
                let message = "cannot drop extension plpgsql because it is required by the database system";
                return Err(Error::input(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message));
            }
            let members = self.members_of(name);
            if members.is_empty() && if_exists {
                self.note(output, "00000", format!("extension \"{name}\" does not exist, skipping"));
            } else if members.is_empty() {
                let message = format!("extension \"{name}\" does not exist");
                return Err(Error::input(sqlstate::UNDEFINED_OBJECT, message));
            } else {
                dropped.push(Object::Extension(name.clone()));
            }
        }
        self.dropped_objects(&dropped, cascades, output)
    }
}
