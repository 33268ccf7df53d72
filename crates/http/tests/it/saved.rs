//! Validation of tools when they are saved: the path and message of each violation.

use serde_json::{Value, json};

use crate::support::{defined, engine, with, wrong};

const URL: &str = "https://api.example.com/items";

/// Each config has exactly one violation, at this path and with these words in its message.
#[track_caller]
fn assert_refused<const N: usize>(table: [(Value, &str, &str); N]) {
    let tools = engine(&[]);
    for (config, path, words) in table {
        let reported = wrong(&tools, defined(config.clone()));
        assert!(
            reported.len() == 1 && reported[0].0 == path,
            "{config}: wrong at {reported:?}, not at {path}"
        );
        assert!(reported[0].1.contains(words), "{config}: reported {:?}, not {words:?}", reported[0].1);
    }
}

#[tokio::test]
async fn the_origin_of_a_url_is_fixed() {
    let fixed = "in its scheme, host or port, which must be fixed";
    assert_refused(
        [
            "{{scheme}}://api.example.com/x",
            "{{url}}",
            "http{{s}}://api.example.com/x",
            "https:{{rest}}",
            "https://{{host}}/x",
            "https://{{ host.name }}",
            "https://api.{{domain}}.com/x",
            "https://api.example.com{{tail}}",
            "https://api.example.com{{tail}}/x",
            "https://api.example.com:{{port}}/x",
            "https://api.example.com:80{{port}}/x",
            "https://{{user}}@api.example.com/x",
            "https://user:{{password}}@api.example.com/x",
            "https://secret://host/x",
            "https://user:secret://password@api.example.com/x",
        ]
        .map(|url| (json!({"url": url}), "config.url", fixed)),
    );
}

#[tokio::test]
async fn ambiguous_urls_are_rejected() {
    let absolute = "must be an absolute URL that begins with http:// or https://";
    let odd = "which is not allowed in a URL; percent-encode it";
    let percent = "contains a % that is not followed by two hexadecimal digits";
    let userinfo = "contains a user name or password; use auth instead";
    assert_refused(
        [
            ("/items", absolute),
            ("items", absolute),
            ("//api.example.com/x", absolute),
            ("api.example.com/x", absolute),
            ("ftp://api.example.com/x", absolute),
            ("file:///etc/passwd", absolute),
            ("javascript:alert(1)", absolute),
            ("https:/api.example.com/x", absolute),
            ("https:api.example.com", absolute),
            ("https://", "is not a URL"),
            ("https://api.example.com:99999/x", "is not a URL"),
            ("https://a b.example/x", "is not a URL"),
            ("https://user@api.example.com/x", userinfo),
            ("https://user:password@api.example.com/x", userinfo),
            ("https://@api.example.com/x", userinfo),
            ("https://api.example.com\\x", odd),
            ("https://api.example.com\\@evil.example/x", odd),
            ("https://api.example.com/a\\b", odd),
            ("https://api.example.com/a\nb", odd),
            ("https://api.example.com/a?b=\tc", odd),
            ("https://api.example.com/100%", percent),
            ("https://api.example.com/%zz/x", percent),
            ("https://api.example.com/%2", percent),
            ("https://api.example.com/%{{x}}", percent),
            ("https://api.example.com/%2{{x}}", percent),
            ("https://api.example.com/x?q=5%", percent),
            ("https://api.example.com/secret://key/x", "contains a secret in its path"),
            ("https://api.example.com/x#{{part}}", "has a variable after #, which is never sent"),
            ("https://api.example.com/x?a=1#secret://key", "has a variable after #, which is never sent"),
            ("https://api.example.com/{{a b}}", "{{a b}} is not a variable"),
            ("https://api.example.com/{{}}", "{{}} is not a variable"),
            ("https://api.example.com/{{1a}}", "{{1a}} is not a variable"),
            ("https://api.example.com/{{a-b}}", "{{a-b}} is not a variable"),
            ("https://api.example.com/{{a | upper}}", "is not a variable"),
            ("https://api.example.com/{{", "{{ is never closed by }}"),
            ("https://api.example.com/x?q={{a", "{{ is never closed by }}"),
            ("https://api.example.com/x?key=secret://", "secret:// must be followed by a name"),
            ("", "is shorter than 1 characters"),
        ]
        .map(|(url, words)| (json!({"url": url}), "config.url", words)),
    );
}

