//! What the tests share: small databases under both kinds of protocols, and statements that must go well, or
//! fail.

use std::sync::Arc;

use hyades::engine::config::ProtocolKind;
use hyades::{Config, Connection};
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
