//! Limits on the count of connections: in total, and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_egress::Networks;

use crate::login_throttle::network;

/// The bounds of the limit for one address, unless the operator sets one: an eighth of the total, so that a few
/// addresses cannot hold all connections.
const PER_ADDRESS: RangeInclusive<usize> = 8..=256;

/// Counts connections, and refuses those beyond the limits.
pub(crate) struct ConnectionLimits {
    total: usize,
    per_address: Option<usize>,
    /// Proxies, which bring the connections of many.
    exempt: Networks,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    total: usize,
    by_network: HashMap<IpAddr, usize>,
}

/// The limit that a refused connection is beyond.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Total,
    Address,
}

impl ConnectionLimits {
    /// Without a limit for one address, there is the usual one, which does not hold for this machine itself: a
    /// proxy may run here.
    pub(crate) fn new(total: usize, per_address: Option<usize>, exempt: Networks) -> Arc<Self> {
        Arc::new(Self { total, per_address, exempt, counts: Mutex::default() })
    }

    /// Admits a connection until its slot is dropped.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Result<Slot, Refused> {
        let most = match self.per_address {
            _ if self.exempt.contain(address) => usize::MAX,
            None if address.to_canonical().is_loopback() => usize::MAX,
            limit => limit.unwrap_or((self.total / 8).clamp(*PER_ADDRESS.start(), *PER_ADDRESS.end())),
        };
        let network = network(address);
        let mut counts = self.counts();
        if counts.total >= self.total {
            return Err(Refused::Total);
        }
        let of_network = counts.by_network.entry(network).or_default();
        if *of_network >= most {
            return Err(Refused::Address);
        }
        *of_network += 1;
        counts.total += 1;
        Ok(Slot { limits: self.clone(), network })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One admitted connection.
pub(crate) struct Slot {
    limits: Arc<ConnectionLimits>,
    network: IpAddr,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut counts = self.limits.counts();
        counts.total -= 1;
        if let Some(of_network) = counts.by_network.get_mut(&self.network) {
            *of_network -= 1;
            if *of_network == 0 {
                counts.by_network.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// The number of connections that an address gets at the same time, up to 300.
    fn admitted(limits: &Arc<ConnectionLimits>, from: &str) -> usize {
        let slots: Vec<Slot> = std::iter::from_fn(|| limits.admit(address(from)).ok()).take(300).collect();
        slots.len()
    }

    #[test]
    fn address_is_refused_beyond_its_limit_until_a_connection_ends() {
        let limits = ConnectionLimits::new(100, Some(2), "10.0.0.0/8".parse().expect("a network"));
        let admit = |text: &str| limits.admit(address(text));
        let (first, _second) = (admit("192.0.2.1").expect("admitted"), admit("192.0.2.1").expect("admitted"));
        assert_eq!(admit("192.0.2.1").err(), Some(Refused::Address));
        let _elsewhere = admit("192.0.2.2").expect("another address");
        drop(first);
        let _third = admit("192.0.2.1").expect("one has ended");
        // One customer has a whole /64.
        let _of_network = [admit("2001:db8::1").expect("admitted"), admit("2001:db8::2").expect("admitted")];
        assert_eq!(admit("2001:db8::3").err(), Some(Refused::Address));
        let _of_proxy: Vec<Slot> = (0..20).map(|_| admit("10.1.2.3").expect("exempt")).collect();
    }

    #[test]
    fn this_machine_is_limited_only_where_the_operator_says_so() {
        let usual = ConnectionLimits::new(10_000, None, Networks::default());
        assert_eq!(admitted(&usual, "127.0.0.1"), 300);
        let set = ConnectionLimits::new(100, Some(1), Networks::default());
        let _first = set.admit(address("127.0.0.1")).expect("admitted");
        assert_eq!(set.admit(address("127.0.0.1")).err(), Some(Refused::Address));
    }

    #[test]
    fn one_address_gets_an_eighth_of_the_total_within_bounds() {
        for (total, expected) in [(10_000, 256), (768, 96), (200, 25), (20, 8)] {
            let limits = ConnectionLimits::new(total, None, Networks::default());
            assert_eq!(admitted(&limits, "192.0.2.1"), expected, "{total}");
        }
    }

    #[test]
    fn total_is_limited_and_nothing_is_remembered_of_those_that_ended() {
        let limits = ConnectionLimits::new(2, None, Networks::default());
        let slots = ["192.0.2.1", "192.0.2.2"].map(|text| limits.admit(address(text)).expect("admitted"));
        assert_eq!(limits.admit(address("192.0.2.3")).err(), Some(Refused::Total));
        drop(slots);
        let counts = limits.counts();
        assert_eq!((counts.total, counts.by_network.len()), (0, 0));
    }
}
