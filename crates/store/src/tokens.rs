//! API tokens: created, found by their hash, and revoked. The value is returned once and never stored.

use std::time::Duration;

use haft_core::id::TokenId;
use haft_core::timestamp::rfc3339;
use haft_core::user::{Identity, Scope, Token};
use haft_core::{CallError, SpaceId, UserId};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::credential::{self, CredentialHash};
use crate::db::args;
use crate::feed::identity;
use crate::history::{Action, Note, What};
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::users::user;
use crate::{Store, failure, members, name};

/// Prefix of token values.
const PREFIX: &str = "haft_";
/// Number of characters of a value that are stored for display.
const DISPLAYED_LENGTH: usize = 12;
/// Minimum time between two updates of `last_used_at`.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// Reads a token. All statements below select the columns in this order.
fn token(row: &Row) -> Result<Token, CallError> {
    Ok(Token {
        id: row.id(0)?,
        user_id: row.id(1)?,
        space_id: row.id(2)?,
        name: row.text(3)?,
        prefix: row.text(4)?,
        scope: row.word(5)?,
        created_at: row.time(6)?,
        expires_at: row.maybe_time(7)?,
        last_used_at: row.maybe_time(8)?,
    })
}

fn read_identity(row: &Row) -> Result<Identity, CallError> {
    Ok(Identity { token: token(row)?, user: user(row, 9)?, role: row.word(14)? })
}

const BY_ID: &str = "SELECT id, user_id, space_id, name, prefix, scope, created_at, expires_at, last_used_at
                     FROM tokens WHERE space_id = $1 AND id = $2";

/// Returns the history entry for a change of a token. It contains the owner, never the value.
fn history_note(token: &Token, action: Action, details: Value) -> Note {
    let (id, name) = (token.id.to_string(), token.name.clone());
    Note { what: What::Token, action, id, name, version: None, details }
}

impl Store {
    /// Creates a token for a member of the space, and returns its value.
    pub async fn create_token(
        &self,
        space: SpaceId,
        user: UserId,
        name: &str,
        scope: Scope,
        expires: Option<Timestamp>,
    ) -> Result<(Token, SecretString), CallError> {
        let value = credential::make(PREFIX)?;
        let token = self.insert_token(space, user, name, scope, expires, &value).await?;
        Ok((token, value))
    }

    /// Creates a token with a value that the operator chose. Idempotent for the same value, space, user and
    /// scope.
    pub async fn create_token_with(
        &self,
        space: SpaceId,
        user: UserId,
        name: &str,
        scope: Scope,
        value: &SecretString,
    ) -> Result<Token, CallError> {
        self.insert_token(space, user, name, scope, None, value).await
    }

