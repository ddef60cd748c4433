//! CHECKPOINT, restarts from checkpoints, backups of a running server, points in time.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::{Directory, Server, hyades};

fn sql(server: &Server, text: &str) -> String {
    server.query(&["set client_min_messages = warning", text]).trim_start_matches("SET\n").to_owned()
}

/// Kills the server with SIGKILL and returns the directory that it leaves.
fn kill(server: Server) -> Directory {
    server.signal("KILL");
    server.wait().3
}

/// Runs a command of the binary. Returns whether it succeeded, and what it prints.
fn run(arguments: &[&str], directories: &[(&str, &Path)]) -> (bool, String) {
    let mut command = hyades();
    command.args(arguments);
    for (option, directory) in directories {
        command.arg(option).arg(directory);
    }
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(printed).unwrap())
}

/// Inserts three batches of rows, each but the last followed by a checkpoint.
fn fill(server: &Server) {
    sql(server, "create table t (id int primary key, note text); create index t_note on t (note)");
    for portion in 0..3 {
        let first = portion * 1000;
        sql(
            server,
            &format!(
                "insert into t select id, 'note ' || id from generate_series({first}, {first} + 999) as ids (id)"
            ),
        );
        sql(server, &format!("delete from t where id % 10 = {portion}"));
        if portion < 2 {
            assert_eq!(sql(server, "checkpoint"), "CHECKPOINT");
        }
    }
}

const WHAT_IS_THERE: &str = "select count(*), sum(id), count(distinct note) from t";

#[test]
fn a_restart_on_demand_has_everything_and_says_when_it_is_complete() {
    let server = Server::start(&[]);
    sql(&server, "create table untouched (id int primary key, parent int)");
    sql(&server, "insert into untouched select id, id / 2 from generate_series(1, 1000) as ids (id)");
    sql(&server, "create sequence numbers");
    fill(&server);
    let number = sql(&server, "select nextval('numbers')");
    let expected = sql(&server, WHAT_IS_THERE);
    let directory = kill(server);
    let server = Server::start_in(directory, &["--restart", "on-demand", "--log-level", "info"]);
    assert_eq!(sql(&server, "select count(*), sum(parent) from untouched"), "1000|250000");
    assert_eq!(sql(&server, WHAT_IS_THERE), expected);
    assert!(sql(&server, "select nextval('numbers')").parse::<u64>().unwrap() > number.parse().unwrap());
    // Schema changes wait for the restart.
    assert_eq!(sql(&server, "create index on untouched (parent)"), "CREATE INDEX");
    assert_eq!(sql(&server, "create table later (id int)"), "CREATE TABLE");
    let shown = "select is_complete, percent, closed_tables, open_seconds <= seconds, loaded_bytes = bytes_to_load from hyades_restart";
    assert_eq!(sql(&server, shown), "t|100|0|t|t");
    sql(&server, "insert into t values (5000, 'later')");
    let expected = sql(&server, WHAT_IS_THERE);
    // The logs after the checkpoint change the catalog, and there are two incarnations of them.
    let directory = kill(server);
    let server = Server::start_in(directory, &["--restart", "on-demand"]);
    assert_eq!(sql(&server, WHAT_IS_THERE), expected);
    assert_eq!(sql(&server, "checkpoint"), "CHECKPOINT");
    server.stop();
}

#[test]
fn a_restart_begins_with_the_last_checkpoint_or_if_that_is_damaged_with_the_one_before() {
    let server = Server::start(&[]);
    fill(&server);
    let expected = sql(&server, WHAT_IS_THERE);
    let shown = "select number, taken, failed, failure is null, written_bytes > 0, bytes_to_replay > 0, now() - taken_at < '1 hour' \
                 from hyades_checkpoint";
    assert_eq!(sql(&server, shown), "2|2|0|t|t|t|t");
    let directory = kill(server);
    let server = Server::start_in(directory, &[]);
    assert_eq!(sql(&server, WHAT_IS_THERE), expected);
    sql(&server, "insert into t values (5000, 'later')");
    let expected = sql(&server, WHAT_IS_THERE);
    let directory = kill(server);

    let data = directory.path().join("data");
    let contents = data.join("checkpoints/00000002.contents");
    let mut bytes = std::fs::read(&contents).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&contents, bytes).unwrap();
    let (is_right, said) = run(&["check"], &[("--data", &data)]);
    assert!(!is_right && said.contains("checkpoint 2 is damaged") && said.contains("hyades serve"), "{said}");
    let server = Server::start_in(directory, &[]);
    assert_eq!(sql(&server, WHAT_IS_THERE), expected);
    let directory = kill(server);
    let server = Server::start_in(directory, &["--restart", "on-demand"]);
    assert_eq!(sql(&server, WHAT_IS_THERE), expected);
    server.stop();
}

