//! Headers: values may contain variables and secrets; names are fixed by the author.

use haft_engine::ErrorKind;
use haft_http::is_harmless_header;
use haft_testkit::json_reply;
use serde_json::json;

use crate::support::{Stage, engine, open, wrong};

#[tokio::test]
async fn values_are_filled_in_as_text() {
    let stage = Stage::new().await;
    for (value, arguments, sent) in [
        (json!("fixed"), json!({}), "fixed"),
        (json!(3), json!({}), "3"),
        (json!(true), json!({}), "true"),
        (json!("{{v}}"), json!({"v": "x"}), "x"),
        (json!("a {{v}}, {{ v }}"), json!({"v": "x"}), "a x, x"),
        (json!("{{v}}"), json!({"v": 1.5}), "1.5"),
        (json!("{{v}}"), json!({"v": false}), "false"),
        (json!("{{v}}"), json!({"v": {"a": [1, "b"]}}), r#"{"a":[1,"b"]}"#),
        (json!("<{{v}}>"), json!({"v": [1, 2]}), "<[1,2]>"),
        (json!("{{v.a.0}}"), json!({"v": {"a": ["deep"]}}), "deep"),
        (json!("{{v}}"), json!({"v": "Zürich 北京 😀"}), "Zürich 北京 😀"),
        (json!("Größe {{v}}"), json!({"v": "ü"}), "Größe ü"),
        (json!("{{v}}"), json!({"v": "a: b; c=\"d\", %0d%0a \\r\\n"}), "a: b; c=\"d\", %0d%0a \\r\\n"),
    ] {
        let case = format!("{value} with {arguments}");
        let config = json!({"headers": {"X-Value": value}, "params": {}});
        let made = stage.call_with(stage.config_at("/h", config), arguments).await;
        let values: Vec<&[u8]> = made
            .only_request(&case)
            .headers
            .get_all("x-value")
            .iter()
            .map(|value| value.as_bytes())
            .collect();
        assert_eq!(values, [sent.as_bytes()], "{case}");
    }
}

#[tokio::test]
async fn a_control_character_is_rejected_and_nothing_is_sent() {
    let stage = Stage::new().await;
    for value in [
        "a\r\nX-Evil: 1",
        "a\nb",
        "a\rb",
        "\n",
        "a\r\n\r\nGET /evil HTTP/1.1",
        "a\tb",
        "a\u{0}b",
        "\u{1}",
        "\u{1b}[31m",
        "\u{7f}",
        "\u{85}",
    ] {
        for (header, name, arguments) in [
            ("{{v}}", "v", json!({"v": value})),
            ("long {{v}}", "v", json!({"v": value})),
            ("{{ v.x }}", "v.x", json!({"v": {"x": value}})),
        ] {
            let case = format!("{value:?} in {header}");
            let config = json!({"headers": {"X-Value": header}});
            let made = stage.call_with(stage.config_at("/h", config), arguments).await;
            let reported = format!(
                "Invalid inputs: {name}: contains a control character, which is not allowed in a header"
            );
            assert_eq!(made.refused(&case), (ErrorKind::Validation, reported), "{case}");
        }
    }
}

#[tokio::test]
async fn a_header_with_only_an_absent_placeholder_is_omitted() {
    let stage = Stage::new().await;
    for (header, arguments) in [
        ("{{v}}", json!({})),
        ("{{v}}", json!({"v": null})),
        ("{{ v.deep }}", json!({"v": {}})),
        ("{{v.0}}", json!({"v": []})),
    ] {
        let case = format!("{header} with {arguments}");
        let config = json!({"headers": {"X-Value": header, "X-Other": "kept"}, "params": {}});
        let made = stage.call_with(stage.config_at("/h", config), arguments).await;
        let seen = made.only_request(&case);
        assert_eq!((seen.header("x-value"), seen.header("x-other")), (None, Some("kept")), "{case}");
    }
    let made =
        stage.call_with(stage.config_at("/h", json!({"headers": {"X-Value": "v={{v}}"}})), json!({})).await;
    let reported = "Invalid inputs: v: is required: it is part of a longer text".to_owned();
    assert_eq!(made.refused("a longer text"), (ErrorKind::Validation, reported), "a longer text");
}

#[tokio::test]
async fn arguments_cannot_add_headers() {
    let stage = Stage::new().await;
    let arguments = json!({
        "Authorization": "Bearer forged", "Host": "evil.example", "X-Key": "forged",
        "headers": {"X-Key": "forged"}, "Transfer-Encoding": "chunked",
    });
    let made = stage.call_with(stage.config_at("/h", json!({"headers": {"X-Key": "own"}})), arguments).await;
    let seen = made.only_request("forged");
    let host = stage.up.address.to_string();
    for (name, value) in [
        ("authorization", None),
        ("host", Some(host.as_str())),
        ("x-key", Some("own")),
        ("transfer-encoding", None),
    ] {
        assert_eq!(seen.header(name), value, "{name}");
    }
}

#[tokio::test]
async fn secrets_can_be_the_whole_value_or_a_part() {
    let secrets = [("k", "s3cret-value"), ("me/own", "my-own-value"), ("padded", "  padded-value\r\n")];
    let stage = Stage::answering(&secrets, |_| json_reply(200, &json!({}))).await;
    for (header, sent) in [
        ("secret://k", "s3cret-value"),
        ("Bearer secret://k", "Bearer s3cret-value"),
        ("Token token=secret://k, v=1", "Token token=s3cret-value, v=1"),
        ("secret://k/secret://me/own", "s3cret-value/my-own-value"),
        ("secret://me/own", "my-own-value"),
        ("{{v}}:secret://k", "x:s3cret-value"),
        ("secret://padded", "padded-value"),
        ("a secret://padded b", "a padded-value b"),
    ] {
        let config = json!({"headers": {"X-Value": header}, "params": {}});
        let made = stage.call_with(stage.config_at("/h", config), json!({"v": "x"})).await;
        assert_eq!(made.only_request(header).header("x-value"), Some(sent), "{header}");
    }
}

#[tokio::test]
async fn an_invalid_secret_in_a_header_is_reported_without_its_value() {
    let stage = Stage::answering(&[("k", "first-line\nsecond-line")], |_| json_reply(200, &json!({}))).await;
    let made =
        stage.call_with(stage.config_at("/h", json!({"headers": {"X-Key": "secret://k"}})), json!({})).await;
    let (kind, reported) = made.refused("two lines");
    assert_eq!(kind, ErrorKind::Validation, "two lines: {reported}");
    assert!(reported.contains("headers.x-key"), "two lines: {reported}");
    let shown = made.visible_text();
    assert!(!shown.contains("first-line") && !shown.contains("second-line"), "two lines: {shown}");
}

#[tokio::test]
async fn reserved_header_names_are_rejected_when_saved() {
    let tools = engine(&[]);
    let (not_yours, bad) = ("is set by Haft itself and cannot be configured", "is not the name of a header");
    for (name, words) in [
        ("Host", not_yours),
        ("host", not_yours),
        ("Content-Length", not_yours),
        ("Transfer-Encoding", not_yours),
        ("Connection", not_yours),
        ("Keep-Alive", not_yours),
        ("Proxy-Authenticate", not_yours),
        ("Proxy-Authorization", not_yours),
        ("Proxy-Connection", not_yours),
        ("TE", not_yours),
        ("Trailer", not_yours),
        ("Upgrade", not_yours),
        ("Expect", not_yours),
        ("HTTP2-Settings", not_yours),
        ("bad name", bad),
        ("X:Y", bad),
        ("", bad),
        ("Näme", bad),
        ("X\r\nY", bad),
        ("X-{{a}}", bad),
        ("secret://k", bad),
        ("(x)", bad),
    ] {
        let config = json!({"url": "https://api.example.com/", "headers": {"X-Fine": "1", name: "v"}});
        let reported = wrong(&tools, open(config));
        assert_eq!(reported, [(format!("config.headers.{name}"), words.to_owned())], "{name:?}");
    }
}

#[tokio::test]
async fn invalid_values_are_rejected_when_saved() {
    let tools = engine(&[]);
    for (value, words) in [
        (json!("a\nb"), "contains a character that is not allowed in a header"),
        (json!("a\r\nX-Evil: {{v}}"), "contains a character that is not allowed in a header"),
        (json!("{{v}}\u{0}"), "contains a character that is not allowed in a header"),
        (json!("{{a b}}"), "{{a b}} is not a variable"),
        (json!("{{v"), "{{ is never closed by }}"),
        (json!("Bearer secret://"), "secret:// must be followed by a name"),
        (json!({"a": 1}), "is not of types"),
        (json!(["a"]), "is not of types"),
    ] {
        let config = json!({"url": "https://api.example.com/", "headers": {"X-Value": value}});
        let reported = wrong(&tools, open(config));
        assert_eq!(reported.len(), 1, "{value}: {reported:?}");
        let (path, message) = &reported[0];
        assert!(path == "config.headers.X-Value" && message.contains(words), "{value}: {path}: {message}");
    }
}

#[tokio::test]
async fn duplicate_headers_in_different_case_are_rejected_when_saved() {
    let tools = engine(&[]);
    for (first, second) in [("X-Key", "x-key"), ("content-type", "Content-Type"), ("ACCEPT", "accept")] {
        let config = json!({"url": "https://api.example.com/", "headers": {first: "1", second: "2"}});
        let reported = wrong(&tools, open(config));
        let words = "is given twice, in different spellings".to_owned();
        assert_eq!(reported, [(format!("config.headers.{second}"), words)], "{first} and {second}");
    }
}

#[test]
fn short_values_and_dates_are_harmless_in_headers_and_credentials_are_not() {
    for (name, value, is_harmless) in [
        ("X-Tenant", "ACME", true),
        ("X-Api-Version", "2024-01-01", true),
        ("X-Api-Version", "v10.11.12", true),
        ("X-Page-Size", "50", true),
        ("X-Region", "eu-1 {{zone}}", true),
        ("X-Mode", "read-only", true),
        ("X-Custom", "sk-123", false),
        ("X-Custom", " ghp_ab", false),
        ("X-Custom", "Ab3xY9zQ", false),
        ("X-Custom", "12345678", false),
        ("X-Custom", "1234-5678", false),
        ("X-Custom", "123-45-6789", false),
        ("X-Custom", "b71f3a52-aaaa", false),
        ("X-Api-Key", "50", false),
    ] {
        assert_eq!(is_harmless_header(name, value), is_harmless, "{name}: {value}");
    }
}
