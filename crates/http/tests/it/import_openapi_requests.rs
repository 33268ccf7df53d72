//! Requests of imported tools: parameter styles, bracketed forms, cookies, files, binary bodies.

use haft_engine::ErrorKind;
use haft_http::import::{OpenApiOptions, openapi};
use serde_json::{Value, json};

use crate::import_openapi::shop;
use crate::support::{CallOutcome, Stage, with};

/// Imports one operation of a document at the stage's upstream, and calls it.
async fn called(stage: &Stage, method: &str, item: Value, arguments: Value) -> CallOutcome {
    let path = item["path"].as_str().unwrap_or("/x").to_owned();
    let operation = json!({path: {method: item}});
    let options = OpenApiOptions { base_url: Some(stage.up.url("")), ..OpenApiOptions::default() };
    let imported = openapi(&shop(operation, json!({})), &options).expect("a document");
    let tool = imported.tools.first().unwrap_or_else(|| panic!("{:?}", imported.skipped));
    let definition = with(Value::Object(tool.definition.clone()), json!({"name": "t", "retryCount": 0}));
    stage.call_definition(definition, arguments).await
}

#[tokio::test]
async fn query_parameters_are_encoded_in_their_style() {
    let stage = Stage::new().await;
    let range =
        json!({"type": "object", "properties": {"gt": {"type": "integer"}, "lt": {"type": "integer"}}});
    let list = json!({"type": "array", "items": {"type": "string"}});
    for (parameter, value, target) in [
        (
            json!({"style": "deepObject", "explode": true, "schema": range}),
            json!({"gt": 5}),
            "/x?p%5Bgt%5D=5",
        ),
        (
            json!({"style": "deepObject", "schema": {"anyOf": [range, {"type": "integer"}]}}),
            json!({"gt": 1, "lt": 2}),
            "/x?p%5Bgt%5D=1&p%5Blt%5D=2",
        ),
        (
            json!({"style": "deepObject", "schema": {"anyOf": [range, {"type": "integer"}]}}),
            json!(7),
            "/x?p=7",
        ),
        (
            json!({"style": "deepObject", "explode": true, "schema": list}),
            json!(["a", "b"]),
            "/x?p%5B0%5D=a&p%5B1%5D=b",
        ),
        (json!({"schema": range}), json!({"gt": 5, "lt": 9}), "/x?gt=5&lt=9"),
        (json!({"explode": false, "schema": range}), json!("gt,5,lt,9"), "/x?p=gt%2C5%2Clt%2C9"),
        (json!({"schema": list}), json!(["a", "b"]), "/x?p=a&p=b"),
        (json!({"explode": false, "schema": list}), json!("a,b"), "/x?p=a%2Cb"),
        (json!({"style": "pipeDelimited", "schema": list}), json!("a|b"), "/x?p=a%7Cb"),
        (
            json!({"content": {"application/json": {"schema": range}}}),
            json!({"gt": 5}),
            "/x?p=%7B%22gt%22%3A5%7D",
        ),
        (json!({"content": {"application/json": {"schema": list}}}), json!("[1]"), "/x?p=%5B1%5D"),
    ] {
        let described = with(parameter.clone(), json!({"name": "p", "in": "query"}));
        let made = called(&stage, "get", json!({"parameters": [described]}), json!({"p": value})).await;
        assert_eq!(made.only_request(&parameter.to_string()).target, target, "{parameter}");
    }
}

#[tokio::test]
async fn path_parameters_are_encoded_in_their_style() {
    let stage = Stage::new().await;
    for (style, target) in [("simple", "/a/5"), ("label", "/a/.5"), ("matrix", "/a/;id=5")] {
        let parameter = json!({"name": "id", "in": "path", "required": true, "style": style, "schema": {"type": "integer"}});
        let item = json!({"path": "/a/{id}", "parameters": [parameter]});
        let made = called(&stage, "get", item, json!({"id": 5})).await;
        assert_eq!(made.only_request(style).target, target, "{style}");
    }
}

