//! CHECK constraints: how CREATE and ALTER TABLE define them, and the tests that changes of rows carry.
//!
//! Where a table has such constraints, a row that is inserted or changed is first built in a row slot,
//! checked there, and then written as it is:
//!
//! ```text
//! row := (values)                  NOT NULL and lengths are checked, and generated columns computed
//! unless not (condition) go to ok  once for each constraint, in the order of their names
//! fail with row: constraint
//! ok: insert row
//! ```
//!
//! That is PostgreSQL's order: NOT NULL, then CHECK, then unique constraints, then foreign keys.
//!
//! Reference: ExecConstraints of PostgreSQL's execMain.c, AddRelationNewConstraints of heap.c.

use std::ops::ControlFlow;
use std::sync::Arc;

use hyades_engine::procedure::ir::{Expr, Given, Instruction, Intent, RowSlot, Strength, TableIndex};
use hyades_engine::storage::table::Table;
use hyades_types::definition::{CheckConstraint, ColumnDefinition, TableDefinition, TableId};
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{self, ColumnOption, TableConstraint, visit_expressions, visit_expressions_mut};

use super::level::{Level, Step};
use super::{Compiler, access, unsupported};
use crate::answer::Response;
use crate::bind::aggregation::AggregateMode;
use crate::bind::coerce::Context;
use crate::bind::scope::{Relation, Scope};
use crate::bind::tree::Source;
use crate::bind::{BindContext, Binder, Bound, Place};
use crate::expr::{self, NamedConditions};
use crate::plan::{Action, Plan, Tag, WantedCheck};
use crate::statement::deep_text::Written;
use crate::statement::names::{cut_name, fold, quoted};
use crate::statement::query::{end_of, parse_expression};

/// A column of an altered table whose values are computed.
#[derive(Clone, Debug)]
pub(crate) enum Filling {
    /// By its default.
    Default(u16),
    /// By the expression that generates it.
    Generated(u16),
    /// From another column, or by USING.
    Converted { into: u16, from: u16, expr: Option<Written> },
}

/// Functions that return several rows.
const SET_RETURNING: [&str; 6] = [
    "generate_series",
    "unnest",
    "generate_subscripts",
    "regexp_matches",
    "regexp_split_to_table",
    "string_to_table",
];

