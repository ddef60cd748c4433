//! Operators: which operator is meant, on which types, with which result.
//!
//! PostgreSQL resolves an operator by searching pg_operator. The types that Hyades has are few enough for
//! rules: an unknown literal or parameter takes the type of the other side; numbers are converted to the
//! wider type (an integer or numeric with a `real` to `double precision`); so are dates and timestamps; all
//! other types must be equal.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::operator::{BinaryOperator, UnaryOperator};
use hyades_types::refusal::Missing;
use hyades_types::system_type::SystemType;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::coerce::{Category, cast, category};
use super::{Binder, Bound, Class, Place};
use crate::{evaluation, expr};

/// The operator of the text, if it is one of the IR's.
pub(crate) fn from_ast(operator: &ast::BinaryOperator) -> Option<BinaryOperator> {
    use ast::BinaryOperator as Ast;
    Some(match operator {
        Ast::Plus => BinaryOperator::Add,
        Ast::Minus => BinaryOperator::Subtract,
        Ast::Multiply => BinaryOperator::Multiply,
        Ast::Divide => BinaryOperator::Divide,
        Ast::Modulo => BinaryOperator::Modulo,
        Ast::PGExp => BinaryOperator::Power,
        Ast::StringConcat => BinaryOperator::Concat,
        Ast::BitwiseAnd => BinaryOperator::BitAnd,
        Ast::BitwiseOr => BinaryOperator::BitOr,
        Ast::PGBitwiseXor => BinaryOperator::BitXor,
        Ast::PGBitwiseShiftLeft => BinaryOperator::ShiftLeft,
        Ast::PGBitwiseShiftRight => BinaryOperator::ShiftRight,
        Ast::Eq => BinaryOperator::Equal,
        Ast::NotEq => BinaryOperator::NotEqual,
        Ast::Lt => BinaryOperator::Less,
        Ast::LtEq => BinaryOperator::LessEqual,
        Ast::Gt => BinaryOperator::Greater,
        Ast::GtEq => BinaryOperator::GreaterEqual,
        _ => return None,
    })
}

/// The operator that gives the same result with its sides exchanged.
pub(crate) fn mirrored(operator: BinaryOperator) -> BinaryOperator {
    match operator {
        BinaryOperator::Less => BinaryOperator::Greater,
        BinaryOperator::LessEqual => BinaryOperator::GreaterEqual,
        BinaryOperator::Greater => BinaryOperator::Less,
        BinaryOperator::GreaterEqual => BinaryOperator::LessEqual,
        other => other,
    }
}

/// Types of both sides and the result.
pub(super) struct Signature {
    pub(super) left: SqlType,
    pub(super) right: SqlType,
    pub(super) result: SqlType,
}

impl Signature {
    fn same(sql_type: SqlType) -> Option<Signature> {
        Some(Signature { left: sql_type, right: sql_type, result: sql_type })
    }
}

/// The common type of two numbers.
pub(crate) fn common_number(left: SqlType, right: SqlType) -> SqlType {
    use SqlType::{BigInt, DoublePrecision, Integer, Numeric, Real, SmallInt};
    match (left.without_modifier(), right.without_modifier()) {
        (a, b) if a.is_oid() || b.is_oid() => SqlType::System(SystemType::Oid),
        (a, b) if a == b => a,
        (DoublePrecision | Real, _) | (_, DoublePrecision | Real) => DoublePrecision,
        (Numeric(_), _) | (_, Numeric(_)) => Numeric(None),
        (BigInt, _) | (_, BigInt) => BigInt,
        (Integer, _) | (_, Integer) => Integer,
        _ => SmallInt,
    }
}

