//! Uploads of artifacts. Each chunk is written in its own short transaction, so that slow clients hold no
//! locks and no file is ever complete in memory.
//!
//! An artifact is invisible until it is finished. Unfinished ones are deleted later.

use haft_core::artifact::{Artifact, LARGEST, NewArtifact, too_large};
use haft_core::id::ArtifactId;
use haft_core::{CallError, ErrorKind, Message, SpaceId, UserId};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::artifacts::{OVERHEAD, remove};
use crate::db::{Tx, args};
use crate::store::now;
use crate::{Store, failure};

haft_core::templates! {
    FULL = "store.artifactsFull",
        "the files of this space would have more than {limit} bytes; delete some first",
        "此空间的文件总量将超过 {limit} 字节；请先删除一些文件";
    OWN_FULL = "store.ownArtifactsFull",
        "your files in all spaces together would have more than {limit} bytes; delete some first",
        "您在所有空间中的文件总量将超过 {limit} 字节；请先删除一些文件";
    GIVEN_UP = "store.uploadGivenUp",
        "The upload took too long and was aborted. Send the file again.",
        "上传时间过长，已被放弃；请重新发送文件";
}

/// The size of all chunks except the last.
const CHUNK_SIZE: usize = 256 << 10;

/// An artifact that is being uploaded. If dropped before it is finished, it is deleted later.
pub struct Upload {
    store: Store,
    /// Maximum number of bytes for all artifacts of the space, and for all artifacts of the owner.
    quota: u64,
    /// The artifact so far: its size grows, and its hash is not set yet.
    artifact: Artifact,
    /// Number of stored chunks.
    chunks: u64,
    /// Content of the next chunk.
    buffer: Vec<u8>,
    hash: Sha256,
}

impl Store {
    /// Starts an upload. Fails if the artifacts of the space, or those of the owner in all spaces, exceed the
    /// quota.
    pub async fn begin_artifact(
        &self,
        space: SpaceId,
        owner: UserId,
        file: &NewArtifact,
        quota: u64,
    ) -> Result<Upload, CallError> {
        let artifact = Artifact {
            id: ArtifactId::from(Uuid::now_v7()),
            space_id: space,
            owner_id: owner,
            name: file.name().to_owned(),
            media_type: file.media_type().to_owned(),
            size: 0,
            sha256: [0; 32],
            created_at: now(),
        };
        let mut tx = self.db().begin().await?;
        let insert = tx.run(
            "INSERT INTO artifacts (id, space_id, owner_id, name, media_type, size, created_at)
             VALUES ($1, $2, $3, $4, $5, 0, $6)",
            args![artifact.id, space, owner, file.name(), file.media_type(), artifact.created_at],
        );
        insert.await?;
        let sql = "INSERT INTO artifact_usage (space_id, owner_id, bytes) VALUES ($1, $2, 0)
                       ON CONFLICT DO NOTHING";
        tx.run(sql, args![space, owner]).await?;
        count(&mut tx, &artifact, OVERHEAD, quota).await?;
        tx.commit().await?;
        let (buffer, hash) = (Vec::with_capacity(CHUNK_SIZE), Sha256::new());
        Ok(Upload { store: self.clone(), quota, artifact, chunks: 0, buffer, hash })
    }
}

impl Upload {
    /// Returns the number of bytes that can still be written.
    pub fn room(&self) -> u64 {
        LARGEST.saturating_sub(self.artifact.size)
    }

