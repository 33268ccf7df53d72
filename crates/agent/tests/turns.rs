//! Turns on a journal in memory, with a scripted model and virtual time: tools, crashes, cancellation, limits, followers
//! that reconnect, and turns inside another run.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "tests spawn workers and fail by panicking"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_agent::{
    ChatEvent, ChatMessage, ChatRole, ConversationHost, ConversationInput, ConversationSettings,
    Conversations, Disconnect, EnclosingTurn, FinishReason, ModelChoice, ModelParameters, Models, NestedTurn,
    NewConversation, Retention, SelectedModel, SentMessage, SpaceUser, Transcript, TurnCursor, TurnLog,
    TurnRequest, TurnStream, UserMessage,
};
use haft_core::agent::{Agent, AgentSpec};
use haft_core::{
    AgentId, ArtifactBytes, BoxFuture, CallError, Caller, Effect, ErrorKind, Locale, RunId, Source, SpaceId,
};
use haft_engine::{Tool, ToolService, now};
use haft_llm::Scripted;
use haft_runs::testing::MemoryJournal;
use haft_runs::{
    Executor, Failpoints, GiveUpReason, Halt, Journal, NewRun, Program, Programs, Run, RunContext, RunEnd,
    RunLabels, RunStatus, Runs, Step, WorkerSettings,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

fn space() -> SpaceId {
    SpaceId::from(Uuid::nil())
}

fn caller() -> Caller {
    Caller { space: space(), user: None, source: Source::Chat, locale: Locale::En, request: None }
}

struct ScriptedModels(Arc<Scripted>);

impl Models for ScriptedModels {
    fn find<'a>(
        &'a self,
        _: SpaceUser,
        _: &'a ModelChoice,
    ) -> BoxFuture<'a, Result<SelectedModel, CallError>> {
        let (provider, name) = ("script".to_owned(), "scripted".to_owned());
        let model = SelectedModel { provider, name, window: None, model: self.0.clone() };
        Box::pin(std::future::ready(Ok(model)))
    }
}

/// A host that reads conversations from a journal in memory, with one agent that may take one step.
struct TestHost(MemoryJournal);

fn missing<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, CallError>> {
    Box::pin(std::future::ready(Err(CallError::text(ErrorKind::NotFound, "not found"))))
}

impl ConversationHost for TestHost {
    fn agent<'a>(
        &'a self,
        space_id: SpaceId,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<Agent>>, CallError>> {
        let spec = json!({"name": "clerk", "config": {"maxSteps": 1}});
        let spec: AgentSpec = serde_json::from_value(spec).expect("an agent");
        let id: AgentId = name.parse().expect("an id");
        let (created_at, updated_at) = (now(), now());
        let agent = Agent { id, space_id, owner_id: None, spec, version: 1, created_at, updated_at };
        Box::pin(std::future::ready(Ok(Some(Arc::new(agent)))))
    }

    fn store_file(&self, _: SpaceUser, _: String, _: String) -> BoxFuture<'_, Result<String, CallError>> {
        missing()
    }

    fn read_file<'a>(
        &'a self,
        _: SpaceUser,
        _: &'a str,
        _: u64,
    ) -> BoxFuture<'a, Result<ArtifactBytes, CallError>> {
        missing()
    }

    fn cancel_task(&self, _: SpaceUser, _: RunId) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn conversation(&self, space: SpaceId, id: RunId) -> BoxFuture<'_, Result<Option<Run>, CallError>> {
        self.0.read(space, id)
    }

    fn conversation_steps(&self, _: SpaceId, id: RunId) -> BoxFuture<'_, Result<Vec<Step>, CallError>> {
        Box::pin(std::future::ready(Ok(self.0.steps(id))))
    }

    fn request_cancel(&self, _: SpaceId, id: RunId) -> BoxFuture<'_, Result<(), CallError>> {
        Box::pin(async move { Journal::request_cancel(&self.0, id).await.map(drop) })
    }
}

/// The effects of tools, counted outside of the journal.
#[derive(Clone, Default)]
struct Effects(Arc<AtomicUsize>);

impl Effects {
    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoArguments {}

/// One process: the tools, the conversations and the worker.
struct Process {
    conversations: Conversations,
    runs: Runs,
    stop: CancellationToken,
}

impl Process {
    /// A process in which the tool `hang` never returns, and `send_and_hang` has its effect and never returns.
    fn hanging(journal: &MemoryJournal, effects: &Effects, script: &Value) -> Self {
        Self::new(journal, effects, (script, true))
    }

    fn healthy(journal: &MemoryJournal, effects: &Effects, script: &Value) -> Self {
        Self::new(journal, effects, (script, false))
    }

