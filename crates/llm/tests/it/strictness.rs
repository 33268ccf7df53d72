//! Strict rules of providers, enforced by the test server.

use haft_llm::{
    Call, ModelRequest, ModelResponse, ModelTurn, Reasoning, Seal, Thought, ToolChoice, ToolResult,
};
use haft_testkit::{FakeDialect, MessageRole, ModelReply, ModelServer, RecordedModelRequest};
use serde_json::json;

use crate::support::{ask, conversation, wire_at};

/// The request that a strict server of a dialect accepts. A rejected request fails the test.
async fn accepted(dialect: FakeDialect, request: &ModelRequest) -> RecordedModelRequest {
    let server = ModelServer::script([ModelReply::says("Well.")]).await;
    let answer: Result<ModelResponse, _> = ask(&wire_at(dialect, &server), request).await;
    assert_eq!(server.refused(), Vec::<String>::new(), "{dialect:?}");
    answer.expect("an answer");
    server.seen().pop().expect("a question")
}

fn assistant(text: &str) -> ModelTurn {
    ModelTurn::assistant(text, None, Vec::new())
}

/// A response with calls of these ids, and their results.
fn called(ids: &[&str]) -> [ModelTurn; 2] {
    called_by("get_weather", ids)
}

/// Such a response with calls of another tool.
fn called_by(name: &str, ids: &[&str]) -> [ModelTurn; 2] {
    let calls = ids.iter().map(|id| Call {
        id: (*id).to_owned(),
        name: name.to_owned(),
        arguments: "{}".to_owned(),
        ..Call::default()
    });
    let results = ids.iter().map(|id| ToolResult {
        call_id: (*id).to_owned(),
        name: name.to_owned(),
        content: format!("of {id}"),
        is_error: false,
    });
    [ModelTurn::assistant("", None, calls.collect()), ModelTurn::ToolResults { results: results.collect() }]
}

#[tokio::test]
async fn empty_and_consecutive_user_messages_are_accepted() {
    let turns = vec![
        ModelTurn::user("One."),
        assistant(""),
        ModelTurn::user("Two."),
        ModelTurn::User { parts: Vec::new(), name: None },
        assistant("Yes?"),
        ModelTurn::user(""),
        ModelTurn::user("Three."),
    ];
    for dialect in [FakeDialect::Gemini, FakeDialect::Anthropic] {
        let seen = accepted(dialect, &ModelRequest::new("m", turns.clone())).await;
        let texts: Vec<&str> = seen.messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, ["One.\nTwo.", "Yes?", "Three."], "{dialect:?}");
    }
}

#[tokio::test]
async fn results_and_following_user_text_are_one_message() {
    let turns =
        [vec![ModelTurn::user("Go.")], called(&["a"]).to_vec(), vec![ModelTurn::user("And?")]].concat();
    for dialect in [FakeDialect::Gemini, FakeDialect::Anthropic] {
        let seen = accepted(dialect, &ModelRequest { turns: turns.clone(), ..conversation() }).await;
        let roles: Vec<MessageRole> = seen.messages.iter().map(|message| message.role).collect();
        assert_eq!(
            roles,
            [MessageRole::User, MessageRole::Assistant, MessageRole::Tool, MessageRole::User],
            "{dialect:?}"
        );
        let list = if dialect == FakeDialect::Gemini { "contents" } else { "messages" };
        assert_eq!(seen.body[list].as_array().map(Vec::len), Some(3), "{dialect:?}");
    }
}

#[tokio::test]
async fn a_conversation_is_never_empty_and_starts_with_the_user() {
    for dialect in [FakeDialect::Gemini, FakeDialect::Anthropic] {
        for turns in [
            vec![ModelTurn::user("")],
            vec![],
            vec![ModelTurn::user(""), assistant("Yes?"), ModelTurn::user("Well.")],
        ] {
            let seen = accepted(dialect, &ModelRequest::new("m", turns)).await;
            assert_eq!(
                (seen.messages[0].role, seen.messages[0].text.as_str()),
                (MessageRole::User, "(nothing)")
            );
        }
    }
    let blank = accepted(FakeDialect::Anthropic, &ModelRequest::new("m", vec![ModelTurn::user(" \n")])).await;
    assert_eq!(blank.user_text(), "(nothing)");
}

