//! Statements that run no procedure.

use hyades_types::error::Result;
use hyades_types::value::SqlType;
use sqlparser::ast::Expr as AstExpr;

use super::action::{Action, LockCommand, Plan, SettingsCommand, TransactionCommand};
use crate::answer::{Response, ResultColumn};
use crate::bind::types;
use crate::ddl::command::SchemaCommand;
use crate::emit::Compiler;
use crate::statement::{ListenStatement, Maintained, Statement, query};

fn text_column(name: &str) -> ResultColumn {
    ResultColumn { name: name.to_owned(), sql_type: SqlType::Text, source: None }
}

impl Compiler<'_> {
    /// VACUUM, ANALYZE, REINDEX and others, which have nothing to do. Their tables must exist.
    fn maintenance(
        &self,
        tag: &'static str,
        on: &Maintained,
        refused_in_block: Option<&'static str>,
    ) -> Result<Plan> {
        if let Maintained::Tables(tables) = on {
            for table in tables {
                self.named_table(table)?;
            }
        }
        Ok(Plan::simple(tag, Action::Maintenance { tag, on: on.clone(), refused_in_block }))
    }

    pub(crate) fn utility(&mut self, statement: &Statement) -> Result<Plan> {
        use TransactionCommand as Transaction;
        let transaction = |command, transaction| Ok(Plan::simple(command, Action::Transaction(transaction)));
        match statement {
            Statement::Begin { modes, is_start } => {
                let command = if *is_start { "START TRANSACTION" } else { "BEGIN" };
                transaction(command, Transaction::Begin(modes.clone()))
            }
            Statement::Commit { chains } => transaction("COMMIT", Transaction::Commit { chains: *chains }),
            Statement::Rollback { chains } => {
                transaction("ROLLBACK", Transaction::Rollback { chains: *chains })
            }
            Statement::Savepoint(name) => transaction("SAVEPOINT", Transaction::Savepoint(name.clone())),
            Statement::Release(name) => transaction("RELEASE", Transaction::Release(name.clone())),
            Statement::RollbackTo(name) => transaction("ROLLBACK", Transaction::RollbackTo(name.clone())),
            Statement::SetTransaction(modes) => transaction("SET", Transaction::Set(modes.clone())),
            Statement::SetSessionCharacteristics(modes) => {
                Ok(self.settings("SET", SettingsCommand::SetCharacteristics(modes.clone())))
            }
            Statement::Set { name, value, scope } => {
                let command =
                    SettingsCommand::Set { name: name.clone(), value: value.clone(), scope: *scope };
                Ok(self.settings("SET", command))
            }
            Statement::SetConstraints { names, is_deferred } => {
                let action = Action::SetConstraints { names: names.clone(), is_deferred: *is_deferred };
                Ok(Plan::simple("SET CONSTRAINTS", action))
            }
            Statement::LockTable { tables, lock, waits } => {
                let command = LockCommand { tables: tables.clone(), lock: *lock, waits: *waits };
                Ok(Plan::simple("LOCK TABLE", Action::Lock(command)))
            }
            Statement::Checkpoint => Ok(Plan::simple("CHECKPOINT", Action::Checkpoint)),
            Statement::Show(name) => Ok(self.show(name.clone())),
            Statement::Reset(name) => Ok(self.settings("RESET", SettingsCommand::Reset(name.clone()))),
            Statement::DiscardTemporaries => {
                let action = Action::Schema(SchemaCommand::DiscardTemporaries);
                Ok(Plan::simple("DISCARD TEMP", action))
            }
            Statement::DiscardAll => Ok(self.settings("DISCARD ALL", SettingsCommand::DiscardAll)),
            Statement::Maintenance { tag, on, refused_in_block } => {
                self.maintenance(tag, on, *refused_in_block)
            }
            Statement::Listen(listen) => {
                let command = match listen {
                    ListenStatement::Listen(_) => "LISTEN",
                    ListenStatement::Unlisten(_) => "UNLISTEN",
                    ListenStatement::Notify { .. } => "NOTIFY",
                };
                Ok(Plan::simple(command, Action::Listen(listen.clone())))
            }
            Statement::DeclareCursor(cursor) => self.declare_cursor(cursor),
            Statement::Fetch(fetch) => {
                let command = if fetch.is_move { "MOVE" } else { "FETCH" };
                Ok(Plan::simple(command, Action::Fetch(fetch.clone())))
            }
            Statement::CloseCursor(name) => {
                Ok(Plan::simple("CLOSE CURSOR", Action::CloseCursor(name.clone())))
            }
            Statement::Prepare { name, types, body, body_offset } => {
                self.prepare(name, types, body, *body_offset)
            }
            Statement::Execute { name, arguments } => self.execute(name, arguments),
            Statement::Deallocate(name) => Ok(Plan::simple("DEALLOCATE", Action::Deallocate(name.clone()))),
            _ => Ok(Plan { response: Response::Empty, ..Plan::simple("", Action::Empty) }),
        }
    }

    fn settings(&self, command: &'static str, settings: SettingsCommand) -> Plan {
        Plan::simple(command, Action::Settings(settings))
    }

    fn show(&self, name: Option<String>) -> Plan {
        let columns = match &name {
            Some(name) => vec![text_column(crate::settings::shown_name(name))],
            None => vec![text_column("name"), text_column("setting"), text_column("description")],
        };
        Plan { response: Response::Rows(columns), ..self.settings("SHOW", SettingsCommand::Show(name)) }
    }

    fn prepare(&self, name: &str, names: &[String], body: &str, body_offset: u32) -> Result<Plan> {
        let mut declared = Vec::with_capacity(names.len());
        for name in names {
            declared.push(if name.eq_ignore_ascii_case("unknown") {
                None
            } else {
                // PostgreSQL ignores lengths and precisions of parameters.
                Some(types::resolve(&query::parse_type(name)?, &self.binder)?.without_modifier())
            });
        }
        let (name, body) = (name.to_owned(), body.to_owned());
        let action = Action::Prepare { name, types: declared, body, body_offset };
        Ok(Plan::simple("PREPARE", action))
    }

    /// The arguments are bound when the prepared statement's parameter types are known. Here they only have
    /// to be constants.
    fn execute(&mut self, name: &str, arguments: &str) -> Result<Plan> {
        let mut bound = Vec::new();
        if !arguments.is_empty() {
            let parsed = match query::parse_expression(arguments)? {
                AstExpr::Tuple(items) => items,
                AstExpr::Nested(item) => vec![*item],
                other => vec![other],
            };
            for argument in &parsed {
                let argument = self.binder.expression(argument)?;
                bound.push(self.binder.known_or_text(argument)?.0);
            }
        }
        Ok(Plan::simple("EXECUTE", Action::Execute { name: name.to_owned(), arguments: bound }))
    }
}
