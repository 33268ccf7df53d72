//! One operation of the API after the other, with a look at the entries that each left.

use std::collections::BTreeSet;

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, Reply, Upstream, eventually};
use serde_json::{Value, json};

use super::{CANARY, place, said};
use crate::agents::make;
use crate::cli_over_http::mock;
use crate::http_tools::start;
use crate::openapi::check_answer;
use crate::permissions::good_body;
use crate::tasks::{execute, standing, taken};

/// One operation after the other, with a look at what each left.
pub(super) struct Walk {
    pub(super) server: HaftProcess,
    pub(super) api: Client,
    pub(super) document: Value,
    /// Who reads, and of what: together they see everything.
    pub(super) readers: Vec<(Client, &'static str)>,
    pub(super) last: u64,
    pub(super) done: BTreeSet<String>,
    /// Values that were given or made, and must be in no entry.
    pub(super) secrets: Vec<String>,
}

impl Walk {
    pub(super) async fn begin() -> Self {
        let (server, api) = start(&[]).await;
        let document = api.get("/api/openapi.json").await.body;
        let readers = vec![(api.clone(), "space"), (api.clone(), "server")];
        let secrets = vec![CANARY.to_owned()];
        Self { server, api, document, readers, last: 0, done: BTreeSet::new(), secrets }
    }

    /// What was put on record since the last look, the oldest first.
    pub(super) async fn entries(&mut self) -> Vec<Value> {
        let mut found = Vec::new();
        for (reader, of) in &self.readers {
            let reply = reader.get(&format!("/api/changes?limit=200&of={of}")).await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            check_answer(&self.document, "GET", "/api/changes", 200, &reply.body);
            let items = reply.data()["items"].as_array().expect("a list");
            found.extend(items.iter().filter(|entry| place(entry) > self.last).cloned());
        }
        found.sort_by_key(place);
        let places: Vec<u64> = found.iter().map(place).collect();
        let expected: Vec<u64> = (self.last + 1..).take(found.len()).collect();
        assert_eq!(places, expected, "something is seen by nobody, or twice: {found:#?}");
        self.last += found.len() as u64;
        found
    }

