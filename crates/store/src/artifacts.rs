//! Stored artifacts: read in chunks, and visible to their owner or through a signed link only.
//!
//! For uploading, see `uploads.rs`.

use std::time::Duration;

use haft_core::artifact::Artifact;
use haft_core::id::ArtifactId;
use haft_core::{CallError, SpaceId, UserId};

use crate::db::{Tx, args};
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::{Store, failure};

/// Bytes added to the size of each artifact when quotas are computed, so that empty ones count too.
pub(crate) const OVERHEAD: u64 = 4096;

/// An upload that has not finished after this time is deleted.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(3600);

/// Maximum number of artifacts read at once when cleaning up.
const BATCH_SIZE: u64 = 100;

/// Reads an artifact. All statements below select the columns in this order.
fn artifact(row: &Row) -> Result<Artifact, CallError> {
    let sha256 = <[u8; 32]>::try_from(row.bytes(6)?);
    Ok(Artifact {
        id: row.id(0)?,
        space_id: row.id(1)?,
        owner_id: row.id(2)?,
        name: row.text(3)?,
        media_type: row.text(4)?,
        size: row.number(5)?,
        sha256: sha256.map_err(|_| failure::unreadable("a hash of another length"))?,
        created_at: row.time(7)?,
    })
}

impl Store {
    /// Returns an artifact of one user.
    pub async fn get_artifact(
        &self,
        space: SpaceId,
        owner: UserId,
        id: ArtifactId,
    ) -> Result<Option<Artifact>, CallError> {
        let row = self.db().row(
            "SELECT id, space_id, owner_id, name, media_type, size, sha256, created_at FROM artifacts
             WHERE space_id = $1 AND owner_id = $2 AND id = $3 AND sha256 IS NOT NULL",
            args![space, owner, id],
        );
        row.await?.map(|row| artifact(&row)).transpose()
    }

    /// Returns an artifact for the holder of a link, as long as the owner is an active member of the space.
    pub async fn get_linked_artifact(
        &self,
        space: SpaceId,
        id: ArtifactId,
    ) -> Result<Option<Artifact>, CallError> {
        let row = self.db().row(
            "SELECT a.id, a.space_id, a.owner_id, a.name, a.media_type, a.size, a.sha256, a.created_at
             FROM artifacts a JOIN users u ON u.id = a.owner_id
             JOIN members m ON m.space_id = a.space_id AND m.user_id = a.owner_id
             WHERE a.space_id = $1 AND a.id = $2 AND a.sha256 IS NOT NULL AND u.is_active = 1",
            args![space, id],
        );
        row.await?.map(|row| artifact(&row)).transpose()
    }

    /// Lists the artifacts of one user, newest first.
    pub async fn list_artifacts(
        &self,
        space: SpaceId,
        owner: UserId,
        page: &Page,
    ) -> Result<(Vec<Artifact>, Option<String>), CallError> {
        let (_, before) = page.start_key()?;
        let rows = self.db().rows(
            "SELECT id, space_id, owner_id, name, media_type, size, sha256, created_at FROM artifacts
             WHERE space_id = $1 AND owner_id = $2 AND sha256 IS NOT NULL AND ($3 = '' OR id < $3)
             ORDER BY id DESC LIMIT $4",
            args![space, owner, before, page.rows()],
        );
        let artifacts: Result<Vec<Artifact>, CallError> = rows.await?.iter().map(artifact).collect();
        Ok(page.cut(artifacts?, |artifact| ("", artifact.id.to_string())))
    }

    /// Reads one chunk of an artifact; chunks are numbered from 0. Fails if the artifact has been deleted
    /// since.
    pub async fn read_artifact(
        &self,
        space: SpaceId,
        id: ArtifactId,
        chunk: u64,
    ) -> Result<Vec<u8>, CallError> {
        let row = self.db().row(
            "SELECT c.data FROM artifacts a JOIN artifact_chunks c ON c.artifact_id = a.id
             WHERE a.space_id = $1 AND a.id = $2 AND a.sha256 IS NOT NULL AND c.n = $3",
            args![space, id, chunk],
        );
        row.await?.ok_or_else(|| failure::not_found(&failure::ARTIFACT, id))?.bytes(0)
    }

    /// Deletes an artifact of one user.
    pub async fn delete_artifact(
        &self,
        space: SpaceId,
        owner: UserId,
        id: ArtifactId,
    ) -> Result<(), CallError> {
        let mut tx = self.db().begin().await?;
        let owned = tx.row(
            "SELECT id FROM artifacts
             WHERE space_id = $1 AND owner_id = $2 AND id = $3 AND sha256 IS NOT NULL",
            args![space, owner, id],
        );
        if owned.await?.is_none() || !remove(&mut tx, space, id).await? {
            return Err(failure::not_found(&failure::ARTIFACT, id));
        }
        tx.commit().await
    }

    /// Deletes unfinished uploads, and artifacts whose owner has left the space and that are therefore
    /// unreachable. Returns their number.
    pub(crate) async fn delete_unreachable_artifacts(&self) -> Result<u64, CallError> {
        let mut deleted = 0;
        loop {
            let before = now().saturating_sub(UPLOAD_TIMEOUT).unwrap_or_else(|_| now());
            let rows = self.db().rows(
                "SELECT a.space_id, a.id FROM artifacts a
                 WHERE (a.sha256 IS NULL AND a.created_at < $1) OR NOT EXISTS
                     (SELECT 1 FROM members m WHERE m.space_id = a.space_id AND m.user_id = a.owner_id)
                 LIMIT $2",
                args![before, BATCH_SIZE],
            );
            let rows = rows.await?;
            if rows.is_empty() {
                return Ok(deleted);
            }
            for row in rows {
                // One transaction each, to keep write locks short.
                let mut tx = self.db().begin().await?;
                deleted += u64::from(remove(&mut tx, row.id(0)?, row.id(1)?).await?);
                tx.commit().await?;
            }
        }
    }
}

/// Deletes an artifact with its chunks and subtracts it from the owner's quota. Returns false if there is
/// none.
pub(crate) async fn remove(tx: &mut Tx, space: SpaceId, id: ArtifactId) -> Result<bool, CallError> {
    let sql = "DELETE FROM artifacts WHERE space_id = $1 AND id = $2 RETURNING owner_id, size";
    let Some(row) = tx.row(sql, args![space, id]).await? else { return Ok(false) };
    let (owner, size) = (row.id::<UserId>(0)?, row.number(1)?);
    let sql = "UPDATE artifact_usage SET bytes = bytes - $3 WHERE space_id = $1 AND owner_id = $2";
    tx.run(sql, args![space, owner, size + OVERHEAD]).await?;
    Ok(true)
}
