//! Errors of calls: a kind that determines their handling, a message, and details.
//!
//! An error is data until an interface renders it. HTTP status codes and exit codes belong to the interfaces
//! and do not appear here.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::json::weight;
use crate::mask::Mask;
use crate::redact::Redactor;
use crate::{Locale, Message};

/// The closed list of error kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ErrorKind {
    /// The upstream could not be reached: refused, reset, DNS, TLS.
    Network,
    /// An attempt exceeded its timeout.
    Timeout,
    /// The arguments are invalid, according to the schema or the upstream.
    Validation,
    /// The upstream rejected the credentials.
    Authentication,
    /// The upstream, or a local guard, denied permission.
    Permission,
    /// The upstream, or this server, has no such resource.
    NotFound,
    /// Too many calls, for the upstream or for a local limit.
    RateLimit,
    /// The upstream failed.
    Server,
    /// The circuit breaker is open after repeated failures of the upstream.
    CircuitOpen,
    /// The response exceeds the size limit.
    ResponseTooLarge,
    /// The tool is inactive.
    ToolDisabled,
    /// The caller cancelled or disconnected.
    Cancelled,
    /// The tool failed.
    Execution,
    /// A person or a policy denied the call.
    Denied,
    /// Sent, but the outcome is unknown.
    Unknown,
    /// The queues or the call log are full.
    Overloaded,
    /// The budget of a run or user is used up.
    BudgetExceeded,
    /// An internal error.
    Internal,
    /// A dependency is temporarily unavailable.
    Unavailable,
    /// API: the token is missing or invalid.
    Unauthorized,
    /// API: stale version, or the name is taken.
    Conflict,
    /// API: malformed request.
    BadRequest,
}

impl ErrorKind {
    /// Every kind, for tables and tests.
    pub const ALL: [Self; 22] = [
        Self::Network,
        Self::Timeout,
        Self::Validation,
        Self::Authentication,
        Self::Permission,
        Self::NotFound,
        Self::RateLimit,
        Self::Server,
        Self::CircuitOpen,
        Self::ResponseTooLarge,
        Self::ToolDisabled,
        Self::Cancelled,
        Self::Execution,
        Self::Denied,
        Self::Unknown,
        Self::Overloaded,
        Self::BudgetExceeded,
        Self::Internal,
        Self::Unavailable,
        Self::Unauthorized,
        Self::Conflict,
        Self::BadRequest,
    ];

    /// Returns true if a retry may succeed. The only place that decides this.
    pub fn is_transient(self) -> bool {
        match self {
            Self::Network | Self::Timeout | Self::RateLimit | Self::Server | Self::Unavailable => true,
            Self::Validation
            | Self::Authentication
            | Self::Permission
            | Self::NotFound
            | Self::CircuitOpen
            | Self::ResponseTooLarge
            | Self::ToolDisabled
            | Self::Cancelled
            | Self::Execution
            | Self::Denied
            | Self::Unknown
            | Self::Overloaded
            | Self::BudgetExceeded
            | Self::Internal
            | Self::Unauthorized
            | Self::Conflict
            | Self::BadRequest => false,
        }
    }

    /// Returns true if a circuit breaker counts this kind: the upstream is unhealthy, not merely rejecting
    /// the call.
    pub fn is_upstream_failure(self) -> bool {
        matches!(self, Self::Network | Self::Timeout | Self::Server)
    }
}

/// The reason for an error that some callers handle specially. Finer than [`ErrorKind`], and not serialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorReason {
    /// The policy requires an approval, which the call does not have.
    NeedsApproval,
    /// The caller is not a member of the space.
    NotInSpace,
    /// The request exceeds the context window of the model.
    ContextTooLong,
    /// The response of the model contains a tool call that cannot be parsed.
    MalformedToolCall,
    /// The time limit of a turn is exceeded.
    TurnTimeout,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The path of a whole document.
pub const ROOT: &str = "(root)";

/// The parameter in which messages quote a given value.
const VALUE: &str = "value";

