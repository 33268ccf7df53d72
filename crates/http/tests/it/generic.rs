//! The generic form: the model supplies path, method and body, and never leaves the base URL.

use haft_engine::ErrorKind;
use haft_testkit::json_reply;
use serde_json::{Value, json};

use crate::support::{CallOutcome, Stage, defined, with};

fn tool(stage: &Stage, config: Value) -> Value {
    defined(with(json!({"baseUrl": stage.up.url("/v1")}), config))
}

async fn get(stage: &Stage, url: &str) -> CallOutcome {
    stage.call_definition(tool(stage, json!({})), json!({"url": url, "method": "GET"})).await
}

#[track_caller]
fn assert_refused(stage: &Stage, made: &CallOutcome, url: &str) {
    let (kind, reported) = made.refused(url);
    assert_eq!(kind, ErrorKind::Validation, "{url:?}: {reported}");
    let words = format!(
        "Invalid inputs: url: must be a path under {}, such as /items?limit=5, without . or .. in it",
        stage.up.url("/v1/")
    );
    assert_eq!(reported, words, "{url:?}");
}

#[tokio::test]
async fn a_path_is_resolved_below_the_base() {
    let stage = Stage::new().await;
    let origin = stage.up.address.to_string();
    for (url, target) in [
        ("/items".to_owned(), "/v1/items"),
        ("items".to_owned(), "/v1/items"),
        ("/items/7/parts/".to_owned(), "/v1/items/7/parts/"),
        ("/".to_owned(), "/v1/"),
        ("/items?limit=5&q=a%20b".to_owned(), "/v1/items?limit=5&q=a%20b"),
        ("?limit=5".to_owned(), "/v1/?limit=5"),
        ("/items?q=a b&ü=ö".to_owned(), "/v1/items?q=a%20b&%C3%BC=%C3%B6"),
        (
            "/items?next=/../x&to=http://evil.example/".to_owned(),
            "/v1/items?next=/../x&to=http://evil.example/",
        ),
        ("/items?a=1?b=2".to_owned(), "/v1/items?a=1?b=2"),
        ("/a b/北京".to_owned(), "/v1/a%20b/%E5%8C%97%E4%BA%AC"),
        ("/a%2Fb/100%25".to_owned(), "/v1/a%2Fb/100%25"),
        ("/items:batchGet;v=1".to_owned(), "/v1/items:batchGet;v=1"),
        ("/...".to_owned(), "/v1/..."),
        ("/.hidden/a..b".to_owned(), "/v1/.hidden/a..b"),
        ("/@evil.example/x".to_owned(), "/v1/@evil.example/x"),
        ("@evil.example/x".to_owned(), "/v1/@evil.example/x"),
        ("/{{x}}/secret".to_owned(), "/v1/%7B%7Bx%7D%7D/secret"),
        (stage.up.url("/v1/items?limit=5"), "/v1/items?limit=5"),
        (stage.up.url("/v1/"), "/v1/"),
    ] {
        let made = get(&stage, &url).await;
        let seen = made.only_request(&url);
        assert_eq!(seen.target, target, "{url}");
        assert_eq!(seen.header("host"), Some(origin.as_str()), "{url}: the origin");
    }
}

#[tokio::test]
async fn a_path_that_any_parser_resolves_outside_is_rejected() {
    let stage = Stage::new().await;
    for url in [
        "../admin",
        "/../admin",
        "/items/../../admin",
        "/items/..",
        "/..",
        "..",
        ".",
        "/./items",
        "/items/../items",
        "..%2fadmin",
        "/..%2Fadmin",
        "%2e%2e/admin",
        "/%2E%2E/admin",
        "/.%2e/admin",
        "%2e%2e%2fadmin",
        "%252e%252e/admin",
        "/items%2f..%2f..%2fadmin",
        "/%25252e%25252e/admin",
        "/%2525252525252e/admin",
        "..\\admin",
        "/items\\..\\..\\admin",
        "\\\\evil.example\\x",
        "/..%5cadmin",
        "/a%5c..%5c..%5cadmin",
        "//evil.example/x",
        "///evil.example/x",
        "/\\evil.example/x",
        "/items#part",
        "#",
        "/items?a=1#part",
        "/items\nHost: evil.example",
        "/items\r\n\r\nGET /admin",
        "/it\tems",
        "/items\u{0}",
        "/items?a=\u{1}",
        "/items%0d%0aX-Evil: 1",
        "/items%00",
        "\u{7f}",
    ] {
        assert_refused(&stage, &get(&stage, url).await, url);
    }
}

