//! A request in the form of Gemini's `streamGenerateContent`.

use serde_json::{Map, Value, json};

use crate::answer::is_made_up;
use crate::dialect::Body;
use crate::request::{Call, Image, ImageSource, ModelRequest, Part, ToolChoice, ToolResult, Turn};
use crate::schema::{Form, Offer};
use crate::sides::{self, Side, Sides};

/// What stands for the signature of a call that the model did not make itself: of another model, or ours.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Models that ask for no signature, and need not know what stands for one.
const UNSIGNED: [&str; 3] = ["gemini-1", "gemini-2", "gemma"];

/// The first version that thinks unless it is told not to, and parts of the names of those that still do not.
const FIRST_THINKER: f32 = 2.5;
const THOUGHTLESS: [&str; 6] = ["lite", "image", "tts", "audio", "live", "embedding"];

pub(crate) fn body(request: &ModelRequest) -> Body {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    if let Some(system) = request.system.as_ref().filter(|system| !system.is_empty()) {
        set("systemInstruction", json!({"parts": [{"text": system}]}));
    }
    set("contents", contents(request));
    let Offer { tools, left_out } = Offer::of(&request.tools, Form::Subset);
    if !tools.is_empty() {
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
    if !generation.is_empty() {
        set("generationConfig", generation.into());
    }
    Body { json: Value::Object(fields), left_out }
}

fn model_of(request: &ModelRequest) -> &str {
    request.model.strip_prefix("models/").unwrap_or(&request.model)
}

/// Whether a model thinks by itself, and so tells what it thought at no cost. One that does not refuses to be asked.
fn thinks(model: &str) -> bool {
    let Some(rest) = model.strip_prefix("gemini-") else { return false };
    let version = rest.split('-').next().and_then(|version| version.parse::<f32>().ok());
    let is_new = version.is_some_and(|version| version >= FIRST_THINKER);
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
    let is_signed = !UNSIGNED.iter().any(|unsigned| model.starts_with(unsigned));
    let mut sides = Sides::default();
    for turn in &request.turns {
        match turn {
            Turn::User { parts } => sides.say(Side::User, parts.iter().filter_map(part).collect()),
            Turn::Assistant { text, calls, .. } => {
                sides.say(Side::Model, assistant(text, calls, is_signed));
            }
            Turn::ToolResults { results } => sides.say(Side::User, results.iter().map(result).collect()),
        }
    }
    sides::written(sides.finish(|words| json!({"text": words})), "model", "parts")
}

/// A text without anything in it is refused.
fn part(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } => (!text.is_empty()).then(|| json!({"text": text})),
        Part::Image(Image { media_type, source }) => Some(match source {
            ImageSource::Data(data) => json!({"inlineData": {"mimeType": media_type, "data": data}}),
            ImageSource::Url(url) => json!({"fileData": {"mimeType": media_type, "fileUri": url}}),
        }),
    }
}

fn assistant(text: &str, calls: &[Call], is_signed: bool) -> Vec<Value> {
    let said = (!text.is_empty()).then(|| json!({"text": text}));
    let calls = calls.iter().enumerate().map(|(number, call)| {
        let name = Form::Subset.called(&call.name);
        let mut function = json!({"name": name, "args": call.arguments_object()});
        if !is_made_up(&call.id) {
            function["id"] = call.id.as_str().into();
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

fn result(result: &ToolResult) -> Value {
    let content =
        serde_json::from_str(&result.content).unwrap_or_else(|_| Value::from(result.content.as_str()));
    let response = if result.is_error { json!({"error": content}) } else { json!({"output": content}) };
    let mut function = json!({"name": Form::Subset.called(&result.name), "response": response});
    if !is_made_up(&result.call_id) {
        function["id"] = result.call_id.as_str().into();
    }
    json!({"functionResponse": function})
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let asked = body(&request).json["generationConfig"].get("thinkingConfig").cloned();
            assert_eq!(asked, expected.then(|| json!({"includeThoughts": true})), "{model}");
        }
    }
}
