//! `datetime`: results equal those of day.js, with documented exceptions.

use std::path::Path;

use haft_engine::{ErrorKind, Locale};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{call_in, tools};

async fn ask(arguments: Value) -> Result<Value, (ErrorKind, String)> {
    call_in("datetime", arguments, Locale::En).await
}

#[tokio::test]
async fn now_returns_the_time_in_a_zone() {
    let answer = ask(json!({"operation": "now", "timezone": "Asia/Shanghai"})).await.expect("answered");
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_millis();
    let told = answer["timestamp"].as_u64().map(u128::from).expect("milliseconds");
    assert!(now - told < 10_000);
    assert_eq!(answer["timezone"], "Asia/Shanghai");
    let iso = answer["iso"].as_str().expect("text");
    assert!(iso.len() == 24 && iso.ends_with('Z'), "{iso}");
    let keys: Vec<&String> = answer.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["operation", "formatted", "timestamp", "iso", "timezone"]);
    let x = ask(json!({"operation": "now", "format": "x"})).await.expect("answered");
    assert_eq!(x["formatted"], x["timestamp"].to_string());
}

#[tokio::test]
async fn a_date_is_read_in_the_common_forms() {
    for (given, expected) in [
        (json!("2024-03-20"), "2024-03-20 00:00:00.000"),
        (json!("2024-03-20T15:04:05Z"), "2024-03-20 15:04:05.000"),
        (json!("2024-03-20T15:04:05.678+08:00"), "2024-03-20 07:04:05.678"),
        (json!("2024-03-20T15:04"), "2024-03-20 15:04:00.000"),
        (json!("2024-03-20 15:04:05"), "2024-03-20 15:04:05.000"),
        (json!("2024-03-20 15:04:05.6"), "2024-03-20 15:04:05.600"),
        (json!("2024-03-20 15:04 +0530"), "2024-03-20 09:34:00.000"),
        (json!("2024/3/20"), "2024-03-20 00:00:00.000"),
        (json!("2024/3/5 9:07"), "2024-03-05 09:07:00.000"),
        (json!("2024.3.20"), "2024-03-20 00:00:00.000"),
        (json!("2024-3"), "2024-03-01 00:00:00.000"),
        (json!("2024"), "2024-01-01 00:00:00.000"),
        (json!("20240320"), "2024-03-20 00:00:00.000"),
        (json!("20240320150405"), "2024-03-20 15:04:05.000"),
        (json!("3/20/2024"), "2024-03-20 00:00:00.000"),
        (json!("Mar 20, 2024"), "2024-03-20 00:00:00.000"),
        (json!("March 20th, 2024 3:04 PM"), "2024-03-20 15:04:00.000"),
        (json!("20 March 2024"), "2024-03-20 00:00:00.000"),
        (json!("20-Mar-2024 12:00 am"), "2024-03-20 00:00:00.000"),
        (json!("Wed, 20 Mar 2024 15:04:05 GMT"), "2024-03-20 15:04:05.000"),
        (json!("Wed, 20 Mar 2024 15:04:05 +0800"), "2024-03-20 07:04:05.000"),
        (json!("Wednesday, March 20, 2024 at 3 pm"), "2024-03-20 15:00:00.000"),
        (json!("2024年3月20日"), "2024-03-20 00:00:00.000"),
        (json!("2024年3月20日 15时4分"), "2024-03-20 15:04:00.000"),
        (json!("1710918245"), "2024-03-20 07:04:05.000"),
        (json!("1710918245678"), "2024-03-20 07:04:05.678"),
        (json!(1_710_918_245), "2024-03-20 07:04:05.000"),
        (json!(1_710_918_245_678_i64), "2024-03-20 07:04:05.678"),
        (json!(0), "1970-01-01 00:00:00.000"),
        (json!("-1"), "1969-12-31 23:59:59.000"),
        (json!("  2024-03-20  "), "2024-03-20 00:00:00.000"),
        (json!("2024-02-29"), "2024-02-29 00:00:00.000"),
    ] {
        let arguments = json!({"operation": "format", "date": given, "format": "YYYY-MM-DD HH:mm:ss.SSS", "timezone": "UTC"});
        let answer = ask(arguments).await;
        assert_eq!(answer.map(|answer| answer["formatted"].clone()), Ok(json!(expected)), "{given}");
    }
}

