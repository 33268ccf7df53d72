//! Invalid requests that contain a secret: no error message may repeat it.

use axum::http::Method;
use haft_testkit::Client;
use serde_json::{Value, json};

use super::Scene;

impl Scene {
    pub(super) async fn send_invalid_requests(&self) {
        let secret = self.watch.new_canary("secret-of-a-mistake");
        let plain = self.watch.new_plain_canary("password-in-a-url");
        let url = self.upstream.url("/text");
        let tool = |more: Value| {
            let mut tool = json!({"name": "mistake", "description": "d", "url": url});
            for (field, value) in more.as_object().expect("fields") {
                tool[field] = value.clone();
            }
            tool
        };
        let curl = |rest: &str| json!({"command": format!("curl -H 'Authorization: Bearer {secret}{rest}")});
        for (method, path, body, status) in [
            (Method::PUT, "/api/secrets/x", json!({"value": [secret]}), 400),
            (Method::PUT, "/api/secrets/no%20name", json!({"value": secret}), 400),
            (Method::PUT, "/api/secrets/x?owner=nobody", json!({"value": secret}), 400),
            (Method::POST, "/api/users", json!({"name": "x", "password": [secret]}), 400),
            (Method::POST, "/api/users", json!({"name": "admin", "password": secret}), 409),
            (Method::POST, "/api/login", json!({"name": "admin", "password": secret}), 401),
            (Method::POST, "/api/login", json!({"name": "nobody", "password": secret}), 401),
            (Method::POST, "/api/login", json!({"token": secret}), 401),
            (Method::POST, "/api/login", json!({"link": secret}), 401),
            (Method::POST, "/api/login", json!({"password": secret}), 400),
            (Method::POST, "/api/tools", tool(json!({"auth": {"type": "bearer", "token": [secret]}})), 400),
            (Method::POST, "/api/tools", tool(json!({"auth": {"type": "bearer", "tokn": secret}})), 400),
            (
                Method::POST,
                "/api/tools",
                tool(
                    json!({"auth": {"type": "basic", "username": "u", "password": format!("{secret}{{{{")}}),
                ),
                400,
            ),
            (Method::POST, "/api/tools", tool(json!({"url": format!("http://u:{plain}@a.example/")})), 400),
            (
                Method::POST,
                "/api/tools",
                tool(json!({"name": "header_0", "headers": {"X-Key": secret}})),
                409,
            ),
            (Method::POST, "/api/tools", tool(json!({"headers": {"Host": "x", "X-Key": secret}})), 400),
            (Method::PUT, "/api/tools/calculator", tool(json!({"headers": {"X-Key": secret}})), 403),
            (Method::POST, "/api/providers", json!({"name": "x", "kind": "openai", "apiKey": [secret]}), 400),
            (Method::POST, "/api/providers", json!({"name": "x", "kind": "none", "apiKey": secret}), 400),
            (
                Method::POST,
                "/api/providers",
                json!({"name": "models", "kind": "openai", "apiKey": secret}),
                409,
            ),
            (Method::POST, "/api/tools/import/curl", curl("' --no-such-option http://a.example/"), 400),
            (Method::POST, "/api/tools/import/curl", curl(" http://a.example/"), 400),
            (
                Method::POST,
                "/api/tools/import/openapi",
                json!({"url": format!("http://u:{plain}@127.0.0.1/")}),
                403,
            ),
        ] {
            let reply = self.send(&self.api, method.clone(), path, &body).await;
            assert_eq!(reply.status, status, "{method} {path} {body}: {}", reply.body);
        }
        let typed = self.api.with("content-type", "application/json");
        let truncated =
            typed.send(Method::PUT, "/api/secrets/x", format!("{{\"value\": \"{secret}").into_bytes()).await;
        assert_eq!(truncated.status, 400, "{}", truncated.body);
        self.watch.search_reply("a truncated body", &truncated);
        let stranger = Client::new(&self.server.url, &secret);
        for path in ["/api/tools", "/api/nothing"] {
            assert_eq!(self.send(&stranger, Method::GET, path, &Value::Null).await.status, 401);
        }
    }
}
