//! A definition on its way into the store: read, checked, its credentials lifted out, kept, and made callable.

use haft_core::tool::input::{self, ToolInput};
use haft_core::{CallError, ErrorKind, Message, ToolVersion};
use haft_engine::PreparedTool;
use haft_store::{PutTool, VersionState};
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::api::Needs;
use crate::app::AppState;
use crate::visitors::Visitor;

haft_core::templates! {
    FOR_ADMINS = "tools.forAdmins",
        "only those who run the server may save this: {reasons}",
        "仅服务器管理员可以保存：{reasons}";
}

/// A definition that was checked.
pub(crate) struct Definition {
    /// Fields that the server sets, where the definition carried them along.
    pub(crate) kept_by_server: Map<String, Value>,
    pub(crate) prepared: PreparedTool,
    /// Credentials that stood in it, and the names they have now.
    pub(crate) secrets: Vec<(String, SecretString)>,
}

/// Reads and compiles a definition, off the async threads.
pub(crate) async fn prepare(
    state: &AppState,
    visitor: &Visitor,
    definition: Value,
) -> Result<Definition, CallError> {
    state.tools.make_ready(visitor.space).await?;
    let tools = state.tools.clone();
    let work = tokio::task::spawn_blocking(move || {
        let ToolInput { mut spec, kept_by_server } = input::parse(definition).map_err(CallError::invalid)?;
        let secrets = haft_http::lift_credentials(&mut spec);
        Ok(Definition { kept_by_server, prepared: tools.prepare(spec)?, secrets })
    });
    let checked = work.await.unwrap_or_else(|error| {
        Err(CallError::text(ErrorKind::Internal, "the definition could not be checked").caused_by(error))
    })?;
    check_rights(visitor, &checked.prepared)?;
    Ok(checked)
}

/// Some settings reach further than one space.
pub(crate) fn check_rights(visitor: &Visitor, prepared: &PreparedTool) -> Result<(), CallError> {
    let reasons = prepared.for_admins();
    if reasons.is_empty() || visitor.may(Needs::Operator) {
        return Ok(());
    }
    let paths: Vec<String> = reasons.iter().map(|violation| format!("config.{}", violation.path)).collect();
    let message = Message::new(&FOR_ADMINS).with("reasons", paths.join(", "));
    Err(CallError::new(ErrorKind::Permission, message))
}

/// Keeps one version with its secrets, and makes it callable.
pub(crate) async fn save(
    state: &AppState,
    visitor: &Visitor,
    version: ToolVersion,
    expected: Option<u64>,
    secrets: Vec<(String, SecretString)>,
) -> Result<ToolVersion, CallError> {
    let mut kept = save_all(state, visitor, vec![(version, expected)], secrets).await?;
    kept.pop().ok_or_else(|| CallError::text(ErrorKind::Internal, "nothing was kept"))
}

/// The same for many: all of them, or none.
pub(crate) async fn save_all(
    state: &AppState,
    visitor: &Visitor,
    versions: Vec<(ToolVersion, Option<u64>)>,
    secrets: Vec<(String, SecretString)>,
) -> Result<Vec<ToolVersion>, CallError> {
    let put =
        |(version, expected)| PutTool { version, expected, state: VersionState::Live, note: String::new() };
    let puts = versions.into_iter().map(put).collect();
    let kept = state.store.put_tools(visitor.space, puts, &secrets, Some(visitor.user.id)).await?;
    if !secrets.is_empty() {
        state.secrets.forget(visitor.space);
    }
    state.tools.renew(visitor.space).await?;
    Ok(kept)
}
