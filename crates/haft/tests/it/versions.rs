//! Versions of tools over REST: paging, comparison, rollback, pinning, and concurrent changes.

use haft_testkit::{Client, HaftProcess, Upstream, json_reply};
use serde_json::{Value, json};

use crate::agents::{make, patch, refused, stranger};
use crate::cli_over_http::mock;
use crate::http_tools::start;

/// Creates a space. Returns clients of an editor and of an operator for this space.
async fn team(server: &HaftProcess, api: &Client) -> (Client, Client) {
    let space = make(api, "/api/spaces", &json!({"name": "team"})).await["id"].clone();
    let bob = stranger(server, api).await;
    let member = format!("/api/spaces/{}/members/bob", space.as_str().expect("an id"));
    assert_eq!(api.put(&member, &json!({"role": "editor"})).await.status, 200);
    let within = async |client: &Client| {
        let token = make(client, "/api/tokens", &json!({"name": "there", "spaceId": space})).await;
        Client::new(&server.url, token["token"].as_str().expect("a token"))
    };
    (within(&bob).await, within(api).await)
}

#[tokio::test]
async fn versions_are_paged_and_the_first_has_no_differences() {
    let (_server, api) = start(&[]).await;
    make(&api, "/api/tools", &mock("echo", "Version 1.")).await;
    let diff = api.get("/api/tools/echo/diff").await;
    assert_eq!(
        (diff.status, diff.data()),
        (200, &json!({"from": 1, "to": 1, "changes": []})),
        "{}",
        diff.body
    );
    for number in 2..=5 {
        let changed = api.put("/api/tools/echo", &mock("echo", &format!("Version {number}."))).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
    }
    let diff = api.get("/api/tools/echo/diff").await;
    assert_eq!((&diff.data()["from"], &diff.data()["to"]), (&json!(4), &json!(5)));

    let (mut seen, mut query) = (Vec::new(), "?limit=2".to_owned());
    loop {
        let page = api.get(&format!("/api/tools/echo/versions{query}")).await;
        let items = page.data()["items"].as_array().expect("a list");
        assert!(items.len() <= 2, "{}", page.body);
        seen.extend(items.iter().filter_map(|item| item["version"].as_u64()));
        let Some(cursor) = page.data()["nextCursor"].as_str() else { break };
        query = format!("?limit=2&cursor={cursor}");
    }
    assert_eq!(seen, [5, 4, 3, 2, 1]);
    for (query, expected) in
        [("?limit=0", "limit: must be"), ("?limit=201", "limit: must be"), ("?cursor=x", "cursor: is not")]
    {
        for path in ["/api/tools/echo/versions", "/api/tools"] {
            refused(&api.get(&format!("{path}{query}")).await, expected, &json!(query));
        }
    }
}

#[tokio::test]
async fn tools_are_paged_by_opaque_cursors() {
    let (_server, api) = start(&[]).await;
    for name in ["alpha", "beta", "gamma"] {
        make(&api, "/api/tools", &mock(name, "One.")).await;
    }
    let first = api.get("/api/tools?type=mock&limit=2").await;
    let cursor = first.data()["nextCursor"].as_str().expect("a cursor");
    assert_ne!(cursor, "beta");
    let second = api.get(&format!("/api/tools?type=mock&limit=2&cursor={cursor}")).await;
    assert_eq!(second.data()["items"][0]["name"], "gamma");
    assert_eq!((&second.data()["nextCursor"], &second.data()["total"]), (&Value::Null, &json!(3)));
    for bad in ["beta", "%21", ""] {
        refused(&api.get(&format!("/api/tools?cursor={bad}")).await, "cursor: is not a cursor", &json!(bad));
    }
}

#[tokio::test]
async fn definition_of_an_operator_cannot_be_restored_or_pinned_by_an_editor() {
    let (server, api) = start(&[]).await;
    let (editor, operator) = team(&server, &api).await;
    let narrow = json!({"name": "wide", "description": "Calls.", "url": "https://api.example.com/x"});
    let mut wide = narrow.clone();
    wide["security"] = json!({"allowedDomains": ["*"]});
    make(&operator, "/api/tools", &wide).await;
    make(&editor, "/api/agents", &json!({"name": "early", "toolIds": ["wide"]})).await;
    let early = patch(&editor, "/api/agents/early/tools/wide", &json!({"pinnedVersion": 1})).await;
    assert_eq!(
        (early.status, early.kind()),
        (403, "Permission"),
        "the pin would outlast the next version: {}",
        early.body
    );
    assert_eq!(operator.put("/api/tools/wide", &narrow).await.status, 200);
    make(&editor, "/api/agents", &json!({"name": "clerk", "toolIds": ["wide"]})).await;

    let back = editor.post("/api/tools/wide/rollback", &json!({"version": 1})).await;
    assert_eq!((back.status, back.kind()), (403, "Permission"), "{}", back.body);
    let bindings = "/api/agents/clerk/tools";
    let pin = json!({"toolId": "wide", "pinnedVersion": 1});
    let agents = json!({"tools": [], "agents": [{"name": "clerk", "bindings": [pin]}]});
    for reply in [
        editor.post(bindings, &pin).await,
        patch(&editor, &format!("{bindings}/wide"), &json!({"pinnedVersion": 1})).await,
        patch(&editor, "/api/agents/clerk", &json!({"bindings": [pin]})).await,
        editor.post("/api/tools/import", &agents).await,
    ] {
        assert_eq!((reply.status, reply.kind()), (403, "Permission"), "{}", reply.body);
    }
    assert_eq!(operator.post(bindings, &pin).await.status, 200);
    let other = patch(&editor, &format!("{bindings}/wide"), &json!({"isEnabled": false})).await;
    assert_eq!((other.status, &other.data()["pinnedVersion"]), (200, &json!(1)), "{}", other.body);
    assert_eq!(operator.post("/api/tools/wide/rollback", &json!({"version": 1})).await.status, 200);
}

