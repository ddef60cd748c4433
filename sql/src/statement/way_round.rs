//! Hints of refusals: what does the job of a thing that is missing.

/// What is missing, as a refusal names it, and what can be written instead.
const WAYS: &[(&str, &str)] = &[
    (
        "CREATE MATERIALIZED VIEW",
        "Use CREATE TABLE ... AS, and fill the table again when it is to be current.",
    ),
    ("CREATE POLICY", "Grant rights on views that show only some of the rows."),
    ("CREATE RULE", "Use a view, which can be updated if it is simple, or a procedure."),
    ("CREATE STATISTICS", "It is not needed: leave the statement out."),
    ("CREATE TABLESPACE", "Tables are kept in memory: leave the statement out."),
    ("MERGE", "Use INSERT ... ON CONFLICT, or several statements in a transaction."),
    ("SET UNLOGGED", "Use a temporary table, whose rows are not logged."),
    ("an exclusion constraint", "Use a UNIQUE constraint, or check in a procedure that locks what it reads."),
    ("table inheritance", "Use CREATE TABLE ... (LIKE ...), and a view with UNION ALL."),
    ("partitioned tables", "Use a single table: indexes stay fast however long it is."),
];

/// The hint for what is missing.
pub(crate) fn way_round(what: &str) -> Option<&'static str> {
    WAYS.iter().find(|(missing, _)| *missing == what).map(|(_, hint)| *hint)
}
