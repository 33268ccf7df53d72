//! Calendar arithmetic: day and larger units move the local calendar, hour and smaller move the instant.

use jiff::{Span, Zoned};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

impl Unit {
    /// The schema lets no other name through.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "year" => Self::Year,
            "month" => Self::Month,
            "hour" => Self::Hour,
            "minute" => Self::Minute,
            "second" => Self::Second,
            _ => Self::Day,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Minute => "minute",
            Self::Second => "second",
        }
    }
}

/// Adds to a date; months end where the month ends. None beyond the calendar.
pub(super) fn add(date: &Zoned, amount: i64, unit: Unit) -> Option<Zoned> {
    let span = Span::new();
    let span = match unit {
        Unit::Year => span.try_years(amount),
        Unit::Month => span.try_months(amount),
        Unit::Day => span.try_days(amount),
        Unit::Hour => span.try_hours(amount),
        Unit::Minute => span.try_minutes(amount),
        Unit::Second => span.try_seconds(amount),
    };
    date.checked_add(span.ok()?).ok()
}

/// Whole units from one date to another, cut toward zero.
pub(super) fn between(from: &Zoned, to: &Zoned, unit: Unit) -> i64 {
    if from > to {
        return -between(to, from, unit);
    }
    match unit {
        Unit::Year => whole(from, to, Unit::Month) / 12,
        Unit::Month | Unit::Day => whole(from, to, unit),
        Unit::Hour => milliseconds(from, to) / 3_600_000,
        Unit::Minute => milliseconds(from, to) / 60_000,
        Unit::Second => milliseconds(from, to) / 1000,
    }
}

pub(super) fn milliseconds(from: &Zoned, to: &Zoned) -> i64 {
    to.timestamp().as_millisecond() - from.timestamp().as_millisecond()
}

/// The most months or days that can be added to `from` without passing `to`.
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
