//! The weather dialogue in all four dialects: parallel and sequential calls, invalid calls, and failing
//! models.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_testkit::{
    FakeDialect, ModelReply, ModelServer, OLLAMA_CONTEXT, RecordedModelRequest, RecordedResult, Upstream,
};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::{DIALECTS, Desk, final_text, weather};

fn city(name: &str) -> (&'static str, Value) {
    ("weather", json!({"city": name}))
}

/// Returns the last tool results in one form. Gemini sends the error of a call in a separate field.
fn results(request: &RecordedModelRequest) -> Vec<Value> {
    let read = |result: &RecordedResult| {
        let content: Value = serde_json::from_str(&result.content).unwrap_or_default();
        if result.is_error && content["error"].is_null() { json!({"error": content}) } else { content }
    };
    request.results().iter().map(read).collect()
}

#[tokio::test]
async fn model_calls_a_tool_and_reports_its_result() {
    let desk = Desk::new(async |request: RecordedModelRequest| match results(&request).as_slice() {
        [] => ModelReply::new()
            .reasoning("I look.")
            .text("Let me see. ")
            .call("weather", json!({"city": "Paris"}))
            .usage(20, 5),
        [one] => {
            ModelReply::says(format!("It is {} degrees in {}.", one["temperature"], one["city"])).usage(40, 9)
        }
        more => ModelReply::says(format!("{} results?", more.len())),
    })
    .await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let reply = desk.ask(&agent, "How is the weather in Paris?").await;
        assert_eq!(final_text(&reply), "It is 5 degrees in \"Paris\".", "{dialect:?}");
        let data = reply.data();
        assert_eq!(
            (&data["finishReason"], &data["steps"], &data["turn"]),
            (&json!("stop"), &json!(2), &json!(1))
        );
        assert_eq!(data["usage"]["input"], 60, "{dialect:?}: {data}");
        let call = &data["toolCalls"][0];
        assert_eq!((&call["name"], &call["arguments"]), (&json!("weather"), &json!({"city": "Paris"})));
        assert_eq!(call["result"]["data"]["temperature"], 5);
        assert_eq!(call["result"]["callId"], call["callId"]);
    }
    let requests = desk.model.seen();
    assert_eq!(requests.len(), 8);
    assert!(
        requests
            .iter()
            .all(|request| request.system.as_deref() == Some("You are a clerk.") && request.stream)
    );
    assert!(requests.iter().all(|request| request.tool_names() == ["weather"]));
    assert_eq!(requests[0].key.as_deref(), Some("sk-openai"));
    let context_sizes: Vec<&Value> =
        requests.iter().map(|request| &request.body["options"]["num_ctx"]).collect();
    assert_eq!(context_sizes[6..], [&json!(OLLAMA_CONTEXT); 2], "requests to Ollama set the context length");
    desk.check();
}

#[tokio::test]
async fn three_calls_of_one_response_run_in_parallel_and_return_in_order() {
    // No call returns before all three have arrived.
    let meeting = Arc::new(Barrier::new(3));
    let upstream = Upstream::start_async(move |seen| {
        let meeting = meeting.clone();
        async move {
            meeting.wait().await;
            weather(&seen)
        }
    });
    let model = ModelServer::start(async |request: RecordedModelRequest| {
        let results = results(&request);
        if results.is_empty() {
            return ModelReply::calls([city("Rome"), city("Oslo_"), city("Berlin")]);
        }
        let cities: Vec<&str> = results.iter().filter_map(|result| result["city"].as_str()).collect();
        ModelReply::says(cities.join(", "))
    });
    let desk = Desk::with(model.await, upstream.await).await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let reply = desk.ask(&agent, "Rome, Oslo and Berlin?").await;
        assert_eq!(final_text(&reply), "Rome, Oslo_, Berlin", "{dialect:?}");
        assert_eq!(reply.data()["toolCalls"].as_array().map(Vec::len), Some(3));
    }
    desk.check();
}

