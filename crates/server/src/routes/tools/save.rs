//! A definition on its way into the store: read, checked, its credentials lifted out, kept, and made callable.

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::tool::input::{self, ToolInput};
use haft_core::{CallError, ErrorKind, Message, SpaceId, ToolVersion, Violation};
use haft_engine::{PreparedTool, ToolService};
use haft_store::{Page, PutTool, SecretOwnerId, VersionState};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use crate::api::Needs;
use crate::app::AppState;
use crate::visitors::Visitor;

haft_core::templates! {
    FOR_ADMINS = "tools.forAdmins",
        "Only server admins may save this: {reasons}",
        "仅服务器管理员可以保存：{reasons}";
    NOTHING_KEPT = "tools.nothingKept",
        "is masked, but no secret is stored; send the credential or the name of a secret",
        "是掩码，而目前没有可保留的密钥；请提供凭据或密钥的名称";
}

/// So many names of secrets are read at a time.
const PAGE: u32 = 1000;

/// A definition that was checked.
pub(crate) struct Definition {
    /// Fields that the server sets, where the definition carried them along.
    pub(crate) server_fields: Map<String, Value>,
    pub(crate) prepared: PreparedTool,
    /// Credentials that stood in it, and the names they have now.
    pub(crate) secrets: Vec<(String, SecretString)>,
}

/// Which tool a definition takes the place of.
pub(crate) enum Place {
    /// None: it is a new one.
    New,
    Of(Arc<ToolVersion>),
    /// The one that has its name, if there is one.
    Named,
}

/// Reads and compiles a definition that is kept nowhere.
pub(crate) async fn prepare(
    state: &AppState,
    visitor: &Visitor,
    definition: Value,
) -> Result<Definition, CallError> {
    prepare_for(state, visitor, definition, Place::Named, &Arc::default()).await
}

/// Reads and compiles a definition, off the async threads. Its credentials get names that are not taken.
pub(crate) async fn prepare_for(
    state: &AppState,
    visitor: &Visitor,
    definition: Value,
    place: Place,
    taken: &Arc<HashSet<String>>,
) -> Result<Definition, CallError> {
    state.tools.make_ready(visitor.space).await?;
    let (tools, space, taken) = (state.tools.clone(), visitor.space, taken.clone());
    let work = tokio::task::spawn_blocking(move || read_definition(&tools, space, definition, place, &taken));
    let checked = work.await.unwrap_or_else(|error| {
        Err(CallError::text(ErrorKind::Internal, "the definition could not be checked").caused_by(error))
    })?;
    check_rights(visitor, &checked.prepared)?;
    Ok(checked)
}

/// Reads and compiles a definition on this thread, which must serve no requests. The space's tools are loaded.
pub(crate) fn prepare_here(
    state: &AppState,
    visitor: &Visitor,
    definition: Value,
    place: Place,
    taken: &HashSet<String>,
) -> Result<Definition, CallError> {
    let checked = read_definition(&state.tools, visitor.space, definition, place, taken)?;
    check_rights(visitor, &checked.prepared)?;
    Ok(checked)
}

fn read_definition(
    tools: &ToolService,
    space: SpaceId,
    definition: Value,
    place: Place,
    taken: &HashSet<String>,
) -> Result<Definition, CallError> {
    let ToolInput { mut spec, server_fields } = input::parse(definition).map_err(CallError::invalid)?;
    let before = match place {
        Place::New => None,
        Place::Of(tool) => Some(tool),
        Place::Named => tools.in_space(space).get(spec.name.as_str()).filter(|tool| tool.space_id.is_some()),
    };
    let lifted = tools.extract_credentials(&mut spec, before.as_ref().map(|before| &before.spec), |name| {
        taken.contains(name)
    });
    let secrets = lifted.map_err(nothing_kept)?;
    let id = before.as_ref().map(|before| &before.id);
    Ok(Definition { server_fields, prepared: tools.in_space(space).prepare(id, spec)?, secrets })
}

fn nothing_kept(places: Vec<String>) -> CallError {
    let say = |place: String| Violation::new(place, Message::new(&NOTHING_KEPT));
    CallError::invalid(places.into_iter().map(say).collect::<Vec<Violation>>())
}

/// The names that the secrets of a space have.
pub(crate) async fn secret_names(state: &AppState, space: SpaceId) -> Result<HashSet<String>, CallError> {
    let (mut names, mut cursor) = (HashSet::new(), None);
    loop {
        let page = Page { limit: PAGE, cursor };
        let (secrets, next) = state.store.list_secrets(space, SecretOwnerId::Space, &page).await?;
        names.extend(secrets.into_iter().map(|secret| secret.name));
        match next {
            Some(next) => cursor = Some(next),
            None => return Ok(names),
        }
    }
}

/// Those secrets that are not there yet, or have another value.
pub(crate) async fn new_secrets(
    state: &AppState,
    space: SpaceId,
    secrets: Vec<(String, SecretString)>,
) -> Result<Vec<(String, SecretString)>, CallError> {
    let mut new = Vec::new();
    for (name, value) in secrets {
        let known = state.secrets.find(space, SecretOwnerId::Space, &name).await?;
        if known.is_none_or(|known| known.expose_secret() != value.expose_secret()) {
            new.push((name, value));
        }
    }
    Ok(new)
}

/// Whether a visitor may make others call a version that is kept already.
pub(crate) async fn check_version_rights(
    state: &AppState,
    visitor: &Visitor,
    version: ToolVersion,
) -> Result<(), CallError> {
    let (tools, space) = (state.tools.clone(), visitor.space);
    let prepare = move || tools.in_space(space).prepare(Some(&version.id), version.spec);
    let work = tokio::task::spawn_blocking(prepare);
    let prepared = work.await.unwrap_or_else(|error| {
        Err(CallError::text(ErrorKind::Internal, "the version could not be checked").caused_by(error))
    })?;
    check_rights(visitor, &prepared)
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
    kept.pop().ok_or_else(|| CallError::text(ErrorKind::Internal, "the new version was not stored"))
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
    let store = state.store_for(visitor);
    let kept = store.put_tools(visitor.space, puts, &secrets, Some(visitor.user.id)).await?;
    if !secrets.is_empty() {
        state.secrets.forget(visitor.space);
    }
    state.tools.renew(visitor.space).await?;
    Ok(kept)
}
