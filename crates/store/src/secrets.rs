//! Secrets: stored encrypted, listed by name, and decrypted for the engine only.

use haft_core::{CallError, Message, SpaceId, UserId, Violation};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde_json::json;

use crate::crypt::{self, Sealed};
use crate::db::{Db, args};
use crate::feed::Change;
use crate::history::{Action, Note, What};
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::{Store, alerts, failure, name};

haft_core::templates! {
    TOO_LONG = "store.secretTooLong",
        "must have at most {most} bytes",
        "最多 {most} 字节";
}

/// Maximum length of a value in bytes.
const MAX_LENGTH: usize = 16 * 1024;

/// Maximum number of secrets re-encrypted per transaction.
const BATCH_SIZE: u64 = 100;

/// The owner of a secret within a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SecretOwnerId {
    /// `secret://NAME`
    Space,
    /// `secret://me/NAME`, of one user.
    User(UserId),
}

impl SecretOwnerId {
    fn what(self) -> What {
        match self {
            Self::Space => What::Secret,
            Self::User(_) => What::OwnSecret,
        }
    }

    fn column(self) -> String {
        match self {
            Self::Space => String::new(),
            Self::User(user) => user.to_string(),
        }
    }

    fn read(row: &Row, column: usize) -> Result<Self, CallError> {
        match row.text(column)?.as_str() {
            "" => Ok(Self::Space),
            user => Ok(Self::User(user.parse::<UserId>().map_err(failure::unreadable)?)),
        }
    }
}

/// The metadata of a secret, without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretInfo {
    pub name: String,
    pub owner: SecretOwnerId,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    pub updated_at: Timestamp,
}

fn info(row: &Row) -> Result<SecretInfo, CallError> {
    Ok(SecretInfo { name: row.text(0)?, owner: SecretOwnerId::read(row, 1)?, updated_at: row.time(2)? })
}

/// Returns the history entry for a change of a secret. It contains the name, never the value.
fn history_note(owner: SecretOwnerId, action: Action, name: &str) -> Note {
    let (id, name) = (name.to_owned(), name.to_owned());
    Note { what: owner.what(), action, id, name, version: None, details: json!({}) }
}

/// Creates or replaces a secret within a change.
pub(crate) async fn put(
    store: &Store,
    change: &mut Change<'_>,
    (space, owner, name): (SpaceId, SecretOwnerId, &str),
    value: &SecretString,
    by: Option<UserId>,
) -> Result<(), CallError> {
    name::check_secret(name)?;
    if value.expose_secret().len() > MAX_LENGTH {
        let message = Message::new(&TOO_LONG).with("most", MAX_LENGTH);
        return Err(CallError::invalid(vec![Violation::new("value", message)]));
    }
    let column = owner.column();
    let sealed = crypt::seal(&store.keys().ring(), &[&space.to_string(), &column, name], value)?;
    let upsert = change.tx.run(
        "INSERT INTO secrets (space_id, owner, name, key_id, value, updated_at, updated_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (space_id, owner, name) DO UPDATE SET key_id = excluded.key_id,
             value = excluded.value, updated_at = excluded.updated_at, updated_by = excluded.updated_by",
        args![space, column, name, sealed.key_id, sealed.blob, now(), by],
    );
    upsert.await?;
    change.note(history_note(owner, Action::Set, name)).await
}

/// Returns the ids of all keys under which secrets and webhooks are encrypted.
pub(crate) async fn key_ids(db: &Db) -> Result<Vec<String>, CallError> {
    let rows = db.rows(
        "SELECT key_id FROM secrets
         UNION SELECT webhook_key FROM alerts WHERE webhook_key IS NOT NULL ORDER BY 1",
        args![],
    );
    let rows = rows.await?;
    rows.iter().map(|row| row.text(0)).collect()
}

impl Store {
    /// Creates or replaces a secret.
    pub async fn put_secret(
        &self,
        space: SpaceId,
        owner: SecretOwnerId,
        name: &str,
        value: &SecretString,
        by: Option<UserId>,
    ) -> Result<(), CallError> {
        let mut change = self.change(space).await?;
        put(self, &mut change, (space, owner, name), value, by).await?;
        change.commit().await
    }

