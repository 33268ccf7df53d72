//! Executes the operations of the API one by one and checks the entries that each adds to the change log.

use std::collections::BTreeSet;

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, TestResponse, Upstream, eventually};
use serde_json::{Value, json};

use super::{CANARY, sequence_number, summary};
use crate::agents::make;
use crate::cli_over_http::mock;
use crate::http_tools::start;
use crate::openapi::check_response;
use crate::permissions::good_body;
use crate::tasks::{accepted_task, execute as execute_tool, wait_for_status};

/// Executes operations and checks their entries.
pub(super) struct Recorder {
    pub(super) server: HaftProcess,
    pub(super) api: Client,
    pub(super) document: Value,
    /// Clients with the `of` parameter of their query. Together they see all entries.
    pub(super) readers: Vec<(Client, &'static str)>,
    /// The number of the last entry that was checked.
    pub(super) last: u64,
    /// The operations that were executed.
    pub(super) done: BTreeSet<String>,
    /// Secret values that no entry may contain.
    pub(super) secrets: Vec<String>,
}

impl Recorder {
    pub(super) async fn start() -> Self {
        let (server, api) = start(&[]).await;
        let document = api.get("/api/openapi.json").await.body;
        let readers = vec![(api.clone(), "space"), (api.clone(), "server")];
        let secrets = vec![CANARY.to_owned()];
        Self { server, api, document, readers, last: 0, done: BTreeSet::new(), secrets }
    }

    /// Returns the entries added since the last call, oldest first.
    pub(super) async fn entries(&mut self) -> Vec<Value> {
        let mut found = Vec::new();
        for (reader, of) in &self.readers {
            let reply = reader.get(&format!("/api/changes?limit=200&of={of}")).await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            check_response(&self.document, "GET", "/api/changes", 200, &reply.body);
            let items = reply.data()["items"].as_array().expect("a list");
            found.extend(items.iter().filter(|entry| sequence_number(entry) > self.last).cloned());
        }
        found.sort_by_key(sequence_number);
        let numbers: Vec<u64> = found.iter().map(sequence_number).collect();
        let expected: Vec<u64> = (self.last + 1..).take(found.len()).collect();
        assert_eq!(numbers, expected, "an entry is missing or seen twice: {found:#?}");
        self.last += found.len() as u64;
        found
    }

    /// Executes an operation. `values` replace the parameters of its path in order.
    pub(super) async fn send(&mut self, operation: &str, values: &[&str], body: &Value) -> TestResponse {
        let (method, template) = operation.split_once(' ').expect("a method and a path");
        assert!(self.document["paths"][template].is_object(), "{operation} is not in the document");
        let mut path = template.to_owned();
        for value in values {
            let (start, end) = (path.find('{').expect("a parameter"), path.find('}').expect("a parameter"));
            path.replace_range(start..=end, value);
        }
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let reply = if body.is_null() {
            self.api.send(method, &path, Vec::new()).await
        } else {
            self.api.send_json(method, &path, body).await
        };
        assert!((200..300).contains(&reply.status), "{operation}: {}", reply.body);
        self.done.insert(operation.to_owned());
        self.secrets.extend(reply.data()["token"].as_str().map(str::to_owned));
        reply
    }

