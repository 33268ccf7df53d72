//! Builds chat completion requests.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use url::Url;

use crate::dialect::Body;
use crate::format::{FormatBy, unnamed_instructions};
use crate::ids::{Ids, Rule};
use crate::options;
use crate::reasoning::Reasoning;
use crate::request::{
    Call, ContentPart, Image, ImageSource, ModelRequest, ModelTurn, NamedInstruction, ToolChoice,
};
use crate::schema::{Form, Offer};

/// OpenAI's host. Its API uses different names for some fields than compatible servers.
const OWN_HOST: &str = "api.openai.com";

/// Maximum length of a tool description for OpenAI, in characters.
const LONGEST_DESCRIPTION: usize = 1_024;

/// Length of the preserved end of a truncated description, in characters: the result format is often
/// described last.
const END_OF_DESCRIPTION: usize = 256;

/// OpenAI limits the length of call ids, but accepts any characters.
const ID: Rule = Rule { fits: |_| true, longest: 40 };

pub(crate) fn body(base: &Url, request: &ModelRequest, by: FormatBy) -> Body {
    let is_own = base.host_str() == Some(OWN_HOST);
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("model", request.model.as_str().into());
    set("messages", messages(request, is_own, by));
    set("stream", true.into());
    set("stream_options", json!({"include_usage": true}));
    if let Some(temperature) = request.temperature {
        set("temperature", temperature.into());
    }
    if let Some(most) = request.max_response_tokens() {
        set(if is_own { "max_completion_tokens" } else { "max_tokens" }, most.into());
    }
    let Offer { tools, left_out } = Offer::of(&request.tools, Form::OpenAi);
    if !tools.is_empty() {
        set(
            "tool_choice",
            choice(&request.tool_choice, &tools.iter().map(|tool| tool.name).collect::<Vec<_>>()),
        );
        // Parallel calls are the default everywhere, and some servers reject the field.
        if !request.parallel_tool_calls {
            set("parallel_tool_calls", false.into());
        }
        let written = tools.into_iter().map(|tool| {
            let description =
                if is_own { shortened(tool.description) } else { Cow::Borrowed(tool.description) };
            let mut function =
                json!({"name": tool.name, "description": description, "parameters": tool.schema});
            if let Some(strict) = tool.strict {
                function["strict"] = strict.into();
            }
            json!({"type": "function", "function": function})
        });
        set("tools", written.collect());
    }
    let format = request.response_format.as_ref().filter(|_| by == FormatBy::Field);
    let format = format.and_then(|format| serde_json::to_value(format).ok());
    let has_format = format.is_some();
    fields.extend(format.map(|format| ("response_format".to_owned(), format)));
    options::openai(&request.options, is_own, &mut fields);
    Body { json: Value::Object(fields), left_out, has_format }
}

/// Removes the middle of a description that is too long. The preserved end starts with a whole sentence or
/// word if possible.
fn shortened(description: &str) -> Cow<'_, str> {
    const BETWEEN: &str = " … ";
    let count = description.chars().count();
    if count <= LONGEST_DESCRIPTION {
        return Cow::Borrowed(description);
    }
    let from = description.char_indices().nth(count - END_OF_DESCRIPTION).map_or(0, |(at, _)| at);
    let (before, end) = description.split_at(from);
    let sentence =
        [". ", ".\n", "\n\n", "。"].into_iter().filter_map(|mark| Some(end.find(mark)? + mark.len()));
    let begin = sentence.min().or_else(|| end.find(' ')).unwrap_or_default();
    let end = end.get(begin..).unwrap_or(end).trim_start();
    let room = LONGEST_DESCRIPTION - BETWEEN.chars().count() - end.chars().count();
    let head: String = before.chars().take(room).collect();
    Cow::Owned(format!("{head}{BETWEEN}{end}"))
}

fn choice(choice: &ToolChoice, offered: &[&str]) -> Value {
    match choice {
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) if offered.contains(&name.as_str()) => {
            json!({"type": "function", "function": {"name": name}})
        }
        ToolChoice::Auto | ToolChoice::Tool(_) => "auto".into(),
    }
}

