//! Deviations of servers from their dialect: calls without indexes, errors in the middle, all kinds of
//! endings.

use haft_core::ErrorKind;
use serde_json::{Value, json};

use super::read_text;
use crate::delta::EndReason;
use crate::dialect::Dialect;
use crate::reasoning::{Seal, Thought};

/// The calls in an OpenAI stream with these tool-call deltas.
fn calls(pieces: &[Value]) -> Vec<(String, String, String)> {
    let events = pieces
        .iter()
        .map(|piece| format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": [piece]}}]})));
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let body: String = events.chain([end.to_owned(), "data: [DONE]".to_owned()]).collect();
    let answer = read_text(Dialect::OpenAi, &body).expect("an answer");
    assert_eq!(answer.end, EndReason::ToolCalls);
    answer.calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
}

#[test]
fn calls_are_assembled_for_any_numbering() {
    let part = |index: Value, id: &str, name: &str, arguments: &str| {
        let mut part = json!({"function": {"arguments": arguments}});
        if !index.is_null() {
            part["index"] = index;
        }
        if !id.is_empty() {
            part["id"] = id.into();
        }
        if !name.is_empty() {
            part["function"]["name"] = name.into();
        }
        part
    };
    let (none, two) = (Value::Null, [("a", r#"{"x":1}"#), ("b", r#"{"x":2}"#)]);
    let named = |ids: [&str; 2]| -> Vec<(String, String, String)> {
        let each = ids
            .iter()
            .zip(two)
            .map(|(id, (_, given))| ((*id).to_owned(), "get_weather".to_owned(), given.to_owned()));
        each.collect()
    };
    let full = "get_weather";
    let cases: Vec<(&str, Vec<Value>, [&str; 2])> = vec![
        (
            "numbers that jump",
            vec![
                part(3.into(), "a", full, r#"{"x":"#),
                part(7.into(), "b", full, r#"{"x":2}"#),
                part(3.into(), "", "", "1}"),
            ],
            ["a", "b"],
        ),
        (
            "no numbers",
            vec![
                part(none.clone(), "a", full, r#"{"x""#),
                part(none.clone(), "", "", ":1}"),
                part(none.clone(), "b", full, r#"{"x":2}"#),
            ],
            ["a", "b"],
        ),
        (
            "always number 0",
            vec![
                part(0.into(), "a", full, r#"{"x":1}"#),
                part(0.into(), "b", full, r#"{"x":"#),
                part(0.into(), "", "", "2}"),
            ],
            ["a", "b"],
        ),
        (
            "neither numbers nor ids",
            vec![
                part(none.clone(), "", full, r#"{"x":1}"#),
                part(none.clone(), "", full, r#"{"x":"#),
                part(none, "", "", "2}"),
            ],
            ["haft_1_0", "haft_1_1"],
        ),
        (
            "another id with every piece",
            vec![
                part(0.into(), "a", full, r#"{"x":"#),
                part(0.into(), "z", "", "1}"),
                part(1.into(), "b", full, r#"{"x":2}"#),
            ],
            ["a", "b"],
        ),
        (
            "a name with every piece",
            vec![
                part(0.into(), "a", full, r#"{"x":"#),
                part(0.into(), "a", full, "1}"),
                part(1.into(), "b", full, r#"{"x":2}"#),
            ],
            ["a", "b"],
        ),
        (
            "a name that comes late, or in pieces",
            vec![
                part(0.into(), "a", "", r#"{"x":"#),
                part(0.into(), "", full, "1}"),
                part(1.into(), "b", "get_", ""),
                part(1.into(), "", "weather", r#"{"x":2}"#),
            ],
            ["a", "b"],
        ),
    ];
    for (case, pieces, ids) in cases {
        assert_eq!(calls(&pieces), named(ids), "{case}");
    }
    let empty = calls(&[part(0.into(), "a", full, "")]);
    assert_eq!(empty, [("a".to_owned(), full.to_owned(), "{}".to_owned())]);
}

#[test]
fn invalid_responses_are_errors_of_the_right_kind() {
    for (dialect, body, kind, id) in [
        (
            Dialect::OpenAi,
            r#"data: {"error":{"message":"The server is overloaded","type":"server_error"}}"#,
            ErrorKind::Server,
            "llm.failed",
        ),
        (
            Dialect::OpenAi,
            r#"data: {"error":{"message":"slow down","code":429}}"#,
            ErrorKind::RateLimit,
            "llm.rateLimit",
        ),
        (
            Dialect::OpenAi,
            r#"data: {"error":{"message":"m","code":"context_length_exceeded"}}"#,
            ErrorKind::Validation,
            "llm.contextTooLong",
        ),
        (Dialect::OpenAi, "event: error\ndata: {\"message\":\"no\"}", ErrorKind::Server, "llm.failed"),
        (
            Dialect::Anthropic,
            r#"data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ErrorKind::Server,
            "llm.failed",
        ),
        (
            Dialect::Anthropic,
            r#"data: {"type":"error","error":{"type":"rate_limit_error","message":"m"}}"#,
            ErrorKind::RateLimit,
            "llm.rateLimit",
        ),
        (
            Dialect::Gemini,
            r#"[{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}]"#,
            ErrorKind::Server,
            "llm.failed",
        ),
        (
            Dialect::Gemini,
            r#"data: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            ErrorKind::Authentication,
            "llm.authentication",
        ),
        (
            Dialect::Ollama,
            r#"{"error":"an error was encountered while running the model"}"#,
            ErrorKind::Server,
            "llm.failed",
        ),
        (Dialect::OpenAi, "<html>not found</html>", ErrorKind::Server, "llm.notUnderstood"),
        (Dialect::OpenAi, r#"{"hello":"world"}"#, ErrorKind::Server, "llm.notUnderstood"),
        (Dialect::OpenAi, "data: nonsense\n\n", ErrorKind::Server, "llm.notUnderstood"),
        (Dialect::OpenAi, "", ErrorKind::Network, "llm.cut"),
    ] {
        let error = read_text(dialect, body).expect_err(body);
        assert_eq!((error.kind(), error.message().id()), (kind, id), "{body}");
    }
}

#[test]
fn end_reasons_are_distinguished() {
    let openai = |reason: &str| {
        format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "x"}, "finish_reason": reason}]}))
    };
    let anthropic = |reason: &str| {
        format!(
            "data: {}\n\ndata: {}\n\n",
            json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
            json!({"type": "message_stop"})
        )
    };
    let gemini = |reason: &str| format!("data: {}\n\n", json!({"candidates": [{"finishReason": reason}]}));
    for (dialect, body, end) in [
        (Dialect::OpenAi, openai("stop"), EndReason::Stop),
        (Dialect::OpenAi, openai("tool_calls"), EndReason::Stop),
        (Dialect::OpenAi, openai("length"), EndReason::Length),
        (Dialect::OpenAi, openai("content_filter"), EndReason::Filtered),
        (
            Dialect::OpenAi,
            format!(
                "data: {}\n\n{}",
                json!({"choices": [{"delta": {"refusal": "No."}}]}),
                "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
            ),
            EndReason::Refused,
        ),
        (Dialect::OpenAi, openai("new"), EndReason::Other),
        (Dialect::OpenAi, "data: [DONE]\n\n".to_owned(), EndReason::Other),
        (Dialect::Anthropic, anthropic("end_turn"), EndReason::Stop),
        (Dialect::Anthropic, anthropic("max_tokens"), EndReason::Length),
        (Dialect::Anthropic, anthropic("refusal"), EndReason::Filtered),
        (Dialect::Gemini, gemini("STOP"), EndReason::Stop),
        (Dialect::Gemini, gemini("MAX_TOKENS"), EndReason::Length),
        (Dialect::Gemini, gemini("SAFETY"), EndReason::Filtered),
        (Dialect::Gemini, gemini("IMAGE_PROHIBITED_CONTENT"), EndReason::Filtered),
        (Dialect::Gemini, gemini("MALFORMED_FUNCTION_CALL"), EndReason::Malformed),
        (Dialect::Gemini, gemini("MALFORMED_RESPONSE"), EndReason::Malformed),
        (Dialect::Gemini, gemini("UNEXPECTED_TOOL_CALL"), EndReason::Malformed),
        (Dialect::Gemini, gemini("TOO_MANY_TOOL_CALLS"), EndReason::Malformed),
        (Dialect::Gemini, gemini("NEW"), EndReason::Other),
        (
            Dialect::Gemini,
            "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}".to_owned(),
            EndReason::Filtered,
        ),
        (Dialect::Ollama, "{\"done\":true,\"done_reason\":\"length\"}".to_owned(), EndReason::Length),
    ] {
        let answer = read_text(dialect, &body).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(answer.end, end, "{body}");
    }
}

#[test]
fn a_malformed_call_does_not_discard_the_others() {
    let call = json!({"functionCall": {"name": "get_weather", "args": {"city": "Rome"}}});
    let candidate = json!({"content": {"parts": [call]}, "finishReason": "MALFORMED_FUNCTION_CALL"});
    let body = format!("data: {}\n\n", json!({"candidates": [candidate]}));
    let answer = read_text(Dialect::Gemini, &body).expect("an answer");
    assert_eq!((answer.calls.len(), answer.end), (1, EndReason::ToolCalls));
}

#[test]
fn thoughts_stay_separate_with_their_signatures() {
    let block = |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let more = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let over = || json!({"type": "content_block_stop", "index": 0});
    let thought = |text: &str, signature: &[&str]| {
        let signed = signature.iter().map(|part| more(json!({"type": "signature_delta", "signature": part})));
        let begin = block(json!({"type": "thinking", "thinking": "", "signature": ""}));
        let said = more(json!({"type": "thinking_delta", "thinking": text}));
        [vec![begin, said], signed.collect(), vec![over()]].concat()
    };
    let events = [
        thought("First. ", &["on", "e"]),
        thought("", &["two"]),
        vec![block(json!({"type": "redacted_thinking", "data": "c2VjcmV0"})), over()],
        vec![
            block(json!({"type": "text", "text": ""})),
            more(json!({"type": "text_delta", "text": "Wörter."})),
        ],
        vec![over()],
        thought("Then.", &["three"]),
        vec![json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})],
        vec![json!({"type": "message_stop"})],
    ];
    let body: String = events.concat().iter().map(|event| format!("data: {event}\n\n")).collect();
    let streamed = read_text(Dialect::Anthropic, &body).expect("an answer");
    let whole = json!({
        "type": "message", "role": "assistant", "stop_reason": "end_turn",
        "content": [
            {"type": "thinking", "thinking": "First. ", "signature": "one"},
            {"type": "thinking", "thinking": "", "signature": "two"},
            {"type": "redacted_thinking", "data": "c2VjcmV0"},
            {"type": "text", "text": "Wörter."},
            {"type": "thinking", "thinking": "Then.", "signature": "three"},
        ],
    });
    let whole = read_text(Dialect::Anthropic, &whole.to_string()).expect("an answer");
    let signed = |text: &str, signature: &str, after_words: usize| Thought {
        text: text.to_owned(),
        seal: Some(Seal::Signature(signature.to_owned())),
        after_words,
        after_calls: 0,
    };
    let redacted = Thought { seal: Some(Seal::Redacted("c2VjcmV0".to_owned())), ..Thought::default() };
    let expected = [signed("First. ", "one", 0), signed("", "two", 0), redacted, signed("Then.", "three", 8)];
    for answer in [streamed, whole] {
        assert_eq!(answer.text, "Wörter.");
        let reasoning = answer.reasoning.expect("thoughts");
        assert_eq!((reasoning.text.as_str(), reasoning.signature), ("First. Then.", None));
        assert_eq!(reasoning.thoughts, expected);
    }
}
