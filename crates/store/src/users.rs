//! Users. Password hashes are in a separate table and never leave this crate.

use haft_core::space::{Role, Space};
use haft_core::user::User;
use haft_core::{CallError, SpaceId, UserId};
use secrecy::SecretString;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::db::{Tx, args};
use crate::feed::identity;
use crate::history::{Action, Note, What, changed_fields};
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::{Store, failure, members, name, spaces};

/// Reads a user from the columns that start at `first`.
pub(crate) fn user(row: &Row, first: usize) -> Result<User, CallError> {
    Ok(User {
        id: row.id(first)?,
        name: row.text(first + 1)?,
        is_admin: row.flag(first + 2)?,
        is_active: row.flag(first + 3)?,
        created_at: row.time(first + 4)?,
    })
}

const BY_ID: &str = "SELECT id, name, is_admin, is_active, created_at FROM users WHERE id = $1";

impl Store {
    /// Creates a user, and a personal space with the user as admin.
    pub async fn create_user(
        &self,
        name: &str,
        password: Option<&SecretString>,
        is_admin: bool,
    ) -> Result<(User, Space), CallError> {
        name::check(name)?;
        let hash = match password {
            Some(password) => Some(self.hash_password(password).await?),
            None => None,
        };
        let now = now();
        let user = User {
            id: UserId::from(Uuid::now_v7()),
            name: name.to_owned(),
            is_admin,
            is_active: true,
            created_at: now,
        };
        let space = Space {
            id: SpaceId::from(Uuid::now_v7()),
            name: name.to_owned(),
            is_personal: true,
            version: 1,
            created_at: now,
            updated_at: now,
        };
        let mut change = self.change(identity()).await?;
        change.touches(space.id).await?;
        let insert = change.tx.run(
            "INSERT INTO users (id, name, is_admin, is_active, created_at)
             VALUES ($1, $2, $3, 1, $4) ON CONFLICT DO NOTHING",
            args![user.id, name, is_admin, now],
        );
        if insert.await? == 0 {
            return Err(failure::name_taken(name));
        }
        if let Some(hash) = hash {
            let sql = "INSERT INTO passwords (user_id, hash) VALUES ($1, $2)";
            change.tx.run(sql, args![user.id, hash]).await?;
        }
        spaces::insert(&mut change.tx, &space, Some(user.id)).await?;
        members::put(&mut change.tx, space.id, user.id, Role::Admin).await?;
        let details = json!({"isAdmin": is_admin, "spaceId": space.id});
        change.note(history_note(&user, Action::Created, details)).await?;
        change.commit().await?;
        Ok((user, space))
    }

    pub async fn get_user(&self, id: UserId) -> Result<Option<User>, CallError> {
        self.db().row(BY_ID, args![id]).await?.map(|row| user(&row, 0)).transpose()
    }

    pub async fn find_user_by_name(&self, name: &str) -> Result<Option<User>, CallError> {
        let sql = "SELECT id, name, is_admin, is_active, created_at FROM users WHERE name = $1";
        self.db().row(sql, args![name]).await?.map(|row| user(&row, 0)).transpose()
    }

    /// Lists all users, by name.
    pub async fn list_users(&self, page: &Page) -> Result<(Vec<User>, Option<String>), CallError> {
        let (name, id) = page.start_key()?;
        let rows = self.db().rows(
            "SELECT id, name, is_admin, is_active, created_at FROM users
             WHERE (name, id) > ($1, $2) ORDER BY name, id LIMIT $3",
            args![name, id, page.rows()],
        );
        let users: Result<Vec<User>, CallError> = rows.await?.iter().map(|row| user(row, 0)).collect();
        Ok(page.cut(users?, |user| (user.name.as_str(), user.id.to_string())))
    }

    pub async fn count_users(&self) -> Result<u64, CallError> {
        let row = self.db().row("SELECT COUNT(*) FROM users", args![]).await?;
        row.ok_or_else(|| failure::unreadable("no count"))?.number(0)
    }

