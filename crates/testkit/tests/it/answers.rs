//! An answer in each dialect is read as the same answer, and a question in each as the same question.

use haft_llm::{Delta, EndReason, Model, ModelRequest, ToolChoice, ToolResult, Turn, Usage};
use haft_testkit::{Dialect, ModelReply, ModelServer, Role};
use serde_json::{Value, json};

use crate::support::{KEY, ask, limits, question, read, wire};

fn full() -> ModelReply {
    ModelReply::new()
        .reasoning("Two cities: 科隆…")
        .text("Ich schaue nach — 你好 🌦.")
        .call("weather", json!({"city": "Köln", "days": 3}))
        .call("weather", json!({"city": "巴黎"}))
        .usage(80, 40)
}

#[tokio::test]
async fn an_answer_is_the_same_in_each_dialect_streamed_or_not() {
    for dialect in Dialect::ALL {
        let server = ModelServer::script([full(), full().not_streamed(), full().in_fragments_of(1000)]).await;
        for _ in 0..3 {
            let answer = ask(&wire(dialect, &server), &question()).await.expect("an answer");
            assert_eq!(answer.text, "Ich schaue nach — 你好 🌦.", "{dialect:?}");
            assert_eq!(answer.reasoning.expect("thoughts").text, "Two cities: 科隆…", "{dialect:?}");
            let calls: Vec<(&str, Value)> = answer
                .calls
                .iter()
                .map(|call| (call.name.as_str(), serde_json::from_str(&call.arguments).expect("JSON")))
                .collect();
            let expected =
                [("weather", json!({"city": "Köln", "days": 3})), ("weather", json!({"city": "巴黎"}))];
            assert_eq!(calls, expected, "{dialect:?}");
            assert_ne!(answer.calls[0].id, answer.calls[1].id, "{dialect:?}");
            assert_eq!(
                answer.usage,
                Some(Usage { input: 80, output: 40, ..Usage::default() }),
                "{dialect:?}"
            );
            assert_eq!(answer.end, EndReason::ToolCalls, "{dialect:?}");
        }
        assert_eq!(server.refused(), Vec::<String>::new());
        assert_eq!((server.under_way(), server.dropped()), (0, 0), "{dialect:?}");
    }
}

#[tokio::test]
async fn a_question_is_the_same_in_each_dialect() {
    for dialect in Dialect::ALL {
        let server = ModelServer::script([full(), ModelReply::says("Warm."), ModelReply::says("Yes.")]).await;
        let mut request = question();
        let answer = ask(&wire(dialect, &server), &request).await.expect("calls");
        let results = answer.calls.iter().zip(["{\"warm\":1}", "nobody knows"]).map(|(call, content)| {
            let (call_id, name) = (call.id.clone(), call.name.clone());
            ToolResult { call_id, name, content: content.to_owned(), is_error: false }
        });
        let results = results.collect();
        request.turns.extend([answer.into_turn(), Turn::ToolResults { results }]);
        let answer = ask(&wire(dialect, &server), &request).await.expect("words");
        assert_eq!((answer.text.as_str(), answer.end), ("Warm.", EndReason::Stop), "{dialect:?}");
        request.turns.extend([answer.into_turn(), Turn::user("Sure?")]);
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
        assert_eq!(second.answers_before(), 1, "{dialect:?}");
        let roles: Vec<Role> = third.messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant, Role::User]);
        let calls: Vec<&Value> = second.messages[1].calls.iter().map(|call| &call.arguments).collect();
        assert_eq!(calls, [&json!({"city": "Köln", "days": 3}), &json!({"city": "巴黎"})], "{dialect:?}");
        let results: Vec<&str> = second.results().iter().map(|result| result.content.as_str()).collect();
        assert_eq!(results, ["{\"warm\":1}", "nobody knows"], "{dialect:?}");
        for (call, result) in second.messages[1].calls.iter().zip(second.results()) {
            assert_eq!(call.id, result.call_id, "{dialect:?}");
        }
        assert_eq!(third.user_text(), "Sure?", "{dialect:?}");
        if dialect != Dialect::Ollama {
            assert_eq!(first.tool_choice.as_deref(), Some("auto"), "{dialect:?}");
            assert_eq!(third.tool_choice.as_deref(), Some("none"), "{dialect:?}");
        }
    }
}