    /// Does one operation, with the values of its path in their order.
    pub(super) async fn send(&mut self, operation: &str, values: &[&str], body: &Value) -> Reply {
        let (method, template) = operation.split_once(' ').expect("a method and a path");
        assert!(self.document["paths"][template].is_object(), "{operation} is not in the document");
        let mut path = template.to_owned();
        for value in values {
            let (start, end) = (path.find('{').expect("a place"), path.find('}').expect("a place"));
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

    /// Fails unless just this was put on record, by the admin. Each is how an entry begins.
    pub(super) async fn told(&mut self, operation: &str, expected: &[&str]) {
        let entries = self.entries().await;
        let told: Vec<String> = entries.iter().map(said).collect();
        let is_so = told.len() == expected.len()
            && told.iter().zip(expected).all(|(told, expected)| told.starts_with(expected));
        assert!(is_so, "{operation}: {told:?} instead of {expected:?}");
        for entry in entries {
            assert_eq!(entry["userName"], "admin", "{operation}: {entry}");
            let text = entry.to_string();
            for secret in &self.secrets {
                assert!(!text.contains(secret.as_str()), "{operation} shows {secret}: {text}");
            }
        }
    }

    pub(super) async fn does(
        &mut self,
        operation: &str,
        values: &[&str],
        body: &Value,
        expected: &[&str],
    ) -> Value {
        let reply = self.send(operation, values, body).await;
        self.told(operation, expected).await;
        reply.data().clone()
    }

    pub(super) async fn tools_and_agents(&mut self) {
        let keyed = json!({"name": "keyed", "description": "d", "url": "https://api.example.com/",
            "headers": {"X-Api-Key": CANARY}});
        self.does("POST /api/tools", &[], &keyed, &["secret.set ", "tool.created keyed"]).await;
        self.does("POST /api/tools", &[], &mock("echo", "The first."), &["tool.created echo"]).await;
        let other = mock("echo", "The second.");
        self.does("PUT /api/tools/{id}", &["echo"], &other, &["tool.updated echo"]).await;
        self.does("PUT /api/tools/{id}", &["echo"], &other, &[]).await;
        self.does("PUT /api/tools/{id}", &["echo?dryRun=true"], &mock("echo", "No."), &[]).await;
        let category = json!({"category": "math"});
        self.does("PATCH /api/tools/{id}", &["echo"], &category, &["tool.updated echo"]).await;
        let back = json!({"version": 1});
        self.does("POST /api/tools/{id}/rollback", &["echo"], &back, &["tool.rolledBack echo"]).await;

        let agent = json!({"name": "helper", "toolIds": ["echo"]});
        self.does("POST /api/agents", &[], &agent, &["agent.created helper"]).await;
        let updated = ["agent.updated helper"];
        let agent = json!({"name": "helper", "description": "Helps."});
        self.does("PUT /api/agents/{id}", &["helper"], &agent, &updated).await;
        let description = json!({"description": "Another."});
        self.does("PATCH /api/agents/{id}", &["helper"], &description, &updated).await;
        let binding = json!({"toolId": "calculator"});
        self.does("POST /api/agents/{id}/tools", &["helper"], &binding, &updated).await;
        let bound = ["helper", "calculator"];
        let off = json!({"isEnabled": false});
        self.does("PATCH /api/agents/{id}/tools/{toolId}", &bound, &off, &updated).await;
        self.does("DELETE /api/agents/{id}/tools/{toolId}", &bound, &Value::Null, &updated).await;
        let gone = ["agent.updated helper", "tool.deleted echo"];
        self.does("DELETE /api/tools/{id}", &["echo?force=true"], &Value::Null, &gone).await;
        self.does("DELETE /api/agents/{id}", &["helper"], &Value::Null, &["agent.deleted helper"]).await;
    }

    pub(super) async fn imports(&mut self) {
        let agents = json!([{"name": "taker", "toolIds": ["taken"]}]);
        let files = json!({"tools": [mock("taken", "In.")], "agents": agents});
        let made = ["tool.created taken", "agent.created taker"];
        self.does("POST /api/tools/import", &[], &files, &made).await;
        self.does("POST /api/tools/import", &[], &files, &[]).await;
        for (operation, name) in [
            ("POST /api/tools/import/openapi", "from_openapi"),
            ("POST /api/tools/import/curl", "from_curl"),
            ("POST /api/tools/import/postman", "from_postman"),
            ("POST /api/tools/import/har", "from_har"),
        ] {
            let body = good_body(operation, name).expect("a body");
            self.does(operation, &[], &body, &["tool.created "]).await;
        }
    }

    pub(super) async fn providers_and_secrets(&mut self) {
        let provider = json!({"name": "models", "kind": "openai", "apiKey": CANARY});
        let made = ["secret.set provider_models_key", "provider.created models"];
        self.does("POST /api/providers", &[], &provider, &made).await;
        let provider = json!({"name": "models", "kind": "openai", "apiKey": "***", "models": ["m"]});
        self.does("PUT /api/providers/{id}", &["models"], &provider, &["provider.updated models"]).await;
        let gone = ["provider.deleted models"];
        self.does("DELETE /api/providers/{id}", &["models"], &Value::Null, &gone).await;
        for (name, set, deleted) in [
            ("shared", "secret.set shared", "secret.deleted shared"),
            ("mine?owner=me", "ownSecret.set mine", "ownSecret.deleted mine"),
        ] {
            self.does("PUT /api/secrets/{name}", &[name], &json!({"value": CANARY}), &[set]).await;
            self.does("DELETE /api/secrets/{name}", &[name], &Value::Null, &[deleted]).await;
        }
    }

    pub(super) async fn alerts(&mut self) {
        // Nothing ever waits, so it never fires.
        let hook = format!("https://hooks.example.com/{CANARY}");
        let alert =
            |above: u32| json!({"name": "waiting", "metric": "queueDepth", "above": above, "webhook": hook});
        let made = self.does("POST /api/alerts", &[], &alert(1), &["alert.created waiting"]).await;
        let id = made["id"].as_str().expect("an id");
        self.does("PUT /api/alerts/{id}", &[id], &alert(2), &["alert.updated waiting"]).await;
        self.does("PUT /api/alerts/{id}", &[id], &alert(2), &[]).await;
        let dry = format!("{id}?dryRun=true");
        self.does("PUT /api/alerts/{id}", &[dry.as_str()], &alert(3), &[]).await;
        self.does("DELETE /api/alerts/{id}", &[id], &Value::Null, &["alert.deleted waiting"]).await;
    }

    pub(super) async fn tasks(&mut self) {
        let mut asked = mock("asked", "Asks first.");
        asked["policy"] = json!("ask");
        self.does("POST /api/tools", &[], &asked, &["tool.created asked"]).await;
        let id = taken(&execute(&self.api, "asked", json!({})).await);
        standing(&self.api, &id, "waiting").await;
        let none = json!({});
        self.does("POST /api/tasks/{id}/cancel", &[id.as_str()], &none, &["task.cancelled asked"]).await;
        self.does("POST /api/tasks/{id}/retry", &[id.as_str()], &none, &["task.retried asked"]).await;
        let id = taken(&execute(&self.api, "asked", json!({})).await);
        standing(&self.api, &id, "waiting").await;
        let no = json!({"decision": "deny"});
        self.does("POST /api/approvals/{id}", &[id.as_str()], &no, &["approval.denied asked"]).await;

        let upstream = Upstream::start_async(async |_| std::future::pending().await).await;
        let url = format!("http://{}/", upstream.address);
        let tool = json!({"name": "sends", "description": "d", "url": url, "method": "POST"});
        self.does("POST /api/tools", &[], &tool, &["tool.created sends"]).await;
        let id = taken(&execute(&self.api, "sends", json!({"options": {"mode": "async"}})).await);
        eventually("it was sent", async || !upstream.seen().is_empty()).await;
        self.does("POST /api/tasks/{id}/cancel", &[id.as_str()], &none, &["task.cancelled sends"]).await;
        standing(&self.api, &id, "unknown").await;
        let became = json!({"status": "failed"});
        self.does("POST /api/tasks/{id}/resolve", &[id.as_str()], &became, &["task.resolved sends"]).await;
    }

    /// Only an admin of a space who does not run the server has to invite.
    pub(super) async fn invitations(&mut self, team: &str) {
        let admin = self.api.clone();
        let session = async |name: &str| {
            let anyone = Client::anonymous(&self.server.url);
            let login = json!({"name": name, "password": format!("{CANARY}-{name}")});
            let entered = anyone.post("/api/login", &login).await;
            let cookie = entered.header("set-cookie").and_then(|cookie| cookie.split(';').next());
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
                entries.iter().map(|entry| (said(entry), &entry["userName"])).collect();
            assert_eq!(recorded, [(expected.to_owned(), &json!(by))], "{operation}");
        }
        self.api = admin;
    }

    pub(super) async fn people(&mut self) {
        let bob = json!({"name": "bob", "password": CANARY});
        let bob = self.does("POST /api/users", &[], &bob, &["user.created bob"]).await;
        let id = bob["id"].as_str().expect("an id");
        let both = json!({"password": format!("{CANARY}-2"), "isAdmin": true});
        let told = ["user.passwordSet bob", "user.updated bob"];
        self.does("PATCH /api/users/{id}", &[id], &both, &told).await;

        let team = self.send("POST /api/spaces", &[], &json!({"name": "team"})).await.data().clone();
        let team = team["id"].as_str().expect("an id");
        let token = json!({"name": "of_team", "spaceId": team});
        let token = self.send("POST /api/tokens", &[], &token).await.data().clone();
        let reader = Client::new(&self.server.url, token["token"].as_str().expect("a token"));
        self.readers.push((reader, "space"));
        self.told("POST /api/spaces", &["space.created team", "token.created of_team"]).await;
        let name = json!({"name": "the team"});
        self.does("PUT /api/spaces/{id}", &[team], &name, &["space.updated the team"]).await;
        let member = [team, "bob"];
        for (role, told) in [
            ("viewer", ["member.added bob"].as_slice()),
            ("viewer", &[]),
            ("editor", &["member.updated bob"]),
        ] {
            let role = json!({"role": role});
            self.does("PUT /api/spaces/{id}/members/{user}", &member, &role, told).await;
        }
        let left = ["member.removed bob"];
        self.does("DELETE /api/spaces/{id}/members/{user}", &member, &Value::Null, &left).await;
        self.invitations(team).await;
        let made = self.does("POST /api/tokens", &[], &json!({"name": "ci"}), &["token.created ci"]).await;
        let id = made["id"].as_str().expect("an id");
        self.does("DELETE /api/tokens/{id}", &[id], &Value::Null, &["token.revoked ci"]).await;

        let forced = format!("{team}?force=true");
        // Its own entries stay on record, and nobody can come to see them.
        self.readers.pop();
        let gone = ["space.deleted the team"];
        self.does("DELETE /api/spaces/{id}", &[forced.as_str()], &Value::Null, &gone).await;
    }
}
