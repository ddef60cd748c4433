//! A routine as a whole: parameters, blocks, variables, RETURN.
//!
//! Registers: the inputs come first, then output parameters, then everything else in the order of the text.
//! A variable keeps its register for good. A block that is entered again initialises its variables again.

use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Instruction, Label, Procedure, Register, Replayability};
use hyades_engine::storage::stored_routine::TRIGGER;
use hyades_engine::storage::stored_type::DOMAIN_CHECK;
use hyades_engine::storage::table::Table;
use hyades_types::definition::{Returns, RoutineDefinition, RoutineKind};
use hyades_types::error::{Error, Result, SqlState, sqlstate};
use hyades_types::refusal::{Missing, refused_in};
use hyades_types::value::composite::CompositeType;
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::fired_trigger::FiredTrigger;
use super::parse;
use super::tree::{
    Block, Body, BoundCursor, Declaration, DeclarationKind, Fragment, OpenedFor, Path, Statement,
};
use crate::bind::aggregation::{AggregateMode, LIST};
use crate::bind::callee::{signature_of, while_compiling};
use crate::bind::scope::Scope as Relations;
use crate::bind::visible_variables::{Found, IN_SQL, Names, RecordState, Scalar, Scope, Variable};
use crate::bind::{BindContext, Bound, Place, Tables, types};
use crate::emit::row_sink::report;
use crate::emit::{Compiler, shifted};
use crate::statement::deep_text::with_stack_for;
use crate::statement::lexer::character_position;
use crate::statement::{query, split};

/// The targets of EXIT and CONTINUE.
pub(super) struct Around {
    pub(super) label: Option<String>,
    pub(super) exit: Label,
    /// `None` for a block.
    pub(super) again: Option<Label>,
    /// Exception blocks and handlers that are open outside of it.
    pub(super) blocks: usize,
    pub(super) handlers: usize,
}

/// Compiles one routine.
pub(super) struct Routine<'a> {
    pub(super) compiler: Compiler<'a>,
    pub(super) definition: Arc<RoutineDefinition>,
    body: &'a str,
    /// Whether it can never end a transaction.
    pub(super) is_atomic: bool,
    /// The number of characters before the body in the text that error positions refer to.
    offset: u32,
    pub(super) around: Vec<Around>,
    /// Exception blocks and handlers that are open here.
    pub(super) blocks: usize,
    pub(super) handlers: usize,
    pub(super) cursors: Vec<BoundCursor<'a>>,
    pub(super) opened: Vec<OpenedFor>,
    /// FOUND and the row count, if the body asks for them.
    pub(super) found: Option<Register>,
    pub(super) row_count: Option<Register>,
    /// The register and type of a function's value.
    result: Option<(Register, SqlType)>,
    /// The statement that is being compiled: its line and its kind.
    pub(super) at: (u32, &'static str),
    /// Set if it is a trigger's function.
    pub(super) trigger: Option<FiredTrigger>,
}

/// The occasion of a compilation, which decides what its errors look like.
#[derive(Clone, Copy)]
pub(crate) enum When {
    /// By CREATE. The body begins after this many characters of the statement.
    Created(u32),
    /// By DO. The number means the same.
    Anonymous(u32),
    Called,
}

/// Compiles a routine's definition. Errors carry positions counted from `offset` characters before the body.
pub(crate) fn compile(definition: &RoutineDefinition, tables: &dyn Tables, when: When) -> Result<Procedure> {
    while_compiling(signature_of(definition), || {
        with_stack_for(&definition.body, || match definition.language.as_str() {
            TRIGGER => Routine::of_firing(definition, tables),
            _ => compile_body(definition, tables, when),
        })
    })
}

