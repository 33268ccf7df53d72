//! Transfer of pinned versions, webhooks and providers between servers.

use serde_json::{Value, json};

use super::TestSpace;
use crate::cli_over_http::{Desk, mock, parsed, refused, worked};

/// Creates an agent that pins version 1 of a tool with three versions.
async fn pinned(space: &TestSpace<'_>) {
    space.make("/api/tools", &mock("echo", "One.")).await;
    let agent = json!({"name": "guide", "bindings": [{"toolId": "echo", "pinnedVersion": 1}]});
    space.make("/api/agents", &agent).await;
    for description in ["Two.", "Three."] {
        assert_eq!(space.api.put("/api/tools/echo", &mock("echo", description)).await.status, 200);
    }
}

async fn pin(space: &TestSpace<'_>) -> Value {
    space.api.get("/api/agents/guide").await.data()["bindings"][0]["pinnedVersion"].clone()
}

#[tokio::test]
async fn applying_unchanged_files_preserves_a_pin() {
    let desk = Desk::new("pin-unchanged").await;
    let space = TestSpace::new(&desk, "one").await;
    pinned(&space).await;
    let directory = desk.home.join("out").to_str().expect("a path").to_owned();
    worked(space.haft(&["export", &directory], "").await);
    let file = std::fs::read_to_string(desk.home.join("out/agents/guide.json")).expect("a file");
    assert!(file.contains("\"pinnedVersion\": 1") && file.contains("\"pinnedDigest\": \"sha256:"), "{file}");
    let applied = worked(space.haft(&["apply", "-f", &directory], "").await);
    assert_eq!((applied.stdout.as_str(), applied.stderr.as_str()), ("", "2 unchanged\n"));
    assert_eq!(pin(&space).await, 1);
}

#[tokio::test]
async fn pin_selects_the_version_with_the_same_content() {
    let desk = Desk::new("pin-content").await;
    let from = TestSpace::new(&desk, "from").await;
    pinned(&from).await;
    let export = from.export().await;

    let empty = TestSpace::new(&desk, "empty").await;
    let none = empty.haft(&["apply", "-f", "-"], &export).await;
    refused(&none, 2, "no version of echo here has the content that was pinned");
    assert!(none.stderr.contains("agents.0.bindings.0.pinnedDigest is in standard input"), "{}", none.stderr);
    assert_eq!(empty.api.get("/api/tools/echo").await.status, 404, "all or none");
    let in_chinese = empty.haft(&["apply", "-f", "-", "--lang", "zh"], &export).await;
    refused(&in_chinese, 2, "没有被固定的内容");

    // This server stores the content under another version number, and other content under number 1.
    let other = TestSpace::new(&desk, "other").await;
    other.make("/api/tools", &mock("echo", "Zero.")).await;
    for description in ["Half.", "One."] {
        assert_eq!(other.api.put("/api/tools/echo", &mock("echo", description)).await.status, 200);
    }
    worked(other.haft(&["apply", "-f", "-"], &export).await);
    assert_eq!(other.api.get("/api/tools/echo").await.data()["version"], 4);
    assert_eq!(pin(&other).await, 3);

    // The pinned version may be created by the same document.
    let mut live: Value = serde_json::from_str(&export).expect("JSON");
    live["tools"][0]["description"] = json!("One.");
    let same = TestSpace::new(&desk, "same").await;
    same.make("/api/tools", &mock("echo", "Zero.")).await;
    worked(same.haft(&["apply", "-f", "-"], &live.to_string()).await);
    assert_eq!(
        (pin(&same).await, same.api.get("/api/tools/echo").await.data()["version"].clone()),
        (json!(2), json!(2))
    );
}