#[tokio::test]
async fn call_may_use_the_result_of_an_earlier_one() {
    let desk = Desk::new(async |request: RecordedModelRequest| match results(&request).first() {
        None => ModelReply::calls([city("Rome")]),
        Some(first) if first["city"] == "Rome" => {
            ModelReply::calls([city(&format!("next{}", first["temperature"]))])
        }
        Some(second) => ModelReply::says(second["city"].as_str().unwrap_or_default()),
    })
    .await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let reply = desk.ask(&agent, "And then?").await;
        assert_eq!(final_text(&reply), "next4", "{dialect:?}");
        assert_eq!(reply.data()["steps"], 3);
    }
    desk.check();
}

#[tokio::test]
async fn invalid_calls_are_reported_to_the_model_which_corrects_them() {
    let desk = Desk::new(async |request: RecordedModelRequest| {
        let text = request.user_text().to_owned();
        match (results(&request).first(), text.as_str()) {
            (None, "misfit") => ModelReply::calls([("weather", json!({"town": "Rome"}))]),
            (None, "unknown") => ModelReply::calls([("wether", json!({"city": "Rome"}))]),
            (None, "made up") => ModelReply::calls([("multi_tool_use.parallel", json!({"tool_uses": []}))]),
            (None, "broken") => ModelReply::new().raw_call("weather", "{\"city\": \"Ro"),
            (Some(result), _) if result["error"].is_object() => ModelReply::calls([city("Rome")]),
            (Some(result), _) => ModelReply::says(format!("{}", result["temperature"])),
            (None, _) => ModelReply::says("?"),
        }
    })
    .await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let cases = [
            ("misfit", "Validation", "city"),
            ("unknown", "NotFound", "weather"),
            ("made up", "NotFound", "weather"),
            ("broken", "Validation", "JSON"),
        ];
        for (mistake, kind, word) in cases {
            // Gemini does not send such a call, and Ollama sends it as text.
            if mistake == "broken" && matches!(dialect, FakeDialect::Gemini | FakeDialect::Ollama) {
                continue;
            }
            let reply = desk.ask(&agent, mistake).await;
            assert_eq!(final_text(&reply), "4", "{dialect:?} {mistake}");
            let error = &reply.data()["toolCalls"][0]["result"]["error"];
            assert_eq!(error["kind"], kind, "{dialect:?} {mistake}: {error}");
            assert!(error["message"].as_str().is_some_and(|message| message.contains(word)), "{error}");
        }
    }
    desk.check();
}

#[tokio::test]
async fn call_that_the_provider_withholds_is_requested_again() {
    let desk = Desk::new(async |request: RecordedModelRequest| {
        let is_repeated = request.messages.iter().any(|message| message.text.contains("could not be read"));
        match (results(&request).first(), is_repeated) {
            (None, false) => ModelReply::new().raw_call("weather", "{\"city\": \"Ro"),
            (None, true) => ModelReply::calls([city("Rome")]),
            (Some(result), _) => ModelReply::says(format!("{}", result["temperature"])),
        }
    })
    .await;
    let agent = desk.agent(FakeDialect::Gemini, &["weather"], json!({})).await;
    let reply = desk.ask(&agent, "Rome?").await;
    assert_eq!((final_text(&reply), &reply.data()["steps"]), ("4", &json!(2)), "{}", reply.body);
    desk.check();
}

#[tokio::test]
async fn refused_or_empty_response_gives_a_warning() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.user_text() {
        "refused" => ModelReply::new().filtered(),
        "cut" => ModelReply::says("It is").filtered(),
        _ => ModelReply::says(""),
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &[], json!({})).await;
        let cases = [
            ("refused", "", "refused"),
            ("cut", "It is", "content filter stopped it"),
            ("empty", "", "empty response"),
        ];
        for (question, text, warning_part) in cases {
            let reply = desk.ask(&agent, question).await;
            assert_eq!(final_text(&reply), text, "{dialect:?} {question}");
            let warning = reply.data()["warnings"][0].as_str().unwrap_or_default();
            assert!(warning.contains(warning_part), "{dialect:?} {question}: {}", reply.body);
        }
    }
    desk.check();
}

