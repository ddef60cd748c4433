//! IF, CASE, loops, EXIT.

use hyades_engine::procedure::ir::{Expr, Instruction, Label, Register};
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::Function;
use hyades_types::operator::BinaryOperator;
use hyades_types::refusal::Missing;
use hyades_types::value::{SqlType, Value};

use super::assignment::{Destination, with_field};
use super::routine_body::{Around, Routine};
use super::tree::{Fragment, Path, Statement, StatementKind};
use crate::bind::visible_variables::{RecordState, Scalar, Scope, Variable};
use crate::bind::{Bound, Place};
use crate::emit::row_sink::report;

impl<'a> Routine<'a> {
    pub(super) fn statement(&mut self, statement: &'a Statement) -> Result<()> {
        self.at = (statement.line, statement.kind.name());
        if !matches!(statement.kind, StatementKind::Block(_)) {
            self.compiler.code.line(statement.line, statement.kind.name());
        }
        match &statement.kind {
            StatementKind::Block(block) => self.block(block),
            StatementKind::Assign { target, value } => self.assign(target, value),
            StatementKind::If { branches, otherwise } => self.branches(branches, otherwise),
            StatementKind::Case { operand, branches, otherwise } => {
                self.cases(operand.as_ref(), branches, otherwise.as_deref(), statement.line)
            }
            StatementKind::Loop { label, body } => self.looped(label.as_ref(), None, body),
            StatementKind::While { label, condition, body } => {
                self.looped(label.as_ref(), Some(condition), body)
            }
            StatementKind::ForInteger { .. } => self.for_integer(&statement.kind),
            StatementKind::ForQuery { label, targets, query, body } => {
                self.for_query(label.as_ref(), targets, query, body)
            }
            StatementKind::ForEach { label, target, array, body } => {
                self.for_each(label.as_ref(), target, array, body)
            }
            StatementKind::Exit { is_continue, label, condition } => {
                self.exit(*is_continue, label.as_ref(), condition.as_ref())
            }
            StatementKind::Return(value) => self.returned(value.as_ref(), statement.start),
            StatementKind::ReturnNext(value) => self.return_next(value.as_ref(), statement.start),
            StatementKind::ReturnQuery(query) => self.return_query(query, statement.start),
            StatementKind::Raise(raise) => self.raise(raise, statement.start),
            StatementKind::Assert { condition, message } => self.assert(condition, message.as_ref()),
            StatementKind::Perform(query) => self.perform(query),
            StatementKind::Sql { text, into } => self.sql(text, into.as_ref()),
            StatementKind::Call(call) => self.call(call),
            StatementKind::ChangeSchema(statement) => self.change_schema(statement),
            StatementKind::Execute { query, into, using } => self.execute(query, into.as_ref(), using),
            StatementKind::ForExecute { label, targets, query, using, body } => {
                self.for_execute(label.as_ref(), targets, (query, using), body)
            }
            StatementKind::ReturnExecute { query, using } => {
                self.return_execute(query, using, statement.start)
            }
            StatementKind::Open { cursor, arguments, query: None } => self.open_cursor(cursor, arguments),
            StatementKind::Open { cursor, query: Some(query), .. } => self.open_for(cursor, query),
            StatementKind::Fetch { cursor, steps, targets } => self.fetch(cursor, steps, targets.as_deref()),
            StatementKind::Close { cursor } => self.close_cursor(cursor),
            StatementKind::ForCursor { label, targets, cursor, arguments, body } => {
                self.for_cursor(label.as_ref(), targets, (cursor, arguments), body)
            }
            StatementKind::EndTransaction { commits } => {
                self.end_transaction(*commits);
                Ok(())
            }
            StatementKind::GetDiagnostics { is_stacked, items } => self.diagnostics(*is_stacked, items),
            StatementKind::Null => Ok(()),
        }
    }

    fn branches(
        &mut self,
        branches: &'a [(Fragment, Vec<Statement>)],
        otherwise: &'a [Statement],
    ) -> Result<()> {
        let end = self.compiler.code.label();
        let before = self.names().states();
        let mut joined: Option<Vec<RecordState>> = None;
        let (line, kind) = self.at;
        let mut goes_on = true;
        for (condition, body) in branches {
            if goes_on {
                self.compiler.code.line(line, kind);
                let condition = self.value(condition, SqlType::Boolean)?;
                goes_on = self.branch(condition, body, end, (&before, &mut joined))?;
            }
        }
        if goes_on {
            self.statements(otherwise)?;
            self.leave_branch(&before, &mut joined);
        }
        self.names().restore(&joined.unwrap_or(before));
        self.compiler.code.place(end);
        Ok(())
    }

