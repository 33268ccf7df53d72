//! Files in a conversation: images for the model, and further parts of large results.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::{ArtifactBytes, CallError, ErrorKind, Message};
use haft_llm::{Image, ImageSource};
use serde_json::{Map, Value, json};

use crate::call_result::{failed, head, succeeded};
use crate::transcript::StepCall;
use crate::turn_runner::TurnRunner;

haft_core::templates! {
    NOT_TEXT = "chat.notText",
        "{handle} is not text.",
        "{handle} 不是文本";
}

/// Maximum size of one part, in bytes.
const PIECE: usize = 16 << 10;

/// Maximum size of a file that is read.
const LARGEST: u64 = 64 << 20;

/// A file as a model is shown it.
pub(crate) fn as_image(file: &ArtifactBytes) -> Image {
    Image {
        media_type: file.media_type.clone(),
        detail: None,
        source: ImageSource::Data(STANDARD.encode(&file.bytes)),
    }
}

impl TurnRunner<'_, '_> {
    /// Returns a part of a result that was too large to be shown completely.
    pub(crate) async fn read_result(&self, call: &StepCall, fields: &Map<String, Value>) -> Value {
        let context = &self.context;
        let handle = fields.get("handle").and_then(Value::as_str).unwrap_or_default();
        let file = self.turn.conversations.0.host.read_file(context.owner(), handle, LARGEST).await;
        let text = file.and_then(|file| {
            let message = || Message::new(&NOT_TEXT).with("handle", handle);
            let not_text = |_| CallError::new(ErrorKind::Validation, message());
            String::from_utf8(file.bytes.to_vec()).map_err(not_text)
        });
        match text {
            Ok(text) => succeeded(&call.call_id, &call.name, piece(&text, fields)),
            Err(error) => failed(&call.call_id, &call.name, error, context.caller.locale),
        }
    }
}

fn piece(text: &str, fields: &Map<String, Value>) -> Value {
    let offset = fields.get("offset").and_then(Value::as_u64).and_then(|offset| usize::try_from(offset).ok());
    let offset = offset.unwrap_or_default();
    let start = text.char_indices().nth(offset).map_or(text.len(), |(at, _)| at);
    let rest = text.get(start..).unwrap_or_default();
    let wanted = fields.get("find").and_then(Value::as_str).filter(|wanted| !wanted.is_empty());
    let (found, is_found) = match wanted {
        None => (0, true),
        Some(wanted) => rest.find(wanted).map_or((0, false), |at| (at, true)),
    };
    if !is_found {
        return json!({"found": false, "offset": offset, "length": text.chars().count()});
    }
    let shown = head(rest.get(found..).unwrap_or_default(), PIECE);
    let offset = offset + rest.get(..found).unwrap_or_default().chars().count();
    let next = offset + shown.chars().count();
    let length = text.chars().count();
    json!({
        "text": shown, "offset": offset, "length": length,
        "nextOffset": (next < length).then_some(next),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_continues_at_an_offset_or_at_a_found_text() {
        let text = "天气".repeat(PIECE);
        let fields = |value: Value| value.as_object().cloned().expect("an object");
        let first = piece(&text, &fields(json!({})));
        let next = first["nextOffset"].as_u64().expect("more");
        let second = piece(&text, &fields(json!({"offset": next})));
        assert_eq!(second["offset"], next);
        let found = piece("one two three", &fields(json!({"find": "two"})));
        assert_eq!((&found["text"], &found["nextOffset"]), (&json!("two three"), &Value::Null));
        assert_eq!(piece("one", &fields(json!({"find": "two"})))["found"], false);
    }
}
