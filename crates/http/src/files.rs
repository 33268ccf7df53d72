//! Files in bodies: `artifact://ID` in a binary or multipart body is replaced by the stored artifact.
//!
//! Artifacts are read before the request is built, with the caller's permissions; nothing is fetched over the
//! network.

use haft_core::artifact::{ArtifactBytes, ArtifactRef, SCHEME};
use haft_core::{CallContext, CallError};
use serde_json::Value;

use crate::config::BodyType;

/// Maximum total size of the files in one request.
const LARGEST: u64 = 64 << 20;

/// The files that a body refers to, by reference text.
#[derive(Default)]
pub(crate) struct Files(Vec<(String, ArtifactBytes)>);

impl Files {
    /// Reads all files that a body refers to.
    pub(crate) async fn of(body: &Value, kind: BodyType, context: &CallContext) -> Result<Self, CallError> {
        let mut files = Self::default();
        let mut room = LARGEST;
        for text in named(body, kind) {
            let Some(reference) = ArtifactRef::parse(text) else { continue };
            if files.get(text).is_none() {
                let file = context.artifact(&reference, room).await?;
                room = room.saturating_sub(file.bytes.len() as u64);
                files.0.push((text.to_owned(), file));
            }
        }
        Ok(files)
    }

    /// The file that a value refers to, if any.
    pub(crate) fn of_value(&self, value: &Value) -> Option<&ArtifactBytes> {
        value.as_str().and_then(|text| self.get(text))
    }

    fn get(&self, text: &str) -> Option<&ArtifactBytes> {
        self.0.iter().find(|(known, _)| known == text).map(|(_, file)| file)
    }
}

/// Returns true if bodies of this type may contain files.
pub(crate) fn may_stand_in(kind: BodyType) -> bool {
    match kind {
        BodyType::Binary | BodyType::Multipart => true,
        BodyType::Json | BodyType::Form | BodyType::Text => false,
    }
}

/// Texts at positions where files are allowed, which look like file references.
pub(crate) fn named(body: &Value, kind: BodyType) -> Vec<&str> {
    let values: Vec<&Value> = match kind {
        BodyType::Binary => vec![body],
        BodyType::Multipart => {
            let fields = body.as_object().into_iter().flatten();
            fields.flat_map(|(_, field)| parts(field)).collect()
        }
        BodyType::Json | BodyType::Form | BodyType::Text => Vec::new(),
    };
    values.into_iter().filter_map(Value::as_str).filter(|text| text.starts_with(SCHEME)).collect()
}

/// The contents of the parts of a field.
fn parts(field: &Value) -> Vec<&Value> {
    match field.as_array() {
        Some(items) => items.iter().filter_map(content).collect(),
        None => content(field).into_iter().collect(),
    }
}

/// The content of a part; for an object with `filename`, its `content`.
fn content(part: &Value) -> Option<&Value> {
    match part.as_object() {
        Some(file) => file.get("content").filter(|_| file.contains_key("filename")),
        None => Some(part),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn file_references_are_found_only_in_binary_and_multipart_bodies() {
        let cases = [
            (json!("artifact://a"), BodyType::Binary, vec!["artifact://a"]),
            (json!("see artifact://a"), BodyType::Binary, vec![]),
            (json!({"base64": "artifact://a"}), BodyType::Binary, vec![]),
            (json!("artifact://a"), BodyType::Text, vec![]),
            (json!({"file": "artifact://a"}), BodyType::Json, vec![]),
            (json!({"file": "artifact://a"}), BodyType::Form, vec![]),
            (
                json!({"file": "artifact://a", "files": ["artifact://b", 1, "x"], "meta": {"content": "artifact://c"},
                       "named": {"filename": "n.txt", "content": "artifact://d"}, "none": null}),
                BodyType::Multipart,
                vec!["artifact://a", "artifact://b", "artifact://d"],
            ),
        ];
        for (body, kind, expected) in cases {
            assert_eq!(named(&body, kind), expected, "{kind:?} {body}");
        }
    }
}