#[tokio::test]
async fn a_relative_url_with_a_variable_is_reported_as_relative() {
    assert_refused(
        ["/items/{{id}}", "items/{{id}}"]
            .map(|url| (json!({"url": url}), "config.url", "must be an absolute URL")),
    );
}

#[tokio::test]
async fn duplicate_and_misplaced_fields_are_rejected() {
    assert_refused([
        (json!({}), "config.url", "is required: an address such as https://api.example.com/items/{{id}}"),
        (
            json!({"url": URL, "params": {"a": 1}, "query": {"b": 1}}),
            "config.params",
            "has the same meaning as query",
        ),
        (
            json!({"url": URL, "method": "HEAD", "params": {"a": 1}, "query": {"b": 1}}),
            "config.params",
            "has the same meaning as query; give only one of them",
        ),
        (
            json!({"url": URL, "method": "POST", "params": {"a": 1}, "body": {"b": 1}}),
            "config.params",
            "has the same meaning as body; give only one of them",
        ),
        (json!({"url": URL, "method": "HEAD", "body": {"b": 1}}), "config.body", "cannot be sent with HEAD"),
        (
            json!({"url": URL, "method": "POST", "bodyType": "form", "body": [1]}),
            "config.body",
            "must be an object of fields when bodyType is form",
        ),
        (
            json!({"url": URL, "method": "POST", "bodyType": "form", "body": "a={{a}}"}),
            "config.body",
            "must be an object of fields when bodyType is form",
        ),
        (
            json!({"url": URL, "baseUrl": "https://api.example.com"}),
            "config.url",
            "must be a path starting with / when baseUrl is set",
        ),
        (
            json!({"url": "items", "baseUrl": "https://api.example.com"}),
            "config.url",
            "must be a path starting with / when baseUrl is set",
        ),
    ]);
}

#[tokio::test]
async fn a_base_url_is_plain_and_excludes_other_fields() {
    let plain =
        "must be an absolute URL such as https://api.example.com/v1, without user name, query or variables";
    let model = "cannot be used with baseUrl alone: the model supplies url, method and body";
    assert_refused(
        [
            "/v1",
            "api.example.com",
            "ftp://api.example.com/",
            "https://user@api.example.com/",
            "https://:password@api.example.com/",
            "https://api.example.com/?a=1",
            "https://api.example.com/#part",
            "https://{{host}}/v1",
            "https://api.example.com/{{version}}",
            "https://api.example.com\\v1",
        ]
        .map(|url| (json!({"baseUrl": url}), "config.baseUrl", plain)),
    );
    let base = json!({"baseUrl": "https://api.example.com"});
    assert_refused([
        (with(base.clone(), json!({"method": "POST"})), "config.method", model),
        (with(base.clone(), json!({"params": {}})), "config.params", model),
        (with(base, json!({"body": {}})), "config.body", model),
    ]);
}

#[tokio::test]
async fn a_base_url_with_a_path_follows_the_same_rules() {
    let tools = engine(&[]);
    for base in [
        "https://api.example.com/v1?key=1",
        "https://api.example.com/v1#part",
        "https://user@api.example.com/v1",
    ] {
        let reported = wrong(&tools, defined(json!({"baseUrl": base, "url": "/items"})));
        assert!(!reported.is_empty(), "{base}: the path would stand behind the query or the fragment");
    }
}

#[tokio::test]
async fn field_names_cannot_contain_templates() {
    let words = "the name of a field cannot contain a variable or a secret";
    assert_refused([
        (json!({"url": URL, "params": {"{{k}}": 1}}), "config.params.{{k}}", words),
        (json!({"url": URL, "query": {"a{{k}}": 1}}), "config.query.a{{k}}", words),
        (json!({"url": URL, "query": {"secret://k": 1}}), "config.query.secret://k", words),
        (json!({"url": URL, "method": "POST", "params": {"{{k}}": 1}}), "config.params.{{k}}", words),
        (json!({"url": URL, "method": "POST", "body": {"{{k}}": 1}}), "config.body.{{k}}", words),
        (
            json!({"url": URL, "method": "POST", "body": [{"a": {"{{k}}": 1}}]}),
            "config.body.0.a.{{k}}",
            words,
        ),
        (json!({"url": URL, "method": "POST", "body": {"{{": 1}}), "config.body.{{", words),
    ]);
}

