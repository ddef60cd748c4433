//! docs/tour.md follows one CALL from psql's bytes to the row after a crash. This test performs the same
//! steps, and every fenced block of the page must match what they yield.
//!
//! ```text
//! HYADES_RECORD_TOUR=1 cargo test -p hyades-server --test server tour    # rewrites the blocks
//! ```
//!
//! The blocks leave out (`..`) what differs from run to run or from machine to machine: the name of the
//! database and the checksums that cover it, the version hash of the routine (it depends on the Rust
//! toolchain), times and the data directory.
//!
//! Connections are opened one after the other, so worker n belongs to the nth of them and writes to log n
//! modulo 2. A logger that has been idle for a second appends an anchor, and on a busy machine such a pause
//! may come between two statements. Then everything is repeated.

mod document;
mod fields;
mod relay;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::process::{Directory, Server, hyades, wait_for};
use crate::raw::{Answer, Client, state};
use fields::BlockPlace;
use relay::Relay;

const TABLE: &str = "create table accounts (id int primary key, balance bigint not null);";
const PROCEDURE: &str =
    "create procedure transfer(source int, target int, amount bigint) language plpgsql as $$
declare
    left_over bigint;
begin
    update accounts set balance = balance - amount where id = source
        returning balance into strict left_over;
    if left_over < 0 then
        raise exception 'not enough money';
    end if;
    update accounts set balance = balance + amount where id = target;
end
$$;";
const ROWS: &str = "insert into accounts values (1, 100), (2, 100);";
const DEPOSIT: &str = "update accounts set balance = balance + 5 where id = 2;";
const CALL: &str = "call transfer(1, 2, 10)";
const INTEREST: &str = "update accounts set balance = balance + 1 where id = 1;";
/// Each worker always writes to its own log; blocks have sectors of the same size on every machine.
const OPTIONS: [&str; 6] = ["--logs", "2", "--shared-block-kib", "0", "--log-sector-bytes", "4096"];

/// The results of one run.
struct Scene {
    directory: Directory,
    message: Vec<u8>,
    answer: Vec<u8>,
    /// The records of each log.
    logs: [Vec<Json>; 2],
}

#[test]
fn the_tour_tells_what_happens() {
    let mut runs = (0..10).filter_map(|_| run());
    let scene = runs.next().expect("one run without a pause");
    let data = scene.directory.path().join("data");
    let call = scene.logs[0].iter().find(|record| record["operations"][0]["operation"] == "call");
    let call = call.expect("the call is in log 0");
    let last = scene.logs[0].last().expect("somebody came after it");
    let position = |record: &Json, end: &str| record[end].as_u64().unwrap();

    let segment = data.join("logs/log-0/00000001-00000001.segment");
    let bytes = std::fs::read(&segment).unwrap();
    let place = BlockPlace::find(&bytes, position(call, "start"));
    assert_eq!((place.position, place.end()), (position(call, "start"), position(call, "end")));
    let mut blocks = vec![
        ("setup", setup()),
        ("message", fields::message(&scene.message)),
        ("record", fields::record(place.position, place.payload(&bytes))),
        ("block", fields::block(&place, &bytes)),
        ("answer", fields::answer(&scene.answer)),
    ];

    // The power fails before the last block of log 0 is on the disk.
    let lost = BlockPlace::find(&bytes, position(last, "start"));
    let mut bytes = bytes;
    bytes[lost.sectors()].fill(0);
    std::fs::write(&segment, bytes).unwrap();
    blocks.push(("lost", dump(&data)));
    blocks.push(("schedule", schedule(&scene.logs, position(last, "start"))));

    let server = Server::start_in(scene.directory, &OPTIONS);
    blocks.push(("row", server.query(&["select * from accounts order by id"])));
    blocks.push(("listing", server.query(&[&format!("explain verbose {CALL}")])));
    blocks.push(("locks", locks(&server)));
    server.signal("TERM");
    let (_, _, said, _directory) = server.wait();
    blocks.push(("recovery", recovery(&said, &data)));
    document::check(&blocks);
}

/// Everything up to the crash. `None` if a logger has appended an anchor meanwhile.
fn run() -> Option<Scene> {
    let mut server = Server::start(&OPTIONS);
    let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(&server)).collect();
    for statement in [TABLE, PROCEDURE, ROWS] {
        done(&mut clients[0], statement);
    }
    done(&mut clients[1], DEPOSIT);
    let relay = Relay::start(server.port);
    let output = psql(relay.port).args(["-c", CALL]).output().expect("psql is installed");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "CALL\n");
    let (message, answer) = relay.heard();
    for client in &mut clients[2..] {
        done(client, "set synchronous_commit = off");
        done(client, INTEREST);
    }
    let data = server.data_directory();
    let logs = wait_for("both to be written", || {
        let logs = [records(&data, "0"), records(&data, "1")];
        (logs[0].len() + logs[1].len() >= 7).then_some(logs)
    });
    server.child.kill().unwrap();
    let directory = server.wait().3;
    if logs.iter().flatten().any(|record| record["kind"] == "anchor")
        || logs != [records(&data, "0"), records(&data, "1")]
    {
        return None;
    }
    Some(Scene { directory, message, answer, logs })
}

