//! Clients that have not authenticated yet: how many there may be, and which one has to go.
//!
//! A client costs the server something before it has proved anything, so the number of those is bounded. If
//! the newest were turned away at the bound, an attacker who opens connections and says nothing could shut
//! out all other clients, cancel requests included. So the newest client always gets in, and another one is
//! evicted: the oldest handshake of the address with the most of them. A flood from one address then takes
//! places from itself only, and a flood from many takes them from slow clients, not from those that complete
//! their handshake at once.
//!
//! Invariants:
//! 1. No more handshakes than the bound are under way. Evicted ones do not count: they end as soon as their
//!    task runs.
//! 2. [`Handshakes::enter`] always succeeds.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The unit in which clients are counted. An IPv6 network has one owner, as an IPv4 address has.
pub(super) type Origin = Option<IpAddr>;

/// The origin of an address.
pub(super) fn origin(address: Option<IpAddr>) -> Origin {
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
pub(super) struct Handshakes {
    places: Mutex<Places>,
    limit: usize,
}

/// A place in the handshake; dropping it gives it back.
pub(super) struct Handshake {
    handshakes: Arc<Handshakes>,
    number: u64,
    stay: oneshot::Receiver<()>,
}

impl Handshakes {
    pub(super) fn new(limit: usize) -> Arc<Handshakes> {
        Arc::new(Handshakes { places: Mutex::default(), limit: limit.max(1) })
    }

    /// A place for one more client, and the origin of the client that was evicted for it, if any.
    pub(super) fn enter(self: &Arc<Handshakes>, origin: Origin) -> (Handshake, Option<Origin>) {
        let (stays, stay) = oneshot::channel();
        let mut places = self.places.lock();
        let evicted = if places.taken.len() >= self.limit { places.evict() } else { None };
        let number = places.next;
        places.next += 1;
        places.taken.insert(number, Place { origin, _stay: stays });
        *places.per_origin.entry(origin).or_default() += 1;
        drop(places);
        (Handshake { handshakes: Arc::clone(self), number, stay }, evicted)
    }

    /// Evicts a client although the bound is not reached, to make room in the process.
    pub(super) fn evict(&self) -> Option<Origin> {
        self.places.lock().evict()
    }
}

impl Handshake {
    /// Returns when the client has to go.
    pub(super) async fn evicted(&mut self) {
        // Nothing is ever sent: the other half is dropped.
        let _ = (&mut self.stay).await;
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.handshakes.places.lock().leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(number: u8) -> Origin {
        Some(IpAddr::from([10, 0, 0, number]))
    }

    fn is_evicted(handshake: &mut Handshake) -> bool {
        handshake.stay.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn a_flood_takes_places_from_itself() {
        let handshakes = Handshakes::new(4);
        let (mut patient, _) = handshakes.enter(from(1));
        let mut flood: Vec<Handshake> = (0..3).map(|_| handshakes.enter(from(2)).0).collect();
        let (newest, evicted) = handshakes.enter(from(2));
        assert_eq!(evicted, Some(from(2)));
        assert_eq!(flood.iter_mut().map(is_evicted).collect::<Vec<_>>(), [true, false, false]);
        let (_cancel, evicted) = handshakes.enter(from(3));
        assert_eq!(evicted, Some(from(2)));
        assert_eq!(flood.iter_mut().map(is_evicted).collect::<Vec<_>>(), [true, true, false]);
        assert!(!is_evicted(&mut patient));
        drop((patient, newest, flood));
        assert_eq!(handshakes.places.lock().taken.len(), 1);
        assert_eq!(handshakes.places.lock().per_origin, HashMap::from([(from(3), 1)]));
    }

    #[test]
    fn places_are_given_back() {
        let handshakes = Handshakes::new(1);
        for _ in 0..3 {
            let (_handshake, evicted) = handshakes.enter(None);
            assert_eq!(evicted, None);
        }
        assert_eq!(handshakes.evict(), None);
        let (mut handshake, _) = handshakes.enter(None);
        assert_eq!(handshakes.evict(), Some(None));
        assert!(is_evicted(&mut handshake));
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