impl Binder<'_> {
    /// Refuses what is not allowed in an expression over the row of a table. `what` completes the message.
    pub(crate) fn refuse_queries(&self, expr: &ast::Expr, what: &str) -> Result<()> {
        let found = visit_expressions(expr, |part| {
            let place = match part {
                ast::Expr::Subquery(query) => Place::before(crate::bind::start_of_query(query)),
                ast::Expr::Exists { .. } => Place::Unknown,
                ast::Expr::InSubquery { expr, .. } => Place::OperatorAfter(end_of(expr)),
                ast::Expr::Function(call) if matches!(call.args, ast::FunctionArguments::Subquery(_)) => {
                    Place::of_expr(part)
                }
                ast::Expr::Function(call) => {
                    let name = call.name.0.last().and_then(|part| part.as_ident()).map(fold);
                    let is_set = name.is_some_and(|name| SET_RETURNING.contains(&name.as_str()));
                    let kind = if call.over.is_some() {
                        Some(("window functions are not allowed", sqlstate::WINDOWING_ERROR))
                    } else if is_set {
                        let message = "set-returning functions are not allowed";
                        Some((message, sqlstate::FEATURE_NOT_SUPPORTED))
                    } else {
                        None
                    };
                    return match kind {
                        Some((message, state)) => {
                            let error = Error::input(state, format!("{message} in {what}s"));
                            ControlFlow::Break(self.place(error, Place::of_expr(part)))
                        }
                        None => ControlFlow::Continue(()),
                    };
                }
                _ => return ControlFlow::Continue(()),
            };
            let message = format!("cannot use subquery in {what}");
            let error = Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message);
            ControlFlow::Break(self.place(error, place))
        });
        match found {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// Binds something over the row of a table in this slot, with nothing else visible.
    pub(crate) fn over_row<T>(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let scope = std::mem::replace(&mut self.scope, Scope::of(Relation::table(table, None, row)));
        let names = self.names.take();
        let mode = self.aggregate_mode;
        let places = self.column_places.len();
        let bound = bind(self);
        self.column_places.truncate(places);
        self.aggregate_mode = mode;
        self.names = names;
        self.scope = scope;
        bound
    }

    /// A condition on a row.
    pub(crate) fn check_condition(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        expr: &ast::Expr,
    ) -> Result<Expr> {
        self.refuse_queries(expr, "check constraint")?;
        self.over_row(table, row, |binder| {
            binder.aggregate_mode = AggregateMode::Forbidden("in check constraints");
            binder.condition_of(expr, "CHECK")
        })
    }

    /// The values of a column converted to another type.
    pub(crate) fn conversion(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        from: u16,
        (to, using): (SqlType, Option<&ast::Expr>),
    ) -> Result<Expr> {
        let column = table.definition().columns[usize::from(from)].clone();
        let (name, wanted) = (&column.name, to.name());
        let Some(using) = using else {
            let value = Expr::Column { row, column: from };
            let bound = Bound::typed(value, column.sql_type, Place::Unknown);
            return self.try_coerce(bound, to, Context::Assignment)?.ok_or_else(|| {
                let message = format!("column \"{name}\" cannot be cast automatically to type {wanted}");
                let hint = format!("You might need to specify \"USING {}::{wanted}\".", quoted(name));
                Error::input(sqlstate::DATATYPE_MISMATCH, message).with_hint(hint)
            });
        };
        self.refuse_queries(using, "transform expression")?;
        self.over_row(table, row, |binder| {
            binder.aggregate_mode = AggregateMode::Forbidden("in transform expressions");
            let bound = binder.expression(using)?;
            binder.try_coerce(bound, to, Context::Assignment)?.ok_or_else(|| {
                let message = format!(
                    "result of USING clause for column \"{name}\" cannot be cast automatically to type {wanted}"
                );
                Error::input(sqlstate::DATATYPE_MISMATCH, message)
                    .with_hint("You might need to add an explicit cast.")
            })
        })
    }

    /// An expression over a row, in the form in which the catalog keeps it to be shown.
    pub(super) fn kept_expression(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        written: &ast::Expr,
    ) -> Result<String> {
        let written = unqualified(written);
        let shown = self.over_row(table, row, |binder| Ok(binder.shown_expression(&written)))?;
        Ok(self.kept_text(&shown))
    }

    /// A constraint on a table. Its name is generated if none was given.
    pub(crate) fn check_constraint(
        &mut self,
        table: &Arc<Table>,
        known: &TableDefinition,
        wanted: &WantedCheck,
    ) -> Result<CheckConstraint> {
        let row = self.new_row()?;
        let (condition, meanings) = self.noting(|binder| binder.check_condition(table, row, &wanted.expr));
        let condition = condition?;
        self.refuse_clock_literals(&condition, Place::of_expr(&wanted.expr))?;
        let columns = columns_of(&condition, row);
        let name = wanted.name.clone().unwrap_or_else(|| made_up_name(known, &columns));
        Ok(CheckConstraint {
            name,
            expression: self.kept(&unqualified(&wanted.expr), &meanings),
            shown: self.kept_expression(table, row, &wanted.expr)?,
            columns,
            is_not_valid: wanted.is_not_valid,
        })
    }
}

/// The expression with unqualified names of columns: the table may be renamed.
pub(super) fn unqualified(expr: &ast::Expr) -> ast::Expr {
    let mut expr = expr.clone();
    let _: ControlFlow<()> = visit_expressions_mut(&mut expr, |part| {
        if let ast::Expr::CompoundIdentifier(idents) = part
            && let Some(column) = idents.pop()
        {
            *part = ast::Expr::Identifier(column);
        }
        ControlFlow::Continue(())
    });
    expr
}

