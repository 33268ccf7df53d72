//! Parses and validates a request for a chat completion by OpenAI's rules.

use serde_json::Value;

use crate::model::request::{
    MessageRole, RecordedCall, RecordedMessage, RecordedModelRequest, RecordedResult, RecordedTool,
};
use crate::model::rules::{
    Checked, add_tool, closed_schema, filled, flag, items, length, name, number, object, object_schema,
    reject_unknown_fields, require, stops, temperature, text,
};

const FIELDS: [&str; 29] = [
    "model",
    "messages",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "n",
    "stop",
    "seed",
    "user",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "metadata",
    "store",
    "logit_bias",
    "verbosity",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
];

/// Maximum number of tools.
const MAX_TOOLS: usize = 128;
/// Maximum length of a call's id.
const MAX_ID_LENGTH: usize = 40;

pub(in crate::model) fn read(
    body: &Value,
    mut request: RecordedModelRequest,
) -> Checked<RecordedModelRequest> {
    let fields = object(body, "the request")?;
    reject_unknown_fields(fields, &FIELDS, |name| format!("Unrecognized request argument supplied: {name}"))?;
    request.model = filled(&body["model"], "model")?.to_owned();
    request.stream = flag(&body["stream"], "stream")?.unwrap_or_default();
    require(request.stream || body["stream_options"].is_null(), || {
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned()
    })?;
    request.temperature = temperature(&body["temperature"], 2.0)?;
    let [older, newer] = ["max_tokens", "max_completion_tokens"].map(|field| length(&body[field], field));
    let (older, newer) = (older?, newer?);
    require(older.is_none() || newer.is_none(), || {
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.".to_owned()
    })?;
    request.max_tokens = older.or(newer);
    read_options(body)?;
    request.format = read_format(body)?;
    read_tools(body, &mut request)?;
    read_messages(items(&body["messages"], "messages")?, &mut request)?;
    Ok(request)
}

/// Returns true for reasoning models, which accept no temperature.
fn is_reasoning_model(model: &str) -> bool {
    model.starts_with("o3")
}

fn read_options(body: &Value) -> Checked<()> {
    let model = body["model"].as_str().unwrap_or_default();
    require(body["temperature"].is_null() || !is_reasoning_model(model), || {
        "Unsupported parameter: 'temperature' is not supported with this model.".to_owned()
    })?;
    require(body["verbosity"].is_null() || !is_reasoning_model(model), || {
        "Unsupported parameter: 'verbosity' is not supported with this model.".to_owned()
    })?;
    number(&body["top_p"], "top_p", 0.0, 1.0)?;
    number(&body["n"], "n", 1.0, 128.0)?;
    number(&body["frequency_penalty"], "frequency_penalty", -2.0, 2.0)?;
    number(&body["presence_penalty"], "presence_penalty", -2.0, 2.0)?;
    number(&body["top_logprobs"], "top_logprobs", 0.0, 20.0)?;
    require(body["seed"].is_null() || body["seed"].is_i64(), || "Invalid type for 'seed'".to_owned())?;
    let counts = flag(&body["logprobs"], "logprobs")?.unwrap_or_default();
    require(counts || body["top_logprobs"].is_null(), || {
        "'top_logprobs' is only allowed when 'logprobs' is true.".to_owned()
    })?;
    if !body["stop"].is_string() {
        stops(&body["stop"], "stop", 4)?;
    }
    for (number_of, bias) in body["logit_bias"].as_object().into_iter().flatten() {
        number(bias, &format!("logit_bias.{number_of}"), -100.0, 100.0)?;
    }
    one_of(
        &body["reasoning_effort"],
        "reasoning_effort",
        &["none", "minimal", "low", "medium", "high", "xhigh"],
    )?;
    one_of(&body["verbosity"], "verbosity", &["low", "medium", "high"])
}

fn one_of(value: &Value, at: &str, known: &[&str]) -> Checked<()> {
    let fits = value.is_null() || value.as_str().is_some_and(|word| known.contains(&word));
    require(fits, || format!("Invalid value: '{value}' for '{at}'"))
}

