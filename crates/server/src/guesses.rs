//! How often a password or a token may be guessed: failures count per account and per address, and each makes the next wait.
//!
//! What is counted lives in this process alone.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many failures cost nothing: people mistype.
const FREE_OF_ACCOUNT: u32 = 5;
const FREE_OF_ADDRESS: u32 = 60;

/// The first pause; it doubles with every further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// Failures are forgotten after so long without another.
const MEMORY: Duration = Duration::from_secs(60 * 60);

/// Past so many keys the oldest half is forgotten: memory stays flat under an attack from everywhere.
const MOST_KEYS: usize = 20_000;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Account(String),
    Address(IpAddr),
}

struct Failures {
    count: u32,
    last: Instant,
}

/// Failures of all who tried.
#[derive(Default)]
pub(crate) struct Guesses(Mutex<HashMap<Key, Failures>>);

impl Guesses {
    /// How long whoever tries has to wait first; nothing when they may try now. Tokens have no account.
    pub(crate) fn pause(&self, address: IpAddr, account: Option<&str>, now: Instant) -> Option<Duration> {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = |key: Key, free: u32| {
            let failures = failures.get(&key)?;
            let over = failures.count.checked_sub(free).filter(|over| *over > 0)?;
            let pause = FIRST_PAUSE.saturating_mul(1 << over.saturating_sub(1).min(20)).min(LONGEST_PAUSE);
            (failures.last + pause).checked_duration_since(now).filter(|left| !left.is_zero())
        };
        let of_account = account.and_then(|account| pause(account_key(account), FREE_OF_ACCOUNT));
        of_account.max(pause(Key::Address(network(address)), FREE_OF_ADDRESS))
    }

    pub(crate) fn failed(&self, address: IpAddr, account: Option<&str>, now: Instant) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= MOST_KEYS {
            failures.retain(|_, known| now.duration_since(known.last) < MEMORY / 60);
            if failures.len() >= MOST_KEYS {
                failures.clear();
            }
        }
        for key in account.map(account_key).into_iter().chain([Key::Address(network(address))]) {
            let known = failures.entry(key).or_insert(Failures { count: 0, last: now });
            let count = if now.duration_since(known.last) > MEMORY { 0 } else { known.count };
            *known = Failures { count: count.saturating_add(1), last: now };
        }
    }

    /// Takes back a failure that was counted before it was known to be none.
    pub(crate) fn was_none(&self, address: IpAddr) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = failures.get_mut(&Key::Address(network(address))) {
            known.count = known.count.saturating_sub(1);
        }
    }

    /// Whoever got in has shown who they are. Their address may still be somebody else's too.
    pub(crate) fn succeeded(&self, account: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&account_key(account));
    }
}

fn account_key(account: &str) -> Key {
    Key::Account(account.trim().to_lowercase().chars().take(128).collect())
}

/// One customer has a whole /64 of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_failures_are_free_and_then_each_doubles_the_pause() {
        let (guesses, start) = (Guesses::default(), Instant::now());
        let address: IpAddr = "192.0.2.1".parse().expect("an address");
        for _ in 0..FREE_OF_ACCOUNT {
            assert_eq!(guesses.pause(address, Some("Ada"), start), None);
            guesses.failed(address, Some("ada"), start);
        }
        assert_eq!(guesses.pause(address, Some("ada"), start), None);
        for seconds in [1, 2, 4] {
            guesses.failed(address, Some("ADA "), start);
            assert_eq!(guesses.pause(address, Some("ada"), start), Some(Duration::from_secs(seconds)));
        }
        let elsewhere: IpAddr = "192.0.2.9".parse().expect("an address");
        assert!(
            guesses.pause(elsewhere, Some("ada"), start).is_some(),
            "the account is guarded wherever one comes from"
        );
        assert_eq!(guesses.pause(address, Some("ada"), start + Duration::from_secs(4)), None);
        assert_eq!(guesses.pause(elsewhere, Some("grace"), start), None);
        guesses.succeeded("ada");
        assert_eq!(guesses.pause(elsewhere, Some("ada"), start), None);
    }

    #[test]
    fn one_address_cannot_try_many_accounts() {
        let (guesses, start) = (Guesses::default(), Instant::now());
        for number in 0..=FREE_OF_ADDRESS {
            let address = format!("2001:db8::{number:x}").parse().expect("an address");
            guesses.failed(address, Some(&format!("user{number}")), start);
        }
        let same_network = "2001:db8::ffff".parse().expect("an address");
        assert!(guesses.pause(same_network, Some("another"), start).is_some());
        assert_eq!(guesses.pause("2001:db8:1::1".parse().expect("an address"), Some("another"), start), None);
    }
}
