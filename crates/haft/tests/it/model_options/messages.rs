//! Messages and tools with OpenAI's optional fields, and failures in OpenAI's format.

use haft_testkit::{FakeDialect, MessageRole, ModelReply, RecordedModelRequest, TestResponse};
use serde_json::{Value, json};

use crate::chat::{Desk, user};
use crate::v1::{RESPONSES, choice, complete, function};

#[tokio::test]
async fn later_instructions_stay_in_position() {
    let desk = Desk::new(async |_| ModelReply::says("Yes.")).await;
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        user("hi"),
        {"role": "assistant", "content": "Hello."},
        {"role": "developer", "content": "From now on in French."},
        user("well?"),
    ]);
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &[], json!({})).await;
        choice(&complete(&desk.api, &agent, &messages, &json!({})).await);
        let seen = desk.model.seen().pop().expect("a question");
        let system = seen.system.as_deref().unwrap_or_default();
        assert!(system.ends_with("Be brief.") && !system.contains("French"), "{dialect:?}: {system}");
        let order: Vec<(MessageRole, &str)> =
            seen.messages.iter().map(|message| (message.role, message.text.as_str())).collect();
        let (french, well) = ("From now on in French.", (MessageRole::User, "well?"));
        match dialect {
            FakeDialect::Openai | FakeDialect::Ollama => {
                assert_eq!(order[2..], [(MessageRole::System, french), well])
            }
            // It is sent as a user message, before the next text of the user.
            FakeDialect::Anthropic | FakeDialect::Gemini => {
                let (role, text) = order[2];
                assert!(
                    role == MessageRole::User && text.contains(french) && text.ends_with("well?"),
                    "{text}"
                );
            }
        }
        let items = json!({"model": agent, "input": messages, "store": false});
        assert_eq!(desk.api.post(RESPONSES, &items).await.status, 200);
        let again = desk.model.seen().pop().expect("a question");
        assert_eq!(again.messages, seen.messages, "{dialect:?}: the Responses API sends the same messages");
    }
    desk.check();
}

#[tokio::test]
async fn details_names_and_strictness_reach_a_provider_that_knows_them() {
    let desk = Desk::new(async |_| ModelReply::says("Yes.")).await;
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}});
    let content = json!([{"type": "text", "text": "Describe it."}, image]);
    let messages = json!([{"role": "user", "name": "ada", "content": content}]);
    let mut look = function("look");
    look["function"]["strict"] = json!(true);
    look["function"]["parameters"] = json!({
        "type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"], "additionalProperties": false,
    });
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &[], json!({})).await;
        choice(&complete(&desk.api, &agent, &messages, &json!({"tools": [look]})).await);
        let body = desk.model.seen().pop().expect("a question").body;
        if dialect == FakeDialect::Openai {
            let sent = &body["messages"][1];
            assert_eq!((&sent["name"], &sent["content"][1]), (&json!("ada"), &image));
            assert_eq!(body["tools"][0]["function"]["strict"], json!(true));
        }
    }
    desk.check();
}

#[tokio::test]
async fn details_of_images_in_responses_reach_a_provider_that_knows_them() {
    let desk = Desk::new(async |_| ModelReply::says("Yes.")).await;
    let url = "data:image/png;base64,iVBORw0KGgo=";
    let input = json!([{"role": "user", "content": [
        {"type": "input_text", "text": "Describe it."},
        {"type": "input_image", "image_url": url, "detail": "low"},
    ]}]);
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &[], json!({})).await;
        let reply = desk.api.post(RESPONSES, &json!({"model": agent, "input": input})).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let body = desk.model.seen().pop().expect("a question").body;
        if dialect == FakeDialect::Openai {
            let image = json!({"type": "image_url", "image_url": {"url": url, "detail": "low"}});
            assert_eq!(body["messages"][1]["content"][1], image);
        }
    }
    desk.check();
}

#[tokio::test]
async fn names_of_system_and_assistant_messages_reach_a_provider_that_knows_them() {
    let desk = Desk::new(async |_| ModelReply::says("Yes.")).await;
    let named = |role: &str, name: &str, text: &str| json!({"role": role, "name": name, "content": text});
    let messages = json!([
        named("system", "boss", "Be brief."),
        user("hi"),
        named("assistant", "bob", "Hello."),
        named("system", "boss", "From now on in French."),
        user("well?"),
    ]);
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &[], json!({})).await;
        choice(&complete(&desk.api, &agent, &messages, &json!({})).await);
        let body = desk.model.seen().pop().expect("a question").body;
        if dialect == FakeDialect::Openai {
            let mut sent = messages.as_array().expect("a list").clone();
            sent.insert(0, json!({"role": "system", "content": "You are a clerk."}));
            assert_eq!(body["messages"], json!(sent));
        }
    }
    desk.check();
}