#[tokio::test]
async fn templates_are_checked_at_every_position() {
    assert_refused([
        (json!({"url": URL, "params": {"a": "{{a b}}"}}), "config.params.a", "{{a b}} is not a variable"),
        (json!({"url": URL, "query": {"a": ["x", "{{"]}}), "config.query.a.1", "{{ is never closed by }}"),
        (
            json!({"url": URL, "method": "POST", "params": {"a": {"b": "{{.}}"}}}),
            "config.params.a.b",
            "{{.}}",
        ),
        (
            json!({"url": URL, "method": "POST", "body": {"a": [{"b": "{{a.}}"}]}}),
            "config.body.a.0.b",
            "{{a.}}",
        ),
        (
            json!({"url": URL, "method": "POST", "body": "{{a..b}}"}),
            "config.body",
            "{{a..b}} is not a variable",
        ),
        (
            json!({"url": URL, "params": {"a": "secret://{{k}}"}}),
            "config.params.a",
            "must be followed by a name",
        ),
    ]);
    // Values provided by the call itself are allowed wherever arguments are, but are not arguments.
    for config in [
        json!({"url": URL, "method": "POST", "body": {"to": "{{callbackUrl}}"}}),
        json!({"url": URL, "params": {"to": "see {{ callbackUrl }}"}}),
        json!({"url": "https://api.example.com/{{callbackUrl}}"}),
        json!({"url": URL, "headers": {"X-To": "{{callbackUrl}}"}}),
    ] {
        let reported = wrong(&engine(&[]), defined(config.clone()));
        assert!(reported.is_empty(), "{config}: {reported:?}");
    }
}

#[tokio::test]
async fn unknown_fields_and_values_out_of_bounds_are_rejected() {
    let unknown = "is not a known property";
    let at = |fields: Value| with(json!({"url": URL}), fields);
    assert_refused([
        (at(json!({"urll": "x"})), "config.urll", unknown),
        (at(json!({"timeout": 5})), "config.timeout", unknown),
        (at(json!({"security": {"maxSize": 5}})), "config.security.maxSize", unknown),
        (at(json!({"security": true})), "config.security", "is not of type \"object\""),
        (at(json!({"method": "TRACE"})), "config.method", "\"TRACE\" is not one of \"GET\", \"POST\""),
        (at(json!({"method": "connect"})), "config.method", "\"CONNECT\" is not one of"),
        (at(json!({"method": "GET\r\nX: y"})), "config.method", "is not one of"),
        (at(json!({"method": 5})), "config.method", "5 is not one of"),
        (
            at(json!({"bodyType": "xml"})),
            "config.bodyType",
            "\"xml\" is not one of \"json\", \"form\", \"text\"",
        ),
        (at(json!({"params": [1]})), "config.params", "is not of type \"object\""),
        (at(json!({"query": "a=1"})), "config.query", "is not of type \"object\""),
        (at(json!({"headers": ["a"]})), "config.headers", "is not of type \"object\""),
        (at(json!({"sendDefaults": "no"})), "config.sendDefaults", "is not of type \"boolean\""),
        (
            at(json!({"security": {"maxResponseSize": 0}})),
            "config.security.maxResponseSize",
            "0 is less than the minimum of 1",
        ),
        (
            at(json!({"security": {"maxResponseSize": 33_554_433}})),
            "config.security.maxResponseSize",
            "33554433 is greater than the maximum of 33554432",
        ),
        (
            at(json!({"security": {"maxResponseSize": "big"}})),
            "config.security.maxResponseSize",
            "is not of type \"integer\"",
        ),
        (json!({"url": 5}), "config.url", "5 is not of type \"string\""),
    ]);
    let tools = engine(&[]);
    for size in [1, 33_554_432] {
        let definition = defined(at(json!({"security": {"maxResponseSize": size}})));
        let reported = wrong(&tools, definition);
        assert!(reported.is_empty(), "{size} is allowed: {reported:?}");
    }
}