    /// Returns the active server admin with the earliest creation date.
    pub async fn oldest_admin(&self) -> Result<Option<User>, CallError> {
        let row = self.db().row(
            "SELECT id, name, is_admin, is_active, created_at FROM users
             WHERE is_admin = 1 AND is_active = 1 ORDER BY created_at, id LIMIT 1",
            args![],
        );
        row.await?.map(|row| user(&row, 0)).transpose()
    }

    /// Returns true if an active server admin has a password.
    pub async fn has_admin_password(&self) -> Result<bool, CallError> {
        let row = self.db().row(
            "SELECT u.id FROM users u JOIN passwords p ON p.user_id = u.id
             WHERE u.is_admin = 1 AND u.is_active = 1 LIMIT 1",
            args![],
        );
        Ok(row.await?.is_some())
    }

    /// Sets a password, and ends the user's sessions.
    pub async fn set_password(&self, id: UserId, password: &SecretString) -> Result<(), CallError> {
        let hash = self.hash_password(password).await?;
        let mut change = self.change(identity()).await?;
        let user = get(&mut change.tx, id).await?;
        let update = change.tx.run(
            "INSERT INTO passwords (user_id, hash) VALUES ($1, $2)
             ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash",
            args![id, hash],
        );
        update.await?;
        change.tx.run("DELETE FROM sessions WHERE user_id = $1", args![id]).await?;
        change.note(history_note(&user, Action::PasswordSet, json!({}))).await?;
        change.commit().await
    }

    /// Returns the user with this name if the user is active and the password is correct.
    pub async fn verify_password(
        &self,
        name: &str,
        password: &SecretString,
    ) -> Result<Option<User>, CallError> {
        let row = self.db().row(
            "SELECT u.id, u.name, u.is_admin, u.is_active, u.created_at, p.hash
             FROM users u LEFT JOIN passwords p ON p.user_id = u.id WHERE u.name = $1",
            args![name],
        );
        let row = row.await?;
        let hash = row.as_ref().map(|row| row.maybe_text(5)).transpose()?.flatten();
        let is_right = self.is_password(password, hash).await?;
        let user = row.map(|row| user(&row, 0)).transpose()?;
        Ok(user.filter(|user| is_right && user.is_active))
    }

    /// Returns true if the user has a password.
    pub async fn has_password(&self, id: UserId) -> Result<bool, CallError> {
        let row = self.db().row("SELECT user_id FROM passwords WHERE user_id = $1", args![id]);
        Ok(row.await?.is_some())
    }

    /// Activates or deactivates a user, and grants or revokes server administration. Deactivation deletes
    /// nothing.
    pub async fn set_user_rights(
        &self,
        id: UserId,
        is_active: bool,
        is_admin: bool,
    ) -> Result<(), CallError> {
        let mut change = self.change(identity()).await?;
        let before = get(&mut change.tx, id).await?;
        let after = User { is_active, is_admin, ..before.clone() };
        let changed = changed_fields(&before, &after);
        if changed.is_empty() {
            return Ok(());
        }
        let sql = "UPDATE users SET is_active = $2, is_admin = $3 WHERE id = $1";
        change.tx.run(sql, args![id, is_active, is_admin]).await?;
        let details = json!({"changed": changed, "isActive": is_active, "isAdmin": is_admin});
        change.note(history_note(&after, Action::Updated, details)).await?;
        change.commit().await
    }
}

async fn get(tx: &mut Tx, id: UserId) -> Result<User, CallError> {
    let row = tx.row(BY_ID, args![id]).await?;
    user(&row.ok_or_else(|| failure::not_found(&failure::USER, id))?, 0)
}

/// Returns the history entry for a change of a user. Users belong to no space.
fn history_note(user: &User, action: Action, details: Value) -> Note {
    let (id, name) = (user.id.to_string(), user.name.clone());
    Note { what: What::User, action, id, name, version: None, details }
}
