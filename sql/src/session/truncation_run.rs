//! The triggers of TRUNCATE.
//!
//! Those before the statement run once all of its tables are locked, and those after it once all of them are
//! empty, each time table by table. Without such triggers the tables are locked one by one as they are
//! emptied.
//!
//! Reference: ExecuteTruncateGuts of PostgreSQL's tablecmds.c.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt, TableLock, Waiting};
use hyades_engine::procedure::frame::Frame;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{CatalogChange, TableId, TriggerEvent, TriggerTiming};
use hyades_types::error::{Abort, Error, Result};
use hyades_types::refusal::{Missing, refused};

use super::Session;
use super::alteration_run::Told;
use super::requests::asks_for_schema_change;
use super::running::TruncationRun;
use crate::answer::Output;
use crate::ddl::command::SchemaCommand;
use crate::emit::triggers::triggers_of_statement;
use crate::viewpoint::Viewpoint;

fn has_trigger(table: &Table) -> bool {
    table.definition().triggers.iter().any(|trigger| trigger.events.contains(&TriggerEvent::Truncate))
}

fn stale<T>() -> Flow<T> {
    Err(Interrupt::Failed(Error::Abort(Abort::StalePlan)))
}

impl TruncationRun {
    /// For a command that empties tables with triggers.
    pub(super) fn of(
        view: &Viewpoint,
        command: &SchemaCommand,
        changes: &[CatalogChange],
    ) -> Option<Box<TruncationRun>> {
        if !matches!(command, SchemaCommand::Truncate { .. }) {
            return None;
        }
        let tables: Vec<TableId> = truncated(changes).collect();
        let is_one = |id: &TableId| view.table_by_id(*id).is_some_and(|table| has_trigger(&table));
        tables
            .iter()
            .any(is_one)
            .then(|| Box::new(TruncationRun { tables, locked: 0, fired: 0, is_emptied: false, frame: None }))
    }
}

fn truncated(changes: &[CatalogChange]) -> impl Iterator<Item = TableId> {
    changes.iter().filter_map(|change| match change {
        CatalogChange::Truncate { id } => Some(*id),
        _ => None,
    })
}

impl Session {
    /// The next step before the tables are emptied. Returns false if nothing is left to do.
    pub(super) fn before_truncation(
        &mut self,
        run: &mut TruncationRun,
        changes: &[CatalogChange],
        output: &mut dyn Output,
    ) -> Flow<bool> {
        if run.is_emptied {
            return Ok(false);
        }
        if let Some(id) = run.tables.get(run.locked) {
            let Some(table) = self.view.table_by_id(*id) else { return stale() };
            self.view.worker.lock_table(&table, TableLock::AccessExclusive, Waiting::InQueue)?;
            run.locked += 1;
            let is_last = run.locked == run.tables.len();
            return if is_last && !self.view.is_truncation_whole(changes) { stale() } else { Ok(true) };
        }
        let is_one = self.fire_for_truncation(run, TriggerTiming::Before, output)?;
        if !is_one {
            (run.is_emptied, run.fired) = (true, 0);
        }
        Ok(is_one)
    }

    /// The next step after they were emptied.
    pub(super) fn after_truncation(
        &mut self,
        run: &mut TruncationRun,
        output: &mut dyn Output,
    ) -> Flow<bool> {
        self.fire_for_truncation(run, TriggerTiming::After, output)
    }

    /// Runs the triggers of the next table. Returns false if there is none left.
    fn fire_for_truncation(
        &mut self,
        run: &mut TruncationRun,
        timing: TriggerTiming,
        output: &mut dyn Output,
    ) -> Flow<bool> {
        let Some(id) = run.tables.get(run.fired) else { return Ok(false) };
        let Some(table) = self.view.table_by_id(*id) else { return stale() };
        let mut frame = match run.frame.take() {
            Some(frame) => frame,
            None => match self.triggers_frame(&table, timing)? {
                Some(frame) => frame,
                None => {
                    run.fired += 1;
                    return Ok(true);
                }
            },
        };
        let may_end = std::mem::take(&mut self.view.environment.may_end_transactions);
        let outcome = self.run_triggers(&mut frame, output);
        self.view.environment.may_end_transactions = may_end;
        match outcome {
            Ok(()) => {}
            Err(Interrupt::Wait(ticket)) => {
                run.frame = Some(frame);
                return Err(Interrupt::Wait(ticket));
            }
            Err(failed) => return Err(failed),
        }
        self.keep_frame(frame);
        run.fired += 1;
        Ok(true)
    }

    /// Runs triggers, and the dynamic statements in them.
    fn run_triggers(&mut self, frame: &mut Frame, output: &mut dyn Output) -> Flow<()> {
        loop {
            if asks_for_schema_change(frame) {
                let what = "changing the schema in a trigger of TRUNCATE is";
                return Err(refused(Missing::SchemaInTriggers, what).into());
            }
            self.attend(frame, output)?;
            let (worker, environment) = (&mut self.view.worker, &mut self.view.environment);
            match worker.run(frame, environment, &mut Told(output)) {
                Err(Interrupt::Failed(Error::Abort(Abort::Suspended))) => {}
                outcome => return outcome,
            }
        }
    }

    fn triggers_frame(&mut self, table: &Arc<Table>, timing: TriggerTiming) -> Result<Option<Box<Frame>>> {
        let occasion = (timing, TriggerEvent::Truncate);
        let compiled = self.view.with_context(|context| triggers_of_statement(context, table, occasion))?;
        let Some(procedure) = compiled else { return Ok(None) };
        self.check_procedure(&procedure)?;
        self.view.worker.show_sequences(&mut self.view.environment);
        self.show_catalog(&procedure)?;
        Ok(Some(self.take_frame(&procedure)))
    }

    /// Whether no table that was emptied without triggers has got one before it was locked.
    pub(super) fn is_without_triggers(&self, command_changes: &[CatalogChange]) -> bool {
        let mut tables = truncated(command_changes).filter_map(|id| self.view.table_by_id(id));
        !tables.any(|table| has_trigger(&table))
    }
}
