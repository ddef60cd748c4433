//! No statement escapes the clock: whatever it does, it looks at the clock and at requests to stop as often
//! as its work demands (`hyades_types::guest`).
//!
//! These looks depend on the work that code reports, not on time, so they can be counted. Each statement of
//! the tables below must look at least as often as its row says, and must end with 57014 if it is cancelled
//! at a look in the middle. New code that loops over what a user controls gets a row.
//!
//! With `HYADES_SHOW_LOOKS=1` the tests print how often each statement looks, and the longest time between
//! two looks: in a release build more than some milliseconds are work that is not reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hyades_engine::config::{Config, ProtocolKind};
use hyades_sim::disk::SimulatedDisk;
use hyades_types::error::{Result, sqlstate};
use hyades_types::guest::{Host, StopRequest};
use parking_lot::Mutex;

use crate::connection::Connection;
use crate::session::Database;

/// Counts the looks of a session, and cancels its statement at one of them.
#[derive(Clone, Default)]
struct Watch {
    looks: Arc<AtomicUsize>,
    cancels_at: Arc<AtomicUsize>,
    stop: Arc<StopRequest>,
    times: Arc<Mutex<Times>>,
}

/// Only for people.
#[derive(Default)]
struct Times {
    last: Option<Instant>,
    longest: Duration,
}

impl Times {
    fn look(&mut self) {
        let now = Instant::now();
        let silence = self.last.replace(now).map_or(Duration::ZERO, |last| now - last);
        self.longest = self.longest.max(silence);
    }
}

impl Host for Watch {
    fn overstayed(&mut self, _: Duration) {}

    fn looked(&mut self) {
        self.times.lock().look();
        if self.looks.fetch_add(1, Ordering::Relaxed) + 1 == self.cancels_at.load(Ordering::Relaxed) {
            self.stop.cancel();
        }
    }
}

impl Watch {
    fn over(connection: &mut Connection) -> Watch {
        let watch = Watch { stop: connection.session().stop_request(), ..Watch::default() };
        connection.session().set_host(Box::new(watch.clone()));
        watch
    }

    /// Runs a statement, which is cancelled at this look (0: not at all), and takes back what it has done.
    /// Returns its looks.
    fn run(&self, connection: &mut Connection, sql: &str, cancels_at: usize) -> (Result<u64>, usize) {
        // What ends transactions cannot run in a block.
        let is_in_block = !sql.starts_with("call");
        if is_in_block {
            connection.execute("begin", &[]).expect("a transaction");
        }
        self.looks.store(0, Ordering::Relaxed);
        self.cancels_at.store(cancels_at, Ordering::Relaxed);
        *self.times.lock() = Times { last: Some(Instant::now()), longest: Duration::ZERO };
        let outcome = connection.execute(sql, &[]);
        self.times.lock().look();
        let looks = self.looks.load(Ordering::Relaxed);
        self.cancels_at.store(0, Ordering::Relaxed);
        self.stop.withdraw();
        if is_in_block {
            connection.execute("rollback", &[]).expect("the end of the transaction");
        }
        (outcome, looks)
    }
}

/// One statement. What it does must be the same each time it runs.
struct Work {
    name: &'static str,
    sql: String,
    /// The least number of looks.
    least: usize,
}

fn work(name: &'static str, least: usize, sql: impl Into<String>) -> Work {
    Work { name, sql: sql.into(), least }
}

/// A loop in PL/pgSQL, whose body is run this often.
fn repeated(name: &'static str, least: usize, times: usize, body: &str) -> Work {
    work(name, least, format!("do $$ begin for i in 1..{times} loop {body} end loop; end $$"))
}

const SETUP: [&str; 12] = [
    "create table one (id integer primary key)",
    "insert into one values (1)",
    "create table big (id integer primary key, v text, n integer)",
    "insert into big select g, 'row ' || g, g % 1000 from generate_series(1, 20000) g",
    "create table child (id integer primary key, one integer references one deferrable initially deferred)",
    "create function tiny() returns integer language plpgsql as 'begin return 1; end'",
    "create function fails() returns integer language plpgsql as 'begin raise exception ''x''; end'",
    "create function guarded(n integer) returns integer language plpgsql as \
     'begin return 1 / (n - n); exception when division_by_zero then return 0; end'",
    "create function deep(n integer) returns integer language plpgsql as 'begin return deep(n + 1); end'",
    "create function in_sql(n integer) returns integer language sql as 'select count(*)::int from one where id = n'",
    "create procedure commits() language plpgsql as 'begin for i in 1..3000 loop commit; end loop; end'",
    "create procedure rolls_back() language plpgsql as 'begin for i in 1..3000 loop rollback; end loop; end'",
];

