//! Types in the catalog, both user-defined and built-in: `pg_type`, `pg_enum`, `format_type` and `regtype`.

use std::borrow::Cow;
use std::sync::Arc;

use hyades_engine::storage::stored_type::StoredType;
use hyades_types::definition::{TableId, TableName, TypeDefinition};
use hyades_types::enumeration::EnumLabels;
use hyades_types::error::Result;
use hyades_types::sequence::written_name;
use hyades_types::system_type::SystemType;
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{ArrayElement, SqlType, Value};

use super::data_types::{self, DataType, by_oid, of, written};
use super::names::quoted;
use super::object_id::{self, Part};
use super::row::{NamedRow, oid, text};
use super::snapshot::System;

impl System {
    /// The type with this number.
    pub(super) fn sql_type(&self, oid: u32, modifier: i32) -> Option<SqlType> {
        let created = self.facts.types.iter();
        let of_rows = || {
            let relation = CompositeType::relation_with(oid)?;
            let own = SqlType::Composite(self.definition(relation)?.row_type(TableId(relation)));
            let array = ArrayElement::of(own).map(SqlType::Array);
            [Some(own), array].into_iter().flatten().find(|one| one.oid() == oid)
        };
        let built_in = SqlType::from_oid(oid, modifier).filter(|found| found.created_id().is_none());
        let mut created = created.filter_map(|stored| stored.type_with(oid));
        built_in.or_else(|| created.next()).or_else(of_rows)
    }

