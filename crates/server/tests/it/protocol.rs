//! What holds for every route: tokens, envelope, ids, media types, sizes, methods.

use std::convert::Infallible;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use futures_util::{StreamExt, stream};
use haft_testkit::Client;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower::ServiceExt;

use crate::support::{App, TOKEN, mock};

#[tokio::test]
async fn nothing_of_the_api_answers_without_a_token() {
    let app = App::start().await;
    for client in [
        Client::anonymous(&app.url),
        Client::new(&app.url, "wrong"),
        Client::new(&app.url, ""),
        Client::anonymous(&app.url).with("authorization", TOKEN),
        Client::anonymous(&app.url).with("authorization", &format!("Basic {TOKEN}")),
        Client::new(&app.url, &TOKEN[..5]),
    ] {
        for (method, path) in [
            (Method::GET, "/api/tools"),
            (Method::POST, "/api/tools"),
            (Method::GET, "/api/tools/fixed"),
            (Method::PUT, "/api/tools/fixed"),
            (Method::DELETE, "/api/tools/fixed"),
            (Method::POST, "/api/tools/fixed/execute"),
            (Method::GET, "/api/nothing/here"),
            (Method::PATCH, "/api/tools"),
        ] {
            let reply = client.send(method, path, Vec::new()).await;
            assert_eq!((reply.status, reply.kind()), (401, "Unauthorized"), "{path}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        }
    }
    assert_eq!(Client::anonymous(&app.url).get("/healthz").await.body, json!({"status": "ok"}));
    let lower = Client::anonymous(&app.url).with("authorization", &format!("bearer {TOKEN}"));
    assert_eq!(lower.get("/api/tools").await.status, 200, "the scheme is read without regard to case");
}

#[tokio::test]
async fn unknown_routes_and_methods_have_the_envelope_too() {
    let app = App::start().await;
    let reply = app.api.get("/api/flies").await;
    assert_eq!(
        (reply.status, reply.kind(), reply.message()),
        (404, "NotFound", "There is no endpoint GET /api/flies.")
    );
    let reply = Client::anonymous(&app.url).get("/flies.js").await;
    assert_eq!((reply.status, reply.message()), (404, "There is no endpoint GET /flies.js."));
    let reply = app.api.send(Method::PATCH, "/api/tools/fixed/execute", Vec::new()).await;
    assert_eq!(
        (reply.status, reply.kind(), reply.message()),
        (405, "BadRequest", "PATCH is not allowed at /api/tools/fixed/execute.")
    );
    assert_eq!(reply.header("allow"), Some("POST"));
    let reply = app.api.get("/api/tools/%FF").await;
    assert_eq!((reply.status, reply.kind()), (400, "BadRequest"));
    assert_eq!(reply.message(), "The path cannot be read: it must be UTF-8, percent-encoded.");
    let reply = app.api.get("/api/tools/..%2F..%2Fetc").await;
    assert_eq!((reply.status, reply.kind()), (404, "NotFound"));
}

#[tokio::test]
async fn every_answer_has_an_id_that_is_the_callers_when_it_is_plain() {
    let app = App::start().await;
    let own = app.api.with("x-request-id", "my-id-1").get("/api/flies").await;
    assert_eq!(
        (own.header("x-request-id"), &own.body["error"]["requestId"]),
        (Some("my-id-1"), &json!("my-id-1"))
    );
    for odd in ["", "has space", &"x".repeat(200)] {
        let reply = app.api.with("x-request-id", odd).get("/healthz").await;
        assert_eq!(reply.header("x-request-id").map(str::len), Some(36), "{odd:?}");
    }
}

#[tokio::test]
async fn a_body_must_say_that_it_is_json_and_be_it() {
    let app = App::start().await;
    let post = |content_type: &'static str, body: &'static [u8]| {
        let api = app.api.with("content-type", content_type);
        async move { api.send(Method::POST, "/api/tools/fixed/execute", body.to_vec()).await }
    };
    for content_type in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"]
    {
        let reply = post(content_type, b"{}").await;
        assert_eq!((reply.status, reply.kind()), (415, "BadRequest"), "{content_type}");
    }
    assert_eq!(app.api.send(Method::POST, "/api/tools", b"{}".to_vec()).await.status, 415, "none at all");
    for content_type in
        ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/vnd.x+json"]
    {
        assert_eq!(post(content_type, b"{}").await.status, 200, "{content_type}");
    }
    for (body, reason) in [
        (b"".as_slice(), "it ends too early at line 1, column 0"),
        (b"{", "it ends too early at line 1, column 1"),
        (b"{]", "a key must be a string at line 1, column 2"),
        (b"nonsense", "expected"),
        (b"{\"arguments\":{\"a\":1,\"a\":2}}", "the key \"a\" stands twice"),
        (b"{\"a\":\"\\u0000\"}", "NUL"),
        (b"{\"a\":\"\\ud800\"}", "a character or an escape that JSON does not allow"),
        (b"{\"a\":\"\xff\"}", "a character or an escape that JSON does not allow"),
        (b"{\"a\":123456789012345678901234567890}", "too large to be kept exactly"),
    ] {
        let reply = post("application/json", body).await;
        assert_eq!((reply.status, reply.kind()), (400, "BadRequest"), "{reason}");
        assert!(reply.message().starts_with("The body is not valid JSON: "), "{}", reply.message());
        assert!(reply.message().contains(reason), "{} lacks {reason}", reply.message());
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let reply = app
        .api
        .with("content-type", "application/json")
        .send(Method::POST, "/api/tools", deep.into_bytes())
        .await;
    assert_eq!(reply.status, 400);
}

#[tokio::test]
async fn an_unreadable_body_names_its_field_in_the_language_of_the_caller() {
    let app = App::start().await;
    let (en, zh) = (app.api.with("accept-language", "en"), app.api.with("accept-language", "zh"));
    let not_an_object = ("(root)", "The body must be a JSON object.", "请求体必须是 JSON 对象。");
    for (body, (path, in_english, in_chinese)) in [
        (
            json!({"key": 5}),
            (
                "key",
                "Invalid inputs: key: has the wrong type; expected text",
                "输入无效：key: 类型错误；应为文本",
            ),
        ),
        (json!({}), ("key", "Invalid inputs: key: is required", "输入无效：key: 为必填项")),
        (json!([]), not_an_object),
        (json!(["http://api.example.com"]), not_an_object),
        (json!("http://api.example.com"), not_an_object),
        (json!(null), not_an_object),
    ] {
        for (client, words) in [(&en, in_english), (&zh, in_chinese)] {
            let reply = client.post("/api/circuits/reset", &body).await;
            assert_eq!((reply.status, reply.kind(), reply.message()), (400, "Validation", words), "{body}");
            assert_eq!(reply.body["error"]["details"]["errors"][0]["path"], path, "{body}");
        }
    }
}

#[tokio::test]
async fn a_body_over_ten_megabytes_is_refused_before_it_is_read() {
    let app = App::start().await;
    let address = app.url.trim_start_matches("http://").to_owned();
    // The length alone is enough; not one byte of the body is sent.
    let mut announced = TcpStream::connect(&address).await.expect("connected");
    let head = format!(
        "POST /api/tools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 10485761\r\n\r\n"
    );
    announced.write_all(head.as_bytes()).await.expect("written");
    assert!(answer_of(&mut announced).await.starts_with("HTTP/1.1 413"));

    // Without a length it ends at the limit, however much there would be.
    let mut chunked = TcpStream::connect(&address).await.expect("connected");
    let head = format!(
        "POST /api/tools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    chunked.write_all(head.as_bytes()).await.expect("written");
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(0x10_0000));
    let mut sent = 0;
    while sent < 40 && chunked.write_all(chunk.as_bytes()).await.is_ok() {
        sent += 1;
    }
    assert!(sent < 40, "the server stopped reading");

    let fits = format!("{{\"arguments\":{{\"a\":\"{}\"}}}}", "x".repeat(10 * 1024 * 1024 - 30));
    let reply = app
        .api
        .with("content-type", "application/json")
        .send(Method::POST, "/api/tools/fixed/execute", fits.into_bytes())
        .await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let app = App::start().await;
    // Who it is is known afterwards, so nothing below waits for the database while time flies.
    assert_eq!(app.execute("fixed", json!({})).await.status, 200);
    tokio::time::pause();
    for (path, content_type, start) in [
        ("/api/tools/fixed/execute", "application/json", "{\"arguments\": "),
        ("/api/artifacts", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data"),
    ] {
        let begun = stream::iter([Ok::<_, Infallible>(start)]).chain(stream::pending());
        let request = Request::post(path)
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("content-type", content_type)
            .header("transfer-encoding", "chunked")
            .body(Body::from_stream(begun))
            .expect("a request");
        let answer = app.app.router().oneshot(request).await.expect("it always answers");
        let is_closed = answer.headers().get("connection").is_some_and(|value| value == "close");
        assert_eq!((answer.status().as_u16(), is_closed), (408, true), "{path}");
        let body = to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(body["message"], "No data of the body arrived for 30 seconds.", "{path}");
        assert_eq!(body["error"]["kind"], "BadRequest", "{path}");
    }
}

async fn answer_of(stream: &mut TcpStream) -> String {
    let mut bytes = vec![0; 1024];
    let length = stream.read(&mut bytes).await.expect("an answer");
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_call() {
    let app = App::start().await;
    let mut slow = mock("slow", json!([{"delay": 60_000}]));
    slow["maxConcurrency"] = json!(1);
    slow["timeout"] = json!(100_000);
    app.create(slow).await;
    let waiting = app.execute("slow", json!({}));
    tokio::time::timeout(std::time::Duration::from_millis(200), waiting)
        .await
        .expect_err("the client leaves");
    // The only place is free again: the second call gets as far as its own time-out.
    let reply = app.execute("slow", json!({"options": {"timeout": 300, "retries": 0}})).await;
    assert_eq!((reply.status, reply.kind()), (504, "Timeout"));
}

#[tokio::test]
async fn no_json_makes_the_server_fail() {
    let app = App::start().await;
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(""),
        json!([]),
        json!({}),
        json!({"name": {}}),
        json!({"name": ["a"]}),
        json!({"name": "a", "description": "b", "type": []}),
        json!({"name": "a", "description": "b", "config": {"url": 3}}),
        json!({"arguments": {"a": {"b": [1, {"c": null}]}}, "options": null}),
        json!({"inputSchema": {"$ref": "#"}}),
        json!({"name": "x", "description": "d", "type": "mock", "inputSchema": {"allOf": [{"$ref": "#"}]}}),
        json!({"name": "x", "description": "d", "type": "mock", "config": {"answers": {"a": 1}}}),
    ];
    for body in odd {
        for path in ["/api/tools", "/api/tools/fixed/execute", "/api/tools?dryRun=true"] {
            let reply = app.api.post(path, &body).await;
            assert!(reply.status < 500, "{path} {body}: {}", reply.body);
        }
    }
}

#[tokio::test]
async fn a_panic_of_ours_is_answered_with_the_id_that_finds_it_in_the_log() {
    let app = App::start().await;
    app.create(json!({"name": "clumsy", "description": "Panics.", "type": "clumsy"})).await;
    let api = app.api.with("x-request-id", "find-me").with("accept-language", "zh");
    let reply = api.post("/api/tools/clumsy/execute", &json!({"options": {"dryRun": true}})).await;
    assert_eq!(
        (reply.status, reply.kind(), reply.header("x-request-id")),
        (500, "Internal", Some("find-me"))
    );
    assert_eq!(reply.body["error"]["requestId"], "find-me");
    assert_eq!(reply.message(), "发生内部错误；请用此请求的 id 查看服务日志");
    assert_eq!(app.execute("clumsy", json!({})).await.status, 200, "and nothing else is harmed");
}

#[tokio::test]
async fn when_the_call_log_is_stuck_calls_are_refused_rather_than_unrecorded() {
    let app = App::start_stuck().await;
    let mut statuses = Vec::new();
    for _ in 0..10 {
        let reply = app.execute("fixed", json!({})).await;
        statuses.push(reply.status);
        if reply.status == 503 {
            assert_eq!(
                (reply.kind(), reply.header("retry-after"), reply.header("x-should-retry")),
                ("Overloaded", Some("1"), None)
            );
        }
    }
    assert_eq!((statuses[0], statuses[9]), (200, 503), "{statuses:?}");
    let refused = statuses.iter().filter(|status| **status == 503).count();
    let metrics = app.api.get("/metrics").await.body;
    let counted = format!("\nhaft_calls_refused_total{{reason=\"log_full\"}} {refused}\n");
    assert!(metrics.as_str().is_some_and(|metrics| metrics.contains(&counted)), "{metrics}");
    assert_eq!(app.api.get("/api/tools").await.status, 200, "what is no call still works");
}

#[tokio::test]
async fn a_stop_ends_with_the_grace_time_and_cancels_what_is_left() {
    let app =
        App::start_with(haft_engine::ToolService::builder(), std::time::Duration::from_millis(200)).await;
    let mut slow = mock("slow", json!([{"delay": 60_000}]));
    slow["timeout"] = json!(100_000);
    app.create(slow).await;
    let api = app.api.clone();
    let call = tokio::spawn(async move { api.post("/api/tools/slow/execute", &json!({})).await });
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    app.stop.cancel();
    app.served.await.expect("no panic");
    app.engine.stop();
    let reply = call.await.expect("no panic");
    assert_eq!((reply.status, reply.kind()), (499, "Cancelled"));
}