fn psql(port: u16) -> Command {
    let mut command = Command::new("psql");
    command.args(["-h", "127.0.0.1", "-U", "hyades", "-X", "-p", &port.to_string()]).stdin(Stdio::null());
    command
}

fn done(client: &mut Client, statement: &str) {
    let answers = client.query(statement);
    assert_eq!(state(&answers), "", "{statement}");
}

fn setup() -> String {
    let clients = [
        (0, [TABLE, "\n", PROCEDURE, "\n", ROWS].concat()),
        (1, DEPOSIT.to_owned()),
        (4, format!("{CALL};    -- psql: the call of this tour")),
        (2, format!("set synchronous_commit = off;\n{INTEREST}")),
        (3, format!("set synchronous_commit = off;\n{INTEREST}")),
    ];
    let text = clients.map(|(worker, sql)| format!("-- worker {worker}, log {}\n{sql}\n", worker % 2));
    text.join("\n")
}

fn log(data: &Path, arguments: &[&str]) -> String {
    let (command, options) = arguments.split_first().unwrap();
    let output = hyades().args(["log", command, "--data"]).arg(data).args(options).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn records(data: &Path, log_number: &str) -> Vec<Json> {
    let text = log(data, &["dump", "--json", "--log", log_number]);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What `hyades log dump` prints, without schema changes, which are long, and the version hash of the call.
fn dump(data: &Path) -> String {
    let mut text = String::new();
    for line in log(data, &["dump"]).lines() {
        let shown = match line.split_once(" version=") {
            Some((before, rest)) => format!("{before} version=..{}", rest.split_at(8).1),
            None if line.starts_with("    schema ") => "    schema ..".to_owned(),
            None => line.to_owned(),
        };
        text = text + &shown + "\n";
    }
    text
}

/// When each transaction may be replayed, if log 0 ends at this position.
fn schedule(logs: &[Vec<Json>; 2], end: u64) -> String {
    let mut text = String::new();
    for (log, record) in
        logs.iter().enumerate().flat_map(|(log, records)| records.iter().map(move |record| (log, record)))
    {
        let vector: Vec<u64> =
            record["lv"].as_array().unwrap().iter().map(|entry| entry.as_u64().unwrap()).collect();
        let needs: Vec<String> = (0..)
            .zip(&vector)
            .filter(|(_, entry)| **entry > 0)
            .map(|(log, entry)| format!("log {log} has reached {entry}"))
            .collect();
        let when = match needs.is_empty() {
            _ if log == 0 && record["end"].as_u64().unwrap() > end => "lost".to_owned(),
            _ if vector[0] > end => format!("never: log 0 ends at {end}, and it names {}", vector[0]),
            true => "at once".to_owned(),
            false => format!("when {}", needs.join(" and ")),
        };
        let name = format!("{log}:{}", record["end"]);
        text += &format!("{name:<8} LV {:<12} {when}\n", format!("{vector:?}"));
    }
    text
}

/// Queries the locks while the transaction of a call is still open.
fn locks(server: &Server) -> String {
    let mut caller = Client::connect(server);
    done(&mut caller, "begin isolation level serializable");
    done(&mut caller, CALL);
    let mut other = Client::connect(server);
    done(&mut other, "set default_transaction_isolation = 'serializable'");
    let mut text = String::new();
    for (asked, of) in [
        ("accounts where id = 1 for key share", "row 1, KeyRead"),
        ("accounts where id = 1 for share", "row 1, Read"),
        ("accounts where id = 2 for no key update", "row 2, NoKeyWrite"),
        ("accounts where id = 3 for update", "absent row 3, Write"),
        ("accounts for share", "the table, Read"),
    ] {
        let answers: Vec<Answer> = other.query(&format!("select 1 from {asked} nowait"));
        let answer = match state(&answers).as_str() {
            "" => "granted".to_owned(),
            state => format!("refused with {state}"),
        };
        text += &format!("select 1 from {asked:<40} {of:<20} {answer}\n");
    }
    done(&mut caller, "rollback");
    text
}

/// What the server reports about the recovery, without times and the data directory.
fn recovery(said: &str, data: &Path) -> String {
    let mut text = String::new();
    for line in said.lines().filter(|line| line.contains("of incarnation") || line.contains("recovered ")) {
        let line = line.split_once(' ').map_or(line, |(_, rest)| rest).trim_start();
        let line = line.replace(&data.display().to_string(), "..");
        let line = match (line.find(" logs in "), line.find(';')) {
            (Some(from), Some(to)) => format!("{} logs in ..{}", &line[..from], &line[to..]),
            _ => line,
        };
        text = text + &line + "\n";
    }
    text
}
