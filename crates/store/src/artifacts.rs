//! Files that are kept: found by their owner alone or by a link, read piece by piece, taken away.
//!
//! How they come in is told in `uploads.rs`.

use std::time::Duration;

use haft_core::artifact::Artifact;
use haft_core::id::ArtifactId;
use haft_core::{CallError, SpaceId, UserId};

use crate::db::{Tx, args};
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::{Store, failure};

/// A file counts with its size and this, so that even empty ones have a limit.
pub(crate) const OVERHEAD: u64 = 4096;

/// An upload that has not ended after so long never will.
const UNFINISHED: Duration = Duration::from_secs(3600);

/// So many are looked for at once when clearing away.
const BATCH: u64 = 100;

/// The order of columns here is that of every statement below.
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
    /// A file of one user.
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

    /// A file for whoever has a link to it, as long as its owner may still be in the space.
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

    /// The files of one user, the newest first.
    pub async fn list_artifacts(
        &self,
        space: SpaceId,
        owner: UserId,
        page: &Page,
    ) -> Result<(Vec<Artifact>, Option<String>), CallError> {
        let (_, before) = page.after()?;
        let rows = self.db().rows(
            "SELECT id, space_id, owner_id, name, media_type, size, sha256, created_at FROM artifacts
             WHERE space_id = $1 AND owner_id = $2 AND sha256 IS NOT NULL AND ($3 = '' OR id < $3)
             ORDER BY id DESC LIMIT $4",
            args![space, owner, before, page.rows()],
        );
        let artifacts: Result<Vec<Artifact>, CallError> = rows.await?.iter().map(artifact).collect();
        Ok(page.cut(artifacts?, |artifact| ("", artifact.id.to_string())))
    }

    /// One piece of a file, counted from 0; an error when it was taken away meanwhile.
    pub async fn read_artifact(
        &self,
        space: SpaceId,
        id: ArtifactId,
        piece: u64,
    ) -> Result<Vec<u8>, CallError> {
        let row = self.db().row(
            "SELECT c.data FROM artifacts a JOIN artifact_chunks c ON c.artifact_id = a.id
             WHERE a.space_id = $1 AND a.id = $2 AND a.sha256 IS NOT NULL AND c.n = $3",
            args![space, id, piece],
        );
        row.await?.ok_or_else(|| failure::not_found(&failure::ARTIFACT, id))?.bytes(0)
    }

    pub async fn delete_artifact(
        &self,
        space: SpaceId,
        owner: UserId,
        id: ArtifactId,
    ) -> Result<(), CallError> {
        let mut tx = self.db().begin().await?;
        let own = tx.row(
            "SELECT id FROM artifacts
             WHERE space_id = $1 AND owner_id = $2 AND id = $3 AND sha256 IS NOT NULL",
            args![space, owner, id],
        );
        if own.await?.is_none() || !remove(&mut tx, space, id).await? {
            return Err(failure::not_found(&failure::ARTIFACT, id));
        }
        tx.commit().await
    }

    /// Clears away uploads that never ended, and files whose owner is no longer in the space, since nobody
    /// else will ever see them. Says how many that were.
    pub(crate) async fn clear_artifacts(&self) -> Result<u64, CallError> {
        let mut cleared = 0;
        loop {
            let before = now().saturating_sub(UNFINISHED).unwrap_or_else(|_| now());
            let rows = self.db().rows(
                "SELECT a.space_id, a.id FROM artifacts a
                 WHERE (a.sha256 IS NULL AND a.created_at < $1) OR NOT EXISTS
                     (SELECT 1 FROM members m WHERE m.space_id = a.space_id AND m.user_id = a.owner_id)
                 LIMIT $2",
                args![before, BATCH],
            );
            let rows = rows.await?;
            if rows.is_empty() {
                return Ok(cleared);
            }
            for row in rows {
                // Each on its own, so that nobody waits long.
                let mut tx = self.db().begin().await?;
                cleared += u64::from(remove(&mut tx, row.id(0)?, row.id(1)?).await?);
                tx.commit().await?;
            }
        }
    }
}

/// Takes a file away with all its bytes, and with its part of what is counted; false where none is.
pub(crate) async fn remove(tx: &mut Tx, space: SpaceId, id: ArtifactId) -> Result<bool, CallError> {
    let sql = "DELETE FROM artifacts WHERE space_id = $1 AND id = $2 RETURNING owner_id, size";
    let Some(row) = tx.row(sql, args![space, id]).await? else { return Ok(false) };
    let (owner, size) = (row.id::<UserId>(0)?, row.number(1)?);
    let sql = "UPDATE artifact_usage SET bytes = bytes - $3 WHERE space_id = $1 AND owner_id = $2";
    tx.run(sql, args![space, owner, size + OVERHEAD]).await?;
    Ok(true)
}
