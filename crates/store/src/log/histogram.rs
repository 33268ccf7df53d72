//! Histograms of call durations in microseconds. Bucket widths grow with the value, so that percentiles have
//! a relative error of at most 1/16.

use haft_core::CallError;

use crate::failure;

/// Each power of two has 2^3 = 8 buckets.
const PRECISION: u32 = 3;
const PARTS: u64 = 1 << PRECISION;

/// Exclusive upper bound of bucket indexes.
const END: u64 = (u64::BITS - PRECISION + 1) as u64 * PARTS;

/// Version byte of the encoding.
const FORMAT: u8 = 1;

/// Non-empty buckets as index and count, ordered by index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Histogram(Vec<(u64, u64)>);

impl Histogram {
    pub(super) fn add(&mut self, micros: u64) {
        let index = index(micros);
        match self.0.binary_search_by_key(&index, |(known, _)| *known) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(1),
            Err(at) => self.0.insert(at, (index, 1)),
        }
    }

    /// Adds the counts of another histogram.
    pub(super) fn merge(&mut self, other: &Self) {
        let mut at = 0;
        for &(index, count) in &other.0 {
            while self.0.get(at).is_some_and(|(known, _)| *known < index) {
                at += 1;
            }
            match self.0.get_mut(at) {
                Some((known, sum)) if *known == index => *sum = sum.saturating_add(count),
                Some(_) | None => self.0.insert(at, (index, count)),
            }
        }
    }

    /// Returns the value that a share (0 to 1) of all values does not exceed. Returns `None` if the histogram
    /// is empty.
    pub(super) fn percentile(&self, share: f64) -> Option<u64> {
        let all = self.0.iter().fold(0_u64, |all, (_, count)| all.saturating_add(*count));
        let rank = ((all as f64 * share).ceil() as u64).min(all).max(1);
        let mut seen = 0_u64;
        let reached = self.0.iter().find(|(_, count)| {
            seen = seen.saturating_add(*count);
            seen >= rank
        });
        reached.map(|(index, _)| middle(*index))
    }

    /// Encodes the version, then for each bucket the number of empty buckets before it and its count.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 + 3 * self.0.len());
        bytes.push(FORMAT);
        let mut next = 0;
        for &(index, count) in &self.0 {
            write(&mut bytes, index - next);
            write(&mut bytes, count);
            next = index + 1;
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, CallError> {
        let Some((&FORMAT, mut rest)) = bytes.split_first() else { return Err(corrupt()) };
        let mut buckets = Vec::with_capacity(rest.len() / 2);
        let mut next = 0_u64;
        while !rest.is_empty() {
            let index = read(&mut rest).and_then(|empty| next.checked_add(empty));
            let index = index.filter(|index| *index < END).ok_or_else(corrupt)?;
            let count = read(&mut rest).filter(|count| *count > 0).ok_or_else(corrupt)?;
            buckets.push((index, count));
            next = index + 1;
        }
        Ok(Self(buckets))
    }
}

fn corrupt() -> CallError {
    failure::unreadable("a histogram")
}

/// Returns the bucket of a value. Small values have one bucket each.
fn index(micros: u64) -> u64 {
    let power = micros.checked_ilog2().unwrap_or(0);
    match power.checked_sub(PRECISION) {
        None => micros,
        Some(shift) => u64::from(shift) * PARTS + (micros >> shift),
    }
}

/// Returns the middle of a bucket, which represents all of its values.
fn middle(index: u64) -> u64 {
    match (index / PARTS).checked_sub(1) {
        None => index,
        Some(shift) => {
            let lowest = (PARTS + index % PARTS) << shift;
            lowest + ((1_u64 << shift) - 1) / 2
        }
    }
}

/// Writes a varint: seven bits per byte, lowest first; the high bit means that more bytes follow.
fn write(bytes: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            bytes.push(low & 0x7f);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// Reads a varint. Returns `None` if it is incomplete or too large.
fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        // Reject bits that do not fit; the encoder never writes them.
        if (part << shift) >> shift != part {
            return None;
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.add(*value));
        histogram
    }

    /// Values of all magnitudes.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = (0..u64::BITS, any::<u64>()).prop_map(|(shift, value)| value >> shift);
        prop::collection::vec(value, 0..200)
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        assert!((0..16).map(index).eq(0..16));
        assert_eq!([16, 17, 18, 19, 31, 32, 35, 36].map(index), [16, 16, 17, 17, 23, 24, 24, 25]);
        assert_eq!((index(u64::MAX), END), (495, 496));
        for bucket in 0..END {
            assert_eq!(index(middle(bucket)), bucket);
        }
    }

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        assert_eq!(Histogram::default().percentile(0.5), None);
        let ten = of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let cases = [(0.0, 1), (0.1, 1), (0.101, 2), (0.5, 5), (0.95, 10), (1.0, 10)];
        let clamped = [(-1.0, 1), (2.0, 10), (f64::NAN, 1)];
        for (share, expected) in cases.into_iter().chain(clamped) {
            assert_eq!(ten.percentile(share), Some(expected), "{share}");
        }
    }

    #[test]
    fn invalid_encodings_are_rejected() {
        let whole = of(&[3, 5000, 5000, 1 << 40]).encode();
        assert!(Histogram::decode(&whole).is_ok());
        for length in 0..whole.len() {
            let cut = Histogram::decode(&whole[..length]);
            // If cut between two buckets, the rest is a valid histogram with fewer calls.
            assert!(cut.is_err() || cut.is_ok_and(|cut| cut.encode() == whole[..length]), "{length}");
        }
        let endless = [vec![FORMAT], vec![0xff; 20]].concat();
        let too_great = [FORMAT, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        let beyond_the_end = [FORMAT, 0xf0, 0x03, 1];
        let wrong: [&[u8]; 8] =
            [&[], &[0], &[2, 1, 1], &[FORMAT, 1], &[FORMAT, 1, 0], &beyond_the_end, &endless, &too_great];
        for wrong in wrong {
            assert!(Histogram::decode(wrong).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn a_percentile_is_off_by_a_sixteenth_at_most(mut samples in values(), share in 0.0..=1.0_f64) {
            let histogram = of(&samples);
            samples.sort_unstable();
            let rank = ((samples.len() as f64 * share).ceil() as usize).max(1);
            let exact = samples.get(rank - 1).copied();
            let found = histogram.percentile(share);
            prop_assert_eq!(found.is_some(), exact.is_some());
            if let (Some(found), Some(exact)) = (found, exact) {
                prop_assert!(found.abs_diff(exact) <= exact / 16, "{} for {}", found, exact);
            }
        }

        #[test]
        fn merging_equals_adding_all_values(first in values(), second in values()) {
            let mut merged = of(&first);
            merged.merge(&of(&second));
            prop_assert_eq!(merged, of(&[first, second].concat()));
        }

        #[test]
        fn encoding_round_trips(samples in values()) {
            let histogram = of(&samples);
            prop_assert_eq!(Histogram::decode(&histogram.encode()).ok(), Some(histogram));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), format in any::<bool>()) {
            let bytes = if format { [vec![FORMAT], bytes].concat() } else { bytes };
            if let Ok(histogram) = Histogram::decode(&bytes) {
                let mut twice = histogram.clone();
                twice.merge(&histogram);
                prop_assert_eq!(twice.percentile(0.5).is_some(), bytes.len() > 1);
            }
        }
    }
}
