//! Checks whether the rows of a database satisfy its constraints, for `hyades check`.
//!
//! Statements cannot break a constraint, so a violation found here is a bug of the program, or damage that
//! no checksum shows. The check uses SQL, one query for each constraint. So expressions mean the same as
//! everywhere else, and the code that finds the rows is in constant use. The indexes must have been
//! compared with the rows of their tables before (`hyades_engine::recovery::check_indexes`), because a
//! query may use them.
//!
//! | constraint | the query looks for |
//! |---|---|
//! | NOT NULL, primary key | rows with a NULL in the column |
//! | CHECK | rows for which the condition is false; unknown is good enough |
//! | UNIQUE, unique indexes, primary key | groups of more than one row, those with a NULL left out unless NULLs are equal |
//! | foreign key | rows without a parent; with MATCH FULL also those that are NULL in part |
//! | generated column | rows that hold anything else than the expression gives |
//!
//! Constraints that are NOT VALID promise nothing about existing rows and are skipped.

use std::fmt::Write as _;
use std::sync::Arc;

use hyades_engine::storage::table::Table;
use hyades_types::definition::{
    CheckConstraint, DatabaseId, ForeignKey, IndexDefinition, Indexed, TableDefinition, TableName,
};
use hyades_types::error::Result;
use hyades_types::identifier::quoted_identifier;
use hyades_types::value::Value;

use crate::connection::Connection;
use crate::session::Database;

/// The number of rows that are named for each constraint. Further ones are only counted.
const MOST_NAMED: usize = 100;
/// The number of characters that are shown of each value of a key.
const SHOWN_CHARACTERS: usize = 100;

/// What [`verify_constraints`] has checked and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifiedConstraints {
    pub constraints: usize,
    pub violations: usize,
}

/// Looks in all databases for rows that break a constraint, and reports each of them as a sentence. Nothing
/// may change meanwhile.
///
/// # Errors
/// Those of opening a session. A constraint that cannot be evaluated is reported as a violation.
pub fn verify_constraints(database: &Database, mut tell: impl FnMut(&str)) -> Result<VerifiedConstraints> {
    let mut found = VerifiedConstraints::default();
    for (id, stored) in database.engine().databases().all() {
        let name = &stored.definition.name;
        let mut tell = |sentence: &str| match id {
            DatabaseId::FIRST => tell(sentence),
            _ => tell(&format!("database \"{name}\": {sentence}")),
        };
        let connection = database.connect_to_any(name)?;
        let mut verifier = Verifier { connection, tell: &mut tell, found };
        verifier.verify(&stored.catalog.tables());
        found = verifier.found;
    }
    Ok(found)
}

impl Verifier<'_> {
    /// Verifies the constraints of these tables, which are all that the database has.
    fn verify(&mut self, tables: &[Arc<Table>]) {
        tables.iter().for_each(|table| self.verify_table(table, tables));
    }

    fn verify_table(&mut self, table: &Table, tables: &[Arc<Table>]) {
        let definition = table.definition();
        if definition.view.is_some() {
            return;
        }
        let about = About::new(&definition);
        self.not_null(&about);
        for check in definition.checks.iter().filter(|check| !check.is_not_valid) {
            self.check(&about, check);
        }
        self.generated(&about);
        self.unique(&about);
        for key in definition.foreign_keys.iter().filter(|key| !key.is_not_valid) {
            let parent = tables.iter().find(|parent| parent.id() == key.parent);
            self.foreign_key(&about, key, parent.map(|parent| &**parent));
        }
    }
}

/// The names of a table in sentences and in queries.
struct About<'t> {
    definition: &'t TableDefinition,
    /// `"public.t"`
    said: String,
    /// `public.t`, with quotes where SQL needs them.
    sql: String,
    /// The columns that identify its rows: those of the primary key, or all visible ones.
    key: Vec<&'t str>,
}

