//! EXCEPTION blocks and GET DIAGNOSTICS.

use hyades_engine::procedure::ir::{Condition, ErrorField, Expr, Instruction};
use hyades_types::error::{Result, SqlState, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;

use super::assignment::Destination;
use super::routine_body::Routine;
use super::tree::{Block, Handler, Path};
use crate::bind::visible_variables::{Scalar, Scope, Variable};

impl<'a> Routine<'a> {
    /// The body of a block with handlers, and the handlers.
    pub(super) fn guarded(&mut self, block: &'a Block) -> Result<()> {
        let code = &mut self.compiler.code;
        let (handler, end) = (code.label(), code.label());
        code.push(Instruction::EnterBlock { handler });
        let before = self.names().states();
        self.blocks += 1;
        self.statements(&block.body)?;
        self.blocks -= 1;
        self.compiler.code.push(Instruction::LeaveBlock);
        self.compiler.code.jump(end);
        self.compiler.code.place(handler);
        // The error may have occurred after any of the body's statements.
        self.names().join(&before);
        let entered = self.names().states();
        let mut joined = None;
        self.handlers += 1;
        for handler in &block.handlers {
            let next = self.compiler.code.label();
            let conditions = self.conditions(handler)?;
            self.compiler.code.push(Instruction::MatchError { conditions, otherwise: next });
            self.handler(handler)?;
            self.leave_branch(&entered, &mut joined);
            self.compiler.code.push(Instruction::ForgetError);
            self.compiler.code.jump(end);
            self.compiler.code.place(next);
        }
        self.handlers -= 1;
        self.compiler.code.push(Instruction::Rethrow);
        self.compiler.code.place(end);
        if let Some(joined) = joined {
            self.names().join(&joined);
        }
        Ok(())
    }

    fn conditions(&mut self, handler: &'a Handler) -> Result<Vec<Condition>> {
        let mut conditions = Vec::new();
        for (name, start) in &handler.conditions {
            if name == "others" {
                conditions.push(Condition::Others);
                continue;
            }
            conditions.extend(self.condition_states(name, *start)?.into_iter().map(Condition::State));
        }
        Ok(conditions)
    }

    /// SQLSTATE and SQLERRM are variables of the handler.
    fn handler(&mut self, handler: &'a Handler) -> Result<()> {
        let mut scope = Scope::default();
        for (name, field) in [("sqlstate", ErrorField::State), ("sqlerrm", ErrorField::Message)] {
            let register = self.compiler.binder.new_register()?;
            self.compiler.code.push(Instruction::ErrorField { field, into: register });
            let scalar = Scalar { is_constant: true, ..Scalar::new(register, SqlType::Text) };
            scope.variables.push((name.to_owned(), Variable::Scalar(scalar)));
        }
        self.names().scopes.push(scope);
        self.statements(&handler.body)?;
        self.names().scopes.pop();
        Ok(())
    }

    pub(super) fn diagnostics(&mut self, is_stacked: bool, items: &'a [(Path, String, usize)]) -> Result<()> {
        for (target, item, start) in items {
            let Destination::Scalar(scalar) = self.target(target)? else {
                return self.unsupported(
                    Missing::ChangingRecords,
                    "GET DIAGNOSTICS into a record is",
                    target.start,
                );
            };
            if !is_stacked {
                let Some(count) = self.row_count.filter(|_| item == "row_count") else {
                    return self.no_item(item, is_stacked, *start);
                };
                let value =
                    self.compiler.assigned(Expr::Register(count), SqlType::BigInt, scalar.sql_type)?;
                self.store(&scalar, value, &target.parts.join("."))?;
                continue;
            }
            let field = match item.as_str() {
                "returned_sqlstate" => ErrorField::State,
                "message_text" => ErrorField::Message,
                "pg_exception_detail" => ErrorField::Detail,
                "pg_exception_hint" => ErrorField::Hint,
                "pg_exception_context" => ErrorField::Context,
                "table_name" => ErrorField::Table,
                "column_name" => ErrorField::Column,
                "constraint_name" => ErrorField::Constraint,
                "schema_name" => ErrorField::Schema,
                "pg_datatype_name" => ErrorField::DataType,
                _ => return self.no_item(item, is_stacked, *start),
            };
            if self.handlers == 0 {
                self.compiler.code.push(crate::emit::row_sink::report(
                    sqlstate::STACKED_DIAGNOSTICS,
                    "GET STACKED DIAGNOSTICS cannot be used outside an exception handler",
                    None,
                ));
                continue;
            }
            let register = self.compiler.binder.new_register()?;
            self.compiler.code.push(Instruction::ErrorField { field, into: register });
            let value = self.compiler.assigned(Expr::Register(register), SqlType::Text, scalar.sql_type)?;
            self.store(&scalar, value, &target.parts.join("."))?;
        }
        Ok(())
    }

    fn no_item(&mut self, item: &str, is_stacked: bool, start: usize) -> Result<()> {
        const KNOWN: [&str; 2] = ["pg_context", "row_count"];
        if KNOWN.contains(&item) {
            return self.unsupported(
                Missing::Diagnostics,
                &format!("the diagnostics item {} is", item.to_ascii_uppercase()),
                start,
            );
        }
        let kind = if is_stacked { "GET STACKED DIAGNOSTICS" } else { "GET CURRENT DIAGNOSTICS" };
        let message = if item.is_empty() {
            format!("diagnostics item is not allowed in {kind}")
        } else {
            "unrecognized GET DIAGNOSTICS item".to_owned()
        };
        let state: SqlState = sqlstate::SYNTAX_ERROR;
        self.fail(state, message, start)
    }
}