fn read_format(body: &Value) -> Checked<Option<Value>> {
    let format = &body["response_format"];
    match format["type"].as_str() {
        None if format.is_null() => Ok(None),
        Some("text") => Ok(None),
        Some("json_object") => {
            let is_mentioned = body["messages"].to_string().to_ascii_lowercase().contains("json");
            require(is_mentioned, || {
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
                    .to_owned()
            })?;
            Ok(Some("json".into()))
        }
        Some("json_schema") => {
            let given = &format["json_schema"];
            reject_unknown_fields(
                object(given, "response_format.json_schema")?,
                &["name", "description", "schema", "strict"],
                |name| format!("Unknown parameter: 'response_format.json_schema.{name}'."),
            )?;
            name(&given["name"], "response_format.json_schema.name")?;
            if given["strict"] == true {
                let at = format!("Invalid schema for response_format '{}'", given["name"]);
                closed_schema(&given["schema"], &at, true, &|_| true)?;
            }
            Ok(Some(given["schema"].clone()))
        }
        Some(_) | None => Err(format!("Invalid value: '{}' for 'response_format.type'", format["type"])),
    }
}

fn read_tools(body: &Value, request: &mut RecordedModelRequest) -> Checked<()> {
    if body["tools"].is_null() {
        for field in ["tool_choice", "parallel_tool_calls"] {
            require(body[field].is_null(), || {
                format!("'{field}' is only allowed when 'tools' are specified.")
            })?;
        }
        return Ok(());
    }
    let tools = items(&body["tools"], "tools")?;
    require(tools.len() <= MAX_TOOLS, || format!("tools: array too long, at most {MAX_TOOLS}"))?;
    for (number, tool) in tools.iter().enumerate() {
        let at = format!("tools[{number}]");
        require(tool["type"] == "function", || format!("{at}.type: expected 'function'"))?;
        let function = &tool["function"];
        reject_unknown_fields(
            object(function, &at)?,
            &["name", "description", "parameters", "strict"],
            |name| format!("Unknown parameter: '{at}.function.{name}'."),
        )?;
        let name = name(&function["name"], &format!("{at}.function.name"))?.to_owned();
        if !function["parameters"].is_null() {
            object_schema(&function["parameters"], &format!("Invalid schema for function '{name}'"))?;
        }
        if flag(&function["strict"], &format!("{at}.function.strict"))?.unwrap_or_default() {
            closed_schema(
                &function["parameters"],
                &format!("Invalid schema for function '{name}'"),
                true,
                &|_| true,
            )?;
        }
        let description = function["description"].as_str().unwrap_or_default().to_owned();
        let schema = function["parameters"].clone();
        add_tool(&mut request.tools, RecordedTool { name, description, schema })?;
    }
    request.tool_choice = choice(&body["tool_choice"], request)?;
    flag(&body["parallel_tool_calls"], "parallel_tool_calls")?;
    Ok(())
}

fn choice(choice: &Value, request: &RecordedModelRequest) -> Checked<Option<String>> {
    match choice {
        Value::Null => Ok(None),
        Value::String(word) if ["auto", "none", "required"].contains(&word.as_str()) => {
            Ok(Some(word.clone()))
        }
        Value::Object(_) if choice["type"] == "function" => {
            let name = text(&choice["function"]["name"], "tool_choice.function.name")?;
            require(request.tool_names().contains(&name), || {
                format!("Tool choice '{name}' not found in 'tools' parameter.")
            })?;
            Ok(Some(name.to_owned()))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Err(format!("Invalid value for 'tool_choice': {choice}"))
        }
    }
}

