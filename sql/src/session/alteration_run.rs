//! ALTER TABLE in a session: locks the table, and runs the procedures that the actions need over its rows.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt, TableLock, Waiting};
use hyades_engine::procedure::frame::{Message, RowSink};
use hyades_engine::storage::table::Table;
use hyades_types::access::Caller;
use hyades_types::definition::CatalogChange;
use hyades_types::error::{Abort, Error, Result, sqlstate};
use hyades_types::value::Value;

use super::run::unattended;
use super::running::AlterationRun;
use super::{Notice, Output, Session};
use crate::compile::action::Plan;
use crate::ddl::alteration::Stepped;

/// What runs over the rows of an altered table returns no rows. Messages of its functions go to the client.
pub(super) struct Told<'a>(pub(super) &'a mut dyn Output);

impl RowSink for Told<'_> {
    fn row(&mut self, _values: &mut [Value]) -> Result<()> {
        Ok(())
    }

    fn message(&mut self, message: Message) {
        self.0.notice(Notice::of(message));
    }
}

impl Session {
    /// The next changes, or `None` if nothing is left to do.
    pub(super) fn alteration_step(
        &mut self,
        run: &mut AlterationRun,
        output: &mut dyn Output,
    ) -> Flow<Option<Vec<CatalogChange>>> {
        let alteration = &mut run.alteration;
        if !run.is_locked {
            let table = &alteration.table;
            self.view.worker.lock_table(table, alteration.lock, Waiting::InQueue)?;
            let is_there = self.view.table_by_id(table.id()).is_some_and(|now| Arc::ptr_eq(&now, table));
            if !is_there || table.definition().name != alteration.name {
                return Err(Interrupt::Failed(Error::Abort(Abort::StalePlan)));
            }
            run.is_locked = true;
        }
        // Every change replaces the table.
        if let Some(now) = self.view.table_by_id(alteration.table.id()) {
            alteration.table = now;
        }
        if let Some(query) = &mut run.query {
            let owner = self.owner_who_computes(&alteration.table);
            let before = owner.map(|owner| self.swap_user(owner));
            let (worker, environment) = (&mut self.view.worker, &mut self.view.environment);
            let outcome = worker.run(&mut query.frame, environment, &mut Told(output));
            before.into_iter().for_each(|user| drop(self.swap_user(user)));
            // PostgreSQL builds the indexes once all rows are there.
            let is_rebuilt = alteration.table.definition().materialized.is_some()
                && alteration.lock == TableLock::AccessExclusive;
            outcome.map_err(unattended).map_err(|failed| match failed {
                Interrupt::Failed(error) if is_rebuilt => Interrupt::Failed(of_built_index(error)),
                other => other,
            })?;
            if let Some(done) = run.query.take() {
                self.keep_frame(done.frame);
            }
        }
        if alteration.changes_owner() {
            self.view.worker.lock_access()?;
            self.refresh_identity();
        }
        let procedure = match self.view.alteration_step(alteration, output)? {
            Stepped::Over => return Ok(None),
            Stepped::Changed(changes) => return Ok(Some(changes)),
            Stepped::Runs(procedure) => procedure,
        };
        self.view.worker.show_sequences(&mut self.view.environment);
        let plan = Plan { is_read_only: false, ..Plan::of_run("ALTER TABLE", *procedure) };
        if let Some(User { caller: Some(owner), .. }) = self.owner_who_computes(&alteration.table) {
            self.check_filling_of(&owner, &plan, alteration.table.id())?;
        }
        run.query = Some(Box::new(self.start_query(Arc::new(plan), &[])?));
        Ok(Some(Vec::new()))
    }

    /// The owner of a materialized view, as whom its rows are computed.
    fn owner_who_computes(&self, table: &Table) -> Option<User> {
        table.definition().materialized.as_ref()?;
        let access = self.view.worker.catalog_view().access();
        let role = access.owner(table.id().0);
        let name = self.view.role_name(role);
        let caller = Caller { access, role };
        let caller = (!caller.is_superuser()).then(|| Arc::new(caller));
        Some(User { name, caller })
    }

    /// Runs what follows as another user. Returns the one before.
    fn swap_user(&mut self, user: User) -> User {
        let environment = &mut self.view.environment;
        User {
            name: std::mem::replace(&mut environment.user, user.name),
            caller: std::mem::replace(&mut environment.caller, user.caller),
        }
    }
}

/// Whose name and rights a procedure sees. `None`: rights are not checked.
struct User {
    name: String,
    caller: Option<Arc<Caller>>,
}

/// A duplicate key as an error of building the index.
fn of_built_index(error: Error) -> Error {
    match error {
        Error::Input(mut input) if input.state == sqlstate::UNIQUE_VIOLATION => {
            if let Some(index) = &input.constraint {
                input.message = format!("could not create unique index \"{index}\"");
            }
            let duplicated = |detail: String| detail.replace(" already exists.", " is duplicated.");
            input.detail = input.detail.map(duplicated);
            Error::Input(input)
        }
        other => other,
    }
}
