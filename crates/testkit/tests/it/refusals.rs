//! Validation: an invalid request is rejected in the style of its dialect, and the valid original is
//! accepted.

use haft_testkit::{Client, FakeDialect, ModelReply, ModelServer};
use serde_json::{Value, json};

use crate::support::KEY;

/// A change that makes a valid request invalid: JSON pointer, new value, and a part of the error message.
type Violation = (&'static str, Value, &'static str);

async fn server() -> ModelServer {
    ModelServer::start(async |_| ModelReply::says("Fine.")).await
}

fn client(dialect: FakeDialect, server: &ModelServer) -> Client {
    let client = Client::anonymous(&server.base(dialect));
    match dialect {
        FakeDialect::Openai => client.with("authorization", &format!("Bearer {KEY}")),
        FakeDialect::Anthropic => client.with("x-api-key", KEY).with("anthropic-version", "2023-06-01"),
        FakeDialect::Gemini => client.with("x-goog-api-key", KEY),
        FakeDialect::Ollama => client,
    }
}

fn path(dialect: FakeDialect) -> &'static str {
    match dialect {
        FakeDialect::Openai => "/chat/completions",
        FakeDialect::Anthropic => "/v1/messages",
        FakeDialect::Gemini => "/v1beta/models/gemini-3-test:generateContent",
        FakeDialect::Ollama => "/api/chat",
    }
}

/// Returns a valid request with two tools, two calls and their results.
fn valid_body(dialect: FakeDialect) -> Value {
    let schema = json!({
        "type": "object", "required": ["city"],
        "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    });
    let function = |name: &str| json!({"name": name, "description": "A tool.", "parameters": schema});
    let tool = |name: &str| json!({"type": "function", "function": function(name)});
    match dialect {
        FakeDialect::Openai => json!({
            "model": "m",
            "tools": [tool("weather"), tool("now")],
            "tool_choice": "auto",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Hi"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
                    {"id": "b", "type": "function", "function": {"name": "now", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "b", "content": "1"},
                {"role": "tool", "tool_call_id": "a", "content": "2"},
                {"role": "user", "content": "And?"},
            ],
        }),
        FakeDialect::Anthropic => json!({
            "model": "m", "max_tokens": 10, "system": "Be brief.",
            "tools": [{"name": "weather", "input_schema": schema}, {"name": "now", "input_schema": schema}],
            "tool_choice": {"type": "any"},
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                    {"type": "tool_use", "id": "a", "name": "weather", "input": {}},
                    {"type": "tool_use", "id": "b", "name": "now", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "1"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "2", "is_error": true},
                    {"type": "text", "text": "And?"},
                ]},
            ],
        }),
        FakeDialect::Gemini => json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [function("weather"), {"name": "now"}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["now"]}},
            "generationConfig": {"temperature": 1.5, "maxOutputTokens": 10},
            "contents": [
                {"role": "user", "parts": [{"text": "Hi"},
                    {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
                {"role": "model", "parts": [
                    {"functionCall": {"name": "weather", "args": {}}, "thoughtSignature": "s"},
                    {"functionCall": {"name": "now", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "weather", "response": {"output": 1}}},
                    {"functionResponse": {"name": "now", "response": {"output": 2}}},
                ]},
            ],
        }),
        FakeDialect::Ollama => json!({
            "model": "m", "stream": false,
            "tools": [tool("weather"), tool("now")],
            "messages": [
                {"role": "user", "content": "Hi", "images": ["AAAA"]},
                {"role": "assistant", "content": "", "tool_calls": [
                    {"function": {"name": "weather", "arguments": {}}},
                    {"function": {"name": "now", "arguments": {}}},
                ]},
                {"role": "tool", "tool_name": "weather", "content": "1"},
                {"role": "tool", "tool_name": "now", "content": "2"},
            ],
        }),
    }
}

/// Returns the valid request with one value replaced, or removed if `value` is null.
fn invalid_body(dialect: FakeDialect, pointer: &str, value: &Value) -> Value {
    let mut body = valid_body(dialect);
    let (holder, name) = pointer.rsplit_once('/').expect("a pointer");
    match (body.pointer_mut(holder).expect("a parent"), value) {
        (Value::Array(items), Value::Null) => drop(items.remove(name.parse().expect("a number"))),
        (Value::Array(items), value) => match items.get_mut(name.parse::<usize>().expect("a number")) {
            Some(item) => *item = value.clone(),
            None => items.push(value.clone()),
        },
        (Value::Object(fields), Value::Null) => drop(fields.remove(name)),
        (Value::Object(fields), value) => drop(fields.insert(name.to_owned(), value.clone())),
        (other, _) => panic!("{pointer} is in {other}"),
    }
    body
}

