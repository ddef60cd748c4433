//! Polymorphic and variadic routines across crashes and clean stops: the calls of procedures, those that a
//! procedure of plain types makes, and what is made of the definitions.

use crate::harness::across_ends;

const WORK: &[&str] = &[
    "create table notes (n serial primary key, note text)",
    "create function larger(anyelement, anyelement) returns anyelement language sql as \
     'select case when $1 > $2 then $1 else $2 end'",
    "create function joined(sep text, variadic items anyarray) returns text language plpgsql as \
     $$ begin return array_to_string(items, sep); end $$",
    "create procedure note(x anyelement) language plpgsql as \
     $$ begin insert into notes (note) values (pg_typeof(x) || ' ' || x::text); end $$",
    "call note(1)",
    "call note('a'::text)",
    "create table pairs (k int primary key, v text)",
    "create procedure put(k int, a text, b text) language plpgsql as \
     $$ begin insert into pairs values (larger(k, 2), larger(a, b) || joined('/', k, larger(k, 5))); end $$",
    "call put(1, 'x', 'y')",
    "call put(7, 'x', 'b')",
    "call note(array[1.5])",
    "create procedure keep(k int, x anyelement) language plpgsql as \
     $$ begin insert into pairs values (k, pg_typeof(x) || ' ' || x::text); end $$",
    "call keep(20, 2.5)",
    "call keep(21, true)",
    "create function gone(anyelement) returns int language sql as 'select 1'",
    "drop function gone(anyelement)",
    "begin",
    "create function never(anyelement) returns int language sql as 'select 1'",
    "rollback",
    "create schema kept",
    "alter function larger(anyelement, anyelement) set schema kept",
    "create view shown as select kept.larger(1, 3) as g, joined(',', 'x'::text, 'y') as j",
];

const LOOKS: &[&str] = &[
    "select note from notes order by n",
    "select * from pairs order by k",
    "select * from shown",
    "select string_agg(proname || ' ' || pg_get_function_arguments(oid) || ' ' || \
     coalesce(pg_get_function_result(oid), '-'), ', ' order by proname) from pg_proc where oid >= 16384",
];

#[test]
fn polymorphic_routines_are_recovered() {
    across_ends(WORK, LOOKS, |_, _| {});
}
