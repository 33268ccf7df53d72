//! Parses and validates a request for a message by Anthropic's rules.

use serde_json::Value;

use super::response::is_valid_signature;
use crate::model::request::{
    MessageRole, RecordedCall, RecordedMessage, RecordedModelRequest, RecordedResult, RecordedTool,
};
use crate::model::rules::{
    Checked, add_tool, closed_schema, filled, flag, items, length, list, name, number, object, object_schema,
    reject_unknown_fields, require, stops, temperature, text,
};

const FIELDS: [&str; 15] = [
    "model",
    "max_tokens",
    "system",
    "messages",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "tools",
    "tool_choice",
    "thinking",
    "metadata",
    "service_tier",
    "output_config",
];

/// Keywords that the schema of a response format may have.
const KEYWORDS: [&str; 15] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "allOf",
    "$ref",
    "$defs",
    "definitions",
    "description",
    "title",
    "default",
];

pub(in crate::model) fn read(
    body: &Value,
    mut request: RecordedModelRequest,
) -> Checked<RecordedModelRequest> {
    require(request.header("anthropic-version") == Some("2023-06-01"), || {
        "anthropic-version: header is required, with an existing version".to_owned()
    })?;
    let fields = object(body, "the request")?;
    reject_unknown_fields(fields, &FIELDS, |name| format!("{name}: Extra inputs are not permitted"))?;
    request.model = filled(&body["model"], "model")?.to_owned();
    request.max_tokens = length(&body["max_tokens"], "max_tokens")?;
    require(request.max_tokens.is_some(), || "max_tokens: Field required".to_owned())?;
    request.stream = flag(&body["stream"], "stream")?.unwrap_or_default();
    request.temperature = temperature(&body["temperature"], 1.0)?;
    match &body["system"] {
        Value::Null => {}
        Value::String(system) => request.add_system(system),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            for (number, block) in items(&body["system"], "system")?.iter().enumerate() {
                request.add_system(block_text(block, &format!("system.{number}"))?);
            }
        }
    }
    request.format = read_options(body, request.max_tokens)?;
    read_tools(body, &mut request)?;
    read_messages(items(&body["messages"], "messages")?, &mut request)?;
    Ok(request)
}

/// Validates the options. Returns the schema of the response format, if any.
fn read_options(body: &Value, length: Option<u64>) -> Checked<Option<Value>> {
    number(&body["top_p"], "top_p", 0.0, 1.0)?;
    number(&body["top_k"], "top_k", 0.0, 1e9)?;
    stops(&body["stop_sequences"], "stop_sequences", 8_191)?;
    let thinking = &body["thinking"];
    match thinking["type"].as_str() {
        Some("enabled") => {
            let budget = thinking["budget_tokens"].as_u64().unwrap_or_default();
            require(budget >= 1_024, || {
                "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".to_owned()
            })?;
            require(Some(budget) < length, || {
                "`max_tokens` must be greater than `thinking.budget_tokens`.".to_owned()
            })?;
            require(body["temperature"].is_null() || body["temperature"].as_f64() == Some(1.0), || {
                "`temperature` may only be set to 1 when thinking is enabled.".to_owned()
            })?;
        }
        Some("disabled" | "adaptive") => {}
        None if thinking.is_null() => {}
        Some(_) | None => {
            return Err(format!("thinking: Input tag {} is unknown", thinking["type"]));
        }
    }
    let config = &body["output_config"];
    if config.is_null() {
        return Ok(None);
    }
    reject_unknown_fields(object(config, "output_config")?, &["format", "effort"], |name| {
        format!("output_config.{name}: Extra inputs are not permitted")
    })?;
    let effort = &config["effort"];
    let is_effort =
        effort.as_str().is_some_and(|word| ["low", "medium", "high", "xhigh", "max"].contains(&word));
    require(effort.is_null() || is_effort, || format!("output_config.effort: {effort} is unknown"))?;
    let format = &config["format"];
    if format.is_null() {
        return Ok(None);
    }
    require(format["type"] == "json_schema", || {
        "output_config.format.type: Input should be 'json_schema'".to_owned()
    })?;
    let old = body["model"].as_str().is_some_and(|model| model.contains("claude-3"));
    require(!old, || "output_config.format: This model does not support structured outputs.".to_owned())?;
    let takes = |name: &str| KEYWORDS.contains(&name) || name == "format";
    closed_schema(&format["schema"], "output_config.format.schema", false, &takes)?;
    Ok(Some(format["schema"].clone()))
}

