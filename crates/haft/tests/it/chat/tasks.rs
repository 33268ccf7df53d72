//! Calls of a chat that run as tasks: asynchronous calls, calls that need an approval, and deferred calls.

use std::sync::Arc;
use std::time::Duration;

use haft_testkit::{FakeDialect, ModelReply, ModelServer, RecordedModelRequest, Upstream, eventually};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{DIALECTS, Desk, final_text, user, weather};
use crate::timestamps::milliseconds_between;

/// A model that requests a report, and repeats its result when it arrives.
async fn reporter(request: RecordedModelRequest) -> ModelReply {
    // There may be user messages after the result.
    let last = request.messages.iter().rev().find_map(|message| message.results.first());
    let Some(result) = last else {
        return ModelReply::calls([("report", json!({"city": "Rome"}))]);
    };
    let content: Value = serde_json::from_str(&result.content).unwrap_or_default();
    match content["status"].as_str() {
        Some("pending") => ModelReply::says("It is on its way."),
        Some(_) | None => ModelReply::says(format!("The report: {}", content["temperature"])),
    }
}

fn slow(permits: Arc<Semaphore>) -> impl Future<Output = Upstream> {
    Upstream::start_async(move |seen| {
        let permits = permits.clone();
        async move {
            permits.acquire().await.expect("open").forget();
            weather(&seen)
        }
    })
}

async fn task_of(desk: &Desk, id: &Value) -> Value {
    crate::tasks::task(&desk.api, id.as_str().expect("an id")).await
}

async fn turns(desk: &Desk, id: &str) -> Vec<Value> {
    let read = desk.api.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(read.status, 200, "{}", read.body);
    read.data()["turns"].as_array().expect("turns").clone()
}

#[tokio::test]
async fn result_of_an_async_call_starts_a_new_turn() {
    let permits = Arc::new(Semaphore::new(0));
    let desk = Desk::with(ModelServer::start(reporter).await, slow(permits.clone()).await).await;
    desk.tool("report", json!({"async": true})).await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["report"], json!({})).await;
        let reply = desk.ask(&agent, "A report, please.").await;
        assert_eq!(final_text(&reply), "It is on its way.", "{dialect:?}");
        let result = &reply.data()["toolCalls"][0]["result"];
        assert_eq!(result["status"], "pending");
        let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
        let pending = desk.api.get(&format!("/api/conversations/{id}")).await.data()["pending"].clone();
        assert_eq!((&pending[0]["taskId"], &pending[0]["reason"]), (&result["taskId"], &json!("async")));
        let context = desk.api.get(&format!("/api/conversations/{id}/tool-context")).await;
        assert_eq!(context.data()["toolResults"][0]["status"], "pending");
        assert_eq!(context.data()["toolResults"][0]["at"], context.data()["toolCalls"][0]["at"]);
        permits.add_permits(1);
        eventually("the agent takes a turn by itself", async || {
            turns(&desk, &id).await.len() == 2 && turns(&desk, &id).await[1]["finishReason"] == "stop"
        })
        .await;
        let second = turns(&desk, &id).await[1].clone();
        assert_eq!(second["message"]["content"], "The report: 4");
        assert_eq!(
            (&second["input"][0]["role"], &second["input"][0]["callId"]),
            (&json!("task"), &result["callId"])
        );
        let context = desk.api.get(&format!("/api/conversations/{id}/tool-context")).await;
        let result = &context.data()["toolResults"][0];
        assert_eq!((&result["status"], &result["data"]["temperature"]), (&json!("done"), &json!(4)));
        let task = task_of(&desk, &pending[0]["taskId"]).await;
        assert_eq!(result["at"], task["endedAt"], "the time of the result");
        assert_eq!(context.data()["toolDefinitions"][0]["async"], true);
    }
    let requests = desk.model.seen();
    assert!(requests[0].tools[0].description.contains("pending"), "{}", requests[0].tools[0].description);
    let system = requests[1].system.clone().expect("instructions");
    assert!(system.contains("report (callId "), "{system}");
    let last = requests[2].messages.last().expect("a message");
    assert_eq!(last.results.len(), 1);
    let call = requests[2].messages.iter().rev().find_map(|message| message.calls.first()).expect("a call");
    assert_eq!(call.name, "task_result");
    assert!(!requests[2].system.as_deref().unwrap_or_default().contains("callId"), "no call is pending");
    desk.check();
}

