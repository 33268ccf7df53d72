//! Definitions as files: export and apply of every field of all four types, pinned versions, credentials,
//! exit codes.

mod commands;
mod fields;
mod limits;
mod pins;
mod references;
mod round_trip;

use haft_testkit::{Client, CommandOutput};
use serde_json::{Value, json};

use crate::cli_over_http::{Desk, worked};

/// A separate space on the server, with a token for it.
struct TestSpace<'a> {
    desk: &'a Desk,
    token: String,
    api: Client,
}

impl<'a> TestSpace<'a> {
    async fn new(desk: &'a Desk, name: &str) -> Self {
        let space = desk.api.post("/api/spaces", &json!({"name": name})).await;
        let body = json!({"name": name, "scope": "admin", "spaceId": space.data()["id"]});
        let token = desk.api.post("/api/tokens", &body).await;
        let token = token.data()["token"].as_str().expect("a token").to_owned();
        let api = Client::new(&desk.server.url, &token);
        Self { desk, token, api }
    }

    async fn haft(&self, arguments: &[&str], input: &str) -> CommandOutput {
        self.desk.haft_as(&self.token, arguments, input).await
    }

    async fn export(&self) -> String {
        worked(self.haft(&["export"], "").await).stdout
    }

    async fn make(&self, path: &str, body: &Value) -> Value {
        let reply = self.api.post(path, body).await;
        assert!(reply.status < 300, "{path} {body}: {}", reply.body);
        reply.data().clone()
    }

    async fn items(&self, path: &str) -> Vec<Value> {
        let reply = self.api.get(path).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.data()["items"].as_array().expect("items").clone()
    }
}
