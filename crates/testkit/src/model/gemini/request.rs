//! Parses and validates a request for content by Gemini's rules.

use serde_json::Value;

use super::schema;
use crate::model::request::{
    MessageRole, RecordedCall, RecordedMessage, RecordedModelRequest, RecordedResult, RecordedTool,
};
use crate::model::rules::{
    Checked, add_tool, filled, items, length, list, name, number, object, reject_unknown_fields, require,
    stops, temperature, text,
};

const FIELDS: [&str; 7] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
];

pub(in crate::model) fn read(
    body: &Value,
    mut request: RecordedModelRequest,
) -> Checked<RecordedModelRequest> {
    let fields = object(body, "the request")?;
    reject_unknown_fields(fields, &FIELDS, |name| unknown(name, "the request"))?;
    let system = &body["systemInstruction"];
    if !system.is_null() {
        for part in items(&system["parts"], "systemInstruction.parts")? {
            request.add_system(text(&part["text"], "systemInstruction.parts.text")?);
        }
    }
    let generation = &body["generationConfig"];
    let thinking = &generation["thinkingConfig"];
    require(thinking.is_null() || supports_thinking(&request.model), || {
        format!("Thinking is not enabled for models/{}", request.model)
    })?;
    request.temperature = temperature(&generation["temperature"], 2.0)?;
    request.max_tokens = length(&generation["maxOutputTokens"], "generationConfig.maxOutputTokens")?;
    request.format = read_options(body, &request.model)?;
    read_tools(body, &mut request)?;
    read_contents(items(&body["contents"], "contents")?, &mut request)?;
    Ok(request)
}

const GENERATION: [&str; 14] = [
    "temperature",
    "maxOutputTokens",
    "topP",
    "topK",
    "seed",
    "frequencyPenalty",
    "presencePenalty",
    "stopSequences",
    "thinkingConfig",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "candidateCount",
    "mediaResolution",
];

/// Levels of thinking. Pro models accept `PRO_LEVELS` only.
const LEVELS: [&str; 4] = ["minimal", "low", "medium", "high"];
const PRO_LEVELS: [&str; 2] = ["low", "high"];

/// Validates the options. Returns the response format, if any.
fn read_options(body: &Value, model: &str) -> Checked<Option<Value>> {
    let generation = &body["generationConfig"];
    if generation.is_null() {
        return Ok(None);
    }
    reject_unknown_fields(object(generation, "generation_config")?, &GENERATION, |name| {
        unknown(name, "generation_config")
    })?;
    number(&generation["topP"], "generation_config.top_p", 0.0, 1.0)?;
    number(&generation["frequencyPenalty"], "generation_config.frequency_penalty", -2.0, 2.0)?;
    number(&generation["presencePenalty"], "generation_config.presence_penalty", -2.0, 2.0)?;
    stops(&generation["stopSequences"], "generation_config.stop_sequences", 5)?;
    let thinking = &generation["thinkingConfig"];
    if !thinking.is_null() {
        let known = ["includeThoughts", "thinkingBudget", "thinkingLevel"];
        reject_unknown_fields(object(thinking, "thinking_config")?, &known, |name| {
            unknown(name, "thinking_config")
        })?;
        require(thinking["thinkingLevel"].is_null() || model.starts_with("gemini-3"), || {
            "Thinking level is not supported for this model.".to_owned()
        })?;
        let levels = if model.contains("pro") { &PRO_LEVELS[..] } else { &LEVELS[..] };
        let level = thinking["thinkingLevel"].as_str();
        require(level.is_none_or(|level| levels.contains(&level)), || {
            format!("Thinking level {} is not supported for this model.", thinking["thinkingLevel"])
        })?;
    }
    let mime = &generation["responseMimeType"];
    let schema = &generation["responseSchema"];
    if mime.is_null() {
        require(schema.is_null(), || {
            "response_schema needs a response_mime_type of application/json".to_owned()
        })?;
        return Ok(None);
    }
    require(mime == "application/json", || format!("response_mime_type: {mime}"))?;
    require(body["tools"].is_null() || model.starts_with("gemini-3"), || {
        "Function calling with a response mime type: 'application/json' is unsupported".to_owned()
    })?;
    if schema.is_null() {
        return Ok(Some("json".into()));
    }
    schema::check_root(schema, "generation_config.response_schema")?;
    Ok(Some(schema.clone()))
}

