//! Decisions of people about runs: cancel, retry, resolve, approve or deny. Each decision is recorded in the history.

use haft_core::{CallError, ErrorKind, Message, RunId, SpaceId, Template, UserId};
use haft_runs::{Lease, Run, RunEnd, RunSignal, RunStatus};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::RunJournal;
use super::finish::{Delivered, deliver, deliver_end};
use super::notifications::payload;
use super::row::{NEVER, by_id, run, run_columns};
use super::writer::CHANNEL;
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
        "only a task whose outcome is unknown can be resolved; the status of this task is {status}",
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

/// A decision in the form in which the history records it.
struct Decided {
    what: What,
    action: Action,
    details: Value,
    /// A run that a worker executes, and one of whose waits ended with the decision.
    changed: Option<RunId>,
}

impl RunJournal {
    /// Makes a decision about a run: reads the run under a lock, changes it, records that, and notifies workers.
    async fn decide_about(
        &self,
        space: SpaceId,
        id: RunId,
        by: Option<UserId>,
        thing: &'static Template,
        change_run: impl AsyncFnOnce(&mut Tx, Timestamp, &Run) -> Result<Decided, CallError>,
    ) -> Result<Run, CallError> {
        let store = self.0.store.acting_for(by);
        let mut change = store.change_for_listeners(space).await?;
        let now = self.0.clock.now(&mut change.tx).await?;
        let missing = || failure::not_found(thing, id);
        let before = locked(&mut change.tx, space, id).await?.ok_or_else(missing)?;
        let Decided { what, action, details, changed } = change_run(&mut change.tx, now, &before).await?;
        if let (Some(run), Tx::Postgres(_)) = (changed, &change.tx) {
            change
                .tx
                .run("SELECT pg_notify($1, $2)", args![CHANNEL, payload(RunSignal::Changed(run))])
                .await?;
        }
        let name = before.labels.name;
        change.note(Note { what, action, id: id.to_string(), name, version: None, details }).await?;
        let after = locked(&mut change.tx, space, id).await?;
        change.commit().await?;
        self.0.notifications.work();
        changed.into_iter().for_each(|run| self.0.notifications.send(RunSignal::Changed(run)));
        after.ok_or_else(missing)
    }

    /// Cancels a run. A run that has not begun ends at once with `end`; one that a worker executes, or that may have sent
    /// something, is ended by its program.
    pub async fn cancel(
        &self,
        space: SpaceId,
        id: RunId,
        by: Option<UserId>,
        end: RunEnd,
    ) -> Result<Run, CallError> {
        let after = self.decide_about(space, id, by, &failure::TASK, async |tx, now, before| {
            let mut changed = None;
            if before.status.is_final() {
                return Err(conflict(&ENDED, before.status));
            }
            // A run with a step that does work may have sent something. It is queued, and its program ends it.
            let own_steps = "SELECT 1 FROM run_steps WHERE run_id = $1 AND wait_kind IS NULL";
            let has_begun = tx.row(own_steps, args![id]).await?.is_some();
            if before.status == RunStatus::Running || has_begun {
                let sql = "UPDATE runs SET cancel_requested = 1, changed_at = $2 WHERE id = $1";
                tx.run(sql, args![id, now]).await?;
                let sql = "UPDATE runs SET status = 'queued', due_at = $2, waiting_for = NULL
                           WHERE id = $1 AND status IN ('waiting', 'scheduled')";
                tx.run(sql, args![id, now]).await?;
                if let Tx::Postgres(_) = tx {
                    let lease = Lease { run: id, epoch: before.epoch };
                    tx.run("SELECT pg_notify($1, $2)", args![CHANNEL, payload(RunSignal::Cancel(lease))])
                        .await?;
                }
            } else {
                changed = end_run(tx, id, now, &end).await?;
            }
            Ok(Decided { what: What::Task, action: Action::Cancelled, details: json!({}), changed })
        });
        let after = after.await?;
        if !after.status.is_final() {
            self.0.notifications.send(RunSignal::Cancel(Lease { run: id, epoch: after.epoch }));
        }
        Ok(after)
    }

    /// Cancels the current work of a lasting run, such as the turn of a conversation. Returns false if the run is
    /// idle or has ended.
    pub async fn stop(&self, space: SpaceId, id: RunId) -> Result<bool, CallError> {
        let mut tx = self.db().begin().await?;
        let now = self.0.clock.now(&mut tx).await?;
        let sql = "UPDATE runs SET cancel_requested = 1, changed_at = $3,
                       due_at = CASE WHEN status = 'waiting' THEN $3 ELSE due_at END,
                       status = CASE WHEN status = 'waiting' THEN 'queued' ELSE status END
                   WHERE space_id = $1 AND id = $2 AND ended_at IS NULL
                       AND NOT (status = 'waiting' AND waiting_for = 'inbox') RETURNING epoch";
        let Some(row) = tx.row(sql, args![space, id, now]).await? else { return Ok(false) };
        let lease = Lease { run: id, epoch: row.number(0)? };
        if let Tx::Postgres(_) = &tx {
            tx.run("SELECT pg_notify($1, $2)", args![CHANNEL, payload(RunSignal::Cancel(lease))]).await?;
        }
        tx.commit().await?;
        self.0.notifications.send(RunSignal::Cancel(lease));
        self.0.notifications.work();
        Ok(true)
    }

