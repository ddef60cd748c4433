//! Memory accounts and limits: the session that exceeds its limit gets 53200, the others go on, and the
//! process stays within its limit.

use crate::process::{Directory, Server};
use crate::raw::{Answer, Client, bind, close, execute, kinds, message, parse, query, state, sync};

/// Each connection of these servers may use 16 MiB.
const SMALL: [&str; 4] = ["--memory-per-connection", "16", "--memory-limit", "512"];

const ROUTINES: [&str; 6] = [
    "create procedure notices() language plpgsql as $$
         begin loop raise notice '%', repeat('x', 10000); end loop; end $$",
    "create function many() returns setof bigint language plpgsql as $$
         begin for i in 1..1000000000 loop return next i; end loop; end $$",
    "create function doubled() returns int language plpgsql as $$
         declare t text := 'x'; begin loop t := t || t; end loop; end $$",
    "create function array_of_texts() returns int language plpgsql as $$
         declare a text[] := '{}'; begin for i in 1..16000000 loop a[i] := repeat('x', 10000); end loop; return 1; end $$",
    "create function array_of_numbers() returns int language plpgsql as $$
         declare a int[] := '{}'; begin for i in 1..16000000 loop a[i] := i; end loop; return 1; end $$",
    "create function caught() returns text language plpgsql as $$
         declare t text := 'x'; begin loop t := t || t; end loop; exception when others or out_of_memory then return 'caught'; end $$",
];

fn server_with_tables(arguments: &[&str]) -> Server {
    let server = Server::start(arguments);
    let mut client = Client::connect(&server);
    for sql in ROUTINES {
        assert_eq!(kinds(&client.query(sql)), "CZ", "{sql}");
    }
    client.query("create table rows (id bigint primary key, filler text)");
    server
}

/// The peak and the current memory of the process, in MiB.
fn resident_mib(server: &Server) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().strip_suffix(" kB").unwrap().parse().unwrap()
    };
    (kib("VmHWM") / 1024, kib("VmRSS") / 1024)
}

fn assert_out_of_memory(answers: &[Answer], whose: &str, what: &str) {
    assert_eq!(state(answers), "53200", "{what}");
    let error = answers.iter().find(|answer| answer.kind == b'E').unwrap();
    assert_eq!(error.field(b'M').as_deref(), Some("out of memory"), "{what}");
    let detail = error.field(b'D').unwrap();
    assert!(detail.contains(&format!("The {whose} would use more than its ")), "{what}: {detail}");
}

