//! A request in the form of chat completions.

use serde_json::{Map, Value, json};
use url::Url;

use crate::dialect::Body;
use crate::ids::{Ids, Rule};
use crate::request::{Call, Image, ImageSource, ModelRequest, Part, Reasoning, ToolChoice, Turn};
use crate::schema::{Form, Offer};

/// OpenAI itself knows other names for some things than all who imitate it.
const OWN_HOST: &str = "api.openai.com";

/// OpenAI takes no longer description of a tool, in characters.
const LONGEST_DESCRIPTION: usize = 1_024;

/// OpenAI takes no longer id of a call. Of its characters it asks nothing.
const ID: Rule = Rule { fits: |_| true, longest: 40 };

pub(crate) fn body(base: &Url, request: &ModelRequest) -> Body {
    let is_own = base.host_str() == Some(OWN_HOST);
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("model", request.model.as_str().into());
    set("messages", messages(request, is_own));
    set("stream", true.into());
    set("stream_options", json!({"include_usage": true}));
    if let Some(temperature) = request.temperature {
        set("temperature", temperature.into());
    }
    if let Some(most) = request.longest_answer() {
        set(if is_own { "max_completion_tokens" } else { "max_tokens" }, most.into());
    }
    let Offer { tools, left_out } = Offer::of(&request.tools, Form::OpenAi);
    if !tools.is_empty() {
        set(
            "tool_choice",
            choice(&request.tool_choice, &tools.iter().map(|tool| tool.name).collect::<Vec<_>>()),
        );
        // Everybody's own way is to allow it, and not everybody can be told.
        if !request.parallel_tool_calls {
            set("parallel_tool_calls", false.into());
        }
        let longest = if is_own { LONGEST_DESCRIPTION } else { usize::MAX };
        let written = tools.into_iter().map(|tool| {
            let description: String = tool.description.chars().take(longest).collect();
            let function = json!({"name": tool.name, "description": description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        });
        set("tools", written.collect());
    }
    Body { json: Value::Object(fields), left_out }
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

fn messages(request: &ModelRequest, is_own: bool) -> Value {
    let system = request.system.iter().map(|system| json!({"role": "system", "content": system}));
    let mut messages: Vec<Value> = system.collect();
    // Thoughts are given back while the calls that they led to are under way, and not later.
    let last_user =
        request.turns.iter().rposition(|turn| matches!(turn, Turn::User { .. })).unwrap_or_default();
    let mut ids = Ids::new(ID);
    for (number, turn) in request.turns.iter().enumerate() {
        match turn {
            Turn::User { parts } => messages.push(json!({"role": "user", "content": content(parts)})),
            Turn::Assistant { text, reasoning, calls } => {
                let reasoning =
                    reasoning.as_ref().filter(|_| number > last_user && !is_own && !calls.is_empty());
                ids.next_answer();
                messages.push(assistant(text, reasoning, calls, &mut ids));
            }
            Turn::ToolResults { results } => messages.extend(results.iter().map(|result| {
                let id = ids.result(&result.call_id);
                json!({"role": "tool", "tool_call_id": id, "content": result.content})
            })),
        }
    }
    Value::Array(messages)
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
            let function = json!({"name": call.name, "arguments": arguments});
            json!({"id": ids.call(&call.id), "type": "function", "function": function})
        });
        message["tool_calls"] = written.collect();
    }
    message
}

fn content(parts: &[Part]) -> Value {
    if let [Part::Text { text }] = parts {
        return text.as_str().into();
    }
    let written = parts.iter().map(|part| match part {
        Part::Text { text } => json!({"type": "text", "text": text}),
        Part::Image(Image { media_type, source }) => {
            let url = match source {
                ImageSource::Data(data) => format!("data:{media_type};base64,{data}"),
                ImageSource::Url(url) => url.clone(),
            };
            json!({"type": "image_url", "image_url": {"url": url}})
        }
    });
    written.collect()
}
