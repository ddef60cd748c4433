//! Rows that a statement changes while it updates them, by a function that it calls: after a crash they are
//! what they were, however the change was logged.

use crate::harness::across_ends;

const WORK: &[&str] = &[
    "create table t (id int primary key, a int, b int, c text, wide text)",
    "create index on t (b)",
    "insert into t select g, 0, 0, 'none', repeat('x', 300) from generate_series(1, 20) g",
    "create function meddle(k int, what text) returns int language plpgsql as $$ begin \
       if what = 'a' then update t set a = 7 where id = k; \
       elsif what = 'b' then update t set b = 70 + k where id = k; \
       elsif what = 'c' then update t set c = 'more' where id = k; \
       elsif what = 'longer' then update t set c = 'something else' where id = k; \
       elsif what = 'again' then delete from t where id = k; \
         insert into t values (k, 5, 500 + k, 'anew', repeat('y', 300)); \
       end if; return 1; end $$",
    // The row is read, changed by the function, and then updated.
    "update t set a = meddle(id, 'b') where id = 1",
    "update t set a = meddle(id, 'c') where id = 2",
    "update t set a = meddle(id, 'longer') where id = 3",
    "update t set a = meddle(id, 'again') where id = 4",
    "update t set b = meddle(id, 'a') where id = 5",
    "update t set b = meddle(id, 'c') where id = 6",
    "update t set c = 'm' || meddle(id, 'a') || 'no' where id = 7",
    "update t set c = 'm' || meddle(id, 'b') || 'no' where id = 8",
    "begin",
    "update t set a = meddle(id, 'b'), c = 'here' where id between 9 and 12",
    "savepoint s",
    "update t set a = meddle(id, 'c') where id = 13",
    "rollback to s",
    "update t set a = 3, c = 'four' where id = 13",
    "commit",
    "update t set a = null where id = 14",
    "update t set a = 8, c = null where id = 15",
    "update t set wide = repeat('z', 300), b = 9 where id = 16",
];

const LOOKS: &[&str] =
    &["select id, a, b, c, md5(wide) from t order by id", "select id from t where b > 0 order by b, id"];

pub(crate) fn change_rows_twice() {
    across_ends(WORK, LOOKS, |_, _| {});
}
