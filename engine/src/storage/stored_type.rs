//! A type in the catalog: one version of its definition, and whether there is a later one.

use std::sync::atomic::{AtomicBool, Ordering};

use hyades_types::definition::{TableName, TypeDefinition};
use hyades_types::enumeration::EnumType;

/// A type as the catalog has it.
#[derive(Debug)]
pub struct StoredType {
    pub definition: TypeDefinition,
    /// Set if it is an enum.
    pub enum_type: Option<EnumType>,
    is_superseded: AtomicBool,
}

impl StoredType {
    pub fn new(definition: TypeDefinition) -> StoredType {
        let enum_type = EnumType::of(&definition);
        StoredType { definition, enum_type, is_superseded: AtomicBool::new(false) }
    }

    pub fn id(&self) -> u32 {
        self.definition.id
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
    }

    pub fn is_superseded(&self) -> bool {
        self.is_superseded.load(Ordering::Acquire)
    }
}
