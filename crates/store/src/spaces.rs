//! Spaces: created, renamed, and deleted with their contents.

use haft_core::space::{Role, Space};
use haft_core::{CallError, ErrorKind, Message, SpaceId, UserId};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::db::{Tx, args};
use crate::feed::identity;
use crate::history::{Action, Note, What};
use crate::page::Page;
use crate::row::Row;
use crate::store::{Force, now};
use crate::{Store, failure, members, name};

haft_core::templates! {
    PERSONAL = "store.personalSpace",
        "{name} is a personal space and cannot be deleted",
        "{name} 是个人空间，不能删除";
    NOT_EMPTY = "store.spaceNotEmpty",
        "{name} is not empty: it contains tools, agents, providers, alerts, secrets or files",
        "{name} 不为空：其中还有工具、智能体、模型服务、告警、密钥或文件";
}

fn space(row: &Row) -> Result<Space, CallError> {
    Ok(Space {
        id: row.id(0)?,
        name: row.text(1)?,
        is_personal: row.flag(2)?,
        version: row.number(3)?,
        created_at: row.time(4)?,
        updated_at: row.time(5)?,
    })
}

const BY_ID: &str = "SELECT id, name, is_personal, version, created_at, updated_at FROM spaces WHERE id = $1";

impl Store {
    /// Creates a space with its creator as admin.
    pub async fn create_space(&self, name: &str, creator: UserId) -> Result<Space, CallError> {
        name::check(name)?;
        let now = now();
        let space = Space {
            id: SpaceId::from(Uuid::now_v7()),
            name: name.to_owned(),
            is_personal: false,
            version: 1,
            created_at: now,
            updated_at: now,
        };
        let mut change = self.change(identity()).await?;
        change.touches(space.id).await?;
        insert(&mut change.tx, &space, None).await?;
        members::put(&mut change.tx, space.id, creator, Role::Admin).await?;
        change.note_in(space.id, history_note(&space, Action::Created, json!({}))).await?;
        change.commit().await?;
        Ok(space)
    }

    pub async fn get_space(&self, id: SpaceId) -> Result<Option<Space>, CallError> {
        self.db().row(BY_ID, args![id]).await?.map(|row| space(&row)).transpose()
    }

    /// Lists the spaces of a user with the user's role in each.
    pub async fn list_spaces(
        &self,
        user: UserId,
        page: &Page,
    ) -> Result<(Vec<(Space, Role)>, Option<String>), CallError> {
        let (name, id) = page.start_key()?;
        let rows = self.db().rows(
            "SELECT s.id, s.name, s.is_personal, s.version, s.created_at, s.updated_at, m.role
             FROM members m JOIN spaces s ON s.id = m.space_id
             WHERE m.user_id = $1 AND (s.name, s.id) > ($2, $3) ORDER BY s.name, s.id LIMIT $4",
            args![user, name, id, page.rows()],
        );
        let spaces: Result<Vec<(Space, Role)>, CallError> =
            rows.await?.iter().map(|row| Ok((space(row)?, row.word(6)?))).collect();
        Ok(page.cut(spaces?, |(space, _)| (space.name.as_str(), space.id.to_string())))
    }

    /// Renames a space. Fails if its version is not `expected`.
    pub async fn rename_space(&self, id: SpaceId, name: &str, expected: u64) -> Result<Space, CallError> {
        name::check(name)?;
        let mut change = self.change(id).await?;
        let before = get(&mut change.tx, id).await?;
        failure::check_version(&before.name, before.version, expected)?;
        let after = Space { name: name.to_owned(), version: before.version + 1, updated_at: now(), ..before };
        let sql = "UPDATE spaces SET name = $2, version = $3, updated_at = $4 WHERE id = $1";
        change.tx.run(sql, args![id, name, after.version, after.updated_at]).await?;
        change.note(history_note(&after, Action::Updated, json!({"changed": ["name"]}))).await?;
        change.commit().await?;
        Ok(after)
    }

    /// Deletes a space with its contents, including its runs and conversations. Call records and history remain.
    ///
    /// Returns `NotFound` if there is no such space, and `Conflict` if it is a personal space. Returns `Conflict`
    /// without `force` if it contains tools, agents, providers, alerts, secrets or artifacts; runs, tokens, members
    /// and invitations do not count.
    pub async fn delete_space(&self, id: SpaceId, force: Force) -> Result<(), CallError> {
        let mut change = self.change(id).await?;
        change.touches(identity()).await?;
        let space = get(&mut change.tx, id).await?;
        let refused =
            |template| CallError::new(ErrorKind::Conflict, Message::new(template).with("name", &space.name));
        if space.is_personal {
            return Err(refused(&PERSONAL));
        }
        let contents = change.tx.row(
            "SELECT (SELECT COUNT(*) FROM tools WHERE space_id = $1)
                  + (SELECT COUNT(*) FROM agents WHERE space_id = $1)
                  + (SELECT COUNT(*) FROM providers WHERE space_id = $1)
                  + (SELECT COUNT(*) FROM alerts WHERE space_id = $1)
                  + (SELECT COUNT(*) FROM secrets WHERE space_id = $1)
                  + (SELECT COUNT(*) FROM artifacts WHERE space_id = $1)",
            args![id],
        );
        let contents = contents.await?.ok_or_else(|| failure::unreadable("no count"))?.number(0)?;
        if contents > 0 && force == Force::No {
            return Err(refused(&NOT_EMPTY));
        }
        // Foreign keys delete the contents.
        change.tx.run("DELETE FROM spaces WHERE id = $1", args![id]).await?;
        // The history of the space is no longer visible, so the entry is written outside of it.
        change.note_in(identity(), history_note(&space, Action::Deleted, json!({}))).await?;
        change.commit().await
    }
}

/// Returns the history entry for a change of a space.
fn history_note(space: &Space, action: Action, details: Value) -> Note {
    let (id, name) = (space.id.to_string(), space.name.clone());
    Note { what: What::Space, action, id, name, version: Some(space.version), details }
}

async fn get(tx: &mut Tx, id: SpaceId) -> Result<Space, CallError> {
    let row = tx.row(BY_ID, args![id]).await?;
    space(&row.ok_or_else(|| failure::not_found(&failure::SPACE, id))?)
}

/// Inserts a space. A personal space has an owner.
pub(crate) async fn insert(tx: &mut Tx, space: &Space, personal_of: Option<UserId>) -> Result<(), CallError> {
    let insert = tx.run(
        "INSERT INTO spaces (id, name, is_personal, personal_of, version, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        args![
            space.id,
            &space.name,
            space.is_personal,
            personal_of,
            space.version,
            space.created_at,
            space.updated_at
        ],
    );
    insert.await.map(drop)
}
