//! The memory of a long COPY, in a program that counts it: pieces in flight are charged to the session, and
//! what helpers have allocated for it neither stays charged nor is taken off twice.
//!
//! One test only, because the total includes what other threads allocate.

use std::alloc::System;
use std::sync::Arc;

use hyades::engine::config::{Config, ProtocolKind};
use hyades::engine::db::{Flow, Interrupt};
use hyades::session::{Database, Notice, Output, Session, SessionOptions};
use hyades::types::memory::{Account, Counted, Limits};
use hyades::types::value::Value;
use hyades::{Error, Result, sqlstate};
use hyades_sim::disk::SimulatedDisk;

#[global_allocator]
static ALLOCATOR: Counted<System> = Counted(System);

const MIB: usize = 1 << 20;
const LIMIT: usize = 64 * MIB;

struct Nothing;

impl Output for Nothing {
    fn row(&mut self, _: &mut [Value]) -> Result<()> {
        Ok(())
    }
    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn notice(&mut self, _: Notice) {}
    fn restart(&mut self) {}
}

/// The outcome of a call, charged to the account as the server charges those of a connection.
fn done<T>(account: &Account, mut call: impl FnMut() -> Flow<T>) -> Result<T> {
    loop {
        let entered = account.enter();
        let outcome = call();
        account.leave(entered);
        match outcome {
            Ok(value) => return Ok(value),
            Err(Interrupt::Failed(error)) => return Err(error),
            Err(Interrupt::Wait(ticket)) => ticket.wait(),
        }
    }
}

fn execute(session: &mut Session, account: &Account, sql: &str) {
    let prepared = done(account, || session.prepare(sql, &[])).expect(sql);
    done(account, || session.execute(&prepared, &[], &mut Nothing)).expect(sql);
}

/// Feeds rows of about a kilobyte until there are this many MiB. Returns the most that the account used.
fn feed(session: &mut Session, account: &Account, first: usize, mib: usize) -> usize {
    let (mut number, mut most) = (first, 0);
    for _ in 0..mib {
        let mut chunk = String::with_capacity(MIB + 2048);
        while chunk.len() < MIB {
            number += 1;
            chunk.push_str(&format!("{number}\t{:01000}\n", number));
        }
        for part in chunk.as_bytes().chunks(10_000) {
            done(account, || session.copy_feed(part)).expect("rows");
            most = most.max(account.used_bytes());
        }
    }
    most
}

#[test]
fn a_long_copy_is_charged_for_what_it_holds() {
    let config = Config {
        protocol: ProtocolKind::None,
        disk: Arc::new(SimulatedDisk::new(1)),
        ..Config::new("/data")
    };
    let database = Database::open(config).expect("an empty disk");
    let account = Arc::new(Account::new(Limits { connection_bytes: LIMIT, ..Limits::NONE }));
    let mut session =
        database.session_with(SessionOptions::default(), Arc::clone(&account)).expect("a session");
    // As bytes made by helpers, and as values.
    for table in ["create table t (a int, b text)", "create table t (a int, b text, c serial)"] {
        execute(&mut session, &account, table);
        done(&account, || session.end_implicit()).expect("a commit");
        let before = account.used_bytes();
        execute(&mut session, &account, "copy t (a, b) from stdin");
        let most = feed(&mut session, &account, 0, 100);
        assert!(most < LIMIT / 2, "{most}");
        // If what helpers allocate were taken off the account when it is freed here, there would be room.
        let long = vec![b'x'; LIMIT];
        let error = long.chunks(MIB).try_for_each(|part| done(&account, || session.copy_feed(part)));
        let Err(Error::Input(error)) = error else { panic!("a row as long as the limit") };
        assert_eq!(error.state, sqlstate::OUT_OF_MEMORY);
        done(&account, || session.end_implicit()).expect("an end");
        // What remains is what is known to be kept.
        session.settle_account(0);
        assert!(account.used_bytes() <= before + MIB, "{}", account.used_bytes());
        execute(&mut session, &account, "drop table t");
        done(&account, || session.end_implicit()).expect("a commit");
    }
}
