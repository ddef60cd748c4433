//! Logs at work: appended to by threads, written by loggers, read back; failing and full disks.

use std::path::Path;
use std::time::Duration;

use hyades_types::definition::TableId;
use parking_lot::Mutex;

use super::buffer::Refusal;
use super::record::{Commit, Operation, Operations, OperationsWriter, RecordBody};
use super::set::{LogSource, Tail};
use super::store::{LogFiles, LogReader};
use super::*;
use crate::config::ProtocolKind;
use crate::disk::controlled::ControlledDisk;
use crate::disk::{Disk, RealDisk};
use crate::log::durable::Durability;

fn config(disk: &Arc<dyn Disk>, logs: usize) -> Config {
    let mut config = Config::new("data");
    config.disk = Arc::clone(disk);
    config.logs = logs;
    config.log_buffer_bytes = 64 << 10;
    config.shared_block_bytes = 0;
    config.segment_bytes = 256 << 10;
    config
}

fn shape(logs: usize) -> LogShape {
    LogShape { logs, stripes: 1 }
}

fn start(disk: &Arc<dyn Disk>, logs: usize) -> (RunningLogs, Manifest) {
    let mut manifest = Manifest::create();
    let running = Logs::start(&config(disk, logs), shape(logs), &mut manifest, |_| Box::new(()))
        .expect("an empty disk");
    (running, manifest)
}

/// What a protocol without fields appends.
fn no_field(_header: &mut Vec<u8>) {}

/// Appends the record of a transaction that may have fragments before it.
fn append_record(
    logs: &Logs,
    log: usize,
    worker: usize,
    progress: &mut AppendProgress,
    operations: &[u8],
) -> Result<Append<Lsn>> {
    Ok(match logs.reserve_commit(log, worker, progress, Commit::default(), no_field, operations)? {
        Append::Done(mut place) => {
            place.write(operations);
            Append::Done(place.publish())
        }
        Append::Wait(ticket) => Append::Wait(ticket),
    })
}

/// Appends one transaction, waiting for room as often as it takes.
fn append(logs: &Logs, log: usize, worker: usize, operations: &[u8]) -> Result<Lsn> {
    let mut progress = AppendProgress::default();
    loop {
        let appended = match logs.append_fragments(log, worker, &mut progress, operations)? {
            Append::Wait(ticket) => Append::Wait(ticket),
            Append::Done(()) => append_record(logs, log, worker, &mut progress, operations)?,
        };
        match appended {
            Append::Done(end) => return Ok(end),
            Append::Wait(ticket) => ticket.wait(),
        }
    }
}

fn put(worker: usize, number: u32, row: &[u8]) -> Vec<u8> {
    let mut writer = OperationsWriter::new();
    writer.put(TableId(worker as u32), &number.to_be_bytes(), row);
    writer.as_bytes().to_vec()
}

struct Found {
    /// Operations of whole transactions, in log order.
    transactions: Vec<Vec<u8>>,
    end: Lsn,
}

/// Reads one log of the last incarnation, putting fragments together.
fn read(disk: &Arc<dyn Disk>, data: &Path, manifest: &Manifest, log: usize) -> Found {
    let incarnation = manifest.incarnations.last().expect("one");
    // It has been closed since.
    let files = LogFiles { prepared_ahead: None, ..manifest.log_files(data, incarnation, log) };
    let mut reader = LogReader::open(disk, &files).expect("a log");
    let mut found = Found { transactions: Vec::new(), end: Lsn::ZERO };
    let mut fragments: std::collections::BTreeMap<u64, Vec<u8>> = Default::default();
    while let Some(chunk) = reader.next_chunk().expect("undamaged") {
        for record in chunk.records() {
            match record.expect("well-formed").body {
                RecordBody::Transaction { content, .. } => found.transactions.push(content.to_vec()),
                RecordBody::Fragment { transaction, commit, content } => {
                    fragments.entry(transaction).or_default().extend_from_slice(content);
                    if commit.is_some() {
                        found.transactions.extend(fragments.remove(&transaction));
                    }
                }
                RecordBody::Control(_) | RecordBody::Filler => {}
            }
        }
    }
    let end = reader.end().expect("it has ended");
    assert_eq!(end.tail, Tail::Clean);
    found.end = end.whole_records;
    found
}