fn compile_body(definition: &RoutineDefinition, tables: &dyn Tables, when: When) -> Result<Procedure> {
    let offset = match when {
        When::Created(offset) | When::Anonymous(offset) => offset,
        When::Called => 0,
    };
    let zone = jiff::tz::TimeZone::UTC;
    let path = definition.search_path(tables.temporary_schema());
    let context = BindContext::of_routine(tables, &zone, &path);
    if definition.language == DOMAIN_CHECK {
        return Routine::of_domain(definition, context);
    }
    if definition.kind == RoutineKind::Aggregate {
        return match definition.is_polymorphic() {
            true => Ok(Procedure::default()),
            false => Routine::of_aggregate(definition, context),
        };
    }
    let body = parse::parse(definition).map_err(|error| shifted(error, offset))?;
    if definition.returns == Returns::Trigger {
        // Its records have columns only when a trigger of a table runs it.
        Routine::check_trigger_function(definition)?;
        return Ok(Procedure::default());
    }
    if definition.is_polymorphic() {
        // Its types are known when it is called.
        return Ok(Procedure::default());
    }
    let mut routine = Routine::new(definition, context, offset)?;
    routine.is_atomic &= !matches!(when, When::Anonymous(_));
    let results = routine.parameters()?;
    let compiled = match &body {
        Body::Block(block) => routine.block(block),
        Body::Statements(statements) => routine.sql_body(statements, &results),
    };
    if let Err(error) = compiled {
        return Err(routine.explained(error, when));
    }
    if matches!(body, Body::Block(_)) {
        routine.fall_off();
    }
    routine.finish(results, when)
}

/// The name of the routine in the context of errors.
fn context_name(definition: &RoutineDefinition, when: When) -> String {
    match when {
        When::Anonymous(_) => definition.name.name.clone(),
        When::Created(_) | When::Called if definition.language == IN_SQL => definition.name.name.clone(),
        When::Created(_) | When::Called => definition.signature().replace(", ", ","),
    }
}

/// Whether the word occurs in the text. One in a string or comment counts too, which does no harm.
pub(super) fn mentions(text: &str, word: &str) -> bool {
    text.to_ascii_lowercase().contains(word)
}