    fn new(journal: &MemoryJournal, effects: &Effects, (script, hangs): (&Value, bool)) -> Self {
        let tools = ToolService::builder().build();
        let pass = move || async move {
            if hangs {
                std::future::pending::<()>().await;
            }
        };
        let counted = effects.clone();
        let send = move |_: NoArguments| {
            let counted = counted.clone();
            async move { Ok(json!(counted.0.fetch_add(1, Ordering::Relaxed) + 1)) }
        };
        let counted = effects.clone();
        let send_and_hang = move |_: NoArguments| {
            let counted = counted.clone();
            async move {
                counted.0.fetch_add(1, Ordering::Relaxed);
                pass().await;
                Ok(json!("sent"))
            }
        };
        let hang = move |_: NoArguments| async move {
            pass().await;
            Ok(json!("passed"))
        };
        for tool in [
            Tool::native("send", "Sends.", send).effect(Effect::Write),
            Tool::native("send_and_hang", "Sends.", send_and_hang).effect(Effect::Write),
            Tool::native("hang", "Waits.", hang).effect(Effect::Read),
        ] {
            tools.register(tool).expect("registered");
        }
        let script = Arc::new(Scripted::read(&script.to_string()).expect("a script"));
        let (models, host) = (Arc::new(ScriptedModels(script)), Arc::new(TestHost(journal.clone())));
        let settings = ConversationSettings { max_crashes: 3, ..ConversationSettings::default() };
        let conversations = Conversations::new(tools, models, host, settings);
        let programs = Programs::default()
            .with(haft_agent::program(conversations.clone()))
            .with(Arc::new(Flow(conversations.clone())));
        let settings = WorkerSettings::default();
        let runs = Runs::new(Arc::new(journal.clone()), programs, settings, Failpoints::default());
        conversations.set_runs(runs.clone());
        Self { conversations, runs, stop: CancellationToken::new() }
    }

    /// Claims runs and renews leases. Without that, the process is like one that crashed after the start of a run.
    fn work(self) -> Self {
        let (runs, stop) = (self.runs.clone(), self.stop.clone());
        tokio::spawn(async move { runs.work(stop, Duration::from_secs(1)).await });
        self
    }

    async fn start(&self, input: ConversationInput) -> SentMessage {
        let (id, message) = (RunId::from(Uuid::now_v7()), input.first.id.clone());
        let new = NewConversation { id, input, retention: Retention::Conversation, key: None };
        let conversation = self.conversations.start(&caller(), new).await.expect("started");
        SentMessage { conversation, message, cursor: TurnCursor::default() }
    }

