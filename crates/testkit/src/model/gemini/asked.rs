//! Content as it is asked for, held to Gemini's rules.

use serde_json::Value;

use super::schema;
use crate::model::asked::{AskedCall, AskedMessage, AskedModel, AskedResult, AskedTool, Role};
use crate::model::rules::{
    Checked, add_tool, filled, items, length, list, must, name, number, object, only, stops, temperature,
    text,
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

pub(in crate::model) fn read(body: &Value, mut asked: AskedModel) -> Checked<AskedModel> {
    let fields = object(body, "the request")?;
    only(fields, &FIELDS, |name| unknown(name, "the request"))?;
    let system = &body["systemInstruction"];
    if !system.is_null() {
        for part in items(&system["parts"], "systemInstruction.parts")? {
            asked.add_system(text(&part["text"], "systemInstruction.parts.text")?);
        }
    }
    let generation = &body["generationConfig"];
    let thinking = &generation["thinkingConfig"];
    must(thinking.is_null() || thinks(&asked.model), || {
        format!("Thinking is not enabled for models/{}", asked.model)
    })?;
    asked.temperature = temperature(&generation["temperature"], 2.0)?;
    asked.max_tokens = length(&generation["maxOutputTokens"], "generationConfig.maxOutputTokens")?;
    asked.format = read_options(body, &asked.model)?;
    read_tools(body, &mut asked)?;
    read_contents(items(&body["contents"], "contents")?, &mut asked)?;
    Ok(asked)
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

/// Levels of thinking. Not every Pro model takes all of them.
const LEVELS: [&str; 4] = ["minimal", "low", "medium", "high"];
const PRO_LEVELS: [&str; 2] = ["low", "high"];

/// Gives the form of the answer, if there is one.
fn read_options(body: &Value, model: &str) -> Checked<Option<Value>> {
    let generation = &body["generationConfig"];
    if generation.is_null() {
        return Ok(None);
    }
    only(object(generation, "generation_config")?, &GENERATION, |name| unknown(name, "generation_config"))?;
    number(&generation["topP"], "generation_config.top_p", 0.0, 1.0)?;
    number(&generation["frequencyPenalty"], "generation_config.frequency_penalty", -2.0, 2.0)?;
    number(&generation["presencePenalty"], "generation_config.presence_penalty", -2.0, 2.0)?;
    stops(&generation["stopSequences"], "generation_config.stop_sequences", 5)?;
    let thinking = &generation["thinkingConfig"];
    if !thinking.is_null() {
        let known = ["includeThoughts", "thinkingBudget", "thinkingLevel"];
        only(object(thinking, "thinking_config")?, &known, |name| unknown(name, "thinking_config"))?;
        must(thinking["thinkingLevel"].is_null() || model.starts_with("gemini-3"), || {
            "Thinking level is not supported for this model.".to_owned()
        })?;
        let levels = if model.contains("pro") { &PRO_LEVELS[..] } else { &LEVELS[..] };
        let level = thinking["thinkingLevel"].as_str();
        must(level.is_none_or(|level| levels.contains(&level)), || {
            format!("Thinking level {} is not supported for this model.", thinking["thinkingLevel"])
        })?;
    }
    let mime = &generation["responseMimeType"];
    let schema = &generation["responseSchema"];
    if mime.is_null() {
        must(schema.is_null(), || {
            "response_schema needs a response_mime_type of application/json".to_owned()
        })?;
        return Ok(None);
    }
    must(mime == "application/json", || format!("response_mime_type: {mime}"))?;
    must(body["tools"].is_null() || model.starts_with("gemini-3"), || {
        "Function calling with a response mime type: 'application/json' is unsupported".to_owned()
    })?;
    if schema.is_null() {
        return Ok(Some("json".into()));
    }
    schema::check_root(schema, "generation_config.response_schema")?;
    Ok(Some(schema.clone()))
}

/// Only these models think; others refuse to be told how.
fn thinks(model: &str) -> bool {
    ["gemini-2.5", "gemini-3"].iter().any(|family| model.starts_with(family)) && !model.contains("lite")
}

pub(super) fn unknown(name: &str, at: &str) -> String {
    format!("Invalid JSON payload received. Unknown name \"{name}\" at '{at}': Cannot find field.")
}

fn read_tools(body: &Value, asked: &mut AskedModel) -> Checked<()> {
    for (group_number, group) in list(&body["tools"], "tools")?.iter().enumerate() {
        let at = format!("tools[{group_number}].function_declarations");
        for (number, function) in items(&group["functionDeclarations"], &at)?.iter().enumerate() {
            let at = format!("{at}[{number}]");
            only(object(function, &at)?, &["name", "description", "parameters"], |name| unknown(name, &at))?;
            let name = name(&function["name"], &format!("{at}.name"))?.to_owned();
            must(name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'), || {
                format!("{at}.name: Invalid function name. Must start with a letter or an underscore: {name}")
            })?;
            let schema = function["parameters"].clone();
            if !schema.is_null() {
                schema::check_root(&schema, &format!("{at}.parameters"))?;
            }
            let description = function["description"].as_str().unwrap_or_default().to_owned();
            add_tool(&mut asked.tools, AskedTool { name, description, schema })?;
        }
    }
    let config = &body["toolConfig"]["functionCallingConfig"];
    if config.is_null() {
        return Ok(());
    }
    must(!asked.tools.is_empty(), || {
        "Function calling config is set without function_declarations.".to_owned()
    })?;
    let allowed = list(&config["allowedFunctionNames"], "allowed_function_names")?;
    for name in allowed {
        must(asked.tool_names().iter().any(|known| name == known), || {
            format!("allowed_function_names: {name} is not declared")
        })?;
    }
    must(allowed.is_empty() || config["mode"] == "ANY", || {
        "Allowed function names can only be set when the function calling mode is ANY.".to_owned()
    })?;
    let word = match config["mode"].as_str() {
        Some("AUTO") => "auto",
        Some("NONE") => "none",
        Some("ANY") => allowed.first().and_then(Value::as_str).unwrap_or("required"),
        Some(_) | None => return Err(format!("function_calling_config.mode: {} is no mode", config["mode"])),
    };
    asked.tool_choice = Some(word.to_owned());
    Ok(())
}

fn read_contents(contents: &[Value], asked: &mut AskedModel) -> Checked<()> {
    let mut open: Vec<AskedCall> = Vec::new();
    let needs_signatures = asked.model.starts_with("gemini-3");
    let last_words = contents.iter().rposition(|content| content["role"] == "user" && !answers(content));
    for (number, content) in contents.iter().enumerate() {
        let at = format!("contents[{number}]");
        only(object(content, &at)?, &["role", "parts"], |name| unknown(name, &at))?;
        let expected = if number % 2 == 0 { "user" } else { "model" };
        must(content["role"] == expected, || {
            format!(
                "Please ensure that multiturn requests alternate between user and model, and begin with \
                 user: {at} is of {}",
                content["role"]
            )
        })?;
        let parts = items(&content["parts"], &format!("{at}.parts"))?;
        if expected == "model" {
            let said = model(parts, &at, needs_signatures && Some(number) > last_words)?;
            open.clone_from(&said.calls);
            asked.messages.push(said);
        } else {
            read_user(parts, &at, std::mem::take(&mut open), asked)?;
        }
    }
    let ends_well = contents.last().is_some_and(|last| last["role"] == "user");
    must(ends_well, || {
        "Please ensure that multiturn requests end with a user role or a function response.".to_owned()
    })
}

/// Whether a content holds results of calls.
fn answers(content: &Value) -> bool {
    let parts = content["parts"].as_array().into_iter().flatten();
    parts.into_iter().any(|part| part.get("functionResponse").is_some())
}

fn check_part(part: &Value, at: &str) -> Checked<()> {
    let data = ["text", "inlineData", "fileData", "functionCall", "functionResponse"];
    let known = [&data[..], &["thought", "thoughtSignature"]].concat();
    let fields = object(part, at)?;
    only(fields, &known, |name| unknown(name, at))?;
    let count = data.iter().filter(|name| fields.contains_key(**name)).count();
    must(count == 1, || format!("{at}.data: required oneof field 'data' must have one initialized field"))
}

fn model(parts: &[Value], at: &str, needs_signature: bool) -> Checked<AskedMessage> {
    let mut said = AskedMessage::of(Role::Assistant);
    for (number, part) in parts.iter().enumerate() {
        let at = format!("{at}.parts[{number}]");
        check_part(part, &at)?;
        let call = &part["functionCall"];
        if !call.is_null() {
            only(object(call, &at)?, &["id", "name", "args"], |name| unknown(name, &at))?;
            let is_signed = part["thoughtSignature"].as_str().is_some_and(|signature| !signature.is_empty());
            must(is_signed || !needs_signature || !said.calls.is_empty(), || {
                format!("Function call is missing a thought_signature in functionCall parts: {at}")
            })?;
            let name = name(&call["name"], &format!("{at}.function_call.name"))?.to_owned();
            let arguments = call["args"].clone();
            must(arguments.is_object(), || {
                format!("Invalid value at '{at}.function_call.args' (Struct): {arguments}")
            })?;
            let id = call["id"].as_str().unwrap_or_default().to_owned();
            said.calls.push(AskedCall { id, name, arguments });
        } else if part["thought"] != true {
            said.add_text(text(&part["text"], &format!("{at}.text"))?);
        }
    }
    Ok(said)
}

/// What the user says, or the results of all calls before it.
fn read_user(parts: &[Value], at: &str, mut open: Vec<AskedCall>, asked: &mut AskedModel) -> Checked<()> {
    let mut said = AskedMessage::of(Role::User);
    let mut results = Vec::new();
    let expected = open.len();
    for (number, part) in parts.iter().enumerate() {
        let at = format!("{at}.parts[{number}]");
        check_part(part, &at)?;
        if part.get("functionResponse").is_some() {
            results.push(result(&part["functionResponse"], &at, &mut open)?);
        } else if let Some(words) = part.get("text") {
            said.add_text(text(words, &format!("{at}.text"))?);
        } else {
            let (data, place) = match part.get("inlineData") {
                Some(data) => (data, "data"),
                None => (&part["fileData"], "fileUri"),
            };
            filled(&data[place], &format!("{at}.{place}"))?;
            let kind = filled(&data["mimeType"], &format!("{at}.mimeType"))?;
            let kinds = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
            must(kinds.contains(&kind), || format!("Unsupported MIME type: {kind}"))?;
            said.images += 1;
        }
    }
    must(results.len() == expected, || {
        format!(
            "Please ensure that the number of function response parts is equal to the number of function \
             call parts of the function call turn: {at} has {} for {expected}",
            results.len()
        )
    })?;
    if !results.is_empty() {
        asked.add_results(results);
    }
    if said != AskedMessage::of(Role::User) {
        asked.messages.push(said);
    }
    Ok(())
}

/// A result, which takes the first call that it fits.
fn result(response: &Value, at: &str, open: &mut Vec<AskedCall>) -> Checked<AskedResult> {
    only(object(response, at)?, &["id", "name", "response"], |name| unknown(name, at))?;
    let name = name(&response["name"], &format!("{at}.function_response.name"))?;
    let id = response["id"].as_str().unwrap_or_default();
    let place = open.iter().position(|call| call.name == name && call.id == id).ok_or_else(|| {
        format!(
            "Please ensure that function response turn comes immediately after a function call turn, and \
             answers its calls: {at} answers {name} '{id}'"
        )
    })?;
    let content = &response["response"];
    must(content.is_object(), || {
        format!("Invalid value at '{at}.function_response.response' (Struct): {content}")
    })?;
    let is_error = content.get("error").is_some();
    let inner = content.get("output").or_else(|| content.get("error")).unwrap_or(content);
    let content = inner.as_str().map_or_else(|| inner.to_string(), str::to_owned);
    Ok(AskedResult { call_id: open.remove(place).id, name: Some(name.to_owned()), content, is_error })
}