#[tokio::test]
async fn concurrent_patches_are_not_lost() {
    let (_server, api) = start(&[]).await;
    make(&api, "/api/tools", &mock("echo", "One.")).await;
    let changes = [("description", json!("Two.")), ("category", json!("x")), ("timeout", json!(5000))];
    let [first, second, third] = changes.clone().map(|(field, value)| {
        let (api, body) = (api.clone(), json!({field: value}));
        async move { patch(&api, "/api/tools/echo", &body).await.status }
    });
    let (first, second, third) = tokio::join!(first, second, third);
    let tool = api.get("/api/tools/echo").await.data().clone();
    let mut accepted = 0;
    for ((field, value), status) in changes.into_iter().zip([first, second, third]) {
        assert!([200, 409].contains(&status), "{field}: {status}");
        if status == 200 {
            assert_eq!(tool[field], value, "{field} was accepted and not stored");
            accepted += 1;
        }
    }
    assert_eq!(tool["version"], json!(accepted + 1));
}

#[tokio::test]
async fn masked_credential_is_unchanged() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    let tool = |value: &str| json!({"name": "keyed", "description": "Calls.", "url": upstream.url("/"), "headers": {"Authorization": value}});
    let new = tool("Bearer ***");
    refused(&api.post("/api/tools", &new).await, "config.headers.Authorization: is masked", &new);
    make(&api, "/api/tools", &tool("Bearer sk-0123456789")).await;
    for masked in ["***", "Bearer ***"] {
        let put = api.put("/api/tools/keyed", &tool(masked)).await;
        assert_eq!((put.status, put.header("etag")), (200, Some("\"1\"")), "{masked}: {}", put.body);
        assert_eq!(api.post("/api/tools/keyed/execute", &json!({})).await.status, 200);
        let seen = upstream.seen().pop().expect("a request");
        assert_eq!(seen.header("authorization"), Some("Bearer sk-0123456789"), "{masked}");
    }
    let imported = api.post("/api/tools/import", &json!({"tools": [tool("Bearer sk-9876543210")]})).await;
    assert_eq!(imported.data()["tools"][0]["change"], "updated", "{}", imported.body);
    let again = api.post("/api/tools/import", &json!({"tools": [tool("Bearer sk-9876543210")]})).await;
    assert_eq!(again.data()["tools"][0]["change"], "unchanged", "{}", again.body);
}

#[tokio::test]
async fn space_has_a_version_and_can_be_sent_back_unchanged() {
    let (_server, api) = start(&[]).await;
    let made = api.post("/api/spaces", &json!({"name": "team"})).await;
    assert_eq!((made.status, made.header("etag")), (201, Some("\"1\"")), "{}", made.body);
    let path = format!("/api/spaces/{}", made.data()["id"].as_str().expect("an id"));
    let mut space = api.get(&path).await.data().clone();
    let back = api.put(&path, &space).await;
    assert_eq!(
        (back.status, back.data(), back.header("etag")),
        (200, &space, Some("\"1\"")),
        "{}",
        back.body
    );
    space["name"] = json!("crew");
    let tried = api.put(&format!("{path}?dryRun=true"), &space).await;
    assert_eq!((tried.status, &tried.data()["version"]), (200, &json!(2)), "{}", tried.body);
    assert_eq!(api.get(&path).await.data()["name"], "team", "a dry run stores nothing");
    let renamed = api.put(&path, &space).await;
    assert_eq!((renamed.status, renamed.header("etag")), (200, Some("\"2\"")), "{}", renamed.body);
    space["isPersonal"] = json!(true);
    refused(&api.put(&path, &space).await, "isPersonal: is set by the server", &space);
    assert_eq!(api.with("if-match", "1").delete(&path).await.status, 409);
    assert_eq!(api.with("if-match", "2").delete(&path).await.status, 200);
}
