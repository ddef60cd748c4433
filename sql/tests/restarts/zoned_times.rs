//! Times of day with time zone across crashes and clean stops: values, keys, arguments and literals.

use crate::harness::{across_ends, run, state};

const WORK: &[&str] = &[
    "create table t (id int primary key, a timetz unique, b time(1) with time zone default '12:00:00.26+02', \
     c timetz[])",
    "create procedure put(i int, t timetz, ts timetz[]) language plpgsql as $$ begin \
     insert into t values (i, t, default, ts) on conflict (id) do update set a = excluded.a; end $$",
    "call put(1, '10:00+01', '{24:00-15:59:59,NULL}')",
    "call put(2, '09:00+00', null)",
    "call put(1, '11:00+01', null)",
    "set time zone 'America/New_York'",
    "create view fixed as select timetz '2024-07-01 10:00' as at, timetz '2024-01-01 10:00' as later",
    "create type span as (begins timetz, ends timetz)",
    "create table s (whole span)",
    "insert into s values (row('10:00+01', '11:00+01'))",
];

const LOOKS: &[&str] = &[
    "select * from t order by a",
    "select id from t where a = '09:00+00'",
    "select * from fixed",
    "select (whole).ends from s",
];

#[test]
fn times_with_time_zone_are_recovered() {
    across_ends(WORK, LOOKS, |connection, way| {
        let refused = "insert into t values (3, '09:00+00')";
        assert_eq!(state(connection, refused), "23505", "{way}: {refused}");
        run(connection, "insert into t values (3, '10:00+01')");
    });
}
