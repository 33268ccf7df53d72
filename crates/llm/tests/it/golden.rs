//! Golden requests: one conversation in every dialect.

use haft_llm::{
    Call, ContentPart, Dialect, Image, ImageSource, ModelRequest, ModelTurn, ToolChoice, ToolResult,
};
use haft_testkit::{RecordedRequest, Upstream, http_response};
use serde_json::{Value, json};

use crate::support::{DIALECTS, KEY, ask, conversation, transcript, wire};

/// The request that a server of a dialect receives.
async fn sent(dialect: Dialect, request: &ModelRequest) -> RecordedRequest {
    let server = Upstream::start(move |_| http_response(200, &[], transcript(dialect))).await;
    ask(&wire(dialect, &server), request).await.expect("an answer");
    server.seen().pop().expect("a request")
}

#[tokio::test]
async fn a_conversation_matches_each_providers_documentation() {
    for (dialect, golden) in [
        (Dialect::OpenAi, include_str!("../golden/openai.json")),
        (Dialect::Anthropic, include_str!("../golden/anthropic.json")),
        (Dialect::Gemini, include_str!("../golden/gemini.json")),
        (Dialect::Ollama, include_str!("../golden/ollama.json")),
    ] {
        let expected: Value = serde_json::from_str(golden).expect("JSON");
        let written = sent(dialect, &conversation()).await.json();
        assert_eq!(written, expected, "{dialect:?}:\n{written:#}");
    }
}

#[tokio::test]
async fn paths_and_headers_match_the_provider() {
    for (dialect, target, header, value) in [
        (Dialect::OpenAi, "/chat/completions", "authorization", format!("Bearer {KEY}")),
        (Dialect::Anthropic, "/v1/messages", "x-api-key", KEY.to_owned()),
        (
            Dialect::Gemini,
            "/v1beta/models/the-model:streamGenerateContent?alt=sse",
            "x-goog-api-key",
            KEY.to_owned(),
        ),
        (Dialect::Ollama, "/api/chat", "authorization", format!("Bearer {KEY}")),
    ] {
        let seen = sent(dialect, &conversation()).await;
        assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", target), "{dialect:?}");
        assert_eq!(seen.header(header), Some(value.as_str()), "{dialect:?}");
        assert_eq!(seen.header("content-type"), Some("application/json"), "{dialect:?}");
        assert_eq!(seen.header("accept-encoding"), Some("identity"), "{dialect:?}");
        let version = (dialect == Dialect::Anthropic).then_some("2023-06-01");
        assert_eq!(seen.header("anthropic-version"), version, "{dialect:?}");
        assert!(!seen.target.contains(KEY), "{dialect:?}");
    }
}

#[tokio::test]
async fn tool_choice_is_converted_for_each_provider() {
    let named = |name: &str| ToolChoice::Tool(name.to_owned());
    for (choice, openai, anthropic, gemini) in [
        (
            ToolChoice::Auto,
            json!("auto"),
            json!({"type": "auto", "disable_parallel_tool_use": true}),
            json!({"mode": "AUTO"}),
        ),
        (ToolChoice::None, json!("none"), json!({"type": "none"}), json!({"mode": "NONE"})),
        (
            ToolChoice::Required,
            json!("required"),
            json!({"type": "any", "disable_parallel_tool_use": true}),
            json!({"mode": "ANY"}),
        ),
        (
            named("now"),
            json!({"type": "function", "function": {"name": "now"}}),
            json!({"type": "tool", "name": "now", "disable_parallel_tool_use": true}),
            json!({"mode": "ANY", "allowedFunctionNames": ["now"]}),
        ),
        // A tool that is not offered cannot be required.
        (
            named("gone"),
            json!("auto"),
            json!({"type": "auto", "disable_parallel_tool_use": true}),
            json!({"mode": "AUTO"}),
        ),
    ] {
        let request =
            ModelRequest { tool_choice: choice.clone(), parallel_tool_calls: false, ..conversation() };
        let body = sent(Dialect::OpenAi, &request).await.json();
        assert_eq!(
            (&body["tool_choice"], &body["parallel_tool_calls"]),
            (&openai, &json!(false)),
            "{choice:?}"
        );
        assert_eq!(sent(Dialect::Anthropic, &request).await.json()["tool_choice"], anthropic, "{choice:?}");
        let body = sent(Dialect::Gemini, &request).await.json();
        assert_eq!(body["toolConfig"]["functionCallingConfig"], gemini, "{choice:?}");
        let body = sent(Dialect::Ollama, &request).await.json();
        assert_eq!(body.get("tools").is_none(), choice == ToolChoice::None, "{choice:?}");
    }
}

