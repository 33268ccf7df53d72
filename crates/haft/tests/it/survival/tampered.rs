//! Records that were changed in the database, without the server: `haft audit verify` reports it with the
//! position.

use haft_testkit::{CommandOutput, TestStorage, eventually, run};
use serde_json::{Value, json};

use super::{Settings, call, mock, statement};
use crate::HAFT;
use crate::cli_over_http::{parsed, refused, worked};

/// Runs a command on the data itself, without a server.
async fn run_locally(place: &TestStorage, arguments: &[&str]) -> CommandOutput {
    let variables = place.variables();
    let environment: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    run(HAFT, arguments, &environment, "").await
}

#[tokio::test]
async fn tampering_is_detected_with_its_position() {
    let place = TestStorage::new();
    let settings = Settings::of(&place);
    let (server, api) = settings.start().await;
    assert_eq!(api.post("/api/tools", &mock("kept", &json!(1))).await.status, 201);
    assert_eq!(call(&api, "kept").await.status, 200);
    assert_eq!(call(&api, "kept").await.status, 200);
    eventually("the calls are logged", async || {
        let calls = api.get("/api/tool-calls").await;
        calls.data()["items"].as_array().map(Vec::len) == Some(2)
    })
    .await;
    let served = settings.clone().with("HAFT_URL", &server.url);
    let asked = worked(served.haft(&["audit", "verify", "--json"], "").await);
    let heads = |answer: &Value| ["changes", "calls"].map(|name| answer[name]["head"].clone());
    let whole = parsed(&asked);
    assert_eq!(whole["changes"]["checked"], 3, "the admin, its token, the tool: {whole}");
    assert_eq!(whole["calls"]["checked"], 2, "{whole}");
    if !place.is_postgres() {
        refused(&run_locally(&place, &["audit", "verify"]).await, 1, "is in use by another Haft");
    }
    server.terminate();
    assert_eq!(server.ended().await, Some(0));

    let found = worked(run_locally(&place, &["audit", "verify"]).await);
    let lines: Vec<&str> = found.stdout.lines().collect();
    assert!(lines[0].starts_with("changes  3 as written  head "), "{}", found.stdout);
    assert!(lines[1].starts_with("calls    2 as written  head "), "{}", found.stdout);
    let again = parsed(&worked(run_locally(&place, &["audit", "verify", "--json"]).await));
    assert_eq!(heads(&again), heads(&whole), "the server and the command report the same");

    for (file, sql, back, expected) in [
        (
            "haft.db",
            "UPDATE history SET thing_name = 'other' WHERE seq = 3",
            Some("UPDATE history SET thing_name = 'kept' WHERE seq = 3"),
            "2 as written; number 3 was changed",
        ),
        (
            "calls.db",
            "UPDATE tool_call_log SET tool_name = 'other' WHERE seq = 1",
            Some("UPDATE tool_call_log SET tool_name = 'kept' WHERE seq = 1"),
            "0 as written; number 1 was changed",
        ),
        ("haft.db", "DELETE FROM history WHERE seq = 2", None, "1 as written; number 2 is missing"),
    ] {
        let Some(()) = statement(&place, &settings, file, sql) else { return };
        let broken = run_locally(&place, &["audit", "verify"]).await;
        assert_eq!(broken.code, 1, "{sql}: {}{}", broken.stdout, broken.stderr);
        assert!(broken.stdout.contains(expected), "{sql}: {}", broken.stdout);
        assert!(
            broken.stderr.contains("the records differ from the ones that were written"),
            "{sql}: {}",
            broken.stderr
        );
        let json = run_locally(&place, &["audit", "verify", "--json"]).await;
        assert_eq!(json.code, 1, "{sql}: {}", json.stdout);
        let (server, api) = settings.start().await;
        let verified = api.get("/api/audit/verify").await;
        assert_eq!(verified.data(), &parsed(&json), "{sql}: a server reports the same, and serves requests");
        assert_eq!(call(&api, "kept").await.status, 200);
        server.kill().await;
        if let Some(back) = back {
            statement(&place, &settings, file, back).expect("as before");
            worked(run_locally(&place, &["audit", "verify"]).await);
        }
    }
}
