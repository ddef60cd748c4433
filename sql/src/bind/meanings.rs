//! What calls and literals of an expression meant when it was bound.
//!
//! An expression that is kept as text must mean the same to every user. Its text alone does not tell which
//! of several routines of a name a call means, nor which type a literal gets, nor the time zone and the style
//! of dates in which it was read. So the binder notes these where it decides them, by their places in the
//! text (`kept_text`).

use std::ops::ControlFlow;

use hyades_types::definition::TableName;
use hyades_types::text::{self, DateStyles, Reading};
use hyades_types::value::{ArrayElement, SqlType};
use jiff::tz::TimeZone;
use sqlparser::ast::{self, ObjectName, ValueWithSpan, visit_expressions_mut};
use sqlparser::tokenizer::Location;

use crate::evaluation;
use crate::statement::kept_names::text_of;
use crate::statement::names::quoted;

/// See the module head.
#[derive(Debug, Default)]
pub(crate) struct Meanings {
    routines: Vec<(Location, TableName)>,
    /// The types that literals in quotes were given.
    literals: Vec<(Location, SqlType)>,
}

/// What was noted at a place. `noted` is sorted.
fn noted_at<T>(noted: &[(Location, T)], at: Location) -> &[(Location, T)] {
    let from = noted.partition_point(|(own, _)| *own < at);
    let count = noted[from..].partition_point(|(own, _)| *own == at);
    &noted[from..from + count]
}

impl Meanings {
    pub(super) fn note_routine(&mut self, at: Location, name: &TableName) {
        self.routines.push((at, name.clone()));
    }

    pub(super) fn note_literal(&mut self, at: Location, to: SqlType) {
        self.literals.push((at, to));
    }

    /// Makes what was noted ready to be looked up.
    pub(super) fn sorted(mut self) -> Meanings {
        self.routines.sort_by_key(|(at, _)| *at);
        self.literals.sort_by_key(|(at, _)| *at);
        self
    }

    /// The routine that a call means. `None`: a function of the catalogue.
    pub(super) fn routine(&self, call: &ast::Function) -> Option<&TableName> {
        let first = call.name.0.first()?.as_ident()?;
        let ((_, name), others) = noted_at(&self.routines, first.span.start).split_first()?;
        others.iter().all(|(_, other)| other == name).then_some(name)
    }

    /// The types that a literal was given: several if it is used more than once.
    pub(crate) fn types_at(&self, literal: Location) -> impl Iterator<Item = SqlType> {
        noted_at(&self.literals, literal).iter().map(|(_, sql_type)| *sql_type)
    }

    /// The expression with the schemas of routines, and with literals of dates and times spelled so that the
    /// settings of the reader do not matter.
    pub(crate) fn fixed(&self, expr: &ast::Expr, reading: Reading<'_>) -> ast::Expr {
        let mut expr = expr.clone();
        let _: ControlFlow<()> = visit_expressions_mut(&mut expr, |part| {
            match part {
                ast::Expr::Function(call) => {
                    if let Some(name) = self.routine(call) {
                        call.name = written_name(name);
                    }
                }
                ast::Expr::Value(value) => self.fix(value, reading),
                ast::Expr::TypedString(typed) => self.fix(&mut typed.value, reading),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        expr
    }

    fn fix(&self, literal: &mut ValueWithSpan, reading: Reading<'_>) {
        let Some(written) = text_of(&literal.value) else { return };
        let mut types = self.types_at(literal.span.start).map(SqlType::without_modifier);
        let is_unsettled = |sql_type: &SqlType| depends_on_session(written, *sql_type);
        let Some(sql_type) = types.next().filter(is_unsettled) else { return };
        if types.any(|other| other != sql_type) {
            return;
        }
        let Ok(value) = evaluation::parse_text(written, sql_type, reading) else { return };
        let mut bytes = Vec::new();
        text::write(&value, sql_type, &TimeZone::UTC, &mut bytes);
        if let Ok(written) = String::from_utf8(bytes) {
            literal.value = ast::Value::SingleQuotedString(written);
        }
    }
}

/// Whether a literal is a time with time zone whose offset is that of the day on which it is read.
pub(super) fn depends_on_day(literal: &str, sql_type: SqlType) -> bool {
    matches!(sql_type, SqlType::TimeTz(_))
        && evaluation::parse_text(literal, sql_type, &TimeZone::UTC).is_err()
}

/// Whether reading a literal of the type needs the session's time zone or style of dates.
pub(super) fn depends_on_session(literal: &str, sql_type: SqlType) -> bool {
    match sql_type.element().map_or(sql_type, ArrayElement::sql_type) {
        SqlType::TimestampTz(_) => true,
        SqlType::TimeTz(_) => depends_on_day(literal, SqlType::TIMETZ),
        SqlType::Composite(row_type) => row_type.fields().iter().any(|field| {
            let sql_type = field.sql_type.element().map_or(field.sql_type, ArrayElement::sql_type);
            let is_other =
                matches!(sql_type, SqlType::TimeTz(_) | SqlType::Interval(_) | SqlType::Composite(_));
            sql_type.is_datetime() || is_other
        }),
        SqlType::Date | SqlType::Timestamp(_) | SqlType::Interval(_) => {
            let zone = TimeZone::UTC;
            let mut meanings = DateStyles::READINGS.into_iter().map(|styles| {
                let reading = Reading { styles, ..(&zone).into() };
                evaluation::parse_text(literal, sql_type, reading).ok()
            });
            let first = meanings.next();
            meanings.any(|other| first.as_ref() != Some(&other))
        }
        _ => false,
    }
}

fn written_name(name: &TableName) -> ObjectName {
    let ident = |part: &str| match quoted(part) == part {
        true => ast::Ident::new(part),
        false => ast::Ident::with_quote('"', part),
    };
    ObjectName::from(vec![ident(&name.schema), ident(&name.name)])
}