#[tokio::test]
async fn result_of_a_plain_call_shows_when_the_call_ended() {
    let model = ModelServer::start(async |request: RecordedModelRequest| {
        tokio::time::sleep(Duration::from_millis(400)).await;
        match request.results().first() {
            None => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
            Some(_) => ModelReply::says("Four."),
        }
    });
    let upstream = Upstream::start_async(async |seen| {
        tokio::time::sleep(Duration::from_millis(200)).await;
        weather(&seen)
    });
    let desk = Desk::with(model.await, upstream.await).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let reply = desk.ask(&agent, "How warm is it in Rome?").await;
    let id = reply.data()["conversationId"].as_str().expect("an id");
    let turn = turns(&desk, id).await[0].clone();
    let context = desk.api.get(&format!("/api/conversations/{id}/tool-context")).await;
    let result = &context.data()["toolResults"][0];
    assert_eq!(result["status"], "done", "{result}");
    let since_start = |at: &Value| milliseconds_between(&turn["startedAt"], at);
    let ended = since_start(&result["at"]);
    assert!(ended >= 600, "the model took 400 ms and the call 200 ms, not {ended} ms: {turn}");
    assert!(ended <= since_start(&turn["steps"][1]["at"]), "{result} {turn}");
}

#[tokio::test]
async fn manual_resume_waits_for_the_next_user_message() {
    let permits = Arc::new(Semaphore::new(0));
    let desk = Desk::with(ModelServer::start(reporter).await, slow(permits.clone()).await).await;
    desk.tool("report", json!({"async": true})).await;
    let agent = desk.agent(FakeDialect::Openai, &["report"], json!({"resume": "manual"})).await;
    let reply = desk.ask(&agent, "A report, please.").await;
    let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    let task = reply.data()["toolCalls"][0]["result"]["taskId"].as_str().expect("an id").to_owned();
    permits.add_permits(1);
    crate::tasks::wait_for_status(&desk.api, &task, "succeeded").await;
    eventually("the result has arrived", async || {
        desk.api.get(&format!("/api/conversations/{id}")).await.data()["pending"] == json!([])
    })
    .await;
    assert_eq!(turns(&desk, &id).await.len(), 1);
    let body = json!({"conversationId": id, "messages": [user("And?")]});
    let reply = desk.api.post("/api/chat", &body).await;
    assert_eq!(final_text(&reply), "The report: 4");
    let input = turns(&desk, &id).await[1]["input"].clone();
    assert_eq!((&input[0]["role"], &input[1]["role"]), (&json!("task"), &json!("user")));
    desk.check();
}

#[tokio::test]
async fn turn_waits_for_an_approval() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.results().first() {
        None => ModelReply::calls([("send", json!({"city": "Rome"})), ("weather", json!({"city": "Oslo"}))]),
        Some(result) => ModelReply::says(format!("{} and {}", result.content, request.results().len())),
    })
    .await;
    desk.tool("send", json!({"policy": "ask"})).await;
    for (dialect, decision) in
        [(FakeDialect::Openai, "approve"), (FakeDialect::Anthropic, "deny"), (FakeDialect::Gemini, "approve")]
    {
        let agent = desk.agent(dialect, &["send", "weather"], json!({})).await;
        let body = json!({"agentId": agent, "messages": [user("Send it.")], "stream": true});
        let mut stream = desk.api.post_for_events("/api/chat", &body).await;
        let events = stream.until("tool.pending").await;
        let pending = events.last().expect("a pending call").data.clone();
        assert_eq!(pending["reason"], "approval", "{pending}");
        let id = events[0].data["conversationId"].as_str().expect("an id").to_owned();
        eventually("the conversation waits", async || {
            desk.api.get(&format!("/api/conversations/{id}")).await.data()["status"] == "waiting"
        })
        .await;
        let task = pending["taskId"].as_str().expect("an id");
        let approval = desk.api.get(&format!("/api/approvals/{task}")).await;
        assert_eq!(approval.data()["arguments"], json!({"city": "Rome"}), "{}", approval.body);
        let before = desk.weather.seen().iter().filter(|seen| seen.target.starts_with("/send")).count();
        let decided = desk
            .api
            .post(&format!("/api/approvals/{task}"), &json!({"decision": decision, "note": "so"}))
            .await;
        assert_eq!(decided.status, 200, "{}", decided.body);
        let events = stream.until("done").await;
        let text = events.iter().find(|event| event.name == "message.done").expect("a message").data["message"]["content"].clone();
        let sent = desk.weather.seen().iter().filter(|seen| seen.target.starts_with("/send")).count();
        let text = text.as_str().expect("a text");
        match decision {
            "approve" => assert!(
                text.contains("\"temperature\":4") && text.ends_with("and 2") && sent == before + 1,
                "{text}"
            ),
            _ => assert!(text.contains("Denied") && text.ends_with("and 2") && sent == before, "{text}"),
        }
    }
    desk.check();
}

