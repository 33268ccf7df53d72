//! Values in the URL path: no argument can change which resource is requested.

use haft_engine::ErrorKind;
use serde_json::{Value, json};

use crate::support::{CallOutcome, Stage, defined};

/// Checks that the request reached the author's origin with the written number of segments and this target.
#[track_caller]
fn assert_arrived(stage: &Stage, made: &CallOutcome, written: &str, target: &str, case: &str) {
    let seen = made.only_request(case);
    let origin = stage.up.address.to_string();
    let segments = |text: &str| text.split('?').next().unwrap_or_default().matches('/').count();
    assert_eq!(seen.target, target, "{case}: the target");
    assert_eq!(seen.header("host"), Some(origin.as_str()), "{case}: the origin");
    assert_eq!(segments(&seen.target), segments(written), "{case}: the number of segments");
}

#[tokio::test]
async fn a_text_always_stays_one_segment() {
    let stage = Stage::new().await;
    let long = "x".repeat(5000);
    for (value, segment) in [
        ("plain-_.~09", "plain-_.~09"),
        ("a/b", "a%2Fb"),
        ("/", "%2F"),
        ("//evil.example/x", "%2F%2Fevil.example%2Fx"),
        ("a?b=c", "a%3Fb%3Dc"),
        ("a#b", "a%23b"),
        ("100%", "100%25"),
        ("%2F", "%252F"),
        ("%", "%25"),
        ("...", "..."),
        (".hidden", ".hidden"),
        ("a..b", "a..b"),
        ("a/../b", "a%2F..%2Fb"),
        ("../../admin", "..%2F..%2Fadmin"),
        ("/..", "%2F.."),
        ("..\\..", "..%5C.."),
        ("a\\b", "a%5Cb"),
        ("北京", "%E5%8C%97%E4%BA%AC"),
        ("Zürich 😀", "Z%C3%BCrich%20%F0%9F%98%80"),
        (" ", "%20"),
        ("a b+c", "a%20b%2Bc"),
        ("a&b=c;d", "a%26b%3Dc%3Bd"),
        ("user@evil.example:80", "user%40evil.example%3A80"),
        ("http://evil.example", "http%3A%2F%2Fevil.example"),
        ("a\nb", "a%0Ab"),
        ("a\r\nHost: evil.example", "a%0D%0AHost%3A%20evil.example"),
        ("\t\u{1}\u{1f}\u{7f}", "%09%01%1F%7F"),
        ("\u{85}\u{2028}\u{feff}", "%C2%85%E2%80%A8%EF%BB%BF"),
        ("!*'()[]{}|\"<>^`,$", "%21%2A%27%28%29%5B%5D%7B%7D%7C%22%3C%3E%5E%60%2C%24"),
        (long.as_str(), long.as_str()),
    ] {
        for written in ["/items/{{x}}/end", "/{{x}}", "/items/{{ x }}"] {
            let case = format!("{value:?} in {written}");
            let made = stage.call_with(stage.config_at(written, json!({})), json!({"x": value})).await;
            let target = written.replace("{{x}}", segment).replace("{{ x }}", segment);
            assert_arrived(&stage, &made, written, &target, &case);
        }
    }
}

#[tokio::test]
async fn dots_and_empty_values_are_rejected_in_the_path() {
    let stage = Stage::new().await;
    let dots = "must not be . or .. in the path of a URL";
    let empty = "must not be empty: it would change the URL path";
    for (written, arguments, name, words) in [
        ("/items/{{x}}/end", json!({"x": ".."}), "x", dots),
        ("/items/{{x}}/end", json!({"x": "."}), "x", dots),
        ("/items/{{x}}/end", json!({"x": ""}), "x", empty),
        ("/{{x}}", json!({"x": ""}), "x", empty),
        ("/{{x}}", json!({"x": ".."}), "x", dots),
        ("/items/{{x}}?q=1", json!({"x": ".."}), "x", dots),
        ("/{{a}}{{b}}/end", json!({"a": ".", "b": "."}), "b", dots),
        ("/{{a}}{{b}}/end", json!({"a": "", "b": ".."}), "b", dots),
        ("/{{a}}{{b}}/end", json!({"a": "", "b": ""}), "b", empty),
        ("/.{{x}}/end", json!({"x": "."}), "x", dots),
        ("/{{x}}./end", json!({"x": ""}), "x", dots),
        ("/%2e{{x}}/end", json!({"x": "."}), "x", dots),
        ("/%2E{{x}}/end", json!({"x": "."}), "x", dots),
        ("/{{x}}%2e/end", json!({"x": "."}), "x", dots),
        ("/{{ o.x }}/end", json!({"o": {"x": ".."}}), "o.x", dots),
    ] {
        let case = format!("{arguments} in {written}");
        let made = stage.call_with(stage.config_at(written, json!({})), arguments).await;
        let reported = format!("Invalid inputs: {name}: {words}");
        assert_eq!(made.refused(&case), (ErrorKind::Validation, reported), "{case}");
    }
}

