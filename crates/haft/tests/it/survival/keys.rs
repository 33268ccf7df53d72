//! Master keys: a wrong key decrypts nothing and breaks nothing else; a new key replaces the old one.

use haft_testkit::{Client, HaftProcess, TestStorage, Upstream, json_reply};
use serde_json::json;
use uuid::Uuid;

use super::database::Database;
use super::{ONE_SECOND, Settings, call, mock, skipped, within};

const VALUE: &str = "the-value-of-a-secret";

/// The error message for a secret whose key is not configured.
const MISSING_KEY: &str = "not among the keys given";

fn new_key() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// An upstream that reports whether it received the secret.
async fn start_upstream() -> Upstream {
    Upstream::start(|seen| json_reply(200, &json!({"right": seen.header("x-api-key") == Some(VALUE)}))).await
}

/// Creates a tool with a secret, and one without.
async fn make(api: &Client, upstream: &Upstream) {
    assert_eq!(api.put("/api/secrets/key", &json!({"value": VALUE})).await.status, 200);
    let tool = json!({"name": "keyed", "description": "d", "url": upstream.url("/"), "headers": {"X-Api-Key": "secret://key"}});
    for tool in [tool, mock("free", &json!(1))] {
        assert_eq!(api.post("/api/tools", &tool).await.status, 201);
    }
}

async fn is_open(api: &Client) -> bool {
    let called = call(api, "keyed").await;
    called.status == 200 && called.data()["data"] == json!({"right": true})
}

/// Asserts that a call fails without the secret, and that everything else works.
async fn assert_closed(api: &Client, keys: &[&str]) {
    let refused = call(api, "keyed").await;
    assert_eq!((refused.status, refused.kind()), (500, "Internal"), "{}", refused.body);
    assert!(refused.message().contains(MISSING_KEY), "{}", refused.message());
    assert_hidden(&refused.body.to_string(), keys);
    assert_eq!(call(api, "free").await.status, 200);
    for path in ["/api/tools", "/api/tools/keyed", "/api/tools/export", "/api/secrets", "/api/me", "/readyz"]
    {
        assert_eq!(api.get(path).await.status, 200, "{path}");
    }
    let dry = api.post("/api/tools/keyed/execute", &json!({"options": {"dryRun": true}})).await;
    assert_eq!(dry.status, 200, "{}", dry.body);
}

fn assert_hidden(text: &str, keys: &[&str]) {
    for hidden in keys.iter().chain(&[VALUE]) {
        assert!(!text.contains(hidden), "{text}");
    }
}

/// Asserts that a server with wrong keys refuses to start with a reason, or that calls with the secret fail.
async fn assert_stays_closed(settings: Settings, keys: &[&str]) {
    let log = std::env::temp_dir().join(format!("haft-keys-{}", Uuid::new_v4().simple()));
    let path = log.to_str().expect("a path").to_owned();
    let starting = tokio::spawn(async move { settings.start_behind("exec 2>\"$1\"", &path).await });
    let started: Option<(HaftProcess, Client)> = starting.await.ok();
    match started {
        Some((server, api)) => {
            assert_closed(&api, keys).await;
            server.kill().await;
        }
        None => {
            let text = std::fs::read_to_string(&log).expect("a log");
            assert!(text.contains(MISSING_KEY), "{text}");
            assert_hidden(&text, keys);
        }
    }
    let _ = std::fs::remove_file(log);
}