#[tokio::test]
async fn error_of_a_tool_is_a_result_for_the_model() {
    let upstream = Upstream::start(|_| haft_testkit::json_reply(403, &json!({"why": "no"})));
    let model = ModelServer::start(async |request: RecordedModelRequest| match results(&request).first() {
        None => ModelReply::calls([city("Rome")]),
        Some(result) => ModelReply::says(format!("It failed: {}", result["error"]["kind"])),
    });
    let desk = Desk::with(model.await, upstream.await).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let reply = desk.ask(&agent, "Rome?").await;
    assert_eq!(final_text(&reply), "It failed: \"Permission\"");
    desk.check();
}

#[tokio::test]
async fn failing_model_is_retried_and_then_reported() {
    let count = Arc::new(AtomicUsize::new(0));
    let desk = Desk::new(move |request: RecordedModelRequest| {
        let nth = count.fetch_add(1, Ordering::SeqCst);
        async move {
            match (request.user_text(), nth % 2) {
                ("busy", 0) => ModelReply::status(429, Some(0)),
                ("down", 0) => ModelReply::status(503, None),
                ("cut", 0) => ModelReply::says("This is broken off before its end").cut_after(4),
                ("key", _) => ModelReply::status(401, None),
                ("spent", _) => ModelReply::refused(429, "You exceeded your current quota.", Some(0)),
                ("away", _) => ModelReply::status(500, None),
                (_, _) => ModelReply::says("Here I am."),
            }
        }
    })
    .await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        for trouble in ["busy", "down", "cut"] {
            let reply = desk.ask(&agent, trouble).await;
            assert_eq!(final_text(&reply), "Here I am.", "{dialect:?} {trouble}");
        }
    }
    check_permanent_outage(&desk).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let requests = desk.model.seen().len();
    let reply = desk.ask(&agent, "key").await;
    assert_eq!((reply.status, reply.kind()), (502, "Authentication"), "{}", reply.body);
    assert_eq!(desk.model.seen().len(), requests + 1, "an invalid key is not retried");
    assert_eq!(reply.data()["finishReason"], "error");
    assert!(reply.message().contains("API key"), "{}", reply.body);
    let reply = desk.ask(&agent, "spent").await;
    assert_eq!((reply.status, reply.kind()), (429, "RateLimit"), "{}", reply.body);
    assert_eq!(desk.model.seen().len(), requests + 2, "an exhausted quota is not retried");
    desk.check();
}

#[tokio::test]
async fn turn_that_ended_with_a_model_message_is_continued() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.previous_responses() {
        0 => ModelReply::calls([city("Rome")]),
        1 => ModelReply::says("It is "),
        _ => ModelReply::says(format!("warm, after {} messages.", request.messages.len())),
    })
    .await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({"maxSteps": 1})).await;
        let first = desk.ask(&agent, "Rome?").await;
        assert_eq!(first.data()["finishReason"], "max_steps", "{dialect:?}: {}", first.body);
        let id = first.data()["conversationId"].as_str().expect("an id");
        let more = desk.api.post(&format!("/api/conversations/{id}/continue"), &json!({})).await;
        // Anthropic and Gemini require a user message at the end.
        let count = if matches!(dialect, FakeDialect::Anthropic | FakeDialect::Gemini) { 5 } else { 4 };
        assert_eq!(final_text(&more), format!("warm, after {count} messages."), "{dialect:?}");
    }
    desk.check();
}

