//! Accounts, allowances, the total.
//!
//! The allocator of these tests is not [`Counted`](super::Counted) (`engine/tests/memory.rs` uses one that
//! is), so allocations are counted by hand.

use std::sync::Arc;

use super::*;

const MIB: usize = 1 << 20;

fn took(bytes: usize) {
    BOOK.with(|book| book.took(bytes));
}

fn gave(bytes: usize) {
    BOOK.with(|book| book.gave(bytes));
}

fn account(connection_mib: usize) -> Account {
    Account::new(Limits { connection_bytes: connection_mib * MIB, ..Limits::NONE })
}

fn state(result: Result<()>) -> Option<&'static str> {
    result.err().map(|error| error.sqlstate().0)
}

#[test]
fn no_check_fails_outside() {
    took(1 << 40);
    assert!(check(1 << 40).is_ok());
    assert!(admit_row(1 << 40).is_ok());
    gave(1 << 40);
}

#[test]
fn an_account_is_refused_beyond_its_limit_and_not_before() {
    let account = account(8);
    let entered = account.enter();
    for _ in 0..8 {
        assert!(check(MIB).is_ok());
        took(MIB);
    }
    let error = check(1).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::OUT_OF_MEMORY);
    assert_eq!(error.to_string(), "out of memory");
    let Error::Input(input) = error else { panic!("an input error") };
    assert!(input.is_uncatchable);
    assert!(input.detail.unwrap().contains("8 MiB of memory (--memory-per-connection)"));
    // Freed memory may be taken again.
    gave(2 * MIB);
    assert!(check(MIB).is_ok());
    assert_eq!(state(check(3 * MIB)), Some("53200"));
    account.leave(entered);
    assert_eq!(account.used_bytes(), 6 * MIB);
    // Entered again, it continues from there.
    let entered = account.enter();
    assert_eq!(state(check(3 * MIB)), Some("53200"));
    gave(6 * MIB);
    assert!(check(8 * MIB).is_ok());
    account.leave(entered);
    assert_eq!(account.used_bytes(), 0);
}

#[test]
fn the_database_pays_for_rows() {
    let account = account(4);
    let entered = account.enter();
    in_database(|| took(100 * MIB));
    assert_eq!(spent(), 0);
    assert!(check(3 * MIB).is_ok());
    in_database(|| gave(100 * MIB));
    took(MIB);
    assert_eq!(spent(), MIB as isize);
    account.leave(entered);
    assert_eq!(account.used_bytes(), MIB);
    account.settle(0);
    assert_eq!(account.used_bytes(), 0);
    gave(MIB);
}

#[test]
fn what_another_thread_has_allocated_is_charged_until_it_is_freed() {
    let account = account(4);
    let entered = account.enter();
    adopt(3 * MIB);
    assert_eq!(spent(), 3 * MIB as isize);
    assert_eq!(state(check(2 * MIB)), Some("53200"));
    gave(3 * MIB);
    assert_eq!(spent(), 0);
    assert!(check(4 * MIB).is_ok());
    account.leave(entered);
    assert_eq!(account.used_bytes(), 0);
    took(3 * MIB);
}

#[test]
fn rows_of_temporary_tables_are_charged_until_they_are_gone() {
    let account = account(1);
    let entered = account.enter();
    let rows = Charge::none(&account.keeper());
    rows.add(600 << 10);
    assert_eq!(state(check(100 << 10)), None);
    rows.add(600 << 10);
    assert_eq!(state(check(1)), Some("53200"));
    // As after a rollback: the row is not there any more.
    rows.add(-(600 << 10));
    assert_eq!(state(check(100 << 10)), None);
    account.settle(0);
    assert_eq!(state(check(500 << 10)), Some("53200"));
    rows.clear();
    assert_eq!(state(check(500 << 10)), None);
    account.settle(0);
    assert_eq!(state(check(500 << 10)), None);
    rows.add(700 << 10);
    drop(rows);
    account.settle(0);
    assert_eq!(state(check(500 << 10)), None);
    account.leave(entered);
}

#[test]
fn old_versions_are_charged_until_the_transaction_ends() {
    let account = account(1);
    let entered = account.enter();
    account.keeper().charge_transaction(900 << 10);
    assert_eq!(state(check(200 << 10)), Some("53200"));
    // Within a statement that goes on, such as a call with COMMIT.
    account.keeper().end_transaction();
    assert_eq!(state(check(200 << 10)), None);
    account.keeper().charge_transaction(900 << 10);
    account.settle(0);
    assert_eq!(state(check(200 << 10)), None);
    account.leave(entered);
}

