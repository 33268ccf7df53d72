//! Redaction rules of a tool's author: values at paths, and texts that match patterns.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::error::ROOT;
use crate::{Message, Violation};

/// Replacement of a redacted value.
pub const REDACTED: &str = "[redacted]";

/// Maximum memory of a compiled pattern.
const PATTERN_BYTES: usize = 1 << 20;

crate::templates! {
    NOT_A_LIST = "redact.notAList",
        "must be a list of paths such as user.email and of patterns such as an object with the field pattern",
        "必须是列表，元素为 user.email 这样的路径，或带 pattern 字段的对象";
    BAD_PATH = "redact.badPath",
        "{path} is not a path: names, numbers and * with dots between them",
        "{path} 不是路径：应为以点分隔的名称、数字和 *";
    BAD_PATTERN = "redact.badPattern",
        "{pattern} is not a pattern: {reason}; write a regular expression, or email, phone, idCard or card",
        "{pattern} 不是有效的模式: {reason}；请使用正则表达式，或 email、phone、idCard、card";
}

/// A parsed set of rules.
#[derive(Debug, Default)]
pub struct Redactor {
    paths: Vec<Vec<String>>,
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    regex: Regex,
    /// A number counts as a payment card only if its checksum is valid.
    is_card: bool,
}

impl Redactor {
    /// Parses a list of rules.
    pub fn parse(rules: &Value) -> Result<Self, Vec<Violation>> {
        let Value::Array(rules) = rules else {
            return Err(vec![Violation::new(ROOT, Message::new(&NOT_A_LIST))]);
        };
        let (mut redactor, mut violations) = (Self::default(), Vec::new());
        for (at, rule) in rules.iter().enumerate() {
            let pattern =
                rule.as_object().filter(|rule| rule.len() == 1).and_then(|rule| rule.get("pattern"));
            match (rule.as_str(), pattern.and_then(Value::as_str)) {
                (Some(path), _) => match parse_path(path) {
                    Some(steps) => redactor.paths.push(steps),
                    None => {
                        let message = Message::new(&BAD_PATH).with("path", path);
                        violations.push(Violation::new(at.to_string(), message));
                    }
                },
                (None, Some(pattern)) => match Pattern::parse(pattern) {
                    Ok(pattern) => redactor.patterns.push(pattern),
                    Err(message) => violations.push(Violation::new(at.to_string(), message)),
                },
                (None, None) => violations.push(Violation::new(at.to_string(), Message::new(&NOT_A_LIST))),
            }
        }
        if violations.is_empty() { Ok(redactor) } else { Err(violations) }
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.patterns.is_empty()
    }

    /// Returns true if a rule selects values by path.
    pub fn has_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Redacts a value in place.
    pub fn value(&self, value: &mut Value) {
        for path in &self.paths {
            redact_at(value, path);
        }
        if !self.patterns.is_empty() {
            self.look_like(value);
        }
    }