#[tokio::test]
async fn a_request_without_tools_has_no_tool_fields() {
    let request =
        ModelRequest { parallel_tool_calls: false, ..ModelRequest::new("m", vec![ModelTurn::user("hello")]) };
    for dialect in DIALECTS {
        let body = sent(dialect, &request).await.json();
        for field in ["tools", "tool_choice", "toolConfig", "parallel_tool_calls", "temperature", "system"] {
            assert!(body.get(field).is_none(), "{dialect:?}: {field}");
        }
    }
    assert_eq!(sent(Dialect::Anthropic, &request).await.json()["max_tokens"], 8_192, "it has to be said");
    let options = sent(Dialect::Ollama, &request).await.json()["options"].clone();
    assert_eq!(options, json!({"num_ctx": haft_llm::OLLAMA_WINDOW}), "its own would cut silently");
}

/// A turn with one call, and its result.
fn called(id: &str, arguments: &str) -> Vec<ModelTurn> {
    let call = Call {
        id: id.to_owned(),
        name: "now".to_owned(),
        arguments: arguments.to_owned(),
        ..Call::default()
    };
    let result = ToolResult {
        call_id: id.to_owned(),
        name: "now".to_owned(),
        content: "noon".to_owned(),
        is_error: false,
    };
    vec![
        ModelTurn::user("when?"),
        ModelTurn::assistant("", None, vec![call]),
        ModelTurn::ToolResults { results: vec![result] },
        ModelTurn::user("and now?"),
    ]
}

#[tokio::test]
async fn malformed_arguments_are_sent_as_an_object() {
    let expected = json!({"unreadable": "{\"a\":"});
    let request = ModelRequest::new("m", called("c1", "{\"a\":"));
    let openai = sent(Dialect::OpenAi, &request).await.json();
    let written =
        openai["messages"][1]["tool_calls"][0]["function"]["arguments"].as_str().expect("text").to_owned();
    assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), expected);
    assert_eq!(openai["messages"][1]["content"], Value::Null);
    assert_eq!(
        sent(Dialect::Anthropic, &request).await.json()["messages"][1]["content"][0]["input"],
        expected
    );
    let gemini = sent(Dialect::Gemini, &request).await.json();
    assert_eq!(gemini["contents"][1]["parts"][0]["functionCall"]["args"], expected);
    let ollama = sent(Dialect::Ollama, &request).await.json();
    assert_eq!(ollama["messages"][1]["tool_calls"][0]["function"]["arguments"], expected);
}

#[tokio::test]
async fn foreign_ids_are_converted() {
    let foreign = ModelRequest::new("m", called("functions.now:0", "{}"));
    let messages = sent(Dialect::Anthropic, &foreign).await.json()["messages"].clone();
    assert_eq!(messages[1]["content"][0]["id"], "functions_now_0");
    assert_eq!(messages[2]["content"][0]["tool_use_id"], "functions_now_0");
    // A result and the following user text are one message.
    assert_eq!(messages[2]["content"][1], json!({"type": "text", "text": "and now?"}));
    assert_eq!(messages.as_array().map(Vec::len), Some(3));
    let made_up = ModelRequest::new("gemini-3-pro", called("haft_0_0", "{}"));
    let contents = sent(Dialect::Gemini, &made_up).await.json()["contents"].clone();
    let call = &contents[1]["parts"][0];
    assert_eq!(call["functionCall"], json!({"name": "now", "args": {}}));
    assert_eq!(call["thoughtSignature"], "skip_thought_signature_validator");
    let response = json!({"name": "now", "response": {"output": "noon"}});
    assert_eq!(contents[2]["parts"][0]["functionResponse"], response);
    let older = ModelRequest::new("gemini-2.5-flash", called("haft_0_0", "{}"));
    let contents = sent(Dialect::Gemini, &older).await.json()["contents"].clone();
    assert_eq!(contents[1]["parts"][0].get("thoughtSignature"), None);
}

#[tokio::test]
async fn images_may_be_urls() {
    let url = "https://example.com/a.png";
    let image =
        Image { media_type: "image/png".to_owned(), detail: None, source: ImageSource::Url(url.to_owned()) };
    let request =
        ModelRequest::new("m", vec![ModelTurn::User { parts: vec![ContentPart::Image(image)], name: None }]);
    let first = |body: Value, list: &str, parts: &str| body[list][0][parts][0].clone();
    let openai = first(sent(Dialect::OpenAi, &request).await.json(), "messages", "content");
    assert_eq!(openai, json!({"type": "image_url", "image_url": {"url": url}}));
    let anthropic = first(sent(Dialect::Anthropic, &request).await.json(), "messages", "content");
    assert_eq!(anthropic, json!({"type": "image", "source": {"type": "url", "url": url}}));
    let gemini = first(sent(Dialect::Gemini, &request).await.json(), "contents", "parts");
    assert_eq!(gemini, json!({"fileData": {"mimeType": "image/png", "fileUri": url}}));
    let ollama = sent(Dialect::Ollama, &request).await.json();
    assert_eq!(ollama["messages"][0], json!({"role": "user", "content": format!("(image: {url})")}));
}
