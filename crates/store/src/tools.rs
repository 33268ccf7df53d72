//! Tools of spaces, as they are called now: listed, changed and deleted. Their past is in `versions`.

use haft_core::{CallError, ErrorKind, Message, SpaceId, ToolId, ToolName, ToolSpec, ToolVersion, UserId};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::db::{Tx, args};
use crate::feed::Change;
use crate::history::{Action, Note, What};
use crate::row::Row;
use crate::store::Force;
use crate::versions::{NewVersion, VersionState};
use crate::{SecretOwnerId, Store, agents, failure, secrets, versions};

haft_core::templates! {
    BOUND = "store.toolBound",
        "{name} is used by agents: {agents}; take it from them first, or delete it by force",
        "{name} 正被以下智能体使用：{agents}；请先从中移除，或强制删除";
}

/// A tool to be kept: a new one, or the next version of one that is there.
#[derive(Debug, Clone)]
pub struct PutTool {
    /// Its number is given by the store.
    pub version: ToolVersion,
    /// The version it takes the place of; none when the tool must not be there yet.
    pub expected: Option<u64>,
    /// A version that is held waits for approval, and the one before it goes on being called.
    pub state: VersionState,
    /// What changed, in the words of who changed it.
    pub note: String,
}

/// What a space's tools are, for who knew them at an earlier revision.
#[derive(Debug, Clone)]
pub struct ToolsSince {
    /// Every tool there is, with its live version. What is not among them is gone.
    pub live: Vec<(ToolId, u64)>,
    /// Those that changed.
    pub changed: Vec<ToolVersion>,
}

/// What can be told of a space's tools without reading any: equal where none was changed, added or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolsState {
    /// Of the last change of any of them.
    pub revision: u64,
    /// Those that have a live version.
    pub count: u64,
}

/// A tool's row.
pub(crate) struct Known {
    pub(crate) name: String,
    owner_id: Option<UserId>,
    pub(crate) live: Option<u64>,
    pub(crate) latest: u64,
    created_at: Timestamp,
}

impl Known {
    /// The version that a change builds upon.
    pub(crate) fn current(&self) -> u64 {
        self.live.unwrap_or(self.latest)
    }

    pub(crate) fn version(
        &self,
        space: SpaceId,
        id: &ToolId,
        number: u64,
        spec: ToolSpec,
        made: Timestamp,
    ) -> ToolVersion {
        ToolVersion {
            id: id.clone(),
            space_id: Some(space),
            owner_id: self.owner_id,
            spec,
            version: number,
            created_at: self.created_at,
            updated_at: made,
        }
    }
}

/// Reads a version: id, space, owner, version, when the tool and when the version was made, definition.
pub(crate) fn tool_version(row: &Row) -> Result<ToolVersion, CallError> {
    Ok(ToolVersion {
        id: row.tool_id(0)?,
        space_id: Some(row.id(1)?),
        owner_id: row.maybe_id(2)?,
        version: row.number(3)?,
        created_at: row.time(4)?,
        updated_at: row.time(5)?,
        spec: row.json(6)?,
    })
}

/// A tool's live version by its number, and in full where it changed.
fn changed(row: &Row) -> Result<((ToolId, u64), Option<ToolVersion>), CallError> {
    let live = (row.tool_id(0)?, row.number(3)?);
    let version = row.maybe_text(6)?.map(|_| tool_version(row)).transpose()?;
    Ok((live, version))
}

fn decode_tools(rows: &[Row], space: SpaceId) -> Result<ToolsSince, CallError> {
    let mut tools = ToolsSince { live: Vec::with_capacity(rows.len()), changed: Vec::new() };
    for row in rows {
        match changed(row) {
            Ok((live, version)) => {
                tools.live.push(live);
                tools.changed.extend(version);
            }
            Err(error) => {
                let id = row.text(0)?;
                tracing::warn!(tool.id = id, space.id = %space, cause = %error, "A stored tool cannot be read");
            }
        }
    }
    Ok(tools)
}

impl Store {
    /// Whether a space's tools are still those that somebody knows.
    pub async fn tools_state(&self, space: SpaceId) -> Result<ToolsState, CallError> {
        let sql = "SELECT COALESCE(MAX(revision), 0), COUNT(live_version) FROM tools WHERE space_id = $1";
        let row = self.db().row(sql, args![space]).await?;
        let row = row.ok_or_else(|| failure::unreadable("no count"))?;
        Ok(ToolsState { revision: row.number(0)?, count: row.number(1)? })
    }

