//! Options of a request and of an agent: passed on, refused by name, or dropped with a warning.

use haft_testkit::{FakeDialect, ModelReply, Upstream, http_response};
use serde_json::{Value, json};

use crate::chat::{Desk, user};
use crate::v1::{COMPLETIONS, RESPONSES, body, choice, complete};

async fn desk() -> Desk {
    Desk::new(async |_| ModelReply::says("Yes.")).await
}

#[tokio::test]
async fn options_of_a_request_reach_the_model() {
    let desk = desk().await;
    let given = json!({
        "top_p": 0.5, "stop": ["END"], "seed": 7, "frequency_penalty": 0.5, "presence_penalty": -0.5, "n": 1,
        "logit_bias": {"50256": -100}, "reasoning_effort": "low", "verbosity": "high", "user": "ada",
    });
    let openai = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    choice(&complete(&desk.api, &openai, &json!([user("hi")]), &given).await);
    let sent = desk.model.seen().pop().expect("a question").body;
    for (name, value) in given.as_object().expect("an object").iter().filter(|(name, _)| *name != "n") {
        assert_eq!(&sent[name.as_str()], value, "{name}");
    }
    let response = json!({
        "model": openai, "input": "hi", "reasoning": {"effort": "high"}, "text": {"verbosity": "low"}, "top_p": 0.1,
        "top_logprobs": 2,
    });
    assert_eq!(desk.api.post(RESPONSES, &response).await.status, 200);
    let sent = desk.model.seen().pop().expect("a question").body;
    let names = ["reasoning_effort", "verbosity", "top_p", "logprobs", "top_logprobs"];
    let found = names.map(|name| sent[name].clone());
    assert_eq!(found, [json!("high"), json!("low"), json!(0.1), json!(true), json!(2)]);
    // Gemini has other names for these options.
    let gemini = desk.agent(FakeDialect::Gemini, &[], json!({})).await;
    let more = json!({"top_p": 0.5, "stop": "END", "seed": 7, "reasoning_effort": "low"});
    choice(&complete(&desk.api, &gemini, &json!([user("hi")]), &more).await);
    let sent = desk.model.seen().pop().expect("a question").body["generationConfig"].clone();
    let expected = json!({
        "topP": 0.5, "stopSequences": ["END"], "seed": 7,
        "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "low"},
    });
    assert_eq!(sent, expected);
    desk.check();
}

#[tokio::test]
async fn unsupported_option_is_refused_by_name_or_dropped_with_a_warning() {
    let desk = desk().await;
    for dialect in [FakeDialect::Anthropic, FakeDialect::Gemini, FakeDialect::Ollama] {
        let agent = desk.agent(dialect, &[], json!({})).await;
        let before = desk.model.seen().len();
        for name in ["logit_bias", "own_invention"] {
            let more = json!({name: {"1": 2}});
            for more in [more.clone(), with(&more, "stream"), with(&more, "drop_params_off")] {
                let reply = complete(&desk.api, &agent, &json!([user("hi")]), &more).await;
                assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!(name)), "{dialect:?}");
            }
        }
        assert_eq!(desk.model.seen().len(), before, "no request reached a model");
        let more = json!({"logit_bias": {"1": 2}, "own_invention": true, "drop_params": true, "top_p": 0.5});
        let reply = complete(&desk.api, &agent, &json!([user("hi")]), &more).await;
        assert_eq!(choice(&reply)["message"]["content"], "Yes.");
        let warnings = reply.body["warnings"].to_string();
        assert!(
            warnings.contains("logit_bias") && warnings.contains("own_invention"),
            "{dialect:?}: {warnings}"
        );
        // An agent can drop unsupported options by default.
        let patient = desk.agent(dialect, &[], json!({"options": {"drop_params": true}})).await;
        let reply = complete(&desk.api, &patient, &json!([user("hi")]), &json!({"own_invention": 1})).await;
        assert!(reply.body["warnings"].to_string().contains("own_invention"), "{dialect:?}: {}", reply.body);
        let body = json!({"agentId": agent, "messages": [user("hi")], "options": {"own_invention": 1}});
        let reply = desk.api.post("/api/chat", &body).await;
        assert!(
            reply.status == 400 && reply.body.to_string().contains("options.own_invention"),
            "{}",
            reply.body
        );
    }
    // An OpenAI-compatible server decides itself which options it supports.
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let reply = complete(&desk.api, &agent, &json!([user("hi")]), &json!({"own_invention": true})).await;
    assert_eq!(reply.status, 400, "{}", reply.body);
    assert!(reply.body["error"]["message"].as_str().expect("a text").contains("own_invention"));
    let more = json!({"own_invention": true, "drop_params": true});
    let reply = complete(&desk.api, &agent, &json!([user("hi")]), &more).await;
    assert_eq!(choice(&reply)["message"]["content"], "Yes.");
}

