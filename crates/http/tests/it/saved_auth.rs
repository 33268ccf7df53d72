//! Validation of `auth` when tools are saved: types, fields and their values.

use serde_json::{Value, json};

use crate::support::{defined, engine, with, wrong};

fn config(auth: Value) -> Value {
    json!({"url": "https://api.example.com/items", "auth": auth})
}

fn oauth(fields: Value) -> Value {
    let whole = json!({
        "type": "oauth2ClientCredentials", "tokenUrl": "https://id.example.com/token",
        "clientId": "haft", "clientSecret": "secret://client", "scope": "read",
    });
    with(whole, fields)
}

/// The violations of an auth, with their paths.
fn violations_of(auth: Value) -> Vec<(String, String)> {
    wrong(&engine(&[]), defined(config(auth)))
}

#[tokio::test]
async fn unknown_types_and_fields_are_rejected() {
    for (auth, path, words) in [
        (
            json!({"type": "digest"}),
            "config.auth.type",
            "digest is not an auth type; use none, bearer, basic",
        ),
        (json!("digest"), "config.auth.type", "digest is not an auth type"),
        (json!({}), "config.auth.type", "is required for auth"),
        (json!({"type": 5}), "config.auth.type", "is required for auth"),
        (json!({"token": "x"}), "config.auth.type", "is required for auth"),
        (json!(5), "config.auth", "… is not of type \"object\""),
        (json!([]), "config.auth", "is not of type \"object\""),
        (json!({"type": "none", "token": "x"}), "config.auth.token", "is not a field of none"),
        (
            json!({"type": "bearer", "token": "x", "tokn": "y"}),
            "config.auth.tokn",
            "is not a field of bearer; it has token",
        ),
        (
            json!({"type": "basic", "username": "a", "password": "b", "realm": "c"}),
            "config.auth.realm",
            "is not a field of basic; it has username, password",
        ),
        (
            json!({"type": "apiKey", "name": "X", "value": "v", "key": "w"}),
            "config.auth.key",
            "is not a field of apiKey; it has in, name, value",
        ),
        (
            oauth(json!({"audience": "x"})),
            "config.auth.audience",
            "is not a field of oauth2ClientCredentials",
        ),
        (
            json!({"type": "apiKey", "in": "cookie", "name": "k", "value": "v"}),
            "config.auth.in",
            "must be header or query",
        ),
        (
            json!({"type": "apiKey", "name": "bad name", "value": "v"}),
            "config.auth.name",
            "is not the name of a header",
        ),
        (
            json!({"type": "basic", "username": "a:b", "password": "c"}),
            "config.auth.username",
            "must not contain a colon",
        ),
        (json!({"type": "bearer", "token": 5}), "config.auth.token", "must be a text"),
        (oauth(json!({"scope": 5})), "config.auth.scope", "must be a text"),
        (
            oauth(json!({"tokenUrl": "ftp://id.example.com/"})),
            "config.auth.tokenUrl",
            "must be an absolute http or https URL",
        ),
        (
            oauth(json!({"tokenUrl": "/token"})),
            "config.auth.tokenUrl",
            "must be an absolute http or https URL",
        ),
        (
            oauth(json!({"tokenUrl": "https://user@id.example.com/"})),
            "config.auth.tokenUrl",
            "must be an absolute http or https URL without user name, variables or secrets",
        ),
    ] {
        let reported = violations_of(auth.clone());
        assert!(reported.len() == 1 && reported[0].0 == path, "{auth}: wrong at {reported:?}, not at {path}");
        assert!(reported[0].1.contains(words), "{auth}: reported {:?}, not {words:?}", reported[0].1);
    }
}

#[tokio::test]
async fn missing_fields_are_reported() {
    for (auth, kind, missing) in [
        (json!({"type": "bearer"}), "bearer", vec!["token"]),
        (json!("bearer"), "bearer", vec!["token"]),
        (json!({"type": "bearer", "token": ""}), "bearer", vec!["token"]),
        (json!({"type": "bearer", "token": null}), "bearer", vec!["token"]),
        (json!({"type": "basic"}), "basic", vec!["username"]),
        (json!({"type": "apiKey"}), "apiKey", vec!["name", "value"]),
        (json!({"type": "apiKey", "in": "query", "name": "k"}), "apiKey", vec!["value"]),
        (
            json!({"type": "oauth2ClientCredentials"}),
            "oauth2ClientCredentials",
            vec!["tokenUrl", "clientId", "clientSecret"],
        ),
        (oauth(json!({"clientSecret": ""})), "oauth2ClientCredentials", vec!["clientSecret"]),
    ] {
        let expected: Vec<(String, String)> = missing
            .into_iter()
            .map(|field| (format!("config.auth.{field}"), format!("is required for {kind}")))
            .collect();
        assert_eq!(violations_of(auth.clone()), expected, "{auth}");
    }
}

