//! Errors of providers, as callers see them. No message contains an API key.

use haft_core::mask::Mask;
use haft_core::{CallError, ErrorKind, ErrorReason, Message, Template};
use haft_egress::EgressResponse;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::masking::Masking;

/// OpenAI's code for this error, which its clients check for.
const CONTEXT_CODE: &str = "context_length_exceeded";

haft_core::templates! {
    AUTHENTICATION = "llm.authentication",
        "{provider} does not accept the API key: {reason}",
        "{provider} 不接受该 API 密钥: {reason}";
    NO_MODEL = "llm.noModel",
        "{provider} has no model {model}, or no API at this address: {reason}",
        "{provider} 没有模型 {model}，或该地址没有 API: {reason}";
    RATE_LIMIT = "llm.rateLimit",
        "{provider} limits the request rate, or its quota is exhausted: {reason}",
        "{provider} 要求降低频率，或配额已用完: {reason}";
    FAILED = "llm.failed",
        "{provider} failed: {reason}",
        "{provider} 出错: {reason}";
    REFUSED = "llm.refused",
        "{provider} refused the request: {reason}",
        "{provider} 拒绝了请求: {reason}";
    // A separate id: the caller can shorten the conversation and retry.
    CONTEXT = "llm.contextTooLong",
        "The conversation is too long for {model}: {reason}",
        "对话对于 {model} 过长: {reason}";
    CUT = "llm.cut",
        "The response of {provider} ended prematurely",
        "{provider} 的应答在结束前中断";
    NOT_UNDERSTOOD = "llm.notUnderstood",
        "The response of {provider} is not a model response; check its base URL",
        "{provider} 返回的内容不是模型的应答；请检查其 base URL";
    TOO_LONG = "llm.eventTooLong",
        "{provider} sent an event that exceeds the size limit",
        "{provider} 发送的单个事件过长，无法读取";
    UNSUPPORTED = "llm.unsupportedOption",
        "{provider} does not support {name}, or not with this value; leave it out, or set drop_params to true",
        "{provider} 不支持 {name} 或该值；请去掉它，或将 drop_params 设为 true";
    BAD_KEY = "llm.badKey",
        "The API key of {provider} contains characters that cannot be sent",
        "{provider} 的 API 密钥包含无法发送的字符";
}

/// Maximum length of a provider's error text, in characters.
const LONGEST_REASON: usize = 500;

/// The provider, model and key of a request, as used in error messages.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) key: Option<SecretString>,
}

/// An error as the provider describes it.
#[derive(Debug, Default, PartialEq)]
struct Fault {
    /// Its type, code and status, in lower case.
    class: String,
    status: Option<u16>,
    reason: String,
}

impl Fault {
    /// Finds the error in a document, in any dialect.
    fn within(document: &Value) -> Option<Self> {
        let holder = document.as_array().and_then(|items| items.first()).unwrap_or(document);
        holder.get("error").filter(|error| !error.is_null()).map(Self::read)
    }

    fn read(error: &Value) -> Self {
        let Value::Object(fields) = error else {
            return Self {
                reason: error.as_str().map_or_else(|| error.to_string(), str::to_owned),
                ..Self::default()
            };
        };
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let classes = ["type", "code", "status"].into_iter().filter_map(text);
        let class = classes.collect::<Vec<_>>().join(" ").to_ascii_lowercase();
        let status = fields.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let reason =
            text("message").or_else(|| text("detail")).map_or_else(|| error.to_string(), str::to_owned);
        Self { class, status, reason }
    }

    fn is_of(&self, classes: &[&str]) -> bool {
        classes.iter().any(|class| self.class.contains(class))
    }

    fn says(&self, words: &[&str]) -> bool {
        let reason = self.reason.to_ascii_lowercase();
        words.iter().any(|words| reason.contains(words))
    }

    /// This error has no status; every provider words it differently.
    fn is_context(&self) -> bool {
        let words = [
            "context length",
            "context window",
            "context limit",
            "maximum context",
            "prompt is too long",
            "input is too long",
            "input token count",
        ];
        self.is_of(&["context_length_exceeded", "request_too_large"]) || self.says(&words)
    }

    /// Gemini reports an invalid key as a bad request.
    fn is_key(&self) -> bool {
        self.says(&["api key not valid", "invalid api key", "incorrect api key"])
    }

    /// Marks an exhausted quota as permanent: waiting does not help.
    fn judged(&self, error: CallError) -> CallError {
        if self.is_of(&["insufficient_quota"]) { error.that_must_not_be_repeated() } else { error }
    }

