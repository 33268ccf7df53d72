//! Timestamps in the one form that every interface writes: RFC 3339 in UTC with three fraction digits.
//!
//! Reading accepts any precision. Stored timestamps have the precision of their input.

use jiff::Timestamp;
use serde::Serializer;

/// Formats a timestamp as `2026-08-01T09:30:02.500Z`. Truncates digits beyond the millisecond.
pub fn rfc3339(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Serializes a field in this form: `#[serde(serialize_with = "haft_core::timestamp::serialize")]`.
pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{at:.3}"))
}

/// Serializes an optional field in this form, and `None` as null.
pub fn serialize_optional<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => serialize(at, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::json;

    use super::*;

    #[derive(Serialize)]
    struct Fields {
        #[serde(serialize_with = "serialize")]
        at: Timestamp,
        #[serde(serialize_with = "serialize_optional")]
        until: Option<Timestamp>,
    }

    #[test]
    fn every_timestamp_has_three_fraction_digits() {
        for (given, expected) in [
            ("2026-08-01T09:30:02Z", "2026-08-01T09:30:02.000Z"),
            ("2026-08-01T09:30:02.5Z", "2026-08-01T09:30:02.500Z"),
            ("2026-08-01T09:30:02.123Z", "2026-08-01T09:30:02.123Z"),
            ("2026-08-01T09:30:02.123456Z", "2026-08-01T09:30:02.123Z"),
            ("2026-08-01T09:30:59.999999999Z", "2026-08-01T09:30:59.999Z"),
            ("2026-08-01T11:30:02+02:00", "2026-08-01T09:30:02.000Z"),
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
            ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
        ] {
            let at: Timestamp = given.parse().expect("a timestamp");
            assert_eq!(rfc3339(at), expected, "{given}");
            let fields = serde_json::to_value(Fields { at, until: Some(at) }).expect("JSON");
            assert_eq!(fields, json!({"at": expected, "until": expected}), "{given}");
        }
        let fields = serde_json::to_value(Fields { at: Timestamp::MAX, until: None }).expect("JSON");
        assert_eq!(fields, json!({"at": "9999-12-30T22:00:00.999Z", "until": null}));
    }
}
