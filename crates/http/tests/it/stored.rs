//! Stored tools of an earlier release that could not be saved today: they load, are listed, and calls fail
//! with the reason.

use std::collections::{HashMap, HashSet};
use std::future::ready;
use std::sync::Arc;

use haft_engine::{
    BoxFuture, CallError, CallOptions, CallRequest, Caller, LoadedTools, Locale, Source, SourceState,
    SpaceId, Tool, ToolId, ToolService, ToolSource, ToolVersion,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Stage, builder, defined, engine, open, wrong};

fn space() -> SpaceId {
    Uuid::from_u128(1).into()
}

/// A source with one tool.
struct Stored(ToolVersion);

impl ToolSource for Stored {
    fn load<'a>(
        &'a self,
        _: SpaceId,
        _: &'a HashMap<ToolId, u64>,
        _: Option<SourceState>,
    ) -> BoxFuture<'a, Result<Option<LoadedTools>, CallError>> {
        let (changed, all) = (vec![self.0.clone()], HashSet::from([self.0.id.clone()]));
        Box::pin(ready(Ok(Some(LoadedTools { changed, all, state: SourceState::default() }))))
    }

    fn version<'a>(
        &'a self,
        _: SpaceId,
        _: &'a ToolId,
        _: u64,
    ) -> BoxFuture<'a, Result<Option<ToolVersion>, CallError>> {
        Box::pin(ready(Ok(None)))
    }
}

/// An engine with a stored tool `t` in its space, without validation.
fn storing(config: &Value) -> ToolService {
    let plain = open(json!({"url": "https://api.example.com/x"}));
    let registered = engine(&[]).register(Tool::from_json(plain)).expect("a tool");
    let mut version = ToolVersion::clone(&registered);
    (version.id, version.space_id) = (ToolId::Uuid(Uuid::now_v7()), Some(space()));
    version.spec.config = config.as_object().expect("an object").clone();
    builder(&[]).tools(Arc::new(Stored(version))).build()
}

#[tokio::test]
async fn stored_tool_whose_hosts_are_not_allowed_loads_and_is_refused_only_when_saved() {
    let stage = Stage::new().await;
    let own = json!({"url": stage.up.url("/x"), "security": {"allowedDomains": ["other.example"]}});
    let polled = json!({
        "url": stage.up.url("/jobs"), "method": "POST", "poll": {"url": "https://jobs.example.net/{{id}}"},
    });
    for (config, path) in [(&own, "config.security.allowedDomains"), (&polled, "config.poll.url")] {
        let tools = storing(config);
        tools.make_ready(space()).await.expect("loaded");
        let listed = tools.in_space(space()).list();
        assert!(listed.iter().any(|tool| tool.spec.name.as_str() == "t"), "{path}: it is listed");
        let paths: Vec<String> =
            wrong(&tools, defined(config.clone())).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, [path], "a save is refused");
    }
    let caller =
        Caller { space: space(), user: None, source: Source::Api, locale: Locale::En, request: None };
    let request = CallRequest { tool: "t".to_owned(), arguments: json!({}), options: CallOptions::default() };
    let called = storing(&own).call(&caller, request).await.expect("the engine itself works");
    let said = called.error().expect("a refusal").message().to_string();
    assert!(said.contains("Domain not allowed: 127.0.0.1. Allowed: other.example"), "{said}");
    assert!(stage.up.seen().is_empty(), "nothing is sent");
}