#[tokio::test]
async fn masked_webhook_is_unchanged_on_its_server_and_reported_on_others() {
    let desk = Desk::new("webhook").await;
    let space = TestSpace::new(&desk, "one").await;
    let address = "https://hooks.example.com/services/T0/credential";
    for name in ["slow", "slow"] {
        let alert = json!({"name": name, "metric": "p95", "above": 100, "webhook": address});
        space.make("/api/alerts", &alert).await;
    }
    let export = space.export().await;
    assert!(!export.contains("credential") && export.contains("https://hooks.example.com/***"), "{export}");
    worked(space.haft(&["diff", "-f", "-", "--prune"], &export).await);
    let changed = export.replace("\"above\": 100", "\"above\": 200");
    worked(space.haft(&["apply", "-f", "-", "--prune"], &changed).await);
    let alerts = space.items("/api/alerts").await;
    assert!(alerts.iter().all(|alert| alert["webhook"] == address && alert["above"] == 200), "{alerts:?}");

    let elsewhere = TestSpace::new(&desk, "two").await;
    let applied = worked(elsewhere.haft(&["apply", "-f", "-"], &export).await);
    assert_eq!(applied.stderr.matches("the alert slow has no webhook here").count(), 2, "{}", applied.stderr);
    let in_chinese = worked(elsewhere.haft(&["diff", "-f", "-", "--lang", "zh"], &export).await);
    assert!(in_chinese.stderr.contains("告警 slow 在此处没有 webhook"), "{}", in_chinese.stderr);
    assert!(in_chinese.stderr.contains("2 个未变；未保存任何内容"), "{}", in_chinese.stderr);
    let alerts = elsewhere.items("/api/alerts").await;
    assert!(alerts.len() == 2 && alerts.iter().all(|alert| alert["webhook"].is_null()), "{alerts:?}");
    // A masked URL does not replace a different webhook silently.
    let id = alerts[0]["id"].as_str().expect("an id");
    let other =
        json!({"name": "slow", "metric": "p95", "above": 100, "webhook": "https://other.example.com/x"});
    assert_eq!(elsewhere.api.put(&format!("/api/alerts/{id}"), &other).await.status, 200);
    let pruned = elsewhere.haft(&["apply", "-f", "-", "--prune"], &export).await;
    refused(&pruned, 2, "send the whole address");
}

#[tokio::test]
async fn providers_are_changed_by_space_admins_only() {
    let desk = Desk::new("provider-rights").await;
    let space = TestSpace::new(&desk, "one").await;
    let scripted = json!({"name": "script", "kind": "scripted", "script": [{"text": "Hello."}]});
    space.make("/api/providers", &scripted).await;
    let export = space.export().await;
    desk.add_user("ada", "correct horse battery").await;
    worked(desk.haft(&["spaces", "add", "one", "ada", "editor"]).await);
    let anyone = haft_testkit::Client::anonymous(&desk.server.url);
    let login = anyone.post("/api/login", &json!({"name": "ada", "password": "correct horse battery"})).await;
    let cookie =
        login.headers["set-cookie"].to_str().expect("text").split(';').next().expect("a cookie").to_owned();
    let ada = anyone.with("cookie", &cookie).with("origin", &desk.server.url);
    let space_id = space.api.get("/api/me").await.data()["space"]["id"].clone();
    let token = ada.post("/api/tokens", &json!({"name": "t", "scope": "admin", "spaceId": space_id})).await;
    let token = token.data()["token"].as_str().expect("a token").to_owned();
    let as_ada = async |export: &str| desk.haft_as(&token, &["apply", "-f", "-"], export).await;
    worked(as_ada(&export).await);
    let changed = export.replace("Hello.", "Bye.");
    refused(&as_ada(&changed).await, 4, "Only admins of the space may change providers: script");
    worked(space.haft(&["apply", "-f", "-"], &changed).await);
    assert_eq!(space.api.get("/api/providers/script").await.data()["script"][0]["text"], "Bye.");
    let emptied = json!({"tools": [], "providers": []}).to_string();
    refused(&desk.haft_as(&token, &["apply", "-f", "-", "--prune"], &emptied).await, 4, "script");
    let pruned = worked(space.haft(&["apply", "-f", "-", "--prune", "--json"], &emptied).await);
    assert_eq!(parsed(&pruned)["providers"][0]["change"], "removed");
}

#[tokio::test]
async fn missing_secrets_are_listed_by_name() {
    let desk = Desk::new("secret-names").await;
    let space = TestSpace::new(&desk, "one").await;
    worked(space.haft(&["secrets", "set", "api_key"], "s3cret-value").await);
    let export = space.export().await;
    assert!(export.contains("\"api_key\"") && !export.contains("s3cret-value"), "{export}");
    let directory = desk.home.join("out").to_str().expect("a path").to_owned();
    worked(space.haft(&["export", &directory], "").await);
    let elsewhere = TestSpace::new(&desk, "two").await;
    let tool = desk.write("out/tools/echo.json", &mock("echo", "One.").to_string());
    let applied = worked(elsewhere.haft(&["apply", "-f", &directory], "").await);
    assert!(applied.stderr.contains("the secret api_key has no value here"), "{tool}: {}", applied.stderr);
    let same = worked(space.haft(&["apply", "-f", &directory], "").await);
    assert!(!same.stderr.contains("has no value"), "{}", same.stderr);
}
