//! Parses and validates an Ollama chat request. The real server checks types only. That each call has a
//! result is an additional rule, because models lose track of a conversation without it.

use serde_json::Value;

use crate::model::request::{
    MessageRole, RecordedCall, RecordedMessage, RecordedModelRequest, RecordedResult, RecordedTool,
};
use crate::model::rules::{
    Checked, add_tool, filled, flag, items, list, name, object, object_schema, require, text,
};

pub(in crate::model) fn read(
    body: &Value,
    mut request: RecordedModelRequest,
) -> Checked<RecordedModelRequest> {
    object(body, "the request")?;
    request.model = filled(&body["model"], "model is required")?.to_owned();
    request.stream = flag(&body["stream"], "stream")?.unwrap_or(true);
    let options = &body["options"];
    if !options.is_null() {
        object(options, "options")?;
    }
    require(options["stop"].is_null() || options["stop"].is_array(), || {
        "option \"stop\" must be of type array".to_owned()
    })?;
    let format = &body["format"];
    require(format.is_null() || format.is_object() || format == "json", || {
        format!("invalid format: {format}; expected \"json\" or a valid JSON Schema object")
    })?;
    request.format = Some(format.clone()).filter(|format| !format.is_null());
    request.temperature = options["temperature"].as_f64();
    request.max_tokens = options["num_predict"].as_u64();
    for (number, tool) in list(&body["tools"], "ChatRequest.tools")?.iter().enumerate() {
        let at = format!("ChatRequest.tools[{number}]");
        require(tool["type"] == "function", || format!("{at}.type: expected 'function'"))?;
        let function = &tool["function"];
        let name = name(&function["name"], &format!("{at}.function.name"))?.to_owned();
        let schema = function["parameters"].clone();
        object_schema(&schema, &format!("{at}.function.parameters"))?;
        object(&schema["properties"], &format!("{at}.function.parameters.properties"))?;
        let description = function["description"].as_str().unwrap_or_default().to_owned();
        add_tool(&mut request.tools, RecordedTool { name, description, schema })?;
    }
    read_messages(items(&body["messages"], "ChatRequest.messages")?, &mut request)?;
    Ok(request)
}

fn read_messages(messages: &[Value], request: &mut RecordedModelRequest) -> Checked<()> {
    let mut open: Vec<RecordedCall> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let at = format!("ChatRequest.messages[{number}]");
        let role = text(&message["role"], &format!("{at}.role"))?;
        let content = message.get("content").map(|content| text(content, &format!("{at}.content")));
        let content = content.transpose()?.unwrap_or_default();
        require(role == "tool" || open.is_empty(), || {
            format!("{at}: {} calls before it have no result", open.len())
        })?;
        match role {
            "system" => request.add_system(content),
            "user" => {
                let images = list(&message["images"], &format!("{at}.images"))?;
                for image in images {
                    let data = text(image, &format!("{at}.images"))?;
                    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
                    require(!data.is_empty() && data.bytes().all(fits), || {
                        format!("{at}.images: illegal base64 data")
                    })?;
                }
                let (text, images) = (content.to_owned(), images.len());
                request.messages.push(RecordedMessage {
                    text,
                    images,
                    ..RecordedMessage::of(MessageRole::User)
                });
            }
            "assistant" => {
                let mut parsed = RecordedMessage {
                    text: content.to_owned(),
                    ..RecordedMessage::of(MessageRole::Assistant)
                };
                let at = format!("{at}.tool_calls");
                for call in list(&message["tool_calls"], &at)? {
                    parsed.calls.push(read_call(call, &at)?);
                }
                open.clone_from(&parsed.calls);
                request.messages.push(parsed);
            }
            "tool" => {
                let name = name(&message["tool_name"], &format!("{at}.tool_name"))?;
                let id = message["tool_call_id"].as_str();
                let is_it = |call: &RecordedCall| call.name == name && id.is_none_or(|id| call.id == id);
                let index = open.iter().position(is_it);
                let index = index.ok_or_else(|| format!("{at}: a result of {name}, which was not called"))?;
                let (call_id, name) = (open.remove(index).id, Some(name.to_owned()));
                let content = content.to_owned();
                request.add_results(vec![RecordedResult { call_id, name, content, is_error: false }]);
            }
            other => return Err(format!("invalid role: {other}")),
        }
    }
    require(open.is_empty(), || format!("{} calls have no result", open.len()))
}

fn read_call(call: &Value, at: &str) -> Checked<RecordedCall> {
    let function = &call["function"];
    let name = name(&function["name"], &format!("{at}.function.name"))?.to_owned();
    let arguments = function["arguments"].clone();
    require(arguments.is_object(), || {
        format!("json: cannot unmarshal {arguments} into Go struct field {at}.function.arguments")
    })?;
    Ok(RecordedCall { id: call["id"].as_str().unwrap_or_default().to_owned(), name, arguments })
}
