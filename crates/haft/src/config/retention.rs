//! How much of the call log is kept: what was set, as what the log goes by.

use std::ops::RangeInclusive;
use std::time::Duration;

use haft_core::Message;
use haft_store::Retention;

use crate::messages;
use crate::refusal::failure;

const DAYS: RangeInclusive<u64> = 1..=3650;
const DAY: u64 = 24 * 60 * 60;

/// Less would hardly hold its own indexes.
const LEAST_BYTES: u64 = 64 << 20;

/// What is not set is as it is by default.
pub(super) fn settings(days: Option<u64>, bytes: Option<u64>) -> anyhow::Result<Retention> {
    let mut keep = Retention::default();
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
        keep.age = Duration::from_secs(days * DAY);
    }
    if let Some(bytes) = bytes {
        if bytes < LEAST_BYTES {
            return Err(failure(
                Message::new(&messages::TOO_SMALL)
                    .with("name", "call_log_bytes")
                    .with("least", format!("{LEAST_BYTES} (64 MiB)"))
                    .with("value", bytes),
            ));
        }
        keep.bytes = bytes;
    }
    Ok(keep)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_kept_and_the_rest_is_as_it_was() {
        let days = |days: u64| Duration::from_secs(days * DAY);
        let kept = |days, bytes| settings(days, bytes).map(|keep| (keep.age, keep.bytes)).ok();
        assert_eq!(kept(None, None), Some((days(30), 16 << 30)));
        assert_eq!(kept(Some(7), None), Some((days(7), 16 << 30)));
        assert_eq!(kept(None, Some(LEAST_BYTES)), Some((days(30), LEAST_BYTES)));
        for (days, bytes) in [(Some(0), None), (Some(3651), None), (None, Some(LEAST_BYTES - 1))] {
            assert_eq!(kept(days, bytes), None, "{days:?} {bytes:?}");
        }
    }
}
