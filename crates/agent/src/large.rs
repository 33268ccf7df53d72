//! Results that are too large for a model: it sees the beginning of one and its shape, and reads on by a handle.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_core::{CallId, SpaceId, UserId};
use haft_runs::{Run, RunContext, Step};
use serde_json::Value;

use crate::at::At;
use crate::chat::Chat;
use crate::result::{cut, too_large};
use crate::said::{Letter, TaskEnded};
use crate::transcript::{CallState, Transcript, key};

/// Where the steps of a conversation say that the whole of a result is kept, each with the call whose result it is.
/// What a tool says of itself may be among them: the name of such a file ends as [`ends_name`] says.
pub fn kept_files(steps: &[Step]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for output in steps.iter().filter_map(|step| step.output.as_deref()) {
        let own = (&output["data"]["handle"], &output["callId"]);
        let later = output["kept"].as_object().into_iter().flatten();
        let later = later.filter_map(|(call, handle)| Some((handle.as_str()?, call.as_str())));
        let own = own.0.as_str().zip(own.1.as_str());
        files.extend(own.into_iter().chain(later).map(|(handle, call)| (handle.to_owned(), call.to_owned())));
    }
    files
}

/// How the name of a file ends that holds the result of a call.
pub fn ends_name(call: &str) -> String {
    format!("-{call}.txt")
}

impl Chat {
    /// Results of tasks come as they are.
    pub(crate) async fn shorten_all(&self, cx: &RunContext, at: &At, transcript: &mut Transcript) {
        let Some(last) = transcript.turns.last_mut().and_then(|turn| turn.steps.last_mut()) else { return };
        let step = last.step;
        for (place, call) in last.calls.iter_mut().enumerate() {
            if let CallState::Done(result) = &mut call.state
                && too_large(result).is_some()
            {
                self.shorten(at, &call.call_id, &call.name, Arc::make_mut(result)).await;
                cx.put(&key::call(at.turn, step, place), Value::clone(result));
            }
        }
    }

    /// Cuts a result that is too large for a model, and keeps the whole of it as a file.
    pub(crate) async fn shorten(&self, at: &At, call: &CallId, name: &str, result: &mut Value) {
        let Some(text) = too_large(result) else { return };
        let file = format!("{name}{}", ends_name(call.as_str()));
        let handle = self.keep(at.caller.space, at.caller.user, file, text.clone()).await;
        cut(result, &text, handle);
    }

    /// Keeps those of results that came by themselves.
    pub(crate) async fn keep_large(&self, run: &Run, input: &[Letter]) -> BTreeMap<String, String> {
        let mut kept = BTreeMap::new();
        for letter in input {
            let Letter::Ended(TaskEnded { name: call, output, .. }) = letter else { continue };
            let Some(text) = too_large(output) else { continue };
            let tool = output["toolName"].as_str().unwrap_or("result");
            let handle = self.keep(run.space, run.user, format!("{tool}{}", ends_name(call)), text).await;
            kept.extend(handle.map(|handle| (call.clone(), handle)));
        }
        kept
    }

    /// The handle of a text as a file of a user's; nothing where it cannot be kept.
    async fn keep(&self, space: SpaceId, user: Option<UserId>, file: String, text: String) -> Option<String> {
        let kept = self.0.around.keep(space, user?, file, text).await;
        kept.inspect_err(|error| tracing::warn!(%error, "A large result could not be stored")).ok()
    }
}
