//! Logged calls as cURL commands: pasted into a shell, they send the request of the call.

use std::process::Command;

use axum::http::Method;
use haft_testkit::{Client, RecordedRequest, TestResponse, Upstream, json_reply};
use serde_json::{Value, json};

use crate::agents::make;
use crate::http_tools::start;
use crate::tool_calls::{execute, mock, read};

const SECRET: &str = "zeppelin/+'$(x)&=?";

/// Returns the command of a call that has just ended.
async fn copied(api: &Client, call: &TestResponse) -> TestResponse {
    let row = read(api, call).await;
    let path = format!("/api/tool-calls/{}/curl", row["id"].as_str().expect("an id"));
    api.get(&path).await
}

/// Runs a command in a shell with these variables, and returns its output.
async fn paste(command: &str, variables: &[(&str, &str)]) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env_clear().env("PATH", std::env::var_os("PATH").expect("a path"));
    shell.envs(variables.iter().copied());
    let output = tokio::task::spawn_blocking(move || shell.output()).await.expect("it ends");
    let output = output.expect("sh runs");
    assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the parts of a request that the call and the command must have in common.
fn request_parts(seen: &RecordedRequest) -> Value {
    let header = |name: &str| seen.header(name).map(str::to_owned);
    json!({
        "method": seen.method, "target": seen.target, "body": seen.text(), "key": header("x-key"),
        "trace": header("x-trace"), "type": header("content-type"), "idempotency": header("idempotency-key"),
    })
}

#[tokio::test]
async fn pasted_command_sends_the_request_of_the_call() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    // The secret is stored at the server; the command contains a variable instead of it.
    assert_eq!(api.put("/api/secrets/weather_key", &json!({"value": SECRET})).await.status, 200);
    let tool = json!({
        "name": "keyed", "description": "d", "method": "POST", "url": upstream.url("/k/{{city}}?u=[1]"),
        "headers": {"X-Key": "secret://weather_key", "X-Trace": "{{trace}}"},
        "body": {"text": "{{text}}", "n": "{{n}}"}, "inputSchema": {"type": "object"},
    });
    make(&api, "/api/tools", &tool).await;
    let hostile = "it's $(touch x) `id` \"q\" \\ $HOME\n-d @file; 汉 \u{7}\r";
    let arguments = json!({"city": "a/b'c", "trace": "-v 'x' $y", "text": hostile, "n": 3});
    let called = execute(&api, "keyed", arguments).await;
    assert_eq!(called.status, 200, "{}", called.body);
    let sent = request_parts(&upstream.seen().pop().expect("a request"));

    let reply = copied(&api, &called).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.data()["secrets"], json!(["weather_key"]));
    assert!(reply.data().get("note").is_none(), "{}", reply.body);
    assert!(!reply.body.to_string().contains("zeppelin"), "{}", reply.body);
    let command = reply.data()["command"].as_str().expect("a command");
    assert!(command.contains(r#" -H 'X-Key: '"$WEATHER_KEY""#), "{command}");
    paste(command, &[("WEATHER_KEY", SECRET)]).await;
    assert_eq!(request_parts(&upstream.seen().pop().expect("a request")), sent, "{command}");
    assert_eq!(upstream.seen().len(), 2);

    // The importer makes a tool with the same request from the command.
    let body = json!({"command": command, "name": "again", "dryRun": true});
    let imported = api.post("/api/tools/import/curl", &body).await;
    assert!(imported.status < 300, "{}", imported.body);
    assert_eq!(imported.data()["tools"][0]["method"], "POST", "{}", imported.body);
}

#[tokio::test]
async fn call_is_copied_with_the_version_of_its_tool() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    let tool = |path: &str| json!({"name": "moving", "description": "d", "url": upstream.url(path)});
    let id = make(&api, "/api/tools", &tool("/one")).await["id"].as_str().expect("an id").to_owned();
    let called = execute(&api, "moving", json!({})).await;
    let changed = api.put(&format!("/api/tools/{id}"), &tool("/two")).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    let reply = copied(&api, &called).await;
    assert_eq!(reply.data()["command"], json!(format!("curl '{}'", upstream.url("/one"))), "{}", reply.body);
    assert_eq!(upstream.seen().len(), 1, "nothing is sent");
    assert_eq!(api.delete(&format!("/api/tools/{id}")).await.status, 200);
    let gone = copied(&api, &called).await;
    assert_eq!((gone.status, gone.kind()), (404, "NotFound"), "{}", gone.body);
    assert!(gone.message().contains("moving"), "{}", gone.message());
}

