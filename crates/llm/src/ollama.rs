//! Ollama's own chat: a JSON document on each line, calls always whole.

use serde_json::{Map, Value, json};

use crate::delta::{Delta, EndReason, Usage};
use crate::dialect::{Body, Reader};
use crate::request::{Image, ImageSource, ModelRequest, Part, ToolChoice, Turn};
use crate::schema::{Form, Offer};

/// The window of a model of which nothing is known. It is always said: Ollama's own is as small as half of this, or
/// depends on the machine, and what is beyond it is cut without a word.
pub const OLLAMA_WINDOW: u32 = 8_192;

/// What Ollama says of how much a model reads and writes in all, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// What the model was made for.
    pub most: Option<u32>,
    /// What somebody set for it.
    pub set: Option<u32>,
}

impl Window {
    /// Reads what `/api/show` tells of a model; nothing where it is no such thing.
    pub(crate) fn read(shown: &Value) -> Option<Self> {
        let info = shown.get("model_info")?.as_object()?;
        let own = info.get("general.architecture").and_then(Value::as_str);
        let own = own.and_then(|family| info.get(&format!("{family}.context_length")));
        let any = || info.iter().find(|(name, _)| name.ends_with(".context_length")).map(|(_, value)| value);
        let most = own.or_else(any).and_then(Value::as_u64).and_then(|most| u32::try_from(most).ok());
        // Parameters are lines of a name and its value.
        let lines = shown.get("parameters").and_then(Value::as_str).unwrap_or_default().lines();
        let mut set = lines.filter_map(|line| line.trim().strip_prefix("num_ctx ")?.trim().parse().ok());
        Some(Self { most: most.filter(|most| *most > 0), set: set.next().filter(|set| *set > 0) })
    }
}

pub(crate) fn body(request: &ModelRequest) -> Body {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("model", request.model.as_str().into());
    set("messages", messages(request));
    set("stream", true.into());
    let Offer { tools, left_out } = Offer::of(&request.tools, Form::Subset);
    // It cannot be told when to call; what it does not see it will not call.
    if !tools.is_empty() && request.tool_choice != ToolChoice::None {
        let written = tools.into_iter().map(|tool| {
            let mut parameters = tool.schema.clone();
            if parameters.get("properties").is_none() {
                parameters["properties"] = json!({});
            }
            let function =
                json!({"name": tool.name, "description": tool.description, "parameters": parameters});
            json!({"type": "function", "function": function})
        });
        set("tools", written.collect());
    }
    let options = [
        ("temperature", request.temperature.map(Value::from)),
        ("num_predict", request.longest_answer().map(Value::from)),
        ("num_ctx", Some(request.context_tokens.unwrap_or(OLLAMA_WINDOW).into())),
    ];
    let options: Map<String, Value> =
        options.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    set("options", options.into());
    Body { json: Value::Object(fields), left_out }
}

fn messages(request: &ModelRequest) -> Value {
    let system = request.system.iter().map(|system| json!({"role": "system", "content": system}));
    let mut messages: Vec<Value> = system.collect();
    for turn in &request.turns {
        match turn {
            Turn::User { parts } => messages.push(user(parts)),
            Turn::Assistant { text, calls, .. } => {
                let mut message = json!({"role": "assistant", "content": text});
                if !calls.is_empty() {
                    let written = calls.iter().map(|call| {
                        let name = Form::Subset.called(&call.name);
                        json!({"function": {"name": name, "arguments": call.arguments_object()}})
                    });
                    message["tool_calls"] = written.collect();
                }
                messages.push(message);
            }
            Turn::ToolResults { results } => messages.extend(results.iter().map(|result| {
                let name = Form::Subset.called(&result.name);
                json!({"role": "tool", "tool_name": name, "content": result.content})
            })),
        }
    }
    Value::Array(messages)
}

/// One text and pictures beside it, which it does not fetch itself.
fn user(parts: &[Part]) -> Value {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text { text } => texts.push(text.clone()),
            Part::Image(Image { source: ImageSource::Data(data), .. }) => images.push(data.as_str()),
            Part::Image(Image { source: ImageSource::Url(url), .. }) => texts.push(format!("(image: {url})")),
        }
    }
    let mut message = json!({"role": "user", "content": texts.join("\n")});
    if !images.is_empty() {
        message["images"] = images.into();
    }
    message
}

/// The lines of an answer, as far as they came.
#[derive(Default)]
pub(crate) struct Lines {
    calls: usize,
    end: Option<EndReason>,
}

impl Reader for Lines {
    fn read(&mut self, line: &Value, deltas: &mut Vec<Delta>) {
        let message = line.get("message").unwrap_or(&Value::Null);
        let text = |name: &str| message.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        deltas.extend(text("thinking").map(|text| Delta::Reasoning(text.to_owned())));
        deltas.extend(text("content").map(|text| Delta::Text(text.to_owned())));
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.read_call(call, deltas);
        }
        if line.get("done").and_then(Value::as_bool) != Some(true) {
            return;
        }
        let number = |name: &str| line.get(name).and_then(Value::as_u64);
        if let Some(output) = number("eval_count") {
            let input = number("prompt_eval_count").unwrap_or_default();
            deltas.push(Delta::Usage(Usage { input, output, ..Usage::default() }));
        }
        self.end = Some(match line.get("done_reason").and_then(Value::as_str) {
            Some("stop") | None => EndReason::Stop,
            Some("length") => EndReason::Length,
            Some(_) => EndReason::Other,
        });
    }

    fn end(&self) -> Option<EndReason> {
        self.end
    }

    fn is_complete(&self) -> bool {
        self.end.is_some()
    }
}

impl Lines {
    fn read_call(&mut self, call: &Value, deltas: &mut Vec<Delta>) {
        let function = call.get("function").unwrap_or(&Value::Null);
        let text = |holder: &Value, name: &str| holder.get(name).and_then(Value::as_str).map(str::to_owned);
        let index = self.calls;
        self.calls += 1;
        deltas.push(Delta::Call {
            index,
            id: text(call, "id"),
            name: text(function, "name"),
            signature: None,
        });
        match function.get("arguments") {
            Some(Value::String(fragment)) => {
                deltas.push(Delta::Arguments { index, fragment: fragment.clone() });
            }
            Some(whole @ Value::Object(_)) => {
                deltas.push(Delta::Arguments { index, fragment: whole.to_string() });
            }
            Some(_) | None => {}
        }
    }
}
