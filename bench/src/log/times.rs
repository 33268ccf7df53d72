//! Durations of a query with different parameters.

use std::time::Duration;

use crate::table::median;

#[derive(Default)]
pub(super) struct Times(Vec<f64>);

impl Times {
    pub(super) fn push(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64() * 1e3);
    }

    /// Returns the median and the maximum, as cells of a table.
    pub(super) fn cells(self) -> [String; 2] {
        let slowest = self.0.iter().copied().fold(0.0, f64::max);
        [format!("{:.1} ms", median(self.0)), format!("{slowest:.1} ms")]
    }
}