/// The columns that an expression over a row reads, each once.
pub(crate) fn columns_of(whole: &Expr, row: RowSlot) -> Vec<u16> {
    let columns = std::cell::RefCell::new(Vec::new());
    expr::any(whole, &|part| {
        if let Expr::Column { row: own, column } = part
            && *own == row
            && !columns.borrow().contains(column)
        {
            columns.borrow_mut().push(*column);
        }
        false
    });
    columns.into_inner()
}

/// `table_column_check` for a constraint on one column, else `table_check`, followed by a number if that name
/// is taken.
fn made_up_name(definition: &TableDefinition, columns: &[u16]) -> String {
    let labels = std::iter::once("check".to_owned()).chain((1u32..).map(|number| format!("check{number}")));
    let table = &definition.name.name;
    let column = match columns {
        [column] => definition.columns[usize::from(*column)].name.as_str(),
        _ => "",
    };
    let name = |label: String| cut_name(table, column, &label);
    labels.map(name).find(|name| !definition.has_constraint(name)).unwrap_or_default()
}

/// A CHECK clause. `name` is that of a column's constraint.
pub(crate) fn wanted_check(
    check: &ast::CheckConstraint,
    name: Option<&ast::Ident>,
    is_not_valid: bool,
) -> Result<WantedCheck> {
    if check.enforced.is_some() {
        return unsupported("[NOT] ENFORCED is not supported");
    }
    let name = name.or(check.name.as_ref()).map(fold);
    Ok(WantedCheck { name, expr: Written::new((*check.expr).clone()), is_not_valid })
}

