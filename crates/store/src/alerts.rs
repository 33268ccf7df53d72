//! Alerts of a space and their state. Optimistic locking makes each alert fire and resolve once, however many
//! processes evaluate it.
//!
//! Measuring values and sending notifications is done elsewhere. The webhook URL is stored encrypted.

use haft_core::alert::{Alert, AlertEvaluation, AlertSpec, AlertTransition, number};
use haft_core::id::AlertId;
use haft_core::mask::MASKED;
use haft_core::{CallError, ErrorKind, Message, SpaceId, UserId};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::crypt::{self, Sealed};
use crate::db::{Db, Tx, args};
use crate::feed::Change;
use crate::history::{Action, Note, What, changed_fields};
use crate::keys::MasterKeys;
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::{Store, failure};

haft_core::templates! {
    TOO_MANY = "store.tooManyAlerts",
        "The space has {most} alerts, which is the maximum. Delete one first.",
        "每个空间最多 {most} 个告警；请先删除一个";
}

/// Maximum number of alerts per space. Each is evaluated every few seconds.
pub const MAX_ALERTS: u64 = 100;

/// A `SELECT` from `alerts` with the columns in the order that [`alert`] reads.
macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT id, space_id, owner_id, doc, version, created_at, updated_at, step, turns, notified,
                    above_since, seen_above_at, value, fired_at, resolved_at, webhook_error,
                    webhook_key, webhook FROM alerts ",
            $which
        )
    };
}

const BY_ID: &str = select!("WHERE space_id = $1 AND id = $2");

const COUNT: &str = "SELECT COUNT(*) FROM alerts WHERE space_id = $1";

/// Reads an alert. Fails if its webhook cannot be decrypted.
fn alert(keys: &MasterKeys, row: &Row) -> Result<Alert, CallError> {
    read(row, webhook(keys, row)?)
}

/// Reads an alert for display. A webhook that cannot be decrypted is masked, and a warning is logged.
fn masked_alert(keys: &MasterKeys, row: &Row) -> Result<Alert, CallError> {
    let webhook = match webhook(keys, row) {
        Ok(webhook) => webhook,
        Err(error) => {
            let id = row.text(0)?;
            tracing::warn!(alert = id, cause = %error, "The webhook of a stored alert cannot be decrypted");
            Some(MASKED.to_owned())
        }
    };
    read(row, webhook)
}

fn webhook(keys: &MasterKeys, row: &Row) -> Result<Option<String>, CallError> {
    let (Some(key_id), Some(blob)) = (row.maybe_text(16)?, row.maybe_bytes(17)?) else { return Ok(None) };
    let opened = open(keys, [&row.text(1)?, &row.text(0)?], &Sealed { key_id, blob })?;
    Ok(Some(opened.expose_secret().to_owned()))
}

fn read(row: &Row, webhook: Option<String>) -> Result<Alert, CallError> {
    let spec: AlertSpec = row.json(3)?;
    let spec = AlertSpec { webhook: webhook.or(spec.webhook), ..spec };
    let value = row.maybe_text(12)?.map(|text| text.parse::<f64>().map_err(failure::unreadable));
    Ok(Alert {
        id: row.id(0)?,
        space_id: row.id(1)?,
        owner_id: row.maybe_id(2)?,
        spec,
        version: row.number(4)?,
        created_at: row.time(5)?,
        updated_at: row.time(6)?,
        standing: AlertEvaluation {
            step: row.number(7)?,
            turns: row.number(8)?,
            told: row.number(9)?,
            above_since: row.maybe_time(10)?,
            seen_above_at: row.maybe_time(11)?,
            value: value.transpose()?,
            fired_at: row.maybe_time(13)?,
            resolved_at: row.maybe_time(14)?,
            webhook_error: row.maybe_text(15)?,
        },
    })
}

impl Store {
    /// Creates an alert. Fails if the space has the maximum number of alerts.
    pub async fn create_alert(
        &self,
        space: SpaceId,
        owner: Option<UserId>,
        spec: AlertSpec,
    ) -> Result<Alert, CallError> {
        let mut change = self.change_for_listeners(space).await?;
        let alert = add(self, &mut change, space, owner, spec).await?;
        change.commit().await?;
        Ok(alert)
    }

    /// Fails if the space already has the maximum number of alerts.
    pub async fn check_alert_limit(&self, space: SpaceId) -> Result<(), CallError> {
        check_limit(self.db().row(COUNT, args![space]).await?)
    }

    /// Returns an alert. A webhook that cannot be decrypted is masked.
    pub async fn get_alert(&self, space: SpaceId, id: AlertId) -> Result<Option<Alert>, CallError> {
        let row = self.db().row(BY_ID, args![space, id]).await?;
        row.map(|row| masked_alert(self.keys(), &row)).transpose()
    }