#[tokio::test]
async fn malformed_dates_are_reported_in_both_languages() {
    for bad in [
        "",
        "yesterday",
        "2024-02-30",
        "2023-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-03-20T25:00",
        "2024-03-20 12:61",
        "13 pm",
        "31/31/2024",
        "Mar 32, 2024",
        "2024-03-20T10:00:00+99:00",
        "99999999999999999999",
        "March 2024 20 5",
        "２０２４",
        "{{x}}",
    ] {
        let arguments = json!({"operation": "format", "date": bad, "timezone": "UTC"});
        let en = call_in("datetime", arguments.clone(), Locale::En).await;
        assert_eq!(en, Err((ErrorKind::Validation, format!("Cannot parse date: {bad}"))));
        let zh = call_in("datetime", arguments, Locale::Zh).await;
        assert_eq!(zh, Err((ErrorKind::Validation, format!("无法解析日期: {bad}"))));
    }
}

#[tokio::test]
async fn the_other_error_messages_of_the_specification() {
    for (arguments, en, zh) in [
        (
            json!({"operation": "diff", "date": "2024-01-01"}),
            "Invalid inputs: targetDate: A date difference needs a target date (targetDate)",
            "输入无效：targetDate: 计算日期差需要提供目标日期 (targetDate)",
        ),
        (
            json!({"operation": "add", "date": "2024-01-01", "unit": "day"}),
            "Invalid inputs: amount: Adding to a date needs an amount (amount)",
            "输入无效：amount: 日期加减需要提供数量 (amount)",
        ),
        (
            json!({"operation": "subtract", "date": "2024-01-01"}),
            "Invalid inputs: operation: Unknown operation: subtract",
            "输入无效：operation: 未知的操作类型: subtract",
        ),
        (
            json!({"operation": "diff", "date": "2024-01-01", "targetDate": null}),
            "Invalid inputs: targetDate: A date difference needs a target date (targetDate)",
            "输入无效：targetDate: 计算日期差需要提供目标日期 (targetDate)",
        ),
        (
            json!({"operation": "diff", "date": "2024-01-01", "targetDate": " "}),
            "Invalid inputs: targetDate: A date difference needs a target date (targetDate)",
            "输入无效：targetDate: 计算日期差需要提供目标日期 (targetDate)",
        ),
        (
            json!({"operation": "diff", "date": "2024-01-01", "targetDate": true}),
            "Invalid inputs: targetDate: Cannot parse date: true",
            "输入无效：targetDate: 无法解析日期: true",
        ),
        (
            json!({"operation": "diff", "date": "", "targetDate": "2024-01-01"}),
            "Cannot parse date: ",
            "无法解析日期: ",
        ),
        (
            json!({"operation": "format", "date": null}),
            "Invalid inputs: date: Cannot parse date: null",
            "输入无效：date: 无法解析日期: null",
        ),
        (
            json!({"operation": "add", "date": "2024-01-01", "amount": null, "unit": "day"}),
            "Invalid inputs: amount: Adding to a date needs an amount (amount)",
            "输入无效：amount: 日期加减需要提供数量 (amount)",
        ),
        (
            json!({"operation": "add", "date": "2024-01-01", "amount": "", "unit": "day"}),
            "Invalid inputs: amount: Adding to a date needs an amount (amount)",
            "输入无效：amount: 日期加减需要提供数量 (amount)",
        ),
        (json!({}), "Invalid inputs: operation: is required", "输入无效：operation: 是必填项"),
        (
            json!({"operation": "now", "timezone": "Mars/Olympus"}),
            "Unknown time zone: Mars/Olympus; use an IANA name such as Asia/Shanghai",
            "未知的时区: Mars/Olympus；请使用 IANA 名称，例如 Asia/Shanghai",
        ),
        (
            json!({"operation": "add", "date": "2024-01-01", "amount": 1_000_000, "unit": "year"}),
            "The result is outside the years -9999 to 9999",
            "结果超出 -9999 到 9999 年的范围",
        ),
    ] {
        for (locale, expected) in [(Locale::En, en), (Locale::Zh, zh)] {
            let answer = call_in("datetime", arguments.clone(), locale).await;
            assert_eq!(answer, Err((ErrorKind::Validation, expected.to_owned())), "{arguments}");
        }
    }
    let unknown = ask(json!({"operation": "now", "colour": 1})).await.expect_err("refused");
    assert_eq!(unknown.1, "Invalid inputs: colour: is not a known property");
}

