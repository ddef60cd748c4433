//! Constraints that are checked when the transaction ends, and SET CONSTRAINTS.
//!
//! Pending checks are kept by the environment (`hyades_types::deferred_checks`), where the procedures of
//! statements put them. Each check is a procedure of its own, run in the transaction before it commits. It
//! only reads, so it may stop and continue like any statement, and nothing must be undone if its plan is
//! stale. A deferred constraint trigger is run in the same way, and may do anything: if its plan is stale,
//! the work of that run is undone first.
//!
//! Reference: PostgreSQL's AfterTriggerFireDeferred and AfterTriggerSetState.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::procedure::frame::{Message, RowSink};
use hyades_engine::procedure::ir::Procedure;
use hyades_types::deferred_checks::DeferrableCheck;
use hyades_types::definition::{Deferral, TableDefinition, TableId};
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::guest;
use hyades_types::value::Value;

use super::run::unattended;
use super::{Notice, Session};
use crate::emit::referential_events::compile_check;
use crate::statement::QualifiedName;

/// The cost of a check, as work of a guest, and the number of checks that are passed for a unit.
const UNITS_PER_CHECK: usize = 100;
const CHECKS_PER_UNIT: usize = 2;

/// For runs that return no rows and have no output for messages: these are kept for
/// [`Session::take_notices`].
pub(super) struct Kept<'a>(pub(super) &'a mut Vec<Notice>);

impl RowSink for Kept<'_> {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }

    fn message(&mut self, message: Message) {
        self.0.push(Notice::of(message));
    }
}

impl Session {
    /// Runs pending checks: all of them at the end of the transaction, otherwise those that may not be
    /// deferred any longer.
    pub(super) fn check_deferred(&mut self, is_end: bool) -> Flow<()> {
        let mut last: Option<(DeferrableCheck, Arc<Procedure>)> = None;
        let (mut from, mut is_another_attempt) = (0, false);
        while let Some((number, check)) = self.view.environment.deferred.next(from, is_end) {
            // One check is a short run of its own. Those before it, which stay deferred, were passed.
            guest::spend_for(UNITS_PER_CHECK + (number - from) / CHECKS_PER_UNIT)?;
            from = number;
            let (check, values) = (check.check.clone(), check.values.clone());
            let (mut frame, before) = match self.checking.take() {
                // The check has waited.
                Some(checking) => checking,
                None => {
                    let known = last.take().filter(|(known, _)| *known == check);
                    let procedure = match known {
                        Some((_, procedure)) => Some(procedure),
                        None => self.view.with_context(|context| compile_check(context, &check))?,
                    };
                    let Some(procedure) = procedure else {
                        // The constraint no longer exists.
                        self.view.environment.deferred.finish(number);
                        is_another_attempt = false;
                        continue;
                    };
                    last = Some((check, Arc::clone(&procedure)));
                    let mut frame = self.take_frame(&procedure);
                    for (register, value) in frame.registers.iter_mut().zip(values) {
                        *register = value;
                    }
                    if !std::mem::take(&mut is_another_attempt) {
                        self.begin_attempts();
                    }
                    (frame, self.view.worker.savepoint())
                }
            };
            let mut messages = Kept(&mut self.notices);
            let outcome = self.view.worker.run(&mut frame, &mut self.view.environment, &mut messages);
            match outcome.map_err(unattended) {
                Ok(()) => {
                    self.view.environment.deferred.finish(number);
                    self.keep_frame(frame);
                }
                Err(Interrupt::Wait(ticket)) => {
                    self.checking = Some((frame, before));
                    return Err(Interrupt::Wait(ticket));
                }
                Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) => {
                    self.note_stale_plan()?;
                    drop(self.view.worker.rollback_to(before));
                    self.forget_attempt();
                    is_another_attempt = true;
                    last = None;
                }
                Err(failed) => return Err(failed),
            }
        }
        Ok(())
    }

    /// SET CONSTRAINTS. No names means ALL.
    pub(super) fn set_constraints(&mut self, names: &[QualifiedName], is_deferred: bool) -> Flow<()> {
        let mut found = Vec::new();
        for name in names {
            found.extend(self.deferrable(name, is_deferred)?);
        }
        if !self.view.worker.in_transaction() {
            return Ok(());
        }
        if names.is_empty() {
            self.view.environment.deferred.set(None, is_deferred);
        }
        for constraint in found {
            self.view.environment.deferred.set(Some(constraint), is_deferred);
        }
        if is_deferred { Ok(()) } else { self.check_deferred(false) }
    }

    /// The deferrable constraints of this name, in the first schema that has any constraint of that name.
    fn deferrable(&self, name: &QualifiedName, is_deferred: bool) -> Result<Vec<(TableId, String)>> {
        let path = self.view.search_path();
        let schemas: Vec<&str> = match &name.schema {
            Some(schema) => vec![path.schema(schema)],
            None => path.searched().collect(),
        };
        let tables = self.view.visible_tables();
        for schema in schemas {
            let mut found = Vec::new();
            let mut is_known = false;
            for table in &tables {
                let definition = table.definition();
                if definition.name.schema != schema || !definition.has_constraint(&name.name) {
                    continue;
                }
                is_known = true;
                match deferral(&definition, &name.name) {
                    Deferral::Never if is_deferred => return Err(not_deferrable(name)),
                    Deferral::Never => {}
                    _ => found.push((table.id(), name.name.clone())),
                }
            }
            if is_known {
                return Ok(found);
            }
        }
        let message = format!("constraint \"{}\" does not exist", name.name);
        Err(Error::input(sqlstate::UNDEFINED_OBJECT, message))
    }
}

/// When the constraint of this name is checked.
fn deferral(definition: &TableDefinition, name: &str) -> Deferral {
    let of_key = definition.foreign_key(name).map(|key| key.deferral);
    let of_index = || definition.index_named(name).map(|index| index.deferral);
    let of_trigger = || definition.trigger(name).and_then(|trigger| trigger.constraint);
    of_key.or_else(of_index).or_else(of_trigger).unwrap_or_default()
}

fn not_deferrable(name: &QualifiedName) -> Error {
    let message = format!("constraint \"{}\" is not deferrable", name.name);
    Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
}