    /// Queues a run again that failed, was cancelled or is unknown, and replaces its input with `input`. Steps named in
    /// `repeated` are executed again.
    pub async fn retry(
        &self,
        space: SpaceId,
        id: RunId,
        by: UserId,
        input: &Value,
        repeated: &[&str],
    ) -> Result<Run, CallError> {
        let sealed = self.0.store.seal_arguments((space, id), input)?;
        let input = sealed.as_ref().unwrap_or(input).to_string();
        let after = self.decide_about(space, id, Some(by), &failure::TASK, async |tx, now, before| {
            match before.status {
                RunStatus::Failed | RunStatus::Cancelled | RunStatus::Unknown => {}
                RunStatus::Succeeded => return Err(conflict(&ENDED, before.status)),
                RunStatus::Queued | RunStatus::Scheduled | RunStatus::Running | RunStatus::Waiting => {
                    return Err(conflict(&NOT_ENDED, before.status));
                }
            }
            // Other results remain. Unknown and expired steps and pauses are removed.
            for key in repeated {
                tx.run("DELETE FROM run_steps WHERE run_id = $1 AND key = $2", args![id, *key]).await?;
            }
            let sql = "DELETE FROM run_steps WHERE run_id = $1 AND (state <> 'done' OR expired = 1 OR wait_kind = 'retry')";
            tx.run(sql, args![id]).await?;
            let sql =
                "UPDATE runs SET status = 'queued', due_at = $2, crashes = 0, cancel_requested = 0, dead_letter = 0,
                              output = NULL, progress = NULL, ended_at = NULL, changed_at = $2, input = $3
                       WHERE id = $1";
            tx.run(sql, args![id, now, input]).await?;
            let details = json!({"was": before.status});
            Ok(Decided { what: What::Task, action: Action::Retried, details, changed: None })
        });
        after.await
    }

    /// Ends a run whose outcome is unknown with the outcome that a person found out.
    pub async fn resolve(
        &self,
        space: SpaceId,
        id: RunId,
        by: Option<UserId>,
        end: RunEnd,
    ) -> Result<Run, CallError> {
        let after = self.decide_about(space, id, by, &failure::TASK, async |tx, now, before| {
            if before.status != RunStatus::Unknown {
                return Err(conflict(&NOT_UNKNOWN, before.status));
            }
            let changed = end_run(tx, id, now, &end).await?;
            let details = json!({"status": end.status});
            Ok(Decided { what: What::Task, action: Action::Resolved, details, changed })
        });
        after.await
    }

    /// Ends a step that waits for the decision of a person.
    pub async fn decide(
        &self,
        space: SpaceId,
        id: RunId,
        by: Option<UserId>,
        is_approved: bool,
        (key, value): (&str, Value),
    ) -> Result<Run, CallError> {
        let stored = self.0.store.seal_arguments((space, id), &value)?;
        let stored = stored.as_ref().unwrap_or(&value).to_string();
        let after = self.decide_about(space, id, by, &failure::APPROVAL, async |tx, now, _| {
            let sql = "SELECT 1 FROM run_steps WHERE run_id = $1 AND key = $2 AND (deadline_at IS NULL OR deadline_at > $3)";
            let is_in_time = tx.row(sql, args![id, key, now]).await?.is_some();
            let delivered = match is_in_time {
                true => deliver(tx, now, id, key, &stored).await?,
                false => Delivered::No,
            };
            let changed = match delivered {
                Delivered::No => return Err(CallError::new(ErrorKind::Conflict, Message::new(&DECIDED))),
                Delivered::ToSuspended => None,
                Delivered::ToExecuting => Some(id),
            };
            let mut details = json!({});
            for field in ["note", "byLink"] {
                if let Some(detail) = value.get(field).filter(|detail| !detail.is_null()) {
                    details[field] = detail.clone();
                }
            }
            if value.get("arguments").is_some_and(|arguments| !arguments.is_null()) {
                details["edited"] = true.into();
            }
            let action = if is_approved { Action::Approved } else { Action::Denied };
            Ok(Decided { what: What::Approval, action, details, changed })
        });
        after.await
    }
}

/// Ends a run that no worker executes. Returns its parent if a worker executes that.
async fn end_run(tx: &mut Tx, id: RunId, now: Timestamp, end: &RunEnd) -> Result<Option<RunId>, CallError> {
    let sql = "UPDATE runs SET status = $2, output = $3, dead_letter = $4, ended_at = $5, changed_at = $5,
                      due_at = $6, claimed_by = NULL, waiting_for = NULL
               WHERE id = $1 RETURNING parent_id, parent_step";
    let output = end.output.to_string();
    let never = Arg::Int(Some(NEVER));
    let values = args![id, end.status.as_str(), &output, end.is_dead_letter, now, never];
    let row = tx.row(sql, values).await?;
    let sql = "UPDATE run_steps SET state = 'done', expired = 1, ended_at = $2 WHERE run_id = $1 AND state = 'waiting'";
    tx.run(sql, args![id, now]).await?;
    let Some(row) = row else { return Ok(None) };
    let (Some(parent), Some(step)) = (row.maybe_id::<RunId>(0)?, row.maybe_text(1)?) else { return Ok(None) };
    let delivered = deliver_end(tx, now, (parent, &step), (id, end)).await?;
    Ok((delivered == Delivered::ToExecuting).then_some(parent))
}
