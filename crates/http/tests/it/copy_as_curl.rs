//! Calls as cURL commands: a real shell and curl send the same request as the call itself.

use std::collections::BTreeMap;
use std::process::Command;

use haft_core::tool::input::{ToolInput, parse};
use haft_core::{CurlCommand, Locale};
use haft_engine::{CallError, CallOptions, Caller, ErrorKind, Source, SpaceId, Tool};
use haft_http::import::{CurlOptions, curl};
use haft_testkit::{RecordedRequest, json_reply};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use url::form_urlencoded;
use uuid::Uuid;

use crate::support::{CallOutcome, Stage, engine, open, with};

/// Text with every kind of character that is special in a shell, curl or a terminal.
const HOSTILE: &str = "it's $(touch x) `id` \"q\" \\ %41 $HOME\n-d @file;&=?#[1-3]{a,b} 汉 \u{7}\r!";

/// Special characters without the ones that headers do not allow.
const IN_HEADER: &str = "it's $(touch x) `id` \"q\" \\ %41 $HOME -d @file;&=?#[1-3]{a,b} !";

const SECRET: &str = "s3cr/t+k&y=?%~'x";
const CALL: &str = "call_1";
const FORM: &str = "application/x-www-form-urlencoded";

async fn stage() -> Stage {
    Stage::answering(&[("key", SECRET), ("me/key", SECRET)], |_| json_reply(200, &json!({}))).await
}

/// Renders a call of a definition as a command.
fn command(stage: &Stage, definition: &Value, arguments: &Value) -> Result<CurlCommand, CallError> {
    let ToolInput { spec, .. } = parse(definition.clone()).expect("a definition");
    let space = SpaceId::from(Uuid::nil());
    let caller = Caller { space, user: None, source: Source::Api, locale: Locale::En, request: None };
    let tool = stage.tools.in_space(space).prepare(None, spec).expect("a tool");
    let made = tool.as_curl(&caller, &CALL.parse().expect("an id"), arguments.clone())?;
    Ok(made.expect("a request"))
}

/// Executes the call itself.
async fn called(stage: &Stage, definition: &Value, arguments: &Value) -> CallOutcome {
    stage.register(definition);
    stage.call(arguments.clone(), CallOptions::default().call_id(CALL.parse().expect("an id"))).await
}

/// Runs a command in a shell with these variables, and returns the request it sends.
async fn pasted(stage: &Stage, command: &str, variables: &[(&str, &str)]) -> RecordedRequest {
    let before = stage.up.seen().len();
    let mut shell = Command::new("sh");
    // Settings and proxies of the machine must not apply.
    shell.args(["-c", command]).env_clear().env("PATH", std::env::var_os("PATH").expect("a path"));
    shell.envs(variables.iter().copied()).current_dir(std::env::temp_dir());
    let running = tokio::task::spawn_blocking(move || shell.output());
    let output = running.await.expect("it ends").expect("sh runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}\n{said}");
    let mut seen = stage.up.seen().split_off(before);
    assert_eq!(seen.len(), 1, "{command}\n{said}");
    seen.remove(0)
}

/// A request without the parts that differ between senders: equivalent encodings, boundaries, user agent.
#[derive(Debug, PartialEq)]
struct ComparableRequest {
    method: String,
    path: String,
    query: Vec<(String, String)>,
    headers: BTreeMap<String, String>,
    body: String,
}

