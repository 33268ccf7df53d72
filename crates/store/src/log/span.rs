//! Sizes of buckets, and how long buckets of each size are retained.
//!
//! Times are microseconds since the epoch, like in the columns.

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

/// The time that a bucket covers. Each size is a multiple of the previous one, and the boundaries are the
/// same in all spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Span {
    Minute,
    TenMinutes,
    Hour,
    Day,
}

impl Span {
    pub(super) const ALL: [Self; 4] = [Self::Minute, Self::TenMinutes, Self::Hour, Self::Day];

    pub(super) fn seconds(self) -> i64 {
        match self {
            Self::Minute => 60,
            Self::TenMinutes => 600,
            Self::Hour => HOUR,
            Self::Day => DAY,
        }
    }

    pub(super) fn micros(self) -> i64 {
        self.seconds() * SECOND
    }

    /// Returns the next larger size, or the largest.
    pub(super) fn coarser(self) -> Self {
        match self {
            Self::Minute => Self::TenMinutes,
            Self::TenMinutes => Self::Hour,
            Self::Hour | Self::Day => Self::Day,
        }
    }

    /// Returns the start of the bucket that contains a time.
    pub(super) fn start(self, at: i64) -> i64 {
        at.div_euclid(self.micros()) * self.micros()
    }

    /// Returns the earliest start of a retained bucket.
    pub(super) fn oldest(self, now: i64) -> i64 {
        let seconds = match self {
            Self::Minute => 6 * HOUR,
            Self::TenMinutes => 3 * DAY,
            Self::Hour => 60 * DAY,
            Self::Day => 2 * 365 * DAY,
        };
        now - seconds * SECOND
    }

    /// Returns true if a bucket with this start is retained. Starts more than a day in the future come from a
    /// wrong clock and are dropped.
    pub(super) fn retains(self, start: i64, now: i64) -> bool {
        (self.oldest(now)..=now + DAY * SECOND).contains(&start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_multiples_of_smaller_ones() {
        for span in Span::ALL {
            assert_eq!(span.coarser().seconds() % span.seconds(), 0, "{span:?}");
            for at in [0, 1, -1, 1_786_000_000_123_456, -1_786_000_000_123_456] {
                let start = span.start(at);
                assert!(start <= at && at < start + span.micros(), "{span:?} {at}");
                assert_eq!(span.coarser().start(start), span.coarser().start(at), "{span:?} {at}");
            }
        }
    }

    #[test]
    fn buckets_are_retained_by_size() {
        let now = 1_786_000_000 * SECOND;
        let retained = [6 * HOUR, 3 * DAY, 60 * DAY, 730 * DAY];
        for (span, seconds) in Span::ALL.into_iter().zip(retained) {
            assert!(span.retains(now - seconds * SECOND, now), "{span:?}");
            assert!(!span.retains(now - seconds * SECOND - 1, now), "{span:?}");
            assert!(span.retains(now + HOUR * SECOND, now), "{span:?}");
            assert!(!span.retains(now + 2 * DAY * SECOND, now), "{span:?}");
        }
    }
}
