//! Casts of users across crashes and clean stops: what calls of procedures converted with them, and the
//! definitions.

use crate::harness::{across_ends, state};

const WORK: &[&str] = &[
    "create type mood as enum ('sad', 'ok')",
    "create table felt (k int primary key, feels mood, word varchar, rank int)",
    "create function rank_of(mood) returns int language plpgsql as \
     $$ begin return case when $1 = 'sad' then -1 else 0 end; end $$",
    "create cast (varchar as mood) with inout as implicit",
    "create cast (mood as int) with function rank_of(mood) as assignment",
    "create cast (varchar as json) without function as assignment",
    "create procedure put(k int, word varchar) language plpgsql as $$ \
     declare m mood := word; begin insert into felt values (k, word, m, m); end $$",
    "call put(1, 'sad')",
    "call put(2, 'ok')",
    "create schema kept",
    "alter function rank_of(mood) set schema kept",
    "call put(3, 'sad')",
    "create view ranks as select k, feels::int as rank from felt",
    "comment on cast (mood as int) is 'ranks'",
    "create cast (mood as bigint) with inout",
    "drop cast (mood as bigint)",
    "begin",
    "create cast (mood as date) with inout",
    "rollback",
];

const LOOKS: &[&str] = &[
    "select * from felt order by k",
    "select * from ranks order by k",
    "select castsource::regtype, casttarget::regtype, castfunc, castcontext, castmethod, obj_description(oid, 'pg_cast') \
     from pg_cast where oid >= 16384 order by 1, 2",
];

#[test]
fn casts_are_recovered() {
    across_ends(WORK, LOOKS, |connection, way| {
        for (refused, sqlstate) in [
            ("drop function kept.rank_of(mood)", "2BP01"),
            ("drop type mood", "2BP01"),
            ("drop cast (mood as int)", "2BP01"),
            ("create cast (varchar as mood) with inout", "42710"),
            ("drop cast (mood as bigint)", "42704"),
            ("drop cast (mood as date)", "42704"),
        ] {
            assert_eq!(state(connection, refused), sqlstate, "{way}: {refused}");
        }
    });
}
