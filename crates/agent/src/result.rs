//! Results of calls as the journal keeps them and the model reads them: whole, or cut to what it can use.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, CallId, ErrorKind, Locale, ToolExecutionResult};
use serde_json::{Map, Value, json};

/// A result that is larger is cut.
const LARGEST: usize = 32 << 10;

/// So much of it is shown from its beginning, in bytes.
const HEAD: usize = 8 << 10;

/// So many fields of a value are named in its shape, and so deep.
const MOST_FIELDS: usize = 24;
const DEEPEST: usize = 3;

/// A result as doors show it.
pub(crate) fn shown(result: &ToolExecutionResult, locale: Locale) -> Value {
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
    shown(&result, locale)
}

/// A result that was kept, as those hear of it who listen. Its words are those it had then.
pub(crate) fn heard(kept: &Value) -> Option<ToolExecutionResult> {
    let outcome = match (kept["success"].as_bool()?, &kept["error"]) {
        (true, _) => Ok(Arc::new(kept["data"].clone())),
        (false, error) => {
            let kind = serde_json::from_value(error["kind"].clone()).unwrap_or(ErrorKind::Internal);
            Err(CallError::text(kind, error["message"].as_str().unwrap_or_default()))
        }
    };
    Some(ToolExecutionResult {
        call_id: kept["callId"].as_str()?.parse().ok()?,
        tool_name: kept["toolName"].as_str()?.into(),
        outcome,
        execution_time: Duration::from_millis(kept["executionTime"].as_u64().unwrap_or_default()),
        attempts: kept["attempts"].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or_default(),
        cached: kept["cached"].as_bool().unwrap_or_default(),
    })
}

/// What the loop itself answers.
pub(crate) fn answered(call_id: &CallId, name: &str, data: Value) -> Value {
    json!({
        "success": true, "data": data, "callId": call_id, "toolName": name,
        "executionTime": 0, "attempts": 1, "cached": false,
    })
}

/// The text of a result that is too large to be shown whole.
pub(crate) fn too_large(result: &Value) -> Option<String> {
    let data = result.get("data")?;
    let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
    (text.len() > LARGEST).then_some(text)
}

/// Puts in the place of a result its beginning, its shape, and where the whole is.
pub(crate) fn cut(result: &mut Value, text: &str, handle: Option<String>) {
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
    // What another agent took to answer counts, however long its answer is.
    for cost in ["calls", "tokens"] {
        if let Some(count) = result["data"][cost].as_u64() {
            shown[cost] = json!(count);
        }
    }
    result["data"] = shown;
}

/// The beginning of a text, not longer than so many bytes.
pub(crate) fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// What a value is made of.
fn shape(value: &Value, depth: usize) -> Value {
    match value {
        Value::Null => json!("null"),
        Value::Bool(_) => json!("boolean"),
        Value::Number(_) => json!("number"),
        Value::String(text) => json!(format!("text of {} characters", text.chars().count())),
        Value::Array(items) if depth >= DEEPEST => json!(format!("list of {}", items.len())),
        Value::Array(items) => {
            let each = items.first().map(|item| shape(item, depth + 1));
            json!({"list": items.len(), "each": each})
        }
        Value::Object(fields) if depth >= DEEPEST => json!(format!("object of {} fields", fields.len())),
        Value::Object(fields) => {
            let named = fields.iter().take(MOST_FIELDS);
            let mut shown: Map<String, Value> =
                named.map(|(name, value)| (name.clone(), shape(value, depth + 1))).collect();
            if fields.len() > MOST_FIELDS {
                shown.insert("…".to_owned(), json!(format!("{} more", fields.len() - MOST_FIELDS)));
            }
            Value::Object(shown)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_was_kept_is_heard_as_it_was() {
        let error = CallError::text(haft_core::ErrorKind::Server, "down");
        let kept = failed(&"c1".parse().expect("an id"), "weather", error, Locale::En);
        let heard = heard(&kept).expect("a result");
        assert_eq!((heard.call_id.as_str(), &*heard.tool_name), ("c1", "weather"));
        assert_eq!(heard.error().map(CallError::kind), Some(ErrorKind::Server));
        let kept = answered(&"c2".parse().expect("an id"), "weather", json!({"t": 1}));
        assert_eq!(super::heard(&kept).and_then(|heard| heard.data().cloned()), Some(json!({"t": 1})));
    }

    #[test]
    fn a_large_result_is_cut_to_its_head_its_shape_and_its_handle() {
        let rows: Vec<Value> = (0..2000).map(|n| json!({"id": n, "name": "天气"})).collect();
        let mut result = json!({"success": true, "data": {"rows": rows, "total": 2000}});
        let text = too_large(&result).expect("too large");
        cut(&mut result, &text, Some("artifact://x".to_owned()));
        let data = &result["data"];
        assert_eq!(data["shape"]["rows"]["list"], 2000);
        assert_eq!(data["shape"]["rows"]["each"]["id"], "number");
        assert_eq!((&data["handle"], &data["size"]), (&json!("artifact://x"), &json!(text.len())));
        assert!(text.starts_with(data["head"].as_str().expect("text")) && result.to_string().len() < LARGEST);
        assert_eq!(too_large(&json!({"success": true, "data": "short"})), None);
    }
}
