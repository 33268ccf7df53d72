//! Conditions over arguments, such as `amount > 100 and currency != "EUR"`: parsed once, evaluated often.
//!
//! A comparison that cannot be evaluated, such as a text with a number or a missing value, yields `None`, and
//! the caller decides how to handle it. Conditions call no functions, and evaluation time is linear in their
//! length.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Message;

crate::templates! {
    EMPTY = "condition.empty",
        "a condition must compare something, such as amount > 100",
        "条件必须包含比较，例如 amount > 100";
    TOO_LONG = "condition.tooLong",
        "a condition has at most {most} characters",
        "条件最多 {most} 个字符";
    TOO_DEEP = "condition.tooDeep",
        "the condition is nested too deeply",
        "条件嵌套过深";
    UNEXPECTED = "condition.unexpected",
        "the condition is malformed at {text}; write it like amount > 100 and currency != \"EUR\"",
        "无法从 {text} 处继续解析条件；格式如 amount > 100 and currency != \"EUR\"";
    UNFINISHED = "condition.unfinished",
        "the condition is incomplete: {what} is missing",
        "条件不完整：缺少{what}";
    A_NAME = "condition.name", "the name of an argument", "参数名";
    A_VALUE = "condition.value", "a value", "值";
    A_BRACKET = "condition.bracket", "a closing bracket", "右括号";
}

const MAX_LENGTH: usize = 1000;
const MAX_DEPTH: usize = 16;

/// A parsed condition. Serialized as its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    text: String,
    root: Node,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Or(Vec<Node>),
    And(Vec<Node>),
    Not(Box<Node>),
    Compare {
        path: Vec<String>,
        how: How,
        value: Value,
    },
    /// The value exists, and is not null, false, zero or empty.
    Given(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    Equal,
    Differs,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    /// Is in a list.
    In,
    /// Is a list or text that contains the value.
    Contains,
}

/// Why a text is not a valid condition.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionError(pub Message);

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.render(crate::Locale::En))
    }
}

impl Condition {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Evaluates the condition. Returns `None` if it cannot be evaluated.
    pub fn holds(&self, value: &Value) -> Option<bool> {
        self.root.holds(value)
    }
}

impl Node {
    fn holds(&self, given: &Value) -> Option<bool> {
        match self {
            Self::Or(parts) => {
                let results: Vec<_> = parts.iter().map(|part| part.holds(given)).collect();
                if results.contains(&Some(true)) {
                    return Some(true);
                }
                results.into_iter().collect::<Option<Vec<_>>>().map(|_| false)
            }
            Self::And(parts) => {
                let results: Vec<_> = parts.iter().map(|part| part.holds(given)).collect();
                if results.contains(&Some(false)) {
                    return Some(false);
                }
                results.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
            }
            Self::Not(part) => part.holds(given).map(|holds| !holds),
            Self::Compare { path, how, value } => compare(find(given, path), *how, value),
            Self::Given(path) => Some(find(given, path).is_some_and(is_something)),
        }
    }
}

fn find<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| match value.as_array() {
        Some(items) => items.get(name.parse::<usize>().ok()?),
        None => value.get(name),
    })
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

fn compare(found: Option<&Value>, how: How, value: &Value) -> Option<bool> {
    let found = found.unwrap_or(&Value::Null);
    let order = || order(found, value);
    match how {
        How::Equal => Some(is_equal(found, value)),
        How::Differs => Some(!is_equal(found, value)),
        How::Greater => order().map(|order| order.is_gt()),
        How::GreaterOrEqual => order().map(|order| order.is_ge()),
        How::Less => order().map(|order| order.is_lt()),
        How::LessOrEqual => order().map(|order| order.is_le()),
        How::In => value.as_array().map(|values| values.iter().any(|value| is_equal(found, value))),
        How::Contains => match (found, value) {
            (Value::Array(items), value) => Some(items.iter().any(|item| is_equal(item, value))),
            (Value::String(text), Value::String(part)) => Some(text.contains(part)),
            _ => None,
        },
    }
}

