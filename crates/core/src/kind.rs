//! The traits between the engine and the kinds of tools.
//!
//! A kind prepares a tool once and runs it many times. It classifies its failures; timeouts, retries,
//! breakers, records and redaction belong to the engine and not to a kind.

use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::redact::Redactor;
use crate::schema::AlsoAccepted;
use crate::secret::SecretOwner;
use crate::{
    Arguments, CallContext, CallError, Effect, Message, PendingResult, ResultDelivery, SecretRef, SpaceId,
    ToolId, ToolName, ToolSpec, Violation,
};

/// A boxed future, for traits used as `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One kind of tool: `http`, `mcp`, `python`, or one of an embedding program.
pub trait Kind: Send + Sync {
    /// Returns the `type` of its tools, in lower case.
    fn name(&self) -> &'static str;

    /// Returns aliases of the type.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the tools that the kind provides in every space; their names are their ids. The definitions must
    /// be valid: their schemas are compiled at the first call.
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Returns aliases of those tools.
    fn tool_aliases(&self) -> Vec<(&'static str, ToolName)> {
        Vec::new()
    }

    /// Returns the fields of a config for credentials, whatever they contain. A literal credential is
    /// stored as a secret when its definition is saved, and replaced by a reference to the secret.
    fn credentials<'a>(&self, _config: &'a mut Map<String, Value>) -> Vec<CredentialField<'a>> {
        Vec::new()
    }

    /// Checks a definition's `config` and does all work that does not depend on a call.
    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError>;
}

/// The tool version that a kind prepares.
#[derive(Debug, Clone, Copy)]
pub struct ToolContext<'a> {
    /// The space that owns the tool. `None` if the tool is visible in every space.
    pub space: Option<SpaceId>,
    pub tool: ToolIdentity<'a>,
    /// The `config` of the definition.
    pub config: &'a Map<String, Value>,
}

/// The id and name of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolIdentity<'a> {
    /// `None` if the definition is checked before the tool has an id.
    pub id: Option<&'a ToolId>,
    pub name: &'a ToolName,
}

/// A field of a config for a credential.
#[derive(Debug)]
pub struct CredentialField<'a> {
    /// The path within the config: `headers.X-Api-Key`.
    pub path: String,
    /// The name of the field, from which the secret gets its name.
    pub name: String,
    /// The start of the value that is not part of the credential, such as `Bearer`.
    pub scheme: Option<String>,
    pub value: &'a mut Value,
}

/// One tool version, ready to run.
pub trait Prepared: Send + Sync {
    /// Returns the effect of a call, if the definition does not set it.
    fn effect(&self) -> Effect;

    /// Returns the input schema derived from the config, used if the definition has none.
    fn input_schema(&self) -> Option<Value> {
        None
    }

    /// Returns the upstream that a call connects to. Tools of a space with the same key share a circuit
    /// breaker that counts failed connections; each tool has a separate one for all its failures.
    fn breaker_key(&self, _arguments: &Arguments) -> Option<BreakerKey> {
        None
    }

    /// Returns the secrets that a call needs. The engine reveals them to the attempt and masks them in its
    /// result.
    fn secrets(&self) -> &[SecretRef] {
        &[]
    }

    /// Returns true if a call may use secrets of its caller, so that another user must not replay it.
    fn acts_for_caller(&self) -> bool {
        self.secrets().iter().any(|secret| secret.owner == SecretOwner::Caller)
    }

    /// Returns true if a call reads files of its caller: its result is then cached for that caller only.
    fn reads_own_files(&self, _arguments: &Arguments) -> bool {
        false
    }

    /// Returns true if the schema's defaults are passed to a call. Otherwise they are only used for
    /// validation.
    fn takes_defaults(&self) -> bool {
        true
    }

    /// Returns true if a call ignores properties of another alternative than the selected one: of the tool's
    /// schema, or of [`Self::input_schema`] if the tool's schema has no alternatives.
    fn ignores_foreign_properties(&self) -> bool {
        false
    }

    /// Returns violations that prevent saving the config, with paths relative to it. A stored definition that
    /// was saved before such a check still loads.
    fn save_violations(&self) -> &[Violation] {
        &[]
    }

    /// Returns the parts of the config that only an admin may save, with the reasons; paths are relative to
    /// the config.
    fn for_admins(&self) -> &[Violation] {
        &[]
    }

    /// Returns a preview of a call for a dry run. Must not send anything or reveal secrets.
    fn preview(&self, _arguments: &Arguments, _context: &CallContext) -> Result<Option<Value>, CallError> {
        Ok(None)
    }

    /// Returns the export of calls as cURL commands, if the kind has one.
    fn as_curl_export(&self) -> Option<&dyn CurlExport> {
        None
    }

    /// Returns the redaction rules of the tool's author. The kind applies them to results, and the engine to
    /// everything else in the record.
    fn redactor(&self) -> Option<&Redactor> {
        None
    }

    /// Returns a better message for a violation than the schema gives, if there is one.
    fn explain(&self, _violation: &Violation, _arguments: &Value) -> Option<Message> {
        None
    }

    /// Returns values that an argument's `enum` accepts without listing them, such as `days` for `day`.
    fn also_accepted(&self) -> Vec<AlsoAccepted> {
        Vec::new()
    }

    /// Returns how a call delivers its result.
    fn result_delivery(&self) -> ResultDelivery {
        ResultDelivery::Now
    }

    /// Makes one attempt. Dropping the future must stop the work.
    ///
    /// The output may announce a deferred result. It is then run again when the result is due, with a context
    /// that contains the stored state; see [`CallContext::resumed`].
    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>>;
}

/// An optional extension of [`Prepared`]: renders calls as cURL commands.
pub trait CurlExport: Send + Sync {
    /// Renders a call. Secrets become shell variables. Must not send anything or look up secrets.
    fn curl(&self, arguments: &Arguments, context: &CallContext) -> Result<CurlCommand, CallError>;
}

/// The upstream of a circuit breaker within one space: an origin or a server.
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

/// The output of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    pub data: Value,
    /// The kind has already masked the call's secrets.
    pub is_masked: bool,
    /// `data` as JSON text, if the kind has it: avoids serializing it again for the record.
    pub text: Option<Arc<str>>,
    /// Set if the result is deferred; `data` is then null. Boxed to keep the common output small.
    pub later: Option<Box<PendingResult>>,
}

impl ToolOutput {
    /// Creates an output whose secrets the kind has already masked.
    pub fn masked(data: Value) -> Self {
        Self { data, is_masked: true, text: None, later: None }
    }

    /// Creates the output of a call whose result is deferred.
    pub fn deferred(later: PendingResult) -> Self {
        Self { later: Some(Box::new(later)), ..Self::masked(Value::Null) }
    }
}

impl From<Value> for ToolOutput {
    fn from(data: Value) -> Self {
        Self { data, is_masked: false, text: None, later: None }
    }
}

/// A call as a cURL command.
#[derive(Debug, Clone, PartialEq)]
pub struct CurlCommand {
    pub command: String,
    /// The secrets that the command reads from variables.
    pub secrets: Vec<SecretRef>,
    /// Notes for the user who runs the command.
    pub notes: Vec<Message>,
}

/// An invalid config; paths are relative to it.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigError(pub Vec<Violation>);

impl From<Violation> for ConfigError {
    fn from(violation: Violation) -> Self {
        Self(vec![violation])
    }
}
