//! Aggregates of users across crashes and clean stops: what calls of procedures computed with them, and the
//! definitions.

use crate::harness::{across_ends, state};

const WORK: &[&str] = &[
    "create table numbers (k int primary key, n int)",
    "create table sums (k int primary key, s text)",
    "create function step(state text, n int) returns text language plpgsql as \
     $$ begin return coalesce(state, '') || '[' || coalesce(n::text, '-') || ']'; end $$",
    "create function finish(state text) returns text language sql as $$ select '<' || state || '>' $$",
    "create aggregate steps(int) (sfunc = step, stype = text, finalfunc = finish, initcond = '')",
    "create aggregate total(int) (sfunc = int4pl, stype = int)",
    "create aggregate collected(anycompatible) (sfunc = array_append, stype = anycompatiblearray)",
    "create procedure put(i int, n int) language plpgsql as $$ begin \
     insert into numbers values (i, n); \
     insert into sums select i, steps(o.n order by k) || total(o.n) || collected(k order by k)::text \
     from numbers o; end $$",
    "call put(1, 5)",
    "call put(2, null)",
    "call put(3, 7)",
    "create schema kept",
    "alter function step(text, int) set schema kept",
    "call put(4, 1)",
    "create view shown as select k % 2 as g, steps(distinct n order by n) as s from numbers group by 1",
    "comment on aggregate total(int) is 'adds'",
    "create aggregate gone(int) (sfunc = int4pl, stype = int)",
    "drop aggregate gone(int)",
    "begin",
    "create aggregate never(int) (sfunc = int4pl, stype = int)",
    "rollback",
];

const LOOKS: &[&str] = &[
    "select * from sums order by k",
    "select * from shown order by g",
    "select string_agg(aggfnoid || ' ' || aggtransfn || ' ' || aggfinalfn || ' ' || coalesce(agginitval, '-'), \
     ', ' order by aggfnoid::oid) from pg_aggregate where aggfnoid::oid >= 16384",
    "select obj_description('total(int)'::regprocedure)",
];

#[test]
fn aggregates_are_recovered() {
    across_ends(WORK, LOOKS, |connection, way| {
        assert_eq!(state(connection, "drop function kept.step(text, int)"), "2BP01", "{way}");
        assert_eq!(state(connection, "select gone(1)"), "42883", "{way}");
    });
}