/// Compares values; 1 and 1.0 are equal.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => order(one, other).is_some_and(|order| order.is_eq()),
        _ => one == other,
    }
}

/// Compares numbers with numbers and texts with texts. Returns `None` for other pairs.
fn order(one: &Value, other: &Value) -> Option<std::cmp::Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => Some(one.cmp(&other)),
            _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
        },
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        if text.chars().count() > MAX_LENGTH {
            return Err(ConditionError(Message::new(&TOO_LONG).with("most", MAX_LENGTH)));
        }
        let mut reader = Reader { rest: text.trim() };
        if reader.rest.is_empty() {
            return Err(ConditionError(Message::new(&EMPTY)));
        }
        let root = reader.either(0)?;
        if !reader.rest.is_empty() {
            return Err(reader.unexpected());
        }
        Ok(Self { text: text.trim().to_owned(), root })
    }
}

impl TryFrom<String> for Condition {
    type Error = ConditionError;

    fn try_from(text: String) -> Result<Self, ConditionError> {
        text.parse()
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        condition.text
    }
}

/// The unread rest of the text, without leading blanks.
struct Reader<'a> {
    rest: &'a str,
}

const SIGNS: [(&str, How); 7] = [
    (">=", How::GreaterOrEqual),
    ("<=", How::LessOrEqual),
    ("==", How::Equal),
    ("!=", How::Differs),
    ("=", How::Equal),
    (">", How::Greater),
    ("<", How::Less),
];

