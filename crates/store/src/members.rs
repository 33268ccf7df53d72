//! Members of spaces and their roles. A space always has at least one admin.

use haft_core::space::{Member, Role};
use haft_core::{CallError, ErrorKind, Message, SpaceId, UserId};
use serde_json::{Value, json};

use crate::db::{Tx, args};
use crate::feed::identity;
use crate::history::{Action, Note, What};
use crate::page::Page;
use crate::row::Row;
use crate::{Store, failure};

haft_core::templates! {
    LAST_ADMIN = "store.lastAdmin",
        "This is the only admin of the space. Make another member an admin first.",
        "这是该空间唯一的管理员；请先指定另一位管理员";
    PERSONAL = "store.personalMembers",
        "A personal space has its user as its only member. Create another space to share.",
        "个人空间只有其所属用户一个成员；如需共享，请新建空间";
}

fn member(row: &Row) -> Result<Member, CallError> {
    Ok(Member { user_id: row.id(0)?, name: row.text(1)?, role: row.word(2)? })
}

/// Selects the owner of a personal space; null for a shared space.
const OWNER: &str = "SELECT personal_of FROM spaces WHERE id = $1";

const NAME: &str = "SELECT name FROM users WHERE id = $1";

const ROLE: &str = "SELECT m.role FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.space_id = $1 AND m.user_id = $2 AND u.is_active = 1";

const ROLE_OF_MEMBER: &str = "SELECT role FROM members WHERE space_id = $1 AND user_id = $2";

impl Store {
    /// Returns the role with which an active user acts in a space. Returns `None` if the user is deactivated.
    pub async fn role_of(&self, space: SpaceId, user: UserId) -> Result<Option<Role>, CallError> {
        self.db().row(ROLE, args![space, user]).await?.map(|row| row.word(0)).transpose()
    }

    /// Returns the role of a member for display, whether or not the user is active. It grants nothing.
    pub async fn role_of_member(&self, space: SpaceId, user: UserId) -> Result<Option<Role>, CallError> {
        self.db().row(ROLE_OF_MEMBER, args![space, user]).await?.map(|row| row.word(0)).transpose()
    }

    /// Returns the personal space of a user, and the user's role there.
    pub async fn personal_space(&self, user: UserId) -> Result<Option<(SpaceId, Role)>, CallError> {
        let row = self.db().row(
            "SELECT s.id, m.role FROM spaces s
             JOIN members m ON m.space_id = s.id AND m.user_id = s.personal_of
             WHERE s.personal_of = $1",
            args![user],
        );
        row.await?.map(|row| Ok((row.id(0)?, row.word(1)?))).transpose()
    }

    /// Lists the members of a space, by name.
    pub async fn list_members(
        &self,
        space: SpaceId,
        page: &Page,
    ) -> Result<(Vec<Member>, Option<String>), CallError> {
        let (name, id) = page.start_key()?;
        let rows = self.db().rows(
            "SELECT u.id, u.name, m.role FROM members m JOIN users u ON u.id = m.user_id
             WHERE m.space_id = $1 AND (u.name, u.id) > ($2, $3) ORDER BY u.name, u.id LIMIT $4",
            args![space, name, id, page.rows()],
        );
        let members: Result<Vec<Member>, CallError> = rows.await?.iter().map(member).collect();
        Ok(page.cut(members?, |member| (member.name.as_str(), member.user_id.to_string())))
    }

