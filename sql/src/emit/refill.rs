//! The procedures that compute the rows of a materialized view.
//!
//! Both bind the kept query as that of a view: its tables need the rights of the owner, and only such a
//! procedure may change the rows.
//!
//! Beside readers, only rows that differ are written. One statement does it: it keeps the new rows, leaves
//! those alone that are there with the same key and the same values, deletes the other old rows, and inserts
//! the other new ones. Values are the same if their texts are, so that 1.0 takes the place of 1.00. A row
//! with NULL in its key always counts as another.
//!
//! Reference: PostgreSQL's refresh_by_match_merge.

use std::sync::Arc;

use hyades_engine::procedure::ir::{
    Direction, ErrorField, Expr, Instruction, Report, ScanBound, ScanRange, Sight,
};
use hyades_engine::storage::table::Table;
use hyades_types::definition::TableDefinition;
use hyades_types::environment::Severity;
use hyades_types::error::{Error, Result, sqlstate};
use hyades_types::value::{SqlType, Value};
use sqlparser::ast;

use super::Compiler;
use super::run_plan::RunPlan;
use crate::bind::tree::Source;
use crate::plan::level::{Step, for_each_level};
use crate::statement::kept_names::full_name;
use crate::statement::names::quoted;
use crate::statement::{Statement, query};

/// The part of the statement that finds rows that are there twice.
const TWICE: &str = "twice";

/// Whether equal values of the type are always written in the same way.
fn is_plain(sql_type: SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Boolean
            | SqlType::SmallInt
            | SqlType::Integer
            | SqlType::BigInt
            | SqlType::Text
            | SqlType::Date
            | SqlType::Timestamp(_)
            | SqlType::TimestampTz(_)
            | SqlType::Uuid
    )
}

fn parsed(text: &str) -> Result<ast::Query> {
    match query::parse(text)? {
        Statement::Query(statement) => match *statement {
            ast::Statement::Query(query) => Ok(*query),
            _ => Err(no_query()),
        },
        _ => Err(no_query()),
    }
}

fn no_query() -> Error {
    Error::input(sqlstate::INTERNAL_ERROR, "a materialized view has no query")
}

