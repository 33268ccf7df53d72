//! Imports over REST and the command line: dry run, all or nothing, repeated imports.

use haft_testkit::{Upstream, http_response, json_reply, run};
use serde_json::{Value, json};

use crate::HAFT;
use crate::http_tools::start;

fn petstore(server: &str) -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": server}],
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
        "security": [{"key": []}],
        "paths": {
            "/pets/{id}": {"get": {"operationId": "getPet", "summary": "One pet.",
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]}},
            "/pets": {"post": {"operationId": "addPet", "requestBody": {"required": true, "content": {"application/json":
                {"schema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}}}},
                "options": {}},
        },
    })
}

#[tokio::test]
async fn document_is_previewed_imported_called_and_imported_again() {
    let upstream =
        Upstream::start(|seen| json_reply(200, &json!({"at": seen.target, "body": seen.text()}))).await;
    let secret = secret_at(&upstream.url("/"), "key");
    let variable = format!("HAFT_SECRET_{}", secret.to_ascii_uppercase());
    let (_server, api) = start(&[(&variable, "k-123456")]).await;
    let spec = petstore(&upstream.url("/v1")).to_string();

    let looked = api.post("/api/tools/import/openapi", &json!({"spec": spec, "dryRun": true})).await;
    assert_eq!(looked.status, 200, "{}", looked.body);
    let mut first = looked.data()["tools"][0].clone();
    let shown = first.as_object_mut().expect("a tool");
    let definition = shown.remove("definition").expect("a dry run shows the definition");
    assert_eq!(definition["config"]["url"], upstream.url("/v1/pets/{{id}}"));
    let request = shown.remove("request").expect("and the request of a call");
    assert!(request.as_str().is_some_and(|request| request.contains("/v1/pets/1")), "{request}");
    assert_eq!(
        first,
        json!({
            "name": "getPet", "description": "One pet.", "method": "GET", "path": "/pets/{id}", "change": "created",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": false},
        })
    );
    assert_eq!(
        looked.data()["skipped"],
        json!([{"operation": "OPTIONS /pets", "reason": "OPTIONS is not a method that tools can use"}])
    );
    assert_eq!(looked.data()["secrets"], json!([secret]));
    let kept = format!("The secret {secret} already exists and is not changed. The tools use it");
    assert_eq!(looked.data()["notes"], json!([kept]), "the report names the secret that is reused");
    assert_eq!(api.get("/api/tools?type=http").await.data()["total"], 0, "a dry run stores nothing");

    let imported = api.post("/api/tools/import/openapi", &json!({"spec": spec})).await;
    assert_eq!(imported.status, 201, "{}", imported.body);
    assert!(imported.data()["tools"][0].get("definition").is_none(), "only a dry run returns definitions");
    let got = api.post("/api/tools/getPet/execute", &json!({"arguments": {"id": 7}})).await;
    assert_eq!(got.data()["data"]["at"], "/v1/pets/7", "{}", got.body);
    assert_eq!(upstream.seen()[0].header("x-key"), Some("k-123456"));
    let added = api.post("/api/tools/addPet/execute", &json!({"arguments": {"body": {"name": "Rex"}}})).await;
    assert_eq!(added.data()["data"]["body"], r#"{"name":"Rex"}"#, "{}", added.body);

    let again = api.post("/api/tools/import/openapi", &json!({"spec": spec})).await;
    let changes: Vec<&Value> =
        again.data()["tools"].as_array().expect("tools").iter().map(|tool| &tool["change"]).collect();
    assert_eq!(changes, ["unchanged", "unchanged"]);
    let mut newer = petstore(&upstream.url("/v2"));
    newer["paths"]["/pets/{id}"]["get"]["summary"] = json!("One pet by its number.");
    let newer = api.post("/api/tools/import/openapi", &json!({"spec": newer, "only": ["getPet"]})).await;
    assert_eq!(newer.data()["tools"][0]["change"], "updated", "{}", newer.body);
    assert_eq!(
        newer.data()["tools"][0]["changes"],
        json!([
            {"path": "description", "before": "One pet.", "after": "One pet by its number."},
            {"path": "config.url", "before": upstream.url("/v1/pets/{{id}}"), "after": upstream.url("/v2/pets/{{id}}")},
        ])
    );
    assert_eq!(newer.data()["removed"], json!([]), "a partial import removes nothing");
    assert_eq!(api.get("/api/tools/getPet").await.data()["version"], 2);
    assert_eq!(api.get("/api/tools/addPet").await.data()["version"], 1);
}

/// The name of a secret that belongs to a server on loopback.
fn secret_at(url: &str, what: &str) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    format!("{}_{what}", host.replace(['.', ':'], "_"))
}

