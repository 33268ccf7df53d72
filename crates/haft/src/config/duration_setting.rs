//! Durations in settings: text such as `30s`, or a number in the unit of the setting.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use haft_core::duration::{Unit, milliseconds};
use haft_core::{ErrorKind, Message};
use serde::Deserialize;

use crate::cli_error::{CliError, failure};
use crate::messages;

/// A duration from a flag, an environment variable or a key of the file.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "NumberOrText")]
pub(crate) enum DurationSetting {
    /// A number in the unit of the setting.
    Number(u64),
    WithUnit(Duration),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

impl FromStr for DurationSetting {
    type Err = CliError;

    fn from_str(text: &str) -> Result<Self, CliError> {
        if let Ok(number) = text.trim().parse() {
            return Ok(Self::Number(number));
        }
        let duration = milliseconds(text).and_then(|ms| Duration::try_from_secs_f64(ms / 1_000.0).ok());
        duration
            .map(Self::WithUnit)
            .ok_or_else(|| CliError::new(ErrorKind::Validation, Message::new(&messages::NOT_A_DURATION)))
    }
}

impl TryFrom<NumberOrText> for DurationSetting {
    type Error = CliError;

    fn try_from(written: NumberOrText) -> Result<Self, CliError> {
        match written {
            NumberOrText::Number(number) => Ok(Self::Number(number)),
            NumberOrText::Text(text) => text.parse(),
        }
    }
}

impl DurationSetting {
    /// Returns the duration. Returns an error that names the setting if it is out of range.
    pub(crate) fn within(
        self,
        name: &str,
        unit: Unit,
        range: RangeInclusive<Duration>,
    ) -> anyhow::Result<Duration> {
        let duration = match (self, unit) {
            (Self::WithUnit(duration), _) => duration,
            (Self::Number(number), Unit::Milliseconds) => Duration::from_millis(number),
            (Self::Number(number), Unit::Seconds) => Duration::from_secs(number),
        };
        if range.contains(&duration) {
            return Ok(duration);
        }
        let seconds = |duration: Duration| format!("{}s", duration.as_secs_f64());
        let message = Message::new(&messages::OUT_OF_RANGE)
            .with("name", name)
            .with("least", seconds(*range.start()))
            .with("most", seconds(*range.end()))
            .with("value", seconds(duration));
        Err(failure(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

    #[test]
    fn numbers_are_in_the_unit_of_the_setting_and_texts_in_their_own() {
        for (text, unit, expected) in [
            ("1500", Unit::Milliseconds, Duration::from_millis(1500)),
            ("15", Unit::Seconds, Duration::from_secs(15)),
            ("30s", Unit::Milliseconds, Duration::from_secs(30)),
            ("30s", Unit::Seconds, Duration::from_secs(30)),
            ("500ms", Unit::Seconds, Duration::from_millis(500)),
            ("1m30s", Unit::Seconds, Duration::from_secs(90)),
        ] {
            let setting: DurationSetting = text.parse().expect("a duration");
            assert_eq!(setting.within("x", unit, RANGE).expect("in range"), expected, "{text}");
        }
        for text in ["soon", "", "-3", "30 seconds", "99999999999999999999w"] {
            assert!(text.parse::<DurationSetting>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_file_takes_numbers_and_texts() {
        #[derive(Deserialize)]
        struct File {
            number: DurationSetting,
            text: DurationSetting,
        }
        let File { number, text } = toml::from_str("number = 5\ntext = \"2s\"").expect("TOML");
        assert_eq!(number.within("x", Unit::Seconds, RANGE).expect("in range"), Duration::from_secs(5));
        assert_eq!(text.within("x", Unit::Milliseconds, RANGE).expect("in range"), Duration::from_secs(2));
        let error = toml::from_str::<File>("number = 5\ntext = \"soon\"").err().expect("refused").to_string();
        assert!(error.contains("a duration such as 30s"), "{error}");
    }
}
