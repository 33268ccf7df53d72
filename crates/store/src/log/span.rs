//! The sizes of buckets, and for how long those of each size are kept.
//!
//! Instants are microseconds since the epoch, as they are in the columns.

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

/// How much time a bucket covers. A larger one is made of whole smaller ones, and all begin at the same
/// instants in every space.
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

    /// The next size, or the largest.
    pub(super) fn coarser(self) -> Self {
        match self {
            Self::Minute => Self::TenMinutes,
            Self::TenMinutes => Self::Hour,
            Self::Hour | Self::Day => Self::Day,
        }
    }

    /// When the bucket begins that an instant is in.
    pub(super) fn start(self, at: i64) -> i64 {
        at.div_euclid(self.micros()) * self.micros()
    }

    /// Buckets that begin before this are not kept.
    pub(super) fn oldest(self, now: i64) -> i64 {
        let seconds = match self {
            Self::Minute => 6 * HOUR,
            Self::TenMinutes => 3 * DAY,
            Self::Hour => 60 * DAY,
            Self::Day => 2 * 365 * DAY,
        };
        now - seconds * SECOND
    }

    /// Whether a bucket that begins then is kept. No call begins a day ahead; a row that says so was written
    /// while the clock was wrong.
    pub(super) fn keeps(self, start: i64, now: i64) -> bool {
        (self.oldest(now)..=now + DAY * SECOND).contains(&start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_made_of_whole_smaller_ones() {
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
    fn buckets_are_kept_for_a_while() {
        let now = 1_786_000_000 * SECOND;
        let kept = [6 * HOUR, 3 * DAY, 60 * DAY, 730 * DAY];
        for (span, seconds) in Span::ALL.into_iter().zip(kept) {
            assert!(span.keeps(now - seconds * SECOND, now), "{span:?}");
            assert!(!span.keeps(now - seconds * SECOND - 1, now), "{span:?}");
            assert!(span.keeps(now + HOUR * SECOND, now), "{span:?}");
            assert!(!span.keeps(now + 2 * DAY * SECOND, now), "{span:?}");
        }
    }
}