#[tokio::test]
async fn import_changes_only_its_own_tools() {
    let (_server, api) = start(&[]).await;
    let by_hand = json!({"name": "getPet", "description": "By hand.", "url": "https://mine.example/{{id}}"});
    assert_eq!(api.post("/api/tools", &by_hand).await.status, 201);
    let spec = petstore("https://pets.example");
    let first = api.post("/api/tools/import/openapi", &json!({"spec": spec})).await;
    assert_eq!(first.status, 201, "{}", first.body);
    let names = |reply: &haft_testkit::TestResponse| -> Vec<String> {
        let tools = reply.data()["tools"].as_array().expect("tools").iter();
        tools
            .map(|tool| format!("{} {}", tool["name"].as_str().unwrap_or_default(), tool["change"]))
            .collect()
    };
    assert_eq!(names(&first), ["getPet_2 \"created\"", "addPet \"created\""]);
    let notes = first.data()["notes"].to_string();
    assert!(
        notes.contains("getPet is the name of another tool, so the imported tool is named getPet_2"),
        "{notes}"
    );
    assert!(notes.contains("The secret pets_example_key has no value yet"), "{notes}");
    assert_eq!(api.get("/api/tools/getPet").await.data()["description"], "By hand.");

    // The settings and the name that the user chose survive the next import.
    let id = api.get("/api/tools/addPet").await.data()["id"].as_str().expect("an id").to_owned();
    let mut mine = api.get("/api/tools/addPet").await.data().clone();
    mine["name"] = json!("add_a_pet");
    mine["timeout"] = json!(99_000);
    mine["isActive"] = json!(false);
    mine["config"]["responseFilter"] = json!("name");
    let put = api.put(&format!("/api/tools/{id}"), &mine).await;
    assert_eq!(put.status, 200, "{}", put.body);
    let mut newer = spec.clone();
    newer["paths"]["/pets"]["post"]["summary"] = json!("Adds a pet.");
    newer["paths"].as_object_mut().expect("paths").remove("/pets/{id}");
    let again = api.post("/api/tools/import/openapi", &json!({"spec": newer})).await;
    assert_eq!(names(&again), ["add_a_pet \"updated\""], "{}", again.body);
    assert_eq!(again.data()["removed"], json!(["getPet_2"]));
    assert_eq!(api.get("/api/tools/getPet_2").await.status, 200, "it stays until a user deletes it");
    let tool = api.get(&format!("/api/tools/{id}")).await;
    let kept = [&tool.data()["timeout"], &tool.data()["isActive"], &tool.data()["config"]["responseFilter"]];
    assert_eq!(kept, [&json!(99_000), &json!(false), &json!("name")]);
    assert_eq!(tool.data()["description"], "Adds a pet.");
}

#[tokio::test]
async fn import_never_replaces_an_existing_secret() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    let command = |path: &str, token: &str| json!({"command": format!("curl '{}' -H 'Authorization: Bearer {token}'", upstream.url(path))});
    let first = api.post("/api/tools/import/curl", &command("/first", "tok-0123456789abcdef")).await;
    assert_eq!(first.status, 201, "{}", first.body);
    for token in ["YOUR_TOKEN", "another-0123456789abcdef"] {
        let second = api.post("/api/tools/import/curl", &command("/second", token)).await;
        assert_eq!(second.status, 201, "{}", second.body);
        assert!(
            second.data()["notes"].to_string().contains("already exists and is not changed"),
            "{token}: {}",
            second.body
        );
    }
    let name = first.data()["tools"][0]["name"].as_str().expect("a name");
    let called = api.post(&format!("/api/tools/{name}/execute"), &json!({"arguments": {}})).await;
    assert_eq!(called.status, 200, "{}", called.body);
    assert_eq!(upstream.seen()[0].header("authorization"), Some("Bearer tok-0123456789abcdef"));
}

