//! Types of extensions across crashes and clean stops: their values, keys and arguments.

use crate::harness::{across_ends, run, state};

const WORK: &[&str] = &[
    "create schema kept",
    "create extension citext",
    "create extension hstore with schema kept",
    "create table p (name citext primary key, pairs kept.hstore, names citext[], many kept.hstore[])",
    "create unique index on p (pairs)",
    "create procedure put(n citext, h kept.hstore, ns citext[]) language plpgsql as $$ begin \
     insert into p values (n, h, ns) on conflict (name) do update set pairs = excluded.pairs; end $$",
    "call put('Ann', 'a=>1, b=>NULL', '{X,NULL}')",
    "call put('Bob', 'bb=>2', null)",
    "call put('ANN', 'b=>3', null)",
    "insert into p values ('Carl', '', '{}', '{a=>1,NULL}')",
    "create view shouting as select upper(name) as name from p where name like 'b%'",
    "create domain short as citext check (value <> 'ROOT')",
    "create table q (s short default 'X'::citext)",
    "insert into q values (default)",
    "begin",
    "drop extension hstore cascade",
    "rollback",
];

const LOOKS: &[&str] = &[
    "select * from p order by name",
    "select name from p where name = 'ANN'",
    "select name from p where pairs = 'bb=>2'::kept.hstore",
    "select * from shouting",
    "select s from q where s = 'x'",
    "select extname, nspname from pg_extension join pg_namespace n on n.oid = extnamespace order by 1",
    "select typname, nspname from pg_type join pg_namespace n on n.oid = typnamespace \
     where typname in ('citext', 'hstore') order by 1",
];

#[test]
fn types_of_extensions_are_recovered() {
    across_ends(WORK, LOOKS, |connection, way| {
        for (refused, sqlstate) in [
            ("insert into p values ('ann')", "23505"),
            ("insert into p values ('x', 'b=>3')", "23505"),
            ("insert into q values ('root')", "23514"),
            ("create extension citext", "42710"),
            ("drop extension citext", "2BP01"),
        ] {
            assert_eq!(state(connection, refused), sqlstate, "{way}: {refused}");
        }
        run(connection, "insert into p values ('Dan', 'd=>4')");
    });
}
