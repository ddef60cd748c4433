//! The lock table alone, with marks that are numbers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::waits::Line;
use super::*;
use crate::storage::history::{Forgettable, Handle};

/// A transaction collects the highest number that it has met.
#[derive(Default)]
struct Counting {
    keeps_everything: AtomicBool,
}

impl Forgettable for Counting {
    fn is_forgettable(&self, _mark: &[AtomicU64]) -> bool {
        !self.keeps_everything.load(Ordering::Relaxed)
    }
}

impl Trail for Counting {
    type Dependencies = u64;
    const IS_EMPTY: bool = false;

    fn mark<R>(&self, handle: Handle, show: impl FnOnce(&[AtomicU64]) -> R) -> Option<R> {
        Some(show(&[AtomicU64::new(handle.0)]))
    }

    fn follow(&self, mark: &[AtomicU64], dependencies: &mut u64) {
        *dependencies = (*dependencies).max(mark[0].load(Ordering::Relaxed));
    }

    fn follow_all(&self, _dependencies: &mut u64) {}
}

/// Not a row, so that data leaves traces.
fn named(number: u64) -> Resource {
    Resource(number << 1)
}

struct Fixture {
    protocol: Counting,
    table: LockTable<Counting>,
    dependencies: u64,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { protocol: Counting::default(), table: LockTable::new(4), dependencies: 0 }
    }

    fn acquire(&mut self, transaction: u64, resource: u64, mode: LockMode) -> Acquired {
        self.dependencies = 0;
        let transaction = TransactionId(transaction);
        self.table.acquire(&self.protocol, &mut self.dependencies, transaction, named(resource), mode)
    }

    fn release(&self, transaction: u64, resource: u64, token: u64) {
        let mark = Some(Handle(token));
        self.table.release(&self.protocol, TransactionId(transaction), named(resource), mark);
    }
}

impl Fixture {
    /// Whether a wait of the transaction for the resource would close a cycle: by the definition of waiting,
    /// one pair after another.
    fn edges(&self, transaction: u64, resource: u64, mode: LockMode) -> bool {
        let start = TransactionId(transaction);
        let mut lines: Vec<(u64, Line)> = (0..3)
            .map(|resource| {
                let bucket = self.table.bucket(named(resource));
                (resource, bucket.get(named(resource)).map(Entry::line).unwrap_or_default())
            })
            .collect();
        let line = &mut lines[resource as usize].1;
        let held = line.holders.iter().find(|(holder, _)| *holder == start).map(|(_, mode)| *mode);
        let wanted = held.map_or(mode, |held| held.join(mode));
        let is_upgrade = |(waiter, _): &&(TransactionId, LockMode)| {
            line.holders.iter().any(|(holder, _)| holder == waiter)
        };
        let place = match held {
            Some(_) => line.waiters.iter().take_while(is_upgrade).count(),
            None => line.waiters.len(),
        };
        line.waiters.insert(place, (start, wanted));
        let mut reached = vec![start];
        let mut at = 0;
        while let Some(&from) = reached.get(at) {
            at += 1;
            for (_, line) in &lines {
                let Some(place) = line.waiters.iter().position(|(waiter, _)| *waiter == from) else {
                    continue;
                };
                let mode = line.waiters[place].1;
                let ahead = line.waiters[..place].iter();
                let in_the_way =
                    line.holders.iter().filter(|(holder, held)| *holder != from && !held.is_compatible(mode));
                for (next, _) in ahead.chain(in_the_way) {
                    if *next == start {
                        return true;
                    }
                    if !reached.contains(next) {
                        reached.push(*next);
                    }
                }
            }
        }
        false
    }
}

fn must_wait(acquired: Acquired) -> Ticket {
    match acquired {
        Acquired::Wait(ticket) => ticket,
        _ => panic!("the request should have waited"),
    }
}