#[test]
fn a_statement_that_wants_more_than_its_connection_has_is_refused() {
    let server = server_with_tables(&SMALL);
    let (_, before) = resident_mib(&server);
    let mut other = Client::connect(&server);
    let mut client = Client::connect(&server);
    let long = |piece: &str, times: usize| piece.repeat(times);
    let statements = [
        "call notices()".to_owned(),
        "select doubled()".to_owned(),
        "select array_of_texts()".to_owned(),
        "select array_of_numbers()".to_owned(),
        "select caught()".to_owned(),
        "select array_agg(g) from generate_series(1, 1000000000) g".to_owned(),
        "select array_agg(g order by g) from generate_series(1, 1000000000) g".to_owned(),
        "select array_agg(distinct g) from generate_series(1, 1000000000) g".to_owned(),
        "select count(distinct g) from generate_series(1, 1000000000) g".to_owned(),
        "select repeat('x', 1000) from generate_series(1, 100000) g".to_owned(),
        "copy (select repeat('x', 1000) from generate_series(1, 100000) g) to stdout".to_owned(),
        "select length(repeat('x', 1000000000))".to_owned(),
        "select length(lpad('x', 100000000))".to_owned(),
        "select length(rpad('x', 100000000))".to_owned(),
        "select length(replace(repeat('x', 1000000), 'x', repeat('y', 100)))".to_owned(),
        "select length(quote_literal(repeat('''', 9000000)))".to_owned(),
        "select length(quote_ident(repeat('\"', 9000000)))".to_owned(),
        format!("select length(concat({}'x'))", long("repeat('x', 1000000), ", 30)),
        format!("select length({}'x')", long("repeat('x', 1000000) || ", 30)),
        "select length(format('%s%s%s', repeat('x', 6000000), repeat('x', 6000000), 'x'))".to_owned(),
        "select cardinality(array_fill(repeat('x', 1000), array[100000]))".to_owned(),
        "select cardinality(('{' || repeat('1,', 1000000) || '1}')::int[])".to_owned(),
        "insert into rows select g, repeat('x', 1000000) from generate_series(1, 201) g".to_owned(),
        "insert into rows select g, 'x' from generate_series(1, 10000000) g".to_owned(),
        format!("select {}", long("(", 1_000_000)),
        format!("select 1 where 1 in ({}1)", long("1,", 1_000_000)),
        format!("select {}1", long("1,", 1_000_000)),
        format!("select {}(id > 1){} from rows", long("(", 60), long(" between false and true)", 60)),
        format!("select {}id{} from rows", long("case ", 40), long(" when 1 then 2 when 3 then 4 end", 40)),
        format!("select {}id{} from rows", long("nullif(", 60), long(", 1)", 60)),
        "insert into rows values (0, '')".to_owned(),
        format!("insert into rows values {}(1, '')", long("(0, ''),", 100_000)),
    ];
    for sql in statements {
        let what = &sql[..sql.len().min(80)];
        let answers = client.query(&sql);
        if what.ends_with("(0, '')") {
            // The failed statements have not kept any memory.
            assert_eq!(kinds(&answers), "CZ", "{what}");
            continue;
        }
        assert_out_of_memory(&answers, "connection", what);
        assert_eq!(kinds(&client.query("select 1")), "TDCZ", "{what}");
        assert_eq!(kinds(&other.query("select 1")), "TDCZ", "{what}");
    }
    assert_eq!(client.query("select count(*) from rows")[1].columns()[0].as_deref(), Some("1"));
    // The largest of these values briefly take a few times 16 MiB. Without limits they would take gigabytes.
    let (most, _) = resident_mib(&server);
    assert!(most < before + 200, "{before} MiB before, {most} MiB at most");
}

/// Sorts and groups spill to files once they hold more than a quarter of their connection's memory.
#[test]
fn sorts_and_groups_need_no_more_memory_than_there_is() {
    let server = server_with_tables(&SMALL);
    let (_, before) = resident_mib(&server);
    let mut client = Client::connect(&server);
    let series = "generate_series(1, 400000) g";
    let statements = [
        format!("select count(*) from (select g from {series} order by g % 1000 desc, g offset 0) s"),
        format!("select count(*) from (select g, max(g::text) from {series} group by g) s"),
        format!("select count(*) from (select distinct g from {series}) s"),
        format!("select count(*) from (select g from {series} union select -g from {series}) s where g > 0"),
    ];
    for sql in &statements {
        assert_eq!(client.query(sql)[1].columns()[0].as_deref(), Some("400000"), "{sql}");
    }
    let (most, _) = resident_mib(&server);
    assert!(most < before + 64, "{before} MiB before, {most} MiB at most");
    client.query("set temp_file_limit = '1MB'");
    for sql in statements.into_iter().chain(["select count(*) from many()".to_owned()]) {
        let answers = client.query(&sql);
        assert_eq!(state(&answers), "53400", "{sql}");
    }
    assert_eq!(kinds(&client.query("select 1")), "TDCZ");
}

/// For the first outer row the subquery scans the table. For the second, its rows are kept, more of them than
/// the connection has memory for.
#[test]
fn rows_that_a_subquery_keeps_go_to_a_file() {
    let server = server_with_tables(&SMALL);
    let mut client = Client::connect(&server);
    for first in [1, 11, 21, 31] {
        let last = first + 9;
        client.query(&format!(
            "insert into rows select g, repeat('x', 500000) from generate_series({first}, {last}) g"
        ));
    }
    let kept = |last: u32| {
        format!(
            "select count(*) from generate_series(1, {last}) g, lateral (select g::text as t) x
             where exists (select 1 from rows where filler = t)"
        )
    };
    assert_eq!(kinds(&client.query(&kept(1))), "TDCZ");
    assert_eq!(kinds(&client.query(&kept(2))), "TDCZ");
    assert_eq!(kinds(&client.query("select count(*) from rows")), "TDCZ");
}

