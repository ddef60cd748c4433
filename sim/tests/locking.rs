//! Two-phase locking through the engine's API: which transactions wait, which are refused, what is undone.

use std::sync::Arc;

use hyades_engine::config::{Config, ProtocolKind};
use hyades_engine::db::{self, Engine, Flow, Interrupt};
use hyades_engine::ticket::Ticket;
use hyades_sim::client::{self, Client, Operation, big};
use hyades_sim::disk::SimulatedDisk;
use hyades_sim::routines::test_compiler;
use hyades_types::definition::IndexKind;
use hyades_types::error::{Abort, Error};

fn open(index: IndexKind) -> Arc<dyn Engine> {
    let mut config = Config::new("/db");
    config.disk = Arc::new(SimulatedDisk::new(1));
    config.protocol = ProtocolKind::None;
    let engine = db::open(config, test_compiler()).expect("opens");
    client::create_tables(&*engine, index).expect("tables");
    engine
}

fn clients<const N: usize>(engine: &Arc<dyn Engine>) -> [Client; N] {
    std::array::from_fn(|_| {
        let mut client = Client::new(&**engine).expect("client");
        client.begin();
        client
    })
}

fn must_wait<T>(flow: Flow<T>) -> Ticket {
    match flow {
        Err(Interrupt::Wait(ticket)) => ticket,
        Err(Interrupt::Failed(error)) => panic!("failed instead of waiting: {error}"),
        Ok(_) => panic!("did not wait"),
    }
}

fn is_deadlock<T>(flow: Flow<T>) -> bool {
    matches!(flow, Err(Interrupt::Failed(Error::Abort(Abort::Deadlock))))
}

fn filled(engine: &Arc<dyn Engine>, rows: &[(u64, i64)]) {
    let mut client = Client::new(&**engine).expect("client");
    client.begin();
    for (key, value) in rows {
        client.put_number(*key, *value).expect("put");
    }
    client.commit().expect("commits").wait().expect("durable");
}

#[test]
fn a_reader_waits_for_the_writer_and_then_sees_its_row() {
    let engine = open(IndexKind::Ordered);
    filled(&engine, &[(1, 10)]);
    let [mut writer, mut reader] = clients(&engine);
    writer.put_number(1, 11).unwrap();
    let ticket = must_wait(reader.attempt(Operation::GetNumber, &[big(1)]));
    assert!(!ticket.is_ready());
    writer.commit().unwrap();
    ticket.wait();
    let rows = reader.attempt(Operation::GetNumber, &[big(1)]).ok().unwrap();
    assert_eq!(rows, vec![vec![big(11)]]);
}

#[test]
fn a_failed_lookup_keeps_its_key_absent() {
    for index in [IndexKind::Ordered, IndexKind::Hash] {
        let engine = open(index);
        let [mut reader, mut writer] = clients(&engine);
        assert_eq!(reader.get_number(7).unwrap(), None);
        let ticket = must_wait(writer.attempt(Operation::PutNumber, &[big(7), big(1)]));
        assert_eq!(reader.get_number(7).unwrap(), None);
        reader.commit().unwrap();
        ticket.wait();
        assert!(writer.attempt(Operation::PutNumber, &[big(7), big(1)]).is_ok());
    }
}

#[test]
fn nothing_appears_in_a_range_that_was_read() {
    for (operation, low, high) in [(Operation::ScanNumbers, 2, 6), (Operation::ScanNumbers, 0, 99)] {
        let engine = open(IndexKind::Ordered);
        filled(&engine, &[(1, 1), (3, 3), (5, 5), (9, 9)]);
        let [mut reader, mut inside, mut beyond] = clients(&engine);
        let rows = reader.attempt(operation, &[big(low), big(high)]).ok().unwrap().len();
        must_wait(inside.attempt(Operation::PutNumber, &[big(4), big(4)]));
        let outside = beyond.attempt(Operation::PutNumber, &[big(100), big(1)]);
        assert_eq!(outside.is_ok(), high < 9, "the gap at the end belongs to the wide range only");
        assert_eq!(reader.attempt(operation, &[big(low), big(high)]).ok().unwrap().len(), rows);
    }
}