    /// Redacts parts of a text that match a pattern.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.patterns.iter().fold(Cow::Borrowed(text), |text, pattern| match pattern.redact(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(clean) => Cow::Owned(clean),
        })
    }

    fn look_like(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Value::Number(number) => {
                if matches!(self.text(&number.to_string()), Cow::Owned(_)) {
                    *value = REDACTED.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.look_like(item)),
            Value::Object(fields) => {
                if fields.keys().any(|name| matches!(self.text(name), Cow::Owned(_))) {
                    *fields = self.renamed(std::mem::take(fields));
                }
                fields.values_mut().for_each(|value| self.look_like(value));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Redacts field names, which are data too. Fields whose names become equal are numbered.
    fn renamed(&self, fields: Map<String, Value>) -> Map<String, Value> {
        let mut renamed = Map::new();
        for (name, value) in fields {
            let clean = self.text(&name).into_owned();
            let mut unique = clean.clone();
            let mut number = 2;
            while renamed.contains_key(&unique) {
                unique = format!("{clean} {number}");
                number += 1;
            }
            renamed.insert(unique, value);
        }
        renamed
    }
}

/// Parses `$.user.emails.*` into steps.
fn parse_path(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix("$.").unwrap_or(path);
    let steps: Vec<String> = path.split('.').map(str::to_owned).collect();
    steps.iter().all(|step| !step.is_empty()).then_some(steps)
}

/// Redacts the values at a path. A name applies to every item of a list, so `users.email` needs no index.
fn redact_at(value: &mut Value, path: &[String]) {
    let Some((step, rest)) = path.split_first() else {
        *value = REDACTED.into();
        return;
    };
    match value {
        Value::Object(fields) if step == "*" => {
            fields.values_mut().for_each(|value| redact_at(value, rest));
        }
        Value::Object(fields) => {
            if let Some(value) = fields.get_mut(step) {
                redact_at(value, rest);
            }
        }
        Value::Array(items) => match step.parse::<usize>() {
            Ok(at) => items.get_mut(at).into_iter().for_each(|item| redact_at(item, rest)),
            Err(_) if step == "*" => items.iter_mut().for_each(|item| redact_at(item, rest)),
            Err(_) => items.iter_mut().for_each(|item| redact_at(item, path)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const EMAIL: &str = r"(?i)[\p{L}\p{N}._%+'-]+@[\p{L}\p{N}.-]+\.\p{L}{2,}";
/// Numbers with a country code, Chinese mobile and landline numbers, North American numbers.
const PHONE: &str = r"\+\d[\d ().-]{6,18}\d|(?-u:\b)(?:1[3-9]\d[ -]?\d{4}[ -]?\d{4}|0\d{2,3}-\d{7,8}|\d{3}[ .-]\d{3}[ .-]\d{4})(?-u:\b)|\(\d{3}\) ?\d{3}[ .-]\d{4}(?-u:\b)";
/// Chinese identity cards and US social security numbers.
const ID_CARD: &str = r"(?-u:\b)(?:[1-9]\d{5}(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]|\d{3}-\d{2}-\d{4})(?-u:\b)";
const CARD: &str = r"(?-u:\b)\d(?:[ -]?\d){12,18}(?-u:\b)";

static NAMED: LazyLock<[(&str, Option<Regex>, bool); 4]> = LazyLock::new(|| {
    [("email", EMAIL, false), ("phone", PHONE, false), ("idCard", ID_CARD, false), ("card", CARD, true)]
        .map(|(name, pattern, is_card)| (name, Regex::new(pattern).ok(), is_card))
});

impl Pattern {
    fn parse(pattern: &str) -> Result<Self, Message> {
        if let Some((_, Some(regex), is_card)) = NAMED.iter().find(|(name, ..)| *name == pattern) {
            return Ok(Self { regex: regex.clone(), is_card: *is_card });
        }
        let wrong = |reason: &dyn std::fmt::Display| {
            Message::new(&BAD_PATTERN).with("pattern", pattern).with("reason", reason)
        };
        let built = regex::RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
        let regex = built.map_err(|error| wrong(&error))?;
        if regex.is_match("") {
            return Err(wrong(&"it matches the empty text"));
        }
        Ok(Self { regex, is_card: false })
    }

    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.is_card {
            return self.regex.replace_all(text, regex::NoExpand(REDACTED));
        }
        let mut found = false;
        let clean = self.regex.replace_all(text, |captures: &regex::Captures<'_>| {
            if is_card_number(&captures[0]) {
                found = true;
                REDACTED.to_owned()
            } else {
                captures[0].to_owned()
            }
        });
        if found { Cow::Owned(clean.into_owned()) } else { Cow::Borrowed(text) }
    }
}

/// Checks the Luhn checksum, which every payment card number passes.
fn is_card_number(text: &str) -> bool {
    let digits = text.bytes().rev().filter(u8::is_ascii_digit).map(|digit| u32::from(digit - b'0'));
    let sum: u32 = digits
        .enumerate()
        .map(|(at, digit)| match (at % 2, digit * 2) {
            (0, _) => digit,
            (_, double) => double / 10 + double % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redacted(rules: Value, mut value: Value) -> Value {
        Redactor::parse(&rules).expect("rules").value(&mut value);
        value
    }

    #[test]
    fn values_at_paths_are_redacted() {
        let people =
            json!({"users": [{"name": "A", "mail": "a@b.c"}, {"name": "B", "mail": {"x": 1}}], "n": 1});
        for (path, mails) in [
            ("users.*.mail", ["[redacted]", "[redacted]"]),
            ("$.users.*.mail", ["[redacted]", "[redacted]"]),
            ("users.mail", ["[redacted]", "[redacted]"]),
        ] {
            let value = redacted(json!([path]), people.clone());
            assert_eq!([&value["users"][0]["mail"], &value["users"][1]["mail"]], mails, "{path}");
            assert_eq!(value["users"][0]["name"], "A", "{path}");
        }
        assert_eq!(redacted(json!(["users.1"]), people.clone())["users"][1], REDACTED);
        assert_eq!(redacted(json!(["nothing.here"]), people.clone()), people);
    }

    #[test]
    fn texts_that_match_a_pattern_are_redacted_anywhere() {
        for (pattern, text, clean) in [
            ("email", "write to ada.l+x@mail.example.co.uk now", "write to [redacted] now"),
            ("email", "no mail @ home", "no mail @ home"),
            ("phone", "电话13800138000。", "电话[redacted]。"),
            ("phone", "call +49 (0)30 1234-5678 or 415-555-0132", "call [redacted] or [redacted]"),
            ("phone", "(415) 555-0132", "[redacted]"),
            ("phone", "at 1731628800 s", "at 1731628800 s"),
            ("idCard", "号码11010519491231002X", "号码[redacted]"),
            ("idCard", "ssn 078-05-1120", "ssn [redacted]"),
            ("card", "4111 1111 1111 1111 and 4111111111111111", "[redacted] and [redacted]"),
            ("card", "4111 1111 1111 1112", "4111 1111 1111 1112"),
            ("sk-[a-z0-9]+", "key sk-abc1 $1", "key [redacted] $1"),
        ] {
            let rules = json!([{"pattern": pattern}]);
            assert_eq!(redacted(rules, json!({"in": [text]})), json!({"in": [clean]}), "{pattern}: {text}");
        }
        let rules = json!([{"pattern": "phone"}]);
        assert_eq!(
            redacted(rules, json!({"n": 13800138000_u64, "13800138000": 1, "13900139000": 2})),
            json!({"n": "[redacted]", "[redacted]": 1, "[redacted] 2": 2})
        );
    }

    #[test]
    fn invalid_rules_are_reported_with_their_path() {
        let rules = json!(["a..b", {"pattern": "("}, {"pattern": "a*"}, 7, {"other": "x"}, "fine"]);
        let violations = Redactor::parse(&rules).expect_err("wrong");
        let places: Vec<&str> = violations.iter().map(|violation| violation.path.as_str()).collect();
        assert_eq!(places, ["0", "1", "2", "3", "4"]);
        assert!(Redactor::parse(&json!("email")).is_err());
    }
}
