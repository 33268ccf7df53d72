//! A chat as Ollama is asked for it. It looks at types alone; that calls have their results is our own rule,
//! because a model that is told otherwise loses its thread.

use serde_json::Value;

use crate::model::asked::{AskedCall, AskedMessage, AskedModel, AskedResult, AskedTool, Role};
use crate::model::rules::{
    Checked, add_tool, filled, flag, items, list, must, name, object, object_schema, text,
};

pub(in crate::model) fn read(body: &Value, mut asked: AskedModel) -> Checked<AskedModel> {
    object(body, "the request")?;
    asked.model = filled(&body["model"], "model is required")?.to_owned();
    asked.stream = flag(&body["stream"], "stream")?.unwrap_or(true);
    let options = &body["options"];
    if !options.is_null() {
        object(options, "options")?;
    }
    must(options["stop"].is_null() || options["stop"].is_array(), || {
        "option \"stop\" must be of type array".to_owned()
    })?;
    let format = &body["format"];
    must(format.is_null() || format.is_object() || format == "json", || {
        format!("invalid format: {format}; expected \"json\" or a valid JSON Schema object")
    })?;
    asked.format = Some(format.clone()).filter(|format| !format.is_null());
    asked.temperature = options["temperature"].as_f64();
    asked.max_tokens = options["num_predict"].as_u64();
    for (number, tool) in list(&body["tools"], "ChatRequest.tools")?.iter().enumerate() {
        let at = format!("ChatRequest.tools[{number}]");
        must(tool["type"] == "function", || format!("{at}.type: expected 'function'"))?;
        let function = &tool["function"];
        let name = name(&function["name"], &format!("{at}.function.name"))?.to_owned();
        let schema = function["parameters"].clone();
        object_schema(&schema, &format!("{at}.function.parameters"))?;
        object(&schema["properties"], &format!("{at}.function.parameters.properties"))?;
        let description = function["description"].as_str().unwrap_or_default().to_owned();
        add_tool(&mut asked.tools, AskedTool { name, description, schema })?;
    }
    read_messages(items(&body["messages"], "ChatRequest.messages")?, &mut asked)?;
    Ok(asked)
}

fn read_messages(messages: &[Value], asked: &mut AskedModel) -> Checked<()> {
    let mut open: Vec<AskedCall> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let at = format!("ChatRequest.messages[{number}]");
        let role = text(&message["role"], &format!("{at}.role"))?;
        let content = message.get("content").map(|content| text(content, &format!("{at}.content")));
        let content = content.transpose()?.unwrap_or_default();
        must(role == "tool" || open.is_empty(), || {
            format!("{at}: {} calls before it have no result", open.len())
        })?;
        match role {
            "system" => asked.add_system(content),
            "user" => {
                let images = list(&message["images"], &format!("{at}.images"))?;
                for image in images {
                    let data = text(image, &format!("{at}.images"))?;
                    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
                    must(!data.is_empty() && data.bytes().all(fits), || {
                        format!("{at}.images: illegal base64 data")
                    })?;
                }
                let (text, images) = (content.to_owned(), images.len());
                asked.messages.push(AskedMessage { text, images, ..AskedMessage::of(Role::User) });
            }
            "assistant" => {
                let mut said = AskedMessage { text: content.to_owned(), ..AskedMessage::of(Role::Assistant) };
                let at = format!("{at}.tool_calls");
                for call in list(&message["tool_calls"], &at)? {
                    said.calls.push(read_call(call, &at)?);
                }
                open.clone_from(&said.calls);
                asked.messages.push(said);
            }
            "tool" => {
                let name = name(&message["tool_name"], &format!("{at}.tool_name"))?;
                let id = message["tool_call_id"].as_str();
                let is_it = |call: &AskedCall| call.name == name && id.is_none_or(|id| call.id == id);
                let place = open.iter().position(is_it);
                let place = place.ok_or_else(|| format!("{at}: a result of {name}, which was not called"))?;
                let (call_id, name) = (open.remove(place).id, Some(name.to_owned()));
                let content = content.to_owned();
                asked.add_results(vec![AskedResult { call_id, name, content, is_error: false }]);
            }
            other => return Err(format!("invalid role: {other}")),
        }
    }
    must(open.is_empty(), || format!("{} calls have no result", open.len()))
}

fn read_call(call: &Value, at: &str) -> Checked<AskedCall> {
    let function = &call["function"];
    let name = name(&function["name"], &format!("{at}.function.name"))?.to_owned();
    let arguments = function["arguments"].clone();
    must(arguments.is_object(), || {
        format!("json: cannot unmarshal {arguments} into Go struct field {at}.function.arguments")
    })?;
    Ok(AskedCall { id: call["id"].as_str().unwrap_or_default().to_owned(), name, arguments })
}