    /// Appends bytes to the artifact.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), CallError> {
        let length = bytes.len() as u64;
        if length > self.room() {
            return Err(CallError::new(ErrorKind::Validation, too_large()));
        }
        self.hash.update(bytes);
        self.artifact.size += length;
        while !bytes.is_empty() {
            let (fits, rest) = bytes.split_at(bytes.len().min(CHUNK_SIZE - self.buffer.len()));
            self.buffer.extend_from_slice(fits);
            bytes = rest;
            if self.buffer.len() == CHUNK_SIZE {
                self.write_chunk().await?;
            }
        }
        Ok(())
    }

    /// Stores the buffered chunk.
    async fn write_chunk(&mut self) -> Result<(), CallError> {
        let (space, id) = (self.artifact.space_id, self.artifact.id);
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK_SIZE));
        let size = chunk.len() as u64;
        let mut tx = self.store.db().begin().await?;
        // Update the artifact before the usage, in the same order as a deletion, to avoid deadlocks.
        let sql = "UPDATE artifacts SET size = size + $3
                   WHERE space_id = $1 AND id = $2 AND sha256 IS NULL";
        if tx.run(sql, args![space, id, size]).await? == 0 {
            return Err(upload_timed_out());
        }
        count(&mut tx, &self.artifact, size, self.quota).await?;
        let sql = "INSERT INTO artifact_chunks (artifact_id, n, data) VALUES ($1, $2, $3)";
        tx.run(sql, args![id, self.chunks, chunk]).await?;
        tx.commit().await?;
        self.chunks += 1;
        Ok(())
    }

    /// Stores the last chunk and makes the artifact visible.
    pub async fn finish(&mut self) -> Result<Artifact, CallError> {
        if !self.buffer.is_empty() {
            self.write_chunk().await?;
        }
        let sha256: [u8; 32] = std::mem::take(&mut self.hash).finalize().into();
        let mut tx = self.store.db().begin().await?;
        let sql = "UPDATE artifacts SET sha256 = $3 WHERE space_id = $1 AND id = $2 AND sha256 IS NULL";
        let args = args![self.artifact.space_id, self.artifact.id, sha256.to_vec()];
        if tx.run(sql, args).await? == 0 {
            return Err(upload_timed_out());
        }
        tx.commit().await?;
        Ok(Artifact { sha256, ..self.artifact.clone() })
    }

    /// Deletes the stored chunks. If that fails, they are deleted later.
    pub async fn abandon(self) {
        if let Err(error) = self.delete_chunks().await {
            tracing::warn!(%error, artifact.id = %self.artifact.id, "The chunks of a failed upload could not be deleted");
        }
    }

    async fn delete_chunks(&self) -> Result<(), CallError> {
        let mut tx = self.store.db().begin().await?;
        remove(&mut tx, self.artifact.space_id, self.artifact.id).await?;
        tx.commit().await
    }
}

/// Adds bytes to the usage. Fails if the space or the owner would exceed the quota.
async fn count(tx: &mut Tx, file: &Artifact, bytes: u64, quota: u64) -> Result<(), CallError> {
    let (space, owner) = (file.space_id, file.owner_id);
    if let Tx::Postgres(_) = &*tx {
        // Serialized per space and per owner: otherwise two uploads could both use the same free space.
        let lock = "SELECT pg_advisory_xact_lock(7420004, hashtext($1)),
                           pg_advisory_xact_lock(7420005, hashtext($2))";
        tx.run(lock, args![space, owner]).await?;
    }
    let sql = "UPDATE artifact_usage SET bytes = bytes + $3 WHERE space_id = $1 AND owner_id = $2";
    tx.run(sql, args![space, owner, bytes]).await?;
    let usage = tx.row(
        "SELECT (SELECT CAST(SUM(bytes) AS BIGINT) FROM artifact_usage WHERE space_id = $1),
                (SELECT CAST(SUM(bytes) AS BIGINT) FROM artifact_usage WHERE owner_id = $2)",
        args![space, owner],
    );
    let usage = usage.await?.ok_or_else(|| failure::unreadable("no sums"))?;
    for (column, template) in [(0, &FULL), (1, &OWN_FULL)] {
        if usage.number(column)? > quota {
            let message = Message::new(template).with("limit", quota);
            return Err(CallError::new(ErrorKind::Conflict, message).detail("limit", quota));
        }
    }
    Ok(())
}

fn upload_timed_out() -> CallError {
    CallError::new(ErrorKind::Conflict, Message::new(&GIVEN_UP))
}
