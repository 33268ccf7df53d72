//! Limits on connections, from flags and variables, then the file, then the limits of the system.

use std::ops::RangeInclusive;
use std::time::Duration;

use haft_core::Message;
use haft_core::duration::Unit;
use haft_server::ConnectionSettings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::duration_setting::DurationSetting;
use crate::cli::ConnectionArgs;
use crate::cli_error::failure;
use crate::messages;

const CONNECTIONS: RangeInclusive<u64> = 1..=1_000_000;
const TIMEOUTS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

impl ConnectionArgs {
    /// Returns the settings. `file` provides the values that `self` does not set.
    pub(crate) fn settings(&self, file: &Self) -> anyhow::Result<ConnectionSettings> {
        let usual = ConnectionSettings::default();
        let timeout = |name, set: Option<DurationSetting>, usual: Duration| match set {
            Some(set) => set.within(name, Unit::Seconds, TIMEOUTS),
            None => Ok(usual),
        };
        let header_timeout = self.header_timeout.or(file.header_timeout);
        let idle_timeout = self.idle_timeout.or(file.idle_timeout);
        let body_timeout = self.body_timeout.or(file.body_timeout);
        let total = self.max_connections.or(file.max_connections);
        let per_address = self.max_connections_per_address.or(file.max_connections_per_address);
        let total = within("max_connections", total, CONNECTIONS)?;
        let per_address = within("max_connections_per_address", per_address, CONNECTIONS)?;
        Ok(ConnectionSettings {
            total: match total {
                Some(total) => usize::try_from(total)?,
                None => usual.total.min(allowed_by_system()),
            },
            per_address: per_address.map(usize::try_from).transpose()?,
            header_timeout: timeout("header_timeout", header_timeout, usual.header_timeout)?,
            idle_timeout: timeout("idle_timeout", idle_timeout, usual.idle_timeout)?,
            body_timeout: timeout("body_timeout", body_timeout, usual.body_timeout)?,
        })
    }
}

/// The number of open files to request if the system sets no upper limit.
const MANY_FILES: u64 = 65_536;

/// Raises the limit on open files of this process, usually 1024, to the maximum that the system allows. The
/// limit is unchanged if the system refuses.
pub(crate) fn raise_limit_on_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(MANY_FILES);
    if limit.current.is_some_and(|current| current < most) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit });
    }
}

/// Returns three quarters of the limit on open files. The rest is for databases and outgoing connections.
fn allowed_by_system() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files / 4 * 3).unwrap_or(usize::MAX).max(1)
}

fn within(name: &str, value: Option<u64>, range: RangeInclusive<u64>) -> anyhow::Result<Option<u64>> {
    if let Some(value) = value.filter(|value| !range.contains(value)) {
        let (least, most) = range.into_inner();
        let message = Message::new(&messages::OUT_OF_RANGE)
            .with("name", name)
            .with("least", least)
            .with("most", most)
            .with("value", value);
        return Err(failure(message));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_on_open_files_is_raised_to_that_of_the_system() {
        raise_limit_on_open_files();
        let limit = getrlimit(Resource::Nofile);
        assert!(limit.maximum.is_none() || limit.current == limit.maximum, "{limit:?}");
    }

    #[test]
    fn flag_wins_over_the_file_and_a_bad_value_is_named() {
        let seconds = |number| Some(DurationSetting::Number(number));
        let file =
            ConnectionArgs { idle_timeout: seconds(5), max_connections: Some(7), ..Default::default() };
        let flags = ConnectionArgs { idle_timeout: seconds(6), ..ConnectionArgs::default() };
        let settings = flags.settings(&file).expect("good settings");
        assert_eq!((settings.total, settings.idle_timeout), (7, Duration::from_secs(6)));
        assert_eq!((settings.per_address, settings.header_timeout), (None, Duration::from_secs(10)));
        let bad = ConnectionArgs { header_timeout: seconds(0), ..ConnectionArgs::default() };
        let error = bad.settings(&file).expect_err("refused").to_string();
        assert_eq!(error, "header_timeout must be from 1s to 3600s, not 0s");
    }
}
