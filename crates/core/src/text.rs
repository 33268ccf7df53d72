//! Texts with placeholders, `{{name}}` and `secret://NAME`: parsed once, filled in one pass.
//!
//! Values that are filled in are never parsed again. How a value is encoded, in a path, a header or a body,
//! is decided by the code that fills it in.

use serde_json::Value;

use crate::secret::{SCHEME, SecretRef};
use crate::{CallId, Message};

/// Reserved names, whose values come from the call.
pub const CALL_ID: &str = "callId";
pub const CALLBACK_URL: &str = "callbackUrl";

crate::templates! {
    UNCLOSED = "template.unclosed",
        "{open} is never closed by {close}",
        "{open} 没有对应的 {close}";
    NOT_A_VARIABLE = "template.notAVariable",
        "{text} is not a variable: a name such as city, optionally followed by .field or .0",
        "{text} 不是变量：应为 city 这样的名称，后面可跟 .field 或 .0";
    NOT_A_SECRET = "template.notASecret",
        "secret:// must be followed by a name of letters, digits, _ and -, at most 64 of them",
        "secret:// 后必须是由字母、数字、_ 和 - 组成、不超过 64 个字符的名称";
}

/// A parsed text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text(Vec<TextPart>);

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPart {
    Plain(String),
    Variable(Variable),
    Secret(SecretRef),
}

/// `{{name.field.0}}`: an argument, or a value nested in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub steps: Vec<String>,
}

impl Text {
    pub fn parse(text: &str) -> Result<Self, Message> {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (variable, secret) = (rest.find("{{"), rest.find(SCHEME));
            let at = match (variable, secret) {
                (None, None) => break,
                (Some(at), None) | (None, Some(at)) => at,
                (Some(one), Some(other)) => one.min(other),
            };
            if at > 0 {
                parts.push(TextPart::Plain(rest[..at].to_owned()));
            }
            if variable == Some(at) {
                let (inside, after) = rest[at + 2..].split_once("}}").ok_or_else(unclosed)?;
                let wrong = || Message::new(&NOT_A_VARIABLE).with("text", format_args!("{{{{{inside}}}}}"));
                parts.push(TextPart::Variable(Variable::parse(inside.trim()).ok_or_else(wrong)?));
                rest = after;
            } else {
                let name = &rest[at + SCHEME.len()..];
                let (secret, after) = SecretRef::at_start(name).ok_or_else(|| Message::new(&NOT_A_SECRET))?;
                parts.push(TextPart::Secret(secret));
                rest = after;
            }
        }
        if !rest.is_empty() {
            parts.push(TextPart::Plain(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// Creates a text from parts, joining adjacent plain ones.
    pub fn from_parts(parts: Vec<TextPart>) -> Self {
        let mut joined: Vec<TextPart> = Vec::with_capacity(parts.len());
        for part in parts {
            match (joined.last_mut(), part) {
                (Some(TextPart::Plain(before)), TextPart::Plain(plain)) => before.push_str(&plain),
                (_, part) => joined.push(part),
            }
        }
        Self(joined)
    }

    pub fn parts(&self) -> &[TextPart] {
        &self.0
    }

    /// Returns the variable, if the whole text is exactly one.
    pub fn only_variable(&self) -> Option<&Variable> {
        match self.0.as_slice() {
            [TextPart::Variable(variable)] => Some(variable),
            _ => None,
        }
    }

    /// Returns the text, if it has no placeholders.
    pub fn plain(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [TextPart::Plain(text)] => Some(text),
            _ => None,
        }
    }

    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.0.iter().filter_map(|part| match part {
            TextPart::Variable(variable) => Some(variable),
            TextPart::Plain(_) | TextPart::Secret(_) => None,
        })
    }

    pub fn secrets(&self) -> impl Iterator<Item = &SecretRef> {
        self.0.iter().filter_map(|part| match part {
            TextPart::Secret(secret) => Some(secret),
            TextPart::Plain(_) | TextPart::Variable(_) => None,
        })
    }
}

fn unclosed() -> Message {
    Message::new(&UNCLOSED).with("open", "{{").with("close", "}}")
}

impl Variable {
    fn parse(text: &str) -> Option<Self> {
        let mut steps = text.split('.');
        let name = steps.next()?;
        let is_word = |text: &str| {
            let mut bytes = text.bytes();
            bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let is_index = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let steps: Vec<String> = steps.map(str::to_owned).collect();
        let fits = is_word(name) && steps.iter().all(|step| is_word(step) || is_index(step));
        fits.then(|| Self { name: name.to_owned(), steps })
    }

    /// Returns true if the value comes from the call and not from its arguments.
    pub fn is_reserved(&self) -> bool {
        self.name == CALL_ID || self.name == CALLBACK_URL
    }

    /// Returns the value in the arguments. Null is a value.
    pub fn find<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let mut found = arguments.get(&self.name)?;
        for step in &self.steps {
            found = match found {
                Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                Value::Object(fields) => fields.get(step)?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
            };
        }
        Some(found)
    }

