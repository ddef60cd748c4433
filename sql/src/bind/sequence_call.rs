//! `nextval`, `currval` and `setval` of a sequence whose name is a constant: the name is looked up now, and
//! the procedure holds the sequence's number. Other names are looked up when the procedure runs.
//!
//! They take names as texts, so a cast to `regclass` is left out where one of them takes the value.

use hyades_engine::procedure::ir::Expr;
use hyades_types::definition::SequenceId;
use hyades_types::error::Result;
use hyades_types::function::Function;
use hyades_types::sequence::{no_relation, not_a_sequence, written_name};
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::{Binder, Bound, Class, Place};
use crate::expr;

fn function_of(name: &str) -> Option<Function> {
    Some(match name {
        "nextval" => Function::NextNumber,
        "currval" => Function::CurrentNumber,
        "setval" => Function::SetNumber,
        _ => return None,
    })
}

/// The arguments without a cast of the first one to `regclass`, if the function takes a sequence.
pub(super) fn without_regclass(name: &str, arguments: &FunctionArguments) -> Option<FunctionArguments> {
    function_of(name)?;
    let FunctionArguments::List(list) = arguments else { return None };
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(first)) = list.args.first()? else { return None };
    let mut inner = first;
    while let ast::Expr::Nested(nested) = inner {
        inner = nested;
    }
    let ast::Expr::Cast { expr: operand, data_type, .. } = inner else { return None };
    let to = data_type.to_string().to_ascii_lowercase();
    if to.strip_prefix("pg_catalog.").unwrap_or(&to) != "regclass" {
        return None;
    }
    let mut list = list.clone();
    list.args[0] = FunctionArg::Unnamed(FunctionArgExpr::Expr((**operand).clone()));
    Some(FunctionArguments::List(list))
}

/// The sequences that an expression accesses by number.
pub(crate) fn sequences_of(expr: &Expr) -> Vec<SequenceId> {
    let mut found = Vec::new();
    expr::any(expr, &|part| matches!(part, Expr::Call { function, .. } if function.looks_at().sequences))
        .then(|| collect(expr, &mut found));
    found
}

fn collect(expr: &Expr, found: &mut Vec<SequenceId>) {
    if let Expr::Call { function, arguments } = expr
        && function.looks_at().sequences
        && let Some(Expr::Const(Value::Integer(id))) = arguments.first()
    {
        found.push(SequenceId(id.cast_unsigned()));
    }
    expr.for_each_part(&mut |part| collect(part, found));
}

impl Binder<'_> {
    /// Binds a call of one of these functions if its first argument is a literal.
    pub(super) fn try_sequence_call(
        &mut self,
        name: &str,
        arguments: &[Bound],
        place: Place,
    ) -> Result<Option<Bound>> {
        let Some(function) = function_of(name) else { return Ok(None) };
        let types: &[SqlType] = match (function, arguments.len()) {
            (Function::SetNumber, 2) => &[SqlType::BigInt],
            (Function::SetNumber, 3) => &[SqlType::BigInt, SqlType::Boolean],
            (Function::NextNumber | Function::CurrentNumber, 1) => &[],
            _ => return Ok(None),
        };
        let Class::Literal(text) = &arguments[0].class else { return Ok(None) };
        let id = self.sequence_id(text, arguments[0].place)?;
        let mut bound = vec![Expr::Const(Value::Integer(id.0.cast_signed()))];
        for (argument, sql_type) in arguments[1..].iter().zip(types) {
            if argument.known_type().is_some_and(|own| !super::coerce::is_implicit(own, *sql_type)) {
                return Err(self.no_function_of(name, arguments, place));
            }
            bound.push(self.coerce(argument.clone(), *sql_type)?);
        }
        let call = Expr::Call { function, arguments: bound };
        Ok(Some(Bound::typed(call, SqlType::BigInt, place)))
    }

    fn sequence_id(&self, text: &str, place: Place) -> Result<SequenceId> {
        let (schema, name) = written_name(text).map_err(|error| self.place(error, place))?;
        let name = self.meant(schema.as_deref(), &name, place);
        match self.context.tables.sequence(&name) {
            Some(sequence) => Ok(sequence.id),
            // PostgreSQL reports that when the statement runs.
            None if self.context.tables.table(&name).is_some() => Err(not_a_sequence(&name.name)),
            None => Err(self.place(no_relation(text, |schema| self.context.has_schema(schema)), place)),
        }
    }
}
