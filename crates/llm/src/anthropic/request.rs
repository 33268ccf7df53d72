//! A request in the form of Anthropic's messages.

use serde_json::{Map, Value, json};

use crate::dialect::Body;
use crate::request::{Call, Image, ImageSource, ModelRequest, Part, Reasoning, ToolChoice, ToolResult, Turn};
use crate::schema::{Form, Offer};

/// It must be said how long an answer may be; every model of these years can do this much.
const USUAL_LENGTH: u32 = 8_192;

/// No answer may be chosen more freely; others go further.
const WARMEST: f64 = 1.0;

pub(crate) fn body(request: &ModelRequest) -> Body {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("model", request.model.as_str().into());
    set("max_tokens", request.longest_answer().unwrap_or(USUAL_LENGTH).into());
    if let Some(system) = request.system.as_ref().filter(|system| !system.trim().is_empty()) {
        set("system", system.as_str().into());
    }
    set("messages", messages(&request.turns));
    set("stream", true.into());
    if let Some(temperature) = request.temperature {
        set("temperature", temperature.min(WARMEST).into());
    }
    let Offer { tools, left_out } = Offer::of(&request.tools, Form::Anthropic);
    if !tools.is_empty() {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        set("tool_choice", choice(request, &names));
        let written = tools.into_iter().map(
            |tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}),
        );
        set("tools", written.collect());
    }
    Body { json: Value::Object(fields), left_out }
}

fn choice(request: &ModelRequest, offered: &[&str]) -> Value {
    let mut choice = match &request.tool_choice {
        ToolChoice::None => return json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Tool(name) if offered.contains(&name.as_str()) => json!({"type": "tool", "name": name}),
        ToolChoice::Auto | ToolChoice::Tool(_) => json!({"type": "auto"}),
    };
    if !request.parallel_tool_calls {
        choice["disable_parallel_tool_use"] = true.into();
    }
    choice
}

/// Results are the user's words here, and neighbours of one role are one message.
fn messages(turns: &[Turn]) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in turns {
        let (role, blocks) = match turn {
            Turn::User { parts } => ("user", parts.iter().filter_map(part).collect()),
            Turn::Assistant { text, reasoning, calls } => {
                ("assistant", assistant(text, reasoning.as_ref(), calls))
            }
            Turn::ToolResults { results } => ("user", results.iter().map(result).collect::<Vec<_>>()),
        };
        // A message without anything in it is refused.
        if blocks.is_empty() {
            continue;
        }
        match messages.last_mut() {
            Some((last, before)) if *last == role => before.extend(blocks),
            Some(_) | None => messages.push((role, blocks)),
        }
    }
    messages.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

/// A text of nothing but space is refused.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn part(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } => text_block(text),
        Part::Image(Image { media_type, source }) => {
            let source = match source {
                ImageSource::Data(data) => json!({"type": "base64", "media_type": media_type, "data": data}),
                ImageSource::Url(url) => json!({"type": "url", "url": url}),
            };
            Some(json!({"type": "image", "source": source}))
        }
    }
}

fn assistant(text: &str, reasoning: Option<&Reasoning>, calls: &[Call]) -> Vec<Value> {
    // Thoughts of somebody else have no signature.
    let thought = reasoning.and_then(|reasoning| {
        let signature = reasoning.signature.as_ref()?;
        Some(json!({"type": "thinking", "thinking": reasoning.text, "signature": signature}))
    });
    let calls = calls.iter().map(|call| {
        json!({"type": "tool_use", "id": id(&call.id), "name": call.name, "input": call.arguments_object()})
    });
    thought.into_iter().chain(text_block(text)).chain(calls).collect()
}

fn result(result: &ToolResult) -> Value {
    let mut block =
        json!({"type": "tool_result", "tool_use_id": id(&result.call_id), "content": result.content});
    if result.is_error {
        block["is_error"] = true.into();
    }
    block
}

/// An id of another provider may have characters that are refused here.
fn id(id: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    id.chars().map(|character| if fits(character) { character } else { '_' }).collect()
}
