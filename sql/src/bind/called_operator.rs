//! Operators that are functions: those of JSON, of network addresses and of hstore. The function is found by
//! the operator's symbol and the types of both sides, as a function with a name is.

use hyades_types::error::Result;
use sqlparser::ast::{self, BinaryOperator as Ast};

use super::coerce::{Category, category};
use super::{Binder, Bound, Place};
use crate::statement::query::end_of;

/// Symbols that sqlparser does not know.
const CUSTOM: [&str; 6] = ["<<=", ">>=", "#<#", "#<=#", "#>#", "#>=#"];

/// The symbol of an operator that has no other meaning.
pub(super) fn symbol_of(operator: &Ast) -> Option<&'static str> {
    Some(match operator {
        Ast::Arrow => "->",
        Ast::LongArrow => "->>",
        Ast::HashArrow => "#>",
        Ast::HashLongArrow => "#>>",
        Ast::HashMinus => "#-",
        Ast::Question => "?",
        Ast::QuestionPipe => "?|",
        Ast::QuestionAnd => "?&",
        Ast::AtQuestion => "@?",
        Ast::AtAt => "@@",
        Ast::Custom(symbol) => CUSTOM.into_iter().find(|custom| custom == symbol)?,
        _ => return None,
    })
}

/// Whether the operator also has a meaning for other types. Not those of long chains, whose operands would be
/// bound again at each link to find out: the rules of `operator` decide about their types.
pub(super) fn is_shared(operator: &Ast) -> bool {
    matches!(
        operator,
        Ast::AtArrow
            | Ast::ArrowAt
            | Ast::StringConcat
            | Ast::Minus
            | Ast::PGOverlap
            | Ast::PGBitwiseShiftLeft
            | Ast::PGBitwiseShiftRight
    )
}

fn network_symbol(operator: &Ast) -> Option<&'static str> {
    Some(match operator {
        Ast::PGOverlap => "&&",
        Ast::PGBitwiseShiftLeft => "<<",
        Ast::PGBitwiseShiftRight => ">>",
        Ast::BitwiseAnd => "&",
        Ast::BitwiseOr => "|",
        Ast::Plus => "+",
        Ast::Minus => "-",
        _ => return None,
    })
}

/// The symbol of an operator that has a meaning of its own for these operands.
pub(super) fn shared_symbol(operator: &Ast, left: &Bound, right: &Bound) -> Option<&'static str> {
    let is_document = |side: &Bound| {
        let category = side.known_type().map(category);
        matches!(category, Some(Category::Jsonb | Category::Extension))
    };
    let is_open = |side: &Bound| side.known_type().is_none() || is_document(side);
    let is_address = |side: &Bound| {
        let category = side.known_type().map(category);
        matches!(category, Some(Category::Network | Category::MacAddr))
    };
    if is_address(left) || is_address(right) {
        return network_symbol(operator);
    }
    let is_one = is_document(left) || is_document(right);
    Some(match operator {
        Ast::AtArrow if is_one => "@>",
        Ast::ArrowAt if is_one => "<@",
        Ast::StringConcat if is_one && is_open(left) && is_open(right) => "||",
        Ast::Minus if is_document(left) => "-",
        _ => return None,
    })
}

impl Binder<'_> {
    /// An operator that [`symbol_of`] knows.
    pub(super) fn called_operation(
        &mut self,
        left: &ast::Expr,
        symbol: &str,
        right: &ast::Expr,
    ) -> Result<Bound> {
        let place = Place::OperatorAfter(end_of(left));
        let sides = [self.expression(left)?, self.expression(right)?];
        self.operator_of(symbol, sides, place)
    }
}