#[tokio::test]
async fn invalid_import_is_refused_and_stores_nothing() {
    let documents = Upstream::start(|seen| match seen.target.as_str() {
        "/openapi.json" => json_reply(200, &petstore("/base")),
        "/page" => http_response(200, &[("content-type", "text/html")], "<html>hello</html>"),
        _ => http_response(404, &[], "no"),
    })
    .await;
    let (_server, api) = start(&[]).await;
    for (body, status, expected) in [
        (json!({}), 400, "spec: must be given, or url"),
        (json!({"spec": "{", "url": "http://x"}), 400, "spec: must be given, or url"),
        (json!({"spec": "a: ["}), 400, "is neither JSON nor YAML"),
        (json!({"spec": "just text"}), 400, "must be a JSON or YAML object"),
        (json!({"spec": {"hello": 1}}), 400, "is not an OpenAPI document"),
        (json!({"spec": petstore("/relative")}), 400, "Nothing in it can become a tool"),
        (
            json!({"spec": petstore("https://a.example"), "only": ["nope"]}),
            400,
            "Nothing in it can become a tool",
        ),
        (
            json!({"spec": petstore("https://a.example"), "baseUrl": "ftp://x"}),
            400,
            "baseUrl: must be an absolute http or https URL",
        ),
        (json!({"spec": petstore("https://a.example"), "unknown": 1}), 400, "unknown: is unknown"),
        (
            json!({"url": documents.url("/missing")}),
            422,
            "127.0.0.1 returned 404 Not Found instead of a document.",
        ),
        (json!({"url": documents.url("/page")}), 400, "must be a JSON or YAML object"),
        (
            json!({"url": "http://10.0.0.1/openapi.json"}),
            403,
            "Address not allowed: 10.0.0.1 resolves to a private address",
        ),
    ] {
        let reply = api.post("/api/tools/import/openapi", &body).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.body);
        assert!(reply.message().contains(expected), "{body}: {}", reply.message());
    }
    // A relative server URL is resolved against the address of the document.
    let fetched = api
        .post("/api/tools/import/openapi", &json!({"url": documents.url("/openapi.json"), "name": "shop"}))
        .await;
    assert_eq!(fetched.status, 201, "{}", fetched.body);
    let tool = api.get("/api/tools/shop_getPet").await;
    assert_eq!(tool.data()["config"]["url"], documents.url("/base/pets/{{id}}"), "{}", tool.body);
}

#[tokio::test]
async fn command_line_imports_documents() {
    let (server, api) = start(&[]).await;
    let file = std::env::temp_dir().join(format!("haft-import-{}.json", std::process::id()));
    std::fs::write(&file, petstore("https://pets.example").to_string()).expect("written");
    let path = file.to_string_lossy().into_owned();
    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];

    let looked = run(HAFT, &["import", "openapi", &path, "--dry-run"], &[], "").await;
    assert_eq!(looked.code, 0, "{}", looked.stderr);
    assert!(looked.stdout.contains("getPet  would create  GET /pets/{id}"), "{}", looked.stdout);
    assert!(looked.stdout.contains("left out  OPTIONS /pets: OPTIONS is not a method"), "{}", looked.stdout);
    assert!(looked.stderr.contains("would create 2; nothing was stored"), "{}", looked.stderr);

    let kept =
        run(HAFT, &["import", "openapi", &path, "--only", "getPet", "--name", "zoo"], &environment, "").await;
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    assert_eq!(api.get("/api/tools/zoo_getPet").await.status, 200);
    let nowhere = run(HAFT, &["import", "openapi", &path], &[], "").await;
    assert_eq!(nowhere.code, 1);
    assert!(nowhere.stderr.contains("there is no server to import the tools into"), "{}", nowhere.stderr);
    let wrong = run(HAFT, &["import", "openapi", "-"], &environment, "hello").await;
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("must be a JSON or YAML object"), "{}", wrong.stderr);
    std::fs::remove_file(file).expect("removed");
}