    /// A branch that runs if the condition holds, and then jumps to `end`. What is known not to run is not
    /// compiled. Returns whether the branches after it may run.
    fn branch(
        &mut self,
        condition: Expr,
        body: &'a [Statement],
        end: Label,
        (before, joined): (&[RecordState], &mut Option<Vec<RecordState>>),
    ) -> Result<bool> {
        let decided = self.decided(&condition);
        if decided == Some(false) {
            return Ok(true);
        }
        let next = self.compiler.code.label();
        self.compiler.code.jump_unless(condition, next);
        self.statements(body)?;
        self.leave_branch(before, joined);
        self.compiler.code.jump(end);
        self.compiler.code.place(next);
        Ok(decided.is_none())
    }

    /// Records the state in which a branch left the records, and restores the state before it.
    pub(super) fn leave_branch(&mut self, before: &[RecordState], joined: &mut Option<Vec<RecordState>>) {
        if let Some(others) = joined {
            self.names().join(others);
        }
        *joined = Some(self.names().states());
        self.names().restore(before);
    }

    fn cases(
        &mut self,
        operand: Option<&'a Fragment>,
        branches: &'a [(Fragment, Vec<Statement>)],
        otherwise: Option<&'a [Statement]>,
        line: u32,
    ) -> Result<()> {
        let operand = match operand {
            None => None,
            Some(operand) => {
                let bound = self.bind(operand)?;
                let sql_type = bound.known_type().unwrap_or(SqlType::Text);
                let value = self.converted(bound, sql_type)?;
                let register = self.compiler.binder.new_register()?;
                self.note_copy(register, &value);
                self.compiler.code.evaluate(register, value);
                Some(Bound::typed(Expr::Register(register), sql_type, Place::Unknown))
            }
        };
        let end = self.compiler.code.label();
        let before = self.names().states();
        let mut joined: Option<Vec<RecordState>> = None;
        let mut goes_on = true;
        for (condition, body) in branches {
            if goes_on {
                self.compiler.code.line(line, "CASE");
                let test = self.case_test(operand.as_ref(), condition)?;
                goes_on = self.branch(test, body, end, (&before, &mut joined))?;
            }
        }
        match otherwise {
            _ if !goes_on => {}
            Some(otherwise) => {
                self.statements(otherwise)?;
                self.leave_branch(&before, &mut joined);
            }
            None => {
                self.compiler.code.line(line, "CASE");
                self.compiler.code.push(report(
                    sqlstate::CASE_NOT_FOUND,
                    "case not found",
                    Some("CASE statement is missing ELSE part."),
                ));
            }
        }
        self.names().restore(&joined.unwrap_or(before));
        self.compiler.code.place(end);
        Ok(())
    }

    /// The condition of a branch. With an operand it is a list of values.
    fn case_test(&mut self, operand: Option<&Bound>, condition: &'a Fragment) -> Result<Expr> {
        let Some(operand) = operand else { return self.value(condition, SqlType::Boolean) };
        self.begin(condition).map_err(|error| self.placed(error, condition))?;
        let test = self.value_test(operand, condition);
        test.map_err(|error| self.placed(error, condition))
    }

    fn value_test(&mut self, operand: &Bound, condition: &'a Fragment) -> Result<Expr> {
        // `a, b` in parentheses is a list.
        let text = format!("({})", condition.text);
        let items = match crate::statement::query::parse_expression(&text)? {
            sqlparser::ast::Expr::Tuple(items) => items,
            sqlparser::ast::Expr::Nested(item) => vec![*item],
            other => vec![other],
        };
        let mut test: Option<Expr> = None;
        for item in &items {
            let item = self.with_subqueries(item)?;
            let binder = &mut self.compiler.binder;
            let equal = binder.binary(BinaryOperator::Equal, operand.clone(), item, Place::Unknown)?.expr;
            test = Some(match test {
                Some(test) => Expr::Or(Box::new(test), Box::new(equal)),
                None => equal,
            });
        }
        Ok(test.unwrap_or(Expr::Const(Value::Null)))
    }

    /// The body of a loop, with the labels for EXIT and CONTINUE.
    pub(super) fn loop_body(
        &mut self,
        label: Option<&String>,
        (exit, again): (Label, Label),
        body: &'a [Statement],
    ) -> Result<()> {
        let before = self.names().states();
        self.around.push(Around {
            label: label.cloned(),
            exit,
            again: Some(again),
            blocks: self.blocks,
            handlers: self.handlers,
        });
        self.statements(body)?;
        self.around.pop();
        let after = self.names().states();
        for (before, after) in before.iter().zip(&after) {
            if matches!(before, RecordState::Known(_)) && before != after {
                let start = body.first().map_or(0, |statement| statement.start);
                return self.unsupported(
                    Missing::ChangingRecords,
                    "giving a record other columns inside a loop is",
                    start,
                );
            }
        }
        Ok(())
    }