#[tokio::test]
async fn a_difference_is_returned_in_the_unit_and_as_text() {
    let diff =
        json!({"operation": "diff", "date": "2024-01-01", "targetDate": "2024-03-20", "timezone": "UTC"});
    assert_eq!(
        call_in("datetime", diff.clone(), Locale::Zh).await.expect("answered"),
        json!({
            "operation": "diff", "from": "2024-01-01", "to": "2024-03-20", "unit": "day", "value": 79,
            "difference": {"days": 79, "hours": 1896, "minutes": 113_760, "milliseconds": 6_825_600_000_i64},
            "humanReadable": "79 天",
        })
    );
    assert_eq!(ask(diff).await.expect("answered")["humanReadable"], "79 days");
    for (from, to, unit, en, zh) in [
        ("2024-01-01", "2024-01-02", "day", "1 day", "1 天"),
        ("2024-01-02", "2024-01-01", "day", "-1 day", "-1 天"),
        ("2020-02-29", "2024-02-28", "year", "3 years", "3 年"),
        ("2024-01-31", "2024-02-29", "month", "1 month", "1 个月"),
        ("2024-01-01T00:00Z", "2024-01-01T23:59:59Z", "hour", "23 hours", "23 小时"),
        ("2024-01-01T00:00Z", "2024-01-01T00:01Z", "minute", "1 minute", "1 分钟"),
        ("2024-01-01T00:00Z", "2023-12-31T23:59:58.5Z", "second", "-1 second", "-1 秒"),
    ] {
        let arguments =
            json!({"operation": "diff", "date": from, "targetDate": to, "unit": unit, "timezone": "UTC"});
        for (locale, expected) in [(Locale::En, en), (Locale::Zh, zh)] {
            let answer = call_in("datetime", arguments.clone(), locale).await.expect("answered");
            assert_eq!(answer["humanReadable"], expected, "{arguments}");
        }
    }
}

#[tokio::test]
async fn a_difference_echoes_both_dates_unchanged() {
    for (from, to) in [
        (json!("2024-01-01"), json!("Mar 20, 2024")),
        (json!("2024-01-01T08:00:00+08:00"), json!("  2024/3/20 ")),
        (json!(1_710_918_245), json!("1710918245678")),
        (json!(0), json!(1_710_918_245_678_i64)),
    ] {
        let arguments = json!({"operation": "diff", "date": from, "targetDate": to});
        let answer = ask(arguments).await.expect("answered");
        assert_eq!((&answer["from"], &answer["to"]), (&from, &to));
    }
}

