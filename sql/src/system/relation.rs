//! The relations of the catalog and their columns.

use std::collections::HashMap;
use std::sync::LazyLock;

use hyades_types::value::SqlType;

use super::{data_types, object_id};

/// A relation of the catalog.
pub(crate) struct SystemRelation {
    pub(crate) schema: &'static str,
    pub(crate) name: &'static str,
    pub(crate) oid: u32,
    /// `pg_class.relkind`; `f` for the result of a function.
    pub(crate) kind: &'static str,
    pub(crate) columns: Vec<(String, SqlType)>,
}

/// The columns of a sequence that is read as a table.
pub(crate) const SEQUENCE_COLUMNS: [(&str, SqlType); 3] =
    [("last_value", SqlType::BigInt), ("log_cnt", SqlType::BigInt), ("is_called", SqlType::Boolean)];

impl SystemRelation {
    /// Whether it is the result of a function.
    pub(super) fn is_function(&self) -> bool {
        self.kind == "f"
    }

    pub(super) fn schema_oid(&self) -> u32 {
        if self.schema == "pg_catalog" { object_id::PG_CATALOG } else { object_id::INFORMATION_SCHEMA }
    }
}

/// All relations of the catalog.
pub(crate) static RELATIONS: LazyLock<Vec<SystemRelation>> = LazyLock::new(|| {
    let lines = include_str!("relations.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(parsed).collect()
});

static BY_OID: LazyLock<HashMap<u32, &'static SystemRelation>> =
    LazyLock::new(|| RELATIONS.iter().map(|relation| (relation.oid, relation)).collect());

static BY_NAME: LazyLock<HashMap<(&str, &str), &'static SystemRelation>> =
    LazyLock::new(|| RELATIONS.iter().map(|relation| ((relation.schema, relation.name), relation)).collect());

/// The relation with this number.
pub(super) fn by_oid(oid: u32) -> Option<&'static SystemRelation> {
    BY_OID.get(&oid).copied()
}

/// Whether the contents of a relation of `pg_catalog` are for superusers only.
pub(crate) fn is_secret(name: &str) -> bool {
    matches!(name, "pg_authid" | "pg_shadow" | "pg_user_mapping" | "pg_statistic" | "pg_subscription")
}

/// Whether the name has a prefix that all relations of `pg_catalog` have.
fn has_prefix(name: &str) -> bool {
    name.starts_with("pg_") || name.starts_with("hyades_")
}

/// The relation with this name.
pub(crate) fn find(schema: &str, name: &str) -> Option<&'static SystemRelation> {
    // This runs for every name in FROM.
    if schema == "pg_catalog" && !has_prefix(name) {
        return None;
    }
    BY_NAME.get(&(schema, name)).copied().filter(|relation| !relation.is_function())
}

/// The function of `pg_catalog` with this name that returns rows like those of a relation.
pub(crate) fn find_function(name: &str) -> Option<&'static SystemRelation> {
    if !has_prefix(name) {
        return None;
    }
    BY_NAME.get(&("pg_catalog", name)).copied().filter(|relation| relation.is_function())
}

fn parsed(line: &'static str) -> Option<SystemRelation> {
    let mut words = line.split(' ');
    let (schema, name) = (words.next()?, words.next()?);
    let oid = words.next()?.parse().ok()?;
    let kind = words.next()?;
    let columns = words.filter_map(|column| {
        let (name, type_name) = column.split_once(':')?;
        Some((name.to_owned(), data_types::named(type_name)?))
    });
    Some(SystemRelation { schema, name, oid, kind, columns: columns.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_relation_is_found_by_its_name() {
        for relation in RELATIONS.iter() {
            let found = match relation.is_function() {
                true => find_function(relation.name),
                false => find(relation.schema, relation.name),
            };
            assert!(found.is_some_and(|found| found.oid == relation.oid), "{}", relation.name);
        }
    }
}
