//! Encrypts arguments of runs that contain secrets, and decrypts them for the worker that executes the run.
//!
//! The input of a task and the decision of a person have the same form: `arguments`, and `shown` with secrets removed if
//! the arguments have some. Only then they are encrypted.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::{CallError, RunId, SpaceId};
use haft_runs::{ClaimedRun, Run, Step};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::crypt::{self, Sealed};
use crate::{Store, failure};

const ARGUMENTS: &str = "arguments";
const REDACTED: &str = "shown";

/// The field that replaces `arguments`.
const SEALED: &str = "sealedArguments";

/// The purpose that encrypted arguments are bound to, beside the space and the run.
const PURPOSE: &str = "run arguments";

#[derive(Serialize, Deserialize)]
struct SealedText {
    key: String,
    blob: String,
}

impl Store {
    /// Returns the value with encrypted arguments. Returns `None` if the arguments have no secrets.
    pub(super) fn seal_arguments(
        &self,
        (space, run): (SpaceId, RunId),
        value: &Value,
    ) -> Result<Option<Value>, CallError> {
        let Some(fields) =
            value.as_object().filter(|fields| fields.get(REDACTED).is_some_and(|v| !v.is_null()))
        else {
            return Ok(None);
        };
        let mut fields: Map<String, Value> = fields.clone();
        let Some(arguments) = fields.remove(ARGUMENTS) else { return Ok(None) };
        let text = SecretString::from(arguments.to_string());
        let (space, run) = (space.to_string(), run.to_string());
        let Sealed { key_id, blob } = crypt::seal(&self.keys().ring(), &[&space, PURPOSE, &run], &text)?;
        let sealed = SealedText { key: key_id, blob: STANDARD.encode(blob) };
        fields.insert(SEALED.to_owned(), serde_json::to_value(sealed).map_err(failure::unreadable)?);
        Ok(Some(Value::Object(fields)))
    }

    /// Decrypts arguments. Without the key they stay encrypted, and the run cannot be executed.
    fn open_arguments(&self, (space, run): (SpaceId, RunId), value: &mut Arc<Value>) {
        let Some(sealed) = value.get(SEALED) else { return };
        match self.opened(&[&space.to_string(), PURPOSE, &run.to_string()], sealed) {
            Ok(arguments) => {
                if let Some(fields) = Arc::make_mut(value).as_object_mut() {
                    fields.remove(SEALED);
                    fields.insert(ARGUMENTS.to_owned(), arguments);
                }
            }
            Err(error) => {
                tracing::error!(run.id = %run, %error, "The arguments of a run cannot be decrypted")
            }
        }
    }

    fn opened(&self, purpose: &[&str], sealed: &Value) -> Result<Value, CallError> {
        let SealedText { key, blob } = SealedText::deserialize(sealed).map_err(failure::unreadable)?;
        let blob = STANDARD.decode(blob).map_err(failure::unreadable)?;
        let keys = self.keys().ring_with(&key);
        let text = crypt::open(&keys, purpose, &Sealed { key_id: key, blob })?;
        serde_json::from_str(text.expose_secret()).map_err(failure::unreadable)
    }

    pub(super) fn opened_run(&self, mut run: Run) -> Run {
        self.open_arguments((run.space, run.id), &mut run.input);
        run
    }

    pub(super) fn opened_claim(&self, claimed: ClaimedRun) -> ClaimedRun {
        let ClaimedRun { run, lease, steps, is_denied } = claimed;
        let steps = self.opened_steps((run.space, run.id), steps);
        ClaimedRun { run: self.opened_run(run), lease, steps, is_denied }
    }

    pub(super) fn opened_steps(&self, of: (SpaceId, RunId), mut steps: Vec<Step>) -> Vec<Step> {
        for output in steps.iter_mut().filter_map(|step| step.output.as_mut()) {
            self.open_arguments(of, output);
        }
        steps
    }
}