fn database() -> Database {
    let config = Config {
        protocol: ProtocolKind::None,
        disk: Arc::new(SimulatedDisk::new(1)),
        ..Config::new("/data")
    };
    let database = Database::open(config).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    for sql in SETUP {
        connection.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    database
}

/// Runs each statement twice: to its end, and cancelled in the middle.
fn expect_looks(works: &[Work]) {
    let is_shown = std::env::var_os("HYADES_SHOW_LOOKS").is_some();
    let database = database();
    let mut wrong = Vec::new();
    for Work { name, sql, least } in works {
        let mut connection = database.connect().expect("a connection");
        let watch = Watch::over(&mut connection);
        let start = Instant::now();
        let (outcome, looks) = watch.run(&mut connection, sql, 0);
        if is_shown {
            let longest = watch.times.lock().longest.as_secs_f64() * 1e3;
            let took = start.elapsed().as_secs_f64() * 1e3;
            println!("{name:<50} {looks:>8} looks  {took:>8.1} ms  longest silence {longest:>7.2} ms");
        }
        if let Err(error) = outcome {
            wrong.push(format!("{name}: {} {error}", error.sqlstate().0));
            continue;
        }
        if looks < *least {
            wrong.push(format!("{name}: {looks} looks, expected at least {least}"));
            continue;
        }
        let (outcome, _) = watch.run(&mut connection, sql, looks.div_ceil(2));
        match outcome {
            Err(error) if error.sqlstate() == sqlstate::QUERY_CANCELED => {}
            Err(error) => wrong.push(format!("{name}, cancelled: {} {error}", error.sqlstate().0)),
            Ok(_) => wrong.push(format!("{name}: it was cancelled and did not notice")),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A sum of two to the power of `levels` variables, nested no deeper than necessary.
fn balanced(levels: usize) -> String {
    match levels {
        0 => "i".to_owned(),
        _ => format!("({} + {})", balanced(levels - 1), balanced(levels - 1)),
    }
}

/// The end of a block that catches everything.
const CAUGHT: &str = "exception when others then null; end;";

/// Loops that leave the interpreter, or one of its activations, more often than it looks by itself.
#[test]
fn loops_over_errors_look_at_the_clock() {
    let caught = CAUGHT;
    expect_looks(&[
        repeated("an empty loop", 2, 20_000, "null;"),
        repeated("an error is raised and caught", 50, 5_000, &format!("begin raise exception 'x'; {caught}")),
        repeated(
            "a division by zero, caught",
            50,
            5_000,
            &format!("declare n integer; begin n := 1 / (i - i); {caught}"),
        ),
        repeated(
            "a duplicate key, caught",
            50,
            5_000,
            &format!("begin insert into one values (1); {caught}"),
        ),
        repeated(
            "blocks in blocks, all with handlers",
            50,
            5_000,
            &format!(
                "begin begin begin raise exception 'x'; {caught} raise exception 'y'; {caught} {caught}"
            ),
        ),
        repeated(
            "an error that is raised again",
            50,
            5_000,
            &format!("begin begin raise exception 'x'; exception when others then raise; end; {caught}"),
        ),
        repeated(
            "an insert that is undone",
            50,
            5_000,
            &format!("begin insert into one values (2); raise exception 'x'; {caught}"),
        ),
    ]);
}

#[test]
fn loops_over_calls_and_requests_look_at_the_clock() {
    let caught = CAUGHT;
    expect_looks(&[
        repeated("a call", 20, 10_000, "perform tiny();"),
        repeated("a call that fails, caught", 50, 5_000, &format!("begin perform fails(); {caught}")),
        repeated("a function in SQL", 5, 2_000, "perform in_sql(i);"),
        repeated("recursion without an end, caught", 5, 5, &format!("begin perform deep(1); {caught}")),
        repeated("EXECUTE", 20, 2_000, "execute 'select 1';"),
        repeated("EXECUTE of what fails, caught", 20, 2_000, &format!("begin execute 'selec 1'; {caught}")),
        repeated(
            "EXECUTE of a schema change",
            5,
            200,
            "execute 'create temp table x (a int)'; execute 'drop table x';",
        ),
        repeated(
            "a cursor",
            4,
            2_000,
            "declare c cursor for select id from one; n integer; begin open c; fetch c into n; close c; end;",
        ),
        repeated(
            "a loop over rows",
            4,
            2_000,
            "declare r record; begin for r in select id from one loop null; end loop; end;",
        ),
        work(
            "an expression of many parts, again and again",
            20,
            format!(
                "do $$ declare n bigint; begin for i in 1..300 loop n := {}; end loop; end $$",
                balanced(11)
            ),
        ),
        work(
            "a row of 1 MB, changed again and again",
            10,
            "do $$ begin insert into big values (0, repeat('x', 1000000), 1); \
             for i in 1..20 loop update big set n = n + 1, v = v || 'x' where id = 0; end loop; end $$",
        ),
        repeated("a message", 4, 20_000, "raise notice 'x';"),
        work("COMMIT", 100, "call commits()"),
        work("ROLLBACK", 100, "call rolls_back()"),
        work(
            "a function with a handler, for every row",
            50,
            "select count(guarded(id)) from big where id <= 5000",
        ),
    ]);
}

fn listed(count: usize, separator: &str, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(separator)
}

/// Texts that take long to parse, to bind, to plan or to compile.
#[test]
fn long_lists_look_at_the_clock() {
    expect_looks(&[
        work(
            "VALUES of 20,000 rows",
            20,
            format!("values {}", listed(20_000, ", ", |at| format!("({at}, 'x')"))),
        ),
        work(
            "INSERT of 20,000 rows",
            20,
            format!(
                "insert into big values {}",
                listed(20_000, ", ", |at| format!("({}, 'x', 1)", at + 100_000))
            ),
        ),
        work(
            "IN with 50,000 constants",
            20,
            format!("select count(*) from big where id in ({})", listed(50_000, ",", |at| at.to_string())),
        ),
        work(
            "IN with 20,000 texts, no index",
            20,
            format!(
                "select count(*) from big where id < 100 and v in ({})",
                listed(20_000, ",", |at| format!("'{at}'"))
            ),
        ),
        work(
            "OR of 1,000 comparisons",
            4,
            format!(
                "select count(*) from big where {}",
                listed(1_000, " or ", |at| format!("n = {}", at + 5000))
            ),
        ),
    ]);
}

/// It may be a single token.
#[test]
fn a_long_text_is_announced_before_it_is_split() {
    let database = database();
    let mut connection = database.connect().expect("a connection");
    let watch = Watch::over(&mut connection);
    let text = format!("select '{}'", "x".repeat(1 << 20));
    connection.session().split(&text).expect("one statement");
    assert_eq!(watch.looks.load(Ordering::Relaxed), 1);
    watch.cancels_at.store(2, Ordering::Relaxed);
    let refused = connection.session().split(&text).expect_err("it was cancelled");
    assert_eq!(refused.sqlstate(), sqlstate::QUERY_CANCELED);
}

#[test]
fn long_queries_look_at_the_clock() {
    let joined = |count: usize| {
        let joins: String =
            (1..count).map(|at| format!(" join big t{at} on t{at}.id = t{}.id", at - 1)).collect();
        format!("select count(*) from big t0{joins} where t0.id = 1")
    };
    expect_looks(&[
        work("200 tables joined", 20, joined(200)),
        work(
            "300 common table expressions",
            2,
            format!(
                "with c0 as (select 1 as a), {} select * from c300",
                listed(300, ", ", |at| format!("c{} as (select {at} as a)", at + 1))
            ),
        ),
        work("1,000 SELECTs in a UNION", 2, listed(1_000, " union all ", |at| format!("select {at}"))),
        work("1,000 expressions", 2, format!("select {}", listed(1_000, ", ", |at| format!("{at} + 1 * 2")))),
        work(
            "500 subqueries",
            5,
            format!(
                "select {}",
                listed(500, ", ", |at| format!("(select count(*) from one where id = {at})"))
            ),
        ),
        work("3,000 nested parentheses", 2, format!("select {}1{}", "(".repeat(3_000), ")".repeat(3_000))),
        work("a sum of 5,000 numbers", 5, format!("select 1{}", " + 1".repeat(5_000))),
    ]);
}

#[test]
fn long_routines_and_definitions_look_at_the_clock() {
    let body = |statement: &str, count: usize| {
        format!("do $$ declare n integer; begin if false then {} end if; end $$", statement.repeat(count))
    };
    expect_looks(&[
        work("a block of 5,000 assignments", 5, body("n := 1 + 2;", 5_000)),
        work("a block of 1,000 statements", 5, body("select count(*) into n from one where id = 1;", 1_000)),
        work(
            "a CASE of 2,000 branches",
            5_000,
            format!(
                "select case n {} end from big",
                listed(2_000, " ", |at| format!("when {} then {at}", at + 5_000))
            ),
        ),
        work(
            "a table of 1,000 columns",
            2,
            format!(
                "create table wide ({})",
                listed(1_000, ", ", |at| format!("c{at} integer default {at}"))
            ),
        ),
    ]);
}

/// Statements over many rows.
#[test]
fn queries_over_many_rows_look_at_the_clock() {
    expect_looks(&[
        work("a series", 20, "select count(*) from generate_series(1, 50000) g"),
        work("a scan", 10, "select count(*) from big where v = ''"),
        work("a sort", 20, "select v from big order by v desc, id"),
        work("groups", 20, "select v, count(*) from big group by v"),
        work("DISTINCT", 20, "select distinct v from big"),
        work("count(distinct)", 10, "select count(distinct v) from big"),
        work("UNION", 20, "select v from big union select v || 'x' from big"),
        work("EXCEPT", 20, "select v from big except select v from big"),
        work("INTERSECT", 20, "select v from big intersect select v from big"),
        work("a join with a hash table", 20, "select count(*) from big a join big b on a.v = b.v"),
        work("an outer join", 20, "select count(*) from big a full join big b on a.v = b.v || 'x'"),
        work(
            "rows crossed",
            20,
            "select count(*) from big a, big b where a.n = 1 and a.v || 'x' = b.v || 'y'",
        ),
        work(
            "a recursion",
            20,
            "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5000) select count(*) from r",
        ),
        work(
            "a recursion without duplicates",
            20,
            "with recursive r(n) as (select 1 union select (n + 1) % 5000 from r) select count(*) from r",
        ),
        work(
            "EXISTS",
            20,
            "select count(*) from big a where exists (select from big b where b.n = a.n and b.v = a.v || 'x' and a.n < 2)",
        ),
        work("an array of many", 10, "select cardinality(array_agg(v)) from big"),
        work(
            "a window over all rows",
            20,
            "select sum(r) from (select rank() over (order by v, id desc) r from big) x",
        ),
        work(
            "a frame that moves",
            50,
            "select max(m) from (select max(v) over (order by id rows between 50 preceding and 50 following) m from big) x",
        ),
        work(
            "a frame without rows",
            20,
            "select count(*) from (select sum(n) over (order by n range between 5 following and 4 following) from (select id, 1 n from big) y) x",
        ),
        work("a text of many", 10, "select length(string_agg(v, ',')) from big"),
        work("unnest", 10, "select count(*) from unnest(array_fill(1, array[50000]))"),
    ]);
}

#[test]
fn changes_of_many_rows_look_at_the_clock() {
    expect_looks(&[
        work(
            "rows inserted",
            15,
            "insert into big select g + 100000, 'x', 1 from generate_series(1, 10000) g",
        ),
        work("rows changed", 25, "update big set v = v || 'x'"),
        work("keys changed", 50, "update big set id = id + 100000"),
        work("rows deleted", 50, "delete from big"),
        work("an index", 50, "create index on big (v)"),
        work("a column", 10, "alter table big add column c integer default 1"),
        work("a type changed", 20, "alter table big alter column n type bigint"),
        work("a constraint", 10, "alter table big add check (n >= 0)"),
        work("a foreign key", 5, "alter table big add foreign key (id) references big (id)"),
        work("a table made of a query", 20, "create table copied as select * from big"),
        work("COPY out", 10, "copy big to stdout"),
        work(
            "rows read in a loop",
            10,
            "do $$ declare r record; begin for r in select * from big loop null; end loop; end $$",
        ),
        work(
            "a cursor over all",
            10,
            "do $$ declare c cursor for select * from big; r record; begin open c; loop fetch c into r; exit when not found; end loop; end $$",
        ),
    ]);
}
