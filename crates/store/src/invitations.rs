//! Invitations into spaces: a space admin names a user, who becomes a member by accepting.
//!
//! An invitation is stored whether or not an account of that name exists, so inviting reveals nothing.

use std::time::Duration;

use haft_core::space::{Invitation, Role};
use haft_core::user::User;
use haft_core::{CallError, ErrorKind, Message, SpaceId, UserId};
use serde_json::{Value, json};

use crate::db::args;
use crate::feed::identity;
use crate::history::{Action, Note, What};
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::{Store, failure, members, name};

haft_core::templates! {
    NO_INVITATION = "store.noInvitation",
        "there is no open invitation for {name}",
        "没有发给 {name} 的有效邀请";
    TOO_MANY_INVITATIONS = "store.tooManyInvitations",
        "the space has {limit} open invitations, which is the limit; withdraw one first",
        "该空间已有 {limit} 个未处理的邀请，达到上限；请先撤回一个";
}

/// Time during which an invitation can be accepted.
const LIFETIME: Duration = Duration::from_secs(14 * 24 * 3600);

/// Maximum number of open invitations per space.
const MAX_OPEN: u64 = 200;

/// Reads invitations with the names of their space and of the inviting user.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT i.space_id, s.name, i.user_name, i.role, i.created_at, i.expires_at, u.name
             FROM invitations i JOIN spaces s ON s.id = i.space_id LEFT JOIN users u ON u.id = i.invited_by ",
            $rest
        )
    };
}

fn invitation(row: &Row) -> Result<Invitation, CallError> {
    Ok(Invitation {
        space_id: row.id(0)?,
        space_name: row.text(1)?,
        user_name: row.text(2)?,
        role: row.word(3)?,
        created_at: row.time(4)?,
        expires_at: row.time(5)?,
        invited_by: row.maybe_text(6)?,
    })
}

impl Store {
    /// Invites a user by name, or replaces the open invitation of that name.
    pub async fn invite(
        &self,
        space: SpaceId,
        user_name: &str,
        role: Role,
        invited_by: &User,
    ) -> Result<Invitation, CallError> {
        name::check(user_name)?;
        let created_at = now();
        let expires_at = created_at + LIFETIME;
        let mut change = self.change_for_listeners(space).await?;
        let found = change.tx.row("SELECT name, personal_of FROM spaces WHERE id = $1", args![space]);
        let Some(row) = found.await? else { return Err(failure::not_found(&failure::SPACE, space)) };
        let space_name = row.text(0)?;
        if row.maybe_id::<UserId>(1)?.is_some() {
            return Err(members::personal());
        }
        change.tx.run("DELETE FROM invitations WHERE expires_at <= $1", args![created_at]).await?;
        let count = "SELECT COUNT(*) FROM invitations WHERE space_id = $1 AND user_name <> $2";
        let open = change.tx.row(count, args![space, user_name]).await?;
        if open.ok_or_else(|| failure::unreadable("no count"))?.number(0)? >= MAX_OPEN {
            let message = Message::new(&TOO_MANY_INVITATIONS).with("limit", MAX_OPEN);
            return Err(CallError::new(ErrorKind::Conflict, message));
        }
        let saved = change.tx.run(
            "INSERT INTO invitations (space_id, user_name, role, invited_by, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (space_id, user_name) DO UPDATE SET role = excluded.role,
                 invited_by = excluded.invited_by, created_at = excluded.created_at,
                 expires_at = excluded.expires_at",
            args![space, user_name, role.as_str(), invited_by.id, created_at, expires_at],
        );
        saved.await?;
        change.note(history_note(user_name, Action::Invited, json!({"role": role}))).await?;
        change.commit().await?;
        let (user_name, invited_by) = (user_name.to_owned(), Some(invited_by.name.clone()));
        Ok(Invitation { space_id: space, space_name, user_name, role, created_at, expires_at, invited_by })
    }

