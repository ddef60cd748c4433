//! A type in the catalog: one version of its definition, and whether there is a later one.

use std::sync::atomic::{AtomicBool, Ordering};

use hyades_types::definition::TableName;
use hyades_types::enumeration::EnumType;

/// An enum type as the catalog has it.
#[derive(Debug)]
pub struct StoredType {
    pub enum_type: EnumType,
    is_superseded: AtomicBool,
}

impl StoredType {
    pub fn new(enum_type: EnumType) -> StoredType {
        StoredType { enum_type, is_superseded: AtomicBool::new(false) }
    }

    pub fn id(&self) -> u32 {
        self.enum_type.definition().id
    }

    pub fn name(&self) -> TableName {
        let definition = self.enum_type.definition();
        TableName { schema: definition.schema.clone(), name: definition.name.clone() }
    }

    /// Set when ALTER TYPE or DROP TYPE commits, or a change is rolled back, and never reset: code compiled
    /// with this version is stale.
    pub fn mark_superseded(&self) {
        self.is_superseded.store(true, Ordering::Release);
    }

    pub fn is_superseded(&self) -> bool {
        self.is_superseded.load(Ordering::Acquire)
    }
}