/// Sends a request with each violation and returns the bodies of the error responses.
async fn error_bodies(dialect: FakeDialect, violations: &[Violation]) -> Vec<Value> {
    let server = server().await;
    let client = client(dialect, &server);
    let fine = client.post(path(dialect), &valid_body(dialect)).await;
    assert_eq!(fine.status, 200, "{dialect:?}: {:?}", fine.body);
    let mut bodies = Vec::new();
    for (pointer, value, message) in violations {
        let reply = client.post(path(dialect), &invalid_body(dialect, pointer, value)).await;
        assert_eq!(reply.status, 400, "{dialect:?}, {pointer}, {value}: {:?}", reply.body);
        assert!(reply.body.to_string().contains(message), "{pointer}, {value}: {}", reply.body);
        bodies.push(reply.body);
    }
    assert_eq!((server.seen().len(), server.refused().len()), (1, violations.len()));
    bodies
}

/// Returns violations in names and schemas of tools, at the given JSON pointers.
fn bad_tools(list: &'static [&'static str; 3]) -> Vec<Violation> {
    let [name, second, schema] = *list;
    vec![
        (name, json!("a tool"), "{1,64}"),
        (name, json!(""), "{1,64}"),
        (name, json!("x".repeat(65)), "{1,64}"),
        (second, json!("weather"), "unique"),
        (schema, json!({"type": "string"}), "type"),
        (schema, json!({"properties": {}}), "type"),
        (schema, json!({"type": "object", "properties": {"a": {"type": "array"}}}), "items"),
    ]
}

#[tokio::test]
async fn openai_rejects_invalid_requests() {
    let mut violations =
        bad_tools(&["/tools/0/function/name", "/tools/1/function/name", "/tools/0/function/parameters"]);
    violations.extend([
        ("/model", json!(null), "model"),
        ("/top_k", json!(4), "Unrecognized request argument"),
        ("/messages", json!([]), "minimum length 1"),
        ("/tools", json!([]), "minimum length 1"),
        ("/tools", json!(null), "only allowed when 'tools'"),
        ("/tool_choice", json!("any"), "tool_choice"),
        ("/tool_choice", json!({"type": "function", "function": {"name": "x"}}), "not found in 'tools'"),
        ("/stream_options", json!({"include_usage": true}), "stream_options"),
        ("/temperature", json!(2.5), "temperature"),
        ("/max_tokens", json!(0), "positive"),
        ("/tools/0/function/parameters", json!({"type": "object", "anyOf": [{}]}), "top level"),
        ("/tools/0/function/parameters/properties/x", json!({"$ref": "#/$defs/x"}), "does not resolve"),
        ("/messages/0/role", json!("root"), "not a role"),
        ("/messages/1/content", json!(null), "array"),
        ("/messages/1/content/1/image_url/url", json!("file:///etc/passwd"), "image"),
        ("/messages/2/tool_calls", json!([]), "minimum length 1"),
        ("/messages/2/tool_calls", json!(null), "content"),
        ("/messages/2/tool_calls/0/id", json!("b"), "Duplicate"),
        ("/messages/2/tool_calls/0/id", json!("x".repeat(41)), "too long"),
        ("/messages/2/tool_calls/0/function/arguments", json!({}), "string"),
        ("/messages/2/tool_calls/0/function/arguments", json!("{"), "not a JSON object"),
        ("/messages/2/tool_calls/2", json!({"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}), "did not have response messages: c"),
        ("/messages/3", json!(null), "did not have response messages: b"),
        ("/messages/3/tool_call_id", json!("a"), "preceding"),
        ("/messages/3/tool_call_id", json!("c"), "preceding"),
        ("/messages/6", json!({"role": "tool", "tool_call_id": "a", "content": "3"}), "preceding"),
        ("/messages/6", json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}]}), "did not have response messages: c"),
    ]);
    for body in error_bodies(FakeDialect::Openai, &violations).await {
        assert_eq!(body["error"]["type"], "invalid_request_error", "{body}");
    }
}

