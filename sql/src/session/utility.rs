//! Settings, EXPLAIN, maintenance commands, SQL's PREPARE and EXECUTE.

use std::sync::Arc;

use hyades_engine::db::{Flow, Interrupt};
use hyades_engine::procedure::ir::Expr;
use hyades_types::cast;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::now_us;
use hyades_types::memory;
use hyades_types::value::{SqlType, Value};

use super::prepared::NamedStatement;
use super::state::State;
use super::transaction::{failed, tag};
use super::{Completion, Output, Prepared, Session};
use crate::compile::action::{Action, Plan, SettingsCommand};
use crate::emit::shifted;
use crate::evaluation;
use crate::statement::{SetValue, SettingScope};
use crate::viewpoint::refuse_in_block;

impl Session {
    pub(super) fn utility_command(
        &mut self,
        statement: &Arc<Prepared>,
        plan: &Plan,
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        match &plan.action {
            Action::Explain(lines, _) => {
                for line in lines {
                    output.row(&mut [Value::text(line.as_str())])?;
                }
                tag("EXPLAIN")
            }
            Action::ExplainCall { routine, draws, is_verbose, format } => {
                for line in self.explain_call(routine, *draws, *is_verbose, *format)? {
                    output.row(&mut [Value::text(line)])?;
                }
                tag("EXPLAIN")
            }
            Action::ExplainExecute { name, arguments, options } => {
                let (prepared, values) = self.with_arguments(name, arguments)?;
                let explained = self.explained(&prepared, *options, &values)?;
                self.execute_prepared(explained, values, output)
            }
            Action::Maintenance { tag: name, on, refused_in_block } => {
                if let Some(command) = refused_in_block {
                    refuse_in_block(self.is_whole_transaction(), command)?;
                }
                self.view.check_maintenance(name, on, output)?;
                if *name == "DISCARD SEQUENCES" {
                    self.view.environment.sequences.get_mut().forget();
                }
                tag(name)
            }
            Action::SetConstraints { names, is_deferred } => {
                if self.state != State::Block && self.checking.is_none() {
                    self.view.warn(output, "25P01", "SET CONSTRAINTS can only be used in transaction blocks");
                }
                self.set_constraints(names, *is_deferred)?;
                tag("SET CONSTRAINTS")
            }
            Action::Prepare { name, types, body, body_offset } => {
                if self.named.contains_key(name) {
                    let message = format!("prepared statement \"{name}\" already exists");
                    return failed(sqlstate::DUPLICATE_PREPARED_STATEMENT, message);
                }
                let prepare = |session: &mut Session| {
                    session.prepare_cached(body, types).map_err(|error| shifted(error, *body_offset))
                };
                let prepared = self.compile_settled(prepare)?;
                // The client got these notices when PREPARE itself was compiled.
                self.notices.clear();
                // It stays in memory.
                memory::check(0)?;
                let (text, time) = (statement.text.clone(), now_us());
                self.named.insert(name.clone(), NamedStatement { prepared, text, time });
                tag("PREPARE")
            }
            Action::Deallocate(None) => {
                self.named.clear();
                tag("DEALLOCATE ALL")
            }
            Action::Deallocate(Some(name)) => {
                self.named(name)?;
                self.named.remove(name);
                tag("DEALLOCATE")
            }
            _ => failed(sqlstate::INTERNAL_ERROR, "the statement has no action"),
        }
    }

    pub(super) fn settings_command(
        &mut self,
        command: &SettingsCommand,
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        self.open_transaction()?;
        match command {
            SettingsCommand::Set { name, value, scope } => {
                if *scope == SettingScope::Local && self.state != State::Block {
                    self.view.warn(output, "25P01", "SET LOCAL can only be used in transaction blocks");
                }
                let value = match value {
                    SetValue::Default => None,
                    SetValue::Text(text) => Some(text.as_str()),
                };
                self.set_setting(name, value, *scope == SettingScope::Local)?;
                tag("SET")
            }
            SettingsCommand::Show(Some(name)) => {
                let (_, value) = self.view.settings.show(name)?;
                output.row(&mut [Value::text(value)])?;
                tag("SHOW")
            }
            SettingsCommand::Show(None) => {
                for shown in self.view.settings.show_all() {
                    output.row(&mut [
                        Value::text(shown.name),
                        Value::text(shown.value),
                        Value::text(shown.description),
                    ])?;
                }
                tag("SHOW")
            }
            SettingsCommand::Reset(name) => {
                match name {
                    Some(name) => {
                        self.set_setting(name, None, false)?;
                    }
                    None => {
                        self.view.settings.reset_all();
                        self.refresh_environment();
                        self.show_application();
                    }
                }
                tag("RESET")
            }
            SettingsCommand::SetCharacteristics(modes) => {
                let flag = |flag: bool| if flag { "on" } else { "off" };
                let settings = [
                    ("default_transaction_isolation", modes.level),
                    ("default_transaction_read_only", modes.read_only.map(flag)),
                    ("default_transaction_deferrable", modes.deferrable.map(flag)),
                ];
                for (name, value) in settings {
                    if value.is_some() {
                        self.view.settings.set(name, value, false)?;
                    }
                }
                tag("SET")
            }
            SettingsCommand::DiscardAll => {
                refuse_in_block(self.is_whole_transaction(), "DISCARD ALL")?;
                self.discard_all()?;
                tag("DISCARD ALL")
            }
        }
    }