    /// The catalog's description of the type with this number, if it is shown.
    pub(super) fn data_type(&self, oid: u32) -> Option<Cow<'static, DataType>> {
        match by_oid(oid) {
            Some(data_type) => Some(Cow::Borrowed(data_type)),
            None => {
                let own = self.own_types().find(|own| own.oid == oid);
                own.map(Cow::Owned).or_else(|| of(self.sql_type(oid, -1)?))
            }
        }
    }

    /// The name in `format_type`, with the schema if the name alone means something else.
    pub(super) fn shown_type(&self, sql_type: SqlType) -> String {
        let Some(id) = sql_type.created_id() else { return sql_type.base_name().to_owned() };
        let stored = || self.created_type(id).map(|own| (own.schema.as_str(), own.name.as_str()));
        let Some((schema, name)) = sql_type.definition_name().or_else(stored) else {
            return sql_type.base_name().to_owned();
        };
        let name = self.shown_own(schema, name);
        match sql_type {
            SqlType::Array(_) => format!("{name}[]"),
            _ => name,
        }
    }

    /// The name of the type's schema.
    pub(super) fn type_schema(&self, sql_type: SqlType) -> &str {
        let created = sql_type.created_id().and_then(|id| self.created_type(id));
        created.map_or("pg_catalog", |definition| &definition.schema)
    }

    fn shown_own(&self, schema: &str, name: &str) -> String {
        let meant = self.facts.path.find(None, name, |name| self.names_type(name));
        match meant.schema == schema {
            true => quoted(name),
            false => format!("{}.{}", quoted(schema), quoted(name)),
        }
    }

    /// Whether this is the name of a type that is found without the schema.
    pub(super) fn is_visible_type(&self, name: &TableName) -> bool {
        let named = self.type_named(name);
        named.is_some_and(|definition| self.is_found(&definition.schema, &definition.name))
    }

    /// Whether a type has this name, that of a relation's rows included.
    fn names_type(&self, name: &TableName) -> bool {
        self.type_named(name).is_some() || self.definitions.iter().any(|definition| definition.name == *name)
    }

    /// Number of the type with this name, and that of its arrays.
    fn numbers_of(&self, name: &TableName) -> Option<(u32, u32)> {
        if let Some(definition) = self.type_named(name) {
            return Some((definition.id, definition.array_id));
        }
        let at = self.definitions.iter().position(|definition| definition.name == *name)?;
        let relation = self.facts.tables[at].id().0;
        Some((CompositeType::number_of_rows(relation), CompositeType::number_of_arrays(relation)))
    }

    pub(super) fn type_named(&self, name: &TableName) -> Option<&TypeDefinition> {
        let found = self.facts.types.iter().find(|stored| stored.name() == *name);
        found.map(|stored| &stored.definition)
    }

    /// The number of the type that a text names in SQL: `int4`, `integer`, `character varying(20)`,
    /// `text[]`, `mood`.
    pub(super) fn written_type(&self, text: &str) -> Result<Option<u32>> {
        if let Some(data_type) = written(text) {
            return Ok(Some(data_type.oid));
        }
        let (name, is_array) = match text.trim().strip_suffix("[]") {
            Some(element) => (element.trim_end_matches("[]"), true),
            None => (text.trim(), false),
        };
        let Ok((schema, name)) = written_name(name) else { return Ok(None) };
        self.check_schema(schema.as_deref())?;
        if schema.as_deref() == Some("pg_catalog") {
            let found = data_types::built_in().find(|data_type| data_type.name == name);
            return Ok(found.map(|found| if is_array { found.array } else { found.oid }));
        }
        let find = |name: &str| {
            let full = self.facts.path.find(schema.as_deref(), name, |name| self.names_type(name));
            self.numbers_of(&full)
        };
        Ok(match find(&name) {
            Some((_, array)) if is_array => Some(array),
            Some((own, _)) => Some(own),
            None => {
                let element = name.strip_prefix('_').and_then(find);
                element.map(|(_, array)| array)
            }
        })
    }

    /// `pg_enum`
    pub(super) fn enum_rows(&self) -> Vec<NamedRow> {
        let mut rows = Vec::new();
        for stored in &self.facts.types {
            let definition = &stored.definition;
            let labels = definition.labels().into_iter().flat_map(EnumLabels::iter);
            for (at, label) in (1u16..).zip(labels) {
                let number = object_id::of_part(definition.id, Part::Label, &label.position.to_string());
                rows.push(vec![
                    ("oid", oid(number)),
                    ("enumtypid", oid(definition.id)),
                    ("enumsortorder", Value::Real(f32::from(at))),
                    ("enumlabel", text(&label.label)),
                ]);
            }
        }
        rows
    }

    /// `pg_type`
    pub(super) fn type_rows(&self) -> Vec<NamedRow> {
        let row = |data_type: DataType| {
            let array = self.data_type(data_type.array).map_or(0, |array| array.oid);
            data_type.row(self.schema_oid(&data_type.schema), array, self.of_domain(data_type.oid))
        };
        data_types::built_in().cloned().chain(self.own_types()).map(row).collect()
    }

    /// The types that users have created, and those of their arrays.
    fn own_types(&self) -> impl Iterator<Item = DataType> {
        let described = |stored: &Arc<StoredType>| match stored.sql_type {
            Some(SqlType::Extension(own)) => Some(DataType::of_extension(own, &stored.definition.schema)),
            Some(sql_type) => of(sql_type).map(Cow::into_owned),
            None => self.described_domain(&stored.definition),
        };
        let both = move |stored| [described(stored), of_array(&stored.definition)];
        self.facts.types.iter().flat_map(both).flatten().chain(self.types_of_rows())
    }

    /// The types of the rows of relations, and those of their arrays.
    fn types_of_rows(&self) -> impl Iterator<Item = DataType> {
        self.facts.tables.iter().zip(&self.definitions).flat_map(|(table, definition)| {
            let TableName { schema, name } = &definition.name;
            let numbers =
                (CompositeType::number_of_rows(table.id().0), CompositeType::number_of_arrays(table.id().0));
            let of_rows = DataType::of_composite(numbers, schema, name);
            std::iter::once(of_rows).chain(DataType::of_array(numbers, schema, name, 0))
        })
    }

    /// If no modifier is given at all, a type is shown by its name alone.
    pub(super) fn format_type(&self, oid: u32, modifier: Option<&Value>) -> String {
        let modifier = modifier.and_then(Value::as_i64).and_then(|modifier| i32::try_from(modifier).ok());
        match (self.sql_type(oid, modifier.unwrap_or(-1)), modifier) {
            (Some(SqlType::System(SystemType::Char)), _) => self.type_text(oid).unwrap_or_default(),
            (Some(sql_type), _) if sql_type.created_id().is_some() => self.shown_type(sql_type),
            (Some(sql_type), Some(_)) => sql_type.name().into_owned(),
            (Some(sql_type), None) => sql_type.base_name().to_owned(),
            (None, _) if oid == 0 => "-".to_owned(),
            (None, _) => self.type_text(oid).unwrap_or_else(|| "???".to_owned()),
        }
    }

    /// The type with this number, as `regtype` shows it.
    pub(super) fn type_text(&self, oid: u32) -> Option<String> {
        match self.sql_type(oid, -1) {
            Some(sql_type) if sql_type.created_id().is_some() => Some(self.shown_type(sql_type)),
            _ => by_oid(oid).map(DataType::shown).or_else(|| self.domain_text(oid)),
        }
    }

    /// The type that a user has created with this number for itself, or for the type of its arrays.
    fn created_type(&self, oid: u32) -> Option<&TypeDefinition> {
        let mut own = self.facts.types.iter().map(|stored| &stored.definition);
        own.find(|own| own.id == oid || own.array_id == oid)
    }

    fn domain_text(&self, oid: u32) -> Option<String> {
        let found = self.created_type(oid)?;
        let shown = self.shown_own(&found.schema, &found.name);
        Some(if found.id == oid { shown } else { shown + "[]" })
    }

    /// Whether the type with this number is found without its schema. `None` if there is none.
    pub(super) fn type_is_found(&self, oid: u32) -> Option<bool> {
        match self.created_type(oid) {
            Some(own) => Some(self.is_found(&own.schema, &own.name)),
            None => {
                let sql_type = self.sql_type(oid, -1)?;
                Some(sql_type.definition_name().is_none_or(|(schema, name)| self.is_found(schema, name)))
            }
        }
    }

    fn is_found(&self, schema: &str, name: &str) -> bool {
        self.shown_own(schema, name) == quoted(name)
    }
}

fn of_array(definition: &TypeDefinition) -> Option<DataType> {
    let TypeDefinition { id, array_id, schema, name, .. } = definition;
    let collation =
        definition.extension_type().map_or(0, |own| DataType::of_extension(own, schema).collation);
    DataType::of_array((*id, *array_id), schema, name, collation)
}
