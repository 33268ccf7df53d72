//! Versions of tools. They are immutable. The live version is called; a held one waits for approval.

use haft_core::{CallError, ErrorKind, Message, SpaceId, ToolId, ToolSpec, ToolVersion, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::db::{Tx, args};
use crate::feed::Change;
use crate::history::{Action, changed_fields};
use crate::row::Row;
use crate::store::now;
use crate::tools::{self, ToolRow, history_note, tool_version};
use crate::{Store, failure};

haft_core::templates! {
    HELD = "store.versionHeld",
        "Version {version} was never approved.",
        "版本 {version} 尚未批准";
    NOT_HELD = "store.versionNotHeld",
        "Version {version} is not waiting for approval. Roll back to it instead.",
        "版本 {version} 不在等待批准；请改用回滚";
}

/// The approval state of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum VersionState {
    /// It is called, or was called before a later version replaced it.
    Live,
    /// It waits for approval.
    Held,
}

impl VersionState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Held => "held",
        }
    }
}

/// The metadata of a version, without its definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionInfo {
    pub version: u64,
    pub state: VersionState,
    pub note: String,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    pub created_at: Timestamp,
    pub created_by: Option<UserId>,
}

/// A version to append.
pub(crate) struct NewVersion {
    pub(crate) spec: ToolSpec,
    pub(crate) state: VersionState,
    pub(crate) note: String,
    pub(crate) made: Timestamp,
    pub(crate) by: Option<UserId>,
}

fn info(row: &Row) -> Result<VersionInfo, CallError> {
    Ok(VersionInfo {
        version: row.number(0)?,
        state: row.word(1)?,
        note: row.text(2)?,
        created_at: row.time(3)?,
        created_by: row.maybe_id(4)?,
    })
}

impl Store {
    /// Lists all versions of a tool, newest first. Empty if there is no such tool.
    pub async fn versions(&self, space: SpaceId, id: &ToolId) -> Result<Vec<VersionInfo>, CallError> {
        let rows = self.db().rows(
            "SELECT version, state, note, created_at, created_by FROM tool_versions
             WHERE space_id = $1 AND tool_id = $2 ORDER BY version DESC",
            args![space, id],
        );
        rows.await?.iter().map(info).collect()
    }

    /// Returns one version of a tool, live or held.
    pub async fn get_version(
        &self,
        space: SpaceId,
        id: &ToolId,
        version: u64,
    ) -> Result<Option<ToolVersion>, CallError> {
        let row = self.db().row(
            "SELECT t.id, t.space_id, t.owner_id, v.version, t.created_at, v.created_at, v.spec
             FROM tools t JOIN tool_versions v ON v.tool_id = t.id
             WHERE t.space_id = $1 AND t.id = $2 AND v.version = $3",
            args![space, id, version],
        );
        row.await?.map(|row| tool_version(&row)).transpose()
    }

    /// Approves a held version and makes it live.
    pub async fn approve_version(
        &self,
        space: SpaceId,
        id: &ToolId,
        version: u64,
        expected: u64,
    ) -> Result<ToolVersion, CallError> {
        let mut change = self.change(space).await?;
        let row = tools::get_row(&mut change.tx, space, id).await?;
        failure::check_version(&row.name, row.current(), expected)?;
        let (state, spec, made) = read_version(&mut change.tx, space, id, version).await?;
        match state {
            VersionState::Held => {}
            VersionState::Live => return Err(refused(&NOT_HELD, version)),
        }
        tools::check_name(&mut change.tx, space, id, &spec.name).await?;
        let sql = "UPDATE tool_versions SET state = 'live' WHERE tool_id = $1 AND version = $2";
        change.tx.run(sql, args![id, version]).await?;
        let moved = change.tx.run(
            "UPDATE tools SET name = $3, live_version = $4, updated_at = $5, revision = $6
             WHERE space_id = $1 AND id = $2",
            args![space, id, spec.name.as_str(), version, now(), change.revision],
        );
        moved.await?;
        let before = match row.live {
            Some(live) => definition(&mut change.tx, space, id, live).await?,
            None => None,
        };
        let tool = row.version(space, id, version, spec, made);
        change.note(history_note(&tool, Action::Approved, details(before.as_ref(), &tool.spec))).await?;
        change.commit().await?;
        Ok(tool)
    }

