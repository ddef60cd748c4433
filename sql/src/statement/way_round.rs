//! What a refusal (0A000) says besides naming what is missing: where it stands in the statement, and what
//! does its job here.

use hyades_types::error::{Error, sqlstate};

use super::query::words_position;

/// What is missing, as a refusal names it; the words at which it stands, in lower case, if the name does not
/// tell; and what can be written instead.
const WAYS: &[(&str, &str, &str)] = &[
    ("ALTER DEFAULT PRIVILEGES", "", "Grant rights on objects when they are created."),
    ("ALTER POLICY", "", ROWS),
    ("ALTER TABLE ... DISABLE ROW", "", "It is not needed: leave the statement out."),
    ("ALTER TABLE ... ENABLE ROW", "", ROWS),
    ("ALTER TABLE ... FORCE ROW", "", ROWS),
    ("ATTACH PARTITION", "", PARTITIONS),
    ("CLUSTER", "", "The order of rows in memory has no effect: leave the statement out."),
    ("CLUSTER ON", "", "The order of rows in memory has no effect: leave the action out."),
    ("CREATE AGGREGATE", "", "Use array_agg, and a function that takes the array."),
    ("CREATE COLLATION", "", "Texts are compared byte by byte, as with COLLATE \"C\"."),
    ("CREATE FOREIGN TABLE", "", "Use a table, and fill it with COPY."),
    ("CREATE LANGUAGE", "", "Functions can be written in SQL and in PL/pgSQL."),
    ("CREATE OPERATOR", "", "Call the function itself."),
    ("CREATE POLICY", "", ROWS),
    ("CREATE PUBLICATION", "", "Use NOTIFY to tell others of changes."),
    ("CREATE RULE", "", "Use a view, which can be updated if it is simple, or a procedure."),
    ("CREATE STATISTICS", "", "It is not needed: leave the statement out."),
    ("CREATE TABLESPACE", "", "Tables are kept in memory: leave the statement out."),
    ("DETACH PARTITION", "", PARTITIONS),
    ("DROP POLICY", "", "There are no policies: leave the statement out."),
    ("DROP RULE", "", "There are no rules: leave the statement out."),
    ("INHERIT", "", INHERITANCE),
    ("LOAD", "", "There are no libraries: leave the statement out."),
    ("MERGE", "", "Use INSERT ... ON CONFLICT, or several statements in a transaction."),
    ("NO INHERIT", "", INHERITANCE),
    ("SET ACCESS METHOD", "", "There is one access method for tables: leave the action out."),
    ("SET LOGGED", "", "All tables are logged: leave the action out."),
    ("SET STATISTICS", "", "It is not needed: leave the action out."),
    ("SET TABLESPACE", "", "Tables are kept in memory: leave the action out."),
    ("SET UNLOGGED", "", "Use a temporary table, whose rows are not logged."),
    ("TABLESAMPLE", "", "Use WHERE random() < 0.1, which reads all rows."),
    ("WITH CHECK OPTION", "", "Use a CHECK constraint on the table."),
    (
        "an exclusion constraint",
        "exclude",
        "Use a UNIQUE constraint, or check in a procedure that locks what it reads.",
    ),
    ("composite types", "as", "Use several columns, or jsonb."),
    ("range types", "as range", "Use two columns, for the bounds."),
    ("rights on columns", "on", "Grant rights on a view of these columns."),
    ("table inheritance", "inherits", INHERITANCE),
    ("tablespaces", "tablespace", "Tables are kept in memory: leave the clause out."),
    ("partitioned tables", "partition", PARTITIONS),
    ("the index access method brin", "using brin", INDEXES),
    ("the index access method gin", "using gin", INDEXES),
    ("the index access method gist", "using gist", INDEXES),
    ("the index access method spgist", "using spgist", INDEXES),
    ("two-phase commit", "prepare transaction", "Commit in one step."),
];

const INDEXES: &str = "Use a btree index on columns or on expressions: (data ->> 'name').";
const INHERITANCE: &str = "Use CREATE TABLE ... (LIKE ...), and a view with UNION ALL.";
const PARTITIONS: &str = "Use a single table: indexes stay fast however long it is.";
const ROWS: &str = "Grant rights on views that show only some of the rows.";

/// The hint for what is missing.
pub(crate) fn way_round(what: &str) -> Option<&'static str> {
    WAYS.iter().find(|(missing, ..)| *missing == what).map(|(.., hint)| *hint)
}

/// The error of a statement, with the place of what is missing and a hint, if it is a refusal without them.
pub(crate) fn guided(sql: &str, error: Error) -> Error {
    let Error::Input(input) = &error else { return error };
    let (has_place, has_hint) = (input.position.is_some(), input.hint.is_some());
    if input.state != sqlstate::FEATURE_NOT_SUPPORTED || has_place && has_hint {
        return error;
    }
    let ends = [" is not supported yet", " are not supported yet"];
    let Some(what) = ends.iter().find_map(|end| input.message.strip_suffix(end)).map(str::to_owned) else {
        return error;
    };
    let error = match way_round(&what).filter(|_| !has_hint) {
        Some(hint) => error.with_hint(hint),
        None => error,
    };
    match place_of(sql, &what).filter(|_| !has_place) {
        Some(position) => error.with_position(position),
        None => error,
    }
}

/// The position of what is missing. A refusal that names it in capital letters uses words of the statement.
fn place_of(sql: &str, what: &str) -> Option<u32> {
    let at = WAYS.iter().find(|(missing, ..)| *missing == what).map_or("", |(_, at, _)| at);
    let named = what.rsplit("... ").next().unwrap_or_default().to_ascii_lowercase();
    let words = match at {
        "" if what.chars().any(|letter| letter.is_ascii_lowercase()) => return None,
        "" => named.as_str(),
        at => at,
    };
    let words: Vec<&str> = words.split(' ').collect();
    let mut rest = match words.as_slice() {
        ["create" | "alter" | "drop", object @ ..] if !object.is_empty() => object,
        words => words,
    };
    // The statement may have other words in between.
    while !rest.is_empty() {
        if let Some(position) = words_position(sql, rest, 0) {
            return Some(position);
        }
        rest = &rest[1..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_get_a_place_and_a_hint() {
        let shown = |sql: &str, message: &str| {
            let error = guided(sql, Error::input(sqlstate::FEATURE_NOT_SUPPORTED, message));
            let Error::Input(input) = error else { panic!("another error") };
            (input.position, input.hint.is_some())
        };
        let rule = "create or replace rule r as on insert to t do nothing";
        assert_eq!(shown(rule, "CREATE RULE is not supported yet"), (Some(19), true));
        let level = "alter table t enable row level security";
        assert_eq!(shown(level, "ALTER TABLE ... ENABLE ROW is not supported yet"), (Some(15), true));
        let index = "create index on t using gin (a)";
        assert_eq!(shown(index, "the index access method gin is not supported yet"), (Some(19), true));
        assert_eq!(shown("select 1", "rows as values are not supported yet"), (None, false));
        assert_eq!(shown("drop view v", "cannot drop view v"), (None, false));
    }
}