#[tokio::test]
async fn units_are_accepted_in_every_spelling_of_day_js() {
    for (given, unit, added) in [
        ("years", "year", "2025-01-31T00:00:00.000Z"),
        ("Year", "year", "2025-01-31T00:00:00.000Z"),
        ("y", "year", "2025-01-31T00:00:00.000Z"),
        ("quarter", "quarter", "2024-04-30T00:00:00.000Z"),
        ("quarters", "quarter", "2024-04-30T00:00:00.000Z"),
        ("Q", "quarter", "2024-04-30T00:00:00.000Z"),
        ("MONTHS", "month", "2024-02-29T00:00:00.000Z"),
        ("M", "month", "2024-02-29T00:00:00.000Z"),
        ("week", "week", "2024-02-07T00:00:00.000Z"),
        ("weeks", "week", "2024-02-07T00:00:00.000Z"),
        ("w", "week", "2024-02-07T00:00:00.000Z"),
        ("days", "day", "2024-02-01T00:00:00.000Z"),
        ("d", "day", "2024-02-01T00:00:00.000Z"),
        ("h", "hour", "2024-01-31T01:00:00.000Z"),
        ("Hours", "hour", "2024-01-31T01:00:00.000Z"),
        ("m", "minute", "2024-01-31T00:01:00.000Z"),
        ("minutes", "minute", "2024-01-31T00:01:00.000Z"),
        ("s", "second", "2024-01-31T00:00:01.000Z"),
        ("ms", "millisecond", "2024-01-31T00:00:00.001Z"),
        ("milliseconds", "millisecond", "2024-01-31T00:00:00.001Z"),
    ] {
        let arguments =
            json!({"operation": "add", "date": "2024-01-31", "amount": 1, "unit": given, "timezone": "UTC"});
        let answer = ask(arguments).await.unwrap_or_else(|error| panic!("{given}: {error:?}"));
        assert_eq!((&answer["unit"], &answer["iso"]), (&json!(unit), &json!(added)), "{given}");
        let arguments = json!({"operation": "diff", "date": "2024-01-31", "targetDate": added, "unit": given, "timezone": "UTC"});
        let answer = ask(arguments).await.unwrap_or_else(|error| panic!("{given}: {error:?}"));
        assert_eq!(answer["unit"], unit, "{given}");
    }
    for (unit, en, zh) in [
        ("weeks", "11 weeks", "11 周"),
        ("Q", "0 quarters", "0 个季度"),
        ("ms", "6825600000 milliseconds", "6825600000 毫秒"),
    ] {
        let arguments = json!({"operation": "diff", "date": "2024-01-01", "targetDate": "2024-03-20", "unit": unit, "timezone": "UTC"});
        for (locale, expected) in [(Locale::En, en), (Locale::Zh, zh)] {
            let answer = call_in("datetime", arguments.clone(), locale).await.expect("answered");
            assert_eq!(answer["humanReadable"], expected, "{unit}");
        }
    }
}

#[tokio::test]
async fn the_schema_lists_seven_units_and_unknown_ones_are_rejected() {
    let spec = tools().get("datetime").expect("registered").spec.clone();
    let forms = spec.input_schema.expect("a schema")["oneOf"].as_array().cloned().expect("alternatives");
    let listed = json!(["year", "month", "week", "day", "hour", "minute", "second"]);
    let units: Vec<&Value> = forms.iter().filter_map(|form| form["properties"]["unit"].get("enum")).collect();
    assert_eq!(units, [&listed, &listed]);
    for bad in ["fortnight", "", "mS", "dayss", "decade"] {
        let arguments = json!({"operation": "add", "date": "2024-01-31", "amount": 1, "unit": bad});
        let expected = format!(
            "Invalid inputs: unit: Unknown unit: {bad}; use one of year, month, week, day, hour, minute, second"
        );
        assert_eq!(ask(arguments).await, Err((ErrorKind::Validation, expected)));
    }
}

