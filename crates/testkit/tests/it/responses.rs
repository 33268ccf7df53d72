//! Requests and responses are equivalent in all dialects.

use haft_llm::{Delta, EndReason, Model, ModelRequest, ModelTurn, ToolChoice, ToolResult, Usage};
use haft_testkit::{FakeDialect, MessageRole, ModelReply, ModelServer};
use serde_json::{Value, json};

use crate::support::{KEY, ask, limits, read, sample_request, wire};

fn full() -> ModelReply {
    ModelReply::new()
        .reasoning("Two cities: 科隆…")
        .text("Ich schaue nach — 你好 🌦.")
        .call("weather", json!({"city": "Köln", "days": 3}))
        .call("weather", json!({"city": "巴黎"}))
        .usage(80, 40)
}

#[tokio::test]
async fn response_is_the_same_in_each_dialect_streamed_or_not() {
    for dialect in FakeDialect::ALL {
        let server = ModelServer::script([full(), full().not_streamed(), full().in_fragments_of(1000)]).await;
        for _ in 0..3 {
            let response = ask(&wire(dialect, &server), &sample_request()).await.expect("a response");
            assert_eq!(response.text, "Ich schaue nach — 你好 🌦.", "{dialect:?}");
            assert_eq!(response.reasoning.expect("thoughts").text, "Two cities: 科隆…", "{dialect:?}");
            let calls: Vec<(&str, Value)> = response
                .calls
                .iter()
                .map(|call| (call.name.as_str(), serde_json::from_str(&call.arguments).expect("JSON")))
                .collect();
            let expected =
                [("weather", json!({"city": "Köln", "days": 3})), ("weather", json!({"city": "巴黎"}))];
            assert_eq!(calls, expected, "{dialect:?}");
            assert_ne!(response.calls[0].id, response.calls[1].id, "{dialect:?}");
            assert_eq!(
                response.usage,
                Some(Usage { input: 80, output: 40, ..Usage::default() }),
                "{dialect:?}"
            );
            assert_eq!(response.end, EndReason::ToolCalls, "{dialect:?}");
        }
        assert_eq!(server.refused(), Vec::<String>::new());
        assert_eq!((server.under_way(), server.dropped()), (0, 0), "{dialect:?}");
    }
}

#[tokio::test]
async fn request_is_the_same_in_each_dialect() {
    for dialect in FakeDialect::ALL {
        let server = ModelServer::script([full(), ModelReply::says("Warm."), ModelReply::says("Yes.")]).await;
        let mut request = sample_request();
        let response = ask(&wire(dialect, &server), &request).await.expect("calls");
        let results = response.calls.iter().zip(["{\"warm\":1}", "unknown"]).map(|(call, content)| {
            let (call_id, name) = (call.id.clone(), call.name.clone());
            ToolResult { call_id, name, content: content.to_owned(), is_error: false }
        });
        let results = results.collect();
        request.turns.extend([response.into_turn(), ModelTurn::ToolResults { results }]);
        let response = ask(&wire(dialect, &server), &request).await.expect("words");
        assert_eq!((response.text.as_str(), response.end), ("Warm.", EndReason::Stop), "{dialect:?}");
        request.turns.extend([response.into_turn(), ModelTurn::user("Sure?")]);
        request.tool_choice = ToolChoice::None;
        ask(&wire(dialect, &server), &request).await.expect("words");
        assert_eq!(server.refused(), Vec::<String>::new());

        let seen = server.seen();
        let (first, second, third) = (&seen[0], &seen[1], &seen[2]);
        assert_eq!((first.dialect, first.key.as_deref()), (dialect, Some(KEY)));
        assert_eq!(first.model, "gemini-3-test");
        assert_eq!(first.system.as_deref(), Some("You know the weather."));
        assert_eq!((first.user_text(), first.results().len()), ("How warm is Köln?", 0));
        assert_eq!((first.temperature, first.max_tokens, first.stream), (Some(0.5), Some(500), true));
        assert_eq!(first.tool_names(), ["weather", "now"]);
        assert_eq!(first.tools[0].schema["required"], json!(["city"]), "{dialect:?}");
        assert_eq!(second.previous_responses(), 1, "{dialect:?}");
        let roles: Vec<MessageRole> = third.messages.iter().map(|message| message.role).collect();
        assert_eq!(
            roles,
            [
                MessageRole::User,
                MessageRole::Assistant,
                MessageRole::Tool,
                MessageRole::Assistant,
                MessageRole::User
            ]
        );
        let calls: Vec<&Value> = second.messages[1].calls.iter().map(|call| &call.arguments).collect();
        assert_eq!(calls, [&json!({"city": "Köln", "days": 3}), &json!({"city": "巴黎"})], "{dialect:?}");
        let results: Vec<&str> = second.results().iter().map(|result| result.content.as_str()).collect();
        assert_eq!(results, ["{\"warm\":1}", "unknown"], "{dialect:?}");
        for (call, result) in second.messages[1].calls.iter().zip(second.results()) {
            assert_eq!(call.id, result.call_id, "{dialect:?}");
        }
        assert_eq!(third.user_text(), "Sure?", "{dialect:?}");
        if dialect != FakeDialect::Ollama {
            assert_eq!(first.tool_choice.as_deref(), Some("auto"), "{dialect:?}");
            assert_eq!(third.tool_choice.as_deref(), Some("none"), "{dialect:?}");
        }
    }
}