#[tokio::test]
async fn reasoning_between_text_and_calls_is_sent_back() {
    let desk = Desk::new(async |request: RecordedModelRequest| match results(&request).first() {
        None => ModelReply::new()
            .reasoning("Which city? ")
            .text("Let me see. ")
            .reasoning("Rome. ")
            .reasoning("Yes, Rome.")
            .call("weather", json!({"city": "Rome"})),
        Some(result) => ModelReply::says(format!("{}", result["temperature"])),
    })
    .await;
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let reply = desk.ask(&agent, "Rome?").await;
        assert_eq!(final_text(&reply), "4", "{dialect:?}");
    }
    let requests = desk.model.seen();
    let second =
        requests.iter().filter(|request| request.dialect == FakeDialect::Anthropic).nth(1).expect("a second");
    let blocks = second.body["messages"][1]["content"].as_array().expect("blocks");
    let kinds: Vec<&str> = blocks.iter().filter_map(|block| block["type"].as_str()).collect();
    assert_eq!(kinds, ["thinking", "text", "thinking", "thinking", "tool_use"]);
    desk.check();
}

#[tokio::test]
async fn images_are_sent_and_other_media_are_rejected() {
    let desk = Desk::new(async |request: RecordedModelRequest| {
        let images: usize = request.messages.iter().map(|message| message.images).sum();
        ModelReply::says(images.to_string())
    })
    .await;
    let image_requests = |agent: &str, url: &str| {
        let parts = json!([{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": url}}]);
        let messages = json!([{"role": "user", "content": parts}]);
        (json!({"agentId": agent, "messages": messages}), json!({"model": agent, "messages": messages}))
    };
    for dialect in FakeDialect::ALL {
        let agent = desk.agent(dialect, &[], json!({})).await;
        for url in [
            "https://pictures.example/rome.webp",
            "https://pictures.example/rome",
            "data:image/jpg;base64,AAAA",
        ] {
            let reply = desk.api.post("/api/chat", &image_requests(&agent, url).0).await;
            // Ollama does not fetch URLs.
            let is_shown = dialect != FakeDialect::Ollama || url.starts_with("data:");
            assert_eq!(final_text(&reply), if is_shown { "1" } else { "0" }, "{dialect:?} {url}");
        }
    }
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let requests = desk.model.seen().len();
    let (ours, theirs) = image_requests(&agent, "data:application/pdf;base64,AAAA");
    let reply = desk.api.post("/api/chat", &ours).await;
    assert_eq!((reply.status, reply.kind()), (400, "Validation"), "{}", reply.body);
    assert!(reply.body.to_string().contains("must be an image"), "{}", reply.body);
    let reply = desk.api.post("/v1/chat/completions", &theirs).await;
    assert_eq!(reply.status, 400, "{}", reply.body);
    assert!(reply.body["error"]["message"].to_string().contains("must be an image"), "{}", reply.body);
    assert_eq!(desk.model.seen().len(), requests, "no request to the model");
    desk.check();
}

/// Checks that a model that stays down is requested four times, and that the conversation can be continued.
async fn check_permanent_outage(desk: &Desk) {
    let ask = async |dialect: FakeDialect| {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let streamed = json!({"agentId": agent, "messages": [super::user("away")], "stream": true});
        // Both requests run concurrently, so that the retry pauses pass only once.
        let (reply, events) = tokio::join!(desk.ask(&agent, "away"), async {
            desk.api.post_for_events("/api/chat", &streamed).await.all().await
        });
        assert_eq!((reply.status, reply.kind()), (502, "Server"), "{dialect:?}: {}", reply.body);
        let data = reply.data();
        assert_eq!((&data["finishReason"], &data["steps"]), (&json!("error"), &json!(0)), "{dialect:?}");
        let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["turn.start", "usage", "error", "done"], "{dialect:?}");
        assert_eq!(events[2].data["kind"], "Server", "{dialect:?}");
        let is_outage_request =
            |request: &&RecordedModelRequest| request.dialect == dialect && request.user_text() == "away";
        assert_eq!(desk.model.seen().iter().filter(is_outage_request).count(), 2 * 4, "{dialect:?}");
        let next = json!({"conversationId": data["conversationId"], "messages": [super::user("back?")]});
        assert_eq!(final_text(&desk.api.post("/api/chat", &next).await), "Here I am.", "{dialect:?}");
    };
    futures_util::future::join_all(DIALECTS.map(ask)).await;
}
