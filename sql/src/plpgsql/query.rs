//! SQL in a body: statements, INTO, PERFORM, FOR over a query, RETURN NEXT and QUERY, CALL, subqueries.
//!
//! If the body of a FOR loop neither changes data nor calls anything, the loop takes rows as the scan finds
//! them. Otherwise the query runs first and its rows are kept, because the loop must not see the effects of
//! its own body. Either way the query sees its variables as they were when the loop began. A body that runs
//! while its query is still running reads at the query's snapshot (READ COMMITTED; PostgreSQL takes a new
//! one for each statement).

use super::restrictions::{Restricted, Targets};
use hyades_engine::procedure::effects::TableUse;
use hyades_engine::procedure::ir::{Expr, Instruction, Register};
use hyades_types::definition::{Returns, RoutineDefinition, RoutineKind};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::refusal::Missing;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::assignment::{Destination, with_field};
use super::routine_body::Routine;
use super::tree::{Fragment, Into, Path, Statement};
use crate::bind::Place;
use crate::bind::made_rows::made_row;
use crate::bind::visible_variables::{Found, IN_SQL, RecordState, Scalar};
use crate::emit::row_sink::{Nested, Sink, Then, Wanted, invalid_termination, report};
use crate::plan::level::Step;
use crate::statement::names::fold;
use crate::statement::{self, query as parser};

/// Whether it is a query, which returns rows.
pub(super) fn is_select(statement: &ast::Statement) -> bool {
    matches!(statement, ast::Statement::Query(query) if changed_by(query).is_none())
}

/// The INSERT, UPDATE or DELETE that follows WITH.
fn changed_by(query: &ast::Query) -> Option<&ast::Statement> {
    match query.body.as_ref() {
        ast::SetExpr::Insert(change) | ast::SetExpr::Update(change) | ast::SetExpr::Delete(change) => {
            Some(change)
        }
        _ => None,
    }
}

pub(super) fn has_returning(statement: &ast::Statement) -> bool {
    match statement {
        ast::Statement::Insert(insert) => insert.returning.is_some(),
        ast::Statement::Update(update) => update.returning.is_some(),
        ast::Statement::Delete(delete) => delete.returning.is_some(),
        ast::Statement::Query(query) => changed_by(query).is_none_or(has_returning),
        _ => true,
    }
}

impl<'a> Routine<'a> {
    pub(super) fn parsed(&mut self, fragment: &'a Fragment) -> Result<ast::Statement> {
        let parse = || {
            statement::split::survey(&fragment.text)?;
            statement::parse(&fragment.text)
        };
        match parse().map_err(|error| self.placed(error, fragment))? {
            statement::Statement::Query(query) => Ok(*query),
            _ => self.unsupported(Missing::StatementsInRoutines, "this statement is", fragment.start),
        }
    }

