//! Arguments of runs that hold secrets: encrypted in the database, and opened for whoever executes the run.
//!
//! A call's input and a person's decision have the same form: `arguments`, and `shown` where something of them may not
//! be shown. Only then they are encrypted.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::{CallError, RunId, SpaceId};
use haft_runs::{Held, Run, Step};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::crypt::{self, Sealed};
use crate::{Store, failure};

const ARGUMENTS: &str = "arguments";
const SHOWN: &str = "shown";

/// Stands in the place of `arguments`.
const SEALED: &str = "sealedArguments";

/// Names the place that encrypted arguments are bound to, beside the space and the run.
const PLACE: &str = "run arguments";

#[derive(Serialize, Deserialize)]
struct SealedText {
    key: String,
    blob: String,
}

impl Store {
    /// The value with its arguments encrypted, where not all of them may be shown.
    pub(super) fn seal_arguments(
        &self,
        (space, run): (SpaceId, RunId),
        value: &Value,
    ) -> Result<Option<Value>, CallError> {
        let Some(fields) = value.as_object().filter(|fields| fields.get(SHOWN).is_some_and(|v| !v.is_null()))
        else {
            return Ok(None);
        };
        let mut fields: Map<String, Value> = fields.clone();
        let Some(arguments) = fields.remove(ARGUMENTS) else { return Ok(None) };
        let text = SecretString::from(arguments.to_string());
        let (space, run) = (space.to_string(), run.to_string());
        let Sealed { key_id, blob } = crypt::seal(&self.keys().ring(), &[&space, PLACE, &run], &text)?;
        let sealed = SealedText { key: key_id, blob: STANDARD.encode(blob) };
        fields.insert(SEALED.to_owned(), serde_json::to_value(sealed).map_err(failure::unreadable)?);
        Ok(Some(Value::Object(fields)))
    }

    /// Puts encrypted arguments back. Without their key they stay as they are, and the run cannot be executed.
    fn open_arguments(&self, (space, run): (SpaceId, RunId), value: &mut Arc<Value>) {
        let Some(sealed) = value.get(SEALED) else { return };
        match self.opened(&[&space.to_string(), PLACE, &run.to_string()], sealed) {
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

    fn opened(&self, place: &[&str], sealed: &Value) -> Result<Value, CallError> {
        let SealedText { key, blob } = SealedText::deserialize(sealed).map_err(failure::unreadable)?;
        let blob = STANDARD.decode(blob).map_err(failure::unreadable)?;
        let keys = self.keys().ring_with(&key);
        let text = crypt::open(&keys, place, &Sealed { key_id: key, blob })?;
        serde_json::from_str(text.expose_secret()).map_err(failure::unreadable)
    }

    pub(super) fn opened_run(&self, mut run: Run) -> Run {
        self.open_arguments((run.space, run.id), &mut run.input);
        run
    }

    pub(super) fn opened_held(&self, held: Held) -> Held {
        let Held { run, lease, steps, is_denied } = held;
        let steps = self.opened_steps((run.space, run.id), steps);
        Held { run: self.opened_run(run), lease, steps, is_denied }
    }

    pub(super) fn opened_steps(&self, of: (SpaceId, RunId), mut steps: Vec<Step>) -> Vec<Step> {
        for output in steps.iter_mut().filter_map(|step| step.output.as_mut()) {
            self.open_arguments(of, output);
        }
        steps
    }
}
