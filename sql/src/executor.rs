//! The executor behind procedures: grouping, DISTINCT, sorting, LIMIT.
//!
//! Rows are pushed in as the procedure emits them ([`StageState::feed`]) and come out all at once ([`StageState::finish`]): answers are
//! buffered completely before locks are released anyway. The state outlives waits of the procedure. Everything is held in memory.
//! Nothing here evaluates while the procedure runs; aggregates get ready values.

pub(crate) mod aggregate;

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use hyades_engine::error::{Error, Result, SqlState, sqlstate};
use hyades_engine::procedure::frame::Environment;
use hyades_engine::procedure::ir::{Expr, Stage, StageRun};
use hyades_engine::value::{Value, compare, key};

use crate::evaluation;
use crate::plan::{AggregateStage, Distinct, SortKey, Stages};
use aggregate::Groups;

/// One row between stages.
pub(crate) type Row = Vec<Value>;

/// The rows on their way. See the module head.
#[derive(Debug)]
pub(crate) struct StageState {
    /// What expressions see: parameters and results of session calls, then the row's values from `Stages::base` on.
    registers: Vec<Value>,
    groups: Option<Groups>,
    rows: Vec<Row>,
    seen: HashSet<Vec<u8>>,
}

impl Stage for Stages {
    fn start(&self, registers: &[Value]) -> Box<dyn StageRun> {
        Box::new(Staged { stages: Arc::new(self.clone()), state: StageState::new(self, registers) })
    }

    fn expressions(&self) -> Vec<&Expr> {
        // Whatever a stage is given to evaluate must be named here: a field that is new does not compile without its place.
        let Stages { base: _, aggregate, having, project, distinct, sort, limit, offset, width: _ } = self;
        // These work on values that the procedure has computed.
        let (_, _, _): (&Option<AggregateStage>, &Distinct, &Vec<SortKey>) = (aggregate, distinct, sort);
        having.iter().chain(project.iter().flatten()).chain(offset).chain(limit).collect()
    }
}

/// A stage inside a routine.
struct Staged {
    stages: Arc<Stages>,
    state: StageState,
}

impl StageRun for Staged {
    fn feed(&mut self, values: &mut [Value]) -> Result<()> {
        self.state.feed(&self.stages, values)
    }

    fn finish(&mut self, environment: &Environment) -> Result<Vec<Row>> {
        self.state.finish(&self.stages, environment)
    }
}

/// Values as bytes that are equal when SQL calls them not distinct.
pub(crate) fn grouping_bytes(values: &[Value], out: &mut Vec<u8>) {
    for value in values {
        match value.sql_type() {
            None => out.push(0),
            Some(sql_type) => {
                out.push(1);
                key::encode(value, sql_type, out);
            }
        }
    }
}

impl StageState {
    /// `registers` are those of the procedure's frame when it starts.
    pub(crate) fn new(stages: &Stages, registers: &[Value]) -> StageState {
        let mut own = registers.to_vec();
        own.resize(usize::from(stages.base), Value::Null);
        StageState {
            registers: own,
            groups: stages.aggregate.as_ref().map(|_| Groups::default()),
            rows: Vec::new(),
            seen: HashSet::new(),
        }
    }

    /// Takes a row that the procedure emitted.
    pub(crate) fn feed(&mut self, stages: &Stages, values: &mut [Value]) -> Result<()> {
        if let (Some(groups), Some(aggregate)) = (&mut self.groups, &stages.aggregate) {
            return groups.add(aggregate, values);
        }
        if let Distinct::Rows(width) = stages.distinct
            && !self.is_new(&values[..width])
        {
            return Ok(());
        }
        self.rows.push(values.iter_mut().map(std::mem::take).collect());
        Ok(())
    }

    fn is_new(&mut self, values: &[Value]) -> bool {
        let mut bytes = Vec::new();
        grouping_bytes(values, &mut bytes);
        self.seen.insert(bytes)
    }

    /// The rows of the answer. The state is empty afterwards.
    pub(crate) fn finish(&mut self, stages: &Stages, environment: &Environment) -> Result<Vec<Row>> {
        let mut rows = std::mem::take(&mut self.rows);
        if let (Some(groups), Some(aggregate)) = (self.groups.take(), &stages.aggregate) {
            for row in groups.finish(aggregate)? {
                if let Some(row) = self.project(stages, row, environment)? {
                    rows.push(row);
                }
            }
        }
        sort(&mut rows, &stages.sort);
        if let Distinct::On(columns) = &stages.distinct {
            self.seen.clear();
            rows.retain(|row| {
                let keys: Row = columns.iter().map(|column| row[*column].clone()).collect();
                self.is_new(&keys)
            });
        }
        self.cut(stages, &mut rows, environment)?;
        for row in &mut rows {
            row.truncate(stages.width);
        }
        Ok(rows)
    }

    /// HAVING and the select list over a group.
    fn project(&mut self, stages: &Stages, row: Row, environment: &Environment) -> Result<Option<Row>> {
        self.registers.truncate(usize::from(stages.base));
        self.registers.extend(row);
        if let Some(having) = &stages.having {
            let truth = evaluation::evaluate(having, &self.registers, environment)?;
            if truth.as_bool() != Some(true) {
                return Ok(None);
            }
        }
        let row = match &stages.project {
            None => self.registers[usize::from(stages.base)..].to_vec(),
            Some(exprs) => exprs
                .iter()
                .map(|expr| evaluation::evaluate(expr, &self.registers, environment))
                .collect::<Result<Row>>()?,
        };
        if let Distinct::Rows(width) = stages.distinct
            && !self.is_new(&row[..width])
        {
            return Ok(None);
        }
        Ok(Some(row))
    }

    /// OFFSET and LIMIT.
    fn cut(&self, stages: &Stages, rows: &mut Vec<Row>, environment: &Environment) -> Result<()> {
        let count = |expr: &Option<Expr>, state: SqlState, clause: &str| -> Result<Option<usize>> {
            let Some(expr) = expr else { return Ok(None) };
            let Some(number) = evaluation::evaluate(expr, &self.registers, environment)?.as_i64() else {
                return Ok(None);
            };
            match usize::try_from(number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(Error::input(state, format!("{clause} must not be negative"))),
            }
        };
        let offset = count(&stages.offset, sqlstate::INVALID_ROW_COUNT_IN_OFFSET_CLAUSE, "OFFSET")?;
        let limit = count(&stages.limit, sqlstate::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT")?;
        if let Some(offset) = offset {
            rows.drain(..offset.min(rows.len()));
        }
        if let Some(limit) = limit {
            rows.truncate(limit);
        }
        Ok(())
    }
}

fn order(left: &Value, right: &Value, key: &SortKey) -> Ordering {
    let nulls = if key.nulls_first { Ordering::Less } else { Ordering::Greater };
    match (left.is_null(), right.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => nulls,
        (false, true) => nulls.reverse(),
        (false, false) => {
            let ordering = match (left.as_str(), right.as_str()) {
                (Some(left), Some(right)) if key.is_char => {
                    compare::char_order(left.as_bytes(), right.as_bytes())
                }
                _ => compare::total(left, right),
            };
            if key.is_descending { ordering.reverse() } else { ordering }
        }
    }
}

fn sort(rows: &mut [Row], keys: &[SortKey]) {
    if keys.is_empty() {
        return;
    }
    rows.sort_by(|left, right| {
        keys.iter()
            .map(|key| order(&left[key.value], &right[key.value], key))
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
    });
}
