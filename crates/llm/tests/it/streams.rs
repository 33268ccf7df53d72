//! Streamed responses: deltas arrive immediately, and connections are reused.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use haft_llm::{ContextWindow, Delta, Dialect, Model, ModelRequest, ModelTurn};
use haft_testkit::{Upstream, http_response};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::support::{DIALECTS, ask, conversation, gather, limits, transcript, wire};

/// Reads a request with its body.
async fn read_request(stream: &mut TcpStream) {
    let mut read = Vec::new();
    let head = loop {
        let mut some = [0; 1024];
        let count = stream.read(&mut some).await.expect("a client");
        assert!(count > 0, "a whole request");
        read.extend_from_slice(&some[..count]);
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&read[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
    let mut rest = vec![0; length.trim().parse::<usize>().expect("a number") + head - read.len()];
    stream.read_exact(&mut rest).await.expect("a body");
}

/// A server that sends its response in pieces, each with a permit of the gate, and then ends it properly or
/// not.
async fn in_pieces(pieces: Vec<String>, gate: Arc<Semaphore>, is_whole: bool) -> Upstream {
    Upstream::raw(move |mut stream| {
        let (pieces, gate) = (pieces.clone(), gate.clone());
        async move {
            read_request(&mut stream).await;
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).await.expect("a client");
            for piece in pieces {
                gate.acquire().await.expect("a gate").forget();
                let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
                stream.write_all(chunk.as_bytes()).await.expect("a client");
            }
            if is_whole {
                stream.write_all(b"0\r\n\r\n").await.expect("a client");
            }
        }
    })
    .await
}

/// The separate events of a transcript.
fn events(dialect: Dialect) -> Vec<String> {
    let blank = match dialect {
        Dialect::OpenAi | Dialect::Anthropic => "\n\n",
        Dialect::Gemini => "\r\n\r\n",
        Dialect::Ollama => "\n",
    };
    transcript(dialect).split_inclusive(blank).map(str::to_owned).collect()
}

#[tokio::test]
async fn text_is_returned_before_the_response_is_complete() {
    for dialect in DIALECTS {
        let gate = Arc::new(Semaphore::new(0));
        let events = events(dialect);
        let count = events.len();
        let upto = events.iter().position(|event| event.contains("Ich schaue ")).expect("text");
        let server = in_pieces(events, gate.clone(), true).await;
        gate.add_permits(upto + 1);
        let request = conversation();
        let mut asked = wire(dialect, &server).ask(&request, limits()).await.expect("an answer");
        let mut thought = String::new();
        let text = loop {
            match asked.deltas.next().await.expect("more").expect("no error") {
                Delta::Reasoning(more) => thought.push_str(&more),
                Delta::Text(text) => break text,
                Delta::Logprobs(_) | Delta::Usage(_) | Delta::ReasoningSignature(_) => {}
                other @ (Delta::Call { .. } | Delta::Arguments { .. } | Delta::End(_)) => {
                    panic!("{dialect:?}: {other:?} came first")
                }
            }
        };
        assert_eq!((thought.as_str(), text.as_str()), ("Two cities.", "Ich schaue "), "{dialect:?}");
        gate.add_permits(count - upto - 1);
        let answer = gather(&request, asked).await.expect("the rest");
        assert_eq!(answer.text, "nach — 你好.", "{dialect:?}");
        assert_eq!(answer.calls.len(), 2, "{dialect:?}");
    }
}

#[tokio::test]
async fn an_interrupted_stream_returns_its_deltas_and_then_an_error() {
    for dialect in DIALECTS {
        let mut events = events(dialect);
        let upto = events.iter().position(|event| event.contains("Ich schaue ")).expect("text");
        events.truncate(upto + 1);
        for is_whole in [false, true] {
            let server = in_pieces(events.clone(), Arc::new(Semaphore::new(100)), is_whole).await;
            let request = conversation();
            let mut asked = wire(dialect, &server).ask(&request, limits()).await.expect("an answer");
            let (mut text, mut error) = (String::new(), None);
            while let Some(delta) = asked.deltas.next().await {
                assert!(error.is_none(), "{dialect:?}: nothing comes after an error");
                match delta {
                    Ok(Delta::Text(more)) => text.push_str(&more),
                    Ok(_) => {}
                    Err(broken) => error = Some(broken),
                }
            }
            let error = error.expect("an error");
            assert_eq!(
                (text.as_str(), error.kind()),
                ("Ich schaue ", haft_core::ErrorKind::Network),
                "{dialect:?}"
            );
            assert!(error.is_retryable(), "{dialect:?}");
        }
    }
}

#[tokio::test]
async fn a_connection_is_reused_after_a_response() {
    for dialect in DIALECTS {
        let server = Upstream::start(move |_| http_response(200, &[], transcript(dialect))).await;
        let model = wire(dialect, &server);
        for _ in 0..3 {
            ask(&model, &conversation()).await.expect("an answer");
            // A connection returns to the pool shortly after its last byte, without a notification.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(server.connections(), 1, "{dialect:?}");
    }
}

#[tokio::test]
async fn tools_that_cannot_be_offered_are_reported() {
    let mut request = conversation();
    Arc::make_mut(&mut request.tools[0]).parameters = json!({"type": "string"}).into();
    for dialect in DIALECTS {
        let server = Upstream::start(move |_| http_response(200, &[], transcript(dialect))).await;
        let asked = wire(dialect, &server).ask(&request, limits()).await.expect("an answer");
        let left_out: Vec<(&str, &str)> =
            asked.left_out.iter().map(|tool| (tool.name.as_str(), tool.why.id())).collect();
        assert_eq!(left_out, [("get_weather", "llm.tool.notObject")], "{dialect:?}");
        let body = server.seen().pop().expect("a request").text();
        assert!(
            body.contains("The time.") && !body.contains("The weather of a city."),
            "{dialect:?}: {body}"
        );
    }
}

/// The conversation without its calls and results.
fn without_calls(mut request: ModelRequest) -> ModelRequest {
    request.turns.retain(|turn| !matches!(turn, ModelTurn::ToolResults { .. }));
    for turn in &mut request.turns {
        if let ModelTurn::Assistant { calls, .. } = turn {
            calls.clear();
        }
    }
    request
}

#[tokio::test]
async fn calls_in_the_text_count_only_for_models_without_native_calls() {
    let text = "```json\n{\"name\": \"now\", \"arguments\": {\"zone\": \"UTC\"}}\n```";
    let line =
        json!({"message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop"});
    let server = Upstream::start(move |_| http_response(200, &[], line.to_string())).await;
    let is_from_text = |request: &ModelRequest| ModelRequest { text_tool_calls: true, ..request.clone() };
    // A conversation with native calls, and one whose model is not marked as lacking them.
    for request in [conversation(), is_from_text(&conversation()), without_calls(conversation())] {
        let answer = ask(&wire(Dialect::Ollama, &server), &request).await.expect("an answer");
        assert_eq!((answer.text.as_str(), answer.calls.len()), (text, 0), "{:?}", request.turns);
    }
    let request = is_from_text(&without_calls(conversation()));
    let answer = ask(&wire(Dialect::Ollama, &server), &request).await.expect("an answer");
    assert!(answer.calls[0].is_from_text);
    assert_eq!(
        (answer.calls[0].name.as_str(), answer.calls[0].arguments.as_str()),
        ("now", r#"{"zone":"UTC"}"#)
    );
    assert!(answer.calls[0].id.starts_with("haft_"));
    assert_eq!((answer.text.as_str(), answer.end), ("", haft_llm::EndReason::ToolCalls));
    let plain = ModelRequest::new("m", vec![ModelTurn::user("hello")]);
    let answer = ask(&wire(Dialect::Ollama, &server), &is_from_text(&plain)).await.expect("an answer");
    assert_eq!(answer.text, text, "nothing was offered");
}

#[tokio::test]
async fn the_models_of_a_provider_are_listed() {
    for (dialect, target, list) in [
        (Dialect::OpenAi, "/models", json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}]})),
        (Dialect::Anthropic, "/v1/models", json!({"data": [{"type": "model", "id": "a"}, {"id": "b"}]})),
        (
            Dialect::Gemini,
            "/v1beta/models?pageSize=1000",
            json!({"models": [
                {"name": "models/a", "supportedGenerationMethods": ["generateContent"]},
                {"name": "models/b"},
                {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]},
            ]}),
        ),
        (Dialect::Ollama, "/api/tags", json!({"models": [{"name": "a"}, {"name": "b"}]})),
    ] {
        let server = Upstream::start(move |_| haft_testkit::json_reply(200, &list)).await;
        let models = wire(dialect, &server).models(limits()).await.expect("models");
        assert_eq!(models, ["a", "b"], "{dialect:?}");
        assert_eq!(server.seen()[0].target, target, "{dialect:?}");
    }
}

