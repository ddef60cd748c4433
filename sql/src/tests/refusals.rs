//! What Hyades lacks is refused by name: with 0A000, at a place, and with what can be done instead.

use std::sync::Arc;

use hyades_engine::config::Config;
use hyades_sim::disk::SimulatedDisk;
use hyades_types::error::Error;

use crate::Database;

/// Statements, and where the refusal points: the first word there. Nowhere, if the word is empty: then only
/// its run finds out, or there is no word for it.
const REFUSED: &[(&str, &str)] = &[
    ("create table p (a int) partition by range (a)", "partition"),
    ("create table q partition of t for values in (1)", "partition"),
    ("alter table t attach partition q for values in (1)", "attach"),
    ("create table i (b int) inherits (t)", "inherits"),
    ("alter table t inherit u", "inherit"),
    ("create table x of u", "of"),
    ("create table x (exclude using gist (a with =))", "exclude"),
    ("alter table t set unlogged", "set"),
    ("alter table t set tablespace s", "set"),
    ("alter table t cluster on t_pkey", "cluster"),
    ("alter table t enable row level security", "enable"),
    ("create policy p on t", "policy"),
    ("create rule r as on insert to t do nothing", "rule"),
    ("drop rule r on t", "rule"),
    ("create index on t using gin (a)", "using"),
    ("create index on t using gist (a)", "using"),
    ("create index on t using brin (a)", "using"),
    ("create index on t (a) tablespace s", "tablespace"),
    ("create index on t (a collate \"de_DE\")", "\"de_DE\""),
    ("create collation c (locale = 'de')", "collation"),
    ("create operator === (leftarg = int, rightarg = int, function = f)", "operator"),
    ("create statistics s on a, b from t", "statistics"),
    ("create event trigger e on ddl_command_end execute function f()", "event"),
    ("create foreign table f (a int) server s", "foreign"),
    ("create server s foreign data wrapper w", "server"),
    ("create publication p", "publication"),
    ("create subscription s connection '' publication p", "subscription"),
    ("create language l", "language"),
    ("create tablespace s location '/'", "tablespace"),
    ("create text search dictionary d (template = simple)", "text"),
    ("create conversion c for 'LATIN1' to 'UTF8' from f", "conversion"),
    ("create transform for int language sql (from sql with function f)", "transform"),
    ("create type r as range (subtype = int)", "range"),
    ("create type b (input = f, output = f)", "("),
    ("alter system set work_mem = 1", "system"),
    ("alter large object 1 owner to o", "large"),
    ("alter default privileges grant select on tables to public", "default"),
    ("alter database hyades refresh collation version", "refresh"),
    ("alter extension plpgsql update", "extension"),
    ("drop owned by postgres", "owned"),
    ("reassign owned by postgres to postgres", "reassign"),
    ("grant select (a) on t to public", "("),
    ("security label on table t is 'x'", "security"),
    ("create view v as select a from t with check option", "check"),
    ("create view v with (check_option = local) as select a from t", ""),
    ("create view v with (security_invoker = on) as select a from t", ""),
    ("alter view w rename column a to c", "rename"),
    ("alter view w alter column a set default 1", "alter"),
    ("create function f() returns int language sql security definer as 'select 1'", "definer"),
    ("create function f() returns int language c as 'a', 'b'", ","),
    ("create function f() returns int language sql begin atomic update t set a = 1 returning a; end", ""),
    ("create function f() returns record language sql as 'select 1, 2'", ""),
    ("create function f() returns int language sql set work_mem = 1 as 'select 1'", "set"),
    ("create function pg_temp.f() returns int language sql as 'select 1'", ""),
    ("alter function g() rename to h", "alter"),
    ("create table m (a money)", "money"),
    ("create table m (a xml)", "xml"),
    ("create table m (a point)", "point"),
    ("create table m (a tsvector)", "tsvector"),
    ("create table m (a int4range)", "int4range"),
    ("create table m (a bit(3))", "bit"),
    ("select b'1'", "b"),
    ("select xmlelement(name a)", "xmlelement"),
    ("select normalize('a')", "normalize"),
    ("select ctid from t", "ctid"),
    ("select * from t tablesample system (1)", "tablesample"),
    ("select a from t order by a collate \"de_DE\"", "a"),
    ("merge into t using u on t.a = u.a when matched then delete", "merge"),
    ("copy t from '/tmp/t'", "'/tmp/t'"),
    ("prepare transaction 'x'", "transaction"),
    ("commit prepared 'x'", "prepared"),
    ("cluster t", "cluster"),
    ("load 'x'", "load"),
    ("import foreign schema s from server r into public", "import"),
    ("set standard_conforming_strings = off", ""),
    ("do $$ begin lock table t; end $$", "lock"),
];

#[test]
fn what_is_missing_is_refused_with_a_place_and_a_hint() {
    let config = Config {
        disk: Arc::new(SimulatedDisk::new(1)),
        segment_bytes: 64 * 4096,
        log_buffer_bytes: 1 << 16,
        ..Config::new("/data")
    };
    let database = Database::open(config).expect("opens");
    let mut connection = database.connect().expect("a connection");
    let tables = ["create table t (a int primary key, b int)", "create view w as select a from t"];
    for sql in tables {
        connection.execute(sql, &[]).expect(sql);
    }
    let mut wrong = Vec::new();
    for (sql, word) in REFUSED {
        let Err(Error::Input(error)) = connection.execute(sql, &[]) else {
            wrong.push(format!("{sql}: not refused"));
            continue;
        };
        let place = error.position.map_or("", |position| {
            let rest = sql.char_indices().nth(position as usize - 1).map_or("", |(at, _)| &sql[at..]);
            rest.get(..word.len()).filter(|_| !word.is_empty()).unwrap_or(rest)
        });
        if error.state.0 != "0A000" || error.hint.is_none() || place != *word {
            wrong
                .push(format!("{sql}: {} at {place:?}: {} ({:?})", error.state.0, error.message, error.hint));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
