//! Output and exit codes of `haft apply`, `haft diff`, `haft export` and `haft import`.

use serde_json::json;

use super::TestSpace;
use crate::cli_over_http::{Desk, mock, parsed, worked};

#[tokio::test]
async fn dry_run_prints_changes_and_its_exit_code_reports_drift() {
    let desk = Desk::new("drift").await;
    let both =
        json!([mock("echo", "One."), mock("other", "One."), {"metric": "p95", "above": 5}]).to_string();
    let file = desk.write("both.json", &both);
    let apply = |more: &[&'static str]| {
        let arguments: Vec<String> =
            ["apply", "-f", &file].iter().chain(more).map(|word| (*word).to_owned()).collect();
        arguments
    };
    let run = async |arguments: Vec<String>| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        desk.haft(&arguments).await
    };

    let dry_run = worked(run(apply(&["--dry-run"])).await);
    assert_eq!(
        dry_run.stdout,
        "echo   would create  tool\nother  would create  tool\np95    would create  alert\n"
    );
    assert_eq!(dry_run.stderr, "would create 3; nothing was stored\n");
    assert_eq!(run(apply(&["--dry-run", "--exit-code"])).await.code, 9);
    assert_eq!(desk.haft(&["diff", "-f", &file]).await.code, 9);
    assert_eq!(desk.api.get("/api/tools/echo").await.status, 404, "nothing was stored");

    assert_eq!(worked(run(apply(&[])).await).stderr, "3 created\n");
    let again = worked(run(apply(&[])).await);
    assert_eq!((again.stdout.as_str(), again.stderr.as_str()), ("", "3 unchanged\n"));
    let all = worked(run(apply(&["--all"])).await);
    assert_eq!(all.stdout, "echo   unchanged  tool\nother  unchanged  tool\np95    unchanged  alert\n");
    worked(desk.haft(&["diff", "-f", &file]).await);

    let changed = json!([mock("echo", "Two."), {"metric": "p95", "above": 5}]).to_string();
    let changed = desk.write("changed.json", &changed);
    let drift = desk.haft(&["diff", "-f", &changed, "--prune"]).await;
    assert_eq!(drift.code, 9);
    assert!(
        drift.stdout.contains("echo   would update  tool\n") && drift.stdout.contains("\"One.\" → \"Two.\"")
    );
    assert!(drift.stdout.contains("other  would remove  tool\n"), "{}", drift.stdout);
    assert_eq!(drift.stderr, "would update 1, would remove 1, 1 unchanged; nothing was stored\n");
    let code = desk.haft(&["apply", "-f", &changed, "--prune", "--exit-code"]).await;
    assert_eq!((code.code, code.stderr.as_str()), (9, "1 updated, 1 removed, 1 unchanged\n"));
    worked(desk.haft(&["diff", "-f", &changed, "--prune"]).await);
}

#[tokio::test]
async fn import_prints_planned_changes() {
    let desk = Desk::new("import-words").await;
    let import = ["import", "curl", "curl https://api.example.com/users"];
    let dry_run = worked(desk.haft(&[&import[..], &["--dry-run"]].concat()).await);
    assert!(dry_run.stdout.contains("would create"), "{}", dry_run.stdout);
    assert!(dry_run.stderr.contains("would create 1; nothing was stored"), "{}", dry_run.stderr);
    assert!(worked(desk.haft(&import).await).stderr.contains("1 created\n"));
    let again = worked(desk.haft(&import).await);
    assert_eq!((again.stdout.as_str(), again.stderr.as_str()), ("", "1 unchanged\n"));
    let all = worked(desk.haft(&[&import[..], &["--all"]].concat()).await);
    assert!(all.stdout.contains("unchanged") && all.stdout.contains("GET /users"), "{}", all.stdout);
}

#[tokio::test]
async fn exit_code_of_an_import_reports_drift() {
    let desk = Desk::new("import-drift").await;
    let operation =
        |id: &str| json!({"get": {"operationId": id, "responses": {"200": {"description": "d"}}}});
    let mut document = json!({
        "openapi": "3.1.0", "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {"/orders": operation("listOrders"), "/users": operation("listUsers")},
    });
    let file = desk.write("shop.json", &document.to_string());
    let import = ["import", "openapi", file.as_str(), "--exit-code"];
    let dry_run = [&import[..], &["--dry-run"]].concat();
    assert_eq!(desk.haft(&dry_run).await.code, 9);
    assert_eq!(desk.haft(&import).await.code, 9);
    assert_eq!(worked(desk.haft(&dry_run).await).stdout, "");
    document["paths"]["/orders"]["get"]["summary"] = json!("Lists orders.");
    desk.write("shop.json", &document.to_string());
    let drift = desk.haft(&dry_run).await;
    assert_eq!(drift.code, 9, "{}", drift.stderr);
    assert!(drift.stdout.contains("would update") && !drift.stdout.contains("/users"), "{}", drift.stdout);
    assert_eq!(drift.stderr, "would update 1, 1 unchanged; nothing was stored\n");
    assert_eq!(desk.haft(&import).await.code, 9);
    // An operation removed from the document counts as drift, too: its tool remains until a user deletes it.
    document["paths"].as_object_mut().expect("paths").remove("/users");
    desk.write("shop.json", &document.to_string());
    let drift = desk.haft(&dry_run).await;
    assert_eq!(drift.code, 9, "{}", drift.stderr);
    assert!(drift.stdout.contains("  gone  ") && drift.stdout.starts_with("listUsers"), "{}", drift.stdout);
    assert_eq!(drift.stderr, "1 unchanged; nothing was stored\n");
}

#[tokio::test]
async fn export_has_a_folder_for_each_type() {
    let desk = Desk::new("export-nouns").await;
    let space = TestSpace::new(&desk, "one").await;
    space.make("/api/tools", &mock("echo", "One.")).await;
    space.make("/api/providers", &json!({"name": "local", "kind": "ollama"})).await;
    for above in [1, 2] {
        space.make("/api/alerts", &json!({"metric": "queueDepth", "above": above})).await;
    }
    let directory = desk.home.join("out").to_str().expect("a path").to_owned();
    let exported = worked(space.haft(&["export", &directory], "").await);
    for file in
        ["tools/echo.json", "providers/local.json", "alerts/queueDepth.json", "alerts/queueDepth 2.json"]
    {
        assert!(exported.stdout.contains(file) && desk.home.join("out").join(file).exists(), "{file}");
    }
    let same = worked(space.haft(&["apply", "-f", &directory, "--prune", "--json"], "").await);
    let report = parsed(&same);
    let alerts = report["alerts"].as_array().expect("a list");
    assert!(alerts.len() == 2 && alerts.iter().all(|alert| alert["change"] == "unchanged"), "{report}");
    // The JSON output of `show` can be applied, too.
    let shown = worked(space.haft(&["providers", "show", "local", "--json"], "").await).stdout;
    worked(space.haft(&["diff", "-f", "-"], &shown).await);
}
