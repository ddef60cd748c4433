//! RAISE and ASSERT.

use hyades_engine::procedure::conditions;
use hyades_engine::procedure::ir::{ErrorField, Expr, Instruction, Report};
use hyades_types::environment::Severity;
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::value::{SqlType, Value};

use super::routine_body::Routine;
use super::tree::{Fragment, Raise};
use crate::emit::row_sink::report;

fn severity_of(level: &str) -> Severity {
    match level {
        "debug" => Severity::Debug,
        "log" => Severity::Log,
        "info" => Severity::Info,
        "notice" => Severity::Notice,
        "warning" => Severity::Warning,
        _ => Severity::Exception,
    }
}

fn text(text: &str) -> Expr {
    Expr::Const(Value::text(text))
}

impl<'a> Routine<'a> {
    pub(super) fn raise(&mut self, raise: &'a Raise, start: usize) -> Result<()> {
        let is_bare = raise.format.is_none() && raise.condition.is_none() && raise.options.is_empty();
        if is_bare && raise.level.is_empty() {
            if self.handlers == 0 {
                let message = "RAISE without parameters cannot be used outside an exception handler";
                self.compiler.code.push(report(sqlstate::STACKED_DIAGNOSTICS, message, None));
            } else {
                self.compiler.code.push(Instruction::Rethrow);
            }
            return Ok(());
        }
        let severity = severity_of(&raise.level);
        let default_state = match severity {
            Severity::Exception => "P0001",
            Severity::Warning => "01000",
            _ => "00000",
        };
        let mut state = text(default_state);
        let mut message = None;
        if let Some((condition, at)) = &raise.condition {
            let code = self.state_of(condition, *at)?;
            state = text(code.0);
        }
        if raise.format.is_some() {
            message = Some(self.formatted(raise)?);
        }
        let mut fields = Vec::new();
        let mut has_state = raise.condition.is_some();
        for (name, value, at) in &raise.options {
            let expr = self.raised_text(value)?;
            let field = match name.as_str() {
                "errcode" if has_state => return self.twice("ERRCODE", *at),
                "errcode" => {
                    has_state = true;
                    state = self.state_expr(expr);
                    continue;
                }
                "message" if message.is_some() => return self.twice("MESSAGE", *at),
                "message" => {
                    message = Some(expr);
                    continue;
                }
                "detail" => ErrorField::Detail,
                "hint" => ErrorField::Hint,
                "table" => ErrorField::Table,
                "column" => ErrorField::Column,
                "constraint" => ErrorField::Constraint,
                "schema" => ErrorField::Schema,
                "datatype" => ErrorField::DataType,
                other => {
                    let what = format!("RAISE ... USING {other} is");
                    return self.unsupported(Missing::RaiseOptions, &what, *at);
                }
            };
            if fields.iter().any(|(known, _)| *known == field) {
                return self.twice(&name.to_ascii_uppercase(), *at);
            }
            fields.push((field, expr));
        }
        if is_bare {
            return self.fail(sqlstate::SYNTAX_ERROR, "syntax error at or near \";\"", start);
        }
        // If there is no message, PostgreSQL shows the condition or the code.
        let condition =
            || raise.condition.as_ref().map_or_else(|| state.clone(), |(condition, _)| text(condition));
        let message = message.unwrap_or_else(condition);
        self.compiler.code.push(Instruction::Report(Box::new(Report { severity, state, message, fields })));
        Ok(())
    }

    fn twice<T>(&self, option: &str, start: usize) -> Result<T> {
        self.fail(sqlstate::SYNTAX_ERROR, format!("RAISE option already specified: {option}"), start)
    }

    fn raised_text(&mut self, value: &'a Fragment) -> Result<Expr> {
        self.value(value, SqlType::Text)
    }

    /// A code that is known only at run time may also be the name of a condition.
    fn state_expr(&self, expr: Expr) -> Expr {
        let known = match &expr {
            Expr::Const(Value::Text(name)) => conditions::states(name).next(),
            _ => None,
        };
        known.map_or(expr, |state| text(state.0))
    }