/// The type in which two values are compared, if they can be.
pub(crate) fn comparison_type(left: SqlType, right: SqlType) -> Option<SqlType> {
    // A time of day compared with an interval is converted to one.
    let is_span = |sql_type| matches!(sql_type, SqlType::Interval(_) | SqlType::Time(_));
    if category(left) != category(right) && is_span(left) && is_span(right) {
        return Some(SqlType::INTERVAL);
    }
    if category(left) != category(right) {
        return None;
    }
    Some(match category(left) {
        Category::Numeric => common_number(left, right),
        // Two `char(n)` compare as text without trailing blanks, which is what their cast to text produces.
        Category::String => match (left, right) {
            (SqlType::Extension(_), SqlType::Extension(_)) if left == right => left,
            _ => SqlType::Text,
        },
        Category::DateTime => match (left, right) {
            (SqlType::Time(_), SqlType::Time(_)) => SqlType::TIME,
            (SqlType::Time(_) | SqlType::TimeTz(_), SqlType::Time(_) | SqlType::TimeTz(_)) => SqlType::TIMETZ,
            (SqlType::Time(_) | SqlType::TimeTz(_), _) | (_, SqlType::Time(_) | SqlType::TimeTz(_)) => {
                return None;
            }
            (SqlType::Date, SqlType::Date) => left,
            (SqlType::TimestampTz(_), _) | (_, SqlType::TimestampTz(_)) => SqlType::TIMESTAMPTZ,
            _ => SqlType::TIMESTAMP,
        },
        Category::Boolean | Category::Bytea | Category::Uuid | Category::Jsonb => left,
        Category::Network => SqlType::Inet,
        Category::MacAddr => (left == right).then_some(left)?,
        Category::Enum | Category::Extension => (left == right).then_some(left)?,
        Category::Row => match (left, right) {
            (SqlType::Composite(_), SqlType::Composite(_)) if left == right => left,
            (SqlType::Composite(_), SqlType::System(_)) => left,
            (SqlType::System(_), SqlType::Composite(_)) => right,
            _ => return None,
        },
        Category::Json => return None,
        Category::Interval => SqlType::INTERVAL,
        Category::Array if left.is_same_base(right) => left.without_modifier(),
        Category::Array => return None,
    })
}

pub(super) fn signature(operator: BinaryOperator, left: SqlType, right: SqlType) -> Option<Signature> {
    use BinaryOperator as Op;
    if operator.is_comparison() {
        let operand = comparison_type(left, right)?;
        // The operators of the order have names of their own.
        let is_equality = matches!(operator, Op::Equal | Op::NotEqual);
        (is_equality || category(operand) != Category::Extension).then_some(())?;
        return Some(Signature { left: operand, right: operand, result: SqlType::Boolean });
    }
    let is_span = |sql_type| matches!(sql_type, SqlType::Interval(_) | SqlType::Time(_));
    let is_zoned_time = |sql_type| matches!(sql_type, SqlType::TimeTz(_));
    if is_zoned_time(left) || is_zoned_time(right) {
        return zoned_time_signature(operator, left, right);
    }
    if is_span(left) || is_span(right) {
        return span_signature(operator, left, right);
    }
    let are_numbers = left.is_numeric() && right.is_numeric();
    match operator {
        Op::Add | Op::Subtract | Op::Multiply | Op::Divide if are_numbers => {
            Signature::same(common_number(left, right))
        }
        Op::Modulo if are_numbers => {
            let common = common_number(left, right);
            (!matches!(common, SqlType::Real | SqlType::DoublePrecision)).then_some(())?;
            Signature::same(common)
        }
        Op::Power if are_numbers => {
            let is_numeric = matches!(common_number(left, right), SqlType::Numeric(_));
            Signature::same(if is_numeric { SqlType::Numeric(None) } else { SqlType::DoublePrecision })
        }
        Op::Add if left == SqlType::Date && matches!(right, SqlType::Integer | SqlType::SmallInt) => {
            Some(Signature { left, right: SqlType::Integer, result: SqlType::Date })
        }
        Op::Add if right == SqlType::Date && matches!(left, SqlType::Integer | SqlType::SmallInt) => {
            Some(Signature { left: SqlType::Integer, right, result: SqlType::Date })
        }
        Op::Subtract if left == SqlType::Date && matches!(right, SqlType::Integer | SqlType::SmallInt) => {
            Some(Signature { left, right: SqlType::Integer, result: SqlType::Date })
        }
        Op::Subtract if left == SqlType::Date && right == SqlType::Date => {
            Some(Signature { left, right, result: SqlType::Integer })
        }
        Op::Subtract if left.is_datetime() && right.is_datetime() => {
            let operand = comparison_type(left, right)?;
            Some(Signature { left: operand, right: operand, result: SqlType::INTERVAL })
        }
        Op::BitAnd | Op::BitOr | Op::BitXor if left.is_integer() && right.is_integer() => {
            Signature::same(common_number(left, right))
        }
        Op::ShiftLeft | Op::ShiftRight
            if left.is_integer() && matches!(right, SqlType::Integer | SqlType::SmallInt) =>
        {
            Some(Signature { left, right: SqlType::Integer, result: left })
        }
        Op::Concat if left == SqlType::Bytea && right == SqlType::Bytea => Signature::same(SqlType::Bytea),
        Op::Concat if left.is_string() || right.is_string() => Signature::same(SqlType::Text),
        _ => None,
    }
}

