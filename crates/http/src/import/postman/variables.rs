//! Variables of a collection: written out where their value is known and no secret, marked otherwise.

use serde_json::Value;

use crate::fill::as_text;
use crate::import::example::{MarkKind, clean, has_marks, is_secret_variable, mark};

/// Values that name other variables are followed so far.
const DEEPEST: usize = 10;

#[derive(Default)]
pub(super) struct Variables(Vec<Variable>);

struct Variable {
    name: String,
    value: String,
    is_secret: bool,
}

impl Variables {
    /// The variables that a collection defines.
    pub(super) fn read(collection: &Value) -> Self {
        let listed = collection.get("variable").and_then(Value::as_array).into_iter().flatten();
        let is_on = |variable: &&Value| variable.get("disabled") != Some(&Value::Bool(true));
        Self(listed.filter(is_on).filter_map(Variable::read).collect())
    }

    /// A text in which every variable is written out or marked.
    pub(super) fn resolve(&self, text: &str) -> String {
        self.resolve_within(&clean(text), 0)
    }

    /// The secrets that the collection holds with their values.
    pub(super) fn secrets(&self) -> Vec<(String, String)> {
        let is_known = |variable: &&Variable| {
            variable.is_secret && !variable.value.is_empty() && !has_marks(&self.resolve(&variable.value))
        };
        let known = self.0.iter().rev().filter(is_known);
        known.map(|variable| (variable.name.clone(), self.resolve(&variable.value))).collect()
    }

    fn resolve_within(&self, text: &str, depth: usize) -> String {
        let mut resolved = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            resolved.push_str(before);
            match after.split_once("}}").filter(|(name, _)| is_name(name)) {
                Some((name, behind)) => {
                    resolved.push_str(&self.value(name.trim(), depth));
                    rest = behind;
                }
                None => {
                    resolved.push_str("{{");
                    rest = after;
                }
            }
        }
        resolved.push_str(rest);
        resolved
    }

    fn value(&self, name: &str, depth: usize) -> String {
        // `$guid` and its like are made anew for each request.
        if let Some(dynamic) = name.strip_prefix('$') {
            return mark(MarkKind::Text, dynamic);
        }
        let kind = if is_secret_variable(name) { MarkKind::Secret } else { MarkKind::Text };
        match self.0.iter().rev().find(|variable| variable.name == name) {
            Some(variable) if variable.is_secret => mark(MarkKind::Secret, name),
            Some(variable) if !variable.value.is_empty() && depth < DEEPEST => {
                self.resolve_within(&variable.value, depth + 1)
            }
            Some(_) | None => mark(kind, name),
        }
    }
}

impl Variable {
    fn read(listed: &Value) -> Option<Self> {
        let name = listed.get("key").or_else(|| listed.get("id"))?.as_str()?.to_owned();
        let value = listed.get("value").filter(|value| !value.is_null());
        let value = value.map(|value| clean(&as_text(value))).unwrap_or_default();
        let is_declared = listed.get("type").and_then(Value::as_str) == Some("secret");
        Some(Self { is_secret: is_declared || is_secret_variable(&name), name, value })
    }
}

fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(['{', '}', '"', '\n'])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_written_out_or_marked() {
        let variables = Variables::read(&json!({"variable": [
            {"key": "baseUrl", "value": "https://{{host}}/v1"}, {"key": "host", "value": "api.example.com"},
            {"key": "apiKey", "value": "k-1"}, {"key": "loop", "value": "{{loop}}"}, {"key": "empty", "value": ""},
            {"key": "off", "value": "x", "disabled": true}, {"key": "port", "value": 8080},
            {"key": "plain", "value": "s3", "type": "secret"},
        ]}));
        let text = |name: &str| mark(MarkKind::Text, name);
        let secret = |name: &str| mark(MarkKind::Secret, name);
        for (written, resolved) in [
            ("{{baseUrl}}/x:{{ port }}", "https://api.example.com/v1/x:8080".to_owned()),
            ("{{apiKey}}{{plain}}", secret("apiKey") + &secret("plain")),
            ("{{token}} {{page}}", format!("{} {}", secret("token"), text("page"))),
            ("{{$guid}}{{empty}}{{off}}", text("guid") + &text("empty") + &text("off")),
            ("{{loop}}", text("loop")),
            (r#"{"a": {"b": {{ {"c": 1}}}"#, r#"{"a": {"b": {{ {"c": 1}}}"#.to_owned()),
        ] {
            assert_eq!(variables.resolve(written), resolved, "{written}");
        }
        let mut secrets = variables.secrets();
        secrets.sort();
        let expected =
            [("apiKey", "k-1"), ("plain", "s3")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(secrets, expected);
    }
}
