//! What people say about runs: end it, try it again, this is what became of it, yes or no. Each is on record.

use haft_core::{CallError, ErrorKind, Message, RunId, SpaceId, Template, UserId};
use haft_runs::{Ended, Lease, Run, RunStatus};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::hold::{deliver, tell};
use super::row::{NEVER, by_id, run, run_columns};
use super::writer::CHANNEL;
use super::{RunJournal, notice};
use crate::db::{Arg, Tx, args};
use crate::failure;
use crate::history::{Action, Note, What};

haft_core::templates! {
    ENDED = "runs.ended",
        "the task has ended already: {status}",
        "任务已结束：{status}";
    NOT_ENDED = "runs.notEnded",
        "the task has not ended yet: {status}; only one that failed, was cancelled or is unknown can be tried again",
        "任务尚未结束：{status}；只有失败、已取消或状态未知的任务才能重试";
    NOT_UNKNOWN = "runs.notUnknown",
        "only a task whose outcome is not known can be resolved; this one is {status}",
        "只有结果未知的任务才能人工确认；该任务状态为 {status}";
    DECIDED = "runs.decided",
        "this was decided already, or its time is over",
        "该审批已处理或已过期";
}

async fn locked(tx: &mut Tx, space: SpaceId, id: RunId) -> Result<Option<Run>, CallError> {
    let sql = match tx {
        Tx::Sqlite(_) => by_id!(""),
        Tx::Postgres(_) => by_id!(" FOR UPDATE"),
    };
    tx.row(sql, args![space, id]).await?.map(|row| run(&row)).transpose()
}

fn conflict(template: &'static Template, status: RunStatus) -> CallError {
    let message = Message::new(template).with("status", status.as_str());
    CallError::new(ErrorKind::Conflict, message).detail("status", status.as_str())
}

/// Something that a person said, as it goes on record.
struct Said {
    what: What,
    action: Action,
    details: Value,
}

impl RunJournal {
    /// Has a person say something about a run: read under a lock, changed, noted, and told to whoever waits.
    async fn said(
        &self,
        space: SpaceId,
        id: RunId,
        by: Option<UserId>,
        thing: &'static Template,
        say: impl AsyncFnOnce(&mut Tx, Timestamp, &Run) -> Result<Said, CallError>,
    ) -> Result<Run, CallError> {
        let store = self.0.store.acting_for(by);
        let mut change = store.change_for_listeners(space).await?;
        let now = self.0.clock.now(&mut change.tx).await?;
        let missing = || failure::not_found(thing, id);
        let before = locked(&mut change.tx, space, id).await?.ok_or_else(missing)?;
        let Said { what, action, details } = say(&mut change.tx, now, &before).await?;
        let name = before.about.name;
        change.note(Note { what, action, id: id.to_string(), name, version: None, details }).await?;
        let after = locked(&mut change.tx, space, id).await?;
        change.commit().await?;
        self.0.bell.ring();
        after.ok_or_else(missing)
    }

    /// Ends a run. One that waits ends at once, as `ended` says; one that is under way is told to.
    pub async fn cancel(
        &self,
        space: SpaceId,
        id: RunId,
        by: Option<UserId>,
        ended: Ended,
    ) -> Result<Run, CallError> {
        let after = self.said(space, id, by, &failure::TASK, async |tx, now, before| {
            if before.status.is_final() {
                return Err(conflict(&ENDED, before.status));
            }
            // Something was begun: whoever claims it, at once, says what is known of it.
            let begun = "SELECT 1 FROM run_steps WHERE run_id = $1 AND waits_for IS NULL";
            let is_begun = tx.row(begun, args![id]).await?.is_some();
            if before.status == RunStatus::Running || is_begun {
                let sql = "UPDATE runs SET cancel_asked = 1, changed_at = $2 WHERE id = $1";
                tx.run(sql, args![id, now]).await?;
                let sql = "UPDATE runs SET status = 'queued', due_at = $2, waiting_for = NULL
                           WHERE id = $1 AND status IN ('waiting', 'scheduled')";
                tx.run(sql, args![id, now]).await?;
                if let Tx::Postgres(_) = tx {
                    let held = Lease { run: id, epoch: before.epoch };
                    tx.run("SELECT pg_notify($1, $2)", args![CHANNEL, notice(held)]).await?;
                }
            } else {
                end(tx, id, now, &ended).await?;
            }
            Ok(Said { what: What::Task, action: Action::Cancelled, details: json!({}) })
        });
        let after = after.await?;
        if !after.status.is_final() {
            self.0.bell.cancel(Lease { run: id, epoch: after.epoch });
        }
        Ok(after)
    }

    /// Has a run end what it does, and stay: a conversation whose answer nobody wants any more.
    pub async fn stop(&self, space: SpaceId, id: RunId) -> Result<bool, CallError> {
        let mut tx = self.db().begin().await?;
        let now = self.0.clock.now(&mut tx).await?;
        let sql = "UPDATE runs SET cancel_asked = 1, changed_at = $3,
                       due_at = CASE WHEN status = 'waiting' THEN $3 ELSE due_at END,
                       status = CASE WHEN status = 'waiting' THEN 'queued' ELSE status END
                   WHERE space_id = $1 AND id = $2 AND ended_at IS NULL
                       AND NOT (status = 'waiting' AND waiting_for = 'inbox') RETURNING epoch";
        // One that is at rest does nothing that could end.
        let Some(row) = tx.row(sql, args![space, id, now]).await? else { return Ok(false) };
        let held = Lease { run: id, epoch: row.number(0)? };
        if let Tx::Postgres(_) = &tx {
            tx.run("SELECT pg_notify($1, $2)", args![CHANNEL, notice(held)]).await?;
        }
        tx.commit().await?;
        self.0.bell.cancel(held);
        self.0.bell.ring();
        Ok(true)
    }

