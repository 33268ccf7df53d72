//! Fields of bodies in OpenAI's forms. Fields without a meaning of their own here are options of the model.

use std::collections::HashSet;
use std::hash::Hash;

use haft_agent::{ChatMessage, ChatRole, MessagePart, ModelParameters};
use haft_core::name::RESERVED_NAMES;
use haft_core::schema::any_arguments;
use haft_core::{CallError, Message, ModelOptions, Violation};
use haft_llm::{MAX_CALLS, ModelTool};
use serde_json::{Map, Value, json};

use super::error::wrong;
use super::ids::CallPlace;
use crate::chat::messages;
use crate::routes::chat::read_options;

haft_core::templates! {
    NOT_AN_OBJECT = "v1.notAnObject",
        "must be a JSON object",
        "必须是 JSON 对象";
    NOT_TEXT = "v1.notText",
        "must be a text",
        "必须是文本";
    NOT_TRUTH = "v1.notTruth",
        "must be true or false",
        "必须是 true 或 false";
    OUT_OF_RANGE = "v1.outOfRange",
        "must be a number from {least} to {most}",
        "必须是 {least} 到 {most} 之间的数字";
    UNSUPPORTED = "v1.unsupported",
        "is not supported here; leave it out",
        "此处不支持；请去掉该字段";
    OTHER_NAME = "v1.otherName",
        "is not a field of this request; use {field}",
        "不是此请求的字段；请使用 {field}";
    FILES = "v1.files",
        "files and audio are not supported; send text and images",
        "此处无法读取文件和音频；请发送文本和图片";
    BAD_TOOL = "v1.badTool",
        "must be a function with a name of 1 to 64 letters, digits, _ and -, and parameters that are a JSON Schema",
        "必须是函数：名称为 1 到 64 个字母、数字、_ 或 -，参数为 JSON Schema";
    RESERVED = "v1.reservedTool",
        "is reserved: the agent's own tools have the names {names}; give the function another name",
        "是保留名称：{names} 是智能体自带工具的名称；请换一个名称";
    BUILT_IN = "v1.builtInTool",
        "tools of type {name} run only at OpenAI; give the agent such a tool, or send functions",
        "类型为 {name} 的工具只在 OpenAI 运行；请为智能体配置同类工具，或发送 function";
    NO_RESULT = "v1.noResult",
        "Each tool call must be followed by its result. Missing: {ids}.",
        "每个工具调用之后都必须有其结果。缺少：{ids}。";
    TOO_MANY_TOOLS = "v1.tooManyTools",
        "can have at most {most} tools",
        "最多 {most} 个工具";
    TOO_MANY_CALLS = "v1.tooManyCalls",
        "has {count} tool calls; one message can have at most {most}",
        "有 {count} 个工具调用；一条消息最多 {most} 个";
    BAD_CHOICE = "v1.badToolChoice",
        "must be auto, none, required, or the name of a function",
        "必须是 auto、none、required 或函数名";
}

const MOST_TOOLS: usize = 128;

