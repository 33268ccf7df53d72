//! No trace of a space in bodies, headers, lists, exports and secrets, nor after a member has left.

use axum::http::Method;
use haft_testkit::{Upstream, json_reply};
use serde_json::{Value, json};

use super::world::{MARK, Resources, World, id, put};
use super::{ask, assert_indistinguishable, assert_no_trace, comparable_text};
use crate::agents::make;
use crate::cli_over_http::mock;

#[tokio::test]
async fn foreign_resource_in_a_body_is_not_found() {
    let world = World::start().await;
    let own = id(&make(&world.stranger, "/api/agents", &json!({"name": "own"})).await);
    let foreign = &world.by_id;
    let nothing = Resources::missing_by_id();
    let (tool, agent, space) = ("{tool}", "{agent}", "{space}");
    for (method, path, body, status) in [
        (Method::POST, "/api/agents", json!({"name": "a", "toolIds": [tool]}), 400),
        (Method::POST, "/api/agents", json!({"name": "a", "bindings": [{"toolId": tool}]}), 400),
        (Method::POST, "/api/agents?dryRun=true", json!({"name": "a", "toolIds": [tool]}), 400),
        (Method::PUT, "/api/agents/own", json!({"name": "own", "toolIds": [tool]}), 400),
        (Method::PATCH, "/api/agents/own", json!({"toolIds": [tool]}), 400),
        (Method::POST, "/api/agents/own/tools", json!({"toolId": tool}), 400),
        (Method::POST, "/api/agents/own/tools", json!([{"toolId": "calculator"}, {"toolId": tool}]), 400),
        (Method::POST, "/api/agents/own/tools", json!({"toolId": tool, "pinnedVersion": 1}), 400),
        (Method::PATCH, "/api/agents/own/tools/{tool}", json!({"isEnabled": true}), 404),
        (Method::DELETE, "/api/agents/own/tools/{tool}", json!({}), 404),
        (
            Method::POST,
            "/api/tools/import",
            json!({"tools": [], "agents": [{"name": "a", "toolIds": [tool]}]}),
            400,
        ),
        (Method::POST, "/api/alerts", json!({"metric": "p95", "above": 1, "tool": tool}), 400),
        (Method::POST, "/api/tokens", json!({"name": "a", "spaceId": space}), 404),
        (
            Method::POST,
            "/api/tools/calculator/execute",
            json!({"arguments": {"expression": "1"}, "options": {"agentId": agent}}),
            404,
        ),
    ] {
        let ask = async |resources: &Resources| {
            let filled = |text: &str| {
                let placeholders =
                    [(tool, &resources.tool), (agent, &resources.agent), (space, &resources.space)];
                placeholders
                    .into_iter()
                    .fold(text.to_owned(), |text, (placeholder, value)| text.replace(placeholder, value))
            };
            let body: Value = serde_json::from_str(&filled(&body.to_string())).expect("JSON");
            ask(&world.stranger, &method, &filled(path), Some(&body)).await
        };
        let (reply, missing) = (ask(foreign).await, ask(&nothing).await);
        assert_eq!(reply.status, status, "{method} {path} {body}: {}", reply.body);
        assert_indistinguishable(path, (&reply, &foreign.all()), (&missing, &nothing.all()));
    }
    let agent = world.stranger.get(&format!("/api/agents/{own}")).await;
    assert_eq!(agent.data()["bindings"], json!([]), "{}", agent.body);
}

