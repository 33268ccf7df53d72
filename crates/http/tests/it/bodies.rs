//! Bodies: JSON built as values, forms, text, and the defaults of a schema.

use haft_engine::ErrorKind;
use serde_json::{Value, json};

use crate::support::{Stage, defined, with};

const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn a_single_placeholder_has_the_type_of_its_argument() {
    let stage = Stage::new().await;
    let exact: Value = serde_json::from_str("18446744073709551615").expect("a number");
    for value in [
        json!(3),
        json!(-2.5),
        exact,
        json!(true),
        json!(false),
        json!(null),
        json!(""),
        json!("3"),
        json!({"a": {"b": [1, null]}}),
        json!([1, "two", [3], {}]),
    ] {
        let case = value.to_string();
        let body = json!({"top": "{{v}}", "in": {"deep": [["{{ v }}"], {"er": "{{o.list.0}}"}]}});
        let config = json!({"method": "POST", "body": body});
        let made =
            stage.call_with(stage.config_at("/b", config), json!({"v": value, "o": {"list": [value]}})).await;
        let seen = made.only_request(&case);
        assert_eq!(
            seen.json(),
            json!({"top": value, "in": {"deep": [[value], {"er": value}]}}),
            "{case}: the body"
        );
        assert_eq!(seen.header("content-type"), Some("application/json"), "{case}: its type");
    }
}