    /// Appends a copy of an earlier version as the new live version.
    pub async fn roll_back(
        &self,
        space: SpaceId,
        id: &ToolId,
        to: u64,
        expected: u64,
        note: &str,
        by: Option<UserId>,
    ) -> Result<ToolVersion, CallError> {
        let mut change = self.change(space).await?;
        let row = tools::get_row(&mut change.tx, space, id).await?;
        failure::check_version(&row.name, row.current(), expected)?;
        let (state, spec, _) = read_version(&mut change.tx, space, id, to).await?;
        match state {
            VersionState::Live => {}
            // A rollback must not bypass an approval.
            VersionState::Held => return Err(refused(&HELD, to)),
        }
        let before = definition(&mut change.tx, space, id, row.current()).await?;
        let new = NewVersion { spec, state, note: note.to_owned(), made: now(), by };
        let tool = append(&mut change, space, id, &row, new).await?;
        let mut details = details(before.as_ref(), &tool.spec);
        details["backTo"] = to.into();
        change.note(history_note(&tool, Action::RolledBack, details)).await?;
        change.commit().await?;
        Ok(tool)
    }
}

/// Returns the history details of a new version: the names of the changed fields.
pub(crate) fn details(before: Option<&ToolSpec>, after: &ToolSpec) -> Value {
    match before {
        Some(before) => json!({"changed": changed_fields(before, after)}),
        None => json!({}),
    }
}

/// Appends a version to an existing tool.
pub(crate) async fn append(
    change: &mut Change<'_>,
    space: SpaceId,
    id: &ToolId,
    row: &ToolRow,
    new: NewVersion,
) -> Result<ToolVersion, CallError> {
    let number = row.latest + 1;
    let spec = serde_json::to_string(&new.spec).map_err(failure::unreadable)?;
    let insert = change.tx.run(
        "INSERT INTO tool_versions
             (tool_id, version, space_id, spec, state, note, created_at, created_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        args![id, number, space, spec, new.state.as_str(), new.note, new.made, new.by],
    );
    insert.await?;
    match new.state {
        VersionState::Live => {
            let name = &new.spec.name;
            tools::check_name(&mut change.tx, space, id, name).await?;
            let moved = change.tx.run(
                "UPDATE tools SET name = $3, live_version = $4, latest_version = $4, updated_at = $5,
                     revision = $6 WHERE space_id = $1 AND id = $2",
                args![space, id, name.as_str(), number, new.made, change.revision],
            );
            moved.await?;
        }
        VersionState::Held => {
            let sql = "UPDATE tools SET latest_version = $3 WHERE space_id = $1 AND id = $2";
            change.tx.run(sql, args![space, id, number]).await?;
        }
    }
    Ok(row.version(space, id, number, new.spec, new.made))
}

/// Returns the definition of a version. Returns `None` if it does not exist or cannot be read; an unreadable
/// version can be replaced too.
pub(crate) async fn definition(
    tx: &mut Tx,
    space: SpaceId,
    id: &ToolId,
    version: u64,
) -> Result<Option<ToolSpec>, CallError> {
    let row = tx.row(
        "SELECT spec FROM tool_versions WHERE space_id = $1 AND tool_id = $2 AND version = $3",
        args![space, id, version],
    );
    Ok(row.await?.and_then(|row| row.json(0).ok()))
}

async fn read_version(
    tx: &mut Tx,
    space: SpaceId,
    id: &ToolId,
    version: u64,
) -> Result<(VersionState, ToolSpec, Timestamp), CallError> {
    let row = tx.row(
        "SELECT state, spec, created_at FROM tool_versions
         WHERE space_id = $1 AND tool_id = $2 AND version = $3",
        args![space, id, version],
    );
    let row = row.await?.ok_or_else(|| failure::not_found(&failure::TOOL_VERSION, version))?;
    Ok((row.word(0)?, row.json(1)?, row.time(2)?))
}

fn refused(template: &'static haft_core::Template, version: u64) -> CallError {
    CallError::new(ErrorKind::Conflict, Message::new(template).with("version", version))
}
