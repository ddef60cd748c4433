//! Conversions between types: which are allowed where, and the common type of several expressions.
//!
//! Reference: PostgreSQL's documentation, chapter 10 (type conversion), and the rows of pg_cast for the types
//! that Hyades has.

use hyades_engine::procedure::ir::Expr;
use hyades_types::cast::allowed;
use hyades_types::datetime::names_the_clock;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::refusal::{Missing, refusal};
use hyades_types::system_type::SystemType;
use hyades_types::text::{self as value_text, Reading};
use hyades_types::value::{SqlType, Value};

use super::meanings::{depends_on_day, depends_on_session};
use super::{Binder, Bound, Class, Place};
use crate::{evaluation, expr};

pub(crate) use hyades_types::cast::CastContext as Context;

/// PostgreSQL's type categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Category {
    Boolean,
    Numeric,
    String,
    DateTime,
    Bytea,
    Uuid,
    Network,
    MacAddr,
    Array,
    Interval,
    Json,
    Jsonb,
    Enum,
    /// A type of an extension that is no string.
    Extension,
    Row,
}

pub(crate) fn category(sql_type: SqlType) -> Category {
    match sql_type {
        SqlType::Boolean => Category::Boolean,
        SqlType::SmallInt
        | SqlType::Integer
        | SqlType::BigInt
        | SqlType::Real
        | SqlType::DoublePrecision
        | SqlType::Numeric(_) => Category::Numeric,
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => Category::String,
        SqlType::Date
        | SqlType::Time(_)
        | SqlType::TimeTz(_)
        | SqlType::Timestamp(_)
        | SqlType::TimestampTz(_) => Category::DateTime,
        SqlType::Bytea => Category::Bytea,
        SqlType::Uuid => Category::Uuid,
        SqlType::Inet | SqlType::Cidr => Category::Network,
        SqlType::MacAddr | SqlType::MacAddr8 => Category::MacAddr,
        SqlType::Json => Category::Json,
        SqlType::Jsonb => Category::Jsonb,
        SqlType::Enum(_) => Category::Enum,
        SqlType::Extension(_) if sql_type.is_string() => Category::String,
        SqlType::Extension(_) => Category::Extension,
        SqlType::Composite(_) => Category::Row,
        SqlType::Array(_) => Category::Array,
        SqlType::Interval(_) => Category::Interval,
        SqlType::System(_) if sql_type.is_text() => Category::String,
        SqlType::System(SystemType::JsonPath) => Category::Json,
        SqlType::System(SystemType::Record) => Category::Row,
        SqlType::System(_) if sql_type.is_oid() => Category::Numeric,
        SqlType::System(_) => Category::Array,
    }
}

/// Whether the type is the preferred one of its category.
pub(crate) fn is_preferred(sql_type: SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Boolean
            | SqlType::DoublePrecision
            | SqlType::Text
            | SqlType::TimestampTz(_)
            | SqlType::Interval(_)
            | SqlType::Inet
            | SqlType::System(SystemType::Oid)
    )
}

pub(crate) fn is_implicit(from: SqlType, to: SqlType) -> bool {
    allowed(from, to) == Some(Context::Implicit)
}

/// Whether a text of the type may be `now`.
fn reads_the_clock(sql_type: SqlType) -> bool {
    sql_type.is_datetime() || matches!(sql_type, SqlType::Time(_) | SqlType::TimeTz(_))
}

/// Wraps an expression in a cast unless it is redundant, and folds constants.
pub(crate) fn cast(expr: Expr, from: SqlType, to: SqlType, is_explicit: bool) -> Result<Expr> {
    let is_relabel = from == to
        || (to == to.without_modifier() && from.is_same_base(to) && !matches!(to, SqlType::Char(_)))
        || (to == SqlType::Char(0) && matches!(from, SqlType::Char(_)))
        || (matches!(to, SqlType::Text | SqlType::Varchar(None))
            && (matches!(from, SqlType::Text | SqlType::Varchar(_) | SqlType::System(_)) && from.is_text()))
        || (to == to.without_modifier() && matches!(to, SqlType::Array(_)) && from.element() == to.element());
    if is_relabel {
        return Ok(expr);
    }
    if matches!(from, SqlType::Char(_))
        && matches!(to, SqlType::Text | SqlType::Varchar(_) | SqlType::Extension(_))
    {
        // Trailing blanks are not part of the text (see the function's own comment).
        let stripped = Expr::Call { function: Function::CharToText, arguments: vec![expr] };
        return cast(evaluation::fold_if_constant(stripped), SqlType::Text, to, is_explicit);
    }
    let is_constant = matches!(expr, Expr::Const(_));
    let cast = Expr::Cast { operand: Box::new(expr), to, explicit: is_explicit };
    if is_constant && evaluation::is_immutable_cast(from, to) {
        // An expression that fails must do so when it runs, if it runs at all.
        return Ok(evaluation::fold(cast.clone()).unwrap_or(cast));
    }
    Ok(cast)
}

