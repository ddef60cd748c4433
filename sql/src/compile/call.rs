//! CALL and DO.

use std::sync::Arc;

use hyades_engine::procedure::ir::Expr;
use hyades_types::definition::{RoutineDefinition, RoutineKind, TableName};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;

use super::action::{Action, CallPlan, Plan};
use crate::answer::{Response, ResultColumn};
use crate::bind::Place;
use crate::emit::Compiler;
use crate::expr;
use crate::statement::CreateRoutine;
use crate::statement::names::fold;
use crate::statement::query::parse_call;

impl Compiler<'_> {
    /// CALL.
    pub(crate) fn call(&mut self, sql: &str) -> Result<Plan> {
        let call = parse_call(sql)?;
        let idents = crate::statement::names::parts(&call.name)?;
        let parts: Vec<String> = idents.into_iter().map(fold).collect();
        let place = Place::of(&call.name);
        let arguments = self.binder.call_arguments(&call)?;
        let chosen = self.binder.choose_routine(&parts, &arguments, RoutineKind::Procedure, place)?;
        let Some(chosen) = chosen else {
            return Err(self.binder.no_procedure(&parts.join("."), &arguments, place));
        };
        let Some((routine, _)) = chosen.stored() else {
            return Err(Error::input(sqlstate::INTERNAL_ERROR, "a statement calls what is being compiled"));
        };
        let routine = Arc::clone(routine);
        let arguments = self.binder.routine_arguments(&chosen, &arguments, true)?;
        let calls_function =
            |argument: &Expr| expr::any(argument, &|part| matches!(part, Expr::Routine { .. }));
        if arguments.iter().any(calls_function) || !self.binder.session_calls.is_empty() {
            return self.binder.unsupported(
                Missing::CallArguments,
                "user-defined functions or functions of the session as arguments of CALL are",
                place,
            );
        }
        // A routine that no longer compiles reports that before it is called.
        self.binder.context.tables.procedure(&routine)?;
        let columns: Vec<ResultColumn> = routine
            .definition
            .parameters
            .iter()
            .filter(|parameter| parameter.mode.is_output())
            .enumerate()
            .map(|(at, parameter)| ResultColumn {
                name: parameter.name.clone().unwrap_or_else(|| format!("column{}", at + 1)),
                sql_type: parameter.sql_type,
                source: None,
            })
            .collect();
        let response = if columns.is_empty() { Response::NoData } else { Response::Rows(columns) };
        let call = CallPlan { routine, arguments };
        Ok(Plan {
            parameters: self.binder.finished_parameters()?,
            response,
            action: Action::Call(Box::new(call)),
            command: "CALL",
            is_read_only: false,
        })
    }

    /// DO: the session compiles its block.
    pub(super) fn anonymous_block(&mut self, block: &CreateRoutine) -> Result<Plan> {
        // A DO block is a function that returns void.
        let name = TableName { schema: String::new(), name: block.name.name.clone() };
        let written = self.routine_definition(block, name)?;
        let definition = Box::new(RoutineDefinition { kind: RoutineKind::Function, ..written });
        match definition.language.as_str() {
            "plpgsql" => {}
            "sql" | "c" | "internal" => {
                let message =
                    format!("language \"{}\" does not support inline code execution", definition.language);
                return self.binder.fail(sqlstate::FEATURE_NOT_SUPPORTED, message, Place::Unknown);
            }
            other => {
                let message = format!("language \"{other}\" does not exist");
                return self.binder.fail(sqlstate::UNDEFINED_OBJECT, message, Place::Unknown);
            }
        }
        let body_offset = block.body_offset;
        Ok(Plan {
            response: Response::NoData,
            ..Plan::simple("DO", Action::Block { definition, body_offset })
        })
    }
}
