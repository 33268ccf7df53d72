//! Throttle of guesses at passwords and tokens: failures count per account and per address, and each makes the
//! pause before the next attempt longer.
//!
//! Counts live in this process alone, and in bounded memory.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use haft_store::CredentialHash;

/// Failures without a pause: people mistype.
const FREE_OF_ACCOUNT: u32 = 5;
const FREE_OF_ADDRESS: u32 = 60;

/// The first pause; it doubles with every further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// Failures are forgotten after this time without another.
const MEMORY: Duration = Duration::from_secs(60 * 60);

/// The maximum number of accounts and addresses with counts of their own.
const MAX_KEYS: usize = 20_000;

/// The maximum number of wrong tokens that are remembered for one address.
const MAX_TOKENS: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Account(String),
    Address(IpAddr),
    /// The shared counts of all accounts and all addresses for which the map has no room.
    OtherAccounts,
    OtherAddresses,
}

struct Failures {
    count: u32,
    last: Instant,
    /// Wrong tokens that were counted: a program that repeats an expired token is not guessing.
    tokens: HashSet<CredentialHash>,
}

impl Failures {
    fn since(now: Instant) -> Self {
        Self { count: 0, last: now, tokens: HashSet::new() }
    }

    /// The moment at which the next attempt is allowed, if there is a pause.
    fn locked_until(&self, free: u32) -> Option<Instant> {
        let over = self.count.checked_sub(free).filter(|over| *over > 0)?;
        let pause = FIRST_PAUSE.saturating_mul(1 << over.saturating_sub(1).min(20)).min(LONGEST_PAUSE);
        self.last.checked_add(pause)
    }
}

impl Key {
    fn free(&self) -> u32 {
        match self {
            Self::Account(_) => FREE_OF_ACCOUNT,
            Self::Address(_) | Self::OtherAccounts | Self::OtherAddresses => FREE_OF_ADDRESS,
        }
    }

    /// The key that stands for this one if there is no room for it.
    fn shared(&self) -> Self {
        match self {
            Self::Account(_) | Self::OtherAccounts => Self::OtherAccounts,
            Self::Address(_) | Self::OtherAddresses => Self::OtherAddresses,
        }
    }
}

type Counts = HashMap<Key, Failures>;

/// Counts failed logins and wrong tokens.
pub(crate) struct LoginThrottle {
    start: Instant,
    /// The latest end of a lock-out of an address, in milliseconds after the start.
    locked_until: AtomicU64,
    counts: Mutex<Counts>,
    /// Tokens that were valid, with the network they came from. Such a token is no guess, however often others of
    /// its network guess. The same token from another network may be one.
    once_valid: RwLock<HashSet<(IpAddr, CredentialHash)>>,
}

impl Default for LoginThrottle {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            locked_until: AtomicU64::new(0),
            counts: Mutex::default(),
            once_valid: RwLock::default(),
        }
    }
}

impl LoginThrottle {
    /// The pause before the next attempt; `None` if it may be made now. Tokens have no account.
    pub(crate) fn pause(&self, address: IpAddr, account: Option<&str>, now: Instant) -> Option<Duration> {
        let counts = self.counts();
        let pause = |key: Key| {
            let (key, failures) = match counts.get(&key) {
                Some(failures) => (key, failures),
                None => (key.shared(), counts.get(&key.shared())?),
            };
            let until = failures.locked_until(key.free())?;
            until.checked_duration_since(now).filter(|left| !left.is_zero())
        };
        account.and_then(|account| pause(account_key(account))).max(pause(address_key(address)))
    }

    /// Counts a failed login.
    pub(crate) fn failed(&self, address: IpAddr, account: Option<&str>, now: Instant) {
        let mut counts = self.counts();
        if let Some(account) = account {
            entry(&mut counts, account_key(account), now).count(now);
        }
        self.count_for_address(entry(&mut counts, address_key(address), now), now);
    }

    /// Counts a wrong token, once for each address.
    pub(crate) fn token_failed(&self, address: IpAddr, token: CredentialHash, now: Instant) {
        let mut counts = self.counts();
        let failures = entry(&mut counts, address_key(address), now);
        if failures.tokens.contains(&token) {
            return;
        }
        if failures.tokens.len() < MAX_TOKENS {
            failures.tokens.insert(token);
        }
        self.count_for_address(failures, now);
    }

    /// Counts a failure of an address, and extends the time in which an address may be locked out.
    fn count_for_address(&self, failures: &mut Failures, now: Instant) {
        failures.count(now);
        if let Some(until) = failures.locked_until(FREE_OF_ADDRESS) {
            let until = until.saturating_duration_since(self.start).as_millis() as u64 + 1;
            self.locked_until.fetch_max(until, Ordering::Relaxed);
        }
    }

    /// Returns true if tokens from an address have a pause. While no address is locked out this reads one number.
    pub(crate) fn is_locked_out(&self, address: IpAddr, now: Instant) -> bool {
        let until = Duration::from_millis(self.locked_until.load(Ordering::Relaxed));
        now.saturating_duration_since(self.start) < until && self.pause(address, None, now).is_some()
    }

