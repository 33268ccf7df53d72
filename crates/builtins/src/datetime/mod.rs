//! The built-in `datetime`: now, format, diff, add. `parse` reads dates, `format` writes them.

mod calendar;
mod format;
mod names;
mod parse;

use haft_core::builtin::Builtin;
use haft_core::schema::AlsoAccepted;
use haft_core::tool::Title;
use haft_core::{
    Arguments, BoxFuture, CallContext, CallError, ErrorKind, Locale, Message, ToolOutput, ToolSpec, Violation,
};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Value, json};

use self::calendar::Unit;

haft_core::templates! {
    NO_TARGET = "datetime.noTarget",
        "A date difference needs a target date (targetDate)",
        "计算日期差需要提供目标日期 (targetDate)";
    NO_AMOUNT = "datetime.noAmount",
        "Adding to a date needs an amount (amount)",
        "日期加减需要提供数量 (amount)";
    UNREADABLE = "datetime.unreadable",
        "Cannot parse date: {dateStr}",
        "无法解析日期: {dateStr}";
    UNKNOWN_OPERATION = "datetime.unknownOperation",
        "Unknown operation: {operation}",
        "未知的操作类型: {operation}";
    UNKNOWN_UNIT = "datetime.unknownUnit",
        "Unknown unit: {unit}; use one of {units}",
        "未知的单位: {unit}；请使用 {units} 之一";
    UNKNOWN_ZONE = "datetime.unknownZone",
        "Unknown time zone: {timezone}; use an IANA name such as Asia/Shanghai",
        "未知的时区: {timezone}；请使用 IANA 名称，例如 Asia/Shanghai";
    OUT_OF_RANGE = "datetime.outOfRange",
        "The result is outside the years -9999 to 9999",
        "结果超出 -9999 到 9999 年的范围";
}

const DEFAULT_FORMAT: &str = "YYYY-MM-DD HH:mm:ss";

pub(crate) struct DateTime;

impl Builtin for DateTime {
    fn spec(&self) -> ToolSpec {
        let about = "Dates and times: the current time in any zone, formatting, the difference between two dates, \
                     adding to a date. Use it whenever an answer depends on today's date or on calendar arithmetic.";
        let mut spec = crate::spec("datetime", about);
        spec.description_zh = Some(
            "日期和时间：任意时区的当前时间、格式化、两个日期之差、日期加减。凡是答案取决于今天的日期或涉及日历计算时都应使用。",
        );
        spec.title = Some(Title::Localized { en: "Date and time".to_owned(), zh: "日期时间".to_owned() });
        spec.icon = Some("calendar".to_owned());
        spec.category = Some("utility".to_owned());
        spec.input_schema = Some(input_schema());
        spec.output_schema = Some(output_schema());
        spec
    }

    fn explain(&self, violation: &Violation, arguments: &Value) -> Option<Message> {
        let given = &arguments[violation.path.as_str()];
        match (violation.path.as_str(), violation.message.id()) {
            ("targetDate", _) if is_blank(given) => Some(Message::new(&NO_TARGET)),
            ("amount", _) if is_blank(given) => Some(Message::new(&NO_AMOUNT)),
            ("date" | "targetDate", "type" | "types") => {
                Some(Message::new(&UNREADABLE).with("dateStr", quoted(given)))
            }
            ("operation", "enum") => Some(Message::new(&UNKNOWN_OPERATION).with("operation", quoted(given))),
            ("unit", "enum") => {
                let units = calendar::LISTED.join(", ");
                Some(Message::new(&UNKNOWN_UNIT).with("unit", quoted(given)).with("units", units))
            }
            _ => None,
        }
    }

    fn also_accepted(&self) -> Vec<AlsoAccepted> {
        let unlisted = calendar::UNLISTED.iter();
        unlisted.map(|(value, beside)| AlsoAccepted { argument: "unit", value, beside }).collect()
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(std::future::ready(evaluate(arguments, context.locale()).map(ToolOutput::from)))
    }
}

