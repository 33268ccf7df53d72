//! The chat loop embedded in a Rust program: no server, no database, a scripted model.

use std::sync::{Arc, Mutex, PoisonError};

use haft_agent::{
    ChatMessage, ChatRole, ConversationHost, ConversationInput, ConversationSettings, Conversations,
    EnclosingTurn, EphemeralTurn, ModelChoice, ModelParameters, Models, SelectedModel, SpaceUser, TurnLog,
    TurnRequest, UserMessage,
};
use haft_core::agent::Agent;
use haft_core::{
    ArtifactBytes, BoxFuture, CallError, Caller, ErrorKind, Locale, RunId, Source, SpaceId,
    ToolExecutionResult,
};
use haft_engine::{Tool, ToolService, now};
use haft_llm::Scripted;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Calls a tool that exists and one that does not exist, and then responds.
const SCRIPT: &str = r#"[
    {"toolCalls": [{"name": "double", "arguments": {"n": 21}}, {"name": "nothing", "arguments": {}}]},
    {"text": "It is 42."}
]"#;

struct Script(Arc<Scripted>);

impl Models for Script {
    fn find<'a>(
        &'a self,
        _: SpaceUser,
        _: &'a ModelChoice,
    ) -> BoxFuture<'a, Result<SelectedModel, CallError>> {
        let (provider, name) = ("script".to_owned(), "scripted".to_owned());
        let chosen = SelectedModel { provider, name, window: None, model: self.0.clone() };
        Box::pin(std::future::ready(Ok(chosen)))
    }
}

/// A host without agents and files.
struct NoHost;

fn none<T>() -> Result<T, CallError> {
    Err(CallError::text(ErrorKind::NotFound, "there is none"))
}

impl ConversationHost for NoHost {
    fn agent<'a>(&'a self, _: SpaceId, _: &'a str) -> BoxFuture<'a, Result<Option<Arc<Agent>>, CallError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn store_file(&self, _: SpaceUser, _: String, _: String) -> BoxFuture<'_, Result<String, CallError>> {
        Box::pin(std::future::ready(none()))
    }

    fn read_file<'a>(
        &'a self,
        _: SpaceUser,
        _: &'a str,
        _: u64,
    ) -> BoxFuture<'a, Result<ArtifactBytes, CallError>> {
        Box::pin(std::future::ready(none()))
    }

    fn cancel_task(&self, _: SpaceUser, _: RunId) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Number {
    n: i64,
}

#[tokio::test]
async fn listener_receives_every_result_although_others_fail() {
    let tools = ToolService::builder().build();
    let double =
        Tool::native("double", "Twice a number.", |number: Number| async move { Ok(json!(number.n * 2)) });
    tools.register(double).expect("registered");
    let script = Script(Arc::new(Scripted::read(SCRIPT).expect("a script")));
    let conversations =
        Conversations::new(tools, Arc::new(script), Arc::new(NoHost), ConversationSettings::default());
    let received: Arc<Mutex<Vec<(String, bool)>>> = Arc::default();
    conversations.on_tool_call(|_: &ToolExecutionResult| -> anyhow::Result<()> {
        anyhow::bail!("it does not want to")
    });
    conversations
        .on_tool_call(|_: &ToolExecutionResult| -> anyhow::Result<()> { panic!("nor does this one") });
    let list = received.clone();
    conversations.on_tool_call(move |result: &ToolExecutionResult| {
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        list.push((result.tool_name.to_string(), result.error().is_none()));
        Ok(())
    });

    let (space, locale) = (SpaceId::from(Uuid::nil()), Locale::En);
    let caller = Caller { space, user: None, source: Source::Library, locale, request: None };
    let first = UserMessage {
        id: "one".to_owned(),
        messages: vec![ChatMessage::text(ChatRole::User, "Twice 21?")],
        replaces: None,
        tools: vec!["double".to_owned()],
        asked: TurnRequest { at: now(), locale, request: None, terms: None, trace: None },
    };
    let (asking, client_tools) = (ModelParameters::default(), Vec::new());
    let input = ConversationInput { agent: None, first, source: Source::Library, asking, client_tools };
    let log = Arc::new(TurnLog::ephemeral());
    let turn = EphemeralTurn {
        input,
        log: log.clone(),
        enclosing: EnclosingTurn::default(),
        cancel: CancellationToken::new(),
    };
    let turn = conversations.run_ephemeral(&caller, turn).await.expect("a turn");

    assert_eq!(turn.end.map(|end| end.text).as_deref(), Some("It is 42."));
    let mut received = received.lock().unwrap_or_else(PoisonError::into_inner).clone();
    received.sort();
    assert_eq!(received, [("double".to_owned(), true), ("nothing".to_owned(), false)]);
    let names: Vec<Value> = log.events(0).iter().map(|event| json!(event.name())).collect();
    assert_eq!(names.iter().filter(|name| *name == "tool.result").count(), 2, "{names:?}");
}
