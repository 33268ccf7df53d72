//! The seam between the pipeline and what a tool really does.
//!
//! A kind prepares once and runs many times. It names its failures; deadline,
//! retry, breaker, record and redaction belong to the engine and never to a kind.

use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::redact::Redactor;
use crate::schema::AlsoAccepted;
use crate::secret::SecretOwner;
use crate::{
    Arguments, CallContext, CallError, Effect, Later, Message, Reply, SecretRef, ToolName, ToolSpec,
    Violation,
};

/// A future behind `dyn`, as the seams return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One way of doing a tool's work: `http`, `mcp`, `python`, an embedder's own.
pub trait Kind: Send + Sync {
    /// The word in a tool's `type`, in lower case.
    fn name(&self) -> &'static str;

    /// Other words for the same kind.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// The tools this kind brings along, for everyone; their names are their ids.
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Other names by which its tools may be asked for.
    fn tool_aliases(&self) -> Vec<(&'static str, ToolName)> {
        Vec::new()
    }

    /// Checks a definition's `config` and does all work that need not be done per call.
    fn prepare(&self, config: &Map<String, Value>) -> Result<Arc<dyn Prepared>, ConfigError>;
}

/// One tool version, ready to run.
pub trait Prepared: Send + Sync {
    /// What a call does to the world, where the tool's definition does not say.
    fn effect(&self) -> Effect;

    /// The argument schema, for kinds that can tell it from their config; used when the definition has none.
    fn input_schema(&self) -> Option<Value> {
        None
    }

    /// The upstream that a call connects to. Tools of a space with the same key share a circuit breaker that counts
    /// failed connections; each tool has one of its own for all its failures.
    fn breaker_key(&self, _arguments: &Arguments) -> Option<BreakerKey> {
        None
    }

    /// The secrets that a call of it needs; the engine reveals them to the attempt and masks them in what it answers.
    fn secrets(&self) -> &[SecretRef] {
        &[]
    }

    /// Whether a call may use secrets of its caller alone: another user must not have it made again.
    fn acts_for_caller(&self) -> bool {
        self.secrets().iter().any(|secret| secret.owner == SecretOwner::Caller)
    }

    /// Whether a call reads files of its caller: its answer is then for that caller alone.
    fn reads_own_files(&self, _arguments: &Arguments) -> bool {
        false
    }

    /// Whether a call gets the schema's defaults like arguments, or they only serve to check it.
    fn takes_defaults(&self) -> bool {
        true
    }

    /// Whether a call ignores properties that belong to another alternative than the one it selects: of the tool's
    /// schema, or of [`Self::input_schema`] where that one has no alternatives.
    fn ignores_foreign_properties(&self) -> bool {
        false
    }

    /// Violations that keep its config from being saved; paths are relative to the config. A stored definition that
    /// has them, from before they were checked, still loads.
    fn save_violations(&self) -> &[Violation] {
        &[]
    }

    /// What in its config only an admin may save, and why; paths are relative to the config.
    fn for_admins(&self) -> &[Violation] {
        &[]
    }

    /// What a call would do, for a dry run; nothing may be sent, and no secret shown.
    fn preview(&self, _arguments: &Arguments, _context: &CallContext) -> Result<Option<Value>, CallError> {
        Ok(None)
    }

    /// The request of a call as a cURL command, for kinds whose calls are requests. Secrets are variables in
    /// it; nothing may be sent, and no secret looked up.
    fn as_curl(
        &self,
        _arguments: &Arguments,
        _context: &CallContext,
    ) -> Result<Option<CurlCommand>, CallError> {
        Ok(None)
    }

    /// What the tool's author wants nobody to see. The kind takes it out of what it answers, and the engine
    /// out of what it records besides.
    fn redactor(&self) -> Option<&Redactor> {
        None
    }

    /// Better words for what is wrong with an argument than the schema has.
    fn explain(&self, _violation: &Violation, _arguments: &Value) -> Option<Message> {
        None
    }

    /// Values that an argument's `enum` accepts and does not list, such as `days` beside `day`.
    fn also_accepted(&self) -> Vec<AlsoAccepted> {
        Vec::new()
    }

    /// How the answer of a call comes.
    fn reply(&self) -> Reply {
        Reply::Now
    }

    /// Makes one attempt. Dropping the future must stop the work.
    ///
    /// What it gives may say that the answer comes later. Then it is run again when it is time to look, with a
    /// context that holds what it said; see [`CallContext::resumed`].
    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>>;
}

/// The upstream that a circuit breaker is kept for, within one space: an origin, a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BreakerKey(Arc<str>);

impl BreakerKey {
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self(key.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What an attempt answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    pub data: Value,
    /// The kind has taken the call's secrets out already.
    pub is_masked: bool,
    /// `data` as JSON text, where the kind has it at hand: a record need not write it again.
    pub text: Option<Arc<str>>,
    /// This is not the answer yet: `data` is nothing. In a box, since few need the room it takes.
    pub later: Option<Box<Later>>,
}

impl ToolOutput {
    /// Of a kind that has taken out the secrets itself.
    pub fn masked(data: Value) -> Self {
        Self { data, is_masked: true, text: None, later: None }
    }

    /// The answer comes later.
    pub fn later(later: Later) -> Self {
        Self { later: Some(Box::new(later)), ..Self::masked(Value::Null) }
    }
}

impl From<Value> for ToolOutput {
    fn from(data: Value) -> Self {
        Self { data, is_masked: false, text: None, later: None }
    }
}

/// A request as a command to paste into a shell.
#[derive(Debug, Clone, PartialEq)]
pub struct CurlCommand {
    pub command: String,
    /// Those whose values it takes from variables.
    pub secrets: Vec<SecretRef>,
    /// What whoever pastes it should know.
    pub notes: Vec<Message>,
}

/// A config its kind cannot work with; paths are relative to the config.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigError(pub Vec<Violation>);

impl From<Violation> for ConfigError {
    fn from(violation: Violation) -> Self {
        Self(vec![violation])
    }
}
