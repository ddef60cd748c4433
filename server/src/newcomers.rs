//! Clients that have shown nothing yet (they have not authenticated, or their request over HTTP is not
//! complete): how many there may be, and which one has to go.
//!
//! A client costs the server something before it has proved anything, so the number of those is bounded. If
//! the newest were turned away at the bound, an attacker who opens connections and says nothing could shut
//! out all other clients, cancel requests and health checks included. So the newest client always gets in,
//! and another one is evicted: the oldest of the address with the most of them. A flood from one address then
//! takes places from itself only, and a flood from many takes them from slow clients, not from those that
//! complete their handshake at once.
//!
//! Invariants:
//! 1. There are no more newcomers than the bound. Evicted ones do not count: they end as soon as their task
//!    runs.
//! 2. [`Newcomers::enter`] always succeeds.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The unit in which clients are counted. An IPv6 network has one owner, as an IPv4 address has.
pub(crate) type Origin = Option<IpAddr>;

/// The origin of an address.
pub(crate) fn origin(address: Option<IpAddr>) -> Origin {
    address.map(|address| match address {
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_none() => {
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64))
        }
        address => address.to_canonical(),
    })
}

struct Place {
    origin: Origin,
    /// Dropped when the client has to go.
    _stay: oneshot::Sender<()>,
}

#[derive(Default)]
struct Places {
    next: u64,
    /// By age.
    taken: BTreeMap<u64, Place>,
    per_origin: HashMap<Origin, usize>,
}

impl Places {
    fn leave(&mut self, number: u64) {
        // An evicted client has left already.
        let Some(place) = self.taken.remove(&number) else {
            return;
        };
        if let Some(count) = self.per_origin.get_mut(&place.origin) {
            *count -= 1;
            if *count == 0 {
                self.per_origin.remove(&place.origin);
            }
        }
    }

    fn evict(&mut self) -> Option<Origin> {
        let crowd = self.per_origin.iter().max_by_key(|(_, count)| **count).map(|(origin, _)| *origin)?;
        let oldest = self.taken.iter().find(|(_, place)| place.origin == crowd).map(|(number, _)| *number)?;
        self.leave(oldest);
        Some(crowd)
    }
}

/// See the module head.
pub(crate) struct Newcomers {
    places: Mutex<Places>,
    limit: usize,
}

/// The place of one of them; dropping it gives it back.
pub(crate) struct Newcomer {
    all: Arc<Newcomers>,
    number: u64,
    stay: oneshot::Receiver<()>,
}

impl Newcomers {
    pub(crate) fn new(limit: usize) -> Arc<Newcomers> {
        Arc::new(Newcomers { places: Mutex::default(), limit: limit.max(1) })
    }

    /// A place for one more client, and the origin of the client that was evicted for it, if any.
    pub(crate) fn enter(self: &Arc<Newcomers>, origin: Origin) -> (Newcomer, Option<Origin>) {
        let (stays, stay) = oneshot::channel();
        let mut places = self.places.lock();
        let evicted = if places.taken.len() >= self.limit { places.evict() } else { None };
        let number = places.next;
        places.next += 1;
        places.taken.insert(number, Place { origin, _stay: stays });
        *places.per_origin.entry(origin).or_default() += 1;
        drop(places);
        (Newcomer { all: Arc::clone(self), number, stay }, evicted)
    }

    /// Evicts a client although the bound is not reached, to make room in the process.
    pub(crate) fn evict(&self) -> Option<Origin> {
        self.places.lock().evict()
    }
}

impl Newcomer {
    /// Returns when the client has to go.
    pub(crate) async fn evicted(&mut self) {
        // Nothing is ever sent: the other half is dropped.
        let _ = (&mut self.stay).await;
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.all.places.lock().leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(number: u8) -> Origin {
        Some(IpAddr::from([10, 0, 0, number]))
    }

    fn is_evicted(newcomer: &mut Newcomer) -> bool {
        newcomer.stay.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn a_flood_takes_places_from_itself() {
        let newcomers = Newcomers::new(4);
        let (mut patient, _) = newcomers.enter(from(1));
        let mut flood: Vec<Newcomer> = (0..3).map(|_| newcomers.enter(from(2)).0).collect();
        let (newest, evicted) = newcomers.enter(from(2));
        assert_eq!(evicted, Some(from(2)));
        assert_eq!(flood.iter_mut().map(is_evicted).collect::<Vec<_>>(), [true, false, false]);
        let (_cancel, evicted) = newcomers.enter(from(3));
        assert_eq!(evicted, Some(from(2)));
        assert_eq!(flood.iter_mut().map(is_evicted).collect::<Vec<_>>(), [true, true, false]);
        assert!(!is_evicted(&mut patient));
        drop((patient, newest, flood));
        assert_eq!(newcomers.places.lock().taken.len(), 1);
        assert_eq!(newcomers.places.lock().per_origin, HashMap::from([(from(3), 1)]));
    }

    #[test]
    fn places_are_given_back() {
        let newcomers = Newcomers::new(1);
        for _ in 0..3 {
            let (_newcomer, evicted) = newcomers.enter(None);
            assert_eq!(evicted, None);
        }
        assert_eq!(newcomers.evict(), None);
        let (mut newcomer, _) = newcomers.enter(None);
        assert_eq!(newcomers.evict(), Some(None));
        assert!(is_evicted(&mut newcomer));
    }

    #[test]
    fn a_network_of_ipv6_is_one_origin() {
        let of = |text: &str| origin(Some(text.parse().unwrap()));
        assert_eq!(of("2001:db8:0:1::5"), of("2001:db8:0:1:ffff::"));
        assert_ne!(of("2001:db8:0:1::5"), of("2001:db8:0:2::5"));
        assert_eq!(of("::ffff:10.0.0.1"), from(1));
        assert_eq!(origin(None), None);
    }
}
