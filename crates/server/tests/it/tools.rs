//! Tools over the API: create, list, read, replace, delete.

use serde_json::{Value, json};

use crate::support::{App, mock};

#[tokio::test]
async fn a_tool_is_created_and_read_with_every_field() {
    let app = App::start().await;
    let reply = app.api.post("/api/tools", &mock("weather", json!([{"data": 1}]))).await;
    assert_eq!((reply.status, reply.message(), reply.header("etag")), (201, "success", Some("\"1\"")));
    let tool = reply.data();
    let id = tool["id"].as_str().expect("an id");
    assert_eq!(id.len(), 36);
    assert_eq!(id.as_bytes()[14], b'7', "a UUIDv7");
    let mut shown = tool.clone();
    for field in ["id", "spaceId", "ownerId", "createdAt", "updatedAt"] {
        assert!(shown[field].is_string(), "{field}");
        shown.as_object_mut().expect("an object").remove(field);
    }
    assert_eq!(
        shown,
        json!({
            "name": "weather", "description": "A mock.", "category": null, "title": null, "icon": null, "type": "mock",
            "inputSchema": {"type": "object", "properties": {}}, "outputSchema": null, "async": false,
            "config": {"answers": [{"data": 1}]}, "timeout": 30000, "totalTimeout": 120_000, "effect": null, "policy": null, "askWhen": null,
            "retryCount": null, "retryDelay": 1000, "cacheTtl": 0, "rateLimit": null, "maxConcurrency": null,
            "priority": 0, "isActive": true, "version": 1,
        })
    );
    for name in [id, "weather"] {
        let read = app.api.get(&format!("/api/tools/{name}")).await;
        assert_eq!((read.status, read.data()), (200, tool));
        assert_eq!(read.header("etag"), Some("\"1\""));
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_definition_is_said_all_at_once_and_nothing_is_stored() {
    let app = App::start().await;
    let reply = app
        .api
        .post(
            "/api/tools",
            &json!({
                "name": "no good", "description": "X.", "type": "mock", "timeout": 0, "colour": 1,
                "inputSchema": {"type": "object"},
            }),
        )
        .await;
    assert_eq!((reply.status, reply.kind()), (400, "Validation"));
    let errors = reply.body["error"]["details"]["errors"].as_array().expect("a list");
    let paths: Vec<&str> = errors.iter().filter_map(|error| error["path"].as_str()).collect();
    assert_eq!(paths, ["colour", "name", "timeout"]);

    for (change, path) in [
        (json!({"inputSchema": {"type": "array"}}), "inputSchema.type"),
        (
            json!({"inputSchema": {"properties": {"a": {"$ref": "https://example.com/x"}}}}),
            "inputSchema.properties.a.$ref",
        ),
        (json!({"inputSchema": {"properties": {"a": {"pattern": "("}}}}), "inputSchema.properties.a.pattern"),
        (json!({"outputSchema": {"type": "strng"}}), "outputSchema.type"),
        (json!({"config": {"answrs": []}}), "config"),
        (json!({"type": "grpc"}), "type"),
        (json!({"type": "native"}), "type"),
        (json!({"id": "0190b5a0-0000-7000-8000-000000000000"}), "id"),
        (json!({"version": 1}), "version"),
        (json!({"ownerId": "0190b5a0-0000-7000-8000-000000000000"}), "ownerId"),
    ] {
        let mut definition = mock("a", json!([]));
        for (name, value) in change.as_object().expect("fields") {
            definition[name] = value.clone();
        }
        let reply = app.api.post("/api/tools", &definition).await;
        assert_eq!(reply.status, 400, "{change}");
        assert_eq!(reply.body["error"]["details"]["errors"][0]["path"], path, "{}", reply.body);
    }
    assert_eq!(
        app.api.get("/api/tools").await.data()["total"],
        1,
        "only the one that comes with the program"
    );
}

#[tokio::test]
async fn names_are_unique_and_what_the_program_provides_cannot_be_shadowed_or_changed() {
    let app = App::start().await;
    app.create(mock("a", json!([]))).await;
    for (name, words) in [
        ("a", "a tool named a exists already"),
        (
            "fixed",
            "fixed is the name of a tool that comes with the program and cannot be replaced; choose another name",
        ),
    ] {
        let reply = app.api.post("/api/tools", &mock(name, json!([]))).await;
        assert_eq!((reply.status, reply.kind()), (409, "Conflict"));
        assert_eq!(reply.message(), words);
    }
    let reply = app.api.put("/api/tools/fixed", &mock("fixed", json!([]))).await;
    assert_eq!((reply.status, reply.kind()), (403, "Permission"));
    assert_eq!(app.api.delete("/api/tools/fixed").await.status, 403);
    assert_eq!(app.api.get("/api/tools/fixed").await.data()["id"], "fixed");
}

#[tokio::test]
async fn a_replacement_is_a_new_version_and_keeps_who_and_when() {
    let app = App::start().await;
    let tool = app.create(mock("a", json!([{"data": "old"}]))).await;
    let id = tool["id"].as_str().expect("an id").to_owned();
    let path = format!("/api/tools/{id}");
    let reply = app.api.put(&path, &mock("b", json!([{"data": "new"}]))).await;
    assert_eq!((reply.status, reply.header("etag")), (200, Some("\"2\"")));
    let changed = reply.data();
    assert_eq!(
        (&changed["version"], &changed["id"], &changed["createdAt"]),
        (&json!(2), &tool["id"], &tool["createdAt"])
    );
    assert_eq!(app.execute("b", json!({})).await.data()["data"], "new");
    assert_eq!(app.execute("a", json!({})).await.status, 404, "the old name is free");
    app.create(mock("a", json!([]))).await;
    assert_eq!(app.api.put(&path, &mock("a", json!([]))).await.status, 409, "a name that is taken");

    let again = app.api.put(&path, changed).await;
    assert_eq!(
        (again.status, &again.data()["version"]),
        (200, &json!(2)),
        "what was read can be sent back; no change, no version"
    );
    let mut forged = changed.clone();
    forged["createdAt"] = json!("2020-01-01T00:00:00Z");
    let refused = app.api.put(&path, &forged).await;
    assert_eq!(
        refused.message(),
        "Invalid inputs: createdAt: is set by the server and cannot be changed; leave it out"
    );
}

#[tokio::test]
async fn a_stale_writer_is_told_and_loses_nothing() {
    let app = App::start().await;
    app.create(mock("a", json!([]))).await;
    let first = app.api.with("if-match", "\"1\"").put("/api/tools/a", &mock("a", json!([{"data": 1}]))).await;
    assert_eq!(first.status, 200);
    let second =
        app.api.with("if-match", "\"1\"").put("/api/tools/a", &mock("a", json!([{"data": 2}]))).await;
    assert_eq!((second.status, second.kind()), (409, "Conflict"));
    assert!(second.message().starts_with("a has been changed: its version is 2, not 1"));
    assert_eq!(app.execute("a", json!({})).await.data()["data"], 1);
    assert_eq!(app.api.with("if-match", "1").delete("/api/tools/a").await.status, 409);
    let reply = app.api.with("if-match", "latest").delete("/api/tools/a").await;
    assert_eq!((reply.status, reply.message()), (400, "If-Match must be a version such as \"3\""));
    assert_eq!(app.api.with("if-match", "2").delete("/api/tools/a").await.status, 200);
}

#[tokio::test]
async fn of_two_writers_at_once_exactly_one_wins() {
    let app = App::start().await;
    app.create(mock("a", json!([]))).await;
    let change = |n: u32| {
        let api = app.api.with("if-match", "1");
        async move { api.put("/api/tools/a", &mock("a", json!([{"data": n}]))).await.status }
    };
    let mut statuses = vec![];
    for task in (0..8).map(|n| tokio::spawn(change(n))).collect::<Vec<_>>() {
        statuses.push(task.await.expect("done"));
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
}

#[tokio::test]
async fn a_dry_run_checks_and_stores_nothing() {
    let app = App::start().await;
    let reply = app.api.post("/api/tools?dryRun=true", &mock("a", json!([]))).await;
    assert_eq!((reply.status, &reply.data()["name"]), (200, &json!("a")));
    assert_eq!(app.api.get("/api/tools/a").await.status, 404);
    assert_eq!(app.api.post("/api/tools?dryRun=true", &mock("fixed", json!([]))).await.status, 409);
    assert_eq!(app.api.post("/api/tools?dryRun=true", &mock("no good", json!([]))).await.status, 400);

    app.create(mock("a", json!([]))).await;
    let reply = app.api.put("/api/tools/a?dryRun=true", &mock("a", json!([{"data": 1}]))).await;
    assert_eq!((reply.status, &reply.data()["version"]), (200, &json!(2)), "what it would become");
    assert_eq!(app.api.get("/api/tools/a").await.data()["version"], 1);
}

#[tokio::test]
async fn a_deleted_tool_is_gone() {
    let app = App::start().await;
    app.create(mock("a", json!([]))).await;
    let reply = app.api.delete("/api/tools/a").await;
    assert_eq!((reply.status, &reply.data()["name"]), (200, &json!("a")));
    for reply in [
        app.api.get("/api/tools/a").await,
        app.api.delete("/api/tools/a").await,
        app.execute("a", json!({})).await,
    ] {
        assert_eq!((reply.status, reply.kind()), (404, "NotFound"));
    }
}

async fn names(app: &App, query: &str) -> Vec<String> {
    let reply = app.api.get(&format!("/api/tools{query}")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let items = reply.data()["items"].as_array().expect("items").iter();
    items.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
}

#[tokio::test]
async fn lists_are_filtered() {
    let app = App::start().await;
    for (name, extra) in [
        ("alpha", json!({"category": "math"})),
        ("beta", json!({"isActive": false, "description": "Finds the WEATHER."})),
        ("gamma", json!({})),
    ] {
        let mut definition = mock(name, json!([]));
        for (field, value) in extra.as_object().expect("fields") {
            definition[field] = value.clone();
        }
        app.create(definition).await;
    }
    assert_eq!(names(&app, "").await, ["alpha", "beta", "fixed", "gamma"]);
    assert_eq!(names(&app, "?type=mock").await, ["alpha", "beta", "gamma"]);
    assert_eq!(names(&app, "?type=NATIVE").await, ["fixed"]);
    assert_eq!(names(&app, "?category=math").await, ["alpha"]);
    assert_eq!(names(&app, "?q=weather").await, ["beta"]);
    assert_eq!(names(&app, "?q=AMM").await, ["gamma"]);
    assert_eq!(names(&app, "?active=false").await, ["beta"]);
    assert_eq!(names(&app, "?active=true&type=mock").await, ["alpha", "gamma"]);
    assert_eq!(names(&app, "?owner=system").await, ["fixed"]);
    assert_eq!(names(&app, "?owner=me").await, ["alpha", "beta", "gamma"]);
    for bad in [
        "?limit=x",
        "?active=maybe",
        "?owner=you",
        "?colour=red",
        "?limit=0",
        "?limit=201",
        "?cursor=nonsense!",
    ] {
        let reply = app.api.get(&format!("/api/tools{bad}")).await;
        assert_eq!((reply.status, reply.kind()), (400, "Validation"), "{bad}");
    }
}

#[tokio::test]
async fn lists_come_in_pages_that_hold_while_tools_come_and_go() {
    let app = App::start().await;
    for n in 0..25 {
        app.create(mock(&format!("t{n:02}"), json!([]))).await;
    }
    let mut seen = Vec::new();
    let mut query = "?limit=10&type=mock".to_owned();
    loop {
        let reply = app.api.get(&format!("/api/tools{query}")).await;
        let page = reply.data()["items"].as_array().expect("items");
        seen.extend(page.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
        let Some(cursor) = reply.data()["nextCursor"].as_str() else { break };
        // The one the cursor points at may go meanwhile.
        let last = page.last().and_then(|tool| tool["name"].as_str()).expect("a name");
        assert_eq!(app.api.delete(&format!("/api/tools/{last}")).await.status, 200);
        query = format!("?limit=10&type=mock&cursor={cursor}");
    }
    assert_eq!(seen, (0..25).map(|n| format!("t{n:02}")).collect::<Vec<_>>());
    let last: Value = app.api.get("/api/tools?limit=200").await.data()["nextCursor"].clone();
    assert_eq!(last, Value::Null);
}
