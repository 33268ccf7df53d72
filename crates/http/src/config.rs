//! Parses a tool's `config`: accepts all documented spellings and rejects unknown fields.

use std::sync::LazyLock;

use haft_core::tool::input::camel_case;
use haft_core::{Message, ToolSchema, Violation};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::deferred::DeferredConfig;

haft_core::templates! {
    NO_URL = "http.noUrl",
        "is required: an address such as https://api.example.com/items/{open}id{close}, or baseUrl",
        "必填：例如 https://api.example.com/items/{open}id{close}，或使用 baseUrl";
    TWO_URLS = "http.twoUrls",
        "must be a path starting with / when baseUrl is set; otherwise remove baseUrl",
        "与 baseUrl 同时出现；请只写以 / 开头的路径，或去掉 baseUrl";
    TWICE = "http.twice",
        "has the same meaning as {other}; give only one of them",
        "与 {other} 含义相同；请只保留一个";
    NO_BODY = "http.noBody",
        "cannot be sent with {method}",
        "不能随 {method} 发送";
    NOT_GENERIC = "http.notGeneric",
        "cannot be used with baseUrl alone: the model supplies url, method and body",
        "与单独的 baseUrl 不能同用：url、method 和 body 由模型给出";
}

/// Default size limit of a response, in bytes.
const DEFAULT_RESPONSE_BYTES: usize = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) url: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) method: Option<String>,
    #[serde(default)]
    pub(crate) headers: Map<String, Value>,
    #[serde(default)]
    pub(crate) cookies: Map<String, Value>,
    pub(crate) params: Option<Map<String, Value>>,
    pub(crate) query: Option<Map<String, Value>>,
    pub(crate) body: Option<Value>,
    #[serde(default)]
    pub(crate) body_type: BodyType,
    /// Query and form fields whose objects and lists are encoded in bracket notation.
    #[serde(default)]
    pub(crate) brackets: Vec<String>,
    pub(crate) auth: Option<Map<String, Value>>,
    #[serde(default)]
    pub(crate) security: Security,
    /// Sends the caller's trace context in `traceparent` and `tracestate`.
    #[serde(default = "yes")]
    pub(crate) send_trace: bool,
    #[serde(default = "yes")]
    pub(crate) send_defaults: bool,
    pub(crate) redact: Option<Value>,
    pub(crate) response_filter: Option<String>,
    /// How to poll for the result of a deferred call.
    pub(crate) poll: Option<DeferredConfig>,
    /// How to interpret the callback of a deferred call.
    pub(crate) callback: Option<DeferredConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BodyType {
    #[default]
    Json,
    Form,
    Text,
    Multipart,
    /// Text, or base64-encoded bytes.
    Binary,
}

/// Limits of a tool's requests. `timeout` is accepted here too; the core reads it as the tool's timeout.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Security {
    pub(crate) allowed_domains: Vec<String>,
    pub(crate) max_response_size: usize,
}

impl Default for Security {
    fn default() -> Self {
        Self { allowed_domains: Vec::new(), max_response_size: DEFAULT_RESPONSE_BYTES }
    }
}

fn yes() -> bool {
    true
}

static SCHEMA: LazyLock<Result<ToolSchema, Vec<Violation>>> = LazyLock::new(|| {
    let wrong = |error: serde_json::Error| {
        vec![Violation::new(haft_core::error::ROOT, Message::verbatim(error.to_string()))]
    };
    let document = serde_json::from_str(include_str!("config.json")).map_err(wrong)?;
    ToolSchema::of_arguments(&document)
});

impl Config {
    /// Parses a config, or returns all violations of its form.
    pub(crate) fn parse(config: &Map<String, Value>) -> Result<Self, Vec<Violation>> {
        let mut violations = Vec::new();
        let mut config = Value::Object(normal(config, &mut violations));
        if !violations.is_empty() {
            return Err(violations);
        }
        match &*SCHEMA {
            Ok(schema) => {
                let violations = schema.violations(&config);
                if !violations.is_empty() {
                    return Err(violations.into_iter().map(unquoted).collect());
                }
            }
            Err(violations) => return Err(violations.clone()),
        }
        // `imported` records the source of a definition for later imports; requests do not use it.
        if let Value::Object(fields) = &mut config {
            fields.shift_remove("imported");
        }
        let config: Self = serde_json::from_value(config).map_err(|error| {
            vec![Violation::new(haft_core::error::ROOT, Message::verbatim(error.to_string()))]
        })?;
        let violations = config.contradictions();
        if violations.is_empty() { Ok(config) } else { Err(violations) }
    }