/// Transactions that commit alone take a sector each, however little they write. If a process ends before a
/// checkpoint is due, its logs count for the next process.
#[test]
fn the_disk_that_logs_take_asks_for_a_checkpoint() {
    let options = ["--checkpoint-log-mib", "1", "--log-sector-bytes", "4096"];
    let commit_often = |server: &Server, first: u32| {
        let rows: Vec<String> =
            (first..first + 200).map(|id| format!("insert into t values ({id})")).collect();
        server.query(&rows.iter().map(String::as_str).collect::<Vec<_>>());
    };
    let server = Server::start(&options);
    sql(&server, "create table t (id int primary key)");
    commit_often(&server, 0);
    let shown = "select taken, log_bytes > 200 * 4096, bytes_to_replay < 200 * 1024, \
                 log_bytes = (select sum(stored_bytes) from hyades_logs) from hyades_checkpoint";
    assert_eq!(sql(&server, shown), "0|t|t|t");
    let server = Server::start_in(kill(server), &options);
    assert_eq!(sql(&server, "select taken, log_bytes > 200 * 4096 from hyades_checkpoint"), "0|t");
    commit_often(&server, 200);
    let until = Instant::now() + Duration::from_secs(60);
    while sql(&server, "select taken > 0 and not is_running from hyades_checkpoint") != "t" {
        assert!(Instant::now() < until, "no checkpoint");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(sql(&server, "select log_bytes < 1 << 20 from hyades_checkpoint"), "t");
    assert_eq!(sql(&server, "select count(*) from t"), "400");
    server.stop();
}

#[test]
fn without_logs_there_is_no_checkpoint() {
    let server = Server::start(&["--protocol", "none"]);
    let error = server.error(&["checkpoint"]);
    assert!(error.contains("ERROR:  55000"), "{error}");
    server.stop();
}

#[test]
fn a_running_server_is_backed_up_and_restored_as_it_was_at_a_time() {
    let server = Server::start(&[]);
    let place = Directory::new();
    let (data, backup) = (server.data_directory(), place.path().join("backup"));
    fill(&server);
    let (is_done, said) = run(&["backup"], &[("--data", &data), ("--into", &backup)]);
    assert!(is_done && said.contains("backed up checkpoint 2 and the logs after it"), "{said}");
    let expected = sql(&server, WHAT_IS_THERE);
    std::thread::sleep(Duration::from_millis(5));
    let before = sql(
        &server,
        "select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
    );
    std::thread::sleep(Duration::from_millis(5));
    sql(&server, "truncate t");
    let (is_done, said) = run(&["backup"], &[("--data", &data), ("--into", &backup)]);
    assert!(is_done && said.contains("were there already"), "{said}");
    server.stop();

    let (is_started, said) = run(&["serve", "--listen", "127.0.0.1:0"], &[("--data", &backup)]);
    assert!(!is_started && said.contains("is a backup: make a database of it with hyades restore"), "{said}");
    let (is_right, said) = run(&["check"], &[("--data", &backup)]);
    assert!(is_right && said.contains("1 indexes with 0 entries agree"), "{said}");
    let restored = Directory::new();
    let into = restored.path().join("data");
    let (is_done, said) = run(&["restore", "--to-time", &before], &[("--from", &backup), ("--into", &into)]);
    assert!(is_done && said.contains("restored from checkpoint 2"), "{said}");
    let (is_done, said) = run(&["restore"], &[("--from", &backup), ("--into", &into)]);
    assert!(!is_done && said.contains("holds a database already"), "{said}");
    let server = Server::start_in(restored, &[]);
    assert_eq!(sql(&server, WHAT_IS_THERE), expected);
    server.stop();

    let nowhere = place.path().join("nowhere");
    let (is_done, said) =
        run(&["restore", "--to-time", "2001-01-01 00:00:00"], &[("--from", &backup), ("--into", &nowhere)]);
    assert!(!is_done && said.contains("the backup begins later than that"), "{said}");
    let (is_done, said) =
        run(&["restore", "--to-time", "yesterday"], &[("--from", &backup), ("--into", &nowhere)]);
    assert!(!is_done && said.contains("must be a time such as"), "{said}");
    let (is_done, said) =
        run(&["restore", "--to-time", "2101-01-01 00:00:00"], &[("--from", &backup), ("--into", &nowhere)]);
    assert!(
        !is_done && said.contains("recovery would end before that time: it can be restored to"),
        "{said}"
    );
    let (is_done, said) = run(&["restore", "--list"], &[("--from", &backup)]);
    assert!(is_done && said.contains("points in time from") && said.contains("checkpoint 2, of"), "{said}");
    let part = backup.join("checkpoints/00000002-0.part");
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&part, bytes).unwrap();
    for (command, option) in [("restore", "--from"), ("check", "--data")] {
        let into: &[(&str, &Path)] = if command == "restore" { &[("--into", &nowhere)] } else { &[] };
        let (is_done, said) = run(&[command], &[&[(option, backup.as_path())], into].concat());
        assert!(!is_done && said.contains("00000002-0.part"), "{command}: {said}");
    }
    assert!(!nowhere.exists());
}

