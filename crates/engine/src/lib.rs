//! The pipeline of every tool call, for every kind and every interface.
//!
//! This is the library that Rust programs embed to register and execute tools. It does not depend on a
//! server, a database, or tool kinds other than Rust functions ([`Tool::native`]) and scripted results
//! ([`MockKind`]).
//!
//! ```
//! use haft_engine::{CallOptions, Tool, ToolService};
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct MyArgs {
//!     /// What to work on.
//!     input: String,
//! }
//!
//! # async fn example() -> anyhow::Result<()> {
//! let tools = ToolService::builder().build();
//! tools.register(Tool::native("my-tool", "My custom tool", |args: MyArgs| async move {
//!     Ok(json!({"result": format!("processed: {}", args.input)}))
//! }))?;
//! let options = CallOptions::default().timeout_ms(5000).retries(3);
//! let result = tools.execute("my-tool", json!({"input": "test"}), options).await?;
//! assert_eq!(result.data(), Some(&json!({"result": "processed: test"})));
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

mod admit;
mod breaker;
mod builder;
mod bulkhead;
mod cache;
mod call_guard;
mod catalog;
mod clock;
pub mod context;
mod credentials;
mod events;
mod execute;
mod lock;
mod mock;
mod native;
mod preflight;
mod prepare;
mod rate;
mod record;
mod redaction;
mod schema;
mod secrets;
mod service;
mod source;
mod space_tools;
mod tool;
mod truncation;
mod writer;

pub use breaker::{BreakerSettings, Circuit, CircuitScope, CircuitState};
pub use builder::ToolServiceBuilder;
pub use catalog::Expected;
pub use clock::now;
pub use events::{CallEvent, Stage};
pub use haft_core::{
    AgentId, Arguments, ArtifactBytes, ArtifactRef, Artifacts, Binding, BoxFuture, BreakerKey, CallContext,
    CallError, CallId, CallOptions, Caller, ConfigError, ConversationId, CredentialField, CurlCommand,
    CurlExport, Effect, ErrorKind, ErrorReason, Kind, KindName, Locale, Message, Policy, PolicyRule,
    Prepared, Progress, RequestId, Source, SpaceId, Template, ToolConfig, ToolContext, ToolExecutionResult,
    ToolId, ToolIdentity, ToolName, ToolOutput, ToolSchema, ToolSpec, ToolVersion, TraceParent, UserId,
    Violation,
};
pub use haft_supervisor::{Supervisor, TaskHealth};
pub use mock::MockKind;
pub use native::NativeResult;
pub use preflight::{CallRequirements, PreflightedCall, RedactedArguments};
pub use prepare::PreparedTool;
pub use record::{CallRecord, CallSink, RecordQueue, SinkError};
pub use secrets::SecretSource;
pub use service::{CallRequest, DeferrableOutcome, ToolService};
pub use source::{LoadedTools, SourceState, ToolSource};
pub use space_tools::SpaceTools;
pub use tool::Tool;
pub use truncation::TruncatedJson;

/// Returns all message templates of this crate.
pub fn all_templates() -> Vec<&'static Template> {
    let own = [
        admit::TEMPLATES,
        breaker::TEMPLATES,
        bulkhead::TEMPLATES,
        catalog::TEMPLATES,
        execute::TEMPLATES,
        call_guard::TEMPLATES,
        mock::TEMPLATES,
        prepare::TEMPLATES,
        rate::TEMPLATES,
        record::TEMPLATES,
        schema::TEMPLATES,
        secrets::TEMPLATES,
        service::TEMPLATES,
        source::TEMPLATES,
    ];
    own.into_iter().flatten().copied().collect()
}