/// One error at one path of a JSON document.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// Dotted: `files.0.url`; the whole document is `(root)`.
    pub path: String,
    pub message: Message,
}

impl Violation {
    pub fn new(path: impl Into<String>, message: Message) -> Self {
        Self { path: path.into(), message }
    }

    /// Prefixes the path: `url` within `config` is `config.url`.
    #[must_use]
    pub fn within(self, outer: &str) -> Self {
        let path = if self.path == ROOT { outer.to_owned() } else { format!("{outer}.{}", self.path) };
        Self { path, ..self }
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn weight(&self) -> usize {
        size_of::<String>() + self.path.len() + self.message.weight()
    }

    fn as_message(&self) -> Message {
        Message::new(&AT_PATH).with("path", &self.path).with_messages("message", vec![self.message.clone()])
    }
}

crate::templates! {
    AT_PATH = "violation",
        "{path}: {message}",
        "{path}: {message}";
    INVALID_INPUTS = "invalidInputs",
        "Invalid inputs: {violations}",
        "输入无效：{violations}";
}

/// The failure of a call.
#[derive(Debug, Clone)]
pub struct CallError(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    reason: Option<ErrorReason>,
    message: Message,
    violations: Vec<Violation>,
    details: Map<String, Value>,
    retry_after: Option<Duration>,
    /// `None` stands for the default of the kind.
    did_nothing: Option<bool>,
    is_connection_failure: bool,
    repeatable: bool,
    source: Option<std::sync::Arc<dyn StdError + Send + Sync>>,
}

impl CallError {
    pub fn new(kind: ErrorKind, message: Message) -> Self {
        Self(Box::new(Inner {
            kind,
            reason: None,
            message,
            violations: Vec::new(),
            details: Map::new(),
            retry_after: None,
            did_nothing: None,
            is_connection_failure: false,
            repeatable: true,
            source: None,
        }))
    }

    /// Creates an error with a foreign message, which is not translated.
    pub fn text(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self::new(kind, Message::verbatim(text))
    }

    /// Creates `Invalid inputs: …`, with every violation in the message and in the details.
    pub fn invalid(violations: Vec<Violation>) -> Self {
        let messages = violations.iter().map(Violation::as_message).collect();
        let message = Message::new(&INVALID_INPUTS).with_messages("violations", messages);
        let mut error = Self::new(ErrorKind::Validation, message);
        error.0.violations = violations;
        error
    }

    /// Creates an error for invalid inputs with its own message, which must cover the violations.
    pub fn invalid_with(message: Message, violations: Vec<Violation>) -> Self {
        let mut error = Self::new(ErrorKind::Validation, message);
        error.0.violations = violations;
        error
    }

    /// Sets the reason, for callers that handle this error specially.
    #[must_use]
    pub fn with_reason(mut self, reason: ErrorReason) -> Self {
        self.0.reason = Some(reason);
        self
    }

    /// Adds a detail.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the pause before a retry.
    #[must_use]
    pub fn retry_after(mut self, pause: Duration) -> Self {
        self.0.retry_after = Some(pause);
        self
    }

    /// Marks the attempt as certainly without effect (refused, 429, 503), so that it may be repeated whatever
    /// the tool's effect.
    #[must_use]
    pub fn that_did_nothing(mut self) -> Self {
        self.0.did_nothing = Some(true);
        self
    }

    /// Marks the attempt as possibly effective: an earlier server may have acted on it.
    #[must_use]
    pub fn that_may_have_acted(mut self) -> Self {
        self.0.did_nothing = Some(false);
        self
    }

    /// Marks the error as a failed connection (DNS, TCP or TLS) to the upstream of the call.
    #[must_use]
    pub fn that_could_not_connect(mut self) -> Self {
        self.0.is_connection_failure = true;
        self
    }

    /// Removes the mark of a failed connection: the error is about another host than the upstream of the
    /// call.
    #[must_use]
    pub fn about_another_host(mut self) -> Self {
        self.0.is_connection_failure = false;
        self
    }