    fn looped(
        &mut self,
        label: Option<&String>,
        condition: Option<&'a Fragment>,
        body: &'a [Statement],
    ) -> Result<()> {
        let (again, exit) = (self.compiler.code.label(), self.compiler.code.label());
        self.compiler.code.place(again);
        if let Some(condition) = condition {
            let condition = self.value(condition, SqlType::Boolean)?;
            self.compiler.code.jump_unless(condition, exit);
        }
        self.loop_body(label, (exit, again), body)?;
        self.compiler.code.jump(again);
        self.compiler.code.place(exit);
        Ok(())
    }

    /// A flag that says whether a loop has run at all, needed for FOUND.
    pub(super) fn new_loop_flag(&mut self) -> Result<Option<Register>> {
        if self.found.is_none() {
            return Ok(None);
        }
        let flag = self.compiler.binder.new_register()?;
        self.compiler.code.evaluate(flag, Expr::Const(Value::Boolean(false)));
        Ok(Some(flag))
    }

    pub(super) fn set_loop_flag(&mut self, flag: Option<Register>) {
        if let Some(flag) = flag {
            self.compiler.code.evaluate(flag, Expr::Const(Value::Boolean(true)));
        }
    }

    pub(super) fn take_loop_flag(&mut self, flag: Option<Register>) {
        if let (Some(found), Some(flag)) = (self.found, flag) {
            self.compiler.code.evaluate(found, Expr::Register(flag));
        }
    }

    fn for_integer(&mut self, kind: &'a StatementKind) -> Result<()> {
        let StatementKind::ForInteger { label, variable, is_reverse, lower, upper, step, body } = kind else {
            return Ok(());
        };
        let is_reverse = *is_reverse;
        let counter = self.bound_of_loop(lower, "lower bound of FOR loop cannot be null")?;
        let last = self.bound_of_loop(upper, "upper bound of FOR loop cannot be null")?;
        let by = match step {
            Some(step) => {
                let by = self.bound_of_loop(step, "BY value of FOR loop cannot be null")?;
                let wrong = self.compiler.code.label();
                let is_positive = compare(by, BinaryOperator::LessEqual, 0);
                self.compiler.code.jump_unless(is_positive, wrong);
                self.compiler.code.push(report(
                    sqlstate::INVALID_PARAMETER_VALUE,
                    "BY value of FOR loop must be greater than zero",
                    None,
                ));
                self.compiler.code.place(wrong);
                by
            }
            None => {
                let by = self.compiler.binder.new_register()?;
                self.compiler.code.evaluate(by, Expr::Const(Value::Integer(1)));
                by
            }
        };
        let register = self.compiler.binder.new_register()?;
        let scalar = Scalar::new(register, SqlType::Integer);
        let scope =
            Scope { label: label.clone(), variables: vec![(variable.clone(), Variable::Scalar(scalar))] };
        self.names().scopes.push(scope);
        let flag = self.new_loop_flag()?;
        let (again, next, exit) =
            (self.compiler.code.label(), self.compiler.code.label(), self.compiler.code.label());
        self.compiler.code.place(again);
        self.compiler.code.push(Instruction::ForNext {
            counter,
            last,
            variable: register,
            is_reverse,
            end: exit,
        });
        self.set_loop_flag(flag);
        self.loop_body(label.as_ref(), (exit, next), body)?;
        self.compiler.code.place(next);
        self.compiler.code.push(Instruction::ForStep { counter, step: by, is_reverse, again, end: exit });
        self.compiler.code.place(exit);
        self.take_loop_flag(flag);
        self.names().scopes.pop();
        Ok(())
    }

    fn bound_of_loop(&mut self, fragment: &'a Fragment, message: &str) -> Result<Register> {
        let value = self.value(fragment, SqlType::Integer)?;
        let register = self.compiler.binder.new_register()?;
        let is_constant = matches!(value, Expr::Const(Value::Integer(_)));
        self.compiler.code.evaluate(register, value);
        if !is_constant {
            let fine = self.compiler.code.label();
            self.compiler.code.jump_unless(Expr::IsNull(Box::new(Expr::Register(register))), fine);
            self.compiler.code.push(report(sqlstate::NULL_VALUE_NOT_ALLOWED, message, None));
            self.compiler.code.place(fine);
        }
        Ok(register)
    }

