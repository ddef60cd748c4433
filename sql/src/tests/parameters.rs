//! Types of parameters, as PostgreSQL 15 infers them (read from pg_prepared_statements).

use std::sync::Arc;

use hyades_engine::db::Interrupt;
use hyades_types::value::SqlType;

use super::engine::{Silent, TestEngine, Trouble};
use crate::session::{Database, Session, SessionOptions};

/// Statements, and the types of their parameters.
const INFERRED: &[(&str, &str)] = &[
    ("select * from t where a = $1", "integer"),
    ("select * from t where b = $1 and c = $2", "bigint, text"),
    ("update t set b = b + $1 where a = $2", "bigint, integer"),
    ("update t set d = $1, e = $2, f = $3 where a = $4", "numeric, character varying, character, integer"),
    ("insert into t (a, b, c, g) values ($1, $2, $3, $4)", "integer, bigint, text, date"),
    ("select $1::int + $2", "integer, integer"),
    ("select $1 || $2", "text, text"),
    ("select $1 || c from t", "text"),
    ("select a from t where a between $1 and $2", "integer, integer"),
    ("select a from t where $1 between a and b", "integer"),
    ("select a from t where a in ($1, $2)", "integer, integer"),
    ("select a from t where $1 in (a, 2)", "integer"),
    ("select a from t where e = $1 and f = $2", "text, character"),
    ("select a from t where e like $1", "text"),
    ("select a from t limit $1 offset $2", "bigint, bigint"),
    ("select coalesce($1, 5), coalesce(c, $2) from t", "integer, text"),
    ("select case when $1 then $2 else 1 end", "boolean, integer"),
    ("select nullif($1, a) from t", "integer"),
    ("select abs($1)", "double precision"),
    ("select length($1)", "text"),
    ("select substr(c, $1, $2) from t", "integer, integer"),
    ("select $1", "text"),
    ("select a + $1, b * $2, d / $3, j - $4, k + $5 from t", "integer, bigint, numeric, real, smallint"),
    ("select g - $1 from t", "date"),
    ("select h < $1, g = $2 from t", "timestamp with time zone, date"),
    ("select i and $1 from t", "boolean"),
    ("select not $1", "boolean"),
    ("select sum(a + $1) from t", "integer"),
    ("select a from t where l = $1 and m = $2", "uuid, bytea"),
    ("select -a, a % $1 from t", "integer"),
    ("select a from t where (a = $1 or b = $1)", "integer"),
    ("select a from t where $1 = a + 1", "integer"),
    ("select greatest(a, $1), least($2, 1.5) from t", "integer, numeric"),
    ("select a << $1 from t", "integer"),
    ("select a ^ $1 from t", "double precision"),
    ("select j = $1, j = 1.5 from t", "real"),
    ("select count(*) from generate_series(1, $1)", "integer"),
    ("insert into t select $1, $2", "integer, bigint"),
    ("delete from t where a > $1 returning a + $2", "integer, integer"),
    ("select round($1), round($2, 2)", "double precision, numeric"),
    ("select $1 = $2", "text, text"),
    ("select k = $1 from t", "smallint"),
    ("select extract(year from $1::date)", "date"),
    ("select $2::text, $1::int", "integer, text"),
];

fn session() -> Session {
    let database = Database::with_engine(Arc::new(TestEngine::with(Trouble::None)));
    let mut session = database.session(SessionOptions::default()).expect("a session");
    let table = "create table t (a int primary key, b bigint, c text, d numeric(6,2), e varchar(5), f char(4), g date, \
                 h timestamptz, i bool, j real, k smallint, l uuid, m bytea)";
    let prepared = prepare(&mut session, table, &[]).expect("a table");
    assert!(session.execute(&prepared, &[], &mut Silent).is_ok());
    assert!(session.end_implicit().is_ok());
    session
}