#[tokio::test]
async fn credentials_never_come_from_the_model() {
    let variable = "cannot contain a variable: credentials come from secrets, not from the model";
    for (auth, field, words) in [
        (json!({"type": "bearer", "token": "{{token}}"}), "token", variable),
        (json!({"type": "bearer", "token": "a-{{token}}-b"}), "token", variable),
        (json!({"type": "bearer", "token": "{{callId}}"}), "token", variable),
        (json!({"type": "basic", "username": "{{u}}", "password": "p"}), "username", variable),
        (json!({"type": "basic", "username": "u", "password": "{{p}}"}), "password", variable),
        (json!({"type": "apiKey", "name": "X-Key", "value": "{{k}}"}), "value", variable),
        (json!({"type": "apiKey", "in": "query", "name": "key", "value": "{{k}}"}), "value", variable),
        (oauth(json!({"clientId": "{{c}}"})), "clientId", variable),
        (oauth(json!({"clientSecret": "{{c}}"})), "clientSecret", variable),
        (json!({"type": "bearer", "token": "{{a b}}"}), "token", "{{a b}} is not a variable"),
        (json!({"type": "bearer", "token": "secret://"}), "token", "secret:// must be followed by a name"),
    ] {
        let reported = violations_of(auth.clone());
        let path = format!("config.auth.{field}");
        assert!(reported.len() == 1 && reported[0].0 == path, "{auth}: wrong at {reported:?}, not at {path}");
        assert!(reported[0].1.contains(words), "{auth}: reported {:?}, not {words:?}", reported[0].1);
    }
}

#[tokio::test]
async fn the_token_url_must_be_fixed() {
    for url in
        ["https://{{host}}/token", "https://id.example.com/{{path}}", "https://id.example.com/t?x={{x}}"]
    {
        let reported = violations_of(oauth(json!({"tokenUrl": url})));
        assert!(reported.len() == 1 && reported[0].0 == "config.auth.tokenUrl", "{url}: {reported:?}");
    }
}

#[tokio::test]
async fn a_key_cannot_use_a_reserved_header() {
    for name in ["Host", "Content-Length", "Transfer-Encoding", "Connection"] {
        let reported =
            violations_of(json!({"type": "apiKey", "in": "header", "name": name, "value": "secret://k"}));
        assert!(reported.len() == 1 && reported[0].0 == "config.auth.name", "{name}: {reported:?}");
    }
}

#[tokio::test]
async fn a_header_cannot_be_set_by_both_auth_and_headers() {
    let tools = engine(&[]);
    let key = json!({"type": "apiKey", "name": "X-Key", "value": "secret://k"});
    let named_authorization = json!({"type": "apiKey", "name": "authorization", "value": "secret://k"});
    for (auth, header, name) in [
        (json!({"type": "bearer", "token": "t"}), "Authorization", "authorization"),
        (json!({"type": "bearer", "token": "t"}), "authorization", "authorization"),
        (json!({"type": "basic", "username": "u", "password": "p"}), "AUTHORIZATION", "authorization"),
        (oauth(json!({})), "Authorization", "authorization"),
        (key.clone(), "x-key", "x-key"),
        (named_authorization, "Authorization", "authorization"),
    ] {
        let both = with(config(auth.clone()), json!({"headers": {header: "x"}}));
        let words = format!("sets the header {name}, which headers also sets; give only one of them");
        assert_eq!(wrong(&tools, defined(both)), [("config.auth".to_owned(), words)], "{auth} and {header}");
    }
    let apart = with(config(key), json!({"headers": {"Authorization": "x"}}));
    let reported = wrong(&tools, defined(apart));
    assert!(reported.is_empty(), "two headers: {reported:?}");
    let query = json!({"type": "apiKey", "in": "query", "name": "Authorization", "value": "secret://k"});
    let apart = with(config(query), json!({"headers": {"Authorization": "x"}}));
    let reported = wrong(&tools, defined(apart));
    assert!(reported.is_empty(), "a header and a query field: {reported:?}");
}