#[tokio::test]
async fn an_absolute_url_outside_the_base_is_rejected() {
    let stage = Stage::new().await;
    let own = stage.up.address.to_string();
    for url in [
        "http://evil.example/x".to_owned(),
        "https://evil.example/v1/x".to_owned(),
        "HTTP://EVIL.EXAMPLE/".to_owned(),
        "http://".to_owned(),
        "file:///etc/passwd".to_owned(),
        format!("http://{own}@evil.example/v1/x"),
        format!("http://user@{own}/v1/x"),
        format!("https://{own}/v1/x"),
        format!("http://{own}/v2/x"),
        format!("http://{own}/v1evil/x"),
        format!("http://{own}/"),
    ] {
        assert_refused(&stage, &get(&stage, &url).await, &url);
    }
}

#[tokio::test]
async fn an_absolute_url_below_the_base_follows_the_same_rules() {
    let stage = Stage::new().await;
    for path in ["/v1/../admin", "/v1/%2e%2e/admin", "/v1/..\\admin", "/v1/items#part"] {
        let url = stage.up.url(path);
        assert_refused(&stage, &get(&stage, &url).await, &url);
    }
}

#[tokio::test]
async fn dots_with_path_parameters_are_rejected() {
    let stage = Stage::new().await;
    for url in ["/..;/admin", "/..;x=1/admin", "/items/..%3b/..;/admin"] {
        let made = get(&stage, url).await;
        assert_eq!(
            made.refused(url).0,
            ErrorKind::Validation,
            "{url}: servers of Java servlets step up here"
        );
    }
}

