//! Failpoints: points in the code where a test makes the process end as by `kill -9`. Release builds have none.

use std::sync::atomic::{AtomicU64, Ordering};

/// All failpoints.
const FAILPOINTS: [&str; 10] = [
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

/// At most one armed failpoint, with the number of passes after which the process ends there.
#[derive(Debug, Default)]
pub struct Failpoints {
    armed: Option<(String, u64)>,
    passed: AtomicU64,
}

impl Failpoints {
    /// Parses `NAME` or `NAME:N`: the process ends at the first or the N-th pass. Returns `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, times) = text.split_once(':').unwrap_or((text, "1"));
        let times = times.parse().ok().filter(|times| *times > 0)?;
        FAILPOINTS.contains(&name).then(|| Self { armed: Some((name.to_owned(), times)), ..Self::default() })
    }

    /// Ends the process if this failpoint is armed and has been passed often enough.
    pub fn pass(&self, name: &str) {
        let Some((armed, times)) = &self.armed else { return };
        if armed == name && self.passed.fetch_add(1, Ordering::Relaxed) + 1 >= *times {
            end_process();
        }
    }
}

#[cfg(debug_assertions)]
fn end_process() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // The signal may arrive a moment later.
    loop {
        std::thread::park();
    }
}

#[cfg(not(debug_assertions))]
fn end_process() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failpoint_is_parsed_with_its_count() {
        assert!(Failpoints::parse("claimed").is_some());
        assert!(Failpoints::parse("claimed:3").is_some());
        assert!(Failpoints::parse("nowhere").is_none());
        assert!(Failpoints::parse("claimed:0").is_none());
        let armed = Failpoints::parse("claimed:3").expect("a failpoint");
        armed.pass("claimed");
        armed.pass("reserved");
        armed.pass("claimed");
        Failpoints::default().pass("claimed");
    }
}
