//! Two servers on one PostgreSQL: changes at one reach the other, and one of two concurrent writers wins.

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, Upstream, json_reply};
use serde_json::{Value, json};

use super::database::Database;
use super::{FIVE_SECONDS, ONE_SECOND, Settings, call, mock, within};

/// Two servers, with a client of the admin for each.
struct Pair {
    /// Dropped first, so that no server uses the database when it is deleted.
    servers: [HaftProcess; 2],
    here: Client,
    there: Client,
    _database: Database,
}

impl Pair {
    async fn new() -> Option<Self> {
        let database = Database::new()?;
        let settings = Settings::sharing(&database.url());
        let (first, here) = settings.start().await;
        let (second, there) = settings.start().await;
        // The second server has the space in memory before the first one changes it.
        assert_eq!(there.get("/api/tools").await.status, 200);
        Some(Self { servers: [first, second], here, there, _database: database })
    }

    /// Returns a client of the second server with this token.
    fn there_by(&self, token: &str) -> Client {
        Client::new(&self.servers[1].url, token)
    }
}

#[tokio::test]
async fn tool_changes_at_one_server_reach_the_other() {
    let Some(pair) = Pair::new().await else { return };
    let Pair { here, there, .. } = &pair;
    let answers = async |data: Value| {
        let reply = call(there, "shared").await;
        reply.status == 200 && reply.data()["data"] == data
    };
    assert_eq!(here.post("/api/tools", &mock("shared", &json!(1))).await.status, 201);
    within(ONE_SECOND, "made", async || answers(json!(1)).await).await;
    assert_eq!(here.put("/api/tools/shared", &mock("shared", &json!(2))).await.status, 200);
    within(ONE_SECOND, "changed", async || answers(json!(2)).await).await;
    let back = here.post("/api/tools/shared/rollback", &json!({"version": 1})).await;
    assert_eq!(back.status, 200, "{}", back.body);
    within(ONE_SECOND, "rolled back", async || answers(json!(1)).await).await;
    let off = here.send_json(Method::PATCH, "/api/tools/shared", &json!({"isActive": false})).await;
    assert_eq!(off.status, 200, "{}", off.body);
    within(ONE_SECOND, "turned off", async || call(there, "shared").await.kind() == "ToolDisabled").await;
    assert_eq!(here.delete("/api/tools/shared").await.status, 200);
    within(ONE_SECOND, "deleted", async || call(there, "shared").await.status == 404).await;
    let imported = there.post("/api/tools/import", &json!({"tools": [mock("back", &json!(3))]})).await;
    assert_eq!(imported.status, 200, "{}", imported.body);
    within(ONE_SECOND, "the other way", async || call(here, "back").await.status == 200).await;
}

#[tokio::test]
async fn secret_changes_at_one_server_reach_the_other() {
    let upstream = Upstream::start(|seen| {
        let key = seen.header("x-api-key").unwrap_or_default();
        json_reply(200, &json!({"is": key.strip_prefix("key-number-")}))
    })
    .await;
    let Some(pair) = Pair::new().await else { return };
    let Pair { here, there, .. } = &pair;
    let tool = json!({"name": "keyed", "description": "d", "url": upstream.url("/"), "headers": {"X-Api-Key": "secret://key"}});
    assert_eq!(here.post("/api/tools", &tool).await.status, 201);
    // The second server caches that the secret is missing, and must update this.
    within(ONE_SECOND, "made", async || call(there, "keyed").await.status == 422).await;
    for number in ["1", "2"] {
        let put = here.put("/api/secrets/key", &json!({"value": format!("key-number-{number}")})).await;
        assert_eq!(put.status, 200, "{}", put.body);
        let is_sent = async || call(there, "keyed").await.data()["data"]["is"] == number;
        within(ONE_SECOND, "the new value is sent", is_sent).await;
    }
    assert_eq!(here.delete("/api/secrets/key").await.status, 200);
    within(ONE_SECOND, "deleted", async || call(there, "keyed").await.status == 422).await;
}

