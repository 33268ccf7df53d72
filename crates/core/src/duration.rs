//! Durations such as `30s` or `1h30m`, accepted wherever a field holds a number of seconds or milliseconds.

use serde_json::{Map, Number, Value};

/// The unit of a field that holds a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Milliseconds,
    Seconds,
}

/// Units in milliseconds. `ms` comes before `m` and `s`, its first and last letter.
const UNITS: [(&str, f64); 5] =
    [("ms", 1.0), ("s", 1_000.0), ("m", 60_000.0), ("h", 3_600_000.0), ("d", 86_400_000.0)];

/// Maximum duration: a hundred years, which a float represents exactly.
const MAX_MILLISECONDS: f64 = 100.0 * 366.0 * 86_400_000.0;

/// Reads a text such as `500ms`, `1.5s` or `1h30m` as milliseconds, to the microsecond. Returns `None` for anything
/// else.
pub fn milliseconds(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (digits, unit) = rest.split_at_checked(end)?;
        let is_number = digits.starts_with(|letter: char| letter.is_ascii_digit()) && !digits.ends_with('.');
        let number: f64 = digits.parse().ok().filter(|_| is_number)?;
        let (name, factor) = UNITS.iter().find(|(name, _)| unit.starts_with(name))?;
        total += number * factor;
        rest = unit.get(name.len()..)?.trim_start();
    }
    // Decimals are inexact in a float: 16.1 s would be 16100.000000000002 ms.
    let whole_microseconds = (total * 1_000.0).round() / 1_000.0;
    (whole_microseconds <= MAX_MILLISECONDS).then_some(whole_microseconds)
}

/// Replaces a duration by a number of the unit. Leaves other values unchanged, for the schema to reject.
pub fn read(value: &mut Value, unit: Unit) {
    let Some(milliseconds) = value.as_str().and_then(milliseconds) else { return };
    let amount = match unit {
        Unit::Milliseconds => milliseconds,
        Unit::Seconds => milliseconds / 1_000.0,
    };
    let number =
        if amount.fract() == 0.0 { Some(Number::from(amount as u64)) } else { Number::from_f64(amount) };
    if let Some(number) = number {
        *value = Value::Number(number);
    }
}

/// Replaces durations in some fields of an object.
pub fn read_fields(fields: &mut Map<String, Value>, units: &[(&str, Unit)]) {
    for (name, unit) in units {
        if let Some(value) = fields.get_mut(*name) {
            read(value, *unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_become_numbers_of_the_unit() {
        for (text, ms, s) in [
            ("500ms", json!(500), json!(0.5)),
            ("30s", json!(30_000), json!(30)),
            (" 2m ", json!(120_000), json!(120)),
            ("1h30m", json!(5_400_000), json!(5_400)),
            ("1h 30m", json!(5_400_000), json!(5_400)),
            ("1.5s", json!(1_500), json!(1.5)),
            ("7d", json!(604_800_000), json!(604_800)),
            ("16.1s", json!(16_100), json!(16.1)),
            ("2.01s", json!(2_010), json!(2.01)),
            ("4.1m", json!(246_000), json!(246)),
            ("1.1h", json!(3_960_000), json!(3_960)),
            ("1.1h 16.1s", json!(3_976_100), json!(3_976.1)),
            ("0.3ms", json!(0.3), json!(0.0003)),
            ("0s", json!(0), json!(0)),
        ] {
            for (unit, expected) in [(Unit::Milliseconds, ms), (Unit::Seconds, s)] {
                let mut value = json!(text);
                read(&mut value, unit);
                assert_eq!(value, expected, "{text} in {unit:?}");
            }
        }
    }

    #[test]
    fn other_values_are_unchanged() {
        let texts = [
            "",
            "30",
            "s",
            "30 seconds",
            "-3s",
            "1.s",
            ".5s",
            "1..2s",
            "30S",
            "1e3s",
            "NaNs",
            "9999999d",
            "天",
        ];
        for value in texts.iter().map(|text| json!(text)).chain([json!(30), json!(null), json!({"s": 1})]) {
            let mut read_value = value.clone();
            read(&mut read_value, Unit::Seconds);
            assert_eq!(read_value, value);
        }
    }
}