    /// Queues a run again that failed, was cancelled or is unknown, with `input` in place of its own. Steps named in
    /// `anew` are executed again.
    pub async fn retry(
        &self,
        space: SpaceId,
        id: RunId,
        by: UserId,
        input: &Value,
        anew: &[&str],
    ) -> Result<Run, CallError> {
        let sealed = self.0.store.seal_arguments((space, id), input)?;
        let input = sealed.as_ref().unwrap_or(input).to_string();
        let after = self.said(space, id, Some(by), &failure::TASK, async |tx, now, before| {
            match before.status {
                RunStatus::Failed | RunStatus::Cancelled | RunStatus::Unknown => {}
                RunStatus::Succeeded => return Err(conflict(&ENDED, before.status)),
                RunStatus::Queued | RunStatus::Scheduled | RunStatus::Running | RunStatus::Waiting => {
                    return Err(conflict(&NOT_ENDED, before.status));
                }
            }
            // What else it did stays done; what nobody knows of, and pauses before it, are gone.
            for key in anew {
                tx.run("DELETE FROM run_steps WHERE run_id = $1 AND key = $2", args![id, *key]).await?;
            }
            let sql = "DELETE FROM run_steps WHERE run_id = $1 AND (state <> 'done' OR expired = 1 OR waits_for = 'retry')";
            tx.run(sql, args![id]).await?;
            let sql =
                "UPDATE runs SET status = 'queued', due_at = $2, deaths = 0, cancel_asked = 0, dead_letter = 0,
                              output = NULL, progress = NULL, ended_at = NULL, changed_at = $2, input = $3
                       WHERE id = $1";
            tx.run(sql, args![id, now, input]).await?;
            let details = json!({"was": before.status});
            Ok(Said { what: What::Task, action: Action::Retried, details })
        });
        after.await
    }

    /// Says what became of a run of which nobody knew.
    pub async fn resolve(
        &self,
        space: SpaceId,
        id: RunId,
        by: Option<UserId>,
        ended: Ended,
    ) -> Result<Run, CallError> {
        let after = self.said(space, id, by, &failure::TASK, async |tx, now, before| {
            if before.status != RunStatus::Unknown {
                return Err(conflict(&NOT_UNKNOWN, before.status));
            }
            end(tx, id, now, &ended).await?;
            let details = json!({"status": ended.status});
            Ok(Said { what: What::Task, action: Action::Resolved, details })
        });
        after.await
    }

    /// Answers a step that waits for a person.
    pub async fn decide(
        &self,
        space: SpaceId,
        id: RunId,
        by: Option<UserId>,
        is_approved: bool,
        answer: (&str, Value),
    ) -> Result<Run, CallError> {
        let (key, value) = answer;
        let stored = self.0.store.seal_arguments((space, id), &value)?;
        let stored = stored.as_ref().unwrap_or(&value).to_string();
        let after = self.said(space, id, by, &failure::APPROVAL, async |tx, now, _| {
            let sql = "SELECT 1 FROM run_steps WHERE run_id = $1 AND key = $2 AND (until_at IS NULL OR until_at > $3)";
            let is_in_time = tx.row(sql, args![id, key, now]).await?.is_some();
            if !is_in_time || !deliver(tx, now, id, key, &stored).await? {
                return Err(CallError::new(ErrorKind::Conflict, Message::new(&DECIDED)));
            }
            let mut details = json!({});
            for field in ["note", "byLink"] {
                if let Some(said) = value.get(field).filter(|said| !said.is_null()) {
                    details[field] = said.clone();
                }
            }
            if value.get("arguments").is_some_and(|arguments| !arguments.is_null()) {
                details["edited"] = true.into();
            }
            let action = if is_approved { Action::Approved } else { Action::Denied };
            Ok(Said { what: What::Approval, action, details })
        });
        after.await
    }
}

async fn end(tx: &mut Tx, id: RunId, now: Timestamp, ended: &Ended) -> Result<(), CallError> {
    let sql = "UPDATE runs SET status = $2, output = $3, dead_letter = $4, ended_at = $5, changed_at = $5,
                      due_at = $6, claimed_by = NULL, waiting_for = NULL
               WHERE id = $1 RETURNING parent_id, parent_step";
    let output = ended.output.to_string();
    let never = Arg::Int(Some(NEVER));
    let values = args![id, ended.status.as_str(), &output, ended.is_dead_letter, now, never];
    let row = tx.row(sql, values).await?;
    let sql = "UPDATE run_steps SET state = 'done', expired = 1, ended_at = $2 WHERE run_id = $1 AND state = 'waiting'";
    tx.run(sql, args![id, now]).await?;
    let Some(row) = row else { return Ok(()) };
    if let (Some(parent), Some(step)) = (row.maybe_id::<RunId>(0)?, row.maybe_text(1)?) {
        tell(tx, now, (parent, &step), (id, ended)).await?;
    }
    Ok(())
}
