//! Secrets: encrypted at rest, listed by name, and revealed to the engine alone.

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

/// The longest value, in bytes.
const LONGEST: usize = 16 * 1024;

/// So many are encrypted anew in one transaction.
const BATCH: u64 = 100;

/// Whose secret it is, within a space.
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

/// That there is a secret; never its value.
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

/// What is put on record of a secret: that there is one of this name, and never what it is.
fn noted(owner: SecretOwnerId, action: Action, name: &str) -> Note {
    let (id, name) = (name.to_owned(), name.to_owned());
    Note { what: owner.what(), action, id, name, version: None, details: json!({}) }
}

/// Keeps a value within a change; the same name again replaces it.
pub(crate) async fn put(
    store: &Store,
    change: &mut Change<'_>,
    (space, owner, name): (SpaceId, SecretOwnerId, &str),
    value: &SecretString,
    by: Option<UserId>,
) -> Result<(), CallError> {
    name::check_secret(name)?;
    if value.expose_secret().len() > LONGEST {
        let message = Message::new(&TOO_LONG).with("most", LONGEST);
        return Err(CallError::invalid(vec![Violation::new("value", message)]));
    }
    let column = owner.column();
    let sealed = crypt::seal(&store.keys().ring(), &[&space.to_string(), &column, name], value)?;
    let kept = change.tx.run(
        "INSERT INTO secrets (space_id, owner, name, key_id, value, updated_at, updated_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (space_id, owner, name) DO UPDATE SET key_id = excluded.key_id,
             value = excluded.value, updated_at = excluded.updated_at, updated_by = excluded.updated_by",
        args![space, column, name, sealed.key_id, sealed.blob, now(), by],
    );
    kept.await?;
    change.note(noted(owner, Action::Set, name)).await
}

/// The ids of all keys that secrets and webhooks are encrypted under.
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
    /// Keeps a value under a name; the same name again replaces it.
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
        change.note(noted(owner, Action::Deleted, name)).await?;
        change.commit().await
    }

    /// The names of the space's secrets, or of one user's in it.
    pub async fn list_secrets(
        &self,
        space: SpaceId,
        owner: SecretOwnerId,
        page: &Page,
    ) -> Result<(Vec<SecretInfo>, Option<String>), CallError> {
        let (after, _) = page.after()?;
        let rows = self.db().rows(
            "SELECT name, owner, updated_at FROM secrets
             WHERE space_id = $1 AND owner = $2 AND name > $3 ORDER BY name LIMIT $4",
            args![space, owner.column(), after, page.rows()],
        );
        let secrets: Result<Vec<SecretInfo>, CallError> = rows.await?.iter().map(info).collect();
        Ok(page.cut(secrets?, |secret| (secret.name.as_str(), String::new())))
    }

    /// Whether there is a secret; never its value.
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

    /// The value of a secret; nothing when there is none.
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
        let keys = self.keys().knowing(&sealed.key_id);
        crypt::open(&keys, &[space.to_string().as_str(), owner.as_str(), name], &sealed).map(Some)
    }

    /// Encrypts whatever is under an older key under the current one, and says how many that were.
    /// Interrupted, it goes on where it was when it is called again.
    pub async fn rotate_keys(&self) -> Result<u64, CallError> {
        let mut moved = 0;
        loop {
            // Asked each time: where another process rotates as well, both end at the newest key.
            let keys = self.keys().ring();
            let rows = self.db().rows(
                "SELECT space_id, owner, name, key_id, value FROM secrets
                 WHERE key_id <> $1 ORDER BY space_id, owner, name LIMIT $2",
                args![keys.current.id(), BATCH],
            );
            let rows = rows.await?;
            if rows.is_empty() {
                return Ok(moved + alerts::rotate_webhook_keys(self.db(), self.keys()).await?);
            }
            let mut tx = self.db().begin().await?;
            for row in rows {
                let (space, owner, name) = (row.text(0)?, row.text(1)?, row.text(2)?);
                let place = [space.as_str(), owner.as_str(), name.as_str()];
                let old = Sealed { key_id: row.text(3)?, blob: row.bytes(4)? };
                let keys = self.keys().knowing(&old.key_id);
                let new = crypt::seal(&keys, &place, &crypt::open(&keys, &place, &old)?)?;
                // One that was changed meanwhile is under the current key already.
                let sql = "UPDATE secrets SET key_id = $4, value = $5
                           WHERE space_id = $1 AND owner = $2 AND name = $3 AND value = $6";
                moved += tx.run(sql, args![space, owner, name, new.key_id, new.blob, old.blob]).await?;
            }
            tx.commit().await?;
        }
    }
}
