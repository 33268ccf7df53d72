//! A request in the form of Gemini's `streamGenerateContent`.

use std::collections::HashMap;

use haft_core::ResponseFormat;
use serde_json::{Map, Value, json};

use crate::answer::is_made_up;
use crate::dialect::Body;
use crate::format::{FormatBy, has_map, has_tools, instructions, is_union};
use crate::options;
use crate::request::{Call, Image, ImageSource, ModelRequest, Part, ToolChoice, ToolResult, Turn};
use crate::schema::{Form, Offer};
use crate::sides::{self, Side, Sides};

/// What stands for the signature of a call that the model did not make itself: of another model, or ours.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Models that ask for no signature, and need not know what stands for one.
const UNSIGNED: [&str; 3] = ["gemini-1", "gemini-2", "gemma"];

/// Levels of thinking that models from 3 on take. Some Pro models refuse others.
const LEVELS: [&str; 3] = ["low", "medium", "high"];
const PRO_LEVELS: [&str; 2] = ["low", "high"];

/// The first version that thinks unless it is told not to, and parts of the names of those that still do not.
const FIRST_THINKER: f32 = 2.5;
const THOUGHTLESS: [&str; 6] = ["lite", "image", "tts", "audio", "live", "embedding"];

pub(crate) fn body(request: &ModelRequest, by: FormatBy) -> Body {
    // Models before 3 refuse a response format beside functions.
    let is_alone = !has_tools(request) || is_signed(model_of(request));
    let format = request.response_format.as_ref().filter(|_| by == FormatBy::Field && is_alone);
    let schema = format.and_then(ResponseFormat::schema);
    // A schema that the subset cannot express is part of the instructions. An object without properties is a map, or a
    // part of a schema that the subset left out.
    let adapted = schema.filter(|schema| !has_map(schema) && !is_union(schema));
    let adapted = adapted.and_then(|schema| Form::Subset.adapt(schema).ok());
    let adapted = adapted.filter(|schema| !has_map(schema));
    let is_whole = format.is_some() && schema.is_some() == adapted.is_some();
    let by = if is_whole { FormatBy::Field } else { FormatBy::Words };
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    if let Some(system) = instructions(request, by) {
        set("systemInstruction", json!({"parts": [{"text": system}]}));
    }
    set("contents", contents(request));
    let Offer { tools, left_out } = Offer::of(&request.tools, Form::Subset);
    let is_silent = format.is_some() && !has_tools(request);
    if !tools.is_empty() && !is_silent {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        set("toolConfig", json!({"functionCallingConfig": choice(&request.tool_choice, &names)}));
        let written = tools.into_iter().map(|tool| {
            let mut function = json!({"name": tool.name, "description": tool.description});
            // An object without properties is refused; a function without parameters is not.
            if tool.schema.get("properties").is_some() {
                function["parameters"] = tool.schema.clone();
            }
            function
        });
        set("tools", json!([{"functionDeclarations": written.collect::<Value>()}]));
    }
    let mut generation = Map::new();
    if thinks(model_of(request)) {
        generation.insert("thinkingConfig".to_owned(), json!({"includeThoughts": true}));
    }
    if let Some(temperature) = request.temperature {
        generation.insert("temperature".to_owned(), temperature.into());
    }
    if let Some(most) = request.longest_answer() {
        generation.insert("maxOutputTokens".to_owned(), most.into());
    }
    if format.is_some() {
        generation.insert("responseMimeType".to_owned(), "application/json".into());
        generation.extend(adapted.map(|schema| ("responseSchema".to_owned(), schema)));
    }
    options::gemini(&request.options, thinking_levels(model_of(request)), &mut generation);
    if !generation.is_empty() {
        set("generationConfig", generation.into());
    }
    Body { json: Value::Object(fields), left_out, has_format: format.is_some() }
}

fn model_of(request: &ModelRequest) -> &str {
    request.model.strip_prefix("models/").unwrap_or(&request.model)
}

/// The version in the name of a model.
fn version(model: &str) -> Option<f32> {
    model.strip_prefix("gemini-")?.split('-').next()?.parse().ok()
}

/// The levels of thinking that a model takes: none before 3.
fn thinking_levels(model: &str) -> &'static [&'static str] {
    if version(model).is_none_or(|version| version < 3.0) {
        return &[];
    }
    if model.contains("pro") { &PRO_LEVELS } else { &LEVELS }
}

/// Whether a model is one of those that sign their calls, which are those from 3 on.
fn is_signed(model: &str) -> bool {
    !UNSIGNED.iter().any(|unsigned| model.starts_with(unsigned))
}

/// Whether a model thinks by itself, and so tells what it thought at no cost. One that does not refuses to be asked.
fn thinks(model: &str) -> bool {
    let Some(rest) = model.strip_prefix("gemini-") else { return false };
    let is_new = version(model).is_some_and(|version| version >= FIRST_THINKER);
    let is_newest = ["flash-latest", "pro-latest"].contains(&rest);
    (is_new || is_newest) && !THOUGHTLESS.iter().any(|part| rest.contains(part))
}

fn choice(choice: &ToolChoice, offered: &[&str]) -> Value {
    match choice {
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Tool(name) if offered.contains(&name.as_str()) => {
            json!({"mode": "ANY", "allowedFunctionNames": [name]})
        }
        ToolChoice::Auto | ToolChoice::Tool(_) => json!({"mode": "AUTO"}),
    }
}