#[tokio::test]
async fn nested_form_fields_use_brackets() {
    let stage = Stage::new().await;
    let address = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "address": address,
        "items": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "string"}}}},
        "expand": {"type": "array", "items": {"type": "string"}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "joined": {"type": "array", "items": {"type": "string"}},
    }});
    let encoding = json!({"expand": {"style": "deepObject", "explode": true}, "joined": {"explode": false}});
    let media = json!({"application/x-www-form-urlencoded": {"schema": schema, "encoding": encoding}});
    let body = json!({
        "name": "Ada", "address": {"city": "X"}, "items": [{"price": "p"}], "expand": ["a"], "tags": ["b", "c"], "joined": "d,e",
    });
    let item = json!({"requestBody": {"required": true, "content": media}});
    let made = called(&stage, "post", item, json!({"body": body})).await;
    let form =
        "name=Ada&address%5Bcity%5D=X&items%5B0%5D%5Bprice%5D=p&expand%5B0%5D=a&tags=b&tags=c&joined=d%2Ce";
    assert_eq!(made.only_request("form").text(), form);
    let empty =
        json!({"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {}}}});
    let made = called(&stage, "get", json!({"requestBody": {"content": empty}}), json!({})).await;
    assert!(made.only_request("a body without fields").body.is_empty());
}

#[tokio::test]
async fn cookies_are_sent_when_they_are_given() {
    let stage = Stage::new().await;
    let cookie = |name: &str, is_required: bool| json!({"name": name, "in": "cookie", "required": is_required, "schema": {"type": "string"}});
    let item = json!({"parameters": [cookie("a", true), cookie("b", false), cookie("c", false)]});
    for (arguments, line) in [
        (json!({"a": "1"}), "a=1"),
        (json!({"a": "1", "c": "x y; d=2"}), "a=1; c=x%20y%3B%20d=2"),
        (json!({"a": "1", "b": "é", "c": ""}), "a=1; b=%C3%A9; c="),
    ] {
        let made = called(&stage, "get", item.clone(), arguments.clone()).await;
        assert_eq!(made.only_request("cookies").header("cookie"), Some(line), "{arguments}");
    }
    let config = stage.config_at(
        "/x",
        json!({"headers": {"Cookie": "z=0"}, "cookies": {"a": "{{a}}", "b": "1-{{b}}", "c": 5}}),
    );
    let made = stage.call_with(config.clone(), json!({"a": null, "b": "2"})).await;
    assert_eq!(made.only_request("beside a header").header("cookie"), Some("z=0; b=1-2; c=5"));
    let made = stage.call_with(config, json!({"a": "1"})).await;
    let reported = "Invalid inputs: b: is required: it is part of a longer text";
    assert_eq!(made.refused("within a text"), (ErrorKind::Validation, reported.to_owned()));
}

#[tokio::test]
async fn files_lists_of_files_and_base64_bytes_are_sent() {
    let stage = Stage::new().await;
    let file = json!({"type": "string", "format": "binary"});
    let schema =
        json!({"type": "object", "properties": {"one": file, "many": {"type": "array", "items": file}}});
    let item =
        json!({"requestBody": {"required": true, "content": {"multipart/form-data": {"schema": schema}}}});
    let body = json!({
        "one": {"filename": "a.txt", "content": "hello"},
        "many": [{"filename": "b.bin", "base64": "AAEC"}, {"filename": "c.txt", "content": "c"}],
    });
    let made = called(&stage, "post", item.clone(), json!({"body": body})).await;
    let text = String::from_utf8_lossy(&made.only_request("files").body).into_owned();
    for part in [
        "name=\"one\"; filename=\"a.txt\"",
        "name=\"many\"; filename=\"b.bin\"",
        "name=\"many\"; filename=\"c.txt\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let wrong = json!({"one": {"filename": "a", "base64": "?"}});
    let made = called(&stage, "post", item, json!({"body": wrong})).await;
    let reported = "Invalid inputs: body.one.base64: is not base64";
    assert_eq!(made.refused("no base64"), (ErrorKind::Validation, reported.to_owned()));

    for (media, body, sent) in [
        ("application/octet-stream", json!({"base64": "AAEC"}), vec![0, 1, 2]),
        ("image/png", json!({"base64": "AAEC"}), vec![0, 1, 2]),
        ("application/octet-stream", json!("text"), b"text".to_vec()),
        ("application/xml", json!("<a/>"), b"<a/>".to_vec()),
    ] {
        let item = json!({"requestBody": {"required": true, "content": {media: {"schema": file}}}});
        let made = called(&stage, "post", item, json!({"body": body})).await;
        let seen = made.only_request(media);
        assert_eq!(seen.body, sent, "{media}");
        assert_eq!(seen.header("content-type"), Some(media), "{media}");
    }
}