fn read_tools(body: &Value, request: &mut RecordedModelRequest) -> Checked<()> {
    for (number, tool) in list(&body["tools"], "tools")?.iter().enumerate() {
        let at = format!("tools.{number}.custom");
        let known = ["type", "name", "description", "input_schema", "cache_control", "strict"];
        reject_unknown_fields(object(tool, &at)?, &known, |name| {
            format!("{at}.{name}: Extra inputs are not permitted")
        })?;
        let name = name(&tool["name"], &format!("{at}.name"))?.to_owned();
        let schema = tool["input_schema"].clone();
        object_schema(&schema, &format!("{at}.input_schema"))?;
        let properties = schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys());
        for property in properties {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
            require((1..=64).contains(&property.len()) && property.bytes().all(fits), || {
                format!(
                    "{at}.input_schema.properties: '{property}' does not match '^[a-zA-Z0-9_.-]{{1,64}}$'"
                )
            })?;
        }
        let description = tool["description"].as_str().unwrap_or_default().to_owned();
        add_tool(&mut request.tools, RecordedTool { name, description, schema })?;
    }
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return Ok(());
    }
    require(!request.tools.is_empty(), || {
        "tool_choice: may only be specified while providing tools".to_owned()
    })?;
    let word = match choice["type"].as_str() {
        Some("auto") => "auto",
        Some("any") => "required",
        Some("none") => "none",
        Some("tool") => text(&choice["name"], "tool_choice.name")?,
        Some(_) | None => return Err(format!("tool_choice.type: {} is unknown", choice["type"])),
    };
    require(choice["type"] != "tool" || request.tool_names().contains(&word), || {
        format!("Tool '{word}' not found in provided tools")
    })?;
    request.tool_choice = Some(word.to_owned());
    Ok(())
}

fn read_messages(messages: &[Value], request: &mut RecordedModelRequest) -> Checked<()> {
    let mut open: Vec<String> = Vec::new();
    let mut all_ids: Vec<String> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let at = format!("messages.{number}");
        reject_unknown_fields(object(message, &at)?, &["role", "content"], |name| {
            format!("{at}.{name}: Extra inputs are not permitted")
        })?;
        let expected = if number % 2 == 0 { "user" } else { "assistant" };
        require(message["role"] == expected, || {
            format!(
                "messages: first message must use the \"user\" role, and roles must alternate between \
                 \"user\" and \"assistant\"; {at} is of {}",
                message["role"]
            )
        })?;
        if expected == "assistant" {
            let parsed = assistant(&message["content"], &at)?;
            open = parsed.calls.iter().map(|call| call.id.clone()).collect();
            for id in &open {
                require(!all_ids.contains(id), || format!("{at}: `tool_use` ids must be unique: {id}"))?;
                all_ids.push(id.clone());
            }
            request.messages.push(parsed);
        } else {
            read_user(&message["content"], &at, std::mem::take(&mut open), request)?;
        }
    }
    require(open.is_empty(), || unanswered(&open))?;
    // Models before 4.6 would continue the assistant's message.
    require(messages.len() % 2 == 1, || {
        "This model does not support assistant message prefill. The conversation must end with a user message."
            .to_owned()
    })?;
    require(all_ids.is_empty() || !request.tools.is_empty(), || {
        "Requests which have `tool_use` or `tool_result` blocks in messages must define tools.".to_owned()
    })
}

fn unanswered(open: &[String]) -> String {
    format!(
        "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block \
         must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    )
}

/// Returns the text of a text block, which must not be blank.
fn block_text<'a>(block: &'a Value, at: &str) -> Checked<&'a str> {
    require(block["type"] == "text", || {
        format!("{at}: a block of type {} is not allowed here", block["type"])
    })?;
    let text = text(&block["text"], &format!("{at}.text"))?;
    require(!text.trim().is_empty(), || {
        format!("{at}: text content blocks must contain non-whitespace text")
    })?;
    Ok(text)
}