fn input_schema() -> Value {
    let date = |about: &str| json!({"type": ["string", "integer"], "maxLength": 100, "description": about});
    let format = json!({
        "type": "string", "minLength": 1, "maxLength": 200, "default": DEFAULT_FORMAT,
        "description": "Tokens of day.js: YYYY MM DD HH mm ss, MMM, dddd, A, Do, Q, W, X, [literal]",
    });
    let timezone = json!({
        "type": "string", "minLength": 1, "maxLength": 64,
        "description": "IANA time zone such as Asia/Shanghai; the server's by default",
    });
    let units = calendar::LISTED;
    let form = |name: &str, about: &str, required: &[&str], fields: Value| {
        let mut properties = json!({"operation": {"const": name}});
        if let (Value::Object(all), Value::Object(fields)) = (&mut properties, fields) {
            all.extend(fields);
        }
        let required: Vec<&str> = ["operation"].into_iter().chain(required.iter().copied()).collect();
        json!({"title": name, "description": about, "type": "object", "properties": properties,
               "required": required, "additionalProperties": false})
    };
    json!({"type": "object", "oneOf": [
        form("now", "The current time.", &[], json!({"format": format, "timezone": timezone})),
        form("format", "A date in another format.", &["date"], json!({
            "date": date("ISO 8601, 2024/3/20, Mar 20, 2024, RFC 2822, or unix seconds or milliseconds"),
            "format": format, "timezone": timezone,
        })),
        form("diff", "The difference between two dates.", &["date", "targetDate"], json!({
            "date": date("The start date"), "targetDate": date("The end date"),
            "unit": {"enum": units, "default": "day", "description": "The unit of the result"}, "timezone": timezone,
        })),
        form("add", "A date some time later, or earlier with a negative amount.", &["date", "amount", "unit"], json!({
            "date": date("The start date"),
            "amount": {"type": "integer", "minimum": -1_000_000_000_000_i64, "maximum": 1_000_000_000_000_i64,
                       "description": "The number of units to add; a negative one subtracts"},
            "unit": {"enum": units, "description": "The unit of the amount"}, "format": format, "timezone": timezone,
        })),
    ]})
}

fn output_schema() -> Value {
    let form = |name: &str, fields: Value| {
        let mut properties = json!({"operation": {"const": name}});
        if let (Value::Object(all), Value::Object(fields)) = (&mut properties, fields) {
            all.extend(fields);
        }
        let required: Vec<String> =
            properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        json!({"type": "object", "properties": properties, "required": required})
    };
    let (text, count) = (json!({"type": "string"}), json!({"type": "integer"}));
    let given = json!({"type": ["string", "integer"]});
    json!({"oneOf": [
        form("now", json!({"formatted": text, "timestamp": count, "iso": text, "timezone": text})),
        form("format", json!({"input": given, "formatted": text, "format": text})),
        form("diff", json!({
            "from": given, "to": given, "unit": text, "value": count, "humanReadable": text,
            "difference": {
                "type": "object", "required": ["days", "hours", "minutes", "milliseconds"],
                "properties": {"days": count, "hours": count, "minutes": count, "milliseconds": count},
            },
        })),
        form("add", json!({"originalDate": given, "amount": count, "unit": text, "result": text, "iso": text})),
    ]})
}