    /// Lists alerts by creation time.
    pub async fn list_alerts(
        &self,
        space: SpaceId,
        page: &Page,
    ) -> Result<(Vec<Alert>, Option<String>), CallError> {
        let (_, id) = page.start_key()?;
        let rows = self.db().rows(
            select!("WHERE space_id = $1 AND id > $2 ORDER BY id LIMIT $3"),
            args![space, id, page.rows()],
        );
        let alerts: Result<Vec<Alert>, CallError> =
            rows.await?.iter().map(|row| masked_alert(self.keys(), row)).collect();
        Ok(page.cut(alerts?, |alert| ("", alert.id.to_string())))
    }

    /// Replaces the definition of an alert. Its state is preserved, but earlier measurements are discarded if
    /// the condition changed.
    pub async fn put_alert(
        &self,
        space: SpaceId,
        id: AlertId,
        spec: AlertSpec,
        expected: u64,
    ) -> Result<Alert, CallError> {
        let mut change = self.change_for_listeners(space).await?;
        let after = replace(self, &mut change, space, id, spec, expected).await?;
        change.commit().await?;
        Ok(after)
    }

    /// Deletes an alert. A firing alert is deleted without a `resolved` event.
    pub async fn delete_alert(
        &self,
        space: SpaceId,
        id: AlertId,
        expected: Option<u64>,
    ) -> Result<(), CallError> {
        let mut change = self.change_for_listeners(space).await?;
        remove(self, &mut change, space, id, expected).await?;
        change.commit().await
    }

    /// Returns the alerts of all spaces, because each evaluator watches the whole installation. An alert that
    /// cannot be read is skipped, and a warning is logged.
    pub async fn list_all_alerts(&self) -> Result<Vec<Alert>, CallError> {
        let rows = self.db().rows(select!("ORDER BY space_id, id"), args![]).await?;
        let mut alerts = Vec::with_capacity(rows.len());
        for row in rows {
            match alert(self.keys(), &row) {
                Ok(alert) => alerts.push(alert),
                Err(error) => {
                    let id = row.text(0)?;
                    tracing::warn!(alert = id, cause = %error, "A stored alert cannot be read");
                }
            }
        }
        Ok(alerts)
    }

    /// Applies a step to an alert if its state is still `before`, and returns the new state. Returns `None`
    /// if another process was faster. `Fire` and `Resolve` are written to the history in the same
    /// transaction.
    pub async fn step_alert(
        &self,
        space: SpaceId,
        before: &Alert,
        step: AlertTransition,
        value: Option<f64>,
        at: Timestamp,
    ) -> Result<Option<Alert>, CallError> {
        let after = before.apply(step, value, at);
        let action = match step {
            AlertTransition::Fire => Action::Fired,
            AlertTransition::Resolve => Action::Resolved,
            // These steps are frequent and of no interest to subscribers of the feed.
            AlertTransition::Rise | AlertTransition::Hold | AlertTransition::Fall => {
                let mut tx = self.db().begin().await?;
                let is_first = write_state(&mut tx, space, before, &after).await?;
                tx.commit().await?;
                return Ok(is_first.then_some(after));
            }
        };
        let mut change = self.change_for_listeners(space).await?;
        if !write_state(&mut change.tx, space, before, &after).await? {
            return Ok(None);
        }
        let AlertSpec { metric, tool, above, for_seconds, .. } = &after.spec;
        let details = json!({
            "metric": metric,
            "tool": tool,
            "above": number(*above),
            "forSeconds": for_seconds,
            "value": value.map(number),
        });
        change.note(history_note(&after, action, details)).await?;
        change.commit().await?;
        Ok(Some(after))
    }

    /// Claims the notification of an alert's current state. Returns false if another process has claimed it
    /// or the state has changed. Delivery is at most once: if the process crashes after claiming, nothing is
    /// sent.
    pub async fn claim_notification(&self, space: SpaceId, alert: &Alert) -> Result<bool, CallError> {
        let AlertEvaluation { turns, told, .. } = alert.standing;
        let mut tx = self.db().begin().await?;
        let claimed = tx.run(
            "UPDATE alerts SET notified = $3 WHERE space_id = $1 AND id = $2 AND turns = $3 AND notified = $4",
            args![space, alert.id, turns, told],
        );
        let is_ours = claimed.await? > 0;
        tx.commit().await?;
        Ok(is_ours)
    }

