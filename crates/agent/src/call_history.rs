//! Inline calls in the call log: a turn that continues after a crash takes results from there that its journal misses.

use haft_core::{CallError, CallId, CallOptions, Caller, ErrorKind, Message};
use haft_engine::CallRequest;
use haft_runs::RunContext;
use haft_tasks::{LogTail, find_logged};
use serde_json::Value;
use uuid::Uuid;

use crate::call_result::{failed, to_json};
use crate::conversations::Conversations;
use crate::transcript::StepCall;

haft_core::templates! {
    LOST = "chat.lost",
        "{tool} was sent, then the server stopped. Whether it took effect is unknown, and it was not sent again.",
        "{tool} 已发送，但服务器随后终止；是否生效未知，未再次发送";
}

/// A log id by which a later process recognizes an inline call.
pub(crate) fn log_id(call: &CallId) -> Option<Uuid> {
    LogTail::of_call(call).map(LogTail::id)
}

/// The recorded calls of a run.
pub(crate) struct LoggedCalls<'a> {
    pub(crate) conversations: &'a Conversations,
    pub(crate) cx: &'a RunContext,
    pub(crate) caller: &'a Caller,
}

impl LoggedCalls<'_> {
    /// The logged result of an inline call. Returns `None` if the log has none, or if it does not hold all of it and the
    /// call may be repeated.
    pub(crate) async fn find(&self, call: &StepCall, may_repeat: bool) -> Option<Value> {
        let history = self.conversations.0.host.call_history()?;
        let found = find_logged(history, self.cx, &call.call_id, LogTail::of_call(&call.call_id)?).await;
        let locale = self.caller.locale;
        let result = found?.into_result(&call.call_id, &call.name, locale, may_repeat)?;
        Some(to_json(&result, locale))
    }

    /// The result of a call that was running when a process crashed, and that must not be repeated: the logged result,
    /// or an error of kind `Unknown`.
    pub(crate) async fn unknown(&self, call: &StepCall, options: CallOptions) -> Value {
        if let Some(result) = self.find(call, false).await {
            return result;
        }
        let options = CallOptions { log_id: log_id(&call.call_id), ..options };
        let message = Message::new(&LOST).with("tool", &call.name);
        let error = CallError::new(ErrorKind::Unknown, message);
        let request = CallRequest { tool: call.name.clone(), arguments: call.arguments.clone(), options };
        let tools = &self.conversations.0.tools;
        match tools.record_without_running(self.caller, request, error.clone()).await {
            Ok(result) => to_json(&result, self.caller.locale),
            Err(_) => failed(&call.call_id, &call.name, error, self.caller.locale),
        }
    }
}
