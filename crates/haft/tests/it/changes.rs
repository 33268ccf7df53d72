//! Who changed what, through the doors of the binary: every operation that changes something leaves an entry,
//! and each reader sees what is theirs to see.

use std::collections::BTreeSet;

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, Reply, Upstream, eventually};
use serde_json::{Value, json};

use crate::agents::{make, patch, scoped, stranger};
use crate::cli_over_http::mock;
use crate::http_tools::start;
use crate::openapi::check_answer;
use crate::permissions::good_body;
use crate::tasks::{execute, standing, taken};

/// Operations that change no configuration; and one that needs a version that is held, which no route makes.
const UNRECORDED: [&str; 21] = [
    "POST /api/tools/schema-preview",
    "POST /api/tools/{id}/execute",
    "POST /api/tools/{id}/circuit/reset",
    "POST /api/tools/{id}/approve",
    "POST /api/tool-calls/{id}/replay",
    "POST /api/providers/{id}/test",
    "POST /api/artifacts",
    "DELETE /api/artifacts/{id}",
    "POST /api/artifacts/{id}/link",
    "POST /api/approvals/{id}/link",
    "POST /api/callbacks/{id}",
    "POST /api/login",
    "POST /api/logout",
    "POST /v1/chat/completions",
    "POST /v1/responses",
    "POST /api/chat",
    "POST /api/chat/with-tools",
    "PATCH /api/conversations/{id}",
    "DELETE /api/conversations/{id}",
    "POST /api/conversations/{id}/continue",
    "POST /api/conversations/{id}/cancel",
];

/// What must be in no entry.
const CANARY: &str = "cn-5f1c7be09a3d42";