fn contents(request: &ModelRequest) -> Value {
    let model = model_of(request);
    let is_signed = is_signed(model);
    let (mut sides, mut ids) = (Sides::default(), GivenIds::default());
    for turn in &request.turns {
        match turn {
            Turn::System { text, .. } => {
                sides.say(Side::User, vec![json!({"text": sides::instruction(text)})])
            }
            Turn::User { parts, .. } => sides.say(Side::User, parts.iter().filter_map(part).collect()),
            Turn::Assistant { text, calls, .. } => {
                sides.say(Side::Model, assistant(text, calls, is_signed, &mut ids));
            }
            Turn::ToolResults { results } => {
                sides.say(Side::User, results.iter().map(|each| result(each, &ids)).collect());
            }
        }
    }
    sides::written(sides.finish(|words| json!({"text": words})), "model", "parts")
}

/// A text without anything in it is refused.
fn part(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } => (!text.is_empty()).then(|| json!({"text": text})),
        Part::Image(Image { media_type, source, .. }) => Some(match source {
            ImageSource::Data(data) => json!({"inlineData": {"mimeType": media_type, "data": data}}),
            ImageSource::Url(url) => json!({"fileData": {"mimeType": media_type, "fileUri": url}}),
        }),
    }
}

fn assistant<'a>(text: &str, calls: &'a [Call], is_signed: bool, ids: &mut GivenIds<'a>) -> Vec<Value> {
    ids.0 = calls.iter().filter_map(|call| Some((call.id.as_str(), given_id(call)?))).collect();
    let said = (!text.is_empty()).then(|| json!({"text": text}));
    let calls = calls.iter().enumerate().map(|(number, call)| {
        let name = Form::Subset.called(&call.name);
        let mut function = json!({"name": name, "args": call.arguments_object()});
        if let Some(id) = given_id(call) {
            function["id"] = id.into();
        }
        let mut part = json!({"functionCall": function});
        // Of calls that are made together, the first has the signature.
        let stand_in = (is_signed && number == 0).then_some(NO_SIGNATURE);
        if let Some(signature) = call.signature.as_deref().or(stand_in) {
            part["thoughtSignature"] = signature.into();
        }
        part
    });
    said.into_iter().chain(calls).collect()
}

/// The ids that the model gave the calls of the last answer, by ours.
#[derive(Default)]
struct GivenIds<'a>(HashMap<&'a str, &'a str>);

/// The id that the model gave a call. Calls without are known by their order.
fn given_id(call: &Call) -> Option<&str> {
    call.provider_id.as_deref().or_else(|| Some(call.id.as_str()).filter(|id| !is_made_up(id)))
}

fn result(result: &ToolResult, ids: &GivenIds<'_>) -> Value {
    let content =
        serde_json::from_str(&result.content).unwrap_or_else(|_| Value::from(result.content.as_str()));
    let response = match (result.is_error, content) {
        // It is the form of an error already.
        (true, Value::Object(fields)) if fields.len() == 1 && fields.contains_key("error") => fields.into(),
        (true, content) => json!({"error": content}),
        (false, content) => json!({"output": content}),
    };
    let mut function = json!({"name": Form::Subset.called(&result.name), "response": response});
    if let Some(id) = ids.0.get(result.call_id.as_str()) {
        function["id"] = (*id).into();
    }
    json!({"functionResponse": function})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_wrapped_once() {
        let sent = |content: &str, is_error| {
            let (call_id, name) = ("c".to_owned(), "look".to_owned());
            let written = result(
                &ToolResult { call_id, name, content: content.to_owned(), is_error },
                &GivenIds::default(),
            );
            written["functionResponse"]["response"].clone()
        };
        let denied = json!({"error": {"kind": "Denied", "message": "no"}});
        assert_eq!(sent(&denied.to_string(), true), denied);
        assert_eq!(sent("no", true), json!({"error": "no"}));
        assert_eq!(sent(r#"{"error": 1, "more": 2}"#, true), json!({"error": {"error": 1, "more": 2}}));
        assert_eq!(sent(r#"{"error": 1}"#, false), json!({"output": {"error": 1}}));
    }

    #[test]
    fn only_models_that_think_are_asked_what_they_thought() {
        for (model, expected) in [
            ("gemini-2.5-flash", true),
            ("gemini-2.5-pro-preview-06-05", true),
            ("models/gemini-3-pro-preview", true),
            ("gemini-3.8-flash", true),
            ("gemini-10-pro", true),
            ("gemini-flash-latest", true),
            ("gemini-2.5-flash-lite", false),
            ("gemini-flash-lite-latest", false),
            ("gemini-2.5-flash-image", false),
            ("gemini-2.5-flash-preview-tts", false),
            ("gemini-2.0-flash", false),
            ("gemini-1.5-pro", false),
            ("gemini-pro", false),
            ("gemma-3-27b-it", false),
            ("our-own", false),
        ] {
            let request = ModelRequest { temperature: Some(0.5), ..ModelRequest::new(model, vec![]) };
            let asked =
                body(&request, FormatBy::Field).json["generationConfig"].get("thinkingConfig").cloned();
            assert_eq!(asked, expected.then(|| json!({"includeThoughts": true})), "{model}");
        }
    }
}
