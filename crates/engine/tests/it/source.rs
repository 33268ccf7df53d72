//! Tools of a source: loaded when a space is first used, reloaded after changes.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_engine::{
    Binding, BoxFuture, CallError, CallOptions, CallRequest, Caller, ConfigError, ErrorKind, Kind,
    LoadedTools, Locale, Message, MockKind, Prepared, Source, SourceState, SpaceId, Tool, ToolContext,
    ToolId, ToolService, ToolSource, ToolVersion,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::builder;

/// An in-memory source that counts its calls, and can be unavailable.
#[derive(Default)]
struct MemorySource {
    tools: Mutex<Vec<ToolVersion>>,
    /// Superseded versions.
    earlier: Mutex<Vec<ToolVersion>>,
    loads: AtomicUsize,
    changes: AtomicU64,
    is_away: Mutex<bool>,
}

impl ToolSource for MemorySource {
    fn load<'a>(
        &'a self,
        space: SpaceId,
        known: &'a HashMap<ToolId, u64>,
        last: Option<SourceState>,
    ) -> BoxFuture<'a, Result<Option<LoadedTools>, CallError>> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            tokio::task::yield_now().await;
            if *self.is_away.lock().expect("a lock") {
                return Err(CallError::new(ErrorKind::Unavailable, Message::verbatim("away".to_owned())));
            }
            let tools = self.tools.lock().expect("a lock");
            let of_space = || tools.iter().filter(|tool| tool.space_id == Some(space));
            let is_new = |tool: &&ToolVersion| known.get(&tool.id) != Some(&tool.version);
            let all: HashSet<ToolId> = of_space().map(|tool| tool.id.clone()).collect();
            let changed: Vec<ToolVersion> = of_space().filter(is_new).cloned().collect();
            let state =
                SourceState { revision: self.changes.load(Ordering::SeqCst), count: all.len() as u64 };
            Ok((last != Some(state)).then_some(LoadedTools { changed, all, state }))
        })
    }

    fn version<'a>(
        &'a self,
        _: SpaceId,
        tool: &'a ToolId,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<ToolVersion>, CallError>> {
        let earlier = self.earlier.lock().expect("a lock");
        let found = earlier.iter().find(|source| source.id == *tool && source.version == version).cloned();
        Box::pin(async move { Ok(found) })
    }
}

impl MemorySource {
    fn change(&self, change: impl FnOnce(&mut Vec<ToolVersion>)) {
        change(&mut self.tools.lock().expect("a lock"));
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

fn version(space: SpaceId, name: &str, kind: &str) -> ToolVersion {
    let tools = builder().build();
    let (at, id) = (Timestamp::UNIX_EPOCH, ToolId::Uuid(Uuid::now_v7()));
    let registered = tools.register(Tool::new(name, "A mock.", "mock", json!({}))).expect("a tool");
    let mut spec = registered.spec.clone();
    spec.kind = kind.into();
    ToolVersion {
        id,
        space_id: Some(space),
        owner_id: None,
        spec,
        version: 1,
        created_at: at,
        updated_at: at,
    }
}

fn space(number: u128) -> SpaceId {
    Uuid::from_u128(number).into()
}

async fn calls(tools: &ToolService, space: SpaceId, tool: &str) -> Result<bool, ErrorKind> {
    let caller = Caller { space, user: None, source: Source::Api, locale: Locale::En, request: None };
    let request =
        CallRequest { tool: tool.to_owned(), arguments: json!({}), options: CallOptions::default() };
    tools.call(&caller, request).await.map(|result| result.is_success()).map_err(|error| error.kind())
}

#[tokio::test]
async fn a_space_is_loaded_once_and_reloaded_on_request() {
    let source = Arc::new(MemorySource::default());
    source.change(|tools| {
        tools.extend([version(space(1), "one", "mock"), version(space(1), "broken", "gone")]);
        tools.push(version(space(2), "two", "mock"));
    });
    let tools = builder().tools(source.clone()).build();
    let (first, second) = tokio::join!(calls(&tools, space(1), "one"), calls(&tools, space(1), "one"));
    assert_eq!((first, second), (Ok(true), Ok(true)));
    assert_eq!(source.loads.load(Ordering::SeqCst), 1, "many at once load a space once");
    assert_eq!(calls(&tools, space(1), "two").await, Ok(false), "another space's");
    assert_eq!(calls(&tools, space(1), "broken").await, Ok(false), "one that cannot be used is left out");
    assert_eq!(source.loads.load(Ordering::SeqCst), 1, "a plain call does not query the source");

    // Two tools swapped their names, one was deleted, one was added.
    source.change(|tools| {
        tools.retain(|tool| tool.spec.name.as_str() != "broken");
        tools.push(version(space(1), "three", "mock"));
        let (one, three) = (tools[0].spec.name.clone(), tools[2].spec.name.clone());
        (tools[0].spec.name, tools[2].spec.name) = (three, one);
        tools[0].version = 2;
    });
    let before = tools.in_space(space(1)).get("one").expect("there").id.clone();
    tools.renew(space(1)).await.expect("renewed");
    let listed = tools.in_space(space(1)).list();
    let names: Vec<&str> = listed.iter().map(|tool| tool.spec.name.as_str()).collect();
    assert_eq!(names, ["one", "three"]);
    assert_eq!(tools.in_space(space(1)).get("three").expect("there").id, before);
    source.change(Vec::clear);
    tools.renew(space(1)).await.expect("renewed");
    assert!(tools.in_space(space(1)).list().is_empty());
    tools.renew(space(3)).await.expect("the space is not loaded");
    assert_eq!(source.loads.load(Ordering::SeqCst), 3);
}

/// A kind that counts how often it prepares a definition.
#[derive(Default, Clone)]
struct Counting(Arc<AtomicUsize>);

impl Kind for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        MockKind.prepare(tool)
    }
}

