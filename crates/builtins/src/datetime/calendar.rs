//! Calendar arithmetic: day and larger units move the local calendar, hour and smaller move the instant.

use std::sync::LazyLock;

use jiff::{Span, Zoned};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

/// Every unit with its name and the short forms of day.js.
const UNITS: [(Unit, &str, &[&str]); 9] = [
    (Unit::Year, "year", &["y"]),
    (Unit::Quarter, "quarter", &["Q"]),
    (Unit::Month, "month", &["M"]),
    (Unit::Week, "week", &["w"]),
    (Unit::Day, "day", &["d", "D"]),
    (Unit::Hour, "hour", &["h"]),
    (Unit::Minute, "minute", &["m"]),
    (Unit::Second, "second", &["s"]),
    (Unit::Millisecond, "millisecond", &["ms"]),
];

/// The units that the schema lists; the others are accepted too.
pub(super) const LISTED: [&str; 7] = ["year", "month", "week", "day", "hour", "minute", "second"];

/// All unlisted spellings that are accepted (short forms, plurals, capitals), each with the listed unit of
/// the same meaning.
pub(super) static UNLISTED: LazyLock<Vec<(String, &'static str)>> = LazyLock::new(|| {
    let mut unlisted = Vec::new();
    for (unit, name, short) in UNITS {
        let beside = match unit {
            Unit::Quarter => "month",
            Unit::Millisecond => "second",
            Unit::Year | Unit::Month | Unit::Week | Unit::Day | Unit::Hour | Unit::Minute | Unit::Second => {
                name
            }
        };
        let capital = name[..1].to_uppercase() + &name[1..];
        let spellings = [name.to_owned(), format!("{name}s"), format!("{capital}s"), capital];
        let upper = [name.to_uppercase(), format!("{}S", name.to_uppercase())];
        let all = spellings.into_iter().chain(upper).chain(short.iter().map(|short| (*short).to_owned()));
        unlisted
            .extend(all.filter(|spelling| !LISTED.contains(&spelling.as_str())).map(|word| (word, beside)));
    }
    unlisted
});

impl Unit {
    /// Returns the unit with this name or short form. Unknown names, which the schema rejects, count as days.
    pub(super) fn named(name: &str) -> Self {
        // Only short forms are case-sensitive: M is a month, m a minute.
        let of_short = UNITS.iter().find(|(_, _, short)| short.contains(&name));
        let lower = name.to_ascii_lowercase();
        let singular = lower.strip_suffix('s').unwrap_or(&lower);
        let found = of_short.or_else(|| UNITS.iter().find(|(_, long, _)| *long == singular));
        found.map_or(Self::Day, |(unit, ..)| *unit)
    }

    pub(super) fn name(self) -> &'static str {
        UNITS.iter().find(|(unit, ..)| *unit == self).map_or("day", |(_, name, _)| name)
    }
}

/// Adds to a date; a day beyond the end of the month becomes its last day. Returns `None` outside the
/// calendar's range.
pub(super) fn add(date: &Zoned, amount: i64, unit: Unit) -> Option<Zoned> {
    let span = Span::new();
    let span = match unit {
        Unit::Year => span.try_years(amount),
        Unit::Quarter => span.try_months(amount.checked_mul(3)?),
        Unit::Month => span.try_months(amount),
        Unit::Week => span.try_weeks(amount),
        Unit::Day => span.try_days(amount),
        Unit::Hour => span.try_hours(amount),
        Unit::Minute => span.try_minutes(amount),
        Unit::Second => span.try_seconds(amount),
        Unit::Millisecond => span.try_milliseconds(amount),
    };
    date.checked_add(span.ok()?).ok()
}

/// Returns the number of whole units between two dates, truncated toward zero.
pub(super) fn between(from: &Zoned, to: &Zoned, unit: Unit) -> i64 {
    if from > to {
        return -between(to, from, unit);
    }
    match unit {
        Unit::Year => whole(from, to, Unit::Month) / 12,
        Unit::Quarter => whole(from, to, Unit::Month) / 3,
        Unit::Week => whole(from, to, Unit::Day) / 7,
        Unit::Month | Unit::Day => whole(from, to, unit),
        Unit::Hour => milliseconds(from, to) / 3_600_000,
        Unit::Minute => milliseconds(from, to) / 60_000,
        Unit::Second => milliseconds(from, to) / 1000,
        Unit::Millisecond => milliseconds(from, to),
    }
}

pub(super) fn milliseconds(from: &Zoned, to: &Zoned) -> i64 {
    to.timestamp().as_millisecond() - from.timestamp().as_millisecond()
}

/// Returns the maximum number of months or days that can be added to `from` without passing `to`.
fn whole(from: &Zoned, to: &Zoned, unit: Unit) -> i64 {
    let to = to.with_time_zone(from.time_zone().clone());
    let guess = if unit == Unit::Day {
        let days = to.date() - from.date();
        i64::from(days.get_days())
    } else {
        let months = |date: &Zoned| i64::from(date.year()) * 12 + i64::from(date.month());
        months(&to) - months(from)
    };
    let passes = add(from, guess, unit).is_none_or(|reached| reached > to);
    if passes { guess - 1 } else { guess }
}
