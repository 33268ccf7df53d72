//! Names and words of dates in English and Chinese, from day.js's locales `en` and `zh-cn`.

use haft_core::Locale;

use super::calendar::Unit;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const MONTHS_ZH: [&str; 12] =
    ["一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const WEEKDAYS_ZH: [&str; 7] = ["日", "一", "二", "三", "四", "五", "六"];

/// The width of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Min,
    Short,
    Full,
}

/// Returns the name of a month, counted from 1.
pub(super) fn month(month: i8, width: Width, locale: Locale) -> String {
    let index = usize::try_from(month - 1).unwrap_or(0);
    match (locale, width) {
        (Locale::En, Width::Full) => MONTHS[index].to_owned(),
        (Locale::En, Width::Short | Width::Min) => MONTHS[index].chars().take(3).collect(),
        (Locale::Zh, Width::Full) => MONTHS_ZH[index].to_owned(),
        (Locale::Zh, Width::Short | Width::Min) => format!("{month}月"),
    }
}

/// Returns the name of a weekday, counted from 0 for Sunday.
pub(super) fn weekday(weekday: i8, width: Width, locale: Locale) -> String {
    let index = usize::try_from(weekday).unwrap_or(0);
    match (locale, width) {
        (Locale::En, Width::Full) => WEEKDAYS[index].to_owned(),
        (Locale::En, Width::Short) => WEEKDAYS[index].chars().take(3).collect(),
        (Locale::En, Width::Min) => WEEKDAYS[index].chars().take(2).collect(),
        (Locale::Zh, Width::Full) => format!("星期{}", WEEKDAYS_ZH[index]),
        (Locale::Zh, Width::Short) => format!("周{}", WEEKDAYS_ZH[index]),
        (Locale::Zh, Width::Min) => WEEKDAYS_ZH[index].to_owned(),
    }
}

/// Returns the part of the day, in capitals if the language has them.
pub(super) fn meridiem(hour: i8, minute: i8, locale: Locale) -> &'static str {
    let time = i32::from(hour) * 100 + i32::from(minute);
    match locale {
        Locale::En if hour < 12 => "AM",
        Locale::En => "PM",
        Locale::Zh => match time {
            ..600 => "凌晨",
            600..900 => "早上",
            900..1100 => "上午",
            1100..1300 => "中午",
            1300..1800 => "下午",
            _ => "晚上",
        },
    }
}

/// Returns the ordinal number of a day, as day.js passes it to its second pass: `[1st]`, `1日`.
pub(super) fn ordinal_day(day: i64, locale: Locale) -> String {
    match locale {
        Locale::En => ordinal_en(day),
        Locale::Zh => format!("{day}日"),
    }
}

/// Returns the ordinal number of a week.
pub(super) fn ordinal_week(week: i64, locale: Locale) -> String {
    match locale {
        Locale::En => ordinal_en(week),
        Locale::Zh => format!("{week}周"),
    }
}

fn ordinal_en(number: i64) -> String {
    let suffix = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("[{number}{suffix}]")
}

/// Returns the first day of a week (0 for Sunday) and the day of January that week 1 contains.
pub(super) fn week_rule(locale: Locale) -> (i8, i8) {
    match locale {
        Locale::En => (0, 1),
        Locale::Zh => (1, 4),
    }
}

/// Returns a count with its unit: `79 days`, `79 天`.
pub(super) fn counted(value: i64, unit: Unit, locale: Locale) -> String {
    match locale {
        Locale::En => {
            let plural = if value.abs() == 1 { "" } else { "s" };
            format!("{value} {}{plural}", unit.name())
        }
        Locale::Zh => {
            let name = match unit {
                Unit::Year => "年",
                Unit::Quarter => "个季度",
                Unit::Month => "个月",
                Unit::Week => "周",
                Unit::Day => "天",
                Unit::Hour => "小时",
                Unit::Minute => "分钟",
                Unit::Second => "秒",
                Unit::Millisecond => "毫秒",
            };
            format!("{value} {name}")
        }
    }
}
