//! Parses dates in common notations of people and programs. Ambiguous ones are read like JavaScript does.

use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};
use regex::{Captures, Regex};

/// Maximum number that is read as seconds; larger ones are milliseconds. The limit is in the year 5138 or
/// 1973.
const MAX_SECONDS: i64 = 99_999_999_999;

const TIME: &str = r"(?:(?:\s*[T,]\s*|\s+(?:at\s+)?)(?<hour>\d{1,2})(?:[:时点](?<minute>\d{1,2})?(?:[:分](?:(?<second>\d{1,2})(?:[.,](?<fraction>\d{1,9})|:(?<milli>\d{1,3}))?秒?)?)?)?\s*(?<half>[AaPp]\.?[Mm]\.?)?)?";
/// A time of digits only: `012345` after a compact date.
const COMPACT_TIME: &str =
    r"[T\s]\s*(?<hour>\d{2})(?:(?<minute>\d{2})(?:(?<second>\d{2})(?:[.,](?<fraction>\d{1,9}))?)?)?";
const COMPACT_DATE: &str = r"(?<year>\d{4})(?<month>\d{2})(?<day>\d{2})";
/// An offset, optionally followed by the zone name that JavaScript writes.
const OFFSET: &str =
    r"(?:\s*(?<offset>Z|UTC|GMT|(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?)(?:\s*\([^()]{1,60}\))?)?";

/// The accepted notations, with named groups.
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let month = r"(?<name>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?";
    let weekday = r"(?:(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat)[a-z]*\.?,?\s+)?";
    let day = r"(?<day>\d{1,2})(?:st|nd|rd|th)?";
    let dates = [
        // 2024-3-20, 2024/3/20, 2024.3.20, 2024年3月20日, 2024-03
        r"(?<year>\d{4})\s*[-/.年]\s*(?<month>\d{1,2})(?:\s*[-/.月]\s*(?:(?<day>\d{1,2})\s*日?)?)?"
            .to_owned(),
        // 20240320
        COMPACT_DATE.to_owned(),
        // 3/20/2024, 3/20/24
        r"(?<month>\d{1,2})/(?<day>\d{1,2})/(?<year>\d{4}|\d{2})".to_owned(),
        // 3-20-2024
        r"(?<month>\d{1,2})-(?<day>\d{1,2})-(?<year>\d{4})".to_owned(),
        // Wed, March 20th, 2024
        format!(r"{weekday}{month}[\s-]+{day},?[\s-]+(?<year>\d{{4}})"),
        // 20 Mar 2024
        format!(r"{weekday}{day}[\s-]+{month}[\s,-]+(?<year>\d{{4}})"),
        // March 2024
        format!(r"{month},?[\s-]+(?<year>\d{{4}})"),
        // 2024 March 20, 2024/Mar/20, 2024 March
        format!(r"(?<year>\d{{4}})[\s,/-]+{month}(?:[\s,/-]+{day})?"),
        // 2024 20 March
        format!(r"(?<year>\d{{4}})\s+{day}\s+{month}"),
    ];
    let with_time = dates.iter().map(|date| format!("{date}{TIME}"));
    let compact = format!("{COMPACT_DATE}{COMPACT_TIME}");
    let forms = std::iter::once(compact).chain(with_time);
    forms.filter_map(|form| Regex::new(&format!(r"(?i)^\s*{form}{OFFSET}\s*$")).ok()).collect()
});

/// Parses a date in any common notation. Without an offset it is in `zone`.
pub(super) fn text(text: &str, zone: &TimeZone) -> Option<Zoned> {
    let trimmed = text.trim();
    if let Some(read) = number(trimmed, zone) {
        return read;
    }
    if let Ok(timestamp) = trimmed.parse::<Timestamp>() {
        return Some(timestamp.to_zoned(zone.clone()));
    }
    if let Ok(zoned) = trimmed.parse::<Zoned>() {
        return Some(zoned.with_time_zone(zone.clone()));
    }
    if let Ok(zoned) = jiff::fmt::rfc2822::parse(trimmed) {
        return Some(zoned.with_time_zone(zone.clone()));
    }
    FORMS.iter().find_map(|form| form.captures(trimmed)).and_then(|found| from_parts(&found, zone))
}

/// Converts Unix seconds or milliseconds.
pub(super) fn unix(number: i64, zone: &TimeZone) -> Option<Zoned> {
    let timestamp = if number.unsigned_abs() <= MAX_SECONDS.unsigned_abs() {
        Timestamp::from_second(number)
    } else {
        Timestamp::from_millisecond(number)
    };
    Some(timestamp.ok()?.to_zoned(zone.clone()))
}

