//! Model providers of a space. Provider definitions reference their keys as secrets by name.

use haft_core::id::ProviderId;
use haft_core::provider::{Provider, ProviderSpec};
use haft_core::{CallError, SpaceId};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agents::by_id;
use crate::db::{Tx, args};
use crate::feed::Change;
use crate::history::{Action, Note, What, changed_fields};
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::{Store, failure, name};

/// Reads a provider. All statements below select the columns in this order.
fn provider(row: &Row) -> Result<Provider, CallError> {
    Ok(Provider {
        id: row.id(0)?,
        space_id: row.id(1)?,
        spec: row.json(2)?,
        version: row.number(3)?,
        created_at: row.time(4)?,
        updated_at: row.time(5)?,
    })
}

const BY_ID: &str = "SELECT id, space_id, doc, version, created_at, updated_at
                     FROM providers WHERE space_id = $1 AND id = $2";

impl Store {
    /// Creates a provider.
    pub async fn create_provider(&self, space: SpaceId, spec: ProviderSpec) -> Result<Provider, CallError> {
        let mut change = self.change(space).await?;
        let provider = add(&mut change, space, spec).await?;
        change.commit().await?;
        Ok(provider)
    }

    /// Returns the provider of the space with this id or name. Returns `None` if the space has no such provider.
    /// At most one matches: a name is unique in its space and never looks like an id.
    pub async fn get_provider(
        &self,
        space: SpaceId,
        id_or_name: &str,
    ) -> Result<Option<Provider>, CallError> {
        let row = self.db().row(
            "SELECT id, space_id, doc, version, created_at, updated_at
             FROM providers WHERE space_id = $1 AND (id = $2 OR name = $3)",
            args![space, by_id(id_or_name), id_or_name],
        );
        row.await?.map(|row| provider(&row)).transpose()
    }

    /// Lists the providers of a space, by name.
    pub async fn list_providers(
        &self,
        space: SpaceId,
        page: &Page,
    ) -> Result<(Vec<Provider>, Option<String>), CallError> {
        let (name, id) = page.start_key()?;
        let rows = self.db().rows(
            "SELECT id, space_id, doc, version, created_at, updated_at FROM providers
             WHERE space_id = $1 AND (name, id) > ($2, $3) ORDER BY name, id LIMIT $4",
            args![space, name, id, page.rows()],
        );
        let providers: Result<Vec<Provider>, CallError> = rows.await?.iter().map(provider).collect();
        Ok(page.cut(providers?, |provider| (provider.spec.name.as_str(), provider.id.to_string())))
    }

    /// Replaces a provider, and increments its version. Fails if its version is not `expected`.
    pub async fn put_provider(
        &self,
        space: SpaceId,
        id: ProviderId,
        spec: ProviderSpec,
        expected: u64,
    ) -> Result<Provider, CallError> {
        let mut change = self.change(space).await?;
        let after = replace(&mut change, space, id, spec, expected).await?;
        change.commit().await?;
        Ok(after)
    }

    /// Deletes a provider. Fails if its version is not `expected`.
    pub async fn delete_provider(
        &self,
        space: SpaceId,
        id: ProviderId,
        expected: Option<u64>,
    ) -> Result<(), CallError> {
        let mut change = self.change(space).await?;
        remove(&mut change, space, id, expected).await?;
        change.commit().await
    }
}

/// Inserts a provider within a change.
pub(crate) async fn add(
    change: &mut Change<'_>,
    space: SpaceId,
    spec: ProviderSpec,
) -> Result<Provider, CallError> {
    name::check(&spec.name)?;
    let now = now();
    let id = ProviderId::from(Uuid::now_v7());
    let provider = Provider { id, space_id: space, spec, version: 1, created_at: now, updated_at: now };
    check_name(&mut change.tx, &provider).await?;
    let insert = change.tx.run(
        "INSERT INTO providers (id, space_id, name, doc, version, created_at, updated_at)
         VALUES ($1, $2, $3, $4, 1, $5, $5)",
        args![id, space, &provider.spec.name, doc(&provider.spec)?, now],
    );
    insert.await?;
    change.note(history_note(&provider, Action::Created, json!({}))).await?;
    Ok(provider)
}

/// Replaces a provider within a change. Fails if its version is not `expected`.
pub(crate) async fn replace(
    change: &mut Change<'_>,
    space: SpaceId,
    id: ProviderId,
    spec: ProviderSpec,
    expected: u64,
) -> Result<Provider, CallError> {
    name::check(&spec.name)?;
    let before = get(&mut change.tx, space, id).await?;
    failure::check_version(&before.spec.name, before.version, expected)?;
    let details = json!({"changed": changed_fields(&before.spec, &spec)});
    let after = Provider { spec, version: before.version + 1, updated_at: now(), ..before };
    check_name(&mut change.tx, &after).await?;
    let update = change.tx.run(
        "UPDATE providers SET name = $3, doc = $4, version = $5, updated_at = $6
         WHERE space_id = $1 AND id = $2",
        args![space, id, &after.spec.name, doc(&after.spec)?, after.version, after.updated_at],
    );
    update.await?;
    change.note(history_note(&after, Action::Updated, details)).await?;
    Ok(after)
}

/// Deletes a provider within a change.
pub(crate) async fn remove(
    change: &mut Change<'_>,
    space: SpaceId,
    id: ProviderId,
    expected: Option<u64>,
) -> Result<(), CallError> {
    let before = get(&mut change.tx, space, id).await?;
    if let Some(expected) = expected {
        failure::check_version(&before.spec.name, before.version, expected)?;
    }
    change.tx.run("DELETE FROM providers WHERE space_id = $1 AND id = $2", args![space, id]).await?;
    change.note(history_note(&before, Action::Deleted, json!({}))).await
}

/// Returns the history entry for a change of a provider.
fn history_note(provider: &Provider, action: Action, details: Value) -> Note {
    let (id, name) = (provider.id.to_string(), provider.spec.name.clone());
    Note { what: What::Provider, action, id, name, version: Some(provider.version), details }
}

async fn get(tx: &mut Tx, space: SpaceId, id: ProviderId) -> Result<Provider, CallError> {
    let row = tx.row(BY_ID, args![space, id]).await?;
    provider(&row.ok_or_else(|| failure::not_found(&failure::PROVIDER, id))?)
}

async fn check_name(tx: &mut Tx, provider: &Provider) -> Result<(), CallError> {
    let sql = "SELECT id FROM providers WHERE space_id = $1 AND name = $2 AND id <> $3";
    match tx.row(sql, args![provider.space_id, &provider.spec.name, provider.id]).await? {
        Some(_) => Err(failure::name_taken(&provider.spec.name)),
        None => Ok(()),
    }
}

fn doc(spec: &ProviderSpec) -> Result<String, CallError> {
    serde_json::to_string(spec).map_err(failure::unreadable)
}