    /// Asserts that exactly these entries were added, by the admin. Each is a prefix of a summary.
    pub(super) async fn check_entries(&mut self, operation: &str, expected: &[&str]) {
        let entries = self.entries().await;
        let found: Vec<String> = entries.iter().map(summary).collect();
        let matches = found.len() == expected.len()
            && found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected));
        assert!(matches, "{operation}: {found:?} instead of {expected:?}");
        for entry in entries {
            assert_eq!(entry["userName"], "admin", "{operation}: {entry}");
            let text = entry.to_string();
            for secret in &self.secrets {
                assert!(!text.contains(secret.as_str()), "{operation} shows {secret}: {text}");
            }
        }
    }

    /// Executes an operation and checks its entries. Returns the data of the response.
    pub(super) async fn execute(
        &mut self,
        operation: &str,
        values: &[&str],
        body: &Value,
        expected: &[&str],
    ) -> Value {
        let reply = self.send(operation, values, body).await;
        self.check_entries(operation, expected).await;
        reply.data().clone()
    }

    pub(super) async fn tools_and_agents(&mut self) {
        let keyed = json!({"name": "keyed", "description": "d", "url": "https://api.example.com/",
            "headers": {"X-Api-Key": CANARY}});
        self.execute("POST /api/tools", &[], &keyed, &["secret.set ", "tool.created keyed"]).await;
        self.execute("POST /api/tools", &[], &mock("echo", "The first."), &["tool.created echo"]).await;
        let other = mock("echo", "The second.");
        self.execute("PUT /api/tools/{id}", &["echo"], &other, &["tool.updated echo"]).await;
        self.execute("PUT /api/tools/{id}", &["echo"], &other, &[]).await;
        self.execute("PUT /api/tools/{id}", &["echo?dryRun=true"], &mock("echo", "No."), &[]).await;
        let category = json!({"category": "math"});
        self.execute("PATCH /api/tools/{id}", &["echo"], &category, &["tool.updated echo"]).await;
        let back = json!({"version": 1});
        self.execute("POST /api/tools/{id}/rollback", &["echo"], &back, &["tool.rolledBack echo"]).await;

        let agent = json!({"name": "helper", "toolIds": ["echo"]});
        self.execute("POST /api/agents", &[], &agent, &["agent.created helper"]).await;
        let updated = ["agent.updated helper"];
        let agent = json!({"name": "helper", "description": "Helps."});
        self.execute("PUT /api/agents/{id}", &["helper"], &agent, &updated).await;
        let description = json!({"description": "Another."});
        self.execute("PATCH /api/agents/{id}", &["helper"], &description, &updated).await;
        let binding = json!({"toolId": "calculator"});
        self.execute("POST /api/agents/{id}/tools", &["helper"], &binding, &updated).await;
        let bound = ["helper", "calculator"];
        let off = json!({"isEnabled": false});
        self.execute("PATCH /api/agents/{id}/tools/{toolId}", &bound, &off, &updated).await;
        self.execute("DELETE /api/agents/{id}/tools/{toolId}", &bound, &Value::Null, &updated).await;
        let gone = ["agent.updated helper", "tool.deleted echo"];
        self.execute("DELETE /api/tools/{id}", &["echo?force=true"], &Value::Null, &gone).await;
        self.execute("DELETE /api/agents/{id}", &["helper"], &Value::Null, &["agent.deleted helper"]).await;
    }

    pub(super) async fn imports(&mut self) {
        let agents = json!([{"name": "taker", "toolIds": ["taken"]}]);
        let files = json!({"tools": [mock("taken", "In.")], "agents": agents});
        let created = ["tool.created taken", "agent.created taker"];
        self.execute("POST /api/tools/import", &[], &files, &created).await;
        self.execute("POST /api/tools/import", &[], &files, &[]).await;
        for (operation, name) in [
            ("POST /api/tools/import/openapi", "from_openapi"),
            ("POST /api/tools/import/curl", "from_curl"),
            ("POST /api/tools/import/postman", "from_postman"),
            ("POST /api/tools/import/har", "from_har"),
        ] {
            let body = good_body(operation, name).expect("a body");
            self.execute(operation, &[], &body, &["tool.created "]).await;
        }
    }

    pub(super) async fn providers_and_secrets(&mut self) {
        let provider = json!({"name": "models", "kind": "openai", "apiKey": CANARY});
        let created = ["secret.set provider_models_key", "provider.created models"];
        self.execute("POST /api/providers", &[], &provider, &created).await;
        let provider = json!({"name": "models", "kind": "openai", "apiKey": "***", "models": ["m"]});
        self.execute("PUT /api/providers/{id}", &["models"], &provider, &["provider.updated models"]).await;
        let gone = ["provider.deleted models"];
        self.execute("DELETE /api/providers/{id}", &["models"], &Value::Null, &gone).await;
        for (name, set, deleted) in [
            ("shared", "secret.set shared", "secret.deleted shared"),
            ("mine?owner=me", "ownSecret.set mine", "ownSecret.deleted mine"),
        ] {
            self.execute("PUT /api/secrets/{name}", &[name], &json!({"value": CANARY}), &[set]).await;
            self.execute("DELETE /api/secrets/{name}", &[name], &Value::Null, &[deleted]).await;
        }
    }

    pub(super) async fn alerts(&mut self) {
        // The queue is always empty, so the alert never fires.
        let hook = format!("https://hooks.example.com/{CANARY}");
        let alert =
            |above: u32| json!({"name": "waiting", "metric": "queueDepth", "above": above, "webhook": hook});
        let created = self.execute("POST /api/alerts", &[], &alert(1), &["alert.created waiting"]).await;
        let id = created["id"].as_str().expect("an id");
        self.execute("PUT /api/alerts/{id}", &[id], &alert(2), &["alert.updated waiting"]).await;
        self.execute("PUT /api/alerts/{id}", &[id], &alert(2), &[]).await;
        let dry = format!("{id}?dryRun=true");
        self.execute("PUT /api/alerts/{id}", &[dry.as_str()], &alert(3), &[]).await;
        self.execute("DELETE /api/alerts/{id}", &[id], &Value::Null, &["alert.deleted waiting"]).await;
    }

    pub(super) async fn tasks(&mut self) {
        let mut tool = mock("asked", "Asks first.");
        tool["policy"] = json!("ask");
        self.execute("POST /api/tools", &[], &tool, &["tool.created asked"]).await;
        let id = accepted_task(&execute_tool(&self.api, "asked", json!({})).await);
        wait_for_status(&self.api, &id, "waiting").await;
        let none = json!({});
        self.execute("POST /api/tasks/{id}/cancel", &[id.as_str()], &none, &["task.cancelled asked"]).await;
        self.execute("POST /api/tasks/{id}/retry", &[id.as_str()], &none, &["task.retried asked"]).await;
        let id = accepted_task(&execute_tool(&self.api, "asked", json!({})).await);
        wait_for_status(&self.api, &id, "waiting").await;
        let no = json!({"decision": "deny"});
        self.execute("POST /api/approvals/{id}", &[id.as_str()], &no, &["approval.denied asked"]).await;

        let upstream = Upstream::start_async(async |_| std::future::pending().await).await;
        let url = format!("http://{}/", upstream.address);
        let tool = json!({"name": "sends", "description": "d", "url": url, "method": "POST"});
        self.execute("POST /api/tools", &[], &tool, &["tool.created sends"]).await;
        let id =
            accepted_task(&execute_tool(&self.api, "sends", json!({"options": {"mode": "async"}})).await);
        eventually("the request is sent", async || !upstream.seen().is_empty()).await;
        self.execute("POST /api/tasks/{id}/cancel", &[id.as_str()], &none, &["task.cancelled sends"]).await;
        wait_for_status(&self.api, &id, "unknown").await;
        let resolution = json!({"status": "failed"});
        self.execute("POST /api/tasks/{id}/resolve", &[id.as_str()], &resolution, &["task.resolved sends"])
            .await;
    }

    /// Tests invitations, with an admin of the space: operators add members without an invitation.
    pub(super) async fn invitations(&mut self, team: &str) {
        let admin = self.api.clone();
        let session = async |name: &str| {
            let anyone = Client::anonymous(&self.server.url);
            let login = json!({"name": name, "password": format!("{CANARY}-{name}")});
            let login_reply = anyone.post("/api/login", &login).await;
            let cookie = login_reply.header("set-cookie").and_then(|cookie| cookie.split(';').next());
            anyone.with("cookie", cookie.expect("a cookie"))
        };
        for name in ["carl", "dora"] {
            let user = json!({"name": name, "password": format!("{CANARY}-{name}")});
            make(&admin, "/api/users", &user).await;
        }
        let role = json!({"role": "admin"});
        assert_eq!(admin.put(&format!("/api/spaces/{team}/members/carl"), &role).await.status, 200);
        let (carl, dora) = (session("carl").await, session("dora").await);
        self.entries().await;
        let (invited, role) = ([team, "dora"], json!({"role": "viewer"}));
        let invite = "PUT /api/spaces/{id}/members/{user}";
        let withdraw = "DELETE /api/spaces/{id}/invitations/{user}";
        let (decline, accept) = ("DELETE /api/invitations/{id}", "POST /api/invitations/{id}/accept");
        for (client, by, operation, values, body, expected) in [
            (&carl, "carl", invite, &invited[..], &role, "member.invited dora"),
            (&carl, "carl", withdraw, &invited[..], &Value::Null, "member.removed dora"),
            (&carl, "carl", invite, &invited[..], &role, "member.invited dora"),
            (&dora, "dora", decline, &invited[..1], &Value::Null, "member.removed dora"),
            (&carl, "carl", invite, &invited[..], &role, "member.invited dora"),
            (&dora, "dora", accept, &invited[..1], &json!({}), "member.added dora"),
        ] {
            self.api = client.clone();
            self.send(operation, values, body).await;
            let entries = self.entries().await;
            let recorded: Vec<(String, &Value)> =
                entries.iter().map(|entry| (summary(entry), &entry["userName"])).collect();
            assert_eq!(recorded, [(expected.to_owned(), &json!(by))], "{operation}");
        }
        self.api = admin;
    }

    pub(super) async fn people(&mut self) {
        let bob = json!({"name": "bob", "password": CANARY});
        let bob = self.execute("POST /api/users", &[], &bob, &["user.created bob"]).await;
        let id = bob["id"].as_str().expect("an id");
        let both = json!({"password": format!("{CANARY}-2"), "isAdmin": true});
        let expected = ["user.passwordSet bob", "user.updated bob"];
        self.execute("PATCH /api/users/{id}", &[id], &both, &expected).await;

        let team = self.send("POST /api/spaces", &[], &json!({"name": "team"})).await.data().clone();
        let team = team["id"].as_str().expect("an id");
        let token = json!({"name": "of_team", "spaceId": team});
        let token = self.send("POST /api/tokens", &[], &token).await.data().clone();
        let reader = Client::new(&self.server.url, token["token"].as_str().expect("a token"));
        self.readers.push((reader, "space"));
        self.check_entries("POST /api/spaces", &["space.created team", "token.created of_team"]).await;
        let name = json!({"name": "the team"});
        self.execute("PUT /api/spaces/{id}", &[team], &name, &["space.updated the team"]).await;
        let member = [team, "bob"];
        for (role, expected) in [
            ("viewer", ["member.added bob"].as_slice()),
            ("viewer", &[]),
            ("editor", &["member.updated bob"]),
        ] {
            let role = json!({"role": role});
            self.execute("PUT /api/spaces/{id}/members/{user}", &member, &role, expected).await;
        }
        let left = ["member.removed bob"];
        self.execute("DELETE /api/spaces/{id}/members/{user}", &member, &Value::Null, &left).await;
        self.invitations(team).await;
        let created =
            self.execute("POST /api/tokens", &[], &json!({"name": "ci"}), &["token.created ci"]).await;
        let id = created["id"].as_str().expect("an id");
        self.execute("DELETE /api/tokens/{id}", &[id], &Value::Null, &["token.revoked ci"]).await;

        let forced = format!("{team}?force=true");
        // The entries of the space are retained, but no reader can see them after the deletion.
        self.readers.pop();
        let gone = ["space.deleted the team"];
        self.execute("DELETE /api/spaces/{id}", &[forced.as_str()], &Value::Null, &gone).await;
    }
}
