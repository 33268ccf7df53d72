//! Changing agents over REST: setting tools, replacing and patching fields, and optimistic locking.

use serde_json::json;

use crate::agents::{make, patch, refused, search};
use crate::http_tools::start;

#[tokio::test]
async fn setting_tools_preserves_the_config_of_bindings_that_remain() {
    let (_server, api) = start(&[]).await;
    let id = make(&api, "/api/tools", &search()).await["id"].clone();
    let config = json!({"maxResults": 5, "$fixed": {"region": "cn"}});
    let body = json!({"name": "clerk", "bindings": [
        {"toolId": "calculator", "sortOrder": 20},
        {"tool_id": "search", "sort_order": 10, "tool_config": {"max_results": 5, "$fixed": {"region": "cn"}}},
    ]});
    let agent = make(&api, "/api/agents", &body).await;
    assert_eq!(agent["toolIds"], json!([id, "calculator"]), "by sort order");
    assert_eq!(agent["bindings"][0]["toolConfig"], config, "with the argument names of the schema");

    let back = api.put("/api/agents/clerk", &agent).await;
    assert_eq!(
        (back.status, back.data()),
        (200, &agent),
        "an unchanged agent can be sent back and gets no new version"
    );
    let without = api.put("/api/agents/clerk", &json!({"name": "clerk", "description": "Counts."})).await;
    assert_eq!(without.data()["bindings"], agent["bindings"], "{}", without.body);
    assert_eq!(without.data()["version"], 2);

    let more = patch(&api, "/api/agents/clerk", &json!({"toolIds": ["datetime", "search"]})).await;
    assert_eq!(more.status, 200, "{}", more.body);
    let orders: Vec<_> = more.data()["bindings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|binding| {
            (binding["toolId"].clone(), binding["sortOrder"].clone(), binding["toolConfig"].clone())
        })
        .collect();
    assert_eq!(orders, [(json!("datetime"), json!(0), json!({})), (id.clone(), json!(1), config)]);
    let none = patch(&api, "/api/agents/clerk", &json!({"toolIds": null})).await;
    assert_eq!((&none.data()["toolIds"], &none.data()["version"]), (&json!([]), &json!(4)));

    make(&api, "/api/agents", &json!({"name": "other", "toolIds": ["search"]})).await;
    let bound = api.delete("/api/tools/search").await;
    assert_eq!(
        (bound.status, &bound.body["error"]["details"]["agents"]),
        (409, &json!(["other"])),
        "{}",
        bound.body
    );
    assert_eq!(api.delete("/api/tools/search?force=true").await.status, 200);
    assert_eq!(api.get("/api/agents/other").await.data()["toolIds"], json!([]));
}

#[tokio::test]
async fn agent_is_replaced_and_patched_with_dry_runs_and_if_match() {
    let (_server, api) = start(&[]).await;
    make(&api, "/api/agents", &json!({"name": "other"})).await;
    let definition = json!({
        "name": "clerk", "description": "Counts.", "category": "office", "locale": "zh",
        "config": {"model": "m", "temperature": 0.5, "maxSteps": 3, "toolChoice": "calculator"}, "toolIds": ["calculator"],
    });
    let dry_run = api.post("/api/agents?dryRun=true", &definition).await;
    assert_eq!((dry_run.status, &dry_run.data()["config"]["maxSteps"]), (200, &json!(3)), "{}", dry_run.body);
    assert_eq!(api.get("/api/agents/clerk").await.status, 404, "a dry run stores nothing");
    let taken = api.post("/api/agents?dryRun=true", &json!({"name": "other"})).await;
    assert_eq!((taken.status, taken.message()), (409, "other exists already"));
    let agent = make(&api, "/api/agents", &definition).await;

    let changed = patch(
        &api,
        "/api/agents/clerk",
        &json!({"locale": null, "category": null, "config": {"temperature": null, "max_steps": null, "model": "n"}}),
    )
    .await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    let config = &changed.data()["config"];
    assert_eq!(
        (&config["temperature"], &config["maxSteps"], &config["model"], &config["toolChoice"]),
        (&json!(null), &json!(16), &json!("n"), &json!("calculator"))
    );
    assert_eq!((&changed.data()["locale"], &changed.data()["category"]), (&json!(null), &json!(null)));
    assert_eq!(changed.data()["description"], "Counts.", "omitted fields are unchanged");
    assert_eq!((&changed.data()["createdAt"], &changed.data()["id"]), (&agent["createdAt"], &agent["id"]));
    for (body, message) in [
        (json!({"name": null}), "name: is required"),
        (json!({"id": "x"}), "id: is set by the server"),
        (json!({"version": 1}), "version: is set by the server"),
        (json!({"config": {"maxSteps": 0}}), "config.maxSteps: 0 is less"),
        (json!({"toolIds": ["nope"]}), "toolIds.0: there is no tool nope"),
        (json!("x"), "(root): \"x\" is not of type \"object\""),
    ] {
        refused(&patch(&api, "/api/agents/clerk", &body).await, message, &body);
    }

    let replacement = json!({"name": "clerk", "systemPrompt": "Be brief."});
    let stale = api.with("if-match", "\"1\"").put("/api/agents/clerk", &replacement).await;
    assert_eq!((stale.status, stale.kind()), (409, "Conflict"));
    assert!(
        stale.message().starts_with("clerk has been changed: its version is 2, not 1"),
        "{}",
        stale.message()
    );
    let dry_run = api.with("if-match", "1").put("/api/agents/clerk?dryRun=true", &replacement).await;
    assert_eq!((dry_run.status, dry_run.message()), (409, stale.message()));
    let dry_run = api.put("/api/agents/clerk?dryRun=true", &json!({"name": "other"})).await;
    assert_eq!(dry_run.status, 409, "the name exists");
    let dry_run = api.put("/api/agents/clerk?dryRun=true", &replacement).await;
    assert_eq!((dry_run.status, &dry_run.data()["version"]), (200, &json!(3)));
    let replaced = api.with("if-match", "2").put("/api/agents/clerk", &replacement).await;
    assert_eq!((replaced.status, replaced.header("etag")), (200, Some("\"3\"")), "{}", replaced.body);
    assert_eq!(
        (&replaced.data()["description"], &replaced.data()["toolIds"]),
        (&json!(""), &json!(["calculator"])),
        "fields are replaced, tools are unchanged"
    );
    assert_eq!(api.put("/api/agents/clerk", &json!({"name": "other"})).await.status, 409);
    assert_eq!(api.with("if-match", "1").delete("/api/agents/clerk").await.status, 409);
    assert_eq!(api.with("if-match", "latest").delete("/api/agents/clerk").await.status, 400);
    assert_eq!(api.with("if-match", "3").delete("/api/agents/clerk").await.status, 200);
}