fn evaluate(arguments: &Arguments, locale: Locale) -> Result<Value, CallError> {
    let zone = zone(arguments)?;
    let format = text(arguments, "format").unwrap_or(DEFAULT_FORMAT);
    match text(arguments, "operation").unwrap_or_default() {
        "now" => {
            let now = Timestamp::now().to_zoned(zone);
            Ok(json!({
                "operation": "now", "formatted": format::format(&now, format, locale),
                "timestamp": now.timestamp().as_millisecond(), "iso": iso(&now), "timezone": zone_name(&now),
            }))
        }
        "format" => {
            let date = date(arguments, "date", &zone)?;
            let formatted = format::format(&date, format, locale);
            Ok(
                json!({"operation": "format", "input": arguments.get("date"), "formatted": formatted, "format": format}),
            )
        }
        "diff" => {
            let unit = Unit::named(text(arguments, "unit").unwrap_or("day"));
            diff(arguments, &zone, unit, locale)
        }
        "add" => {
            let unit = Unit::named(text(arguments, "unit").unwrap_or("day"));
            let amount = arguments
                .get("amount")
                .and_then(whole)
                .ok_or_else(|| CallError::new(ErrorKind::Validation, Message::new(&NO_AMOUNT)))?;
            let out_of_range = || CallError::new(ErrorKind::Validation, Message::new(&OUT_OF_RANGE));
            let later =
                calendar::add(&date(arguments, "date", &zone)?, amount, unit).ok_or_else(out_of_range)?;
            Ok(json!({
                "operation": "add", "originalDate": arguments.get("date"), "amount": amount, "unit": unit.name(),
                "result": format::format(&later, format, locale), "iso": iso(&later),
            }))
        }
        other => {
            let message = Message::new(&UNKNOWN_OPERATION).with("operation", other);
            Err(CallError::new(ErrorKind::Validation, message))
        }
    }
}

fn diff(arguments: &Arguments, zone: &TimeZone, unit: Unit, locale: Locale) -> Result<Value, CallError> {
    let target = arguments.get("targetDate");
    if target.is_none_or(is_blank) {
        return Err(CallError::invalid(vec![Violation::new("targetDate", Message::new(&NO_TARGET))]));
    }
    let (from, to) = (&date(arguments, "date", zone)?, &date(arguments, "targetDate", zone)?);
    let count = |unit| calendar::between(from, to, unit);
    let value = count(unit);
    Ok(json!({
        "operation": "diff", "from": arguments.get("date"), "to": target, "unit": unit.name(), "value": value,
        "difference": {
            "days": count(Unit::Day), "hours": count(Unit::Hour), "minutes": count(Unit::Minute),
            "milliseconds": calendar::milliseconds(from, to),
        },
        "humanReadable": names::counted(value, unit, locale),
    }))
}

fn text<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

/// Returns true for an absent argument: null or blank text.
fn is_blank(value: &Value) -> bool {
    value.as_str().map_or(value.is_null(), |text| text.trim().is_empty())
}

/// Formats a value for a message.
fn quoted(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(80).collect()
}

/// Returns an integer, which may be written as a float such as 1.0.
fn whole(value: &Value) -> Option<i64> {
    let float = || value.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15);
    value.as_i64().or_else(|| float().map(|float| float as i64))
}

fn zone(arguments: &Arguments) -> Result<TimeZone, CallError> {
    match text(arguments, "timezone") {
        None => Ok(TimeZone::system()),
        Some(name) => TimeZone::get(name).map_err(|_| {
            CallError::new(ErrorKind::Validation, Message::new(&UNKNOWN_ZONE).with("timezone", name))
        }),
    }
}

fn zone_name(date: &Zoned) -> String {
    date.time_zone().iana_name().map_or_else(|| date.offset().to_string(), str::to_owned)
}

fn date(arguments: &Arguments, name: &str, zone: &TimeZone) -> Result<Zoned, CallError> {
    let given = arguments.get(name).unwrap_or(&Value::Null);
    let read = match given {
        Value::String(text) => parse::text(text, zone),
        Value::Number(_) => whole(given).and_then(|number| parse::unix(number, zone)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    read.ok_or_else(|| {
        let shown = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
        CallError::new(ErrorKind::Validation, Message::new(&UNREADABLE).with("dateStr", shown))
    })
}

/// Formats a date in UTC with milliseconds, like JavaScript.
fn iso(date: &Zoned) -> String {
    date.timestamp().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
