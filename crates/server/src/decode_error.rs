//! Errors of serde, as messages in both languages. Serde reports them as English text only.

mod json;

use haft_core::error::ROOT;
use haft_core::{CallError, Message, Template, Violation};
use serde_path_to_error::Segment;

pub(crate) use self::json::{TEMPLATES as JSON_TEMPLATES, of_json};

haft_core::templates! {
    UNKNOWN = "decode.unknown",
        "is unknown; expected one of: {known}",
        "不是此处可用的名称；可用：{known}";
    NONE_KNOWN = "decode.noneKnown",
        "is unknown; nothing is expected here",
        "不是此处可用的名称；此处不接受任何参数";
    DUPLICATE = "decode.duplicate",
        "is given twice",
        "重复出现";
    MISSING = "decode.missing",
        "is required",
        "为必填项";
    NOT_ONE_OF = "decode.notOneOf",
        "must be one of: {known}",
        "必须是以下之一：{known}";
    WRONG_TYPE = "decode.wrongType",
        "has the wrong type; expected {expected}",
        "类型错误；应为{expected}";
    NOT_AN_OBJECT = "decode.notAnObject",
        "The body must be a JSON object.",
        "请求体必须是 JSON 对象。";
    TEXT = "decode.type.text", "text", "文本";
    TRUE_OR_FALSE = "decode.type.trueOrFalse", "true or false", "布尔值（true 或 false）";
    WHOLE_NUMBER = "decode.type.wholeNumber", "a whole number", "整数";
    NUMBER = "decode.type.number", "a number", "数字";
    OBJECT = "decode.type.object", "an object", "对象";
    LIST = "decode.type.list", "a list", "列表";
    OTHER_TYPE = "decode.type.other", "another type", "其他类型";
    NOT_A_NUMBER = "decode.notANumber",
        "must be a whole number in its range",
        "必须是范围内的整数";
    NOT_A_BOOLEAN = "decode.notABoolean",
        "must be true or false",
        "必须是 true 或 false";
    BAD_VALUE = "decode.badValue",
        "has a value that cannot be read",
        "的值无法读取";
}

/// The error of a body that is no JSON object.
pub(crate) fn not_an_object() -> CallError {
    let message = || Message::new(&NOT_AN_OBJECT);
    CallError::invalid_with(message(), vec![Violation::new(ROOT, message())])
}

/// The error of a body that does not have the expected fields.
pub(crate) fn of_body(error: &serde_path_to_error::Error<serde_json::Error>) -> CallError {
    let names = error.path().iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } | Segment::Enum { variant: key } => Some(key.clone()),
        Segment::Unknown => None,
    });
    let path = names.collect::<Vec<_>>().join(".");
    CallError::invalid(vec![violation(&path, &error.inner().to_string())])
}

/// What serde says of the value at `path`, which is empty where serde knows no path.
///
/// Never quotes the value itself, which may be a secret.
fn violation(path: &str, reason: &str) -> Violation {
    let at = |template: &'static Template| {
        let path = if path.is_empty() { ROOT } else { path };
        Violation::new(path, Message::new(template))
    };
    let named = quoted(reason);
    let field = || named.first().copied().unwrap_or(ROOT);
    let rest = || named.get(1..).unwrap_or_default().join(", ");
    // The path of an unknown field ends with the field; that of a missing or duplicate one is the object's.
    if reason.starts_with("unknown field") {
        let path = if path.is_empty() { field() } else { path };
        return match named.len() {
            0 | 1 => Violation::new(path, Message::new(&NONE_KNOWN)),
            _ => Violation::new(path, Message::new(&UNKNOWN).with("known", rest())),
        };
    }
    let within = |template| {
        let violation = Violation::new(field(), Message::new(template));
        if path.is_empty() { violation } else { violation.within(path) }
    };
    if reason.starts_with("duplicate field") {
        return within(&DUPLICATE);
    }
    if reason.starts_with("missing field") {
        return within(&MISSING);
    }
    if reason.starts_with("unknown variant") {
        let violation = at(&NOT_ONE_OF);
        return Violation { message: violation.message.with("known", rest()), ..violation };
    }
    if reason.starts_with("invalid digit")
        || reason.starts_with("number too")
        || reason.contains("empty string")
    {
        return at(&NOT_A_NUMBER);
    }
    if reason.starts_with("provided string was not `true` or `false`") {
        return at(&NOT_A_BOOLEAN);
    }
    if let Some((_, expected)) = reason.rsplit_once(", expected ").filter(|_| reason.starts_with("invalid "))
    {
        let expected = type_name(expected);
        if reason.starts_with("invalid value") {
            return at(if *expected == WHOLE_NUMBER { &NOT_A_NUMBER } else { &BAD_VALUE });
        }
        let violation = at(&WRONG_TYPE);
        let expected = vec![Message::new(expected)];
        return Violation { message: violation.message.with_messages("expected", expected), ..violation };
    }
    at(&BAD_VALUE)
}

/// The type that serde expected, in words for people.
fn type_name(expected: &str) -> &'static Template {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => &WHOLE_NUMBER,
        "f32" | "f64" => &NUMBER,
        "a boolean" => &TRUE_OR_FALSE,
        "a map" => &OBJECT,
        "a sequence" => &LIST,
        _ if expected.starts_with("struct ") => &OBJECT,
        _ if expected.contains("string") => &TEXT,
        _ => &OTHER_TYPE,
    }
}

