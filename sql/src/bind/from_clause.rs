//! The items of FROM, and what they show. (`join` puts them together.)

use hyades_engine::procedure::ir::{Expr, Register};
use hyades_types::definition::{Returns, RoutineDefinition, RoutineKind};
use hyades_types::error::{Result, sqlstate};
use hyades_types::function::{Function, lookup};
use hyades_types::value::{SqlType, Value};
use sqlparser::ast::{FunctionArg, FunctionArgExpr, ObjectName, TableAlias, TableFactor, TableFunctionArgs};

use super::scope::{Relation, RelationKind, Visibility};
use super::session_function::{SessionCall, SessionFunction};
use super::tree::{Item, JoinGroup, RoutineSource, Series, Source};
use super::{Binder, Bound, Place};
use crate::statement::names::{fold, parts};

/// The view of all sessions.
pub(crate) const ACTIVITY: &str = "pg_stat_activity";

/// The columns of `pg_stat_activity`: those of PostgreSQL's that mean something here.
pub(crate) const ACTIVITY_COLUMNS: [(&str, SqlType); 14] = [
    ("datname", SqlType::Text),
    ("pid", SqlType::Integer),
    ("usename", SqlType::Text),
    ("application_name", SqlType::Text),
    ("client_addr", SqlType::Text),
    ("client_port", SqlType::Integer),
    ("backend_start", SqlType::TimestampTz),
    ("xact_start", SqlType::TimestampTz),
    ("query_start", SqlType::TimestampTz),
    ("wait_event_type", SqlType::Text),
    ("wait_event", SqlType::Text),
    ("state", SqlType::Text),
    ("query", SqlType::Text),
    ("backend_type", SqlType::Text),
];