#[tokio::test]
async fn a_reload_prepares_only_changed_tools() {
    let (source, counting) = (Arc::new(MemorySource::default()), Counting::default());
    source.change(|tools| {
        tools.extend((0..100).map(|number| version(space(1), &format!("tool_{number}"), "counting")));
    });
    let tools = builder().kind(counting.clone()).tools(source.clone()).build();
    let prepared = || counting.0.swap(0, Ordering::SeqCst);
    assert_eq!(calls(&tools, space(1), "tool_7").await, Ok(true));
    assert_eq!(prepared(), 100, "all of them when the space is first used");
    let before = tools.in_space(space(1)).list();

    tools.renew(space(1)).await.expect("renewed");
    assert_eq!(prepared(), 0, "something else in the space changed");

    source.change(|tools| tools[7].version = 2);
    tools.renew(space(1)).await.expect("renewed");
    assert_eq!(prepared(), 1);
    let after = tools.in_space(space(1)).list();
    let same = before.iter().zip(&after).filter(|(before, after)| Arc::ptr_eq(before, after)).count();
    assert_eq!(same, 99, "the others are the ones that were there");
}

/// A kind whose tools return the context that they were prepared in.
struct Contextual;

impl Kind for Contextual {
    fn name(&self) -> &'static str {
        "contextual"
    }

    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        let data = json!({"space": tool.space, "id": tool.tool.id, "name": tool.tool.name});
        let config = serde_json::Map::from_iter([("answers".to_owned(), json!([{"data": data}]))]);
        MockKind.prepare(&ToolContext { config: &config, ..*tool })
    }
}

#[tokio::test]
async fn kind_prepares_a_tool_with_its_space_id_and_name() {
    let source = Arc::new(MemorySource::default());
    let stored = version(space(1), "stored", "contextual");
    source.change(|tools| tools.push(stored.clone()));
    let tools = builder().kind(Contextual).tools(source).build();
    tools.register(Tool::new("shared", "A tool.", "contextual", json!({}))).expect("registered");
    let caller =
        Caller { space: space(1), user: None, source: Source::Api, locale: Locale::En, request: None };
    for (name, expected) in [
        ("stored", json!({"space": space(1), "id": stored.id, "name": "stored"})),
        ("shared", json!({"space": null, "id": "shared", "name": "shared"})),
    ] {
        let options = CallOptions::default();
        let request = CallRequest { tool: name.to_owned(), arguments: json!({}), options };
        let result = tools.call(&caller, request).await.expect("a result");
        assert_eq!(result.data(), Some(&expected));
    }
}

/// A kind that signals when it prepares, and waits for a signal to continue.
struct Waiting {
    begins: tokio::sync::mpsc::UnboundedSender<()>,
    goes_on: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl Kind for Waiting {
    fn name(&self) -> &'static str {
        "waiting"
    }

    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        self.begins.send(()).expect("a test that waits");
        self.goes_on.lock().expect("a lock").recv().expect("a signal");
        MockKind.prepare(tool)
    }
}