#[tokio::test]
async fn wrong_key_decrypts_nothing_and_a_rotated_key_everything() {
    let (place, upstream) = (TestStorage::new(), start_upstream().await);
    let (old, new, wrong) = (new_key(), new_key(), new_key());
    let keys = [old.as_str(), new.as_str(), wrong.as_str()];
    let with = |key: &str| Settings::of(&place).with("HAFT_MASTER_KEY", key);
    let (server, api) = with(&old).start().await;
    make(&api, &upstream).await;
    assert!(is_open(&api).await);
    server.kill().await;
    assert_stays_closed(with(&wrong), &keys).await;

    let alone = with(&old).haft(&["secrets", "rotate-key"], "").await;
    assert_eq!(alone.code, 1, "{}", alone.stdout);
    assert!(alone.stderr.contains("put the new key before the old one"), "{}", alone.stderr);
    let closed = with(&format!("{new},{wrong}")).haft(&["secrets", "rotate-key"], "").await;
    assert_eq!(closed.code, 1, "secrets that cannot be decrypted are not rotated: {}", closed.stdout);
    assert!(closed.stderr.contains(MISSING_KEY), "{}", closed.stderr);
    for finished in [&alone, &closed] {
        assert_hidden(&format!("{}{}", finished.stdout, finished.stderr), &keys);
    }
    let both = format!("{new},{old}");
    for count in [1, 0] {
        let rotated = with(&both).haft(&["secrets", "rotate-key"], "").await;
        let expected = format!("{count} secrets are encrypted under the new key\n");
        assert_eq!((rotated.code, rotated.stdout.as_str()), (0, expected.as_str()), "{}", rotated.stderr);
    }
    for key in [&both, &new] {
        let (server, api) = with(key).start().await;
        assert!(is_open(&api).await, "the new key decrypts the secret");
        server.kill().await;
    }
    assert_stays_closed(with(&old), &keys).await;
    let (_server, api) = with(&new).start().await;
    assert!(is_open(&api).await, "the failed attempts have lost nothing");
}

#[tokio::test]
async fn key_of_another_server_breaks_nothing_else_here() {
    let Some(database) = Database::new() else { return };
    let upstream = start_upstream().await;
    let (old, new) = (new_key(), new_key());
    let with = |key: &str| Settings::sharing(&database.url()).with("HAFT_MASTER_KEY", key);
    let (_first, here) = with(&old).start().await;
    let (_second, there) = with(&format!("{new},{old}")).start().await;
    make(&there, &upstream).await;
    within(ONE_SECOND, "the tool is known here", async || here.get("/api/tools/keyed").await.status == 200)
        .await;
    within(ONE_SECOND, "the tool is known here", async || here.get("/api/tools/free").await.status == 200)
        .await;
    assert_closed(&here, &[&old, &new]).await;
    assert!(is_open(&there).await);
}

#[tokio::test]
async fn key_file_gets_a_new_key_in_front_of_the_old_one() {
    let (place, upstream) = (TestStorage::new(), start_upstream().await);
    let settings = Settings::of(&place);
    let file = place.directory.join("master.key");
    let (server, api) = settings.start().await;
    make(&api, &upstream).await;
    let before = std::fs::read_to_string(&file).expect("a key");
    server.kill().await;
    let rotated = settings.haft(&["secrets", "rotate-key"], "").await;
    assert_eq!(rotated.stdout, "1 secrets are encrypted under the new key\n", "{}", rotated.stderr);
    let after = std::fs::read_to_string(&file).expect("a key");
    assert_eq!((before.lines().count(), after.lines().count()), (1, 2));
    assert!(after.ends_with(&before) && !format!("{rotated:?}").contains(before.trim()));
    let (server, api) = settings.start().await;
    assert!(is_open(&api).await);
    server.kill().await;

    std::fs::write(&file, &before).expect("written");
    assert_stays_closed(settings.clone(), &[before.trim()]).await;
    let (new, _) = after.split_once('\n').expect("two keys");
    std::fs::write(&file, new).expect("written");
    let (_server, api) = settings.start().await;
    assert!(is_open(&api).await, "the old key is no longer needed");
}

#[tokio::test]
async fn refused_rotation_does_not_change_the_key_file() {
    let place = TestStorage::new();
    if place.is_postgres() {
        return skipped("on PostgreSQL keys may be rotated while a server runs");
    }
    let settings = Settings::of(&place);
    let (_server, _api) = settings.start().await;
    let file = place.directory.join("master.key");
    let before = std::fs::read_to_string(&file).expect("a key");
    let refused = settings.haft(&["secrets", "rotate-key"], "").await;
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(refused.stderr.contains("is in use by another Haft"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&file).expect("a key"), before);
}
