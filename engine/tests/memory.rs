//! The counting allocator, in a program that has it.
//!
//! One test only, because the total includes what other threads allocate.

use std::alloc::System;
use std::sync::{Arc, Barrier};

use hyades_types::memory::{
    Account, Charge, Counted, Expected, Limits, check, in_database, spent, total_bytes,
};

#[global_allocator]
static ALLOCATOR: Counted<System> = Counted(System);

const MIB: usize = 1 << 20;
/// The count for a thread may be off by this.
const STEP: usize = 64 << 10;

fn is_about(found: usize, wanted: usize) -> bool {
    found.abs_diff(wanted) <= 2 * STEP
}

/// The server may take 64 MiB more, and the account 16.
fn what_is_expected_counts_until_it_has_arrived(account: &Account) {
    let checked = |bytes: usize| {
        let entered = account.enter();
        let checked = check(bytes).is_ok();
        account.leave(entered);
        checked
    };
    let expected = Expected::of(62 * MIB as u64);
    assert!(!checked(3 * MIB));
    expected.arrived(32 * MIB as u64);
    assert!(checked(3 * MIB));
    let more = Expected::of(100 * MIB as u64);
    assert!(!checked(3 * MIB));
    expected.arrived(u64::MAX);
    assert!(!checked(3 * MIB), "the rest of one is not that of another");
    drop((expected, more));
    assert!(checked(15 * MIB));
}

#[test]
fn what_is_allocated_is_counted() {
    let before = total_bytes();
    let limits = Limits { server_bytes: before + 64 * MIB, connection_bytes: 16 * MIB };
    let account = Account::new(limits);

    // However it is done: with zeroes, grown, shrunk, freed.
    let entered = account.enter();
    let zeroes = vec![0_u8; 4 * MIB];
    let mut grown = Vec::with_capacity(MIB);
    grown.resize(3 * MIB, 1_u8);
    grown.shrink_to(2 * MIB);
    grown.truncate(2 * MIB);
    grown.shrink_to_fit();
    assert!(is_about(usize::try_from(spent()).unwrap(), 6 * MIB), "{}", spent());
    assert!(is_about(total_bytes() - before, 6 * MIB));
    assert!(check(9 * MIB).is_ok());
    assert!(check(11 * MIB).is_err());
    // The server's.
    let row = in_database(|| vec![0_u8; 40 * MIB]);
    assert!(is_about(usize::try_from(spent()).unwrap(), 6 * MIB));
    assert!(is_about(total_bytes() - before, 46 * MIB));
    in_database(|| drop(row));
    drop((zeroes, grown));
    assert!(is_about(usize::try_from(spent().max(0)).unwrap(), 0), "{}", spent());
    account.leave(entered);
    assert!(is_about(total_bytes(), before));

    what_is_expected_counts_until_it_has_arrived(&account);

    // A charge for a value is what its copy takes.
    let value = vec![vec![0_u8; 3 * MIB], vec![0_u8; MIB]];
    let charge = Charge::for_value(&account.keeper(), &value, MIB);
    assert!(is_about(charge.bytes(), 5 * MIB), "{}", charge.bytes());
    drop((charge, value));

    // Many threads together cannot take more than the server has, whatever each of them may have, and they
    // give it back.
    let done = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let done = Arc::clone(&done);
            std::thread::spawn(move || {
                let account = Account::new(limits);
                let _entered = account.enter();
                let mut pieces = Vec::new();
                let mut most = 0;
                for _ in 0..15 {
                    if check(MIB).is_err() {
                        break;
                    }
                    pieces.push(vec![1_u8; MIB]);
                    most = most.max(total_bytes());
                    std::thread::yield_now();
                }
                // Nothing is freed before all threads have what they get.
                done.wait();
                (pieces.len(), most)
            })
        })
        .collect();
    let found: Vec<(usize, usize)> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let pieces: usize = found.iter().map(|(pieces, _)| pieces).sum();
    let most = found.iter().map(|(_, most)| *most).max().unwrap();
    // Each may have checked before the others took what they had checked.
    assert!(most <= before + (64 + 8) * MIB, "{} MiB of 64", (most - before) / MIB);
    assert!((56..=72).contains(&pieces), "{pieces} pieces of 1 MiB");
    assert!(is_about(total_bytes(), before) || total_bytes() < before + 8 * 2 * STEP);
}
