//! Formats dates with the tokens of day.js and its advancedFormat plugin, in the same two passes.

use std::sync::LazyLock;

use haft_core::Locale;
use jiff::civil::Date;
use jiff::{ToSpan, Zoned};
use regex::{Captures, Regex};

use super::names::{Width, meridiem, month, ordinal_day, ordinal_week, week_rule, weekday};

/// Tokens of the plugin, replaced first. Its output is literal in the second pass.
static ADVANCED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\[([^\]]+)\]|Q|wo|ww|w|WW|W|zzz|z|gggg|GGGG|Do|X|x|k{1,2}").ok());
static CORE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\[([^\]]+)\]|YYYY|YY|M{1,4}|D{1,2}|d{1,4}|H{1,2}|h{1,2}|a|A|m{1,2}|s{1,2}|Z{1,2}|SSS").ok()
});

pub(super) fn format(date: &Zoned, format: &str, locale: Locale) -> String {
    let (Some(advanced), Some(core)) = (&*ADVANCED, &*CORE) else { return date.to_string() };
    let once = advanced.replace_all(format, |found: &Captures<'_>| advanced_token(date, &found[0], locale));
    let twice = core.replace_all(&once, |found: &Captures<'_>| match found.get(1) {
        Some(literal) => literal.as_str().to_owned(),
        None => core_token(date, &found[0], locale),
    });
    twice.into_owned()
}

fn advanced_token(date: &Zoned, token: &str, locale: Locale) -> String {
    match token {
        "Q" => ((date.month() - 1) / 3 + 1).to_string(),
        "w" => week(date.date(), locale).to_string(),
        "ww" => format!("{:02}", week(date.date(), locale)),
        "wo" => ordinal_week(week(date.date(), locale), locale),
        "W" => date.date().iso_week_date().week().to_string(),
        "WW" => format!("{:02}", date.date().iso_week_date().week()),
        "gggg" => week_year(date.date(), locale).to_string(),
        "GGGG" => date.date().iso_week_date().year().to_string(),
        "Do" => ordinal_day(i64::from(date.day()), locale),
        "X" => date.timestamp().as_millisecond().div_euclid(1000).to_string(),
        "x" => date.timestamp().as_millisecond().to_string(),
        "k" => hour_from_one(date).to_string(),
        "kk" => format!("{:02}", hour_from_one(date)),
        "z" => format!("[{}]", zone_short(date)),
        "zzz" => format!("[{}]", zone_long(date)),
        // Escapes are handled by the second pass.
        literal => literal.to_owned(),
    }
}

fn core_token(date: &Zoned, token: &str, locale: Locale) -> String {
    let offset = offset(date, ":");
    let hour = date.hour();
    match token {
        "YY" => format!("{:02}", date.year().unsigned_abs() % 100),
        "YYYY" => format!("{:04}", date.year()),
        "M" => date.month().to_string(),
        "MM" => format!("{:02}", date.month()),
        "MMM" => month(date.month(), Width::Short, locale),
        "MMMM" => month(date.month(), Width::Full, locale),
        "D" => date.day().to_string(),
        "DD" => format!("{:02}", date.day()),
        "d" => sunday_first(date.date()).to_string(),
        "dd" => weekday(sunday_first(date.date()), Width::Min, locale),
        "ddd" => weekday(sunday_first(date.date()), Width::Short, locale),
        "dddd" => weekday(sunday_first(date.date()), Width::Full, locale),
        "H" => hour.to_string(),
        "HH" => format!("{hour:02}"),
        "h" => hour_of_half(hour).to_string(),
        "hh" => format!("{:02}", hour_of_half(hour)),
        "a" => meridiem(hour, date.minute(), locale).to_lowercase(),
        "A" => meridiem(hour, date.minute(), locale).to_owned(),
        "m" => date.minute().to_string(),
        "mm" => format!("{:02}", date.minute()),
        "s" => date.second().to_string(),
        "ss" => format!("{:02}", date.second()),
        "SSS" => format!("{:03}", date.millisecond()),
        "Z" => offset,
        // ZZ
        _ => offset.replace(':', ""),
    }
}

fn sunday_first(date: Date) -> i8 {
    date.weekday().to_sunday_zero_offset()
}

fn hour_of_half(hour: i8) -> i8 {
    if hour % 12 == 0 { 12 } else { hour % 12 }
}

fn hour_from_one(date: &Zoned) -> i8 {
    if date.hour() == 0 { 24 } else { date.hour() }
}

