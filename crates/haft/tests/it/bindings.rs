//! Bindings over REST: creation, validation, changes, and the tool list as users and models see it.

use serde_json::{Value, json};

use crate::agents::{make, patch, refused, search};
use crate::http_tools::start;

const TOOLS: &str = "/api/agents/clerk/tools";

#[tokio::test]
async fn invalid_binding_is_rejected_and_nothing_changes() {
    let (_server, api) = start(&[]).await;
    let id = make(&api, "/api/tools", &search()).await["id"].clone();
    make(&api, "/api/agents", &json!({"name": "clerk"})).await;
    for (body, message) in [
        (json!({}), "toolId: is required"),
        (json!("search"), "(root): \"search\" is not of type \"object\""),
        (json!([]), "(root): must contain 1 to 1000 bindings"),
        (json!({"toolId": "nope"}), "toolId: there is no tool nope"),
        (json!({"toolId": "search", "colour": 1}), "colour: is not a known property"),
        (json!({"toolId": "search", "toolConfig": [1]}), "toolConfig: [1] is not of type \"object\""),
        (
            json!({"toolId": "search", "toolConfig": {"zzz": 1}}),
            "toolConfig.zzz: is not an argument of search",
        ),
        (
            json!({"toolId": "search", "toolConfig": {"maxResult": 1}}),
            "toolConfig.maxResult: is not an argument of search; did you mean maxResults?",
        ),
        (
            json!({"toolId": "search", "toolConfig": {"max_results": 1, "maxResults": 2}}),
            "toolConfig.max_results: is not an argument of search",
        ),
        (
            json!({"toolId": "search", "toolConfig": {"maxResults": "5"}}),
            "toolConfig.maxResults: \"5\" is not of type \"integer\"",
        ),
        (
            json!({"toolId": "search", "toolConfig": {"$fixed": {"zzz": 1}}}),
            "toolConfig.$fixed.zzz: is not an argument of search",
        ),
        (
            json!({"toolId": "search", "toolConfig": {"$fixed": {"region": "fr"}}}),
            "toolConfig.$fixed.region: \"fr\" is not one of \"cn\", \"us\"",
        ),
        (
            json!({"toolId": "search", "toolConfig": {"$fixed": "cn"}}),
            "toolConfig.$fixed: must be an object of argument values",
        ),
        (
            json!({"toolId": "search", "policy": "allow"}),
            "policy: may be stricter than the policy of search, which is ask, but not looser",
        ),
        (json!({"toolId": "search", "askWhen": "amount >"}), "askWhen: the condition is incomplete:"),
        (
            json!({"toolId": "search", "policy": "block", "askWhen": "amount > 1"}),
            "askWhen: sets a condition for asking",
        ),
        (json!({"toolId": "search", "policy": "never"}), "policy: \"never\" is not one of"),
        (json!({"toolId": "search", "pinnedVersion": 9}), "pinnedVersion: there is no version 9 of search"),
        (json!({"toolId": "search", "pinnedVersion": 0}), "pinnedVersion: 0 is less than the minimum of 1"),
        (
            json!({"toolId": "calculator", "pinnedVersion": 2}),
            "pinnedVersion: there is no version 2 of calculator",
        ),
        (
            json!({"toolId": "search", "overrides": {"timeout": 0}}),
            "overrides.timeout: 0 is less than the minimum of 1",
        ),
        (
            json!({"toolId": "search", "overrides": {"timeout": 600_001}}),
            "overrides.timeout: 600001 is greater than the maximum of 600000",
        ),
        (
            json!({"toolId": "search", "overrides": {"retry_count": 11}}),
            "overrides.retryCount: 11 is greater than the maximum of 10",
        ),
        (json!({"toolId": "search", "overrides": {"cacheTtl": -1}}), "overrides.cacheTtl: -1 is less than"),
        (
            json!({"toolId": "search", "overrides": {"async": "yes"}}),
            "overrides.async: \"yes\" is not of type \"boolean\"",
        ),
        (
            json!({"toolId": "search", "overrides": {"priority": 1}}),
            "overrides.priority: is not a known property",
        ),
        (
            json!([{"toolId": "search"}, {"toolId": id}]),
            "1.toolId: is already bound; an agent can bind a tool only once",
        ),
        (
            json!([{"toolId": "nope"}, {"toolId": "search", "colour": 1}]),
            "1.colour: is not a known property, 0.toolId: there is no tool nope",
        ),
    ] {
        refused(&api.post(TOOLS, &body).await, message, &body);
    }
    let agent = api.get("/api/agents/clerk").await;
    assert_eq!((&agent.data()["version"], &agent.data()["bindings"]), (&json!(1), &json!([])));
}