/// The fields of a body.
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Fields<'a> {
    pub(super) fn of(body: &'a Value) -> Result<Self, CallError> {
        let fields = body.as_object();
        fields.map(Self).ok_or_else(|| wrong(haft_core::error::ROOT, Message::new(&NOT_AN_OBJECT)))
    }

    /// Null is as good as nothing.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, CallError> {
        let not_text = || wrong(name, Message::new(&NOT_TEXT));
        self.get(name).map(|value| value.as_str().ok_or_else(not_text)).transpose()
    }

    pub(super) fn needed_text(&self, name: &str) -> Result<&'a str, CallError> {
        let text = self.text(name)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| wrong(name, Message::new(&NOT_TEXT)))
    }

    pub(super) fn truth(&self, name: &str) -> Result<Option<bool>, CallError> {
        let not_truth = || wrong(name, Message::new(&NOT_TRUTH));
        self.get(name).map(|value| value.as_bool().ok_or_else(not_truth)).transpose()
    }

    pub(super) fn temperature(&self) -> Result<Option<f64>, CallError> {
        let bad = || wrong("temperature", Message::new(&OUT_OF_RANGE).with("least", "0").with("most", "2"));
        let read = |value: &Value| value.as_f64().filter(|number| (0.0..=2.0).contains(number));
        self.get("temperature").map(|value| read(value).ok_or_else(bad)).transpose()
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<u32>, CallError> {
        let bad = || wrong(name, Message::new(&OUT_OF_RANGE).with("least", "1").with("most", u32::MAX));
        let read = |value: &Value| u32::try_from(value.as_u64()?).ok().filter(|number| *number > 0);
        self.get(name).map(|value| read(value).ok_or_else(bad)).transpose()
    }

    /// The members of a field that is an object.
    pub(super) fn members(&self, name: &str) -> Result<Option<&'a Map<String, Value>>, CallError> {
        let not_an_object = || wrong(name, Message::new(&NOT_AN_OBJECT));
        self.get(name).map(|value| value.as_object().ok_or_else(not_an_object)).transpose()
    }

    /// Refuses a field that is not supported, also with `drop_params`: the answer would be to another request.
    pub(super) fn refuse(&self, name: &str) -> Result<(), CallError> {
        if self.get(name).is_some() { Err(wrong(name, Message::new(&UNSUPPORTED))) } else { Ok(()) }
    }

    /// The options of the model: all fields but those that are read elsewhere, and what stands for options in other
    /// places of the body.
    pub(super) async fn options(
        &self,
        read_elsewhere: &[&str],
        more: Map<String, Value>,
        spelled: impl Fn(&str) -> String,
    ) -> Result<ModelOptions, CallError> {
        let own = self.0.iter().filter(|(name, _)| !read_elsewhere.contains(&name.as_str()));
        let options = own.map(|(name, value)| (name.clone(), value.clone())).chain(more).collect();
        let here = |violation: Violation| Violation { path: spelled(&violation.path), ..violation };
        let options = read_options(options).await;
        options.map_err(|violations| CallError::invalid(violations.into_iter().map(here).collect()))
    }

    /// How the model is asked, but for which.
    pub(super) fn asking(
        &self,
        max_tokens: Option<u32>,
        options: ModelOptions,
    ) -> Result<ModelParameters, CallError> {
        Ok(ModelParameters {
            options,
            temperature: self.temperature()?,
            max_tokens,
            tool_choice: self.get("tool_choice").map(choice).transpose()?,
            parallel_tool_calls: self.truth("parallel_tool_calls")?,
            ..ModelParameters::default()
        })
    }

    /// Tools of the client. `inner` is where a function is told: within `function`, or beside `type`.
    pub(super) fn tools(&self, inner: Option<&str>) -> Result<Vec<ModelTool>, CallError> {
        let Some(given) = self.get("tools") else { return Ok(Vec::new()) };
        let bad = |place: usize| wrong(format!("tools.{place}"), Message::new(&BAD_TOOL));
        let items = given.as_array().ok_or_else(|| wrong("tools", Message::new(&BAD_TOOL)))?;
        if items.len() > MOST_TOOLS {
            return Err(wrong("tools", Message::new(&TOO_MANY_TOOLS).with("most", MOST_TOOLS)));
        }
        let read = |(place, item): (usize, &Value)| {
            let kind = item["type"].as_str().ok_or_else(|| bad(place))?;
            if kind != "function" {
                return Err(wrong(format!("tools.{place}"), Message::new(&BUILT_IN).with("name", kind)));
            }
            let tool = definition(inner.map_or(item, |inner| &item[inner])).ok_or_else(|| bad(place))?;
            if RESERVED_NAMES.contains(&tool.name.as_str()) {
                let path = inner.map_or_else(String::new, |inner| format!("{inner}."));
                let message = Message::new(&RESERVED).with("names", RESERVED_NAMES.join(", "));
                return Err(wrong(format!("tools.{place}.{path}name"), message));
            }
            Ok(tool)
        };
        items.iter().enumerate().map(read).collect()
    }
}

