//! The source of each relation's rows. Other questions to the catalog are answered in `names` and
//! `functions`.

use std::sync::Arc;

use compact_str::CompactString;
use hyades_types::error::{Abort, Error, Result};
use hyades_types::sequence::Sequence;
use hyades_types::system_catalog::{Privileged, Question, Size, SystemCatalog};
use hyades_types::system_type::SystemType;
use hyades_types::value::{SqlType, Value};
use hyades_types::{guest, memory};

use super::relation::{self, SystemRelation};
use super::row::{NamedRow, int8, truth};
use super::snapshot::System;
use super::{
    builtins, casts, classes, cluster, constraints, extensions, granted, information_schema, object_id,
    operator_classes, roles, routines, sizes, statistics, triggers, views,
};

impl SystemCatalog for System {
    fn rows(&self, relation: u32) -> Result<Vec<Vec<Value>>> {
        let Some(relation) = relation::by_oid(relation) else { return self.sequence_row(relation) };
        let named = match relation.schema {
            "pg_catalog" => rows_of(relation.name)(self),
            _ => {
                let about_rights = granted::entries_of(relation.name);
                self.seen(about_rights.unwrap_or_else(|| information_schema::entries_of(relation.name))(self))
            }
        };
        guest::spend_for(named.len() * relation.columns.len())?;
        memory::check(0)?;
        Ok(named.into_iter().map(|row| complete(row, relation)).collect())
    }

    fn shown(&self, system_type: SystemType, oid: u32) -> CompactString {
        self.shown_object(system_type, oid)
    }

    fn find(&self, system_type: SystemType, text: &str) -> Result<u32> {
        self.find_object(system_type, text)
    }

    fn size(&self, size: Size, relation: u32) -> Value {
        self.size_of(size, relation)
    }

    fn database_size(&self, database: &Value) -> Result<Value> {
        self.database_bytes(database)
    }

    fn has_privilege(&self, of: Privileged, arguments: &[Value]) -> Result<Value> {
        self.privilege_held(of, arguments)
    }

    fn answer(&self, question: Question, arguments: &[Value]) -> Value {
        self.answer_question(question, arguments)
    }
}

impl System {
    /// The row of the sequence with this number. If it has been dropped since the statement was compiled,
    /// the statement is compiled again.
    fn sequence_row(&self, oid: u32) -> Result<Vec<Vec<Value>>> {
        let is_meant = |sequence: &&Arc<Sequence>| object_id::of_sequence(sequence.id) == oid;
        let found = self.facts.sequences.iter().find(is_meant).ok_or(Error::Abort(Abort::StalePlan))?;
        let state = found.state();
        // No numbers are logged before they are used.
        Ok(vec![vec![int8(state.value), int8(0), truth(state.is_called)]])
    }
}

/// The source of the rows of a relation in `pg_catalog`. A relation that is not listed is about objects
/// that cannot be created here.
fn rows_of(name: &str) -> fn(&System) -> Vec<NamedRow> {
    match name {
        "pg_class" => classes::classes,
        "pg_attribute" => classes::attributes,
        "pg_attrdef" => classes::defaults,
        "pg_index" => classes::indexes,
        "pg_sequence" => classes::sequences,
        "pg_constraint" => constraints::constraints,
        "pg_depend" => constraints::dependencies,
        "pg_rewrite" => constraints::rules,
        "pg_trigger" => triggers::triggers,
        "pg_proc" => routines::routines,
        "pg_description" => System::description_rows,
        "pg_type" => System::type_rows,
        "pg_enum" => System::enum_rows,
        "pg_aggregate" => routines::aggregates,
        "pg_cast" => casts::casts,
        "pg_operator" => builtins::operators,
        "pg_opclass" => operator_classes::operator_classes,
        "pg_am" => cluster::access_methods,
        "pg_authid" => roles::authorizations,
        "pg_auth_members" => roles::memberships,
        "pg_db_role_setting" => roles::stored_settings,
        "pg_get_keywords" => builtins::keywords,
        "pg_group" => roles::groups,
        "pg_roles" => roles::roles,
        "pg_shadow" => roles::shadows,
        "pg_user" => roles::users,
        "pg_collation" => cluster::collations,
        "pg_cursors" => views::cursors,
        "pg_database" => cluster::databases,
        "pg_extension" => extensions::extensions,
        "pg_language" => cluster::languages,
        "pg_locks" => views::locks,
        "pg_namespace" => cluster::namespaces,
        "pg_tablespace" => cluster::tablespaces,
        "pg_indexes" => views::indexes,
        "pg_prepared_statements" => views::prepared_statements,
        "pg_sequences" => views::sequences,
        "pg_settings" => views::settings,
        "pg_stat_activity" => views::activity,
        "pg_stat_database" => sizes::databases,
        "hyades_checkpoint" => sizes::checkpoint,
        "hyades_logs" => sizes::logs,
        "hyades_memory" => sizes::memory,
        "hyades_restart" => sizes::restart,
        "pg_stat_ssl" => views::encryptions,
        "pg_tables" => views::tables,
        "pg_views" => views::views,
        "pg_matviews" => views::materialized,
        "pg_available_extensions" => extensions::available_extensions,
        "pg_available_extension_versions" => extensions::available_versions,
        "pg_timezone_names" => cluster::time_zones,
        _ => statistics::rows_of(name).unwrap_or(|_| Vec::new()),
    }
}

/// The row with all columns of the relation.
fn complete(row: NamedRow, relation: &SystemRelation) -> Vec<Value> {
    let mut named = row.into_iter().peekable();
    let values = relation
        .columns
        .iter()
        .map(|(name, sql_type)| match named.next_if(|(own, _)| own == name) {
            Some((_, value)) => {
                debug_assert!(value.fits(*sql_type), "{name} is {value:?}");
                value
            }
            None if relation.kind == "v" => Value::Null,
            None => unsaid(*sql_type),
        })
        .collect();
    debug_assert_eq!(named.next(), None, "there is no such column, or not there");
    values
}

fn unsaid(sql_type: SqlType) -> Value {
    match sql_type {
        SqlType::Boolean => Value::Boolean(false),
        SqlType::SmallInt => Value::SmallInt(0),
        SqlType::Integer => Value::Integer(0),
        SqlType::System(SystemType::Char) => Value::text(""),
        SqlType::System(system_type) if system_type.is_number() => Value::Oid(0),
        SqlType::System(system_type) if system_type.is_reference() => Value::reference(system_type, 0, "-"),
        _ => Value::Null,
    }
}
