//! Tools of spaces: their live versions are listed, changed and deleted. For earlier versions, see
//! `versions.rs`.

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
        "{name} is used by agents: {agents}. Remove it from them first, or force the deletion.",
        "{name} 正被以下智能体使用：{agents}；请先从中移除，或强制删除";
}

/// A tool to create, or the next version of an existing tool.
#[derive(Debug, Clone)]
pub struct PutTool {
    /// The store assigns the version number.
    pub version: ToolVersion,
    /// The version that is replaced. `None` if the tool must not exist yet.
    pub expected: Option<u64>,
    /// A held version waits for approval; until then the previous version is called.
    pub state: VersionState,
    /// A note by the author about the change.
    pub note: String,
}

/// The tools of a space, relative to an earlier revision.
#[derive(Debug, Clone)]
pub struct ToolChanges {
    /// All live tools with their versions. Tools that are missing here were deleted.
    pub live: Vec<(ToolId, u64)>,
    /// Tools that changed since the revision.
    pub changed: Vec<ToolVersion>,
}

/// A cheap fingerprint of the tools of a space. It is equal if no tool was changed, added or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolsFingerprint {
    /// Revision of the last change of any tool.
    pub revision: u64,
    /// Number of tools with a live version.
    pub count: u64,
}

/// A row of `tools`.
pub(crate) struct ToolRow {
    pub(crate) name: String,
    owner_id: Option<UserId>,
    pub(crate) live: Option<u64>,
    pub(crate) latest: u64,
    created_at: Timestamp,
}

impl ToolRow {
    /// Returns the version that a change is based on.
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

/// Reads a version: id, space, owner, version, creation of the tool, creation of the version, definition.
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

/// Reads the id and version of a live tool, and the definition if it has changed.
fn changed(row: &Row) -> Result<((ToolId, u64), Option<ToolVersion>), CallError> {
    let live = (row.tool_id(0)?, row.number(3)?);
    let version = row.maybe_text(6)?.map(|_| tool_version(row)).transpose()?;
    Ok((live, version))
}

fn decode_tools(rows: &[Row], space: SpaceId) -> Result<ToolChanges, CallError> {
    let mut tools = ToolChanges { live: Vec::with_capacity(rows.len()), changed: Vec::new() };
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
    /// Returns the fingerprint of a space's tools.
    pub async fn tools_fingerprint(&self, space: SpaceId) -> Result<ToolsFingerprint, CallError> {
        let sql = "SELECT COALESCE(MAX(revision), 0), COUNT(live_version) FROM tools WHERE space_id = $1";
        let row = self.db().row(sql, args![space]).await?;
        let row = row.ok_or_else(|| failure::unreadable("no count"))?;
        Ok(ToolsFingerprint { revision: row.number(0)?, count: row.number(1)? })
    }

    /// Returns the live tools of a space, and the definitions that changed since `revision`. Tools that
    /// cannot be decoded are omitted and logged.
    pub async fn tools_since(&self, space: SpaceId, revision: u64) -> Result<ToolChanges, CallError> {
        let rows = self.db().rows(
            "SELECT t.id, t.space_id, t.owner_id, v.version, t.created_at, v.created_at,
                    CASE WHEN t.revision > $2 THEN v.spec END
             FROM tools t JOIN tool_versions v ON v.tool_id = t.id AND v.version = t.live_version
             WHERE t.space_id = $1 ORDER BY t.name",
            args![space, revision],
        );
        let rows = rows.await?;
        // Decoding thousands of definitions takes long, so do not block an async thread.
        let decoded = tokio::task::spawn_blocking(move || decode_tools(&rows, space)).await;
        decoded.map_err(failure::unreadable)?
    }

    /// Returns the live version of a tool.
    pub async fn get_tool(&self, space: SpaceId, id: &ToolId) -> Result<Option<ToolVersion>, CallError> {
        let row = self.db().row(
            "SELECT t.id, t.space_id, t.owner_id, v.version, t.created_at, v.created_at, v.spec
             FROM tools t JOIN tool_versions v ON v.tool_id = t.id AND v.version = t.live_version
             WHERE t.space_id = $1 AND t.id = $2",
            args![space, id],
        );
        row.await?.map(|row| tool_version(&row)).transpose()
    }

    /// Returns the live version of the tool with this id or name; an id takes precedence. If the tool has no live
    /// version, returns its latest one, which waits for approval and cannot be called. Returns `None` if the
    /// space has no such tool.
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

    /// Creates or updates tools and the secrets that they name, all or none. Returns the stored versions.
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
        let saved = put_all(self, &mut change, space, tools, with, by).await?;
        change.commit().await?;
        Ok(saved)
    }