#[tokio::test]
async fn a_placeholder_in_a_longer_text_becomes_text() {
    let stage = Stage::new().await;
    for (value, text) in [
        (json!(3), "3"),
        (json!(1.5), "1.5"),
        (json!(true), "true"),
        (json!("a \"b\" \\ \n"), "a \"b\" \\ \n"),
        (json!({"a": 1, "b": "x"}), r#"{"a":1,"b":"x"}"#),
        (json!([1, "two", null]), r#"[1,"two",null]"#),
    ] {
        let case = value.to_string();
        let config =
            json!({"method": "PUT", "body": {"t": "<{{v}}>", "twice": "{{v}}{{v}}", "blank": " {{v}}"}});
        let made = stage.call_with(stage.config_at("/b", config), json!({"v": value})).await;
        let body =
            json!({"t": format!("<{text}>"), "twice": format!("{text}{text}"), "blank": format!(" {text}")});
        assert_eq!(made.only_request(&case).json(), body, "{case}");
    }
}

#[tokio::test]
async fn absent_fields_are_omitted_and_the_others_stay_in_order() {
    let stage = Stage::new().await;
    let body = json!({
        "z": "{{z}}", "gone": "{{gone}}", "fixed": 7, "null": null,
        "in": {"gone": "{{z.deep}}", "b": "{{b}}", "a": [{"gone": "{{gone}}", "kept": "x"}]},
    });
    let config = json!({"method": "POST", "body": body});
    let made = stage.call_with(stage.config_at("/b", config), json!({"b": 2, "z": 1})).await;
    assert_eq!(
        made.only_request("order").text(),
        r#"{"z":1,"fixed":7,"null":null,"in":{"b":2,"a":[{"kept":"x"}]}}"#,
        "fields in their written order"
    );
    let config = json!({"method": "POST", "body": {"a": [{"t": "for {{ who.name }}"}]}});
    let made = stage.call_with(stage.config_at("/b", config), json!({"who": {}})).await;
    let reported = "Invalid inputs: who.name: is required: it is part of a longer text";
    assert_eq!(made.refused("a longer text"), (ErrorKind::Validation, reported.to_owned()), "a longer text");
}

#[tokio::test]
async fn arguments_are_escaped_in_strings() {
    let stage = Stage::new().await;
    for value in [
        r#"", "admin": true, "x": ""#,
        r#""}, {"admin": true}"#,
        "\\",
        "\\\"",
        "\u{2028}\r\n\t\u{1}",
        "</script>{{v}}",
        "&admin=true",
    ] {
        let case = format!("{value:?}");
        let config = json!({"method": "POST", "body": {"note": "{{v}}", "long": "a {{v}} b"}});
        let made = stage.call_with(stage.config_at("/b", config), json!({"v": value})).await;
        let body = json!({"note": value, "long": format!("a {value} b")});
        assert_eq!(made.only_request(&case).json(), body, "{case} in JSON");

        let config = json!({"method": "POST", "bodyType": "form", "body": {"note": "{{v}}", "end": "1"}});
        let made = stage.call_with(stage.config_at("/b", config), json!({"v": value})).await;
        let seen = made.only_request(&case);
        let pairs: Vec<(String, String)> = url::form_urlencoded::parse(&seen.body)
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let expected = [("note".to_owned(), value.to_owned()), ("end".to_owned(), "1".to_owned())];
        assert_eq!(pairs, expected, "{case} in a form");
    }
}

#[tokio::test]
async fn a_body_is_encoded_by_its_type() {
    let stage = Stage::new().await;
    let arguments = json!({"a": "x y&z", "list": ["p", null, 2], "o": {"k": "v"}, "n": null});
    let fields =
        json!({"a": "{{a}}", "l": "{{list}}", "o": "{{o}}", "n": "{{n}}", "gone": "{{gone}}", "t": true});
    let form = "a=x%20y%26z&l=p&l=2&o=%7B%22k%22%3A%22v%22%7D&t=true";
    let json = r#"{"a":"x y&z","l":["p",null,2],"o":{"k":"v"},"n":null,"t":true}"#;
    for (kind, body, text, media) in [
        ("form", fields.clone(), form, FORM),
        ("json", fields.clone(), json, "application/json"),
        ("text", fields, json, "text/plain; charset=utf-8"),
        ("form", json!("{{o}}"), "k=v", FORM),
        (
            "form",
            json!({"f": ["{{a}}", {"deep": "{{a}}"}]}),
            "f=x%20y%26z&f=%7B%22deep%22%3A%22x%20y%26z%22%7D",
            FORM,
        ),
        ("text", json!("a is {{a}}"), "a is x y&z", "text/plain; charset=utf-8"),
        ("text", json!("{{o}}"), r#"{"k":"v"}"#, "text/plain; charset=utf-8"),
        ("json", json!("{{o}}"), r#"{"k":"v"}"#, "application/json"),
        ("json", json!("a is {{a}}"), r#""a is x y&z""#, "application/json"),
        ("json", json!(["{{a}}", 1]), r#"["x y&z",1]"#, "application/json"),
        ("json", json!(false), "false", "application/json"),
    ] {
        for method in ["POST", "PUT", "PATCH", "DELETE", "GET"] {
            let case = format!("{method} {kind} {body}");
            let config = json!({"method": method, "bodyType": kind, "body": body});
            let made = stage.call_with(stage.config_at("/b", config), arguments.clone()).await;
            let seen = made.only_request(&case);
            assert_eq!((seen.method.as_str(), seen.target.as_str()), (method, "/b"), "{case}");
            assert_eq!(seen.text(), text, "{case}: the body");
            assert_eq!(seen.header("content-type"), Some(media), "{case}: its type");
        }
    }
}

#[tokio::test]
async fn a_configured_content_type_takes_precedence() {
    let stage = Stage::new().await;
    for (kind, name, media) in [
        ("json", "Content-Type", "application/vnd.api+json"),
        ("json", "content-type", "text/x-json"),
        ("form", "CONTENT-TYPE", "application/x-www-form-urlencoded; charset=utf-8"),
        ("text", "Content-Type", "text/{{sub}}"),
    ] {
        let config =
            json!({"method": "POST", "bodyType": kind, "body": {"a": "1"}, "headers": {name: media}});
        let made = stage.call_with(stage.config_at("/b", config), json!({"sub": "csv"})).await;
        let sent: Vec<_> = made.only_request(media).headers.get_all("content-type").iter().collect();
        assert_eq!(sent, [media.replace("{{sub}}", "csv").as_str()], "{kind}: {media}");
    }
}

#[tokio::test]
async fn params_are_the_body_of_other_methods_than_get_and_head() {
    let stage = Stage::new().await;
    for (method, kind, text) in [
        ("POST", "json", r#"{"n":3,"s":"v3","list":[{"n":3}]}"#),
        ("PUT", "json", r#"{"n":3,"s":"v3","list":[{"n":3}]}"#),
        ("PATCH", "json", r#"{"n":3,"s":"v3","list":[{"n":3}]}"#),
        ("DELETE", "json", r#"{"n":3,"s":"v3","list":[{"n":3}]}"#),
        ("POST", "form", "n=3&s=v3&list=%7B%22n%22%3A3%7D"),
    ] {
        let params = json!({"n": "{{n}}", "s": "v{{n}}", "gone": "{{gone}}", "list": [{"n": "{{n}}"}]});
        let config = json!({"method": method, "bodyType": kind, "params": params});
        let made = stage.call_with(stage.config_at("/b", config), json!({"n": 3})).await;
        let seen = made.only_request(method);
        assert_eq!((seen.target.as_str(), seen.text().as_str()), ("/b", text), "{method} {kind}");
    }
}

#[tokio::test]
async fn a_body_of_one_absent_placeholder_is_not_sent() {
    let stage = Stage::new().await;
    let config = json!({"method": "POST", "body": "{{payload}}"});
    let made = stage.call_with(stage.config_at("/b", config), json!({})).await;
    let seen = made.only_request("absent");
    assert!(seen.body.is_empty(), "absent: {}", seen.text());
    assert_eq!(seen.header("content-type"), None, "absent: no type without a body");
}

#[tokio::test]
async fn a_form_that_is_not_an_object_is_rejected() {
    let stage = Stage::new().await;
    for value in [json!("a=1&b=2"), json!([1, 2]), json!(3)] {
        let case = value.to_string();
        let config = json!({"method": "POST", "bodyType": "form", "body": "{{payload}}"});
        let made = stage.call_with(stage.config_at("/b", config), json!({"payload": value})).await;
        let (kind, reported) = made.refused(&case);
        assert_eq!(kind, ErrorKind::Validation, "{case}: {reported}");
        assert!(reported.contains("payload") || reported.contains("body"), "{case}: {reported}");
    }
}

#[tokio::test]
async fn defaults_of_the_schema_are_sent_unless_disabled() {
    let stage = Stage::new().await;
    let schema = json!({
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "units": {"type": "string", "default": "metric"},
            "opt": {"type": "object", "properties": {"lang": {"type": "string", "default": "en"}}},
        },
    });
    let templates = json!({"q": "{{q}}", "u": "{{units}}", "l": "{{ opt.lang }}"});
    let arguments = json!({"q": "x", "opt": {}});
    let own = json!({"q": "x", "units": "imperial", "opt": {"lang": "de"}});
    for (path, config, arguments, sends, target, body) in [
        ("/d", json!({"params": templates}), &arguments, true, "/d?q=x&u=metric&l=en", Value::Null),
        ("/d", json!({"params": templates}), &arguments, false, "/d?q=x", Value::Null),
        ("/d", json!({"params": templates}), &own, false, "/d?q=x&u=imperial&l=de", Value::Null),
        (
            "/d",
            json!({"method": "POST", "body": templates}),
            &arguments,
            true,
            "/d",
            json!({"q": "x", "u": "metric", "l": "en"}),
        ),
        ("/d", json!({"method": "POST", "body": templates}), &arguments, false, "/d", json!({"q": "x"})),
        (
            "/d",
            json!({"method": "POST"}),
            &arguments,
            true,
            "/d",
            json!({"q": "x", "opt": {"lang": "en"}, "units": "metric"}),
        ),
        ("/d", json!({"method": "POST"}), &arguments, false, "/d", json!({"q": "x", "opt": {}})),
        ("/d/{{units}}", json!({"params": {}}), &arguments, true, "/d/metric", Value::Null),
        ("/d?o={{units}}", json!({}), &json!({"q": "x"}), false, "/d?q=x", Value::Null),
    ] {
        let case = format!("{path} {config} with {arguments}, sendDefaults {sends}");
        let config = with(stage.config_at(path, config), json!({"sendDefaults": sends}));
        let made = stage
            .call_definition(with(defined(config), json!({"inputSchema": schema})), arguments.clone())
            .await;
        let seen = made.only_request(&case);
        assert_eq!(seen.target, target, "{case}: the target");
        let sent = if seen.body.is_empty() { Value::Null } else { seen.json() };
        assert_eq!(sent, body, "{case}: the body");
    }
    // Without an explicit setting, defaults are sent.
    let definition =
        with(defined(stage.config_at("/d", json!({"params": templates}))), json!({"inputSchema": schema}));
    let made = stage.call_definition(definition, json!({})).await;
    assert_eq!(made.only_request("by default").target, "/d?u=metric", "by default");
}
