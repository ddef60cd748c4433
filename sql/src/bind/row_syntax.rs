//! Rows as they are written.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{self, Function, FunctionArg, FunctionArgExpr, FunctionArguments};

use crate::statement::call_syntax::plain_argument;
use crate::statement::names::{fold, parts};

/// Whether it is `ROW(a, b)`.
pub(super) fn is_row_constructor(call: &Function) -> bool {
    let [ast::ObjectNamePart::Identifier(name)] = call.name.0.as_slice() else { return false };
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case("row")
}

pub(super) const EXPAND_ARRAY: &str = "_pg_expandarray";

/// Whether this calls `_pg_expandarray`.
pub(super) fn expands_array(call: &Function) -> bool {
    names_expanded_array(&call.name)
}

pub(super) fn names_expanded_array(name: &ast::ObjectName) -> bool {
    let names: Vec<String> = parts(name).unwrap_or_default().into_iter().map(fold).collect();
    matches!(names.as_slice(), [schema, name] if schema == "information_schema" && name == EXPAND_ARRAY)
}

/// The items of `(a, b)` or `ROW(a, b)`.
pub(super) fn row_items(expr: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    match expr {
        ast::Expr::Tuple(items) => Some(items.iter().collect()),
        ast::Expr::Function(call) if is_row_constructor(call) => {
            let FunctionArguments::List(list) = &call.args else { return None };
            list.args
                .iter()
                .map(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(item)) => Some(item),
                    _ => None,
                })
                .collect()
        }
        _ => None,
    }
}

/// The same in parentheses.
pub(super) fn written_row(expr: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    match expr {
        ast::Expr::Nested(inner) => written_row(inner),
        other => row_items(other),
    }
}

/// The call of an aggregate without VARIADIC, which says nothing there.
pub(super) fn without_variadic(call: &Function) -> Option<Function> {
    let FunctionArguments::List(list) = &call.args else { return None };
    let last = list.args.last().and_then(plain_argument).filter(|(_, is_variadic)| *is_variadic);
    let argument = last.map(|(argument, _)| argument.clone())?;
    let mut call = call.clone();
    if let FunctionArguments::List(list) = &mut call.args
        && let Some(last) = list.args.last_mut()
    {
        *last = FunctionArg::Unnamed(FunctionArgExpr::Expr(argument));
    }
    Some(call)
}

/// The call with `name.*` as an expression, which is a row, if an argument is that.
pub(super) fn with_rows(call: &Function) -> Option<Function> {
    let FunctionArguments::List(list) = &call.args else { return None };
    let is_row = |argument: &FunctionArg| {
        matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_)))
    };
    if !list.args.iter().any(is_row) {
        return None;
    }
    let mut call = call.clone();
    let FunctionArguments::List(list) = &mut call.args else { return None };
    for argument in &mut list.args {
        if let FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) = argument {
            let row = ast::Expr::QualifiedWildcard(name.clone(), AttachedToken::empty());
            *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(row));
        }
    }
    Some(call)
}
