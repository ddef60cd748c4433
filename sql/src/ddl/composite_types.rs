//! Composite types: CREATE TYPE ... AS (...), and what ALTER TYPE does with attributes.
//!
//! Rows of the type stay as they are: they are read with the definition of the day
//! (`hyades_types::composite`). So an attribute may come and go while columns use the type, but its type may
//! not change.
//!
//! Reference: DefineCompositeType of PostgreSQL's typecmds.c; ATExecAddColumn,
//! find_composite_type_dependencies and renameatt of tablecmds.c.

use hyades_engine::storage::stored_type::StoredType;
use hyades_types::definition::{CatalogChange, TypeDefinition, TypeKind};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;
use hyades_types::value::composite::CompositeField;

use crate::answer::Output;
use crate::bind::types::{self, Declared, NamedTypes};
use crate::emit::{Compiler, unsupported};
use crate::statement::kept_names::names_type;
use crate::statement::{AttributeAction, WrittenAttribute};
use crate::viewpoint::Viewpoint;

/// PostgreSQL's limit.
const MOST_FIELDS: usize = 1600;

impl Compiler<'_> {
    /// The kind of a new type.
    pub(super) fn created_composite(&mut self, written: &[WrittenAttribute]) -> Result<TypeKind> {
        let mut kind = TypeKind::Composite { fields: Vec::new(), next_number: 1 };
        for attribute in written {
            let sql_type = attribute_type(attribute, &self.binder)?;
            add(&mut kind, attribute, sql_type, |name| {
                format!("column \"{name}\" specified more than once")
            })?;
        }
        Ok(kind)
    }
}

/// The type of an attribute.
fn attribute_type(written: &WrittenAttribute, types: &dyn NamedTypes) -> Result<SqlType> {
    let Declared { sql_type, domain } = types::declared_column(&written.data_type, types)?;
    if domain.is_some() {
        return unsupported(Missing::DomainsElsewhere, "attributes of domains are");
    }
    if sql_type.has_rows_of_relation() {
        return unsupported(Missing::RowsOfTables, "attributes of the type of a table's rows are");
    }
    Ok(sql_type)
}

/// Adds an attribute. `taken` makes the message if there is one of that name.
fn add(
    kind: &mut TypeKind,
    written: &WrittenAttribute,
    sql_type: SqlType,
    taken: impl FnOnce(&str) -> String,
) -> Result<()> {
    let TypeKind::Composite { fields, next_number } = kind else { return Ok(()) };
    if fields.iter().any(|field| field.name == written.name) {
        return Err(Error::input(sqlstate::DUPLICATE_COLUMN, taken(&written.name)));
    }
    if usize::from(*next_number) > MOST_FIELDS {
        let message = format!("tables can have at most {MOST_FIELDS} columns");
        return Err(Error::input(sqlstate::TOO_MANY_COLUMNS, message));
    }
    fields.push(CompositeField { number: *next_number, name: written.name.clone(), sql_type });
    *next_number += 1;
    Ok(())
}

fn already_there(attribute: &str, type_name: &str) -> String {
    format!("column \"{attribute}\" of relation \"{type_name}\" already exists")
}

impl Viewpoint {
    /// The changes of ALTER TYPE ... ADD, DROP, ALTER and RENAME ATTRIBUTE.
    pub(super) fn altered_attributes(
        &self,
        stored: &StoredType,
        actions: &[AttributeAction],
        output: &mut dyn Output,
    ) -> Result<Vec<CatalogChange>> {
        let mut definition = stored.definition.clone();
        for action in actions {
            self.alter_attribute(stored, &mut definition, action, output)?;
        }
        if definition == stored.definition {
            return Ok(Vec::new());
        }
        definition.begin_change();
        Ok(vec![CatalogChange::AlterType { definition }])
    }

