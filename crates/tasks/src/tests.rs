//! Records that tasks leave when they end, as the call log is given them; tasks after a crash; and edits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::{
    Arguments, BoxFuture, CallContext, CallError, CallId, ConfigError, Effect, ErrorKind, Kind, Prepared,
    RunId, SpaceId, ToolContext, ToolId, ToolOutput, ToolVersion,
};
use haft_engine::{CallRecord, CallSink, LoadedTools, SinkError, SourceState, Tool, ToolService, ToolSource};
use haft_runs::{GiveUpReason, Program, Run, RunContext, RunStatus, Step};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{APPROVAL, CallHistory, CallProgram, CallRun, Callbacks, LogTail, LoggedResult};

/// A kind of tool that uses secrets of its caller.
struct Personal;

impl Kind for Personal {
    fn name(&self) -> &'static str {
        "personal"
    }

    fn prepare(&self, _: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        Ok(Arc::new(Self))
    }
}

impl Prepared for Personal {
    fn effect(&self) -> Effect {
        Effect::Write
    }

    fn acts_for_caller(&self) -> bool {
        true
    }

    fn run<'a>(
        &'a self,
        _: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(async { Ok(ToolOutput::from(Value::Null)) })
    }
}

#[derive(Default)]
struct Records(Mutex<Vec<CallRecord>>);

impl CallSink for Records {
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        self.0.lock().expect("a lock").extend_from_slice(records);
        Box::pin(async { Ok(()) })
    }
}

/// No callbacks, and an empty call log.
struct Nothing;

impl Callbacks for Nothing {
    fn url(&self, _: SpaceId, _: RunId, _: u64, _: Timestamp) -> Result<String, CallError> {
        Err(CallError::text(ErrorKind::NotFound, "no callbacks"))
    }
}

impl CallHistory for Nothing {
    fn find<'a>(
        &'a self,
        _: SpaceId,
        _: &'a CallId,
        _: LogTail,
    ) -> BoxFuture<'a, Result<Option<LoggedResult>, CallError>> {
        Box::pin(async { Ok(None) })
    }
}

/// A task that calls `pay`, with these fields in place of the usual ones.
fn task(fields: Value) -> Run {
    let mut call = json!({
        "tool": "pay", "name": "pay", "version": 1, "arguments": {}, "callId": "call_7",
        "source": "api", "locale": "en", "patience": 60,
    });
    for (field, value) in fields.as_object().expect("an object") {
        call[field] = value.clone();
    }
    Run::ephemeral(RunId::from(Uuid::now_v7()), SpaceId::from(Uuid::nil()), None, "call", call)
}

fn context_of(run: &Run, steps: Vec<Step>) -> RunContext {
    RunContext::ephemeral_with(run.clone(), steps, CancellationToken::new())
}

/// The log ids of a call that ends as denied in two processes, one after the other: the first crashes after it logged
/// the denial, before the run ends.
async fn log_ids(more: Value, steps: Vec<Step>) -> Vec<Uuid> {
    let records = Arc::new(Records::default());
    let tools = ToolService::builder().kind(Personal).sink(records.clone()).build();
    tools.register(Tool::new("pay", "Pays.", "personal", json!({}))).expect("registered");
    let program = CallProgram::new(tools.clone(), Arc::new(Nothing), Arc::new(Nothing));
    let run = task(more);
    for _ in 0..2 {
        let context = context_of(&run, steps.clone());
        let ended = program.run(&context).await.expect("the run ends");
        assert_eq!(ended.output["error"]["kind"], "Denied", "{}", ended.output);
    }
    tools.close().await;
    records.0.lock().expect("a lock").iter().map(|record| record.id).collect()
}

