//! A type in the catalog: one version of its definition, and whether there is a later one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyades_types::definition::{
    ParameterMode, Returns, RoutineDefinition, RoutineId, RoutineKind, RoutineParameter, RoutineTraits,
    TableName, TypeDefinition,
};
use hyades_types::enumeration::EnumType;
use hyades_types::extension::ExtensionType;
use hyades_types::value::{ArrayElement, SqlType};

use super::stored_routine::Routine;
use super::table::Table;

/// The language of the function that checks the values of a domain, for the compiler. Its body is the number
/// of the domain.
pub const DOMAIN_CHECK: &str = "domain check";

/// A type as the catalog has it.
#[derive(Debug)]
pub struct StoredType {
    pub definition: TypeDefinition,
    /// Set if it is an enum.
    pub enum_type: Option<EnumType>,
    /// The type of its values; `None` for a domain, whose values are of another type.
    pub sql_type: Option<SqlType>,
    /// Set if it is a domain with constraints: a function that returns its argument, or fails if that is not
    /// a value of the domain.
    pub check: Option<Arc<Routine>>,
    is_superseded: AtomicBool,
    /// Set if it is the type of a relation's rows: the relation, and its version.
    rows_of: Option<(Arc<Table>, u64)>,
}

impl StoredType {
    pub fn new(definition: TypeDefinition) -> StoredType {
        let (enum_type, sql_type) = (definition.enum_type(), definition.sql_type());
        let check = check_of(&definition).map(Arc::new);
        StoredType {
            definition,
            enum_type,
            sql_type,
            check,
            is_superseded: AtomicBool::new(false),
            rows_of: None,
        }
    }

    /// The type of the rows of a relation, which is not in the catalog.
    pub fn of_rows(table: &Arc<Table>) -> StoredType {
        let version = table.version();
        let row_type = table.definition().row_type(table.id());
        let definition = TypeDefinition::of_rows(row_type);
        StoredType { rows_of: Some((Arc::clone(table), version)), ..StoredType::new(definition) }
    }

    pub fn id(&self) -> u32 {
        self.definition.id
    }

    /// Its type, or that of its arrays, whichever has this number.
    pub fn type_with(&self, oid: u32) -> Option<SqlType> {
        let own = self.sql_type?;
        let array = ArrayElement::fitted(own).map(SqlType::Array);
        [Some(own), array].into_iter().flatten().find(|one| one.oid() == oid)
    }

    /// The extension that has brought it.
    pub fn extension(&self) -> Option<&str> {
        self.definition.extension_type().map(ExtensionType::name)
    }

    pub fn name(&self) -> TableName {
        self.definition.full_name()
    }

    /// The definition was rolled back.
    pub fn mark_void(&self) {
        self.mark_superseded();
        self.enum_type.inspect(|enum_type| enum_type.mark_void());
    }

    /// Set when ALTER TYPE or DROP TYPE commits, or a change is rolled back, and never reset: code compiled
    /// with this version is stale.
    pub fn mark_superseded(&self) {
        self.is_superseded.store(true, Ordering::Release);
        self.check.iter().for_each(|check| check.mark_dropped());
    }

    pub fn is_superseded(&self) -> bool {
        let is_changed =
            |(table, version): &(Arc<Table>, u64)| table.version() != *version || table.is_dropped();
        self.is_superseded.load(Ordering::Acquire) || self.rows_of.as_ref().is_some_and(is_changed)
    }
}

fn check_of(definition: &TypeDefinition) -> Option<Routine> {
    let domain = definition.domain().filter(|domain| domain.has_constraints())?;
    let value = RoutineParameter {
        name: Some("value".to_owned()),
        sql_type: domain.base,
        mode: ParameterMode::In,
        default: None,
    };
    let check = RoutineDefinition {
        name: definition.full_name(),
        kind: RoutineKind::Function,
        parameters: vec![value],
        returns: Returns::Value(domain.base),
        language: DOMAIN_CHECK.to_owned(),
        body: definition.id.to_string(),
        is_strict: false,
        path: None,
        traits: RoutineTraits::default(),
        uses: None,
        aggregate: None,
        cast: None,
        declared: None,
    };
    Some(Routine::new(RoutineId(definition.id), check))
}
