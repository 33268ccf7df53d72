//! Results that are too large for a model: it receives the beginning and the shape of such a result, and reads further
//! parts by a handle.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_core::CallId;
use haft_runs::{Run, RunContext, Step};
use serde_json::Value;

use crate::call_result::{too_large, truncate};
use crate::conversations::Conversations;
use crate::inbox::{InboxMessage, TaskEnded};
use crate::models::SpaceUser;
use crate::transcript::{CallState, Transcript, key};
use crate::turn_context::TurnContext;

/// Returns the handles of files in which the steps of a conversation say that whole results are stored, each with the id of
/// its call. A tool may have returned such a handle itself, so compare the name of the file with [`result_file_suffix`].
pub fn result_files(steps: &[Step]) -> Vec<(String, String)> {
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

/// The end of the name of a file that contains the result of a call.
pub fn result_file_suffix(call: &str) -> String {
    format!("-{call}.txt")
}

impl Conversations {
    /// Truncates the large results of tasks in the last step.
    pub(crate) async fn shorten_all(&self, cx: &RunContext, at: &TurnContext, transcript: &mut Transcript) {
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

    /// Truncates a result that is too large for a model, and stores all of it as a file.
    pub(crate) async fn shorten(&self, at: &TurnContext, call: &CallId, name: &str, result: &mut Value) {
        let Some(text) = too_large(result) else { return };
        let file = format!("{name}{}", result_file_suffix(call.as_str()));
        let handle = self.store_result(at.owner(), file, text.clone()).await;
        truncate(result, &text, handle);
    }

    /// Stores the large results among received messages as files. Returns their handles by the ids of their calls.
    pub(crate) async fn store_large(&self, run: &Run, input: &[InboxMessage]) -> BTreeMap<String, String> {
        let owner = SpaceUser { space: run.space, user: run.user };
        let mut stored = BTreeMap::new();
        for inbox_message in input {
            let InboxMessage::TaskEnded(TaskEnded { name: call, output, .. }) = inbox_message else {
                continue;
            };
            let Some(text) = too_large(output) else { continue };
            let tool = output["toolName"].as_str().unwrap_or("result");
            let handle = self.store_result(owner, format!("{tool}{}", result_file_suffix(call)), text).await;
            stored.extend(handle.map(|handle| (call.clone(), handle)));
        }
        stored
    }

    /// Stores a text as a file of its user, and returns the handle. Returns `None` if it cannot be stored.
    async fn store_result(&self, owner: SpaceUser, name: String, text: String) -> Option<String> {
        owner.user?;
        let stored = self.0.host.store_file(owner, name, text).await;
        stored.inspect_err(|error| tracing::warn!(%error, "A large result could not be stored")).ok()
    }
}
