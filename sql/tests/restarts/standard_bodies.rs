//! Routines with bodies in standard SQL across crashes and clean stops: what they return, what their names
//! mean, and what depends on what.

use crate::harness::{across_ends, run, state};

const WORK: &[&str] = &[
    "create table t (id int primary key, a text)",
    "create type mood as enum ('sad', 'happy')",
    "create function twice(x int) returns int return x * 2",
    "create function found(wanted int) returns text return (select a from t where id = twice(wanted))",
    "create function feels(b boolean) returns mood return case when b then 'happy'::mood else 'sad' end",
    "create procedure put(id int, a text) begin atomic insert into t values (id, a); \
     insert into t select x.id + 1, put.a || '!' from t x where x.id = put.id; end",
    "call put(4, 'four')",
    "call put(8, 'eight')",
    "create schema other",
    "create table other.t (id int, a text)",
    "set search_path = other",
    "begin",
    "drop function public.feels",
    "rollback",
    "reset search_path",
];

const LOOKS: &[&str] = &[
    "select * from public.t order by id",
    "select public.found(2), public.found(9), public.feels(true)",
    "select proname, pg_get_function_sqlbody(oid) from pg_proc where pronamespace = 'public'::regnamespace order by 1",
];

#[test]
fn bodies_in_standard_sql_are_recovered() {
    across_ends(WORK, LOOKS, |connection, way| {
        for refused in [
            "drop table public.t",
            "drop type public.mood",
            "drop function public.twice(int)",
            "alter table public.t drop column a",
        ] {
            assert_eq!(state(connection, refused), "2BP01", "{way}: {refused}");
        }
        run(connection, "call public.put(20, 'more')");
    });
}