    /// The SQLSTATE of a condition's name or of a code.
    fn state_of(&self, condition: &str, start: usize) -> Result<SqlState> {
        if let Some(state) = conditions::states(condition).next() {
            return Ok(state);
        }
        let is_code = condition.len() == 5
            && condition.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        if is_code {
            return Ok(SqlState::named(condition));
        }
        self.fail(
            sqlstate::UNDEFINED_OBJECT,
            format!("unrecognized exception condition \"{condition}\""),
            start,
        )
    }

    /// A value as it is printed, which can differ from its cast to text.
    fn shown(&mut self, value: &'a Fragment) -> Result<Expr> {
        let bound = self.bind(value)?;
        match bound.known_type() {
            Some(SqlType::Boolean) => {
                let is = |truth| {
                    let truth = Box::new(Expr::Const(Value::Boolean(truth)));
                    Expr::NotDistinct(Box::new(bound.expr.clone()), truth)
                };
                let branches = vec![(is(true), text("t")), (is(false), text("f"))];
                Ok(Expr::Case { branches, otherwise: Box::new(Expr::Const(Value::Null)) })
            }
            // Its trailing blanks are printed too.
            Some(SqlType::Char(_)) => {
                let register = self.compiler.binder.new_register()?;
                self.compiler.code.evaluate(register, bound.expr);
                Ok(Expr::Register(register))
            }
            _ => self.converted(bound, SqlType::Text).map_err(|error| self.placed(error, value)),
        }
    }

    /// The format with its arguments; NULL shows as `<NULL>`.
    fn formatted(&mut self, raise: &'a Raise) -> Result<Expr> {
        let format = raise.format.as_ref().map_or("", |(format, _)| format.as_str());
        let parts = super::raise_parts(format);
        let mut message = text(parts.first().map_or("", String::as_str));
        for (argument, part) in raise.arguments.iter().zip(&parts[1..]) {
            let value = self.shown(argument)?;
            let shown = Expr::Coalesce(vec![value, text("<NULL>")]);
            message = concat(concat(message, shown), text(part));
        }
        Ok(message)
    }

    pub(super) fn assert(&mut self, condition: &'a Fragment, message: Option<&'a Fragment>) -> Result<()> {
        let condition = self.value(condition, SqlType::Boolean)?;
        let (wrong, end) = (self.compiler.code.label(), self.compiler.code.label());
        self.compiler.code.jump_unless(condition, wrong);
        self.compiler.code.jump(end);
        self.compiler.code.place(wrong);
        let message = match message {
            Some(message) => {
                let value = self.raised_text(message)?;
                Expr::Coalesce(vec![value, text("assertion failed")])
            }
            None => text("assertion failed"),
        };
        self.compiler.code.push(Instruction::Report(Box::new(Report {
            severity: Severity::Exception,
            state: text(sqlstate::ASSERT_FAILURE.0),
            message,
            fields: Vec::new(),
        })));
        self.compiler.code.place(end);
        Ok(())
    }

    /// The SQLSTATEs of a condition in EXCEPTION WHEN.
    pub(super) fn condition_states(&self, name: &str, start: usize) -> Result<Vec<SqlState>> {
        let states: Vec<SqlState> = conditions::states(name).collect();
        if !states.is_empty() {
            return Ok(states);
        }
        self.state_of(name, start).map(|state| vec![state]).map_err(|error| match error {
            Error::Input(input) => Error::Input(input),
            other => other,
        })
    }
}

fn concat(left: Expr, right: Expr) -> Expr {
    match (&left, &right) {
        (Expr::Const(Value::Text(a)), _) if a.is_empty() => right,
        (_, Expr::Const(Value::Text(b))) if b.is_empty() => left,
        _ => Expr::Binary { operator: BinaryOperator::Concat, left: Box::new(left), right: Box::new(right) },
    }
}
