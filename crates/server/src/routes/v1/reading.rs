//! Fields of bodies in OpenAI's forms. What is unknown is left alone: clients send a lot.

use haft_agent::{Asking, Piece};
use haft_core::schema::any_arguments;
use haft_core::{CallError, Message as Words};
use haft_llm::ToolDefinition;
use serde_json::{Map, Value, json};

use super::error::wrong;
use crate::chat::messages;

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
    FILES = "v1.files",
        "files and audio cannot be read here; send text and images",
        "此处无法读取文件和音频；请发送文本和图片";
    BAD_TOOL = "v1.badTool",
        "must be a function with a name of 1 to 64 letters, digits, _ and -, and parameters that are a JSON Schema",
        "必须是函数：名称为 1 到 64 个字母、数字、_ 或 -，参数为 JSON Schema";
    BUILT_IN = "v1.builtInTool",
        "tools of type {name} run at OpenAI and are not here; give the agent such a tool, or send functions",
        "类型为 {name} 的工具只在 OpenAI 运行；请为智能体配置同类工具，或发送 function";
    TOO_MANY_TOOLS = "v1.tooManyTools",
        "may have {most} tools at most",
        "最多 {most} 个工具";
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
        fields.map(Self).ok_or_else(|| wrong(haft_core::error::ROOT, Words::new(&NOT_AN_OBJECT)))
    }

    /// Null is as good as nothing.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, CallError> {
        let not_text = || wrong(name, Words::new(&NOT_TEXT));
        self.get(name).map(|value| value.as_str().ok_or_else(not_text)).transpose()
    }

    pub(super) fn needed_text(&self, name: &str) -> Result<&'a str, CallError> {
        let text = self.text(name)?.filter(|text| !text.is_empty());
        text.ok_or_else(|| wrong(name, Words::new(&NOT_TEXT)))
    }

    pub(super) fn truth(&self, name: &str) -> Result<Option<bool>, CallError> {
        let not_truth = || wrong(name, Words::new(&NOT_TRUTH));
        self.get(name).map(|value| value.as_bool().ok_or_else(not_truth)).transpose()
    }

    pub(super) fn temperature(&self) -> Result<Option<f64>, CallError> {
        let bad = || wrong("temperature", Words::new(&OUT_OF_RANGE).with("least", "0").with("most", "2"));
        let read = |value: &Value| value.as_f64().filter(|number| (0.0..=2.0).contains(number));
        self.get("temperature").map(|value| read(value).ok_or_else(bad)).transpose()
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<u32>, CallError> {
        let bad = || wrong(name, Words::new(&OUT_OF_RANGE).with("least", "1").with("most", u32::MAX));
        let read = |value: &Value| u32::try_from(value.as_u64()?).ok().filter(|number| *number > 0);
        self.get(name).map(|value| read(value).ok_or_else(bad)).transpose()
    }

    /// Refuses a field that would change the answer, unless it is such as changes nothing.
    pub(super) fn refuse(&self, name: &str, is_harmless: impl Fn(&Value) -> bool) -> Result<(), CallError> {
        match self.get(name) {
            Some(value) if !is_harmless(value) => Err(wrong(name, Words::new(&UNSUPPORTED))),
            Some(_) | None => Ok(()),
        }
    }

    /// How the model is asked, but for which.
    pub(super) fn asking(&self, max_tokens: Option<u32>) -> Result<Asking, CallError> {
        Ok(Asking {
            temperature: self.temperature()?,
            max_tokens,
            tool_choice: self.get("tool_choice").map(choice).transpose()?,
            parallel_tool_calls: self.truth("parallel_tool_calls")?,
            ..Asking::default()
        })
    }

    /// Tools of the client. `inner` is where a function is told: within `function`, or beside `type`.
    pub(super) fn tools(&self, inner: Option<&str>) -> Result<Vec<ToolDefinition>, CallError> {
        let Some(given) = self.get("tools") else { return Ok(Vec::new()) };
        let bad = |place: usize| wrong(format!("tools.{place}"), Words::new(&BAD_TOOL));
        let items = given.as_array().ok_or_else(|| wrong("tools", Words::new(&BAD_TOOL)))?;
        if items.len() > MOST_TOOLS {
            return Err(wrong("tools", Words::new(&TOO_MANY_TOOLS).with("most", MOST_TOOLS)));
        }
        let read = |(place, item): (usize, &Value)| {
            let kind = item["type"].as_str().ok_or_else(|| bad(place))?;
            if kind != "function" {
                return Err(wrong(format!("tools.{place}"), Words::new(&BUILT_IN).with("name", kind)));
            }
            definition(inner.map_or(item, |inner| &item[inner])).ok_or_else(|| bad(place))
        };
        items.iter().enumerate().map(read).collect()
    }
}

fn definition(function: &Value) -> Option<ToolDefinition> {
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
    Some(ToolDefinition { name: name.to_owned(), description, parameters: parameters.into() })
}

fn choice(given: &Value) -> Result<Value, CallError> {
    let named = given["function"]["name"].as_str().or(given["name"].as_str());
    match (given.as_str(), named) {
        (Some("auto" | "none" | "required"), _) => Ok(given.clone()),
        (None, Some(name)) if given["type"] == "function" => {
            Ok(json!({"type": "function", "function": {"name": name}}))
        }
        (Some(_) | None, _) => Err(wrong("tool_choice", Words::new(&BAD_CHOICE))),
    }
}

/// What somebody says: a text, or parts of it. Nothing is nothing.
pub(super) fn content(at: &str, given: &Value) -> Result<Vec<Piece>, CallError> {
    let bad = |violation: haft_core::Violation| wrong(format!("{at}.content"), violation.message);
    let Value::Array(parts) = given else {
        return if given.is_null() { Ok(Vec::new()) } else { messages::content(given).map_err(bad) };
    };
    let mut pieces = Vec::new();
    for part in parts {
        match part["type"].as_str() {
            Some("file" | "input_file" | "input_audio") => {
                return Err(wrong(format!("{at}.content"), Words::new(&FILES)));
            }
            Some("refusal") => {
                let text = part["refusal"].as_str().unwrap_or_default().to_owned();
                pieces.push(Piece::Text { text });
            }
            Some(_) | None => pieces.extend(messages::content(&json!([part])).map_err(bad)?),
        }
    }
    Ok(pieces)
}

/// What came of a call, in words; images in it are not.
pub(super) fn result(at: &str, given: &Value) -> Result<String, CallError> {
    let texts = content(at, given)?.into_iter().filter_map(|piece| match piece {
        Piece::Text { text } => Some(text),
        Piece::Image { .. } | Piece::Call { .. } | Piece::Result { .. } => None,
    });
    Ok(texts.collect::<Vec<_>>().join("\n"))
}
