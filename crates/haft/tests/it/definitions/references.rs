//! References between definitions: an export replaces ids by names that other servers can resolve, or reports
//! the definitions that it omits.

use std::process::Command;

use haft_testkit::{TestStorage as Storage, run};
use serde_json::{Value, json};

use super::TestSpace;
use crate::HAFT;
use crate::cli_over_http::{Desk, mock, worked};
use crate::survival::database::psql;
use crate::survival::{Settings, skipped, statement};

fn parsed(export: &str) -> Value {
    serde_json::from_str(export).expect("JSON")
}

#[tokio::test]
async fn provider_of_an_agent_is_exported_by_name_and_remains_an_id_on_its_server() {
    let desk = Desk::new("provider-name").await;
    let space = TestSpace::new(&desk, "one").await;
    let scripted = json!({"name": "script", "kind": "scripted", "script": [{"text": "Hello."}]});
    let id = space.make("/api/providers", &scripted).await["id"].clone();
    space.make("/api/agents", &json!({"name": "guide", "config": {"provider": id}})).await;
    let export = space.export().await;
    assert_eq!(parsed(&export)["agents"][0]["config"]["provider"], "script", "{export}");
    worked(space.haft(&["diff", "-f", "-", "--prune"], &export).await);
    let mut changed = parsed(&export);
    changed["agents"][0]["description"] = json!("Changed.");
    worked(space.haft(&["apply", "-f", "-"], &changed.to_string()).await);
    let agent = space.api.get("/api/agents/guide").await;
    assert_eq!(agent.data()["description"], "Changed.");
    assert_eq!(agent.data()["config"]["provider"], id, "{}", agent.body);

    let elsewhere = TestSpace::new(&desk, "two").await;
    worked(elsewhere.haft(&["apply", "-f", "-"], &export).await);
    let agent = elsewhere.api.get("/api/agents/guide").await;
    assert_eq!(agent.data()["config"]["provider"], "script", "{}", agent.body);
}

async fn is_by_operator(space: &TestSpace<'_>) -> bool {
    space.api.get("/api/providers/local").await.data()["byOperator"].as_bool().expect("a truth value")
}

#[tokio::test]
async fn applied_file_can_remove_the_operator_flag_of_a_provider() {
    let desk = Desk::new("by-operator").await;
    let space = TestSpace::new(&desk, "one").await;
    let local = json!({"name": "local", "kind": "ollama", "baseUrl": "http://127.0.0.1:11434"});
    space.make("/api/providers", &local).await;
    let export = space.export().await;
    assert_eq!(parsed(&export)["providers"][0]["byOperator"], true, "{export}");
    let elsewhere = TestSpace::new(&desk, "two").await;
    worked(elsewhere.haft(&["apply", "-f", "-"], &export).await);
    assert!(is_by_operator(&elsewhere).await, "an operator applied it");
    let without = export.replace("\"byOperator\": true", "\"byOperator\": false");
    worked(elsewhere.haft(&["apply", "-f", "-"], &without).await);
    assert!(!is_by_operator(&elsewhere).await);
    worked(elsewhere.haft(&["diff", "-f", "-"], &elsewhere.export().await).await);
}

#[tokio::test]
async fn alert_on_a_deleted_tool_is_omitted_and_not_pruned() {
    let desk = Desk::new("lost-tool").await;
    let space = TestSpace::new(&desk, "one").await;
    space.make("/api/tools", &mock("echo", "One.")).await;
    space.make("/api/alerts", &json!({"name": "slow", "metric": "p95", "tool": "echo", "above": 1})).await;
    space.make("/api/alerts", &json!({"name": "any", "metric": "p95", "above": 1})).await;
    assert_eq!(space.api.delete("/api/tools/echo").await.status, 200);

    let exported = worked(space.haft(&["export"], "").await);
    assert!(exported.stderr.contains("The alert slow was not exported: its tool"), "{}", exported.stderr);
    let in_chinese = worked(space.haft(&["export", "--lang", "zh"], "").await);
    assert!(in_chinese.stderr.contains("告警 slow 未导出"), "{}", in_chinese.stderr);
    let export = exported.stdout;
    let alerts = parsed(&export)["alerts"].clone();
    assert_eq!((alerts.as_array().map(Vec::len), &alerts[0]["name"]), (Some(1), &json!("any")), "{export}");

    worked(space.haft(&["diff", "-f", "-", "--prune"], &export).await);
    worked(space.haft(&["apply", "-f", "-", "--prune"], &export).await);
    assert_eq!(space.items("/api/alerts").await.len(), 2);
    let elsewhere = TestSpace::new(&desk, "two").await;
    worked(elsewhere.haft(&["apply", "-f", "-"], &export).await);
    assert_eq!(elsewhere.items("/api/alerts").await.len(), 1);
    // An export of the API can be sent back unchanged.
    let mut whole = space.api.get("/api/tools/export").await.data().clone();
    assert_eq!(whole["notes"].as_array().map(Vec::len), Some(1), "{whole}");
    whole["dryRun"] = json!(true);
    let back = space.api.post("/api/tools/import", &whole).await;
    assert_eq!(back.status, 200, "{}", back.body);
}

