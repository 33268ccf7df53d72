//! Responses: JSON, text in any charset, base64; limited, redacted, filtered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_engine::{ErrorKind, Locale};
use serde_json::{Value, json};

use crate::support::ResponseStage;

fn utf16le(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn utf16be(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

#[tokio::test]
async fn json_is_recognized_by_its_contents() {
    let stage = ResponseStage::new().await;
    let exact: Value = serde_json::from_str("[9007199254740993, 18446744073709551615]").expect("numbers");
    for (kind, body, data) in [
        ("application/json", r#"{"a": [1, null]}"#, json!({"a": [1, null]})),
        ("application/json; charset=utf-8", "{}", json!({})),
        ("application/problem+json", r#"{"a": 1}"#, json!({"a": 1})),
        ("text/plain", r#"{"a": 1}"#, json!({"a": 1})),
        ("text/html", "\n  [1, 2] \n", json!([1, 2])),
        ("application/octet-stream", r#"{"a": 1}"#, json!({"a": 1})),
        ("", r#"{"a": 1}"#, json!({"a": 1})),
        ("application/json", "3", json!(3)),
        ("application/json", "\"word\"", json!("word")),
        ("application/json", "true", json!(true)),
        ("application/json", "null", json!(null)),
        ("APPLICATION/JSON", "\"word\"", json!("word")),
        ("application/json", "[9007199254740993, 18446744073709551615]", exact),
        ("application/json", "\u{feff}{\"a\": 1}", json!({"a": 1})),
        ("", "\u{feff}[1]", json!([1])),
        ("text/plain", "42", json!({"data": "42"})),
        ("text/plain", "true story", json!({"data": "true story"})),
        ("application/json", "{\"a\": ", json!({"data": "{\"a\": "})),
        ("application/json", "{\"a\": 1} {\"b\": 2}", json!({"data": "{\"a\": 1} {\"b\": 2}"})),
        ("text/plain", "[not json]", json!({"data": "[not json]"})),
        ("text/html", "<p>Grüße</p>", json!({"data": "<p>Grüße</p>"})),
        ("image/svg+xml", "<svg/>", json!({"data": "<svg/>"})),
        ("application/xml", "<a/>", json!({"data": "<a/>"})),
        ("text/plain", " \n", json!({"data": " \n"})),
    ] {
        let case = format!("{kind}: {body}");
        let made = stage.read(json!({}), 200, kind, body).await;
        assert_eq!(made.data(&case), &data, "{case}");
    }
}

#[tokio::test]
async fn deeply_nested_json_is_returned_as_text() {
    let stage = ResponseStage::new().await;
    let body = "[".repeat(100_000);
    let made = stage.read(json!({}), 200, "application/json", body.as_str()).await;
    assert_eq!(made.data("nested")["data"], body, "nested 100000 deep");
}

#[tokio::test]
async fn text_is_decoded_by_its_charset() {
    let stage = ResponseStage::new().await;
    let with_mark = |mark: &[u8], text: Vec<u8>| [mark.to_vec(), text].concat();
    for (kind, body, data) in [
        ("text/plain; charset=gbk", vec![0xC4, 0xE3, 0xBA, 0xC3], json!({"data": "你好"})),
        ("text/plain; charset=\"GB2312\"", vec![0xC4, 0xE3, 0xBA, 0xC3], json!({"data": "你好"})),
        ("text/plain;charset=iso-8859-1", b"caf\xe9".to_vec(), json!({"data": "café"})),
        ("text/plain; format=flowed; Charset=Latin1", b"caf\xe9".to_vec(), json!({"data": "café"})),
        ("text/html; charset=shift_jis", vec![0x93, 0xFA, 0x96, 0x7B], json!({"data": "日本"})),
        ("text/plain; charset=utf-16le", utf16le("Grüße 😀"), json!({"data": "Grüße 😀"})),
        ("text/plain; charset=utf-16be", utf16be("Grüße"), json!({"data": "Grüße"})),
        ("text/plain; charset=utf-16", with_mark(b"\xff\xfe", utf16le("Grüße")), json!({"data": "Grüße"})),
        ("text/plain; charset=utf-16", with_mark(b"\xfe\xff", utf16be("Grüße")), json!({"data": "Grüße"})),
        ("text/plain", with_mark(b"\xff\xfe", utf16le("Grüße")), json!({"data": "Grüße"})),
        ("text/plain", with_mark(b"\xef\xbb\xbf", b"marked".to_vec()), json!({"data": "marked"})),
        ("application/json; charset=utf-16le", utf16le(r#"{"a": "ü"}"#), json!({"a": "ü"})),
        ("application/json; charset=gbk", b"{\"a\": \"\xc4\xe3\"}".to_vec(), json!({"a": "你"})),
        ("text/plain; charset=unheard-of", "ü".as_bytes().to_vec(), json!({"data": "ü"})),
        ("text/plain", b"bro\xffken".to_vec(), json!({"data": "bro\u{fffd}ken"})),
    ] {
        let case = format!("{kind}: {body:?}");
        let made = stage.read(json!({}), 200, kind, body).await;
        assert_eq!(made.data(&case), &data, "{case}");
    }
}

#[tokio::test]
async fn binary_data_is_returned_as_base64_with_its_type() {
    let stage = ResponseStage::new().await;
    let png = b"\x89PNG\r\n\x1a\n\x00\xff".as_slice();
    for (kind, body, shown) in [
        ("image/png", png, "image/png"),
        ("IMAGE/PNG", png, "IMAGE/PNG"),
        ("application/octet-stream", png, "application/octet-stream"),
        ("application/pdf", b"%PDF-1.7\n\xe2\xe3\xcf\xd3".as_slice(), "application/pdf"),
        ("audio/mpeg", b"plain words".as_slice(), "audio/mpeg"),
        ("application/octet-stream", b"with\x00nul".as_slice(), "application/octet-stream"),
        ("", png, "application/octet-stream"),
    ] {
        let case = format!("{kind}: {body:?}");
        let made = stage.read(json!({}), 200, kind, body).await;
        let data = json!({"data": STANDARD.encode(body), "contentType": shown, "encoding": "base64"});
        assert_eq!(made.data(&case), &data, "{case}");
    }
}

#[tokio::test]
async fn an_empty_body_is_an_empty_text() {
    let stage = ResponseStage::new().await;
    for (status, kind) in [
        (200, ""),
        (200, "text/plain"),
        (200, "application/json"),
        (200, "application/octet-stream"),
        (201, "text/html"),
        (204, ""),
        (205, ""),
    ] {
        let case = format!("{status} {kind}");
        let made = stage.read(json!({}), status, kind, "").await;
        assert_eq!(made.data(&case), &json!({"data": ""}), "{case}");
    }
    let made = stage.read(json!({"method": "HEAD"}), 200, "application/json", r#"{"a": 1}"#).await;
    assert_eq!(made.data("HEAD"), &json!({"data": ""}), "HEAD");
}

#[tokio::test]
async fn an_empty_body_is_an_empty_text_whatever_its_type() {
    let stage = ResponseStage::new().await;
    for (method, kind, body) in
        [("GET", "image/png", ""), ("HEAD", "image/png", "not sent"), ("GET", "audio/mpeg", "")]
    {
        let case = format!("{method} {kind}");
        let made = stage.read(json!({"method": method}), 200, kind, body).await;
        assert_eq!(made.data(&case), &json!({"data": ""}), "{case}");
    }
}

#[tokio::test]
async fn a_response_may_have_the_size_of_the_limit() {
    let stage = ResponseStage::new().await;
    let limited = |bytes: usize| json!({"security": {"maxResponseSize": bytes}});
    for (config, limit) in
        [(limited(1), 1), (limited(10), 10), (limited(2 << 20), 2 << 20), (json!({}), 1 << 20)]
    {
        let made = stage.read(config.clone(), 200, "text/plain", "x".repeat(limit)).await;
        let length = made.data("at the limit")["data"].as_str().map(str::len);
        assert_eq!(length, Some(limit), "{limit}: at the limit");
        let made = stage.read(config, 200, "text/plain", "x".repeat(limit + 1)).await;
        let message = format!("Response too large: limit {limit} bytes");
        assert_eq!(made.failed("past it"), (ErrorKind::ResponseTooLarge, message), "{limit}: past it");
        assert_eq!(made.result.attempts, 1, "{limit}: attempts");
    }
}

#[tokio::test]
async fn the_content_length_of_a_head_response_is_ignored() {
    let stage = ResponseStage::new().await;
    let config = json!({"method": "HEAD", "security": {"maxResponseSize": 10}});
    let made = stage.read(config, 200, "text/plain", "x".repeat(1000)).await;
    assert_eq!(made.data("HEAD"), &json!({"data": ""}), "HEAD");
}

#[tokio::test]
async fn a_filter_applies_only_to_json() {
    let stage = ResponseStage::new().await;
    let body = r#"{"items": [{"id": 1, "n": "a"}, {"id": 2, "n": "b"}], "name": "x"}"#;
    for (filter, kind, body, data) in [
        ("items[].id", "application/json", body, json!([1, 2])),
        ("items[?id > `1`].n | [0]", "application/json", body, json!("b")),
        (
            "{first: items[0].n, last: items[-1].id}",
            "application/json",
            body,
            json!({"first": "a", "last": 2}),
        ),
        ("missing.deep", "application/json", body, json!(null)),
        ("@", "text/plain", "[1]", json!([1])),
        ("items", "text/plain", "just words", json!({"data": "just words"})),
        ("data", "text/plain", "just words", json!({"data": "just words"})),
        (
            "data",
            "image/png",
            "\u{1}",
            json!({"data": "AQ==", "contentType": "image/png", "encoding": "base64"}),
        ),
        ("data", "text/plain", "", json!({"data": ""})),
    ] {
        let case = format!("{filter} on {kind}: {body}");
        let made = stage.read(json!({"responseFilter": filter}), 200, kind, body).await;
        assert_eq!(made.data(&case), &data, "{case}");
    }
    for filter in ["abs(name)", "no_such_function(@)", "items[::0]"] {
        let made = stage.read(json!({"responseFilter": filter}), 200, "application/json", body).await;
        let (kind, message) = made.failed(filter);
        assert_eq!(kind, ErrorKind::Execution, "{filter}: {message}");
        let words = "The responseFilter cannot be applied to the response: JMESPath: ";
        assert!(message.starts_with(words), "{filter}: {message}");
    }
}

#[tokio::test]
async fn a_filter_does_not_apply_to_errors() {
    let stage = ResponseStage::new().await;
    let made =
        stage.read(json!({"responseFilter": "items"}), 400, "application/json", r#"{"why": "so"}"#).await;
    assert_eq!(made.failed("400").0, ErrorKind::Validation, "400");
    assert_eq!(made.error("400").details(Locale::En)["body"], r#"{"why":"so"}"#, "400: its body");
}

#[tokio::test]
async fn redaction_precedes_all_other_processing() {
    let stage = ResponseStage::new().await;
    let body =
        r#"{"user": {"mail": "ada@example.com", "name": "Ada"}, "note": "ask bob@example.com", "n": [7, 8]}"#;
    let hidden = "[redacted]";
    for (config, data) in [
        (
            json!({"redact": ["user.mail", "n.1"]}),
            json!({"user": {"mail": hidden, "name": "Ada"}, "note": "ask bob@example.com", "n": [7, hidden]}),
        ),
        (
            json!({"redact": [{"pattern": "email"}]}),
            json!({"user": {"mail": hidden, "name": "Ada"}, "note": "ask [redacted]", "n": [7, 8]}),
        ),
        (
            json!({"redact": ["$.user", {"pattern": "b[aeiou]b@\\S+"}]}),
            json!({"user": hidden, "note": "ask [redacted]", "n": [7, 8]}),
        ),
        (json!({"redact": ["user.mail"], "responseFilter": "user.mail"}), json!(hidden)),
        (
            json!({"redact": [{"pattern": "email"}], "responseFilter": "[user.mail, note]"}),
            json!([hidden, "ask [redacted]"]),
        ),
        (json!({"redact": ["user"], "responseFilter": "user.mail"}), json!(null)),
        (json!({"redact": ["not.there"], "responseFilter": "n"}), json!([7, 8])),
    ] {
        let case = config.to_string();
        let made = stage.read(config, 200, "application/json", body).await;
        assert_eq!(made.data(&case), &data, "{case}");
    }
    let email = json!({"redact": [{"pattern": "email"}]});
    let both = json!({"redact": [{"pattern": "email"}, "secret"]});
    let made = stage.read(email.clone(), 200, "text/plain", "mail ada@example.com!").await;
    assert_eq!(made.data("text"), &json!({"data": "mail [redacted]!"}), "text");

    for (case, kind, body, kept) in [
        (
            "JSON",
            "application/json",
            r#"{"secret": "x", "to": "ada@example.com"}"#,
            r#"{"secret":"[redacted]","to":"[redacted]"}"#,
        ),
        ("text", "text/plain", "no ada@example.com here", "no [redacted] here"),
    ] {
        let made = stage.read(both.clone(), 422, kind, body).await;
        assert_eq!(made.error(case).details(Locale::En)["body"], kept, "{case}: an error's body");
    }
    let cut = format!("{} ada@example.com", "x".repeat(2040));
    let made = stage.read(email, 400, "text/plain", cut).await;
    let details = made.error("cut").details(Locale::En);
    assert!(!details["body"].to_string().contains("ada"), "redacted before it is cut: {}", details["body"]);
}

#[tokio::test]
async fn an_error_body_is_truncated_at_two_kilobytes() {
    let stage = ResponseStage::new().await;
    for (case, kind, body, kept) in [
        ("just fits", "text/plain", "x".repeat(2048), "x".repeat(2048)),
        ("one more", "text/plain", "x".repeat(2049), "x".repeat(2048)),
        ("two bytes", "text/plain", format!("{}é!", "x".repeat(2047)), "x".repeat(2047)),
        ("three bytes", "text/plain", "北".repeat(1000), "北".repeat(682)),
        ("four bytes", "text/plain", format!("x{}", "😀".repeat(600)), format!("x{}", "😀".repeat(511))),
        (
            "JSON",
            "application/json",
            format!("[\"{}\"]", "é".repeat(2000)),
            format!("[\"{}", "é".repeat(1023)),
        ),
        ("much", "text/html", "<p>".repeat(100_000), format!("{}<p", "<p>".repeat(682))),
    ] {
        let made = stage.read(json!({}), 400, kind, body).await;
        let details = made.error(case).details(Locale::En);
        assert_eq!(details["body"], kept, "{case}");
    }
}
