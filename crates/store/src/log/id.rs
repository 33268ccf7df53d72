//! Ids of rows: a UUIDv7 that begins with the instant of the call, and is the same whenever it is made again.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// The id of a row. The same call has the same id however often its record is given to the log, so that a
/// batch which is written again is not doubled; `facts` tell it from others of the same moment.
pub fn row_id(started_at: Timestamp, facts: &[&[u8]]) -> Uuid {
    let mut hash = Sha256::new();
    for fact in facts {
        hash.update((fact.len() as u64).to_le_bytes());
        hash.update(fact);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    let random = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    Uuid::from_u64_pair(beginning(started_at), VARIANT | (random >> 2))
}

/// No row of this instant or a later one has a smaller id, and none of an earlier one has a greater.
pub(super) fn lowest(at: Timestamp) -> Uuid {
    Uuid::from_u64_pair(beginning(at), 0)
}

const VERSION: u64 = 0x7000;
const VARIANT: u64 = 1 << 63;

/// Milliseconds in 48 bits, the version, and the part of the millisecond in 12 bits.
fn beginning(at: Timestamp) -> u64 {
    let micros = u64::try_from(at.as_microsecond()).unwrap_or(0);
    let (millis, rest) = (micros / 1000, micros % 1000);
    (millis << 16) | VERSION | (rest * 4096 / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_microsecond(micros).expect("an instant")
    }

    #[test]
    fn ids_are_in_the_order_of_time_and_the_same_when_made_again() {
        let begin = 1_786_000_000_000_000;
        let ids: Vec<Uuid> = (0..3000).map(|later| row_id(at(begin + later), &[b"call"])).collect();
        assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]));
        for (later, id) in (0..).zip(&ids) {
            assert!(lowest(at(begin + later)) < *id && *id < lowest(at(begin + later + 1)), "{later}");
        }
        assert_eq!(row_id(at(begin), &[b"call"]), ids[0]);
        assert_ne!(row_id(at(begin), &[b"cal", b"l"]), ids[0]);
        assert_eq!(ids[0].get_version_num(), 7);
        assert_eq!(ids[0].get_variant(), uuid::Variant::RFC4122);
    }
}
