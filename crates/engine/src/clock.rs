//! The time of day, for what is shown and kept. Deadlines use the monotonic clock instead.

use jiff::Timestamp;
use uuid::Uuid;

/// Now, to the millisecond: what every store and every client can hold and give back unchanged.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// The instant a UUIDv7 begins with, to the millisecond.
pub(crate) fn minted_at(id: Uuid) -> Timestamp {
    let (beginning, _) = id.as_u64_pair();
    i64::try_from(beginning >> 16)
        .ok()
        .and_then(|millis| Timestamp::from_millisecond(millis).ok())
        .unwrap_or_else(now)
}
