//! Ids of rows as places in time: each is a UUIDv7 of the moment at which its call began.

use jiff::Timestamp;
use uuid::Uuid;

/// No row of this millisecond or a later one has a smaller id, and none of an earlier one has a greater.
pub(super) fn lowest(at: Timestamp) -> Uuid {
    let millis = u64::try_from(at.as_millisecond()).unwrap_or(0);
    Uuid::from_u64_pair(millis << 16, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_moment_are_not_below_it_and_below_the_next() {
        for millis in [1_786_000_000_000, 1_786_000_000_001] {
            let at = |millis| lowest(Timestamp::from_millisecond(millis).expect("an instant"));
            let time = uuid::Timestamp::from_unix(
                uuid::NoContext,
                1_786_000_000,
                (millis % 1000) as u32 * 1_000_000,
            );
            let id = Uuid::new_v7(time);
            assert!(at(millis) <= id && id < at(millis + 1), "{id}");
        }
    }
}