    /// Marks the call as possibly effective, so that it must not be repeated.
    #[must_use]
    pub fn that_must_not_be_repeated(mut self) -> Self {
        self.0.repeatable = false;
        self
    }

    /// Sets the cause of the error.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into().into());
        self
    }

    /// Masks secrets in the error.
    #[must_use]
    pub fn masked(self, mask: &Mask) -> Self {
        self.cleaned(&|text| mask.text(text).into_owned(), &|details| mask.fields(details))
    }

    /// Redacts the values that the tool's author hides.
    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        let clean = |details: &mut Map<String, Value>| {
            let mut value = Value::Object(std::mem::take(details));
            redactor.value(&mut value);
            if let Value::Object(clean) = value {
                *details = clean;
            }
        };
        self.cleaned(&|text| redactor.text(text).into_owned(), &clean)
    }

    /// Removes the values that the error quotes. They are cut, so a mask would not find a secret in them.
    #[must_use]
    pub fn hiding_values(mut self) -> Self {
        let Inner { message, violations, .. } = &mut *self.0;
        *message = message.clone().hiding(VALUE);
        for violation in violations {
            violation.message = violation.message.clone().hiding(VALUE);
        }
        self
    }

    fn cleaned(
        mut self,
        clean: &dyn Fn(&str) -> String,
        clean_details: &dyn Fn(&mut Map<String, Value>),
    ) -> Self {
        let Inner { message, violations, details, source, .. } = &mut *self.0;
        *message = message.clone().cleaned(clean);
        for violation in violations {
            violation.path = clean(&violation.path);
            violation.message = violation.message.clone().cleaned(clean);
        }
        clean_details(details);
        if let Some(cause) = source.as_ref().map(|source| source.to_string())
            && clean(&cause) != cause
        {
            *source = Some(Box::<dyn StdError + Send + Sync>::from(clean(&cause)).into());
        }
        self
    }

    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the reason, if some callers handle this error specially.
    pub fn reason(&self) -> Option<ErrorReason> {
        self.0.reason
    }

    pub fn message(&self) -> &Message {
        &self.0.message
    }

    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }

    pub fn requested_pause(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns true if the attempt certainly changed nothing. A rate-limited request was not served.
    pub fn did_nothing(&self) -> bool {
        self.0.did_nothing.unwrap_or(self.0.kind == ErrorKind::RateLimit)
    }

    /// Returns true if the connection (DNS, TCP or TLS) to the upstream of the call failed. Other `Network`
    /// errors are broken transfers, undecodable responses and failures of other hosts.
    pub fn is_connection_failure(&self) -> bool {
        self.0.is_connection_failure
    }

    /// Returns true if the same call may be repeated, and may succeed.
    pub fn is_retryable(&self) -> bool {
        self.0.repeatable && self.0.kind.is_transient()
    }

    /// Returns true if a client may safely send the request again: it cannot take effect twice.
    pub fn may_be_sent_again(&self) -> bool {
        self.is_retryable() || matches!(self.0.kind, ErrorKind::Overloaded | ErrorKind::CircuitOpen)
    }

    /// Returns the approximate size in memory, in bytes, without the cause.
    pub fn weight(&self) -> usize {
        let Inner { message, violations, details, .. } = &*self.0;
        let violations = violations.iter().map(Violation::weight).sum::<usize>();
        let details = details.iter().map(|(name, value)| name.len() + weight(value)).sum::<usize>();
        size_of::<Inner>() + message.weight() + violations + details
    }

    /// Returns the details, with messages in one language.
    pub fn details(&self, locale: Locale) -> Map<String, Value> {
        let mut details = self.0.details.clone();
        if !self.0.violations.is_empty() {
            let errors = self.0.violations.iter().map(|violation| {
                json!({
                    "path": violation.path,
                    "message": violation.message.render(locale),
                    "id": violation.message.id(),
                })
            });
            details.insert("errors".to_owned(), errors.collect());
        }
        if let Some(source) = &self.0.source {
            details.entry("cause").or_insert_with(|| Value::String(source.to_string()));
        }
        if let Some(pause) = self.0.retry_after {
            details.entry("retryAfterMs").or_insert_with(|| json!(pause.as_millis() as u64));
        }
        details
    }

    /// Returns the error as clients get it: `{kind, message, retryable, details}`.
    pub fn to_json(&self, locale: Locale) -> Value {
        let mut details = self.details(locale);
        // The cause of an internal failure is logged for operators, not returned.
        if matches!(self.0.kind, ErrorKind::Internal | ErrorKind::Unavailable) {
            details.shift_remove("cause");
        }
        json!({
            "kind": self.0.kind,
            "message": self.0.message.render(locale),
            "retryable": self.is_retryable(),
            "details": details,
        })
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind, self.0.message)
    }
}

