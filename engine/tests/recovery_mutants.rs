//! The bugs that belong to recovery, activated one by one: each must be caught by a scenario that passes
//! without it.
//!
//! One test, because the switch is for the whole process.

use hyades_engine::config::ProtocolKind;
use hyades_engine::mutant::{self, Mutant};
use hyades_sim::disk::{PowerCut, SimulatedDisk};
use hyades_sim::hand_written::{Change, HandWritten};

fn put(key: i64, value: i64) -> Change {
    Change::Put { key, value }
}

fn database() -> (HandWritten, u64) {
    let disk = SimulatedDisk::new(1);
    let (mut written, _) = HandWritten::open(&disk, ProtocolKind::Taurus, 2).expect("an empty disk");
    let end = written.append(0, &[0, 0], &[Change::CreateTable]);
    written.sync_all();
    (written, end)
}

/// Pitfall 8: a transaction after an unrelated zombie in its log is recovered.
fn unrelated_predecessor_is_lost() -> Result<(), String> {
    let (mut written, table) = database();
    let lost = written.append(1, &[table, 0], &[put(9, 9)]);
    written.append(0, &[table, lost], &[put(8, 8)]);
    written.append(0, &[table, 0], &[put(1, 1)]);
    written.write(0);
    written.sync(0);
    expect(&written.disk.after(PowerCut::LoseUnsynced), &[(1, 1)])
}

/// Pitfall 15: a zombie stays dead after more work.
fn zombie_and_second_crash() -> Result<(), String> {
    let (mut written, table) = database();
    let lost = written.append(1, &[table, 0], &[put(2, 2)]);
    written.append(0, &[table, lost], &[put(3, 3)]);
    written.write(0);
    written.sync(0);
    let disk = written.disk.after(PowerCut::LoseUnsynced);
    let (mut second, _) =
        HandWritten::open(&disk, ProtocolKind::Taurus, 2).map_err(|error| error.to_string())?;
    while second.end(1) <= lost {
        second.append(1, &[0, 0], &[put(4, 4)]);
    }
    second.sync_all();
    expect(&second.disk.after(PowerCut::LoseUnsynced), &[(4, 4)])
}

/// A record is dead if what it names follows something that was lost.
fn dead_through_another() -> Result<(), String> {
    let disk = SimulatedDisk::new(1);
    let opened = HandWritten::open(&disk, ProtocolKind::TaurusGraph, 3).map_err(|error| error.to_string());
    let mut written = opened?.0.dated();
    let table = written.append_naming(0, (&[], &[0; 3]), &[Change::CreateTable]);
    written.sync_all();
    let lost = written.append_naming(2, (&[(0, table)], &[]), &[put(1, 1)]);
    let second = written.append_naming(1, (&[(2, lost)], &[]), &[put(1, 2)]);
    let third = written.append_naming(0, (&[(1, second)], &[]), &[put(1, 3)]);
    // The others name what is known to be lost, or to be dead.
    written.append_naming(1, (&[(0, third)], &[]), &[put(1, 4)]);
    for log in [0, 1] {
        written.write(log);
        written.sync(log);
    }
    expect(&written.disk.after(PowerCut::LoseUnsynced), &[])
}

/// Pitfall 16: what a recovery after a process kill has shown survives a power cut.
fn kill_then_power_cut() -> Result<(), String> {
    let (mut written, table) = database();
    written.append(1, &[table, 0], &[put(2, 2)]);
    written.write(1);
    let killed = written.disk.after_process_kill(1);
    HandWritten::open(&killed, ProtocolKind::Taurus, 2).map_err(|error| error.to_string())?;
    expect(&killed.after(PowerCut::LoseUnsynced), &[(2, 2)])
}

/// Pitfall 21: each log ends with a transaction that overwrites everything that the other log wrote. Without
/// an order, the log that is finished first is overwritten.
fn crossed_ends() -> Result<(), String> {
    let (mut written, table) = database();
    let mut ends = [table, 0];
    for value in 0..2000 {
        ends[0] = written.append(0, &[ends[0], 0], &[put(0, value)]);
        ends[1] = written.append(1, &[table, ends[1]], &[put(1, value)]);
    }
    written.append(0, &[table, ends[1]], &[put(1, -1)]);
    written.append(1, &[ends[0], 0], &[put(0, -1)]);
    written.sync_all();
    expect(&written.disk, &[(0, -1), (1, -1)])
}

fn expect(disk: &SimulatedDisk, rows: &[(i64, i64)]) -> Result<(), String> {
    let found = HandWritten::recover(disk).map_err(|error| error.to_string())?;
    let expected = rows.iter().copied().collect();
    if found.rows == expected { Ok(()) } else { Err(format!("{:?} instead of {expected:?}", found.rows)) }
}

#[test]
fn every_planted_bug_is_caught() {
    type Scenario = fn() -> Result<(), String>;
    let scenarios: [(Mutant, Scenario); 5] = [
        (Mutant::CommitInLogOrder, unrelated_predecessor_is_lost),
        (Mutant::ZombiesRevived, zombie_and_second_crash),
        (Mutant::DeadNotPassedOn, dead_through_another),
        (Mutant::NoSyncBeforeCut, kill_then_power_cut),
        (Mutant::IdleWorkerInfinity, crossed_ends),
    ];
    for (mutant, scenario) in scenarios {
        mutant::activate(None);
        assert_eq!(scenario(), Ok(()), "{mutant:?}: the scenario must pass without the bug");
        mutant::activate(Some(mutant));
        // Some bugs need an unlucky order of two threads.
        assert!((0..50).any(|_| scenario().is_err()), "{mutant:?} was not caught");
    }
    mutant::activate(None);
}