#[tokio::test]
async fn each_change_of_bindings_creates_one_version() {
    let (_server, api) = start(&[]).await;
    let id = make(&api, "/api/tools", &search()).await["id"].clone();
    make(&api, "/api/agents", &json!({"name": "clerk"})).await;

    let body = json!({"tool_id": "search", "tool_config": {"max_results": 5, "$fixed": {"region": "cn"}}, "policy": "block"});
    let created = api.post(TOOLS, &body).await;
    assert_eq!((created.status, created.header("etag")), (201, Some("\"2\"")), "{}", created.body);
    let expected = json!({
        "toolId": id, "policy": "block", "sortOrder": 0, "toolConfig": {"maxResults": 5, "$fixed": {"region": "cn"}},
        "overrides": {}, "isEnabled": true,
    });
    assert_eq!(created.data(), &expected);
    let same = api.post(TOOLS, &body).await;
    assert_eq!(
        (same.status, same.header("etag")),
        (200, Some("\"2\"")),
        "an unchanged binding creates no version"
    );

    let again = api.post(TOOLS, &json!({"toolId": id, "sortOrder": 7, "policy": null})).await;
    assert_eq!((again.status, again.header("etag")), (200, Some("\"3\"")), "{}", again.body);
    assert_eq!((&again.data()["sortOrder"], &again.data()["policy"]), (&json!(7), &Value::Null));
    assert_eq!(again.data()["toolConfig"], expected["toolConfig"], "omitted fields are unchanged");

    let many = json!([{"toolId": "datetime", "sortOrder": 9}, {"toolId": "search", "isEnabled": false}, {"toolId": "calculator"}]);
    let many = api.post(TOOLS, &many).await;
    assert_eq!((many.status, many.header("etag")), (201, Some("\"4\"")), "{}", many.body);
    let ids: Vec<&Value> =
        many.data().as_array().expect("a list").iter().map(|binding| &binding["toolId"]).collect();
    assert_eq!(ids, [&json!("datetime"), &id, &json!("calculator")], "in the order of the request");
    assert_eq!(api.get("/api/agents/clerk").await.data()["toolIds"], json!(["calculator", id, "datetime"]));

    let path = format!("{TOOLS}/search");
    let stale = api
        .with("if-match", "3")
        .send_json(axum::http::Method::PATCH, &path, &json!({"isEnabled": true}))
        .await;
    assert_eq!(stale.status, 409, "{}", stale.body);
    for (body, field, expected) in [
        (json!({"isEnabled": true}), "isEnabled", json!(true)),
        (
            json!({"toolConfig": {"max_results": 6}}),
            "toolConfig",
            json!({"maxResults": 6, "$fixed": {"region": "cn"}}),
        ),
        (json!({"tool_config": {"maxResults": null}}), "toolConfig", json!({"$fixed": {"region": "cn"}})),
        (json!({"toolConfig": null}), "toolConfig", json!({})),
        (
            json!({"overrides": {"timeout": 5000, "retry_count": 0}}),
            "overrides",
            json!({"timeout": 5000, "retryCount": 0}),
        ),
        (json!({"overrides": {"timeout": null}}), "overrides", json!({"retryCount": 0})),
        (json!({"sort_order": -3, "toolId": "search"}), "sortOrder", json!(-3)),
        (json!({"pinnedVersion": 1}), "pinnedVersion", json!(1)),
        (json!({"pinnedVersion": null}), "pinnedVersion", Value::Null),
    ] {
        let reply = patch(&api, &path, &body).await;
        assert_eq!((reply.status, &reply.data()[field]), (200, &expected), "{body}: {}", reply.body);
    }
    for (body, message) in [
        (json!({"toolId": "calculator"}), "toolId: is set by the server"),
        (json!({"toolConfig": {"zzz": 1}}), "toolConfig.zzz: is not an argument of search"),
        (json!({"policy": "allow"}), "policy: may be stricter"),
        (json!({"colour": 1}), "colour: is not a known property"),
        (json!([]), "(root): [] is not of type \"object\""),
    ] {
        refused(&patch(&api, &path, &body).await, message, &body);
    }
    let missing = patch(&api, &format!("{TOOLS}/url_reader"), &json!({})).await;
    assert_eq!((missing.status, missing.message()), (404, "The agent clerk has no tool url_reader."));

    let removed = api.delete(&format!("{TOOLS}/{}", id.as_str().expect("an id"))).await;
    assert_eq!((removed.status, &removed.data()["toolId"]), (200, &id), "{}", removed.body);
    assert_eq!(api.delete(&path).await.status, 404, "deleted before");
    assert_eq!(api.get("/api/agents/clerk").await.data()["toolIds"], json!(["calculator", "datetime"]));
}