#[tokio::test]
async fn permissions_revoked_at_one_server_end_at_the_other() {
    let Some(pair) = Pair::new().await else { return };
    let Pair { here, there, .. } = &pair;
    let user = json!({"name": "bob", "password": "correct horse battery"});
    let bob = here.post("/api/users", &user).await.data()["id"].as_str().expect("an id").to_owned();
    let team = here.post("/api/spaces", &json!({"name": "team"})).await;
    let team = team.data()["id"].as_str().expect("an id").to_owned();
    let member = format!("/api/spaces/{team}/members/bob");
    assert_eq!(here.put(&member, &json!({"role": "editor"})).await.status, 200);
    let entered = Client::anonymous(&pair.servers[0].url).post("/api/login", &user).await;
    let cookie = entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    let session_here = Client::anonymous(&pair.servers[0].url).with("cookie", cookie);
    let session = Client::anonymous(&pair.servers[1].url).with("cookie", cookie);
    let token = async |client: &Client, body: Value| {
        let made = client.post("/api/tokens", &body).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let text = |field: &str| made.data()[field].as_str().expect("a text").to_owned();
        (text("id"), pair.there_by(&text("token")))
    };
    let (id, revoked) = token(here, json!({"name": "revoked", "scope": "call"})).await;
    let (_, in_team) = token(&session_here, json!({"name": "in_team", "spaceId": team})).await;
    let (_, personal) = token(&session_here, json!({"name": "personal"})).await;
    let status = async |client: &Client| client.get("/api/me").await.status;
    for client in [&revoked, &in_team, &personal, &session] {
        within(ONE_SECOND, "the caller is known at the second server", async || status(client).await == 200)
            .await;
    }

    assert_eq!(here.delete(&format!("/api/tokens/{id}")).await.status, 200);
    within(FIVE_SECONDS, "a token is revoked", async || status(&revoked).await == 401).await;

    assert_eq!(here.put(&member, &json!({"role": "viewer"})).await.status, 200);
    let makes = async || in_team.post("/api/tools", &mock("t", &json!(1))).await.status;
    within(FIVE_SECONDS, "the role is reduced", async || makes().await == 403).await;
    assert_eq!(here.delete(&member).await.status, 200);
    within(FIVE_SECONDS, "a member is removed", async || status(&in_team).await == 401).await;
    assert_eq!((status(&personal).await, status(&session).await), (200, 200), "bob's account still works");

    let off = here.send_json(Method::PATCH, &format!("/api/users/{bob}"), &json!({"isActive": false})).await;
    assert_eq!(off.status, 200, "{}", off.body);
    within(FIVE_SECONDS, "a user is deactivated", async || status(&personal).await == 401).await;
    within(FIVE_SECONDS, "and the session", async || status(&session).await == 401).await;
    assert_eq!(there.get("/api/me").await.status, 200, "other users are not affected");
}

#[tokio::test]
async fn one_of_two_writers_of_the_same_version_wins() {
    let Some(pair) = Pair::new().await else { return };
    let Pair { here, there, .. } = &pair;
    for round in 0..10 {
        let (name, path) = (format!("race{round}"), format!("/api/tools/race{round}"));
        assert_eq!(here.post("/api/tools", &mock(&name, &json!("before"))).await.status, 201);
        within(ONE_SECOND, "the tool is known at the second server", async || {
            there.get(&path).await.status == 200
        })
        .await;
        let write = async |client: &Client, data: Value| {
            client.with("if-match", "\"1\"").put(&path, &mock(&name, &data)).await
        };
        let (one, other) = tokio::join!(write(here, json!("one")), write(there, json!("other")));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{} {}", one.body, other.body);
        let (winner, loser, data) =
            if one.status == 200 { (one, other, "one") } else { (other, one, "other") };
        assert_eq!((&winner.data()["version"], loser.kind()), (&json!(2), "Conflict"));
        for client in [here, there] {
            within(ONE_SECOND, "the same everywhere", async || {
                call(client, &name).await.data()["data"] == data
            })
            .await;
        }
        let (one, two) = (mock(&format!("twin{round}"), &json!(1)), mock(&format!("twin{round}"), &json!(2)));
        let twins = tokio::join!(here.post("/api/tools", &one), there.post("/api/tools", &two));
        let mut statuses = [twins.0.status, twins.1.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409], "a name is given once");
    }
}

#[tokio::test]
async fn servers_that_start_together_on_an_empty_database_all_start() {
    for _ in 0..3 {
        let Some(database) = Database::new() else { return };
        let settings = Settings::sharing(&database.url());
        // The first server creates the schema and the admin; the others find them.
        let servers = tokio::join!(settings.start(), settings.start(), settings.start());
        for (_, api) in [&servers.0, &servers.1, &servers.2] {
            assert_eq!(api.get("/api/me").await.data()["user"]["name"], "admin");
        }
        let users = servers.0.1.get("/api/users").await;
        assert_eq!(users.data()["items"].as_array().map(Vec::len), Some(1), "{}", users.body);
    }
}
