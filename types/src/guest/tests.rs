//! What looks find, and when the host is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::*;
use crate::error::sqlstate;

#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Duration>>>);

impl Host for Told {
    fn overstayed(&mut self, time: Duration) {
        self.0.lock().push(time);
    }
}

fn guest() -> (Box<Guest>, Arc<StopRequest>, Told) {
    let (stop, told) = (Arc::<StopRequest>::default(), Told::default());
    let mut guest = Box::new(Guest::new(Arc::clone(&stop)));
    guest.set_host(Box::new(told.clone()));
    (guest, stop, told)
}

fn work(time: Duration) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < time {
        spend(100)?;
    }
    Ok(())
}

#[test]
fn an_error_that_is_dropped_comes_again_at_the_next_step() {
    let (guest, stop, _) = guest();
    let visit = enter(Some(guest));
    stop.cancel();
    let _ = spend(UNITS_PER_LOOK + 1);
    assert_eq!(spend(1).map_err(|error| error.sqlstate()), Err(sqlstate::QUERY_CANCELED));
    stop.withdraw();
    spend(1).unwrap();
    drop(visit);
}

#[test]
fn the_host_of_a_long_guest_is_told_at_growing_intervals() {
    let (guest, _, told) = guest();
    let visit = enter(Some(guest));
    while told.0.lock().len() < 8 {
        spend(100).unwrap();
    }
    let guest = visit.leave().unwrap();
    let times = std::mem::take(&mut *told.0.lock());
    assert!(times[0] >= QUANTUM, "{times:?}");
    let has_grown = |pair: &[Duration]| pair[1] >= pair[0] + pair[0].min(visit::LONGEST_SILENCE);
    assert!(times.windows(2).all(has_grown), "{times:?}");
    // The next visit begins with a full quantum, and a short one does not notify.
    let visit = enter(Some(guest));
    spend(1).unwrap();
    drop(visit);
    assert!(told.0.lock().is_empty());
}

#[test]
fn a_request_to_cancel_stays_until_it_is_withdrawn_and_one_to_end_for_good() {
    let (guest, stop, _) = guest();
    let visit = enter(Some(guest));
    stop.cancel();
    for _ in 0..2 {
        let error = work(Duration::from_secs(60)).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::QUERY_CANCELED);
    }
    stop.withdraw();
    spend(u32::MAX).unwrap();
    stop.cancel();
    stop.time_out();
    assert_eq!(work(Duration::from_secs(60)).unwrap_err().to_string(), Stop::TimedOut.refusal().to_string());
    stop.withdraw_time_out();
    spend(u32::MAX).unwrap();
    stop.cancel();
    stop.withdraw_time_out();
    assert_eq!(stop.get(), Some(Stop::Cancel));
    stop.end();
    stop.time_out();
    stop.cancel();
    stop.withdraw();
    for _ in 0..2 {
        let error = work(Duration::from_secs(60)).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::ADMIN_SHUTDOWN);
    }
    pass(u32::MAX);
    assert!(stop.is_end());
    drop(visit);
    work(Duration::from_millis(1)).unwrap();
}

#[test]
fn work_is_counted_whether_it_is_spent_or_passed() {
    for (spent, passed) in [(100, 0), (0, 100), (1, 2), (7, 8191), (1 << 20, 3), (4096, 4096)] {
        let visit = enter(Some(guest().0));
        let before = worked();
        let rounds = 10_000_000 / (spent + passed);
        for _ in 0..rounds {
            spend(spent).unwrap();
            pass(passed);
        }
        let (counted, done) = ((worked() - before) as f64, f64::from(rounds * (spent + passed)));
        assert!((0.9..1.1).contains(&(counted / done)), "{counted} of {done} by {spent} and {passed}");
        drop(visit);
    }
}

/// As in a sort: each comparison passes, each row spends.
#[test]
fn a_request_is_heard_at_the_last_unit_of_spend_and_of_pass() {
    for (spent, passed) in [(1, 2), (1, 8191), (1, 8192), (3, 7)] {
        let (guest, stop, _) = guest();
        let visit = enter(Some(guest));
        stop.cancel();
        let rounds = (0..UNITS_PER_LOOK + 2).take_while(|_| {
            let is_unheard = spend(spent).is_ok();
            pass(passed);
            is_unheard
        });
        let units = rounds.count() as u32 * (spent + passed);
        assert!(units <= 2 * UNITS_PER_LOOK, "{units} units of {spent} and {passed}");
        drop(visit);
    }
}

#[test]
fn guests_of_one_thread_do_not_mix() {
    let (outer, outer_stop, outer_told) = guest();
    let (inner, _, inner_told) = guest();
    let outer = enter(Some(outer));
    outer_stop.end();
    let inner = enter(Some(inner));
    spend(QUANTUM_UNITS).unwrap();
    // The current guest stays in.
    assert!(enter(None).leave().is_none());
    drop(inner);
    assert!(!inner_told.0.lock().is_empty());
    assert!(outer_told.0.lock().is_empty());
    work(Duration::from_secs(60)).unwrap_err();
    drop(outer);
}

#[test]
fn what_will_take_long_is_told_before() {
    let (guest, _, told) = guest();
    let visit = enter(Some(guest));
    spend(QUANTUM_UNITS / 2).unwrap();
    assert!(told.0.lock().is_empty());
    spend_for(usize::MAX).unwrap();
    assert_eq!(told.0.lock().len(), 1);
    drop(visit);
}
