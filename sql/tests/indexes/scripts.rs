//! The scripts of the sessions in `lives`: on values that are unique at any time, and on those that may
//! exist twice until a statement or a transaction is done.

use rand::RngExt;
use rand::rngs::StdRng;

/// There are few values, so that the sessions conflict.
const VALUES: i32 = 12;

/// Tables and routines, and a generator of a session's next step: one statement, or a transaction of
/// several.
pub(crate) struct Script {
    pub(crate) setup: &'static [&'static str],
    pub(crate) next: fn(&mut StdRng, i32) -> Vec<String>,
}

/// The table `told`, in which calls record what they have found. It always exists.
pub(crate) const TOLD: &str = "create table told (id int primary key, note text unique)";

pub(crate) const AT_ONCE: Script = Script {
    setup: &[
        "create table t (id int primary key, a int unique, b int, c text)",
        "create index t_b on t (b desc, c)",
        "create procedure take(k int, v int) language plpgsql as $$ declare n int; m int; begin \
           select count(*), sum(id) into n, m from t where b >= v and b < v + 4; \
           insert into t values (k, v, n, 'c' || v) on conflict (a) do update set b = t.b + 1, c = 'u' || n; \
           insert into told values (k, k || ':' || n || ':' || coalesce(m, 0)); end $$",
        "create procedure give(k int, v int) language plpgsql as $$ declare r int; begin \
           begin update t set a = v + 1 where a = v returning id into r; \
           exception when unique_violation then delete from t where a = v returning id into r; end; \
           update t set b = v where b = v + 2 and c > 'u'; \
           insert into told values (k, k || ' ' || coalesce(r, -1)); end $$",
    ],
    next: |random, number| {
        let v = random.random_range(0..VALUES);
        vec![match random.random_range(0..9) {
            0..3 => format!("call take({number}, {v})"),
            3..5 => format!("call give({number}, {v})"),
            5 => format!("insert into t values ({number}, {v}, {v}, 'data')"),
            6 => format!("update t set a = null, b = {v} where a = {v}"),
            7 => format!("update t set a = {v}, id = {number} where b = {v} and c < 'e'"),
            _ => format!("delete from t where b between {v} and {}", v + 2),
        }]
    },
};

/// Calls that only read and change rows with such values may be logged as commands. Those that assign such
/// values are logged as data.
pub(crate) const LATER: Script = Script {
    setup: &[
        "create table t (id int primary key, a int unique deferrable initially deferred, b int, c text)",
        "create index t_b on t (b desc, c)",
        CALLS[0],
        CALLS[1],
        CALLS[2],
    ],
    next: next_later,
};

/// The same for rows that are keyed by row numbers.
pub(crate) const LATER_KEYS: Script = Script {
    setup: &[
        "create table t (id int primary key deferrable, a int unique deferrable initially deferred, b int, c text)",
        "create index t_b on t (b desc, c)",
        CALLS[0],
        CALLS[1],
        CALLS[2],
    ],
    next: next_later,
};

const CALLS: [&str; 3] = [
    "create procedure look(k int, v int) language plpgsql as $$ declare n int; m int; begin \
       select count(*), sum(id) into n, m from t where a = v; \
       update t set b = b + 1, c = 'u' || n where a = v or a = v + 2; \
       insert into told values (k, k || ':' || n || ':' || coalesce(m, 0)); end $$",
    "create procedure take(k int, v int) language plpgsql as $$ declare n int; begin \
       insert into t values (k, v, v, 'new'); \
       delete from t where a = v and id <> k; \
       get diagnostics n = row_count; \
       begin update t set a = v + 1 where a = v; raise division_by_zero; \
       exception when division_by_zero then insert into told values (k, k || ' ' || n); end; end $$",
    "create procedure give(k int, v int) language plpgsql as $$ declare r int; begin \
       delete from t where a = v returning id into r; \
       insert into told values (k, k || ' ' || coalesce(r, -1)); end $$",
];

fn next_later(random: &mut StdRng, number: i32) -> Vec<String> {
    let v = random.random_range(0..VALUES);
    let inserted = format!("insert into t values ({number}, {v}, {v}, 'data')");
    let one = match random.random_range(0..14) {
        0..3 => format!("call look({number}, {v})"),
        3..5 => format!("call take({number}, {v})"),
        5 => format!("call give({number}, {v})"),
        6 => inserted,
        7 => format!("update t set a = {} - a where a < {VALUES}", VALUES - 1),
        8 => format!("update t set id = {number} + 1, a = {v} where b = {v} and c < 'e'"),
        9 => return vec![inserted, format!("update t set a = null where a = {v} and id <> {number}")],
        10 => {
            let (other, back) = ((v + 1) % VALUES, format!("update t set a = {v} where id = {number}"));
            return vec![
                "set constraints all deferred".to_owned(),
                format!("insert into t values ({number}, {other}, 0, 'moves')"),
                "savepoint one".to_owned(),
                inserted,
                "rollback to one".to_owned(),
                back,
            ];
        }
        11 => {
            let other = (v + 3) % VALUES;
            return vec![
                format!("update t set a = {} - a where a in ({v}, {other})", v + other),
                "set constraints t_a_key immediate".to_owned(),
                inserted,
            ];
        }
        12 => "checkpoint".to_owned(),
        _ => format!("delete from t where b between {v} and {}", v + 2),
    };
    vec![one]
}