impl Binder<'_> {
    /// An item of FROM, or a join in parentheses.
    pub(super) fn factor(&mut self, factor: &TableFactor) -> Result<JoinGroup> {
        if let TableFactor::NestedJoin { table_with_joins, alias } = factor {
            return self.nested_join(table_with_joins, alias.as_ref());
        }
        self.item(factor).map(JoinGroup::of)
    }

    fn item(&mut self, factor: &TableFactor) -> Result<Item> {
        match factor {
            TableFactor::Table { name, alias, args: None, sample: None, .. } => {
                self.table_item(name, alias.as_ref())
            }
            TableFactor::Table {
                name,
                alias,
                args: Some(TableFunctionArgs { args, .. }),
                with_ordinality,
                ..
            }
            | TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                if *with_ordinality {
                    return self.unsupported("WITH ORDINALITY is", Place::of(name));
                }
                self.series_item(name, args, alias.as_ref())
            }
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                self.derived_item(subquery, alias.as_ref(), *lateral)
            }
            TableFactor::UNNEST { .. } => self.unsupported("UNNEST is", Place::Unknown),
            _ => self.unsupported("this item of FROM is", Place::Unknown),
        }
    }

    /// Makes a relation visible, and returns its number.
    pub(super) fn add_relation(
        &mut self,
        mut relation: Relation,
        alias: Option<&TableAlias>,
        place: Place,
    ) -> Result<usize> {
        if let Some(alias) = alias {
            let renamed = alias.columns.len();
            if renamed > relation.columns.len() {
                let message = format!(
                    "table \"{}\" has {} columns available but {renamed} columns specified",
                    relation.name,
                    relation.columns.len()
                );
                return self.fail(sqlstate::INVALID_COLUMN_REFERENCE, message, place);
            }
            for (column, alias) in relation.columns.iter_mut().zip(&alias.columns) {
                column.0 = fold(&alias.name);
            }
        }
        let is_taken =
            |known: &Relation| known.name == relation.name && known.visibility != Visibility::Hidden;
        if self.scope.relations.iter().any(is_taken) {
            let message = format!("table name \"{}\" specified more than once", relation.name);
            return self.fail(sqlstate::DUPLICATE_ALIAS, message, Place::Unknown);
        }
        self.scope.add(relation);
        Ok(self.scope.relations.len() - 1)
    }

    fn table_item(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> Result<Item> {
        if let [single] = parts(name)?.as_slice()
            && let Some(item) = self.common_item(&fold(single), alias, Place::of(name))?
        {
            return Ok(item);
        }
        if is_activity(name) {
            return self.activity_item(alias, Place::of(name));
        }
        let table = self.table(name)?;
        let row = self.new_row()?;
        let alias_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let relation = Relation::table(&table, alias_name, row);
        let own_name = table.definition().name.name.clone();
        let label =
            if relation.name == own_name { own_name } else { format!("{own_name} {}", relation.name) };
        let relation = self.add_relation(relation, alias, Place::of(name))?;
        Ok(Item::new(Source::Table { table, row }, label, relation))
    }

    /// `pg_stat_activity`: arrays that the session fills when the statement starts, and a series that counts
    /// their elements.
    fn activity_item(&mut self, alias: Option<&TableAlias>, place: Place) -> Result<Item> {
        let mut arrays = Vec::with_capacity(ACTIVITY_COLUMNS.len());
        for column in 0..ACTIVITY_COLUMNS.len() {
            let into = self.new_register()?;
            let function = SessionFunction::Activity(column);
            self.session_calls.push(SessionCall { function, arguments: Vec::new(), into });
            arrays.push(into);
        }
        let current = self.new_register()?;
        let alias_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let label = alias_name.as_ref().map_or(ACTIVITY.to_owned(), |alias| format!("{ACTIVITY} {alias}"));
        let one = Expr::Const(Value::Integer(1));
        let stop = Expr::Call {
            function: Function::Cardinality,
            arguments: arrays.iter().take(1).map(|array| Expr::Register(*array)).collect(),
        };
        let relation = Relation {
            name: alias_name.unwrap_or_else(|| ACTIVITY.to_owned()),
            columns: ACTIVITY_COLUMNS
                .iter()
                .map(|(name, sql_type)| ((*name).to_owned(), *sql_type))
                .collect(),
            kind: RelationKind::Elements(arrays, current),
            visibility: Visibility::Everywhere,
        };
        let relation = self.add_relation(relation, alias, place)?;
        let series = Series { start: one.clone(), stop, step: one, sql_type: SqlType::Integer, current };
        Ok(Item::new(Source::Series(series), label, relation))
    }

    fn series_item(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
    ) -> Result<Item> {
        let place = Place::of(name);
        let shown = name.to_string().to_ascii_lowercase();
        if shown.strip_prefix("pg_catalog.").unwrap_or(&shown) != "generate_series" {
            return self.routine_item(name, arguments, alias);
        }
        let mut bound = Vec::new();
        for argument in arguments {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else {
                return Err(self.no_function(&shown, "*", place));
            };
            bound.push(self.expression(argument)?);
        }
        let types: Vec<&str> = bound.iter().map(Bound::type_name).collect();
        let types = types.join(", ");
        let Some((sql_type, step_type)) = self.series_types(&bound) else {
            let are_numeric = matches!(self.common_type(&bound, "series"), Ok(SqlType::Numeric(_)));
            if are_numeric && (2..=3).contains(&bound.len()) {
                return self.unsupported("generate_series of numeric is", place);
            }
            return Err(self.no_function(&shown, &types, place));
        };
        let wanted = [sql_type, sql_type, step_type];
        let values = bound.into_iter().zip(wanted).map(|(item, wanted)| self.coerce(item, wanted));
        let mut values = values.collect::<Result<Vec<_>>>()?;
        let step = if values.len() == 3 { values.pop() } else { None };
        let (Some(stop), Some(start)) = (values.pop(), values.pop()) else {
            return Err(self.no_function(&shown, &types, place));
        };
        let one = if sql_type == SqlType::Integer { Value::Integer(1) } else { Value::BigInt(1) };
        let current = self.new_register()?;
        let alias_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let own_name = alias_name.unwrap_or_else(|| "generate_series".to_owned());
        let relation = Relation {
            name: own_name.clone(),
            // An alias of the function is also the name of its only column.
            columns: vec![(own_name.clone(), sql_type)],
            kind: RelationKind::Registers(vec![current]),
            visibility: Visibility::Everywhere,
        };
        let relation = self.add_relation(relation, alias, place)?;
        let series = Series { start, stop, step: step.unwrap_or(Expr::Const(one)), sql_type, current };
        Ok(Item::new(Source::Series(series), own_name, relation))
    }

    /// The types of a series and of its step; None if there is none with such arguments.
    fn series_types(&self, arguments: &[Bound]) -> Option<(SqlType, SqlType)> {
        let common = |arguments: &[Bound]| self.common_type(arguments, "series").ok();
        let (ends, step) = arguments.split_at_checked(2)?;
        match (common(ends)?, step) {
            (SqlType::Timestamp, [_]) => return Some((SqlType::Timestamp, SqlType::INTERVAL)),
            (SqlType::Date | SqlType::TimestampTz, [_]) => {
                return Some((SqlType::TimestampTz, SqlType::INTERVAL));
            }
            (_, [] | [_]) => {}
            _ => return None,
        }
        match common(arguments)? {
            SqlType::SmallInt | SqlType::Integer => Some((SqlType::Integer, SqlType::Integer)),
            SqlType::BigInt => Some((SqlType::BigInt, SqlType::BigInt)),
            SqlType::Text if arguments.iter().all(|item| item.known_type().is_none()) => {
                Some((SqlType::Integer, SqlType::Integer))
            }
            _ => None,
        }
    }

    /// A function of one's own.
    fn routine_item(
        &mut self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
    ) -> Result<Item> {
        let place = Place::of(name);
        let parts: Vec<String> = parts(name)?.into_iter().map(fold).collect();
        let shown = parts.join(".");
        let arguments = self.written_arguments(arguments, &shown, place)?;
        let routine = self.routine_name(&parts);
        let chosen = self.choose_routine(&routine, &arguments, RoutineKind::Function, place)?;
        let Some(chosen) = chosen else {
            if !lookup(&routine.name).is_empty() {
                return self.unsupported(&format!("function {shown} in FROM is"), place);
            }
            return Err(self.no_function_of(&shown, &arguments.bound, place));
        };
        let definition = chosen.definition().clone();
        let alias_name = alias.map(|alias| self.alias(&alias.name)).transpose()?;
        let own_name = alias_name.unwrap_or_else(|| routine.name.clone());
        let columns = row_of(&definition, &own_name);
        let arguments = self.routine_arguments(&chosen, &arguments, false)?;
        let callee = self.callee(&chosen)?;
        let registers = columns.iter().map(|_| self.new_register()).collect::<Result<Vec<Register>>>()?;
        let kind = RelationKind::Registers(registers.clone());
        let relation = Relation { name: own_name.clone(), columns, kind, visibility: Visibility::Everywhere };
        let relation = self.add_relation(relation, alias, place)?;
        let (is_set, is_strict) = (definition.returns.is_set(), definition.is_strict);
        let source = RoutineSource { callee, arguments, registers, is_set, is_strict };
        Ok(Item::new(Source::Routine(source), own_name, relation))
    }
}

