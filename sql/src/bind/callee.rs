//! Routines that a statement calls, and those that are being compiled.
//!
//! A routine is compiled when something that calls it is. So the routines that a thread is compiling form a
//! chain, in which each is called by the one before it. A call of one of them is a cycle, and is compiled to
//! a call of an enclosing procedure.

use std::cell::RefCell;
use std::sync::Arc;

use hyades_engine::procedure::ir::Callee;
use hyades_engine::storage::stored_routine::TRIGGER;
use hyades_engine::storage::stored_type::DOMAIN_CHECK;
use hyades_types::definition::RoutineDefinition;
use hyades_types::error::{Error, Result, sqlstate};

/// The most routines of which each calls the next, recursion aside.
pub(crate) const DEEPEST_NESTING: u32 = 1000;

/// A routine that is called.
#[derive(Clone, Debug)]
pub(crate) struct CalleeEntry {
    pub(crate) callee: Callee,
    /// A NULL argument gives NULL without a call.
    pub(crate) is_strict: bool,
}

impl CalleeEntry {
    pub(crate) fn is_same(&self, other: &CalleeEntry) -> bool {
        match (&self.callee, &other.callee) {
            (Callee::Enclosing(own), Callee::Enclosing(other)) => own == other,
            (Callee::Procedure { procedure: own, .. }, Callee::Procedure { procedure: other, .. }) => {
                Arc::ptr_eq(own, other)
            }
            _ => false,
        }
    }
}

thread_local! {
    /// What identifies the routines that this thread is compiling, the innermost last.
    static COMPILING: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What identifies a routine.
pub(crate) fn signature_of(definition: &RoutineDefinition) -> String {
    match definition.language.as_str() {
        // The names of these may be those of other routines.
        language @ (DOMAIN_CHECK | TRIGGER) => format!("{language} {}", definition.body),
        _ => format!("{}.{}", definition.name.schema, definition.signature()),
    }
}

/// The error for a longer chain than [`DEEPEST_NESTING`].
pub(crate) fn too_deeply_nested() -> Error {
    let message = format!("routines that call others are nested more than {DEEPEST_NESTING} deep");
    Error::input(sqlstate::STATEMENT_TOO_COMPLEX, message)
}

/// Ends the compilation of the innermost routine, also in a panic.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        COMPILING.with_borrow_mut(|compiling| compiling.pop());
    }
}

/// Compiles a routine, for which `signature` stands.
pub(crate) fn while_compiling<T>(signature: String, compile: impl FnOnce() -> Result<T>) -> Result<T> {
    COMPILING.with_borrow_mut(|compiling| compiling.push(signature));
    let _ends = Ends;
    if COMPILING.with_borrow(Vec::len) > DEEPEST_NESTING as usize {
        return Err(too_deeply_nested());
    }
    compile()
}

/// The callee that stands for a routine that is being compiled.
pub(crate) fn enclosing(signature: impl FnOnce() -> String) -> Option<Callee> {
    COMPILING.with_borrow(|compiling| {
        if compiling.is_empty() {
            return None;
        }
        let signature = signature();
        let levels = compiling.iter().rev().position(|known| *known == signature)?;
        u16::try_from(levels).ok().map(Callee::Enclosing)
    })
}