#[tokio::test]
async fn hosts_filters_and_redactions_are_validated_when_saved() {
    let at = |fields: Value| with(json!({"url": URL}), fields);
    let hosts = |entries: Value| at(json!({"security": {"allowedDomains": entries}}));
    let (first, second) = ("config.security.allowedDomains.0", "config.security.allowedDomains.1");
    let host = "is not a host; write names such as api.example.com";
    assert_refused([
        (hosts(json!(["api.example.com", "not a host"])), second, "not a host is not a host"),
        (hosts(json!(["https://api.example.com"])), first, host),
        (hosts(json!(["api.example.com/x"])), first, host),
        (hosts(json!(["*evil.com"])), first, host),
        (hosts(json!(["a.*.com"])), first, host),
        (hosts(json!(["api.example.com:0"])), first, host),
        (hosts(json!(["user@example.com"])), first, host),
        (hosts(json!([""])), first, host),
        (
            hosts(json!(["other.example"])),
            "config.security.allowedDomains",
            "does not include api.example.com, the host of the tool's url",
        ),
        (
            hosts(json!(["*.api.example.com", "example.com:8443"])),
            "config.security.allowedDomains",
            "does not include api.example.com",
        ),
        (hosts(json!([5])), first, "is not of type \"string\""),
        (hosts(json!("api.example.com")), "config.security.allowedDomains", "is not of type \"array\""),
        (at(json!({"responseFilter": "items["})), "config.responseFilter", "JMESPath: "),
        (at(json!({"responseFilter": "a b"})), "config.responseFilter", "JMESPath: "),
        (at(json!({"responseFilter": ""})), "config.responseFilter", "is shorter than 1 characters"),
        (at(json!({"responseFilter": {"a": 1}})), "config.responseFilter", "is not of type \"string\""),
        (at(json!({"redact": "email"})), "config.redact", "is not of type \"array\""),
        (at(json!({"redact": ["a", "a..b"]})), "config.redact.1", "a..b is not a path"),
        (at(json!({"redact": [{"pattern": "("}]})), "config.redact.0", "( is not a pattern"),
        (at(json!({"redact": [{"pattern": "x*"}]})), "config.redact.0", "it matches the empty text"),
        (at(json!({"redact": [{"patern": "x"}]})), "config.redact.0", "must be a list of paths"),
        (at(json!({"redact": [7]})), "config.redact.0", "must be a list of paths"),
    ]);
}

#[tokio::test]
async fn a_fixed_poll_host_must_be_allowed() {
    let polling = |url: &str, allowed: Value| {
        let security = json!({"allowedDomains": allowed});
        json!({"url": URL, "method": "POST", "poll": {"url": url}, "security": security})
    };
    let elsewhere = "https://jobs.example.net/{{response.id}}";
    let words = "is at jobs.example.net, which security.allowedDomains does not include";
    assert_refused([
        (polling(elsewhere, json!([])), "config.poll.url", words),
        (polling(elsewhere, json!(["api.example.com", "example.net"])), "config.poll.url", words),
        (
            polling("/jobs/{{id}}", json!(["jobs.example.net"])),
            "config.security.allowedDomains",
            "does not include api.example.com",
        ),
    ]);
    for (url, allowed) in [
        (elsewhere, json!(["api.example.com", "*.example.net"])),
        ("https://API.example.com/jobs/{{id}}", json!([])),
        ("/jobs/{{id}}", json!([])),
        ("{{statusUrl}}", json!(["api.example.com"])),
    ] {
        let reported = wrong(&engine(&[]), defined(polling(url, allowed)));
        assert!(reported.is_empty(), "{url}: {reported:?}");
    }
}

#[tokio::test]
async fn all_violations_are_reported_at_once() {
    let config = json!({
        "url": "https://{{host}}/x",
        "headers": {"Host": "evil.example", "bad name": "x"},
        "auth": {"type": "digest"},
        "params": {"a": "{{a b}}"},
        "security": {"allowedDomains": ["not a host"]},
        "redact": ["a..b"],
        "responseFilter": "[",
    });
    let mut paths: Vec<String> =
        wrong(&engine(&[]), defined(config)).into_iter().map(|(path, _)| path).collect();
    paths.sort_unstable();
    let expected = [
        "config.auth.type",
        "config.headers.Host",
        "config.headers.bad name",
        "config.params.a",
        "config.redact.0",
        "config.responseFilter",
        "config.security.allowedDomains.0",
        "config.url",
    ];
    assert_eq!(paths, expected, "every place");
}