#[tokio::test]
async fn method_and_body_come_from_the_model() {
    let stage = Stage::new().await;
    let form = "application/x-www-form-urlencoded";
    for (kind, method, body, text, media) in [
        ("json", "GET", Value::Null, "", None),
        ("json", "HEAD", Value::Null, "", None),
        ("json", "DELETE", Value::Null, "", None),
        ("json", "POST", Value::Null, "", None),
        ("json", "POST", json!({"a": [1, "{{x}}"]}), r#"{"a":[1,"{{x}}"]}"#, Some("application/json")),
        ("json", "PUT", json!("words"), "\"words\"", Some("application/json")),
        ("json", "PATCH", json!([1, false]), "[1,false]", Some("application/json")),
        ("json", "DELETE", json!({"a": 1}), r#"{"a":1}"#, Some("application/json")),
        ("form", "POST", json!({"a": "x&y", "l": [1, 2], "n": null}), "a=x%26y&l=1&l=2", Some(form)),
        ("text", "POST", json!("plain words"), "plain words", Some("text/plain; charset=utf-8")),
        ("text", "POST", json!({"a": 1}), r#"{"a":1}"#, Some("text/plain; charset=utf-8")),
    ] {
        let case = format!("{kind} {method} {body}");
        let arguments = json!({"url": "/items", "method": method, "body": body});
        let made = stage.call_definition(tool(&stage, json!({"bodyType": kind})), arguments).await;
        let seen = made.only_request(&case);
        assert_eq!((seen.method.as_str(), seen.target.as_str()), (method, "/v1/items"), "{case}");
        assert_eq!((seen.text().as_str(), seen.header("content-type")), (text, media), "{case}");
        let key = (!matches!(method, "GET" | "HEAD")).then(|| made.result.call_id.as_str());
        assert_eq!(seen.header("idempotency-key"), key, "{case}: the key");
    }
}

#[tokio::test]
async fn a_form_given_as_text_is_never_sent_empty() {
    let stage = Stage::new().await;
    let arguments = json!({"url": "/items", "method": "POST", "body": "a=1&b=2"});
    let made = stage.call_definition(tool(&stage, json!({"bodyType": "form"})), arguments).await;
    if made.result.is_success() {
        assert_eq!(made.only_request("a form as text").text(), "a=1&b=2", "a form as text, if it is sent");
    } else {
        assert_eq!(
            made.refused("a form as text").0,
            ErrorKind::Validation,
            "a form as text, if it is refused"
        );
    }
}

#[tokio::test]
async fn a_model_cannot_override_the_tools_fields() {
    let stage = Stage::answering(&[("k", "the-hidden-value")], |_| json_reply(200, &json!({}))).await;
    let config = json!({
        "headers": {"X-Fixed": "1"}, "query": {"v": "2"}, "auth": {"type": "bearer", "token": "secret://k"},
    });
    for (url, target) in [("/items", "/v1/items?v=2"), ("/items?a=b", "/v1/items?a=b&v=2")] {
        let arguments = json!({"url": url, "method": "GET"});
        let made = stage.call_definition(tool(&stage, config.clone()), arguments).await;
        let seen = made.only_request(url);
        assert_eq!(seen.target, target, "{url}");
        assert_eq!(seen.header("x-fixed"), Some("1"), "{url}: the header");
        assert_eq!(seen.header("authorization"), Some("Bearer the-hidden-value"), "{url}: the token");
    }
    for (arguments, reported) in [
        (
            json!({"url": "/x", "method": "GET", "headers": {"X-Fixed": "2"}}),
            "headers: is not a known property",
        ),
        (
            json!({"url": "/x", "method": "GET", "baseUrl": "http://evil.example"}),
            "baseUrl: is not a known property",
        ),
        (json!({"url": "/x", "method": "TRACE"}), "method: \"TRACE\" is not one of"),
        (json!({"method": "GET"}), "url: is required"),
        (json!({"url": "/x"}), "method: is required"),
    ] {
        let case = arguments.to_string();
        let made = stage.call_definition(tool(&stage, config.clone()), arguments).await;
        let (kind, message) = made.refused(&case);
        assert_eq!(kind, ErrorKind::Validation, "{case}: {message}");
        assert!(message.starts_with(&format!("Invalid inputs: {reported}")), "{case}: {message}");
    }
}

#[tokio::test]
async fn a_path_and_a_base_form_one_url() {
    let stage = Stage::new().await;
    for (base, url, arguments, target) in [
        ("/v1", "/items/{{id}}", json!({"id": "7"}), "/v1/items/7"),
        ("/v1/", "/items/{{id}}", json!({"id": "../x"}), "/v1/items/..%2Fx"),
        ("", "/items?q={{id}}", json!({"id": "a&b"}), "/items?q=a%26b"),
        ("/", "/{{id}}", json!({"id": "/evil"}), "/%2Fevil"),
        ("/v1", "/", json!({}), "/v1/"),
        ("/v1", "/items", json!({}), "/v1/items"),
    ] {
        let case = format!("{base} and {url} with {arguments}");
        let definition = defined(json!({"baseUrl": stage.up.url(base), "url": url}));
        let made = stage.call_definition(definition, arguments).await;
        assert_eq!(made.only_request(&case).target, target, "{case}");
    }
    let definition = defined(json!({"baseUrl": stage.up.url("/v1"), "url": "/items/{{id}}"}));
    let made = stage.call_definition(definition, json!({"id": ".."})).await;
    assert_eq!(made.refused("a step").0, ErrorKind::Validation, "a step");
}