/// The types in which both sides of an operator are printed. Where PostgreSQL has an operator that takes both
/// unconverted, they keep their types.
pub(super) fn shown_operands(
    operator: BinaryOperator,
    left: Option<SqlType>,
    right: Option<SqlType>,
) -> Option<(SqlType, SqlType)> {
    let (left_type, right_type) = match (left, right) {
        (Some(left), Some(right)) => (left, right),
        (Some(left), None) => (left, type_beside(operator, left)),
        (None, Some(right)) => (type_beside(operator, right), right),
        (None, None) => (SqlType::Text, SqlType::Text),
    };
    if category(left_type) == Category::Network || category(right_type) == Category::Network {
        let taken = |own: SqlType| if own.is_integer() { SqlType::BigInt } else { SqlType::Inet };
        return Some((taken(left_type), taken(right_type)));
    }
    if category(left_type) == Category::MacAddr {
        return Some((left_type, right_type));
    }
    let taken = signature(operator, left_type, right_type)?;
    let is_float = |sql_type| matches!(sql_type, SqlType::Real | SqlType::DoublePrecision);
    let is_char = |sql_type| matches!(sql_type, SqlType::Char(_));
    let is_both = |is: &dyn Fn(SqlType) -> bool| is(left_type) && is(right_type);
    let stays = is_both(&SqlType::is_integer)
        || is_both(&is_float)
        || is_both(&SqlType::is_datetime)
        || (operator.is_comparison() && is_both(&is_char));
    if stays {
        return Some((left_type, right_type));
    }
    // A `varchar` compared with a `char(n)` is converted to one.
    if operator.is_comparison() && (is_char(left_type) || is_char(right_type)) {
        let as_char = |own: SqlType| if own == SqlType::Text { own } else { SqlType::Char(0) };
        if left_type != SqlType::Text && right_type != SqlType::Text {
            return Some((as_char(left_type), as_char(right_type)));
        }
    }
    let shown = |own: SqlType, wanted: SqlType| match operator {
        BinaryOperator::Concat if !own.is_string() => own,
        // There are operators that take a `real` and a `double precision`.
        _ if own == SqlType::Real && wanted == SqlType::DoublePrecision => own,
        _ => wanted,
    };
    Some((shown(left_type, taken.left), shown(right_type, taken.right)))
}

/// The operators that take a time of day with time zone. A time of day without one counts as an interval.
fn zoned_time_signature(operator: BinaryOperator, left: SqlType, right: SqlType) -> Option<Signature> {
    use BinaryOperator as Op;
    const TIMETZ: SqlType = SqlType::TIMETZ;
    const INTERVAL: SqlType = SqlType::INTERVAL;
    let is_zoned = |sql_type| matches!(sql_type, SqlType::TimeTz(_));
    let is_span = |sql_type| matches!(sql_type, SqlType::Interval(_) | SqlType::Time(_));
    let (left, right, result) = match operator {
        Op::Concat if left.is_text() || right.is_text() => return Signature::same(SqlType::Text),
        Op::Add | Op::Subtract if is_zoned(left) && is_span(right) => (TIMETZ, INTERVAL, TIMETZ),
        Op::Add if is_span(left) => (INTERVAL, TIMETZ, TIMETZ),
        Op::Add if left == SqlType::Date => (left, TIMETZ, SqlType::TIMESTAMPTZ),
        Op::Add if right == SqlType::Date => (TIMETZ, right, SqlType::TIMESTAMPTZ),
        _ => return None,
    };
    Some(Signature { left, right, result })
}