/// The reader divides the same gap before and after its scan.
#[test]
fn nothing_appears_beside_an_own_insert_into_a_range_that_was_read() {
    let engine = open(IndexKind::Ordered);
    filled(&engine, &[(1, 1), (9, 9)]);
    let [mut reader, mut first, mut second, mut third] = clients(&engine);
    reader.put_number(3, 3).unwrap();
    assert_eq!(reader.attempt(Operation::ScanNumbers, &[big(0), big(99)]).ok().unwrap().len(), 3);
    reader.put_number(6, 6).unwrap();
    for (other, key) in [(&mut first, 2), (&mut second, 4), (&mut third, 7)] {
        must_wait(other.attempt(Operation::PutNumber, &[big(key), big(1)]));
    }
    assert_eq!(reader.attempt(Operation::ScanNumbers, &[big(0), big(99)]).ok().unwrap().len(), 4);
}

#[test]
fn inserts_into_one_gap_do_not_meet() {
    let engine = open(IndexKind::Ordered);
    filled(&engine, &[(1, 1), (9, 9)]);
    let [mut first, mut second, mut third] = clients(&engine);
    first.put_number(4, 4).unwrap();
    second.put_number(5, 5).unwrap();
    third.put_number(3, 3).unwrap();
    let mut reader = Client::new(&*engine).unwrap();
    reader.begin();
    must_wait(reader.attempt(Operation::ScanNumbers, &[big(0), big(99)]));
    for client in [&mut first, &mut second, &mut third] {
        client.commit().unwrap();
    }
    let rows = client::blocking(|| reader.attempt(Operation::ScanNumbers, &[big(0), big(99)])).unwrap();
    assert_eq!(rows.len(), 5);
}

/// The inserter waits for the gap before 9. When it goes on, 7 is in between, and the gap before 9 no longer
/// concerns it. It must not keep its lock for ever.
#[test]
fn a_lock_that_was_waited_for_in_vain_is_released() {
    let engine = open(IndexKind::Ordered);
    filled(&engine, &[(1, 1), (9, 9)]);
    let [mut scanner, mut inserter] = clients(&engine);
    scanner.attempt(Operation::ScanNumbers, &[big(2), big(9)]).ok().unwrap();
    let ticket = must_wait(inserter.attempt(Operation::PutNumber, &[big(5), big(5)]));
    scanner.put_number(7, 7).unwrap();
    scanner.commit().unwrap();
    ticket.wait();
    assert!(inserter.attempt(Operation::PutNumber, &[big(5), big(5)]).is_ok());
    inserter.commit().unwrap();
    let [mut reader] = clients(&engine);
    let rows = reader.attempt(Operation::ScanNumbers, &[big(0), big(99)]).ok().expect("nothing is locked");
    assert_eq!(rows.len(), 4);
}

#[test]
fn a_cycle_of_waits_ends_one_transaction() {
    let engine = open(IndexKind::Ordered);
    filled(&engine, &[(1, 1), (2, 2), (3, 3)]);
    let [mut first, mut second, mut third] = clients(&engine);
    first.put_number(1, 10).unwrap();
    second.put_number(2, 20).unwrap();
    third.put_number(3, 30).unwrap();
    let ticket = must_wait(first.attempt(Operation::PutNumber, &[big(2), big(0)]));
    must_wait(second.attempt(Operation::PutNumber, &[big(3), big(0)]));
    assert!(is_deadlock(third.attempt(Operation::PutNumber, &[big(1), big(0)])));
    third.rollback();
    let second_result = client::blocking(|| second.attempt(Operation::PutNumber, &[big(3), big(0)]));
    assert!(second_result.is_ok());
    assert!(!ticket.is_ready());
    second.commit().unwrap();
    ticket.wait();
}