    fn alter_attribute(
        &self,
        stored: &StoredType,
        definition: &mut TypeDefinition,
        action: &AttributeAction,
        output: &mut dyn Output,
    ) -> Result<()> {
        let type_name = definition.name.clone();
        let missing = |name: &str| {
            let message = format!("column \"{name}\" of relation \"{type_name}\" does not exist");
            Error::input(sqlstate::UNDEFINED_COLUMN, message)
        };
        let TypeKind::Composite { fields, .. } = &mut definition.kind else { return Ok(()) };
        let place =
            |fields: &[CompositeField], name: &str| fields.iter().position(|field| field.name == name);
        match action {
            AttributeAction::Add(written) => {
                self.refuse_texts_of(stored)?;
                let sql_type = self.with_binder(|binder| attribute_type(written, binder))?;
                if sql_type.contains_type(stored.id()) {
                    let message = format!("composite type {type_name} cannot be made a member of itself");
                    return Err(Error::input(sqlstate::INVALID_TABLE_DEFINITION, message));
                }
                add(&mut definition.kind, written, sql_type, |name| already_there(name, &type_name))?;
            }
            AttributeAction::Drop { name, if_exists } => match place(fields, name) {
                Some(at) => {
                    self.refuse_texts_of(stored)?;
                    self.refuse_indexes_of(stored)?;
                    fields.remove(at);
                }
                None if *if_exists => {
                    self.note(output, "00000", format!("{}, skipping", missing(name)));
                }
                None => return Err(missing(name)),
            },
            AttributeAction::SetType(written) => {
                let sql_type = self.with_binder(|binder| attribute_type(written, binder))?;
                let at = place(fields, &written.name).ok_or_else(|| missing(&written.name))?;
                self.refuse_users_of(stored)?;
                fields[at].sql_type = sql_type;
            }
            AttributeAction::Rename { from, to } => {
                let at = place(fields, from).ok_or_else(|| {
                    Error::input(sqlstate::UNDEFINED_COLUMN, format!("column \"{from}\" does not exist"))
                })?;
                if place(fields, to).is_some() {
                    let message = already_there(to, &type_name);
                    return Err(Error::input(sqlstate::DUPLICATE_COLUMN, message));
                }
                to.clone_into(&mut fields[at].name);
            }
        }
        Ok(())
    }

    /// Error 0A000 if a column has values of the type.
    fn refuse_users_of(&self, stored: &StoredType) -> Result<()> {
        let type_name = &stored.definition.name;
        for table in self.visible_tables() {
            let definition = table.definition();
            let mut columns = definition.visible_columns().iter();
            let user = columns.find(|column| column.sql_type.contains_type(stored.id()));
            if let Some(column) = user.filter(|_| definition.view().is_none()) {
                let message = format!(
                    "cannot alter type \"{type_name}\" because column \"{}.{}\" uses it",
                    definition.name.name, column.name
                );
                return Err(Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
        }
        Ok(())
    }

    /// Error 0A000 if a text of the catalog may contain a value of the type, which would have other fields.
    fn refuse_texts_of(&self, stored: &StoredType) -> Result<()> {
        let name = stored.name();
        let contains = |text: &str| text.contains('(') && names_type(text, &name);
        let is_value = |sql_type: SqlType, text: &str| {
            text.contains('(') && (sql_type.contains_type(stored.id()) || names_type(text, &name))
        };
        let refused = |what: String| {
            let what = format!(
                "adding and dropping attributes of type {}, of which {what} may contain a value, is",
                name.name
            );
            unsupported(Missing::AttributesInUse, &what)
        };
        for table in self.visible_tables() {
            let definition = table.definition();
            let in_column = definition.columns.iter().any(|column| {
                let is_in = |text: &String| is_value(column.sql_type, text);
                column.default.as_ref().is_some_and(is_in)
                    || column.generation.as_ref().is_some_and(|own| contains(&own.expression))
            });
            let in_check = definition.checks.iter().any(|check| contains(&check.expression));
            if in_column || in_check || definition.source().is_some_and(|view| contains(&view.query)) {
                return refused(format!("the definition of \"{}\"", definition.name.name));
            }
        }
        for routine in self.worker.routines() {
            let parameters = routine.definition.parameters.iter();
            let mut defaults = parameters.filter_map(|own| Some((own.sql_type, own.default.as_ref()?)));
            if defaults.any(|(sql_type, text)| is_value(sql_type, text)) {
                return refused(format!("a default of {}", routine.definition.signature()));
            }
        }
        for other in self.worker.types() {
            let Some(domain) = other.definition.domain() else { continue };
            let in_default = domain.default.as_ref().is_some_and(|text| is_value(domain.base, text));
            if in_default || domain.checks.iter().any(|check| contains(&check.expression)) {
                return refused(format!("the definition of {}", other.definition.shown()));
            }
        }
        Ok(())
    }

    /// Error 0A000 if an index has keys with values of the type, whose order depends on the attribute.
    fn refuse_indexes_of(&self, stored: &StoredType) -> Result<()> {
        for table in self.visible_tables() {
            let definition = table.definition();
            let is_user =
                |column: &u16| definition.columns[usize::from(*column)].sql_type.contains_type(stored.id());
            let key = definition.primary_key.iter().flat_map(|key| &key.columns);
            let indexes = definition.indexes.iter().flat_map(|index| &index.columns);
            if key.chain(indexes.map(|column| &column.column)).any(is_user) {
                let table = &definition.name.name;
                let what = format!("dropping an attribute of a type that is in an index of \"{table}\" is");
                return unsupported(Missing::AttributesInUse, &what);
            }
        }
        Ok(())
    }
}