impl About<'_> {
    fn new(definition: &TableDefinition) -> About<'_> {
        let name = |column: &u16| definition.columns[usize::from(*column)].name.as_str();
        let key = match &definition.primary_key {
            Some(key) => key.columns.iter().map(name).collect(),
            None => {
                let seen = definition.columns.iter().filter(|column| column.indexed().is_none());
                seen.map(|column| column.name.as_str()).collect()
            }
        };
        About { definition, said: said_name(&definition.name), sql: sql_name(&definition.name), key }
    }

    /// A query for the rows that break a constraint, with what identifies them and what else is to be
    /// shown.
    fn rows(&self, also: &str, condition: &str) -> String {
        let key: Vec<String> = self.key.iter().map(|column| quoted_identifier(column).to_string()).collect();
        format!("select {}{also} from {} where {condition}", shown(&key), self.sql)
    }

    /// `(id) = `
    fn key_names(&self) -> String {
        format!("({}) = ", self.key.join(", "))
    }

    /// A column in an expression. For a column that exists only for an index, this is the index's
    /// expression.
    fn column_sql(&self, column: u16) -> String {
        let column = &self.definition.columns[usize::from(column)];
        match column.indexed() {
            None => quoted_identifier(&column.name).to_string(),
            Some(Indexed::Column(of)) => self.column_sql(*of),
            Some(Indexed::Expression(expression)) => format!("({expression})"),
        }
    }
}

struct Verifier<'v> {
    connection: Connection,
    tell: &'v mut dyn FnMut(&str),
    found: VerifiedConstraints,
}

