//! Master keys: a wrong one opens nothing and breaks nothing else, a new one takes the place of the old.

use haft_testkit::{Client, HaftProcess, Place, Upstream, json_reply};
use serde_json::json;
use uuid::Uuid;

use super::database::Database;
use super::{ONE_SECOND, Settings, call, mock, skipped, within};

const VALUE: &str = "the-value-of-a-secret";

/// What is said of a secret whose key was not given.
const SAID: &str = "not among the keys given";

fn new_key() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// Says whether it was sent the secret.
async fn knows_the_secret() -> Upstream {
    Upstream::start(|seen| json_reply(200, &json!({"right": seen.header("x-api-key") == Some(VALUE)}))).await
}

/// A tool with a secret, and one without.
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

/// A call says that the secret stays closed, and all else is as ever.
async fn is_closed(api: &Client, keys: &[&str]) {
    let refused = call(api, "keyed").await;
    assert_eq!((refused.status, refused.kind()), (500, "Internal"), "{}", refused.body);
    assert!(refused.message().contains(SAID), "{}", refused.message());
    hides(&refused.body.to_string(), keys);
    assert_eq!(call(api, "free").await.status, 200);
    for path in ["/api/tools", "/api/tools/keyed", "/api/tools/export", "/api/secrets", "/api/me", "/readyz"]
    {
        assert_eq!(api.get(path).await.status, 200, "{path}");
    }
    let dry = api.post("/api/tools/keyed/execute", &json!({"options": {"dryRun": true}})).await;
    assert_eq!(dry.status, 200, "{}", dry.body);
}

fn hides(said: &str, keys: &[&str]) {
    for hidden in keys.iter().chain(&[VALUE]) {
        assert!(!said.contains(hidden), "{said}");
    }
}

/// A server that has the wrong keys: it does not start and says why, or the calls that need them say so.
async fn stays_closed(settings: Settings, keys: &[&str]) {
    let log = std::env::temp_dir().join(format!("haft-keys-{}", Uuid::new_v4().simple()));
    let path = log.to_str().expect("a path").to_owned();
    let starting = tokio::spawn(async move { settings.start_behind("exec 2>\"$1\"", &path).await });
    let started: Option<(HaftProcess, Client)> = starting.await.ok();
    match started {
        Some((server, api)) => {
            is_closed(&api, keys).await;
            server.kill().await;
        }
        None => {
            let said = std::fs::read_to_string(&log).expect("what it said");
            assert!(said.contains(SAID), "{said}");
            hides(&said, keys);
        }
    }
    let _ = std::fs::remove_file(log);
}

#[tokio::test]
async fn a_wrong_key_opens_nothing_and_a_rotated_one_everything() {
    let (place, upstream) = (Place::new(), knows_the_secret().await);
    let (old, new, wrong) = (new_key(), new_key(), new_key());
    let keys = [old.as_str(), new.as_str(), wrong.as_str()];
    let with = |key: &str| Settings::of(&place).with("HAFT_MASTER_KEY", key);
    let (server, api) = with(&old).start().await;
    make(&api, &upstream).await;
    assert!(is_open(&api).await);
    server.kill().await;
    stays_closed(with(&wrong), &keys).await;

    let alone = with(&old).haft(&["secrets", "rotate-key"], "").await;
    assert_eq!(alone.code, 1, "{}", alone.stdout);
    assert!(alone.stderr.contains("put the new key before the old one"), "{}", alone.stderr);
    let closed = with(&format!("{new},{wrong}")).haft(&["secrets", "rotate-key"], "").await;
    assert_eq!(closed.code, 1, "what cannot be opened is not rotated: {}", closed.stdout);
    assert!(closed.stderr.contains(SAID), "{}", closed.stderr);
    for finished in [&alone, &closed] {
        hides(&format!("{}{}", finished.stdout, finished.stderr), &keys);
    }
    let both = format!("{new},{old}");
    for count in [1, 0] {
        let rotated = with(&both).haft(&["secrets", "rotate-key"], "").await;
        let expected = format!("{count} secrets are encrypted under the new key\n");
        assert_eq!((rotated.code, rotated.stdout.as_str()), (0, expected.as_str()), "{}", rotated.stderr);
    }
    for key in [&both, &new] {
        let (server, api) = with(key).start().await;
        assert!(is_open(&api).await, "the new key opens");
        server.kill().await;
    }
    stays_closed(with(&old), &keys).await;
    let (_server, api) = with(&new).start().await;
    assert!(is_open(&api).await, "and nothing was lost by trying");
}

#[tokio::test]
async fn a_key_that_only_another_server_has_breaks_nothing_here() {
    let Some(database) = Database::new() else { return };
    let upstream = knows_the_secret().await;
    let (old, new) = (new_key(), new_key());
    let with = |key: &str| Settings::sharing(&database.url()).with("HAFT_MASTER_KEY", key);
    let (_first, here) = with(&old).start().await;
    let (_second, there) = with(&format!("{new},{old}")).start().await;
    make(&there, &upstream).await;
    within(ONE_SECOND, "known here", async || here.get("/api/tools/keyed").await.status == 200).await;
    within(ONE_SECOND, "known here", async || here.get("/api/tools/free").await.status == 200).await;
    is_closed(&here, &[&old, &new]).await;
    assert!(is_open(&there).await);
}

#[tokio::test]
async fn the_key_file_takes_a_new_key_and_keeps_the_old() {
    let (place, upstream) = (Place::new(), knows_the_secret().await);
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
    stays_closed(settings.clone(), &[before.trim()]).await;
    let (new, _) = after.split_once('\n').expect("two keys");
    std::fs::write(&file, new).expect("written");
    let (_server, api) = settings.start().await;
    assert!(is_open(&api).await, "the old key is needed no more");
}

#[tokio::test]
async fn a_rotation_that_is_refused_leaves_the_key_file_as_it_is() {
    let place = Place::new();
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