impl StdError for CallError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_in_the_list_once() {
        let mut seen = std::collections::HashSet::new();
        assert!(ErrorKind::ALL.into_iter().all(|kind| seen.insert(kind)));
    }

    #[test]
    fn violations_make_one_message_and_a_list() {
        let error = CallError::invalid(vec![
            Violation::new("city", Message::verbatim("is required")),
            Violation::new("files.0.url", Message::verbatim("7 is not of type \"string\"")),
        ]);
        let json = error.to_json(Locale::En);
        assert_eq!(
            json["message"],
            "Invalid inputs: city: is required, files.0.url: 7 is not of type \"string\""
        );
        assert_eq!(json["retryable"], false);
        assert_eq!(json["details"]["errors"][1]["path"], "files.0.url");
    }

    #[test]
    fn hidden_values_are_removed_everywhere() {
        let redactor = Redactor::parse(&json!([{"pattern": "email"}])).expect("rules");
        let quoting = Message::new(&QUOTING).with("value", "\"0123-ada@b.example\"");
        let violations = vec![Violation::new("ada@b.example", quoting)];
        let error = CallError::invalid(violations).detail("body", "ada@b.example").caused_by("ada@b.example");
        let clean = error.clone().redacted(&redactor).to_json(Locale::En).to_string();
        assert!(!clean.contains("ada@") && clean.matches("[redacted]").count() == 6, "{clean}");
        let hidden = error.hiding_values().to_json(Locale::En).to_string();
        assert!(!hidden.contains("0123") && hidden.contains("… is odd"), "{hidden}");
    }

    #[test]
    fn a_failed_connection_stays_one_when_the_error_is_cleaned() {
        let error = CallError::text(ErrorKind::Network, "refused");
        assert!(!error.is_connection_failure(), "a network error alone is none");
        let refused = error.that_could_not_connect();
        let cleaned = refused.clone().masked(&Mask::new(["s3cret-value"])).that_must_not_be_repeated();
        assert!(cleaned.is_connection_failure());
        assert!(!refused.about_another_host().is_connection_failure());
    }

    #[test]
    fn reason_survives_cleaning_and_is_not_serialized() {
        let error = CallError::text(ErrorKind::Denied, "no s3cret-value");
        let plain = error.to_json(Locale::En);
        let denied = error.with_reason(ErrorReason::NeedsApproval);
        assert_eq!(denied.to_json(Locale::En), plain);
        let cleaned = denied.masked(&Mask::new(["s3cret-value"])).hiding_values().that_must_not_be_repeated();
        assert_eq!(cleaned.reason(), Some(ErrorReason::NeedsApproval));
    }

    static QUOTING: crate::Template = crate::Template::new("quoting", "{value} is odd", "{value} is odd");

    #[test]
    fn the_cause_is_in_the_details() {
        let error = CallError::text(ErrorKind::Network, "no answer")
            .caused_by("connection refused")
            .retry_after(Duration::from_millis(1500));
        let details = error.details(Locale::En);
        assert_eq!(details["cause"], "connection refused");
        assert_eq!(details["retryAfterMs"], 1500);
        assert_eq!(error.to_string(), "Network: no answer");
    }
}
