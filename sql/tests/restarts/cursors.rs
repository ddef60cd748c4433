//! Cursors that routines open belong to the session and appear in no log. Calls that use one are logged as
//! data, and what they have written is recovered.

use crate::harness::{across_ends, run, state};

const WORK: &[&str] = &[
    "create table t (id int primary key, n int)",
    "insert into t select i, i * 10 from generate_series(1, 9) i",
    "create procedure sums(inout c refcursor, way int) language plpgsql as $$ \
     declare k int; total int = 0; begin open c for select n from t where n >= way order by n; \
     loop fetch c into k; exit when not found; total = total + k; end loop; close c; \
     insert into t values (100 + way, total); end $$",
    "call sums(null, 50)",
    "call sums('named', 70)",
    "begin",
    "call sums('named', 60)",
    "rollback",
    "do $$ declare c refcursor; begin open c for select id from t; commit; update t set n = n + 1; end $$",
];

#[test]
fn what_calls_with_cursors_wrote_is_recovered() {
    across_ends(WORK, &["select * from t order by id"], |connection, way| {
        run(connection, "call sums('again', 20)");
        assert_eq!(state(connection, "fetch again"), "34000", "{way}");
        let lines = connection.query("explain call sums('c', 1)", &[]).expect("a plan");
        let shown = format!("{lines:?}");
        assert!(shown.contains("data (it uses cursors that the session keeps)"), "{way}: {shown}");
    });
}
