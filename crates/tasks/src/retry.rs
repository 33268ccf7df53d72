//! Retries by a user: the call is still made for the user who started it, so another user cannot retry a tool that
//! acts with that user's own secrets.

use haft_core::{CallError, Caller, ErrorKind, Message, UserId};
use haft_engine::ToolService;
use haft_runs::Run;
use serde_json::Value;

use super::CallRun;

haft_core::templates! {
    OTHERS_SECRETS = "task.othersSecrets",
        "{tool} uses secrets of the user who started the task, so only that user can retry it. Start a new call to use your own",
        "{tool} 使用任务发起者本人的密钥，只有该用户可以重试；如需使用自己的密钥，请发起新的调用";
}

impl CallRun {
    /// The input of a run that a user retries. Fails if only the user who started it may.
    pub async fn retried(self, tools: &ToolService, run: &Run, by: UserId) -> Result<Value, CallError> {
        let mut call = Self { retried_by: Some(by), user_retries: self.user_retries + 1, ..self };
        let (caller, pinned) = (call.caller(run), call.pinned);
        if let Some(message) = call.check_retry(tools, &caller, None).await? {
            return Err(CallError::new(ErrorKind::Permission, message));
        }
        call.pinned = pinned;
        Ok(serde_json::to_value(call).unwrap_or_default())
    }

    /// Returns why the call may not be made after its last retry. Pins the version of the tool that was checked, so
    /// that no later version is called instead: the approved one, or else the current one.
    pub(crate) async fn check_retry(
        &mut self,
        tools: &ToolService,
        caller: &Caller,
        approved: Option<u64>,
    ) -> Result<Option<Message>, CallError> {
        if self.retried_by.is_none() || self.retried_by == self.user {
            return Ok(None);
        }
        self.pinned = self.pinned.or(approved);
        let Some(requirements) = tools.call_requirements(caller, &self.tool, self.binding().as_ref()).await?
        else {
            return Ok(None);
        };
        if requirements.acts_for_caller {
            return Ok(Some(Message::new(&OTHERS_SECRETS).with("tool", &self.name)));
        }
        self.pinned = Some(requirements.version);
        Ok(None)
    }
}