#[test]
fn threads_append_and_everything_acknowledged_is_in_the_files() {
    const RECORDS: u32 = 2000;
    let (_, disk) = ControlledDisk::shared();
    let (running, manifest) = start(&disk, 2);
    let threads: Vec<_> = (0..4)
        .map(|worker| {
            let logs = Arc::clone(&running);
            std::thread::spawn(move || {
                for number in 0..RECORDS {
                    let operations = put(worker, number, &vec![7; number as usize % 200]);
                    let end = append(&logs, worker % 2, worker, &operations).expect("room comes");
                    if number % 100 == 0 {
                        Durability::in_log(&Arc::clone(logs.watch()).into(), worker % 2, end)
                            .wait()
                            .expect("durable");
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no thread panics");
    }
    running.shutdown().expect("nothing failed");
    for log in 0..2 {
        let found = read(&disk, Path::new("data"), &manifest, log);
        assert_eq!(found.transactions.len(), 2 * RECORDS as usize);
        assert_eq!(found.end, running.watch().durable(log));
        let mut next = [0; 4];
        for transaction in &found.transactions {
            let operation = Operations::new(transaction).next().expect("one").expect("well-formed");
            let Operation::Put { table, key, .. } = operation else { panic!("{operation:?}") };
            assert_eq!(key, u32::to_be_bytes(next[table.0 as usize]), "a worker's records stay in order");
            next[table.0 as usize] += 1;
        }
    }
}

#[test]
fn a_large_transaction_is_fragmented_and_put_together() {
    let (_, disk) = ControlledDisk::shared();
    let (running, manifest) = start(&disk, 1);
    // Larger than the whole buffer.
    let large = put(0, 1, &(0..300_000_u32).map(|byte| byte as u8).collect::<Vec<_>>());
    append(&running, 0, 0, &put(0, 0, b"before")).expect("room comes");
    append(&running, 0, 0, &large).expect("room comes");
    // A series that is given up: its fragments never get a last one.
    let mut abandoned = AppendProgress::default();
    while let Append::Wait(ticket) = running.append_fragments(0, 0, &mut abandoned, &large).expect("appended")
    {
        ticket.wait();
    }
    append(&running, 0, 0, &put(0, 2, b"after")).expect("room comes");
    running.shutdown().expect("nothing failed");
    let found = read(&disk, Path::new("data"), &manifest, 0);
    assert_eq!(found.transactions, [put(0, 0, b"before"), large, put(0, 2, b"after")]);
}

#[test]
fn a_failed_write_poisons_and_nothing_is_acknowledged_afterwards() {
    let (memory, disk) = ControlledDisk::shared();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut config = config(&disk, 2);
    config.on_failure = Some(Arc::new({
        let told = Arc::clone(&told);
        move |failure: &Arc<FatalError>| told.lock().push(failure.message.clone())
    }));
    let running =
        Logs::start(&config, shape(2), &mut Manifest::create(), |_| Box::new(())).expect("an empty disk");
    let end = append(&running, 0, 0, &put(0, 1, b"fine")).expect("room");
    Durability::in_log(&Arc::clone(running.watch()).into(), 0, end).wait().expect("durable");
    memory.fail_durable_writes();
    let end = append(&running, 0, 0, &put(0, 2, b"lost")).expect("room");
    let waited = Durability::in_log(&Arc::clone(running.watch()).into(), 0, end).wait();
    let message = waited.expect_err("the write failed").to_string();
    assert!(message.contains("could not write log file") && message.contains("planned failure"), "{message}");
    // Before the waiters.
    assert_eq!(*told.lock(), std::slice::from_ref(&message));
    for log in 0..2 {
        let refused = append(&running, log, log, &put(0, 3, b"refused"));
        assert!(matches!(refused, Err(Error::Fatal(_))), "log {log}");
    }
    assert!(matches!(running.shutdown(), Err(Error::Fatal(_))), "the failure is reported");
    assert_eq!(told.lock().len(), 1, "a shutdown is no failure");
}

#[test]
fn after_shutdown_appends_fail_and_waits_end() {
    let (_, disk) = ControlledDisk::shared();
    let (running, _) = start(&disk, 1);
    let waiting = Durability::in_log(&Arc::clone(running.watch()).into(), 0, Lsn(1 << 30));
    running.shutdown().expect("nothing failed");
    running.shutdown().expect("twice is fine");
    let refused = append(&running, 0, 0, &put(0, 3, b"refused")).expect_err("shut down");
    assert_eq!(refused.sqlstate(), sqlstate::ADMIN_SHUTDOWN);
    assert!(waiting.wait().is_err());
}

#[test]
fn a_full_disk_refuses_commits_and_recovers_when_space_returns() {
    let (memory, disk) = ControlledDisk::shared();
    let (running, manifest) = start(&disk, 1);
    memory.limit_space(3 << 20);
    let mut acknowledged = 0;
    let refused = loop {
        match append(&running, 0, 0, &put(0, acknowledged, &[3; 2000])) {
            Ok(end) => {
                Durability::in_log(&Arc::clone(running.watch()).into(), 0, end)
                    .wait()
                    .expect("what was reserved has room");
                acknowledged += 1;
            }
            Err(error) => break error,
        }
    };
    assert_eq!(refused.sqlstate(), sqlstate::DISK_FULL);
    assert!(matches!(refused, Error::Input(_)), "the database lives on");
    assert!(refused.to_string().starts_with("could not extend log with file"), "{refused}");
    assert!(acknowledged > 100, "{acknowledged}");
    memory.limit_space(0);
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    let end = loop {
        match append(&running, 0, 0, &put(0, acknowledged, b"again")) {
            Ok(end) => break end,
            Err(error) => assert!(std::time::Instant::now() < deadline, "{error}"),
        }
    };
    Durability::in_log(&Arc::clone(running.watch()).into(), 0, end).wait().expect("durable");
    running.shutdown().expect("nothing failed");
    let found = read(&disk, Path::new("data"), &manifest, 0);
    assert_eq!(found.transactions.len() as u32, acknowledged + 1);
}

#[test]
fn a_full_buffer_makes_workers_wait_not_fail() {
    let (memory, disk) = ControlledDisk::shared();
    let (running, _) = start(&disk, 1);
    memory.hold_durable_writes(true);
    let operations = put(0, 1, &[0; 100]);
    let mut progress = AppendProgress::default();
    let ticket = loop {
        match append_record(&running, 0, 0, &mut progress, &operations) {
            Ok(Append::Done(_)) => {}
            Ok(Append::Wait(ticket)) => {
                // The logger may still have been on its way to the write that is held.
                std::thread::sleep(Duration::from_millis(100));
                if !ticket.is_ready() {
                    break ticket;
                }
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert!(!ticket.is_ready());
    memory.hold_durable_writes(false);
    ticket.wait();
    append(&running, 0, 0, &operations).expect("room comes");
}

#[test]
fn incarnations_follow_each_other_on_a_real_disk() {
    let data = std::env::temp_dir().join(format!("hyades-logs-{}", std::process::id()));
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let mut config = config(&disk, 2);
    config.data_directory = data.clone();
    let guard = manifest::lock_data_directory(&disk, &data).expect("free");
    assert!(manifest::lock_data_directory(&disk, &data).is_err(), "taken");
    assert_eq!(Manifest::load(disk.as_ref(), &data).expect("empty"), None);
    let mut manifest = Manifest::create();
    for protocol in [ProtocolKind::Taurus, ProtocolKind::Serial] {
        config.protocol = protocol;
        let running =
            Logs::start(&config, shape(config.logs), &mut manifest, |_| Box::new(())).expect("started");
        for number in 0..200 {
            append(&running, 0, 0, &put(0, number, &[9; 300])).expect("room comes");
        }
        drop(running);
        let found = read(&disk, &data, &manifest, 0);
        assert_eq!(found.transactions.len(), 200, "{protocol:?}");
        let mut end = LsnVector::default();
        end.raise_entry(0, found.end);
        manifest.incarnations.last_mut().expect("one").freeze(&end, UpToEnd::default());
    }
    let loaded = Manifest::load(disk.as_ref(), &data).expect("readable").expect("there");
    assert_eq!(loaded.incarnations.len(), 2);
    assert_eq!(loaded.incarnations[0], manifest.incarnations[0], "stored with the second start");
    let names = disk.list(&data.join("logs/log-0")).expect("readable");
    assert_eq!(names.len(), 2, "unused segments are gone: {names:?}");
    drop(guard);
    std::fs::remove_dir_all(&data).expect("removed");
}

#[test]
fn a_writer_waits_for_a_slot_when_all_are_in_use() {
    let (_, disk) = ControlledDisk::shared();
    let (running, manifest) = start(&disk, 1);
    let buffer = running.buffer(0);
    let mut held = Vec::new();
    loop {
        match buffer.reserve(0, 16) {
            Ok(place) => held.push(place),
            Err(Refusal::Busy) => break,
            // Segments are being prepared.
            Err(_) => buffer.wait_for_room(16, || false).wait(),
        }
    }
    let operations = put(0, 1, b"late");
    let attempt = |progress: &mut AppendProgress| {
        append_record(&running, 0, 0, progress, &operations).expect("no failure")
    };
    let mut progress = AppendProgress::default();
    let Append::Wait(ticket) = attempt(&mut progress) else { panic!("a slot was free") };
    assert!(!ticket.is_ready(), "it would try again at once, and again");
    held.into_iter().for_each(drop);
    ticket.wait();
    append(&running, 0, 0, &operations).expect("room");
    running.shutdown().expect("nothing failed");
    assert_eq!(read(&disk, Path::new("data"), &manifest, 0).transactions, [operations]);
}

#[test]
fn far_more_threads_than_slots_and_processors_append_without_spinning() {
    const THREADS: usize = 200;
    const RECORDS: u32 = 50;
    let (_, disk) = ControlledDisk::shared();
    let (running, manifest) = start(&disk, 1);
    let waits = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (logs, waits) = (&running, &waits);
            scope.spawn(move || {
                // Too large to do without the mutex: a slot is held for as long as other threads are in the
                // mutex.
                let row = [thread as u8; 500];
                for number in 0..RECORDS {
                    let operations = put(thread, number, &row);
                    let mut progress = AppendProgress::default();
                    while let Append::Wait(ticket) =
                        append_record(logs, 0, thread, &mut progress, &operations).expect("room")
                    {
                        waits.fetch_add(1, Ordering::Relaxed);
                        ticket.wait();
                    }
                }
            });
        }
    });
    running.shutdown().expect("nothing failed");
    let appended = read(&disk, Path::new("data"), &manifest, 0).transactions.len();
    assert_eq!(appended, THREADS * RECORDS as usize);
    // All wake when a block is taken, and most find the ring full again: each waits for some blocks, and no
    // more often.
    let waits = waits.into_inner();
    println!("{waits} waits of {THREADS} threads for {appended} records");
    assert!(waits < 100 * appended as u64, "{waits} waits for {appended} records");
}
