//! Results that are too large for a model: it receives the beginning and the shape of such a result, and reads further
//! parts by a handle.

use std::collections::BTreeMap;

use haft_runs::{Run, Step};
use serde_json::Value;

use crate::call_result::{too_large, truncate};
use crate::conversations::Conversations;
use crate::inbox::{InboxMessage, TaskEnded};
use crate::models::SpaceUser;
use crate::transcript::StepCall;
use crate::turn_runner::TurnRunner;

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

impl TurnRunner<'_, '_> {
    /// Truncates a result that is too large for a model, and stores all of it as a file.
    pub(crate) async fn truncate_result(&self, call: &StepCall, result: &mut Value) {
        let Some(text) = too_large(result) else { return };
        let file = format!("{}{}", call.name, result_file_suffix(call.call_id.as_str()));
        let handle = self.turn.conversations.store_result(self.context.owner(), file, text.clone()).await;
        truncate(result, &text, handle);
    }
}

impl Conversations {
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
