//! Lists, texts and bytes under a limit. The allocator of these tests does not count, so only what is asked
//! for before it is taken is refused; `types/tests/greedy` has one that does.

use super::values::{copies, copy};
use super::*;
use crate::error::sqlstate;
use crate::guest::{Guest, StopRequest};
use crate::memory::{Account, Limits};
use crate::value::Value;

const MIB: usize = 1 << 20;

/// Computes in an account of one MiB.
fn within<T>(compute: impl FnOnce() -> Result<T>) -> Option<&'static str> {
    let account = Account::new(Limits { connection_bytes: MIB, ..Limits::NONE });
    let entered = account.enter();
    let result = compute();
    account.leave(entered);
    result.err().map(|error| error.sqlstate().0)
}

#[test]
fn what_grows_asks_first() {
    assert_eq!(within(|| list(0..1000_u64)), None);
    assert_eq!(within(|| list(0..MIB as u64)), Some("53200"));
    assert_eq!(within(|| try_list((0..MIB as u64).map(Ok))), Some("53200"));
    assert_eq!(within(|| copies(&vec![Value::Integer(1); MIB / 16])), Some("53200"));
    assert_eq!(within(|| copy(&Value::text("x".repeat(2 * MIB)))), Some("53200"));
    assert_eq!(within(|| Text::default().fill('x', 1000)), None);
    assert_eq!(within(|| Text::default().fill('é', MIB)), Some("53200"));
    assert_eq!(within(|| Bytes::default().fill(0, 2 * MIB)), Some("53200"));
    assert_eq!(within(|| Bytes::default().put(&[0; 2 * MIB])), Some("53200"));
    let long = "x".repeat(2 * MIB);
    assert_eq!(within(|| Text::default().push_str(&long)), Some("53200"));
    assert_eq!(within(|| characters(long.chars(), Some)), Some("53200"));
    // The room for a quarter of the characters is there.
    assert_eq!(within(|| characters(long.chars(), |_| None).map(drop)), None);
}

#[test]
fn what_loops_hears_the_request_to_stop() {
    let calls: [fn() -> Result<()>; 6] = [
        || list(0..100_000_u64).map(drop),
        || Text::default().fill('x', 1_000_000),
        || (0..100_000).try_for_each(|_| Bytes::default().push(0)),
        || characters("x".repeat(100_000).chars(), Some).map(drop),
        || copies(&vec![Value::text("x".repeat(1000)); 10_000]).map(drop),
        || sort(&mut vec![1; 100_000], i32::cmp),
    ];
    for (number, call) in calls.iter().enumerate() {
        let stop = std::sync::Arc::<StopRequest>::default();
        stop.cancel();
        let visit = guest::enter(Some(Box::new(Guest::new(stop))));
        let error = call().expect_err("a request to stop");
        assert_eq!(error.sqlstate(), sqlstate::QUERY_CANCELED, "{number}");
        drop(visit);
    }
}

#[test]
fn sorting_in_runs_is_stable() {
    let mut items: Vec<(u32, u32)> = (0..100_000).map(|place| (place * 7919 % 1000, place)).collect();
    let mut expected = items.clone();
    expected.sort_by_key(|(key, _)| *key);
    sort(&mut items, |one, other| one.0.cmp(&other.0)).unwrap();
    assert_eq!(items, expected);
}

#[test]
fn bytes_become_a_text() {
    let of = |bytes: &[u8]| {
        let mut out = Bytes::default();
        out.put(bytes).unwrap();
        out.into_text().unwrap()
    };
    assert_eq!(of("é".as_bytes()), "é");
    assert_eq!(of(b"a\xff"), "a\u{fffd}");
}
