//! The catalog: registering, finding, spaces, versions, and kinds from outside the engine.

use std::sync::Arc;

use haft_engine::{
    Arguments, BoxFuture, CallContext, CallError, CallOptions, CallRequest, Caller, ConfigError, Effect,
    ErrorKind, Expected, Kind, Locale, Message, Prepared, Source, SpaceId, Tool, ToolContext, ToolId,
    ToolOutput, ToolService, ToolVersion, Violation,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{builder, mock};

fn named(name: &str) -> Tool {
    Tool::new(name, "A mock.", "mock", json!({}))
}

fn names(tools: &[Arc<ToolVersion>]) -> Vec<String> {
    tools.iter().map(|tool| tool.spec.name.to_string()).collect()
}

#[test]
fn tools_are_registered_listed_and_removed() {
    let tools = builder().build();
    tools.register_all([named("b"), named("a")]).expect("registered");
    assert_eq!(names(&tools.list()), ["a", "b"]);
    assert_eq!(
        tools.get("a").map(|tool| tool.id.to_string()),
        Some("a".to_owned()),
        "code provides it: its id is its name"
    );
    assert!(tools.get("c").is_none());
    assert!(tools.unregister("a").is_some());
    assert!(tools.unregister("a").is_none());
    assert_eq!(names(&tools.list()), ["b"]);
    assert_eq!(tools.register(named("a")).expect("free again").version, 1);
}

#[test]
fn duplicate_names_are_rejected_and_batches_are_atomic() {
    let tools = builder().build();
    tools.register(named("a")).expect("registered");
    let error = tools.register(named("a")).expect_err("taken");
    assert_eq!(
        (error.kind(), error.message().to_string()),
        (ErrorKind::Conflict, "a tool named a exists already".to_owned())
    );
    assert!(tools.register_all([named("b"), named("a")]).is_err());
    assert!(tools.register_all([named("c"), named("c")]).is_err());
    assert_eq!(names(&tools.list()), ["a"]);
}

#[test]
fn a_definition_is_validated_without_being_registered() {
    let tools = builder().build();
    tools.validate(named("a")).expect("fine");
    assert!(tools.list().is_empty());
    let said = |tool: Tool| tools.validate(tool).expect_err("refused").message().to_string();
    assert_eq!(
        said(Tool::new("a", "A.", "mok", json!({}))),
        "Invalid inputs: type: mok is not a kind of tool this server can run; did you mean mock?"
    );
    assert_eq!(
        said(Tool::new("a", "A.", "grpc", json!({}))),
        "Invalid inputs: type: grpc is not a kind of tool this server can run; it can run mock"
    );
    assert!(said(Tool::new("a", "A.", "native", json!({}))).contains("cannot be defined from outside"));
    assert!(
        said(Tool::new("a", "A.", "mock", json!({"answer": 1})))
            .starts_with("Invalid inputs: config: unknown field `answer`")
    );
    assert!(
        said(Tool::new("a", "A.", "mock", json!({"answers": [{"error": {"kind": "Oops", "message": ""}}]})))
            .contains("Oops")
    );
}

#[test]
fn arguments_are_validated_without_a_call() {
    let tools = builder().build();
    let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    tools.register(mock(json!([])).input_schema(schema)).expect("registered");
    let admitted = tools.validate_arguments("t", json!({"n": "3"}), &CallOptions::default()).expect("fits");
    assert_eq!(
        (admitted.arguments.get("n"), admitted.coerced.as_slice()),
        (Some(&json!(3)), ["n".to_owned()].as_slice())
    );
    let kind = |tool: &str, arguments| {
        tools.validate_arguments(tool, arguments, &CallOptions::default()).expect_err("refused").kind()
    };
    assert_eq!(kind("t", json!({})), ErrorKind::Validation);
    assert_eq!(kind("u", json!({})), ErrorKind::NotFound);
}

/// A kind as an embedding program would write it.
struct Shout;

struct Shouting {
    suffix: String,
}

impl Kind for Shout {
    fn name(&self) -> &'static str {
        "shout"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["yell"]
    }

    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        match tool.config.get("suffix").and_then(Value::as_str) {
            Some(suffix) => Ok(Arc::new(Shouting { suffix: suffix.to_owned() })),
            None => Err(Violation::new("suffix", Message::verbatim("must be a string")).into()),
        }
    }
}

