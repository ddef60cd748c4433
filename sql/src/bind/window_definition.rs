//! Windows: `PARTITION BY`, `ORDER BY` and frames, of OVER and of the clause WINDOW.
//!
//! A window can be based on one of the clause WINDOW that precedes it: it inherits the partitions, and the
//! order unless it has one of its own. A frame is never inherited.
//!
//! Reference: transformWindowDefinitions and transformFrameOffset of PostgreSQL's parse_clause.c.

use hyades_engine::procedure::ir::Expr;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::SqlType;
use sqlparser::ast::{self, WindowFrameBound, WindowFrameUnits, WindowSpec};

use super::aggregation::{AggregateMode, AggregateOrder};
use super::coerce::is_implicit;
use super::windowing::{Frame, FrameBound, FrameUnit, Offset, Window, WindowCalls, WindowMode, Windowing};
use super::{Binder, Bound, Class, Place};
use crate::statement::window_syntax::WindowHead;

/// The types of offsets in a RANGE over values of this type. PostgreSQL's functions `in_range`.
fn offset_types(column: SqlType) -> &'static [SqlType] {
    match column.without_modifier() {
        SqlType::BigInt => &[SqlType::BigInt],
        SqlType::Integer | SqlType::SmallInt => &[SqlType::BigInt, SqlType::Integer, SqlType::SmallInt],
        SqlType::Real | SqlType::DoublePrecision => &[SqlType::DoublePrecision],
        SqlType::Numeric(_) => &[SqlType::Numeric(None)],
        SqlType::Date
        | SqlType::Timestamp(_)
        | SqlType::TimestampTz(_)
        | SqlType::Time(_)
        | SqlType::TimeTz(_)
        | SqlType::Interval(_) => &[SqlType::INTERVAL],
        _ => &[],
    }
}

