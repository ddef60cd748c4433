//! Printing of window functions, of OVER and of the clause WINDOW.
//!
//! Reference: get_windowfunc_expr and get_rule_windowspec of PostgreSQL's ruleutils.c.

use hyades_types::error::Result;
use hyades_types::refusal::Missing;
use hyades_types::value::SqlType;
use sqlparser::ast::{
    self, NamedWindowDefinition, NamedWindowExpr, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::super::aggregate::is_aggregate_name;
use super::super::window_call::is_window_function;
use super::super::windowing::WindowCalls;
use super::super::{Bound, Place};
use super::expressions::Shown;
use super::{Deparser, order_words, quoted};
use crate::statement::names::fold;
use crate::statement::window_syntax::{Exclusion, WindowHead};

impl Deparser<'_, '_> {
    /// Makes the windows of a clause WINDOW known while something is printed.
    pub(super) fn within_windows<T>(
        &mut self,
        clause: &[NamedWindowDefinition],
        print: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let around = self.binder.windows.replace(WindowCalls::of(clause));
        let printed = print(self);
        self.binder.windows = around;
        printed
    }

    /// A call with OVER, of a function of the catalogue.
    pub(super) fn window_function(
        &mut self,
        name: &str,
        call: &ast::Function,
        over: &WindowType,
    ) -> Result<Shown> {
        let ast::FunctionArguments::List(list) = &call.args else {
            return self.binder.unsupported(
                Missing::OtherForms,
                "this call in a definition is",
                Place::of(&call.name),
            );
        };
        let is_plain = is_window_function(name) && (list.args.is_empty() || !is_aggregate_name(name));
        let called = match is_plain {
            true => self.window_arguments(name, list)?,
            false => self.aggregate(name, call, list)?.text,
        };
        let window = match over {
            WindowType::NamedWindow(ident) => quoted(&fold(ident)),
            WindowType::WindowSpec(spec) => {
                let known = self.binder.windows.as_ref().and_then(|windows| windows.name_of(spec));
                match known {
                    Some(name) => quoted(name),
                    None => self.window(spec)?,
                }
            }
        };
        Ok(Shown::simple(format!("{called} OVER {window}")))
    }

    fn window_arguments(&mut self, name: &str, list: &ast::FunctionArgumentList) -> Result<String> {
        let arguments = self.plain_arguments(&list.args)?;
        let mut shown = Vec::with_capacity(arguments.len());
        match arguments.as_slice() {
            [value, distance, otherwise] => {
                let bound = [self.bound(value)?, self.bound(otherwise)?];
                let common = self.binder.common_type(&bound, name)?;
                shown.push(self.expression_as(value, common)?.text);
                shown.push(self.expression_as(distance, SqlType::Integer)?.text);
                shown.push(self.expression_as(otherwise, common)?.text);
            }
            [buckets] if name == "ntile" => shown.push(self.expression_as(buckets, SqlType::Integer)?.text),
            [value, number] => {
                shown.push(self.expression(value)?.text);
                shown.push(self.expression_as(number, SqlType::Integer)?.text);
            }
            others => {
                for argument in others {
                    shown.push(self.expression(argument)?.text);
                }
            }
        }
        Ok(format!("{name}({})", shown.join(", ")))
    }

    /// The clause WINDOW.
    pub(super) fn window_clause(&mut self, clause: &[NamedWindowDefinition], out: &mut String) -> Result<()> {
        for (at, NamedWindowDefinition(name, window)) in clause.iter().enumerate() {
            let NamedWindowExpr::WindowSpec(spec) = window else { continue };
            match at {
                0 => self.clause(out, " WINDOW ", 1),
                _ => out.push_str(", "),
            }
            let text = self.window(spec)?;
            out.push_str(&format!("{} AS {text}", quoted(&fold(name))));
        }
        Ok(())
    }

    fn window(&mut self, spec: &WindowSpec) -> Result<String> {
        let head = WindowHead::of(spec);
        let mut parts: Vec<String> = head.base.map(quoted).into_iter().collect();
        if !spec.partition_by.is_empty() {
            let keys = spec.partition_by.iter().map(|key| self.window_key(key));
            parts.push(format!("PARTITION BY {}", keys.collect::<Result<Vec<String>>>()?.join(", ")));
        }
        if !spec.order_by.is_empty() {
            let mut keys = Vec::with_capacity(spec.order_by.len());
            for key in &spec.order_by {
                let words = order_words(key.options.asc == Some(false), key.options.nulls_first);
                keys.push(format!("{}{words}", self.window_key(&key.expr)?));
            }
            parts.push(format!("ORDER BY {}", keys.join(", ")));
        }
        if let Some(frame) = &spec.window_frame {
            parts.push(self.frame(frame, head.exclusion, spec)?);
        }
        Ok(format!("({})", parts.join(" ")))
    }

    /// A key of a window. A constant is printed with its type.
    fn window_key(&mut self, key: &ast::Expr) -> Result<String> {
        let mut inner = key;
        while let ast::Expr::Nested(next) | ast::Expr::Cast { expr: next, .. } = inner {
            inner = next;
        }
        if !matches!(inner, ast::Expr::Value(_)) {
            return self.sort_key(key, None, false);
        }
        let own = self.bound(key)?.known_type().unwrap_or(SqlType::Text);
        let text = self.expression_as(key, own)?.text;
        Ok(if text.contains("::") { text } else { format!("{text}::{}", self.binder.spelled_type(own)) })
    }

    fn frame(&mut self, frame: &ast::WindowFrame, exclusion: Exclusion, spec: &WindowSpec) -> Result<String> {
        let (unit, counted) = match frame.units {
            WindowFrameUnits::Rows => ("ROWS", true),
            WindowFrameUnits::Range => ("RANGE", false),
            WindowFrameUnits::Groups => ("GROUPS", true),
        };
        let to = match counted {
            true => SqlType::BigInt,
            false => self.range_offset(spec)?,
        };
        let start = self.frame_bound(&frame.start_bound, to)?;
        let bounds = match &frame.end_bound {
            None => start,
            Some(end) => format!("BETWEEN {start} AND {}", self.frame_bound(end, to)?),
        };
        let excluded = match exclusion {
            Exclusion::NoOthers => "",
            Exclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            Exclusion::Group => " EXCLUDE GROUP",
            Exclusion::Ties => " EXCLUDE TIES",
        };
        Ok(format!("{unit} {bounds}{excluded}"))
    }

    /// The type in which an offset without a type is read.
    fn range_offset(&mut self, spec: &WindowSpec) -> Result<SqlType> {
        let Some(key) = self.range_key(spec) else { return Ok(SqlType::INTERVAL) };
        let bound: Bound = self.bound(&key)?;
        Ok(match bound.known_type() {
            Some(number) if number.is_numeric() => match number.without_modifier() {
                SqlType::Real => SqlType::DoublePrecision,
                other => other,
            },
            _ => SqlType::INTERVAL,
        })
    }

    /// The key of the order of a window, which may be that of its base.
    fn range_key(&self, spec: &WindowSpec) -> Option<ast::Expr> {
        let windows = self.binder.windows.as_ref()?;
        let mut spec = spec;
        // No window is its own base.
        for _ in &windows.written {
            if !spec.order_by.is_empty() {
                break;
            }
            let base = WindowHead::of(spec).base?;
            spec = &windows.written.iter().find(|written| written.name.as_deref() == Some(base))?.spec;
        }
        spec.order_by.first().map(|key| key.expr.clone())
    }

    fn frame_bound(&mut self, bound: &WindowFrameBound, to: SqlType) -> Result<String> {
        Ok(match bound {
            WindowFrameBound::CurrentRow => "CURRENT ROW".to_owned(),
            WindowFrameBound::Preceding(None) => "UNBOUNDED PRECEDING".to_owned(),
            WindowFrameBound::Following(None) => "UNBOUNDED FOLLOWING".to_owned(),
            WindowFrameBound::Preceding(Some(offset)) => {
                format!("{} PRECEDING", self.expression_as_written(offset, to)?.text)
            }
            WindowFrameBound::Following(Some(offset)) => {
                format!("{} FOLLOWING", self.expression_as_written(offset, to)?.text)
            }
        })
    }
}