#[tokio::test]
async fn session_cannot_enter_a_foreign_space() {
    let world = World::start().await;
    let foreign = world.stranger_session.with("haft-space", &world.by_id.space);
    let nowhere = world.stranger_session.with("haft-space", &Resources::missing_by_id().space);
    let no_id = world.stranger_session.with("haft-space", "zeppelin_space");
    let body = mock("made", "Made.");
    for (method, path) in [
        (Method::GET, "/api/me"),
        (Method::GET, "/api/tools/zeppelin_tool"),
        (Method::GET, "/api/secrets"),
        (Method::POST, "/api/tools"),
        (Method::DELETE, "/api/agents/zeppelin_agent"),
        (Method::POST, "/api/tokens"),
    ] {
        let reply = ask(&foreign, &method, path, Some(&body)).await;
        assert_eq!((reply.status, reply.kind()), (403, "Permission"), "{method} {path}: {}", reply.body);
        for other in [&nowhere, &no_id] {
            let missing = ask(other, &method, path, Some(&body)).await;
            assert_eq!(comparable_text(&reply, &[]), comparable_text(&missing, &[]), "{method} {path}");
        }
    }
    assert_eq!(world.stranger_session.get("/api/me").await.status, 200, "the session itself is good");
    // A token acts in its own space, whatever the header says.
    let with_header = world.stranger.with("haft-space", &world.by_id.space);
    assert_no_trace("GET /api/me", &with_header.get("/api/me").await, &world);
    assert_eq!(with_header.get("/api/tools/zeppelin_tool").await.status, 404);
}

#[tokio::test]
async fn lists_and_exports_contain_nothing_of_other_spaces() {
    let world = World::start().await;
    for path in [
        "/api/tools?q=zeppelin",
        "/api/tools?q=Of%20the%20zeppelin",
        "/api/tools?type=mock&limit=200",
        "/api/tools?owner=me",
        "/api/tools?limit=200&cursor=emVwcGVsaW4",
        "/api/tools/categories",
        "/api/tools/export",
        "/api/stats",
        "/api/stats?window=1h&tool=zeppelin_tool",
        "/api/stats?window=1h&agent=zeppelin_agent",
        "/api/agents?q=zeppelin",
        "/api/agents?limit=200",
        "/api/providers",
        "/api/alerts",
        "/api/tasks?limit=200",
        "/api/approvals",
        "/api/secrets",
        "/api/secrets?owner=me",
        "/api/artifacts?limit=200",
        "/api/tokens",
        "/api/spaces",
        "/api/me",
    ] {
        for client in [&world.stranger, &world.stranger_session, &world.operator] {
            let reply = client.get(path).await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.body);
            assert_no_trace(path, &reply, &world);
        }
        let own = world.admin.get(path).await;
        assert_eq!(own.status, 200, "{path}: {}", own.body);
        if path.contains("q=zeppelin") {
            assert!(own.body.to_string().contains(MARK), "{path} does not find it for members: {}", own.body);
        }
    }
    let near = world.stranger.get("/api/tools/zeppelin_tol").await;
    assert_eq!(near.body["error"]["details"]["closest"], json!([]), "no hint at a foreign name");
}

#[tokio::test]
async fn same_name_in_two_spaces_means_two_resources() {
    let world = World::start().await;
    let before = world.snapshot().await;
    let stranger = &world.stranger;
    make(stranger, "/api/tools", &mock("zeppelin_tool", "Another.")).await;
    make(stranger, "/api/agents", &json!({"name": "zeppelin_agent", "toolIds": ["zeppelin_tool"]})).await;
    make(stranger, "/api/providers", &json!({"name": "zeppelin_provider", "kind": "openai"})).await;
    make(stranger, "/api/spaces", &json!({"name": "zeppelin_space"})).await;

    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let url = upstream.url("/");
    for (name, secret) in [("first_tool", "zeppelin_secret"), ("second_tool", "zebra")] {
        let headers = json!({"X-Key": format!("secret://{secret}")});
        let tool = json!({"name": name, "description": "Calls.", "url": url, "headers": headers});
        make(stranger, "/api/tools", &tool).await;
    }
    let foreign = stranger.post("/api/tools/first_tool/execute", &json!({})).await;
    let missing = stranger.post("/api/tools/second_tool/execute", &json!({})).await;
    assert!(foreign.status >= 400, "{}", foreign.body);
    assert_indistinguishable(
        "a secret",
        (&foreign, &["first_tool", "zeppelin_secret"]),
        (&missing, &["second_tool", "zebra"]),
    );
    assert!(upstream.seen().is_empty(), "nothing is sent without the secret");
    put(stranger, "/api/secrets/zeppelin_secret", &json!({"value": "another_value"})).await;
    let called = stranger.post("/api/tools/first_tool/execute", &json!({})).await;
    assert_eq!(called.status, 200, "{}", called.body);
    assert_eq!(upstream.seen()[0].header("x-key"), Some("another_value"));

    for path in ["tools/zeppelin_tool?force=true", "agents/zeppelin_agent", "providers/zeppelin_provider"] {
        let removed = stranger.delete(&format!("/api/{path}")).await;
        assert_eq!(removed.status, 200, "{path}: {}", removed.body);
    }
    assert_eq!(stranger.delete("/api/secrets/zeppelin_secret").await.status, 200);
    assert_eq!(
        world.snapshot().await,
        before,
        "resources of another space with the same names are unchanged"
    );
}

