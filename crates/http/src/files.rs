//! Files in bodies: `artifact://ID` where bytes are sent stands for the file that is kept under that id.
//!
//! They are read before a request is put together, for whoever calls; nothing is fetched over the network.

use haft_core::artifact::{ArtifactBytes, ArtifactRef, SCHEME};
use haft_core::{CallContext, CallError};
use serde_json::Value;

use crate::config::BodyType;

/// All files of one request together.
const LARGEST: u64 = 64 << 20;

/// The files that a body names, by the text that names each.
#[derive(Default)]
pub(crate) struct Files(Vec<(String, ArtifactBytes)>);

impl Files {
    /// Reads all files that a body names.
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

    /// The file that a value is, if it is one.
    pub(crate) fn of_value(&self, value: &Value) -> Option<&ArtifactBytes> {
        value.as_str().and_then(|text| self.get(text))
    }

    fn get(&self, text: &str) -> Option<&ArtifactBytes> {
        self.0.iter().find(|(known, _)| known == text).map(|(_, file)| file)
    }
}

/// Whether bodies of this kind may hold files.
pub(crate) fn may_stand_in(kind: BodyType) -> bool {
    match kind {
        BodyType::Binary | BodyType::Multipart => true,
        BodyType::Json | BodyType::Form | BodyType::Text => false,
    }
}

/// Texts that stand where a file may, and look as if they named one.
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

/// What the parts of a field hold.
fn parts(field: &Value) -> Vec<&Value> {
    match field.as_array() {
        Some(items) => items.iter().filter_map(content).collect(),
        None => content(field).into_iter().collect(),
    }
}

/// What a part holds: of a file that is given by its name, what stands for its content.
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
    fn files_are_looked_for_where_bytes_are_sent() {
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