    /// Stores the result of a notification, unless a later notification was claimed.
    pub async fn record_notification(
        &self,
        space: SpaceId,
        id: AlertId,
        turn: u64,
        error: Option<String>,
    ) -> Result<(), CallError> {
        let mut tx = self.db().begin().await?;
        let update = tx.run(
            "UPDATE alerts SET webhook_error = $4 WHERE space_id = $1 AND id = $2 AND notified = $3",
            args![space, id, turn, error],
        );
        update.await?;
        tx.commit().await
    }
}

/// Inserts an alert within a change.
pub(crate) async fn add(
    store: &Store,
    change: &mut Change<'_>,
    space: SpaceId,
    owner: Option<UserId>,
    spec: AlertSpec,
) -> Result<Alert, CallError> {
    let now = now();
    let alert = Alert {
        id: AlertId::from(Uuid::now_v7()),
        space_id: space,
        owner_id: owner,
        spec,
        version: 1,
        created_at: now,
        updated_at: now,
        standing: AlertEvaluation::default(),
    };
    check_limit(change.tx.row(COUNT, args![space]).await?)?;
    let (key, webhook) = seal(store.keys(), space, alert.id, &alert.spec)?;
    let insert = change.tx.run(
        "INSERT INTO alerts
             (id, space_id, owner_id, doc, version, created_at, updated_at, step, turns, notified, webhook_key, webhook)
         VALUES ($1, $2, $3, $4, 1, $5, $5, 0, 0, 0, $6, $7)",
        args![alert.id, space, owner, doc(&alert.spec)?, now, key, webhook],
    );
    insert.await?;
    change.note(history_note(&alert, Action::Created, json!({}))).await?;
    Ok(alert)
}

/// Replaces the definition of an alert within a change.
pub(crate) async fn replace(
    store: &Store,
    change: &mut Change<'_>,
    space: SpaceId,
    id: AlertId,
    spec: AlertSpec,
    expected: u64,
) -> Result<Alert, CallError> {
    let before = get(store, &mut change.tx, space, id).await?;
    failure::check_version(before.spec.title(), before.version, expected)?;
    let update = change.tx.run(
        "UPDATE alerts SET doc = $3, version = $4, updated_at = $5, step = step + 1
         WHERE space_id = $1 AND id = $2",
        args![space, id, doc(&spec)?, before.version + 1, now()],
    );
    update.await?;
    if spec.webhook.as_deref() != Some(MASKED) {
        // A masked webhook is one that could not be decrypted; the stored ciphertext is preserved.
        let (key, webhook) = seal(store.keys(), space, id, &spec)?;
        let sql = "UPDATE alerts SET webhook_key = $3, webhook = $4 WHERE space_id = $1 AND id = $2";
        change.tx.run(sql, args![space, id, key, webhook]).await?;
    }
    if !spec.has_same_condition(&before.spec) {
        let sql = "UPDATE alerts SET above_since = NULL, seen_above_at = NULL
                   WHERE space_id = $1 AND id = $2";
        change.tx.run(sql, args![space, id]).await?;
    }
    if spec.webhook != before.spec.webhook {
        let sql = "UPDATE alerts SET webhook_error = NULL WHERE space_id = $1 AND id = $2";
        change.tx.run(sql, args![space, id]).await?;
    }
    let after = get(store, &mut change.tx, space, id).await?;
    let details = json!({"changed": changed_fields(&before.spec, &after.spec)});
    change.note(history_note(&after, Action::Updated, details)).await?;
    Ok(after)
}

/// Deletes an alert within a change.
pub(crate) async fn remove(
    store: &Store,
    change: &mut Change<'_>,
    space: SpaceId,
    id: AlertId,
    expected: Option<u64>,
) -> Result<(), CallError> {
    let before = get(store, &mut change.tx, space, id).await?;
    if let Some(expected) = expected {
        failure::check_version(before.spec.title(), before.version, expected)?;
    }
    change.tx.run("DELETE FROM alerts WHERE space_id = $1 AND id = $2", args![space, id]).await?;
    change.note(history_note(&before, Action::Deleted, json!({}))).await
}

/// Encrypts webhooks that an older version stored in plain text in `doc`.
pub(crate) async fn encrypt_plain_webhooks(db: &Db, keys: &MasterKeys) -> Result<(), CallError> {
    let sql =
        r#"SELECT id, space_id, doc FROM alerts WHERE webhook_key IS NULL AND doc LIKE '%"webhook":"%'"#;
    let rows = db.rows(sql, args![]).await?;
    if rows.is_empty() {
        return Ok(());
    }
    let mut tx = db.begin().await?;
    if let Tx::Sqlite(_) = &tx {
        // Zero freed pages, so that no plain URL remains in the file.
        tx.script("PRAGMA secure_delete = ON").await?;
    }
    for row in rows {
        // Skip documents that cannot be read; `list_all_alerts` logs them.
        let Ok(spec) = row.json::<AlertSpec>(2) else { continue };
        let (key, webhook) = seal(keys, row.id(1)?, row.id(0)?, &spec)?;
        // The condition on `doc` fails if another process has changed or encrypted it since.
        let sql = "UPDATE alerts SET doc = $3, webhook_key = $4, webhook = $5 WHERE id = $1 AND doc = $2";
        tx.run(sql, args![row.text(0)?, row.text(2)?, doc(&spec)?, key, webhook]).await?;
    }
    tx.commit().await
}

