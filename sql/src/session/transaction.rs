//! The transaction state machine and its commands.

use std::sync::atomic::Ordering;

use hyades_engine::db::{Flow, Interrupt, Isolation};
use hyades_engine::log::durable::Durability;
use hyades_types::environment::Gathered;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::now_us;

use super::state::{NamedSavepoint, State};
use super::{Completion, Output, Session};
use crate::compile::action::{Action, Plan, TransactionCommand};
use crate::statement::IsolationModes;

pub(super) fn tag(tag: &'static str) -> Flow<Completion> {
    Ok(Completion::Tag(tag.into()))
}

pub(super) fn failed<T>(state: hyades_types::error::SqlState, message: impl Into<String>) -> Flow<T> {
    Err(Interrupt::Failed(Error::input(state, message)))
}

fn aborted() -> Error {
    Error::input(
        sqlstate::IN_FAILED_SQL_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

impl Session {
    /// Makes sure that a transaction is open. Fails in a failed transaction.
    pub(super) fn open_transaction(&mut self) -> Result<()> {
        match self.state {
            State::Idle => {
                self.begin();
                self.state = State::Implicit;
                self.implicit.statements = 0;
                Ok(())
            }
            State::Implicit | State::Block => {
                self.view.environment.statement_time = now_us();
                self.activity.begins_statement(self.view.environment.statement_time);
                Ok(())
            }
            State::Failed => Err(aborted()),
        }
    }

    pub(super) fn begin(&mut self) {
        self.view.worker.begin();
        let now = now_us();
        self.view.environment.transaction_time = now;
        self.view.environment.statement_time = now;
        self.activity.begins_transaction(now);
        self.activity.begins_statement(now);
        self.transaction_number = 0;
        self.has_queried = false;
        self.is_isolated = false;
    }

    /// Fixes the isolation level of the transaction at its first statement that reads or writes. This is
    /// the requested level, with two exceptions. A statement that is not in a block and changes something
    /// is always serializable: it is normally alone in its transaction, where that costs nothing. (One that
    /// computes a materialized view reads as if it only looked.) A
    /// read-only transaction in a block that is to be serializable reads at one snapshot, which is a point
    /// in the serial order.
    ///
    /// `repeats`: the statement is one that runs again after a conflict. All others lock what they read,
    /// unless they are in a block, whose client repeats it.
    pub(super) fn isolate(&mut self, only_looks: bool, repeats: bool) {
        if std::mem::replace(&mut self.is_isolated, true) {
            return;
        }
        let asked = self.view.settings.isolation();
        let is_block = self.state == State::Block;
        let level = match asked {
            Isolation::Serializable if is_block && self.view.settings.is_read_only() => {
                Isolation::RepeatableRead
            }
            Isolation::ReadCommitted | Isolation::RepeatableRead if !is_block && !only_looks => {
                Isolation::Serializable
            }
            asked => asked,
        };
        self.view.worker.isolate(level);
        if level != Isolation::Serializable {
            return;
        }
        let may_fail = match is_block {
            true => !self.implicit.blocks_lock,
            false => repeats && self.implicit.attempts_left > 0 && self.is_alone(),
        };
        if !may_fail {
            let locks = self.view.worker.lock_reads();
            debug_assert!(locks.is_ok(), "it has read nothing");
        }
    }

    /// The number that `txid_current()` returns, assigned on first use.
    pub(super) fn current_transaction(&mut self) -> i64 {
        if self.transaction_number == 0 {
            self.transaction_number = self.shared.transactions.fetch_add(1, Ordering::Relaxed) + 1;
        }
        self.transaction_number
    }

    fn note_durability(&mut self, durability: Durability) {
        if self.view.settings.is_commit_synchronous() {
            self.durability.merge(durability);
        }
    }

    /// Undoes the statement's effects. A block stays open, as a failed one.
    pub(super) fn fail_transaction(&mut self) {
        // A request to stop the statement has been fulfilled.
        self.view.environment.stop.withdraw();
        match self.state {
            State::Idle | State::Failed => {}
            State::Implicit => {
                self.roll_back();
                self.state = State::Idle;
            }
            State::Block => {
                match self.savepoints.last() {
                    // ROLLBACK TO may still revive it, so it is kept open.
                    Some(last) => {
                        let durability = self.view.worker.rollback_to(last.savepoint);
                        self.view.environment.go_back(&last.gathered);
                        self.listen_changes.truncate(last.listens);
                        self.note_durability(durability);
                        self.view.note_taken_back();
                    }
                    None => {
                        let durability = self.view.worker.rollback();
                        self.view.environment.go_back(&Gathered::default());
                        self.note_durability(durability);
                    }
                }
                self.state = State::Failed;
            }
        }
    }

    /// Ends the worker's transaction, if there is one, and the session's state for it.
    pub(super) fn roll_back(&mut self) {
        if self.view.worker.in_transaction() {
            let durability = self.view.worker.rollback();
            self.note_durability(durability);
        }
        self.end(false);
    }

    fn end(&mut self, is_committed: bool) {
        let counters = &self.activity.counters;
        if is_committed {
            counters.commits.count()
        } else {
            counters.rollbacks.count()
        }
        self.view.settle_own_changes();
        self.reopen();
        self.savepoints.clear();
        self.checking = None;
        self.view.environment.deferred.clear();
        self.view.environment.go_back(&Gathered::default());
        self.listen_changes.clear();
        self.cursors.end_transaction(is_committed);
        self.view.settings.end_transaction(is_committed);
        self.refresh_environment();
    }

    /// Updates the environment from the settings.
    pub(super) fn refresh_environment(&mut self) {
        self.view.environment.float_digits = self.view.settings.float_digits();
        self.view.environment.least_message = self.view.settings.least_message();
        let (bytes, file_bytes) = self.view.settings.work_memory();
        let work = &mut self.view.environment.work_memory;
        // The limit leaves room for several sorts, groupings and spools in one statement.
        work.bytes = bytes.min(self.shared.memory.connection_bytes / 8);
        work.file_bytes = file_bytes;
        if self.view.is_another_role() {
            self.refresh_identity();
        }
        if self.view.settings.take_compiles_differently() {
            self.view.environment.time_zone = self.view.settings.time_zone().clone();
            self.view.environment.styles = self.view.settings.styles();
            // Literals of dates were read by the old settings, and names looked up in the old path.
            self.cache.clear();
            self.refresh_path();
        }
    }

    /// Commits the implicit transaction or the block.
    pub(super) fn commit_transaction(&mut self) -> Flow<()> {
        let outcome = self.try_to_commit();
        if matches!(outcome, Err(Interrupt::Failed(_))) {
            self.roll_back();
            self.state = State::Idle;
        }
        outcome
    }

    /// Commits the implicit transaction if it ends with the statement that has just run, or with the part of
    /// a call that has, and may fail because it has read without locks. While the statement is still at hand,
    /// it can run again.
    pub(super) fn commit_checked(&mut self) -> Flow<()> {
        if self.implicit.attempts_left == 0 || !self.is_alone() || !self.view.worker.is_checked() {
            return Ok(());
        }
        if self.view.environment.deferred.is_pending() {
            // What they do is not repeated.
            return self.view.worker.lock_reads();
        }
        self.try_to_commit()
    }

    /// Commits. A transaction that fails is still open.
    #[inline]
    fn try_to_commit(&mut self) -> Flow<()> {
        if self.view.environment.deferred.is_pending() {
            self.check_deferred(true)?;
        }
        self.view.worker.note_draws(&mut self.view.environment);
        self.view.tidy_temporaries()?;
        let durability = self.commit_and_notify()?;
        // The current setting counts, before a SET LOCAL ends.
        self.note_durability(durability);
        self.state = State::Idle;
        self.end(true);
        Ok(())
    }

    /// A failed transaction accepts only commands that end or revive it.
    pub(super) fn check_failed(&self, plan: &Plan) -> Result<()> {
        use TransactionCommand::{Commit, Rollback, RollbackTo};
        let ends =
            |command: &TransactionCommand| matches!(command, Commit { .. } | Rollback { .. } | RollbackTo(_));
        let ends_it = match &plan.action {
            Action::Empty => true,
            Action::Transaction(command) => ends(command),
            _ => false,
        };
        if self.state == State::Failed && !ends_it { Err(aborted()) } else { Ok(()) }
    }

    /// In a failed transaction only syntax errors are reported. All others give way to 25P02.
    pub(super) fn check_failed_error(&self, error: &Error) -> Result<()> {
        let is_syntax = error.sqlstate() == sqlstate::SYNTAX_ERROR;
        if self.state == State::Failed && !is_syntax { Err(aborted()) } else { Ok(()) }
    }

    /// Whether the statement may run in this state at all.
    pub(super) fn check_state(&self, plan: &Plan) -> Result<()> {
        self.check_failed(plan)?;
        if !plan.is_read_only && self.view.settings.is_read_only() {
            return Err(Error::input(
                sqlstate::READ_ONLY_SQL_TRANSACTION,
                format!("cannot execute {} in a read-only transaction", plan.command),
            ));
        }
        Ok(())
    }

    pub(super) fn transaction_command(
        &mut self,
        command: &TransactionCommand,
        command_name: &'static str,
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        match command {
            TransactionCommand::Begin(modes) => {
                match self.state {
                    State::Idle => self.begin(),
                    State::Implicit => {}
                    State::Block | State::Failed => {
                        self.view.warn(output, "25001", "there is already a transaction in progress");
                    }
                }
                self.set_modes(modes)?;
                self.state = State::Block;
                tag(command_name)
            }
            TransactionCommand::Commit { chains } => {
                let modes = self.chained(*chains, "COMMIT AND CHAIN")?;
                let completion = self.commit(output)?;
                self.chain(modes)?;
                Ok(completion)
            }
            TransactionCommand::Rollback { chains } => self.roll_back_all(*chains, output),
            TransactionCommand::Savepoint(name) => {
                self.need_block("SAVEPOINT")?;
                let savepoint = NamedSavepoint {
                    name: name.clone(),
                    savepoint: self.view.worker.savepoint(),
                    settings: self.view.settings.snapshot(),
                    gathered: self.view.environment.mark(),
                    listens: self.listen_changes.len(),
                };
                self.savepoints.push(savepoint);
                tag("SAVEPOINT")
            }
            TransactionCommand::Release(name) => {
                self.need_block("RELEASE SAVEPOINT")?;
                let at = self.savepoint(name)?;
                self.view.settings.release(&self.savepoints[at].settings);
                self.savepoints.truncate(at);
                self.cursors.lock().release(at);
                tag("RELEASE")
            }
            TransactionCommand::RollbackTo(name) => {
                self.roll_back_to(name)?;
                tag("ROLLBACK")
            }
            TransactionCommand::Set(modes) => {
                if self.state == State::Block {
                    self.set_modes(modes)?;
                } else {
                    self.view.warn(output, "25P01", "SET TRANSACTION can only be used in transaction blocks");
                }
                tag("SET")
            }
        }
    }

    /// ROLLBACK.
    fn roll_back_all(&mut self, chains: bool, output: &mut dyn Output) -> Flow<Completion> {
        let modes = self.chained(chains, "ROLLBACK AND CHAIN")?;
        if matches!(self.state, State::Idle | State::Implicit) {
            self.view.warn(output, "25P01", "there is no transaction in progress");
        }
        if self.state != State::Idle {
            self.roll_back();
        }
        self.state = State::Idle;
        self.chain(modes)?;
        tag("ROLLBACK")
    }

    fn roll_back_to(&mut self, name: &str) -> Result<()> {
        self.need_block("ROLLBACK TO SAVEPOINT")?;
        let at = self.savepoint(name)?;
        let savepoint = &self.savepoints[at];
        // The result is provisional, like that of every statement of the block.
        drop(self.view.worker.rollback_to(savepoint.savepoint));
        self.view.settings.roll_back_to(&savepoint.settings);
        self.cursors.lock().roll_back_to(at);
        self.view.environment.go_back(&savepoint.gathered);
        self.listen_changes.truncate(savepoint.listens);
        self.view.note_taken_back();
        self.refresh_environment();
        // The savepoint itself stays.
        self.savepoints.truncate(at + 1);
        self.state = State::Block;
        Ok(())
    }

    fn commit(&mut self, output: &mut dyn Output) -> Flow<Completion> {
        match self.state {
            State::Idle => {
                self.view.warn(output, "25P01", "there is no transaction in progress");
                tag("COMMIT")
            }
            State::Implicit => {
                self.commit_transaction()?;
                self.view.warn(output, "25P01", "there is no transaction in progress");
                tag("COMMIT")
            }
            State::Block => {
                self.commit_transaction()?;
                tag("COMMIT")
            }
            State::Failed => {
                self.roll_back();
                self.state = State::Idle;
                tag("ROLLBACK")
            }
        }
    }

    /// AND CHAIN: the modes of the transaction that ends, for the next one.
    fn chained(&self, chains: bool, command: &str) -> Result<Option<IsolationModes>> {
        if !chains {
            return Ok(None);
        }
        self.need_block(command)?;
        let level = match self.view.settings.isolation() {
            Isolation::Serializable => "serializable",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::ReadCommitted => "read committed",
        };
        Ok(Some(IsolationModes {
            level: Some(level),
            read_only: Some(self.view.settings.is_read_only()),
            deferrable: Some(self.view.settings.get_flag("transaction_deferrable")),
        }))
    }

    /// Begins the next transaction.
    fn chain(&mut self, modes: Option<IsolationModes>) -> Result<()> {
        if let Some(modes) = modes {
            self.begin();
            self.state = State::Block;
            self.set_modes(&modes)?;
        }
        Ok(())
    }

    fn need_block(&self, command: &str) -> Result<()> {
        if matches!(self.state, State::Block | State::Failed) {
            return Ok(());
        }
        Err(Error::input(
            sqlstate::NO_ACTIVE_SQL_TRANSACTION,
            format!("{command} can only be used in transaction blocks"),
        ))
    }

    fn savepoint(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|known| known.name == name).ok_or_else(|| {
            Error::input(sqlstate::INVALID_SAVEPOINT, format!("savepoint \"{name}\" does not exist"))
        })
    }

    /// Sets the modes of this transaction, which end with it.
    fn set_modes(&mut self, modes: &IsolationModes) -> Result<()> {
        let flag = |flag: bool| if flag { "on" } else { "off" }.to_owned();
        let settings = [
            ("transaction_isolation", modes.level.map(str::to_owned)),
            ("transaction_read_only", modes.read_only.map(flag)),
            ("transaction_deferrable", modes.deferrable.map(flag)),
        ];
        for (name, value) in settings {
            if let Some(value) = value {
                self.set_mode(name, value)?;
            }
        }
        Ok(())
    }

    /// Sets one mode, by the name of its setting.
    pub(super) fn set_mode(&mut self, name: &str, value: String) -> Result<()> {
        self.check_mode(name, &value)?;
        self.view.settings.set_for_transaction(name, value);
        Ok(())
    }

    /// PostgreSQL's rules on when the modes of a transaction may change (check hooks of variable.c).
    fn check_mode(&self, name: &str, value: &str) -> Result<()> {
        let refuse = |message: &str| Err(Error::input(sqlstate::ACTIVE_SQL_TRANSACTION, message));
        let is_inside = !self.savepoints.is_empty();
        match name {
            "transaction_isolation" if self.view.settings.get(name).as_deref() != Some(value) => {
                if self.has_queried {
                    return refuse("SET TRANSACTION ISOLATION LEVEL must be called before any query");
                }
                if is_inside {
                    return refuse("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
                }
            }
            "transaction_read_only" if value == "off" && self.view.settings.is_read_only() => {
                let was_read_only = |outer: &NamedSavepoint| outer.settings.is_read_only();
                if self.savepoints.last().is_some_and(was_read_only) {
                    return refuse("cannot set transaction read-write mode inside a read-only transaction");
                }
                if self.has_queried {
                    return refuse("transaction read-write mode must be set before any query");
                }
            }
            "transaction_deferrable" if is_inside => {
                return refuse("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction");
            }
            "transaction_deferrable" if self.has_queried => {
                return refuse("SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
            }
            _ => {}
        }
        Ok(())
    }

    /// Records that the transaction has looked at data, after which its modes cannot change.
    pub(super) fn note_query(&mut self, plan: &Plan) {
        self.has_queried |= !matches!(
            plan.action,
            Action::Empty | Action::Transaction(_) | Action::Settings(_) | Action::Execute { .. }
        );
    }
}
