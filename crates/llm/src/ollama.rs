//! The dialect of Ollama's native chat API: one JSON document per line, with complete calls.

use haft_core::ResponseFormat;
use serde_json::{Map, Value, json};

use crate::delta::{Delta, EndReason, MAX_CALLS, Usage};
use crate::dialect::{Body, Reader};
use crate::format::{FormatBy, has_tools, instructions};
use crate::options;
use crate::request::{ContentPart, Image, ImageSource, ModelRequest, ModelTurn, ToolChoice};
use crate::schema::{Form, Offer, Offered};

/// Default context window, in tokens. Haft always sends a window: Ollama's default can be smaller or depend
/// on the machine, and Ollama silently truncates longer input.
pub const OLLAMA_WINDOW: u32 = 8_192;

/// The context window of a model as Ollama reports it, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextWindow {
    /// The maximum that the model supports.
    pub most: Option<u32>,
    /// The value configured for the model.
    pub set: Option<u32>,
}

impl ContextWindow {
    /// Parses the response of `/api/show`. Returns `None` if it is something else.
    pub(crate) fn read(shown: &Value) -> Option<Self> {
        let info = shown.get("model_info")?.as_object()?;
        let own = info.get("general.architecture").and_then(Value::as_str);
        let own = own.and_then(|family| info.get(&format!("{family}.context_length")));
        let any = || info.iter().find(|(name, _)| name.ends_with(".context_length")).map(|(_, value)| value);
        let most = own.or_else(any).and_then(Value::as_u64).and_then(|most| u32::try_from(most).ok());
        // Parameters are lines with a name and a value.
        let lines = shown.get("parameters").and_then(Value::as_str).unwrap_or_default().lines();
        let mut set = lines.filter_map(|line| line.trim().strip_prefix("num_ctx ")?.trim().parse().ok());
        Some(Self { most: most.filter(|most| *most > 0), set: set.next().filter(|set| *set > 0) })
    }
}

pub(crate) fn body(request: &ModelRequest, by: FormatBy) -> Body {
    // With `format`, Ollama enforces the schema on all output, so the model cannot call tools.
    let format: Option<&ResponseFormat> =
        request.response_format.as_ref().filter(|_| by == FormatBy::Field && !has_tools(request));
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("model", request.model.as_str().into());
    set("messages", messages(request));
    set("stream", true.into());
    let Offer { tools, left_out } = Offer::of(&request.tools, Form::Subset);
    // Ollama has no tool choice; omitting the tools prevents calls.
    if !tools.is_empty() && request.tool_choice != ToolChoice::None {
        let written = tools.into_iter().map(|tool| {
            let mut parameters = tool.schema.clone();
            if parameters.get("properties").is_none() {
                parameters["properties"] = json!({});
            }
            let function =
                json!({"name": tool.name, "description": description(&tool), "parameters": parameters});
            json!({"type": "function", "function": function})
        });
        set("tools", written.collect());
    }
    let options = [
        ("temperature", request.temperature.map(Value::from)),
        ("num_predict", request.max_response_tokens().map(Value::from)),
        ("num_ctx", Some(request.context_tokens.unwrap_or(OLLAMA_WINDOW).into())),
    ];
    let mut options: Map<String, Value> =
        options.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    if let Some(format) = format {
        set("format", format.schema().cloned().unwrap_or_else(|| "json".into()));
    }
    options::ollama(&request.model, &request.options, &mut options, &mut fields);
    fields.insert("options".to_owned(), options.into());
    Body { json: Value::Object(fields), left_out, has_format: format.is_some() }
}

/// A tool's description, including that of its root schema, which Ollama drops.
fn description(tool: &Offered<'_>) -> String {
    let about = tool.schema.get("description").and_then(Value::as_str);
    let texts = [Some(tool.description), about].into_iter().flatten().filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n")
}

fn messages(request: &ModelRequest) -> Value {
    // The instructions contain the response format in addition to `format`, which Ollama does not show to the
    // model.
    let system = instructions(request, FormatBy::Words);
    let system = system.iter().map(|system| json!({"role": "system", "content": system}));
    let mut messages: Vec<Value> = system.collect();
    // The ids that the model assigned to the calls of its last response, by Haft's ids.
    let mut given: Vec<(&str, &str)> = Vec::new();
    // Reasoning is returned only while the calls that it led to are in progress.
    let last_user =
        request.turns.iter().rposition(|turn| matches!(turn, ModelTurn::User { .. })).unwrap_or_default();
    for (number, turn) in request.turns.iter().enumerate() {
        match turn {
            ModelTurn::System { text, .. } => messages.push(json!({"role": "system", "content": text})),
            ModelTurn::User { parts, .. } => messages.push(user(parts)),
            ModelTurn::Assistant { text, reasoning, calls, .. } => {
                let mut message = json!({"role": "assistant", "content": text});
                let thoughts = reasoning.as_ref().map(|reasoning| reasoning.text.as_str());
                if let Some(thoughts) = thoughts.filter(|text| !text.is_empty() && number > last_user) {
                    message["thinking"] = thoughts.into();
                }
                let ids =
                    calls.iter().filter_map(|call| Some((call.id.as_str(), call.provider_id.as_deref()?)));
                given = ids.collect();
                if !calls.is_empty() {
                    let written = calls.iter().map(|call| {
                        let name = Form::Subset.called(&call.name);
                        let function = json!({"name": name, "arguments": call.arguments_object()});
                        match &call.provider_id {
                            Some(id) => json!({"id": id, "function": function}),
                            None => json!({"function": function}),
                        }
                    });
                    message["tool_calls"] = written.collect();
                }
                messages.push(message);
            }
            ModelTurn::ToolResults { results } => messages.extend(results.iter().map(|result| {
                let name = Form::Subset.called(&result.name);
                let mut message = json!({"role": "tool", "tool_name": name, "content": result.content});
                if let Some(id) = given.iter().find(|(own, _)| *own == result.call_id).map(|(_, id)| *id) {
                    message["tool_call_id"] = id.into();
                }
                message
            })),
        }
    }
    Value::Array(messages)
}

/// A user message: one text, and images beside it, which Ollama does not fetch itself.
fn user(parts: &[ContentPart]) -> Value {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            ContentPart::Text { text } => texts.push(text.clone()),
            ContentPart::Image(Image { source: ImageSource::Data(data), .. }) => images.push(data.as_str()),
            ContentPart::Image(Image { source: ImageSource::Url(url), .. }) => {
                texts.push(format!("(image: {url})"))
            }
        }
    }
    let mut message = json!({"role": "user", "content": texts.join("\n")});
    if !images.is_empty() {
        message["images"] = images.into();
    }
    message
}

/// The partially received lines of a response.
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
        // Lines with reasoning or calls have log probabilities too, which do not belong to the text.
        let logprobs = line.get("logprobs").and_then(Value::as_array).filter(|_| text("content").is_some());
        deltas.extend(logprobs.map(|tokens| Delta::Logprobs(tokens.iter().map(logprob).collect())));
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            // The response ends at the first call beyond the limit.
            if self.calls > MAX_CALLS {
                break;
            }
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

/// The log probability of a token in OpenAI's form. Ollama omits empty lists.
fn logprob(token: &Value) -> Value {
    let mut token = token.clone();
    if let Value::Object(fields) = &mut token {
        fields.entry("top_logprobs").or_insert_with(|| json!([]));
    }
    token
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