#[tokio::test]
async fn a_final_model_message_is_followed_by_a_user_message_where_required() {
    let turns = vec![ModelTurn::user("Say it."), assistant(" It is \n")];
    for dialect in FakeDialect::ALL {
        let seen = accepted(dialect, &ModelRequest::new("m", turns.clone())).await;
        let texts: Vec<&str> = seen.messages.iter().map(|message| message.text.as_str()).collect();
        let ends_with_user = matches!(dialect, FakeDialect::Anthropic | FakeDialect::Gemini);
        let behind: &[&str] = if ends_with_user { &["Go on."] } else { &[] };
        assert_eq!(texts, [&["Say it.", " It is \n"], behind].concat(), "{dialect:?}");
    }
}

#[tokio::test]
async fn call_ids_are_unique() {
    let long = |end: &str| format!("{}{end}", "x".repeat(60));
    let (one, other) = (long("1"), long("2"));
    let turns = [
        vec![ModelTurn::user("Go.")],
        called(&["a.b:c", "a.b.c", "again", &one]).to_vec(),
        called(&["again", "again", &other]).to_vec(),
    ];
    for dialect in [FakeDialect::Anthropic, FakeDialect::Openai] {
        let seen = accepted(dialect, &ModelRequest { turns: turns.concat(), ..conversation() }).await;
        for (at, count) in [(1, 4), (3, 3)] {
            let calls: Vec<&str> = seen.messages[at].calls.iter().map(|call| call.id.as_str()).collect();
            let results = &seen.messages[at + 1].results;
            let answered: Vec<&str> = results.iter().map(|result| result.call_id.as_str()).collect();
            assert_eq!((calls.len(), &calls), (count, &answered), "{dialect:?}");
        }
        assert_eq!(seen.messages[2].results[1].content, "of a.b.c", "{dialect:?}");
        let mut ids: Vec<&String> =
            seen.messages.iter().flat_map(|message| message.calls.iter().map(|call| &call.id)).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 7, "{dialect:?}: {ids:?}");
    }
}

#[tokio::test]
async fn an_invalid_tool_name_is_converted() {
    let long = "a".repeat(80);
    for (name, fitting) in [
        ("multi_tool_use.parallel", "multi_tool_use_parallel"),
        ("default_api:get weather", "default_api_get_weather"),
        ("天气", "__"),
        ("", "_"),
        (long.as_str(), &long[..64]),
    ] {
        let turns = [vec![ModelTurn::user("Go.")], called_by(name, &["a", "b"]).to_vec()].concat();
        for dialect in FakeDialect::ALL {
            let seen = accepted(dialect, &ModelRequest { turns: turns.clone(), ..conversation() }).await;
            let names: Vec<&str> = seen.messages[1].calls.iter().map(|call| call.name.as_str()).collect();
            let names: Vec<&str> = names.iter().map(|name| name.trim_start_matches('_')).collect();
            assert_eq!(names, [fitting.trim_start_matches('_'); 2], "{dialect:?} {name:?}");
            let results = &seen.messages[2].results;
            let contents: Vec<&str> = results.iter().map(|result| result.content.as_str()).collect();
            assert_eq!(contents, ["of a", "of b"], "{dialect:?} {name:?}");
        }
    }
    // A tool keeps its name if a leading digit is allowed.
    let turns = [vec![ModelTurn::user("Go.")], called_by("7zip", &["a"]).to_vec()].concat();
    for (dialect, name) in
        [(FakeDialect::Openai, "7zip"), (FakeDialect::Anthropic, "7zip"), (FakeDialect::Gemini, "_7zip")]
    {
        let seen = accepted(dialect, &ModelRequest { turns: turns.clone(), ..conversation() }).await;
        assert_eq!(seen.messages[1].calls[0].name, name, "{dialect:?}");
    }
}