/// By whatever name.
#[test]
fn a_backup_does_not_go_into_the_database_that_it_is_made_from() {
    let server = Server::start(&[]);
    let data = server.data_directory();
    let elsewhere = Directory::new();
    std::os::unix::fs::symlink(&data, elsewhere.path().join("link")).unwrap();
    for into in [data.join("b"), data.join("logs/log-0/b/c"), elsewhere.path().join("link/b")] {
        let (is_done, said) = run(&["backup"], &[("--data", &data), ("--into", &into)]);
        assert!(!is_done && said.contains("which is only read"), "{said}");
        assert!(!into.exists());
    }
    server.stop();
}

#[test]
fn a_backup_is_restored_with_a_transaction_before_it_and_as_a_checkpoint_has_it() {
    let server = Server::start(&[]);
    let place = Directory::new();
    let (data, backup) = (server.data_directory(), place.path().join("backup"));
    sql(&server, "create table t (id int primary key)");
    let at = |insert: &str| {
        let said = server.query(&[insert, "select hyades_last_commit()"]);
        said.lines().last().unwrap().to_owned()
    };
    let first = at("insert into t values (1)");
    sql(&server, "checkpoint");
    let second = at("insert into t values (2)");
    at("insert into t values (3)");
    let (is_done, said) = run(&["backup"], &[("--data", &data), ("--into", &backup)]);
    assert!(is_done, "{said}");
    server.stop();

    let (is_done, said) = run(&["log", "dump"], &[("--data", &backup)]);
    let (_, log_and_position) = second.split_once('/').unwrap();
    assert!(is_done && said.contains(&log_and_position.replace('/', ":")), "{second}: {said}");
    let restored = |options: &[&str]| {
        let directory = Directory::new();
        let into = directory.path().join("data");
        let (is_done, said) =
            run(&[&["restore"], options].concat(), &[("--from", &backup), ("--into", &into)]);
        if !is_done {
            return said;
        }
        let server = Server::start_in(directory, &[]);
        let rows = sql(&server, "select string_agg(id::text, ' ' order by id) from t");
        server.stop();
        rows
    };
    assert_eq!(restored(&["--to-txn", &second]), "1 2");
    assert_eq!(restored(&["--to-txn", &second, "--exclusive"]), "1");
    assert_eq!(restored(&["--to-checkpoint", "1"]), "1");
    assert_eq!(restored(&[]), "1 2 3");
    let refused = restored(&["--to-txn", &first]);
    assert!(refused.contains("the backup begins"), "{refused}");
    let refused = restored(&["--to-checkpoint", "2"]);
    assert!(refused.contains("the backup has no checkpoint 2, but 1"), "{refused}");
    let refused = restored(&["--to-txn", "1/0"]);
    assert!(refused.contains("must be incarnation/log/position"), "{refused}");
}
