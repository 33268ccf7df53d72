//! The time of day, for what is shown and kept. Deadlines use the monotonic clock instead.

use jiff::Timestamp;

/// Now, to the millisecond: what every store and every client can hold and give back unchanged.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