#[tokio::test]
async fn a_pasted_command_becomes_a_tool_and_its_credential_a_secret() {
    let upstream = Upstream::start(|seen| json_reply(200, &json!({"at": seen.target}))).await;
    let (server, api) = start(&[]).await;
    let command = format!(
        "curl '{}' -H 'Authorization: Bearer sk-0123456789abcdef'",
        upstream.url("/users/1234?full=yes")
    );
    let reply = api.post("/api/tools/import/curl", &json!({"command": command, "name": "get_user"})).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    assert!(!reply.body.to_string().contains("sk-0123456789abcdef"), "{}", reply.body);
    let called = api.post("/api/tools/get_user/execute", &json!({"arguments": {"user_id": 77777}})).await;
    assert_eq!(called.data()["data"], json!({"at": "/users/77777?full=yes"}), "{}", called.body);
    let called = api.post("/api/tools/get_user/execute", &json!({})).await;
    assert_eq!(called.data()["data"], json!({"at": "/users/1234?full=yes"}), "the pasted id is the default");
    assert_eq!(upstream.seen()[0].header("authorization"), Some("Bearer sk-0123456789abcdef"));
    let stored = api.get("/api/tools/get_user").await;
    assert!(!stored.body.to_string().contains("sk-0123456789abcdef"), "{}", stored.body);

    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];
    let quoted = run(HAFT, &["import", "curl", &command, "--dry-run", "--all"], &environment, "").await;
    assert_eq!(quoted.code, 0, "{}", quoted.stderr);
    assert!(quoted.stdout.contains("\"default\": 1234"), "the definition: {}", quoted.stdout);
    assert!(quoted.stdout.contains("/users/1234"), "and the request: {}", quoted.stdout);
    let in_file = "curl -d @body.json https://x.example/a";
    let left_out = api.post("/api/tools/import/curl", &json!({"command": in_file})).await;
    assert_eq!(left_out.status, 400, "{}", left_out.body);
    assert!(left_out.message().contains("POST /a: the option -d reads a file"), "{}", left_out.message());
    let none =
        run(HAFT, &["import", "curl", &command, "--only", "POST /", "--dry-run"], &environment, "").await;
    assert_eq!(none.code, 2, "{}", none.stderr);
    let looked = run(HAFT, &["import", "--dry-run", "curl", "-"], &environment, &command).await;
    assert_eq!(looked.code, 0, "{}", looked.stderr);
    assert!(looked.stderr.contains("nothing was stored"), "{}", looked.stderr);
    let wrong = api.post("/api/tools/import/curl", &json!({"command": "wget https://a.example"})).await;
    assert_eq!(wrong.status, 400, "{}", wrong.body);
    for (route, document) in [("postman", json!({"info": 1})), ("har", json!({"log": 1}))] {
        let reply = api.post(&format!("/api/tools/import/{route}"), &json!({"document": document})).await;
        assert_eq!(reply.status, 400, "{route}: {}", reply.body);
    }
}

#[tokio::test]
async fn dry_run_can_be_requested_in_the_query() {
    let (_server, api) = start(&[]).await;
    let tool = json!({"name": "one", "description": "One.", "url": "https://one.example"});
    let item = json!({"name": "two", "request": {"method": "GET", "url": "https://two.example/a"}});
    let schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";
    let collection = json!({"info": {"name": "Two", "schema": schema}, "item": [item]});
    for (path, body) in [
        ("/api/tools/import", json!({"tools": [tool]})),
        ("/api/tools/import/openapi", json!({"spec": petstore("https://pets.example")})),
        ("/api/tools/import/curl", json!({"command": "curl 'https://three.example/a'"})),
        ("/api/tools/import/postman", json!({"document": collection})),
    ] {
        let looked = api.post(&format!("{path}?dryRun=true"), &body).await;
        assert_eq!(looked.status, 200, "{path}: {}", looked.body);
        assert_eq!(api.get("/api/tools?type=http").await.data()["total"], 0, "{path} stores nothing");
        assert_eq!(api.post(&format!("{path}?colour=red"), &body).await.status, 400, "{path}");
    }
    let space = api.post("/api/spaces?dryRun=true", &json!({"name": "team"})).await;
    assert_eq!((space.status, &space.data()["name"]), (200, &json!("team")), "{}", space.body);
    assert!(!api.get("/api/spaces").await.body.to_string().contains("team"), "no space either");
    assert_eq!(api.post("/api/spaces?dryRun=true", &json!({"name": " team"})).await.status, 400);

    assert_eq!(api.post("/api/agents", &json!({"name": "clerk"})).await.status, 201);
    let bound = api.post("/api/agents/clerk/tools?dryRun=true", &json!({"toolId": "calculator"})).await;
    assert_eq!((bound.status, &bound.data()["toolId"]), (200, &json!("calculator")), "{}", bound.body);
    assert_eq!(api.get("/api/agents/clerk").await.data()["toolIds"], json!([]));
}
