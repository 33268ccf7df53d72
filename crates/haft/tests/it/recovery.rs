//! `haft admin reset` on the data directory: access for an operator who has lost every token.

use haft_testkit::{Client, HaftProcess, TestStorage, run};
use serde_json::json;

use crate::HAFT;

#[tokio::test]
async fn reset_prints_a_link_that_works_once() {
    let place = TestStorage::new();
    let data = place.variables();
    let environment: Vec<(&str, &str)> = data.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let with_token = [environment.as_slice(), &[("HAFT_ADMIN_TOKEN", "lost-token-of-the-operator")]].concat();
    let server = HaftProcess::start(HAFT, &["serve"], &with_token).await;
    if !place.is_postgres() {
        let held = run(HAFT, &["admin", "reset"], &environment, "").await;
        assert_eq!(held.code, 1);
        assert!(held.stderr.contains("is in use by another Haft"), "{}", held.stderr);
    }
    server.terminate();
    server.ended().await;

    let reset = run(HAFT, &["admin", "reset"], &environment, "").await;
    assert_eq!(reset.code, 0, "{}", reset.stderr);
    assert!(reset.stdout.starts_with("sign in as admin, once and within an hour: "), "{}", reset.stdout);
    let code =
        reset.stdout.split("link=").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a link");
    let server = HaftProcess::start(HAFT, &["serve"], &environment).await;
    let stranger = Client::anonymous(&server.url);
    let entered = stranger.post("/api/login", &json!({"link": code})).await;
    assert_eq!((entered.status, &entered.data()["user"]["name"]), (200, &json!("admin")), "{}", entered.body);
    assert_eq!(stranger.post("/api/login", &json!({"link": code})).await.status, 401);
    assert!(server.printed[0].starts_with("console: "), "a link at every start: {:?}", server.printed);
    assert_eq!(server.printed.len(), 1, "and a token only at the first");
}