impl<'a> Routine<'a> {
    pub(super) fn new(
        definition: &'a RoutineDefinition,
        context: BindContext<'a>,
        offset: u32,
    ) -> Result<Routine<'a>> {
        let compiler = Compiler::new(&definition.body, context, &[], 0)?;
        let own = Arc::new(compiler.binder.current_definition(definition).into_owned());
        Ok(Routine {
            compiler,
            definition: own,
            body: &definition.body,
            is_atomic: definition.kind != RoutineKind::Procedure,
            offset,
            around: Vec::new(),
            blocks: 0,
            handlers: 0,
            cursors: Vec::new(),
            opened: Vec::new(),
            found: None,
            row_count: None,
            result: None,
            at: (1, "statement block"),
            trigger: None,
        })
    }

    /// A routine that is one statement and sees no names except its parameters. Its result is the number of
    /// rows returned or changed.
    pub(super) fn of_statement(
        definition: &RoutineDefinition,
        tables: &dyn Tables,
        fill: impl for<'r> FnOnce(&mut Routine<'r>, &'r RoutineDefinition) -> Result<()>,
    ) -> Result<Procedure> {
        let zone = jiff::tz::TimeZone::UTC;
        let path = definition.search_path(tables.temporary_schema());
        let context = BindContext::of_routine(tables, &zone, &path);
        let mut routine = Routine::new(definition, context, 0)?;
        routine.parameters()?;
        let count = routine.compiler.binder.new_register()?;
        (routine.found, routine.row_count) = (None, None);
        routine.names().scopes.iter_mut().for_each(|scope| scope.variables.clear());
        routine.compiler.code.push(Instruction::ResetCount);
        fill(&mut routine, definition)?;
        routine.compiler.code.push(Instruction::TakeCount { found: None, count: Some(count) });
        routine.finish(vec![count], When::Called)
    }

    /// The function that checks the values of a domain.
    fn of_domain(definition: &RoutineDefinition, context: BindContext<'_>) -> Result<Procedure> {
        let mut routine = Routine::new(definition, context, 0)?;
        let value = routine.compiler.binder.new_register()?;
        let domain = definition.body.parse().unwrap_or_default();
        routine.compiler.test_domain(domain, &Expr::Register(value))?;
        routine.finish(vec![value], When::Called)
    }

    /// Adds to an error of the body where in the routine it occurred.
    pub(super) fn explained(&self, error: Error, when: When) -> Error {
        let Error::Input(mut input) = error else { return error };
        let (line, kind) = self.at;
        let context = match when {
            _ if self.definition.language == IN_SQL => {
                format!("SQL function \"{}\"", self.definition.name.name)
            }
            When::Created(_) | When::Anonymous(_) => {
                format!("compilation of PL/pgSQL function \"{}\" near line {line}", self.definition.name.name)
            }
            When::Called => {
                // The position would refer to the body, which is not part of the client's statement.
                input.position = None;
                format!("PL/pgSQL function {} line {line} at {kind}", context_name(&self.definition, when))
            }
        };
        input.context.get_or_insert(context);
        Error::Input(input)
    }

    /// Gives the parameters their registers. Returns those of the results.
    fn parameters(&mut self) -> Result<Vec<Register>> {
        let definition = Arc::clone(&self.definition);
        let mut registers = vec![0; definition.parameters.len()];
        for wants_input in [true, false] {
            for (register, parameter) in registers.iter_mut().zip(&definition.parameters) {
                if parameter.mode.is_input() == wants_input {
                    *register = self.compiler.binder.new_register()?;
                }
            }
        }
        let mut names = Names::of_parameters(&definition, &registers);
        let mut table_registers = Vec::new();
        if let Returns::Table(columns) = &definition.returns {
            for (name, sql_type) in columns {
                let register = self.compiler.binder.new_register()?;
                table_registers.push(register);
                if definition.language != IN_SQL {
                    names.add(name, Variable::Scalar(Scalar::new(register, *sql_type)));
                }
            }
        }
        let found = self.compiler.binder.new_register()?;
        if definition.language != IN_SQL {
            let variable = Variable::Scalar(Scalar::new(found, SqlType::Boolean));
            names.scopes[0].variables.push(("found".to_owned(), variable));
        }
        self.compiler.binder.names = Some(names);
        self.compiler.binder.current = Some(Arc::clone(&definition));
        self.asked_for(found)?;
        self.results(&definition, &registers)
    }

    /// Keeps FOUND and the row count only if the body asks for them.
    pub(super) fn asked_for(&mut self, found: Register) -> Result<()> {
        if mentions(self.body, "found") {
            self.found = Some(found);
            self.compiler.code.evaluate(found, Expr::Const(Value::Boolean(false)));
        }
        if mentions(self.body, "row_count") {
            let count = self.compiler.binder.new_register()?;
            self.compiler.code.evaluate(count, Expr::Const(Value::BigInt(0)));
            self.row_count = Some(count);
        }
        Ok(())
    }

    /// The registers whose values the caller takes at the end.
    fn results(&mut self, definition: &RoutineDefinition, registers: &[Register]) -> Result<Vec<Register>> {
        let outputs = || {
            let outputs = registers.iter().zip(&definition.parameters);
            outputs.filter(|(_, parameter)| parameter.mode.is_output()).map(|(register, _)| *register)
        };
        Ok(match &definition.returns {
            Returns::Value(sql_type) if definition.kind == RoutineKind::Function => {
                let mut out = outputs();
                let register = match (out.next(), out.next()) {
                    (Some(only), None) => only,
                    _ => {
                        let register = self.compiler.binder.new_register()?;
                        self.result = Some((register, *sql_type));
                        register
                    }
                };
                vec![register]
            }
            Returns::Nothing if definition.kind == RoutineKind::Function => {
                let register = self.compiler.binder.new_register()?;
                self.compiler.code.evaluate(register, Expr::Const(Value::text("")));
                vec![register]
            }
            _ => outputs().collect(),
        })
    }

    /// What happens when control reaches the end of the body.
    pub(super) fn fall_off(&mut self) {
        let message = match &self.trigger {
            Some(_) => "control reached end of trigger procedure without RETURN",
            None if self.result.is_some() => "control reached end of function without RETURN",
            None => return,
        };
        self.compiler.code.line(0, "");
        self.compiler.code.push(report(sqlstate::FUNCTION_EXECUTED_NO_RETURN_STATEMENT, message, None));
    }

    pub(super) fn finish(mut self, results: Vec<Register>, when: When) -> Result<Procedure> {
        if !self.compiler.binder.session_calls.is_empty() {
            let what = "functions that ask about the session are";
            return Err(refused_in(Missing::SessionFunctions, what, "PL/pgSQL"));
        }
        let parameters = match &self.trigger {
            Some(trigger) => trigger.parameters.clone(),
            None if self.definition.kind == RoutineKind::Aggregate => vec![LIST],
            None => self.definition.inputs().map(|input| input.sql_type.without_modifier()).collect(),
        };
        let output = self.returned_types();
        let registers = self.compiler.binder.register_count();
        let views = std::mem::take(&mut self.compiler.binder.views);
        self.compiler.code.add_views(views);
        self.compiler.code.add_rights(self.compiler.binder.rights.take());
        let code = std::mem::take(&mut self.compiler.code);
        let name = context_name(&self.definition, when);
        let mut procedure = code.finish(&name, parameters, registers, output)?;
        procedure.results = results;
        procedure.is_trigger = self.trigger.is_some();
        procedure.variables = std::mem::take(&mut self.names().declared);
        let names = self.compiler.binder.open_names.take();
        procedure.open_names = names.into_iter().collect();
        procedure.replay = match (self.definition.kind, &self.definition.declared) {
            // A command does not say the types.
            (RoutineKind::Procedure, Some(_)) => Replayability::Unknown("it is polymorphic".into()),
            _ => super::replayable::judge(&procedure),
        };
        crate::emit::optimize::optimize(&mut procedure);
        Ok(procedure)
    }

    /// The columns of a set-returning function's rows.
    pub(super) fn returned_types(&self) -> Vec<SqlType> {
        match &self.definition.returns {
            Returns::SetOf(sql_type) => vec![*sql_type],
            Returns::Table(columns) | Returns::SetOfRow(columns) => {
                columns.iter().map(|(_, sql_type)| *sql_type).collect()
            }
            Returns::SetOfRecord => self
                .definition
                .parameters
                .iter()
                .filter(|parameter| parameter.mode.is_output())
                .map(|parameter| parameter.sql_type)
                .collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.definition.returns.is_set()
    }

    /// An error at a byte of the body.
    pub(super) fn fail<T>(&self, state: SqlState, message: impl Into<String>, start: usize) -> Result<T> {
        let position = self.offset + character_position(self.body, start);
        Err(Error::input(state, message).with_position(position))
    }

    /// The end of the statement that begins at this byte of the body.
    pub(super) fn statement_end(&self, start: usize) -> usize {
        start + self.body[start..].find(';').unwrap_or(0)
    }

    pub(super) fn unsupported<T>(&self, missing: Missing, what: &str, start: usize) -> Result<T> {
        let position = self.offset + character_position(self.body, start);
        Err(refused_in(missing, what, self.language()).with_position(position))
    }

    fn language(&self) -> &'static str {
        if self.definition.language == IN_SQL { "functions in SQL" } else { "PL/pgSQL" }
    }

    /// An error inside a fragment, with its position in the whole text.
    pub(super) fn placed(&self, error: Error, fragment: &Fragment) -> Error {
        shifted(error, self.offset + character_position(self.body, fragment.start) - 1)
    }

    /// Makes the binder work on a fragment.
    pub(super) fn begin(&mut self, fragment: &'a Fragment) -> Result<()> {
        self.begin_text(&fragment.text)
    }

    pub(super) fn begin_text(&mut self, text: &'a str) -> Result<()> {
        split::survey(text)?;
        let binder = &mut self.compiler.binder;
        binder.sql = text;
        binder.scope = Relations::default();
        binder.aggregates.clear();
        binder.column_places.clear();
        binder.aggregate_mode = AggregateMode::Forbidden("in this context");
        Ok(())
    }

    pub(super) fn bind(&mut self, fragment: &'a Fragment) -> Result<Bound> {
        self.bind_inner(fragment).map_err(|error| self.placed(error, fragment))
    }

    fn bind_inner(&mut self, fragment: &'a Fragment) -> Result<Bound> {
        self.begin(fragment)?;
        let parsed = query::parse_selected(&fragment.text)?;
        self.with_subqueries(&parsed)
    }

    /// Binds a parsed expression of the current text. PostgreSQL runs an expression with subqueries as a
    /// query that returns one row.
    pub(super) fn with_subqueries(&mut self, parsed: &ast::Expr) -> Result<Bound> {
        let before = self.compiler.binder.subqueries.len();
        let bound = self.compiler.binder.expression(parsed)?;
        if self.compiler.binder.subqueries.len() > before {
            self.compiler.code.push(Instruction::BeginStatement);
            self.compiler.prepare_subqueries()?;
            if let Some(count) = self.row_count {
                self.compiler.code.evaluate(count, Expr::Const(Value::BigInt(1)));
            }
        }
        Ok(bound)
    }

    /// The value of an expression, converted for a variable of this type.
    pub(super) fn value(&mut self, fragment: &'a Fragment, to: SqlType) -> Result<Expr> {
        let bound = self.bind(fragment)?;
        self.converted(bound, to).map_err(|error| self.placed(error, fragment))
    }

    pub(super) fn converted(&mut self, bound: Bound, to: SqlType) -> Result<Expr> {
        use crate::bind::coerce::Context;
        match bound.known_type() {
            Some(from) => self.compiler.assigned(bound.expr, from, to),
            None => {
                let expr = self.compiler.binder.try_coerce(bound, to, Context::Assignment)?;
                Ok(expr.unwrap_or(Expr::Const(Value::Null)))
            }
        }
    }

    pub(super) fn names(&mut self) -> &mut Names {
        self.compiler.binder.names.get_or_insert_default()
    }

    pub(super) fn block(&mut self, block: &'a Block) -> Result<()> {
        self.names().scopes.push(Scope { label: block.label.clone(), variables: Vec::new() });
        let cursors = self.cursors.len();
        for declaration in &block.declarations {
            self.declare(declaration)?;
        }
        let exit = self.compiler.code.label();
        self.around.push(Around {
            label: block.label.clone(),
            exit,
            again: None,
            blocks: self.blocks,
            handlers: self.handlers,
        });
        if block.has_handlers {
            self.guarded(block)?;
        } else {
            self.statements(&block.body)?;
        }
        self.around.pop();
        self.compiler.code.place(exit);
        self.cursors.truncate(cursors);
        self.names().scopes.pop();
        Ok(())
    }

    fn declare(&mut self, declaration: &'a Declaration) -> Result<()> {
        let is_known = self
            .names()
            .scopes
            .last()
            .is_some_and(|scope| scope.variables.iter().any(|(name, _)| *name == declaration.name));
        if is_known {
            let message = format!("duplicate declaration at or near \"{}\"", declaration.name);
            return self.fail(sqlstate::SYNTAX_ERROR, message, declaration.start);
        }
        self.compiler.code.line(declaration.line, "during statement block local variable initialization");
        if let DeclarationKind::Cursor(cursor) = &declaration.kind {
            return self.declare_cursor(&declaration.name, cursor);
        }
        let DeclarationKind::Variable { type_name, is_constant, is_not_null, default } = &declaration.kind
        else {
            let DeclarationKind::Alias(path) = &declaration.kind else { return Ok(()) };
            return self.alias(&declaration.name, path);
        };
        match self.declared_type(type_name)? {
            Declared::Record(row_type) => {
                let state = match row_type {
                    None => RecordState::Unassigned,
                    Some(row_type) => self.row_registers(row_type)?,
                };
                let record = self.names().new_record(state, row_type.is_some(), row_type);
                if let Some(default) = default {
                    self.assign_record(record, default)?;
                }
                self.names().add(&declaration.name, Variable::Record(record));
            }
            Declared::Scalar(types::Declared { sql_type, domain }, element) => {
                let value = match default {
                    Some(default) => self.value(default, sql_type)?,
                    None => Expr::Const(Value::Null),
                };
                let register = self.compiler.binder.new_register()?;
                self.compiler.code.evaluate(register, value);
                if let (Some(element), Some(_)) = (element, default) {
                    self.fit_elements(register, element)?;
                }
                let (is_constant, is_not_null) = (*is_constant, *is_not_null);
                let scalar = Scalar { register, sql_type, is_constant, is_not_null, domain, element };
                if !scalar.is_unrestricted() {
                    self.store(&scalar, Expr::Register(register), &declaration.name)?;
                }
                self.names().add(&declaration.name, Variable::Scalar(scalar));
            }
        }
        Ok(())
    }

    fn alias(&mut self, name: &str, path: &Path) -> Result<()> {
        let number = path.parts[0].strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
        let variable = match number {
            // The result of a polymorphic function.
            Some(0) => {
                let result = self.result.filter(|_| self.definition.declared.is_some());
                result.map(|(register, sql_type)| Variable::Scalar(Scalar::new(register, sql_type)))
            }
            Some(number) => {
                let parameter = self.names().parameters.get(number.wrapping_sub(1)).copied();
                parameter.map(|(register, sql_type)| Variable::Scalar(Scalar::new(register, sql_type)))
            }
            None => match self.names().find(&path.parts) {
                Some(Found::Scalar(scalar)) => Some(Variable::Scalar(scalar)),
                Some(Found::Record(record)) => Some(Variable::Record(record)),
                _ => None,
            },
        };
        match variable {
            Some(variable) => {
                self.names().add(name, variable);
                Ok(())
            }
            None => self.fail(
                sqlstate::UNDEFINED_OBJECT,
                format!("variable \"{}\" does not exist", path.parts.join(".")),
                path.start,
            ),
        }
    }

    pub(super) fn row_registers(&mut self, row_type: CompositeType) -> Result<RecordState> {
        let mut known = Vec::with_capacity(row_type.fields().len());
        for field in row_type.fields() {
            let register = self.compiler.binder.new_register()?;
            self.compiler.code.evaluate(register, Expr::Const(Value::Null));
            known.push((field.name.clone(), field.sql_type, register));
        }
        Ok(RecordState::Known(known))
    }

    fn declared_type(&mut self, fragment: &Fragment) -> Result<Declared> {
        let text = fragment.text.trim();
        let lower = text.to_ascii_lowercase();
        if lower == "record" {
            return Ok(Declared::Record(None));
        }
        let without = |suffix: &str| {
            let (name, after) = text.rsplit_once('%')?;
            after.trim().eq_ignore_ascii_case(suffix).then(|| name.trim().to_owned())
        };
        if let Some(name) = without("rowtype") {
            return match self.table_rows(&name) {
                Some(row_type) => Ok(Declared::Record(Some(row_type))),
                None => self.fail(
                    sqlstate::UNDEFINED_TABLE,
                    format!("relation \"{name}\" does not exist"),
                    fragment.start,
                ),
            };
        }
        if let Some(name) = without("type") {
            return self.copied_type(&name, fragment.start);
        }
        let binder = &self.compiler.binder;
        let resolve = |parsed| {
            let element = types::fitted_element(&parsed, binder)?;
            Ok(Declared::of(types::declared_variable(&parsed, binder)?, element))
        };
        match query::parse_type(text).and_then(resolve) {
            Ok(declared) => Ok(declared),
            Err(error) => match self.table_rows(text) {
                Some(row_type) => Ok(Declared::Record(Some(row_type))),
                None if error.sqlstate() == sqlstate::SYNTAX_ERROR => Err(self.placed(error, fragment)),
                None => self.fail(error.sqlstate(), error.to_string(), fragment.start),
            },
        }
    }

    /// `variable%TYPE`, `table.column%TYPE`.
    fn copied_type(&mut self, name: &str, start: usize) -> Result<Declared> {
        let parts: Vec<String> = name.split('.').map(|part| part.trim().to_ascii_lowercase()).collect();
        match self.names().find(&parts) {
            Some(Found::Scalar(Scalar { sql_type, domain, element, .. })) => {
                return Ok(Declared::of(types::Declared { sql_type, domain }, element));
            }
            Some(Found::Column(sql_type, _)) => return Ok(Declared::of(sql_type.into(), None)),
            Some(Found::Field(_, field)) => return Ok(Declared::of(field.sql_type.into(), None)),
            Some(Found::Record(record)) if let Some(row_type) = self.names().records[record].row_type => {
                return Ok(Declared::Record(Some(row_type)));
            }
            _ => {}
        }
        let [table @ .., column] = parts.as_slice() else { return self.no_type(name, start) };
        let Some(definition) = self.named_table(&table.join(".")).map(|table| table.definition()) else {
            return self.no_type(name, start);
        };
        match definition.visible_columns().iter().find(|known| known.name == *column) {
            Some(known) => {
                Ok(Declared::of(types::Declared { sql_type: known.sql_type, domain: known.domain }, None))
            }
            None => self.fail(
                sqlstate::UNDEFINED_COLUMN,
                format!("column \"{column}\" of relation \"{}\" does not exist", table.join(".")),
                start,
            ),
        }
    }

    fn no_type<T>(&self, name: &str, start: usize) -> Result<T> {
        let message = match name.rsplit_once('.') {
            Some((table, _)) => format!("relation \"{table}\" does not exist"),
            None => format!("variable \"{name}\" does not exist"),
        };
        let state = if name.contains('.') { sqlstate::UNDEFINED_TABLE } else { sqlstate::UNDEFINED_OBJECT };
        self.fail(state, message, start)
    }

    fn table_rows(&self, name: &str) -> Option<CompositeType> {
        let table = self.named_table(name)?;
        self.compiler.binder.note_rows_of(&table);
        Some(table.definition().row_type(table.id()))
    }

    fn named_table(&self, name: &str) -> Option<Arc<Table>> {
        let folded = name.to_ascii_lowercase();
        let (schema, name) = match folded.split_once('.') {
            Some((schema, name)) => (Some(schema.trim()), name),
            None => (None, folded.as_str()),
        };
        let binder = &self.compiler.binder;
        let name = binder.meant(schema, name.trim(), Place::Unknown);
        binder.context.tables.table(&name)
    }

    pub(super) fn returned(&mut self, value: Option<&'a Fragment>, start: usize) -> Result<()> {
        if let (Some(_), Some(value)) = (&self.trigger, value) {
            return self.returned_row(value);
        }
        match (self.result, value) {
            (Some((register, sql_type)), Some(value)) => {
                let bound = self.bind(value)?;
                match bound.known_type() {
                    Some(from)
                        if !from.is_same_base(sql_type)
                            && !matches!(bound.expr, Expr::Const(_))
                            && !matches!(sql_type, SqlType::Composite(_)) =>
                    {
                        let own = self.compiler.binder.new_register()?;
                        self.compiler.code.evaluate(own, bound.expr);
                        self.compiler.code.line(0, "while casting return value to function's return type");
                        let value = self.compiler.assigned(Expr::Register(own), from, sql_type)?;
                        self.compiler.code.evaluate(register, value);
                    }
                    _ => {
                        let value =
                            self.converted(bound, sql_type).map_err(|error| self.placed(error, value))?;
                        self.compiler.code.evaluate(register, value);
                    }
                }
            }
            (_, None) if self.result.is_some() || self.trigger.is_some() => {
                let start = self.statement_end(start);
                return self.fail(sqlstate::SYNTAX_ERROR, "missing expression at or near \";\"", start);
            }
            (_, None) => {}
            (None, Some(value)) => {
                let has_outputs = self.definition.parameters.iter().any(|p| p.mode.is_output());
                let place = match self.definition.kind {
                    RoutineKind::Procedure | RoutineKind::Aggregate => "a procedure",
                    RoutineKind::Function if self.is_set() => "a function returning set",
                    RoutineKind::Function if has_outputs => "a function with OUT parameters",
                    RoutineKind::Function => "a function returning void",
                };
                let message = format!("RETURN cannot have a parameter in {}", place.trim_start_matches("a "));
                let message = message.replace("in procedure", "in a procedure");
                let state = match self.definition.kind {
                    RoutineKind::Procedure | RoutineKind::Aggregate => sqlstate::SYNTAX_ERROR,
                    RoutineKind::Function => sqlstate::DATATYPE_MISMATCH,
                };
                return self.fail(state, message, value.start);
            }
        }
        self.compiler.code.push(Instruction::Return);
        Ok(())
    }

    pub(super) fn statements(&mut self, statements: &'a [Statement]) -> Result<()> {
        statements
            .iter()
            .try_for_each(|statement| stacker::maybe_grow(256 << 10, 2 << 20, || self.statement(statement)))
    }
}

/// The type of a declaration.
enum Declared {
    /// The type, and the type of its elements if that has a length or a precision.
    Scalar(types::Declared, Option<SqlType>),
    /// Of a composite type; `None`: RECORD.
    Record(Option<CompositeType>),
}

impl Declared {
    fn of(declared: types::Declared, element: Option<SqlType>) -> Declared {
        match declared {
            types::Declared { sql_type: SqlType::Composite(row_type), domain: None } => {
                Declared::Record(Some(row_type))
            }
            declared => Declared::Scalar(declared, element),
        }
    }
}