    /// Returns a space's live tools and those that changed since `revision`. Tools that cannot be decoded are left
    /// out and logged.
    pub async fn tools_since(&self, space: SpaceId, revision: u64) -> Result<ToolsSince, CallError> {
        let rows = self.db().rows(
            "SELECT t.id, t.space_id, t.owner_id, v.version, t.created_at, v.created_at,
                    CASE WHEN t.revision > $2 THEN v.spec END
             FROM tools t JOIN tool_versions v ON v.tool_id = t.id AND v.version = t.live_version
             WHERE t.space_id = $1 ORDER BY t.name",
            args![space, revision],
        );
        let rows = rows.await?;
        // Thousands of definitions take long to decode: not on a thread that serves requests.
        let decoded = tokio::task::spawn_blocking(move || decode_tools(&rows, space)).await;
        decoded.map_err(failure::unreadable)?
    }

    /// The live version of a tool.
    pub async fn get_tool(&self, space: SpaceId, id: &ToolId) -> Result<Option<ToolVersion>, CallError> {
        let row = self.db().row(
            "SELECT t.id, t.space_id, t.owner_id, v.version, t.created_at, v.created_at, v.spec
             FROM tools t JOIN tool_versions v ON v.tool_id = t.id AND v.version = t.live_version
             WHERE t.space_id = $1 AND t.id = $2",
            args![space, id],
        );
        row.await?.map(|row| tool_version(&row)).transpose()
    }

    /// The tool of that id or name: its live version, or the latest that is held when none is live.
    pub async fn find_tool(
        &self,
        space: SpaceId,
        id_or_name: &str,
    ) -> Result<Option<ToolVersion>, CallError> {
        let id = agents::by_id(id_or_name).unwrap_or_else(|| id_or_name.to_owned());
        let row = self.db().row(
            "SELECT t.id, t.space_id, t.owner_id, v.version, t.created_at, v.created_at, v.spec
             FROM tools t JOIN tool_versions v
               ON v.tool_id = t.id AND v.version = COALESCE(t.live_version, t.latest_version)
             WHERE t.space_id = $1 AND (t.id = $2 OR t.name = $3)
             ORDER BY CASE WHEN t.id = $2 THEN 0 ELSE 1 END LIMIT 1",
            args![space, id, id_or_name],
        );
        row.await?.map(|row| tool_version(&row)).transpose()
    }

    /// Keeps tools with the secrets they name, all of them or none, and gives them back as they were kept.
    pub async fn put_tools(
        &self,
        space: SpaceId,
        tools: Vec<PutTool>,
        with: &[(String, SecretString)],
        by: Option<UserId>,
    ) -> Result<Vec<ToolVersion>, CallError> {
        if tools.is_empty() && with.is_empty() {
            return Ok(Vec::new());
        }
        let mut change = self.change(space).await?;
        let kept = put_all(self, &mut change, space, tools, with, by).await?;
        change.commit().await?;
        Ok(kept)
    }

    /// Deletes a tool with its versions. One that agents bind goes only by force, and is taken from them.
    pub async fn delete_tool(
        &self,
        space: SpaceId,
        id: &ToolId,
        expected: Option<u64>,
        force: Force,
    ) -> Result<(), CallError> {
        let mut change = self.change(space).await?;
        remove(&mut change, space, id, expected, force).await?;
        change.commit().await
    }
}

/// Keeps tools and secrets within a change.
pub(crate) async fn put_all(
    store: &Store,
    change: &mut Change<'_>,
    space: SpaceId,
    tools: Vec<PutTool>,
    with: &[(String, SecretString)],
    by: Option<UserId>,
) -> Result<Vec<ToolVersion>, CallError> {
    for (name, value) in with {
        secrets::put(store, change, (space, SecretOwnerId::Space, name), value, by).await?;
    }
    let mut kept = Vec::with_capacity(tools.len());
    for PutTool { version, expected, state, note } in tools {
        let known = known(&mut change.tx, space, &version.id).await?;
        let known = match (expected, known) {
            (None, None) => add(&mut change.tx, space, &version).await?,
            (None, Some(known)) => return Err(failure::taken(&known.name)),
            (Some(_), None) => return Err(failure::not_found(&failure::TOOL, &version.id)),
            (Some(expected), Some(known)) => {
                failure::check_version(&known.name, known.current(), expected)?;
                known
            }
        };
        let before = versions::definition(&mut change.tx, space, &version.id, known.current()).await?;
        let new = NewVersion { spec: version.spec, state, note, made: version.updated_at, by };
        let tool = versions::append(change, space, &version.id, &known, new).await?;
        let mut details = versions::details(before.as_ref(), &tool.spec);
        if state == VersionState::Held {
            details["held"] = true.into();
        }
        let action = if known.latest == 0 { Action::Created } else { Action::Updated };
        change.note(noted(&tool, action, details)).await?;
        kept.push(tool);
    }
    Ok(kept)
}

