//! Tools whose schemas a provider would refuse, and the whole question with them: they are adapted, or left out, and
//! whoever asked is told.

use haft_testkit::{AskedModel, Dialect, ModelReply};
use serde_json::{Value, json};

use super::{DIALECTS, Desk, said, user};

/// Calls the one tool there is, if there is one, and says what it said.
async fn teller(asked: AskedModel) -> ModelReply {
    match (asked.results().first(), asked.tool_names().first()) {
        (Some(result), _) => ModelReply::says(&result.content),
        (None, Some(name)) => ModelReply::calls([(*name, json!({"city": "Rome"}))]),
        (None, None) => ModelReply::says("I have no tools."),
    }
}

/// Schemas that are good here, and that one maker or another takes offence at.
fn adaptable() -> Vec<(&'static str, Value)> {
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
async fn a_schema_that_a_provider_would_refuse_is_adapted() {
    let desk = Desk::new(teller).await;
    for (name, schema) in adaptable() {
        desk.tool(name, json!({"inputSchema": schema})).await;
        for dialect in DIALECTS {
            let agent = desk.agent(dialect, &[name], json!({})).await;
            let reply = desk.ask(&agent, "Rome?").await;
            assert!(said(&reply).contains("\"temperature\":4"), "{dialect:?} {name}: {}", reply.body);
            assert_eq!(reply.data()["warnings"], Value::Null, "{dialect:?} {name}: nothing is missing");
            let asked = desk.model.seen();
            assert_eq!(asked.last().map(AskedModel::tool_names), Some(vec![name]), "{dialect:?}");
        }
    }
    // The fake is as strict as the makers are.
    desk.check();
}

#[tokio::test]
async fn a_tool_that_cannot_be_adapted_is_left_out_and_whoever_asked_is_told() {
    let desk = Desk::new(teller).await;
    let city = json!({"type": "string"});
    let very_many: Vec<u32> = (0..21_000).collect();
    let anchored = json!({
        "type": "object", "properties": {"city": {"$ref": "#city"}},
        "$defs": {"city": {"$anchor": "city", "type": "string"}},
    });
    let all = DIALECTS.as_slice();
    for (name, schema, refusing, why) in [
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
            &[Dialect::Anthropic],
            "the city",
        ),
        ("3d", json!({"type": "object", "properties": {"city": city}}), &[Dialect::Gemini], "name"),
    ] {
        desk.tool(name, json!({"inputSchema": schema})).await;
        for dialect in DIALECTS {
            let is_left_out = refusing.contains(&dialect);
            let case = format!("{dialect:?} {name}");
            // Alone, and beside one that is as it should be.
            for tools in [&[name][..], &[name, "weather"]] {
                let agent = desk.agent(dialect, tools, json!({})).await;
                let body = json!({"agentId": agent, "messages": [user("Rome?")]});
                let reply = desk.api.post("/api/chat", &body).await;
                let expected =
                    if is_left_out && tools.len() == 1 { "I have no tools." } else { "temperature" };
                assert!(said(&reply).contains(expected), "{case}: {}", reply.body);
                let offered = desk.model.seen().last().expect("it was asked").tool_names().join(" ");
                let shown: Vec<&str> =
                    tools.iter().copied().filter(|tool| !is_left_out || *tool != name).collect();
                assert_eq!(offered, shown.join(" "), "{case}");

                let warnings = reply.data()["warnings"].clone();
                let id = reply.data()["conversationId"].as_str().expect("an id");
                let read = desk.api.get(&format!("/api/conversations/{id}")).await;
                assert_eq!(read.data()["turns"][0]["warnings"], warnings, "{case}: it is kept");
                let mut streamed = body;
                streamed["stream"] = json!(true);
                let events = desk.api.post_for_events("/api/chat", &streamed).await.all().await;
                let told: Vec<&Value> = events
                    .iter()
                    .filter(|event| event.name == "warning")
                    .map(|event| &event.data["message"])
                    .collect();
                assert_eq!(
                    events.last().map(|event| event.data["finishReason"].clone()),
                    Some(json!("stop"))
                );
                if !is_left_out {
                    assert_eq!((&warnings, told.len()), (&Value::Null, 0), "{case}");
                    continue;
                }
                for warning in warnings.as_array().expect("warnings").iter().chain(told.iter().copied()) {
                    let words = warning.as_str().unwrap_or_default();
                    assert!(words.contains(name) && words.contains(why), "{case}: {warning}");
                }
                assert!(!told.is_empty(), "{case}: whoever follows is told, too");
            }
        }
    }
    desk.check();
}

#[tokio::test]
async fn that_a_tool_is_left_out_is_said_once_however_many_steps_a_turn_has() {
    let desk = Desk::new(async |asked: AskedModel| match asked.answers_before() {
        before @ 0..=2 => ModelReply::calls([("weather", json!({"city": format!("c{before}")}))]),
        _ => ModelReply::says("Enough."),
    })
    .await;
    let schema = json!({"type": "object", "properties": {"the city": {"type": "string"}}});
    desk.tool("spaced", json!({"inputSchema": schema})).await;
    let agent = desk.agent(Dialect::Anthropic, &["spaced", "weather"], json!({})).await;
    let mut body = json!({"agentId": agent, "messages": [user("Well?")]});
    let reply = desk.api.post("/api/chat", &body).await;
    let warnings = reply.data()["warnings"].clone();
    assert_eq!(warnings.as_array().map(Vec::len), Some(1), "{warnings}");
    body["stream"] = json!(true);
    let events = desk.api.post_for_events("/api/chat", &body).await.all().await;
    assert_eq!(events.iter().filter(|event| event.name == "warning").count(), 1);
    desk.check();
}