#[test]
fn every_pair_of_modes_follows_the_matrix() {
    use LockMode::{IntentRead, IntentWrite, KeyRead, NoKeyWrite, Read, Write};
    let modes = [IntentRead, IntentWrite, KeyRead, Read, NoKeyWrite, Write];
    // Table 13.3 of PostgreSQL's manual, and Gray's matrix; each pair once.
    let conflicts = [
        (KeyRead, Write),
        (Read, NoKeyWrite),
        (Read, Write),
        (NoKeyWrite, NoKeyWrite),
        (NoKeyWrite, Write),
        (Write, Write),
        (IntentRead, NoKeyWrite),
        (IntentRead, Write),
        (IntentWrite, Read),
        (IntentWrite, NoKeyWrite),
        (IntentWrite, Write),
    ];
    for held in modes {
        for asked in modes {
            let is_conflict = conflicts.contains(&(held, asked)) || conflicts.contains(&(asked, held));
            assert_eq!(held.is_compatible(asked), !is_conflict, "{held:?} and {asked:?}");
            let joined = held.join(asked);
            assert_eq!(joined, asked.join(held), "{held:?} and {asked:?}");
            assert_eq!(held.covers(asked), joined == held, "{held:?} and {asked:?}");
            for other in modes {
                let is_free = held.is_compatible(other) && asked.is_compatible(other);
                assert!(
                    is_free || !joined.is_compatible(other),
                    "{joined:?} is weaker than {held:?} or {asked:?}"
                );
            }
            let mut fixture = Fixture::new();
            assert!(matches!(fixture.acquire(1, 7, held), Acquired::New(mode) if mode == held));
            let granted = matches!(fixture.acquire(2, 7, asked), Acquired::New(_));
            assert_eq!(granted, held.is_compatible(asked), "{held:?} then {asked:?}");
        }
    }
}

#[test]
fn a_grant_after_a_wait_collects_what_the_releaser_left() {
    let mut fixture = Fixture::new();
    fixture.acquire(1, 7, LockMode::Write);
    let ticket = must_wait(fixture.acquire(2, 7, LockMode::Write));
    fixture.release(1, 7, 42);
    assert!(ticket.is_ready());
    assert!(matches!(fixture.acquire(2, 7, LockMode::Write), Acquired::New(LockMode::Write)));
    assert_eq!(fixture.dependencies, 42);
}

#[test]
fn unused_entries_are_dropped() {
    let mut fixture = Fixture::new();
    fixture.acquire(1, 7, LockMode::Write);
    fixture.release(1, 7, 42);
    // A reader leaves nothing.
    fixture.acquire(2, 7, LockMode::Read);
    fixture.release(2, 7, 43);
    assert_eq!(fixture.table.entries(), 0);
    fixture.protocol.keeps_everything.store(true, Ordering::Relaxed);
    for resource in 0..100 {
        fixture.acquire(1, resource, LockMode::Write);
        fixture.release(1, resource, 42);
    }
    assert_eq!(fixture.table.entries(), 100);
    fixture.protocol.keeps_everything.store(false, Ordering::Relaxed);
    for resource in 100..104 {
        fixture.acquire(1, resource << 20, LockMode::Write);
    }
    assert!(fixture.table.entries() < 100, "a full bucket is swept");
}

#[test]
fn waiters_are_served_in_order_and_upgrades_first() {
    let mut fixture = Fixture::new();
    fixture.acquire(1, 7, LockMode::Read);
    fixture.acquire(2, 7, LockMode::Read);
    let writer = must_wait(fixture.acquire(3, 7, LockMode::Write));
    let reader = must_wait(fixture.acquire(4, 7, LockMode::Read));
    let upgrade = must_wait(fixture.acquire(1, 7, LockMode::Write));
    fixture.release(2, 7, 1);
    assert!(upgrade.is_ready() && !writer.is_ready() && !reader.is_ready());
    assert!(matches!(fixture.acquire(1, 7, LockMode::Write), Acquired::Held(LockMode::Write)));
    fixture.release(1, 7, 2);
    assert!(writer.is_ready() && !reader.is_ready());
    assert!(matches!(fixture.acquire(3, 7, LockMode::Write), Acquired::New(_)));
    fixture.release(3, 7, 3);
    assert!(reader.is_ready());
}

#[test]
fn a_compatible_request_passes_the_queue() {
    use LockMode::{KeyRead, NoKeyWrite, Write};
    let mut fixture = Fixture::new();
    fixture.acquire(1, 7, NoKeyWrite);
    let update = must_wait(fixture.acquire(2, 7, NoKeyWrite));
    assert!(matches!(fixture.acquire(3, 7, KeyRead), Acquired::New(KeyRead)));
    let delete = must_wait(fixture.acquire(4, 7, Write));
    let key_reader = must_wait(fixture.acquire(5, 7, KeyRead));
    // The delete gives up, and the key reader is compatible with all others.
    fixture.table.withdraw(TransactionId(4), named(7));
    assert!(key_reader.is_ready() && delete.is_ready() && !update.is_ready());
    fixture.release(1, 7, 1);
    assert!(update.is_ready());
    for transaction in [2, 3, 5] {
        fixture.release(transaction, 7, 2);
    }
    assert_eq!(fixture.table.entries(), 0);
}