#[tokio::test]
async fn tools_of_an_agent_are_listed_in_order_and_as_the_model_sees_them() {
    let (_server, api) = start(&[]).await;
    let tool = make(&api, "/api/tools", &search()).await;
    make(
        &api,
        "/api/tools",
        &json!({"name": "files", "description": "Files.", "baseUrl": "https://files.example/v1"}),
    )
    .await;
    make(&api, "/api/agents", &json!({"name": "clerk"})).await;
    let bindings = json!([
        {"toolId": "search", "sortOrder": 1, "toolConfig": {"$fixed": {"region": "cn"}}},
        {"toolId": "files", "sortOrder": 1},
        {"toolId": "calculator", "sortOrder": 2, "isEnabled": false},
    ]);
    make(&api, TOOLS, &bindings).await;

    let all = api.get(TOOLS).await;
    let rows = all.data().as_array().expect("a plain array");
    let names: Vec<&Value> = rows.iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["files", "search", "calculator"], "by order, then by name");
    assert_eq!(
        rows[1],
        json!({
            "toolId": tool["id"], "name": "search", "description": "Searches.", "endpoint": "https://search.example/v1",
            "method": "POST", "parameters": tool["inputSchema"],
            "headers": {"X-Api-Key": "secret://search_key", "X-Trace": "on"},
            "sortOrder": 1, "enabled": true, "active": true,
        })
    );
    assert_eq!(
        (&rows[0]["endpoint"], &rows[0]["method"], &rows[0]["headers"]),
        (&json!("https://files.example/v1"), &Value::Null, &Value::Null),
        "the model chooses the method"
    );
    let plain = &rows[2];
    assert_eq!(
        (&plain["endpoint"], &plain["method"], &plain["headers"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!((&plain["enabled"], &plain["active"]), (&json!(false), &json!(true)));

    let effective = api.get(&format!("{TOOLS}?effective=true")).await;
    let rows = effective.data().as_array().expect("a plain array");
    assert_eq!(rows.iter().map(|row| &row["name"]).collect::<Vec<_>>(), ["files", "search"]);
    let mut parameters = tool["inputSchema"].clone();
    parameters["properties"].as_object_mut().expect("an object").remove("region");
    parameters["required"] = json!(["query"]);
    assert_eq!(rows[1]["parameters"], parameters);

    // A pinned version is unchanged, but the tool's `isActive` applies to it.
    patch(&api, &format!("{TOOLS}/search"), &json!({"pinnedVersion": 1})).await;
    let mut changed = search();
    changed["description"] = json!("Searches better.");
    changed["isActive"] = json!(false);
    assert_eq!(api.put("/api/tools/search", &changed).await.status, 200);
    let rows = api.get(TOOLS).await;
    assert_eq!(
        (&rows.data()[1]["description"], &rows.data()[1]["active"]),
        (&json!("Searches."), &json!(false))
    );
    let effective = api.get(&format!("{TOOLS}?effective=true")).await;
    assert_eq!(effective.data().as_array().map(Vec::len), Some(1), "{}", effective.body);
    assert_eq!(api.get("/api/agents/unknown/tools").await.message(), "there is no agent unknown");
    assert_eq!(api.get(&format!("{TOOLS}?colour=1")).await.status, 400);
}