#[test]
fn a_charge_from_a_thread_of_another_account_is_not_that_accounts() {
    let (mine, other) = (account(1), account(1));
    let rows = Charge::none(&mine.keeper());
    let entered = other.enter();
    rows.add(2 << 20);
    assert_eq!(state(check(1)), None);
    other.leave(entered);
    mine.settle(0);
    let entered = mine.enter();
    assert_eq!(state(check(1)), Some("53200"));
    mine.leave(entered);
}

#[test]
fn what_is_kept_outlives_the_transaction_and_goes_when_it_is_dropped() {
    let account = account(4);
    let charge = account.keep(3 * MIB);
    account.settle(0);
    let entered = account.enter();
    assert_eq!(state(check(2 * MIB)), Some("53200"));
    account.leave(entered);
    drop(charge);
    account.settle(0);
    let entered = account.enter();
    assert!(check(2 * MIB).is_ok());
    account.leave(entered);
}

#[test]
fn a_panic_ends_the_account_of_its_thread() {
    let account = account(1);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _entered = account.enter();
        took(3 * MIB);
        panic!("as wanted");
    }));
    assert!(panicked.is_err());
    assert!(check(1 << 40).is_ok());
    gave(3 * MIB);
}

#[test]
fn accounts_nest() {
    let outer = account(4);
    let inner = account(2);
    let entered = outer.enter();
    took(3 * MIB);
    let within = inner.enter();
    took(MIB);
    assert_eq!(state(check(MIB + 1)), Some("53200"));
    inner.leave(within);
    assert_eq!(inner.used_bytes(), MIB);
    assert!(check(MIB).is_ok());
    assert_eq!(state(check(MIB + 1)), Some("53200"));
    outer.leave(entered);
    assert_eq!(outer.used_bytes(), 3 * MIB);
    gave(4 * MIB);
}

/// A transaction ends while its thread still counts for the account.
#[test]
fn an_account_is_set_back_where_it_is_entered() {
    let account = account(4);
    let entered = account.enter();
    assert!(account.is_entered());
    took(3 * MIB);
    assert_eq!(state(check(2 * MIB)), Some("53200"));
    account.settle(MIB);
    assert_eq!(spent(), 0);
    assert!(check(3 * MIB).is_ok());
    assert_eq!(state(check(4 * MIB)), Some("53200"));
    account.leave(entered);
    assert!(!account.is_entered());
    assert_eq!(account.used_bytes(), MIB);
    gave(3 * MIB);
}

/// Values above 1 GiB are refused for every caller: that does not depend on what else runs, so a handler may
/// catch it.
#[test]
fn values_have_a_limit_of_their_own() {
    assert!(check_value(LARGEST_VALUE).is_ok());
    let error = check_value(LARGEST_VALUE + 1).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::PROGRAM_LIMIT_EXCEEDED);
    let Error::Input(input) = error else { panic!("an input error") };
    assert!(!input.is_uncatchable);
}

#[test]
fn others_of_the_thread_are_served_before_a_failed_statement_frees_much() {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use crate::guest::{Guest, Host, StopRequest, enter, spend};

    struct Told(Arc<AtomicUsize>);
    impl Host for Told {
        fn overstayed(&mut self, _: Duration) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    for (bytes, expected) in [(MIB, 0), (32 * MIB, 1)] {
        let (told, stop) = (Arc::<AtomicUsize>::default(), Arc::<StopRequest>::default());
        let account = account(64);
        for is_stopped in [false, true] {
            let mut guest = Box::new(Guest::new(Arc::clone(&stop)));
            guest.set_host(Box::new(Told(Arc::clone(&told))));
            let (visit, entered) = (enter(Some(guest)), account.enter());
            took(bytes);
            if is_stopped {
                stop.cancel();
                // More than is left before the next look.
                assert_eq!(state(spend(10_000)), Some("57014"));
            } else {
                assert_eq!(state(check(64 * MIB)), Some("53200"));
            }
            gave(bytes);
            account.leave(entered);
            drop(visit);
            assert_eq!(told.swap(0, Ordering::Relaxed), expected, "{bytes} bytes, stopped: {is_stopped}");
        }
    }
}
