//! The body of a request for a response.

use haft_agent::{ChatMessage, ChatRole, MessagePart, ModelParameters};
use haft_core::{CallError, Message};
use haft_llm::ModelTool;
use serde_json::{Map, Value, json};

use crate::chat::messages::{BAD_ROLE, NOT_MESSAGES};
use crate::routes::v1::error::wrong;
use crate::routes::v1::ids::is_thought;
use crate::routes::v1::question::{Keep, keep};
use crate::routes::v1::reading::{Fields, UNSUPPORTED, call, check_calls, content, result};

/// Fields that are no options of the model, or stand for some under another name.
const READ_HERE: [&str; 20] = [
    "model",
    "input",
    "instructions",
    "stream",
    "stream_options",
    "store",
    "previous_response_id",
    "max_output_tokens",
    "temperature",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "metadata",
    "text",
    "reasoning",
    "top_logprobs",
    "include",
    "truncation",
    "conversation",
    "prompt",
];

/// What a body asks for.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) model: String,
    pub(super) is_streamed: bool,
    pub(super) is_stored: bool,
    pub(super) asking: ModelParameters,
    pub(super) instructions: Option<String>,
    pub(super) input: Vec<Item>,
    pub(super) tools: Vec<ModelTool>,
    pub(super) previous: Option<String>,
    pub(super) keep: Option<Keep>,
}

/// A part of the input.
#[derive(Debug, PartialEq)]
pub(super) enum Item {
    Said(ChatMessage),
    /// Words of an earlier answer, by the id they had there.
    Reference(String),
}

pub(super) async fn read(body: &Value) -> Result<Wish, CallError> {
    let fields = Fields::of(body)?;
    let model = fields.needed_text("model")?.to_owned();
    refuse_unsupported(&fields)?;
    let options = fields.options(&READ_HERE, options_within(&fields)?, option_path).await?;
    let most = fields.count("max_output_tokens")?;
    let input = input(fields.get("input").unwrap_or(&Value::Null))?;
    Ok(Wish {
        model,
        is_streamed: fields.truth("stream")?.unwrap_or_default(),
        is_stored: fields.truth("store")?.unwrap_or(true),
        asking: fields.asking(most, options)?,
        instructions: fields.text("instructions")?.filter(|words| !words.is_empty()).map(str::to_owned),
        input,
        tools: fields.tools(None)?,
        previous: fields.text("previous_response_id")?.map(str::to_owned),
        keep: keep(&fields)?,
    })
}

/// Options within other fields, under the names that completions have for them. Unknown members keep their path.
fn options_within(fields: &Fields<'_>) -> Result<Map<String, Value>, CallError> {
    let mut options = Map::new();
    let mut set = |name: &str, value: &Value| {
        if !value.is_null() {
            options.insert(name.to_owned(), value.clone());
        }
    };
    for (name, value) in fields.members("reasoning")?.into_iter().flatten() {
        match name.as_str() {
            "effort" => set("reasoning_effort", value),
            // Thoughts are shown as summaries in any case.
            "summary" | "generate_summary" => {}
            unknown => set(&format!("reasoning.{unknown}"), value),
        }
    }
    for (name, value) in fields.members("text")?.into_iter().flatten() {
        match name.as_str() {
            "verbosity" => set("verbosity", value),
            "format" if value["type"] == "json_schema" => {
                let mut schema = value.clone();
                schema.as_object_mut().map(|fields| fields.shift_remove("type"));
                set("response_format", &json!({"type": "json_schema", "json_schema": schema}));
            }
            "format" => set("response_format", value),
            unknown => set(&format!("text.{unknown}"), value),
        }
    }
    let count = fields.get("top_logprobs").cloned().unwrap_or_else(|| Value::from(0));
    let included = fields.get("include").and_then(Value::as_array);
    if count != 0
        || included.is_some_and(|items| items.iter().any(|item| item == "message.output_text.logprobs"))
    {
        // The first of them is named if a provider has neither.
        set("top_logprobs", &count);
        set("logprobs", &Value::Bool(true));
    }
    Ok(options)
}