impl Reader<'_> {
    fn either(&mut self, depth: usize) -> Result<Node, ConditionError> {
        let mut parts = vec![self.all(depth)?];
        while self.word("or") || self.sign("||") {
            parts.push(self.all(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::Or(parts) })
    }

    fn all(&mut self, depth: usize) -> Result<Node, ConditionError> {
        let mut parts = vec![self.one(depth)?];
        while self.word("and") || self.sign("&&") {
            parts.push(self.one(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::And(parts) })
    }

    fn one(&mut self, depth: usize) -> Result<Node, ConditionError> {
        if depth >= MAX_DEPTH {
            return Err(ConditionError(Message::new(&TOO_DEEP)));
        }
        if self.word("not") {
            return Ok(Node::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.sign("(") {
            let inner = self.either(depth + 1)?;
            return if self.sign(")") { Ok(inner) } else { Err(self.missing(&A_BRACKET)) };
        }
        let path = self.path()?;
        if let Some(&(_, how)) = SIGNS.iter().find(|(sign, _)| self.sign(sign)) {
            return Ok(Node::Compare { path, how, value: self.value()? });
        }
        if self.word("contains") {
            return Ok(Node::Compare { path, how: How::Contains, value: self.value()? });
        }
        if self.word("in") {
            let value = self.value()?;
            let value = if value.is_array() { value } else { Value::Array(vec![value]) };
            return Ok(Node::Compare { path, how: How::In, value });
        }
        Ok(Node::Given(path))
    }

    fn path(&mut self) -> Result<Vec<String>, ConditionError> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '@');
        let end = self.rest.find(|c: char| !is_part(c)).unwrap_or(self.rest.len());
        let (name, _) = self.rest.split_at(end);
        let parts: Vec<String> = name.split('.').map(str::to_owned).collect();
        if parts.iter().any(String::is_empty) || matches!(name, "and" | "or" | "not" | "in" | "contains") {
            return Err(self.missing(&A_NAME));
        }
        self.skip(end);
        Ok(parts)
    }

    /// Reads a JSON value, or a text in single quotes.
    fn value(&mut self) -> Result<Value, ConditionError> {
        if let Some(quoted) = self.rest.strip_prefix('\'') {
            let Some((text, _)) = quoted.split_once('\'') else { return Err(self.missing(&A_VALUE)) };
            let value = Value::String(text.to_owned());
            self.skip(text.len() + 2);
            return Ok(value);
        }
        // Numbers and words end at a delimiter; texts and lists have their own end.
        let is_bracketed = self.rest.starts_with(['"', '[', '{']);
        let end = self.rest.find(|c: char| c.is_whitespace() || matches!(c, ')' | '&' | '|'));
        let bare = self.rest.get(..end.unwrap_or(self.rest.len())).unwrap_or_default();
        let text = if is_bracketed { self.rest } else { bare };
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else { return Err(self.missing(&A_VALUE)) };
        let end = values.byte_offset();
        if value.is_object() {
            return Err(self.missing(&A_VALUE));
        }
        self.skip(end);
        Ok(value)
    }

    fn sign(&mut self, sign: &str) -> bool {
        let is_next = self.rest.starts_with(sign);
        if is_next {
            self.skip(sign.len());
        }
        is_next
    }

    /// Reads a whole word, not the prefix of a longer one.
    fn word(&mut self, word: &str) -> bool {
        let Some(after) = self.rest.strip_prefix(word) else { return false };
        let ends = !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        if ends {
            self.skip(word.len());
        }
        ends
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default().trim_start();
    }

    fn unexpected(&self) -> ConditionError {
        let shown: String = self.rest.chars().take(40).collect();
        ConditionError(Message::new(&UNEXPECTED).with("text", shown))
    }

    fn missing(&self, what: &'static crate::Template) -> ConditionError {
        if self.rest.is_empty() {
            let what = vec![Message::new(what)];
            return ConditionError(Message::new(&UNFINISHED).with_messages("what", what));
        }
        self.unexpected()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn holds(text: &str, value: Value) -> Option<bool> {
        text.parse::<Condition>().expect("a condition").holds(&value)
    }

    #[test]
    fn arguments_are_compared() {
        let order = json!({"amount": 250, "currency": "EUR", "to": {"country": "NO"}, "tags": ["a", "b"], "go": true});
        for text in [
            "amount > 100",
            "amount >= 250 and amount <= 250.0",
            "currency = 'EUR'",
            "currency == \"EUR\" or amount > 1000",
            "to.country in [\"NO\", \"SE\"]",
            "tags contains 'b' && go",
            "tags.0 = 'a'",
            "not (amount < 100)",
            "currency contains 'UR'",
            "missing != 3",
            "not missing",
        ] {
            assert_eq!(holds(text, order.clone()), Some(true), "{text}");
        }
        for text in ["amount > 250", "currency != 'EUR'", "missing = 3", "tags contains 'c'", "not go"] {
            assert_eq!(holds(text, order.clone()), Some(false), "{text}");
        }
    }

    #[test]
    fn incomparable_values_give_no_result() {
        assert_eq!(holds("amount > 100", json!({"amount": "a lot"})), None);
        assert_eq!(holds("amount > 100", json!({})), None);
        assert_eq!(holds("not (amount > 100)", json!({})), None);
        assert_eq!(holds("amount > 100 and go", json!({"go": false})), Some(false));
        assert_eq!(holds("amount > 100 or go", json!({"go": true})), Some(true));
        assert_eq!(holds("amount > 100 or go", json!({})), None);
    }

    #[test]
    fn large_numbers_are_compared_exactly() {
        assert_eq!(holds("n > 9007199254740992", json!({"n": 9_007_199_254_740_993_i64})), Some(true));
    }

    #[test]
    fn malformed_conditions_are_rejected() {
        for (text, said) in [
            ("", "must compare something"),
            ("amount >", "a value is missing"),
            ("amount > 100 and", "the name of an argument is missing"),
            ("(amount > 100", "a closing bracket is missing"),
            ("amount > lots", "malformed at lots"),
            ("amount > 100 currency", "malformed at currency"),
            ("> 100", "malformed at > 100"),
            ("a = {}", "malformed at {}"),
        ] {
            let error = text.parse::<Condition>().expect_err("refused").to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!("x".repeat(MAX_LENGTH + 1).parse::<Condition>().is_err());
        assert!(format!("{}a", "not ".repeat(20)).parse::<Condition>().is_err());
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(text in ".{0,60}") {
            if let Ok(condition) = text.parse::<Condition>() {
                let _ = condition.holds(&json!({"a": 1}));
                prop_assert_eq!(condition.as_str().parse::<Condition>().ok(), Some(condition));
            }
        }
    }
}
