//! What providers are strict about: a server that refuses all that they would is asked.

use haft_llm::{Call, ModelAnswer, ModelRequest, Reasoning, Seal, Thought, ToolChoice, ToolResult, Turn};
use haft_testkit::{AskedModel, Dialect, ModelReply, ModelServer, Role};
use serde_json::json;

use crate::support::{ask, conversation, wire_at};

/// What a strict server of a dialect got to see. One that refuses makes the test fail.
async fn taken(dialect: Dialect, request: &ModelRequest) -> AskedModel {
    let server = ModelServer::script([ModelReply::says("Well.")]).await;
    let answer: Result<ModelAnswer, _> = ask(&wire_at(dialect, &server), request).await;
    assert_eq!(server.refused(), Vec::<String>::new(), "{dialect:?}");
    answer.expect("an answer");
    server.seen().pop().expect("a question")
}

fn said(text: &str) -> Turn {
    Turn::assistant(text, None, Vec::new())
}

/// An answer with calls of these ids, and their results.
fn called(ids: &[&str]) -> [Turn; 2] {
    called_by("get_weather", ids)
}

/// The same with calls of another tool.
fn called_by(name: &str, ids: &[&str]) -> [Turn; 2] {
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
    [Turn::assistant("", None, calls.collect()), Turn::ToolResults { results: results.collect() }]
}

#[tokio::test]
async fn a_user_may_speak_twice_and_say_nothing() {
    let turns = vec![
        Turn::user("One."),
        said(""),
        Turn::user("Two."),
        Turn::User { parts: Vec::new(), name: None },
        said("Yes?"),
        Turn::user(""),
        Turn::user("Three."),
    ];
    for dialect in [Dialect::Gemini, Dialect::Anthropic] {
        let seen = taken(dialect, &ModelRequest::new("m", turns.clone())).await;
        let texts: Vec<&str> = seen.messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, ["One.\nTwo.", "Yes?", "Three."], "{dialect:?}");
    }
}

#[tokio::test]
async fn results_and_words_behind_them_are_one_message() {
    let turns = [vec![Turn::user("Go.")], called(&["a"]).to_vec(), vec![Turn::user("And?")]].concat();
    for dialect in [Dialect::Gemini, Dialect::Anthropic] {
        let seen = taken(dialect, &ModelRequest { turns: turns.clone(), ..conversation() }).await;
        let roles: Vec<Role> = seen.messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::User], "{dialect:?}");
        let list = if dialect == Dialect::Gemini { "contents" } else { "messages" };
        assert_eq!(seen.body[list].as_array().map(Vec::len), Some(3), "{dialect:?}");
    }
}

#[tokio::test]
async fn a_conversation_is_never_empty_and_the_user_begins_it() {
    for dialect in [Dialect::Gemini, Dialect::Anthropic] {
        for turns in [vec![Turn::user("")], vec![], vec![Turn::user(""), said("Yes?"), Turn::user("Well.")]] {
            let seen = taken(dialect, &ModelRequest::new("m", turns)).await;
            assert_eq!((seen.messages[0].role, seen.messages[0].text.as_str()), (Role::User, "(nothing)"));
        }
    }
    let blank = taken(Dialect::Anthropic, &ModelRequest::new("m", vec![Turn::user(" \n")])).await;
    assert_eq!(blank.user_text(), "(nothing)");
}

#[tokio::test]
async fn a_model_that_spoke_last_is_told_to_go_on_where_the_user_has_the_last_word() {
    let turns = vec![Turn::user("Say it."), said(" It is \n")];
    for dialect in Dialect::ALL {
        let seen = taken(dialect, &ModelRequest::new("m", turns.clone())).await;
        let texts: Vec<&str> = seen.messages.iter().map(|message| message.text.as_str()).collect();
        let ends_with_user = matches!(dialect, Dialect::Anthropic | Dialect::Gemini);
        let behind: &[&str] = if ends_with_user { &["Go on."] } else { &[] };
        assert_eq!(texts, [&["Say it.", " It is \n"], behind].concat(), "{dialect:?}");
    }
}

