//! `haft audit`: lists changes as text and JSON, verifies the hash chain, and checks permissions.

use haft_testkit::run;
use serde_json::json;

use crate::HAFT;
use crate::cli_over_http::{Desk, mock, parsed, refused, worked};

#[tokio::test]
async fn changes_are_listed_with_their_author() {
    let desk = Desk::new("audit").await;
    assert_eq!(desk.api.post("/api/tools", &mock("echo", "One.")).await.status, 201);
    assert_eq!(desk.api.put("/api/tools/echo", &mock("echo", "Two.")).await.status, 200);
    let listed = worked(desk.haft(&["audit", "list"]).await);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{}", listed.stdout);
    for (line, parts) in lines.iter().zip([
        ["20", "  tool.updated   echo ", "  by admin ", "  description"],
        ["20", "  tool.created   echo ", "  by admin", ""],
        ["20", "  token.created  ", "  by the server itself", ""],
    ]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{parts:?} are not in {line:?}");
    }
    let own = ["audit", "list", "--what", "tool", "--user", "me", "--json"];
    let tools = parsed(&worked(desk.haft(&own).await));
    assert_eq!((&tools[0]["type"], &tools[1]["type"]), (&json!("tool.updated"), &json!("tool.created")));
    let later = ["audit", "list", "--since", "2999-01-01T00:00:00Z"];
    assert_eq!(worked(desk.haft(&later).await).stdout, "");
    let users = worked(desk.haft(&["audit", "list", "--server"]).await);
    assert!(users.stdout.contains("  user.created  admin  "), "{}", users.stdout);

    refused(&desk.haft(&["audit", "list", "--what", "nonsense"]).await, 2, "Validation");
    refused(&desk.haft(&["audit"]).await, 2, "verify");
}

#[tokio::test]
async fn verify_needs_operator_rights() {
    let desk = Desk::new("verify").await;
    let whole = worked(desk.haft(&["audit", "verify"]).await);
    assert!(whole.stdout.starts_with("changes  2 as written  head "), "{}", whole.stdout);
    assert_eq!(whole.stderr, "");
    desk.add_user("ada", "a long password").await;
    worked(desk.at_home(&["login", &desk.server.url, "--name", "ada"], "a long password\n").await);
    refused(&desk.at_home(&["audit", "verify"], "").await, 4, "Permission");
    refused(&desk.at_home(&["audit", "list", "--server"], "").await, 4, "Permission");
    worked(desk.at_home(&["audit", "list"], "").await);
}

#[tokio::test]
async fn audit_fails_without_a_data_directory_and_creates_none() {
    let nowhere = std::env::temp_dir().join(format!("haft-audit-{}", std::process::id()));
    let environment = [("HAFT_DATA_DIR", nowhere.to_str().expect("a path"))];
    for arguments in [["audit", "verify"], ["audit", "list"]] {
        refused(&run(HAFT, &arguments, &environment, "").await, 1, "nothing is on record here");
    }
    assert!(!nowhere.exists(), "no directory is created");
}