impl Compiler<'_> {
    /// The constraints of a new table: those of its columns, then its own.
    pub(super) fn created_checks(
        &mut self,
        create: &ast::CreateTable,
        definition: &mut TableDefinition,
    ) -> Result<()> {
        let mut wanted = Vec::new();
        for column in &create.columns {
            for option in &column.options {
                if let ColumnOption::Check(check) = &option.option {
                    wanted.push(wanted_check(check, option.name.as_ref(), false)?);
                }
            }
        }
        for constraint in &create.constraints {
            if let TableConstraint::Check(check) = constraint {
                wanted.push(wanted_check(check, None, false)?);
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let table = row_type(definition);
        for wanted in &wanted {
            let check = self.binder.check_constraint(&table, definition, wanted)?;
            if definition.check(&check.name).is_some() {
                let message = format!("check constraint \"{}\" already exists", check.name);
                return Err(Error::input(sqlstate::DUPLICATE_OBJECT, message));
            }
            definition.checks.push(check);
        }
        Ok(())
    }

    /// An instruction that writes a row, with the tests of the row before it.
    pub(super) fn checked(&mut self, instruction: Instruction) -> Result<Instruction> {
        let (table, row) = match &instruction {
            Instruction::Insert { table, row, .. }
            | Instruction::InsertOr { table, row, .. }
            | Instruction::Update { table, row, .. } => (*table, *row),
            _ => return Ok(instruction),
        };
        let definition = self.code.definition(table);
        let all = 0..u16::try_from(definition.columns.len()).unwrap_or(u16::MAX);
        let generated = match &instruction {
            Instruction::Update { set, .. } => {
                let changed: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
                definition.generated_from(&changed)
            }
            _ => definition.generated_from(&all.clone().collect::<Vec<u16>>()),
        };
        if definition.checks.is_empty() && generated.is_empty() {
            return Ok(instruction);
        }
        let as_it_stands = |row: RowSlot| all.clone().map(move |column| Expr::Column { row, column });
        match instruction {
            Instruction::Insert { values, given, .. } => {
                self.make_row(table, (values, &given), row, &generated)?;
                Ok(Instruction::Insert { table, values: as_it_stands(row).collect(), row, given })
            }
            Instruction::InsertOr { values, arbiter, duplicate, given, .. } => {
                self.make_row(table, (values, &given), row, &generated)?;
                let values = as_it_stands(row).collect();
                Ok(Instruction::InsertOr { table, values, row, arbiter, duplicate, given })
            }
            Instruction::Update { set, .. } => {
                let made = self.code.new_row()?;
                let mut values: Vec<Expr> = as_it_stands(row).collect();
                let mut changed: Vec<u16> = set.iter().map(|(column, _)| *column).collect();
                let given = Given::from(changed.as_slice());
                for (column, value) in set {
                    values[usize::from(column)] = value;
                }
                changed.extend(&generated);
                changed.sort_unstable();
                changed.dedup();
                self.make_row(table, (values, &given), made, &generated)?;
                let set = changed.into_iter().map(|column| (column, Expr::Column { row: made, column }));
                Ok(Instruction::Update { table, row, set: set.collect() })
            }
            other => Ok(other),
        }
    }

    /// Builds a row, computes these columns of it, and fails unless it satisfies the constraints.
    fn make_row(
        &mut self,
        table: TableIndex,
        (mut values, given): (Vec<Expr>, &Given),
        row: RowSlot,
        generated: &[u16],
    ) -> Result<()> {
        if !generated.is_empty() {
            let draft = self.draft_of(table, row)?;
            for column in generated {
                values[usize::from(*column)] = Expr::Const(Value::Null);
            }
            let columns = 0..u16::try_from(values.len()).unwrap_or(u16::MAX);
            let given = Given::default();
            self.code.push(Instruction::MakeRow { table, values, row: draft.row, is_partial: true, given });
            values = columns.map(|column| Expr::Column { row: draft.row, column }).collect();
            for (column, value) in draft.computed.iter().filter(|(column, _)| generated.contains(column)) {
                values[usize::from(*column)] = value.clone();
            }
        }
        let given = Given::clone(given);
        self.code.push(Instruction::MakeRow { table, values, row, is_partial: false, given: given.clone() });
        self.test_row(table, row, Some(given), None)
    }

    /// Fails unless the row in a slot satisfies the constraints, or the one of this name. `given`: what the
    /// statement gives of a new row. `None`: the row is in the table already.
    fn test_row(
        &mut self,
        table: TableIndex,
        row: RowSlot,
        given: Option<Given>,
        only: Option<&str>,
    ) -> Result<()> {
        for (constraint, condition) in self.bound_checks(table, row)?.iter() {
            if only.is_some_and(|only| only != constraint) {
                continue;
            }
            let fulfilled = self.code.label();
            // An unknown result is not a violation.
            self.code.jump_unless(Expr::Not(Box::new(condition.clone())), fulfilled);
            let constraint = constraint.clone();
            let (is_stored, given) = (given.is_none(), given.clone().unwrap_or_default());
            self.code.push(Instruction::RefuseRow { table, row, constraint, is_stored, given });
            self.code.place(fulfilled);
        }
        Ok(())
    }

    fn bound_checks(&mut self, table: TableIndex, row: RowSlot) -> Result<NamedConditions> {
        if let Some((_, known)) = self.checks.iter().find(|(of, _)| *of == (table, row)) {
            return Ok(Arc::clone(known));
        }
        let (definition, named) = (self.code.definition(table), self.code.table_of(table));
        let mut bound = Vec::with_capacity(definition.checks.len());
        for check in &definition.checks {
            let parsed = parse_expression(&check.expression)?;
            let condition = self.binder.of_kept(|binder| binder.check_condition(&named, row, &parsed));
            let condition = condition.map_err(Error::without_position)?;
            bound.push((check.name.clone(), condition));
        }
        bound.sort_by(|(one, _), (other, _)| one.cmp(other));
        let bound: NamedConditions = bound.into();
        self.checks.push(((table, row), Arc::clone(&bound)));
        Ok(bound)
    }

    /// The new values of a column that the old rows do not hold as they are.
    fn filled(&mut self, table: &Arc<Table>, row: RowSlot, filling: &Filling) -> Result<(u16, Expr)> {
        match filling {
            Filling::Default(column) => {
                let defaults = self.binder.defaults(table)?;
                Ok((*column, defaults[usize::from(*column)].clone()))
            }
            Filling::Generated(column) => {
                let (definition, at) = (table.definition(), usize::from(*column));
                let generation = definition.columns[at].generation.as_ref();
                let expression = generation.map_or("NULL", |generation| generation.expression.as_str());
                let written = parse_expression(expression)?;
                let computed =
                    |binder: &mut Binder<'_>| binder.computed(table, row, &definition.columns[at], &written);
                Ok((*column, self.binder.of_kept(computed)?))
            }
            Filling::Converted { into, from, expr } => {
                let to = table.definition().columns[usize::from(*into)].sql_type;
                let value = self.binder.conversion(table, row, *from, (to, expr.as_deref()))?;
                Ok((*into, value))
            }
        }
    }

    /// A procedure that computes a column of all rows.
    fn filling(&mut self, table: &Arc<Table>, filling: &Filling) -> Result<Plan> {
        let row = self.code.new_row()?;
        let index = self.code.table(table)?;
        let set = vec![self.filled(table, row, filling)?];
        self.over_all_rows(table, row, Strength::Write, |compiler| {
            // No constraint needs to hold for half-finished rows.
            compiler.code.push(Instruction::Update { table: index, row, set: set.clone() });
            Ok(())
        })
    }

    /// A procedure that does something to every row of a locked table.
    fn over_all_rows(
        &mut self,
        table: &Arc<Table>,
        row: RowSlot,
        strength: Strength,
        mut each: impl FnMut(&mut Compiler<'_>) -> Result<()>,
    ) -> Result<Plan> {
        let level = Level {
            source: Source::newest(table, row),
            choice: access::choose(table, (row, None), &[], &|_| true),
            intent: Intent::newest(strength),
            is_kept: true,
            label: String::new(),
        };
        let end = self.code.label();
        self.loops(&[Step::Loop(Box::new(level))], end, &mut |compiler, _| each(compiler))?;
        self.code.place(end);
        let procedure = self.finish_code("alter table", Vec::new())?;
        Ok(Plan {
            parameters: Vec::new(),
            response: Response::NoData,
            action: Action::Run(Box::new(self.direct_run(procedure, Tag::Select, None))),
            command: "ALTER TABLE",
            is_read_only: false,
        })
    }

    /// A procedure that fails if a row of the table does not satisfy the constraint of this name.
    fn validation(&mut self, table: &Arc<Table>, constraint: &str) -> Result<Plan> {
        let row = self.code.new_row()?;
        let index = self.code.table(table)?;
        self.over_all_rows(table, row, Strength::Read, |compiler| {
            compiler.test_row(index, row, None, Some(constraint))
        })
    }
}

/// Compiles the check of whether the rows of a table satisfy a constraint.
pub(crate) fn compile_validation(
    context: BindContext<'_>,
    table: &Arc<Table>,
    constraint: &str,
) -> Result<Plan> {
    Compiler::new("", context, &[], 0)?.validation(table, constraint)
}

/// Compiles the procedure that fills a column of an altered table.
pub(crate) fn compile_filling(
    context: BindContext<'_>,
    table: &Arc<Table>,
    filling: &Filling,
) -> Result<Plan> {
    Compiler::new("", context, &[], 0)?.filling(table, filling).map_err(Error::without_position)
}

/// The text of a DEFAULT for an existing column. `None` for NULL.
pub(crate) fn compile_default(
    context: BindContext<'_>,
    column: &ColumnDefinition,
    expr: &ast::Expr,
) -> Result<Option<String>> {
    let mut compiler = Compiler::new("", context, &[], 0)?;
    compiler.default_text(expr, column.sql_type, &column.name).map_err(Error::without_position)
}

/// A table that is not in the catalog, so that the columns of a definition can be named.
pub(crate) fn row_type(definition: &TableDefinition) -> Arc<Table> {
    Arc::new(Table::new(TableId(0), definition.clone()))
}
