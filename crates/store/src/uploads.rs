//! Files on their way in: each piece is kept in a short transaction of its own, so that a slow client holds
//! nobody up, and no file is ever held whole.
//!
//! Before it is finished a file is seen by nobody. What is left of one that never was is cleared away.

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
        "the upload took too long and was given up; send the file again",
        "上传时间过长，已被放弃；请重新发送文件";
}

/// The size of every piece but the last.
const PIECE: usize = 256 << 10;

/// A file that is being sent. Dropped before it is finished, it is cleared away later.
pub struct Upload {
    store: Store,
    /// What all files of the space may count for, and all files of the owner.
    quota: u64,
    /// As it will be; so far its size is what has come, and its hash is none.
    artifact: Artifact,
    /// How many are kept.
    pieces: u64,
    /// Of the next piece.
    waiting: Vec<u8>,
    hash: Sha256,
}

impl Store {
    /// Begins to keep a file, as long as the files of the space count for less than the quota, and those of
    /// the owner in all spaces do too.
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
        let added = tx.run(
            "INSERT INTO artifacts (id, space_id, owner_id, name, media_type, size, created_at)
             VALUES ($1, $2, $3, $4, $5, 0, $6)",
            args![artifact.id, space, owner, file.name(), file.media_type(), artifact.created_at],
        );
        added.await?;
        let counted = "INSERT INTO artifact_usage (space_id, owner_id, bytes) VALUES ($1, $2, 0)
                       ON CONFLICT DO NOTHING";
        tx.run(counted, args![space, owner]).await?;
        count(&mut tx, &artifact, OVERHEAD, quota).await?;
        tx.commit().await?;
        let (waiting, hash) = (Vec::with_capacity(PIECE), Sha256::new());
        Ok(Upload { store: self.clone(), quota, artifact, pieces: 0, waiting, hash })
    }
}

impl Upload {
    /// So many bytes may still come.
    pub fn room(&self) -> u64 {
        LARGEST.saturating_sub(self.artifact.size)
    }

    /// Takes what comes next, however much that is.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), CallError> {
        let length = bytes.len() as u64;
        if length > self.room() {
            return Err(CallError::new(ErrorKind::Validation, too_large()));
        }
        self.hash.update(bytes);
        self.artifact.size += length;
        while !bytes.is_empty() {
            let (fits, rest) = bytes.split_at(bytes.len().min(PIECE - self.waiting.len()));
            self.waiting.extend_from_slice(fits);
            bytes = rest;
            if self.waiting.len() == PIECE {
                self.keep().await?;
            }
        }
        Ok(())
    }

    /// Keeps the piece that is waiting.
    async fn keep(&mut self) -> Result<(), CallError> {
        let (space, id) = (self.artifact.space_id, self.artifact.id);
        let piece = std::mem::replace(&mut self.waiting, Vec::with_capacity(PIECE));
        let size = piece.len() as u64;
        let mut tx = self.store.db().begin().await?;
        // The file first and what is counted second, as whoever takes a file away does it too.
        let sql = "UPDATE artifacts SET size = size + $3
                   WHERE space_id = $1 AND id = $2 AND sha256 IS NULL";
        if tx.run(sql, args![space, id, size]).await? == 0 {
            return Err(given_up());
        }
        count(&mut tx, &self.artifact, size, self.quota).await?;
        let sql = "INSERT INTO artifact_chunks (artifact_id, n, data) VALUES ($1, $2, $3)";
        tx.run(sql, args![id, self.pieces, piece]).await?;
        tx.commit().await?;
        self.pieces += 1;
        Ok(())
    }

    /// Keeps the last piece, and lets the owner see the file.
    pub async fn finish(&mut self) -> Result<Artifact, CallError> {
        if !self.waiting.is_empty() {
            self.keep().await?;
        }
        let sha256: [u8; 32] = std::mem::take(&mut self.hash).finalize().into();
        let mut tx = self.store.db().begin().await?;
        let sql = "UPDATE artifacts SET sha256 = $3 WHERE space_id = $1 AND id = $2 AND sha256 IS NULL";
        let place = args![self.artifact.space_id, self.artifact.id, sha256.to_vec()];
        if tx.run(sql, place).await? == 0 {
            return Err(given_up());
        }
        tx.commit().await?;
        Ok(Artifact { sha256, ..self.artifact.clone() })
    }

    /// Takes back what has been kept so far. What cannot be is cleared away later.
    pub async fn abandon(self) {
        if let Err(error) = self.take_back().await {
            tracing::warn!(%error, artifact.id = %self.artifact.id, "An upload that failed was not taken back");
        }
    }

    async fn take_back(&self) -> Result<(), CallError> {
        let mut tx = self.store.db().begin().await?;
        remove(&mut tx, self.artifact.space_id, self.artifact.id).await?;
        tx.commit().await
    }
}

/// Counts what is about to be kept of a file, as long as there is room for it in its space, and in what its
/// owner may hold anywhere.
async fn count(tx: &mut Tx, file: &Artifact, bytes: u64, quota: u64) -> Result<(), CallError> {
    let (space, owner) = (file.space_id, file.owner_id);
    if let Tx::Postgres(_) = &*tx {
        // One after the other for each space and for each owner: otherwise two could take the same room.
        let turn = "SELECT pg_advisory_xact_lock(7420004, hashtext($1)),
                           pg_advisory_xact_lock(7420005, hashtext($2))";
        tx.run(turn, args![space, owner]).await?;
    }
    let sql = "UPDATE artifact_usage SET bytes = bytes + $3 WHERE space_id = $1 AND owner_id = $2";
    tx.run(sql, args![space, owner, bytes]).await?;
    let held = tx.row(
        "SELECT (SELECT CAST(SUM(bytes) AS BIGINT) FROM artifact_usage WHERE space_id = $1),
                (SELECT CAST(SUM(bytes) AS BIGINT) FROM artifact_usage WHERE owner_id = $2)",
        args![space, owner],
    );
    let held = held.await?.ok_or_else(|| failure::unreadable("no sums"))?;
    for (column, template) in [(0, &FULL), (1, &OWN_FULL)] {
        if held.number(column)? > quota {
            let message = Message::new(template).with("limit", quota);
            return Err(CallError::new(ErrorKind::Conflict, message).detail("limit", quota));
        }
    }
    Ok(())
}

fn given_up() -> CallError {
    CallError::new(ErrorKind::Conflict, Message::new(&GIVEN_UP))
}
