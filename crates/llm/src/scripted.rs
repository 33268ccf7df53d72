//! Answers read from a list, for tests and for a first try without any key. There is no model here.

use futures_util::stream;
use haft_core::{BoxFuture, CallError, ErrorKind, Message};
use haft_egress::Limits;
use serde::Deserialize;
use serde_json::Value;

use crate::delta::{Delta, EndReason, Usage};
use crate::model::{Asked, Model};
use crate::request::ModelRequest;

haft_core::templates! {
    BAD_SCRIPT = "llm.script.bad",
        "The script is no list of answers: {reason}",
        "脚本不是应答列表: {reason}";
    AT_END = "llm.script.atEnd",
        "The script has {count} answers and is at its end",
        "脚本共有 {count} 个应答，已到结尾";
}

/// A list of answers, one for each time that a conversation's model is asked.
#[derive(Debug, Clone)]
pub struct Scripted {
    answers: Vec<Answer>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Answer {
    text: String,
    reasoning: String,
    tool_calls: Vec<ScriptedCall>,
    usage: Option<Usage>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    #[serde(default)]
    id: Option<String>,
    name: String,
    /// A text stands as it is, so that broken arguments can be written.
    #[serde(default)]
    arguments: Value,
}

impl Scripted {
    /// Reads a JSON list of `{text?, reasoning?, toolCalls?: [{id?, name, arguments?}], usage?}`.
    pub fn read(script: &str) -> Result<Self, CallError> {
        match serde_json::from_str(script) {
            Ok(answers) => Ok(Self { answers }),
            Err(error) => {
                let message = Message::new(&BAD_SCRIPT).with("reason", error);
                Err(CallError::new(ErrorKind::Validation, message))
            }
        }
    }
}

impl Model for Scripted {
    fn ask<'a>(&'a self, request: &'a ModelRequest, _: Limits) -> BoxFuture<'a, Result<Asked, CallError>> {
        let answer = self.answers.get(request.answers_before()).cloned().ok_or_else(|| {
            let message = Message::new(&AT_END).with("count", self.answers.len());
            CallError::new(ErrorKind::Validation, message)
        });
        let asked = answer.map(|answer| Asked {
            left_out: Vec::new(),
            dropped: Vec::new(),
            deltas: Box::pin(stream::iter(answer.into_deltas().into_iter().map(Ok))),
        });
        Box::pin(std::future::ready(asked))
    }
}

impl Answer {
    /// Word by word, as a model would.
    fn into_deltas(self) -> Vec<Delta> {
        let words = |text: &str| text.split_inclusive(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut deltas: Vec<Delta> = words(&self.reasoning).into_iter().map(Delta::Reasoning).collect();
        deltas.extend(words(&self.text).into_iter().map(Delta::Text));
        let end = if self.tool_calls.is_empty() { EndReason::Stop } else { EndReason::ToolCalls };
        for (index, call) in self.tool_calls.into_iter().enumerate() {
            deltas.push(Delta::Call { index, id: call.id, name: Some(call.name), signature: None });
            let fragment = match call.arguments {
                Value::Null => continue,
                Value::String(written) => written,
                other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                    other.to_string()
                }
            };
            deltas.push(Delta::Arguments { index, fragment });
        }
        deltas.extend(self.usage.map(Delta::Usage));
        deltas.push(Delta::End(end));
        deltas
    }
}
