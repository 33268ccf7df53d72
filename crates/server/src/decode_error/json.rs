//! Errors of the JSON parser, as messages in both languages.

use haft_core::{Message, Template};

haft_core::templates! {
    AT = "json.at",
        "{reason} at line {line}, column {column}",
        "第 {line} 行第 {column} 列：{reason}";
    ENDS_EARLY = "json.endsEarly", "it ends too early", "内容提前结束";
    NO_COLON = "json.noColon", "expected `:`", "此处应为 `:`";
    NO_END_OF_LIST = "json.noEndOfList", "expected `,` or `]`", "此处应为 `,` 或 `]`";
    NO_END_OF_OBJECT = "json.noEndOfObject", "expected `,` or `}`", "此处应为 `,` 或 `}`";
    NO_VALUE = "json.noValue", "expected a value", "此处应为一个值";
    BAD_KEY = "json.badKey", "a key must be a string", "键必须是字符串";
    TRAILING_COMMA = "json.trailingComma", "trailing comma", "末尾多了逗号";
    TRAILING_TEXT = "json.trailingText", "there is text after its end", "结尾之后还有内容";
    TOO_DEEP = "json.tooDeep", "it is nested too deeply", "嵌套过深";
    BAD_NUMBER = "json.badNumber", "a number is not valid", "数字无效";
    OUT_OF_RANGE = "json.outOfRange", "a number is out of range", "数字超出范围";
    LARGE_INTEGER = "json.largeInteger",
        "the integer {number} is too large to be kept exactly; send it as a string",
        "整数 {number} 过大，无法精确保存；请以字符串发送";
    KEY_TWICE = "json.keyTwice",
        "the key {key} stands twice in one object",
        "键 {key} 在同一个对象中出现两次";
    NUL = "json.nul", "a string holds a NUL character", "字符串中含有 NUL 字符";
    BAD_STRING = "json.badString",
        "a string holds a character or an escape that JSON does not allow",
        "字符串中含有 JSON 不允许的字符或转义";
    UNREADABLE = "json.unreadable", "it cannot be read", "无法解析";
}

/// Beginnings of the texts of `serde_json` and `haft_core::json`. The first that fits wins.
static REASONS: [(&str, &Template); 18] = [
    ("EOF", &ENDS_EARLY),
    ("expected `:`", &NO_COLON),
    ("expected `,` or `]`", &NO_END_OF_LIST),
    ("expected `,` or `}`", &NO_END_OF_OBJECT),
    ("expected", &NO_VALUE),
    ("key must be a string", &BAD_KEY),
    ("trailing comma", &TRAILING_COMMA),
    ("trailing characters", &TRAILING_TEXT),
    ("recursion limit", &TOO_DEEP),
    ("invalid number", &BAD_NUMBER),
    ("number out of range", &OUT_OF_RANGE),
    ("a number is out of range", &OUT_OF_RANGE),
    ("a string holds a NUL", &NUL),
    ("control character", &BAD_STRING),
    ("invalid escape", &BAD_STRING),
    ("invalid unicode", &BAD_STRING),
    ("lone leading surrogate", &BAD_STRING),
    ("unexpected end of hex escape", &BAD_STRING),
];

/// The reason why a text is no JSON, with its place if the parser knows it.
pub(crate) fn of_json(error: &serde_json::Error) -> Message {
    let text = error.to_string();
    let key =
        between(&text, "the key ", " stands twice").map(|key| Message::new(&KEY_TWICE).with("key", key));
    let number = || between(&text, "the integer ", " is too large");
    let large = || number().map(|number| Message::new(&LARGE_INTEGER).with("number", number));
    let reason = key.or_else(large).unwrap_or_else(|| {
        let known = REASONS.iter().find(|(start, _)| text.starts_with(*start));
        Message::new(known.map_or(&UNREADABLE, |(_, template)| *template))
    });
    // A line of 0 means that the parser knows no place.
    if error.line() == 0 {
        return reason;
    }
    let at = Message::new(&AT).with("line", error.line()).with("column", error.column());
    at.with_messages("reason", vec![reason])
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.strip_prefix(start)?.rsplit_once(end).map(|(within, _)| within)
}

#[cfg(test)]
mod tests {
    use haft_core::{Locale, json};

    use super::*;

    #[test]
    fn every_error_of_the_parser_is_worded_in_both_languages() {
        for (text, en, zh) in [
            ("", "it ends too early", "内容提前结束"),
            ("[1", "it ends too early", "内容提前结束"),
            ("{\"a\" 1}", "expected `:`", "此处应为 `:`"),
            ("[1 2]", "expected `,` or `]`", "此处应为 `,` 或 `]`"),
            ("{\"a\": 1 \"b\": 2}", "expected `,` or `}`", "此处应为 `,` 或 `}`"),
            ("[nul]", "expected a value", "此处应为一个值"),
            ("{\"a\": ?}", "expected a value", "此处应为一个值"),
            ("{1: 2}", "a key must be a string", "键必须是字符串"),
            ("[1,]", "trailing comma", "末尾多了逗号"),
            ("1 2", "there is text after its end", "结尾之后还有内容"),
            ("[01]", "a number is not valid", "数字无效"),
            ("[1e999]", "a number is out of range", "数字超出范围"),
            ("[\"\\x\"]", "a string holds a character or an escape", "字符串中含有 JSON 不允许的字符或转义"),
            (
                "[\"\u{1}\"]",
                "a string holds a character or an escape",
                "字符串中含有 JSON 不允许的字符或转义",
            ),
            (
                "[\"\\ud800\"]",
                "a string holds a character or an escape",
                "字符串中含有 JSON 不允许的字符或转义",
            ),
            ("[\"\\u0000\"]", "a string holds a NUL character", "字符串中含有 NUL 字符"),
            (
                "{\"a\": 1, \"a\": 2}",
                "the key \"a\" stands twice in one object",
                "键 \"a\" 在同一个对象中出现两次",
            ),
            (
                "[18446744073709551616]",
                "the integer 18446744073709551616 is too large",
                "整数 18446744073709551616 过大",
            ),
        ] {
            let reason = of_json(&json::parse(text.as_bytes()).expect_err(text));
            let (said, written) = (reason.render(Locale::En), reason.render(Locale::Zh));
            assert!(said.starts_with(en), "{text}: {said}");
            assert!(written.contains(zh), "{text}: {written}");
        }
        let deep = of_json(&json::parse("[".repeat(200).as_bytes()).expect_err("too deep"));
        assert_eq!(deep.render(Locale::Zh), "第 1 行第 128 列：嵌套过深");
        let second_line = of_json(&json::parse(b"{\n  \"a\": ?}").expect_err("no value"));
        assert_eq!(second_line.render(Locale::En), "expected a value at line 2, column 8");
    }
}