#[tokio::test]
async fn the_temperature_is_limited() {
    for (wanted, sent) in [(1.7, 1.0), (1.0, 1.0), (0.2, 0.2)] {
        let request = ModelRequest { temperature: Some(wanted), ..conversation() };
        assert_eq!(accepted(FakeDialect::Anthropic, &request).await.temperature, Some(sent));
        assert_eq!(accepted(FakeDialect::Openai, &request).await.temperature, Some(wanted));
    }
}

#[tokio::test]
async fn max_tokens_of_zero_is_not_sent() {
    let request = ModelRequest { max_tokens: Some(0), ..conversation() };
    for dialect in FakeDialect::ALL {
        let usual = (dialect == FakeDialect::Anthropic).then_some(8_192);
        assert_eq!(accepted(dialect, &request).await.max_tokens, usual, "{dialect:?}");
    }
}

#[tokio::test]
async fn calls_without_tools_are_accepted_and_not_repeated() {
    let mut turns = [vec![ModelTurn::user("Go.")], called(&["a", "b"]).to_vec()].concat();
    if let Some(ModelTurn::Assistant { calls, .. }) = turns.get_mut(1) {
        calls[1].name = "no.such tool".to_owned();
    }
    for choice in [ToolChoice::Auto, ToolChoice::Required] {
        let request = ModelRequest { tool_choice: choice, ..ModelRequest::new("m", turns.clone()) };
        let seen = accepted(FakeDialect::Anthropic, &request).await;
        assert_eq!(seen.tool_names(), ["get_weather", "no_such_tool"]);
        assert_eq!(seen.messages[1].calls[1].name, "no_such_tool");
        assert_eq!(seen.body["tool_choice"], json!({"type": "none"}));
    }
    let plain = ModelRequest::new("m", vec![ModelTurn::user("Hi.")]);
    assert_eq!(accepted(FakeDialect::Anthropic, &plain).await.body.get("tools"), None);
}

#[tokio::test]
async fn thoughts_are_returned_unchanged_at_their_positions() {
    let thought = |text: &str, seal: Seal, after_words, after_calls| Thought {
        text: text.to_owned(),
        seal: Some(seal),
        after_words,
        after_calls,
    };
    let signed = |signature: &str| Seal::Signature(signature.to_owned());
    let thoughts = vec![
        thought("First.", signed("one"), 0, 0),
        thought("", Seal::Redacted("c2VjcmV0".to_owned()), 0, 0),
        // The text was truncated after this thought.
        thought("Then.", signed("two"), 4, 0),
        thought("Last.", signed("three"), 900, 1),
    ];
    let reasoning = Reasoning { text: "First.Then.Last.".to_owned(), signature: None, thoughts };
    let [mut answer, results] = called(&["a", "b"]);
    if let ModelTurn::Assistant { text, reasoning: kept, .. } = &mut answer {
        (*text, *kept) = ("Wör und mehr.".to_owned(), Some(reasoning));
    }
    let request = ModelRequest { turns: vec![ModelTurn::user("Go."), answer, results], ..conversation() };
    let seen = accepted(FakeDialect::Anthropic, &request).await;
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "get_weather", "input": {}});
    let expected = json!([
        {"type": "thinking", "thinking": "First.", "signature": "one"},
        {"type": "redacted_thinking", "data": "c2VjcmV0"},
        {"type": "text", "text": "Wör"},
        {"type": "thinking", "thinking": "Then.", "signature": "two"},
        {"type": "text", "text": " und mehr."},
        call("a"),
        {"type": "thinking", "thinking": "Last.", "signature": "three"},
        call("b"),
    ]);
    assert_eq!(seen.body["messages"][1]["content"], expected);
    for dialect in FakeDialect::ALL {
        accepted(dialect, &request).await;
    }
}