fn place(entry: &Value) -> u64 {
    entry["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("{entry} has no place"))
}

/// An entry as `tool.updated weather`.
fn said(entry: &Value) -> String {
    let word = |field: &str| entry[field].as_str().unwrap_or_else(|| panic!("{entry} has no {field}"));
    assert_eq!(word("type"), format!("{}.{}", word("what"), word("action")));
    format!("{} {}", word("type"), word("thingName"))
}

async fn changes(api: &Client, query: &str) -> Vec<Value> {
    let reply = api.get(&format!("/api/changes?limit=200{query}")).await;
    assert_eq!(reply.status, 200, "{query}: {}", reply.body);
    reply.data()["items"].as_array().expect("a list").clone()
}

/// What a reader is told, the newest first.
async fn seen(api: &Client, query: &str) -> Vec<String> {
    changes(api, query).await.iter().map(said).collect()
}

/// One operation after the other, with a look at what each left.
struct Walk {
    server: HaftProcess,
    api: Client,
    document: Value,
    /// Who reads, and of what: together they see everything.
    readers: Vec<(Client, &'static str)>,
    last: u64,
    done: BTreeSet<String>,
    /// Values that were given or made, and must be in no entry.
    secrets: Vec<String>,
}

impl Walk {
    async fn begin() -> Self {
        let (server, api) = start(&[]).await;
        let document = api.get("/api/openapi.json").await.body;
        let readers = vec![(api.clone(), "space"), (api.clone(), "server")];
        let secrets = vec![CANARY.to_owned()];
        Self { server, api, document, readers, last: 0, done: BTreeSet::new(), secrets }
    }

    /// What was put on record since the last look, the oldest first.
    async fn entries(&mut self) -> Vec<Value> {
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
    async fn send(&mut self, operation: &str, values: &[&str], body: &Value) -> Reply {
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
    async fn told(&mut self, operation: &str, expected: &[&str]) {
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

    async fn does(&mut self, operation: &str, values: &[&str], body: &Value, expected: &[&str]) -> Value {
        let reply = self.send(operation, values, body).await;
        self.told(operation, expected).await;
        reply.data().clone()
    }

    async fn tools_and_agents(&mut self) {
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

    async fn imports(&mut self) {
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

    async fn providers_and_secrets(&mut self) {
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

    async fn alerts(&mut self) {
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

    async fn tasks(&mut self) {
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

    async fn people(&mut self) {
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

#[tokio::test]
async fn every_change_is_on_record_by_who_made_it() {
    let mut walk = Walk::begin().await;
    let first = walk.entries().await;
    assert!(first.iter().all(|entry| entry["userId"].is_null()), "a first start is nobody's: {first:#?}");
    let first: Vec<String> = first.iter().map(said).collect();
    assert_eq!(first, ["user.created admin", "token.created HAFT_ADMIN_TOKEN"]);
    walk.tools_and_agents().await;
    walk.imports().await;
    walk.providers_and_secrets().await;
    walk.alerts().await;
    walk.tasks().await;
    walk.people().await;

    let reply = walk.api.get("/api/audit/verify").await;
    check_answer(&walk.document, "GET", "/api/audit/verify", 200, &reply.body);
    assert_eq!(reply.data()["changes"]["checked"], walk.last, "{}", reply.body);
    assert_eq!(reply.data()["changes"]["fault"], Value::Null);
    assert_eq!(reply.data()["calls"]["fault"], Value::Null);

    for (path, item) in walk.document["paths"].as_object().expect("paths") {
        for method in item.as_object().expect("operations").keys().filter(|method| *method != "get") {
            let operation = format!("{} {path}", method.to_ascii_uppercase());
            let is_known = walk.done.contains(&operation) || UNRECORDED.contains(&operation.as_str());
            assert!(is_known, "{operation}: does it leave an entry? Walk it, or say that it changes nothing");
        }
    }
}

#[tokio::test]
async fn an_entry_says_what_changed_and_no_values() {
    let (_server, api) = start(&[]).await;
    let made = make(&api, "/api/tools", &mock("weather", "One.")).await;
    let change = json!({"description": "Two.", "config": {"answers": [{"data": 2}]}});
    assert_eq!(patch(&api, "/api/tools/weather", &change).await.status, 200);
    let entry = changes(&api, "").await.remove(0);
    let (me, at) = (api.get("/api/me").await, entry["at"].clone());
    let id = entry["id"].clone();
    assert_eq!(
        entry,
        json!({
            "id": id, "type": "tool.updated", "what": "tool", "action": "updated", "thingId": made["id"],
            "thingName": "weather", "version": 2, "userId": me.data()["user"]["id"], "userName": "admin",
            "details": {"changed": ["description", "config.answers"]}, "at": at,
        })
    );
}

#[tokio::test]
async fn changes_are_found_by_what_is_asked() {
    let (_server, api) = start(&[]).await;
    let echo = make(&api, "/api/tools", &mock("echo", "One.")).await;
    assert_eq!(api.put("/api/tools/echo", &mock("echo", "Two.")).await.status, 200);
    assert_eq!(api.put("/api/secrets/key", &json!({"value": "v"})).await.status, 200);
    let id = echo["id"].as_str().expect("an id");
    let all = ["secret.set key", "tool.updated echo", "tool.created echo", "token.created HAFT_ADMIN_TOKEN"];
    assert_eq!(seen(&api, "").await, all);
    assert_eq!(seen(&api, "&of=space").await, all);
    assert_eq!(seen(&api, "&what=tool").await, all[1..3]);
    assert_eq!(seen(&api, &format!("&id={id}")).await, all[1..3]);
    assert_eq!(seen(&api, "&id=key").await, all[..1]);
    assert_eq!(seen(&api, "&user=me").await, all[..3]);
    assert_eq!(seen(&api, "&from=2999-01-01T00:00:00Z").await, [""; 0]);
    assert_eq!(seen(&api, "&to=2999-01-01T00:00:00Z").await, all);
    assert_eq!(seen(&api, "&to=2001-01-01T00:00:00Z").await, [""; 0]);
    assert_eq!(seen(&api, "&of=server").await, ["user.created admin"]);

    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = api.get(&format!("/api/changes?limit=3{cursor}")).await;
        assert_eq!(page.status, 200, "{}", page.body);
        pages.push(page.data()["items"].as_array().expect("a list").len());
        let Some(next) = page.data()["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(pages, [3, 1]);
    for bad in [
        "what=nothing",
        "of=everything",
        "user=bob",
        "from=yesterday",
        "limit=0",
        "cursor=x",
        "action=created",
        "what=tool&what=agent",
    ] {
        let reply = api.get(&format!("/api/changes?{bad}")).await;
        assert_eq!(reply.status, 400, "{bad}: {}", reply.body);
    }
}

/// A token for a space, of somebody who logs in.
async fn entered(server: &HaftProcess, name: &str, space: &str) -> Client {
    let anyone = Client::anonymous(&server.url);
    let entered = anyone.post("/api/login", &json!({"name": name, "password": "correct horse"})).await;
    assert_eq!(entered.status, 200, "{}", entered.body);
    let cookie = entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    let token = json!({"name": format!("of_{name}"), "spaceId": space});
    let token = make(&anyone.with("cookie", cookie), "/api/tokens", &token).await;
    Client::new(&server.url, token["token"].as_str().expect("a token"))
}

#[tokio::test]
async fn each_sees_what_is_theirs_to_see() {
    let (server, api) = start(&[]).await;
    for name in ["ada", "bob"] {
        make(&api, "/api/users", &json!({"name": name, "password": "correct horse"})).await;
    }
    let space = make(&api, "/api/spaces", &json!({"name": "team"})).await;
    let space = space["id"].as_str().expect("an id");
    for (name, role) in [("ada", "admin"), ("bob", "caller")] {
        let path = format!("/api/spaces/{space}/members/{name}");
        assert_eq!(api.put(&path, &json!({"role": role})).await.status, 200);
    }
    let (ada, bob) = (entered(&server, "ada", space).await, entered(&server, "bob", space).await);
    make(&ada, "/api/tools", &mock("echo", "Answers.")).await;
    assert_eq!(ada.put("/api/secrets/shared", &json!({"value": "v"})).await.status, 200);
    assert_eq!(bob.put("/api/secrets/his?owner=me", &json!({"value": "v"})).await.status, 200);
    assert_eq!(ada.put("/api/secrets/hers?owner=me", &json!({"value": "v"})).await.status, 200);

    let people = ["token.created of_bob", "token.created of_ada", "member.added bob", "member.added ada"];
    let mut to_ada = vec!["ownSecret.set hers", "secret.set shared", "tool.created echo"];
    to_ada.extend(people);
    to_ada.push("space.created team");
    assert_eq!(seen(&ada, "").await, to_ada);
    let to_bob = [
        "ownSecret.set his",
        "secret.set shared",
        "tool.created echo",
        "token.created of_bob",
        "space.created team",
    ];
    assert_eq!(seen(&bob, "").await, to_bob);
    // A token that may only read is no admin, whoever has it.
    let reader = scoped(&server, &ada, "read").await;
    let to_reader = [
        "token.created read",
        "ownSecret.set hers",
        "secret.set shared",
        "tool.created echo",
        "token.created of_ada",
        "space.created team",
    ];
    assert_eq!(seen(&reader, "").await, to_reader);
    assert_eq!(seen(&bob, "&what=member").await, [""; 0]);

    for client in [&ada, &bob, &reader] {
        let refused = client.get("/api/changes?of=server").await;
        assert_eq!((refused.status, refused.kind()), (403, "Permission"), "{}", refused.body);
        let refused = client.get("/api/audit/verify").await;
        assert_eq!((refused.status, refused.kind()), (403, "Permission"), "{}", refused.body);
    }
    // Who runs the server, and who is elsewhere, see nothing of it.
    assert_eq!(seen(&api, "").await, ["token.created HAFT_ADMIN_TOKEN"]);
    let users = ["user.created bob", "user.created ada", "user.created admin"];
    assert_eq!(seen(&api, "&of=server").await, users);
}

#[tokio::test]
async fn a_stranger_sees_nothing_of_it() {
    let (server, api) = start(&[]).await;
    make(&api, "/api/tools", &mock("echo", "Answers.")).await;
    let other = stranger(&server, &api).await;
    assert_eq!(seen(&other, "").await, ["token.created t"], "nothing but the own");
}