    /// Deletes a secret.
    pub async fn delete_secret(
        &self,
        space: SpaceId,
        owner: SecretOwnerId,
        name: &str,
    ) -> Result<(), CallError> {
        let mut change = self.change(space).await?;
        let sql = "DELETE FROM secrets WHERE space_id = $1 AND owner = $2 AND name = $3";
        if change.tx.run(sql, args![space, owner.column(), name]).await? == 0 {
            return Err(failure::not_found(&failure::SECRET, name));
        }
        change.note(history_note(owner, Action::Deleted, name)).await?;
        change.commit().await
    }

    /// Lists the secrets of the space, or of one user in it.
    pub async fn list_secrets(
        &self,
        space: SpaceId,
        owner: SecretOwnerId,
        page: &Page,
    ) -> Result<(Vec<SecretInfo>, Option<String>), CallError> {
        let (after, _) = page.start_key()?;
        let rows = self.db().rows(
            "SELECT name, owner, updated_at FROM secrets
             WHERE space_id = $1 AND owner = $2 AND name > $3 ORDER BY name LIMIT $4",
            args![space, owner.column(), after, page.rows()],
        );
        let secrets: Result<Vec<SecretInfo>, CallError> = rows.await?.iter().map(info).collect();
        Ok(page.cut(secrets?, |secret| (secret.name.as_str(), String::new())))
    }

    /// Returns the metadata of a secret, without its value.
    pub async fn get_secret_info(
        &self,
        space: SpaceId,
        owner: SecretOwnerId,
        name: &str,
    ) -> Result<Option<SecretInfo>, CallError> {
        let row = self.db().row(
            "SELECT name, owner, updated_at FROM secrets WHERE space_id = $1 AND owner = $2 AND name = $3",
            args![space, owner.column(), name],
        );
        row.await?.map(|row| info(&row)).transpose()
    }

    /// Decrypts a secret. Returns `None` if it does not exist.
    pub async fn reveal(
        &self,
        space: SpaceId,
        owner: SecretOwnerId,
        name: &str,
    ) -> Result<Option<SecretString>, CallError> {
        let owner = owner.column();
        let row = self.db().row(
            "SELECT key_id, value FROM secrets WHERE space_id = $1 AND owner = $2 AND name = $3",
            args![space, &owner, name],
        );
        let Some(row) = row.await? else { return Ok(None) };
        let sealed = Sealed { key_id: row.text(0)?, blob: row.bytes(1)? };
        let keys = self.keys().ring_with(&sealed.key_id);
        crypt::open(&keys, &[space.to_string().as_str(), owner.as_str(), name], &sealed).map(Some)
    }

    /// Re-encrypts all values that are under an older key, and returns their number. Can be called again
    /// after an interruption.
    pub async fn rotate_keys(&self) -> Result<u64, CallError> {
        let mut moved = 0;
        loop {
            // Read the keys in each round: if another process rotates too, both end with the newest key.
            let keys = self.keys().ring();
            let rows = self.db().rows(
                "SELECT space_id, owner, name, key_id, value FROM secrets
                 WHERE key_id <> $1 ORDER BY space_id, owner, name LIMIT $2",
                args![keys.current.id(), BATCH_SIZE],
            );
            let rows = rows.await?;
            if rows.is_empty() {
                return Ok(moved + alerts::rotate_webhook_keys(self.db(), self.keys()).await?);
            }
            let mut tx = self.db().begin().await?;
            for row in rows {
                let (space, owner, name) = (row.text(0)?, row.text(1)?, row.text(2)?);
                let location = [space.as_str(), owner.as_str(), name.as_str()];
                let old = Sealed { key_id: row.text(3)?, blob: row.bytes(4)? };
                let keys = self.keys().ring_with(&old.key_id);
                let new = crypt::seal(&keys, &location, &crypt::open(&keys, &location, &old)?)?;
                // A secret that has changed since is already under the current key.
                let sql = "UPDATE secrets SET key_id = $4, value = $5
                           WHERE space_id = $1 AND owner = $2 AND name = $3 AND value = $6";
                moved += tx.run(sql, args![space, owner, name, new.key_id, new.blob, old.blob]).await?;
            }
            tx.commit().await?;
        }
    }
}