#[test]
fn results_of_all_portals_count() {
    let server = server_with_tables(&SMALL);
    let mut client = Client::connect(&server);
    client.query("begin");
    let mut messages = vec![parse("s", "select repeat('x', 1000) from generate_series(1, 2000)")];
    for number in 0..40 {
        let portal = format!("p{number}");
        messages.extend([bind(&portal, "s", &[]), execute(&portal, 1)]);
    }
    messages.push(sync());
    client.send(&messages);
    assert_out_of_memory(&client.until_ready(), "connection", "40 portals");
    assert_eq!(kinds(&client.query("rollback")), "CZ");
    assert_eq!(kinds(&client.query("select 1")), "TDCZ");
}

#[test]
fn parameters_of_all_portals_count() {
    let server = server_with_tables(&SMALL);
    let mut client = Client::connect(&server);
    let text = "x".repeat(1 << 20);
    let mut messages = vec![parse("s", "select length($1::text)")];
    messages.extend((0..40).map(|number| bind(&format!("p{number}"), "s", &[&text])));
    messages.push(sync());
    client.send(&messages);
    assert_out_of_memory(&client.until_ready(), "connection", "40 parameters of 1 MiB");
    assert_eq!(kinds(&client.query("select 1")), "TDCZ");
}

#[test]
fn prepared_statements_count_for_as_long_as_they_are_there() {
    let server = server_with_tables(&SMALL);
    let mut client = Client::connect(&server);
    let mut prepared = 0;
    let refused = loop {
        let list = format!("select {}", "id, filler, id + 1, ".repeat(50) + "1");
        // Each with its own text, because equal ones are shared.
        let answers = client.query(&format!("prepare s{prepared} as {list} + {prepared} from rows"));
        if kinds(&answers) != "CZ" {
            break answers;
        }
        prepared += 1;
        assert!(prepared < 100_000);
    };
    assert_out_of_memory(&refused, "connection", "prepared statements");
    assert!(prepared > 20, "{prepared}");
    assert_eq!(kinds(&client.query("deallocate all")), "CZ");
    let answers = client.query("select repeat('x', 1000) from generate_series(1, 5000)");
    assert_eq!(state(&answers), "", "{prepared}");
}

#[test]
fn settings_count_for_as_long_as_they_are_there() {
    let server = server_with_tables(&SMALL);
    let mut client = Client::connect(&server);
    let set =
        |number: usize| format!("select length(set_config('my.s{number}', repeat('x', 1000000), false))");
    let refused =
        (0..1000).map(|number| client.query(&set(number))).find(|answers| !state(answers).is_empty());
    assert_out_of_memory(&refused.unwrap(), "connection", "settings");
    assert_eq!(kinds(&client.query("reset all")), "CZ");
    let answers = client.query("select repeat('x', 1000) from generate_series(1, 5000)");
    assert_eq!(state(&answers), "");
}

/// What a routine leaves in its variables, and in the rows that it looped over, is freed with its statement.
#[test]
fn what_routines_leave_behind_is_given_back() {
    let server = server_with_tables(&SMALL);
    let mut sessions: Vec<Client> = (0..24).map(|_| Client::connect(&server)).collect();
    for number in 0..8 {
        let variable = format!(
            "create function keeps{number}(n int) returns int language plpgsql as $$
                 declare t text; begin t := repeat('x', n); return length(t); end $$"
        );
        let rows = format!(
            "create procedure walks{number}(n int) language plpgsql as $$
                 declare r record; begin for r in select repeat('x', n) as t from generate_series(1, 6) loop end loop; end $$"
        );
        assert_eq!(kinds(&sessions[0].query(&variable)), "CZ");
        assert_eq!(kinds(&sessions[0].query(&rows)), "CZ");
    }
    // Each session stays within its limit, and so do all together, unless each of them keeps eight times as
    // much.
    for client in &mut sessions {
        for number in 0..8 {
            let answers = client.query(&format!("select keeps{number}(3000000)"));
            assert_eq!(state(&answers), "", "variable {number}");
            assert_eq!(state(&client.query(&format!("call walks{number}(1000000)"))), "", "rows {number}");
        }
    }
}

