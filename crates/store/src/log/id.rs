//! Row ids and time: each id is a UUIDv7 of the time at which the call began.

use jiff::Timestamp;
use uuid::Uuid;

/// Returns the smallest id of a millisecond. Rows of earlier milliseconds have smaller ids; all later ones do
/// not.
pub(super) fn lowest(at: Timestamp) -> Uuid {
    let millis = u64::try_from(at.as_millisecond()).unwrap_or(0);
    Uuid::from_u64_pair(millis << 16, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_millisecond_are_between_its_lowest_and_the_next() {
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
