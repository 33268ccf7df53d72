//! Results of calls as the journal stores them and the model reads them: complete, or truncated.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, CallId, ErrorKind, Locale, ToolExecutionResult};
use serde_json::{Map, Value, json};

/// Maximum size of a complete result, in bytes.
const MAX_SIZE: usize = 32 << 10;

/// Size of the beginning that a truncated result contains, in bytes.
const HEAD: usize = 8 << 10;

/// Maximum number of fields of an object in a shape, and maximum depth of a shape.
const MAX_FIELDS: usize = 24;
const MAX_DEPTH: usize = 3;

/// A result in its API form.
pub(crate) fn to_json(result: &ToolExecutionResult, locale: Locale) -> Value {
    serde_json::to_value(result.localized(locale)).unwrap_or_default()
}

/// The result of a call that failed before it reached its tool.
pub(crate) fn failed(call_id: &CallId, name: &str, error: CallError, locale: Locale) -> Value {
    let result = ToolExecutionResult {
        call_id: call_id.clone(),
        tool_name: name.into(),
        outcome: Err(error),
        execution_time: Duration::ZERO,
        attempts: 0,
        cached: false,
    };
    to_json(&result, locale)
}

/// Reads a stored result for listeners. Its texts stay in the language in which they were stored.
pub(crate) fn from_json(stored: &Value) -> Option<ToolExecutionResult> {
    let outcome = match (stored["success"].as_bool()?, &stored["error"]) {
        (true, _) => Ok(Arc::new(stored["data"].clone())),
        (false, error) => {
            let kind = serde_json::from_value(error["kind"].clone()).unwrap_or(ErrorKind::Internal);
            Err(CallError::text(kind, error["message"].as_str().unwrap_or_default()))
        }
    };
    Some(ToolExecutionResult {
        call_id: stored["callId"].as_str()?.parse().ok()?,
        tool_name: stored["toolName"].as_str()?.into(),
        outcome,
        execution_time: Duration::from_millis(stored["executionTime"].as_u64().unwrap_or_default()),
        attempts: stored["attempts"].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or_default(),
        cached: stored["cached"].as_bool().unwrap_or_default(),
    })
}

/// The result of a tool of the chat loop itself.
pub(crate) fn succeeded(call_id: &CallId, name: &str, data: Value) -> Value {
    json!({
        "success": true, "data": data, "callId": call_id, "toolName": name,
        "executionTime": 0, "attempts": 1, "cached": false,
    })
}

/// Returns the text of a result that is too large for a model. Returns `None` for other results.
pub(crate) fn too_large(result: &Value) -> Option<String> {
    let data = result.get("data")?;
    let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
    (text.len() > MAX_SIZE).then_some(text)
}

/// Replaces a result by its beginning, its shape, and the handle of the complete result.
pub(crate) fn truncate(result: &mut Value, text: &str, handle: Option<String>) {
    let shape = result.get("data").map(|data| shape(data, 0));
    let how = match &handle {
        Some(_) => {
            "The result is too large to be shown completely. Read further parts with read_result and its handle. Tools that accept files accept the handle."
        }
        None => "The result is too large to be shown completely.",
    };
    let mut shown = json!({
        "note": how,
        "size": text.len(),
        "shape": shape,
        "handle": handle,
        "head": head(text, HEAD),
    });
    // The cost of another agent's response counts, even if the response is truncated.
    for cost in ["calls", "tokens"] {
        if let Some(count) = result["data"][cost].as_u64() {
            shown[cost] = json!(count);
        }
    }
    result["data"] = shown;
}

/// The beginning of a text with at most `most` bytes.
pub(crate) fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Describes the types and sizes of a value.
fn shape(value: &Value, depth: usize) -> Value {
    match value {
        Value::Null => json!("null"),
        Value::Bool(_) => json!("boolean"),
        Value::Number(_) => json!("number"),
        Value::String(text) => json!(format!("text of {} characters", text.chars().count())),
        Value::Array(items) if depth >= MAX_DEPTH => json!(format!("list of {}", items.len())),
        Value::Array(items) => {
            let each = items.first().map(|item| shape(item, depth + 1));
            json!({"list": items.len(), "each": each})
        }
        Value::Object(fields) if depth >= MAX_DEPTH => json!(format!("object of {} fields", fields.len())),
        Value::Object(fields) => {
            let named = fields.iter().take(MAX_FIELDS);
            let mut shown: Map<String, Value> =
                named.map(|(name, value)| (name.clone(), shape(value, depth + 1))).collect();
            if fields.len() > MAX_FIELDS {
                shown.insert("…".to_owned(), json!(format!("{} more", fields.len() - MAX_FIELDS)));
            }
            Value::Object(shown)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_result_is_read_for_listeners() {
        let error = CallError::text(haft_core::ErrorKind::Server, "down");
        let stored = failed(&"c1".parse().expect("an id"), "weather", error, Locale::En);
        let read = from_json(&stored).expect("a result");
        assert_eq!((read.call_id.as_str(), &*read.tool_name), ("c1", "weather"));
        assert_eq!(read.error().map(CallError::kind), Some(ErrorKind::Server));
        let stored = succeeded(&"c2".parse().expect("an id"), "weather", json!({"t": 1}));
        assert_eq!(from_json(&stored).and_then(|read| read.data().cloned()), Some(json!({"t": 1})));
    }

    #[test]
    fn large_result_is_truncated_to_its_head_shape_and_handle() {
        let rows: Vec<Value> = (0..2000).map(|n| json!({"id": n, "name": "天气"})).collect();
        let mut result = json!({"success": true, "data": {"rows": rows, "total": 2000}});
        let text = too_large(&result).expect("too large");
        truncate(&mut result, &text, Some("artifact://x".to_owned()));
        let data = &result["data"];
        assert_eq!(data["shape"]["rows"]["list"], 2000);
        assert_eq!(data["shape"]["rows"]["each"]["id"], "number");
        assert_eq!((&data["handle"], &data["size"]), (&json!("artifact://x"), &json!(text.len())));
        assert!(
            text.starts_with(data["head"].as_str().expect("text")) && result.to_string().len() < MAX_SIZE
        );
        assert_eq!(too_large(&json!({"success": true, "data": "short"})), None);
    }
}