    /// Adds a member or changes the role of one. Fails for other users in a personal space.
    pub async fn put_member(&self, space: SpaceId, user: UserId, role: Role) -> Result<(), CallError> {
        let mut change = self.change(identity()).await?;
        change.touches(space).await?;
        let Some(row) = change.tx.row(OWNER, args![space]).await? else {
            return Err(failure::not_found(&failure::SPACE, space));
        };
        let Some(named) = change.tx.row(NAME, args![user]).await? else {
            return Err(failure::not_found(&failure::USER, user));
        };
        if row.maybe_id::<UserId>(0)?.is_some_and(|owner| owner != user) {
            return Err(personal());
        }
        if role != Role::Admin {
            check_not_last_admin(&mut change.tx, space, user).await?;
        }
        let before = role_of_member(&mut change.tx, space, user).await?;
        if before == Some(role) {
            return Ok(());
        }
        put(&mut change.tx, space, user, role).await?;
        let (action, details) = match before {
            Some(before) => (Action::Updated, json!({"role": role, "before": before})),
            None => (Action::Added, json!({"role": role})),
        };
        change.note_in(space, history_note(user, named.text(0)?, action, details)).await?;
        change.commit().await
    }

    /// Removes a member. Fails for the owner of a personal space, and for the last admin.
    pub async fn remove_member(&self, space: SpaceId, user: UserId) -> Result<(), CallError> {
        let mut change = self.change(identity()).await?;
        change.touches(space).await?;
        let row = change.tx.row(OWNER, args![space]).await?;
        if row.map(|row| row.maybe_id::<UserId>(0)).transpose()?.flatten() == Some(user) {
            return Err(personal());
        }
        check_not_last_admin(&mut change.tx, space, user).await?;
        let before = role_of_member(&mut change.tx, space, user).await?;
        let Some(named) = change.tx.row(NAME, args![user]).await? else {
            return Err(failure::not_found(&failure::MEMBER, user));
        };
        let sql = "DELETE FROM members WHERE space_id = $1 AND user_id = $2";
        if change.tx.run(sql, args![space, user]).await? == 0 {
            return Err(failure::not_found(&failure::MEMBER, user));
        }
        let details = json!({"before": before});
        change.note_in(space, history_note(user, named.text(0)?, Action::Removed, details)).await?;
        change.commit().await
    }
}

pub(crate) async fn role(tx: &mut Tx, space: SpaceId, user: UserId) -> Result<Option<Role>, CallError> {
    tx.row(ROLE, args![space, user]).await?.map(|row| row.word(0)).transpose()
}

/// Returns the role of a member, whether or not the user is active.
async fn role_of_member(tx: &mut Tx, space: SpaceId, user: UserId) -> Result<Option<Role>, CallError> {
    tx.row(ROLE_OF_MEMBER, args![space, user]).await?.map(|row| row.word(0)).transpose()
}

pub(crate) async fn put(tx: &mut Tx, space: SpaceId, user: UserId, role: Role) -> Result<(), CallError> {
    let upsert = tx.run(
        "INSERT INTO members (space_id, user_id, role) VALUES ($1, $2, $3)
         ON CONFLICT (space_id, user_id) DO UPDATE SET role = excluded.role",
        args![space, user, role.as_str()],
    );
    upsert.await.map(drop)
}

/// Returns the history entry for a change of a membership.
fn history_note(user: UserId, name: String, action: Action, details: Value) -> Note {
    Note { what: What::Member, action, id: user.to_string(), name, version: None, details }
}

pub(crate) fn personal() -> CallError {
    CallError::new(ErrorKind::Conflict, Message::new(&PERSONAL))
}

/// Fails if the user is the only active admin of the space.
async fn check_not_last_admin(tx: &mut Tx, space: SpaceId, user: UserId) -> Result<(), CallError> {
    if role(tx, space, user).await? != Some(Role::Admin) {
        return Ok(());
    }
    let others = tx.row(
        "SELECT COUNT(*) FROM members m JOIN users u ON u.id = m.user_id
         WHERE m.space_id = $1 AND m.user_id <> $2 AND m.role = 'admin' AND u.is_active = 1",
        args![space, user],
    );
    match others.await?.ok_or_else(|| failure::unreadable("no count"))?.number(0)? {
        0 => Err(CallError::new(ErrorKind::Conflict, Message::new(&LAST_ADMIN))),
        _ => Ok(()),
    }
}
