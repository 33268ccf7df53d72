//! Counts of calls by outcome, and their durations. Totals of different calls can be merged.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_core::CallError;
use serde_json::json;

use super::call::CallStatus;
use super::histogram::Histogram;
use crate::db::Arg;
use crate::row::Row;

/// The encoding of an empty map of error kinds.
const NO_KINDS: &str = "{}";

/// Counts of calls. Durations include all calls, whatever their outcome.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    pub calls: u64,
    /// Failed calls. Cancelled calls count neither as failed nor as successful.
    pub errors: u64,
    pub cancelled: u64,
    /// Calls that were served from the cache.
    pub cached: u64,
    /// Errors by kind.
    pub by_kind: BTreeMap<String, u64>,
    /// Sum of all durations in microseconds.
    sum: u64,
    /// Longest duration in microseconds.
    max: u64,
    histogram: Histogram,
}

impl Totals {
    /// Returns the share of failed calls among all calls except cancelled ones, from 0 to 1. Returns 0 if there
    /// are none.
    pub fn error_rate(&self) -> f64 {
        match self.calls.saturating_sub(self.cancelled) {
            0 => 0.0,
            ended => self.errors as f64 / ended as f64,
        }
    }

    /// Returns a percentile of the durations: `percentile(0.95)` was not exceeded by 95 % of the calls. The
    /// relative error is at most 1/16. Returns `None` if there are no calls.
    pub fn percentile(&self, share: f64) -> Option<Duration> {
        let micros = self.histogram.percentile(share)?;
        Some(Duration::from_micros(micros.min(self.max)))
    }

    /// Returns the mean duration. Returns `None` if there are no calls.
    pub fn mean(&self) -> Option<Duration> {
        self.sum.checked_div(self.calls).map(Duration::from_micros)
    }

    /// Returns the longest duration. Returns `None` if there are no calls.
    pub fn max(&self) -> Option<Duration> {
        (self.calls > 0).then(|| Duration::from_micros(self.max))
    }

    /// Counts one call.
    pub(super) fn add(&mut self, status: CallStatus, kind: Option<&str>, is_cached: bool, micros: u64) {
        self.calls += 1;
        self.cached += u64::from(is_cached);
        match status {
            CallStatus::Success => {}
            CallStatus::Cancelled => self.cancelled += 1,
            CallStatus::Failed => {
                self.errors += 1;
                self.add_kind(kind.unwrap_or_default(), 1);
            }
        }
        self.sum = self.sum.saturating_add(micros);
        self.max = self.max.max(micros);
        self.histogram.add(micros);
    }

    /// Adds the counts of other calls.
    pub(super) fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.errors = self.errors.saturating_add(other.errors);
        self.cancelled = self.cancelled.saturating_add(other.cancelled);
        self.cached = self.cached.saturating_add(other.cached);
        for (kind, count) in &other.by_kind {
            self.add_kind(kind, *count);
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
        self.histogram.merge(&other.histogram);
    }

    fn add_kind(&mut self, kind: &str, count: u64) {
        match self.by_kind.get_mut(kind) {
            Some(known) => *known = known.saturating_add(count),
            None => {
                self.by_kind.insert(kind.to_owned(), count);
            }
        }
    }

    /// The columns of the counts, in the order of every statement.
    pub(super) const COLUMNS: [&str; 8] =
        ["calls", "errors", "cancelled", "cached", "by_kind", "sum_duration", "max_duration", "histogram"];

    /// Returns the values of the columns.
    pub(super) fn args(&self) -> [Arg; 8] {
        [
            Arg::from(self.calls),
            Arg::from(self.errors),
            Arg::from(self.cancelled),
            Arg::from(self.cached),
            Arg::from(json!(self.by_kind).to_string()),
            Arg::from(self.sum),
            Arg::from(self.max),
            Arg::from(self.histogram.encode()),
        ]
    }

    /// Reads counts from the columns that start at `first`.
    pub(super) fn read(row: &Row, first: usize) -> Result<Self, CallError> {
        let by_kind = match row.text(first + 4)?.as_str() {
            NO_KINDS => BTreeMap::new(),
            _ => row.json(first + 4)?,
        };
        Ok(Self {
            calls: row.number(first)?,
            errors: row.number(first + 1)?,
            cancelled: row.number(first + 2)?,
            cached: row.number(first + 3)?,
            by_kind,
            sum: row.number(first + 5)?,
            max: row.number(first + 6)?,
            histogram: Histogram::decode(&row.bytes(first + 7)?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(calls: &[(CallStatus, Option<&str>, bool, u64)]) -> Totals {
        let mut totals = Totals::default();
        for &(status, kind, is_cached, micros) in calls {
            totals.add(status, kind, is_cached, micros);
        }
        totals
    }

    #[test]
    fn calls_are_counted_by_how_they_ended() {
        use CallStatus::{Cancelled, Failed, Success};
        let timeout = (Failed, Some("Timeout"), false, 5000);
        let first = [(Success, None, false, 1000), (Success, None, true, 10), timeout];
        let second = [(Cancelled, Some("Cancelled"), false, 200), (Failed, Some("Timeout"), false, 6700)];
        let mut both = of(&first);
        both.merge(&of(&second));
        assert_eq!(both, of(&[&first[..], &second[..]].concat()));
        assert_eq!((both.calls, both.errors, both.cancelled, both.cached), (5, 2, 1, 1));
        assert_eq!(both.by_kind, BTreeMap::from([("Timeout".to_owned(), 2)]));
        assert!((both.error_rate() - 0.5).abs() < 1e-9, "two of four that were not cancelled");
        assert_eq!(both.max(), Some(Duration::from_micros(6700)));
        assert_eq!(both.mean(), Some(Duration::from_micros(12_910 / 5)));
        // The middle of the bucket is 6911.
        assert_eq!(both.percentile(1.0), both.max());
    }

    #[test]
    fn empty_totals_have_no_durations_and_no_errors() {
        let nothing = Totals::default();
        assert_eq!((nothing.percentile(0.5), nothing.mean(), nothing.max()), (None, None, None));
        assert!(nothing.error_rate().abs() < f64::EPSILON);
        let cancelled = of(&[(CallStatus::Cancelled, Some("Cancelled"), false, 1)]);
        assert!(cancelled.error_rate().abs() < f64::EPSILON);
    }
}