#[tokio::test]
async fn no_two_calls_have_one_id() {
    let long = |end: &str| format!("{}{end}", "x".repeat(60));
    let (one, other) = (long("1"), long("2"));
    let turns = [
        vec![Turn::user("Go.")],
        called(&["a.b:c", "a.b.c", "again", &one]).to_vec(),
        called(&["again", "again", &other]).to_vec(),
    ];
    for dialect in [Dialect::Anthropic, Dialect::Openai] {
        let seen = taken(dialect, &ModelRequest { turns: turns.concat(), ..conversation() }).await;
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
async fn a_name_that_a_model_made_up_does_not_spoil_the_conversation() {
    let long = "a".repeat(80);
    for (name, fitting) in [
        ("multi_tool_use.parallel", "multi_tool_use_parallel"),
        ("default_api:get weather", "default_api_get_weather"),
        ("天气", "__"),
        ("", "_"),
        (long.as_str(), &long[..64]),
    ] {
        let turns = [vec![Turn::user("Go.")], called_by(name, &["a", "b"]).to_vec()].concat();
        for dialect in Dialect::ALL {
            let seen = taken(dialect, &ModelRequest { turns: turns.clone(), ..conversation() }).await;
            let names: Vec<&str> = seen.messages[1].calls.iter().map(|call| call.name.as_str()).collect();
            let names: Vec<&str> = names.iter().map(|name| name.trim_start_matches('_')).collect();
            assert_eq!(names, [fitting.trim_start_matches('_'); 2], "{dialect:?} {name:?}");
            let results = &seen.messages[2].results;
            let contents: Vec<&str> = results.iter().map(|result| result.content.as_str()).collect();
            assert_eq!(contents, ["of a", "of b"], "{dialect:?} {name:?}");
        }
    }
    // Who may begin with a digit is called by the name that was offered.
    let turns = [vec![Turn::user("Go.")], called_by("7zip", &["a"]).to_vec()].concat();
    for (dialect, name) in
        [(Dialect::Openai, "7zip"), (Dialect::Anthropic, "7zip"), (Dialect::Gemini, "_7zip")]
    {
        let seen = taken(dialect, &ModelRequest { turns: turns.clone(), ..conversation() }).await;
        assert_eq!(seen.messages[1].calls[0].name, name, "{dialect:?}");
    }
}

#[tokio::test]
async fn a_temperature_is_no_higher_than_can_be_taken() {
    for (wanted, sent) in [(1.7, 1.0), (1.0, 1.0), (0.2, 0.2)] {
        let request = ModelRequest { temperature: Some(wanted), ..conversation() };
        assert_eq!(taken(Dialect::Anthropic, &request).await.temperature, Some(sent));
        assert_eq!(taken(Dialect::Openai, &request).await.temperature, Some(wanted));
    }
}

#[tokio::test]
async fn an_answer_of_no_tokens_is_asked_of_nobody() {
    let request = ModelRequest { max_tokens: Some(0), ..conversation() };
    for dialect in Dialect::ALL {
        let usual = (dialect == Dialect::Anthropic).then_some(8_192);
        assert_eq!(taken(dialect, &request).await.max_tokens, usual, "{dialect:?}");
    }
}

#[tokio::test]
async fn calls_without_tools_are_understood_and_not_repeated() {
    let mut turns = [vec![Turn::user("Go.")], called(&["a", "b"]).to_vec()].concat();
    if let Some(Turn::Assistant { calls, .. }) = turns.get_mut(1) {
        calls[1].name = "no.such tool".to_owned();
    }
    for choice in [ToolChoice::Auto, ToolChoice::Required] {
        let request = ModelRequest { tool_choice: choice, ..ModelRequest::new("m", turns.clone()) };
        let seen = taken(Dialect::Anthropic, &request).await;
        assert_eq!(seen.tool_names(), ["get_weather", "no_such_tool"]);
        assert_eq!(seen.messages[1].calls[1].name, "no_such_tool");
        assert_eq!(seen.body["tool_choice"], json!({"type": "none"}));
    }
    let plain = ModelRequest::new("m", vec![Turn::user("Hi.")]);
    assert_eq!(taken(Dialect::Anthropic, &plain).await.body.get("tools"), None);
}

#[tokio::test]
async fn thoughts_go_back_as_they_came_and_where_they_stood() {
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
        // Somebody cut the words short.
        thought("Then.", signed("two"), 4, 0),
        thought("Last.", signed("three"), 900, 1),
    ];
    let reasoning = Reasoning { text: "First.Then.Last.".to_owned(), signature: None, thoughts };
    let [mut answer, results] = called(&["a", "b"]);
    if let Turn::Assistant { text, reasoning: kept, .. } = &mut answer {
        (*text, *kept) = ("Wör und mehr.".to_owned(), Some(reasoning));
    }
    let request = ModelRequest { turns: vec![Turn::user("Go."), answer, results], ..conversation() };
    let seen = taken(Dialect::Anthropic, &request).await;
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
    for dialect in Dialect::ALL {
        taken(dialect, &request).await;
    }
}