#[tokio::test]
async fn days_move_the_calendar_and_hours_the_instant_across_a_change_of_clocks() {
    let zone = "America/New_York";
    for (date, amount, unit, expected, iso) in [
        ("2024-03-09 12:00", 1, "day", "2024-03-10 12:00:00", "2024-03-10T16:00:00.000Z"),
        ("2024-03-09 12:00", 24, "hour", "2024-03-10 13:00:00", "2024-03-10T17:00:00.000Z"),
        ("2024-11-02 12:00", 1, "day", "2024-11-03 12:00:00", "2024-11-03T17:00:00.000Z"),
        ("2024-11-02 12:00", 24, "hour", "2024-11-03 11:00:00", "2024-11-03T16:00:00.000Z"),
        // In the gap of spring, an hour that does not exist.
        ("2024-03-09 02:30", 1, "day", "2024-03-10 03:30:00", "2024-03-10T07:30:00.000Z"),
        // In the overlap of autumn, the first of the two hours.
        ("2024-11-02 01:30", 1, "day", "2024-11-03 01:30:00", "2024-11-03T05:30:00.000Z"),
        ("2024-11-03 01:30", 1, "hour", "2024-11-03 01:30:00", "2024-11-03T06:30:00.000Z"),
        ("2024-02-10 02:30", 1, "month", "2024-03-10 03:30:00", "2024-03-10T07:30:00.000Z"),
    ] {
        let arguments =
            json!({"operation": "add", "date": date, "amount": amount, "unit": unit, "timezone": zone});
        let answer = ask(arguments).await.expect("answered");
        assert_eq!(
            (&answer["result"], &answer["iso"]),
            (&json!(expected), &json!(iso)),
            "{date} + {amount} {unit}"
        );
    }
    let across = json!({"operation": "diff", "date": "2024-03-09 12:00", "targetDate": "2024-03-10 12:00", "timezone": zone});
    let answer = ask(across).await.expect("answered");
    assert_eq!((&answer["value"], &answer["difference"]["hours"]), (&json!(1), &json!(23)));
}

#[tokio::test]
async fn an_amount_may_be_text_and_is_echoed_in_its_form() {
    let arguments = json!({"operation": "add", "date": "2024-01-31", "amount": "1", "unit": "month", "format": "YYYY-MM-DD", "timezone": "UTC"});
    assert_eq!(
        ask(arguments).await.expect("answered"),
        json!({"operation": "add", "originalDate": "2024-01-31", "amount": 1, "unit": "month", "result": "2024-02-29",
               "iso": "2024-02-29T00:00:00.000Z"})
    );
    let arguments = json!({"operation": "format", "date": "2024-01-31", "format": "[Q]Q", "timezone": "UTC"});
    assert_eq!(
        ask(arguments).await.expect("answered"),
        json!({"operation": "format", "input": "2024-01-31", "formatted": "Q1", "format": "[Q]Q"})
    );
}

#[tokio::test]
async fn a_whole_number_may_be_written_as_a_float() {
    let arguments =
        json!({"operation": "add", "date": 1_710_892_800.0, "amount": 2.0, "unit": "day", "timezone": "UTC"});
    let answer = ask(arguments).await.expect("answered");
    assert_eq!((&answer["iso"], &answer["amount"]), (&json!("2024-03-22T00:00:00.000Z"), &json!(2)));
}

#[tokio::test]
async fn results_conform_to_the_output_schema() {
    let spec = tools().get("datetime").expect("registered").spec.clone();
    let schema =
        haft_engine::ToolSchema::of_output(&spec.output_schema.expect("a schema")).expect("a good schema");
    for arguments in [
        json!({"operation": "now"}),
        json!({"operation": "format", "date": "2024-01-31"}),
        json!({"operation": "diff", "date": "2024-01-31", "targetDate": 0}),
        json!({"operation": "add", "date": 0, "amount": 1, "unit": "day"}),
    ] {
        let answer = ask(arguments).await.expect("answered");
        assert_eq!(schema.violations(&answer), [], "{answer}");
    }
}