    /// Returns the value of a reserved name.
    pub fn of_call(&self, call: &CallId, callback: Option<&str>) -> Option<Value> {
        let value = if self.name == CALL_ID { Some(call.as_str()) } else { callback };
        value.filter(|_| self.is_reserved() && self.steps.is_empty()).map(Value::from)
    }
}

impl std::fmt::Display for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        self.steps.iter().try_for_each(|step| write!(f, ".{step}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rendered_parts(text: &str) -> Vec<String> {
        let parts = Text::parse(text).expect("a text");
        let show = |part: &TextPart| match part {
            TextPart::Plain(text) => text.clone(),
            TextPart::Variable(variable) => format!("<{variable}>"),
            TextPart::Secret(secret) => format!("[{secret}]"),
        };
        parts.parts().iter().map(show).collect()
    }

    #[test]
    fn texts_are_split_into_their_parts() {
        for (text, parts) in [
            ("", vec![]),
            ("plain } text {", vec!["plain } text {"]),
            ("{{city}}", vec!["<city>"]),
            ("{{ city }}!", vec!["<city>", "!"]),
            ("a{{b}}{{c.d.0}}e", vec!["a", "<b>", "<c.d.0>", "e"]),
            ("Bearer secret://k", vec!["Bearer ", "[secret://k]"]),
            ("secret://me/my-key, {{x}}", vec!["[secret://me/my-key]", ", ", "<x>"]),
            ("secret://a{{b}}secret://c", vec!["[secret://a]", "<b>", "[secret://c]"]),
            ("{\"a\": {\"b\": 1}}", vec!["{\"a\": {\"b\": 1}}"]),
        ] {
            assert_eq!(rendered_parts(text), parts, "{text}");
        }
    }

    #[test]
    fn other_text_within_braces_is_rejected_with_a_reason() {
        for (text, says) in [
            ("{{}}", "{{}} is not a variable"),
            ("{{ a b }}", "{{ a b }} is not a variable"),
            ("{{1a}}", "{{1a}} is not a variable"),
            ("{{a-b}}", "{{a-b}} is not a variable"),
            ("{{a..b}}", "{{a..b}} is not a variable"),
            ("{{a.}}", "{{a.}} is not a variable"),
            ("{{env.HOME | upper}}", "is not a variable"),
            ("{{城市}}", "{{城市}} is not a variable"),
            ("{{ {{a}} }}", "is not a variable"),
            ("a {{b", "{{ is never closed"),
            ("secret://", "must be followed by a name"),
            ("secret://{{name}}", "must be followed by a name"),
            ("secret://me/", "must be followed by a name"),
        ] {
            let message = Text::parse(text).expect_err(text).to_string();
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn a_variable_finds_its_value() {
        let arguments = json!({"a": {"b": [1, {"c": null}], "0": "zero"}, "s": "text"});
        for (path, found) in [
            ("a.b.0", Some(json!(1))),
            ("a.b.1.c", Some(json!(null))),
            ("a.0", Some(json!("zero"))),
            ("s", Some(json!("text"))),
            ("s.0", None),
            ("a.b.2", None),
            ("missing", None),
        ] {
            let variable = Variable::parse(path).expect("a variable");
            assert_eq!(variable.find(&arguments), found.as_ref(), "{path}");
        }
    }
}
