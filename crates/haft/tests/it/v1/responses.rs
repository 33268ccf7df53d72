//! Responses: stored by default, continued by their ids, and streamed as OpenAI's events.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};

use super::RESPONSES;
use crate::chat::{DIALECTS, Desk};

/// A function in the format of responses.
fn look() -> Value {
    let parameters =
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    json!({"type": "function", "name": "look", "parameters": parameters, "strict": true})
}

async fn respond(desk: &Desk, agent: &str, input: Value, more: Value) -> Value {
    let mut body = json!({"model": agent, "input": input});
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    let reply = desk.api.post(RESPONSES, &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let stored = &reply.body["metadata"]["conversation_id"];
    assert_eq!(reply.header("haft-conversation"), stored.as_str());
    reply.body
}

fn text(response: &Value) -> &str {
    let output = response["output"].as_array().expect("a list");
    output.last().and_then(|item| item["content"][0]["text"].as_str()).expect("a text")
}

/// Calls the client's tool on request, and writes its result.
async fn clerk(asked: RecordedModelRequest) -> ModelReply {
    match (asked.results().first(), asked.user_text()) {
        (Some(result), _) => ModelReply::says(format!("It is {}.", result.content)),
        (None, "look") => ModelReply::new().text("A moment.").call("look", json!({"of": "a"})),
        (None, message) => ModelReply::says(format!("{message} after {}", asked.previous_responses())),
    }
}

#[tokio::test]
async fn response_continues_another_and_replaces_later_ones() {
    let desk = Desk::new(clerk).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let first = respond(&desk, &agent, json!("one"), json!({"instructions": "Be short."})).await;
    assert_eq!((first["object"].as_str(), first["status"].as_str()), (Some("response"), Some("completed")));
    assert_eq!(text(&first), "one after 0");
    let after = |response: &Value| json!({"previous_response_id": response["id"]});
    let second = respond(&desk, &agent, json!("two"), after(&first)).await;
    let third = respond(&desk, &agent, json!("three"), after(&second)).await;
    assert_eq!((text(&second), text(&third)), ("two after 1", "three after 2"));
    let other = respond(&desk, &agent, json!("other"), after(&first)).await;
    assert_eq!(text(&other), "other after 1");
    let systems: Vec<Option<String>> = desk.model.seen().into_iter().map(|asked| asked.system).collect();
    assert_eq!(systems[0].as_deref(), Some("You are a clerk.\n\nBe short."));
    assert_eq!(systems[1].as_deref(), Some("You are a clerk."), "instructions are not carried over");
    let id = first["metadata"]["conversation_id"].as_str().expect("kept");
    let stored = desk.api.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(stored.data()["turns"].as_array().map(Vec::len), Some(2), "{}", stored.body);
    for gone in [&third["id"], &json!("resp_123")] {
        let body = json!({"model": agent, "input": "x", "previous_response_id": gone});
        let reply = desk.api.post(RESPONSES, &body).await;
        let code = &reply.body["error"]["code"];
        assert_eq!((reply.status, code), (400, &json!("previous_response_not_found")), "{}", reply.body);
    }
    desk.check();
}

#[tokio::test]
async fn response_that_is_not_stored_cannot_be_continued() {
    let desk = Desk::new(clerk).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let response = respond(&desk, &agent, json!("one"), json!({"store": false})).await;
    assert_eq!((response["metadata"].clone(), response["store"].clone()), (json!({}), json!(false)));
    assert_eq!(desk.api.get("/api/conversations").await.data()["items"], json!([]));
    let body = json!({"model": agent, "input": "x", "previous_response_id": response["id"]});
    assert_eq!(desk.api.post(RESPONSES, &body).await.status, 400);
}

#[tokio::test]
async fn results_of_the_client_come_alone_or_with_the_whole_history() {
    let desk = Desk::new(clerk).await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &[], json!({})).await;
        for is_stored in [true, false] {
            let tools = json!({"tools": [look()], "store": is_stored});
            let asked = respond(&desk, &agent, json!("look"), tools.clone()).await;
            let output = asked["output"].as_array().expect("a list");
            let kinds: Vec<&Value> = output.iter().map(|item| &item["type"]).collect();
            assert_eq!(kinds, ["message", "function_call"], "{dialect:?}");
            let call = &output[1];
            assert_eq!((&call["name"], &call["status"]), (&json!("look"), &json!("completed")));
            let result = json!({"type": "function_call_output", "call_id": call["call_id"], "output": "dry"});
            // The client refers to the message of the first response by its id, or sends it.
            let message = match is_stored {
                true => json!({"type": "item_reference", "id": output[0]["id"]}),
                false => output[0].clone(),
            };
            let all = json!([{"role": "user", "content": "look"}, message, call, result]);
            let answered = respond(&desk, &agent, all.clone(), tools.clone()).await;
            assert_eq!(text(&answered), "It is dry.", "{dialect:?}");
            if !is_stored {
                continue;
            }
            assert_eq!(answered["metadata"], asked["metadata"], "the same conversation");
            let mut alone = tools.clone();
            alone["previous_response_id"] = asked["id"].clone();
            let again = respond(&desk, &agent, json!([result]), alone).await;
            assert_eq!(
                (text(&again), &again["id"]),
                ("It is dry.", &answered["id"]),
                "the same response again"
            );
            let more = json!({"previous_response_id": answered["id"]});
            let next = respond(&desk, &agent, json!("and now"), more).await;
            assert_eq!(text(&next), "and now after 2");
        }
    }
    desk.check();
}