    fn follow(&self, sent: &SentMessage) -> TurnStream {
        self.conversations.follow_turn(space(), sent.clone(), Disconnect::Continue)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn input(agent: Option<AgentId>) -> ConversationInput {
    let asked = TurnRequest { at: now(), locale: Locale::En, request: None, terms: None, trace: None };
    let tools = ["send", "send_and_hang", "hang"].map(str::to_owned).to_vec();
    let messages = vec![ChatMessage::text(ChatRole::User, "Go.")];
    let first = UserMessage { id: "first".to_owned(), messages, replaces: None, tools, asked };
    let (asking, client_tools) = (ModelParameters::default(), Vec::new());
    ConversationInput { agent, first, source: Source::Chat, asking, client_tools }
}

fn calls(name: &str) -> Value {
    json!({"toolCalls": [{"name": name, "arguments": {}}]})
}

/// Reads all events of a turn.
async fn events_of(mut stream: TurnStream) -> Vec<ChatEvent> {
    let mut events = Vec::new();
    while let Some(followed) = stream.next().await.expect("events") {
        events.extend(followed.into_iter().filter_map(|followed| followed.event.as_deref().cloned()));
    }
    events
}

fn finish_of(events: &[ChatEvent]) -> Option<FinishReason> {
    events
        .iter()
        .find_map(|event| if let ChatEvent::Done { finish, .. } = event { Some(*finish) } else { None })
}

fn result_of(events: &[ChatEvent]) -> &Value {
    let result = events
        .iter()
        .find_map(|event| if let ChatEvent::Result { result, .. } = event { Some(result) } else { None });
    result.expect("a result")
}

fn transcript(journal: &MemoryJournal, id: RunId) -> Transcript {
    let run = journal.runs().into_iter().find(|run| run.id == id).expect("a run");
    Transcript::read(&run, &journal.steps(id)).expect("a transcript")
}

/// Waits until a tool has had an effect.
async fn until_sent(effects: &Effects) {
    while effects.count() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn turn_executes_a_tool_and_journals_each_step() {
    let (journal, effects) = (MemoryJournal::default(), Effects::default());
    let process = Process::healthy(&journal, &effects, &json!([calls("send"), {"text": "Sent."}])).work();
    let sent = process.start(input(None)).await;
    let events = events_of(process.follow(&sent)).await;
    assert_eq!((finish_of(&events), effects.count()), (Some(FinishReason::Stop), 1));
    assert_eq!(result_of(&events)["data"], 1);
    let mut keys: Vec<String> = journal.steps(sent.conversation).into_iter().map(|step| step.key).collect();
    keys.sort();
    assert_eq!(keys, ["1.1", "1.1.0", "1.2", "1.end", "1.setup"]);
    let transcript = transcript(&journal, sent.conversation);
    assert_eq!(transcript.turns[0].end.as_ref().map(|end| end.text.as_str()), Some("Sent."));
}

#[tokio::test(start_paused = true)]
async fn write_that_was_running_during_a_crash_is_unknown_and_not_repeated() {
    let (journal, effects) = (MemoryJournal::default(), Effects::default());
    let script = json!([calls("send_and_hang"), {"text": "It may be sent."}]);
    let crashed = Process::hanging(&journal, &effects, &script);
    let sent = crashed.start(input(None)).await;
    until_sent(&effects).await;
    let process = Process::healthy(&journal, &effects, &script).work();
    let events = events_of(process.follow(&sent)).await;
    assert_eq!((finish_of(&events), effects.count()), (Some(FinishReason::Stop), 1));
    assert_eq!(result_of(&events)["error"]["kind"], "Unknown");
}

#[tokio::test(start_paused = true)]
async fn cancelled_turn_ends_and_its_conversation_continues() {
    let (journal, effects) = (MemoryJournal::default(), Effects::default());
    let script = json!([calls("hang"), {"text": "Passed."}]);
    let process = Process::hanging(&journal, &effects, &script).work();
    let sent = process.start(input(None)).await;
    let events = tokio::spawn(events_of(process.follow(&sent)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    process.conversations.cancel(space(), sent.conversation).await.expect("cancelled");
    let events = events.await.expect("events");
    assert_eq!(finish_of(&events), Some(FinishReason::Cancelled));
    assert_eq!(result_of(&events)["error"]["kind"], "Cancelled");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let run = journal.runs().remove(0);
    assert!(run.is_idle(), "it waits for messages: {run:?}");
}

#[tokio::test(start_paused = true)]
async fn turn_ends_with_a_final_response_when_a_limit_is_reached() {
    let (journal, effects) = (MemoryJournal::default(), Effects::default());
    let process = Process::healthy(&journal, &effects, &json!([calls("send"), {"text": "Sent."}])).work();
    let sent = process.start(input(Some(AgentId::from(Uuid::now_v7())))).await;
    let events = events_of(process.follow(&sent)).await;
    assert_eq!(finish_of(&events), Some(FinishReason::MaxSteps));
    let transcript = transcript(&journal, sent.conversation);
    let end = transcript.turns[0].end.clone().expect("an end");
    assert_eq!((end.text.as_str(), end.warnings.len()), ("Sent.", 1));
}

#[tokio::test(start_paused = true)]
async fn follower_that_reconnects_misses_no_event() {
    let (journal, effects) = (MemoryJournal::default(), Effects::default());
    let script = json!([calls("send"), calls("hang"), {"text": "Passed."}]);
    let crashed = Process::hanging(&journal, &effects, &script);
    let sent = crashed.start(input(None)).await;
    let mut follower = crashed.conversations.follow(space(), sent.conversation, sent.cursor);
    let mut first = Vec::new();
    while !first.iter().any(|event| matches!(event, ChatEvent::Call { step: 2, .. })) {
        let followed = follower.next().await.expect("events").expect("a conversation");
        first.extend(followed.into_iter().filter_map(|followed| followed.event.as_deref().cloned()));
    }
    // Within one process, a follower continues after its cursor.
    let mut again = crashed.conversations.follow(space(), sent.conversation, TurnCursor::default());
    let followed = again.next().await.expect("events").expect("a conversation");
    let (known, cursor) = (followed.len(), followed[1].cursor);
    let mut rest = crashed.conversations.follow(space(), sent.conversation, cursor);
    let followed = rest.next().await.expect("events").expect("a conversation");
    assert_eq!(followed.len(), known - 2);
    assert!(followed.iter().all(|followed| followed.event.is_some()), "no event is withdrawn");
    let cursor = followed.last().expect("an event").cursor;
    // Another process has another generation of the turn, and withdraws the events of the first one.
    let process = Process::healthy(&journal, &effects, &script).work();
    let mut follower = process.conversations.follow(space(), sent.conversation, cursor);
    let (mut events, mut resets) = (Vec::new(), 0);
    while finish_of(&events).is_none() {
        for followed in follower.next().await.expect("events").expect("a conversation") {
            match followed.event {
                Some(event) => events.push(ChatEvent::clone(&event)),
                None => {
                    resets += 1;
                    events.clear();
                }
            }
        }
    }
    assert!(resets >= 1);
    assert_eq!(events[..first.len()], first[..], "the replay has the same events");
    assert_eq!((finish_of(&events), effects.count()), (Some(FinishReason::Stop), 1));
    // After the end, the journal alone has the same events.
    let later = Process::healthy(&journal, &effects, &script);
    assert_eq!(events_of(later.follow(&sent)).await, events);
}

/// A run with two turns side by side, as in a flow.
struct Flow(Conversations);

impl Flow {
    async fn turn(&self, cx: &RunContext) -> Result<String, Halt> {
        let log = Arc::new(TurnLog::ephemeral());
        let nested = NestedTurn { input: input(None), log, enclosing: EnclosingTurn::default() };
        let turn = self.0.run_nested(cx, nested).await?;
        Ok(turn.end.map(|end| end.text).unwrap_or_default())
    }
}

impl Program for Flow {
    fn name(&self) -> &'static str {
        "flow"
    }

    fn run<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<RunEnd, Halt>> {
        Box::pin(async move {
            let mut branches = context.branches(2);
            for name in ["one", "two"] {
                branches.spawn(move |cx| async move { self.turn(&cx.scope(name)).await });
            }
            let mut texts = Vec::new();
            while let Some(text) = branches.next().await {
                texts.push(text?);
            }
            Ok(RunEnd { status: RunStatus::Succeeded, output: json!(texts), is_dead_letter: false })
        })
    }

    fn give_up<'a>(&'a self, _: &'a RunContext, reason: GiveUpReason) -> BoxFuture<'a, RunEnd> {
        let output = json!(format!("{reason:?}"));
        Box::pin(async move { RunEnd { status: RunStatus::Failed, output, is_dead_letter: false } })
    }
}

#[tokio::test(start_paused = true)]
async fn turns_inside_another_run_continue_after_a_crash_without_repeating_writes() {
    let (journal, effects) = (MemoryJournal::default(), Effects::default());
    let script = json!([calls("send"), calls("hang"), {"text": "Passed."}]);
    let crashed = Process::hanging(&journal, &effects, &script);
    let new = NewRun {
        id: RunId::from(Uuid::now_v7()),
        space: space(),
        user: None,
        program: "flow",
        labels: RunLabels { lane: "flow".to_owned(), name: "flow".to_owned(), ..RunLabels::default() },
        input: Arc::new(Value::Null),
        priority: 0,
        delay: Duration::ZERO,
        max_crashes: 3,
        key: None,
        parent: None,
        executor: Executor::AnyWorker,
    };
    let (run, _) = crashed.runs.start_here(new).await.expect("started");
    let has_results = || {
        let done = journal.steps(run.id).into_iter().filter(|step| step.output.is_some());
        done.filter(|step| step.key.ends_with("/1.2")).count() == 2
    };
    while !has_results() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(effects.count(), 2);
    let process = Process::healthy(&journal, &effects, &script).work();
    let ended = process.runs.wait_for(space(), run.id, Duration::from_secs(3600)).await;
    let ended = ended.expect("read").expect("a run");
    assert_eq!(ended.output, Some(json!(["Passed.", "Passed."])), "{ended:?}");
    assert_eq!((effects.count(), ended.epoch), (2, 2), "no write is repeated");
    let keys: Vec<String> = journal.steps(run.id).into_iter().map(|step| step.key).collect();
    assert!(keys.contains(&"one/1.1.0".to_owned()) && keys.contains(&"two/1.end".to_owned()), "{keys:?}");
}

#[tokio::test(start_paused = true)]
async fn listeners_receive_each_result_once() {
    let (journal, effects) = (MemoryJournal::default(), Effects::default());
    let process = Process::healthy(&journal, &effects, &json!([calls("send"), {"text": "Sent."}])).work();
    let names: Arc<Mutex<Vec<String>>> = Arc::default();
    let list = names.clone();
    process.conversations.on_tool_call(move |result: &haft_core::ToolExecutionResult| {
        list.lock().unwrap_or_else(PoisonError::into_inner).push(result.tool_name.to_string());
        Ok(())
    });
    let sent = process.start(input(None)).await;
    events_of(process.follow(&sent)).await;
    assert_eq!(*names.lock().unwrap_or_else(PoisonError::into_inner), ["send"]);
}
