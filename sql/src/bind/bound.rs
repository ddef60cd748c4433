//! Bound expressions: what is known of their types, and their places in the text.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Error, sqlstate};
use hyades_types::value::SqlType;
use sqlparser::ast::{self, Spanned};
use sqlparser::tokenizer::Location;

/// A place in the statement's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Unknown,
    At(Location),
    /// At the operator that follows the operand ending here.
    OperatorAfter(Location),
    /// At the `::` that follows the operand ending here.
    CastAfter(Location),
    /// At the type after the `::` or AS that follows the operand ending here.
    TypeAfter(Location),
    /// At the word CAST before the operand that begins here.
    CastBefore(Location),
}

/// Where an expression begins. A long chain of operators leans to the left, and sqlparser's own spans would
/// recurse along it.
pub(crate) fn start_of(expr: &ast::Expr) -> Location {
    let mut rest = expr;
    loop {
        rest = match rest {
            ast::Expr::BinaryOp { left, .. } => left,
            ast::Expr::Nested(inner)
            | ast::Expr::IsNull(inner)
            | ast::Expr::IsNotNull(inner)
            | ast::Expr::UnaryOp { expr: inner, .. }
            | ast::Expr::Cast { expr: inner, .. }
            | ast::Expr::Between { expr: inner, .. }
            | ast::Expr::InList { expr: inner, .. }
            | ast::Expr::InSubquery { expr: inner, .. }
            | ast::Expr::Like { expr: inner, .. } => inner,
            ast::Expr::Function(call) => return call.name.span().start,
            ast::Expr::Case { case_token, .. } => return case_token.0.span.start,
            ast::Expr::Subquery(query) | ast::Expr::Exists { subquery: query, .. } => {
                return start_of_query(query);
            }
            other => return other.span().start,
        };
    }
}

/// The same for a query, which may be deeply nested.
pub(crate) fn start_of_query(query: &ast::Query) -> Location {
    match (&query.with, query.body.as_ref()) {
        (Some(with), _) => with.with_token.0.span.start,
        (None, ast::SetExpr::Select(select)) => select.select_token.0.span.start,
        (None, ast::SetExpr::Query(inner)) => start_of_query(inner),
        _ => query.span().start,
    }
}

impl Place {
    pub(crate) fn of_expr(expr: &ast::Expr) -> Place {
        Place::at(start_of(expr))
    }

    pub(crate) fn of(node: &impl Spanned) -> Place {
        Place::at(node.span().start)
    }

    /// At the parenthesis in front of this place.
    pub(crate) fn before(location: Location) -> Place {
        Place::at(Location { column: location.column.saturating_sub(1).max(1), ..location })
    }

    pub(crate) fn at(location: Location) -> Place {
        if location.line == 0 { Place::Unknown } else { Place::At(location) }
    }
}

/// What is known of an expression's type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Class {
    Typed(SqlType),
    /// A literal in quotes.
    Literal(String),
    Null,
    /// A parameter that has no type yet.
    Parameter(u16),
}

/// A bound expression. `expr` is meaningful for `Typed` and `Parameter`. The others get one with their type.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) expr: Expr,
    pub(crate) class: Class,
    pub(crate) place: Place,
}

impl Bound {
    pub(crate) fn typed(expr: Expr, sql_type: SqlType, place: Place) -> Bound {
        Bound { expr, class: Class::Typed(sql_type), place }
    }

    pub(crate) fn known_type(&self) -> Option<SqlType> {
        match self.class {
            Class::Typed(sql_type) => Some(sql_type),
            _ => None,
        }
    }

    /// The type's name for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        self.known_type().map_or("unknown", SqlType::base_name)
    }
}

/// 42P18: nothing determines the parameter's type.
pub(crate) fn no_parameter_type(number: u16) -> Error {
    let message = format!("could not determine data type of parameter ${}", number + 1);
    Error::input(sqlstate::INDETERMINATE_DATATYPE, message)
}
