//! What a model was asked: as it stood on the wire, and in one form for all dialects.

use axum::http::HeaderMap;
use serde_json::Value;

use super::dialect::Dialect;

/// A question to the model, which kept to the rules of its dialect.
#[derive(Debug, Clone)]
pub struct AskedModel {
    pub dialect: Dialect,
    /// Path and query, as they stood on the wire.
    pub target: String,
    pub headers: HeaderMap,
    pub key: Option<String>,
    /// The body, in the dialect's own form.
    pub body: Value,
    pub model: String,
    pub system: Option<String>,
    pub messages: Vec<AskedMessage>,
    pub tools: Vec<AskedTool>,
    /// `auto`, `none`, `required`, or the name of a tool.
    pub tool_choice: Option<String>,
    pub stream: bool,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    /// The form of the answer where the dialect's own field asks for one: a schema, or `"json"` for any object.
    pub format: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Only in the middle of a conversation; what stands before it is `AskedModel::system`.
    System,
    User,
    Assistant,
    /// All results of one answer's calls, whatever message they came in.
    Tool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AskedMessage {
    pub role: Role,
    pub text: String,
    pub calls: Vec<AskedCall>,
    pub results: Vec<AskedResult>,
    /// How many pictures there are.
    pub images: usize,
}

/// A call that the model made before.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedCall {
    /// Empty where the dialect has none.
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedResult {
    /// Empty where the dialect has none.
    pub call_id: String,
    /// Nothing where the dialect does not say it.
    pub name: Option<String>,
    pub content: String,
    pub is_error: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AskedTool {
    pub name: String,
    pub description: String,
    /// Null for a tool that takes nothing, where that is how one says so.
    pub schema: Value,
}

impl AskedModel {
    pub(super) fn unread(dialect: Dialect, target: String, headers: HeaderMap) -> Self {
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

    /// What the user said last.
    pub fn user_text(&self) -> &str {
        let said = self.messages.iter().rfind(|message| message.role == Role::User);
        said.map_or("", |message| &message.text)
    }

    /// The results that the question ends with; none when it ends with words.
    pub fn results(&self) -> &[AskedResult] {
        self.messages.last().map_or(&[], |message| &message.results)
    }

    /// How often the model has answered before.
    pub fn answers_before(&self) -> usize {
        self.messages.iter().filter(|message| message.role == Role::Assistant).count()
    }

    pub(super) fn add_system(&mut self, text: &str) {
        if !self.messages.is_empty() {
            self.messages.push(AskedMessage { text: text.to_owned(), ..AskedMessage::of(Role::System) });
            return;
        }
        let before = self.system.take().map(|before| before + "\n\n").unwrap_or_default();
        self.system = Some(before + text);
    }

    /// Results of one answer's calls are one message.
    pub(super) fn add_results(&mut self, results: Vec<AskedResult>) {
        match self.messages.last_mut() {
            Some(last) if last.role == Role::Tool => last.results.extend(results),
            Some(_) | None => self.messages.push(AskedMessage { results, ..AskedMessage::of(Role::Tool) }),
        }
    }
}

impl AskedMessage {
    pub(super) fn of(role: Role) -> Self {
        Self { role, text: String::new(), calls: Vec::new(), results: Vec::new(), images: 0 }
    }

    /// One more piece of text.
    pub(super) fn add_text(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}