/// Returns the path of an option in the body.
pub(super) fn option_path(path: &str) -> String {
    if let Some(within) = path.strip_prefix("response_format") {
        return format!("text.format{}", within.strip_prefix(".json_schema").unwrap_or(within));
    }
    match path {
        "verbosity" => "text.verbosity".to_owned(),
        "reasoning_effort" => "reasoning.effort".to_owned(),
        "logprobs" => "include".to_owned(),
        other => other.to_owned(),
    }
}

/// Refuses fields that say what is asked, and names that this API does not have for fields that it has.
fn refuse_unsupported(fields: &Fields<'_>) -> Result<(), CallError> {
    let names = ["conversation", "prompt", "messages", "max_tokens", "max_completion_tokens"];
    names.into_iter().try_for_each(|name| fields.refuse(name))
}

fn input(given: &Value) -> Result<Vec<Item>, CallError> {
    let none = || wrong("input", Message::new(&NOT_MESSAGES));
    let items = match given {
        Value::String(text) if !text.is_empty() => {
            return Ok(vec![Item::Said(ChatMessage::text(ChatRole::User, text))]);
        }
        Value::Array(items) if !items.is_empty() => items,
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => return Err(none()),
    };
    let mut input = Vec::new();
    for (place, item) in items.iter().enumerate() {
        match read_item(&format!("input.{place}"), item)? {
            // What an assistant says and calls before anybody answers is one message.
            Some(Item::Said(message)) if message.role == ChatRole::Assistant => match input.last_mut() {
                Some(Item::Said(last)) if last.role == ChatRole::Assistant => {
                    let has_calls =
                        message.content.iter().any(|piece| matches!(piece, MessagePart::Call { .. }));
                    last.content.extend(message.content);
                    if has_calls {
                        check_calls(&format!("input.{place}"), last)?;
                    }
                }
                Some(_) | None => input.push(Item::Said(message)),
            },
            Some(item) => input.push(item),
            None => {}
        }
    }
    Ok(input)
}

/// One item; nothing where it says nothing to anybody.
fn read_item(at: &str, item: &Value) -> Result<Option<Item>, CallError> {
    let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let kind = match (item["type"].as_str(), item["role"].as_str()) {
        (Some(kind), _) => kind,
        (None, Some(_)) => "message",
        (None, None) => "item_reference",
    };
    match kind {
        "message" => message(at, item),
        "function_call" => {
            let arguments = item["arguments"].as_str().unwrap_or("{}");
            let call = call(&text("call_id"), &text("name"), arguments);
            Ok(Some(Item::Said(ChatMessage { role: ChatRole::Assistant, name: None, content: vec![call] })))
        }
        "function_call_output" => {
            let result = MessagePart::Result { call: text("call_id"), text: result(at, &item["output"])? };
            Ok(Some(Item::Said(ChatMessage { role: ChatRole::Tool, name: None, content: vec![result] })))
        }
        "reasoning" => Ok(None),
        "item_reference" if item["id"].as_str().is_some_and(is_thought) => Ok(None),
        "item_reference" if item["id"].is_string() => Ok(Some(Item::Reference(text("id")))),
        _ => Err(wrong(at, Message::new(&UNSUPPORTED))),
    }
}