fn is_activity(name: &ObjectName) -> bool {
    let Ok(parts) = parts(name) else { return false };
    match parts.as_slice() {
        [name] => fold(name) == ACTIVITY,
        [schema, name] => fold(schema) == "pg_catalog" && fold(name) == ACTIVITY,
        _ => false,
    }
}

/// The columns of what a function gives, as a relation of this name.
fn row_of(definition: &RoutineDefinition, name: &str) -> Vec<(String, SqlType)> {
    let outputs = || definition.parameters.iter().filter(|parameter| parameter.mode.is_output());
    let single = |sql_type: SqlType| {
        let named = outputs().next().and_then(|parameter| parameter.name.clone());
        vec![(named.unwrap_or_else(|| name.to_owned()), sql_type)]
    };
    match &definition.returns {
        Returns::Nothing => single(SqlType::Text),
        Returns::Value(sql_type) | Returns::SetOf(sql_type) => single(*sql_type),
        Returns::Table(columns) | Returns::SetOfRow(columns) => columns.clone(),
        Returns::Record | Returns::SetOfRecord => outputs()
            .enumerate()
            .map(|(at, parameter)| {
                let name = parameter.name.clone().unwrap_or_else(|| format!("column{}", at + 1));
                (name, parameter.sql_type)
            })
            .collect(),
    }
}