#[tokio::test]
async fn anthropic_rejects_invalid_requests() {
    let mut violations = bad_tools(&["/tools/0/name", "/tools/1/name", "/tools/0/input_schema"]);
    violations.extend([
        ("/model", json!(null), "model"),
        ("/seed", json!(4), "Extra inputs are not permitted"),
        ("/max_tokens", json!(null), "max_tokens: Field required"),
        ("/temperature", json!(1.5), "temperature"),
        ("/system", json!([{"type": "text", "text": " "}]), "non-whitespace"),
        ("/tools", json!(null), "tool_choice"),
        ("/tool_choice", json!({"type": "tool", "name": "x"}), "not found"),
        ("/tool_choice", json!("auto"), "tool_choice"),
        ("/tools/0/input_schema/properties/a b", json!({}), "does not match"),
        ("/messages", json!([]), "minimum length 1"),
        ("/messages/0", json!(null), "first message"),
        ("/messages/3", json!({"role": "user", "content": "more"}), "alternate"),
        ("/messages/3", json!({"role": "assistant", "content": "So"}), "must end with a user message"),
        ("/messages/0/role", json!("system"), "role"),
        ("/messages/0/content", json!(""), "non-empty"),
        ("/messages/0/content", json!([{"type": "text", "text": "\n"}]), "non-whitespace"),
        ("/messages/1/content/0/signature", json!(null), "signature"),
        (
            "/messages/1/content/0/signature",
            json!("EqQBCgIYAhIkZmFrZQ0000000000000000EqQBCgIYAhIkZmFrZQ0000000000000000"),
            "Invalid `signature`",
        ),
        ("/messages/1/content/0", json!({"type": "redacted_thinking"}), "redacted_thinking.data"),
        ("/messages/1/content/1/id", json!("a.b"), "pattern"),
        ("/messages/1/content/1/id", json!("b"), "unique"),
        ("/messages/1/content/1/input", json!("{}"), "dictionary"),
        ("/messages/2/content/0", json!(null), "without `tool_result` blocks immediately after: a"),
        ("/messages/2/content/0", json!({"type": "text", "text": "First"}), "must come first"),
        ("/messages/2/content/0/tool_use_id", json!("b"), "unexpected `tool_use_id`"),
        ("/messages/2/content/0/tool_use_id", json!("x"), "unexpected `tool_use_id`"),
        ("/messages/2", json!(null), "without `tool_result` blocks"),
        ("/messages/2/content/0/is_error", json!("no"), "boolean"),
    ]);
    for body in error_bodies(FakeDialect::Anthropic, &violations).await {
        assert_eq!(
            (&body["type"], &body["error"]["type"]),
            (&json!("error"), &json!("invalid_request_error"))
        );
    }
}

#[tokio::test]
async fn gemini_rejects_invalid_requests() {
    let mut violations = bad_tools(&[
        "/tools/0/functionDeclarations/0/name",
        "/tools/0/functionDeclarations/1/name",
        "/tools/0/functionDeclarations/0/parameters",
    ]);
    let city = "/tools/0/functionDeclarations/0/parameters/properties/city";
    violations.extend([
        ("/tools/0/functionDeclarations/0/name", json!("1st"), "letter"),
        (
            "/tools/0/functionDeclarations/0/parameters",
            json!({"type": "object", "properties": {}}),
            "non-empty",
        ),
        ("/tools/0/functionDeclarations/0/parameters/additionalProperties", json!(false), "Unknown name"),
        ("/tools/0/functionDeclarations/0/parameters/required", json!(["x"]), "not defined"),
        (city, json!({"$ref": "#/$defs/a"}), "Unknown name \\\"$ref\\\""),
        (city, json!({"type": "string", "const": "a"}), "Unknown name \\\"const\\\""),
        (city, json!({"type": "integer", "exclusiveMinimum": 0}), "Unknown name"),
        (city, json!({"oneOf": [{"type": "string"}]}), "Unknown name"),
        (city, json!({"type": ["string", "null"]}), "type"),
        (city, json!({"type": "string", "format": "date"}), "format"),
        (city, json!({"type": "integer", "enum": [1]}), "only allowed for STRING"),
        (city, json!({"type": "string", "enum": [""]}), "enum"),
        (city, json!({"anyOf": [{"type": "string"}], "description": "A city."}), "only field set"),
        (city, json!({"anyOf": [{"type": "string", "pattern": "a", "not": {}}]}), "any_of[0]"),
        ("/model", json!("m"), "Unknown name"),
        ("/generationConfig/temperature", json!(3), "temperature"),
        ("/contents/0/parts/1/inlineData/mimeType", json!("image/*"), "Unsupported MIME type"),
        ("/toolConfig/functionCallingConfig/mode", json!("AUTO"), "mode is ANY"),
        ("/toolConfig/functionCallingConfig/allowedFunctionNames", json!(["x"]), "not declared"),
        ("/contents", json!([]), "minimum length 1"),
        ("/contents/0/parts", json!([]), "minimum length 1"),
        ("/contents/0/parts/0", json!({}), "oneof"),
        ("/contents/0", json!(null), "alternate"),
        ("/contents/1/role", json!("assistant"), "alternate"),
        ("/contents/3", json!({"role": "user", "parts": [{"text": "And?"}]}), "alternate"),
        ("/contents/3", json!({"role": "model", "parts": [{"text": "So"}]}), "end with a user role"),
        ("/contents/1/parts/0/thoughtSignature", json!(null), "thought_signature"),
        ("/contents/1/parts/0/functionCall/args", json!("{}"), "Struct"),
        ("/contents/2/parts/0", json!(null), "number of function response parts"),
        ("/contents/2/parts/0", json!({"text": "One"}), "number of function response parts"),
        ("/contents/2/parts/0/functionResponse/name", json!("now"), "answers now"),
        ("/contents/2/parts/0/functionResponse/id", json!("x"), "answers weather 'x'"),
        ("/contents/2/parts/0/functionResponse/response", json!([1]), "Struct"),
    ]);
    for body in error_bodies(FakeDialect::Gemini, &violations).await {
        assert_eq!(
            (&body["error"]["code"], &body["error"]["status"]),
            (&json!(400), &json!("INVALID_ARGUMENT"))
        );
    }
}