impl Prepared for Shouting {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn input_schema(&self) -> Option<Value> {
        Some(json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}))
    }

    fn preview(&self, arguments: &Arguments, _: &CallContext) -> Result<Option<Value>, CallError> {
        Ok(Some(json!({"would shout": arguments.get("text")})))
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(async move {
            let text = arguments.get("text").and_then(Value::as_str).unwrap_or_default();
            Ok(json!(format!("{}{}", text.to_uppercase(), self.suffix)).into())
        })
    }
}

#[tokio::test]
async fn a_kind_from_outside_works_like_any_other() {
    let tools = ToolService::builder().kind(Shout).build();
    let added =
        tools.register(Tool::new("s", "Shouts.", "YELL", json!({"suffix": "!"}))).expect("registered");
    assert_eq!(added.spec.kind.as_str(), "shout", "an alias becomes the name");
    assert_eq!(
        added.spec.input_schema.as_ref().map(|schema| &schema["required"]),
        Some(&json!(["text"])),
        "generated"
    );
    let result = tools.execute("s", json!({"text": "hi"}), CallOptions::default()).await.expect("an answer");
    assert_eq!(result.data(), Some(&json!("HI!")));
    let dry =
        tools.execute("s", json!({"text": "hi"}), CallOptions::default().dry_run()).await.expect("an answer");
    assert_eq!(dry.data(), Some(&json!({"would shout": "hi"})));
    let error = tools.register(Tool::new("x", "X.", "shout", json!({}))).expect_err("refused");
    assert_eq!(error.message().to_string(), "Invalid inputs: config.suffix: must be a string");
}

fn space(n: u128) -> SpaceId {
    SpaceId::from(Uuid::from_u128(n))
}

fn version(
    tools: &ToolService,
    id: u128,
    name: &str,
    version: u64,
) -> (ToolVersion, haft_engine::PreparedTool) {
    let input =
        haft_core::tool::input::parse(json!({"name": name, "description": "A mock.", "type": "mock"}));
    let prepared =
        tools.in_space(space(1)).prepare(None, input.expect("a definition").spec).expect("prepared");
    let now = Timestamp::UNIX_EPOCH;
    let version = ToolVersion {
        id: ToolId::Uuid(Uuid::from_u128(id)),
        space_id: Some(space(1)),
        owner_id: None,
        spec: prepared.spec().clone(),
        version,
        created_at: now,
        updated_at: now,
    };
    (version, prepared)
}

#[tokio::test]
async fn a_space_sees_only_shared_tools_and_its_own() {
    let tools = builder().build();
    tools.register(named("everyone")).expect("registered");
    let (one, prepared) = version(&tools, 7, "mine", 1);
    tools.in_space(space(1)).put(one, prepared, Expected::Absent).expect("created");
    assert_eq!(names(&tools.in_space(space(1)).list()), ["everyone", "mine"]);
    assert_eq!(names(&tools.in_space(space(2)).list()), ["everyone"]);
    let id = Uuid::from_u128(7).to_string();
    assert!(tools.in_space(space(1)).get(&id).is_some() && tools.in_space(space(1)).get("mine").is_some());
    assert!(tools.in_space(space(2)).get(&id).is_none() && tools.in_space(space(2)).get("mine").is_none());

    let call = async |n: u128, tool: &str| {
        let (source, locale) = (Source::Api, Locale::En);
        let caller = Caller { space: space(n), user: None, source, locale, request: None };
        let request =
            CallRequest { tool: tool.to_owned(), arguments: json!({}), options: CallOptions::default() };
        tools
            .call(&caller, request)
            .await
            .expect("an answer")
            .error()
            .map(|error| (error.kind(), error.message().to_string()))
    };
    assert_eq!(call(1, "mine").await, None);
    assert_eq!(call(1, &id).await, None);
    assert_eq!(call(2, "everyone").await, None);
    let stranger = call(2, "mine").await.expect("refused");
    assert_eq!(stranger, (ErrorKind::NotFound, "there is no tool mine".to_owned()), "not even a hint");
}

