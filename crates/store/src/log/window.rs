//! The time windows of statistics and their steps.

use std::iter::successors;

use super::span::Span;

/// The period that statistics cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StatsWindow {
    QuarterHour,
    Hour,
    SixHours,
    #[default]
    Day,
    Week,
    Month,
    Quarter,
}

impl StatsWindow {
    /// All windows, shortest first.
    pub const ALL: [Self; 7] =
        [Self::QuarterHour, Self::Hour, Self::SixHours, Self::Day, Self::Week, Self::Month, Self::Quarter];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::QuarterHour => "15m",
            Self::Hour => "1h",
            Self::SixHours => "6h",
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
            Self::Quarter => "90d",
        }
    }

    /// Parses a window such as `24h`.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|window| window.as_str() == word)
    }

    /// Returns the number of whole steps before the current one.
    fn steps(self) -> i64 {
        match self {
            Self::QuarterHour => 15,
            Self::Hour => 60,
            Self::SixHours => 36,
            Self::Day => 144,
            Self::Week => 168,
            Self::Month => 30,
            Self::Quarter => 90,
        }
    }

    fn span(self) -> Span {
        match self {
            Self::QuarterHour | Self::Hour => Span::Minute,
            Self::SixHours | Self::Day => Span::TenMinutes,
            Self::Week => Span::Hour,
            Self::Month | Self::Quarter => Span::Day,
        }
    }
}

/// A number of whole steps and the current one. Times are microseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) span: Span,
    pub(super) from: i64,
    pub(super) now: i64,
}

impl Frame {
    pub(super) fn of(window: StatsWindow, now: i64) -> Self {
        Self::back(window.span(), window.steps(), now)
    }

    /// Returns the frame of `steps` whole steps and the current one.
    pub(super) fn back(span: Span, steps: i64, now: i64) -> Self {
        Self { span, from: span.start(now) - steps * span.micros(), now }
    }

    /// Returns the start of each step.
    pub(super) fn starts(self) -> impl Iterator<Item = i64> {
        let next = move |at: &i64| Some(at + self.span.micros());
        successors(Some(self.from), next).take_while(move |at| *at <= self.now)
    }

    /// Returns the start of the first larger bucket within the frame; from there on, larger buckets can be
    /// used.
    pub(super) fn edge(self) -> i64 {
        let coarser = self.span.coarser();
        coarser.start(self.from + coarser.micros() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-08-06 07:06:40, not on a boundary of any span.
    const NOW: i64 = 1_786_000_000_000_000;

    #[test]
    fn windows_cover_their_period_with_at_most_one_extra_step() {
        const MINUTE: i64 = 60_000_000;
        let lengths = [15, 60, 6 * 60, 24 * 60, 7 * 24 * 60, 30 * 24 * 60, 90 * 24 * 60];
        for (window, minutes) in StatsWindow::ALL.into_iter().zip(lengths) {
            let frame = Frame::of(window, NOW);
            let (step, before) = (frame.span.micros(), NOW - minutes * MINUTE);
            assert!(frame.from <= before && before < frame.from + step, "{window:?}");
            let starts: Vec<i64> = frame.starts().collect();
            assert_eq!(starts.len() as i64, minutes * MINUTE / step + 1, "{window:?}");
            assert_eq!(starts.last(), Some(&frame.span.start(NOW)), "{window:?}");
            assert!(starts.len() <= 169, "{window:?}");
            assert_eq!(StatsWindow::named(window.as_str()), Some(window));
        }
        for word in ["", "1d", "24H", " 24h", "15"] {
            assert_eq!(StatsWindow::named(word), None, "{word:?}");
        }
    }

    #[test]
    fn larger_buckets_start_within_the_window() {
        for window in StatsWindow::ALL {
            for now in [NOW, 0, NOW / 86_400_000_000 * 86_400_000_000] {
                let frame = Frame::of(window, now);
                let (edge, coarser) = (frame.edge(), frame.span.coarser());
                assert!(frame.from <= edge && edge <= now, "{window:?}");
                assert!(edge < frame.from + coarser.micros(), "{window:?}");
                assert_eq!(coarser.start(edge), edge, "{window:?}");
            }
        }
    }
}
