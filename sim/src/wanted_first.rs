//! Restarts that go on in the background, in which transactions wait for a table or a row: that is restored
//! before the rest, as it was, and the rest of the restart does not disturb it.

use std::time::Duration;

use hyades_engine::config::Config;
use hyades_engine::db::{Engine, open};
use hyades_engine::recovery::{RecoveryReport, tables_hash};

use crate::client::{Client, Operation, big, blocking};
use crate::crash::Scenario;
use crate::restarts::{
    Held, Killed, LONG, LONG_REPEATED, MANY, MORE_NUMBERS, Outcome, Release, TEXTS, as_text, expect_wait,
    hash_of_complete, prepare_and, prepare_with, wait_until_complete,
};
use crate::routines::test_compiler;

/// A range of the checkpoint has at most this many sections.
const MOST_SECTIONS: u64 = 3;

/// A transaction waits for a table that the logs concern, while much must be loaded that they do not concern.
/// The logs are replayed for that table first. The restart does not disturb later work on the table, and that
/// work survives.
pub fn what_is_wanted_comes_first(scenario: Scenario, seed: u64) -> Outcome {
    let killed = prepare_with(scenario, seed, MANY)?;
    wait_for_numbers(&killed, scenario, seed).map(drop)
}

/// The same in logs that mostly concern other tables: little of them is read for the table. Their large
/// transactions have pieces among the records of the table.
pub fn parts_of_the_logs_are_enough(scenario: Scenario, seed: u64) -> Outcome {
    let after = |engine: &dyn Engine| {
        let mut client = Client::new(engine)?;
        for round in 0..4 {
            client.begin();
            let mut texts = TEXTS..TEXTS + MANY / 5;
            texts.try_for_each(|key| client.put_text(key, &LONG.repeat(LONG_REPEATED)))?;
            if round == 0 {
                client.add_number(round, 7)?;
            }
            client.commit().and_then(|answer| answer.wait())?;
            client.begin();
            client.add_number(round, 5)?;
            client.commit().and_then(|answer| answer.wait())?;
        }
        Ok(())
    };
    let killed = prepare_and(scenario, seed, (MANY, 0), after)?;
    let report = wait_for_numbers(&killed, scenario, seed)?;
    if report.early_passes > 0 && report.early_bytes * 2 > report.log_bytes {
        return Err(format!("too much was read for a table that few records change: {report:?}"));
    }
    Ok(())
}

fn wait_for_numbers(killed: &Killed, scenario: Scenario, seed: u64) -> Outcome<RecoveryReport> {
    let before = {
        let engine = scenario.open(&killed.disk.after_process_kill(seed)).map_err(as_text)?;
        let mut client = Client::new(&*engine).map_err(as_text)?;
        client.begin();
        let numbers = client.numbers().map_err(as_text)?;
        drop(client);
        engine.shutdown().map_err(as_text)?;
        numbers
    };
    let disk = killed.disk.after_process_kill(seed);
    disk.hold_reads(Some(Held::Load.reads(0)));
    let recovery_workers = 2 - seed as usize % 2;
    let config = Config { recovery_workers, ..scenario.on_demand().config(&disk) };
    let engine = open(config, test_compiler()).map_err(as_text)?;
    let _release = Release(&disk);
    let mut client = Client::new(&*engine).map_err(as_text)?;
    client.begin();
    let scan = [big(i64::MIN), big(i64::MAX)];
    expect_wait("a scan", client.attempt(Operation::ScanNumbers, &scan))?;
    disk.hold_reads(None);
    blocking(|| client.attempt(Operation::ScanNumbers, &scan)).map_err(as_text)?;
    let mut expected = client.numbers().map_err(as_text)?;
    if expected != before {
        return Err(format!("the table has {expected:?} when it opens, not {before:?}"));
    }
    for (key, number) in &mut expected {
        client.add_number(*key, 1000).map_err(as_text)?;
        *number += 1000;
    }
    client.commit().and_then(|answer| answer.wait()).map_err(as_text)?;
    wait_until_complete(&*engine)?;
    // With two workers, the other one may load everything else meanwhile.
    if recovery_workers == 1 && engine.recovery_report().early_passes == 0 {
        return Err(format!("nothing was replayed first: {:?}", engine.recovery_report()));
    }
    client.begin();
    let found = client.numbers().map_err(as_text)?;
    if found != expected {
        return Err(format!(
            "there are other numbers at the end of the restart: {found:?}, not {expected:?}"
        ));
    }
    drop(client);
    let (state, report) = (tables_hash(&engine.tables()).map_err(as_text)?, engine.recovery_report());
    let crashed = disk.after_power_cut(seed);
    engine.shutdown().map_err(as_text)?;
    if hash_of_complete(&crashed, scenario)? != state {
        return Err("after a power cut there is another state".to_owned());
    }
    Ok(report)
}

