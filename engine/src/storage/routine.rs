//! A stored routine: its definition, and a place for what it was compiled to.
//!
//! Storage keeps the compiled form without knowing what it is (`procedure::routine` does): it belongs to one version of the catalog,
//! because names in the source may mean something else after any change.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::{RoutineDefinition, RoutineId};

/// Changes when the same source would run differently under a newer program: a call logged by the older one is then refused.
const SEMANTICS_VERSION: u32 = 1;

/// What a routine was compiled to, and under which version of the catalog.
type Compiled = (u64, Arc<dyn Any + Send + Sync>);

/// See the module head.
pub struct Routine {
    pub id: RoutineId,
    pub definition: RoutineDefinition,
    version_hash: u32,
    is_dropped: AtomicBool,
    compiled: RwLock<Option<Compiled>>,
}

impl Routine {
    pub fn new(id: RoutineId, definition: RoutineDefinition) -> Routine {
        Routine {
            id,
            version_hash: version_hash(&definition),
            definition,
            is_dropped: AtomicBool::new(false),
            compiled: RwLock::new(None),
        }
    }

    /// Says what source, run by what kind of program, a logged call meant; the same on every machine.
    pub fn version_hash(&self) -> u32 {
        self.version_hash
    }

    /// Set when a DROP or a replacement commits, or a CREATE is rolled back. For good.
    pub fn mark_dropped(&self) {
        self.is_dropped.store(true, Ordering::Release);
        *self.compiled.write() = None;
    }

    pub fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Acquire)
    }

    /// What was compiled under this version of the catalog, if that was the last.
    pub(crate) fn compiled(&self, catalog_version: u64) -> Option<Arc<dyn Any + Send + Sync>> {
        let compiled = self.compiled.read();
        compiled.as_ref().filter(|(version, _)| *version == catalog_version).map(|(_, code)| Arc::clone(code))
    }

    /// Keeps what was just compiled, unless somebody else has kept something as good meanwhile: all shall run the same. Answers what
    /// is kept for this version of the catalog.
    pub(crate) fn keep_compiled(
        &self,
        catalog_version: u64,
        code: Arc<dyn Any + Send + Sync>,
        is_good: impl Fn(&(dyn Any + Send + Sync)) -> bool,
    ) -> Arc<dyn Any + Send + Sync> {
        let mut compiled = self.compiled.write();
        match &*compiled {
            Some((version, kept)) if *version == catalog_version && is_good(&**kept) => Arc::clone(kept),
            Some((version, _)) if *version > catalog_version => code,
            _ => {
                *compiled = Some((catalog_version, Arc::clone(&code)));
                code
            }
        }
    }
}

fn version_hash(definition: &RoutineDefinition) -> u32 {
    // JSON of a struct has its fields in their order; a map would not do.
    let json = serde_json::to_vec(definition).unwrap_or_default();
    (xxh3_64(&json) as u32).wrapping_add(SEMANTICS_VERSION)
}

impl fmt::Debug for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routine")
            .field("id", &self.id)
            .field("signature", &self.definition.signature())
            .finish_non_exhaustive()
    }
}
