//! A request that the fake model server received: raw, and parsed into one form for all dialects.

use axum::http::HeaderMap;
use serde_json::Value;

use super::dialect::FakeDialect;

/// A valid request to a model.
#[derive(Debug, Clone)]
pub struct RecordedModelRequest {
    pub dialect: FakeDialect,
    /// Path and query, exactly as received.
    pub target: String,
    pub headers: HeaderMap,
    pub key: Option<String>,
    /// The body, in the wire format of the dialect.
    pub body: Value,
    pub model: String,
    pub system: Option<String>,
    pub messages: Vec<RecordedMessage>,
    pub tools: Vec<RecordedTool>,
    /// `auto`, `none`, `required`, or the name of a tool.
    pub tool_choice: Option<String>,
    pub stream: bool,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    /// The response format that the dialect's field requests: a schema, or `"json"` for any object.
    pub format: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRole {
    /// Only in the middle of a conversation. Instructions before the first message are `RecordedModelRequest::system`.
    System,
    User,
    Assistant,
    /// All results of the calls of one response, even if the dialect sends them as several messages.
    Tool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecordedMessage {
    pub role: MessageRole,
    pub text: String,
    pub calls: Vec<RecordedCall>,
    pub results: Vec<RecordedResult>,
    /// Number of images.
    pub images: usize,
}

/// A call in an earlier response of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// Empty if the dialect has no call ids.
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedResult {
    /// Empty if the dialect has no call ids.
    pub call_id: String,
    /// `None` if the dialect does not send the tool's name.
    pub name: Option<String>,
    pub content: String,
    pub is_error: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecordedTool {
    pub name: String,
    pub description: String,
    /// Null if the dialect omits the schema of a tool without parameters.
    pub schema: Value,
}

impl RecordedModelRequest {
    pub(super) fn unparsed(dialect: FakeDialect, target: String, headers: HeaderMap) -> Self {
        Self {
            dialect,
            key: dialect.key(&headers),
            target,
            headers,
            body: Value::Null,
            model: String::new(),
            system: None,
            messages: Vec::new(),
            tools: Vec::new(),
            tool_choice: None,
            stream: false,
            temperature: None,
            max_tokens: None,
            format: None,
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn tool_names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// Returns the text of the user's last message, or an empty string.
    pub fn user_text(&self) -> &str {
        let last = self.messages.iter().rfind(|message| message.role == MessageRole::User);
        last.map_or("", |message| &message.text)
    }

    /// Returns the results that the request ends with. Empty if it ends with a text.
    pub fn results(&self) -> &[RecordedResult] {
        self.messages.last().map_or(&[], |message| &message.results)
    }

    /// Returns the number of earlier responses of the model in the conversation.
    pub fn previous_responses(&self) -> usize {
        self.messages.iter().filter(|message| message.role == MessageRole::Assistant).count()
    }

    /// Adds to the instructions, or adds a system message if the conversation has begun.
    pub(super) fn add_system(&mut self, text: &str) {
        if !self.messages.is_empty() {
            self.messages
                .push(RecordedMessage { text: text.to_owned(), ..RecordedMessage::of(MessageRole::System) });
            return;
        }
        let before = self.system.take().map(|before| before + "\n\n").unwrap_or_default();
        self.system = Some(before + text);
    }

    /// Adds results. Consecutive results become one message.
    pub(super) fn add_results(&mut self, results: Vec<RecordedResult>) {
        match self.messages.last_mut() {
            Some(last) if last.role == MessageRole::Tool => last.results.extend(results),
            Some(_) | None => {
                self.messages.push(RecordedMessage { results, ..RecordedMessage::of(MessageRole::Tool) })
            }
        }
    }
}

impl RecordedMessage {
    pub(super) fn of(role: MessageRole) -> Self {
        Self { role, text: String::new(), calls: Vec::new(), results: Vec::new(), images: 0 }
    }

    /// Appends a text on a new line.
    pub(super) fn add_text(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}
