//! Tools of an import: matched by name, each a new version where its definition differs.

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::agent::AgentSpec;
use haft_core::{AgentId, CallError, ErrorKind, Message, SpaceId, ToolId, ToolVersion};
use haft_engine::{Expected, now};
use haft_store::{Force, PutTool, VersionState};
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::save::{Definition, Place, new_secrets, prepare_here, secret_names};
use super::{Changed, Plan, UPDATED, agents};
use crate::app::AppState;

haft_core::templates! {
    STILL_BOUND = "exchange.stillBound",
        "Agents that remain use tools that would be removed: {agents}. With force, those agents lose the tools.",
        "保留的智能体仍在使用将被移除的工具：{agents}；使用 force 可将工具从中移除";
    UNUSABLE = "exchange.unusableTool",
        "The tool {name} was not exported: this server cannot use its definition. {reason}",
        "工具 {name} 未导出：本服务器无法使用其定义。{reason}";
}

pub(super) async fn own(state: &AppState, space: SpaceId) -> Result<Vec<Arc<ToolVersion>>, CallError> {
    state.tools.make_ready(space).await?;
    let mut tools = state.tools.in_space(space).list();
    tools.retain(|tool| tool.space_id.is_some());
    Ok(tools)
}

/// Stored tools that this server cannot call, for example because their kind is missing. Definitions are read only if
/// a tool is missing among the usable ones.
pub(super) async fn unusable(
    state: &AppState,
    space: SpaceId,
    usable: &[Arc<ToolVersion>],
) -> Result<Vec<ToolVersion>, CallError> {
    let known: HashSet<&ToolId> =
        usable.iter().filter(|tool| tool.space_id.is_some()).map(|tool| &tool.id).collect();
    if state.store.tools_fingerprint(space).await?.count == known.len() as u64 {
        return Ok(Vec::new());
    }
    let mut stored = state.store.tools_since(space, 0).await?.changed;
    stored.retain(|tool| !known.contains(&tool.id));
    Ok(stored)
}

/// A note for each tool that an export leaves out, with the reason.
pub(super) async fn left_out(state: &AppState, unusable: &[ToolVersion]) -> Result<Vec<Message>, CallError> {
    let unusable = unusable.to_vec();
    let tools = state.tools.clone();
    let note = move |tool: ToolVersion| {
        let note = Message::new(&UNUSABLE).with("name", &tool.spec.name);
        let error = tools.prepare_stored(&tool).err()?;
        Some(note.with_messages("reason", vec![error.message().clone()]))
    };
    let work = tokio::task::spawn_blocking(move || unusable.into_iter().filter_map(note).collect());
    work.await.map_err(|error| {
        CallError::text(ErrorKind::Internal, "the tools could not be checked").caused_by(error)
    })
}

impl Plan<'_> {
    pub(super) async fn tools(&mut self, definitions: Vec<Value>) -> Result<(), CallError> {
        let mut taken = secret_names(self.state, self.space()).await?;
        for (at, definition) in definitions.into_iter().enumerate() {
            if self.is_over() {
                return Ok(());
            }
            let path = format!("tools.{at}");
            // The thread of an import serves no requests.
            let checked = prepare_here(self.state, self.visitor, definition, Place::Named, &taken);
            match checked {
                Ok(definition) => {
                    taken.extend(definition.secrets.iter().map(|(name, _)| name.clone()));
                    self.plan_tool(definition, &path).await?;
                }
                Err(error) => self.refuse_one(&path, error)?,
            }
        }
        if self.prune {
            for tool in own(self.state, self.space()).await? {
                if !self.coming.has_id(&tool.id) {
                    self.report.tools.push(Changed::removed(tool.spec.name.as_str()));
                    self.apply.deleted_tools.push(tool.id.clone());
                }
            }
        }
        Ok(())
    }

    async fn plan_tool(&mut self, definition: Definition, path: &str) -> Result<(), CallError> {
        let Definition { prepared, secrets, .. } = definition;
        let (state, space) = (self.state, self.space());
        let spec = prepared.spec().clone();
        let is_known = self.coming.named(spec.name.as_str()).is_some();
        if self.is_twice(path, spec.name.as_str(), is_known) {
            return Ok(());
        }
        let tools = state.tools.in_space(space);
        let before = tools.get(spec.name.as_str()).filter(|tool| tool.space_id.is_some());
        let after = self.names.tool(&spec);
        let was = before.as_ref().map(|before| self.names.tool(&before.spec));
        let is_same = was.as_ref() == Some(&after);
        let at = now();
        let version = match &before {
            Some(before) if is_same => ToolVersion::clone(before),
            Some(before) => {
                // Held versions have numbers, too.
                let latest = state.store.versions(space, &before.id).await?.first().map(|last| last.version);
                let version = latest.unwrap_or(before.version) + 1;
                ToolVersion { spec, version, updated_at: at, ..ToolVersion::clone(before) }
            }
            None => ToolVersion {
                id: ToolId::Uuid(Uuid::now_v7()),
                space_id: Some(space),
                owner_id: Some(self.visitor.user.id),
                spec,
                version: 1,
                created_at: at,
                updated_at: at,
            },
        };
        let expected = before.as_ref().map(|before| before.version);
        tools.check_put(&version, expected.map_or(Expected::Absent, Expected::Version))?;
        let secrets = new_secrets(state, space, secrets).await?;
        let mut changed = Changed::new(version.spec.name.as_str(), was.as_ref(), &after);
        if is_same && !secrets.is_empty() {
            // Another credential under the name that it had.
            changed.change = UPDATED;
        }
        self.report.tools.push(changed);
        self.apply.secrets.extend(secrets);
        if !is_same {
            let put = PutTool {
                version: version.clone(),
                expected,
                state: VersionState::Live,
                note: String::new(),
            };
            self.apply.tools.push(put);
        }
        self.names.add_tool(&version.id, version.spec.name.as_str());
        self.coming.add(Arc::new(version));
        Ok(())
    }

    /// Tools that agents use which stay are removed only by force.
    pub(super) async fn check_bound(&self) -> Result<(), CallError> {
        let apply = &self.apply;
        if apply.force == Force::Yes || apply.deleted_tools.is_empty() {
            return Ok(());
        }
        let there = agents::all(self.state, self.space()).await?;
        let changed = apply.agents.iter().filter_map(|(before, _)| before.map(|(id, _)| id));
        let other: HashSet<AgentId> = changed.chain(apply.deleted_agents.iter().copied()).collect();
        let deleted_tools: HashSet<&ToolId> = apply.deleted_tools.iter().collect();
        let staying = there.iter().filter(|agent| !other.contains(&agent.id)).map(|agent| &agent.spec);
        let uses_gone = |agent: &&AgentSpec| {
            agent.bindings.iter().any(|binding| deleted_tools.contains(&binding.tool_id))
        };
        let users = staying.chain(apply.agents.iter().map(|(_, spec)| spec)).filter(uses_gone);
        let users: Vec<&str> = users.map(|agent| agent.name.as_str()).collect();
        if users.is_empty() {
            return Ok(());
        }
        let message = Message::new(&STILL_BOUND).with("agents", users.join(", "));
        Err(CallError::new(ErrorKind::Conflict, message).detail("agents", json!(users)))
    }
}