#[tokio::test]
async fn texts_are_sent_in_fragments_with_a_stop_reason() {
    for dialect in FakeDialect::ALL {
        let server = ModelServer::script([
            ModelReply::says("abcdefgh").without_usage().length(),
            ModelReply::says("abcdefgh").in_fragments_of(5).filtered(),
            ModelReply::new().fenced_call("weather", &json!({"city": "Rom"})),
        ])
        .await;
        let provider = wire(dialect, &server);
        for (pieces, end) in
            [(vec!["abc", "def", "gh"], EndReason::Length), (vec!["abcde", "fgh"], EndReason::Filtered)]
        {
            let response = provider.ask(&sample_request(), limits()).await.expect("a response");
            let (deltas, error) = read(response).await;
            let texts: Vec<&str> = deltas
                .iter()
                .filter_map(|delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None })
                .collect();
            assert_eq!((texts, error.is_none()), (pieces, true), "{dialect:?}");
            // Ollama has no content filter.
            let end = if (dialect, end) == (FakeDialect::Ollama, EndReason::Filtered) {
                EndReason::Stop
            } else {
                end
            };
            assert_eq!(deltas.last(), Some(&Delta::End(end)), "{dialect:?}");
        }
        let mut request = sample_request();
        request.text_tool_calls = true;
        let response = ask(&provider, &request).await.expect("a call");
        assert_eq!((response.text.as_str(), response.calls[0].name.as_str()), ("", "weather"), "{dialect:?}");
    }
}

#[tokio::test]
async fn calls_may_have_invalid_arguments_and_chosen_ids() {
    for dialect in [FakeDialect::Openai, FakeDialect::Anthropic] {
        let reply = ModelReply::new().raw_call("weather", "{\"city\": ").call_id("mine");
        let server = ModelServer::script([reply]).await;
        let response = ask(&wire(dialect, &server), &sample_request()).await.expect("a call");
        assert_eq!(
            (response.calls[0].id.as_str(), response.calls[0].arguments.as_str()),
            ("mine", "{\"city\": ")
        );
    }
    let reply = ModelReply::new().raw_call("weather", "{\"city\": ");
    let server = ModelServer::script([reply.clone(), reply]).await;
    let response = ask(&wire(FakeDialect::Gemini, &server), &sample_request()).await.expect("a response");
    assert_eq!((response.calls.len(), response.end), (0, EndReason::Malformed));
    let response = ask(&wire(FakeDialect::Ollama, &server), &sample_request()).await.expect("a response");
    assert_eq!((response.calls.len(), response.text.as_str()), (0, "{\"city\": "));
}

#[tokio::test]
async fn models_are_listed_and_a_function_defines_the_response() {
    let server = ModelServer::start(async |request| match request.results() {
        [] => ModelReply::calls([("now", json!({}))]),
        [result, ..] => ModelReply::says(format!("It is {}.", result.content)),
    })
    .await;
    for dialect in FakeDialect::ALL {
        let provider = wire(dialect, &server);
        assert_eq!(provider.models(limits()).await.expect("names"), ["test-large", "test-small"]);
        let mut request = sample_request();
        let response = ask(&provider, &request).await.expect("a call");
        let [call] = response.calls.as_slice() else { panic!("{dialect:?}: one call: {response:?}") };
        let (call_id, name) = (call.id.clone(), call.name.clone());
        let result = ToolResult { call_id, name, content: "late".to_owned(), is_error: false };
        request.turns.extend([response.into_turn(), ModelTurn::ToolResults { results: vec![result] }]);
        assert_eq!(ask(&provider, &request).await.expect("words").text, "It is late.", "{dialect:?}");
    }
}

#[tokio::test]
async fn golden_conversation_passes_all_validation_rules() {
    let golden = include_str!("../../../llm/tests/golden/conversation.json");
    let request: ModelRequest = serde_json::from_str(golden).expect("a request");
    let server = ModelServer::start(async |_| ModelReply::says("Rome.")).await;
    for dialect in FakeDialect::ALL {
        let response = ask(&wire(dialect, &server), &request).await.expect("a response");
        assert_eq!(response.text, "Rome.", "{dialect:?}");
    }
    for request in server.seen() {
        assert_eq!(request.messages[0].images, 1, "{:?}", request.dialect);
        let [fine, failed] = request.results() else { panic!("two results: {:?}", request.messages) };
        assert_eq!(fine.content, "{\"temperature\":21}", "{:?}", request.dialect);
        // The other dialects do not mark results as errors.
        let says_so = matches!(request.dialect, FakeDialect::Anthropic | FakeDialect::Gemini);
        assert_eq!((fine.is_error, failed.is_error), (false, says_so), "{:?}", request.dialect);
    }
}