    /// Returns true for the generic form: the model supplies path, method and body.
    pub(crate) fn is_generic(&self) -> bool {
        self.url.is_none() && self.base_url.is_some()
    }

    /// The HTTP method. `GET` if the config has none, as in the generic form.
    pub(crate) fn method(&self) -> &str {
        self.method.as_deref().unwrap_or("GET")
    }

    /// Returns true if `params` are sent in the query instead of the body.
    pub(crate) fn params_are_query(&self) -> bool {
        matches!(self.method(), "GET" | "HEAD")
    }

    fn contradictions(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut say = |path: &str, message| violations.push(Violation::new(path, message));
        if self.url.is_none() && self.base_url.is_none() {
            say("url", Message::new(&NO_URL).with("open", "{{").with("close", "}}"));
        }
        if self.base_url.is_some() && self.url.as_ref().is_some_and(|url| !url.starts_with('/')) {
            say("url", Message::new(&TWO_URLS));
        }
        let other = if self.params_are_query() {
            ("query", self.query.is_some())
        } else {
            ("body", self.body.is_some())
        };
        if self.params.is_some() && other.1 && !self.is_generic() {
            say("params", Message::new(&TWICE).with("other", other.0));
        }
        if self.method() == "HEAD" && self.body.is_some() {
            say("body", Message::new(&NO_BODY).with("method", "HEAD"));
        }
        if self.is_generic() {
            let given = [
                ("method", self.method.is_some()),
                ("params", self.params.is_some()),
                ("body", self.body.is_some()),
                ("poll", self.poll.is_some()),
            ];
            for (name, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
                say(name, Message::new(&NOT_GENERIC));
            }
        }
        violations
    }
}

/// Normalizes a config: camelCase, no nulls, upper-case methods, `auth` always an object.
fn normal(config: &Map<String, Value>, violations: &mut Vec<Violation>) -> Map<String, Value> {
    let mut normal = Map::new();
    for (name, value) in one_spelling(config, "", violations) {
        let value = match (name.as_str(), value) {
            ("method", Value::String(method)) => method.to_ascii_uppercase().into(),
            ("bodyType", Value::String(kind)) => kind.to_ascii_lowercase().into(),
            ("auth", Value::String(kind)) => serde_json::json!({"type": kind}),
            ("auth" | "security" | "poll" | "callback", Value::Object(fields)) => {
                let fields = one_spelling(&fields, &format!("{name}."), violations);
                fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
            }
            ("headers" | "cookies", Value::Object(fields)) => {
                fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
            }
            (_, value) => value,
        };
        if !value.is_null() {
            normal.insert(name, value);
        }
    }
    normal
}

/// Removes the value from a violation if the field may contain a credential.
fn unquoted(violation: Violation) -> Violation {
    const WITH_CREDENTIALS: [&str; 3] = ["headers", "auth", "cookies"];
    let first = violation.path.split('.').next().unwrap_or_default();
    if !WITH_CREDENTIALS.contains(&first) {
        return violation;
    }
    Violation::new(violation.path, violation.message.hiding("value"))
}

/// Converts field names to camelCase. Two spellings of one field must have equal values.
fn one_spelling(
    fields: &Map<String, Value>,
    within: &str,
    violations: &mut Vec<Violation>,
) -> Map<String, Value> {
    let mut known: Map<String, Value> = Map::new();
    for (written, value) in fields {
        let name = camel_case(written);
        if known.get(&name).is_some_and(|other| other != value) {
            let message = Message::new(&TWICE).with("other", format_args!("{within}{name}"));
            violations.push(Violation::new(format!("{within}{written}"), message));
        }
        known.entry(name).or_insert_with(|| value.clone());
    }
    known
}