/// Memory that is taken and freed does not add up, in one transaction or in many.
#[test]
fn what_is_given_back_may_be_used_again() {
    let server = server_with_tables(&SMALL);
    let mut client = Client::connect(&server);
    let text = "x".repeat(1 << 20);
    client.send(&[parse("s", "select length($1::text)"), sync()]);
    client.until_ready();
    for is_block in [true, false] {
        if is_block {
            client.query("begin");
        }
        for number in 0..50 {
            let what = format!("{number}, {is_block}");
            let answers = client.query("select repeat('x', 1000) from generate_series(1, 5000)");
            assert_eq!(state(&answers), "", "{what}");
            let portal = format!("p{number}");
            client.send(&[bind(&portal, "s", &[&text]), execute(&portal, 0), close('P', &portal), sync()]);
            assert_eq!(state(&client.until_ready()), "", "{what}");
        }
        client.query("commit");
    }
    // Many transactions may insert more rows than a single one could, and the rows can be deleted.
    for number in 0..20 {
        let first = number * 5_000;
        let insert =
            format!("insert into rows select g + {first}, repeat('x', 1000) from generate_series(1, 5000) g");
        assert_eq!(state(&client.query(&insert)), "", "{number}");
    }
    for number in 0..20 {
        let delete = format!("delete from rows where id <= {}", number * 5_000);
        assert_eq!(state(&client.query(&delete)), "", "{number}");
    }
}

#[test]
fn a_failed_transaction_can_be_ended() {
    let server = server_with_tables(&SMALL);
    let mut client = Client::connect(&server);
    for end in ["rollback", "commit", "rollback to s; commit"] {
        client.query("begin; savepoint s; insert into rows values (-1, 'x')");
        let refused =
            client.query("insert into rows select g, repeat('x', 1000000) from generate_series(1, 201) g");
        assert_out_of_memory(&refused, "connection", end);
        assert_eq!(state(&client.query(end)), "", "{end}");
        assert_eq!(kinds(&client.query("select 1")), "TDCZ", "{end}");
    }
}

/// 53200 depends on the other sessions: a call that caught it could not be replayed.
#[test]
fn no_handler_catches_the_end_of_memory() {
    let server = server_with_tables(&SMALL);
    let mut client = Client::connect(&server);
    assert_out_of_memory(&client.query("select caught()"), "connection", "caught()");
    // An error of this kind that a routine raises itself is like any other.
    client.query(
        "create function raised() returns text language plpgsql as $$
             begin raise out_of_memory; exception when out_of_memory then return 'caught'; end $$",
    );
    assert_eq!(client.query("select raised()")[1].columns()[0].as_deref(), Some("caught"));
}