#[tokio::test]
async fn call_without_a_request_is_copied_as_a_call_of_this_server() {
    let (server, api) = start(&[]).await;
    let called = execute(&api, "calculator", json!({"expression": "6 * 7"})).await;
    let reply = copied(&api, &called).await;
    let url = format!("{}/api/tools/calculator/execute", server.url);
    let expected = format!(
        "curl -X POST '{url}' -H 'Authorization: Bearer '\"$HAFT_TOKEN\" -H 'Content-Type: application/json' \
         --data-raw '{{\"arguments\":{{\"expression\":\"6 * 7\"}}}}'"
    );
    assert_eq!((&reply.data()["command"], &reply.data()["secrets"]), (&json!(expected), &json!([])));
    let answer: Value =
        serde_json::from_str(&paste(&expected, &[("HAFT_TOKEN", crate::TOKEN)]).await).expect("JSON");
    assert_eq!((&answer["code"], &answer["data"]["data"]), (&json!(200), &called.data()["data"]), "{answer}");
    let note = |reply: &TestResponse| reply.data()["note"].as_str().expect("a note").to_owned();
    assert!(note(&reply).is_ascii() && note(&reply).contains("HAFT_TOKEN"), "{}", reply.body);
    let chinese = copied(&api.with("accept-language", "zh"), &called).await;
    assert!(!note(&chinese).is_ascii(), "{}", chinese.body);

    // The command has the current name of the tool, and the public URL of the server.
    let public = [("HAFT_PUBLIC_URL", "https://haft.example/")];
    let (_server, api) = start(&public).await;
    let tool = mock(&api, "echo", json!([])).await;
    let called = execute(&api, "echo", json!({"a": "it's"})).await;
    let path = format!("/api/tools/{}", tool["id"].as_str().expect("an id"));
    assert_eq!(api.send_json(Method::PATCH, &path, &json!({"name": "parrot"})).await.status, 200);
    let reply = copied(&api, &called).await;
    let command = reply.data()["command"].as_str().expect("a command");
    let start = "curl -X POST 'https://haft.example/api/tools/parrot/execute' ";
    assert!(command.starts_with(start) && command.ends_with(r#"{"a":"it'\''s"}}'"#), "{command}");
}

#[tokio::test]
async fn incompletely_logged_call_cannot_be_copied() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    assert_eq!(api.put("/api/secrets/key", &json!({"value": SECRET})).await.status, 200);
    let tool = json!({
        "name": "keyed", "description": "d", "url": upstream.url("/"), "params": {"q": "{{q}}"},
        "headers": {"X-Key": "secret://key"}, "config": {"redact": [{"pattern": "email"}]},
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
    });
    make(&api, "/api/tools", &tool).await;
    for (arguments, status, kind, says) in [
        (json!({"q": "x".repeat(20_000)}), 409, "Conflict", "too long"),
        (json!({"q": SECRET}), 409, "Conflict", "redacted"),
        (json!({"q": "ada@b.example"}), 409, "Conflict", "redacted"),
        (json!({"q": {}}), 400, "Validation", "q: "),
        (json!({"q": "*** [redacted]"}), 200, "", "success"),
    ] {
        let called = execute(&api, "keyed", arguments.clone()).await;
        let reply = copied(&api, &called).await;
        assert_eq!((reply.status, reply.kind()), (status, kind), "{arguments}: {}", reply.body);
        assert!(reply.message().contains(says), "{}", reply.message());
    }
    let nowhere = execute(&api, "nowhere", json!({})).await;
    assert_eq!(copied(&api, &nowhere).await.status, 404);
    assert_eq!(api.get("/api/tool-calls/none/curl").await.status, 404);
}