    fn kind(&self) -> ErrorKind {
        match self.status {
            Some(401) => return ErrorKind::Authentication,
            Some(403) => return ErrorKind::Permission,
            Some(404) => return ErrorKind::NotFound,
            Some(429) => return ErrorKind::RateLimit,
            Some(400 | 413 | 422) => return ErrorKind::Validation,
            Some(_) | None => {}
        }
        if self.is_of(&["rate_limit", "resource_exhausted", "quota", "too_many"]) {
            ErrorKind::RateLimit
        } else if self.is_of(&["authentication", "api_key", "unauthenticated"]) {
            ErrorKind::Authentication
        } else if self.is_of(&["permission"]) {
            ErrorKind::Permission
        } else if self.is_of(&["not_found"]) {
            ErrorKind::NotFound
        } else if self.is_of(&["invalid_request", "invalid_argument", "bad_request"]) {
            ErrorKind::Validation
        } else {
            ErrorKind::Server
        }
    }
}

impl Asking {
    /// The error for a failure status.
    pub(crate) fn status(&self, answer: &EgressResponse) -> CallError {
        let read = serde_json::from_slice::<Value>(&answer.body).ok();
        let fault = read.as_ref().map(|body| Fault::within(body).unwrap_or_else(|| Fault::read(body)));
        let fault = fault.unwrap_or_else(|| Fault { reason: text_of(answer), ..Fault::default() });
        let status = answer.status.as_u16();
        if matches!(status, 400 | 413 | 422) && (fault.is_context() || fault.is_key()) {
            return self.special(&fault).detail("status", status);
        }
        let error = answer.failure(|kind| self.message(kind, &fault));
        // Only failures are passed here; a success status falls back to a generic error.
        fault.judged(error.unwrap_or_else(|| self.not_understood()))
    }

    /// The error in an event. Returns `None` for any other event.
    pub(crate) fn event(&self, name: &str, document: &Value) -> Option<CallError> {
        let named = || (name == "error").then(|| Fault::read(document));
        let fault = Fault::within(document).or_else(named)?;
        if fault.is_context() || fault.is_key() {
            return Some(self.special(&fault));
        }
        let kind = fault.kind();
        Some(fault.judged(CallError::new(kind, self.message(kind, &fault))))
    }

    fn special(&self, fault: &Fault) -> CallError {
        if fault.is_context() {
            let error = CallError::new(ErrorKind::Validation, self.describe(&CONTEXT, fault));
            return error.with_reason(ErrorReason::ContextTooLong).detail("code", CONTEXT_CODE);
        }
        CallError::new(ErrorKind::Authentication, self.describe(&AUTHENTICATION, fault))
    }

    fn message(&self, kind: ErrorKind, fault: &Fault) -> Message {
        // The remaining kinds share one message.
        let template = if kind == ErrorKind::Authentication {
            &AUTHENTICATION
        } else if kind == ErrorKind::NotFound {
            &NO_MODEL
        } else if kind == ErrorKind::RateLimit {
            &RATE_LIMIT
        } else if kind.is_transient() {
            &FAILED
        } else {
            &REFUSED
        };
        self.describe(template, fault)
    }

    fn describe(&self, template: &'static Template, fault: &Fault) -> Message {
        // Mask before truncating: half a key would not be recognized.
        let clean = self.mask().text(fault.reason.trim()).into_owned();
        let reason: String =
            clean.chars().filter(|character| *character != '\0').take(LONGEST_REASON).collect();
        let reason = if reason.is_empty() { "—".to_owned() } else { reason };
        self.named(template).with("model", &self.model).with("reason", reason)
    }

    pub(crate) fn cut(&self) -> CallError {
        CallError::new(ErrorKind::Network, self.named(&CUT))
    }

    pub(crate) fn not_understood(&self) -> CallError {
        CallError::new(ErrorKind::Server, self.named(&NOT_UNDERSTOOD))
    }

    pub(crate) fn too_long(&self) -> CallError {
        CallError::new(ErrorKind::ResponseTooLarge, self.named(&TOO_LONG))
    }

    /// The error for an option that the dialect does not support, or not with its value.
    pub(crate) fn unsupported(&self, name: &str) -> CallError {
        let message = self.named(&UNSUPPORTED).with("name", name);
        CallError::new(ErrorKind::Validation, message).detail("param", name).that_did_nothing()
    }

    pub(crate) fn bad_key(&self) -> CallError {
        CallError::new(ErrorKind::Authentication, self.named(&BAD_KEY)).that_did_nothing()
    }

    /// Removes the key from an error.
    pub(crate) fn masked(&self, error: CallError) -> CallError {
        error.masked(&self.mask())
    }

    /// The masking that removes the key from a response.
    pub(crate) fn masking(&self) -> Masking {
        Masking::of(self.key.as_ref().map(ExposeSecret::expose_secret))
    }

    fn mask(&self) -> Mask {
        Mask::new(self.key.as_ref().map(ExposeSecret::expose_secret))
    }

    fn named(&self, template: &'static Template) -> Message {
        Message::new(template).with("provider", &self.provider)
    }
}

/// The text of a body that is not JSON. Returns the status for HTML pages, which contain nothing useful.
fn text_of(answer: &EgressResponse) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    if body.trim_start().starts_with('<') || body.trim().is_empty() {
        return answer.status.to_string();
    }
    body.into_owned()
}