#[tokio::test]
async fn a_segment_of_several_parts_stays_one_segment() {
    let stage = Stage::new().await;
    for (written, arguments, target) in [
        ("/{{a}}{{b}}/end", json!({"a": ".", "b": "x"}), "/.x/end"),
        ("/{{a}}{{b}}/end", json!({"a": "", "b": "x"}), "/x/end"),
        ("/{{a}}-{{b}}/end", json!({"a": "..", "b": ".."}), "/..-../end"),
        ("/{{a}}/{{b}}", json!({"a": "/", "b": "?"}), "/%2F/%3F"),
        ("/%2e{{x}}/end", json!({"x": "a"}), "/%2ea/end"),
        ("/v{{x}}.json", json!({"x": "1/../2"}), "/v1%2F..%2F2.json"),
        ("/{{x}}/{{x}}/", json!({"x": "a b"}), "/a%20b/a%20b/"),
        ("/städte/a b/{{x}}", json!({"x": "ü"}), "/st%C3%A4dte/a%20b/%C3%BC"),
        ("/kept%2Fas-written/{{x}}", json!({"x": "y"}), "/kept%2Fas-written/y"),
        ("/@me/a:b;c/{{x}}", json!({"x": "@"}), "/@me/a:b;c/%40"),
        ("/a//{{x}}", json!({"x": "y"}), "/a//y"),
    ] {
        let case = format!("{arguments} in {written}");
        let made = stage.call_with(stage.config_at(written, json!({})), arguments).await;
        assert_arrived(&stage, &made, written, target, &case);
    }
}

#[tokio::test]
async fn values_of_any_type_become_text() {
    let stage = Stage::new().await;
    let exact: Value = serde_json::from_str("9007199254740993").expect("a number");
    for (written, arguments, target) in [
        ("/{{x}}/end", json!({"x": 3}), "/3/end"),
        ("/{{x}}/end", json!({"x": -1.5}), "/-1.5/end"),
        ("/{{x}}/end", json!({"x": exact}), "/9007199254740993/end"),
        ("/{{x}}/end", json!({"x": true}), "/true/end"),
        ("/{{x}}/end", json!({"x": {"a": "/"}}), "/%7B%22a%22%3A%22%2F%22%7D/end"),
        ("/{{x}}/end", json!({"x": [1, "../"]}), "/%5B1%2C%22..%2F%22%5D/end"),
        ("/{{ a.b }}/end", json!({"a": {"b": "x/y"}}), "/x%2Fy/end"),
        ("/{{list.0}}/{{list.1.id}}", json!({"list": ["?", {"id": 7}]}), "/%3F/7"),
        ("/{{a.0}}/end", json!({"a": {"0": "zero"}}), "/zero/end"),
    ] {
        let case = format!("{arguments} in {written}");
        let made = stage.call_with(stage.config_at(written, json!({})), arguments).await;
        assert_arrived(&stage, &made, written, target, &case);
    }
}