#[test]
fn two_readers_that_both_upgrade_are_a_deadlock() {
    let engine = open(IndexKind::Ordered);
    filled(&engine, &[(1, 1)]);
    let [mut first, mut second] = clients(&engine);
    first.get_number(1).unwrap();
    second.get_number(1).unwrap();
    let ticket = must_wait(first.attempt(Operation::PutNumber, &[big(1), big(2)]));
    assert!(is_deadlock(second.attempt(Operation::PutNumber, &[big(1), big(3)])));
    second.rollback();
    ticket.wait();
    assert!(first.attempt(Operation::PutNumber, &[big(1), big(2)]).is_ok());
    first.commit().unwrap();
    let mut reader = Client::new(&*engine).unwrap();
    reader.begin();
    assert_eq!(reader.get_number(1).unwrap(), Some(2));
}

#[test]
fn a_withdrawn_wait_lets_the_next_in_line_pass() {
    let engine = open(IndexKind::Ordered);
    filled(&engine, &[(1, 1)]);
    let [mut holder, mut impatient, mut patient] = clients(&engine);
    holder.get_number(1).unwrap();
    must_wait(impatient.attempt(Operation::PutNumber, &[big(1), big(2)]));
    let ticket = must_wait(patient.attempt(Operation::GetNumber, &[big(1)]));
    impatient.rollback();
    assert!(ticket.is_ready(), "a reader is compatible with the reader who holds the row");
    assert!(patient.attempt(Operation::GetNumber, &[big(1)]).is_ok());
}

#[test]
fn rollback_restores_rows_inserts_and_deletes() {
    for index in [IndexKind::Ordered, IndexKind::Hash] {
        let engine = open(index);
        filled(&engine, &[(1, 1), (2, 2)]);
        let [mut writer] = clients(&engine);
        writer.put_number(1, 100).unwrap();
        writer.put_number(3, 3).unwrap();
        let savepoint = writer.worker().savepoint();
        writer.delete_number(1).unwrap();
        writer.delete_number(2).unwrap();
        assert_eq!(writer.numbers().unwrap(), vec![(3, 3)]);
        writer.worker().rollback_to(savepoint).wait().unwrap();
        assert_eq!(writer.numbers().unwrap(), vec![(1, 100), (2, 2), (3, 3)]);
        writer.rollback();
        let [mut reader] = clients(&engine);
        assert_eq!(reader.numbers().unwrap(), vec![(1, 1), (2, 2)]);
    }
}

/// An error inside a block with savepoints is reported while the transaction stays open. The report reveals
/// rows that may not be durable yet (pitfall 7).
#[test]
fn what_a_rollback_to_a_savepoint_has_seen_must_be_durable() {
    let disk = SimulatedDisk::new(1);
    let mut config = Config::new("/db");
    config.disk = Arc::new(disk.clone());
    config.segment_bytes = 1 << 20;
    config.log_buffer_bytes = 1 << 18;
    config.shared_block_bytes = 0;
    let engine = db::open(config, test_compiler()).expect("opens");
    client::create_tables(&*engine, IndexKind::Ordered).expect("tables");
    disk.hold_writes_under(Some(std::path::Path::new("/db")));
    let [mut writer, mut reader] = clients(&engine);
    writer.put_number(1, 11).unwrap();
    let written = writer.commit().unwrap();
    let savepoint = reader.worker().savepoint();
    assert_eq!(reader.get_number(1).unwrap(), Some(11));
    let seen = reader.worker().rollback_to(savepoint);
    assert!(!written.is_durable());
    assert!(!seen.is_durable(), "the reader has seen a row that a crash may still take back");
    disk.hold_writes_under(None);
    written.wait().unwrap();
    seen.wait().unwrap();
}
