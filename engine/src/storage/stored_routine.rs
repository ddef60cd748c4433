//! A stored routine: its definition, and a place for what it was compiled to.
//!
//! Storage keeps the compiled form without knowing what it is (`procedure::compiled_routine` does): it
//! belongs to one version of the catalog, because names in the source may mean something else after any
//! change.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;
use xxhash_rust::xxh3::xxh3_64;

use hyades_types::definition::{RoutineDefinition, RoutineId};
use hyades_types::foundations::fingerprint;

/// What a routine was compiled to, and under which version of the catalog.
type Compiled = (u64, Arc<dyn Any + Send + Sync>);

/// A function or procedure in the catalog, with the procedure that it was compiled to last.
pub struct Routine {
    pub id: RoutineId,
    pub definition: RoutineDefinition,
    version_hash: u32,
    is_dropped: AtomicBool,
    compiled: RwLock<Option<Compiled>>,
    /// Version and address of what is kept in `compiled`, to be looked at without taking a lock for every
    /// call.
    kept_version: AtomicU64,
    kept_address: AtomicUsize,
}

/// No version of a catalog.
const NO_VERSION: u64 = u64::MAX;

impl Routine {
    pub fn new(id: RoutineId, definition: RoutineDefinition) -> Routine {
        Routine {
            id,
            version_hash: version_hash(&definition),
            definition,
            is_dropped: AtomicBool::new(false),
            compiled: RwLock::new(None),
            kept_version: AtomicU64::new(NO_VERSION),
            kept_address: AtomicUsize::new(0),
        }
    }

    /// Says what source, run by what kind of program, a logged call meant; the same on every machine.
    pub fn version_hash(&self) -> u32 {
        self.version_hash
    }

    /// Set when a DROP or a replacement commits, or a CREATE is rolled back. For good.
    pub fn mark_dropped(&self) {
        self.is_dropped.store(true, Ordering::Release);
        let mut compiled = self.compiled.write();
        self.kept_version.store(NO_VERSION, Ordering::SeqCst);
        *compiled = None;
    }

    pub fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Acquire)
    }

    /// What was compiled under this version of the catalog, if that was the last.
    pub(crate) fn compiled(&self, catalog_version: u64) -> Option<Arc<dyn Any + Send + Sync>> {
        let compiled = self.compiled.read();
        compiled.as_ref().filter(|(version, _)| *version == catalog_version).map(|(_, code)| Arc::clone(code))
    }

    /// Whether `code`, which the caller holds a reference to, is what was compiled under this version of the
    /// catalog. Writes nothing.
    pub(crate) fn is_compiled_as<C>(&self, catalog_version: u64, code: &C) -> bool {
        // The address is set only while there is no version: the same version before and after it means that
        // it belongs to it.
        self.kept_version.load(Ordering::SeqCst) == catalog_version
            && self.kept_address.load(Ordering::SeqCst) == address(code)
            && self.kept_version.load(Ordering::SeqCst) == catalog_version
    }

    /// Keeps what was just compiled, unless somebody else has kept something as good meanwhile: all shall run
    /// the same. Returns what is kept for this version of the catalog.
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
                self.kept_version.store(NO_VERSION, Ordering::SeqCst);
                self.kept_address.store(address(&*code), Ordering::SeqCst);
                self.kept_version.store(catalog_version, Ordering::SeqCst);
                *compiled = Some((catalog_version, Arc::clone(&code)));
                code
            }
        }
    }
}

fn address<C: ?Sized>(code: &C) -> usize {
    std::ptr::from_ref(code).cast::<()>().addr()
}

fn version_hash(definition: &RoutineDefinition) -> u32 {
    // JSON of a struct has its fields in their order; a map would not do.
    let json = serde_json::to_vec(definition).unwrap_or_default();
    (xxh3_64(&json) as u32).wrapping_add(fingerprint())
}

impl fmt::Debug for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routine")
            .field("id", &self.id)
            .field("signature", &self.definition.signature())
            .finish_non_exhaustive()
    }
}
