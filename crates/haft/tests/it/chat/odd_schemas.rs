//! Tools whose schemas a provider would reject, and with them the whole request: Haft adapts the schema, or
//! omits the tool and adds a warning to the turn.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};

use super::{DIALECTS, Desk, final_text, user};

/// Calls the only tool, if any, and repeats its result.
async fn call_and_repeat(request: RecordedModelRequest) -> ModelReply {
    match (request.results().first(), request.tool_names().first()) {
        (Some(result), _) => ModelReply::says(&result.content),
        (None, Some(name)) => ModelReply::calls([(*name, json!({"city": "Rome"}))]),
        (None, None) => ModelReply::says("I have no tools."),
    }
}

/// Returns schemas that are valid in Haft and that some provider rejects.
fn adaptable_schemas() -> Vec<(&'static str, Value)> {
    let city = json!({"type": "string"});
    vec![
        ("no_properties", json!({"type": "object"})),
        ("no_type", json!({"properties": {"city": city}})),
        ("nullable_root", json!({"type": ["object", "null"], "properties": {"city": city}})),
        (
            "alternatives",
            json!({"type": "object", "oneOf": [
                {"properties": {"city": city}, "required": ["city"]},
                {"properties": {"place": city}, "required": ["place"]},
            ]}),
        ),
        (
            "all_of",
            json!({"type": "object", "allOf": [{"properties": {"city": city}}, {"required": ["city"]}]}),
        ),
        (
            "words",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
                "properties": {
                    "city": {"type": ["string", "null"], "format": "city", "examples": ["Rome"]},
                    "list": {"type": "array"},
                    "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
                    "one": {"const": 1},
                    "choice": {"enum": [1, "two", null]},
                    "anything": true,
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            }),
        ),
        (
            "tree",
            json!({
                "type": "object", "properties": {"city": city, "tree": {"$ref": "#/$defs/tree"}},
                "$defs": {"tree": {"type": "object", "properties": {"below": {"$ref": "#/$defs/tree"}}}},
            }),
        ),
    ]
}

#[tokio::test]
async fn schema_that_a_provider_rejects_is_adapted() {
    let desk = Desk::new(call_and_repeat).await;
    for (name, schema) in adaptable_schemas() {
        desk.tool(name, json!({"inputSchema": schema})).await;
        for dialect in DIALECTS {
            let agent = desk.agent(dialect, &[name], json!({})).await;
            let reply = desk.ask(&agent, "Rome?").await;
            assert!(final_text(&reply).contains("\"temperature\":4"), "{dialect:?} {name}: {}", reply.body);
            assert_eq!(reply.data()["warnings"], Value::Null, "{dialect:?} {name}: nothing is missing");
            let requests = desk.model.seen();
            assert_eq!(
                requests.last().map(RecordedModelRequest::tool_names),
                Some(vec![name]),
                "{dialect:?}"
            );
        }
    }
    // The fake server is as strict as the providers.
    desk.check();
}

#[tokio::test]
async fn tool_that_cannot_be_adapted_is_omitted_with_a_warning() {
    let desk = Desk::new(call_and_repeat).await;
    let city = json!({"type": "string"});
    let very_many: Vec<u32> = (0..21_000).collect();
    let anchored = json!({
        "type": "object", "properties": {"city": {"$ref": "#city"}},
        "$defs": {"city": {"$anchor": "city", "type": "string"}},
    });
    let all = DIALECTS.as_slice();
    for (name, schema, rejecting, why) in [
        (
            "large",
            json!({"type": "object", "properties": {"city": city, "n": {"examples": very_many}}}),
            all,
            "too large",
        ),
        ("anchored", anchored, all, "#city"),
        (
            "spaced",
            json!({"type": "object", "properties": {"city": city, "the city": city}}),
            &[FakeDialect::Anthropic],
            "the city",
        ),
        ("3d", json!({"type": "object", "properties": {"city": city}}), &[FakeDialect::Gemini], "name"),
    ] {
        desk.tool(name, json!({"inputSchema": schema})).await;
        for dialect in DIALECTS {
            let is_omitted = rejecting.contains(&dialect);
            let case = format!("{dialect:?} {name}");
            // The tool alone, and together with a valid one.
            for tools in [&[name][..], &[name, "weather"]] {
                let agent = desk.agent(dialect, tools, json!({})).await;
                let body = json!({"agentId": agent, "messages": [user("Rome?")]});
                let reply = desk.api.post("/api/chat", &body).await;
                let expected =
                    if is_omitted && tools.len() == 1 { "I have no tools." } else { "temperature" };
                assert!(final_text(&reply).contains(expected), "{case}: {}", reply.body);
                let offered = desk.model.seen().last().expect("a request").tool_names().join(" ");
                let expected: Vec<&str> =
                    tools.iter().copied().filter(|tool| !is_omitted || *tool != name).collect();
                assert_eq!(offered, expected.join(" "), "{case}");

                let warnings = reply.data()["warnings"].clone();
                let id = reply.data()["conversationId"].as_str().expect("an id");
                let read = desk.api.get(&format!("/api/conversations/{id}")).await;
                assert_eq!(
                    read.data()["turns"][0]["warnings"],
                    warnings,
                    "{case}: the warnings are persisted"
                );
                let mut streamed = body;
                streamed["stream"] = json!(true);
                let events = desk.api.post_for_events("/api/chat", &streamed).await.all().await;
                let emitted: Vec<&Value> = events
                    .iter()
                    .filter(|event| event.name == "warning")
                    .map(|event| &event.data["message"])
                    .collect();
                assert_eq!(
                    events.last().map(|event| event.data["finishReason"].clone()),
                    Some(json!("stop"))
                );
                if !is_omitted {
                    assert_eq!((&warnings, emitted.len()), (&Value::Null, 0), "{case}");
                    continue;
                }
                for warning in warnings.as_array().expect("warnings").iter().chain(emitted.iter().copied()) {
                    let text = warning.as_str().unwrap_or_default();
                    assert!(text.contains(name) && text.contains(why), "{case}: {warning}");
                }
                assert!(!emitted.is_empty(), "{case}: the warning is emitted, too");
            }
        }
    }
    desk.check();
}

#[tokio::test]
async fn warning_about_an_omitted_tool_is_emitted_once_per_turn() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.previous_responses() {
        before @ 0..=2 => ModelReply::calls([("weather", json!({"city": format!("c{before}")}))]),
        _ => ModelReply::says("Enough."),
    })
    .await;
    let schema = json!({"type": "object", "properties": {"the city": {"type": "string"}}});
    desk.tool("spaced", json!({"inputSchema": schema})).await;
    let agent = desk.agent(FakeDialect::Anthropic, &["spaced", "weather"], json!({})).await;
    let mut body = json!({"agentId": agent, "messages": [user("Well?")]});
    let reply = desk.api.post("/api/chat", &body).await;
    let warnings = reply.data()["warnings"].clone();
    assert_eq!(warnings.as_array().map(Vec::len), Some(1), "{warnings}");
    body["stream"] = json!(true);
    let events = desk.api.post_for_events("/api/chat", &body).await.all().await;
    assert_eq!(events.iter().filter(|event| event.name == "warning").count(), 1);
    desk.check();
}