#[tokio::test]
async fn ollama_rejects_invalid_requests() {
    let mut violations =
        bad_tools(&["/tools/0/function/name", "/tools/1/function/name", "/tools/0/function/parameters"]);
    violations.extend([
        ("/model", json!(""), "model is required"),
        ("/messages/0/content", json!([{"type": "text", "text": "Hi"}]), "string"),
        ("/messages/0/images/0", json!("data:image/png;base64,AAAA"), "base64"),
        ("/messages/1/tool_calls/0/function/arguments", json!("{}"), "cannot unmarshal"),
        ("/messages/2", json!(null), "no result"),
        ("/messages/3", json!(null), "no result"),
        ("/messages/3/tool_name", json!("weather"), "not called"),
        ("/messages/0/role", json!("root"), "invalid role"),
    ]);
    for body in error_bodies(FakeDialect::Ollama, &violations).await {
        assert!(body["error"].is_string(), "{body}");
    }
}

#[tokio::test]
async fn missing_keys_and_unknown_paths_are_rejected() {
    let server = server().await;
    for (dialect, status) in
        [(FakeDialect::Openai, 401), (FakeDialect::Anthropic, 401), (FakeDialect::Gemini, 403)]
    {
        let anonymous = Client::anonymous(&server.base(dialect)).with("anthropic-version", "2023-06-01");
        let reply = anonymous.post(path(dialect), &valid_body(dialect)).await;
        assert_eq!((reply.status, reply.body["error"].is_object()), (status, true), "{dialect:?}");
        let reply = client(dialect, &server).post("/v1beta/unknown", &valid_body(dialect)).await;
        assert_eq!((reply.status, reply.body["error"].is_object()), (404, true), "{dialect:?}");
    }
    assert!(server.seen().is_empty());
    server.needs_no_key();
    for dialect in FakeDialect::ALL {
        let anonymous = Client::anonymous(&server.base(dialect)).with("anthropic-version", "2023-06-01");
        assert_eq!(anonymous.post(path(dialect), &valid_body(dialect)).await.status, 200, "{dialect:?}");
    }
    let unversioned = Client::anonymous(&server.base(FakeDialect::Anthropic));
    let reply = unversioned.post(path(FakeDialect::Anthropic), &valid_body(FakeDialect::Anthropic)).await;
    assert_eq!((reply.status, reply.body["error"]["type"].as_str()), (400, Some("invalid_request_error")));
}

#[tokio::test]
async fn model_without_thinking_rejects_a_thinking_config() {
    let server = server().await;
    let client = client(FakeDialect::Gemini, &server);
    let mut body = valid_body(FakeDialect::Gemini);
    body["generationConfig"]["thinkingConfig"] = json!({"includeThoughts": true});
    for (model, status) in [("gemini-3-test", 200), ("gemini-2.5-test", 200), ("gemini-2.0-test", 400)] {
        let reply = client.post(&format!("/v1beta/models/{model}:generateContent"), &body).await;
        assert_eq!(reply.status, status, "{model}: {}", reply.body);
    }
}

#[tokio::test]
async fn ollama_reports_the_context_length_of_a_model() {
    let server = server().await;
    let client = client(FakeDialect::Ollama, &server);
    let info = client.post("/api/show", &json!({"model": "m"})).await;
    assert_eq!(info.body["model_info"]["test.context_length"], haft_testkit::OLLAMA_CONTEXT);
    assert_eq!(client.post("/api/show", &json!({})).await.status, 400);
    assert!(server.seen().is_empty(), "metadata requests are not recorded");
}