#[test]
fn a_cycle_through_the_queue_is_a_deadlock() {
    let mut fixture = Fixture::new();
    fixture.acquire(1, 7, LockMode::Read);
    fixture.acquire(2, 8, LockMode::Write);
    // 2 waits for 1; 3 waits only because 2 is before it; 1 waits for 3's resource: no cycle yet.
    must_wait(fixture.acquire(2, 7, LockMode::Write));
    fixture.acquire(3, 9, LockMode::Write);
    must_wait(fixture.acquire(3, 7, LockMode::Read));
    assert!(matches!(fixture.acquire(1, 9, LockMode::Write), Acquired::Deadlock));
}

/// Each waits for all before it. The work of a search grows with the queue, not with its square.
#[test]
fn a_search_looks_at_each_waiter_once() {
    for waiters in [50, 500] {
        let mut fixture = Fixture::new();
        fixture.acquire(1, 7, LockMode::Write);
        for waiter in 2..waiters + 2 {
            must_wait(fixture.acquire(waiter, 7, LockMode::Write));
        }
        let (is_cycle, steps) = fixture.table.search(TransactionId(waiters + 1));
        assert!(!is_cycle && steps <= 2 * waiters as usize, "{steps} steps for {waiters} waiters");
    }
}

/// As many readers as writers that wait for them. Each of the readers is in the same queue again by way of
/// another resource.
#[test]
fn a_search_looks_at_each_holder_once() {
    const MANY: u64 = 200;
    let mut fixture = Fixture::new();
    for reader in 1..=MANY {
        fixture.acquire(reader, 7, LockMode::Read);
    }
    fixture.acquire(1000, 8, LockMode::Write);
    for reader in 1..=MANY {
        must_wait(fixture.acquire(reader, 8, LockMode::Write));
    }
    for writer in 2000..2000 + MANY {
        must_wait(fixture.acquire(writer, 7, LockMode::Write));
    }
    let (is_cycle, steps) = fixture.table.search(TransactionId(2000 + MANY - 1));
    assert!(!is_cycle && steps <= 4 * MANY as usize, "{steps} steps");
    // The one for which all of them wait in the end.
    assert!(matches!(fixture.acquire(1000, 7, LockMode::Write), Acquired::Deadlock));
}

#[test]
fn two_upgrades_are_a_deadlock_for_the_second() {
    let mut fixture = Fixture::new();
    fixture.acquire(1, 7, LockMode::Read);
    fixture.acquire(2, 7, LockMode::Read);
    let first = must_wait(fixture.acquire(1, 7, LockMode::NoKeyWrite));
    assert!(matches!(fixture.acquire(2, 7, LockMode::NoKeyWrite), Acquired::Deadlock));
    fixture.release(2, 7, 1);
    assert!(first.is_ready());
}

/// 3 waits for 5 alone, and 4 for 3. Then 1's upgrade is put ahead of 3, and waits for 4.
#[test]
fn an_upgrade_that_is_put_ahead_closes_a_cycle_through_the_queue() {
    let mut fixture = Fixture::new();
    fixture.acquire(1, 7, LockMode::KeyRead);
    fixture.acquire(4, 7, LockMode::KeyRead);
    fixture.acquire(5, 7, LockMode::NoKeyWrite);
    fixture.acquire(3, 9, LockMode::Write);
    must_wait(fixture.acquire(3, 7, LockMode::Read));
    must_wait(fixture.acquire(4, 9, LockMode::Write));
    assert!(matches!(fixture.acquire(1, 7, LockMode::Write), Acquired::Deadlock));
}