    /// Deletes a tool with all versions. Fails if agents bind it, unless `force` removes the bindings.
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

/// Creates or updates tools and secrets within a change.
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
    let mut saved = Vec::with_capacity(tools.len());
    for PutTool { version, expected, state, note } in tools {
        let row = find_row(&mut change.tx, space, &version.id).await?;
        let row = match (expected, row) {
            (None, None) => add(&mut change.tx, space, &version).await?,
            (None, Some(row)) => return Err(failure::name_taken(&row.name)),
            (Some(_), None) => return Err(failure::not_found(&failure::TOOL, &version.id)),
            (Some(expected), Some(row)) => {
                failure::check_version(&row.name, row.current(), expected)?;
                row
            }
        };
        let before = versions::definition(&mut change.tx, space, &version.id, row.current()).await?;
        let new = NewVersion { spec: version.spec, state, note, made: version.updated_at, by };
        let tool = versions::append(change, space, &version.id, &row, new).await?;
        let mut details = versions::details(before.as_ref(), &tool.spec);
        if state == VersionState::Held {
            details["held"] = true.into();
        }
        let action = if row.latest == 0 { Action::Created } else { Action::Updated };
        change.note(history_note(&tool, action, details)).await?;
        saved.push(tool);
    }
    Ok(saved)
}

/// Returns the history entry for a change of a tool.
pub(crate) fn history_note(tool: &ToolVersion, action: Action, details: Value) -> Note {
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
    let row = get_row(&mut change.tx, space, id).await?;
    if let Some(expected) = expected {
        failure::check_version(&row.name, row.current(), expected)?;
    }
    match force {
        Force::Yes => agents::unbind(change, space, id).await?,
        Force::No => {
            let agents = agents::names_binding(&mut change.tx, space, id).await?;
            if !agents.is_empty() {
                let message = Message::new(&BOUND).with("name", &row.name).with("agents", agents.join(", "));
                let refused = CallError::new(ErrorKind::Conflict, message);
                return Err(refused.detail("agents", json!(agents)));
            }
        }
    }
    let version = Some(row.current());
    change.tx.run("DELETE FROM tools WHERE space_id = $1 AND id = $2", args![space, id]).await?;
    let (what, action, details) = (What::Tool, Action::Deleted, json!({}));
    change.note(Note { what, action, id: id.to_string(), name: row.name, version, details }).await
}

pub(crate) async fn find_row(tx: &mut Tx, space: SpaceId, id: &ToolId) -> Result<Option<ToolRow>, CallError> {
    let row = tx.row(
        "SELECT name, owner_id, live_version, latest_version, created_at FROM tools
         WHERE space_id = $1 AND id = $2",
        args![space, id],
    );
    let Some(row) = row.await? else { return Ok(None) };
    Ok(Some(ToolRow {
        name: row.text(0)?,
        owner_id: row.maybe_id(1)?,
        live: row.maybe_number(2)?,
        latest: row.number(3)?,
        created_at: row.time(4)?,
    }))
}

pub(crate) async fn get_row(tx: &mut Tx, space: SpaceId, id: &ToolId) -> Result<ToolRow, CallError> {
    find_row(tx, space, id).await?.ok_or_else(|| failure::not_found(&failure::TOOL, id))
}

/// Fails if another tool of the space has the name.
pub(crate) async fn check_name(
    tx: &mut Tx,
    space: SpaceId,
    id: &ToolId,
    name: &ToolName,
) -> Result<(), CallError> {
    let sql = "SELECT id FROM tools WHERE space_id = $1 AND name = $2 AND id <> $3";
    match tx.row(sql, args![space, name.as_str(), id]).await? {
        Some(_) => Err(failure::name_taken(name.as_str())),
        None => Ok(()),
    }
}

/// Inserts a tool without versions.
async fn add(tx: &mut Tx, space: SpaceId, version: &ToolVersion) -> Result<ToolRow, CallError> {
    let name = &version.spec.name;
    check_name(tx, space, &version.id, name).await?;
    let insert = tx.run(
        "INSERT INTO tools (id, space_id, name, owner_id, latest_version, created_at, updated_at, revision)
         VALUES ($1, $2, $3, $4, 0, $5, $6, 0) ON CONFLICT DO NOTHING",
        args![&version.id, space, name.as_str(), version.owner_id, version.created_at, version.updated_at],
    );
    if insert.await? == 0 {
        return Err(failure::name_taken(name.as_str()));
    }
    Ok(ToolRow {
        name: name.to_string(),
        owner_id: version.owner_id,
        live: None,
        latest: 0,
        created_at: version.created_at,
    })
}
