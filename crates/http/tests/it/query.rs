//! The query of a request: written pairs, `params`, `query`, and unused arguments.

use haft_engine::ErrorKind;
use haft_testkit::json_reply;
use serde_json::{Value, json};

use crate::support::{Stage, with};

#[tokio::test]
async fn pairs_in_the_url_can_contain_variables() {
    let stage = Stage::new().await;
    for (written, arguments, target) in [
        ("/s?a=1&b=two", json!({}), "/s?a=1&b=two"),
        ("/s?a=1&a=2", json!({}), "/s?a=1&a=2"),
        ("/s?flag&empty=&x=y", json!({}), "/s?flag&empty=&x=y"),
        ("/s?q=a%20b+c&r=%2f", json!({}), "/s?q=a%20b+c&r=%2f"),
        ("/s?q=a b&ü=ö", json!({}), "/s?q=a%20b&%C3%BC=%C3%B6"),
        ("/s?a=b=c", json!({}), "/s?a=b=c"),
        ("?a=1", json!({}), "/?a=1"),
        ("", json!({}), "/"),
        ("/s?a=1#part", json!({}), "/s?a=1"),
        ("/s?q={{q}}", json!({"q": "x"}), "/s?q=x"),
        ("/s?z=1&q={{q}}&a=2", json!({"q": "x"}), "/s?z=1&q=x&a=2"),
        ("/s?q=from-{{a}}-to-{{b}}", json!({"a": 1, "b": "ü"}), "/s?q=from-1-to-%C3%BC"),
        ("/s?q={{a}}{{b}}", json!({"a": "x&y", "b": "=z"}), "/s?q=x%26y%3Dz"),
        ("/s?{{k}}=v", json!({"k": "a=b&c"}), "/s?a%3Db%26c=v"),
        ("/s?{{k}}", json!({"k": "a&b"}), "/s?a%26b"),
        ("/s?id={{ids}}&z=1", json!({"ids": [1, "b&c", null, true]}), "/s?id=1&id=b%26c&id=true&z=1"),
        ("/s?id={{ids}}&z=1", json!({"ids": []}), "/s?z=1"),
        ("/s?o={{o.deep.0}}", json!({"o": {"deep": ["x"]}}), "/s?o=x"),
    ] {
        let case = format!("{arguments} in {written}");
        let made = stage.call_with(stage.config_at(written, json!({"query": {}})), arguments).await;
        assert_eq!(made.only_request(&case).target, target, "{case}");
    }
}

#[tokio::test]
async fn values_are_escaped_in_the_query() {
    let stage = Stage::new().await;
    for (value, encoded) in [
        ("a&b=c", "a%26b%3Dc"),
        ("#", "%23"),
        ("a#b?c", "a%23b%3Fc"),
        ("a+b", "a%2Bb"),
        ("a b", "a%20b"),
        ("100%", "100%25"),
        ("%26x=1", "%2526x%3D1"),
        ("北京", "%E5%8C%97%E4%BA%AC"),
        ("a\r\nb", "a%0D%0Ab"),
        ("../..", "..%2F.."),
        ("'\"<>;[]", "%27%22%3C%3E%3B%5B%5D"),
        ("", ""),
        ("-_.~", "-_.~"),
    ] {
        let case = format!("{value:?}");
        let config = json!({"params": {"x": "{{v}}", "y": "<{{v}}>", "z": 1}});
        let made = stage.call_with(stage.config_at("/s?w={{v}}", config), json!({"v": value})).await;
        let target = format!("/s?w={encoded}&x={encoded}&y=%3C{encoded}%3E&z=1");
        assert_eq!(made.only_request(&case).target, target, "{case}");
    }
}

