//! Tools that are kept elsewhere: loaded when a space is first used, renewed when something changed.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_engine::{
    Binding, BoxFuture, CallError, CallOptions, CallRequest, Caller, ErrorKind, Loaded, Locale, Message,
    Source, SpaceId, Tool, ToolId, ToolService, ToolSource, ToolVersion,
};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::support::builder;

/// A store in memory that counts how often it is asked, and can be away.
#[derive(Default)]
struct Kept {
    tools: Mutex<Vec<ToolVersion>>,
    /// Versions that count no more.
    earlier: Mutex<Vec<ToolVersion>>,
    loads: AtomicUsize,
    is_away: Mutex<bool>,
}

impl ToolSource for Kept {
    fn load<'a>(
        &'a self,
        space: SpaceId,
        known: &'a HashMap<ToolId, u64>,
    ) -> BoxFuture<'a, Result<Loaded, CallError>> {
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
            Ok(Loaded { changed: of_space().filter(is_new).cloned().collect(), all })
        })
    }

    fn version<'a>(
        &'a self,
        _: SpaceId,
        tool: &'a ToolId,
        version: u64,
    ) -> BoxFuture<'a, Result<Option<ToolVersion>, CallError>> {
        let earlier = self.earlier.lock().expect("a lock");
        let found = earlier.iter().find(|kept| kept.id == *tool && kept.version == version).cloned();
        Box::pin(async move { Ok(found) })
    }
}

impl Kept {
    fn change(&self, change: impl FnOnce(&mut Vec<ToolVersion>)) {
        change(&mut self.tools.lock().expect("a lock"));
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
async fn a_space_is_loaded_once_and_renewed_when_told() {
    let kept = Arc::new(Kept::default());
    kept.change(|tools| {
        tools.extend([version(space(1), "one", "mock"), version(space(1), "broken", "gone")]);
        tools.push(version(space(2), "two", "mock"));
    });
    let tools = builder().tools(kept.clone()).build();
    let (first, second) = tokio::join!(calls(&tools, space(1), "one"), calls(&tools, space(1), "one"));
    assert_eq!((first, second), (Ok(true), Ok(true)));
    assert_eq!(kept.loads.load(Ordering::SeqCst), 1, "many at once load a space once");
    assert_eq!(calls(&tools, space(1), "two").await, Ok(false), "another space's");
    assert_eq!(calls(&tools, space(1), "broken").await, Ok(false), "one that cannot be used is left out");
    assert_eq!(kept.loads.load(Ordering::SeqCst), 1, "a plain call asks nobody");

    // Names exchanged, one gone, one new.
    kept.change(|tools| {
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
    kept.change(Vec::clear);
    tools.renew(space(1)).await.expect("renewed");
    assert!(tools.in_space(space(1)).list().is_empty());
    tools.renew(space(3)).await.expect("nobody uses it");
    assert_eq!(kept.loads.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_source_that_is_away_fails_the_call_and_not_the_next() {
    let kept = Arc::new(Kept::default());
    kept.change(|tools| tools.push(version(space(1), "one", "mock")));
    let tools = builder().tools(kept.clone()).build();
    *kept.is_away.lock().expect("a lock") = true;
    assert_eq!(calls(&tools, space(1), "one").await, Err(ErrorKind::Unavailable));
    *kept.is_away.lock().expect("a lock") = false;
    assert_eq!(calls(&tools, space(1), "one").await, Ok(true));
    *kept.is_away.lock().expect("a lock") = true;
    assert!(tools.renew(space(1)).await.is_err());
    assert_eq!(calls(&tools, space(1), "one").await, Ok(true), "what was loaded stays");
}

#[tokio::test]
async fn a_binding_calls_the_version_that_it_means() {
    let kept = Arc::new(Kept::default());
    let first = version(space(1), "one", "mock");
    let mut second = first.clone();
    second.version = 2;
    second.spec.config.insert("answers".to_owned(), json!([{"data": 2}]));
    kept.earlier.lock().expect("a lock").push(first);
    kept.change(|tools| tools.push(second));
    let tools = builder().tools(kept.clone()).build();
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
    kept.earlier.lock().expect("a lock").clear();
    assert!(call(Some(1)).await.is_success(), "what was prepared once is ready");
    let missing = call(Some(9)).await;
    assert_eq!(missing.error().map(|error| error.message().id()), Some("tool.noVersion"));
}
