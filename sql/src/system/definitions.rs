//! Objects as the SQL that would create them, in PostgreSQL's words.

use hyades_types::definition::{
    CheckConstraint, ColumnDefinition, DeclaredParallel, DeclaredVolatility, IndexColumn, IndexKind,
    KeyAction, ParameterMode, Returns, RoutineDefinition, RoutineKind, RoutineParameter, TableDefinition,
};
use hyades_types::search_path::PUBLIC;
use hyades_types::system_type::SystemType;
use hyades_types::value::SqlType;

use super::class::Index;
use super::constraints::{Constraint, action_words};
use super::data_types;
use super::names::quoted;
use super::snapshot::System;
use crate::statement::kept_names::quoted_literal;

/// Names of columns, separated by commas.
fn column_list(table: &TableDefinition, columns: &[u16]) -> String {
    let names = columns.iter().map(|column| quoted(&table.columns[usize::from(*column)].name));
    names.collect::<Vec<String>>().join(", ")
}

/// Whether one pair of parentheses encloses the whole expression.
pub(super) fn is_in_parentheses(shown: &str) -> bool {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, byte) in shown.bytes().enumerate() {
        match (byte, quote) {
            (_, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => {}
            (b'\'' | b'"', None) => quote = Some(byte),
            (b'(', None) => depth += 1,
            (b')', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && at + 1 < shown.len() {
            return false;
        }
    }
    shown.ends_with(')')
}

/// An expression, shown as PostgreSQL shows it as a default of this type.
pub(super) fn default_shown(written: &str, sql_type: SqlType, type_name: &str) -> String {
    if let Some((value, cast)) = written.rsplit_once("::")
        && is_quoted(value)
        && let Some(named) = data_types::written(cast)
    {
        return match named.oid == sql_type.oid() {
            true => literal(value, sql_type.without_modifier(), type_name),
            false => format!("{value}::{}", named.shown()),
        };
    }
    let is_literal = is_quoted(written);
    let number = written.strip_prefix('-').unwrap_or(written);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_literal {
        return literal(written, sql_type.without_modifier(), type_name);
    }
    if is_number && !sql_type.is_text() && written.starts_with('-') {
        return format!("'{written}'::{}", number_type(number));
    }
    match written.to_ascii_lowercase().as_str() {
        "null" => format!("NULL::{type_name}"),
        "current_timestamp" => "CURRENT_TIMESTAMP".to_owned(),
        "current_date" => "CURRENT_DATE".to_owned(),
        "current_time" => "CURRENT_TIME".to_owned(),
        "localtimestamp" => "LOCALTIMESTAMP".to_owned(),
        "current_user" => "CURRENT_USER".to_owned(),
        word @ ("true" | "false" | "now()") => word.to_owned(),
        _ => written.to_owned(),
    }
}

fn is_quoted(written: &str) -> bool {
    written.len() > 1
        && written.starts_with('\'')
        && written.ends_with('\'')
        && !written[1..written.len() - 1].replace("''", "").contains('\'')
}

/// The type of a number written as a literal.
fn number_type(number: &str) -> &'static str {
    match (number.parse::<i32>().is_ok(), number.parse::<i64>().is_ok()) {
        (true, _) => "integer",
        (false, true) => "bigint",
        _ => "numeric",
    }
}

/// A quoted literal for a column of this type.
fn literal(written: &str, sql_type: SqlType, type_name: &str) -> String {
    let inner = &written[1..written.len() - 1];
    match sql_type {
        SqlType::Boolean => match inner.to_ascii_lowercase().as_str() {
            "t" | "true" | "y" | "yes" | "on" | "1" => "true".to_owned(),
            _ => "false".to_owned(),
        },
        SqlType::Integer if !inner.trim().starts_with('-') => inner.trim().to_owned(),
        SqlType::Char(_) => format!("{written}::bpchar"),
        _ => format!("{written}::{type_name}"),
    }
}

impl System {
    /// A key of an index: a column, a call, or another expression in parentheses.
    pub(super) fn indexed_name(&self, table: &TableDefinition, key: u16, is_pretty: bool) -> String {
        let kept = table.key_name(key);
        if table.indexed_column(key).is_some() {
            return quoted(kept);
        }
        let is_call = kept.ends_with(')') && !kept.starts_with('(');
        let generation = table.columns[usize::from(key)].generation.as_ref();
        let pretty = generation.map(|own| own.pretty.as_str()).filter(|_| is_pretty);
        let name = self.unqualified(pretty.filter(|pretty| !pretty.is_empty()).unwrap_or(kept));
        if is_call { name } else { format!("({name})") }
    }

    /// A condition with few parentheses, or with its own.
    pub(super) fn condition_text(&self, shown: &str, pretty: &str, is_pretty: bool) -> String {
        if is_pretty && !pretty.is_empty() {
            return self.unqualified(pretty);
        }
        let whole = self.unqualified(shown);
        let inner = whole.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let short = inner.filter(|_| is_pretty && is_in_parentheses(&whole));
        short.map_or_else(|| whole.clone(), str::to_owned)
    }

    /// A key of an index, with its order if that is not the default.
    fn ordered(&self, table: &TableDefinition, key: &IndexColumn, is_pretty: bool) -> String {
        let name = self.indexed_name(table, key.column, is_pretty);
        let order = match (key.is_descending, key.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        };
        let class = key.operator_class.map(|class| format!(" {}", class.name())).unwrap_or_default();
        format!("{name}{class}{order}")
    }

    /// The expressions among the keys of an index.
    pub(super) fn indexed_expressions(&self, table: &TableDefinition, index: &Index) -> Option<String> {
        let keys = index.columns.iter().filter(|key| table.indexed_column(key.column).is_none());
        let shown: Vec<String> = keys.map(|key| self.unqualified(table.key_name(key.column))).collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }

    /// The default or generation expression of a column, shown as PostgreSQL does, with the types of
    /// literals.
    pub(super) fn default_of(&self, column: &ColumnDefinition) -> Option<String> {
        if let Some(generation) = &column.generation {
            return Some(self.unqualified(&generation.shown));
        }
        let written = column.default.as_deref()?.trim();
        if let Some(oid) = self.drawn_from(written) {
            let shown = self.shown_object(SystemType::RegClass, oid).replace('\'', "''");
            return Some(format!("nextval('{shown}'::regclass)"));
        }
        let type_name = self.shown_type(column.sql_type);
        Some(self.unqualified(&default_shown(written, column.sql_type, &type_name)))
    }

    /// The number of the sequence, for a default that only draws from one.
    pub(super) fn drawn_from(&self, default: &str) -> Option<u32> {
        let name = default.trim().strip_prefix("nextval('")?;
        let ends = ["'::regclass)", "'::REGCLASS)", "')"];
        let name = ends.into_iter().find_map(|end| name.strip_suffix(end))?;
        self.find_object(SystemType::RegClass, &name.replace("''", "'")).ok()
    }

    /// `CREATE INDEX`, with the table's schema if `with_schema`, else with the name by which the table is
    /// found.
    pub(super) fn index_definition(
        &self,
        table: &TableDefinition,
        index: &Index,
        with_schema: bool,
    ) -> String {
        let unique = if index.is_unique { "UNIQUE " } else { "" };
        let method = match index.kind {
            IndexKind::Ordered => "btree",
            IndexKind::Hash => "hash",
        };
        let table_name = if with_schema {
            format!("{}.{}", quoted(&table.name.schema), quoted(&table.name.name))
        } else {
            self.shown_name(&table.name)
        };
        let keys: Vec<String> =
            index.columns.iter().map(|key| self.ordered(table, key, !with_schema)).collect();
        let name = quoted(&index.name);
        let mut shown =
            format!("CREATE {unique}INDEX {name} ON {table_name} USING {method} ({})", keys.join(", "));
        if !index.included.is_empty() {
            shown.push_str(&format!(" INCLUDE ({})", column_list(table, &index.included)));
        }
        if index.nulls_are_equal {
            shown.push_str(" NULLS NOT DISTINCT");
        }
        if !index.parameters.is_empty() {
            shown.push_str(&format!(" WITH ({})", shown_parameters(&index.parameters)));
        }
        if let Some(predicate) = &index.predicate {
            let condition = self.condition_text(&predicate.shown, &predicate.pretty, !with_schema);
            shown.push_str(&format!(" WHERE {condition}"));
        }
        shown
    }

    pub(super) fn check_definition(&self, check: &CheckConstraint, is_pretty: bool) -> String {
        let not_valid = if check.is_not_valid { " NOT VALID" } else { "" };
        format!("CHECK ({}){not_valid}", self.condition_text(&check.shown, &check.pretty, is_pretty))
    }

    /// The definition that follows `CONSTRAINT name`.
    pub(super) fn constraint_definition(
        &self,
        table: &TableDefinition,
        constraint: &Constraint<'_>,
        is_pretty: bool,
    ) -> String {
        let columns = column_list(table, &constraint.columns());
        match constraint {
            Constraint::Primary(_) => format!("PRIMARY KEY ({columns})"),
            Constraint::Unique(index) => {
                let nulls = if index.nulls_are_equal { " NULLS NOT DISTINCT" } else { "" };
                let included = match index.included.is_empty() {
                    true => String::new(),
                    false => format!(" INCLUDE ({})", column_list(table, &index.included)),
                };
                let kind = if index.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
                format!("{kind}{nulls} ({columns}){included}{}", index.deferral.words())
            }
            Constraint::Check(check) => self.check_definition(check, is_pretty),
            Constraint::Trigger(trigger) => {
                format!("TRIGGER{}", trigger.constraint.unwrap_or_default().words())
            }
            Constraint::Foreign(key) => {
                let Some(parent) = self.definition(key.parent.0) else { return String::new() };
                let (name, parents) =
                    (self.shown_name(&parent.name), column_list(parent, &key.parent_columns));
                let mut shown = format!("FOREIGN KEY ({columns}) REFERENCES {name}({parents})");
                if key.is_full {
                    shown.push_str(" MATCH FULL");
                }
                for (word, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
                    if action != KeyAction::NoAction {
                        shown.push_str(&format!(" ON {word} {}", action_words(action)));
                    }
                }
                if !key.delete_columns.is_empty() {
                    shown.push_str(&format!(" ({})", column_list(table, &key.delete_columns)));
                }
                shown.push_str(key.deferral.words());
                if key.is_not_valid {
                    shown.push_str(" NOT VALID");
                }
                shown
            }
        }
    }
}

/// The cost and number of rows that PostgreSQL assumes of a routine that declares none.
pub(super) const USUAL_COST: f32 = 100.0;
pub(super) const USUAL_ROWS: f32 = 1000.0;

/// `pg_get_function_arguments`. With `with_defaults` false, the arguments that distinguish it from others
/// of its name.
pub(super) fn arguments(system: &System, definition: &RoutineDefinition, with_defaults: bool) -> String {
    let shows_in = definition.kind == RoutineKind::Procedure;
    let shown = |parameter: &RoutineParameter| {
        let mut out = String::new();
        match parameter.mode {
            ParameterMode::In if shows_in => out.push_str("IN "),
            ParameterMode::In => {}
            ParameterMode::Out => out.push_str("OUT "),
            ParameterMode::InOut => out.push_str("INOUT "),
            ParameterMode::Variadic => out.push_str("VARIADIC "),
        }
        if let Some(name) = &parameter.name {
            out.push_str(&quoted(name));
            out.push(' ');
        }
        let type_name = system.shown_type(parameter.sql_type);
        out.push_str(&type_name);
        if let (true, Some(default)) = (with_defaults, default_of(system, parameter)) {
            out.push_str(" DEFAULT ");
            out.push_str(&default);
        }
        out
    };
    definition.parameters.iter().map(shown).collect::<Vec<String>>().join(", ")
}

pub(super) fn default_of(system: &System, parameter: &RoutineParameter) -> Option<String> {
    let default = parameter.default.as_ref()?;
    let type_name = system.shown_type(parameter.sql_type);
    Some(system.unqualified(&default_shown(default.trim(), parameter.sql_type, &type_name)))
}

/// `pg_get_function_arg_default` for the input with this number, from 1.
pub(super) fn argument_default(
    system: &System,
    definition: &RoutineDefinition,
    number: i64,
) -> Option<String> {
    let at = usize::try_from(number).ok()?.checked_sub(1)?;
    let parameter = definition.parameters.get(at)?;
    if !parameter.mode.is_input() {
        return None;
    }
    default_of(system, parameter)
}

/// `pg_get_function_result`. `None` for a procedure.
pub(super) fn result(system: &System, definition: &RoutineDefinition) -> Option<String> {
    if definition.kind == RoutineKind::Procedure {
        return None;
    }
    let outputs: Vec<&RoutineParameter> =
        definition.parameters.iter().filter(|parameter| parameter.mode.is_output()).collect();
    let single = || match outputs.as_slice() {
        [only] => system.shown_type(only.sql_type),
        _ => "record".to_owned(),
    };
    let column =
        |(name, sql_type): &(String, SqlType)| format!("{} {}", quoted(name), system.shown_type(*sql_type));
    Some(match &definition.returns {
        Returns::Nothing => "void".to_owned(),
        Returns::Trigger => "trigger".to_owned(),
        Returns::Value(sql_type) => system.shown_type(*sql_type),
        Returns::SetOf(sql_type) => format!("SETOF {}", system.shown_type(*sql_type)),
        Returns::Table(columns) => {
            format!("TABLE({})", columns.iter().map(column).collect::<Vec<String>>().join(", "))
        }
        Returns::SetOfRow(_) => {
            let (row_of, row_type) = (definition.traits.row_of, definition.traits.row_type);
            let table = row_of.map(|table| system.shown_object(SystemType::RegClass, table.0));
            let name = table.or_else(|| row_type.map(|row_type| system.shown_type(row_type).into()));
            format!("SETOF {}", name.as_deref().unwrap_or("record"))
        }
        Returns::Record => single(),
        Returns::SetOfRecord => format!("SETOF {}", single()),
    })
}

/// The schemas in SET search_path.
pub(super) fn path_of(definition: &RoutineDefinition) -> Vec<String> {
    definition.path.clone().unwrap_or_else(|| vec![PUBLIC.to_owned()])
}

/// The line with its properties, if any of them is not the default.
fn traits(definition: &RoutineDefinition) -> String {
    let traits = &definition.traits;
    let mut out = String::new();
    out.push_str(match traits.volatility {
        DeclaredVolatility::Volatile => "",
        DeclaredVolatility::Stable => " STABLE",
        DeclaredVolatility::Immutable => " IMMUTABLE",
    });
    out.push_str(match traits.parallel {
        DeclaredParallel::Unsafe => "",
        DeclaredParallel::Restricted => " PARALLEL RESTRICTED",
        DeclaredParallel::Safe => " PARALLEL SAFE",
    });
    for (is_so, word) in [(definition.is_strict, " STRICT"), (traits.is_leakproof, " LEAKPROOF")] {
        out.push_str(if is_so { word } else { "" });
    }
    if let Some(cost) = traits.cost.filter(|cost| *cost != USUAL_COST) {
        out.push_str(&format!(" COST {cost}"));
    }
    if let Some(rows) = traits.rows.filter(|rows| *rows != USUAL_ROWS) {
        out.push_str(&format!(" ROWS {rows}"));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// `pg_get_functiondef`. `None` for an aggregate.
pub(super) fn routine(system: &System, definition: &RoutineDefinition) -> Option<String> {
    if definition.aggregate.is_some() {
        return None;
    }
    let word = definition.kind.word();
    let name = format!("{}.{}", quoted(&definition.name.schema), quoted(&definition.name.name));
    let result = result(system, definition);
    let returns = result.map_or(String::new(), |result| format!(" RETURNS {result}\n"));
    let traits = traits(definition);
    let path = definition.traits.sets_path.then(|| path_of(definition));
    let path = path.map_or(String::new(), |path| {
        let names: Vec<String> = path.iter().map(|name| format!("'{}'", name.replace('\'', "''"))).collect();
        format!(" SET search_path TO {}\n", names.join(", "))
    });
    let head = format!(
        "CREATE OR REPLACE {} {name}({})\n{returns} LANGUAGE {}\n{traits}{path}",
        word.to_uppercase(),
        arguments(system, definition, true),
        quoted(&definition.language),
    );
    if let Some(body) = standard_body(system, definition) {
        return Some(format!("{head}{body}\n"));
    }
    let mut quote = format!("${word}$");
    while definition.body.contains(&quote) {
        quote.insert(quote.len() - 1, 'x');
    }
    Some(format!("{head}AS {quote}{}{quote}\n", definition.body))
}

/// `pg_get_function_sqlbody`: the body, if it is in standard SQL.
pub(super) fn standard_body(system: &System, definition: &RoutineDefinition) -> Option<String> {
    definition.uses.as_ref().map(|_| system.shown_body(&definition.body))
}

/// Parameters as they are written in a statement.
fn shown_parameters(parameters: &[String]) -> String {
    let shown = parameters.iter().map(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let name = quoted(name);
        if quoted(value) == value {
            format!("{name}={value}")
        } else {
            format!("{name}={}", quoted_literal(value))
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}