#[tokio::test]
async fn params_are_the_query_of_get_and_head() {
    let stage = Stage::new().await;
    let object = json!({"f": {"a": [1, "&"]}});
    for (params, arguments, query) in [
        (json!({"days": "{{d}}", "units": "metric"}), json!({"d": 3}), "?days=3&units=metric"),
        (json!({"z": 1, "a": true, "m": 1.5}), json!({}), "?z=1&a=true&m=1.5"),
        (json!({"b": "{{b}}", "a": "{{a}}"}), json!({"a": 1, "b": 2}), "?b=2&a=1"),
        (json!({"t": "{{t}}"}), json!({"t": ["a", "b c", null, 3]}), "?t=a&t=b%20c&t=3"),
        (json!({"t": ["x", "{{t}}"]}), json!({"t": "y"}), "?t=x&t=y"),
        (json!({"t": "{{t}}", "u": 1}), json!({"t": []}), "?u=1"),
        (json!({"a": "{{a}}", "b": null, "c": 1}), json!({"a": null}), "?c=1"),
        (json!({"a": "{{a}}", "c": 1}), json!({}), "?c=1"),
        (json!({"a": "{{a}}"}), json!({}), ""),
        (json!({"f": "{{f}}"}), object.clone(), "?f=%7B%22a%22%3A%5B1%2C%22%26%22%5D%7D"),
        (json!({"f": "is {{f}}"}), object, "?f=is%20%7B%22a%22%3A%5B1%2C%22%26%22%5D%7D"),
        (json!({"a": "{{a}}"}), json!({"a": ""}), "?a="),
        (json!({"user_id[]&x": "{{a}}"}), json!({"a": "1"}), "?user_id%5B%5D%26x=1"),
        (json!({}), json!({"not": "used"}), ""),
    ] {
        for method in ["GET", "HEAD"] {
            let case = format!("{method} {params} with {arguments}");
            let config = json!({"method": method, "params": params});
            let made = stage.call_with(stage.config_at("/s", config), arguments.clone()).await;
            let seen = made.only_request(&case);
            assert_eq!(
                (seen.method.as_str(), seen.target.as_str()),
                (method, &*format!("/s{query}")),
                "{case}"
            );
            assert!(seen.body.is_empty(), "{case}: {}", seen.text());
        }
    }
}

#[tokio::test]
async fn only_a_single_placeholder_may_be_absent() {
    let stage = Stage::new().await;
    for (written, config, target) in [
        ("/s?a={{a}}&b=1", json!({"query": {}}), "/s?b=1"),
        ("/s?b=1&a={{a}}", json!({"query": {}}), "/s?b=1"),
        ("/s?a={{a}}", json!({"query": {}}), "/s"),
        ("/s?a={{a.b}}", json!({"query": {}}), "/s"),
        ("/s", json!({"params": {"a": "{{a}}", "b": "{{ a.b }}"}}), "/s"),
        ("/s?x=1", json!({"query": {"a": "{{a}}", "b": 2}}), "/s?x=1&b=2"),
    ] {
        let case = format!("{written} {config}");
        let made = stage.call_with(stage.config_at(written, config), json!({})).await;
        assert_eq!(made.only_request(&case).target, target, "{case}");
    }
    for (written, config, name) in [
        ("/s?a=x{{a}}", json!({"query": {}}), "a"),
        ("/s?a={{a}}{{b}}", json!({"query": {}}), "a"),
        ("/s?{{a}}=1", json!({"query": {}}), "a"),
        ("/s", json!({"params": {"q": "from {{a}}"}}), "a"),
        ("/s", json!({"params": {"q": ["{{b}}", "x {{a.0}}"]}}), "a.0"),
        ("/s", json!({"method": "POST", "query": {"q": "from {{a}}"}}), "a"),
    ] {
        let case = format!("{written} {config}");
        let made = stage.call_with(stage.config_at(written, config), json!({"b": "given"})).await;
        let reported = format!("Invalid inputs: {name}: is required: it is part of a longer text");
        assert_eq!(made.refused(&case), (ErrorKind::Validation, reported), "{case}");
    }
}

#[tokio::test]
async fn query_and_body_can_be_configured_separately() {
    let stage = Stage::new().await;
    let arguments = json!({"v": 2, "name": "Ada"});
    for (method, fields, target, body) in [
        (
            "POST",
            json!({"query": {"v": "{{v}}"}, "body": {"n": "{{name}}"}}),
            "/s?x=1&v=2",
            json!({"n": "Ada"}),
        ),
        (
            "PUT",
            json!({"query": {"v": "{{v}}"}, "params": {"n": "{{name}}"}}),
            "/s?x=1&v=2",
            json!({"n": "Ada"}),
        ),
        ("PATCH", json!({"params": {"n": "{{name}}"}}), "/s?x=1", json!({"n": "Ada"})),
        ("DELETE", json!({"params": {"n": "{{name}}"}}), "/s?x=1", json!({"n": "Ada"})),
        ("DELETE", json!({"query": {"v": "{{v}}"}}), "/s?x=1&v=2", Value::Null),
        ("POST", json!({"query": {"v": "{{v}}"}}), "/s?x=1&v=2", Value::Null),
        (
            "GET",
            json!({"params": {"v": "{{v}}"}, "body": {"n": "{{name}}"}}),
            "/s?x=1&v=2",
            json!({"n": "Ada"}),
        ),
    ] {
        let case = format!("{method} {fields}");
        let config = with(fields, json!({"method": method}));
        let made = stage.call_with(stage.config_at("/s?x=1", config), arguments.clone()).await;
        let seen = made.only_request(&case);
        assert_eq!((seen.method.as_str(), seen.target.as_str()), (method, target), "{case}");
        let sent = if seen.body.is_empty() { Value::Null } else { seen.json() };
        assert_eq!(sent, body, "{case}: the body");
    }
}

