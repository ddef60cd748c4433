//! Functions about the session: those that are constants for it, and those that read or change it when the
//! statement starts.
//!
//! The engine's functions see only the [`Environment`](hyades_types::environment::Environment). What needs
//! the session's settings is computed once, before the procedure runs, into a register of its own
//! ([`SessionCall`]). Its arguments may therefore be constants and parameters, but not columns.

use std::borrow::Cow;

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::Result;
use hyades_types::function::Function;
use hyades_types::refusal::Missing;
use hyades_types::system_type::SystemType;
use hyades_types::value::{ArrayElement, SqlType, Value};

use super::session_function::{SessionCall, SessionFunction};
use super::{Binder, Bound, Place};
use crate::settings::SERVER_VERSION;
use crate::{evaluation, expr};

/// The type of the names of users, databases and schemas.
const NAME: SqlType = SqlType::System(SystemType::Name);
/// The pseudo-type of a literal without a type.
const UNKNOWN: (u32, &str) = (705, "unknown");

/// The result of `version()`.
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
            Ok(Some(Bound::typed(call, NAME, place)))
        };
        if arguments.is_empty() {
            match name {
                "version" => return constant(Value::text(version_text()), SqlType::Text),
                "session_user" => return environment(Function::SessionUser),
                "current_user" | "user" | "current_role" => {
                    return environment(Function::CurrentUser);
                }
                "current_database" | "current_catalog" => return environment(Function::CurrentDatabase),
                "current_schema" => {
                    let first = self.context.path.named().next().map_or(Value::Null, Value::text);
                    return constant(first, NAME);
                }
                "pg_is_in_recovery" => return constant(Value::Boolean(false), SqlType::Boolean),
                _ => {}
            }
        }
        if self.is_of_row(name, arguments) {
            return Ok(None);
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
            ("hyades_last_commit", 0) => (SessionFunction::LastCommit, &[], SqlType::Text),
            ("pg_get_serial_sequence", 2) => {
                (SessionFunction::SerialSequence, &[SqlType::Text, SqlType::Text], SqlType::Text)
            }
            ("pg_typeof", 1) => {
                let shown = arguments[0].known_type().map(|known| (known.oid(), self.shown_type(known)));
                let (oid, shown) = shown.unwrap_or((UNKNOWN.0, Cow::Borrowed(UNKNOWN.1)));
                let shown = Value::reference(SystemType::RegType, oid, shown);
                return constant(shown, SqlType::System(SystemType::RegType));
            }
            ("pg_export_snapshot", 0) => {
                let what = "pg_export_snapshot, which parallel pg_dump needs, is";
                return self.unsupported(Missing::Snapshots, what, place);
            }
            ("current_schemas", 1) => return self.current_schemas(arguments, place).map(Some),
            _ => return Ok(None),
        };
        let mut bound = Vec::with_capacity(arguments.len());
        for (argument, sql_type) in arguments.iter().zip(types) {
            let argument = self.coerce(argument.clone(), *sql_type)?;
            if expr::reads_row(&argument) {
                return self.unsupported(Missing::ComputedFirst, &format!("{name} of a column is"), place);
            }
            bound.push(argument);
        }
        let into = self.new_register()?;
        self.session_calls.push(SessionCall { function, arguments: bound, into });
        Ok(Some(Bound::typed(Expr::Register(into), result, place)))
    }

    /// Whether it is a function that the catalog handles where a name comes from rows.
    fn is_of_row(&self, name: &str, arguments: &[Bound]) -> bool {
        let is_of_catalog = match arguments.len() {
            1 => name == "current_setting",
            _ => name == "pg_get_serial_sequence",
        };
        // The rows may also be those of a query around this one. Only parameters are in the first registers.
        let is_of_row = |part: &Expr| match part {
            Expr::Register(register) => usize::from(*register) >= self.parameter_types.len(),
            Expr::Column { .. } => true,
            part => self.scope.reads(part),
        };
        let reads_row = |argument: &Bound| expr::any(&argument.expr, &is_of_row);
        is_of_catalog && arguments.iter().any(reads_row)
    }

    /// `current_schemas(with_implicit)`: the existing schemas of the search path, and `pg_catalog`, which is
    /// searched first whether or not the path contains it.
    fn current_schemas(&mut self, arguments: &[Bound], place: Place) -> Result<Bound> {
        let with_implicit = self.coerce(arguments[0].clone(), SqlType::Boolean)?;
        let path = self.context.path;
        let explicit: Vec<&str> = path.named().collect();
        let mut all = explicit.clone();
        if !explicit.contains(&"pg_catalog") {
            all.insert(0, "pg_catalog");
        }
        if let Some(temporary) = path.temporary().filter(|temporary| !explicit.contains(temporary)) {
            all.insert(0, temporary);
        }
        let element = ArrayElement::System(SystemType::Name);
        let array = |names: Vec<&str>| {
            Expr::Const(Value::array(element, names.into_iter().map(Value::text).collect()))
        };
        let expr = Expr::Case {
            branches: vec![
                (with_implicit.clone(), array(all)),
                (Expr::Not(Box::new(with_implicit)), array(explicit)),
            ],
            otherwise: Box::new(Expr::Const(Value::Null)),
        };
        Ok(Bound::typed(evaluation::fold_if_constant(expr), SqlType::Array(element), place))
    }
}