#[tokio::test]
async fn budget_spent_before_an_approval_still_counts_after_it() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.previous_responses() {
        0 => ModelReply::calls([("send", json!({"city": "Rome"})), ("weather", json!({"city": "Oslo"}))]),
        1 => ModelReply::calls(["Bern", "Kyiv"].map(|city| ("weather", json!({"city": city})))),
        _ => {
            let is_refused = |content: &str| content.contains("BudgetExceeded");
            let refused = request.results().iter().filter(|result| is_refused(&result.content)).count();
            ModelReply::says(format!("{refused} refused"))
        }
    })
    .await;
    desk.tool("send", json!({"policy": "ask"})).await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["send", "weather"], json!({"maxCalls": 3})).await;
        let before = desk.weather.seen().len();
        let body = json!({"agentId": agent, "messages": [user("Send it.")], "stream": true});
        let mut stream = desk.api.post_for_events("/api/chat", &body).await;
        let events = stream.until("tool.pending").await;
        let task = events.last().expect("a pending call").data["taskId"].as_str().expect("an id").to_owned();
        let decided = desk.api.post(&format!("/api/approvals/{task}"), &json!({"decision": "approve"})).await;
        assert_eq!(decided.status, 200, "{}", decided.body);
        let events = stream.until("done").await;
        let text = events.iter().find(|event| event.name == "message.done").expect("a message");
        assert_eq!(text.data["message"]["content"], "1 refused", "{dialect:?}");
        assert_eq!(desk.weather.seen().len() - before, 3, "{dialect:?}");
    }
    desk.check();
}

#[tokio::test]
async fn cancelling_a_turn_cancels_the_task_that_waits_for_approval() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.user_text() {
        "Send it." => ModelReply::calls([("send", json!({"city": "Rome"}))]),
        _ => {
            let results = request.messages.iter().flat_map(|message| &message.results);
            ModelReply::says(results.map(|result| result.content.clone()).collect::<String>())
        }
    })
    .await;
    desk.tool("send", json!({"policy": "ask"})).await;
    let agent = desk.agent(FakeDialect::Gemini, &["send"], json!({})).await;
    let body = json!({"agentId": agent, "messages": [user("Send it.")], "detach": true});
    let id =
        desk.api.post("/api/chat", &body).await.data()["conversationId"].as_str().expect("an id").to_owned();
    eventually("the conversation waits", async || {
        desk.api.get(&format!("/api/conversations/{id}")).await.data()["status"] == "waiting"
    })
    .await;
    let task =
        turns(&desk, &id).await[0]["steps"][0]["calls"][0]["taskId"].as_str().expect("an id").to_owned();
    let stopped = desk.api.post(&format!("/api/conversations/{id}/cancel"), &json!({})).await;
    assert_eq!(stopped.status, 200);
    eventually("the turn is over", async || turns(&desk, &id).await[0]["finishReason"] == "cancelled").await;
    crate::tasks::wait_for_status(&desk.api, &task, "cancelled").await;
    for _ in 0..2 {
        // The model receives the final status of the task, not `pending`.
        let body = json!({"conversationId": id, "messages": [user("Leave it.")]});
        let reply = desk.api.post("/api/chat", &body).await;
        assert!(
            final_text(&reply).contains("Cancelled") && !final_text(&reply).contains("pending"),
            "{}",
            reply.body
        );
    }
    assert!(desk.weather.seen().is_empty());
    desk.check();
}