#[test]
fn a_full_server_takes_no_rows_and_does_everything_else() {
    const LIMIT_MIB: u64 = 160;
    let arguments = ["--memory-limit", "160", "--memory-per-connection", "64"];
    let server = server_with_tables(&arguments);
    let mut client = Client::connect(&server);
    let mut rows = 0;
    let refused = loop {
        let insert =
            format!("insert into rows select g + {rows}, repeat('x', 1000) from generate_series(1, 2000) g");
        let answers = client.query(&insert);
        if kinds(&answers) != "CZ" {
            break answers;
        }
        rows += 2000;
    };
    assert_out_of_memory(&refused, "server", "insert");
    assert!(rows > 50_000, "{rows}");
    let (most, _) = resident_mib(&server);
    // The binary and what the allocator keeps.
    assert!(most < LIMIT_MIB + 80, "{most} MiB");
    let mut other = Client::connect(&server);
    let grow = "update rows set filler = filler || repeat('y', 1000) where id <= 2000";
    let works = |client: &mut Client, sql: &str| {
        let answers = client.query(sql);
        assert_eq!(state(&answers), "", "{sql}");
        answers
    };
    for client in [&mut client, &mut other] {
        assert_out_of_memory(&client.query(grow), "server", grow);
        works(client, "select filler from rows where id = 7");
        works(client, "select count(*) from rows");
        works(client, "update rows set filler = repeat('y', 1000) where id = 7");
        works(client, "begin; delete from rows where id <= 1000");
        works(client, "rollback");
    }
    // Even when full, the server starts again, after a crash too.
    drop(other);
    drop(client);
    let directory = server.stop();
    let server = Server::start_in(directory, &arguments);
    let mut client = Client::connect(&server);
    let count = works(&mut client, "select count(*) from rows")[1].columns()[0].clone();
    assert_eq!(count, Some(rows.to_string()));
    for first in (0..rows).step_by(2000) {
        works(&mut client, &format!("delete from rows where id > {first} and id <= {}", first + 2000));
    }
    // The memory comes back once no snapshot sees the rows any more.
    let mut tries = 0;
    let insert = "insert into rows select g, repeat('x', 1000) from generate_series(1, 20000) g";
    while !state(&client.query(insert)).is_empty() {
        tries += 1;
        assert!(tries < 100, "the memory of deleted rows does not come back");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    works(&mut client, "truncate rows");
}

/// The message is refused before it has arrived, and the conversation continues after it.
#[test]
fn messages_larger_than_the_connection_are_refused() {
    let server = server_with_tables(&SMALL);
    let (_, before) = resident_mib(&server);
    let mut client = Client::connect(&server);
    let large = "x".repeat(60 << 20);
    let answers = client.query(&format!("select length('{large}')"));
    assert_out_of_memory(&answers, "connection", "Query");
    assert_eq!(kinds(&answers), "EZ");
    assert_eq!(kinds(&client.query("select 1")), "TDCZ");
    client.send(&[parse("s", "select length($1::text)"), bind("", "s", &[&large]), execute("", 0), sync()]);
    let answers = client.until_ready();
    assert_out_of_memory(&answers, "connection", "Bind");
    assert_eq!(kinds(&answers), "1EZ");
    client.send(&[query("copy rows from stdin")]);
    assert_eq!(client.answer().kind, b'G');
    client.send(&[message(b'd', large.as_bytes()), query("select 1")]);
    let answers = client.until_ready();
    assert_out_of_memory(&answers, "connection", "CopyData");
    assert_eq!(kinds(&client.until_ready()), "TDCZ");
    let (most, _) = resident_mib(&server);
    assert!(most < before + 60, "{before} MiB before, {most} MiB at most");
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let directory = Directory::new();
    let data = directory.path().join("data");
    for arguments in [["--memory-limit", "1"], ["--memory-per-connection", "1"]] {
        let output =
            crate::process::hyades().args(["serve", "--data"]).arg(&data).args(arguments).output().unwrap();
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("is not in"), "{output:?}");
    }
}

/// Many sessions, each within its own limit, ask for more than the server has.
#[test]
fn sessions_share_what_the_server_has() {
    const LIMIT_MIB: u64 = 128;
    let server = server_with_tables(&["--memory-limit", "128", "--memory-per-connection", "64"]);
    let (_, before) = resident_mib(&server);
    let mut holders: Vec<Client> = (0..8).map(|_| Client::connect(&server)).collect();
    let mut refused = 0;
    for client in &mut holders {
        client.query("begin");
        client.send(&[
            parse("", "select repeat('x', 1000) from generate_series(1, 25000)"),
            bind("held", "", &[]),
            execute("held", 1),
            sync(),
        ]);
        let answers = client.until_ready();
        if !state(&answers).is_empty() {
            assert_out_of_memory(&answers, "server", "held");
            refused += 1;
        }
    }
    assert!((2..=7).contains(&refused), "{refused} of 8 were refused");
    let (most, _) = resident_mib(&server);
    // Above the limit: the buffer of one connection, which moves as it grows, and what the allocator keeps
    // for reuse.
    assert!(most < before + LIMIT_MIB + 64 + 32, "{before} MiB before, {most} MiB at most");
    let mut other = Client::connect(&server);
    assert_eq!(kinds(&other.query("select 1")), "TDCZ");
    drop(holders);
    other.send(&[query("select 1")]);
    assert_eq!(kinds(&other.until_ready()), "TDCZ");
}

#[test]
fn a_plan_that_holds_a_large_constant_is_not_kept() {
    let server = Server::start(&SMALL);
    let mut client = Client::connect(&server);
    for letter in ["a", "b", "c", "d", "e"] {
        // A text that comes again is cached, and its call is computed when it is compiled.
        for _ in 0..3 {
            let sql = format!("select repeat('{letter}', 3000000)");
            assert_eq!(kinds(&client.query(&sql)), "TDCZ", "{sql}");
        }
    }
    // The last statement is shown to other sessions, but its plan is not kept for that: these take more than
    // three quarters of what the connection may have.
    for letter in ["f", "g"] {
        let sql = format!("select get_bit(repeat('{letter}', 5000000)::bytea, 0) is null");
        assert_eq!(kinds(&client.query(&sql)), "TDCZ", "{sql}");
    }
}
