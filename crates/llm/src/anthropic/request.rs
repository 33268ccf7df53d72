//! Builds requests to Anthropic's Messages API.

use std::collections::BTreeSet;

use haft_core::ResponseFormat;
use serde_json::{Map, Value, json};

use crate::dialect::Body;
use crate::format::{self, FormatBy, instructions};
use crate::ids::{Ids, Rule};
use crate::options;
use crate::reasoning::{Reasoning, Seal};
use crate::request::{
    Call, ContentPart, Image, ImageSource, ModelRequest, ModelTurn, ToolChoice, ToolResult,
};
use crate::schema::{Form, Offer, fits_name};
use crate::sides::{self, Side, Sides};

/// Default of the mandatory `max_tokens`; all current models support it.
const USUAL_LENGTH: u32 = 8_192;

const ID: Rule = Rule { fits: fits_name, longest: usize::MAX };

/// Maximum temperature; other dialects allow more.
const WARMEST: f64 = 1.0;

pub(crate) fn body(request: &ModelRequest, by: FormatBy) -> Body {
    // The native field accepts only schemas, and no maps.
    let schema = request.response_format.as_ref().filter(|_| by == FormatBy::Field);
    let schema = schema.and_then(ResponseFormat::schema).filter(|schema| !format::has_map(schema));
    let by = if schema.is_some() { FormatBy::Field } else { FormatBy::Words };
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("model", request.model.as_str().into());
    set("max_tokens", request.max_response_tokens().unwrap_or(USUAL_LENGTH).into());
    if let Some(system) = instructions(request, by) {
        set("system", system.into());
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
    if let Some(schema) = schema {
        let format = json!({"type": "json_schema", "schema": format::closed(schema)});
        set("output_config", json!({"format": format}));
    }
    options::anthropic(&request.options, &mut fields);
    Body { json: Value::Object(fields), left_out, has_format: schema.is_some() }
}

/// The tools that were called. Anthropic rejects a conversation with calls if no tools are offered, even if
/// tool choice is none.
fn named(turns: &[ModelTurn]) -> BTreeSet<String> {
    let calls = turns.iter().flat_map(|turn| match turn {
        ModelTurn::Assistant { calls, .. } => calls.as_slice(),
        ModelTurn::System { .. } | ModelTurn::User { .. } | ModelTurn::ToolResults { .. } => &[],
    });
    calls.map(|call| Form::Anthropic.called(&call.name)).collect()
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

/// Tool results are user messages in this dialect.
fn messages(turns: &[ModelTurn]) -> Value {
    let mut sides = Sides::default();
    let mut ids = Ids::new(ID);
    for turn in turns {
        match turn {
            ModelTurn::System { text, .. } => {
                sides.say(Side::User, text_block(&sides::instruction(text)).into_iter().collect())
            }
            ModelTurn::User { parts, .. } => sides.say(Side::User, parts.iter().filter_map(part).collect()),
            ModelTurn::Assistant { text, reasoning, calls, .. } => {
                ids.start_response();
                sides.say(Side::Model, assistant(text, reasoning.as_ref(), calls, &mut ids));
            }
            ModelTurn::ToolResults { results } => {
                let results = results.iter().map(|result| written_result(result, &mut ids));
                sides.say(Side::User, results.collect());
            }
        }
    }
    let messages = sides.finish(|words| json!({"type": "text", "text": words}));
    sides::written(messages, "assistant", "content")
}

/// Anthropic rejects a text that consists only of whitespace.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn part(part: &ContentPart) -> Option<Value> {
    match part {
        ContentPart::Text { text } => text_block(text),
        ContentPart::Image(Image { media_type, source, .. }) => {
            let source = match source {
                ImageSource::Data(data) => json!({"type": "base64", "media_type": media_type, "data": data}),
                ImageSource::Url(url) => json!({"type": "url", "url": url}),
            };
            Some(json!({"type": "image", "source": source}))
        }
    }
}

/// Thoughts must keep their positions. Thoughts of other providers have no seal and are omitted.
fn assistant<'a>(
    text: &str,
    reasoning: Option<&Reasoning>,
    calls: &'a [Call],
    ids: &mut Ids<'a>,
) -> Vec<Value> {
    let (mut blocks, mut text_end, mut call_end) = (Vec::new(), 0, 0);
    let mut push_until = |words: usize, upto: usize, blocks: &mut Vec<Value>| {
        let words = text.floor_char_boundary(words).max(text_end);
        let upto = upto.clamp(call_end, calls.len());
        blocks.extend(text_block(&text[text_end..words]));
        blocks.extend(calls[call_end..upto].iter().map(|call| {
            let (id, name) = (ids.call(call), Form::Anthropic.called(&call.name));
            json!({"type": "tool_use", "id": id, "name": name, "input": call.arguments_object()})
        }));
        (text_end, call_end) = (words, upto);
    };
    for thought in reasoning.map(Reasoning::sealed).unwrap_or_default() {
        push_until(thought.after_words, thought.after_calls, &mut blocks);
        blocks.extend(thought.seal.map(|seal| match seal {
            Seal::Signature(signature) => {
                json!({"type": "thinking", "thinking": thought.text, "signature": signature})
            }
            Seal::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        }));
    }
    push_until(text.len(), calls.len(), &mut blocks);
    blocks
}

fn written_result(result: &ToolResult, ids: &mut Ids<'_>) -> Value {
    let id = ids.result(&result.call_id);
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": result.content});
    if result.is_error {
        block["is_error"] = true.into();
    }
    block
}