#[tokio::test]
async fn token_cannot_create_a_token_with_more_permissions() {
    let world = World::start().await;
    let scopes = ["read", "call", "admin"];
    let me = world.admin.get("/api/me").await;
    let spaces = me.data()["spaces"].as_array().expect("a list");
    let personal = spaces.iter().find(|space| space["isPersonal"] == true).expect("a space");
    let personal = format!("/api/spaces/{}", id(personal));
    for actor in &world.actors {
        let own = scopes.iter().position(|scope| *scope == actor.rights.scope).expect("a scope");
        for scope in scopes {
            let reply = actor.client.post("/api/tokens", &json!({"name": "more", "scope": scope})).await;
            let expected = if own == 2 { 201 } else { 403 };
            assert_eq!(reply.status, expected, "{} asks for {scope}: {}", actor.who, reply.body);
        }
        let made = actor.client.post("/api/tokens", &json!({"name": "same"})).await;
        if actor.rights.scope == "admin" {
            assert_eq!(made.data()["scope"], "admin", "the scope of the creator is the default");
            // A session has all permissions of its user, so a token of lesser scope cannot start one.
            let token = made.data()["token"].as_str().expect("a token");
            let entered = world.anyone.post("/api/login", &json!({"token": token})).await;
            assert_eq!(entered.status, 200, "{}: {}", actor.who, entered.body);
            let lesser = actor.client.post("/api/tokens", &json!({"name": "less", "scope": "call"})).await;
            let token = lesser.data()["token"].as_str().expect("a token");
            let refused = world.anyone.post("/api/login", &json!({"token": token})).await;
            assert_eq!(refused.status, 403, "{}: {}", actor.who, refused.body);
        }
        // A token of lesser scope stays in its space.
        let may = actor.who == "admin" && actor.rights.scope == "admin";
        let reply = actor.client.get(&personal).await;
        assert_eq!(reply.status, if may { 200 } else { 404 }, "{}: {}", actor.who, reply.body);
    }
}

#[tokio::test]
async fn former_member_loses_all_access() {
    let world = World::start().await;
    let space = &world.by_id.space;
    let viewer = world.actors.iter().find(|actor| actor.who == "viewer" && actor.rights.scope == "admin");
    let viewer = viewer.expect("a viewer");
    let entered = super::world::login(&world.anyone, "zeppelin_viewer").await;
    let session = super::world::session(&world.anyone, &entered);
    let within = session.with("haft-space", space);
    assert_eq!(viewer.client.get("/api/tools/zeppelin_tool").await.status, 200);
    assert_eq!(within.get("/api/tools/zeppelin_tool").await.status, 200);
    assert_eq!(session.get(&format!("/api/spaces/{space}")).await.status, 200);

    let removed = world.admin.delete(&format!("/api/spaces/{space}/members/zeppelin_viewer")).await;
    assert_eq!(removed.status, 200, "{}", removed.body);
    assert_eq!(viewer.client.get("/api/tools/zeppelin_tool").await.status, 401, "the token is revoked");
    assert_eq!(within.get("/api/tools/zeppelin_tool").await.status, 403);
    assert_eq!(session.get(&format!("/api/spaces/{space}")).await.status, 404);
    assert_eq!(session.get(&format!("/api/spaces/{space}/members")).await.status, 404);
    let listed = session.get("/api/spaces").await;
    assert!(!listed.body.to_string().contains(space.as_str()), "{}", listed.body);
}