#[tokio::test]
async fn a_cancelled_reload_is_completed_by_the_next_one() {
    let source = Arc::new(MemorySource::default());
    source.change(|tools| tools.push(version(space(1), "one", "mock")));
    let (begins, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let (go_on, goes_on) = std::sync::mpsc::channel();
    let kind = Waiting { begins, goes_on: Mutex::new(goes_on) };
    let tools = builder().kind(kind).tools(source.clone()).build();
    assert_eq!(calls(&tools, space(1), "one").await, Ok(true));

    source.change(|tools| tools.push(version(space(1), "two", "waiting")));
    tokio::select! {
        renewed = tools.renew(space(1)) => panic!("it ended before its tools were prepared: {renewed:?}"),
        told = begun.recv() => told.expect("it prepares"),
    }
    assert_eq!(calls(&tools, space(1), "two").await, Ok(false));
    (0..2).for_each(|_| go_on.send(()).expect("it waits"));
    tools.renew(space(1)).await.expect("renewed");
    assert_eq!(calls(&tools, space(1), "two").await, Ok(true));
}

#[tokio::test]
async fn schemas_of_stored_tools_are_compiled_at_the_first_call() {
    let source = Arc::new(MemorySource::default());
    let mut strict = version(space(1), "strict", "mock");
    strict.spec.input_schema =
        Some(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}));
    let mut broken = version(space(1), "broken", "mock");
    broken.spec.input_schema = Some(json!({"type": "object", "properties": {"n": {"type": "nothing"}}}));
    source.change(|tools| tools.extend([strict, broken]));
    let tools = builder().tools(source).build();
    let call = async |tool: &str, arguments: Value| {
        let caller =
            Caller { space: space(1), user: None, source: Source::Api, locale: Locale::En, request: None };
        let request = CallRequest { tool: tool.to_owned(), arguments, options: CallOptions::default() };
        tools.call(&caller, request).await.expect("a result")
    };
    assert!(call("strict", json!({"n": 1})).await.is_success());
    let refused = call("strict", json!({"n": "one"})).await;
    assert_eq!(refused.error().map(CallError::kind), Some(ErrorKind::Validation));
    let unusable = call("broken", json!({"n": 1})).await;
    assert_eq!(unusable.error().map(|error| error.message().id()), Some("tool.schemaUnusable"));
    assert!(call("strict", json!({"n": 2})).await.is_success(), "the others do not suffer");
}

#[tokio::test]
async fn an_unavailable_source_fails_the_call_but_not_the_next_one() {
    let source = Arc::new(MemorySource::default());
    source.change(|tools| tools.push(version(space(1), "one", "mock")));
    let tools = builder().tools(source.clone()).build();
    *source.is_away.lock().expect("a lock") = true;
    assert_eq!(calls(&tools, space(1), "one").await, Err(ErrorKind::Unavailable));
    *source.is_away.lock().expect("a lock") = false;
    assert_eq!(calls(&tools, space(1), "one").await, Ok(true));
    *source.is_away.lock().expect("a lock") = true;
    assert!(tools.renew(space(1)).await.is_err());
    assert_eq!(calls(&tools, space(1), "one").await, Ok(true), "loaded tools stay");
}

#[tokio::test]
async fn a_binding_calls_its_pinned_version() {
    let source = Arc::new(MemorySource::default());
    let first = version(space(1), "one", "mock");
    let mut second = first.clone();
    second.version = 2;
    second.spec.config.insert("answers".to_owned(), json!([{"data": 2}]));
    source.earlier.lock().expect("a lock").push(first);
    source.change(|tools| tools.push(second));
    let tools = builder().tools(source.clone()).build();
    let call = async |version: Option<u64>| {
        let caller =
            Caller { space: space(1), user: None, source: Source::Api, locale: Locale::En, request: None };
        let binding = Arc::new(Binding { version, ..Binding::default() });
        let options = CallOptions::default().binding(binding);
        let request = CallRequest { tool: "one".to_owned(), arguments: json!({}), options };
        tools.call(&caller, request).await.expect("a result")
    };
    assert_eq!(call(None).await.data(), Some(&json!(2)));
    assert_eq!(call(Some(2)).await.data(), Some(&json!(2)));
    assert_ne!(call(Some(1)).await.data(), Some(&json!(2)));
    source.earlier.lock().expect("a lock").clear();
    assert!(call(Some(1)).await.is_success(), "a prepared version stays available");
    let missing = call(Some(9)).await;
    assert_eq!(missing.error().map(|error| error.message().id()), Some("tool.noVersion"));
}