#[tokio::test]
async fn texts_come_in_fragments_and_why_the_model_stopped_is_said() {
    for dialect in Dialect::ALL {
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
            let asked = provider.ask(&question(), limits()).await.expect("an answer");
            let (deltas, error) = read(asked).await;
            let texts: Vec<&str> = deltas
                .iter()
                .filter_map(|delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None })
                .collect();
            assert_eq!((texts, error.is_none()), (pieces, true), "{dialect:?}");
            // Ollama filters nothing.
            let end =
                if (dialect, end) == (Dialect::Ollama, EndReason::Filtered) { EndReason::Stop } else { end };
            assert_eq!(deltas.last(), Some(&Delta::End(end)), "{dialect:?}");
        }
        let mut request = question();
        request.text_tool_calls = true;
        let answer = ask(&provider, &request).await.expect("a call");
        assert_eq!((answer.text.as_str(), answer.calls[0].name.as_str()), ("", "weather"), "{dialect:?}");
    }
}

#[tokio::test]
async fn a_model_may_write_broken_calls_and_choose_their_ids() {
    for dialect in [Dialect::Openai, Dialect::Anthropic] {
        let reply = ModelReply::new().raw_call("weather", "{\"city\": ").call_id("mine");
        let server = ModelServer::script([reply]).await;
        let answer = ask(&wire(dialect, &server), &question()).await.expect("a call");
        assert_eq!(
            (answer.calls[0].id.as_str(), answer.calls[0].arguments.as_str()),
            ("mine", "{\"city\": ")
        );
    }
    let reply = ModelReply::new().raw_call("weather", "{\"city\": ");
    let server = ModelServer::script([reply.clone(), reply]).await;
    let answer = ask(&wire(Dialect::Gemini, &server), &question()).await.expect("an answer");
    assert_eq!((answer.calls.len(), answer.end), (0, EndReason::Malformed));
    let answer = ask(&wire(Dialect::Ollama, &server), &question()).await.expect("an answer");
    assert_eq!((answer.calls.len(), answer.text.as_str()), (0, "{\"city\": "));
}

#[tokio::test]
async fn models_are_listed_and_a_function_may_answer() {
    let server = ModelServer::start(async |asked| match asked.results() {
        [] => ModelReply::calls([("now", json!({}))]),
        [result, ..] => ModelReply::says(format!("It is {}.", result.content)),
    })
    .await;
    for dialect in Dialect::ALL {
        let provider = wire(dialect, &server);
        assert_eq!(provider.models(limits()).await.expect("names"), ["test-large", "test-small"]);
        let mut request = question();
        let answer = ask(&provider, &request).await.expect("a call");
        let [call] = answer.calls.as_slice() else { panic!("{dialect:?}: one call: {answer:?}") };
        let (call_id, name) = (call.id.clone(), call.name.clone());
        let result = ToolResult { call_id, name, content: "late".to_owned(), is_error: false };
        request.turns.extend([answer.into_turn(), Turn::ToolResults { results: vec![result] }]);
        assert_eq!(ask(&provider, &request).await.expect("words").text, "It is late.", "{dialect:?}");
    }
}

#[tokio::test]
async fn a_conversation_that_the_client_is_known_to_write_well_keeps_to_every_rule() {
    let golden = include_str!("../../../llm/tests/golden/conversation.json");
    let request: ModelRequest = serde_json::from_str(golden).expect("a request");
    let server = ModelServer::start(async |_| ModelReply::says("Rome.")).await;
    for dialect in Dialect::ALL {
        let answer = ask(&wire(dialect, &server), &request).await.expect("an answer");
        assert_eq!(answer.text, "Rome.", "{dialect:?}");
    }
    for asked in server.seen() {
        assert_eq!(asked.messages[0].images, 1, "{:?}", asked.dialect);
        let [fine, failed] = asked.results() else { panic!("two results: {:?}", asked.messages) };
        assert_eq!(fine.content, "{\"temperature\":21}", "{:?}", asked.dialect);
        // The others do not say that a result is an error.
        let says_so = matches!(asked.dialect, Dialect::Anthropic | Dialect::Gemini);
        assert_eq!((fine.is_error, failed.is_error), (false, says_so), "{:?}", asked.dialect);
    }
}
