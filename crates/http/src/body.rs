//! JSON templates, and request bodies built from them as values, never by joining text.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use haft_core::artifact::UNKNOWN_TYPE;
use haft_core::error::ROOT;
use haft_core::text::{Text, Variable};
use haft_core::{Message, SecretRef, Violation};
use http::HeaderValue;
use serde_json::{Map, Value};

use crate::config::BodyType;
use crate::files::Files;
use crate::fill::{Filling, as_text};
use crate::query::{Brackets, LONGEST, Pairs, too_long};

haft_core::templates! {
    TEMPLATE_IN_NAME = "http.templateInName",
        "the name of a field cannot contain a variable or a secret",
        "字段名中不能包含变量或密钥";
    NOT_A_FORM = "http.notAForm",
        "must be an object of fields when bodyType is form or multipart",
        "bodyType 为 form 或 multipart 时必须是由字段组成的对象";
    NOT_BASE64 = "http.notBase64",
        "is not base64",
        "不是有效的 base64";
}

/// A JSON value whose strings may contain placeholders.
#[derive(Debug, Clone)]
pub(crate) enum JsonTemplate {
    Fixed(Value),
    Text(Text),
    Array(Vec<JsonTemplate>),
    Object(Vec<(String, JsonTemplate)>),
}

impl JsonTemplate {
    /// Parses a value; `path` is its position, used in violations.
    pub(crate) fn parse(value: &Value, path: &str, violations: &mut Vec<Violation>) -> Self {
        match value {
            Value::String(text) => match Text::parse(text) {
                Ok(text) if text.plain().is_some() => Self::Fixed(value.clone()),
                Ok(text) => Self::Text(text),
                Err(message) => {
                    violations.push(Violation::new(path, message));
                    Self::Fixed(Value::Null)
                }
            },
            Value::Array(items) => {
                let parsed = items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| Self::parse(item, &format!("{path}.{at}"), violations));
                Self::Array(parsed.collect())
            }
            Value::Object(fields) => Self::Object(Self::parse_fields(fields, path, violations)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Fixed(value.clone()),
        }
    }

    pub(crate) fn parse_fields(
        fields: &Map<String, Value>,
        path: &str,
        violations: &mut Vec<Violation>,
    ) -> Vec<(String, Self)> {
        let parsed = fields.iter().map(|(name, value)| {
            let path = format!("{path}.{name}");
            if !matches!(Text::parse(name), Ok(text) if text.plain().is_some()) {
                violations.push(Violation::new(path.clone(), Message::new(&TEMPLATE_IN_NAME)));
            }
            (name.clone(), Self::parse(value, &path, violations))
        });
        parsed.collect()
    }

    /// Returns the value with all placeholders filled in, or `None` if it is a single variable without a
    /// value.
    pub(crate) fn fill<'a>(&'a self, filling: &mut Filling<'a>) -> Option<Cow<'a, Value>> {
        Some(match self {
            Self::Fixed(value) => Cow::Borrowed(value),
            Self::Text(text) => match text.only_variable() {
                Some(variable) => filling.value(variable)?,
                None => Cow::Owned(Value::String(filling.text(text))),
            },
            Self::Array(items) => {
                let filled = items.iter().filter_map(|item| item.fill(filling).map(Cow::into_owned));
                Cow::Owned(filled.collect())
            }
            Self::Object(fields) => {
                let filled = fields
                    .iter()
                    .filter_map(|(name, value)| Some((name.clone(), value.fill(filling)?.into_owned())));
                Cow::Owned(Value::Object(filled.collect()))
            }
        })
    }

    /// The variable, if the whole value is exactly one placeholder.
    pub(crate) fn only_variable(&self) -> Option<&Variable> {
        match self {
            Self::Text(text) => text.only_variable(),
            Self::Fixed(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// Strings without placeholders, each with the name of its field.
    pub(crate) fn fixed_texts<'a>(&'a self, name: &'a str, texts: &mut Vec<(&'a str, &'a str)>) {
        match self {
            Self::Fixed(Value::String(text)) => texts.push((name, text)),
            Self::Fixed(_) | Self::Text(_) => {}
            Self::Array(items) => items.iter().for_each(|item| item.fixed_texts(name, texts)),
            Self::Object(fields) => fields.iter().for_each(|(name, value)| value.fixed_texts(name, texts)),
        }
    }

    /// All strings with placeholders, in order.
    pub(crate) fn texts(&self) -> Vec<&Text> {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Text(text) => vec![text],
            Self::Array(items) => items.iter().flat_map(Self::texts).collect(),
            Self::Object(fields) => fields.iter().flat_map(|(_, value)| value.texts()).collect(),
        }
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.texts().into_iter().flat_map(Text::variables)
    }

    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretRef> {
        self.texts().into_iter().flat_map(Text::secrets)
    }
}

/// Returns a violation if the template cannot produce a body of this type.
pub(crate) fn check(body: &JsonTemplate, kind: BodyType, path: &str) -> Option<Violation> {
    let fits = match (kind, body) {
        (BodyType::Json | BodyType::Text | BodyType::Binary, _)
        | (BodyType::Form | BodyType::Multipart, JsonTemplate::Object(_)) => true,
        // A single variable may turn out to be an object.
        (BodyType::Form | BodyType::Multipart, JsonTemplate::Text(text)) => text.only_variable().is_some(),
        (BodyType::Form | BodyType::Multipart, JsonTemplate::Fixed(_) | JsonTemplate::Array(_)) => false,
    };
    (!fits).then(|| Violation::new(path, Message::new(&NOT_A_FORM)))
}

/// Encodes a body and returns its bytes and content type, or the part that cannot be encoded.
pub(crate) fn encode(
    value: &Value,
    kind: BodyType,
    brackets: &Brackets,
    files: &Files,
) -> Result<(Bytes, HeaderValue), Violation> {
    Ok(match kind {
        BodyType::Json => (value.to_string().into(), HeaderValue::from_static("application/json")),
        BodyType::Form => {
            let mut pairs = Pairs::default();
            if let Value::Object(fields) = value {
                pairs.push_fields_with(fields, brackets);
            }
            if pairs.is_full() {
                return Err(Violation::new(ROOT, too_long(LONGEST)));
            }
            let form = HeaderValue::from_static("application/x-www-form-urlencoded");
            (pairs.into_text().into(), form)
        }
        BodyType::Multipart => crate::multipart::encode(value, files)?,
        BodyType::Text => {
            (as_text(value).into_owned().into(), HeaderValue::from_static("text/plain; charset=utf-8"))
        }
        BodyType::Binary => {
            let unknown = HeaderValue::from_static(UNKNOWN_TYPE);
            if let Some(file) = files.of_value(value) {
                return Ok((file.bytes.clone(), HeaderValue::from_str(&file.media_type).unwrap_or(unknown)));
            }
            let bytes = match value.get("base64") {
                Some(Value::String(text)) => decode(text, "base64")?,
                Some(_) | None => as_text(value).into_owned().into_bytes(),
            };
            (bytes.into(), unknown)
        }
    })
}

/// Decodes a base64 text.
pub(crate) fn decode(text: &str, path: &str) -> Result<Vec<u8>, Violation> {
    let digits: String = text.split_ascii_whitespace().collect();
    STANDARD.decode(digits).map_err(|_| Violation::new(path, Message::new(&NOT_BASE64)))
}
