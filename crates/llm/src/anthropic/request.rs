//! A request in the form of Anthropic's messages.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::dialect::Body;
use crate::ids::{Ids, Rule};
use crate::request::{Call, Image, ImageSource, ModelRequest, Part, Reasoning, ToolChoice, ToolResult, Turn};
use crate::schema::{Form, Offer};
use crate::sides::{self, Side, Sides};

/// It must be said how long an answer may be; every model of these years can do this much.
const USUAL_LENGTH: u32 = 8_192;

/// The letters that an id of a call, or a name of a tool, may have.
const ID: Rule = Rule { fits, longest: usize::MAX };

const LONGEST_NAME: usize = 64;

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
    let named = if tools.is_empty() { named(&request.turns) } else { BTreeSet::new() };
    if !tools.is_empty() {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        set("tool_choice", choice(request, &names));
        let written = tools.into_iter().map(
            |tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}),
        );
        set("tools", written.collect());
    } else if !named.is_empty() {
        set("tool_choice", json!({"type": "none"}));
        let written = named.into_iter().map(|name| json!({"name": name, "input_schema": {"type": "object"}}));
        set("tools", written.collect());
    }
    Body { json: Value::Object(fields), left_out }
}

/// The tools that were called. A conversation with calls in it is refused when no tool is offered, though
/// nothing may be called any more.
fn named(turns: &[Turn]) -> BTreeSet<String> {
    let calls = turns.iter().flat_map(|turn| match turn {
        Turn::Assistant { calls, .. } => calls.as_slice(),
        Turn::User { .. } | Turn::ToolResults { .. } => &[],
    });
    calls.map(|call| name(&call.name)).collect()
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

/// Results are the user's words here.
fn messages(turns: &[Turn]) -> Value {
    let mut sides = Sides::default();
    let mut ids = Ids::new(ID);
    for turn in turns {
        match turn {
            Turn::User { parts } => sides.say(Side::User, parts.iter().filter_map(part).collect()),
            Turn::Assistant { text, reasoning, calls } => {
                ids.next_answer();
                sides.say(Side::Model, assistant(text, reasoning.as_ref(), calls, &mut ids));
            }
            Turn::ToolResults { results } => {
                let results = results.iter().map(|result| written_result(result, &mut ids));
                sides.say(Side::User, results.collect());
            }
        }
    }
    let mut messages = sides.finish(|words| json!({"type": "text", "text": words}));
    if let Some((Side::Model, blocks)) = messages.last_mut() {
        trim_end(blocks);
    }
    sides::written(messages, "assistant", "content")
}

/// Words that the model is to go on with may not end with space.
fn trim_end(blocks: &mut [Value]) {
    let last = blocks.last_mut().and_then(|block| block.get_mut("text"));
    if let Some(text) = last
        && let Some(words) = text.as_str()
    {
        *text = words.trim_end().into();
    }
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

fn assistant<'a>(
    text: &str,
    reasoning: Option<&Reasoning>,
    calls: &'a [Call],
    ids: &mut Ids<'a>,
) -> Vec<Value> {
    // Thoughts of somebody else have no signature.
    let thought = reasoning.and_then(|reasoning| {
        let signature = reasoning.signature.as_ref()?;
        Some(json!({"type": "thinking", "thinking": reasoning.text, "signature": signature}))
    });
    let calls = calls.iter().map(|call| {
        let (id, name) = (ids.call(&call.id), name(&call.name));
        json!({"type": "tool_use", "id": id, "name": name, "input": call.arguments_object()})
    });
    thought.into_iter().chain(text_block(text)).chain(calls).collect()
}

fn written_result(result: &ToolResult, ids: &mut Ids<'_>) -> Value {
    let id = ids.result(&result.call_id);
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": result.content});
    if result.is_error {
        block["is_error"] = true.into();
    }
    block
}

fn fits(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

/// The name of a called tool. A model may have called one that there never was, by a name that is refused.
fn name(name: &str) -> String {
    let fitting = name.chars().take(LONGEST_NAME).map(|each| if fits(each) { each } else { '_' });
    let name: String = fitting.collect();
    if name.is_empty() { "_".to_owned() } else { name }
}
