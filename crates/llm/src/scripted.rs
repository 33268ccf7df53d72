//! A provider that returns responses from a script, for tests and first steps without an API key. There is no
//! model.

use futures_util::stream;
use haft_core::{BoxFuture, CallError, ErrorKind, Message};
use haft_egress::Limits;
use serde::Deserialize;
use serde_json::Value;

use crate::delta::{Delta, EndReason, Usage};
use crate::model::{Model, ModelStream};
use crate::request::ModelRequest;

haft_core::templates! {
    BAD_SCRIPT = "llm.script.bad",
        "The script is not a list of responses: {reason}",
        "脚本不是应答列表: {reason}";
    AT_END = "llm.script.atEnd",
        "The script has {count} responses and is exhausted",
        "脚本共有 {count} 个应答，已到结尾";
}

/// A list of responses, one for each request of a conversation.
#[derive(Debug, Clone)]
pub struct Scripted {
    answers: Vec<ScriptedResponse>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct ScriptedResponse {
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
    /// A text is used unchanged, so that a script can contain malformed arguments.
    #[serde(default)]
    arguments: Value,
}

impl Scripted {
    /// Parses a JSON list of `{text?, reasoning?, toolCalls?: [{id?, name, arguments?}], usage?}`.
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
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: Limits,
    ) -> BoxFuture<'a, Result<ModelStream, CallError>> {
        let answer = self.answers.get(request.previous_responses()).cloned().ok_or_else(|| {
            let message = Message::new(&AT_END).with("count", self.answers.len());
            CallError::new(ErrorKind::Validation, message)
        });
        let asked = answer.map(|answer| ModelStream {
            left_out: Vec::new(),
            dropped: Vec::new(),
            deltas: Box::pin(stream::iter(answer.into_deltas().into_iter().map(Ok))),
        });
        Box::pin(std::future::ready(asked))
    }
}

impl ScriptedResponse {
    /// Splits the response into one delta per word, like a model.
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