#[tokio::test]
async fn names_of_zones_are_those_of_the_zone() {
    for (zone, short, long) in [
        ("Asia/Taipei", "GMT+8", "GMT+08:00"),
        ("Asia/Manila", "GMT+8", "GMT+08:00"),
        ("America/Havana", "GMT-5", "GMT-05:00"),
        ("America/Chicago", "CST", "Central Standard Time"),
        ("Europe/Berlin", "GMT+1", "Central European Standard Time"),
        ("Asia/Kolkata", "GMT+5:30", "India Standard Time"),
    ] {
        let arguments = json!({"operation": "format", "date": "2024-01-15T12:00:00Z", "format": "z|zzz", "timezone": zone});
        assert_eq!(ask(arguments).await.expect("answered")["formatted"], format!("{short}|{long}"), "{zone}");
    }
}

#[derive(Deserialize)]
struct Golden {
    format: Vec<Formatted>,
    add: Vec<Sum>,
    diff: Vec<Counted>,
    parse: Vec<Parsed>,
}

#[derive(Deserialize)]
struct Parsed {
    text: String,
    timezone: String,
    expected: String,
}

#[derive(Deserialize)]
struct Formatted {
    iso: String,
    timezone: String,
    locale: String,
    format: String,
    expected: String,
}

#[derive(Deserialize)]
struct Sum {
    date: String,
    amount: i64,
    unit: String,
    expected: String,
}

#[derive(Deserialize)]
struct Counted {
    from: String,
    to: String,
    unit: String,
    expected: i64,
}

#[tokio::test]
async fn every_row_of_the_table_equals_day_js() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/js");
    let modules = haft_testkit::node_modules(&package, Path::new(env!("CARGO_TARGET_TMPDIR")));
    let golden: Golden =
        serde_json::from_slice(&haft_testkit::node(&package.join("golden.mjs"), &modules)).expect("a table");
    assert!(
        golden.format.len() >= 600 && golden.add.len() >= 250 && golden.diff.len() >= 250,
        "the table has shrunk"
    );
    let mut wrong = Vec::new();
    // The schema requires at least one character, while day.js has a default.
    // Browsers have no zone names before 1970.
    let ours =
        |row: &&Formatted| !(row.format.is_empty() || row.format.contains('z') && row.iso.starts_with("196"));
    for row in golden.format.iter().filter(ours) {
        let locale = if row.locale == "zh" { Locale::Zh } else { Locale::En };
        let arguments =
            json!({"operation": "format", "date": row.iso, "format": row.format, "timezone": row.timezone});
        let got = call_in("datetime", arguments, locale).await.expect("answered")["formatted"].clone();
        if got != row.expected.as_str() {
            wrong.push(format!(
                "{} {} {} {}: got {got}, expected {}",
                row.iso, row.timezone, row.locale, row.format, row.expected
            ));
        }
    }
    for row in &golden.add {
        let arguments = json!({"operation": "add", "date": row.date, "amount": row.amount, "unit": row.unit, "timezone": "UTC"});
        let got = ask(arguments).await.map(|answer| answer["iso"].clone());
        if got != Ok(json!(row.expected)) {
            wrong.push(format!(
                "{} + {} {}: got {got:?}, expected {}",
                row.date, row.amount, row.unit, row.expected
            ));
        }
    }
    for row in &golden.diff {
        let arguments = json!({"operation": "diff", "date": row.from, "targetDate": row.to, "unit": row.unit, "timezone": "UTC"});
        let got = ask(arguments).await.expect("answered")["value"].clone();
        if got != row.expected {
            wrong.push(format!(
                "{} to {} in {}: got {got}, expected {}",
                row.from, row.to, row.unit, row.expected
            ));
        }
    }
    assert!(golden.parse.len() >= 130, "the table has shrunk");
    for Parsed { text, timezone, expected } in &golden.parse {
        let arguments = json!({"operation": "format", "date": text, "format": "x", "timezone": timezone});
        let got = ask(arguments).await.map(|answer| answer["formatted"].clone());
        if got != Ok(json!(expected)) {
            wrong.push(format!("{text:?} in {timezone}: got {got:?}, expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