fn comparable(seen: &RecordedRequest) -> ComparableRequest {
    const OF_SENDER: [&str; 5] = ["accept", "accept-encoding", "content-length", "host", "user-agent"];
    let pairs = |text: &[u8]| form_urlencoded::parse(text).into_owned().collect::<Vec<_>>();
    let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
    let media = seen.header("content-type").unwrap_or_default();
    let (media, boundary) = media.split_once("; boundary=").unwrap_or((media, ""));
    let text = String::from_utf8_lossy(&seen.body);
    let body = match (media, boundary) {
        (FORM, _) => format!("{:?}", pairs(&seen.body)),
        (_, "") => text.into_owned(),
        (_, boundary) => text.replace(boundary, "BOUNDARY"),
    };
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in seen.headers.iter().filter(|(name, _)| !OF_SENDER.contains(&name.as_str())) {
        headers.insert(name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    if !boundary.is_empty() {
        headers.insert("content-type".to_owned(), media.to_owned());
    }
    ComparableRequest {
        method: seen.method.clone(),
        path: path.to_owned(),
        query: pairs(query.as_bytes()),
        headers,
        body,
    }
}

/// Returns true if this machine's curl has `--url-query`.
fn is_recent() -> bool {
    let version = Command::new("curl").arg("--version").output().expect("curl runs").stdout;
    let version = String::from_utf8_lossy(&version).into_owned();
    let mut numbers = version.split([' ', '.', '-']).skip(1).map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(7), Some(87))
}

#[tokio::test]
async fn a_shell_sends_the_request_of_the_call() {
    let stage = stage().await;
    let arguments = json!({"v": HOSTILE, "h": IN_HEADER, "list": [1, HOSTILE], "n": 3});
    let file = |content: Value| with(json!({"filename": "a\"b.txt", "contentType": "text/plain"}), content);
    let bytes = |name: &str| json!({"filename": name, "base64": "AAEC/w=="});
    let mut cases = vec![
        ("/p/{{v}}/x", json!({})),
        ("/q?a[]=[1-3]&b={c}", json!({"params": {"q": "{{v}}", "list": "{{list}}", "gone": "{{gone}}"}})),
        ("/a/../b/./%2e%2e/c", json!({"query": {}})),
        (
            "/h",
            json!({"headers": {
                "X-V": "{{h}}", "X-Key": "secret://key", "X-Both": "a-secret://key;{{h}}", "X-Empty": "",
                "X-Mine": "secret://me/key", "X-Same": "secret://key",
            }}),
        ),
        ("/c", json!({"cookies": {"session": "secret://key", "theme": "{{h}}"}})),
        ("/b", json!({"auth": {"type": "bearer", "token": "secret://key"}})),
        ("/b", json!({"auth": {"type": "basic", "username": "ada", "password": "secret://key"}})),
        ("/b", json!({"auth": {"type": "basic", "username": "secret://key"}})),
        ("/k", json!({"auth": {"type": "apiKey", "name": "X-Api-Key", "value": "secret://key"}})),
        (
            "/k?first={{v}}",
            json!({
                "auth": {"type": "apiKey", "in": "query", "name": "k[e]y", "value": "p secret://key"},
                "query": {"in": "a secret://me/key", "after": "{{v}}"},
            }),
        ),
        ("/d", json!({"method": "DELETE", "query": {"k": "secret://key"}})),
        ("/r", json!({"method": "DELETE"})),
        ("/i", json!({"method": "HEAD", "params": {"k": "secret://key", "v": "{{v}}"}})),
        ("/n", json!({"method": "POST", "query": {}})),
        (
            "/j",
            json!({"method": "POST", "body": {
                "text": "{{v}}", "key": "secret://key", "n": "{{n}}", "all": "x {{list}}",
            }}),
        ),
        ("/g", json!({"method": "GET", "body": {"text": "{{v}}"}})),
        (
            "/f",
            json!({"method": "PUT", "bodyType": "form", "body": {
                "a": "{{v}}", "k": "secret://key", "list": "{{list}}",
            }}),
        ),
        (
            "/t",
            json!({
                "method": "PATCH", "bodyType": "text", "body": "to {{v}} secret://key",
                "headers": {"Content-Type": "text/x-note"},
            }),
        ),
        ("/y", json!({"method": "POST", "bodyType": "binary", "body": {"base64": "AAEC /w=="}})),
        ("/y", json!({"method": "POST", "bodyType": "binary", "body": "plain {{v}}"})),
        (
            "/m",
            json!({"method": "POST", "bodyType": "multipart", "body": {
                "v": "{{v}}", "key": "secret://key", "meta": {"k": "{{v}}"}, "list": "{{list}}",
                "file": file(json!({"content": "{{v}}"})), "raw": bytes("b.bin"),
            }}),
        ),
        (
            "/m",
            json!({"method": "POST", "bodyType": "multipart", "body": {
                "files": [bytes("a"), bytes("b")], "odd=name": "{{v}}",
            }}),
        ),
        ("/m", json!({"method": "POST", "bodyType": "multipart", "body": {}})),
    ];
    if is_recent() {
        let body = json!({"method": "POST", "body": {"v": "{{v}}"}});
        let query = json!({"query": {"a": "{{v}}", "k": "secret://key", "z": [1, 2]}});
        cases.push(("/u?first=1", with(body, query)));
    }
    for (path, config) in cases {
        let case = format!("{path} {config}");
        let uses_secret = config.to_string().contains("secret://");
        let definition = open(stage.config_at(path, config));
        let call = comparable(called(&stage, &definition, &arguments).await.only_request(&case));
        let made = command(&stage, &definition, &arguments).expect(&case);
        assert!(!made.command.contains("s3cr"), "{case}: {}", made.command);
        assert_eq!(made.secrets.is_empty(), !uses_secret, "{case}: {:?}", made.secrets);
        let seen = pasted(&stage, &made.command, &[("KEY", SECRET), ("MY_KEY", SECRET)]).await;
        assert_eq!(comparable(&seen), call, "{case}: {}", made.command);
    }
}

#[tokio::test]
async fn the_generic_form_is_the_request_of_the_model() {
    let stage = stage().await;
    let definition = open(json!({"baseUrl": stage.up.url("/v1"), "headers": {"X-Key": "secret://key"}}));
    let arguments = json!({"url": "/items?limit=5", "method": "PUT", "body": {"a": HOSTILE}});
    let call = comparable(called(&stage, &definition, &arguments).await.only_request("generic"));
    let made = command(&stage, &definition, &arguments).expect("a command");
    assert_eq!(
        comparable(&pasted(&stage, &made.command, &[("KEY", SECRET)]).await),
        call,
        "{}",
        made.command
    );
}

#[tokio::test]
async fn a_command_is_readable() {
    const OF_JSON: &str = "-H 'Idempotency-Key: call_1' -H 'Content-Type: application/json'";
    let stage = stage().await;
    let origin = stage.up.url("");
    for (path, config, expected, notes) in [
        (
            "/forecast/{{v}}?units=metric",
            json!({"headers": {"X-Weather-Key": "secret://weather_key"}, "query": {}}),
            format!(r#"curl '{origin}/forecast/a%27b?units=metric' -H 'X-Weather-Key: '"$WEATHER_KEY""#),
            0,
        ),
        (
            "/items",
            json!({"method": "POST", "body": {"name": "{{v}}"}}),
            format!(r#"curl '{origin}/items' {OF_JSON} --data-raw '{{"name":"a'\''b"}}'"#),
            0,
        ),
        (
            "/items",
            json!({
                "params": {"q": "1"},
                "auth": {"type": "apiKey", "in": "query", "name": "k", "value": "secret://path"},
            }),
            format!(r#"curl '{origin}/items?q=1' -G --data-urlencode 'k='"$SECRET_PATH""#),
            0,
        ),
        (
            "/items",
            json!({"auth": {"type": "basic", "username": "ada", "password": "secret://me/pass"}}),
            format!(r#"curl '{origin}/items?v=a%27b' -u 'ada:'"$MY_PASS""#),
            0,
        ),
        (
            "/items",
            json!({"auth": {
                "type": "oauth2ClientCredentials", "tokenUrl": "https://id.example/token",
                "clientId": "c", "clientSecret": "secret://access-token",
            }}),
            format!(r#"curl '{origin}/items?v=a%27b' -H 'Authorization: Bearer '"$ACCESS_TOKEN_2""#),
            1,
        ),
        (
            "/items",
            json!({"method": "PUT", "body": {"k": "secret://key"}}),
            format!(r#"curl -X PUT '{origin}/items' {OF_JSON} --data-raw '{{"k":"'"$KEY"'"}}'"#),
            1,
        ),
    ] {
        let case = format!("{path} {config}");
        let made = command(&stage, &open(stage.config_at(path, config)), &json!({"v": "a'b"})).expect(&case);
        assert_eq!(made.command, expected, "{case}");
        assert_eq!(made.notes.len(), notes, "{case}: {:?}", made.notes);
    }
    assert_eq!(stage.up.connections(), 0, "nothing is sent");
}

#[tokio::test]
async fn a_literal_credential_is_masked() {
    let stage = stage().await;
    let literal = "l1teral-cred'ential";
    for config in [
        json!({"auth": {"type": "bearer", "token": literal}}),
        json!({"auth": {"type": "basic", "username": "u", "password": literal}}),
        json!({"auth": {"type": "apiKey", "name": "X-Plain", "value": literal}}),
        json!({"auth": {"type": "apiKey", "in": "query", "name": "k", "value": literal}}),
        json!({"auth": {"type": "apiKey", "in": "query", "name": "k", "value": "l1t"}}),
        json!({"headers": {"Authorization": format!("Bearer {literal}")}}),
        json!({"headers": {"X-Api-Key": "l1t"}}),
        json!({"headers": {"Cookie": format!("session={literal}; theme=dark")}}),
        json!({"cookies": {"session": literal}}),
        json!({"params": {"api_key": literal}}),
        json!({"method": "POST", "body": {"deep": {"password": literal}}}),
    ] {
        let case = config.to_string();
        let made = command(&stage, &open(stage.config_at("/i", config)), &json!({})).expect(&case);
        assert!(!made.command.contains("l1t") && made.command.contains("***"), "{case}: {}", made.command);
        let said: Vec<String> = made.notes.iter().map(ToString::to_string).collect();
        assert!(said.iter().any(|note| note.contains("written literally")), "{case}: {said:?}");
    }
}

#[tokio::test]
async fn calls_without_a_command_are_errors_with_a_reason() {
    let stage = stage().await;
    let two = json!([{"filename": "a", "base64": "AA=="}, {"filename": "b", "base64": "AA=="}]);
    for (config, arguments, kind, says) in [
        (
            json!({"method": "POST", "bodyType": "text", "body": "{{v}}"}),
            json!({"v": "a\0b"}),
            ErrorKind::Conflict,
            "NUL",
        ),
        (
            json!({"method": "POST", "bodyType": "multipart", "body": {"f": two, "k": "secret://key"}}),
            json!({}),
            ErrorKind::Conflict,
            "several files",
        ),
        (
            json!({"method": "POST", "bodyType": "multipart", "body": {"f": ["{{v}}"]}}),
            json!({"v": "artifact://0190b5a0-0000-7000-8000-000000000000"}),
            ErrorKind::Conflict,
            "stored file",
        ),
        (json!({"params": {"q": "to {{q}}"}}), json!({}), ErrorKind::Validation, "q: is required"),
        (
            json!({"method": "POST", "bodyType": "binary", "body": {"base64": "{{v}}"}}),
            json!({"v": "!"}),
            ErrorKind::Validation,
            "is not base64",
        ),
    ] {
        let case = config.to_string();
        let error = command(&stage, &open(stage.config_at("/i", config)), &arguments).expect_err(&case);
        assert_eq!(error.kind(), kind, "{case}: {error}");
        assert!(error.message().to_string().contains(says), "{case}: {error}");
    }
}

/// A tool imported from a command sends the same request, without any arguments.
#[tokio::test]
async fn an_imported_command_sends_the_same_request() {
    let stage = stage().await;
    let arguments = json!({"v": "it's a [b] $x `y`, \"q\" & 汉", "n": 3});
    for (path, config) in [
        (
            "/items",
            json!({
                "params": {"q": "{{v}}", "page": "{{n}}"},
                "headers": {"X-Key": "secret://key", "X-Trace": "on"},
            }),
        ),
        (
            "/items",
            json!({
                "method": "POST", "auth": {"type": "bearer", "token": "secret://key"},
                "body": {"name": "{{v}}", "api_key": "secret://key", "n": "{{n}}", "deep": {"list": [1, 2]}},
            }),
        ),
        (
            "/items",
            json!({"method": "PUT", "bodyType": "form", "body": {"a": "{{v}}", "token": "secret://key"}}),
        ),
        ("/items", json!({"auth": {"type": "basic", "username": "ada", "password": "secret://key"}})),
        (
            "/items",
            json!({
                "method": "POST", "body": {"name": "{{v}}"},
                "query": {"api_key": "secret://key", "z": "{{n}}"},
            }),
        ),
        (
            "/items",
            json!({
                "params": {"page": "{{n}}"},
                "auth": {"type": "apiKey", "in": "query", "name": "api_key", "value": "secret://key"},
            }),
        ),
        (
            "/items",
            json!({"method": "POST", "bodyType": "multipart", "body": {
                "v": "{{v}}", "token": "secret://key", "meta": {"k": "{{v}}"},
            }}),
        ),
    ] {
        let case = config.to_string();
        let definition = open(stage.config_at(path, config));
        let call = comparable(called(&stage, &definition, &arguments).await.only_request(&case));
        let written = command(&stage, &definition, &arguments).expect(&case).command;
        let imported = curl(&written, &CurlOptions::default());
        let imported = imported.unwrap_or_else(|wrong| panic!("{written}: {wrong:?}"));
        let value = |value: &Option<secrecy::SecretString>| {
            value.as_ref().map_or(SECRET, ExposeSecret::expose_secret).to_owned()
        };
        let secrets: Vec<(String, String)> =
            imported.secrets.iter().map(|found| (found.name.clone(), value(&found.value))).collect();
        let secrets: Vec<(&str, &str)> =
            secrets.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let tools = engine(&secrets);
        let read = Value::Object(imported.tools[0].definition.clone());
        let tool = tools.register(Tool::from_json(read)).expect(&written);
        let before = stage.up.seen().len();
        let options = CallOptions::default().call_id(CALL.parse().expect("an id"));
        let result = tools.execute(tool.spec.name.as_str(), json!({}), options).await.expect("it works");
        assert!(result.is_success(), "{written}: {:?}", result.error());
        let seen = stage.up.seen().split_off(before).pop().expect("a request");
        assert_eq!(comparable(&seen), call, "{written}");
    }
}
