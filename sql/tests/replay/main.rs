//! Statements whose effects a restart once lost or changed. A database is written, its machine loses power,
//! and recovery must find what was there. (`promises` looks for more of them.)

mod generator;
mod round;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyades::engine::recovery::recover;
use hyades::engine::storage::databases::Databases;
use hyades::{Config, Connection, Database, Value};
use hyades_sim::disk::SimulatedDisk;

use round::{Client, Tally, config, round};

/// A text for each row.
fn rows(connection: &mut Connection, sql: &str) -> Vec<String> {
    let show = |value: &Value| match value {
        Value::Null => "null".to_owned(),
        value => hyades::types::text::format(value, &jiff::tz::TimeZone::UTC).to_string(),
    };
    let rows = connection.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.iter().map(|row| row.iter().map(show).collect::<Vec<String>>().join("|")).collect()
}

/// How the call is logged according to EXPLAIN.
fn logging(connection: &mut Connection, call: &str) -> String {
    let lines = rows(connection, &format!("explain {call}"));
    let logging = lines.iter().find_map(|line| line.trim().strip_prefix("Logging: "));
    logging.unwrap_or_else(|| panic!("{call}: {lines:?}")).to_owned()
}

/// Runs the statements, calls `p()`, loses power, and opens again. Returns what EXPLAIN said of the call,
/// and the rows of `question` before and after.
fn across_a_crash(setup: &[&str], question: &str) -> (String, Vec<String>, Vec<String>) {
    let disk = SimulatedDisk::new(1);
    let database = Database::open(config(&disk)).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    for sql in setup {
        connection.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let logging = logging(&mut connection, "call p()");
    connection.execute("call p()", &[]).expect("the call succeeds");
    let before = rows(&mut connection, question);
    disk.crash_now();
    let found = disk.after_power_cut(1);
    let database = Database::open(config(&found)).expect("what was acknowledged can be opened");
    let after = rows(&mut database.connect().expect("a connection"), question);
    (logging, before, after)
}

const TABLES: [&str; 3] = [
    "create table t (id int primary key, v int, n numeric)",
    "insert into t values (1, 10, 1.5), (2, 20, 2.5)",
    "create table l (id int primary key, n bigint, at timestamptz, note text)",
];

fn procedure(declarations: &str, body: &str) -> String {
    format!("create procedure p() language plpgsql as $$ declare {declarations} begin {body} end $$")
}

#[test]
fn the_time_of_day_above_an_aggregate_makes_a_call_data() {
    for body in [
        "insert into l select 1, count(*), clock_timestamp(), 'x' from t;",
        "select max(v), clock_timestamp() into n, at from t; insert into l values (1, n, at, 'x');",
        "insert into l select v, count(*), now(), 'x' from t group by v having clock_timestamp() > '2000-01-01'::timestamptz;",
        "insert into l select v, count(*), now(), 'x' from t group by v order by v limit extract(second from clock_timestamp())::int;",
        "insert into l select v, 1, now(), 'x' from t order by v offset extract(second from clock_timestamp())::int % 2;",
    ] {
        let create = procedure("n bigint; at timestamptz;", body);
        let setup = [TABLES[0], TABLES[1], TABLES[2], create.as_str()];
        let (logging, before, after) = across_a_crash(&setup, "select * from l order by id");
        assert_eq!(logging, "data (it asks for the time of day while it runs)", "{body}");
        assert_eq!(before, after, "{body}");
    }
}

#[test]
fn a_call_that_stops_sessions_is_data() {
    // No session has this number: the answer is false, and a replay must not ask again.
    for asks in ["pg_cancel_backend(-1)", "pg_try_advisory_lock(1)", "pg_notify('c', 'x') = ''"] {
        let body = format!("b := {asks}; insert into l values (1, 1, now(), b::text);");
        let create = procedure("b bool;", &body);
        let (logging, before, after) =
            across_a_crash(&[TABLES[0], TABLES[2], create.as_str()], "select * from l order by id");
        assert_eq!(logging, "data (it acts on other sessions)");
        assert_eq!(before, after);
    }
}

#[test]
fn a_call_whose_statements_are_known_late_is_data() {
    let insert = "execute 'insert into l values (1, $1, now(), $2)' using 7, 'x';";
    let create = procedure("", insert);
    let (logging, before, after) =
        across_a_crash(&[TABLES[0], TABLES[2], create.as_str()], "select * from l order by id");
    assert_eq!(logging, "data (it runs statements that are known only then (EXECUTE))");
    assert_eq!(before, after);
}

#[test]
fn a_call_that_ends_transactions_is_data() {
    let create = procedure(
        "",
        "insert into l values (1, 1, now(), 'kept'); commit; insert into l values (2, 1, now(), 'lost'); rollback; \
         insert into l values (3, 1, now(), 'last');",
    );
    let (logging, before, after) =
        across_a_crash(&[TABLES[0], TABLES[2], create.as_str()], "select * from l order by id");
    assert_eq!(logging, "data (it ends transactions itself)");
    assert_eq!(before, after);
    let shown = before.join("\n");
    assert!(shown.contains("kept") && shown.contains("last") && !shown.contains("lost"), "{shown}");
}

#[test]
fn a_call_with_a_cursor_is_a_command() {
    let create = procedure(
        "c cursor (least int) for select id, v from t where v >= least order by id; i int; n int;",
        "open c(5); fetch c into i, n; insert into l values (i, n, now(), 'fetched'); close c; \
         for r in c(15) loop insert into l values (r.id + 10, r.v, now(), 'loop'); end loop;",
    );
    let setup = [TABLES[0], TABLES[1], TABLES[2], create.as_str()];
    let (logging, before, after) = across_a_crash(&setup, "select * from l order by id");
    assert!(logging.starts_with("command"), "{logging}");
    assert_eq!(before, after);
    assert_eq!(before.len(), 2);
}

/// A run inside of it may fail, so its inserts look for other rows, and its caller needs its results.
#[test]
fn a_call_that_calls_itself_is_replayed_whole() {
    let create = procedure(
        "n int;",
        "select count(*) into n from l; insert into l values (least(n, 1), n, now(), 'level'); \
         begin call p(); insert into l values (20 + n, n, now(), 'not reached'); \
         exception when unique_violation then insert into l values (10 + n, n, now(), 'caught'); end;",
    );
    let question = "select id, n, note from l order by id";
    let (logging, before, after) = across_a_crash(&[TABLES[2], create.as_str()], question);
    assert!(logging.starts_with("command"), "{logging}");
    assert_eq!(before, after);
    assert_eq!(before, ["0|0|level", "1|1|level", "11|1|caught", "20|0|not reached"]);
}

/// The slot of the SELECT is that of the UPDATE, so all of the row is needed.
#[test]
fn a_long_row_that_a_callee_locks_and_changes_stays_whole() {
    let callee = "create procedure inner_p(k int) language plpgsql as $$ declare g int; begin \
                  select grp into strict g from doc where id = k for update; \
                  update doc set grp = g + 1 where id = k; end $$";
    let create = procedure("", "call inner_p(1);");
    let setup = [
        "create table doc (id int primary key, grp int not null, body text)",
        "create index on doc (grp)",
        "insert into doc values (1, 1, repeat('x', 500))",
        callee,
        create.as_str(),
    ];
    let (logging, before, after) = across_a_crash(&setup, "select grp, length(body), body from doc");
    assert!(logging.starts_with("command"), "{logging}");
    assert_eq!(before, after);
    assert!(before[0].starts_with("2|500|"), "{before:?}");
}

#[test]
fn numbers_that_no_row_may_hold_fail_their_statement() {
    let disk = SimulatedDisk::new(2);
    let database = Database::open(config(&disk)).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    connection.execute("create table n (id int primary key, v numeric)", &[]).expect("a new table");
    connection.execute("insert into n values (0, 0)", &[]).expect("a new row");
    let nines = "repeat('9', 131072)";
    for value in [
        format!("floor(('-' || {nines} || '.5')::numeric)"),
        format!("ceil(({nines} || '.5')::numeric)"),
        format!("ceiling(({nines} || '.000001')::numeric)"),
        format!("round(({nines} || '.5')::numeric)"),
        format!("round(({nines} || '.99')::numeric, 1)"),
        format!("div({nines}::numeric, 0.0001)"),
    ] {
        for statement in
            [format!("insert into n values (1, {value})"), format!("update n set v = {value} where id = 0")]
        {
            let error = connection.execute(&statement, &[]).expect_err(&statement);
            assert_eq!(error.sqlstate().0, "22003", "{statement}: {error}");
            assert_eq!(error.to_string(), "value overflows numeric format", "{statement}");
        }
    }
    let most = format!("insert into n values (1, floor(({nines} || '.5')::numeric))");
    connection.execute(&most, &[]).expect("as many digits as there may be");
    disk.crash_now();
    let database = Database::open(config(&disk.after_power_cut(2))).expect("it can be opened");
    let after =
        rows(&mut database.connect().expect("a connection"), "select id, length(v::text) from n order by id");
    assert_eq!(after, ["0|1", "1|131072"]);
}

#[test]
fn a_routine_knows_who_calls_it() {
    let disk = SimulatedDisk::new(3);
    let database = Database::open(config(&disk)).expect("an empty disk");
    database.connect().expect("a connection").execute("create database shop", &[]).expect("a new database");
    let mut connection = database.connect_to("shop").expect("a connection");
    let create = "create procedure who(k int) language plpgsql as $$
        declare u text := current_user;
        begin
            insert into audit values (k, u, session_user, current_database(), current_schema);
            insert into audit (id) values (k + 1);
            insert into audit values (k + 2, user, current_role, current_catalog, 'x' || current_user);
            if current_user <> 'hyades' then update audit set d = 'not hyades' where id = k; end if;
        end $$";
    for sql in [
        "create table audit (id int primary key, a text default current_user, b text default session_user, \
         c text default current_database(), d text default 'none')",
        create,
    ] {
        connection.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    assert!(logging(&mut connection, "call who(1)").contains("with user, database and time zone"));
    let mut carol = Client::new(&database, "carol", "shop", "UTC");
    for sql in ["call who(10)", "insert into audit (id) values (20)"] {
        carol.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    connection.execute("call who(1)", &[]).expect("the call succeeds");
    let question = "select * from audit order by id";
    let before = rows(&mut connection, question);
    assert_eq!(
        before,
        [
            "1|hyades|hyades|shop|public",
            "2|hyades|hyades|shop|none",
            "3|hyades|hyades|shop|xhyades",
            "10|carol|carol|shop|not hyades",
            "11|carol|carol|shop|none",
            "12|carol|carol|shop|xcarol",
            "20|carol|carol|shop|none",
        ]
    );
    disk.crash_now();
    let database = Database::open(config(&disk.after_power_cut(3))).expect("it can be opened");
    assert_eq!(rows(&mut database.connect_to("shop").expect("a connection"), question), before);
}

#[test]
fn a_literal_of_a_routine_is_read_in_the_caller_s_time_zone() {
    let database = Database::open(config(&SimulatedDisk::new(5))).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    connection.execute(TABLES[2], &[]).expect("a new table");
    let body = "insert into l (id, at) values (k, '2024-07-01 12:00'), (k + 1, ('{2024-07-01 12:00}'::timestamptz[])[1]);";
    let create = format!("create procedure p(k int) language plpgsql as $$ begin {body} end $$");
    connection.execute(&create, &[]).expect("a new procedure");
    for (number, zone) in ["UTC", "Europe/Berlin", "Asia/Tokyo"].into_iter().enumerate() {
        let mut client = Client::new(&database, "u", "hyades", zone);
        client.run(&format!("call p({})", 10 * number)).unwrap_or_else(|error| panic!("{error}"));
    }
    let found = rows(&mut connection, "select id, at from l order by id");
    let hours = [(0, 12), (1, 12), (10, 10), (11, 10), (20, 3), (21, 3)];
    let expected = hours.map(|(id, hour)| format!("{id}|2024-07-01 {hour:02}:00:00+00"));
    assert_eq!(found, expected);
}

#[test]
fn a_call_that_continues_after_an_error_from_outside_is_logged_as_data() {
    for (state, is_command) in [("53200", false), ("55P03", false), ("P0001", true), ("22012", true)] {
        let disk = SimulatedDisk::new(4);
        let database = Database::open(config(&disk)).expect("an empty disk");
        let mut connection = database.connect().expect("a connection");
        let raise = format!(
            "begin insert into l (id) values (1); raise exception 'e' using errcode = '{state}'; \
             exception when others then insert into l (id) values (2); end; insert into l (id) values (3);"
        );
        for sql in [TABLES[2], &procedure("", &raise)] {
            connection.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        assert!(logging(&mut connection, "call p()").starts_with("command ("));
        connection.execute("call p()", &[]).expect("the call succeeds");
        disk.crash_now();
        let found = disk.after_power_cut(4);
        // A recovery without a compiler can recover only what was logged as data.
        let recovered = recover(&config(&found), None, &Arc::new(Databases::new()));
        assert_eq!(recovered.is_err(), is_command, "{state}");
        let database = Database::open(config(&found)).expect("it can be opened");
        assert_eq!(
            rows(&mut database.connect().expect("a connection"), "select id from l order by id"),
            ["2", "3"]
        );
    }
}

/// Otherwise every role with a right to call a procedure would decide how long a restart takes.
#[test]
fn a_call_that_computes_for_long_is_logged_as_data() {
    // A row is worth a hundredth of a millisecond, a call a tenth. A thousand turns take a few of them.
    for (turns, stored, is_command) in
        [(100, 1, true), (100_000, 1, false), (100_000, 0, false), (20_000, 2_000, true)]
    {
        let disk = SimulatedDisk::new(6);
        let database = Database::open(config(&disk)).expect("an empty disk");
        let mut connection = database.connect().expect("a connection");
        let count = format!(
            "for i in 1..{turns} loop n := n + i; end loop; \
             for i in 1..{stored} loop insert into l (id) values (i); end loop; insert into l (id) values (0);"
        );
        for sql in [TABLES[2], &procedure("n bigint := 0;", &count)] {
            connection.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        assert!(logging(&mut connection, "call p()").starts_with("command"));
        connection.execute("call p()", &[]).expect("the call succeeds");
        disk.crash_now();
        let found = disk.after_power_cut(6);
        // A recovery without a compiler can recover only what was logged as data.
        let recovered = recover(&config(&found), None, &Arc::new(Databases::new()));
        assert_eq!(recovered.is_err(), is_command, "{turns} turns, {stored} rows");
        let database = Database::open(config(&found)).expect("it can be opened");
        let found = rows(&mut database.connect().expect("a connection"), "select count(*) from l");
        assert_eq!(found, [(stored + 1).to_string()]);
    }
}

/// A replay is estimated by what it repeats, not only by the length of log records.
#[test]
fn a_checkpoint_is_taken_when_repeating_calls_would_take_long() {
    let disk = SimulatedDisk::new(7);
    let config = Config { recovery_target: Some(Duration::from_millis(5)), ..config(&disk) };
    let database = Database::open(config).expect("an empty disk");
    let mut connection = database.connect().expect("a connection");
    let count = "for i in 1..2000 loop for j in 1..60 loop n := n + j; end loop; insert into l (id) values (i); end loop;";
    for sql in [TABLES[2], &procedure("n bigint := 0;", count)] {
        connection.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    connection.execute("call p()", &[]).expect("the call succeeds");
    let deadline = Instant::now() + Duration::from_secs(60);
    while rows(&mut connection, "select taken from hyades_checkpoint where taken > 0").is_empty() {
        assert!(Instant::now() < deadline, "no checkpoint is taken");
        std::thread::yield_now();
    }
}

/// The number of calls in one database.
const ROUND: usize = 100;

/// Makes this many calls, starting with the first pair of function and clause.
fn promises(seed: u64, calls: usize) -> Tally {
    let mut tally = Tally::default();
    let mut next = 1;
    while tally.calls() < calls {
        tally.add(round(seed, next..next + ROUND).unwrap_or_else(|error| panic!("{error}")));
        next += ROUND;
        assert!(next < 4 * calls + 1_000, "too few calls succeed: {tally:?}");
    }
    tally
}

/// With `HYADES_CALLS` and `HYADES_SEED` it is a long run (`cargo xtask promises`).
#[test]
fn what_explain_promises_of_a_call_is_what_replay_gives() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let calls = number("HYADES_CALLS").unwrap_or(600);
    let tally = promises(number("HYADES_SEED").unwrap_or(1), calls as usize);
    println!(
        "{} calls logged as commands, {} as data; {} failed, {} did not compile",
        tally.commands, tally.data, tally.failed, tally.refused
    );
    if std::env::var_os("HYADES_CALLS").is_some() {
        tally.clauses.iter().for_each(|(clause, count)| println!("{count:7} {clause}"));
        tally.errors.iter().for_each(|(key, error)| println!("{key}: {error}"));
    }
    assert!(tally.commands > calls as usize / 3, "{tally:?}");
    assert!(tally.clauses.values().all(|count| *count > 0));
}

#[test]
fn a_call_that_fires_triggers_is_a_command() {
    let call = procedure(
        "",
        "update t set v = v + 1; insert into t values (3, 300, 1), (4, -1, 0); delete from t where id = 1;",
    );
    let setup = [
        TABLES[0],
        TABLES[1],
        TABLES[2],
        "create table s (what text primary key, n bigint)",
        "insert into s values ('rows', 0)",
        "create function changed() returns trigger language plpgsql as $$ begin \
         if new.v < 0 then return null; end if; new.v := new.v * 2; return new; end $$",
        "create function noted() returns trigger language plpgsql as $$ begin \
         insert into l values (coalesce(new.id, old.id) * 10 + length(tg_op), coalesce(new.v, old.v), now(), tg_op) \
         on conflict do nothing; return null; end $$",
        "create function again() returns trigger language plpgsql as $$ begin \
         if new.v > 100 then update t set v = v / 3 where id = new.id; end if; return null; end $$",
        "create function counted() returns trigger language plpgsql as $$ begin \
         update s set n = n + (select count(*) from o); return null; end $$",
        "create trigger a before insert or update on t for each row execute function changed()",
        "create trigger b after insert or update or delete on t for each row execute function noted()",
        "create trigger c after insert or update on t for each row execute function again()",
        "create trigger d after update on t referencing old table as o for each statement execute function counted()",
        call.as_str(),
    ];
    let question = "select id, v::text from t union all select id, n::text || at || note from l \
                    union all select 0, n::text from s order by 1, 2";
    let (logging, before, after) = across_a_crash(&setup, question);
    assert!(logging.starts_with("command"), "{logging}");
    assert_eq!(before, after);
    assert_eq!(before.len(), 6, "{before:?}");
}