#[tokio::test]
async fn without_query_and_body_arguments_are_sent_by_method() {
    let stage = Stage::new().await;
    let schema = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"}, "v": {"type": "string"}, "trace": {"type": "string"},
            "page": {"type": "integer"}, "tags": {"type": "array"}, "note": {"type": "string"},
        },
        "required": ["id"],
    });
    let arguments =
        json!({"page": 2, "id": "7", "tags": ["a", "b"], "v": "1", "note": "x&y=z", "trace": "abc"});
    for (method, is_query) in
        [("GET", true), ("HEAD", true), ("DELETE", true), ("POST", false), ("PUT", false), ("PATCH", false)]
    {
        // The flat form, which many definitions use.
        let definition = json!({
            "name": "t", "description": "A tool.", "endpoint": stage.up.url("/items/{{id}}?v={{v}}"),
            "method": method, "parameters": schema, "headers": {"X-Trace": "{{trace}}"},
            "timeout": 5000, "retryCount": 0, "isActive": true,
        });
        let made = stage.call_definition(definition, arguments.clone()).await;
        let seen = made.only_request(method);
        let (target, body) = if is_query {
            ("/items/7?v=1&page=2&tags=a&tags=b&note=x%26y%3Dz", Value::Null)
        } else {
            ("/items/7?v=1", json!({"page": 2, "tags": ["a", "b"], "note": "x&y=z"}))
        };
        assert_eq!((seen.method.as_str(), seen.target.as_str()), (method, target), "{method}");
        assert_eq!(seen.header("x-trace"), Some("abc"), "{method}: the header");
        let sent = if seen.body.is_empty() { Value::Null } else { seen.json() };
        assert_eq!(sent, body, "{method}: the body");
        let kind = (!is_query).then_some("application/json");
        assert_eq!(seen.header("content-type"), kind, "{method}: the type of the body");
    }
}

#[tokio::test]
async fn unused_arguments_follow_the_rules_of_the_query() {
    let stage = Stage::new().await;
    for (arguments, target) in [
        (json!({"z": 1, "a": 2}), "/s?z=1&a=2"),
        (json!({"a": null, "b": [], "c": false}), "/s?c=false"),
        (json!({"o": {"a": 1}}), "/s?o=%7B%22a%22%3A1%7D"),
        (json!({"a&b": "c=d"}), "/s?a%26b=c%3Dd"),
        (json!({"k": "{{x}} secret://s"}), "/s?k=%7B%7Bx%7D%7D%20secret%3A%2F%2Fs"),
        (json!({}), "/s"),
    ] {
        let case = arguments.to_string();
        let made = stage.call_with(stage.config_at("/s", json!({})), arguments).await;
        assert_eq!(made.only_request(&case).target, target, "{case}");
    }
}

#[tokio::test]
async fn a_secret_in_the_query_is_sent_and_never_returned() {
    let secret = "k/1+2&x=y long";
    let encoded = "k%2F1%2B2%26x%3Dy%20long";
    let stage =
        Stage::answering(&[("k", secret)], |seen| json_reply(200, &json!({"target": seen.target}))).await;
    for (written, config, target) in [
        ("/s?key=secret://k&a=1", json!({"query": {}}), format!("/s?key={encoded}&a=1")),
        ("/s?key=v1-secret://k", json!({"query": {}}), format!("/s?key=v1-{encoded}")),
        ("/s", json!({"params": {"key": "secret://k"}}), format!("/s?key={encoded}")),
        ("/s", json!({"params": {"key": ["a secret://k"]}}), format!("/s?key=a%20{encoded}")),
        ("/s", json!({"method": "POST", "query": {"key": "secret://k"}}), format!("/s?key={encoded}")),
    ] {
        let case = format!("{written} {config}");
        let made = stage.call_with(stage.config_at(written, config), json!({})).await;
        assert_eq!(made.only_request(&case).target, target, "{case}");
        let masked = target.replace(encoded, "***");
        assert_eq!(made.data(&case), &json!({"target": masked}), "{case}: the answer");
    }
}
