//! Alerts of a space, and the steps by which they fire and resolve: once each, however many processes watch.
//!
//! What an alert measures and who is told never lives here.

use haft_core::alert::{Alert, AlertSpec, Standing, Step, number};
use haft_core::id::AlertId;
use haft_core::{CallError, ErrorKind, Message, SpaceId, UserId};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::db::{Tx, args};
use crate::history::{Action, Note, What, changed};
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::{Store, failure};

haft_core::templates! {
    TOO_MANY = "store.tooManyAlerts",
        "a space has at most {most} alerts; delete one first",
        "每个空间最多 {most} 个告警；请先删除一个";
}

/// A space has no more: each is looked at every few seconds.
const MOST: u64 = 100;

/// A statement for alerts, with the columns in the order in which [`alert`] reads them.
macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT id, space_id, owner_id, doc, version, created_at, updated_at, step, turns, told,
                    above_since, seen_above_at, value, fired_at, resolved_at, webhook_error FROM alerts ",
            $which
        )
    };
}

const BY_ID: &str = select!("WHERE space_id = $1 AND id = $2");

const COUNT: &str = "SELECT COUNT(*) FROM alerts WHERE space_id = $1";

fn alert(row: &Row) -> Result<Alert, CallError> {
    let value = row.maybe_text(12)?.map(|text| text.parse::<f64>().map_err(failure::unreadable));
    Ok(Alert {
        id: row.id(0)?,
        space_id: row.id(1)?,
        owner_id: row.maybe_id(2)?,
        spec: row.json(3)?,
        version: row.number(4)?,
        created_at: row.time(5)?,
        updated_at: row.time(6)?,
        standing: Standing {
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
    pub async fn create_alert(
        &self,
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
            standing: Standing::default(),
        };
        let mut change = self.change_for_listeners(space).await?;
        check_room(change.tx.row(COUNT, args![space]).await?)?;
        let added = change.tx.run(
            "INSERT INTO alerts
                 (id, space_id, owner_id, doc, version, created_at, updated_at, step, turns, told)
             VALUES ($1, $2, $3, $4, 1, $5, $5, 0, 0, 0)",
            args![alert.id, space, owner, doc(&alert.spec)?, now],
        );
        added.await?;
        change.note(noted(&alert, Action::Created, json!({}))).await?;
        change.commit().await?;
        Ok(alert)
    }

    /// Says when a space has as many as it may.
    pub async fn check_room_for_alert(&self, space: SpaceId) -> Result<(), CallError> {
        check_room(self.db().row(COUNT, args![space]).await?)
    }

    pub async fn get_alert(&self, space: SpaceId, id: AlertId) -> Result<Option<Alert>, CallError> {
        self.db().row(BY_ID, args![space, id]).await?.map(|row| alert(&row)).transpose()
    }

    /// In the order in which they were made.
    pub async fn list_alerts(
        &self,
        space: SpaceId,
        page: &Page,
    ) -> Result<(Vec<Alert>, Option<String>), CallError> {
        let (_, id) = page.after()?;
        let rows = self.db().rows(
            select!("WHERE space_id = $1 AND id > $2 ORDER BY id LIMIT $3"),
            args![space, id, page.rows()],
        );
        let alerts: Result<Vec<Alert>, CallError> = rows.await?.iter().map(alert).collect();
        Ok(page.cut(alerts?, |alert| ("", alert.id.to_string())))
    }

    /// Replaces what was written. How it stands stays, but what was seen for another question counts for
    /// nothing.
    pub async fn put_alert(
        &self,
        space: SpaceId,
        id: AlertId,
        spec: AlertSpec,
        expected: u64,
    ) -> Result<Alert, CallError> {
        let mut change = self.change_for_listeners(space).await?;
        let before = get(&mut change.tx, space, id).await?;
        failure::check_version(before.spec.title(), before.version, expected)?;
        let kept = change.tx.run(
            "UPDATE alerts SET doc = $3, version = $4, updated_at = $5, step = step + 1
             WHERE space_id = $1 AND id = $2",
            args![space, id, doc(&spec)?, before.version + 1, now()],
        );
        kept.await?;
        if !spec.asks_the_same(&before.spec) {
            let sql = "UPDATE alerts SET above_since = NULL, seen_above_at = NULL
                       WHERE space_id = $1 AND id = $2";
            change.tx.run(sql, args![space, id]).await?;
        }
        if spec.webhook != before.spec.webhook {
            let sql = "UPDATE alerts SET webhook_error = NULL WHERE space_id = $1 AND id = $2";
            change.tx.run(sql, args![space, id]).await?;
        }
        let after = get(&mut change.tx, space, id).await?;
        let details = json!({"changed": changed(&before.spec, &after.spec)});
        change.note(noted(&after, Action::Updated, details)).await?;
        change.commit().await?;
        Ok(after)
    }

    /// Deletes an alert. One that fires is gone without having resolved.
    pub async fn delete_alert(
        &self,
        space: SpaceId,
        id: AlertId,
        expected: Option<u64>,
    ) -> Result<(), CallError> {
        let mut change = self.change_for_listeners(space).await?;
        let before = get(&mut change.tx, space, id).await?;
        if let Some(expected) = expected {
            failure::check_version(before.spec.title(), before.version, expected)?;
        }
        change.tx.run("DELETE FROM alerts WHERE space_id = $1 AND id = $2", args![space, id]).await?;
        change.note(noted(&before, Action::Deleted, json!({}))).await?;
        change.commit().await
    }

    /// Every alert there is: whoever watches does so for the whole installation, and asks once for all
    /// spaces. One that cannot be read is left out, and logged.
    pub async fn every_alert(&self) -> Result<Vec<Alert>, CallError> {
        let rows = self.db().rows(select!("ORDER BY space_id, id"), args![]).await?;
        let mut alerts = Vec::with_capacity(rows.len());
        for row in rows {
            match alert(&row) {
                Ok(alert) => alerts.push(alert),
                Err(error) => {
                    let id = row.text(0)?;
                    tracing::warn!(alert = id, cause = %error, "A stored alert cannot be read");
                }
            }
        }
        Ok(alerts)
    }

    /// Takes a step from how an alert was read, and gives it as it stands then; nothing when somebody else
    /// was first. That it fires or resolves is on record in the same transaction.
    pub async fn step_alert(
        &self,
        space: SpaceId,
        before: &Alert,
        step: Step,
        value: Option<f64>,
        at: Timestamp,
    ) -> Result<Option<Alert>, CallError> {
        let after = before.after(step, value, at);
        let action = match step {
            Step::Fire => Action::Fired,
            Step::Resolve => Action::Resolved,
            // Whoever follows changes has no use for these, and they come often.
            Step::Rise | Step::Hold | Step::Fall => {
                let mut tx = self.db().begin().await?;
                let is_first = stand(&mut tx, space, before, &after).await?;
                tx.commit().await?;
                return Ok(is_first.then_some(after));
            }
        };
        let mut change = self.change_for_listeners(space).await?;
        if !stand(&mut change.tx, space, before, &after).await? {
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
        change.note(noted(&after, action, details)).await?;
        change.commit().await?;
        Ok(Some(after))
    }

    /// Takes it upon oneself to tell how an alert stands; false when somebody else did, or when it stands
    /// otherwise by now. Whoever is told so and ends before having told it has told nobody.
    pub async fn claim_telling(&self, space: SpaceId, alert: &Alert) -> Result<bool, CallError> {
        let Standing { turns, told, .. } = alert.standing;
        let mut tx = self.db().begin().await?;
        let claimed = tx.run(
            "UPDATE alerts SET told = $3 WHERE space_id = $1 AND id = $2 AND turns = $3 AND told = $4",
            args![space, alert.id, turns, told],
        );
        let is_ours = claimed.await? > 0;
        tx.commit().await?;
        Ok(is_ours)
    }

    /// Notes what came of telling a turn, unless another was told since.
    pub async fn note_telling(
        &self,
        space: SpaceId,
        id: AlertId,
        turn: u64,
        error: Option<String>,
    ) -> Result<(), CallError> {
        let mut tx = self.db().begin().await?;
        let noted = tx.run(
            "UPDATE alerts SET webhook_error = $4 WHERE space_id = $1 AND id = $2 AND told = $3",
            args![space, id, turn, error],
        );
        noted.await?;
        tx.commit().await
    }
}

async fn get(tx: &mut Tx, space: SpaceId, id: AlertId) -> Result<Alert, CallError> {
    let row = tx.row(BY_ID, args![space, id]).await?;
    alert(&row.ok_or_else(|| failure::not_found(&failure::ALERT, id))?)
}

/// Writes how an alert stands, if it still stands as it did before.
async fn stand(tx: &mut Tx, space: SpaceId, before: &Alert, after: &Alert) -> Result<bool, CallError> {
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

fn check_room(count: Option<Row>) -> Result<(), CallError> {
    let count = count.ok_or_else(|| failure::unreadable("no count"))?.number(0)?;
    if count < MOST {
        return Ok(());
    }
    Err(CallError::new(ErrorKind::Conflict, Message::new(&TOO_MANY).with("most", MOST)))
}

fn doc(spec: &AlertSpec) -> Result<String, CallError> {
    serde_json::to_string(spec).map_err(failure::unreadable)
}

/// What is put on record of an alert: never its webhook, which may be a credential.
fn noted(alert: &Alert, action: Action, details: Value) -> Note {
    let (id, name) = (alert.id.to_string(), alert.spec.title().to_owned());
    Note { what: What::Alert, action, id, name, version: Some(alert.version), details }
}