impl Binder<'_> {
    /// Converts to this type if the context allows it. Returns `Ok(None)` if it does not.
    pub(crate) fn try_coerce(&mut self, bound: Bound, to: SqlType, context: Context) -> Result<Option<Expr>> {
        let is_explicit = context == Context::Explicit;
        if matches!(bound.class, Class::Literal(_)) {
            self.note_literal(bound.place, to);
        }
        match bound.class {
            Class::Null => Ok(Some(Expr::Const(Value::Null))),
            // The object that it names is looked up when the statement runs.
            Class::Literal(ref text) if to.names_objects() => {
                let text = Expr::Const(Value::text(text.as_str()));
                Ok(Some(Expr::Cast { operand: Box::new(text), to, explicit: is_explicit }))
            }
            Class::Literal(ref text) => {
                // The fields of an interval determine how it is read.
                let is_read_with_modifier = matches!(to, SqlType::Interval(_));
                let base = if is_read_with_modifier { to } else { to.without_modifier() };
                let is_routine = self.names.is_some();
                match evaluation::parse_text(text, base, self.reading()) {
                    Err(error)
                        if reads_the_clock(base)
                            && (names_the_clock(text) || (!is_routine && depends_on_day(text, base))) =>
                    {
                        let read = self.clock_literal(text, base, error, bound.place)?;
                        cast(read, base, to, is_explicit).map(Some)
                    }
                    Ok(value) if !(is_routine && depends_on_session(text, base)) => {
                        cast(Expr::Const(value), base, to, is_explicit).map(Some)
                    }
                    // A routine is compiled for all sessions, and its errors are raised when it runs.
                    _ if is_routine => {
                        let text = Expr::Const(Value::text(text.as_str()));
                        let read = Expr::Cast { operand: Box::new(text), to: base, explicit: is_explicit };
                        cast(read, base, to, is_explicit).map(Some)
                    }
                    Ok(value) => cast(Expr::Const(value), base, to, is_explicit).map(Some),
                    Err(error) => Err(self.place(error, bound.place)),
                }
            }
            Class::Parameter(number) => {
                let base = to.without_modifier();
                self.parameter_types[usize::from(number)] = Some(base);
                cast(bound.expr, base, to, is_explicit).map(Some)
            }
            Class::Typed(SqlType::System(SystemType::Record))
                if let SqlType::Composite(row_type) = to
                    && let Some(row) = self.record_as(&bound, row_type, context)? =>
            {
                Ok(Some(row))
            }
            Class::Typed(from) => match self.created_cast(from, to) {
                Some((routine, weakest)) if weakest <= context => {
                    self.apply_cast(&routine, (bound.expr, from), to, is_explicit).map(Some)
                }
                Some(_) => Ok(None),
                None => self.convert((bound.expr, from), to, context),
            },
        }
    }

    /// A conversion that exists from the start.
    fn convert(&self, (expr, from): (Expr, SqlType), to: SqlType, context: Context) -> Result<Option<Expr>> {
        match allowed(from, to) {
            Some(weakest) if weakest <= context => {
                cast(expr, from, to, context == Context::Explicit).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `'today'` and the like, read when the statement runs. PostgreSQL reads it once, when it compiles:
    /// where compiled code is kept and used again, that would give a wrong value, or a later one than
    /// PostgreSQL's.
    fn clock_literal(&mut self, text: &str, to: SqlType, error: Error, place: Place) -> Result<Expr> {
        let now = Reading { now: Some(0), ..self.reading() };
        if let Err(wrong) = value_text::parse(text, to, now) {
            return Err(self.place(wrong, place));
        }
        if self.names.is_some() {
            return Err(self.place(error, place));
        }
        let text = Expr::Const(Value::text(text));
        Ok(Expr::Cast { operand: Box::new(text), to, explicit: true })
    }

    /// Refuses literals that would be read again whenever a stored expression is used.
    pub(crate) fn refuse_clock_literals(&self, expr: &Expr, place: Place) -> Result<()> {
        let is_one = |part: &Expr| match part {
            Expr::Cast { operand, to, .. } if reads_the_clock(*to) => {
                matches!(&**operand, Expr::Const(Value::Text(text)) if names_the_clock(text))
            }
            _ => false,
        };
        if !expr::any(expr, &is_one) {
            return Ok(());
        }
        let message = "\"now\", \"today\" and similar values are not supported in defaults";
        Err(self.place(refusal(Missing::ClockWords, message), place))
    }

    /// Converts implicitly to a type that was chosen so that this is possible.
    pub(crate) fn coerce(&mut self, bound: Bound, to: SqlType) -> Result<Expr> {
        let from = bound.type_name();
        let place = bound.place;
        match self.try_coerce(bound, to, Context::Implicit)? {
            Some(expr) => Ok(expr),
            None => {
                let message = format!("cannot cast type {from} to {}", to.base_name());
                Err(self.place(Error::input(sqlstate::CANNOT_COERCE, message), place))
            }
        }
    }

    /// CAST and `::`.
    ///
    /// `cast_place` is that of the conversion.
    pub(crate) fn coerce_explicitly(
        &mut self,
        bound: Bound,
        to: SqlType,
        cast_place: Place,
    ) -> Result<Bound> {
        let from = bound.type_name();
        let place = bound.place;
        match self.try_coerce(bound, to, Context::Explicit)? {
            Some(expr) => Ok(Bound { expr, class: Class::Typed(to), place }),
            None => {
                let message = format!("cannot cast type {from} to {}", to.base_name());
                Err(self.place(Error::input(sqlstate::CANNOT_COERCE, message), cast_place))
            }
        }
    }

    /// Converts to a column's type as INSERT, UPDATE and DEFAULT do.
    pub(crate) fn assign(&mut self, bound: Bound, to: SqlType, column: &str) -> Result<Expr> {
        let from = bound.type_name();
        let place = bound.place;
        match self.try_coerce(bound, to, Context::Assignment)? {
            Some(expr) => Ok(expr),
            None => {
                let message = format!(
                    "column \"{column}\" is of type {} but expression is of type {from}",
                    to.base_name()
                );
                let error = Error::input(sqlstate::DATATYPE_MISMATCH, message)
                    .with_hint("You will need to rewrite or cast the expression.");
                Err(self.place(error, place))
            }
        }
    }

    /// A condition: `what` names the clause for the message (`WHERE`, `AND`).
    pub(crate) fn condition(&mut self, bound: Bound, what: &str) -> Result<Expr> {
        let from = bound.type_name();
        let place = bound.place;
        if let Some(expr) = self.try_coerce(bound, SqlType::Boolean, Context::Assignment)? {
            return Ok(expr);
        }
        let message = format!("argument of {what} must be type boolean, not type {from}");
        Err(self.place(Error::input(sqlstate::DATATYPE_MISMATCH, message), place))
    }

    /// The type to which all of these can be converted (UNION, CASE, COALESCE, VALUES, IN). `what` names the
    /// construct for the message.
    pub(crate) fn common_type<'b>(
        &self,
        items: impl IntoIterator<Item = &'b Bound>,
        what: &str,
    ) -> Result<SqlType> {
        let mut chosen: Option<SqlType> = None;
        let mut is_literal = false;
        for item in items {
            let Class::Typed(sql_type) = item.class else {
                is_literal |= matches!(item.class, Class::Literal(_));
                continue;
            };
            let Some(current) = chosen else {
                chosen = Some(sql_type);
                continue;
            };
            if current == sql_type {
                continue;
            }
            if category(current) != category(sql_type) {
                let message = format!(
                    "{what} types {} and {} cannot be matched",
                    current.base_name(),
                    sql_type.base_name()
                );
                return Err(self.place(Error::input(sqlstate::DATATYPE_MISMATCH, message), item.place));
            }
            // PostgreSQL's select_common_type: of types that convert to each other, as strings do, the first.
            let takes_over = !is_preferred(current)
                && self.converts(current, sql_type)
                && !self.converts(sql_type, current);
            let winner = if takes_over && !current.is_same_base(sql_type) { sql_type } else { current };
            // Different lengths leave the type without a length.
            chosen = Some(winner.without_modifier());
        }
        let chosen = chosen.unwrap_or(SqlType::Text);
        // A literal has no length, so neither has the type.
        Ok(if is_literal { chosen.without_modifier() } else { chosen })
    }
}