fn definition(function: &Value) -> Option<ModelTool> {
    let name = function["name"].as_str()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !(1..=64).contains(&name.len()) || !name.chars().all(is_plain) {
        return None;
    }
    let parameters = match &function["parameters"] {
        Value::Null => any_arguments(),
        Value::Object(schema) if schema.is_empty() => any_arguments(),
        Value::Object(schema) => Value::Object(schema.clone()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => return None,
    };
    let description = function["description"].as_str().unwrap_or_default().to_owned();
    let strict = function["strict"].as_bool();
    Some(ModelTool { name: name.to_owned(), description, parameters: parameters.into(), strict })
}

fn choice(given: &Value) -> Result<Value, CallError> {
    let named = given["function"]["name"].as_str().or(given["name"].as_str());
    match (given.as_str(), named) {
        (Some("auto" | "none" | "required"), _) => Ok(given.clone()),
        (None, Some(name)) if given["type"] == "function" => {
            Ok(json!({"type": "function", "function": {"name": name}}))
        }
        (Some(_) | None, _) => Err(wrong("tool_choice", Message::new(&BAD_CHOICE))),
    }
}

/// What somebody says: a text, or parts of it. Nothing is nothing.
pub(super) fn content(at: &str, given: &Value) -> Result<Vec<MessagePart>, CallError> {
    let bad = |violation: haft_core::Violation| wrong(format!("{at}.content"), violation.message);
    let Value::Array(parts) = given else {
        return if given.is_null() { Ok(Vec::new()) } else { messages::content(given).map_err(bad) };
    };
    let mut pieces = Vec::new();
    for part in parts {
        match part["type"].as_str() {
            Some("file" | "input_file" | "input_audio") => {
                return Err(wrong(format!("{at}.content"), Message::new(&FILES)));
            }
            Some("refusal") => {
                let text = part["refusal"].as_str().unwrap_or_default().to_owned();
                pieces.push(MessagePart::Text { text });
            }
            Some(_) | None => {
                let detail = part["image_url"]["detail"].as_str().or(part["detail"].as_str());
                let read = messages::content(&json!([part])).map_err(bad)?;
                pieces.extend(read.into_iter().map(|piece| closely(piece, detail)));
            }
        }
    }
    Ok(pieces)
}

/// An image with how closely it is to be looked at.
fn closely(piece: MessagePart, detail: Option<&str>) -> MessagePart {
    match piece {
        MessagePart::Image { url, .. } => MessagePart::Image { url, detail: detail.map(str::to_owned) },
        MessagePart::Text { .. } | MessagePart::Call { .. } | MessagePart::Result { .. } => piece,
    }
}

/// Refuses calls without a result, as OpenAI does: a model that is told of one makes up what came of it. `is_strict`:
/// results stand right behind the message that has their calls.
pub(super) fn check_results(param: &str, history: &[ChatMessage], is_strict: bool) -> Result<(), CallError> {
    let missing = without_result(history.iter().map(CallIds::of), is_strict);
    if missing.is_empty() { Ok(()) } else { Err(no_result(param, &missing.join(", "))) }
}

/// The ids in a message: of the calls that it makes, or of the call that it is the result of.
enum CallIds<Id> {
    Made(Vec<Id>),
    Answered(Option<Id>),
}

impl<'a> CallIds<&'a str> {
    fn of(message: &'a ChatMessage) -> Self {
        if message.role == ChatRole::Tool {
            return Self::Answered(message.result_of());
        }
        let id = |piece: &'a MessagePart| match piece {
            MessagePart::Call { id, .. } => Some(id.as_str()),
            MessagePart::Text { .. } | MessagePart::Image { .. } | MessagePart::Result { .. } => None,
        };
        Self::Made(message.content.iter().filter_map(id).collect())
    }
}

/// The calls without a result of the first message that has such calls. Reads the history once, from its end.
fn without_result<Id: Copy + Eq + Hash>(
    history: impl DoubleEndedIterator<Item = CallIds<Id>>,
    is_strict: bool,
) -> Vec<Id> {
    let (mut answered, mut first_missing) = (HashSet::new(), Vec::new());
    for ids in history.rev() {
        let calls = match ids {
            CallIds::Made(calls) => calls,
            CallIds::Answered(id) => {
                answered.extend(id);
                continue;
            }
        };
        let missing: Vec<Id> = calls.into_iter().filter(|id| !answered.contains(id)).collect();
        if !missing.is_empty() {
            first_missing = missing;
        }
        if is_strict {
            // A new set, since clearing a large one costs as much as it once held.
            answered = HashSet::new();
        }
    }
    first_missing
}

pub(super) fn no_result(param: &str, ids: &str) -> CallError {
    wrong(param, Message::new(&NO_RESULT).with("ids", ids))
}

/// A call in a client's history. One without an id of ours counts as native.
pub(super) fn call(id: &str, name: &str, arguments: &str) -> MessagePart {
    let is_from_text = CallPlace::read(id).is_some_and(|place| place.is_from_text);
    let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
    MessagePart::Call { id, name, arguments, is_from_text, provider: None }
}

/// Refuses a message with more calls than one answer may have.
pub(super) fn check_calls(at: &str, message: &ChatMessage) -> Result<(), CallError> {
    let count = message.content.iter().filter(|piece| matches!(piece, MessagePart::Call { .. })).count();
    if count <= MAX_CALLS {
        return Ok(());
    }
    Err(wrong(at, Message::new(&TOO_MANY_CALLS).with("count", count).with("most", MAX_CALLS)))
}

/// What came of a call, in words; images in it are not.
pub(super) fn result(at: &str, given: &Value) -> Result<String, CallError> {
    let texts = content(at, given)?.into_iter().filter_map(|piece| match piece {
        MessagePart::Text { text } => Some(text),
        MessagePart::Image { .. } | MessagePart::Call { .. } | MessagePart::Result { .. } => None,
    });
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests;
