//! Waiting for several logs at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use hyades_types::error::sqlstate;

use super::*;

#[derive(Default)]
struct CountWakes(AtomicUsize);

impl Wake for CountWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn watch_of(logs: usize) -> LocalArc<DurableWatch> {
    DurableWatch::new((0..logs).map(|_| Arc::default()).collect(), None).into()
}

fn poll(durability: &mut Durability, wakes: &Arc<CountWakes>) -> Poll<Result<()>> {
    let waker = Waker::from(Arc::clone(wakes));
    Pin::new(durability).poll(&mut Context::from_waker(&waker))
}

fn needing(watch: &LocalArc<DurableWatch>, entries: &[u64]) -> Durability {
    Durability::new(watch, &LsnVector::from_slice(entries), !0)
}

fn poison(watch: &DurableWatch) {
    watch.poison(Arc::new(FatalError { state: sqlstate::IO_ERROR, message: "planned".to_owned() }));
}

#[test]
fn what_is_durable_does_not_wait() {
    let watch = watch_of(2);
    watch.advance(1, Lsn(16));
    assert!(Durability::immediate().is_durable());
    assert!(needing(&watch, &[]).is_durable());
    assert!(needing(&watch, &[0, 16]).is_durable());
    assert!(!needing(&watch, &[0, 24]).is_durable());
    assert!(Durability::in_log(&watch, 1, Lsn(16)).is_durable());
    assert!(Durability::immediate().wait().is_ok());
}

#[test]
fn a_waiter_is_woken_once_by_the_last_log_it_needs() {
    let watch = watch_of(3);
    let wakes = Arc::new(CountWakes::default());
    let mut durability = needing(&watch, &[8, 0, 24]);
    assert!(poll(&mut durability, &wakes).is_pending());
    watch.advance(2, Lsn(16));
    watch.advance(0, Lsn(8));
    watch.advance(1, Lsn(800));
    assert_eq!(wakes.0.load(Ordering::SeqCst), 0, "log 2 is not there yet");
    watch.advance(2, Lsn(24));
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
    assert!(poll(&mut durability, &wakes).is_ready());
}

#[test]
fn the_latest_waker_counts() {
    let watch = watch_of(1);
    let (first, second) = (Arc::new(CountWakes::default()), Arc::new(CountWakes::default()));
    let mut durability = needing(&watch, &[8]);
    assert!(poll(&mut durability, &first).is_pending());
    assert!(poll(&mut durability, &second).is_pending());
    watch.advance(0, Lsn(8));
    assert_eq!((first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)), (0, 1));
}

#[test]
fn a_clone_waits_on_its_own_and_a_dropped_waiter_is_forgotten() {
    let watch = watch_of(1);
    let wakes = Arc::new(CountWakes::default());
    let mut durability = needing(&watch, &[8]);
    assert!(poll(&mut durability, &wakes).is_pending());
    let mut copy = durability.clone();
    assert!(poll(&mut copy, &wakes).is_pending());
    drop(durability);
    watch.advance(0, Lsn(8));
    assert!(poll(&mut copy, &wakes).is_ready());
}

#[test]
fn a_merged_durability_needs_both() {
    let watch = watch_of(2);
    let mut both = Durability::immediate();
    both.merge(needing(&watch, &[8]));
    both.merge(needing(&watch, &[0, 8]));
    both.merge(Durability::immediate());
    watch.advance(0, Lsn(8));
    assert!(!both.is_durable());
    watch.advance(1, Lsn(8));
    assert!(both.is_durable());
}

#[test]
fn poison_fails_those_who_wait_and_spares_those_who_were_done() {
    let watch = watch_of(1);
    watch.advance(0, Lsn(8));
    let wakes = Arc::new(CountWakes::default());
    let (mut done, mut waiting) = (needing(&watch, &[8]), needing(&watch, &[16]));
    assert!(poll(&mut waiting, &wakes).is_pending());
    poison(&watch);
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
    assert!(matches!(poll(&mut waiting, &wakes), Poll::Ready(Err(Error::Fatal(_)))));
    assert!(matches!(poll(&mut done, &wakes), Poll::Ready(Ok(()))));
    watch.advance(0, Lsn(16));
    assert_eq!(watch.durable(0), Lsn(8), "nothing becomes durable after poisoning");
    assert!(needing(&watch, &[16]).wait().is_err());
}

#[test]
fn many_threads_wait_for_two_logs() {
    let watch = watch_of(2);
    let waiters: Vec<_> = (0..4_u64)
        .map(|waiter| {
            let watch = watch.clone();
            std::thread::spawn(move || {
                for step in 0..200 {
                    let position = 8 * (step + waiter);
                    needing(&watch, &[position, position / 2 / 8 * 8]).wait().expect("nothing fails");
                }
            })
        })
        .collect();
    let loggers: Vec<_> = (0..2)
        .map(|log| {
            let watch = watch.clone();
            std::thread::spawn(move || {
                for step in 0..=210 {
                    watch.advance(log, Lsn(8 * step));
                    std::thread::yield_now();
                }
            })
        })
        .collect();
    for thread in waiters.into_iter().chain(loggers) {
        thread.join().expect("no thread panics");
    }
}