/// Re-encrypts webhooks under the current key, and returns their number.
pub(crate) async fn rotate_webhook_keys(db: &Db, keys: &MasterKeys) -> Result<u64, CallError> {
    let rows = db.rows(
        "SELECT id, space_id, webhook_key, webhook FROM alerts WHERE webhook_key <> $1",
        args![keys.ring().current.id()],
    );
    let mut moved = 0;
    let mut tx = db.begin().await?;
    for row in rows.await? {
        let (id, space) = (row.text(0)?, row.text(1)?);
        let old = Sealed { key_id: row.text(2)?, blob: row.bytes(3)? };
        let opened = open(keys, [&space, &id], &old)?;
        let new = crypt::seal(&keys.ring(), &associated_data([&space, &id]), &opened)?;
        let sql = "UPDATE alerts SET webhook_key = $2, webhook = $3 WHERE id = $1 AND webhook = $4";
        moved += tx.run(sql, args![id, new.key_id, new.blob, old.blob]).await?;
    }
    tx.commit().await?;
    Ok(moved)
}

/// Encrypts the webhook of an alert; returns the key id and the ciphertext to store.
fn seal(
    keys: &MasterKeys,
    space: SpaceId,
    id: AlertId,
    spec: &AlertSpec,
) -> Result<(Option<String>, Option<Vec<u8>>), CallError> {
    let Some(webhook) = &spec.webhook else { return Ok((None, None)) };
    let (space, id) = (space.to_string(), id.to_string());
    let sealed =
        crypt::seal(&keys.ring(), &associated_data([&space, &id]), &SecretString::from(webhook.as_str()))?;
    Ok((Some(sealed.key_id), Some(sealed.blob)))
}

fn open(keys: &MasterKeys, [space, id]: [&str; 2], sealed: &Sealed) -> Result<SecretString, CallError> {
    crypt::open(&keys.ring_with(&sealed.key_id), &associated_data([space, id]), sealed)
}

/// Associated data that binds the ciphertext to its alert. Secrets cannot collide: their owner part is empty
/// or an id.
fn associated_data([space, id]: [&str; 2]) -> [&str; 3] {
    [space, "alert", id]
}

async fn get(store: &Store, tx: &mut Tx, space: SpaceId, id: AlertId) -> Result<Alert, CallError> {
    let row = tx.row(BY_ID, args![space, id]).await?;
    masked_alert(store.keys(), &row.ok_or_else(|| failure::not_found(&failure::ALERT, id))?)
}

/// Writes the new state of an alert. Returns false if the stored state is no longer `before`.
async fn write_state(tx: &mut Tx, space: SpaceId, before: &Alert, after: &Alert) -> Result<bool, CallError> {
    let standing = &after.standing;
    let written = tx.run(
        "UPDATE alerts SET step = $4, turns = $5, above_since = $6, seen_above_at = $7, value = $8,
                fired_at = $9, resolved_at = $10
         WHERE space_id = $1 AND id = $2 AND step = $3",
        args![
            space,
            before.id,
            before.standing.step,
            standing.step,
            standing.turns,
            standing.above_since,
            standing.seen_above_at,
            standing.value.map(|value| value.to_string()),
            standing.fired_at,
            standing.resolved_at
        ],
    );
    Ok(written.await? > 0)
}

fn check_limit(count: Option<Row>) -> Result<(), CallError> {
    let count = count.ok_or_else(|| failure::unreadable("no count"))?.number(0)?;
    if count < MAX_ALERTS {
        return Ok(());
    }
    Err(CallError::new(ErrorKind::Conflict, Message::new(&TOO_MANY).with("most", MAX_ALERTS)))
}

/// Serializes the definition without the webhook, which is stored in a separate column.
fn doc(spec: &AlertSpec) -> Result<String, CallError> {
    serde_json::to_string(&AlertSpec { webhook: None, ..spec.clone() }).map_err(failure::unreadable)
}

/// Returns the history entry for a change of an alert. The webhook is omitted because it may contain a
/// credential.
fn history_note(alert: &Alert, action: Action, details: Value) -> Note {
    let (id, name) = (alert.id.to_string(), alert.spec.title().to_owned());
    Note { what: What::Alert, action, id, name, version: Some(alert.version), details }
}
