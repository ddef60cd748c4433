//! Routines that a statement calls, and those that are being compiled.
//!
//! A routine is compiled when something that calls it is. So the routines that a thread is compiling form a
//! chain, in which each is called by the one before it. Routines that call each other in cycles are compiled
//! once for each routine by which one comes into the cycle, its head: they are the strongly connected
//! components of the graph of calls, found while its nodes are compiled, depth first.
//!
//! Reference: R. Tarjan, Depth-first search and linear graph algorithms, SIAM Journal on Computing 1 (1972).

use std::cell::RefCell;
use std::sync::Arc;

use hyades_engine::procedure::ir::{Called, Callee, Procedure};
use hyades_engine::storage::stored_routine::{Routine, TRIGGER};
use hyades_engine::storage::stored_type::DOMAIN_CHECK;
use hyades_types::definition::RoutineDefinition;
use hyades_types::error::{Error, Result, sqlstate};

use super::Tables;
use super::types::written_type;

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
            (Callee::Member { number, .. }, Callee::Member { number: other, .. }) => number == other,
            (Callee::Procedure(own), Callee::Procedure(other)) => {
                Arc::ptr_eq(&own.procedure, &other.procedure)
            }
            _ => false,
        }
    }
}

/// What identifies a routine.
pub(crate) fn signature_of(definition: &RoutineDefinition) -> String {
    match definition.language.as_str() {
        // The names of these may be those of other routines.
        language @ (DOMAIN_CHECK | TRIGGER) => format!("{language} {}", definition.body),
        _ => {
            let signature = format!("{}.{}", definition.name.schema, definition.signature());
            match definition.declared {
                Some(_) => {
                    let types: Vec<_> = definition.types().map(written_type).collect();
                    format!("{signature} {}", types.join(", "))
                }
                None => signature,
            }
        }
    }
}

/// The error for a longer chain than [`DEEPEST_NESTING`].
pub(crate) fn too_deeply_nested() -> Error {
    let message = format!("routines that call others are nested more than {DEEPEST_NESTING} deep");
    Error::input(sqlstate::STATEMENT_TOO_COMPLEX, message)
}

/// A routine whose component is not complete: it is being compiled, or calls one that is.
struct Open {
    signature: String,
    /// The least number of the open routines that it is known to reach by calls.
    lowest: usize,
    /// What it was compiled to.
    compiled: Option<Called>,
}

/// The routines that a thread is compiling.
#[derive(Default)]
struct Compiling {
    /// In the order in which they were met. Their numbers are their places here.
    open: Vec<Open>,
    /// The numbers of those that are being compiled, each called by the one before it.
    chain: Vec<usize>,
}

thread_local! {
    static COMPILING: RefCell<Compiling> = RefCell::default();
}

impl Compiling {
    fn begin(&mut self, signature: String) -> Result<usize> {
        if self.chain.len() >= DEEPEST_NESTING as usize {
            return Err(too_deeply_nested());
        }
        // It is compiled again, for the catalog of a session.
        if let Some(before) = self.open.iter().position(|open| open.signature == signature) {
            self.open.truncate(before);
        }
        let number = self.open.len();
        if u16::try_from(number).is_err() {
            let message = "too many routines call each other";
            return Err(Error::input(sqlstate::STATEMENT_TOO_COMPLEX, message));
        }
        self.open.push(Open { signature, lowest: number, compiled: None });
        self.chain.push(number);
        Ok(number)
    }

    /// The number of an open routine, which the innermost one calls.
    fn reach(&mut self, signature: &str) -> Option<usize> {
        let number = self.open.iter().rposition(|open| open.signature == signature)?;
        self.note_reached(number);
        Some(number)
    }

    /// Notes what the innermost routine reaches.
    fn note_reached(&mut self, number: usize) {
        if let Some(innermost) = self.chain.last() {
            let lowest = &mut self.open[*innermost].lowest;
            *lowest = number.min(*lowest);
        }
    }

    /// Gives the head of a component its members. Others wait for their head.
    fn end(&mut self, number: usize, procedure: &mut Procedure) -> Result<()> {
        let lowest = self.open[number].lowest;
        if lowest < number {
            procedure.is_member = true;
            self.chain.pop();
            self.note_reached(lowest);
            return Ok(());
        }
        let members: Option<Vec<_>> = self.open.drain(number + 1..).map(|open| open.compiled).collect();
        let lacks = || Error::input(sqlstate::INTERNAL_ERROR, "a cycle of calls lacks a routine");
        procedure.become_head(member_number(number), members.ok_or_else(lacks)?);
        Ok(())
    }
}

fn member_number(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// Ends a compilation that has failed, or panicked, or completed a component.
struct Ends(usize);

impl Drop for Ends {
    fn drop(&mut self) {
        COMPILING.with_borrow_mut(|compiling| {
            compiling.chain.retain(|number| *number < self.0);
            compiling.open.truncate(self.0);
        });
    }
}

/// Compiles a routine, for which `signature` stands.
pub(crate) fn while_compiling(
    signature: String,
    compile: impl FnOnce() -> Result<Procedure>,
) -> Result<Procedure> {
    let number = COMPILING.with_borrow_mut(|compiling| compiling.begin(signature))?;
    let ends = Ends(number);
    let mut procedure = compile()?;
    COMPILING.with_borrow_mut(|compiling| compiling.end(number, &mut procedure))?;
    if procedure.is_member {
        std::mem::forget(ends);
    }
    Ok(procedure)
}

fn member(number: usize, routine: &RoutineDefinition) -> Callee {
    Callee::Member { number: member_number(number), name: routine.signature() }
}

/// What a call of the innermost routine calls.
pub(crate) fn itself(routine: &RoutineDefinition) -> Callee {
    let number = COMPILING.with_borrow(|compiling| compiling.chain.last().copied());
    member(number.unwrap_or_default(), routine)
}

/// What a call of `routine` calls. What was compiled from it goes when `source` is dropped.
pub(crate) fn callee_of(tables: &dyn Tables, routine: &Routine, source: &Arc<Routine>) -> Result<Callee> {
    let signature = signature_of(&routine.definition);
    if let Some(number) = COMPILING.with_borrow_mut(|compiling| compiling.reach(&signature)) {
        return Ok(member(number, &routine.definition));
    }
    let called = Called { procedure: tables.procedure(routine)?, routine: Arc::clone(source) };
    if !called.procedure.is_member {
        return Ok(Callee::Procedure(called));
    }
    COMPILING.with_borrow_mut(|compiling| {
        let number = compiling.reach(&signature);
        let number = number.ok_or_else(|| Error::input(sqlstate::INTERNAL_ERROR, "a cycle has no head"))?;
        compiling.open[number].compiled = Some(called);
        Ok(member(number, &routine.definition))
    })
}

/// The procedure that is called, unless it is being compiled. Of a member of a cycle it is known only what
/// it does itself.
pub(crate) fn compiled(callee: &Callee) -> Option<Arc<Procedure>> {
    match callee {
        Callee::Procedure(called) => Some(Arc::clone(&called.procedure)),
        Callee::Member { number, .. } => COMPILING.with_borrow(|compiling| {
            let open = compiling.open.get(usize::from(*number))?;
            open.compiled.as_ref().map(|called| Arc::clone(&called.procedure))
        }),
    }
}
