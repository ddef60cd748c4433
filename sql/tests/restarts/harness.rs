//! What the tests share: small databases under both kinds of protocols, and statements that must succeed or
//! fail.

use std::sync::Arc;

use hyades::engine::config::ProtocolKind;
use hyades::{Config, Connection, Database};
use hyades_sim::disk::SimulatedDisk;

pub(crate) const PROTOCOLS: [ProtocolKind; 2] = [ProtocolKind::Taurus, ProtocolKind::Serial];

pub(crate) fn config(disk: &SimulatedDisk, protocol: ProtocolKind) -> Config {
    Config {
        protocol,
        segment_bytes: 1 << 20,
        log_buffer_bytes: 1 << 20,
        recovery_workers: 2,
        disk: Arc::new(disk.clone()),
        ..Config::new("/data")
    }
}

pub(crate) fn run(connection: &mut Connection, sql: &str) {
    connection.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

pub(crate) fn number(connection: &mut Connection, sql: &str) -> i64 {
    connection.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"))[0][0].as_i64().unwrap_or(-1)
}

pub(crate) fn state(connection: &mut Connection, sql: &str) -> String {
    connection.query(sql, &[]).expect_err(sql).sqlstate().0.to_owned()
}

/// The results of these queries.
fn seen(connection: &mut Connection, looks: &[&str]) -> Vec<String> {
    let look = |sql: &&str| {
        format!("{:?}", connection.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}")))
    };
    looks.iter().map(look).collect()
}

/// Does the work in a database of either protocol, with calls logged as commands and as data, ends it by a
/// crash or a clean stop, and opens it again. The queries must give the same results as before. Then `then`
/// continues, and is told which of the combinations it was.
pub(crate) fn across_ends(work: &[&str], looks: &[&str], then: impl Fn(&mut Connection, &str)) {
    for protocol in PROTOCOLS {
        for is_crash in [false, true] {
            for logging in ["data", "command"] {
                let disk = SimulatedDisk::new(1);
                let database = Database::open(config(&disk, protocol)).expect("an empty disk");
                let mut connection = database.connect().expect("a connection");
                run(&mut connection, &format!("set hyades.logging = {logging}"));
                work.iter().for_each(|sql| run(&mut connection, sql));
                let before = seen(&mut connection, looks);
                let found = if is_crash {
                    disk.crash_now();
                    disk.after_power_cut(1)
                } else {
                    drop(connection);
                    database.shutdown().expect("a clean stop");
                    disk
                };
                drop(database);
                let database = Database::open(config(&found, protocol)).expect("it opens again");
                let mut connection = database.connect().expect("a connection");
                let way = format!("{protocol:?}, crash {is_crash}, {logging}");
                assert_eq!(seen(&mut connection, looks), before, "{way}");
                then(&mut connection, &way);
            }
        }
    }
}