    async fn insert_token(
        &self,
        space: SpaceId,
        user: UserId,
        name: &str,
        scope: Scope,
        expires: Option<Timestamp>,
        value: &SecretString,
    ) -> Result<Token, CallError> {
        name::check(name)?;
        let value = value.expose_secret();
        let hash = CredentialHash::of(value).to_vec();
        let mut change = self.change(identity()).await?;
        if members::role(&mut change.tx, space, user).await?.is_none() {
            return Err(failure::not_found(&failure::MEMBER, user));
        }
        let existing = change.tx.row(
            "SELECT id, user_id, space_id, name, prefix, scope, created_at, expires_at, last_used_at
             FROM tokens WHERE hash = $1",
            args![hash.clone()],
        );
        if let Some(row) = existing.await? {
            let existing = token(&row)?;
            let is_same = (existing.space_id, existing.user_id, existing.scope) == (space, user, scope);
            return if is_same { Ok(existing) } else { Err(failure::name_taken(name)) };
        }
        let token = Token {
            id: TokenId::from(Uuid::now_v7()),
            user_id: user,
            space_id: space,
            name: name.to_owned(),
            // At most a quarter of the value, even if it is short.
            prefix: value.chars().take(DISPLAYED_LENGTH.min(value.chars().count() / 4)).collect(),
            scope,
            created_at: now(),
            expires_at: expires,
            last_used_at: None,
        };
        let insert = change.tx.run(
            "INSERT INTO tokens (id, hash, space_id, user_id, name, prefix, scope, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            args![
                token.id,
                hash,
                space,
                user,
                name,
                &token.prefix,
                scope.as_str(),
                token.created_at,
                expires
            ],
        );
        insert.await?;
        let details = json!({"userId": user, "scope": scope, "expiresAt": expires.map(rfc3339)});
        change.note_in(space, history_note(&token, Action::Created, details)).await?;
        change.commit().await?;
        Ok(token)
    }

    /// Authenticates a token. Returns `None` if it has expired, or its user is inactive or no longer a
    /// member.
    pub async fn find_token(&self, hash: &CredentialHash) -> Result<Option<Identity>, CallError> {
        let row = self.db().row(
            "SELECT t.id, t.user_id, t.space_id, t.name, t.prefix, t.scope, t.created_at, t.expires_at,
                    t.last_used_at, u.id, u.name, u.is_admin, u.is_active, u.created_at, m.role
             FROM tokens t JOIN users u ON u.id = t.user_id
             JOIN members m ON m.space_id = t.space_id AND m.user_id = t.user_id
             WHERE t.hash = $1 AND u.is_active = 1 AND (t.expires_at IS NULL OR t.expires_at > $2)",
            args![hash.to_vec(), now()],
        );
        row.await?.map(|row| read_identity(&row)).transpose()
    }

    pub async fn get_token(&self, space: SpaceId, id: TokenId) -> Result<Option<Token>, CallError> {
        self.db().row(BY_ID, args![space, id]).await?.map(|row| token(&row)).transpose()
    }

    /// Lists the tokens of one user in a space.
    pub async fn list_tokens(
        &self,
        space: SpaceId,
        user: UserId,
        page: &Page,
    ) -> Result<(Vec<Token>, Option<String>), CallError> {
        let (name, id) = page.start_key()?;
        let rows = self.db().rows(
            "SELECT id, user_id, space_id, name, prefix, scope, created_at, expires_at, last_used_at
             FROM tokens WHERE space_id = $1 AND user_id = $2 AND (name, id) > ($3, $4)
             ORDER BY name, id LIMIT $5",
            args![space, user, name, id, page.rows()],
        );
        let tokens: Result<Vec<Token>, CallError> = rows.await?.iter().map(token).collect();
        Ok(page.cut(tokens?, |token| (token.name.as_str(), token.id.to_string())))
    }

    /// Revokes a token.
    pub async fn delete_token(&self, space: SpaceId, id: TokenId) -> Result<(), CallError> {
        let mut change = self.change(identity()).await?;
        let row = change.tx.row(BY_ID, args![space, id]).await?;
        let before = token(&row.ok_or_else(|| failure::not_found(&failure::TOKEN, id))?)?;
        let sql = "DELETE FROM tokens WHERE space_id = $1 AND id = $2";
        change.tx.run(sql, args![space, id]).await?;
        let details = json!({"userId": before.user_id});
        change.note_in(space, history_note(&before, Action::Revoked, details)).await?;
        change.commit().await
    }

    /// Updates `last_used_at`, unless it was updated recently.
    pub async fn touch_token(&self, space: SpaceId, id: TokenId) -> Result<(), CallError> {
        let now = now();
        let Some(token) = self.get_token(space, id).await? else { return Ok(()) };
        let long_ago = now.saturating_sub(TOUCH_INTERVAL).unwrap_or(now);
        if token.last_used_at.is_some_and(|used| used > long_ago) {
            return Ok(());
        }
        let mut tx = self.db().begin().await?;
        let sql = "UPDATE tokens SET last_used_at = $3 WHERE space_id = $1 AND id = $2";
        tx.run(sql, args![space, id, now]).await?;
        tx.commit().await
    }
}