#[tokio::test]
async fn denial_is_logged_under_one_id_in_every_process() {
    let step = Step::done("approval:1", Effect::Read, Arc::default());
    let denied = Step {
        wait_kind: Some(APPROVAL.to_owned()),
        output: Some(Arc::new(json!({"isApproved": false}))),
        ..step
    };
    let retry = json!({"user": Uuid::now_v7(), "retriedBy": Uuid::now_v7(), "userRetries": 1});
    for (case, more, steps) in [
        ("a person denied it", json!({}), vec![denied]),
        ("another user retried it, whose secrets are not used", retry, Vec::new()),
    ] {
        let ids = log_ids(more, steps).await;
        assert_eq!(ids.len(), 2, "{case}");
        assert_eq!(ids[0], ids[1], "{case}");
    }
}

#[tokio::test]
async fn approval_of_a_new_version_has_the_edit_only_if_the_version_accepts_it() {
    for (minimum, amount, is_edit_refused) in [(0, 50, false), (100, 500, true)] {
        let tools = ToolService::builder().kind(Personal).build();
        let schema =
            json!({"type": "object", "properties": {"amount": {"type": "integer", "minimum": minimum}}});
        let tool = Tool::new("pay", "Pays.", "personal", json!({})).input_schema(schema);
        tools.register(tool).expect("registered");
        let program = CallProgram::new(tools, Arc::new(Nothing), Arc::new(Nothing));
        // The registered tool has version 1, so the older version is 0.
        let edited = Step {
            wait_kind: Some(APPROVAL.to_owned()),
            details: Some(json!({"version": 0})),
            output: Some(Arc::new(json!({"isApproved": true, "arguments": {"amount": 50}}))),
            ..Step::done("approval:0", Effect::Read, Arc::default())
        };
        let run = task(json!({"arguments": {"amount": 500}, "asks": true}));
        let context = context_of(&run, vec![edited]);
        let mut executed = program.run(&context);
        tokio::select! {
            biased;
            end = &mut executed => panic!("a person is asked: {end:?}"),
            () = context.idle() => {}
        }
        let waits = context.waits();
        let shown = waits[0].details.as_ref().expect("a question");
        assert_eq!(waits[0].key, "approval:1");
        assert_eq!(shown["arguments"], json!({"amount": amount}));
        assert_eq!(shown["isEditRefused"], is_edit_refused);
    }
}

#[test]
fn edit_holds_until_an_approval_is_requested_without_it() {
    let question = |version: u64, mut shown: Value, arguments: Value| {
        shown["version"] = version.into();
        let key = format!("{APPROVAL}:{version}");
        Step {
            wait_kind: Some(APPROVAL.to_owned()),
            details: Some(shown),
            output: Some(Arc::new(json!({"isApproved": true, "arguments": arguments}))),
            ..Step::done(&key, Effect::Read, Arc::default())
        }
    };
    let edited = question(1, json!({}), json!({"amount": 50}));
    let approved = question(2, json!({"isEditRefused": false}), Value::Null);
    let refused = question(2, json!({"isEditRefused": true}), Value::Null);
    let edited_again = question(3, json!({"isEditRefused": true}), json!({"amount": 20}));
    for (steps, amount) in [
        (vec![edited.clone(), approved], 50),
        (vec![edited.clone(), refused.clone()], 500),
        (vec![edited, refused, edited_again], 20),
    ] {
        let call = CallRun::of(&task(json!({"arguments": {"amount": 500}}))).expect("a call");
        assert_eq!(call.with_edits(steps.iter()).arguments, json!({"amount": amount}));
    }
}

/// A call log that fails a number of times and then has a result.
struct FailingHistory {
    kind: ErrorKind,
    failures: AtomicU32,
}

impl CallHistory for FailingHistory {
    fn find<'a>(
        &'a self,
        _: SpaceId,
        _: &'a CallId,
        _: LogTail,
    ) -> BoxFuture<'a, Result<Option<LoggedResult>, CallError>> {
        let left =
            self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        let result = || LoggedResult {
            outcome: Ok(Some(json!("paid"))),
            attempts: 1,
            cached: false,
            duration: Duration::ZERO,
        };
        let found = match left {
            Ok(_) => Err(CallError::text(self.kind, "the log cannot be read")),
            Err(_) => Ok(Some(result())),
        };
        Box::pin(std::future::ready(found))
    }
}