#[tokio::test]
async fn referenced_items_are_found_for_their_user_only() {
    let desk = Desk::new(clerk).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let first = respond(&desk, &agent, json!("one"), json!({})).await;
    let reference = json!({"type": "item_reference", "id": first["output"][0]["id"]});
    let input = json!([{"role": "user", "content": "one"}, reference, {"role": "user", "content": "two"}]);
    let second = respond(&desk, &agent, input.clone(), json!({"store": false})).await;
    assert_eq!(text(&second), "two after 1");
    let asked = desk.model.seen().pop().expect("a question");
    assert_eq!(asked.messages[1].text, "one after 0");
    let stranger = crate::agents::stranger(&desk.server, &desk.api).await;
    let body = json!({"model": "openai/test-small", "input": input});
    let reply = stranger.post(RESPONSES, &body).await;
    assert_eq!((reply.status, &reply.body["error"]["code"]), (404, &json!("item_not_found")));
}

#[tokio::test]
async fn streamed_events_have_stable_ids() {
    let desk = Desk::new(clerk).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let body = json!({"model": agent, "input": "look", "tools": [look()], "stream": true});
    let stream = desk.api.post_for_events(RESPONSES, &body).await;
    assert!(stream.header("haft-conversation").is_some());
    let events = stream.all().await;
    let mut names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    names.dedup();
    assert_eq!(
        names,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event.data["sequence_number"], json!(number));
        assert_eq!(event.data["type"], event.name.as_str());
    }
    let response = &events.last().expect("an end").data["response"];
    assert_eq!(response["id"], events[0].data["response"]["id"]);
    assert_eq!((&response["status"], &response["usage"]["total_tokens"]), (&json!("completed"), &json!(15)));
    for event in events.iter().filter(|event| event.name.starts_with("response.output_item.")) {
        let index = usize::try_from(event.data["output_index"].as_u64().expect("a number")).expect("small");
        let (item, stored) = (&event.data["item"], &response["output"][index]);
        for field in ["id", "type", "call_id"] {
            assert_eq!(item.get(field), stored.get(field), "{field}");
        }
    }
    let begun = &events[2].data["item"];
    assert_eq!((&begun["content"], &begun["status"]), (&json!([]), &json!("in_progress")));
    // The stored response is the streamed one.
    let more = json!({"previous_response_id": response["id"], "tools": [look()]});
    let result = json!({
        "type": "function_call_output", "call_id": response["output"][1]["call_id"], "output": "dry",
    });
    assert_eq!(text(&respond(&desk, &agent, json!([result]), more).await), "It is dry.");
}

#[tokio::test]
async fn a_response_that_is_cut_short_is_incomplete() {
    let desk = Desk::new(async |_| ModelReply::says("and so on").length()).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let response = respond(&desk, &agent, json!("hi"), json!({"max_output_tokens": 3})).await;
    let reason = &response["incomplete_details"]["reason"];
    assert_eq!((&response["status"], reason), (&json!("incomplete"), &json!("max_output_tokens")));
    let body = json!({"model": agent, "input": "hi", "stream": true});
    let events = desk.api.post_for_events(RESPONSES, &body).await.all().await;
    assert_eq!(events.last().expect("an end").name, "response.incomplete");
}

#[tokio::test]
async fn reasoning_is_a_separate_item_whole_and_streamed() {
    let desk = Desk::new(async |_| {
        ModelReply::new().reasoning("Hm, let me see.").text("It is dry.").in_fragments_of(5)
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let whole = respond(&desk, &agent, json!("Well?"), json!({})).await;
    let kinds = |output: &Value| -> Vec<Value> {
        output.as_array().expect("a list").iter().map(|item| item["type"].clone()).collect()
    };
    assert_eq!(kinds(&whole["output"]), ["reasoning", "message"]);
    assert_eq!(whole["output"][0]["summary"][0]["text"], "Hm, let me see.");
    let asked = json!({"model": agent, "input": "Well?", "stream": true});
    let events = desk.api.post_for_events(RESPONSES, &asked).await.all().await;
    let joined = |name: &str| -> String {
        let deltas = events.iter().filter(|event| event.name == name);
        deltas.filter_map(|event| event.data["delta"].as_str()).collect()
    };
    assert_eq!(joined("response.reasoning_summary_text.delta"), "Hm, let me see.");
    assert_eq!(joined("response.output_text.delta"), "It is dry.");
    let done = &events.last().expect("an end").data["response"];
    assert_eq!(kinds(&done["output"]), ["reasoning", "message"]);
    let added: Vec<&Value> = events
        .iter()
        .filter(|event| event.name == "response.output_item.added")
        .map(|event| &event.data["output_index"])
        .collect();
    assert_eq!(added, [&json!(0), &json!(1)]);
    // Clients send the items back, or refer to them.
    let back = json!([
        {"role": "user", "content": "Well?"},
        {"type": "item_reference", "id": done["output"][0]["id"]},
        {"type": "item_reference", "id": done["output"][1]["id"]},
        {"role": "user", "content": "Really?"},
    ]);
    assert_eq!(text(&respond(&desk, &agent, back, json!({})).await), "It is dry.");
    desk.check();
}