fn read_messages(messages: &[Value], request: &mut RecordedModelRequest) -> Checked<()> {
    // Calls of the last response without a result so far.
    let mut open: Vec<String> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let at = format!("messages[{number}]");
        let known = ["role", "content", "name", "tool_calls", "tool_call_id", "refusal", "reasoning_content"];
        reject_unknown_fields(object(message, &at)?, &known, |name| {
            format!("Unknown parameter: '{at}.{name}'.")
        })?;
        let role = text(&message["role"], &format!("{at}.role"))?;
        require(role == "tool" || open.is_empty(), || unanswered(&open))?;
        require(role == "assistant" || message["tool_calls"].is_null(), || {
            format!("{at}.tool_calls: only assistant messages have calls")
        })?;
        match role {
            "system" | "developer" => {
                let parsed = content(&message["content"], &at, MessageRole::System)?;
                request.add_system(&parsed.text);
            }
            "user" => request.messages.push(content(&message["content"], &at, MessageRole::User)?),
            "assistant" => {
                let parsed = assistant(message, &at, &request.model)?;
                open = parsed.calls.iter().map(|call| call.id.clone()).collect();
                request.messages.push(parsed);
            }
            "tool" => {
                let id = text(&message["tool_call_id"], &format!("{at}.tool_call_id"))?;
                let index = open.iter().position(|open| open == id).ok_or_else(|| {
                    format!(
                        "Invalid parameter: messages with role 'tool' must be a response to a preceding \
                         message with 'tool_calls': {at}, {id}"
                    )
                })?;
                open.remove(index);
                let content = content(&message["content"], &at, MessageRole::Tool)?.text;
                let call_id = id.to_owned();
                request.add_results(vec![RecordedResult { call_id, name: None, content, is_error: false }]);
            }
            other => return Err(format!("Invalid value: '{other}' is not a role, at {at}.role")),
        }
    }
    require(open.is_empty(), || unanswered(&open))
}

fn unanswered(open: &[String]) -> String {
    format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
         'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    )
}

/// Parses an assistant message. OpenAI limits the length of call ids, Mistral prescribes their format, and
/// vLLM and SGLang create longer ones.
fn assistant(message: &Value, at: &str, model: &str) -> Checked<RecordedMessage> {
    let is_mistral = model.starts_with("mistral");
    let takes_any = model.starts_with("vllm") || model.starts_with("sglang");
    let mut parsed = RecordedMessage::of(MessageRole::Assistant);
    if message["tool_calls"].is_null() {
        return content(&message["content"], at, MessageRole::Assistant);
    }
    if !message["content"].is_null() {
        parsed = content(&message["content"], at, MessageRole::Assistant)?;
    }
    for (number, call) in items(&message["tool_calls"], &format!("{at}.tool_calls"))?.iter().enumerate() {
        let at = format!("{at}.tool_calls[{number}]");
        let id = filled(&call["id"], &format!("{at}.id"))?.to_owned();
        require(id.len() <= MAX_ID_LENGTH || takes_any, || {
            format!("Invalid '{at}.id': string too long. Expected at most {MAX_ID_LENGTH}.")
        })?;
        let is_short = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        require(is_short || !is_mistral, || {
            format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.")
        })?;
        require(parsed.calls.iter().all(|known| known.id != id), || {
            format!("Duplicate value for '{at}.id': {id}")
        })?;
        require(call["type"] == "function", || format!("{at}.type: expected 'function'"))?;
        let name = name(&call["function"]["name"], &format!("{at}.function.name"))?.to_owned();
        let written = text(&call["function"]["arguments"], &format!("{at}.function.arguments"))?;
        let arguments = serde_json::from_str(written).ok().filter(Value::is_object);
        let arguments =
            arguments.ok_or_else(|| format!("{at}.function.arguments: not a JSON object: {written}"))?;
        parsed.calls.push(RecordedCall { id, name, arguments });
    }
    Ok(parsed)
}

fn content(content: &Value, at: &str, role: MessageRole) -> Checked<RecordedMessage> {
    let mut parsed = RecordedMessage::of(role);
    if let Value::String(text) = content {
        parsed.text.clone_from(text);
        return Ok(parsed);
    }
    for (number, part) in items(content, &format!("{at}.content"))?.iter().enumerate() {
        let at = format!("{at}.content[{number}]");
        match part["type"].as_str() {
            Some("text") => parsed.add_text(text(&part["text"], &format!("{at}.text"))?),
            Some("image_url") if role == MessageRole::User => {
                let url = text(&part["image_url"]["url"], &format!("{at}.image_url.url"))?;
                let is_data = url.starts_with("data:image/") && url.contains(";base64,");
                require(is_data || url.starts_with("https://") || url.starts_with("http://"), || {
                    format!("Invalid '{at}.image_url.url': neither a URL nor a data URL of an image: {url}")
                })?;
                one_of(
                    &part["image_url"]["detail"],
                    &format!("{at}.image_url.detail"),
                    &["auto", "low", "high"],
                )?;
                parsed.images += 1;
            }
            Some(_) | None => return Err(format!("Invalid value: '{at}.type' is {}", part["type"])),
        }
    }
    Ok(parsed)
}