    fn for_each(
        &mut self,
        label: Option<&String>,
        target: &Path,
        array: &'a Fragment,
        body: &'a [Statement],
    ) -> Result<()> {
        let variable = self.target(target)?;
        let bound = self.bind(array)?;
        let Some(SqlType::Array(element)) = bound.known_type() else {
            let message = format!("FOREACH expression must yield an array, not type {}", bound.type_name());
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, array.start);
        };
        let (values, counter, last, by, place) = (
            self.compiler.binder.new_register()?,
            self.compiler.binder.new_register()?,
            self.compiler.binder.new_register()?,
            self.compiler.binder.new_register()?,
            self.compiler.binder.new_register()?,
        );
        let code = &mut self.compiler.code;
        let flat = Expr::Call { function: Function::ArrayFlat, arguments: vec![bound.expr] };
        code.evaluate(values, flat);
        let fine = code.label();
        code.jump_unless(Expr::IsNull(Box::new(Expr::Register(values))), fine);
        code.push(report(sqlstate::NULL_VALUE_NOT_ALLOWED, "FOREACH expression must not be null", None));
        code.place(fine);
        code.evaluate(counter, Expr::Const(Value::Integer(1)));
        code.evaluate(by, Expr::Const(Value::Integer(1)));
        let arguments = vec![Expr::Register(values)];
        code.evaluate(last, Expr::Call { function: Function::Cardinality, arguments });
        let flag = self.new_loop_flag()?;
        let code = &mut self.compiler.code;
        let (again, next, exit) = (code.label(), code.label(), code.label());
        code.place(again);
        code.push(Instruction::ForNext { counter, last, variable: place, is_reverse: false, end: exit });
        let value =
            Expr::Element { array: Box::new(Expr::Register(values)), index: Box::new(Expr::Register(place)) };
        self.assign_element(target, variable, (value, element.sql_type()))?;
        self.set_loop_flag(flag);
        self.loop_body(label, (exit, next), body)?;
        self.compiler.code.place(next);
        self.compiler.code.push(Instruction::ForStep {
            counter,
            step: by,
            is_reverse: false,
            again,
            end: exit,
        });
        self.compiler.code.place(exit);
        self.take_loop_flag(flag);
        Ok(())
    }

    /// Assigns an element of this type to the variable of FOREACH.
    fn assign_element(
        &mut self,
        target: &Path,
        variable: Destination,
        (value, sql_type): (Expr, SqlType),
    ) -> Result<()> {
        match variable {
            Destination::Scalar(scalar) => {
                let value = self.compiler.assigned(value, sql_type, scalar.sql_type)?;
                self.store(&scalar, value, &target.parts.join("."))?;
            }
            Destination::Field(scalar, field) => {
                let value = self.compiler.assigned(value, sql_type, field.sql_type)?;
                self.store(&scalar, with_field(&scalar, field, value), &target.parts.join("."))?;
            }
            Destination::Record(record) => {
                let row = self.compiler.binder.new_register()?;
                self.compiler.code.evaluate(row, value);
                let row = Bound::typed(Expr::Register(row), sql_type, Place::Unknown);
                let Some(fields) = self.compiler.binder.fields_of_row(&row)? else {
                    return self.unsupported(
                        Missing::ChangingRecords,
                        "FOREACH of such elements into a record is",
                        target.start,
                    );
                };
                self.assign_fields(record, fields)?;
            }
        }
        Ok(())
    }

    fn exit(
        &mut self,
        is_continue: bool,
        label: Option<&(String, usize)>,
        condition: Option<&'a Fragment>,
    ) -> Result<()> {
        let stay = self.compiler.code.label();
        if let Some(condition) = condition {
            let condition = self.value(condition, SqlType::Boolean)?;
            self.compiler.code.jump_unless(condition, stay);
        }
        let wanted = self.around.iter().rev().find(|around| match label {
            Some((label, _)) => around.label.as_ref() == Some(label),
            None => around.again.is_some(),
        });
        let Some(around) = wanted else {
            let start = label.map_or(0, |(_, start)| *start);
            return self.fail(sqlstate::SYNTAX_ERROR, "EXIT cannot be used outside a loop", start);
        };
        let to = if is_continue { around.again.unwrap_or(around.exit) } else { around.exit };
        let (blocks, handlers) = (self.blocks - around.blocks, self.handlers - around.handlers);
        for _ in 0..blocks {
            self.compiler.code.push(Instruction::LeaveBlock);
        }
        for _ in 0..handlers {
            self.compiler.code.push(Instruction::ForgetError);
        }
        self.compiler.code.jump(to);
        self.compiler.code.place(stay);
        Ok(())
    }
}

fn compare(register: Register, operator: BinaryOperator, number: i32) -> Expr {
    Expr::Binary {
        operator,
        left: Box::new(Expr::Register(register)),
        right: Box::new(Expr::Const(Value::Integer(number))),
    }
}