#[tokio::test]
async fn a_missing_value_is_reported_by_name_before_sending() {
    let stage = Stage::new().await;
    for (written, arguments, name) in [
        ("/{{x}}", json!({}), "x"),
        ("/{{x}}", json!({"x": null}), "x"),
        ("/items/{{x}}/end", json!({"y": "z"}), "x"),
        ("/v{{x}}", json!({}), "x"),
        ("/{{ a.b }}", json!({"a": {}}), "a.b"),
        ("/{{ a.b }}", json!({"a": {"b": null}}), "a.b"),
        ("/{{ a.b }}", json!({"a": "text"}), "a.b"),
        ("/{{list.0}}", json!({"list": []}), "list.0"),
        ("/{{list.1}}", json!({"list": ["zero"]}), "list.1"),
    ] {
        let case = format!("{arguments} in {written}");
        let made = stage.call_with(stage.config_at(written, json!({})), arguments).await;
        let reported = format!("Invalid inputs: {name}: is required: the URL path uses it");
        assert_eq!(made.refused(&case), (ErrorKind::Validation, reported), "{case}");
    }
    for arguments in [json!({}), json!({"x": null})] {
        let case = format!("{arguments} against the generated schema");
        let made = stage.call_definition(defined(stage.config_at("/{{x}}", json!({}))), arguments).await;
        let (kind, reported) = made.refused(&case);
        assert_eq!(kind, ErrorKind::Validation, "{case}: {reported}");
        assert!(reported.starts_with("Invalid inputs: x: "), "{case}: {reported}");
    }
}

#[tokio::test]
async fn all_missing_values_are_reported_at_once() {
    let stage = Stage::new().await;
    let config = json!({"method": "POST", "headers": {"X-H": "h {{h}}"}, "body": {"b": "b {{b}}"}});
    let made = stage.call_with(stage.config_at("/{{p}}/{{q}}", config), json!({"p": ".."})).await;
    let (kind, reported) = made.refused("all");
    assert_eq!(kind, ErrorKind::Validation, "{reported}");
    for name in ["p", "q", "h", "b"] {
        assert!(reported.contains(&format!(" {name}: ")), "{name}: {reported}");
    }
}

#[tokio::test]
async fn arguments_are_not_expanded_again() {
    let stage = Stage::answering(&[("x", "the-hidden-value")], |_| {
        haft_testkit::json_reply(200, &json!({"ok": true}))
    })
    .await;
    for (value, encoded) in [
        ("secret://x", "secret%3A%2F%2Fx"),
        ("secret://me/x", "secret%3A%2F%2Fme%2Fx"),
        ("{{other}}", "%7B%7Bother%7D%7D"),
        ("{{callId}}", "%7B%7BcallId%7D%7D"),
        ("${HOME} $(id) %ENV%", "%24%7BHOME%7D%20%24%28id%29%20%25ENV%25"),
    ] {
        let config = json!({
            "method": "POST",
            // The tool uses the secret, so only the argument's position protects it.
            "headers": {"X-Value": "{{v}}", "X-Own": "secret://x"},
            "query": {"q": "{{v}}"},
            "body": {"only": "{{v}}", "long": "<{{v}}>", "other": "{{other}}"},
        });
        let arguments = json!({"v": value, "other": "expanded"});
        let made = stage.call_with(stage.config_at("/a/{{v}}", config), arguments).await;
        assert_arrived(&stage, &made, "/a/x", &format!("/a/{encoded}?q={encoded}"), value);
        let seen = made.only_request(value);
        assert_eq!(seen.header("x-value"), Some(value), "{value}: the header");
        assert_eq!(seen.header("x-own"), Some("the-hidden-value"), "{value}: the secret itself");
        let body = json!({"only": value, "long": format!("<{value}>"), "other": "expanded"});
        assert_eq!(seen.json(), body, "{value}: the body");
    }
}

#[tokio::test]
async fn a_value_too_long_for_a_url_is_rejected() {
    let stage = Stage::new().await;
    let arguments = json!({"x": "x".repeat(70_000)});
    let made = stage.call_with(stage.config_at("/{{x}}", json!({})), arguments).await;
    let (kind, reported) = made.refused("70000 characters");
    assert_eq!(kind, ErrorKind::Validation, "70000 characters: {reported}");
    assert!(!reported.contains("xxx"), "the value itself is not reported: {reported}");
}