fn prepare(
    session: &mut Session,
    sql: &str,
    types: &[Option<SqlType>],
) -> Result<Arc<crate::session::Prepared>, hyades_types::Error> {
    session.prepare(sql, types).map_err(|interrupt| match interrupt {
        Interrupt::Failed(error) => error,
        Interrupt::Wait(_) => panic!("compiling never waits"),
    })
}

#[test]
fn parameters_get_the_types_that_postgresql_gives_them() {
    let mut session = session();
    for (sql, expected) in INFERRED {
        let prepared = prepare(&mut session, sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let types: Vec<&str> =
            prepared.parameter_types().iter().map(|sql_type| sql_type.base_name()).collect();
        assert_eq!(types.join(", "), *expected, "{sql}");
    }
}

#[test]
fn declared_types_are_kept() {
    let mut session = session();
    let declared = [Some(SqlType::BigInt), None];
    let prepared =
        prepare(&mut session, "select * from t where a = $1 and b = $2", &declared).expect("it compiles");
    assert_eq!(prepared.parameter_types(), [SqlType::BigInt, SqlType::BigInt]);
}

#[test]
fn a_parameter_without_a_type_is_an_error() {
    let mut session = session();
    for sql in ["select $1 is null", "select 1 where $1 is not null"] {
        let error = prepare(&mut session, sql, &[]).err().map(|error| error.sqlstate().0);
        assert_eq!(error, Some("42P18"), "{sql}");
    }
}

/// Texts, the same texts with other values, and how many of the values are parameters when such a text
/// recurs.
const LIFTED: &[(&str, &str, usize)] = &[
    ("select a from t where a = 5", "select a from t where a = -6", 1),
    ("select a from t where e = 'x' and f < 'y'", "select a from t where e = '' and f < 'it''s'", 2),
    ("select a from t where d > 1.5 limit 3", "select a from t where d > 1 limit 3", 1),
    ("select a from t where b = 1.5", "select a from t where b = 2.5", 0),
    ("select a from t where j = 1", "select a from t where j = 2", 0),
    (
        "select a from t where h = '2026-11-25'::timestamptz",
        "select a from t where h = '2026-11-26 12:00'::timestamptz",
        1,
    ),
    ("select a from t where g = 'today'", "select a from t where g = 'now'", 0),
    (
        "insert into t (a, b, c, d, l) values (1, 2, 'x', 1.25, '00000000-0000-0000-0000-000000000001')",
        "insert into t (a, b, c, d, l) values (2, -2, 'y', 2, '00000000-0000-0000-0000-000000000002')",
        5,
    ),
    ("update t set b = b + 1, j = 1.5 where a = 1", "update t set b = b + 20, j = 2 where a = 2", 3),
    ("delete from t where a between 1 and 2", "delete from t where a between -3 and -2", 2),
    ("select a from t where a in (1, 2)", "select a from t where a in (3, 4)", 0),
    ("select state from jobs where id = 1", "select state from jobs where id = 2", 0),
    ("explain select a from t where a = 1", "explain select a from t where a = 2", 0),
];

#[test]
fn values_of_a_text_that_comes_again_are_parameters() {
    let mut session = session();
    for sql in [
        "create table jobs (id int primary key, state text)",
        "create index on jobs (id) where state = 'open'",
    ] {
        let prepared = prepare(&mut session, sql, &[]).expect("a statement");
        assert!(session.execute(&prepared, &[], &mut Silent).is_ok());
        assert!(session.end_implicit().is_ok());
    }
    let mut of_text = |sql: &str| session.prepare_text(sql).unwrap_or_else(|_| panic!("{sql}"));
    for (sql, other, parameters) in LIFTED {
        assert!(of_text(sql).1.is_empty(), "{sql}");
        let (prepared, values) = of_text(sql);
        assert_eq!(values.len(), *parameters, "{sql}");
        let (again, others) = of_text(other);
        assert_eq!(others.len(), *parameters, "{other}");
        assert!(*parameters == 0 || Arc::ptr_eq(&prepared, &again), "{other}");
        assert!(*parameters == 0 || values != others, "{other}");
    }
}
