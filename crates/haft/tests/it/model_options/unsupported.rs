//! Fields that Haft supports with no provider, and options that are separate fields of a request.

use haft_testkit::{FakeDialect, ModelReply};
use serde_json::{Value, json};

use crate::chat::{Desk, user};
use crate::v1::{COMPLETIONS, RESPONSES, body, choice, complete};

async fn desk() -> Desk {
    Desk::new(async |_| ModelReply::says("Yes.")).await
}

/// The body with one more field.
fn with(mut body: Value, name: &str, value: &Value) -> Value {
    body[name] = value.clone();
    body
}

#[track_caller]
fn check_warning(warnings: &Value, name: &str) {
    let expected = format!("The request was sent without {name}, which Haft does not support");
    assert_eq!(warnings, &json!([expected]));
}

#[tokio::test]
async fn unsupported_fields_of_a_completion_are_refused_by_name_or_dropped_with_a_warning() {
    let desk = desk().await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let lenient = desk.agent(FakeDialect::Openai, &[], json!({"options": {"drop_params": true}})).await;
    let messages = json!([user("hi")]);
    for (name, value) in [
        ("n", json!(2)),
        ("functions", json!([{"name": "a"}])),
        ("function_call", json!({"name": "a"})),
        ("audio", json!({"voice": "ash", "format": "wav"})),
        ("modalities", json!(["text", "audio"])),
        ("web_search_options", json!({})),
    ] {
        let more = json!({name: value});
        let reply = complete(&desk.api, &agent, &messages, &more).await;
        assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!(name)), "{}", reply.body);
        let dropping = with(more.clone(), "drop_params", &json!(true));
        for (agent, more) in [(&agent, &dropping), (&lenient, &more)] {
            let reply = complete(&desk.api, agent, &messages, more).await;
            assert_eq!(choice(&reply)["message"]["content"], "Yes.");
            check_warning(&reply.body["warnings"], name);
            let sent = desk.model.seen().pop().expect("a request").body;
            assert_eq!((&sent[name], &sent["drop_params"]), (&Value::Null, &Value::Null));
        }
        let streamed = body(&agent, &messages, &with(dropping, "stream", &json!(true)));
        let events = desk.api.post_for_events(COMPLETIONS, &streamed).await.all().await;
        let warnings = events.iter().find_map(|event| event.data.get("warnings"));
        check_warning(warnings.expect("warnings"), name);
    }
    desk.check();
}

#[tokio::test]
async fn unsupported_fields_of_a_response_are_refused_by_name_or_dropped_with_a_warning() {
    let desk = desk().await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    for (field, value, path) in [
        ("background", json!(true), "background"),
        ("max_tool_calls", json!(3), "max_tool_calls"),
        ("context_management", json!([{"type": "compaction"}]), "context_management"),
        ("reasoning", json!({"budget": 9}), "reasoning.budget"),
        ("text", json!({"tone": "dry"}), "text.tone"),
    ] {
        let asked = with(json!({"model": agent, "input": "hi"}), field, &value);
        let reply = desk.api.post(RESPONSES, &asked).await;
        assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!(path)), "{}", reply.body);
        for is_stored in [true, false] {
            let dropping = with(with(asked.clone(), "drop_params", &json!(true)), "store", &json!(is_stored));
            let reply = desk.api.post(RESPONSES, &dropping).await;
            assert_eq!(reply.status, 200, "{field}: {}", reply.body);
            assert_eq!(reply.body["output"][0]["content"][0]["text"], "Yes.", "{field}");
            check_warning(&reply.body["warnings"], path);
        }
    }
    for (field, value) in [
        ("conversation", json!("conv_1")),
        ("prompt", json!({"id": "pmpt_1"})),
        ("max_tokens", json!(5)),
        ("top_logprobs", json!("two")),
    ] {
        let asked = with(json!({"model": agent, "input": "hi", "drop_params": true}), field, &value);
        let reply = desk.api.post(RESPONSES, &asked).await;
        assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!(field)), "{}", reply.body);
    }
    desk.check();
}