fn assistant(content: &Value, at: &str) -> Checked<RecordedMessage> {
    let mut parsed = RecordedMessage::of(MessageRole::Assistant);
    if let Value::String(text) = content {
        require(!text.trim().is_empty(), || format!("{at}: all messages must have non-empty content"))?;
        parsed.text.clone_from(text);
    } else {
        for (number, block) in items(content, &format!("{at}.content"))?.iter().enumerate() {
            let at = format!("{at}.content.{number}");
            match block["type"].as_str() {
                Some("tool_use") => parsed.calls.push(call(block, &at)?),
                Some("thinking") => {
                    let thought = text(&block["thinking"], &format!("{at}.thinking.thinking"))?;
                    let signature = filled(&block["signature"], &format!("{at}.thinking.signature"))?;
                    require(is_valid_signature(thought, signature), || {
                        format!("{at}: Invalid `signature` in `thinking` block")
                    })?;
                }
                Some("redacted_thinking") => {
                    filled(&block["data"], &format!("{at}.redacted_thinking.data"))?;
                }
                Some(_) | None => parsed.add_text(block_text(block, &at)?),
            }
        }
    }
    Ok(parsed)
}

fn call(block: &Value, at: &str) -> Checked<RecordedCall> {
    let id = filled(&block["id"], &format!("{at}.tool_use.id"))?.to_owned();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    require(id.bytes().all(fits), || {
        format!("{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$': {id}")
    })?;
    let name = name(&block["name"], &format!("{at}.tool_use.name"))?.to_owned();
    let arguments = block["input"].clone();
    require(arguments.is_object(), || format!("{at}.tool_use.input: Input should be a valid dictionary"))?;
    Ok(RecordedCall { id, name, arguments })
}

/// Parses a user message, which starts with the results of all pending calls.
fn read_user(
    content: &Value,
    at: &str,
    mut open: Vec<String>,
    request: &mut RecordedModelRequest,
) -> Checked<()> {
    let mut parsed = RecordedMessage::of(MessageRole::User);
    let mut results = Vec::new();
    if let Value::String(text) = content {
        require(!text.trim().is_empty(), || format!("{at}: all messages must have non-empty content"))?;
        parsed.text.clone_from(text);
    } else {
        for (number, block) in items(content, &format!("{at}.content"))?.iter().enumerate() {
            let at = format!("{at}.content.{number}");
            match block["type"].as_str() {
                Some("tool_result") => {
                    require(parsed == RecordedMessage::of(MessageRole::User), || {
                        format!("{at}: `tool_result` blocks must come first in a message")
                    })?;
                    results.push(result(block, &at, &mut open)?);
                }
                Some("image") => {
                    let source = &block["source"];
                    let fields: &[&str] =
                        if source["type"] == "url" { &["url"] } else { &["data", "media_type"] };
                    for field in fields {
                        filled(&source[field], &format!("{at}.image.source.{field}"))?;
                    }
                    parsed.images += 1;
                }
                Some(_) | None => parsed.add_text(block_text(block, &at)?),
            }
        }
    }
    require(open.is_empty(), || unanswered(&open))?;
    if !results.is_empty() {
        request.add_results(results);
    }
    if parsed != RecordedMessage::of(MessageRole::User) {
        request.messages.push(parsed);
    }
    Ok(())
}

fn result(block: &Value, at: &str, open: &mut Vec<String>) -> Checked<RecordedResult> {
    let id = text(&block["tool_use_id"], &format!("{at}.tool_result.tool_use_id"))?;
    let index = open.iter().position(|open| open == id).ok_or_else(|| {
        format!(
            "{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block \
             must have one corresponding `tool_use` block in the previous message."
        )
    })?;
    let mut parsed = RecordedMessage::of(MessageRole::Tool);
    match &block["content"] {
        Value::Null => {}
        Value::String(text) => parsed.text.clone_from(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            for part in items(&block["content"], &format!("{at}.tool_result.content"))? {
                if part["type"] != "image" {
                    parsed.add_text(block_text(part, at)?);
                }
            }
        }
    }
    let is_error = flag(&block["is_error"], &format!("{at}.tool_result.is_error"))?.unwrap_or_default();
    Ok(RecordedResult { call_id: open.remove(index), name: None, content: parsed.text, is_error })
}
