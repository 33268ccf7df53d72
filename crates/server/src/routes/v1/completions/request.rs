//! The body of a request for a completion.

use haft_agent::{ChatMessage, ChatRole, Instruction, MessagePart, ModelParameters};
use haft_core::{CallError, Message};
use haft_llm::ModelTool;
use serde_json::{Map, Value};

use crate::chat::messages::{BAD_ROLE, NOT_MESSAGES};
use crate::routes::v1::error::wrong;
use crate::routes::v1::models::Who;
use crate::routes::v1::question::{Keep, Question, keep};
use crate::routes::v1::reading::{Fields, OTHER_NAME, call, check_calls, check_results, content, result};

/// Fields that are no options of the model.
const READ_HERE: [&str; 12] = [
    "model",
    "messages",
    "stream",
    "stream_options",
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "metadata",
    "store",
];

/// What a body asks for.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) model: String,
    pub(super) is_streamed: bool,
    pub(super) has_usage: bool,
    asking: ModelParameters,
    system: Vec<Instruction>,
    history: Vec<ChatMessage>,
    tools: Vec<ModelTool>,
    keep: Option<Keep>,
}

impl Wish {
    /// Whether it is said in a conversation that is there.
    pub(super) fn is_within(&self) -> bool {
        matches!(self.keep, Some(Keep::In(..)))
    }

    pub(super) fn question(self, who: Who) -> Question {
        Question {
            who,
            asking: self.asking,
            instructions: None,
            system: (!self.system.is_empty()).then_some(self.system),
            history: self.history,
            param: "messages",
            option_path: str::to_owned,
            tools: self.tools,
            keep: self.keep.unwrap_or(Keep::Not),
        }
    }
}

pub(super) async fn read(body: &Value) -> Result<Wish, CallError> {
    let fields = Fields::of(body)?;
    let model = fields.needed_text("model")?.to_owned();
    if fields.get("max_output_tokens").is_some() {
        let message = Message::new(&OTHER_NAME).with("field", "max_completion_tokens");
        return Err(wrong("max_output_tokens", message));
    }
    let options = fields.options(&READ_HERE, Map::new(), str::to_owned).await?;
    let most = match fields.count("max_completion_tokens")? {
        Some(most) => Some(most),
        None => fields.count("max_tokens")?,
    };
    let given = fields.get("messages").and_then(Value::as_array).filter(|items| !items.is_empty());
    let given = given.ok_or_else(|| wrong("messages", Message::new(&NOT_MESSAGES)))?;
    let (mut system, mut history) = (Vec::new(), Vec::new());
    for (place, item) in given.iter().enumerate() {
        let message = message(&format!("messages.{place}"), item)?;
        match message.role {
            // Later ones stay where they are said.
            ChatRole::System if history.is_empty() => system.push(message.into()),
            ChatRole::System if message.content.is_empty() => {}
            // Who says nothing is not told of: providers refuse it.
            ChatRole::User | ChatRole::Assistant if message.content.is_empty() => {}
            ChatRole::System | ChatRole::User | ChatRole::Assistant | ChatRole::Tool => history.push(message),
        }
    }
    check_results("messages", &history, true)?;
    let usage = fields.get("stream_options").and_then(|options| options.get("include_usage"));
    Ok(Wish {
        model,
        is_streamed: fields.truth("stream")?.unwrap_or_default(),
        has_usage: usage == Some(&Value::Bool(true)),
        asking: fields.asking(most, options)?,
        system,
        history,
        tools: fields.tools(Some("function"))?,
        keep: keep(&fields)?,
    })
}

fn message(at: &str, item: &Value) -> Result<ChatMessage, CallError> {
    let role = match item["role"].as_str() {
        Some("system" | "developer") => ChatRole::System,
        Some("user") => ChatRole::User,
        Some("assistant") => ChatRole::Assistant,
        Some("tool") => {
            let call = item["tool_call_id"].as_str().unwrap_or_default().to_owned();
            let text = result(at, &item["content"])?;
            return Ok(ChatMessage {
                role: ChatRole::Tool,
                name: None,
                content: vec![MessagePart::Result { call, text }],
            });
        }
        Some(_) | None => {
            let roles = "system, developer, user, assistant, tool";
            return Err(wrong(format!("{at}.role"), Message::new(&BAD_ROLE).with("roles", roles)));
        }
    };
    let mut content = content(at, &item["content"])?;
    let calls = item["tool_calls"].as_array().filter(|_| role == ChatRole::Assistant);
    content.extend(calls.into_iter().flatten().map(|item| {
        let (id, function) = (item["id"].as_str().unwrap_or_default(), &item["function"]);
        let name = function["name"].as_str().unwrap_or_default();
        call(id, name, function["arguments"].as_str().unwrap_or("{}"))
    }));
    let name = item["name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
    let message = ChatMessage { role, name, content };
    check_calls(&format!("{at}.tool_calls"), &message)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The field for which a body is refused.
    async fn param(more: Value) -> Option<String> {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
            body.extend(more);
        }
        let violations = match read(&body).await {
            Ok(wish) => wish.asking.options.check_supported().err()?,
            Err(error) => error.violations().to_vec(),
        };
        violations.first().map(|violation| violation.path.clone())
    }

    #[tokio::test]
    async fn what_would_matter_is_refused_and_all_else_taken() {
        for (more, expected) in [
            (json!({"n": 2}), Some("n")),
            (json!({"n": 1, "stop": [], "logprobs": false, "response_format": {"type": "text"}}), None),
            (json!({"stop": null, "seed": 7, "top_p": 0.5, "user": "u", "store": true, "x": {}}), None),
            (json!({"stop": 7}), Some("stop")),
            (json!({"response_format": {"type": "xml"}}), Some("response_format")),
            (json!({"functions": [{}]}), Some("functions")),
            (json!({"functions": [], "modalities": ["text"], "audio": null}), None),
            (json!({"n": 2, "functions": [{}], "web_search_options": {}, "drop_params": true}), None),
            (json!({"temperature": 3}), Some("temperature")),
            (json!({"max_tokens": 0}), Some("max_tokens")),
            (json!({"max_output_tokens": 5, "drop_params": true}), Some("max_output_tokens")),
            (json!({"top_k": -1, "reasoning_effort": "default", "thinking": {"type": "auto"}}), None),
            (json!({"tools": [{"type": "web_search"}]}), Some("tools.0")),
            (json!({"tools": [{"type": "function", "function": {"name": "a b"}}]}), Some("tools.0")),
            (json!({"tool_choice": "weather"}), Some("tool_choice")),
            (json!({"messages": []}), Some("messages")),
            (json!({"messages": [{"role": "robot", "content": "x"}]}), Some("messages.0.role")),
            (
                json!({"messages": [{"role": "user", "content": [{"type": "file", "file": {}}]}]}),
                Some("messages.0.content"),
            ),
            (json!({"model": ""}), Some("model")),
        ] {
            assert_eq!(param(more.clone()).await.as_deref(), expected, "{more}");
        }
    }

    #[tokio::test]
    async fn calls_and_results_of_the_client_are_part_of_the_history() {
        let body = json!({"model": "m", "messages": [
            {"role": "developer", "content": "be short"},
            {"role": "user", "content": "weather?"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "dry"}]},
        ]});
        let wish = read(&body).await.expect("good");
        assert_eq!((wish.system, wish.history.len()), (vec![Instruction::Text("be short".to_owned())], 3));
        let result = MessagePart::Result { call: "c1".to_owned(), text: "dry".to_owned() };
        assert_eq!(wish.history[2].content, [result]);
    }
}