    /// The open invitations of a space, by name.
    pub async fn list_invitations(
        &self,
        space: SpaceId,
        page: &Page,
    ) -> Result<(Vec<Invitation>, Option<String>), CallError> {
        let (name, _) = page.start_key()?;
        let sql = select!(
            "WHERE i.space_id = $1 AND i.expires_at > $2 AND i.user_name > $3 ORDER BY i.user_name LIMIT $4"
        );
        let rows = self.db().rows(sql, args![space, now(), name, page.rows()]).await?;
        let found: Result<Vec<Invitation>, CallError> = rows.iter().map(invitation).collect();
        Ok(page.cut(found?, |invitation| (invitation.user_name.as_str(), String::new())))
    }

    /// The open invitations of a user, by space.
    pub async fn invitations_of(
        &self,
        user: &User,
        page: &Page,
    ) -> Result<(Vec<Invitation>, Option<String>), CallError> {
        let (_, id) = page.start_key()?;
        let sql = select!(
            "WHERE i.user_name = $1 AND i.expires_at > $2 AND i.space_id > $3 ORDER BY i.space_id LIMIT $4"
        );
        let rows = self.db().rows(sql, args![user.name.clone(), now(), id, page.rows()]).await?;
        let found: Result<Vec<Invitation>, CallError> = rows.iter().map(invitation).collect();
        Ok(page.cut(found?, |invitation| ("", invitation.space_id.to_string())))
    }

    /// Makes the user a member with the role of the invitation. An existing member keeps their role.
    pub async fn accept_invitation(&self, space: SpaceId, user: &User) -> Result<Invitation, CallError> {
        let accepted = self.open_invitation(space, &user.name).await?;
        let mut change = self.change(identity()).await?;
        change.touches(space).await?;
        let deleted = change.tx.run(
            "DELETE FROM invitations WHERE space_id = $1 AND user_name = $2 AND created_at = $3",
            args![space, user.name.clone(), accepted.created_at],
        );
        if deleted.await? == 0 {
            return Err(no_invitation(&user.name));
        }
        if members::role(&mut change.tx, space, user.id).await?.is_some() {
            change.commit_unnoted().await?;
            return Ok(accepted);
        }
        members::put(&mut change.tx, space, user.id, accepted.role).await?;
        let details = json!({"role": accepted.role, "invitedBy": accepted.invited_by});
        let note = Note { id: user.id.to_string(), ..history_note(&user.name, Action::Added, details) };
        change.note_in(space, note).await?;
        change.commit().await?;
        Ok(accepted)
    }

    /// Deletes an open invitation: withdrawn by the space, or declined by the user.
    pub async fn delete_invitation(
        &self,
        space: SpaceId,
        user_name: &str,
        reason: &'static str,
    ) -> Result<Invitation, CallError> {
        let deleted = self.open_invitation(space, user_name).await?;
        let mut change = self.change_for_listeners(space).await?;
        let sql = "DELETE FROM invitations WHERE space_id = $1 AND user_name = $2";
        if change.tx.run(sql, args![space, user_name]).await? == 0 {
            return Err(no_invitation(user_name));
        }
        change.note(history_note(user_name, Action::Removed, json!({"invitation": reason}))).await?;
        change.commit().await?;
        Ok(deleted)
    }

    async fn open_invitation(&self, space: SpaceId, user_name: &str) -> Result<Invitation, CallError> {
        let sql = select!("WHERE i.space_id = $1 AND i.user_name = $2 AND i.expires_at > $3");
        let row = self.db().row(sql, args![space, user_name, now()]).await?;
        invitation(&row.ok_or_else(|| no_invitation(user_name))?)
    }
}

fn history_note(user_name: &str, action: Action, details: Value) -> Note {
    let name = user_name.to_owned();
    Note { what: What::Member, action, id: name.clone(), name, version: None, details }
}

/// The error for an invitation that does not exist, has expired or is for another user.
pub fn no_invitation(user_name: &str) -> CallError {
    let message = Message::new(&NO_INVITATION).with("name", user_name);
    CallError::new(ErrorKind::NotFound, message).detail("what", "invitation")
}
