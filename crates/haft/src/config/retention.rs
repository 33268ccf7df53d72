//! The retention settings of the call log: maximum age and size.

use std::ops::RangeInclusive;
use std::time::Duration;

use haft_core::Message;
use haft_store::LogRetention;

use crate::cli_error::failure;
use crate::messages;

const DAYS: RangeInclusive<u64> = 1..=3650;
const DAY: u64 = 24 * 60 * 60;

/// The minimum size. A smaller log has hardly space for its indexes.
const MIN_BYTES: u64 = 64 << 20;

/// Returns the retention. A value that is not set has its default.
pub(super) fn settings(days: Option<u64>, bytes: Option<u64>) -> anyhow::Result<LogRetention> {
    let mut retention = LogRetention::default();
    if let Some(days) = days {
        if !DAYS.contains(&days) {
            let (least, most) = DAYS.into_inner();
            return Err(failure(
                Message::new(&messages::OUT_OF_RANGE)
                    .with("name", "call_log_days")
                    .with("least", least)
                    .with("most", most)
                    .with("value", days),
            ));
        }
        retention.age = Duration::from_secs(days * DAY);
    }
    if let Some(bytes) = bytes {
        if bytes < MIN_BYTES {
            return Err(failure(
                Message::new(&messages::TOO_SMALL)
                    .with("name", "call_log_bytes")
                    .with("least", format!("{MIN_BYTES} (64 MiB)"))
                    .with("value", bytes),
            ));
        }
        retention.bytes = bytes;
    }
    Ok(retention)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_override_defaults_and_are_checked() {
        let days = |days: u64| Duration::from_secs(days * DAY);
        let parsed =
            |days, bytes| settings(days, bytes).map(|retention| (retention.age, retention.bytes)).ok();
        assert_eq!(parsed(None, None), Some((days(30), 16 << 30)));
        assert_eq!(parsed(Some(7), None), Some((days(7), 16 << 30)));
        assert_eq!(parsed(None, Some(MIN_BYTES)), Some((days(30), MIN_BYTES)));
        for (days, bytes) in [(Some(0), None), (Some(3651), None), (None, Some(MIN_BYTES - 1))] {
            assert_eq!(parsed(days, bytes), None, "{days:?} {bytes:?}");
        }
    }
}