#[tokio::test]
async fn space_with_secrets_only_is_exported_and_applied() {
    let desk = Desk::new("only-secrets").await;
    let space = TestSpace::new(&desk, "one").await;
    worked(space.haft(&["secrets", "set", "api_key"], "s3cret-value").await);
    let directory = desk.home.join("out").to_str().expect("a path").to_owned();
    worked(space.haft(&["export", &directory], "").await);
    let applied = worked(space.haft(&["apply", "-f", &directory], "").await);
    assert!(applied.stderr.contains("nothing to change"), "{}", applied.stderr);
    assert!(applied.stderr.contains("only names of secrets (1)"), "{}", applied.stderr);
    worked(space.haft(&["diff", "-f", &directory], "").await);
    let elsewhere = TestSpace::new(&desk, "two").await;
    let missing = worked(elsewhere.haft(&["apply", "-f", &directory, "--lang", "zh"], "").await);
    assert!(missing.stderr.contains("只有密钥名称"), "{}", missing.stderr);
    assert!(missing.stderr.contains("密钥 api_key 在此处没有值"), "{}", missing.stderr);
}

/// Makes the stored first version of every tool unreadable.
fn break_first_versions(storage: &Storage) -> bool {
    let sql = "UPDATE tool_versions SET spec = '{}' WHERE version = 1";
    if let Some((_, url)) = storage.variables().iter().find(|(name, _)| *name == "HAFT_DATABASE_URL") {
        psql(url, sql);
        return true;
    }
    let script =
        "import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2])";
    let database = storage.directory.join("haft.db");
    match Command::new("python3").args(["-c", script]).arg(database).arg(sql).status() {
        Ok(status) => {
            assert!(status.success(), "{status}");
            true
        }
        Err(error) => {
            skipped(&format!("there is no python3 to change the database: {error}"));
            false
        }
    }
}

#[tokio::test]
async fn pin_of_an_unreadable_version_is_omitted_from_the_export() {
    let storage = Storage::new();
    let (server, api) = Settings::of(&storage).start().await;
    assert_eq!(api.post("/api/tools", &mock("echo", "One.")).await.status, 201);
    let agent = json!({"name": "guide", "bindings": [{"toolId": "echo", "pinnedVersion": 1}]});
    assert_eq!(api.post("/api/agents", &agent).await.status, 201);
    assert_eq!(api.put("/api/tools/echo", &mock("echo", "Two.")).await.status, 200);
    if !break_first_versions(&storage) {
        return;
    }
    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];
    let exported = worked(run(HAFT, &["export"], &environment, "").await);
    let message = "The agent guide was exported without its pin of echo: version 1 cannot be read";
    assert!(exported.stderr.contains(message), "{}", exported.stderr);
    let binding = parsed(&exported.stdout)["agents"][0]["bindings"][0].clone();
    assert_eq!(binding["toolId"], "echo", "{}", exported.stdout);
    assert!(binding["pinnedVersion"].is_null() && binding["pinnedDigest"].is_null(), "{binding}");
}

#[tokio::test]
async fn unusable_tool_is_omitted_with_a_note_and_its_references_remain() {
    let storage = Storage::new();
    let settings = Settings::of(&storage);
    let (server, api) = settings.start().await;
    for (path, body) in [
        ("/api/tools", mock("echo", "One.")),
        ("/api/tools", mock("lost", "One.")),
        ("/api/agents", json!({"name": "guide", "toolIds": ["echo", "lost"]})),
        ("/api/alerts", json!({"name": "slow", "metric": "p95", "tool": "lost", "above": 1})),
    ] {
        assert_eq!(api.post(path, &body).await.status, 201, "{path}");
    }
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    let sql = "UPDATE tool_versions SET spec = REPLACE(spec, '\"mock\"', '\"gone\"') \
               WHERE tool_id = (SELECT id FROM tools WHERE name = 'lost')";
    if statement(&storage, &settings, "haft.db", sql).is_none() {
        return;
    }
    let (server, api) = settings.start().await;
    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];
    let exported = worked(run(HAFT, &["export"], &environment, "").await);
    for message in ["The tool lost was not exported", "gone is not a kind of tool"] {
        assert!(exported.stderr.contains(message), "{}", exported.stderr);
    }
    let in_chinese = worked(run(HAFT, &["export", "--lang", "zh"], &environment, "").await);
    assert!(in_chinese.stderr.contains("工具 lost 未导出"), "{}", in_chinese.stderr);
    let export = parsed(&exported.stdout);
    let field = |list: &Value, name: &str| -> Vec<Value> {
        list.as_array().into_iter().flatten().map(|item| item[name].clone()).collect()
    };
    assert_eq!(field(&export["tools"], "name"), ["echo"], "{export}");
    assert_eq!(field(&export["agents"][0]["bindings"], "toolId"), ["echo", "lost"], "{export}");
    assert_eq!(field(&export["alerts"], "tool"), ["lost"], "{export}");

    for command in ["diff", "apply"] {
        let arguments = [command, "-f", "-", "--prune"];
        worked(run(HAFT, &arguments, &environment, &exported.stdout).await);
    }
    assert_eq!(api.get("/api/tools/lost").await.status, 200, "it is not pruned");
    let agent = api.get("/api/agents/guide").await;
    assert_eq!(agent.data()["toolIds"].as_array().map(Vec::len), Some(2), "{}", agent.body);
}