impl Binder<'_> {
    /// The windows that were written, and the calls over them.
    pub(super) fn windowing(&mut self, calls: WindowCalls) -> Result<Windowing> {
        let WindowCalls { written, calls, column_places, .. } = calls;
        let mut windows: Vec<Window> = Vec::with_capacity(written.len());
        let mode = std::mem::replace(&mut self.aggregate_mode, AggregateMode::Allowed);
        self.windows = Some(WindowCalls { mode: WindowMode::InWindow, ..WindowCalls::of(&[]) });
        for (number, window) in written.iter().enumerate() {
            let place = Place::at(WindowHead::of(&window.spec).start);
            let named = |name: &str| {
                let mut before = written[..number].iter();
                before.position(|known| known.name.as_deref() == Some(name))
            };
            if let Some(name) = &window.name
                && named(name).is_some()
            {
                let message = format!("window \"{name}\" is already defined");
                return self.fail(sqlstate::WINDOWING_ERROR, message, place);
            }
            let base = match WindowHead::of(&window.spec).base {
                None => None,
                Some(name) => match named(name) {
                    Some(at) => Some((name, &windows[at])),
                    None => return self.no_window(name, place),
                },
            };
            let bound = self.window(&window.spec, window.name.is_some(), base)?;
            windows.push(bound);
        }
        self.windows = None;
        self.aggregate_mode = mode;
        Ok(Windowing { windows, calls, column_places })
    }

    fn window(&mut self, spec: &WindowSpec, is_named: bool, base: Option<(&str, &Window)>) -> Result<Window> {
        let place = Place::at(WindowHead::of(spec).start);
        let first = self.column_places.len();
        let order = spec.order_by.iter().map(|key| self.aggregate_order(key));
        let mut order = order.collect::<Result<Vec<AggregateOrder>>>()?;
        let partition = spec.partition_by.iter().map(|key| self.partition_key(key));
        let mut partition = partition.collect::<Result<Vec<AggregateOrder>>>()?;
        let mut column_places = (first, self.column_places.len());
        if let Some((name, base)) = base {
            self.check_base((name, base), spec, is_named, place)?;
            partition.clone_from(&base.partition);
            if order.is_empty() {
                order.clone_from(&base.order);
            }
            column_places.0 = base.column_places.0.min(first);
        }
        let frame = match &spec.window_frame {
            None => Frame::default(),
            Some(frame) => self.frame(frame, WindowHead::of(spec), &order)?,
        };
        Ok(Window { partition, order, frame, has_frame: spec.window_frame.is_some(), column_places })
    }

    /// A key of PARTITION BY. Its order serves only to bring equal rows together.
    fn partition_key(&mut self, key: &ast::Expr) -> Result<AggregateOrder> {
        let bound = self.expression(key)?;
        let (expr, sql_type) = self.known_or_text(bound)?;
        self.check_equality(sql_type, Place::of_expr(key))?;
        self.check_order(sql_type, Place::of_expr(key))?;
        Ok(AggregateOrder { expr, sql_type, is_descending: false, nulls_first: false })
    }

    /// Refuses what a window may not change of its base.
    fn check_base(
        &self,
        (name, base): (&str, &Window),
        spec: &WindowSpec,
        is_named: bool,
        place: Place,
    ) -> Result<()> {
        let message = if !spec.partition_by.is_empty() {
            format!("cannot override PARTITION BY clause of window \"{name}\"")
        } else if !spec.order_by.is_empty() && !base.order.is_empty() {
            format!("cannot override ORDER BY clause of window \"{name}\"")
        } else if base.has_frame {
            format!("cannot copy window \"{name}\" because it has a frame clause")
        } else {
            return Ok(());
        };
        let is_bare = spec.partition_by.is_empty()
            && spec.order_by.is_empty()
            && spec.window_frame.is_none()
            && !is_named;
        let mut error = Error::input(sqlstate::WINDOWING_ERROR, message);
        if is_bare {
            error = error.with_hint("Omit the parentheses in this OVER clause.");
        }
        Err(self.place(error, place))
    }

    fn frame(
        &mut self,
        written: &ast::WindowFrame,
        head: WindowHead<'_>,
        order: &[AggregateOrder],
    ) -> Result<Frame> {
        let unit = match written.units {
            WindowFrameUnits::Rows => FrameUnit::Rows,
            WindowFrameUnits::Range => FrameUnit::Range,
            WindowFrameUnits::Groups => FrameUnit::Groups,
        };
        let has_offset = |bound: &WindowFrameBound| {
            matches!(bound, WindowFrameBound::Preceding(Some(_)) | WindowFrameBound::Following(Some(_)))
        };
        let has_offset =
            has_offset(&written.start_bound) || written.end_bound.as_ref().is_some_and(has_offset);
        let message = match unit {
            FrameUnit::Range if has_offset && order.len() != 1 => {
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
            }
            FrameUnit::Groups if order.is_empty() => "GROUPS mode requires an ORDER BY clause",
            _ => "",
        };
        if !message.is_empty() {
            return self.fail(sqlstate::WINDOWING_ERROR, message, Place::at(head.start));
        }
        let start = self.frame_bound(&written.start_bound, unit, order)?;
        let end = match &written.end_bound {
            None => FrameBound::CurrentRow,
            Some(end) => self.frame_bound(end, unit, order)?,
        };
        Ok(Frame { unit, start, end, exclusion: head.exclusion })
    }

    fn frame_bound(
        &mut self,
        written: &WindowFrameBound,
        unit: FrameUnit,
        order: &[AggregateOrder],
    ) -> Result<FrameBound> {
        Ok(match written {
            WindowFrameBound::CurrentRow => FrameBound::CurrentRow,
            WindowFrameBound::Preceding(None) => FrameBound::UnboundedPreceding,
            WindowFrameBound::Following(None) => FrameBound::UnboundedFollowing,
            WindowFrameBound::Preceding(Some(offset)) => {
                FrameBound::Preceding(self.frame_offset(offset, unit, order)?)
            }
            WindowFrameBound::Following(Some(offset)) => {
                FrameBound::Following(self.frame_offset(offset, unit, order)?)
            }
        })
    }

    fn frame_offset(
        &mut self,
        written: &ast::Expr,
        unit: FrameUnit,
        order: &[AggregateOrder],
    ) -> Result<Offset> {
        let (clause, forbidden) = match unit {
            FrameUnit::Rows => ("ROWS", "in window ROWS"),
            FrameUnit::Range => ("RANGE", "in window RANGE"),
            FrameUnit::Groups => ("GROUPS", "in window GROUPS"),
        };
        let bound = self.without_aggregates(forbidden, |binder| binder.without_columns(written, clause))?;
        let sql_type = match (unit, order) {
            (FrameUnit::Range, [key]) => self.range_offset_type(key.sql_type, &bound)?,
            _ => SqlType::BigInt,
        };
        Ok(Offset { expr: self.columnless_as(bound, sql_type, clause)?, sql_type })
    }

    /// The type of an offset among the values of a column.
    fn range_offset_type(&self, column: SqlType, offset: &Bound) -> Result<SqlType> {
        let shown = self.shown_type(column.without_modifier());
        let refuse = |message: String, hint: Option<&str>| {
            let error = Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message);
            Err(self.place(hint.into_iter().fold(error, Error::with_hint), offset.place))
        };
        let known = offset_types(column);
        if known.is_empty() {
            let message =
                format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {shown}");
            return refuse(message, None);
        }
        let own = offset.known_type().map(SqlType::without_modifier);
        let preferred = own.unwrap_or_else(|| column.without_modifier());
        let fits = |of: &&SqlType| own.is_none_or(|own| own.is_same_base(**of) || is_implicit(own, **of));
        let fitting: Vec<SqlType> = known.iter().filter(fits).copied().collect();
        let (given, types) = (offset.type_name(), format!("column type {shown} and offset type"));
        match fitting.iter().find(|of| of.is_same_base(preferred)) {
            Some(exact) => Ok(*exact),
            None => match fitting.as_slice() {
                [only] => Ok(*only),
                [] => refuse(
                    format!("RANGE with offset PRECEDING/FOLLOWING is not supported for {types} {given}"),
                    Some("Cast the offset value to an appropriate type."),
                ),
                _ => refuse(
                    format!(
                        "RANGE with offset PRECEDING/FOLLOWING has multiple interpretations for {types} {given}"
                    ),
                    Some("Cast the offset value to the exact intended type."),
                ),
            },
        }
    }

    /// Refuses the result of a window function as a key of a clause.
    pub(super) fn refuse_window_result(&self, expr: &Expr, clause: &str, place: Place) -> Result<()> {
        if !crate::expr::any(expr, &super::windowing::is_window_result) {
            return Ok(());
        }
        let message = format!("window functions are not allowed {clause}");
        self.fail(sqlstate::WINDOWING_ERROR, message, place)
    }

    /// An expression that may not read any column of the current query.
    pub(super) fn without_columns(&mut self, expr: &ast::Expr, clause: &str) -> Result<Bound> {
        let scope = std::mem::take(&mut self.scope);
        let bound = self.expression(expr);
        self.scope = scope;
        match bound {
            Err(Error::Input(input))
                if input.state == sqlstate::UNDEFINED_COLUMN
                    || (input.state == sqlstate::UNDEFINED_TABLE && self.expression(expr).is_ok()) =>
            {
                let message = format!("argument of {clause} must not contain variables");
                let error = Error::input(sqlstate::INVALID_COLUMN_REFERENCE, message);
                Err(input.position.into_iter().fold(error, Error::with_position))
            }
            other => other,
        }
    }

    /// The same in the type of its clause.
    pub(super) fn columnless_as(&mut self, bound: Bound, to: SqlType, clause: &str) -> Result<Expr> {
        let (from, place) = (bound.type_name(), bound.place);
        if bound.class == Class::Null {
            return self.coerce(bound, to);
        }
        match self.try_coerce(bound, to, super::coerce::Context::Assignment)? {
            Some(expr) => Ok(expr),
            None => {
                let message =
                    format!("argument of {clause} must be type {}, not type {from}", to.base_name());
                self.fail(sqlstate::DATATYPE_MISMATCH, message, place)
            }
        }
    }
}
