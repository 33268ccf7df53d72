//! Places at which a test lets the process die, as by `kill -9`. In a release build there are none.

use std::sync::atomic::{AtomicU64, Ordering};

/// The places there are. A name that is not among them is a mistake.
const PLACES: [&str; 10] = [
    "accepted",
    "stored",
    "claimed",
    "reserved",
    "before_send",
    "after_reply",
    "before_commit",
    "after_commit",
    "before_release",
    "suspended",
];

/// At most one place, and how often it is passed before the process dies there.
#[derive(Debug, Default)]
pub struct Failpoints {
    armed: Option<(String, u64)>,
    passed: AtomicU64,
}

impl Failpoints {
    /// Reads `PLACE` or `PLACE:N`: at the first, or the n-th time. Nothing where it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let (place, times) = text.split_once(':').unwrap_or((text, "1"));
        let times = times.parse().ok().filter(|times| *times > 0)?;
        PLACES.contains(&place).then(|| Self { armed: Some((place.to_owned(), times)), ..Self::default() })
    }

    /// Dies here, when it is time.
    pub fn pass(&self, place: &str) {
        let Some((armed, times)) = &self.armed else { return };
        if armed == place && self.passed.fetch_add(1, Ordering::Relaxed) + 1 >= *times {
            die();
        }
    }
}

#[cfg(debug_assertions)]
fn die() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // The signal is on its way; nothing may happen until it is here.
    loop {
        std::thread::park();
    }
}

#[cfg(not(debug_assertions))]
fn die() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_and_counted() {
        assert!(Failpoints::parse("claimed").is_some());
        assert!(Failpoints::parse("claimed:3").is_some());
        assert!(Failpoints::parse("nowhere").is_none());
        assert!(Failpoints::parse("claimed:0").is_none());
        let armed = Failpoints::parse("claimed:3").expect("a place");
        armed.pass("claimed");
        armed.pass("reserved");
        armed.pass("claimed");
        Failpoints::default().pass("claimed");
    }
}