/// What is put on record of a tool that was changed.
pub(crate) fn noted(tool: &ToolVersion, action: Action, details: Value) -> Note {
    let (id, name) = (tool.id.to_string(), tool.spec.name.to_string());
    Note { what: What::Tool, action, id, name, version: Some(tool.version), details }
}

/// Deletes a tool within a change.
pub(crate) async fn remove(
    change: &mut Change<'_>,
    space: SpaceId,
    id: &ToolId,
    expected: Option<u64>,
    force: Force,
) -> Result<(), CallError> {
    let known = must_know(&mut change.tx, space, id).await?;
    if let Some(expected) = expected {
        failure::check_version(&known.name, known.current(), expected)?;
    }
    match force {
        Force::Yes => agents::unbind(change, space, id).await?,
        Force::No => {
            let agents = agents::names_binding(&mut change.tx, space, id).await?;
            if !agents.is_empty() {
                let message =
                    Message::new(&BOUND).with("name", &known.name).with("agents", agents.join(", "));
                let refused = CallError::new(ErrorKind::Conflict, message);
                return Err(refused.detail("agents", json!(agents)));
            }
        }
    }
    let version = Some(known.current());
    change.tx.run("DELETE FROM tools WHERE space_id = $1 AND id = $2", args![space, id]).await?;
    let (what, action, details) = (What::Tool, Action::Deleted, json!({}));
    change.note(Note { what, action, id: id.to_string(), name: known.name, version, details }).await
}

pub(crate) async fn known(tx: &mut Tx, space: SpaceId, id: &ToolId) -> Result<Option<Known>, CallError> {
    let row = tx.row(
        "SELECT name, owner_id, live_version, latest_version, created_at FROM tools
         WHERE space_id = $1 AND id = $2",
        args![space, id],
    );
    let Some(row) = row.await? else { return Ok(None) };
    Ok(Some(Known {
        name: row.text(0)?,
        owner_id: row.maybe_id(1)?,
        live: row.maybe_number(2)?,
        latest: row.number(3)?,
        created_at: row.time(4)?,
    }))
}

pub(crate) async fn must_know(tx: &mut Tx, space: SpaceId, id: &ToolId) -> Result<Known, CallError> {
    known(tx, space, id).await?.ok_or_else(|| failure::not_found(&failure::TOOL, id))
}

/// Says when another tool of the space has the name.
pub(crate) async fn check_name(
    tx: &mut Tx,
    space: SpaceId,
    id: &ToolId,
    name: &ToolName,
) -> Result<(), CallError> {
    let sql = "SELECT id FROM tools WHERE space_id = $1 AND name = $2 AND id <> $3";
    match tx.row(sql, args![space, name.as_str(), id]).await? {
        Some(_) => Err(failure::taken(name.as_str())),
        None => Ok(()),
    }
}

/// A new tool, without any version yet.
async fn add(tx: &mut Tx, space: SpaceId, version: &ToolVersion) -> Result<Known, CallError> {
    let name = &version.spec.name;
    check_name(tx, space, &version.id, name).await?;
    let added = tx.run(
        "INSERT INTO tools (id, space_id, name, owner_id, latest_version, created_at, updated_at, revision)
         VALUES ($1, $2, $3, $4, 0, $5, $6, 0) ON CONFLICT DO NOTHING",
        args![&version.id, space, name.as_str(), version.owner_id, version.created_at, version.updated_at],
    );
    if added.await? == 0 {
        return Err(failure::taken(name.as_str()));
    }
    Ok(Known {
        name: name.to_string(),
        owner_id: version.owner_id,
        live: None,
        latest: 0,
        created_at: version.created_at,
    })
}
