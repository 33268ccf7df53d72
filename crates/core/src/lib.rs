//! The types and rules of Haft: tools, calls, errors.
//!
//! Everything here is plain data and pure functions: no I/O, no clock, no database, no runtime. Names, ids,
//! schemas and arguments are valid by construction; a [`ToolSpec`] is validated when the engine prepares it.

pub mod agent;
pub mod alert;
pub mod allowance;
pub mod arguments;
pub mod artifact;
pub mod binding;
pub mod builtin;
pub mod call;
pub mod condition;
pub mod deferral;
pub mod duration;
pub mod effect;
pub mod error;
pub mod id;
pub mod json;
pub mod kind;
pub mod locale;
pub mod mask;
pub mod mask_stream;
pub mod message;
pub mod model_options;
pub mod name;
pub mod nearest;
pub mod outcome;
pub mod policy;
pub mod provider;
pub mod redact;
pub mod retry;
pub mod schema;
pub mod secret;
pub mod shell;
pub mod space;
pub mod text;
pub mod timestamp;
pub mod tool;
pub mod trace;
pub mod user;

pub use allowance::{Allowance, ExhaustedAllowance};
pub use arguments::Arguments;
pub use artifact::{ArtifactBytes, ArtifactRef, Artifacts};
pub use binding::{Binding, ToolConfig};
pub use call::{CallContext, CallOptions, Caller, Progress, Source};
pub use condition::Condition;
pub use deferral::{CallbackBody, DeferredCall, PendingResult, ResultDelivery, ResumedCall};
pub use effect::{Effect, Policy};
pub use error::{CallError, ErrorKind, ErrorReason, Violation};
pub use id::{AgentId, CallId, ConversationId, RequestId, RunId, SpaceId, ToolId, UserId};
pub use kind::{
    BoxFuture, BreakerKey, ConfigError, CredentialField, CurlCommand, CurlExport, Kind, Prepared,
    ToolContext, ToolIdentity, ToolOutput,
};
pub use locale::Locale;
pub use message::{Message, Template};
pub use model_options::{JsonSchemaFormat, ModelOptions, ResponseFormat};
pub use name::{KindName, ToolName};
pub use outcome::ToolExecutionResult;
pub use policy::PolicyRule;
pub use retry::RetryPolicy;
pub use schema::ToolSchema;
pub use secret::{SecretRef, Secrets};
pub use text::Text;
pub use tool::{ToolSpec, ToolVersion};
pub use trace::{TraceParent, TraceState};

/// Returns all message templates of this crate.
pub fn all_templates() -> Vec<&'static Template> {
    let own = [
        message::TEMPLATES,
        error::TEMPLATES,
        artifact::TEMPLATES,
        binding::TEMPLATES,
        builtin::TEMPLATES,
        condition::TEMPLATES,
        model_options::TEMPLATES,
        policy::TEMPLATES,
        redact::TEMPLATES,
        text::TEMPLATES,
        tool::input::TEMPLATES,
    ];
    own.into_iter().flatten().copied().chain(schema::all_templates()).collect()
}