#[tokio::test]
async fn options_with_a_separate_field_are_refused_with_that_field() {
    let desk = desk().await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    for (name, value, field) in [
        ("model", json!("other"), "model"),
        ("messages", json!([user("other")]), "messages"),
        ("stream", json!(true), "stream"),
        ("tools", json!([{"type": "function", "function": {"name": "a"}}]), "toolIds"),
        ("temperature", json!(0.5), "config.temperature"),
        ("max_tokens", json!(5), "config.maxTokens"),
        ("tool_choice", json!("none"), "config.toolChoice"),
        ("parallel_tool_calls", json!(false), "config.parallelToolCalls"),
    ] {
        let options = json!({name: value});
        let asked = json!({"agentId": agent, "messages": [user("hi")], "options": options});
        let chat = desk.api.post("/api/chat", &asked).await;
        let saved = json!({"name": "other", "config": {"options": options}});
        let saved = desk.api.post("/api/agents", &saved).await;
        for (reply, path) in [(chat, "options"), (saved, "config.options")] {
            let expected = format!("{path}.{name}: is not a model option; use the field {field} ");
            assert_eq!(reply.status, 400, "{}", reply.body);
            assert!(reply.message().contains(&expected), "{expected}: {}", reply.body);
        }
    }
    // Completions have their own name for the length.
    let reply = complete(&desk.api, &agent, &json!([user("hi")]), &json!({"max_output_tokens": 5})).await;
    let error = &reply.body["error"];
    assert_eq!((reply.status, &error["param"]), (400, &json!("max_output_tokens")), "{}", reply.body);
    assert!(error["message"].to_string().contains("use max_completion_tokens"), "{}", reply.body);
    assert!(desk.model.seen().is_empty());
}

#[tokio::test]
async fn unsupported_options_of_a_response_are_refused_by_their_path_in_its_body() {
    let desk = desk().await;
    let agent = desk.agent(FakeDialect::Anthropic, &[], json!({})).await;
    for (field, value, path) in [
        ("text", json!({"verbosity": "low"}), "text.verbosity"),
        ("reasoning", json!({"effort": "default"}), "reasoning.effort"),
        ("top_logprobs", json!(2), "top_logprobs"),
        ("include", json!(["message.output_text.logprobs"]), "include"),
        ("seed", json!(7), "seed"),
    ] {
        let asked = with(json!({"model": agent, "input": "hi"}), field, &value);
        let reply = desk.api.post(RESPONSES, &asked).await;
        assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!(path)), "{}", reply.body);
    }
    assert!(desk.model.seen().is_empty());
}

#[tokio::test]
async fn unsupported_options_of_chats_and_agents_are_refused_or_dropped_with_a_warning() {
    let desk = desk().await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    for (name, value) in
        [("n", json!(2)), ("functions", json!([{"name": "a"}])), ("audio", json!({"voice": "ash"}))]
    {
        let options = json!({name: value});
        let chat = |options: &Value| json!({"agentId": agent, "messages": [user("hi")], "options": options});
        let reply = desk.api.post("/api/chat", &chat(&options)).await;
        assert_eq!(reply.status, 400, "{}", reply.body);
        assert!(reply.message().contains(&format!("options.{name}: is not supported")), "{}", reply.body);
        let saved = json!({"name": "other", "config": {"options": options}});
        let reply = desk.api.post("/api/agents", &saved).await;
        assert_eq!(reply.status, 400, "{}", reply.body);
        assert!(
            reply.message().contains(&format!("config.options.{name}: is not supported")),
            "{}",
            reply.body
        );
        let dropping = with(options, "drop_params", &json!(true));
        let reply = desk.api.post("/api/chat", &chat(&dropping)).await;
        check_warning(&reply.data()["warnings"], name);
        let lenient = desk.agent(FakeDialect::Anthropic, &[], json!({"options": dropping})).await;
        check_warning(&desk.ask(&lenient, "hi").await.data()["warnings"], name);
    }
    // An option without effect is not stored, and not sent.
    let one = desk.agent(FakeDialect::Anthropic, &[], json!({"options": {"n": 1, "seed": null}})).await;
    let reply = desk.ask(&one, "hi").await;
    assert_eq!((reply.status, &reply.data()["warnings"]), (200, &Value::Null), "{}", reply.body);
    let shown = desk.api.get(&format!("/api/agents/{one}")).await;
    assert!(shown.data()["config"]["options"].as_object().is_none_or(serde_json::Map::is_empty));
    desk.check();
}