/// How a write ends that was sent before a crash.
async fn end_of_sent_write(kind: ErrorKind, failures: u32, is_cancelled: bool) -> RunStatus {
    let tools = ToolService::builder().kind(Personal).build();
    tools.register(Tool::new("pay", "Pays.", "personal", json!({}))).expect("registered");
    let history = FailingHistory { kind, failures: AtomicU32::new(failures) };
    let program = CallProgram::new(tools, Arc::new(Nothing), Arc::new(history));
    let sent = Step::reserved("call", Effect::Write);
    let context = context_of(&task(json!({})), vec![sent]);
    if is_cancelled {
        context.cancellation().cancel();
    }
    program.give_up(&context, GiveUpReason::Crashes).await.status
}

#[tokio::test(start_paused = true)]
async fn sent_write_waits_for_an_unavailable_call_log_and_takes_its_logged_result() {
    for (kind, failures, is_cancelled, expected) in [
        (ErrorKind::Unavailable, 20, false, RunStatus::Succeeded),
        (ErrorKind::Unavailable, u32::MAX, true, RunStatus::Unknown),
        (ErrorKind::Internal, u32::MAX, false, RunStatus::Unknown),
    ] {
        let status = end_of_sent_write(kind, failures, is_cancelled).await;
        assert_eq!(status, expected, "{kind}, {failures} failures");
    }
}

/// A kind of tool that may be repeated and returns a value of its configuration.
struct Constant(Value);

impl Kind for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        Ok(Arc::new(Self(tool.config.get("value").cloned().unwrap_or_default())))
    }
}

impl Prepared for Constant {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn run<'a>(
        &'a self,
        _: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(async move { Ok(ToolOutput::from(self.0.clone())) })
    }
}

/// One tool in two versions. The second is current.
struct TwoVersions([ToolVersion; 2]);

impl ToolSource for TwoVersions {
    fn load<'a>(
        &'a self,
        _: SpaceId,
        _: &'a HashMap<ToolId, u64>,
        last: Option<SourceState>,
    ) -> BoxFuture<'a, Result<Option<LoadedTools>, CallError>> {
        let current = &self.0[1];
        let loaded = || LoadedTools {
            changed: vec![current.clone()],
            all: [current.id.clone()].into(),
            state: SourceState::default(),
        };
        Box::pin(std::future::ready(Ok(last.is_none().then(loaded))))
    }

    fn version<'a>(
        &'a self,
        _: SpaceId,
        _: &'a ToolId,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<ToolVersion>, CallError>> {
        let found = self.0.iter().find(|stored| stored.version == version).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }
}

#[tokio::test]
async fn approved_call_that_another_user_retried_is_repeated_in_the_approved_version() {
    let builder = || ToolService::builder().kind(Constant(Value::Null));
    let version = |number: u64| {
        let tool = Tool::new("pay", "Pays.", "constant", json!({"value": number}));
        let registered = builder().build().register(tool).expect("registered");
        ToolVersion {
            id: ToolId::Uuid(Uuid::from_u128(7)),
            space_id: Some(SpaceId::from(Uuid::nil())),
            version: number,
            ..ToolVersion::clone(&registered)
        }
    };
    let tools = builder().tools(Arc::new(TwoVersions([version(1), version(2)]))).build();
    let program = CallProgram::new(tools, Arc::new(Nothing), Arc::new(Nothing));
    let approval = Step {
        wait_kind: Some(APPROVAL.to_owned()),
        details: Some(json!({"version": 1})),
        output: Some(Arc::new(json!({"isApproved": true}))),
        ..Step::done("approval:1", Effect::Read, Arc::default())
    };
    // The process that began the call ended before it had a result.
    let sent = Step::reserved("call", Effect::Read);
    let run = task(json!({"asks": true, "user": Uuid::now_v7(), "retriedBy": Uuid::now_v7()}));
    let ended = program.run(&context_of(&run, vec![approval, sent])).await.expect("the run ends");
    assert_eq!(ended.output["data"], 1, "{}", ended.output);
}