#[tokio::test]
async fn system_messages_of_responses_stay_in_the_conversation_and_instructions_do_not() {
    let desk = Desk::new(async |_| ModelReply::says("Yes.")).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let developer = |text: &str| json!({"role": "developer", "content": text});
    let respond = async |input: Value, more: Value| {
        let reply = desk.api.post(RESPONSES, &body(&agent, input, &more)).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        json!({"previous_response_id": reply.body["id"]})
    };
    let begun = json!([developer("Be brief."), user("hi")]);
    let polite = json!({"instructions": "Be polite."});
    let after_first = respond(begun.clone(), polite).await;
    let french = json!([developer("From now on in French."), user("well?")]);
    let after_second = respond(french, after_first).await;
    respond(json!("and now?"), after_second).await;
    respond(begun, json!({"instructions": "Be polite.", "store": false})).await;
    let seen = desk.model.seen();
    let systems: Vec<&str> = seen.iter().filter_map(|asked| asked.system.as_deref()).collect();
    let (first, later) = ("You are a clerk.\n\nBe polite.\n\nBe brief.", "You are a clerk.\n\nBe brief.");
    assert_eq!(systems, [first, later, later, first]);
    let conversation: Vec<(MessageRole, &str)> =
        seen[2].messages.iter().map(|message| (message.role, message.text.as_str())).collect();
    let expected = [
        (MessageRole::User, "hi"),
        (MessageRole::Assistant, "Yes."),
        (MessageRole::System, "From now on in French."),
        (MessageRole::User, "well?"),
        (MessageRole::Assistant, "Yes."),
        (MessageRole::User, "and now?"),
    ];
    assert_eq!(conversation, expected);
    desk.check();
}

fn body(agent: &str, input: Value, more: &Value) -> Value {
    let mut body = json!({"model": agent, "input": input});
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}

/// Calls two tools of the client.
async fn twice(asked: RecordedModelRequest) -> ModelReply {
    match asked.results().is_empty() {
        true => ModelReply::calls([("look", json!({"of": "a"})), ("look", json!({"of": "b"}))]),
        false => ModelReply::says("Seen."),
    }
}

/// The result of a call, in the format of completions.
fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "seen"})
}

#[track_caller]
fn refused(reply: &TestResponse, param: &str, id: &str) {
    assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!(param)), "{}", reply.body);
    let message = reply.body["error"]["message"].as_str().expect("a text");
    let reason = "Each tool call must be followed by its result. Missing: ";
    assert!(message.contains(reason) && message.contains(id), "{message}");
}

