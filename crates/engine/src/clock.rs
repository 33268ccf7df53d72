//! The wall clock, for timestamps that are displayed or stored. Deadlines use the monotonic clock instead.

use jiff::Timestamp;
use uuid::Uuid;

/// Returns the current time in milliseconds, the precision that every store and client preserves.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// Returns the timestamp of a UUIDv7.
pub(crate) fn minted_at(id: Uuid) -> Timestamp {
    let (beginning, _) = id.as_u64_pair();
    i64::try_from(beginning >> 16)
        .ok()
        .and_then(|millis| Timestamp::from_millisecond(millis).ok())
        .unwrap_or_else(now)
}