    /// Whether the running statement is the only one of its transaction so far, outside of a block or query
    /// list.
    pub(super) fn is_whole_transaction(&self) -> bool {
        let is_alone = !self.is_in_list && (self.state != State::Implicit || self.implicit.statements == 0);
        is_alone && self.state != State::Block
    }

    /// SET. `None` means DEFAULT. Returns the new value.
    pub(super) fn set_setting(&mut self, name: &str, value: Option<&str>, is_local: bool) -> Result<String> {
        let lower = name.to_ascii_lowercase();
        if matches!(
            lower.as_str(),
            "transaction_isolation" | "transaction_read_only" | "transaction_deferrable"
        ) {
            // A mode ends with the transaction.
            let value = self.view.settings.checked_mode(&lower, value)?;
            self.set_mode(&lower, value.clone())?;
            return Ok(value);
        }
        if let Some(mode) = lower.strip_prefix("default_")
            && mode.starts_with("transaction_")
            && self.state == State::Block
            && let Some(current) = self.view.settings.get(mode)
        {
            // A default is only for later transactions.
            self.view.settings.set_for_transaction(mode, current);
        }
        let mut chosen = None;
        match (lower.as_str(), value) {
            ("role", Some(role)) => chosen = Some(self.chosen_role(role)?),
            ("session_authorization", Some(user)) => chosen = Some(self.chosen_user(user)?),
            _ => {}
        }
        self.check_may_set(&lower)?;
        let new = self.view.settings.set(name, chosen.as_deref().or(value), is_local)?;
        if lower == "session_authorization" {
            // It ends SET ROLE.
            self.view.settings.set("role", Some("none"), is_local)?;
        }
        self.refresh_environment();
        self.show_application();
        Ok(new)
    }

    /// It is called again after a wait.
    fn discard_all(&mut self) -> Flow<()> {
        self.isolate(false, false);
        for change in self.view.discarded_temporaries()? {
            self.view.worker.change_catalog(change)?;
        }
        self.view.note_own_change();
        self.named.clear();
        self.cursors.lock().clear();
        self.unlisten_all();
        if let Some(locks) = &self.view.environment.advisory_locks {
            locks.release_all();
        }
        self.cache.clear();
        self.view.environment.sequences.get_mut().forget();
        self.view.settings.set("session_authorization", None, false)?;
        self.view.settings.set("role", Some("none"), false)?;
        self.view.settings.reset_all();
        self.refresh_environment();
        Ok(())
    }

    /// EXECUTE. The arguments become parameters of the prepared statement.
    pub(super) fn execute_named(
        &mut self,
        name: &str,
        arguments: &[Expr],
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        let (prepared, values) = self.with_arguments(name, arguments)?;
        self.execute_prepared(prepared, values, output)
    }

    /// A prepared statement and the values of its parameters.
    fn with_arguments(&mut self, name: &str, arguments: &[Expr]) -> Result<(Arc<Prepared>, Vec<Value>)> {
        let prepared = Arc::clone(self.named(name)?);
        let types = self.parameter_types(&prepared);
        // For a statement without parameters, all arguments are ignored.
        let arguments = if types.is_empty() { &[] } else { arguments };
        if types.len() != arguments.len() {
            let error = Error::input(
                sqlstate::SYNTAX_ERROR,
                format!("wrong number of parameters for prepared statement \"{name}\""),
            )
            .with_detail(format!(
                "Expected {} parameters but got {}.",
                types.len(),
                arguments.len()
            ));
            return Err(error);
        }
        // now() in an argument is the time of the statement's transaction.
        self.open_transaction()?;
        self.show_names(&prepared)?;
        let mut values = Vec::with_capacity(arguments.len());
        for (argument, sql_type) in arguments.iter().zip(types.iter()) {
            let value = evaluation::evaluate(argument, &[], &self.view.environment)?;
            values.push(self.as_parameter(value, *sql_type)?);
        }
        Ok((prepared, values))
    }

    /// Runs the statement of an EXECUTE, and keeps it while it waits.
    pub(super) fn execute_prepared(
        &mut self,
        prepared: Arc<Prepared>,
        values: Vec<Value>,
        output: &mut dyn Output,
    ) -> Flow<Completion> {
        // A position in the text of PREPARE is meaningless in that of EXECUTE.
        let outcome = self.execute_inner(&prepared, &values, output).map_err(|interrupt| match interrupt {
            Interrupt::Failed(error) => Interrupt::Failed(error.without_position()),
            wait => wait,
        });
        if matches!(outcome, Err(Interrupt::Wait(_))) {
            self.executing = Some((prepared, values));
        }
        outcome
    }

    /// Converts values to the types of a statement's parameters.
    pub(crate) fn fitted_parameters(&mut self, prepared: &Prepared, values: &[Value]) -> Result<Vec<Value>> {
        let types = self.parameter_types(prepared);
        if types.len() != values.len() {
            return Err(Error::input(
                sqlstate::PROTOCOL_VIOLATION,
                format!("{} values were given for {} parameters", values.len(), types.len()),
            ));
        }
        self.show_names(prepared)?;
        let fitted = values.iter().zip(types.iter());
        fitted.map(|(value, sql_type)| self.as_parameter(value.clone(), *sql_type)).collect()
    }

    fn as_parameter(&self, value: Value, sql_type: SqlType) -> Result<Value> {
        if value.fits(sql_type) {
            return Ok(value);
        }
        let reading = self.reading_of_parameters();
        match &value {
            Value::Text(text) => evaluation::parse_text(text, sql_type, reading),
            _ => cast::cast(value, sql_type, false, reading),
        }
    }
}