impl Verifier<'_> {
    /// Runs the query of one constraint. `say` makes a sentence of each row that breaks it.
    fn look(&mut self, what: &str, query: &str, say: impl Fn(&[Value]) -> String) {
        self.found.constraints += 1;
        let rows = match self.connection.query(query, &[]) {
            Ok(rows) => rows,
            Err(error) => {
                self.found.violations += 1;
                return (self.tell)(&format!("{what} cannot be verified: {error}"));
            }
        };
        self.found.violations += rows.len();
        for row in rows.iter().take(MOST_NAMED) {
            (self.tell)(&say(row));
        }
        if rows.len() > MOST_NAMED {
            (self.tell)(&format!("{what}: and {} more like that", rows.len() - MOST_NAMED));
        }
    }

    fn not_null(&mut self, about: &About<'_>) {
        for column in &about.definition.columns {
            if column.is_nullable || column.indexed().is_some() {
                continue;
            }
            let condition = format!("{} is null", quoted_identifier(&column.name));
            let (table, name, keys) = (&about.said, &column.name, about.key_names());
            let what = format!("table {table}: NOT NULL of column \"{name}\"");
            self.look(&what, &about.rows("", &condition), |row| {
                format!(
                    "table {table}: column \"{name}\" is NULL in the row with {keys}{}, although it is NOT NULL",
                    text(&row[0])
                )
            });
        }
    }

    fn check(&mut self, about: &About<'_>, check: &CheckConstraint) {
        let (table, name, keys) = (&about.said, &check.name, about.key_names());
        let what = format!("table {table}: check constraint \"{name}\"");
        // False, as opposed to unknown.
        let condition = format!("({}) is false", check.expression);
        self.look(&what, &about.rows("", &condition), |row| {
            format!(
                "table {table}: the row with {keys}{} violates check constraint \"{name}\"",
                text(&row[0])
            )
        });
    }

    fn generated(&mut self, about: &About<'_>) {
        for column in &about.definition.columns {
            let Some(generation) = column.generation.as_ref().filter(|one| one.indexed.is_none()) else {
                continue;
            };
            let (held, given) =
                (quoted_identifier(&column.name).to_string(), format!("({})", generation.expression));
            let also = format!(", {}, {}", shown_one(&held), shown_one(&given));
            let (table, name, keys) = (&about.said, &column.name, about.key_names());
            let what = format!("table {table}: generated column \"{name}\"");
            let condition = format!("{held} is distinct from {given}");
            self.look(&what, &about.rows(&also, &condition), |row| {
                format!(
                    "table {table}: generated column \"{name}\" is {} in the row with {keys}{}, and must be {}",
                    text(&row[1]),
                    text(&row[0]),
                    text(&row[2])
                )
            });
        }
    }

    fn unique(&mut self, about: &About<'_>) {
        if let Some(key) = &about.definition.primary_key {
            let columns: Vec<String> = key.columns.iter().map(|column| about.column_sql(*column)).collect();
            self.groups(about, &format!("primary key \"{}\"", key.name), &columns, &[]);
        }
        for index in about.definition.indexes.iter().filter(|index| index.is_unique) {
            let IndexDefinition { name, columns, predicate, .. } = index;
            let columns: Vec<String> = columns.iter().map(|one| about.column_sql(one.column)).collect();
            let kind = if index.is_constraint { "unique constraint" } else { "unique index" };
            let mut conditions = Vec::new();
            conditions.extend(predicate.as_ref().map(|predicate| format!("({})", predicate.expression)));
            if !index.nulls_are_equal {
                conditions.extend(columns.iter().map(|column| format!("{column} is not null")));
            }
            self.groups(about, &format!("{kind} \"{name}\""), &columns, &conditions);
        }
    }

    fn groups(&mut self, about: &About<'_>, constraint: &str, columns: &[String], conditions: &[String]) {
        let condition = if conditions.is_empty() { "true".to_owned() } else { conditions.join(" and ") };
        let query = format!(
            "select {}, count(*) from {} where {condition} group by {} having count(*) > 1",
            shown(columns),
            about.sql,
            columns.join(", "),
        );
        let (table, names) = (&about.said, columns.join(", "));
        let what = format!("table {table}: {constraint}");
        self.look(&what, &query, |row| {
            let (key, count) = (text(&row[0]), text(&row[1]));
            format!(
                "table {table}: {count} rows have ({names}) = {key}, which {constraint} allows to one only"
            )
        });
    }

    fn foreign_key(&mut self, about: &About<'_>, key: &ForeignKey, parent: Option<&Table>) {
        let (table, name) = (&about.said, &key.name);
        let what = format!("table {table}: foreign key \"{name}\"");
        let Some(parent) = parent else {
            self.found.constraints += 1;
            self.found.violations += 1;
            return (self.tell)(&format!("{what} names a table that is not there"));
        };
        let parent = parent.definition();
        let of = |alias: &str, definition: &TableDefinition, column: u16| {
            let name = &definition.columns[usize::from(column)].name;
            format!("{alias}.{}", quoted_identifier(name))
        };
        let columns: Vec<String> =
            key.columns.iter().map(|column| of("child", about.definition, *column)).collect();
        let pairs = columns.iter().zip(&key.parent_columns);
        let same: Vec<String> =
            pairs.map(|(child, column)| format!("{} = {child}", of("parent", &parent, *column))).collect();
        let all = |words: &str| {
            let each: Vec<String> = columns.iter().map(|column| format!("{column} {words}")).collect();
            each.join(" and ")
        };
        let orphan = format!(
            "not exists (select 1 from {} as parent where {})",
            sql_name(&parent.name),
            same.join(" and ")
        );
        let condition = match key.is_full {
            false => format!("{} and {orphan}", all("is not null")),
            true => format!("not ({}) and (not ({}) or {orphan})", all("is null"), all("is not null")),
        };
        let own: Vec<String> =
            about.key.iter().map(|column| format!("child.{}", quoted_identifier(column))).collect();
        let query = format!(
            "select {}, {} from {} as child where {condition}",
            shown(&own),
            shown(&columns),
            about.sql
        );
        let names = |definition: &TableDefinition, columns: &[u16]| {
            let names = columns.iter().map(|column| definition.columns[usize::from(*column)].name.as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        let (keys, referencing) = (about.key_names(), names(about.definition, &key.columns));
        let (referenced, parent) = (names(&parent, &key.parent_columns), said_name(&parent.name));
        self.look(&what, &query, |row| {
            format!(
                "table {table}: the row with {keys}{} has ({referencing}) = {}, but foreign key \"{name}\" finds no such \
                 ({referenced}) in {parent}",
                text(&row[0]),
                text(&row[1])
            )
        });
    }
}

fn said_name(name: &TableName) -> String {
    format!("\"{}.{}\"", name.schema, name.name)
}

fn sql_name(name: &TableName) -> String {
    format!("{}.{}", quoted_identifier(&name.schema), quoted_identifier(&name.name))
}

/// An expression for the text of these values: `(1, x)`.
fn shown(expressions: &[String]) -> String {
    let mut text = "'('".to_owned();
    for (place, expression) in expressions.iter().enumerate() {
        let separator = if place == 0 { "" } else { " || ', '" };
        // Writing into a String cannot fail.
        let _ = write!(text, "{separator} || {}", shown_one(expression));
    }
    text + " || ')'"
}

fn shown_one(expression: &str) -> String {
    format!("left(coalesce(({expression})::text, 'NULL'), {SHOWN_CHARACTERS})")
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        Value::BigInt(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}
