//! The change log: every operation that changes configuration adds an entry, and readers see the entries that
//! their rights allow.

mod recorder;

use haft_testkit::{Client, HaftProcess};
use serde_json::{Value, json};

use crate::agents::{make, patch, scoped, stranger};
use crate::cli_over_http::mock;
use crate::http_tools::start;
use crate::openapi::check_response;
use recorder::Recorder;

/// Operations that change no configuration, and one that needs a held version, which no route creates.
const UNRECORDED: [&str; 22] = [
    "POST /api/tools/schema-preview",
    "POST /api/tools/{id}/execute",
    "POST /api/tools/{id}/circuit/reset",
    "POST /api/circuits/reset",
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

/// A secret value that no entry may contain.
const CANARY: &str = "cn-5f1c7be09a3d42";

fn sequence_number(entry: &Value) -> u64 {
    entry["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("{entry} has no number"))
}

/// Formats an entry as `tool.updated weather`.
fn summary(entry: &Value) -> String {
    let word = |field: &str| entry[field].as_str().unwrap_or_else(|| panic!("{entry} has no {field}"));
    assert_eq!(word("type"), format!("{}.{}", word("what"), word("action")));
    format!("{} {}", word("type"), word("thingName"))
}

async fn changes(api: &Client, query: &str) -> Vec<Value> {
    let reply = api.get(&format!("/api/changes?limit=200{query}")).await;
    assert_eq!(reply.status, 200, "{query}: {}", reply.body);
    reply.data()["items"].as_array().expect("a list").clone()
}

/// Returns the summaries of the entries that a reader sees, newest first.
async fn summaries(api: &Client, query: &str) -> Vec<String> {
    changes(api, query).await.iter().map(summary).collect()
}

#[tokio::test]
async fn every_change_is_logged_with_its_author() {
    let mut recorder = Recorder::start().await;
    let first = recorder.entries().await;
    assert!(first.iter().all(|entry| entry["userId"].is_null()), "the first start has no user: {first:#?}");
    let first: Vec<String> = first.iter().map(summary).collect();
    assert_eq!(first, ["user.created admin", "token.created HAFT_ADMIN_TOKEN"]);
    recorder.tools_and_agents().await;
    recorder.imports().await;
    recorder.providers_and_secrets().await;
    recorder.alerts().await;
    recorder.tasks().await;
    recorder.people().await;

    let reply = recorder.api.get("/api/audit/verify").await;
    check_response(&recorder.document, "GET", "/api/audit/verify", 200, &reply.body);
    assert_eq!(reply.data()["changes"]["checked"], recorder.last, "{}", reply.body);
    assert_eq!(reply.data()["changes"]["fault"], Value::Null);
    assert_eq!(reply.data()["calls"]["fault"], Value::Null);

    for (path, item) in recorder.document["paths"].as_object().expect("paths") {
        for method in item.as_object().expect("operations").keys().filter(|method| *method != "get") {
            let operation = format!("{} {path}", method.to_ascii_uppercase());
            let is_covered = recorder.done.contains(&operation) || UNRECORDED.contains(&operation.as_str());
            assert!(is_covered, "{operation}: test its entry in recorder.rs or add it to UNRECORDED");
        }
    }
}

#[tokio::test]
async fn entry_names_the_changed_fields_without_values() {
    let (_server, api) = start(&[]).await;
    let created = make(&api, "/api/tools", &mock("weather", "One.")).await;
    let change = json!({"description": "Two.", "config": {"answers": [{"data": 2}]}});
    assert_eq!(patch(&api, "/api/tools/weather", &change).await.status, 200);
    let entry = changes(&api, "").await.remove(0);
    let (me, at) = (api.get("/api/me").await, entry["at"].clone());
    let id = entry["id"].clone();
    assert_eq!(
        entry,
        json!({
            "id": id, "type": "tool.updated", "what": "tool", "action": "updated", "thingId": created["id"],
            "thingName": "weather", "version": 2, "userId": me.data()["user"]["id"], "userName": "admin",
            "details": {"changed": ["description", "config.answers"]}, "at": at,
        })
    );
}

#[tokio::test]
async fn changes_are_filtered_and_paged() {
    let (_server, api) = start(&[]).await;
    let echo = make(&api, "/api/tools", &mock("echo", "One.")).await;
    assert_eq!(api.put("/api/tools/echo", &mock("echo", "Two.")).await.status, 200);
    assert_eq!(api.put("/api/secrets/key", &json!({"value": "v"})).await.status, 200);
    let id = echo["id"].as_str().expect("an id");
    let all = ["secret.set key", "tool.updated echo", "tool.created echo", "token.created HAFT_ADMIN_TOKEN"];
    assert_eq!(summaries(&api, "").await, all);
    assert_eq!(summaries(&api, "&of=space").await, all);
    assert_eq!(summaries(&api, "&what=tool").await, all[1..3]);
    assert_eq!(summaries(&api, &format!("&id={id}")).await, all[1..3]);
    assert_eq!(summaries(&api, "&id=key").await, all[..1]);
    assert_eq!(summaries(&api, "&user=me").await, all[..3]);
    assert_eq!(summaries(&api, "&user=admin").await, all[..3]);
    assert_eq!(summaries(&api, "&user=unknown").await, [""; 0]);
    assert_eq!(summaries(&api, "&from=2999-01-01T00:00:00Z").await, [""; 0]);
    assert_eq!(summaries(&api, "&to=2999-01-01T00:00:00Z").await, all);
    assert_eq!(summaries(&api, "&to=2001-01-01T00:00:00Z").await, [""; 0]);
    assert_eq!(summaries(&api, "&of=server").await, ["user.created admin"]);

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

/// Logs a user in, creates a token for a space and returns its client.
async fn token_client(server: &HaftProcess, name: &str, space: &str) -> Client {
    let anyone = Client::anonymous(&server.url);
    let login = anyone.post("/api/login", &json!({"name": name, "password": "correct horse"})).await;
    assert_eq!(login.status, 200, "{}", login.body);
    let cookie = login.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    let token = json!({"name": format!("of_{name}"), "spaceId": space});
    let token = make(&anyone.with("cookie", cookie), "/api/tokens", &token).await;
    Client::new(&server.url, token["token"].as_str().expect("a token"))
}

#[tokio::test]
async fn readers_see_entries_by_their_rights() {
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
    let (ada, bob) = (token_client(&server, "ada", space).await, token_client(&server, "bob", space).await);
    make(&ada, "/api/tools", &mock("echo", "Answers.")).await;
    assert_eq!(ada.put("/api/secrets/shared", &json!({"value": "v"})).await.status, 200);
    assert_eq!(bob.put("/api/secrets/his?owner=me", &json!({"value": "v"})).await.status, 200);
    assert_eq!(ada.put("/api/secrets/hers?owner=me", &json!({"value": "v"})).await.status, 200);

    let people = ["token.created of_bob", "token.created of_ada", "member.added bob", "member.added ada"];
    let mut for_ada = vec!["ownSecret.set hers", "secret.set shared", "tool.created echo"];
    for_ada.extend(people);
    for_ada.push("space.created team");
    assert_eq!(summaries(&ada, "").await, for_ada);
    let for_bob = [
        "ownSecret.set his",
        "secret.set shared",
        "tool.created echo",
        "token.created of_bob",
        "space.created team",
    ];
    assert_eq!(summaries(&bob, "").await, for_bob);
    // A token with scope `read` has no admin rights, even if its user is an admin.
    let reader = scoped(&server, &ada, "read").await;
    let for_reader = [
        "token.created read",
        "ownSecret.set hers",
        "secret.set shared",
        "tool.created echo",
        "token.created of_ada",
        "space.created team",
    ];
    assert_eq!(summaries(&reader, "").await, for_reader);
    assert_eq!(summaries(&bob, "&what=member").await, [""; 0]);

    for client in [&ada, &bob, &reader] {
        let refused = client.get("/api/changes?of=server").await;
        assert_eq!((refused.status, refused.kind()), (403, "Permission"), "{}", refused.body);
        let refused = client.get("/api/audit/verify").await;
        assert_eq!((refused.status, refused.kind()), (403, "Permission"), "{}", refused.body);
    }
    // The operator, whose client uses another space, does not see these entries.
    assert_eq!(summaries(&api, "").await, ["token.created HAFT_ADMIN_TOKEN"]);
    let users = ["user.created bob", "user.created ada", "user.created admin"];
    assert_eq!(summaries(&api, "&of=server").await, users);
}

#[tokio::test]
async fn other_users_see_their_own_entries_only() {
    let (server, api) = start(&[]).await;
    make(&api, "/api/tools", &mock("echo", "Answers.")).await;
    let other = stranger(&server, &api).await;
    assert_eq!(summaries(&other, "").await, ["token.created t"], "only the user's entry");
}