#[tokio::test]
async fn result_apart_from_its_call_is_sent_right_after_the_call() {
    let desk = Desk::new(async |_| ModelReply::says("Yes.")).await;
    let input = json!([
        user("look!"),
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        user("wait"),
        {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        user("so?"),
    ]);
    for dialect in [FakeDialect::Openai, FakeDialect::Anthropic] {
        let agent = desk.agent(dialect, &[], json!({})).await;
        let reply = desk.api.post(RESPONSES, &json!({"model": agent, "input": input})).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let seen = desk.model.seen().pop().expect("a question");
        let [first, call, result, ..] = seen.messages.as_slice() else { panic!("{:?}", seen.messages) };
        assert_eq!((first.text.as_str(), call.calls.len()), ("look!", 1), "{dialect:?}");
        let contents: Vec<&str> = result.results.iter().map(|result| result.content.as_str()).collect();
        assert_eq!(contents, ["seen"], "{dialect:?}");
        assert!(seen.user_text().ends_with("so?"), "{dialect:?}: {}", seen.user_text());
    }
    desk.check();
}

#[tokio::test]
async fn conversation_that_waits_for_results_accepts_nothing_before_them() {
    let desk = Desk::new(twice).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let within = |id: &str| json!({"metadata": {"conversation_id": id}, "tools": [function("look")]});
    let first = complete(&desk.api, &agent, &json!([user("look!")]), &within("new")).await;
    let more = within(first.header("haft-conversation").expect("an id"));
    let calls = choice(&first)["message"]["tool_calls"].as_array().expect("calls");
    let ids: Vec<&str> = calls.iter().filter_map(|call| call["id"].as_str()).collect();
    assert_eq!(ids.len(), 2, "{}", first.body);
    for id in &ids {
        refused(&complete(&desk.api, &agent, &json!([user("well?")]), &more).await, "messages", id);
        let asked = json!({"model": agent, "input": "well?", "metadata": more["metadata"]});
        refused(&desk.api.post(RESPONSES, &asked).await, "input", id);
    }
    let half = json!([result(ids[0])]);
    refused(&complete(&desk.api, &agent, &half, &more).await, "messages", ids[1]);
    let whole = json!([result(ids[0]), result(ids[1])]);
    assert_eq!(choice(&complete(&desk.api, &agent, &whole, &more).await)["message"]["content"], "Seen.");
    desk.check();
}

#[tokio::test]
async fn call_without_its_result_is_refused_with_its_id() {
    let desk = Desk::new(twice).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let tools = json!({"tools": [function("look")]});
    let reply = complete(&desk.api, &agent, &json!([user("look!")]), &tools).await;
    let message = choice(&reply)["message"].clone();
    let ids: Vec<&str> = message["tool_calls"]
        .as_array()
        .expect("calls")
        .iter()
        .filter_map(|call| call["id"].as_str())
        .collect();
    let half = json!([user("look!"), message, result(ids[0])]);
    refused(&complete(&desk.api, &agent, &half, &tools).await, "messages", ids[1]);
    let whole = json!([user("look!"), message, result(ids[1]), result(ids[0])]);
    assert_eq!(choice(&complete(&desk.api, &agent, &whole, &tools).await)["message"]["content"], "Seen.");
    // For a stored response, the server knows the calls itself.
    let look = json!({
        "type": "function", "name": "look", "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
    });
    let asked = json!({"model": agent, "input": "look!", "tools": [look]});
    let first = desk.api.post(RESPONSES, &asked).await.body;
    let calls: Vec<&str> = first["output"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item["call_id"].as_str())
        .collect();
    assert_eq!(calls.len(), 2, "{first}");
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "seen"});
    let back = |outputs: Value| json!({"model": agent, "previous_response_id": first["id"], "input": outputs, "tools": [look]});
    refused(&desk.api.post(RESPONSES, &back(json!([output(calls[1])]))).await, "input", calls[0]);
    refused(&desk.api.post(RESPONSES, &back(json!("well?"))).await, "input", calls[1]);
    let reply = desk.api.post(RESPONSES, &back(json!([output(calls[0]), output(calls[1])]))).await;
    assert_eq!(reply.body["output"][0]["content"][0]["text"], "Seen.", "{}", reply.body);
    desk.check();
}

#[tokio::test]
async fn model_name_with_a_slash_is_found() {
    let desk = Desk::new(async |_| ModelReply::says("Yes.")).await;
    for path in ["/v1/models/openai/gpt", "/v1/models/openai%2Fgpt", "/v1/models/openai/org/model:free"] {
        let reply = desk.api.get(path).await;
        assert_eq!(
            (reply.status, &reply.body["owned_by"]),
            (200, &json!("openai")),
            "{path}: {}",
            reply.body
        );
    }
    let reply = desk.api.get("/v1/models/nobody/gpt").await;
    assert_eq!((reply.status, &reply.body["error"]["code"]), (404, &json!("model_not_found")));
}

#[tokio::test]
async fn only_permanent_failures_forbid_a_retry() {
    let desk = Desk::new(async |asked| match asked.user_text() {
        "key" => ModelReply::status(401, None),
        _ => ModelReply::status(429, Some(0)),
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    for more in [json!({}), json!({"stream": true}), json!({"tools": [function("look")]})] {
        let reply = complete(&desk.api, &agent, &json!([user("key")]), &more).await;
        assert_eq!((reply.status, reply.header("x-should-retry")), (502, Some("false")), "{more}");
        let reply = complete(&desk.api, &agent, &json!([user("limit")]), &more).await;
        assert_eq!((reply.status, reply.header("x-should-retry")), (429, None), "{more}");
    }
}