impl Compiler<'_> {
    /// Fills an empty materialized view.
    pub(crate) fn refill(&mut self, view: &Arc<Table>, query: &ast::Query) -> Result<RunPlan> {
        self.binder.expanding.push(view.id());
        self.fill(query, view)
    }

    /// The columns of the unique indexes that tell all rows apart.
    pub(crate) fn keys_of_rows(definition: &TableDefinition) -> Vec<u16> {
        let width = definition.visible_columns().len();
        let is_column = |key: &u16| usize::from(*key) < width;
        let mut keys = Vec::new();
        for index in &definition.indexes {
            let mut columns = index.key_columns();
            if index.is_always_unique() && index.predicate.is_none() && columns.all(|key| is_column(&key)) {
                keys.extend(index.key_columns());
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Makes the rows of a materialized view those of its query.
    pub(crate) fn refill_beside_readers(&mut self, view: &Arc<Table>) -> Result<RunPlan> {
        self.binder.expanding.push(view.id());
        let definition = view.definition();
        let query = parsed(&statement_of(&definition))?;
        let with = query.with.clone().ok_or_else(no_query)?;
        let mut changed = Vec::new();
        for part in &with.cte_tables {
            self.common_part(part, 0, &mut changed)?;
            if part.alias.name.value == TWICE {
                self.refuse_twice(&definition)?;
            }
        }
        let inserted = self.changing_body(&ast::Query { with: None, ..query })?;
        Ok(inserted.run)
    }

    /// Fails with 55000 where a materialized view is read that has no rows yet. It is opened first: a refresh
    /// in progress is waited for, and once it has rows, this code is out of date.
    pub(super) fn refuse_unpopulated(&mut self, steps: &[Step]) -> Result<()> {
        let mut unpopulated = None;
        for_each_level(steps, &mut |level| {
            // What fills the columns of a new index reads the newest rows, of which there are none.
            if let Source::Table { table, .. } = &level.source
                && level.intent.sight != Sight::Newest
                && table.definition().is_unpopulated()
            {
                unpopulated = unpopulated.take().or_else(|| Some((Arc::clone(table), level.intent)));
            }
        });
        let Some((view, intent)) = unpopulated else { return Ok(()) };
        let (cursor, table) = (self.code.new_cursor()?, self.code.table(&view)?);
        let range = ScanRange { index: None, lower: ScanBound::Unbounded, upper: ScanBound::Unbounded };
        self.code.push(Instruction::OpenScan { cursor, table, range, direction: Direction::Forward, intent });
        let text = |text: String| Expr::Const(Value::text(text));
        let hint = text("Use the REFRESH MATERIALIZED VIEW command.".to_owned());
        let name = view.definition().name.name.clone();
        self.code.push(Instruction::Report(Box::new(Report {
            severity: Severity::Exception,
            state: text("55000".to_owned()),
            message: text(format!("materialized view \"{name}\" has not been populated")),
            fields: vec![(ErrorField::Hint, hint)],
        })));
        Ok(())
    }

    /// Fails with 21000 if rows without NULL are the same.
    fn refuse_twice(&mut self, definition: &TableDefinition) -> Result<()> {
        let scope = std::mem::take(&mut self.binder.scope);
        let bound = self.bind_query(&parsed(&format!("SELECT 'Row: ' || {TWICE}.shown FROM {TWICE}"))?)?;
        let message = format!(
            "new data for materialized view \"{}\" contains duplicate rows without any null columns",
            definition.name.name
        );
        let detail = bound.outputs.first().map_or(Expr::Const(Value::Null), |output| output.expr.clone());
        let report = Report {
            severity: Severity::Exception,
            state: Expr::Const(Value::text("21000")),
            message: Expr::Const(Value::text(message)),
            fields: vec![(ErrorField::Detail, detail)],
        };
        let end = self.code.label();
        self.check(&bound.constant, end);
        self.loops(&bound.steps, end, &mut |compiler, _| {
            compiler.code.push(Instruction::Report(Box::new(report.clone())));
            Ok(())
        })?;
        self.code.place(end);
        self.binder.scope = scope;
        Ok(())
    }
}

/// The statement that makes the rows of a materialized view those of its query.
fn statement_of(definition: &TableDefinition) -> String {
    let columns = definition.visible_columns();
    let name = full_name(&definition.name);
    let new: Vec<String> = (0..columns.len()).map(|at| format!("c{at}")).collect();
    let old: Vec<String> = columns.iter().map(|column| format!("kept.{}", quoted(&column.name))).collect();
    let shown = |value: &str, at: usize| match is_plain(columns[at].sql_type) {
        true => value.to_owned(),
        false => format!("({value})::text"),
    };
    let from_new: Vec<String> = new.iter().map(|value| format!("fresh.{value}")).collect();
    let keys = Compiler::keys_of_rows(definition);
    let mut same: Vec<String> = keys
        .iter()
        .map(|key| format!("{} = {}", from_new[usize::from(*key)], old[usize::from(*key)]))
        .collect();
    for at in 0..columns.len() {
        let (new, old) = (shown(&from_new[at], at), shown(&old[at], at));
        same.push(format!("{new} IS NOT DISTINCT FROM {old}"));
    }
    let same = same.join(" AND ");
    let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
    let complete: Vec<String> = from_new.iter().map(|value| format!("{value} IS NOT NULL")).collect();
    let groups: Vec<String> = from_new.iter().enumerate().map(|(at, value)| shown(value, at)).collect();
    let (new, from_new, names) = (new.join(", "), from_new.join(", "), names.join(", "));
    let (complete, groups) = (complete.join(" AND "), groups.join(", "));
    let query = definition.source().map_or("", |own| own.query.as_str());
    format!(
        "WITH fresh ({new}) AS MATERIALIZED ({query}), \
         {TWICE} AS MATERIALIZED (SELECT min(ROW({from_new})::text) AS shown FROM fresh \
         WHERE {complete} GROUP BY {groups} HAVING count(*) > 1 LIMIT 1), \
         added AS MATERIALIZED (SELECT {from_new} FROM fresh \
         WHERE NOT EXISTS (SELECT 1 FROM {name} AS kept WHERE {same})), \
         gone AS (DELETE FROM {name} AS kept WHERE NOT EXISTS (SELECT 1 FROM fresh WHERE {same})) \
         INSERT INTO {name} ({names}) SELECT {new} FROM added"
    )
}