/// Adds an option that does not change which options are refused.
fn with(options: &Value, more: &str) -> Value {
    let mut options = options.clone();
    match more {
        "stream" => options["stream"] = json!(true),
        _ => options["drop_params"] = json!(false),
    }
    options
}

#[tokio::test]
async fn a_temperature_that_the_model_refuses_is_dropped_with_a_warning() {
    let desk = desk().await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({"model": "o3-mini", "temperature": 0.2})).await;
    let reply = complete(&desk.api, &agent, &json!([user("hi")]), &json!({})).await;
    assert_eq!(choice(&reply)["message"]["content"], "Yes.");
    assert!(reply.body["warnings"].to_string().contains("temperature"), "{}", reply.body);
    assert_eq!(desk.model.seen().pop().expect("a question").temperature, None);
    assert_eq!(desk.model.refused().len(), 1);
}

#[tokio::test]
async fn option_that_was_refused_is_not_sent_again_in_the_turn() {
    let desk = Desk::new(async |asked| match asked.results().len() {
        0 => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
        _ => ModelReply::says("Warm."),
    })
    .await;
    let config =
        json!({"model": "o3-mini", "temperature": 0.2, "options": {"verbosity": "low", "drop_params": true}});
    let agent = desk.agent(FakeDialect::Openai, &["weather"], config).await;
    let reply = desk.ask(&agent, "weather?").await;
    assert_eq!(reply.data()["message"]["content"], "Warm.", "{}", reply.body);
    let warnings = reply.data()["warnings"].as_array().expect("warnings");
    assert_eq!(warnings.len(), 2, "each warning is given once: {warnings:?}");
    assert_eq!(desk.model.refused().len(), 2, "in the first step alone: {:?}", desk.model.refused());
}

#[tokio::test]
async fn options_of_a_request_override_those_of_its_agent() {
    let desk = desk().await;
    let config = json!({"options": {"top_p": 0.3, "stop": ["END"], "seed": 1, "drop_params": true}});
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &[], config.clone()).await;
        let reply = desk.ask(&agent, "hi").await;
        assert_eq!(reply.data()["message"]["content"], "Yes.", "{}", reply.body);
        let has_seed = dialect != FakeDialect::Anthropic;
        assert_eq!(reply.data()["warnings"].to_string().contains("seed"), !has_seed, "{}", reply.body);
        choice(&complete(&desk.api, &agent, &json!([user("hi")]), &json!({"top_p": 0.9})).await);
        let sent = desk.model.seen().pop().expect("a question").body.to_string();
        assert!(sent.contains("0.9") && sent.contains("END") && !sent.contains("0.3"), "{dialect:?}: {sent}");
    }
    let agents = desk.api.get("/api/agents").await;
    let found =
        &agents.data()["items"].as_array().expect("agents").iter().find(|agent| agent["name"] != "clerk");
    assert!(found.is_some_and(|agent| agent["config"]["options"]["seed"] == 1), "{}", agents.body);
    let bad = json!({"name": "bad", "config": {"options": {"top_p": "2", "reasoning_effort": 5}}});
    let reply = desk.api.post("/api/agents", &bad).await;
    assert_eq!(reply.status, 400, "{}", reply.body);
    for path in ["config.options.top_p", "config.options.reasoning_effort"] {
        assert!(reply.body.to_string().contains(path), "{path}: {}", reply.body);
    }
    desk.check();
}

