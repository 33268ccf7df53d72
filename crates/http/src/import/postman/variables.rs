//! Variables of a collection: replaced if their value is known and not secret, otherwise marked.
//!
//! Values may refer to each other, so that a few short ones can expand to an unlimited text. Expansion is
//! therefore limited, for each text and for the collection.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use haft_core::Message;
use serde_json::Value;

use crate::fill::as_text;
use crate::import::example::{MarkKind, has_marks, is_secret_variable, mark, mark_variable, sanitize};

haft_core::templates! {
    TOO_LARGE = "import.postman.variablesTooLarge",
        "its expanded variables are too large",
        "其变量展开后过大";
}

/// Maximum depth of nested variables.
const DEEPEST: usize = 10;

/// Maximum number of bytes that values may add to one text, and to all texts of a collection.
const MOST_IN_TEXT: usize = 1 << 20;
const MOST_IN_ALL: usize = 16 << 20;

pub(super) struct Variables {
    known: BTreeMap<String, Variable>,
    /// The secret variables and their values.
    secrets: Rc<HashMap<String, String>>,
    /// The number of bytes left.
    left: Cell<usize>,
    /// True if an expansion was truncated since the last check.
    is_cut: Cell<bool>,
}

struct Variable {
    value: String,
    is_secret: bool,
}

impl Variables {
    /// The variables that a collection defines.
    pub(super) fn read(collection: &Value) -> Self {
        let listed = collection.get("variable").and_then(Value::as_array).into_iter().flatten();
        let is_on = |variable: &&Value| variable.get("disabled") != Some(&Value::Bool(true));
        let mut variables = Self {
            known: listed.filter(is_on).filter_map(Variable::read).collect(),
            secrets: Rc::default(),
            left: Cell::new(MOST_IN_ALL),
            is_cut: Cell::new(false),
        };
        let mut secrets = HashMap::new();
        for (name, variable) in &variables.known {
            if variable.is_secret && !variable.value.is_empty() {
                let value = variables.resolve(&variable.value);
                if variables.check().is_ok() && !has_marks(&value) {
                    secrets.insert(name.clone(), value);
                }
            }
        }
        variables.secrets = Rc::new(secrets);
        variables
    }

    /// The secrets whose values the collection contains.
    pub(super) fn secrets(&self) -> Rc<HashMap<String, String>> {
        Rc::clone(&self.secrets)
    }

    /// Expands or marks every variable of a text. A text that grows too large is truncated, which `check`
    /// reports.
    pub(super) fn resolve(&self, text: &str) -> String {
        let mut writing = Writing { resolved: String::new(), left: MOST_IN_TEXT.min(self.left.get()) };
        let before = writing.left;
        if self.resolve_into(&mut writing, &sanitize(text), 0).is_none() {
            self.is_cut.set(true);
        }
        self.left.set(self.left.get().saturating_sub(before - writing.left));
        writing.resolved
    }

    /// Returns an error if a text was truncated since the last check.
    pub(super) fn check(&self) -> Result<(), Message> {
        if self.is_cut.replace(false) { Err(Message::new(&TOO_LARGE)) } else { Ok(()) }
    }

    /// Returns `None` if the budget is used up.
    fn resolve_into(&self, writing: &mut Writing, text: &str, depth: usize) -> Option<()> {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            writing.push(before, depth)?;
            match variable_at(after) {
                Some((name, behind)) => {
                    self.write(writing, name, depth)?;
                    rest = behind;
                }
                None => {
                    writing.push("{{", depth)?;
                    rest = after;
                }
            }
        }
        writing.push(rest, depth)
    }

    fn write(&self, writing: &mut Writing, name: &str, depth: usize) -> Option<()> {
        let marked = match (name.strip_prefix('$'), self.known.get(name)) {
            // Dynamic variables such as `$guid` are generated for each request.
            (Some(dynamic), _) => mark(MarkKind::Text, dynamic),
            (None, Some(variable)) if variable.is_secret => mark(MarkKind::Secret, name),
            (None, Some(variable)) if !variable.value.is_empty() && depth < DEEPEST => {
                return self.resolve_into(writing, &variable.value, depth + 1);
            }
            (None, Some(_) | None) => mark_variable(name),
        };
        writing.push(&marked, depth + 1)
    }
}

/// A text that is being expanded.
struct Writing {
    resolved: String,
    left: usize,
}

impl Writing {
    /// Only text from variables counts against the budget.
    fn push(&mut self, text: &str, depth: usize) -> Option<()> {
        if depth > 0 {
            self.left = self.left.checked_sub(text.len() + 1)?;
        }
        self.resolved.push_str(text);
        Some(())
    }
}

impl Variable {
    fn read(listed: &Value) -> Option<(String, Self)> {
        let name = listed.get("key").or_else(|| listed.get("id"))?.as_str()?.to_owned();
        let value = listed.get("value").filter(|value| !value.is_null());
        let value = value.map(|value| sanitize(&as_text(value))).unwrap_or_default();
        let is_declared = listed.get("type").and_then(Value::as_str) == Some("secret");
        let is_secret = is_declared || is_secret_variable(&name);
        Some((name, Self { value, is_secret }))
    }
}

/// The variable after opening braces, and the remaining text.
fn variable_at(text: &str) -> Option<(&str, &str)> {
    let end = text.find(['{', '}', '"', '\n'])?;
    let (name, behind) = (text.get(..end)?.trim(), text.get(end..)?.strip_prefix("}}")?);
    (!name.is_empty()).then_some((name, behind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_expanded_or_marked() {
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
        assert!(variables.check().is_ok());
        let mut secrets: Vec<(String, String)> =
            variables.secrets().iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        secrets.sort();
        let expected =
            [("apiKey", "k-1"), ("plain", "s3")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(secrets, expected);
    }

    #[test]
    fn unbounded_expansion_is_truncated() {
        let mut listed = vec![json!({"key": "a9", "value": "lol".repeat(10)})];
        for level in 0..9 {
            let next = format!("{{{{a{}}}}}", level + 1);
            listed.push(json!({"key": format!("a{level}"), "value": next.repeat(20)}));
        }
        let variables = Variables::read(&json!({"variable": listed}));
        for _ in 0..100 {
            assert!(variables.resolve("{{a0}}").len() <= MOST_IN_TEXT);
            assert!(variables.check().is_err());
        }
        assert!(variables.check().is_ok());
        assert_eq!(variables.resolve("plain"), "plain");
        assert_eq!(variables.left.get(), 0);
        assert!(variables.check().is_ok() && variables.resolve("{{a9}}").is_empty());
    }
}