/// The operators that take an interval or a time of day.
fn span_signature(operator: BinaryOperator, left: SqlType, right: SqlType) -> Option<Signature> {
    use BinaryOperator as Op;
    const INTERVAL: SqlType = SqlType::INTERVAL;
    const FACTOR: SqlType = SqlType::DoublePrecision;
    // A date counts as its midnight.
    let time = |sql_type| match sql_type {
        SqlType::TimestampTz(_) => SqlType::TIMESTAMPTZ,
        _ => SqlType::TIMESTAMP,
    };
    let is_time = |sql_type| matches!(sql_type, SqlType::Time(_));
    let is_interval = |sql_type| matches!(sql_type, SqlType::Interval(_));
    let (left, right, result) = match operator {
        Op::Concat if left.is_text() || right.is_text() => return Signature::same(SqlType::Text),
        Op::Subtract if is_time(left) && is_time(right) => (SqlType::TIME, SqlType::TIME, INTERVAL),
        Op::Add if left == SqlType::Date && is_time(right) => (left, SqlType::TIME, SqlType::TIMESTAMP),
        Op::Add if is_time(left) && right == SqlType::Date => (SqlType::TIME, right, SqlType::TIMESTAMP),
        Op::Add | Op::Subtract if is_time(left) && is_interval(right) => {
            (SqlType::TIME, INTERVAL, SqlType::TIME)
        }
        Op::Add if is_interval(left) && is_time(right) => (INTERVAL, SqlType::TIME, SqlType::TIME),
        // Combined with anything else a time of day is an interval.
        Op::Add | Op::Subtract if is_time(left) && is_time(right) => return None,
        Op::Add | Op::Subtract if left.without_modifier() == right.without_modifier() => {
            (INTERVAL, INTERVAL, INTERVAL)
        }
        Op::Add | Op::Subtract if left.is_datetime() => (time(left), INTERVAL, time(left)),
        Op::Add if right.is_datetime() => (INTERVAL, time(right), time(right)),
        Op::Multiply | Op::Divide if right.is_numeric() => (INTERVAL, FACTOR, INTERVAL),
        Op::Multiply if left.is_numeric() => (FACTOR, INTERVAL, INTERVAL),
        _ => return None,
    };
    Some(Signature { left, right, result })
}

/// What an unknown side becomes next to a side of this type.
pub(super) fn type_beside(operator: BinaryOperator, known: SqlType) -> SqlType {
    match operator {
        BinaryOperator::Concat if known != SqlType::Bytea => SqlType::Text,
        BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => SqlType::Integer,
        BinaryOperator::Power if known.is_integer() => SqlType::DoublePrecision,
        BinaryOperator::Add if category(known) == Category::DateTime && known != SqlType::Date => {
            SqlType::INTERVAL
        }
        BinaryOperator::Multiply | BinaryOperator::Divide if matches!(known, SqlType::Interval(_)) => {
            SqlType::DoublePrecision
        }
        _ => match known.without_modifier() {
            SqlType::Varchar(_) => SqlType::Text,
            other => other,
        },
    }
}

/// The type of NULLIF's result, and the type in which its arguments are compared. PostgreSQL has operators
/// between types of the same kind, which leave both arguments unconverted.
fn null_if_types(types: (Option<SqlType>, Option<SqlType>)) -> (SqlType, SqlType) {
    let is_float = |sql_type| matches!(sql_type, SqlType::Real | SqlType::DoublePrecision);
    let as_operand = |sql_type: SqlType| match sql_type {
        SqlType::Varchar(_) => SqlType::Text,
        other => other,
    };
    let (left, right) = match types {
        (Some(left), Some(right)) => (left, right),
        (Some(left), None) => return (as_operand(left), comparison_type(left, left).unwrap_or(left)),
        (None, Some(right)) => {
            let compared = comparison_type(right, right).unwrap_or(right);
            return (as_operand(right).without_modifier(), compared);
        }
        (None, None) => return (SqlType::Text, SqlType::Text),
    };
    let compared = comparison_type(left, right).unwrap_or(left);
    let result = match (left, right) {
        (SqlType::Varchar(_), SqlType::Char(_)) => SqlType::Char(0),
        (SqlType::Char(_), SqlType::Varchar(_)) => left,
        _ if left.is_same_base(right)
            || (left.is_integer() && right.is_integer())
            || (is_float(left) && category(right) == Category::Numeric)
            || category(left) == Category::DateTime =>
        {
            as_operand(left)
        }
        _ => compared,
    };
    (result, compared)
}

/// A time with time zone and an interval: the session's time zone determines the length of a day.
fn shifted_in_zone(operator: BinaryOperator, left: Expr, right: Expr, is_interval_first: bool) -> Expr {
    let is_sum = operator == BinaryOperator::Add;
    let function = if is_sum { Function::AddInterval } else { Function::SubtractInterval };
    let arguments = if is_interval_first { vec![right, left] } else { vec![left, right] };
    Expr::Call { function, arguments }
}

