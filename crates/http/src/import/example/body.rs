//! Converts bodies of example requests (JSON, forms, multipart and text) to definitions.

use haft_core::Message;
use serde_json::{Map, Value};

use super::address::pairs;
use super::credentials;
use super::draft::{Draft, Location, check_name};
use super::marks::{has_marks, quoted};
use crate::import::media::essence;

const JSON: &str = "application/json";
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";
pub(crate) const TEXT: &str = "text/plain";

/// The body of an example request.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// The raw text; `assumed` is its media type if no header names one.
    Raw {
        text: String,
        assumed: &'static str,
    },
    Json(Value),
    Form(Vec<(String, String)>),
    Multipart(Vec<Part>),
}

#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) content: Content,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    Text(String),
    Json(Value),
    /// A file by its name; a call supplies the content.
    File {
        filename: String,
        media: Option<String>,
    },
    /// A text that the source reads from somewhere else.
    Elsewhere,
}

impl Content {
    /// Parses a text as JSON if its media type says so.
    pub(crate) fn of_text(text: &str, media: Option<&str>) -> Self {
        let is_json = media.is_some_and(|media| is_json(&essence(media)));
        match serde_json::from_str::<Value>(&quoted(text)) {
            Ok(value) if is_json && value.is_object() => Self::Json(value),
            Ok(_) | Err(_) => Self::Text(text.to_owned()),
        }
    }

    /// A file by its name, without folders.
    pub(crate) fn file(path: &str, media: Option<&str>) -> Self {
        let filename = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        Self::File { filename, media: media.map(str::to_owned) }
    }
}

/// A body in the form of a `config`.
pub(super) struct Written {
    pub(super) value: Value,
    /// `bodyType`, unless it is the default.
    pub(super) kind: Option<&'static str>,
    /// The media type, unless it is the default.
    pub(super) media: Option<String>,
}

/// Converts a body; `declared` is the media type of a header.
pub(super) fn write(draft: &mut Draft<'_>, body: &Body, declared: Option<&str>) -> Result<Written, Message> {
    match body {
        Body::Json(value) => json(draft, value, declared),
        Body::Form(pairs) => form(draft, pairs),
        Body::Multipart(parts) => {
            Ok(Written { value: multipart(draft, parts)?, kind: Some("multipart"), media: None })
        }
        Body::Raw { text, assumed } => raw(draft, text, declared, assumed),
    }
}

fn raw(draft: &mut Draft<'_>, text: &str, declared: Option<&str>, assumed: &str) -> Result<Written, Message> {
    let media = declared.unwrap_or(assumed);
    let essence = essence(media);
    let may_be_json = declared.is_none() || is_json(&essence) || essence == TEXT;
    // A scalar may be JSON by accident; a list or an object hardly is.
    let is_meant = |value: &Value| is_json(&essence) || value.is_object() || value.is_array();
    if may_be_json
        && let Ok(value) = serde_json::from_str::<Value>(&quoted(text))
        && is_meant(&value)
    {
        return json(draft, &value, declared);
    }
    if essence == FORM
        && let Some(pairs) = as_form(text)
    {
        return form(draft, &pairs);
    }
    let value = if credentials::in_text(text) {
        // The position of the credential in the text is unknown, so the whole body becomes an argument.
        draft.required_argument("body").into()
    } else if has_marks(text) {
        draft.render(text, "body", Location::Json)?.into()
    } else {
        draft.example("body", &Value::from(text))
    };
    Ok(Written { value, kind: Some("text"), media: (essence != TEXT).then(|| media.to_owned()) })
}

fn json(draft: &mut Draft<'_>, value: &Value, declared: Option<&str>) -> Result<Written, Message> {
    let media = declared.filter(|media| essence(media) != JSON).map(str::to_owned);
    Ok(Written { value: draft.json(value)?, kind: None, media })
}

fn form(draft: &mut Draft<'_>, pairs: &[(String, String)]) -> Result<Written, Message> {
    let fields = draft.fields(pairs, Location::Form)?;
    Ok(Written { value: Value::Object(fields), kind: Some("form"), media: None })
}

/// The pairs of a text that really has the form of a form.
fn as_form(text: &str) -> Option<Vec<(String, String)>> {
    let is_odd = |character: char| character.is_whitespace() || matches!(character, '{' | '"' | '<');
    let is_pair = |piece: &str| {
        piece.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains(is_odd))
    };
    let is_form = text.contains('=') && text.split('&').filter(|piece| !piece.is_empty()).all(is_pair);
    let with_value = |(name, value): (String, Option<String>)| (name, value.unwrap_or_default());
    is_form.then(|| pairs(text).into_iter().map(with_value).collect())
}

fn multipart(draft: &mut Draft<'_>, parts: &[Part]) -> Result<Value, Message> {
    let mut fields = Map::new();
    for Part { name, content } in parts {
        check_name(name)?;
        let value = part(draft, name, content)?;
        match fields.get_mut(name) {
            None => {
                fields.insert(name.clone(), value);
            }
            Some(Value::Array(items)) => items.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Ok(Value::Object(fields))
}

fn part(draft: &mut Draft<'_>, name: &str, content: &Content) -> Result<Value, Message> {
    match content {
        Content::Text(text) if text.contains(['<', '\n']) && credentials::in_text(text) => {
            Ok(draft.required_argument(name).into())
        }
        Content::Text(text) => draft.leaf(name, name, &Value::from(text.as_str()), Location::Multipart),
        Content::Json(value) => draft.json(value),
        Content::Elsewhere => Ok(draft.required_argument(name).into()),
        Content::File { filename, media } => {
            let filename = if filename.is_empty() { name } else { filename };
            Ok(draft.file(name, filename, media.as_deref()).into())
        }
    }
}

fn is_json(essence: &str) -> bool {
    essence.ends_with("/json") || essence.ends_with("+json")
}