/// What axum says of the parameters of an address: `Failed to deserialize query string: limit: …`.
pub(crate) fn of_query(text: &str) -> Violation {
    let text = text.split_once("string: ").map_or(text, |(_, reason)| reason);
    match text.split_once(": ") {
        Some((path, reason)) if !path.contains(' ') => violation(path, reason),
        Some(_) | None => violation("", text),
    }
}

/// The words between backticks.
fn quoted(reason: &str) -> Vec<&str> {
    reason.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fmt::Debug;

    use haft_core::Locale;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Example {
        #[expect(dead_code, reason = "only decoded")]
        limit: u32,
        #[expect(dead_code, reason = "only decoded")]
        kind: Option<Kind>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Fields {
        text: String,
        flag: bool,
        whole: Option<i64>,
        number: f64,
        names: Vec<String>,
        map: HashMap<String, bool>,
        inner: Option<Inner>,
        kind: Option<Kind>,
        nothing: Option<()>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only decoded")]
    struct Inner {
        text: String,
        list: Vec<u8>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Kind {
        One,
        Two,
    }

    /// Where a body is wrong, and in which words of one language.
    fn wrong<T: DeserializeOwned + Debug>(body: &Value, locale: Locale) -> (String, String) {
        let error = serde_path_to_error::deserialize::<_, T>(body.clone()).expect_err("bad");
        let error = of_body(&error);
        let violation = error.violations().first().expect("a violation");
        (violation.path.clone(), violation.message.render(locale))
    }

    #[test]
    fn every_type_has_a_name_in_both_languages() {
        for (body, path, en, zh) in [
            (json!({"text": 5}), "text", "text", "文本"),
            (json!({"kind": 5}), "kind", "text", "文本"),
            (json!({"flag": "s3cret"}), "flag", "true or false", "布尔值（true 或 false）"),
            (json!({"whole": "s3cret"}), "whole", "a whole number", "整数"),
            (json!({"whole": 1.5}), "whole", "a whole number", "整数"),
            (json!({"number": "s3cret, expected a string"}), "number", "a number", "数字"),
            (json!({"names": "s3cret"}), "names", "a list", "列表"),
            (json!({"names": ["a", {}]}), "names.1", "text", "文本"),
            (json!({"map": ["s3cret"]}), "map", "an object", "对象"),
            (json!({"map": {"a": 1}}), "map.a", "true or false", "布尔值（true 或 false）"),
            (json!({"inner": "s3cret"}), "inner", "an object", "对象"),
            (json!({"inner": []}), "inner", "an object", "对象"),
            (json!({"inner": {"text": null}}), "inner.text", "text", "文本"),
            (json!({"inner": {"text": "", "list": [0, "s3cret"]}}), "inner.list.1", "a whole number", "整数"),
            (json!({"nothing": "s3cret"}), "nothing", "another type", "其他类型"),
        ] {
            let expected = (path.to_owned(), format!("has the wrong type; expected {en}"));
            assert_eq!(wrong::<Fields>(&body, Locale::En), expected, "{body}");
            let expected = (path.to_owned(), format!("类型错误；应为{zh}"));
            assert_eq!(wrong::<Fields>(&body, Locale::Zh), expected, "{body}");
        }
    }

    #[test]
    fn every_decode_error_names_its_field_and_quotes_no_value() {
        for (body, path, expected) in [
            (json!({"limit": 1, "size": 2}), "size", "is unknown; expected one of: limit, kind"),
            (json!({}), "limit", "is required"),
            (json!({"limit": 1, "kind": "three"}), "kind", "must be one of: one, two"),
            (json!({"limit": "s3cret"}), "limit", "has the wrong type; expected a whole number"),
            (json!({"limit": -1}), "limit", "must be a whole number in its range"),
        ] {
            let expected = (path.to_owned(), expected.to_owned());
            assert_eq!(wrong::<Example>(&body, Locale::En), expected, "{body}");
        }
        for (body, path, expected) in [
            (json!({"inner": {"text": "a"}}), "inner.list", "is required"),
            (json!({"inner": {"text": "a", "b": 1}}), "inner.b", "is unknown; expected one of: text, list"),
            (
                json!({"inner": {"text": "a", "list": [256]}}),
                "inner.list.0",
                "must be a whole number in its range",
            ),
        ] {
            let expected = (path.to_owned(), expected.to_owned());
            assert_eq!(wrong::<Fields>(&body, Locale::En), expected, "{body}");
        }
        for (query, path, expected) in [
            ("limit=many", "limit", "must be a whole number in its range"),
            ("limit=", "limit", "must be a whole number in its range"),
            ("limit=1&limit=2", "limit", "is given twice"),
            ("limit=1&what=2", "what", "is unknown; expected one of: limit, kind"),
        ] {
            let uri = format!("/x?{query}").parse().expect("an address");
            let error = axum::extract::Query::<Example>::try_from_uri(&uri).expect_err("bad");
            let violation = of_query(&error.body_text());
            let words = violation.message.render(Locale::En);
            assert_eq!((violation.path.as_str(), words.as_str()), (path, expected), "{query}");
        }
    }
}