/// Returns true for models that accept a thinking configuration.
fn supports_thinking(model: &str) -> bool {
    ["gemini-2.5", "gemini-3"].iter().any(|family| model.starts_with(family)) && !model.contains("lite")
}

pub(super) fn unknown(name: &str, at: &str) -> String {
    format!("Invalid JSON payload received. Unknown name \"{name}\" at '{at}': Cannot find field.")
}

fn read_tools(body: &Value, request: &mut RecordedModelRequest) -> Checked<()> {
    for (group_number, group) in list(&body["tools"], "tools")?.iter().enumerate() {
        let at = format!("tools[{group_number}].function_declarations");
        for (number, function) in items(&group["functionDeclarations"], &at)?.iter().enumerate() {
            let at = format!("{at}[{number}]");
            reject_unknown_fields(object(function, &at)?, &["name", "description", "parameters"], |name| {
                unknown(name, &at)
            })?;
            let name = name(&function["name"], &format!("{at}.name"))?.to_owned();
            require(name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'), || {
                format!("{at}.name: Invalid function name. Must start with a letter or an underscore: {name}")
            })?;
            let schema = function["parameters"].clone();
            if !schema.is_null() {
                schema::check_root(&schema, &format!("{at}.parameters"))?;
            }
            let description = function["description"].as_str().unwrap_or_default().to_owned();
            add_tool(&mut request.tools, RecordedTool { name, description, schema })?;
        }
    }
    let config = &body["toolConfig"]["functionCallingConfig"];
    if config.is_null() {
        return Ok(());
    }
    require(!request.tools.is_empty(), || {
        "Function calling config is set without function_declarations.".to_owned()
    })?;
    let allowed = list(&config["allowedFunctionNames"], "allowed_function_names")?;
    for name in allowed {
        require(request.tool_names().iter().any(|known| name == known), || {
            format!("allowed_function_names: {name} is not declared")
        })?;
    }
    require(allowed.is_empty() || config["mode"] == "ANY", || {
        "Allowed function names can only be set when the function calling mode is ANY.".to_owned()
    })?;
    let word = match config["mode"].as_str() {
        Some("AUTO") => "auto",
        Some("NONE") => "none",
        Some("ANY") => allowed.first().and_then(Value::as_str).unwrap_or("required"),
        Some(_) | None => return Err(format!("function_calling_config.mode: {} is unknown", config["mode"])),
    };
    request.tool_choice = Some(word.to_owned());
    Ok(())
}

fn read_contents(contents: &[Value], request: &mut RecordedModelRequest) -> Checked<()> {
    let mut open: Vec<RecordedCall> = Vec::new();
    let needs_signatures = request.model.starts_with("gemini-3");
    let last_text = contents.iter().rposition(|content| content["role"] == "user" && !has_results(content));
    for (number, content) in contents.iter().enumerate() {
        let at = format!("contents[{number}]");
        reject_unknown_fields(object(content, &at)?, &["role", "parts"], |name| unknown(name, &at))?;
        let expected = if number % 2 == 0 { "user" } else { "model" };
        require(content["role"] == expected, || {
            format!(
                "Please ensure that multiturn requests alternate between user and model, and begin with \
                 user: {at} is of {}",
                content["role"]
            )
        })?;
        let parts = items(&content["parts"], &format!("{at}.parts"))?;
        if expected == "model" {
            let parsed = model(parts, &at, needs_signatures && Some(number) > last_text)?;
            open.clone_from(&parsed.calls);
            request.messages.push(parsed);
        } else {
            read_user(parts, &at, std::mem::take(&mut open), request)?;
        }
    }
    let ends_well = contents.last().is_some_and(|last| last["role"] == "user");
    require(ends_well, || {
        "Please ensure that multiturn requests end with a user role or a function response.".to_owned()
    })
}

/// Returns true if a content has results of calls.
fn has_results(content: &Value) -> bool {
    let parts = content["parts"].as_array().into_iter().flatten();
    parts.into_iter().any(|part| part.get("functionResponse").is_some())
}