fn messages(request: &ModelRequest, is_own: bool, by: FormatBy) -> Value {
    let system = unnamed_instructions(request, by);
    let system = system.iter().map(|system| json!({"role": "system", "content": system}));
    let mut messages: Vec<Value> = system.collect();
    messages.extend(
        request.named_system.iter().map(|NamedInstruction { name, text }| system_message(text, Some(name))),
    );
    // Reasoning is returned only while the calls that it led to are in progress.
    let last_user =
        request.turns.iter().rposition(|turn| matches!(turn, ModelTurn::User { .. })).unwrap_or_default();
    let mut ids = Ids::new(ID);
    for (number, turn) in request.turns.iter().enumerate() {
        match turn {
            ModelTurn::System { text, name } => messages.push(system_message(text, name.as_deref())),
            ModelTurn::User { parts, name } => {
                let message = json!({"role": "user", "content": content(parts)});
                messages.push(named(message, name.as_deref()));
            }
            ModelTurn::Assistant { text, reasoning, calls, name } => {
                let reasoning =
                    reasoning.as_ref().filter(|_| number > last_user && !is_own && !calls.is_empty());
                ids.start_response();
                messages.push(named(assistant(text, reasoning, calls, &mut ids), name.as_deref()));
            }
            ModelTurn::ToolResults { results } => messages.extend(results.iter().map(|result| {
                let id = ids.result(&result.call_id);
                json!({"role": "tool", "tool_call_id": id, "content": result.content})
            })),
        }
    }
    Value::Array(messages)
}

fn system_message(text: &str, name: Option<&str>) -> Value {
    named(json!({"role": "system", "content": text}), name)
}

/// Adds the participant's name to a message, if there is one.
fn named(mut message: Value, name: Option<&str>) -> Value {
    if let Some(name) = name {
        message["name"] = name.into();
    }
    message
}

fn assistant<'a>(text: &str, reasoning: Option<&Reasoning>, calls: &'a [Call], ids: &mut Ids<'a>) -> Value {
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
    let mut message = json!({"role": "assistant", "content": content});
    if let Some(reasoning) = reasoning {
        message["reasoning_content"] = reasoning.text.as_str().into();
    }
    if !calls.is_empty() {
        let written = calls.iter().map(|call| {
            let arguments = Value::Object(call.arguments_object()).to_string();
            let function = json!({"name": Form::OpenAi.called(&call.name), "arguments": arguments});
            json!({"id": ids.call(call), "type": "function", "function": function})
        });
        message["tool_calls"] = written.collect();
    }
    message
}

fn content(parts: &[ContentPart]) -> Value {
    if let [ContentPart::Text { text }] = parts {
        return text.as_str().into();
    }
    let written = parts.iter().map(|part| match part {
        ContentPart::Text { text } => json!({"type": "text", "text": text}),
        ContentPart::Image(Image { media_type, detail, source }) => {
            let url = match source {
                ImageSource::Data(data) => format!("data:{media_type};base64,{data}"),
                ImageSource::Url(url) => url.clone(),
            };
            let mut image = json!({"url": url});
            if let Some(detail) = detail {
                image["detail"] = detail.as_str().into();
            }
            json!({"type": "image_url", "image_url": image})
        }
    });
    written.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::request::ModelTool;

    /// The description of a tool as sent to a server.
    fn sent(base: &str, description: &str) -> String {
        let tool = ModelTool {
            name: "slow".to_owned(),
            description: description.to_owned(),
            parameters: json!({"type": "object"}).into(),
            strict: None,
        };
        let turns = vec![ModelTurn::user("Go.")];
        let request = ModelRequest { tools: vec![Arc::new(tool)], ..ModelRequest::new("m", turns) };
        let body = body(&Url::parse(base).expect("a URL"), &request, FormatBy::Field).json;
        body["tools"][0]["function"]["description"].as_str().expect("a text").to_owned()
    }

    #[test]
    fn a_description_that_is_too_long_for_openai_loses_its_middle() {
        let (own, other) = ("https://api.openai.com/v1", "https://models.example.com/v1");
        let end = "This tool answers {\"status\": \"pending\"} at once. Do not call it again.";
        for middle in
            ["It looks. ".repeat(200), "看天气。".repeat(500), "word ".repeat(400), "x".repeat(2_000)]
        {
            let long = format!("Looks. {middle} {end}");
            let written = sent(own, &long);
            let count = written.chars().count();
            assert!((1_000..=LONGEST_DESCRIPTION).contains(&count), "{count}: {written}");
            assert!(written.starts_with("Looks. ") && written.contains(" … "), "{written}");
            assert!(written.ends_with("Do not call it again."), "{written}");
            assert_eq!(sent(other, &long), long, "compatible servers have no limit");
        }
        let whole = "x".repeat(LONGEST_DESCRIPTION);
        assert_eq!(sent(own, &whole), whole);
    }
}
