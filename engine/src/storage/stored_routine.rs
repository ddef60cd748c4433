//! A stored routine: its definition, and a place for its compiled form.
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

use hyades_types::definition::{RoutineDefinition, RoutineId, TableId, TriggerEvent};
use hyades_types::foundations::fingerprint;
use hyades_types::value::SqlType;

/// The compiled form of a routine, and the version of the catalog under which it was compiled.
type Compiled = (u64, Arc<dyn Any + Send + Sync>);

/// The language of what a trigger runs, for the compiler. Its body is a [`Firing`].
pub const TRIGGER: &str = "trigger";

/// An occasion on which a trigger's function runs. It is compiled for each of them, because the columns of
/// its records `NEW` and `OLD` are those of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    pub table: TableId,
    pub event: TriggerEvent,
    pub trigger: String,
}

impl Firing {
    /// The body of the routine that stands for it.
    fn written(&self) -> String {
        format!("{} {} {}", self.table.0, self.event.word(), self.trigger)
    }

    /// Reads the body of such a routine.
    pub fn read(body: &str) -> Option<Firing> {
        let mut parts = body.splitn(3, ' ');
        let table = TableId(parts.next()?.parse().ok()?);
        let word = parts.next()?;
        let events =
            [TriggerEvent::Insert, TriggerEvent::Delete, TriggerEvent::Update, TriggerEvent::Truncate];
        let event = events.into_iter().find(|event| event.word() == word)?;
        Some(Firing { table, event, trigger: parts.next()?.to_owned() })
    }
}

/// A function or procedure in the catalog, with the procedure it was last compiled to.
pub struct Routine {
    pub id: RoutineId,
    pub definition: RoutineDefinition,
    version_hash: u32,
    is_dropped: AtomicBool,
    compiled: RwLock<Option<Compiled>>,
    /// Version and address of what is kept in `compiled`, so that a call can check them without taking a
    /// lock.
    kept_version: AtomicU64,
    kept_address: AtomicUsize,
    /// The forms of it that are compiled each by itself.
    forms: RwLock<Vec<(Form, Arc<Routine>)>>,
}

/// What a routine is compiled for, if that is not the routine as it is stored.
#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// Of a trigger function.
    Firing(Firing),
    /// Of a polymorphic routine: the types in its signature.
    Types(Vec<SqlType>),
}

/// Is no version of a catalog.
const NO_VERSION: u64 = u64::MAX;

impl Routine {
    /// The extension that it belongs to.
    pub fn extension(&self) -> Option<&str> {
        self.definition.traits.extension.as_deref()
    }

    pub fn new(id: RoutineId, definition: RoutineDefinition) -> Routine {
        Routine {
            id,
            version_hash: version_hash(&definition),
            definition,
            is_dropped: AtomicBool::new(false),
            compiled: RwLock::new(None),
            kept_version: AtomicU64::new(NO_VERSION),
            kept_address: AtomicUsize::new(0),
            forms: RwLock::default(),
        }
    }

    /// The routine that stands for this function on an occasion.
    pub fn on(&self, firing: &Firing) -> Arc<Routine> {
        // Temporary tables come and go, each with a number of its own.
        let is_kept = !firing.table.is_temporary();
        self.form(Form::Firing(firing.clone()), is_kept, || RoutineDefinition {
            language: TRIGGER.to_owned(),
            body: firing.written(),
            ..self.definition.clone()
        })
    }

    /// The routine that stands for this polymorphic one where it is called with certain types. `definition`
    /// is made of its own ([`RoutineDefinition::with_actual`]).
    pub fn called_with(&self, definition: RoutineDefinition) -> Arc<Routine> {
        self.form(Form::Types(definition.types().collect()), true, || definition)
    }

    fn form(&self, form: Form, is_kept: bool, define: impl FnOnce() -> RoutineDefinition) -> Arc<Routine> {
        let find = |known: &[(Form, Arc<Routine>)]| {
            known.iter().find(|(known, _)| *known == form).map(|(_, routine)| Arc::clone(routine))
        };
        if let Some(known) = find(&self.forms.read()) {
            return known;
        }
        let mut forms = self.forms.write();
        find(&forms).unwrap_or_else(|| {
            let routine = Arc::new(Routine::new(self.id, define()));
            if is_kept && !self.is_dropped() {
                forms.push((form, Arc::clone(&routine)));
            }
            routine
        })
    }

    /// Identifies the source and the kind of program that a logged call ran; the same on every machine.
    pub fn version_hash(&self) -> u32 {
        self.version_hash
    }

    /// Set when a DROP or a replacement commits, or a CREATE is rolled back. Never reset.
    pub fn mark_dropped(&self) {
        self.is_dropped.store(true, Ordering::Release);
        let mut compiled = self.compiled.write();
        self.kept_version.store(NO_VERSION, Ordering::SeqCst);
        *compiled = None;
        self.forms.write().drain(..).for_each(|(_, routine)| routine.mark_dropped());
    }

    pub fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Acquire)
    }

    /// The code compiled under this version of the catalog, if that was the last compilation.
    pub(crate) fn compiled(&self, catalog_version: u64) -> Option<Arc<dyn Any + Send + Sync>> {
        let compiled = self.compiled.read();
        compiled.as_ref().filter(|(version, _)| *version == catalog_version).map(|(_, code)| Arc::clone(code))
    }

    /// Whether `code`, to which the caller holds a reference, was compiled under this version of the catalog.
    /// Writes nothing.
    pub(crate) fn is_compiled_as<C>(&self, catalog_version: u64, code: &C) -> bool {
        // The address is set only while there is no version, so the same version before and after it means
        // that the two belong together.
        self.kept_version.load(Ordering::SeqCst) == catalog_version
            && self.kept_address.load(Ordering::SeqCst) == address(code)
            && self.kept_version.load(Ordering::SeqCst) == catalog_version
    }

    /// Keeps newly compiled code, unless another thread has kept an equivalent meanwhile: all calls should
    /// run the same code. Returns the code kept for this version of the catalog.
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