#[tokio::test]
async fn ollama_reports_the_context_window() {
    let shown =
        |info: serde_json::Value, parameters: &str| json!({"model_info": info, "parameters": parameters});
    let window = |most, set| Some(ContextWindow { most, set });
    for (document, expected) in [
        (
            shown(
                json!({"general.architecture": "phi3", "phi3.context_length": 131072, "clip.context_length": 77}),
                "stop                           \"<|end|>\"\nnum_ctx                        4096",
            ),
            window(Some(131_072), Some(4_096)),
        ),
        (shown(json!({"own.context_length": 2048}), ""), window(Some(2_048), None)),
        (json!({"model_info": {}}), window(None, None)),
    ] {
        let server = Upstream::start(move |_| haft_testkit::json_reply(200, &document)).await;
        let found = wire(Dialect::Ollama, &server).window("m", limits()).await.expect("a window");
        assert_eq!(found, expected);
        let seen = server.seen().pop().expect("a request");
        assert_eq!((seen.target.as_str(), seen.json()), ("/api/show", json!({"model": "m"})));
    }
    let server = Upstream::start(|_| haft_testkit::json_reply(200, &json!({}))).await;
    let error = wire(Dialect::Ollama, &server).window("m", limits()).await.expect_err("no window");
    assert_eq!(error.message().id(), "llm.notUnderstood");
    for dialect in [Dialect::OpenAi, Dialect::Anthropic, Dialect::Gemini] {
        assert_eq!(wire(dialect, &server).window("m", limits()).await.expect("nothing"), None, "{dialect:?}");
    }
    assert_eq!(server.seen().len(), 1, "other dialects send no request");
}