#[tokio::test]
async fn log_probabilities_are_returned_whole_and_streamed() {
    let desk = desk().await;
    let token = json!({"token": "Yes", "logprob": -0.25, "bytes": [89], "top_logprobs": []});
    let chunk = json!({"choices": [{
        "index": 0, "delta": {"content": "Yes"}, "logprobs": {"content": [token]}, "finish_reason": "stop",
    }]});
    let stream = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let server = Upstream::start(move |_| http_response(200, &[], stream.clone())).await;
    let provider = json!({"name": "own", "kind": "openai", "baseUrl": server.url("/v1"), "models": ["m"]});
    assert_eq!(desk.api.post("/api/providers", &provider).await.status, 201);
    let more = json!({"logprobs": true, "top_logprobs": 0});
    let reply = complete(&desk.api, "own/m", &json!([user("hi")]), &more).await;
    assert_eq!(choice(&reply)["logprobs"]["content"][0], token);
    let mut streamed = more;
    streamed["stream"] = json!(true);
    let events = desk.api.post_for_events(COMPLETIONS, &body("own/m", &json!([user("hi")]), &streamed)).await;
    let events = events.all().await;
    let streamed_content =
        events.iter().filter_map(|event| event.data["choices"][0]["logprobs"]["content"].as_array());
    assert_eq!(streamed_content.flatten().collect::<Vec<_>>(), [&token]);
}

#[tokio::test]
async fn log_probabilities_are_left_out_if_the_content_is_not_what_the_model_wrote() {
    let desk = desk().await;
    let token = json!({"token": "Yes", "logprob": -0.25, "bytes": [89], "top_logprobs": []});
    let chunk = json!({"choices": [{
        "index": 0, "delta": {"content": "```json\n{\"a\": 1}\n```"}, "logprobs": {"content": [token]},
        "finish_reason": "stop",
    }]});
    let stream = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let server = Upstream::start(move |_| http_response(200, &[], stream.clone())).await;
    let provider = json!({"name": "own", "kind": "openai", "baseUrl": server.url("/v1"), "models": ["m"]});
    assert_eq!(desk.api.post("/api/providers", &provider).await.status, 201);
    for (format, expected) in
        [("text", json!({"content": [token], "refusal": null})), ("json_object", Value::Null)]
    {
        let more = json!({"logprobs": true, "response_format": {"type": format}});
        let reply = complete(&desk.api, "own/m", &json!([user("hi")]), &more).await;
        assert_eq!(choice(&reply)["logprobs"], expected, "{format}: {}", reply.body);
    }
}

#[tokio::test]
async fn thinking_of_a_request_overrides_the_reasoning_effort_of_its_agent() {
    let desk = desk().await;
    for (dialect, at, expected) in [
        (FakeDialect::Anthropic, "/thinking", json!({"type": "adaptive"})),
        (
            FakeDialect::Gemini,
            "/generationConfig/thinkingConfig",
            json!({"includeThoughts": true, "thinkingBudget": -1}),
        ),
        (FakeDialect::Ollama, "/think", json!(true)),
    ] {
        let agent = desk.agent(dialect, &[], json!({"options": {"reasoning_effort": "none"}})).await;
        choice(&complete(&desk.api, &agent, &json!([user("hi")]), &json!({"thinking": true})).await);
        let sent = desk.model.seen().pop().expect("a request").body;
        assert_eq!(sent.pointer(at), Some(&expected), "{dialect:?}: {sent}");
    }
    desk.check();
}