    /// Remembers a valid token and the network that it came from.
    pub(crate) fn token_succeeded(&self, address: IpAddr, token: CredentialHash) {
        let key = (network(address), token);
        if self.once_valid.read().unwrap_or_else(PoisonError::into_inner).contains(&key) {
            return;
        }
        let mut once_valid = self.once_valid.write().unwrap_or_else(PoisonError::into_inner);
        if once_valid.len() >= MAX_KEYS {
            once_valid.clear();
        }
        once_valid.insert(key);
    }

    /// The pause before a token may be looked up; `None` if it may be now, or was valid before from the same network.
    pub(crate) fn pause_of_token(
        &self,
        address: IpAddr,
        token: &CredentialHash,
        now: Instant,
    ) -> Option<Duration> {
        let pause = self.pause(address, None, now)?;
        let once_valid = self.once_valid.read().unwrap_or_else(PoisonError::into_inner);
        (!once_valid.contains(&(network(address), *token))).then_some(pause)
    }

    /// Takes back a failure that was counted before it was known to be none.
    pub(crate) fn take_back(&self, address: IpAddr) {
        take_back_one(&mut self.counts(), address_key(address));
    }

    /// Forgets the failures of an account after a successful login. Others may share the address, so its count stays.
    pub(crate) fn succeeded(&self, account: &str) {
        let (mut counts, key) = (self.counts(), account_key(account));
        if counts.remove(&key).is_none() {
            // The login was counted as a failure before the password was known to be right.
            take_back_one(&mut counts, key);
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failures {
    fn count(&mut self, now: Instant) {
        if now.duration_since(self.last) > MEMORY {
            *self = Self::since(now);
        }
        self.count = self.count.saturating_add(1);
        self.last = now;
    }
}

/// The counts of a key. If there is no room for it, counts without a pause make room; if all are locked out, the
/// key shares its counts with others.
fn entry(counts: &mut Counts, mut key: Key, now: Instant) -> &mut Failures {
    if !counts.contains_key(&key) && counts.len() >= MAX_KEYS {
        make_room(counts, now);
        if counts.len() >= MAX_KEYS {
            key = key.shared();
        }
    }
    counts.entry(key).or_insert_with(|| Failures::since(now))
}

/// Takes back one failure of a key, from the shared counts if it has none of its own.
fn take_back_one(counts: &mut Counts, key: Key) {
    let key = if counts.contains_key(&key) { key } else { key.shared() };
    if let Some(failures) = counts.get_mut(&key) {
        failures.count = failures.count.saturating_sub(1);
    }
}

/// Forgets the older half of the counts without an active lock-out.
fn make_room(counts: &mut Counts, now: Instant) {
    let is_kept = |key: &Key, failures: &Failures| {
        *key == key.shared() || failures.locked_until(key.free()).is_some_and(|until| until > now)
    };
    let unlocked = counts.iter().filter(|(key, failures)| !is_kept(key, failures));
    let mut ages: Vec<Instant> = unlocked.map(|(_, failures)| failures.last).collect();
    if ages.is_empty() {
        return;
    }
    let middle = ages.len() / 2;
    let newest_forgotten = *ages.select_nth_unstable(middle).1;
    counts.retain(|key, failures| is_kept(key, failures) || failures.last > newest_forgotten);
}

fn account_key(account: &str) -> Key {
    Key::Account(account.trim().to_lowercase().chars().take(128).collect())
}

fn address_key(address: IpAddr) -> Key {
    Key::Address(network(address))
}

/// The network of one customer: an IPv4 address, or a /64 of IPv6.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn few_failures_are_free_and_then_each_doubles_the_pause() {
        let (throttle, start) = (LoginThrottle::default(), Instant::now());
        let here = address("192.0.2.1");
        for _ in 0..FREE_OF_ACCOUNT {
            assert_eq!(throttle.pause(here, Some("Ada"), start), None);
            throttle.failed(here, Some("ada"), start);
        }
        assert_eq!(throttle.pause(here, Some("ada"), start), None);
        for seconds in [1, 2, 4] {
            throttle.failed(here, Some("ADA "), start);
            assert_eq!(throttle.pause(here, Some("ada"), start), Some(Duration::from_secs(seconds)));
        }
        let elsewhere = address("192.0.2.9");
        assert!(throttle.pause(elsewhere, Some("ada"), start).is_some(), "the account is guarded everywhere");
        assert_eq!(throttle.pause(here, Some("ada"), start + Duration::from_secs(4)), None);
        assert_eq!(throttle.pause(elsewhere, Some("grace"), start), None);
        throttle.succeeded("ada");
        assert_eq!(throttle.pause(elsewhere, Some("ada"), start), None);
    }

    #[test]
    fn one_address_cannot_try_many_accounts() {
        let (throttle, start) = (LoginThrottle::default(), Instant::now());
        for number in 0..=FREE_OF_ADDRESS {
            let from = address(&format!("2001:db8::{number:x}"));
            throttle.failed(from, Some(&format!("user{number}")), start);
        }
        assert!(throttle.pause(address("2001:db8::ffff"), Some("another"), start).is_some());
        assert_eq!(throttle.pause(address("2001:db8:1::1"), Some("another"), start), None);
    }

    #[test]
    fn same_wrong_token_counts_once_and_different_ones_are_throttled() {
        let (throttle, now) = (LoginThrottle::default(), Instant::now());
        for _ in 0..1000 {
            throttle.token_failed(address("192.0.2.1"), CredentialHash::of("an old token"), now);
        }
        assert_eq!(throttle.pause(address("192.0.2.1"), None, now), None);
        for number in 0..=FREE_OF_ADDRESS {
            throttle.token_failed(address("192.0.2.2"), CredentialHash::of(&number.to_string()), now);
        }
        let pause =
            |from: &str, token: &str| throttle.pause_of_token(address(from), &CredentialHash::of(token), now);
        assert!(pause("192.0.2.2", "good").is_some(), "a valid token is not recognized during a lock-out");
        assert_eq!(pause("192.0.2.3", "good"), None);
        throttle.token_succeeded(address("192.0.2.3"), CredentialHash::of("good"));
        assert!(pause("192.0.2.2", "good").is_some(), "it was valid from another address only");
        throttle.token_succeeded(address("192.0.2.2"), CredentialHash::of("good"));
        assert_eq!(pause("192.0.2.2", "good"), None);
        assert!(pause("192.0.2.2", "another").is_some());
    }

    #[test]
    fn address_is_locked_out_until_its_pause_ends_and_others_are_not() {
        let (throttle, now) = (LoginThrottle::default(), Instant::now());
        let (here, elsewhere) = (address("192.0.2.1"), address("192.0.2.2"));
        for number in 0..=FREE_OF_ADDRESS {
            assert!(!throttle.is_locked_out(here, now), "{number}");
            throttle.token_failed(here, CredentialHash::of(&number.to_string()), now);
        }
        assert!(throttle.is_locked_out(here, now));
        assert!(!throttle.is_locked_out(elsewhere, now));
        assert!(!throttle.is_locked_out(here, now + FIRST_PAUSE));
    }

    #[test]
    fn flood_of_failures_never_ends_a_pause() {
        let (throttle, now) = (LoginThrottle::default(), Instant::now());
        for _ in 0..FREE_OF_ACCOUNT + 20 {
            throttle.failed(address("192.0.2.1"), Some("ada"), now);
        }
        let locked = address("203.0.113.7");
        for number in 0..FREE_OF_ADDRESS + 20 {
            throttle.token_failed(locked, CredentialHash::of(&number.to_string()), now);
        }
        let later = now + Duration::from_secs(2);
        for number in 0..MAX_KEYS * 2 {
            let number = u32::try_from(number).expect("a small number");
            let from = IpAddr::from(Ipv4Addr::from(0x0a00_0000 + number));
            throttle.failed(from, Some(&format!("user{number}")), later);
        }
        assert!(throttle.pause(address("198.51.100.1"), Some("ada"), later).is_some());
        assert!(throttle.is_locked_out(locked, later));
        assert!(throttle.counts().len() <= MAX_KEYS);
    }

    #[test]
    fn without_room_for_counts_of_its_own_a_key_shares_those_of_others() {
        let (throttle, now) = (LoginThrottle::default(), Instant::now());
        for number in 0..MAX_KEYS {
            let failures = Failures { count: FREE_OF_ACCOUNT + 20, ..Failures::since(now) };
            throttle.counts().insert(Key::Account(number.to_string()), failures);
        }
        let (here, another) = (address("192.0.2.1"), "another account");
        assert_eq!(throttle.pause(here, Some(another), now), None);
        for number in 0..=FREE_OF_ADDRESS {
            throttle.failed(here, Some(&format!("user{number}")), now);
        }
        assert!(throttle.pause(here, Some(another), now).is_some());
        assert!(throttle.counts().len() <= MAX_KEYS + 2, "{}", throttle.counts().len());
        assert!(throttle.pause(here, Some("0"), now).is_some(), "who was locked out still is");
    }

    #[test]
    fn correct_logins_without_counts_of_their_own_start_no_pause() {
        let (throttle, now) = (LoginThrottle::default(), Instant::now());
        for number in 0..MAX_KEYS {
            let failures = Failures { count: FREE_OF_ACCOUNT + 20, ..Failures::since(now) };
            throttle.counts().insert(Key::Account(number.to_string()), failures);
        }
        let here = address("192.0.2.1");
        for number in 0..FREE_OF_ADDRESS * 2 {
            let account = format!("user{number}");
            // As a login does it: a failure is counted first, and taken back when the password is right.
            throttle.failed(here, Some(&account), now);
            throttle.take_back(here);
            throttle.succeeded(&account);
        }
        assert_eq!(throttle.pause(here, Some("another account"), now), None);
    }
}