#[test]
fn a_space_cannot_shadow_shared_tools_or_use_a_name_twice() {
    let tools = builder().build();
    tools.register(named("calculator")).expect("registered");
    let mine = tools.in_space(space(1));
    let create = |id, name| {
        let (tool, prepared) = version(&tools, id, name, 1);
        mine.put(tool, prepared, Expected::Absent).map(drop).map_err(|error| error.kind())
    };
    assert_eq!(create(1, "calculator"), Err(ErrorKind::Conflict));
    assert_eq!(create(1, "a"), Ok(()));
    assert_eq!(create(2, "a"), Err(ErrorKind::Conflict));
    assert_eq!(create(1, "b"), Err(ErrorKind::Conflict), "the id is taken");
}

#[test]
fn a_change_requires_the_version_that_it_read() {
    let tools = builder().build();
    let mine = tools.in_space(space(1));
    let (tool, prepared) = version(&tools, 1, "a", 1);
    mine.put(tool, prepared, Expected::Absent).expect("created");
    let replace = |name, to, before| {
        let (tool, prepared) = version(&tools, 1, name, to);
        mine.put(tool, prepared, Expected::Version(before))
    };
    replace("renamed", 2, 1).expect("replaced");
    assert!(mine.get("a").is_none() && mine.get("renamed").is_some());
    let stale = replace("again", 2, 1).expect_err("stale");
    assert_eq!(stale.kind(), ErrorKind::Conflict);
    assert_eq!(
        stale.message().to_string(),
        "renamed has been changed: its version is 2, not 1; read it again and repeat the change"
    );
    let id = ToolId::Uuid(Uuid::from_u128(1));
    assert_eq!(mine.remove(&id, Some(1)).expect_err("stale").kind(), ErrorKind::Conflict);
    assert!(mine.get("renamed").is_some(), "nothing was removed");
    mine.remove(&id, Some(2)).expect("removed");
    assert_eq!(mine.remove(&id, None).expect_err("gone").kind(), ErrorKind::NotFound);
    assert_eq!(replace("a", 3, 2).expect_err("gone").kind(), ErrorKind::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_consistent_states_during_changes() {
    let tools = builder().build();
    tools.register(named("always")).expect("registered");
    let writer = {
        let tools = tools.clone();
        tokio::task::spawn_blocking(move || {
            for round in 0..200 {
                let batch = (0..5).map(|n| named(&format!("r{round}_{n}")));
                tools.register_all(batch.collect::<Vec<_>>()).expect("registered");
            }
        })
    };
    while !writer.is_finished() {
        assert!(tools.get("always").is_some());
        assert_eq!((tools.list().len() - 1) % 5, 0, "a batch is seen whole or not at all");
        tokio::task::yield_now().await;
    }
    writer.await.expect("the writer is done");
    assert_eq!(tools.list().len(), 1001);
}

#[test]
fn a_shared_tool_cannot_hide_a_tool_of_a_space() {
    let tools = builder().build();
    let (mine, prepared) = version(&tools, 1, "report", 1);
    tools.in_space(space(1)).put(mine, prepared, Expected::Absent).expect("created");
    assert_eq!(tools.register(named("report")).expect_err("taken").kind(), ErrorKind::Conflict);
    assert!(tools.in_space(space(1)).get("report").is_some_and(|tool| tool.space_id.is_some()));
}

#[test]
fn a_whole_definition_can_come_as_json() {
    let tools = builder().build();
    let definition = json!({"name": "a", "description": "A.", "type": "MOCK", "retries": 2, "timeout": 5});
    let added = tools.register(Tool::from_json(definition)).expect("registered");
    assert_eq!((added.spec.retry_count, added.spec.timeout), (Some(2), 5));
    let error = tools.register(Tool::from_json(json!([]))).expect_err("no definition");
    assert_eq!(error.message().to_string(), "Invalid inputs: (root): [] is not of type \"object\"");
}

#[tokio::test]
async fn large_arguments_are_validated_on_a_blocking_thread() {
    let tools = builder().build();
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "array", "items": {"type": "integer"}}}});
    tools.register(mock(json!([{"data": "taken"}])).input_schema(schema)).expect("registered");
    let numbers: Vec<u32> = (0..400_000).collect();
    let result = tools.execute("t", json!({"n": numbers}), CallOptions::default()).await.expect("an answer");
    assert_eq!(result.data(), Some(&json!("taken")));
}