    /// Compiles a statement into the body; its rows go where `wanted` says.
    pub(super) fn nested(
        &mut self,
        fragment: &'a Fragment,
        statement: &ast::Statement,
        wanted: Wanted,
        then: Then,
    ) -> Result<Nested> {
        let compile = |routine: &mut Routine<'a>| {
            routine.begin(fragment)?;
            routine.open(wanted, then);
            routine.compiler.code.push(Instruction::BeginStatement);
            let place = routine.compiler.code.reserve();
            routine.compiler.nested_statement(statement)?;
            let before = match then {
                // It may jump out of the statement's code. Whatever must come after the statement is
                // emitted later.
                Then::Leave(_) | Then::Once { .. } => Vec::new(),
                Then::Continue | Then::Body { .. } => routine.compiler.end_events()?,
            };
            routine.compiler.code.fill(place, before);
            Ok(())
        };
        compile(self).map_err(|error| self.placed(error, fragment))?;
        Ok(self.close())
    }

    pub(super) fn open(&mut self, wanted: Wanted, then: Then) {
        self.compiler.sink = Sink::Pending(wanted);
        self.compiler.nested = Some(Nested { then, is_single: false, columns: Vec::new(), value: None });
    }

    pub(super) fn close(&mut self) -> Nested {
        self.compiler.sink = Sink::Answer;
        self.compiler.nested.take().unwrap_or(Nested {
            then: Then::Continue,
            is_single: false,
            columns: Vec::new(),
            value: None,
        })
    }

    /// Whether the body asks for FOUND or for the row count.
    fn counts(&self) -> bool {
        self.found.is_some() || self.row_count.is_some()
    }

    fn reset_count(&mut self) {
        if self.counts() {
            self.compiler.code.push(Instruction::ResetCount);
        }
    }

    fn take_count(&mut self) {
        if self.counts() {
            let (found, count) = (self.found, self.row_count);
            self.compiler.code.push(Instruction::TakeCount { found, count });
        }
    }

    pub(super) fn set_found(&mut self, is_found: bool) {
        if let Some(found) = self.found {
            self.compiler.code.evaluate(found, Expr::Const(Value::Boolean(is_found)));
        }
        if let Some(count) = self.row_count {
            self.compiler.code.evaluate(count, Expr::Const(Value::BigInt(i64::from(is_found))));
        }
    }

    pub(super) fn sql(&mut self, text: &'a Fragment, into: Option<&'a Into>) -> Result<()> {
        let statement = self.parsed(text)?;
        match into {
            Some(into) => self.into(text, &statement, into),
            None if is_select(&statement) => {
                let error = Error::input(sqlstate::SYNTAX_ERROR, "query has no destination for result data")
                    .with_hint("If you want to discard the results of a SELECT, use PERFORM instead.")
                    .with_position(1);
                Err(self.placed(error, text))
            }
            None if has_returning(&statement) => {
                let error = Error::input(sqlstate::SYNTAX_ERROR, "query has no destination for result data");
                Err(self.placed(error.with_position(1), text))
            }
            None => {
                self.reset_count();
                self.nested(text, &statement, Wanted::Nothing, Then::Continue)?;
                self.take_count();
                Ok(())
            }
        }
    }

    /// The variables of INTO or of a FOR loop.
    pub(super) fn destinations(&mut self, targets: &[Path]) -> Result<Targets> {
        let mut slots = Vec::with_capacity(targets.len());
        let mut restricted = Vec::new();
        for target in targets {
            match self.target(target)? {
                Destination::Record(record) if targets.len() == 1 => {
                    return Ok(Targets { wanted: Wanted::Record(record), restricted });
                }
                Destination::Record(_) => {
                    let message = "record variable cannot be part of multiple-item INTO list";
                    return self.fail(sqlstate::SYNTAX_ERROR, message, target.start);
                }
                Destination::Scalar(scalar)
                    if let (SqlType::Composite(row_type), 1) = (scalar.sql_type, targets.len()) =>
                {
                    let state = self.row_registers(row_type)?;
                    let record = self.names().new_record(state, true, Some(row_type));
                    let wanted = Wanted::Record(record);
                    let fields = self.slots_of(&wanted).into_iter().map(Expr::Register).collect();
                    let from = made_row(row_type, fields);
                    restricted.push(Restricted { scalar, from, name: target.parts.join(".") });
                    return Ok(Targets { wanted, restricted });
                }
                Destination::Field(scalar, field) => {
                    let register = self.compiler.binder.new_register()?;
                    let from = with_field(&scalar, field, Expr::Register(register));
                    restricted.push(Restricted { scalar, from, name: target.parts.join(".") });
                    slots.push((register, field.sql_type));
                }
                Destination::Scalar(scalar) if scalar.element.is_some() => {
                    let what = "INTO and FOR with an array whose elements have a length or a precision are";
                    return self.unsupported(Missing::AssignedParts, what, target.start);
                }
                Destination::Scalar(scalar) => {
                    let mut register = scalar.register;
                    if !scalar.is_unrestricted() {
                        register = self.compiler.binder.new_register()?;
                        let from = Expr::Register(register);
                        restricted.push(Restricted { scalar, from, name: target.parts.join(".") });
                    }
                    slots.push((register, scalar.sql_type));
                }
            }
        }
        Ok(Targets { wanted: Wanted::Variables(slots), restricted })
    }

    pub(super) fn slots_of(&mut self, wanted: &Wanted) -> Vec<Register> {
        match wanted {
            Wanted::Variables(slots) => slots.iter().map(|(register, _)| *register).collect(),
            Wanted::Record(record) => match &self.names().records[*record].state {
                RecordState::Known(columns) => columns.iter().map(|(.., register)| *register).collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn into(&mut self, text: &'a Fragment, statement: &ast::Statement, into: &'a Into) -> Result<()> {
        if !has_returning(statement) {
            let message = "INTO used with a command that cannot return data";
            return self.fail(sqlstate::SYNTAX_ERROR, message, text.start);
        }
        let Targets { wanted, restricted } = self.destinations(&into.targets)?;
        let (found, none, end) =
            (self.compiler.code.label(), self.compiler.code.label(), self.compiler.code.label());
        let then = if is_select(statement) && !into.is_strict {
            Then::Leave(found)
        } else {
            let flag = self.compiler.binder.new_register()?;
            Then::Once { flag, done: found, is_subquery: false }
        };
        // The variables that the statement reads must not change while it looks for a second row.
        self.compiler.binder.captured = matches!(then, Then::Once { .. }).then(Vec::new);
        let place = self.compiler.code.reserve();
        let nested = self.nested(text, statement, wanted.clone(), then)?;
        let mut before = self.captured_copies();
        if let (Then::Once { flag, .. }, false) = (then, nested.is_single) {
            self.compiler.code.jump_unless(Expr::Register(flag), none);
            self.compiler.code.jump(found);
        }
        self.compiler.code.place(none);
        if into.is_strict {
            self.set_found(false);
            self.compiler.code.push(report(sqlstate::NO_DATA_FOUND, "query returned no rows", None));
        } else {
            for register in self.slots_of(&wanted) {
                self.compiler.code.evaluate(register, Expr::Const(Value::Null));
            }
            self.set_found(false);
            self.compiler.code.jump(end);
        }
        self.compiler.code.place(found);
        self.set_found(true);
        self.compiler.code.place(end);
        before.extend(self.compiler.end_events()?);
        self.compiler.code.fill(place, before);
        self.store_restricted(&restricted)
    }

    /// Fills the reserved place with copies of the variables that the query reads.
    fn copy_captured(&mut self, place: usize) {
        let copies = self.captured_copies();
        self.compiler.code.fill(place, copies);
    }

    fn captured_copies(&mut self) -> Vec<Instruction> {
        let captured = self.compiler.binder.captured.take().unwrap_or_default();
        let copy = |(from, into)| Instruction::Evaluate { expr: Expr::Register(from), into };
        captured.into_iter().map(copy).collect()
    }

    pub(super) fn perform(&mut self, query: &'a Fragment) -> Result<()> {
        let statement = self.parsed(query)?;
        self.reset_count();
        self.nested(query, &statement, Wanted::Nothing, Then::Continue)?;
        self.take_count();
        Ok(())
    }

    pub(super) fn return_next(&mut self, value: Option<&'a Fragment>, start: usize) -> Result<()> {
        if !self.is_set() {
            let message = "cannot use RETURN NEXT in a non-SETOF function";
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, start);
        }
        let types = self.returned_types();
        let values = match (value, types.as_slice()) {
            (None, [_, ..]) => match self.output_variables() {
                Some(registers) => registers.into_iter().map(Expr::Register).collect(),
                None => {
                    return self.fail(sqlstate::SYNTAX_ERROR, "RETURN NEXT must have a parameter", start);
                }
            },
            (Some(value), _) if self.output_variables().is_some() => {
                let message = "RETURN NEXT cannot have a parameter in function with OUT parameters";
                return self.fail(sqlstate::DATATYPE_MISMATCH, message, value.start);
            }
            (Some(value), _) if matches!(self.definition.returns, Returns::SetOfRow(_)) => {
                self.record_values(value, &types)?
            }
            (Some(value), [sql_type]) => vec![self.value(value, *sql_type)?],
            _ => return self.unsupported(Missing::ChangingRecords, "RETURN NEXT of this type is", start),
        };
        self.compiler.code.push(Instruction::Emit { values });
        Ok(())
    }

    /// The fields of the row of `RETURN NEXT row`.
    fn record_values(&mut self, value: &'a Fragment, types: &[SqlType]) -> Result<Vec<Expr>> {
        let Some(fields) = self.row_of(value)? else {
            return Ok(vec![Expr::Const(Value::Null); types.len()]);
        };
        if fields.len() != types.len() {
            let message = "wrong record type supplied in RETURN NEXT";
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, value.start);
        }
        let mut values = Vec::with_capacity(types.len());
        for ((_, field), to) in fields.into_iter().zip(types) {
            values.push(self.converted(field, *to).map_err(|error| self.placed(error, value))?);
        }
        Ok(values)
    }

    /// The variables that hold the columns of a set-returning function.
    fn output_variables(&mut self) -> Option<Vec<Register>> {
        let definition = std::sync::Arc::clone(&self.definition);
        let names: Vec<String> = match &definition.returns {
            Returns::Table(columns) => columns.iter().map(|(name, _)| name.clone()).collect(),
            Returns::SetOfRecord => definition
                .parameters
                .iter()
                .filter(|parameter| parameter.mode.is_output())
                .map(|parameter| parameter.name.clone().unwrap_or_default())
                .collect(),
            _ => return None,
        };
        let own = definition.name.name.clone();
        let find = |name: String| match self.names().find(&[own.clone(), name]) {
            Some(Found::Scalar(scalar)) => Some(scalar.register),
            _ => None,
        };
        names.into_iter().map(find).collect()
    }

    pub(super) fn return_query(&mut self, query: &'a Fragment, start: usize) -> Result<()> {
        if !self.is_set() {
            let message = "cannot use RETURN QUERY in a non-SETOF function";
            return self.fail(sqlstate::DATATYPE_MISMATCH, message, start);
        }
        let statement = self.parsed(query)?;
        let types = self.returned_types();
        self.reset_count();
        self.nested(query, &statement, Wanted::Returned(types), Then::Continue)?;
        self.take_count();
        Ok(())
    }

    pub(super) fn for_query(
        &mut self,
        label: Option<&String>,
        targets: &'a [Path],
        query: &'a Fragment,
        body: &'a [Statement],
    ) -> Result<()> {
        let statement = self.parsed(query)?;
        let targets = self.destinations(targets)?;
        let flag = self.compiler.binder.new_register()?;
        self.compiler.code.evaluate(flag, Expr::Const(Value::Boolean(false)));
        let (taken, flag) = (targets.clone(), Some(flag));
        match &statement {
            ast::Statement::Query(select) if matches!(select.body.as_ref(), ast::SetExpr::Select(_)) => {
                self.for_select(label, targets, (query, select), body, flag)?;
            }
            _ => {
                let spool = self.compiler.code.new_spool()?;
                self.compiler.code.push(Instruction::OpenSpool { spool });
                let nested = self.nested(query, &statement, Wanted::Spool(spool), Then::Continue)?;
                self.for_spool(label, targets, (spool, nested), body, flag)?;
            }
        }
        self.after_loop(&taken, flag)
    }

    /// The code after a loop over rows.
    pub(super) fn after_loop(&mut self, taken: &Targets, flag: Option<Register>) -> Result<()> {
        self.take_loop_flag(flag);
        // If there was no row, the variables become NULL.
        let end = self.compiler.code.label();
        if let Some(flag) = flag {
            self.compiler.code.jump_unless(Expr::Not(Box::new(Expr::Register(flag))), end);
        }
        for register in self.slots_of(&taken.wanted) {
            self.compiler.code.evaluate(register, Expr::Const(Value::Null));
        }
        self.store_restricted(&taken.restricted)?;
        self.compiler.code.place(end);
        Ok(())
    }

    /// The statement of an EXECUTE, which is the whole of this routine. Returns its columns.
    pub(super) fn nested_text(
        &mut self,
        text: &'a str,
        statement: &ast::Statement,
        wanted: Wanted,
    ) -> Result<Vec<(String, SqlType)>> {
        self.begin_text(text)?;
        self.open(wanted, Then::Continue);
        self.compiler.code.push(Instruction::BeginStatement);
        let place = self.compiler.code.reserve();
        self.compiler.nested_statement(statement)?;
        let before = self.compiler.end_events()?;
        self.compiler.code.fill(place, before);
        Ok(self.close().columns)
    }

    /// Loops over rows that are in a spool already.
    pub(super) fn for_spool(
        &mut self,
        label: Option<&String>,
        Targets { wanted, restricted }: Targets,
        (spool, nested): (u16, Nested),
        body: &'a [Statement],
        flag: Option<Register>,
    ) -> Result<()> {
        let code = &mut self.compiler.code;
        let (start, inside, resume, end) = (code.label(), code.label(), code.label(), code.label());
        code.place(start);
        self.open(wanted, Then::Body { body: inside, resume });
        let columns = nested.columns;
        let width = columns.len();
        self.compiler.describe(columns, false)?;
        self.compiler.for_spooled(spool, width, &mut |compiler, values, _| compiler.emit(values))?;
        self.close();
        self.compiler.code.jump(end);
        self.compiler.code.place(inside);
        self.set_loop_flag(flag);
        self.store_restricted(&restricted)?;
        let next = self.compiler.code.label();
        self.loop_body(label, (end, next), body)?;
        self.compiler.code.place(next);
        self.compiler.code.jump(resume);
        self.compiler.code.place(end);
        Ok(())
    }

    /// A FOR loop over a query. The body is compiled first, because how the query runs depends on what the
    /// body does.
    fn for_select(
        &mut self,
        label: Option<&String>,
        Targets { wanted, restricted }: Targets,
        (fragment, select): (&'a Fragment, &ast::Query),
        body: &'a [Statement],
        flag: Option<Register>,
    ) -> Result<()> {
        let code = &mut self.compiler.code;
        let (inside, resume, start, end, next) =
            (code.label(), code.label(), code.label(), code.label(), code.label());
        self.begin(fragment)?;
        self.compiler.binder.captured = Some(Vec::new());
        let bound = self.compiler.bind_query(select).map_err(|error| self.placed(error, fragment))?;
        let place = self.compiler.code.reserve();
        self.copy_captured(place);
        let columns = crate::emit::select::described(&bound.outputs);
        if let Wanted::Record(record) = wanted {
            self.compiler.record_slots(record, &columns)?;
        }
        let saved = self.compiler.binder.save();
        let (line, kind) = self.at;
        self.compiler.code.jump(start);
        self.compiler.code.place(inside);
        let from = self.compiler.code.instructions().len();
        self.set_loop_flag(flag);
        self.store_restricted(&restricted)?;
        self.loop_body(label, (end, next), body)?;
        self.compiler.code.place(next);
        self.compiler.code.jump(resume);
        let to = self.compiler.code.instructions().len();
        let is_quiet = self.compiler.code.instructions()[from..].iter().all(is_quiet);
        self.compiler.binder.restore(saved);
        self.compiler.code.line(line, kind);
        self.compiler.code.place(start);
        let is_loop = |step: &Step| matches!(step, Step::Loop(_));
        let can_stream = is_quiet && bound.steps.iter().all(is_loop);
        let then = Then::Body { body: inside, resume };
        self.compiler.code.push(Instruction::BeginStatement);
        if can_stream {
            // The query still runs while its body does, so the body reads at the query's snapshot.
            self.compiler.code.join_statements(from..to);
            self.open(wanted, then);
            self.compiler.select_run(bound).map_err(|error| self.placed(error, fragment))?;
            self.close();
        } else {
            let spool = self.compiler.code.new_spool()?;
            self.compiler.code.push(Instruction::OpenSpool { spool });
            self.open(Wanted::Spool(spool), Then::Continue);
            self.compiler.select_run(bound).map_err(|error| self.placed(error, fragment))?;
            self.close();
            self.open(wanted, then);
            let width = columns.len();
            self.compiler.describe(columns, false)?;
            self.compiler.for_spooled(spool, width, &mut |compiler, values, _| compiler.emit(values))?;
            self.close();
        }
        self.compiler.code.place(end);
        Ok(())
    }

    pub(super) fn call(&mut self, fragment: &'a Fragment) -> Result<()> {
        self.call_inner(fragment).map_err(|error| match &error {
            Error::Input(input) if input.position.is_some() => error,
            _ => self.placed(error.with_position(1), fragment),
        })
    }

    fn call_inner(&mut self, fragment: &'a Fragment) -> Result<()> {
        self.begin(fragment)?;
        let placed = |routine: &Routine<'a>, error| routine.placed(error, fragment);
        let call = parser::parse_call(&fragment.text).map_err(|error| placed(self, error))?;
        let arguments = self.compiler.binder.call_arguments(&call).map_err(|error| placed(self, error))?;
        let parts: Vec<String> = statement::names::parts(&call.name)?.into_iter().map(fold).collect();
        let place = Place::of(&call.name);
        let binder = &mut self.compiler.binder;
        let chosen = binder
            .choose_routine(&parts, &arguments, RoutineKind::Procedure, place)
            .and_then(|chosen| chosen.ok_or_else(|| binder.no_procedure(&parts.join("."), &arguments, place)))
            .map_err(|error| placed(self, error))?;
        let Outputs { into, after } = self.outputs(fragment, &call, chosen.definition())?;
        let values = self
            .compiler
            .binder
            .routine_arguments(&chosen, &arguments, true)
            .map_err(|error| placed(self, error))?;
        let callee = self.compiler.binder.callee(&chosen)?;
        let is_atomic = self.is_atomic || self.definition.language == IN_SQL;
        if is_atomic && self.compiler.binder.ends_transactions(callee) {
            self.compiler.code.push(invalid_termination());
        }
        self.compiler.code.push(Instruction::Call {
            callee,
            arguments: values,
            into,
            rows: None,
            lent: Vec::new(),
        });
        for (scalar, value, name) in after {
            self.store(&scalar, value, &name)?;
        }
        Ok(())
    }

    /// Where a called procedure's results go.
    fn outputs(
        &mut self,
        fragment: &'a Fragment,
        call: &parser::CallSyntax,
        definition: &RoutineDefinition,
    ) -> Result<Outputs> {
        let mut outputs = Outputs::default();
        let positional = call.arguments.len() - call.names.len();
        for (at, parameter) in definition.parameters.iter().enumerate() {
            if !parameter.mode.is_output() {
                continue;
            }
            if self.definition.language == IN_SQL {
                let what = "calling procedures with output arguments is";
                return self.unsupported(Missing::StatementsInRoutines, what, fragment.start);
            }
            let named = || {
                Some(positional + call.names.iter().position(|name| parameter.name.as_ref() == Some(name))?)
            };
            let at = if at < positional { Some(at) } else { named() };
            let Some(argument) = at.and_then(|at| call.arguments.get(at)) else { continue };
            let at = at.unwrap_or_default();
            let path = match argument {
                ast::Expr::Identifier(ident) => vec![fold(ident)],
                ast::Expr::CompoundIdentifier(idents) => idents.iter().map(fold).collect(),
                _ => Vec::new(),
            };
            let path = Path { parts: path, start: fragment.start };
            let Some(Found::Scalar(_) | Found::Column(..)) = self.names().find(&path.parts) else {
                let shown = parameter.name.clone().unwrap_or_else(|| format!("${}", at + 1));
                let message = format!(
                    "procedure parameter \"{shown}\" is an output parameter but corresponding argument is not writable"
                );
                return self.fail(sqlstate::SYNTAX_ERROR, message, fragment.start);
            };
            let Destination::Scalar(scalar) = self.target(&path)? else { continue };
            let from = parameter.sql_type.without_modifier();
            if from.is_same_base(scalar.sql_type) && scalar.is_unrestricted() {
                outputs.into.push(scalar.register);
            } else {
                let register = self.compiler.binder.new_register()?;
                outputs.into.push(register);
                let value = self.compiler.assigned(Expr::Register(register), from, scalar.sql_type)?;
                outputs.after.push((scalar, value, path.parts.join(".")));
            }
        }
        Ok(outputs)
    }
}

/// The registers that take a called procedure's results, and what of them is stored afterwards: the variable,
/// the value, the name.
#[derive(Default)]
struct Outputs {
    into: Vec<Register>,
    after: Vec<(Scalar, Expr, String)>,
}

/// Whether an instruction changes no data, so that it does not disturb a scan around it.
fn is_quiet(instruction: &Instruction) -> bool {
    let effects = instruction.effects();
    !effects.is_barrier && !matches!(effects.table, Some((_, TableUse::Write)))
}
