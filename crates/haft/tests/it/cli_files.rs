//! `haft export` and `haft apply`: definitions in files.

use serde_json::{Value, json};

use crate::cli_over_http::{Desk, mock, parsed, path_text, refused, worked};

fn agent() -> Value {
    json!({"name": "天气 guide", "description": "Knows.", "systemPrompt": "Be brief.",
        "config": {"model": "small"}, "toolIds": ["echo", "calculator"]})
}

/// Returns the name and change of each definition in a report.
fn changes(report: &Value) -> Vec<(String, String)> {
    let lists = ["tools", "agents"].into_iter().flat_map(|list| report[list].as_array().expect("a list"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    lists.map(|thing| (text(&thing["name"]), text(&thing["change"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, change)| ((*name).to_owned(), (*change).to_owned())).collect()
}

#[tokio::test]
async fn apply_is_idempotent_and_prints_changes() {
    let desk = Desk::new("apply").await;
    let file =
        desk.write("both.json", &json!({"tools": [mock("echo", "One.")], "agents": [agent()]}).to_string());

    let dry_run = worked(desk.haft(&["apply", "-f", &file, "--dry-run"]).await);
    assert!(dry_run.stdout.contains("echo      would create  tool\n"), "{}", dry_run.stdout);
    assert_eq!(dry_run.stderr, "would create 2; nothing was stored\n");
    assert_eq!(desk.api.get("/api/tools/echo").await.status, 404, "a dry run stores nothing");

    let applied = worked(desk.haft(&["apply", "-f", &file]).await);
    assert_eq!(applied.stderr, "2 created\n");
    let again = worked(desk.haft(&["apply", "-f", &file]).await);
    assert_eq!(again.stderr, "2 unchanged\n");
    assert_eq!(desk.api.get("/api/tools/echo").await.data()["version"], 1);

    let yaml = desk
        .write("echo.yaml", "name: echo\ndescription: Two.\ntype: mock\nconfig:\n  answers:\n  - data: 1\n");
    let updated = worked(desk.haft(&["apply", "-f", &yaml]).await);
    assert!(updated.stdout.contains("echo  updated    tool\n"), "{}", updated.stdout);
    assert!(updated.stdout.contains("description: \"One.\" → \"Two.\"\n"), "{}", updated.stdout);
    assert_eq!(desk.api.get("/api/tools/echo").await.data()["description"], "Two.");
    let shown = desk.haft(&["tools", "show", "echo", "--json"]).await.stdout;
    let own = worked(desk.haft_as(crate::TOKEN, &["apply", "-f", "-", "--json"], &shown).await);
    assert_eq!(
        changes(&parsed(&own)),
        pairs(&[("echo", "unchanged")]),
        "the JSON of the server can be applied"
    );
}

#[tokio::test]
async fn prune_removes_only_definitions_of_types_in_the_files() {
    let desk = Desk::new("prune").await;
    let both = json!([mock("echo", "One."), mock("other", "Two."), agent()]).to_string();
    worked(desk.haft_as(crate::TOKEN, &["apply", "-f", "-"], &both).await);
    let one = desk.write("one.json", &mock("echo", "One.").to_string());
    let unpruned = worked(desk.haft(&["apply", "-f", &one, "--json"]).await);
    assert_eq!(changes(&parsed(&unpruned)), pairs(&[("echo", "unchanged")]));

    let dry_run = worked(desk.haft(&["apply", "-f", &one, "--prune", "--dry-run"]).await);
    assert!(dry_run.stdout.contains("other  would remove  tool\n"), "{}", dry_run.stdout);
    assert_eq!(desk.api.get("/api/tools/other").await.status, 200);
    let pruned = worked(desk.haft(&["apply", "-f", &one, "--prune"]).await);
    assert_eq!(pruned.stderr, "1 removed, 1 unchanged\n");
    assert_eq!(desk.api.get("/api/tools/other").await.status, 404);
    assert_eq!(
        parsed(&desk.haft(&["agents", "--json"]).await)[0]["name"],
        "天气 guide",
        "the files contain no agents"
    );
    let alone = desk.write("agents/guide.json", &agent().to_string());
    refused(&desk.haft(&["apply", "-f", &alone, "--prune"]).await, 1, "--prune would delete every tool");
}

#[tokio::test]
async fn errors_name_the_file() {
    let desk = Desk::new("apply-wrong").await;
    let broken = desk.write("broken.json", "{");
    let yaml = desk.write("broken.yaml", "a: [");
    let nameless = desk.write("nameless.json", "{\"type\": \"mock\"}");
    let first = desk.write("twice/a.json", &mock("echo", "One.").to_string());
    desk.write("twice/tools/b.json", &mock("echo", "Two.").to_string());
    let twice = first.trim_end_matches("a.json").to_owned();
    let bad =
        desk.write("bad.json", &json!([mock("good", "Fine."), {"name": "bad", "type": "mock"}]).to_string());
    let empty = desk.home.join("empty");
    std::fs::create_dir(&empty).expect("a directory");
    for (file, code, message) in [
        ("/nowhere.json", 1, "cannot read /nowhere.json"),
        (&broken, 1, "broken.json is not JSON"),
        (&yaml, 1, "broken.yaml is neither JSON nor YAML"),
        (&nameless, 1, "nameless.json needs a name"),
        (&twice, 1, "the tool echo is defined twice: in "),
        (&path_text(&empty), 1, "there is no definition in "),
        (&bad, 2, "bad.json, entry 2"),
    ] {
        refused(&desk.haft(&["apply", "-f", file]).await, code, message);
    }
    assert_eq!(desk.api.get("/api/tools/good").await.status, 404, "all or none");
    let json = desk.haft(&["apply", "-f", &bad, "--json"]).await;
    let file = parsed(&json)["error"]["details"]["errors"][0]["file"].clone();
    assert!(
        json.code == 2 && file.as_str().is_some_and(|file| file.ends_with("bad.json, entry 2")),
        "{file}"
    );
    refused(&desk.haft(&["apply"]).await, 2, "--file <FILE>");
    refused(&desk.haft_as(crate::TOKEN, &["apply", "-f", "-"], "").await, 1, "standard input is empty");
}

#[tokio::test]
async fn export_creates_stable_files() {
    let desk = Desk::new("export").await;
    let all = json!([mock("echo", "One."), mock("other", "Two."), agent()]).to_string();
    worked(desk.haft_as(crate::TOKEN, &["apply", "-f", "-"], &all).await);
    let directory = path_text(&desk.home.join("out"));
    let export = ["export", directory.as_str()];

    let first = worked(desk.haft(&export).await);
    assert_eq!(first.stderr, "3 files created, 0 updated, 0 unchanged\n");
    let echo = std::fs::read_to_string(desk.home.join("out/tools/echo.json")).expect("a file");
    assert!(
        echo.starts_with("{\n  \"name\": \"echo\",\n  \"description\": \"One.\",\n  \"type\": \"mock\",\n"),
        "{echo}"
    );
    for server_field in
        ["\"id\"", "\"spaceId\"", "\"ownerId\"", "\"version\"", "\"createdAt\"", "\"updatedAt\""]
    {
        assert!(!echo.contains(server_field), "{echo}");
    }
    let guide = std::fs::read_to_string(desk.home.join("out/agents/天气 guide.json")).expect("a file");
    assert!(guide.contains("\"echo\""), "tools are listed by name: {guide}");
    assert_eq!(worked(desk.haft(&export).await).stderr, "0 files created, 0 updated, 3 unchanged\n");

    worked(desk.haft(&["tools", "rm", "other"]).await);
    let gone = worked(desk.haft(&export).await);
    assert!(
        gone.stdout.contains("other.json  gone\n") && gone.stderr.contains("--prune deletes them"),
        "{gone:?}"
    );
    assert!(desk.home.join("out/tools/other.json").exists());
    let pruned = worked(desk.haft(&["export", &directory, "--prune", "--json"]).await);
    assert_eq!(parsed(&pruned)[0]["change"], "deleted");
    assert!(!desk.home.join("out/tools/other.json").exists());
    refused(&desk.haft(&["export", "--prune"]).await, 2, "DIR");
    let file = desk.write("file", "");
    refused(&desk.haft(&["export", &file]).await, 1, "cannot create ");
}

#[tokio::test]
async fn export_applied_to_an_empty_space_is_equal() {
    let desk = Desk::new("roundtrip").await;
    let secret = json!({"name": "weather", "description": "Weather.", "url": "https://api.example.com/{{city}}",
        "headers": {"X-Api-Key": "sk-0123456789abcdef"}});
    let all = json!([mock("echo", "One."), secret, agent()]).to_string();
    worked(desk.haft_as(crate::TOKEN, &["apply", "-f", "-"], &all).await);
    let exported = worked(desk.haft(&["export"]).await).stdout;
    assert!(!exported.contains("sk-0123456789abcdef") && exported.contains("secret://"), "{exported}");

    worked(desk.haft(&["spaces", "create", "empty"]).await);
    let created =
        worked(desk.haft(&["tokens", "create", "there", "--scope", "admin", "--space", "empty"]).await);
    let there = created.stdout.trim();
    assert_eq!(
        parsed(&desk.haft_as(there, &["export"], "").await),
        json!({"tools": [], "agents": [], "providers": [], "alerts": [], "secrets": []})
    );
    let applied = worked(desk.haft_as(there, &["apply", "-f", "-"], &exported).await);
    assert!(applied.stderr.ends_with("3 created\n"), "{}", applied.stderr);
    // An export contains no values of secrets, so the secrets are missing in the other space.
    let without_secrets = |export: &str| {
        let mut export: Value = serde_json::from_str(export).expect("JSON");
        export["secrets"] = json!([]);
        export
    };
    let again = worked(desk.haft_as(there, &["export"], "").await).stdout;
    assert_eq!(without_secrets(&again), without_secrets(&exported));

    let directory = path_text(&desk.home.join("out"));
    worked(desk.haft(&["export", &directory]).await);
    let again = worked(desk.haft_as(there, &["apply", "-f", &directory, "--prune"], "").await);
    assert!(again.stderr.ends_with("3 unchanged\n"), "{}", again.stderr);
}

#[tokio::test]
async fn tool_used_by_agents_is_pruned_only_with_force() {
    let desk = Desk::new("prune-bound").await;
    let all = json!({"tools": [mock("echo", "One."), mock("other", "Two.")], "agents": [agent()]});
    assert_eq!(desk.api.post("/api/tools/import", &all).await.status, 200);
    let silent = desk.api.post("/api/tools/import", &json!({"prune": true})).await;
    assert_eq!((silent.status, silent.kind()), (400, "Validation"), "{}", silent.body);
    assert!(silent.message().contains("tools: must be given with prune"), "{}", silent.message());

    let mut less = json!({"tools": [mock("other", "Two.")], "prune": true});
    for query in ["", "?dryRun=true"] {
        let refused = desk.api.post(&format!("/api/tools/import{query}"), &less).await;
        assert_eq!((refused.status, refused.kind()), (409, "Conflict"), "{}", refused.body);
        assert_eq!(refused.body["error"]["details"]["agents"], json!(["天气 guide"]));
    }
    assert_eq!(desk.api.get("/api/tools/echo").await.status, 200);
    less["force"] = json!(true);
    let pruned = desk.api.post("/api/tools/import", &less).await;
    assert_eq!(pruned.status, 200, "{}", pruned.body);
    assert_eq!(desk.api.get("/api/tools/echo").await.status, 404);
    let listed = desk.api.get("/api/agents").await;
    assert_eq!(listed.data()["items"][0]["toolIds"], json!(["calculator"]));

    // An agent that is pruned as well does not block the tool.
    let both = json!({"tools": [mock("echo", "One.")], "agents": [{"name": "brief", "toolIds": ["echo"]}]});
    assert_eq!(desk.api.post("/api/tools/import", &both).await.status, 200);
    let none = desk.api.post("/api/tools/import", &json!({"tools": [], "agents": [], "prune": true})).await;
    assert_eq!(none.status, 200, "{}", none.body);
}