/// Parses a text of digits only: a year, a compact date, or a Unix time. Returns `None` for other text.
fn number(text: &str, zone: &TimeZone) -> Option<Option<Zoned>> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if digits.len() == text.len() {
        let civil = match digits.len() {
            4 => Some(DateTime::from_parts(Date::new(digits.parse().ok()?, 1, 1).ok()?, Time::midnight())),
            6 => DateTime::strptime("%Y%m%d%H%M%S", format!("{digits}01000000")).ok().filter(is_recent),
            8 => return None,
            12 => DateTime::strptime("%Y%m%d%H%M%S", format!("{digits}00")).ok().filter(is_recent),
            14 => DateTime::strptime("%Y%m%d%H%M%S", digits).ok(),
            17 => DateTime::strptime("%Y%m%d%H%M%S%.f", format!("{}.{}", &digits[..14], &digits[14..])).ok(),
            _ => None,
        };
        if let Some(civil) = civil {
            return Some(civil.to_zoned(zone.clone()).ok());
        }
    }
    Some(text.parse().ok().and_then(|number| unix(number, zone)))
}

/// Returns true for a recent date. Six or twelve digits that do not form one are a Unix time.
fn is_recent(date: &DateTime) -> bool {
    (1900..2100).contains(&date.year())
}

fn from_parts(found: &Captures<'_>, zone: &TimeZone) -> Option<Zoned> {
    let part = |name: &str| found.name(name).map(|part| part.as_str());
    let number = |name: &str| part(name).map_or(Some(0), |digits| digits.parse::<i8>().ok());
    let month = match part("name") {
        Some(name) => month_named(name)?,
        None => number("month")?,
    };
    let day = if part("day").is_some() { number("day")? } else { 1 };
    let date = Date::new(year(part("year")?)?, month, day).ok()?;

    let hour = match (number("hour")?, part("half").map(|half| half.to_ascii_lowercase().starts_with('p'))) {
        (hour, None) => hour,
        (hour @ 1..=12, Some(afternoon)) => hour % 12 + if afternoon { 12 } else { 0 },
        _ => return None,
    };
    // An hour alone requires am or pm, except after a date that begins with the year.
    let begins_with_year = match (found.name("year"), found.name("day")) {
        (Some(year), Some(day)) => year.start() < day.start() && part("name").is_none(),
        _ => false,
    };
    if part("hour").is_some()
        && part("minute").is_none()
        && part("half").is_none()
        && !found[0].contains(['时', '点'])
        && !begins_with_year
    {
        return None;
    }
    // After a colon the digits are milliseconds, after a point they are a fraction of a second.
    let fraction = match part("milli") {
        Some(milli) => format!("{milli:0>3}000000"),
        None => format!("{:0<9}", part("fraction").unwrap_or_default()),
    };
    let time = Time::new(hour, number("minute")?, number("second")?, fraction.parse().ok()?).ok()?;
    let civil = DateTime::from_parts(date, time);
    match part("offset") {
        None => civil.to_zoned(zone.clone()).ok(),
        Some(offset) => {
            let timestamp = offset_of(offset)?.to_timestamp(civil).ok()?;
            Some(timestamp.to_zoned(zone.clone()))
        }
    }
}

/// Parses a year. Two digits are between 1950 and 2049, as in JavaScript.
fn year(digits: &str) -> Option<i16> {
    let number: i16 = digits.parse().ok()?;
    Some(match (digits.len(), number) {
        (2, ..50) => 2000 + number,
        (2, _) => 1900 + number,
        _ => number,
    })
}

fn month_named(name: &str) -> Option<i8> {
    let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let index = names.iter().position(|known| name.eq_ignore_ascii_case(known))?;
    i8::try_from(index + 1).ok()
}

/// Parses `Z`, `+08:00`, `-0530` or `GMT+8`.
fn offset_of(text: &str) -> Option<Offset> {
    let upper = text.to_ascii_uppercase();
    let rest = upper.trim_start_matches("UTC").trim_start_matches("GMT").trim_start_matches('Z');
    let Some(digits) = rest.strip_prefix(['+', '-']) else { return Some(Offset::UTC) };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() > 2 => digits.split_at(digits.len() - 2),
        None => (digits, "0"),
    };
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    Offset::from_seconds(if rest.starts_with('-') { -seconds } else { seconds }).ok()
}
