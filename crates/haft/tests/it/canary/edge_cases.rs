//! Edge cases of masking: parts of credentials, truncated echoes, URL encodings, and error messages.

use axum::http::{Method, Response};
use haft_testkit::{Client, RecordedRequest, Upstream, http_response, json_reply};
use serde_json::{Value, json};

use super::encodings::{base64, percent_but, unbase64};
use super::watch::Watch;
use crate::http_tools::start;

/// Creates a tool, calls it, and searches the responses.
async fn call(watch: &Watch, api: &Client, upstream: &Upstream, name: &str, more: Value) -> String {
    let mut tool = json!({"name": name, "description": "d", "url": upstream.url("/"), "retryCount": 0});
    for (field, value) in more.as_object().expect("fields") {
        tool[field] = value.clone();
    }
    let created = api.post("/api/tools", &tool).await;
    assert_eq!(created.status, 201, "{name}: {}", created.body);
    watch.search_reply(&format!("creation of {name}"), &created);
    let called = api.post(&format!("/api/tools/{name}/execute"), &json!({})).await;
    watch.search_reply(name, &called);
    called.body.to_string()
}

#[tokio::test]
async fn parts_of_a_credential_are_masked() {
    let upstream = Upstream::start(|seen| {
        let cookies = seen.header("cookie").unwrap_or_default().split("; ").map(str::to_owned);
        let values: Vec<String> =
            cookies.filter_map(|pair| Some(pair.split_once('=')?.1.to_owned())).collect();
        let basic = seen.header("authorization").and_then(|value| unbase64(value.strip_prefix("Basic ")?));
        let password = basic.and_then(|both| Some(both.split_once(':')?.1.to_owned()));
        json_reply(200, &json!({"cookies": values, "password": password}))
    })
    .await;
    let (watch, (_server, api)) = (Watch::default(), start(&[]).await);
    let cookie = format!("theme=dark; session={}", watch.new_plain_canary("session of an upstream"));
    let text = call(&watch, &api, &upstream, "cookies", json!({"headers": {"Cookie": cookie}})).await;
    assert!(text.contains("***"), "{text}");
    let basic = base64(format!("ada:{}", watch.new_canary("password-within")).as_bytes());
    let headers = json!({"headers": {"Authorization": format!("Basic {basic}")}});
    let text = call(&watch, &api, &upstream, "basic", headers).await;
    assert!(text.contains("***"), "{text}");
    watch.end(4);
}

#[tokio::test]
async fn truncated_echo_contains_no_part_of_a_secret() {
    // Puts padding before the credential, so that it spans the offsets at which texts are truncated.
    fn respond(seen: &RecordedRequest) -> Response<Vec<u8>> {
        let key = seen.header("x-api-key").unwrap_or_default();
        let length: usize =
            seen.header("x-length").and_then(|length| length.parse().ok()).unwrap_or_default();
        let long = format!("{}{key}", "x".repeat(length));
        match seen.header("x-how") {
            Some("coding") => http_response(200, &[("content-encoding", long.as_str())], "abc"),
            Some("type") => {
                http_response(200, &[("content-type", format!("image/{long}").as_str())], vec![0_u8, 255])
            }
            Some("body") => http_response(400, &[("content-type", "text/plain")], long),
            Some(_) | None => json_reply(200, &json!({})),
        }
    }
    let upstream = Upstream::start(respond).await;
    let issuer = Upstream::start(|seen| {
        let body = seen.text();
        let secret =
            body.split('&').find_map(|field| field.strip_prefix("client_secret=")).unwrap_or_default();
        let description = format!("{}{secret}", "x".repeat(1024 - 30));
        json_reply(400, &json!({"error": "invalid_client", "error_description": description}))
    })
    .await;
    let (watch, (_server, api)) = (Watch::default(), start(&[]).await);
    for (how, length) in
        [("coding", 30), ("coding", 40), ("type", 40), ("type", 2030), ("body", 2020), ("body", 1000)]
    {
        let name = format!("{how}_{length}");
        let headers = json!({"headers": {"X-Api-Key": watch.new_plain_canary(&name), "X-How": how, "X-Length": length}});
        call(&watch, &api, &upstream, &name, headers).await;
    }
    let auth = json!({"auth": {
        "type": "oauth2ClientCredentials", "tokenUrl": issuer.url("/token"), "clientId": "haft",
        "clientSecret": watch.new_plain_canary("client-secret"),
    }});
    call(&watch, &api, &upstream, "issued", auth).await;
    watch.end(14);
}

#[tokio::test]
async fn all_url_encodings_are_masked() {
    // The unreserved characters of Python, Go, JavaScript and PHP.
    let upstream = Upstream::start(|seen| {
        let key = seen.header("x-api-key").unwrap_or_default();
        let encoded: Vec<String> = ["/-_.~", "-_.~$&+=:@", "-_.~!'()*", "-_."]
            .iter()
            .map(|unreserved| percent_but(key, unreserved))
            .collect();
        json_reply(200, &json!(encoded))
    })
    .await;
    let (watch, (_server, api)) = (Watch::default(), start(&[]).await);
    let headers = json!({"headers": {"X-Api-Key": watch.new_canary("key")}});
    let text = call(&watch, &api, &upstream, "keyed", headers).await;
    assert!(text.contains("***"), "{text}");
    watch.end(2);
}

#[tokio::test]
async fn validation_error_does_not_contain_the_secret() {
    let (watch, (_server, api)) = (Watch::default(), start(&[]).await);
    let secret = watch.new_canary("secret");
    let number = 9_182_736_450_918_273_u64;
    watch.add("secret number", &number.to_string());
    let tool = |headers: Value| json!({"name": "x", "description": "d", "url": "https://a.example/", "headers": headers});
    for (method, path, body) in [
        (Method::PUT, "/api/secrets/x", json!(secret)),
        (Method::PUT, "/api/secrets/x", json!({"value": number})),
        (Method::POST, "/api/users", json!({"name": "x", "password": number})),
        (Method::POST, "/api/login", json!({"name": "x", "password": number})),
        (Method::POST, "/api/tools", tool(json!({"Authorization": [secret]}))),
        (Method::POST, "/api/tools", tool(json!({"Authorization": {"Bearer": secret}}))),
        (Method::POST, "/api/tools", tool(json!(format!("Authorization: Bearer {secret}")))),
        (Method::POST, "/api/tools/import", json!({"tools": [tool(json!({"Authorization": [secret]}))]})),
        (Method::POST, "/api/tools/schema-preview", tool(json!({"Authorization": [secret]}))),
        (Method::POST, "/api/tools/import/openapi", json!({"url": format!("https://u:{secret}@a.example/")})),
    ] {
        let reply = api.send_json(method.clone(), path, &body).await;
        assert_eq!(reply.status, 400, "{method} {path}: {}", reply.body);
        watch.search_reply(&format!("{method} {path}"), &reply);
    }
    watch.end(10);
}