#[tokio::test]
async fn turn_waits_for_a_deferred_call() {
    let upstream = Upstream::start(|seen| match seen.target.as_str() {
        "/job" => haft_testkit::json_reply(202, &json!({"id": "j1"})),
        _ => haft_testkit::json_reply(200, &json!({"state": "done", "result": {"temperature": 9}})),
    });
    let model = ModelServer::start(async |request: RecordedModelRequest| match request.results().first() {
        None => ModelReply::calls([("job", json!({}))]),
        Some(result) => ModelReply::says(result.content.clone()),
    });
    let desk = Desk::with(model.await, upstream.await).await;
    let base = format!("http://{}", desk.weather.address);
    let tool = json!({
        "name": "job", "description": "d", "method": "POST", "url": format!("{base}/job"),
        "config": {"poll": {"url": "/job/{{id}}", "status": "state", "done": ["done"], "result": "result", "interval": 0.1}},
    });
    let created = desk.api.post("/api/tools", &tool).await;
    if created.status != 201 {
        panic!("{}", created.body);
    }
    let agent = desk.agent(FakeDialect::Openai, &["job"], json!({})).await;
    let waiting = tokio::time::timeout(Duration::from_secs(20), desk.ask(&agent, "Do it."));
    let reply = waiting.await.expect("in time");
    assert!(final_text(&reply).contains('9'), "{}", reply.body);
    desk.check();
}

#[tokio::test]
async fn full_task_queue_is_reported_to_the_model() {
    let place = haft_testkit::TestStorage::new();
    let model = ModelServer::start(async |request: RecordedModelRequest| match request.results().first() {
        None => ModelReply::calls([("report", json!({"city": "Rome"}))]),
        Some(result) => ModelReply::says(result.content.clone()),
    })
    .await;
    let settings = super::asking(crate::survival::Settings::of(&place), &model).with("HAFT_TASK_QUEUE", "1");
    let (server, api) = settings.start().await;
    let weather = Upstream::start(weather).await;
    let desk = Desk { server, api, model, weather, settings, place };
    desk.tool("report", json!({"async": true})).await;
    // Occupies the only slot of the queue.
    let later = json!({"arguments": {"city": "Oslo"}, "options": {"mode": "async", "delay": 3600}});
    crate::tasks::accepted_task(&crate::tasks::execute(&desk.api, "report", later).await);
    let agent = desk.agent(FakeDialect::Openai, &["report"], json!({})).await;
    let reply = desk.ask(&agent, "A report.").await;
    assert!(final_text(&reply).contains("RateLimit"), "{}", reply.body);
    let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    assert_eq!(turns(&desk, &id).await.len(), 1);
    desk.check();
}

#[tokio::test]
async fn large_result_of_a_task_is_read_by_its_handle() {
    let upstream = Upstream::start(|_| {
        let rows: Vec<String> = (0..5000).map(|n| format!("row-{n}-end")).collect();
        haft_testkit::json_reply(200, &json!({"rows": rows}))
    });
    let model = ModelServer::start(async |request: RecordedModelRequest| {
        let last = request.messages.iter().rev().find_map(|message| message.results.first());
        let content = last.map(|result| serde_json::from_str::<Value>(&result.content).unwrap_or_default());
        match content {
            None => ModelReply::calls([("report", json!({"city": "Rome"}))]),
            Some(content) if content["status"] == "pending" => ModelReply::says("It is on its way."),
            Some(content) if content["handle"].is_string() => {
                let arguments = json!({"handle": content["handle"], "find": "row-4999-end"});
                ModelReply::calls([("read_result", arguments)])
            }
            Some(content) => {
                ModelReply::says(content["text"].as_str().and_then(|text| text.get(..12)).unwrap_or("?"))
            }
        }
    });
    let desk = Desk::with(model.await, upstream.await).await;
    desk.tool("report", json!({"async": true})).await;
    let agent = desk.agent(FakeDialect::Openai, &["report"], json!({})).await;
    let reply = desk.ask(&agent, "A report, please.").await;
    let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    eventually("the agent takes a turn by itself", async || {
        turns(&desk, &id).await.get(1).is_some_and(|turn| turn["finishReason"] == "stop")
    })
    .await;
    assert_eq!(turns(&desk, &id).await[1]["message"]["content"], "row-4999-end");
    let seen = desk.model.seen();
    assert!(seen.iter().all(|request| request.results().iter().all(|result| result.content.len() < 33_000)));
    desk.check();
}
