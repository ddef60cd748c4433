//! Constraints that are checked when the transaction ends, and SET CONSTRAINTS.
//!
//! What waits is kept by the environment (`hyades_types::deferred_checks`), where the procedures of
//! statements put it. Each check is a procedure of its own, run in the transaction before it commits; it only
//! looks, so it may stop and go on like any statement, and nothing is to be taken back if its plan is stale.
//!
//! Reference: PostgreSQL's AfterTriggerFireDeferred and AfterTriggerSetState.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::procedure::frame::RowSink;
use hyades_engine::procedure::ir::Procedure;
use hyades_types::deferred_checks::DeferrableCheck;
use hyades_types::definition::{Deferral, TableId};
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::value::Value;

use super::Session;
use super::run::unattended;
use crate::compile::referential_events::compile_check;
use crate::statement::QualifiedName;

/// A check answers nothing.
struct Nothing;

impl RowSink for Nothing {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }
}

impl Session {
    /// Makes the checks that wait: all of them at the end of the transaction, else those that may not wait
    /// any longer.
    pub(super) fn check_deferred(&mut self, is_end: bool) -> Flow<()> {
        let mut last: Option<(DeferrableCheck, Arc<Procedure>)> = None;
        while let Some((number, check)) = self.environment.deferred.next(is_end) {
            let (check, values) = (check.check.clone(), check.values.clone());
            let mut frame = match self.checking.take() {
                // It has waited.
                Some(frame) => frame,
                None => {
                    let known = last.take().filter(|(known, _)| *known == check);
                    let procedure = match known {
                        Some((_, procedure)) => Some(procedure),
                        None => self.with_context(|context| compile_check(context, &check))?,
                    };
                    let Some(procedure) = procedure else {
                        // The constraint is gone.
                        self.environment.deferred.finish(number);
                        continue;
                    };
                    last = Some((check, Arc::clone(&procedure)));
                    let mut frame = self.take_frame(&procedure);
                    for (register, value) in frame.registers.iter_mut().zip(values) {
                        *register = value;
                    }
                    frame
                }
            };
            let outcome = self.worker.run(&mut frame, &mut self.environment, &mut Nothing);
            match outcome.map_err(unattended) {
                Ok(()) => {
                    self.environment.deferred.finish(number);
                    self.keep_frame(frame);
                }
                Err(Interrupt::Wait(ticket)) => {
                    self.checking = Some(frame);
                    return Err(Interrupt::Wait(ticket));
                }
                Err(Interrupt::Failed(Error::Abort(Abort::StalePlan))) => last = None,
                Err(failed) => return Err(failed),
            }
        }
        Ok(())
    }

    /// SET CONSTRAINTS; no names: ALL.
    pub(super) fn set_constraints(&mut self, names: &[QualifiedName], is_deferred: bool) -> Flow<()> {
        let mut found = Vec::new();
        for name in names {
            found.extend(self.deferrable(name, is_deferred)?);
        }
        if !self.worker.in_transaction() {
            return Ok(());
        }
        if names.is_empty() {
            self.environment.deferred.set(None, is_deferred);
        }
        for constraint in found {
            self.environment.deferred.set(Some(constraint), is_deferred);
        }
        if is_deferred { Ok(()) } else { self.check_deferred(false) }
    }

    /// The constraints of this name that can be deferred, in the first schema that has any of that name.
    fn deferrable(&self, name: &QualifiedName, is_deferred: bool) -> Result<Vec<(TableId, String)>> {
        let mut found = Vec::new();
        let mut is_known = false;
        for table in self.visible_tables() {
            let definition = table.definition();
            let is_meant = name.schema.as_ref().is_none_or(|schema| *schema == definition.name.schema);
            if !is_meant || !self.shows(&definition.name) {
                continue;
            }
            let key = definition.foreign_key(&name.name);
            let is_index = definition.primary_key.as_ref().is_some_and(|key| key.name == name.name)
                || definition.index_named(&name.name).is_some_and(|index| index.is_constraint);
            match key {
                Some(key) if key.deferral != Deferral::Never => found.push((table.id(), name.name.clone())),
                Some(_) if is_deferred => return Err(not_deferrable(name)),
                None if is_index && is_deferred => return Err(not_deferrable(name)),
                _ => {}
            }
            is_known |= key.is_some() || is_index;
        }
        if is_known {
            return Ok(found);
        }
        let message = format!("constraint \"{}\" does not exist", name.name);
        Err(Error::input(sqlstate::UNDEFINED_OBJECT, message))
    }
}

fn not_deferrable(name: &QualifiedName) -> Error {
    let message = format!("constraint \"{}\" is not deferrable", name.name);
    Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
}