/// Returns an offset such as `+08:00`.
fn offset(date: &Zoned, separator: &str) -> String {
    let minutes = date.offset().seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}{separator}{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

/// Returns the week of the year by the language's rule: week 1 contains a certain day of January.
fn week(date: Date, locale: Locale) -> i64 {
    let (first_weekday, in_week_one) = week_rule(locale);
    let week_of = |date: Date| {
        let back = (sunday_first(date) - first_weekday).rem_euclid(7);
        date.checked_sub(i64::from(back).days()).unwrap_or(date)
    };
    let start_of = |year: i16| Date::new(year, 1, in_week_one).map(week_of).unwrap_or(date);
    let this_week = week_of(date);
    let year = date.year();
    if date.month() == 12 && date.day() > 25 && this_week == start_of(year.saturating_add(1)) {
        return 1;
    }
    let mut start = start_of(year);
    if this_week < start {
        start = start_of(year.saturating_sub(1));
    }
    i64::from((this_week - start).get_days()) / 7 + 1
}

fn week_year(date: Date, locale: Locale) -> i16 {
    let week = week(date, locale);
    match date.month() {
        12 if week == 1 => date.year() + 1,
        1 if week >= 52 => date.year() - 1,
        _ => date.year(),
    }
}

/// Zones whose common abbreviations are the US ones.
const IN_THE_STATES: [&str; 12] = [
    "America/New_York",
    "America/Detroit",
    "America/Toronto",
    "America/Chicago",
    "America/Winnipeg",
    "America/Denver",
    "America/Boise",
    "America/Phoenix",
    "America/Edmonton",
    "America/Los_Angeles",
    "America/Vancouver",
    "America/Indiana/Indianapolis",
];

/// Returns the zone's name as browsers do in English: an abbreviation in the United States, the offset
/// elsewhere.
fn zone_short(date: &Zoned) -> String {
    let abbreviation = date.strftime("%Z").to_string();
    let name = date.time_zone().iana_name().unwrap_or_default();
    let american = IN_THE_STATES.contains(&name);
    let known = ["EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT"].contains(&abbreviation.as_str());
    if abbreviation == "UTC" || american && known {
        return abbreviation;
    }
    let minutes = date.offset().seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    match (minutes.abs() / 60, minutes.abs() % 60) {
        (0, 0) => "GMT".to_owned(),
        (hours, 0) => format!("GMT{sign}{hours}"),
        (hours, rest) => format!("GMT{sign}{hours}:{rest:02}"),
    }
}

/// Returns the full name of the zone's time if it is known, or the offset.
fn zone_long(date: &Zoned) -> String {
    let abbreviation = date.strftime("%Z").to_string();
    let name = date.time_zone().iana_name().unwrap_or_default();
    let words = match (abbreviation.as_str(), name) {
        ("UTC", _) => "Coordinated Universal Time",
        (_, "Asia/Shanghai") => "China Standard Time",
        (_, "Asia/Hong_Kong") => "Hong Kong Standard Time",
        (_, "Asia/Singapore") => "Singapore Standard Time",
        (_, "Asia/Tokyo") => "Japan Standard Time",
        (_, "Asia/Seoul") => "Korean Standard Time",
        (_, "Asia/Kolkata") => "India Standard Time",
        ("GMT", "Europe/London") => "Greenwich Mean Time",
        ("BST", "Europe/London") => "British Summer Time",
        ("CET", _) => "Central European Standard Time",
        ("CEST", _) => "Central European Summer Time",
        ("EST", name) if IN_THE_STATES.contains(&name) => "Eastern Standard Time",
        ("EDT", name) if IN_THE_STATES.contains(&name) => "Eastern Daylight Time",
        ("CST", name) if IN_THE_STATES.contains(&name) => "Central Standard Time",
        ("CDT", name) if IN_THE_STATES.contains(&name) => "Central Daylight Time",
        ("MST", name) if IN_THE_STATES.contains(&name) => "Mountain Standard Time",
        ("MDT", name) if IN_THE_STATES.contains(&name) => "Mountain Daylight Time",
        ("PST", name) if IN_THE_STATES.contains(&name) => "Pacific Standard Time",
        ("PDT", name) if IN_THE_STATES.contains(&name) => "Pacific Daylight Time",
        _ => return format!("GMT{}", offset(date, ":")),
    };
    words.to_owned()
}
