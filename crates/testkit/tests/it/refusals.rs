//! Requests that break a rule are refused as their dialect refuses them, and the same ones without the breach
//! are not.

use haft_testkit::{Client, Dialect, ModelReply, ModelServer};
use serde_json::{Value, json};

use crate::support::KEY;

/// A change to a proper request, and what is said of it.
type Breach = (&'static str, Value, &'static str);

async fn server() -> ModelServer {
    ModelServer::start(async |_| ModelReply::says("Fine.")).await
}

fn client(dialect: Dialect, server: &ModelServer) -> Client {
    let client = Client::anonymous(&server.base(dialect));
    match dialect {
        Dialect::Openai => client.with("authorization", &format!("Bearer {KEY}")),
        Dialect::Anthropic => client.with("x-api-key", KEY).with("anthropic-version", "2023-06-01"),
        Dialect::Gemini => client.with("x-goog-api-key", KEY),
        Dialect::Ollama => client,
    }
}

fn path(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Openai => "/chat/completions",
        Dialect::Anthropic => "/v1/messages",
        Dialect::Gemini => "/v1beta/models/gemini-3-test:generateContent",
        Dialect::Ollama => "/api/chat",
    }
}

/// A request with two calls, their results, and two tools.
fn proper(dialect: Dialect) -> Value {
    let schema = json!({
        "type": "object", "required": ["city"],
        "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    });
    let function = |name: &str| json!({"name": name, "description": "A tool.", "parameters": schema});
    let tool = |name: &str| json!({"type": "function", "function": function(name)});
    match dialect {
        Dialect::Openai => json!({
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
        Dialect::Anthropic => json!({
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
        Dialect::Gemini => json!({
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
        Dialect::Ollama => json!({
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

/// The request with one value in another's place; null takes it out.
fn broken(dialect: Dialect, pointer: &str, value: &Value) -> Value {
    let mut body = proper(dialect);
    let (holder, name) = pointer.rsplit_once('/').expect("a pointer");
    match (body.pointer_mut(holder).expect("a place"), value) {
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

/// Asks with each breach, and gives the bodies of the refusals.
async fn refused(dialect: Dialect, breaches: &[Breach]) -> Vec<Value> {
    let server = server().await;
    let client = client(dialect, &server);
    let fine = client.post(path(dialect), &proper(dialect)).await;
    assert_eq!(fine.status, 200, "{dialect:?}: {:?}", fine.body);
    let mut bodies = Vec::new();
    for (pointer, value, words) in breaches {
        let reply = client.post(path(dialect), &broken(dialect, pointer, value)).await;
        assert_eq!(reply.status, 400, "{dialect:?}, {pointer}, {value}: {:?}", reply.body);
        assert!(reply.body.to_string().contains(words), "{pointer}, {value}: {}", reply.body);
        bodies.push(reply.body);
    }
    assert_eq!((server.seen().len(), server.refused().len()), (1, breaches.len()));
    bodies
}

/// Names, schemas and lists of tools that nobody takes, below where the dialect has its tools.
fn bad_tools(list: &'static [&'static str; 3]) -> Vec<Breach> {
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
async fn openai_refuses() {
    let mut breaches =
        bad_tools(&["/tools/0/function/name", "/tools/1/function/name", "/tools/0/function/parameters"]);
    breaches.extend([
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
        ("/tools/0/function/parameters/properties/x", json!({"$ref": "#/$defs/x"}), "leads nowhere"),
        ("/messages/0/role", json!("root"), "no role"),
        ("/messages/1/content", json!(null), "array"),
        ("/messages/1/content/1/image_url/url", json!("file:///etc/passwd"), "image"),
        ("/messages/2/tool_calls", json!([]), "minimum length 1"),
        ("/messages/2/tool_calls", json!(null), "content"),
        ("/messages/2/tool_calls/0/id", json!("b"), "Duplicate"),
        ("/messages/2/tool_calls/0/id", json!("x".repeat(41)), "too long"),
        ("/messages/2/tool_calls/0/function/arguments", json!({}), "string"),
        ("/messages/2/tool_calls/0/function/arguments", json!("{"), "no JSON object"),
        ("/messages/2/tool_calls/2", json!({"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}), "did not have response messages: c"),
        ("/messages/3", json!(null), "did not have response messages: b"),
        ("/messages/3/tool_call_id", json!("a"), "preceding"),
        ("/messages/3/tool_call_id", json!("c"), "preceding"),
        ("/messages/6", json!({"role": "tool", "tool_call_id": "a", "content": "3"}), "preceding"),
        ("/messages/6", json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}]}), "did not have response messages: c"),
    ]);
    for body in refused(Dialect::Openai, &breaches).await {
        assert_eq!(body["error"]["type"], "invalid_request_error", "{body}");
    }
}

#[tokio::test]
async fn anthropic_refuses() {
    let mut breaches = bad_tools(&["/tools/0/name", "/tools/1/name", "/tools/0/input_schema"]);
    breaches.extend([
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
    for body in refused(Dialect::Anthropic, &breaches).await {
        assert_eq!(
            (&body["type"], &body["error"]["type"]),
            (&json!("error"), &json!("invalid_request_error"))
        );
    }
}

#[tokio::test]
async fn gemini_refuses() {
    let mut breaches = bad_tools(&[
        "/tools/0/functionDeclarations/0/name",
        "/tools/0/functionDeclarations/1/name",
        "/tools/0/functionDeclarations/0/parameters",
    ]);
    let city = "/tools/0/functionDeclarations/0/parameters/properties/city";
    breaches.extend([
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
    for body in refused(Dialect::Gemini, &breaches).await {
        assert_eq!(
            (&body["error"]["code"], &body["error"]["status"]),
            (&json!(400), &json!("INVALID_ARGUMENT"))
        );
    }
}

#[tokio::test]
async fn ollama_refuses() {
    let mut breaches =
        bad_tools(&["/tools/0/function/name", "/tools/1/function/name", "/tools/0/function/parameters"]);
    breaches.extend([
        ("/model", json!(""), "model is required"),
        ("/messages/0/content", json!([{"type": "text", "text": "Hi"}]), "string"),
        ("/messages/0/images/0", json!("data:image/png;base64,AAAA"), "base64"),
        ("/messages/1/tool_calls/0/function/arguments", json!("{}"), "cannot unmarshal"),
        ("/messages/2", json!(null), "no result"),
        ("/messages/3", json!(null), "no result"),
        ("/messages/3/tool_name", json!("weather"), "not called"),
        ("/messages/0/role", json!("root"), "invalid role"),
    ]);
    for body in refused(Dialect::Ollama, &breaches).await {
        assert!(body["error"].is_string(), "{body}");
    }
}

#[tokio::test]
async fn who_has_no_key_or_no_such_path_is_turned_away() {
    let server = server().await;
    for (dialect, status) in [(Dialect::Openai, 401), (Dialect::Anthropic, 401), (Dialect::Gemini, 403)] {
        let anonymous = Client::anonymous(&server.base(dialect)).with("anthropic-version", "2023-06-01");
        let reply = anonymous.post(path(dialect), &proper(dialect)).await;
        assert_eq!((reply.status, reply.body["error"].is_object()), (status, true), "{dialect:?}");
        let reply = client(dialect, &server).post("/v1beta/unknown", &proper(dialect)).await;
        assert_eq!((reply.status, reply.body["error"].is_object()), (404, true), "{dialect:?}");
    }
    assert!(server.seen().is_empty());
    server.needs_no_key();
    for dialect in Dialect::ALL {
        let anonymous = Client::anonymous(&server.base(dialect)).with("anthropic-version", "2023-06-01");
        assert_eq!(anonymous.post(path(dialect), &proper(dialect)).await.status, 200, "{dialect:?}");
    }
    let unversioned = Client::anonymous(&server.base(Dialect::Anthropic));
    let reply = unversioned.post(path(Dialect::Anthropic), &proper(Dialect::Anthropic)).await;
    assert_eq!((reply.status, reply.body["error"]["type"].as_str()), (400, Some("invalid_request_error")));
}

#[tokio::test]
async fn a_model_that_does_not_think_refuses_to_be_told_how() {
    let server = server().await;
    let client = client(Dialect::Gemini, &server);
    let mut body = proper(Dialect::Gemini);
    body["generationConfig"]["thinkingConfig"] = json!({"includeThoughts": true});
    for (model, status) in [("gemini-3-test", 200), ("gemini-2.5-test", 200), ("gemini-2.0-test", 400)] {
        let reply = client.post(&format!("/v1beta/models/{model}:generateContent"), &body).await;
        assert_eq!(reply.status, status, "{model}: {}", reply.body);
    }
}

#[tokio::test]
async fn ollama_tells_what_a_model_was_made_for() {
    let server = server().await;
    let client = client(Dialect::Ollama, &server);
    let shown = client.post("/api/show", &json!({"model": "m"})).await;
    assert_eq!(shown.body["model_info"]["test.context_length"], haft_testkit::OLLAMA_CONTEXT);
    assert_eq!(client.post("/api/show", &json!({})).await.status, 400);
    assert!(server.seen().is_empty(), "that is no question");
}
