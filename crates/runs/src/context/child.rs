//! Runs that a run starts and awaits, and steps that it takes over from an earlier run.

use haft_core::{CallError, Effect, ErrorKind, RunId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Halt, RunContext, WaitOutcome};
use crate::run::NewRun;
use crate::step::{Adoption, Wait};

/// The kind of a wait for the end of a child run.
const CHILD: &str = "run";

/// The key of the step that records an adoption.
const ADOPTED: &str = "adopted";

impl RunContext {
    /// Starts a child run under a key, once, and waits for its end. Returns the output of the child. This process
    /// executes the child without a slot, so a child never waits for a slot that its parent uses. It is cancelled if
    /// this run is cancelled.
    pub async fn child(&self, key: &str, new: NewRun) -> Result<Value, Halt> {
        let Some(worker) = self.shared.worker.clone() else {
            let message = "an ephemeral run cannot start child runs";
            return Err(Halt::Failed(CallError::text(ErrorKind::Internal, message)));
        };
        let id = self.child_id(key).await?;
        let details = Some(json!({"run": id}));
        let wait =
            || Wait { key: key.to_owned(), kind: CHILD.to_owned(), details: details.clone(), timeout: None };
        let parent = Some((self.run().id, self.key(key)));
        let start = || async {
            worker.start_here(NewRun { id, parent, ..new }).await?;
            Ok::<_, Halt>(Value::Null)
        };
        self.step_with_waits(&format!("{key}.start"), Effect::Idempotent, vec![wait()], start).await?;
        let ended = tokio::select! {
            biased;
            outcome = self.wait(wait()) => Some(outcome?),
            () = self.cancellation().cancelled() => None,
        };
        let outcome = match ended {
            Some(outcome) => outcome,
            None => {
                self.shared.journal.request_cancel(id).await?;
                self.wait(wait()).await?
            }
        };
        Ok(match outcome {
            WaitOutcome::Delivered(output) => output,
            WaitOutcome::Expired => Value::Null,
        })
    }

    /// Returns the id of a child, which is persisted before the child is started.
    async fn child_id(&self, key: &str) -> Result<RunId, Halt> {
        let id_key = format!("{key}.id");
        if let Some(id) = self.output(&id_key).and_then(|id| id.as_str()?.parse().ok()) {
            return Ok(id);
        }
        let id = RunId::from(Uuid::now_v7());
        self.put(&id_key, json!(id));
        self.persist().await?;
        Ok(id)
    }

    /// Takes over done steps of another run of the same space, once and in one write.
    pub async fn adopt_steps(&self, from: RunId, keys: Vec<String>) -> Result<(), Halt> {
        if self.output(ADOPTED).is_some() {
            return Ok(());
        }
        self.shared.table.adopt(Adoption { from, keys: keys.clone() });
        self.put(ADOPTED, json!(from));
        self.persist().await?;
        let steps = self.shared.journal.read_steps(self.run().id, keys).await?;
        self.shared.table.insert(steps);
        Ok(())
    }
}