fn check_part(part: &Value, at: &str) -> Checked<()> {
    let data = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];
    let known = [&data[..], &["thought", "thoughtSignature"]].concat();
    let fields = object(part, at)?;
    reject_unknown_fields(fields, &known, |name| unknown(name, at))?;
    let count = data.iter().filter(|name| fields.contains_key(**name)).count();
    require(count == 1, || format!("{at}.data: required oneof field 'data' must have one initialized field"))
}

fn model(parts: &[Value], at: &str, needs_signature: bool) -> Checked<RecordedMessage> {
    let mut parsed = RecordedMessage::of(MessageRole::Assistant);
    for (number, part) in parts.iter().enumerate() {
        let at = format!("{at}.parts[{number}]");
        check_part(part, &at)?;
        let call = &part["functionCall"];
        if !call.is_null() {
            reject_unknown_fields(object(call, &at)?, &["id", "name", "args"], |name| unknown(name, &at))?;
            let is_signed = part["thoughtSignature"].as_str().is_some_and(|signature| !signature.is_empty());
            require(is_signed || !needs_signature || !parsed.calls.is_empty(), || {
                format!("Function call is missing a thought_signature in functionCall parts: {at}")
            })?;
            let name = name(&call["name"], &format!("{at}.function_call.name"))?.to_owned();
            let arguments = call["args"].clone();
            require(arguments.is_object(), || {
                format!("Invalid value at '{at}.function_call.args' (Struct): {arguments}")
            })?;
            let id = call["id"].as_str().unwrap_or_default().to_owned();
            parsed.calls.push(RecordedCall { id, name, arguments });
        } else if part["thought"] != true {
            parsed.add_text(text(&part["text"], &format!("{at}.text"))?);
        }
    }
    Ok(parsed)
}

/// Parses a user message: a text, or the results of all pending calls.
fn read_user(
    parts: &[Value],
    at: &str,
    mut open: Vec<RecordedCall>,
    request: &mut RecordedModelRequest,
) -> Checked<()> {
    let mut parsed = RecordedMessage::of(MessageRole::User);
    let mut results = Vec::new();
    let expected = open.len();
    for (number, part) in parts.iter().enumerate() {
        let at = format!("{at}.parts[{number}]");
        check_part(part, &at)?;
        if part.get("functionResponse").is_some() {
            results.push(result(&part["functionResponse"], &at, &mut open)?);
        } else if let Some(value) = part.get("text") {
            parsed.add_text(text(value, &format!("{at}.text"))?);
        } else {
            let (data, field) = match part.get("inlineData") {
                Some(data) => (data, "data"),
                None => (&part["fileData"], "fileUri"),
            };
            filled(&data[field], &format!("{at}.{field}"))?;
            let kind = filled(&data["mimeType"], &format!("{at}.mimeType"))?;
            let kinds = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
            require(kinds.contains(&kind), || format!("Unsupported MIME type: {kind}"))?;
            parsed.images += 1;
        }
    }
    require(results.len() == expected, || {
        format!(
            "Please ensure that the number of function response parts is equal to the number of function \
             call parts of the function call turn: {at} has {} for {expected}",
            results.len()
        )
    })?;
    if !results.is_empty() {
        request.add_results(results);
    }
    if parsed != RecordedMessage::of(MessageRole::User) {
        request.messages.push(parsed);
    }
    Ok(())
}

/// Parses a result and assigns it to the first pending call that matches.
fn result(response: &Value, at: &str, open: &mut Vec<RecordedCall>) -> Checked<RecordedResult> {
    reject_unknown_fields(object(response, at)?, &["id", "name", "response"], |name| unknown(name, at))?;
    let name = name(&response["name"], &format!("{at}.function_response.name"))?;
    let id = response["id"].as_str().unwrap_or_default();
    let index = open.iter().position(|call| call.name == name && call.id == id).ok_or_else(|| {
        format!(
            "Please ensure that function response turn comes immediately after a function call turn, and \
             answers its calls: {at} answers {name} '{id}'"
        )
    })?;
    let content = &response["response"];
    require(content.is_object(), || {
        format!("Invalid value at '{at}.function_response.response' (Struct): {content}")
    })?;
    let is_error = content.get("error").is_some();
    let inner = content.get("output").or_else(|| content.get("error")).unwrap_or(content);
    let content = inner.as_str().map_or_else(|| inner.to_string(), str::to_owned);
    Ok(RecordedResult { call_id: open.remove(index).id, name: Some(name.to_owned()), content, is_error })
}
