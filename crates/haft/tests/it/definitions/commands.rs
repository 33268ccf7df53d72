//! What `haft apply`, `haft diff` and `haft export` say, and the exit codes they end with.

use serde_json::json;

use super::Place;
use crate::cli_over_http::{Desk, mock, parsed, worked};

#[tokio::test]
async fn a_dry_run_says_what_it_would_do_and_its_exit_code_tells_of_drift() {
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

    let looked = worked(run(apply(&["--dry-run"])).await);
    assert_eq!(
        looked.stdout,
        "echo   would create  tool\nother  would create  tool\np95    would create  alert\n"
    );
    assert_eq!(looked.stderr, "would create 3; nothing was stored\n");
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
async fn an_import_says_what_it_would_do() {
    let desk = Desk::new("import-words").await;
    let import = ["import", "curl", "curl https://api.example.com/users"];
    let looked = worked(desk.haft(&[&import[..], &["--dry-run"]].concat()).await);
    assert!(looked.stdout.contains("would create"), "{}", looked.stdout);
    assert!(looked.stderr.contains("would create 1; nothing was stored"), "{}", looked.stderr);
    assert!(worked(desk.haft(&import).await).stderr.contains("1 created\n"));
    let again = worked(desk.haft(&import).await);
    assert_eq!((again.stdout.as_str(), again.stderr.as_str()), ("", "1 unchanged\n"));
    let all = worked(desk.haft(&[&import[..], &["--all"]].concat()).await);
    assert!(all.stdout.contains("unchanged") && all.stdout.contains("GET /users"), "{}", all.stdout);
}

#[tokio::test]
async fn the_exit_code_of_an_import_tells_of_drift() {
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
    // An operation that left the document is a difference, too: its tool stays until somebody deletes it.
    document["paths"].as_object_mut().expect("paths").remove("/users");
    desk.write("shop.json", &document.to_string());
    let drift = desk.haft(&dry_run).await;
    assert_eq!(drift.code, 9, "{}", drift.stderr);
    assert!(drift.stdout.contains("  gone  ") && drift.stdout.starts_with("listUsers"), "{}", drift.stdout);
    assert_eq!(drift.stderr, "1 unchanged; nothing was stored\n");
}

#[tokio::test]
async fn an_export_has_a_folder_for_each_noun() {
    let desk = Desk::new("export-nouns").await;
    let place = Place::new(&desk, "one").await;
    place.make("/api/tools", &mock("echo", "One.")).await;
    place.make("/api/providers", &json!({"name": "local", "kind": "ollama"})).await;
    for above in [1, 2] {
        place.make("/api/alerts", &json!({"metric": "queueDepth", "above": above})).await;
    }
    let directory = desk.home.join("out").to_str().expect("a path").to_owned();
    let exported = worked(place.haft(&["export", &directory], "").await);
    for file in
        ["tools/echo.json", "providers/local.json", "alerts/queueDepth.json", "alerts/queueDepth 2.json"]
    {
        assert!(exported.stdout.contains(file) && desk.home.join("out").join(file).exists(), "{file}");
    }
    let same = worked(place.haft(&["apply", "-f", &directory, "--prune", "--json"], "").await);
    let report = parsed(&same);
    let alerts = report["alerts"].as_array().expect("a list");
    assert!(alerts.len() == 2 && alerts.iter().all(|alert| alert["change"] == "unchanged"), "{report}");
    // A definition that the server shows can be applied, too.
    let shown = worked(place.haft(&["providers", "show", "local", "--json"], "").await).stdout;
    worked(place.haft(&["diff", "-f", "-"], &shown).await);
}