fn message(at: &str, item: &Value) -> Result<Option<Item>, CallError> {
    let role = match item["role"].as_str() {
        Some("system" | "developer") => ChatRole::System,
        Some("user") => ChatRole::User,
        Some("assistant") => ChatRole::Assistant,
        Some(_) | None => {
            let roles = "system, developer, user, assistant";
            return Err(wrong(format!("{at}.role"), Message::new(&BAD_ROLE).with("roles", roles)));
        }
    };
    let content = content(at, &item["content"])?;
    Ok((!content.is_empty()).then_some(Item::Said(ChatMessage { role, name: None, content })))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn calls_belong_to_the_words_before_them() {
        let body = json!({"model": "m", "input": [
            {"role": "user", "content": "weather?"},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "item_reference", "id": "rs_2"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "A moment."}]},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "dry"},
            {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "wet"}]},
            {"type": "item_reference", "id": "msg_1"},
        ]});
        let wish = read(&body).await.expect("good");
        let sizes: Vec<usize> = wish
            .input
            .iter()
            .map(|item| match item {
                Item::Said(message) => message.content.len(),
                Item::Reference(_) => 0,
            })
            .collect();
        assert_eq!(sizes, [1, 3, 1, 1, 0]);
        assert!(wish.is_stored && !wish.is_streamed);
    }

    #[tokio::test]
    async fn system_messages_stay_where_they_are_among_the_input() {
        let body = json!({"model": "m", "instructions": "Be polite.", "input": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "system", "content": "From now on in French."},
        ]});
        let wish = read(&body).await.expect("good");
        let expected = [
            (ChatRole::System, "Be brief."),
            (ChatRole::User, "hi"),
            (ChatRole::System, "From now on in French."),
        ];
        assert_eq!(wish.input, expected.map(|(role, text)| Item::Said(ChatMessage::text(role, text))));
        assert_eq!(wish.instructions.as_deref(), Some("Be polite."));
    }

    #[tokio::test]
    async fn what_is_wrong_is_said_where_it_is() {
        for (body, expected) in [
            (json!({"model": "m"}), "input"),
            (json!({"model": "m", "input": []}), "input"),
            (json!({"model": "m", "input": [{"type": "web_search_call"}]}), "input.0"),
            (json!({"model": "m", "input": [{"role": "tool", "content": "x"}]}), "input.0.role"),
            (json!({"model": "m", "input": "x", "background": true}), "background"),
            (json!({"model": "m", "input": "x", "max_tool_calls": 2}), "max_tool_calls"),
            (json!({"model": "m", "input": "x", "prompt": {"id": "p"}, "drop_params": true}), "prompt"),
            (json!({"model": "m", "input": "x", "max_tokens": 9}), "max_tokens"),
            (json!({"model": "m", "input": "x", "top_logprobs": "2"}), "top_logprobs"),
            (json!({"model": "m", "input": "x", "top_logprobs": 1.5}), "top_logprobs"),
            (json!({"model": "m", "input": "x", "reasoning": "high"}), "reasoning"),
            (json!({"model": "m", "input": "x", "reasoning": {"budget": 9}}), "reasoning.budget"),
            (json!({"model": "m", "input": "x", "text": "short"}), "text"),
            (json!({"model": "m", "input": "x", "text": {"tone": "dry"}}), "text.tone"),
            (json!({"model": "m", "input": "x", "text": {"format": {"type": "json_schema"}}}), "text.format"),
            (json!({"model": "m", "input": "x", "text": {"verbosity": 3}}), "text.verbosity"),
            (json!({"model": "m", "input": "x", "reasoning": {"effort": 1}}), "reasoning.effort"),
            (json!({"model": "m", "input": "x", "tools": [{"type": "web_search_preview"}]}), "tools.0"),
        ] {
            let violations = match read(&body).await {
                Ok(wish) => wish.asking.options.check_supported().expect_err("refused"),
                Err(error) => error.violations().to_vec(),
            };
            assert_eq!(violations[0].path, expected, "{body}");
        }
    }

    #[tokio::test]
    async fn unsupported_fields_are_options_that_drop_params_leaves_out() {
        let body = json!({
            "model": "m", "input": "x", "drop_params": true, "background": true, "max_tool_calls": 2,
            "context_management": [{}], "reasoning": {"effort": "low", "summary": "auto", "budget": 9},
            "text": {"verbosity": "low", "tone": "dry"},
        });
        let mut options = read(&body).await.expect("good").asking.options;
        assert_eq!(options.check_supported(), Ok(()));
        let mut dropped = options.take_unsupported();
        dropped.sort();
        let expected =
            ["background", "context_management", "max_tool_calls", "reasoning.budget", "text.tone"];
        assert_eq!(dropped, expected);
        let left: Vec<&str> = options.iter().map(|(name, _)| name).collect();
        assert_eq!(left, ["reasoning_effort", "verbosity"]);
    }
}
