//! LOCK TABLE in a session.
//!
//! A name means what it means once its lock is granted: after a wait it is looked up again.
//!
//! Reference: PostgreSQL's lockcmds.c.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt, TableLock, Waiting};
use hyades_engine::storage::table::Table;
use hyades_types::access::{Privileges, RoleId};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::{Missing, refused};

use super::running::Running;
use super::state::State;
use super::transaction::{failed, tag};
use super::{Completion, Session};
use crate::compile::action::{Action, LockCommand, Plan};
use crate::statement::QualifiedName;
use crate::system::relation;

/// Privileges, any one of which lets a session take this lock.
fn privileges_to_lock(lock: TableLock) -> Privileges {
    let changes = Privileges::UPDATE | Privileges::DELETE | Privileges::TRUNCATE;
    match lock {
        TableLock::AccessShare => Privileges::SELECT,
        TableLock::RowExclusive => changes | Privileges::INSERT,
        _ => changes,
    }
}

impl Session {
    pub(super) fn lock_command(&mut self, plan: &Arc<Plan>) -> Flow<Completion> {
        if self.state != State::Block && !self.is_in_list {
            let message = "LOCK TABLE can only be used in transaction blocks";
            return failed(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message);
        }
        self.open_transaction()?;
        self.isolate(false, false);
        self.lock_tables(plan)
    }

    /// Starts again after every wait. What is locked already is granted at once.
    pub(super) fn lock_tables(&mut self, plan: &Arc<Plan>) -> Flow<Completion> {
        let Action::Lock(LockCommand { tables, lock, waits }) = &plan.action else {
            return failed(sqlstate::INTERNAL_ERROR, "the statement locks nothing");
        };
        let waiting = if *waits { Waiting::InQueue } else { Waiting::Never };
        let mut done = Vec::new();
        for name in tables {
            let mut wanted = vec![(self.view.role(), self.lockable(name)?)];
            while let Some((role, table)) = wanted.pop() {
                self.view.check_privileges_of(role, &table, privileges_to_lock(*lock))?;
                match self.view.worker.lock_table(&table, *lock, waiting) {
                    Err(Interrupt::Wait(ticket)) => {
                        self.running = Some(Running::Lock(Arc::clone(plan)));
                        return Err(Interrupt::Wait(ticket));
                    }
                    locked => locked?,
                }
                if !done.contains(&table.id()) {
                    done.push(table.id());
                    wanted.extend(self.below(&table));
                }
                let now = self.lockable(name)?;
                if wanted.is_empty() && !done.contains(&now.id()) {
                    wanted.push((self.view.role(), now));
                }
            }
        }
        tag("LOCK TABLE")
    }

    /// The tables and views that a view reads, with its owner, who must have the right to lock them.
    fn below(&self, table: &Arc<Table>) -> Vec<(RoleId, Arc<Table>)> {
        let definition = table.definition();
        let owner = match table.id().is_temporary() {
            true => self.view.role(),
            false => self.view.access().owner(table.id().0),
        };
        let read = definition.view().into_iter().flat_map(|view| &view.tables);
        read.filter_map(|id| Some((owner, self.view.table_by_id(*id)?))).collect()
    }

    /// The table or view of this name.
    fn lockable(&self, name: &QualifiedName) -> Result<Arc<Table>> {
        self.view.check_names_schema(name.schema.as_deref())?;
        let full = self.view.meant(name);
        let wrong_kind = |kinds: &str| {
            let message = format!("cannot lock relation \"{}\"", full.name);
            Err(Error::input(sqlstate::WRONG_OBJECT_TYPE, message)
                .with_detail(format!("This operation is not supported for {kinds}.")))
        };
        match self.view.table(&full) {
            Some(table) if table.definition().materialized.is_some() => wrong_kind("materialized views"),
            Some(table) => Ok(table),
            None if self.view.sequence(&full).is_some() => wrong_kind("sequences"),
            None if self.view.is_relation(&full) => wrong_kind("indexes"),
            None if relation::find(name.schema.as_deref().unwrap_or("pg_catalog"), &name.name).is_some() => {
                Err(refused(Missing::CatalogLocks, "LOCK TABLE of a relation of the catalog is"))
            }
            None => Err(self.view.no_relation(name)),
        }
    }
}
