//! Console sessions and one-time login links, both identified by the hash of their value.

use std::time::Duration;

use haft_core::id::TokenId;
use haft_core::user::User;
use haft_core::{CallError, UserId};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};

use crate::credential::{self, CredentialHash};
use crate::db::args;
use crate::feed::identity;
use crate::row::Row;
use crate::store::now;
use crate::users::user;
use crate::{Store, failure};

/// An active console session.
#[derive(Debug, Clone)]
pub struct Session {
    pub user: User,
    pub expires_at: Timestamp,
    /// The expiry of the token from which the session was created, if any.
    pub token_expires_at: Option<Timestamp>,
}

impl Store {
    /// Creates a session, and returns the value for its cookie.
    pub async fn create_session(&self, user: UserId, lifetime: Duration) -> Result<SecretString, CallError> {
        let sql = "INSERT INTO sessions (hash, user_id, expires_at) VALUES ($1, $2, $3)";
        self.insert_credential(sql, user, lifetime).await
    }

    /// Creates a session that ends with a token of the user, when the token expires or is deleted. Returns the
    /// value for its cookie.
    pub async fn create_session_of_token(
        &self,
        user: UserId,
        token: TokenId,
        lifetime: Duration,
    ) -> Result<SecretString, CallError> {
        let value = credential::make("")?;
        let hash = CredentialHash::of(value.expose_secret());
        let latest = now().saturating_add(lifetime).unwrap_or(Timestamp::MAX);
        let mut tx = self.db().begin().await?;
        let sql = "SELECT expires_at FROM tokens WHERE id = $1 AND user_id = $2";
        let row = tx.row(sql, args![token, user]).await?;
        let row = row.ok_or_else(|| failure::not_found(&failure::TOKEN, token))?;
        let expires = row.maybe_time(0)?.map_or(latest, |expires| expires.min(latest));
        let sql = "INSERT INTO sessions (hash, user_id, expires_at, token_id) VALUES ($1, $2, $3, $4)";
        tx.run(sql, args![hash.to_vec(), user, expires, token]).await?;
        tx.commit().await?;
        Ok(value)
    }

    /// Returns the session with this hash. Returns `None` if it has ended or its user is inactive.
    pub async fn find_session(&self, hash: &CredentialHash) -> Result<Option<Session>, CallError> {
        let row = self.db().row(
            "SELECT u.id, u.name, u.is_admin, u.is_active, u.created_at, s.expires_at, t.expires_at
             FROM sessions s JOIN users u ON u.id = s.user_id LEFT JOIN tokens t ON t.id = s.token_id
             WHERE s.hash = $1 AND s.expires_at > $2 AND u.is_active = 1",
            args![hash.to_vec(), now()],
        );
        let session = |row: Row| {
            let (expires_at, token_expires_at) = (row.time(5)?, row.maybe_time(6)?);
            Ok(Session { user: user(&row, 0)?, expires_at, token_expires_at })
        };
        row.await?.map(session).transpose()
    }

    /// Ends a session: sign out uses it to revoke the session. Succeeds if it has already ended. A new password and
    /// the deletion of the session's token revoke sessions, too.
    pub async fn delete_session(&self, hash: &CredentialHash) -> Result<(), CallError> {
        let mut change = self.change(identity()).await?;
        if change.tx.run("DELETE FROM sessions WHERE hash = $1", args![hash.to_vec()]).await? == 0 {
            return Ok(());
        }
        change.commit_unnoted().await
    }

    /// Deletes expired sessions and login links, and unreachable artifacts. Returns their number.
    pub async fn delete_expired(&self) -> Result<u64, CallError> {
        let now = now();
        let mut tx = self.db().begin().await?;
        let sessions = tx.run("DELETE FROM sessions WHERE expires_at <= $1", args![now]).await?;
        let links = tx.run("DELETE FROM login_links WHERE expires_at <= $1", args![now]).await?;
        tx.commit().await?;
        Ok(sessions + links + self.delete_unreachable_artifacts().await?)
    }

    /// Creates a one-time login link, and returns the value for its URL.
    pub async fn create_login_link(
        &self,
        user: UserId,
        lifetime: Duration,
    ) -> Result<SecretString, CallError> {
        let sql = "INSERT INTO login_links (hash, user_id, expires_at) VALUES ($1, $2, $3)";
        self.insert_credential(sql, user, lifetime).await
    }

    /// Consumes a login link. Returns `None` if it has been used, has expired or its user is inactive.
    pub async fn consume_login_link(&self, hash: &CredentialHash) -> Result<Option<User>, CallError> {
        let mut tx = self.db().begin().await?;
        let row = tx.row(
            "DELETE FROM login_links WHERE hash = $1 RETURNING user_id, expires_at",
            args![hash.to_vec()],
        );
        let Some(row) = row.await? else { return Ok(None) };
        let (id, expires) = (row.id::<UserId>(0)?, row.time(1)?);
        let row = tx.row(
            "SELECT id, name, is_admin, is_active, created_at FROM users WHERE id = $1 AND is_active = 1",
            args![id],
        );
        let user = row.await?.map(|row| user(&row, 0)).transpose()?;
        tx.commit().await?;
        Ok(user.filter(|_| expires > now()))
    }

    async fn insert_credential(
        &self,
        sql: &'static str,
        user: UserId,
        lifetime: Duration,
    ) -> Result<SecretString, CallError> {
        let value = credential::make("")?;
        let hash = CredentialHash::of(value.expose_secret());
        let expires = now().saturating_add(lifetime).unwrap_or(Timestamp::MAX);
        let mut tx = self.db().begin().await?;
        tx.run(sql, args![hash.to_vec(), user, expires]).await?;
        tx.commit().await?;
        Ok(value)
    }
}
