//! The chat loop in a Rust program of one's own: no server, no database, a script that speaks for a model.

use std::sync::{Arc, Mutex, PoisonError};

use haft_agent::{
    Asked, Asker, Asking, Chat, ChatRun, Chosen, Message, Models, Role, Said, Surroundings, Talk, Wanted,
    Within,
};
use haft_core::agent::Agent;
use haft_core::{
    ArtifactBytes, BoxFuture, CallError, Caller, ErrorKind, Locale, RunId, Source, SpaceId,
    ToolExecutionResult, UserId,
};
use haft_engine::{Tool, ToolService, now};
use haft_llm::Scripted;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Calls a tool that is there and one that is not, and then says what it knows.
const SCRIPT: &str = r#"[
    {"toolCalls": [{"name": "double", "arguments": {"n": 21}}, {"name": "nothing", "arguments": {}}]},
    {"text": "It is 42."}
]"#;

struct Script(Arc<Scripted>);

impl Models for Script {
    fn find<'a>(&'a self, _: Asker, _: &'a Wanted) -> BoxFuture<'a, Result<Chosen, CallError>> {
        let (provider, name) = ("script".to_owned(), "scripted".to_owned());
        let chosen = Chosen { provider, name, window: None, model: self.0.clone() };
        Box::pin(std::future::ready(Ok(chosen)))
    }
}

/// There is nothing around.
struct Nothing;

fn none<T>() -> Result<T, CallError> {
    Err(CallError::text(ErrorKind::NotFound, "there is none"))
}

impl Surroundings for Nothing {
    fn agent<'a>(&'a self, _: SpaceId, _: &'a str) -> BoxFuture<'a, Result<Option<Arc<Agent>>, CallError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn keep(&self, _: SpaceId, _: UserId, _: String, _: String) -> BoxFuture<'_, Result<String, CallError>> {
        Box::pin(std::future::ready(none()))
    }

    fn file<'a>(
        &'a self,
        _: SpaceId,
        _: Option<UserId>,
        _: &'a str,
        _: u64,
    ) -> BoxFuture<'a, Result<ArtifactBytes, CallError>> {
        Box::pin(std::future::ready(none()))
    }

    fn cancel(&self, _: SpaceId, _: Option<UserId>, _: RunId) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Number {
    n: i64,
}

#[tokio::test]
async fn who_listens_hears_of_every_call_whatever_others_do() {
    let tools = ToolService::builder().build();
    let double =
        Tool::native("double", "Twice a number.", |number: Number| async move { Ok(json!(number.n * 2)) });
    tools.register(double).expect("registered");
    let script = Script(Arc::new(Scripted::read(SCRIPT).expect("a script")));
    let chat = Chat::new(tools, Arc::new(script), Arc::new(Nothing), 0);
    let heard: Arc<Mutex<Vec<(String, bool)>>> = Arc::default();
    chat.on_tool_call(|_: &ToolExecutionResult| -> anyhow::Result<()> {
        anyhow::bail!("it does not want to")
    });
    chat.on_tool_call(|_: &ToolExecutionResult| -> anyhow::Result<()> { panic!("nor does this one") });
    let list = heard.clone();
    chat.on_tool_call(move |result: &ToolExecutionResult| {
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        list.push((result.tool_name.to_string(), result.error().is_none()));
        Ok(())
    });

    let (space, locale) = (SpaceId::from(Uuid::nil()), Locale::En);
    let caller = Caller { space, user: None, source: Source::Library, locale, request: None };
    let first = Said {
        id: "one".to_owned(),
        messages: vec![Message::text(Role::User, "Twice 21?")],
        replaces: None,
        tools: vec!["double".to_owned()],
        asked: Asked { at: now(), locale, request: None, terms: None, trace: None },
    };
    let (asking, client_tools) = (Asking::default(), Vec::new());
    let run = ChatRun { agent: None, first, source: Source::Library, asking, client_tools };
    let talk = Arc::new(Talk::unkept());
    let turn =
        chat.once(&caller, &run, &talk, Within::default(), CancellationToken::new()).await.expect("a turn");

    assert_eq!(turn.end.map(|end| end.text).as_deref(), Some("It is 42."));
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
    heard.sort();
    assert_eq!(heard, [("double".to_owned(), true), ("nothing".to_owned(), false)]);
    let told: Vec<Value> = talk.events(0).iter().map(|event| json!(event.name())).collect();
    assert_eq!(told.iter().filter(|name| *name == "tool.result").count(), 2, "{told:?}");
}