/// The text without its trailing blanks.
fn without_blanks(text: Expr) -> Expr {
    evaluation::fold_if_constant(Expr::Call { function: Function::CharToText, arguments: vec![text] })
}

impl Binder<'_> {
    pub(super) fn no_operator(&self, shown: &str, place: Place) -> Error {
        let error = Error::input(sqlstate::UNDEFINED_FUNCTION, format!("operator does not exist: {shown}"))
            .with_hint(
                "No operator matches the given name and argument types. You might need to add explicit type casts.",
            );
        self.place(error, place)
    }

    pub(super) fn ambiguous_operator(&self, shown: &str, place: Place) -> Error {
        let error = Error::input(sqlstate::AMBIGUOUS_FUNCTION, format!("operator is not unique: {shown}"))
            .with_hint(
                "Could not choose a best candidate operator. You might need to add explicit type casts.",
            );
        self.place(error, place)
    }

    /// Both sides of a binary operator in the types it works on, and the type of its result. `place` is that
    /// of the operator.
    pub(crate) fn operands(
        &mut self,
        operator: BinaryOperator,
        left: Bound,
        right: Bound,
        place: Place,
    ) -> Result<(Expr, Expr, SqlType)> {
        let shown = format!("{} {} {}", left.type_name(), operator.symbol(), right.type_name());
        let (left_type, right_type) = match (left.known_type(), right.known_type()) {
            (Some(left_type), Some(right_type)) => (left_type, right_type),
            (Some(left_type), None) => (left_type, type_beside(operator, left_type)),
            (None, Some(right_type)) => (type_beside(operator, right_type), right_type),
            (None, None) if operator.is_comparison() || operator == BinaryOperator::Concat => {
                (SqlType::Text, SqlType::Text)
            }
            (None, None) => return Err(self.ambiguous_operator(&shown, place)),
        };
        // An integer, an interval and times can be added to a date, the first two to a time with time zone.
        let is_date = |side: &Bound| matches!(side.known_type(), Some(SqlType::Date | SqlType::TimeTz(_)));
        let is_unclear = (is_date(&left) && right.known_type().is_none())
            || (is_date(&right) && left.known_type().is_none());
        if operator == BinaryOperator::Add && is_unclear {
            return Err(self.ambiguous_operator(&shown, place));
        }
        let Some(signature) = signature(operator, left_type, right_type) else {
            if let Some((one, other)) = self.converted_sides(operator, left_type, right_type) {
                let left = self.converted_side(left, one)?;
                let right = self.converted_side(right, other)?;
                return self.operands(operator, left, right, place);
            }
            // Two times of day could be an interval and a time, or a time and an interval.
            let is_time = |sql_type| matches!(sql_type, SqlType::Time(_));
            if operator == BinaryOperator::Add && is_time(left_type) && is_time(right_type) {
                return Err(self.ambiguous_operator(&shown, place));
            }
            return Err(self.no_operator(&shown, place));
        };
        let is_concat = operator == BinaryOperator::Concat && signature.result == SqlType::Text;
        let mut left = self.operand(left, left_type, signature.left, is_concat)?;
        let mut right = self.operand(right, right_type, signature.right, is_concat)?;
        // PostgreSQL compares a `varchar` with a `char(n)` as the latter: trailing blanks of the `varchar` do
        // not count either.
        match (left_type, right_type) {
            (SqlType::Varchar(_), SqlType::Char(_)) if operator.is_comparison() => {
                left = without_blanks(left)
            }
            (SqlType::Char(_), SqlType::Varchar(_)) if operator.is_comparison() => {
                right = without_blanks(right)
            }
            _ => {}
        }
        Ok((left, right, signature.result))
    }

    /// A side as a value of this type, which it is already or becomes by a cast of a user.
    fn converted_side(&mut self, side: Bound, to: SqlType) -> Result<Bound> {
        let place = side.place;
        Ok(Bound::typed(self.coerce(side, to)?, to, place))
    }

    /// One side. `beside` is its own type, or the type it gets if it has none. `to` is the type that the
    /// operator takes.
    fn operand(&mut self, side: Bound, beside: SqlType, to: SqlType, is_concat: bool) -> Result<Expr> {
        if side.known_type().is_none() {
            let expr = self.coerce(side, beside)?;
            return cast(expr, beside, to, false);
        }
        // `||` takes anything together with a text.
        if is_concat {
            Ok(self.coerce_explicitly(side, to, Place::Unknown)?.expr)
        } else {
            self.coerce(side, to)
        }
    }

    /// A binary operator of the IR on two bound sides. `place` is that of the operator.
    pub(crate) fn binary(
        &mut self,
        operator: BinaryOperator,
        left: Bound,
        right: Bound,
        place: Place,
    ) -> Result<Bound> {
        // The whole expression is placed at its beginning. Errors of the operator itself point at the
        // operator.
        let start = left.place;
        let is_interval_first = matches!(right.known_type(), Some(SqlType::TimestampTz(_)));
        let is_date = |bound: &Bound| bound.known_type() == Some(SqlType::Date);
        let is_of_day = is_date(&left) || is_date(&right);
        let (left, right, result) = self.operands(operator, left, right, place)?;
        let expr = if result == SqlType::TIMESTAMPTZ && !is_of_day {
            shifted_in_zone(operator, left, right, is_interval_first)
        } else {
            Expr::Binary { operator, left: Box::new(left), right: Box::new(right) }
        };
        Ok(Bound::typed(evaluation::fold_if_constant(expr), result, start))
    }

    /// NULLIF: compares as `=` does, and returns the first argument in the type in which `=` takes it.
    pub(crate) fn null_if(&mut self, left: Bound, right: Bound, place: Place) -> Result<Bound> {
        let types = (left.known_type(), right.known_type());
        let (one, other, _) = self.operands(BinaryOperator::Equal, left.clone(), right, place)?;
        let (result, compared) = null_if_types(types);
        if expr::is_volatile(&one) {
            // It must not be computed twice.
            let call = Expr::Call { function: Function::NullIf, arguments: vec![one, other] };
            return Ok(Bound::typed(cast(call, compared, result, false)?, result, place));
        }
        let value = self.coerce(left, result)?;
        let equal =
            Expr::Binary { operator: BinaryOperator::Equal, left: Box::new(one), right: Box::new(other) };
        let branches = vec![(evaluation::fold_if_constant(equal), Expr::Const(Value::Null))];
        let case = Expr::Case { branches, otherwise: Box::new(value) };
        Ok(Bound::typed(evaluation::fold_if_constant(case), result, place))
    }

    /// `-x`, `+x`, `~x`.
    pub(crate) fn unary(
        &mut self,
        operator: &ast::UnaryOperator,
        operand: Bound,
        place: Place,
    ) -> Result<Bound> {
        let ir = match operator {
            ast::UnaryOperator::Minus => Some(UnaryOperator::Negate),
            ast::UnaryOperator::Plus => None,
            ast::UnaryOperator::BitwiseNot => Some(UnaryOperator::BitNot),
            other => {
                return self.unsupported(Missing::Operators, &format!("operator {other} is"), place);
            }
        };
        let shown = format!("{operator} {}", operand.type_name());
        let Some(sql_type) = operand.known_type() else {
            return Err(self.ambiguous_operator(&shown, place));
        };
        // A time of day is an interval here.
        let is_time = matches!(sql_type, SqlType::Time(_)) && ir == Some(UnaryOperator::Negate);
        let (operand, sql_type) = if is_time {
            (self.coerce_explicitly(operand, SqlType::INTERVAL, place)?, SqlType::INTERVAL)
        } else {
            (operand, sql_type)
        };
        if ir == Some(UnaryOperator::BitNot)
            && matches!(category(sql_type), Category::Network | Category::MacAddr)
        {
            let call = Expr::Call { function: Function::NetworkNot, arguments: vec![operand.expr] };
            return Ok(Bound::typed(evaluation::fold_if_constant(call), sql_type, place));
        }
        let is_fitting = match ir {
            Some(UnaryOperator::BitNot) => sql_type.is_integer(),
            Some(UnaryOperator::Negate) => sql_type.is_numeric() || matches!(sql_type, SqlType::Interval(_)),
            None => sql_type.is_numeric(),
        };
        if !is_fitting {
            return Err(self.no_operator(&shown, place));
        }
        let Some(operator) = ir else { return Ok(operand) };
        let expr = Expr::Unary { operator, operand: Box::new(operand.expr) };
        Ok(Bound {
            expr: evaluation::fold_if_constant(expr),
            class: Class::Typed(sql_type.without_modifier()),
            place,
        })
    }
}
