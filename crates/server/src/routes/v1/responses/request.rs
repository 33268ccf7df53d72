//! The body of a request for a response.

use haft_agent::{Asking, Message, Piece, Role};
use haft_core::{CallError, Message as Words};
use haft_llm::ToolDefinition;
use serde_json::Value;

use crate::chat::messages::{BAD_ROLE, NOT_MESSAGES};
use crate::routes::v1::error::wrong;
use crate::routes::v1::ids::is_thought;
use crate::routes::v1::question::{Keep, keep};
use crate::routes::v1::reading::{Fields, UNSUPPORTED, content, result};

/// What a body asks for.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) model: String,
    pub(super) is_streamed: bool,
    pub(super) is_stored: bool,
    pub(super) asking: Asking,
    pub(super) instructions: Option<String>,
    /// Instructions among the input.
    pub(super) system: Vec<String>,
    pub(super) input: Vec<Item>,
    pub(super) tools: Vec<ToolDefinition>,
    pub(super) previous: Option<String>,
    pub(super) keep: Option<Keep>,
}

/// A part of the input.
#[derive(Debug, PartialEq)]
pub(super) enum Item {
    Said(Message),
    /// Words of an earlier answer, by the id they had there.
    Reference(String),
}

pub(super) fn read(body: &Value) -> Result<Wish, CallError> {
    let fields = Fields::of(body)?;
    let model = fields.needed_text("model")?.to_owned();
    refuse_what_would_matter(&fields)?;
    let most = fields.count("max_output_tokens")?;
    let (system, input) = input(fields.get("input").unwrap_or(&Value::Null))?;
    Ok(Wish {
        model,
        is_streamed: fields.truth("stream")?.unwrap_or_default(),
        is_stored: fields.truth("store")?.unwrap_or(true),
        asking: fields.asking(most)?,
        instructions: fields.text("instructions")?.filter(|words| !words.is_empty()).map(str::to_owned),
        system,
        input,
        tools: fields.tools(None)?,
        previous: fields.text("previous_response_id")?.map(str::to_owned),
        keep: keep(&fields)?,
    })
}

/// Fields without which the answer would be another, and that no provider is told of here.
fn refuse_what_would_matter(fields: &Fields<'_>) -> Result<(), CallError> {
    fields.refuse("background", |is_wanted| *is_wanted == Value::Bool(false))?;
    fields.refuse("conversation", |_| false)?;
    fields.refuse("prompt", |_| false)?;
    fields.refuse("top_logprobs", |count| count.as_u64() == Some(0))?;
    fields.refuse("text", |text| {
        text["format"].is_null() || text["format"]["type"].as_str().is_some_and(|kind| kind == "text")
    })
}

fn input(given: &Value) -> Result<(Vec<String>, Vec<Item>), CallError> {
    let none = || wrong("input", Words::new(&NOT_MESSAGES));
    let items = match given {
        Value::String(text) if !text.is_empty() => {
            return Ok((Vec::new(), vec![Item::Said(Message::text(Role::User, text))]));
        }
        Value::Array(items) if !items.is_empty() => items,
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => return Err(none()),
    };
    let (mut system, mut input) = (Vec::new(), Vec::new());
    for (place, item) in items.iter().enumerate() {
        match read_item(&format!("input.{place}"), item)? {
            Some(Item::Said(message)) if message.role == Role::System => system.push(message.words()),
            // What an assistant says and calls before anybody answers is one message.
            Some(Item::Said(message)) if message.role == Role::Assistant => match input.last_mut() {
                Some(Item::Said(last)) if last.role == Role::Assistant => {
                    last.content.extend(message.content)
                }
                Some(_) | None => input.push(Item::Said(message)),
            },
            Some(item) => input.push(item),
            None => {}
        }
    }
    Ok((system, input))
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
            let arguments = item["arguments"].as_str().unwrap_or("{}").to_owned();
            let call = Piece::Call { id: text("call_id"), name: text("name"), arguments };
            Ok(Some(Item::Said(Message { role: Role::Assistant, content: vec![call] })))
        }
        "function_call_output" => {
            let result = Piece::Result { call: text("call_id"), text: result(at, &item["output"])? };
            Ok(Some(Item::Said(Message { role: Role::Tool, content: vec![result] })))
        }
        "reasoning" => Ok(None),
        "item_reference" if item["id"].as_str().is_some_and(is_thought) => Ok(None),
        "item_reference" if item["id"].is_string() => Ok(Some(Item::Reference(text("id")))),
        _ => Err(wrong(at, Words::new(&UNSUPPORTED))),
    }
}

fn message(at: &str, item: &Value) -> Result<Option<Item>, CallError> {
    let role = match item["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some(_) | None => {
            let roles = "system, developer, user, assistant";
            return Err(wrong(format!("{at}.role"), Words::new(&BAD_ROLE).with("roles", roles)));
        }
    };
    let content = content(at, &item["content"])?;
    Ok((!content.is_empty()).then_some(Item::Said(Message { role, content })))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_belong_to_the_words_before_them() {
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
        let wish = read(&body).expect("good");
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

    #[test]
    fn what_is_wrong_is_said_where_it_is() {
        for (body, expected) in [
            (json!({"model": "m"}), "input"),
            (json!({"model": "m", "input": []}), "input"),
            (json!({"model": "m", "input": [{"type": "web_search_call"}]}), "input.0"),
            (json!({"model": "m", "input": [{"role": "tool", "content": "x"}]}), "input.0.role"),
            (json!({"model": "m", "input": "x", "background": true}), "background"),
            (json!({"model": "m", "input": "x", "text": {"format": {"type": "json_schema"}}}), "text"),
            (json!({"model": "m", "input": "x", "tools": [{"type": "web_search_preview"}]}), "tools.0"),
        ] {
            let error = read(&body).expect_err("refused");
            assert_eq!(error.violations()[0].path, expected, "{body}");
        }
    }
}