/// Five transactions, three resources, at random: the search finds the same as a search from pair to pair.
#[test]
fn searches_agree_with_the_whole_graph() {
    use rand::{RngExt, SeedableRng};
    let modes = [LockMode::KeyRead, LockMode::Read, LockMode::NoKeyWrite, LockMode::Write];
    let (mut waits, mut deadlocks) = (0, 0);
    for seed in 0..3000 {
        let mut random = rand::rngs::StdRng::seed_from_u64(seed);
        let mut fixture = Fixture::new();
        let mut waiting = [None; 5];
        for _ in 0..14 {
            let transaction = random.random_range(0..5usize);
            if waiting[transaction].is_some() {
                continue;
            }
            let (resource, mode) = (random.random_range(0..3), modes[random.random_range(0..4)]);
            let before = fixture.edges(transaction as u64, resource, mode);
            match fixture.acquire(transaction as u64, resource, mode) {
                Acquired::New(_) | Acquired::Held(_) => {}
                Acquired::Wait(_) => {
                    waiting[transaction] = Some(resource);
                    waits += 1;
                    assert!(!before, "seed {seed}: a cycle was not found");
                }
                Acquired::Deadlock => {
                    deadlocks += 1;
                    assert!(before, "seed {seed}: there was no cycle");
                }
            }
        }
    }
    assert!(waits > 1000 && deadlocks > 300, "{waits} waits, {deadlocks} deadlocks");
}

#[test]
fn all_requests_pass_an_onlooker_which_outlasts_the_named_ones() {
    let mut fixture = Fixture::new();
    let others = [TransactionId(1), TransactionId(2), TransactionId(3)];
    fixture.acquire(1, 7, LockMode::IntentWrite);
    fixture.acquire(2, 7, LockMode::IntentWrite);
    let Some(Acquired::Wait(ticket)) = fixture.table.outlast(TransactionId(9), named(7), &others) else {
        panic!("two hold it");
    };
    assert!(matches!(fixture.acquire(4, 7, LockMode::IntentWrite), Acquired::New(_)));
    fixture.release(1, 7, 0);
    assert!(!ticket.is_ready());
    fixture.release(2, 7, 0);
    assert!(ticket.is_ready());
    assert!(fixture.table.outlast(TransactionId(9), named(7), &others).is_none());
    assert!(matches!(fixture.acquire(5, 7, LockMode::IntentWrite), Acquired::New(_)));
    // One that gives up is no longer signalled.
    let Some(Acquired::Wait(_)) = fixture.table.outlast(TransactionId(9), named(7), &[TransactionId(4)])
    else {
        panic!("it holds it");
    };
    fixture.table.withdraw(TransactionId(9), named(7));
    // What leaves a trace keeps the entry until another one needs the place.
    for holder in [4, 5] {
        fixture.table.release(&fixture.protocol, TransactionId(holder), named(7), None);
    }
    assert_eq!(fixture.table.entries(), 0);
}

#[test]
fn an_onlooker_closes_a_circle_by_those_it_has_named_only() {
    let mut fixture = Fixture::new();
    fixture.acquire(9, 8, LockMode::Write);
    for holder in [1, 2] {
        fixture.acquire(holder, 7, LockMode::IntentWrite);
    }
    must_wait(fixture.acquire(1, 8, LockMode::Write));
    let outlast =
        |fixture: &Fixture, other| fixture.table.outlast(TransactionId(9), named(7), &[TransactionId(other)]);
    assert!(matches!(outlast(&fixture, 2), Some(Acquired::Wait(_))));
    assert!(matches!(outlast(&fixture, 1), Some(Acquired::Deadlock)));
    // It waits first, and the other one closes the circle.
    assert!(matches!(outlast(&fixture, 2), Some(Acquired::Wait(_))));
    assert!(matches!(fixture.acquire(2, 8, LockMode::Write), Acquired::Deadlock));
}

#[test]
fn many_threads_exclude_each_other() {
    use std::sync::Arc;
    let table: Arc<(Counting, LockTable<Counting>)> = Arc::new((Counting::default(), LockTable::new(4)));
    let inside = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (1..=4u64)
        .map(|thread| {
            let (shared, inside) = (Arc::clone(&table), Arc::clone(&inside));
            std::thread::spawn(move || {
                for round in 0..2000u64 {
                    let transaction = TransactionId(thread << 32 | round);
                    let mut dependencies = 0;
                    loop {
                        let (protocol, table) = &*shared;
                        match table.acquire(
                            protocol,
                            &mut dependencies,
                            transaction,
                            named(7),
                            LockMode::Write,
                        ) {
                            Acquired::Wait(ticket) => ticket.wait(),
                            Acquired::Deadlock => panic!("one resource cannot deadlock"),
                            Acquired::New(_) | Acquired::Held(_) => break,
                        }
                    }
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    shared.1.release(&shared.0, transaction, named(7), None);
                    shared.1.forget_waits(transaction);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no panic");
    }
    assert_eq!(table.1.entries(), 0);
}