/// A transaction wants rows by their keys while most of their table is held back. It gets them as they were,
/// changes them, and what it has done survives the rest of the restart and a crash.
pub fn a_key_opens_before_its_table(scenario: Scenario, seed: u64) -> Outcome {
    let after = |engine: &dyn Engine| {
        let mut client = Client::new(engine)?;
        for round in 0..4 {
            client.begin();
            (0..TEXTS).try_for_each(|key| client.append_list(key, 100 * round + key))?;
            client.put_text(TEXTS + round, &LONG.repeat(2 + round as usize))?;
            client.commit().and_then(|answer| answer.wait())?;
        }
        Ok(())
    };
    let killed = prepare_and(scenario, seed, (MANY, 0), after)?;
    let before = {
        let engine = scenario.open(&killed.disk.after_process_kill(seed)).map_err(as_text)?;
        let lists = lists(&*engine)?;
        engine.shutdown().map_err(as_text)?;
        lists
    };
    let disk = killed.disk.after_process_kill(seed);
    disk.hold_reads(Some(Held::Load.reads(0)));
    let config = Config { recovery_workers: 1, ..scenario.on_demand().config(&disk) };
    let engine = open(config, test_compiler()).map_err(as_text)?;
    let _release = Release(&disk);
    let mut client = Client::new(&*engine).map_err(as_text)?;
    client.begin();
    let key = seed % TEXTS;
    expect_wait("a read", client.attempt(Operation::GetList, &[big(key as i64)]))?;
    // The range that the thread has in hand, and the one that is wanted.
    disk.hold_reads(Some(Held::Load.reads(2 * MOST_SECTIONS)));
    let list = client.get_list(key).map_err(as_text)?;
    if list != before[key as usize] {
        return Err(format!("list {key} is {list:?} when it opens, not {:?}", before[key as usize]));
    }
    let status = engine.restart_status();
    if status.is_complete || status.closed_tables == 0 || status.loaded_bytes * 2 > status.bytes_to_load {
        return Err(format!("the key has opened with its table: {status:?}"));
    }
    client.append_list(key, 7).map_err(as_text)?;
    client.commit().and_then(|answer| answer.wait()).map_err(as_text)?;
    disk.hold_reads(None);
    client.begin();
    let mut expected = before;
    expected[key as usize].push(7);
    for (key, expected) in expected.iter().enumerate() {
        let list = client.get_list(key as u64).map_err(as_text)?;
        if list != *expected {
            return Err(format!("list {key} is {list:?} in the end, not {expected:?}"));
        }
        client.append_list(key as u64, 8).map_err(as_text)?;
    }
    client.commit().and_then(|answer| answer.wait()).map_err(as_text)?;
    wait_until_complete(&*engine)?;
    expected.iter_mut().for_each(|list| list.push(8));
    let found = lists(&*engine)?;
    if found != expected {
        return Err(format!("the lists are {found:?} after the restart, not {expected:?}"));
    }
    drop(client);
    let state = tables_hash(&engine.tables()).map_err(as_text)?;
    let crashed = disk.after_power_cut(seed);
    engine.shutdown().map_err(as_text)?;
    if hash_of_complete(&crashed, scenario)? != state {
        return Err("after a power cut there is another state".to_owned());
    }
    Ok(())
}

/// A transaction wants a row by its key when some of the checkpoint has been loaded: nothing of its table, a
/// part, or all of it. It gets the row, as it was, while the rest is held back.
pub fn a_key_opens_whatever_has_been_loaded(scenario: Scenario, seed: u64) -> Outcome {
    const NUMBERS: u64 = 200;
    let key = |round: u64| MORE_NUMBERS + round * 47;
    let after = |engine: &dyn Engine| {
        let mut client = Client::new(engine)?;
        for round in 0..4 {
            client.begin();
            client.add_number(key(round), 5)?;
            client.commit().and_then(|answer| answer.wait())?;
        }
        Ok(())
    };
    let killed = prepare_and(scenario, seed, (MANY, NUMBERS), after)?;
    let mut early_passes = 0;
    for reads in (0..10).map(|part| part * 2 * MOST_SECTIONS) {
        let disk = killed.disk.after_process_kill(seed);
        disk.hold_reads(Some(Held::Load.reads(reads)));
        let config = Config { recovery_workers: 1, ..scenario.on_demand().config(&disk) };
        let engine = open(config, test_compiler()).map_err(as_text)?;
        let release = Release(&disk);
        wait_until_load_is_held(&*engine);
        let mut client = Client::new(&*engine).map_err(as_text)?;
        client.begin();
        let key = key(seed % 4);
        expect_wait("a read", client.attempt(Operation::GetNumber, &[big(key as i64)]))?;
        disk.hold_reads(Some(Held::Load.reads(2 * MOST_SECTIONS)));
        let number = client.get_number(key).map_err(as_text)?;
        if number != Some(5) || engine.restart_status().is_complete {
            return Err(format!(
                "number {key} is {number:?} when it opens, {reads} reads after the beginning"
            ));
        }
        drop((client, release));
        wait_until_complete(&*engine)?;
        early_passes += engine.recovery_report().early_passes;
        engine.shutdown().map_err(as_text)?;
    }
    if early_passes == 0 {
        return Err("the table was never loaded when its row was wanted".to_owned());
    }
    Ok(())
}

/// Waits until nothing more of the checkpoint is loaded. What takes longer than usual may come later.
fn wait_until_load_is_held(engine: &dyn Engine) {
    let mut loaded = None;
    while loaded != Some(engine.restart_status().loaded_bytes) {
        loaded = Some(engine.restart_status().loaded_bytes);
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn lists(engine: &dyn Engine) -> Outcome<Vec<Vec<u64>>> {
    let mut client = Client::new(engine).map_err(as_text)?;
    client.begin();
    (0..TEXTS).map(|key| client.get_list(key).map_err(as_text)).collect()
}
