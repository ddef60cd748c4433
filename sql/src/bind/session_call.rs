//! Functions about the session: those that are constants for it, and those that read or change it when the
//! statement starts.
//!
//! The engine's functions see only the [`Environment`](hyades_types::environment::Environment). What needs
//! the session's settings is computed once, before the procedure runs, into a register of its own
//! ([`SessionCall`]); its arguments may therefore be constants and parameters, not columns.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::value::{SqlType, Value};

use super::session_function::{SessionCall, SessionFunction};
use super::{Binder, Bound, Place};
use crate::expr;
use crate::settings::SERVER_VERSION;

/// What `version()` answers.
pub(crate) fn version_text() -> String {
    format!("PostgreSQL {SERVER_VERSION} on {}-{}, 64-bit", std::env::consts::ARCH, std::env::consts::OS)
}

impl Binder<'_> {
    /// Binds a call if its name is one of the session's.
    pub(crate) fn try_session_call(
        &mut self,
        name: &str,
        arguments: &[Bound],
        place: Place,
    ) -> Result<Option<Bound>> {
        let constant = |value: Value, sql_type| Ok(Some(Bound::typed(Expr::Const(value), sql_type, place)));
        // Not constants: a routine is compiled for all sessions.
        let environment = |function| {
            let call = Expr::Call { function, arguments: Vec::new() };
            Ok(Some(Bound::typed(call, SqlType::Text, place)))
        };
        if arguments.is_empty() {
            match name {
                "version" => return constant(Value::text(version_text()), SqlType::Text),
                "current_user" | "session_user" | "user" | "current_role" => {
                    return environment(Function::CurrentUser);
                }
                "current_database" | "current_catalog" => return environment(Function::CurrentDatabase),
                "current_schema" => {
                    let first =
                        self.context.path.first.map_or(Value::Null, |first| Value::text(first.name()));
                    return constant(first, SqlType::Text);
                }
                "pg_is_in_recovery" => return constant(Value::Boolean(false), SqlType::Boolean),
                "pg_advisory_unlock_all" => return constant(Value::text(""), SqlType::Text),
                _ => {}
            }
        }
        let (function, types, result): (_, &[SqlType], _) = match (name, arguments.len()) {
            ("current_setting", 1) => (SessionFunction::CurrentSetting, &[SqlType::Text], SqlType::Text),
            ("current_setting", 2) => {
                (SessionFunction::CurrentSetting, &[SqlType::Text, SqlType::Boolean], SqlType::Text)
            }
            ("set_config", 3) => {
                (SessionFunction::SetConfig, &[SqlType::Text, SqlType::Text, SqlType::Boolean], SqlType::Text)
            }
            ("pg_backend_pid", 0) => (SessionFunction::BackendProcess, &[], SqlType::Integer),
            ("txid_current", 0) => (SessionFunction::CurrentTransaction, &[], SqlType::BigInt),
            ("pg_get_serial_sequence", 2) => {
                (SessionFunction::SerialSequence, &[SqlType::Text, SqlType::Text], SqlType::Text)
            }
            ("pg_typeof", 1) => {
                let shown = arguments[0].known_type().map_or_else(|| "unknown", SqlType::base_name);
                return constant(Value::text(shown), SqlType::Text);
            }
            ("current_schemas", 1) => return self.unsupported("arrays are", place),
            _ => return Ok(None),
        };
        let mut bound = Vec::with_capacity(arguments.len());
        for (argument, sql_type) in arguments.iter().zip(types) {
            let argument = self.coerce(argument.clone(), *sql_type)?;
            if expr::reads_row(&argument) {
                let message = format!("{name} of a column is not supported yet");
                return self.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, place);
            }
            bound.push(argument);
        }
        let into = self.new_register()?;
        self.session_calls.push(SessionCall { function, arguments: bound, into });
        Ok(Some(Bound::typed(Expr::Register(into), result, place)))
    }
}
