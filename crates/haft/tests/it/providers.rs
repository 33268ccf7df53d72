//! Model providers over REST: keys can be written, and only the names of their secrets can be read.

mod addresses;
mod environment;
mod ollama_discovery;
mod scripts;

use axum::http::Method;
use haft_testkit::{Upstream, json_reply};
use serde_json::{Value, json};

use crate::agents::{make, refused, scoped, stranger};
use crate::http_tools::start;

const KEY: &str = "sk-0123456789abcdef";

#[tokio::test]
async fn provider_is_created_and_its_key_becomes_a_secret() {
    let (_server, api) = start(&[]).await;
    let body = json!({
        "name": "glm", "kind": "openai", "base_url": "https://models.example.com/v1", "api_key": KEY, "models": ["glm-5"],
    });
    let tried = api.post("/api/providers?dryRun=true", &body).await;
    assert_eq!(
        (tried.status, &tried.data()["apiKey"]),
        (200, &json!("secret://provider_glm_key")),
        "{}",
        tried.body
    );
    assert_eq!(api.get("/api/providers").await.data()["items"], json!([]), "a dry run stores nothing");
    assert_eq!(api.get("/api/secrets").await.data()["items"], json!([]), "no secret either");

    let made = api.post("/api/providers", &body).await;
    assert_eq!((made.status, made.header("etag")), (201, Some("\"1\"")), "{}", made.body);
    let provider = made.data();
    let mut shown = provider.clone();
    for field in ["id", "spaceId", "createdAt", "updatedAt"] {
        assert!(shown[field].is_string(), "{field}");
        shown.as_object_mut().expect("an object").remove(field);
    }
    assert_eq!(
        shown,
        json!({
            "name": "glm", "kind": "openai", "baseUrl": "https://models.example.com/v1",
            "apiKey": "secret://provider_glm_key", "models": ["glm-5"], "byOperator": true, "source": "stored",
            "version": 1,
        })
    );
    assert_eq!(api.get("/api/secrets").await.data()["items"][0]["name"], "provider_glm_key");
    for name in ["glm", provider["id"].as_str().expect("an id")] {
        let read = api.get(&format!("/api/providers/{name}")).await;
        assert_eq!((read.status, read.data(), read.header("etag")), (200, provider, Some("\"1\"")));
        assert!(!read.body.to_string().contains(KEY), "{}", read.body);
    }
    let list = api.get("/api/providers").await;
    assert_eq!((&list.data()["items"], &list.data()["nextCursor"]), (&json!([provider]), &Value::Null));

    let taken = api.post("/api/providers", &body).await;
    assert_eq!((taken.status, taken.kind()), (409, "Conflict"), "{}", taken.body);
    let taken = api.post("/api/providers?dryRun=true", &body).await;
    assert_eq!((taken.status, taken.message()), (409, "glm exists already"));
    let removed = api.delete("/api/providers/glm").await;
    assert_eq!((removed.status, removed.data()), (200, provider));
    let missing = api.get("/api/providers/glm").await;
    assert_eq!((missing.status, missing.message()), (404, "there is no provider glm"));
}

#[tokio::test]
async fn masked_key_is_unchanged_and_a_new_key_replaces_it() {
    let (_server, api) = start(&[]).await;
    let shown = make(&api, "/api/providers", &json!({"name": "glm", "kind": "openai", "apiKey": KEY})).await;
    let back = api.put("/api/providers/glm", &shown).await;
    assert_eq!(
        (back.status, back.data()),
        (200, &shown),
        "sending back an unchanged provider makes no new version"
    );
    for (key, expected, version) in [
        (json!("***"), json!("secret://provider_glm_key"), 1),
        (json!("another-key"), json!("secret://provider_glm_key"), 1),
        (json!("secret://shared"), json!("secret://shared"), 2),
        (json!("***"), json!("secret://shared"), 2),
        (json!("secret://me/mine"), json!("secret://me/mine"), 3),
        (json!(null), Value::Null, 4),
        // The provider no longer uses the secret of that name.
        (json!("third-key"), json!("secret://provider_glm_key_2"), 5),
    ] {
        let body = json!({"name": "glm", "kind": "openai", "apiKey": key});
        let reply = api.put("/api/providers/glm", &body).await;
        assert_eq!(
            (reply.status, &reply.data()["apiKey"], &reply.data()["version"]),
            (200, &expected, &json!(version)),
            "{body}: {}",
            reply.body
        );
    }
    let stale =
        api.with("if-match", "1").put("/api/providers/glm", &json!({"name": "glm", "kind": "ollama"})).await;
    assert_eq!((stale.status, stale.kind()), (409, "Conflict"));
    assert_eq!(api.with("if-match", "1").delete("/api/providers/glm").await.status, 409);

    // A renamed provider keeps its key, so a new provider with its old name must not take it.
    let renamed = json!({"name": "old", "kind": "openai", "apiKey": "secret://provider_glm_key"});
    assert_eq!(api.put("/api/providers/glm", &renamed).await.status, 200);
    let namesake = json!({"name": "glm", "kind": "openai", "apiKey": KEY});
    let made = make(&api, "/api/providers", &namesake).await;
    assert_eq!(made["apiKey"], "secret://provider_glm_key_3");
}

#[tokio::test]
async fn key_never_replaces_a_secret_of_another_owner() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    let by_hand = json!({"value": "set-by-hand"});
    assert_eq!(api.put("/api/secrets/provider_glm_key", &by_hand).await.status, 200);
    let tool = json!({"name": "reader", "description": "Reads.", "url": upstream.url("/"),
        "headers": {"X-Key": "secret://provider_glm_key"}});
    make(&api, "/api/tools", &tool).await;
    let made = make(&api, "/api/providers", &json!({"name": "glm", "kind": "openai", "apiKey": KEY})).await;
    assert_eq!(made["apiKey"], "secret://provider_glm_key_2");
    let called = api.post("/api/tools/reader/execute", &json!({})).await;
    assert_eq!(called.status, 200, "{}", called.body);
    assert_eq!(upstream.seen()[0].header("x-key"), Some("set-by-hand"));

    make(&api, "/api/providers", &json!({"name": "other", "kind": "openai"})).await;
    let taken = json!({"name": "other", "kind": "openai", "apiKey": KEY});
    assert_eq!(api.put("/api/providers/glm", &taken).await.status, 409);
    let names = api.get("/api/secrets").await.body.to_string();
    assert!(!names.contains("provider_other_key"), "the key of a refused request is not stored: {names}");
}

#[tokio::test]
async fn provider_can_be_tested() {
    let upstream = Upstream::start(|seen| match (seen.target.as_str(), seen.header("authorization")) {
        ("/v1/models", Some(key)) if key == format!("Bearer {KEY}") => {
            json_reply(200, &json!({"data": [{"id": "glm-5"}, {"id": format!("echo {KEY}")}]}))
        }
        (_, _) if seen.header("x-api-key") == Some(KEY) && seen.header("anthropic-version").is_some() => {
            json_reply(200, &json!({"data": [{"id": "large"}]}))
        }
        ("/page/models", _) => json_reply(200, &json!({"hello": 1})),
        ("/v1/models", _) => json_reply(401, &json!({"error": "no"})),
        (_, _) => json_reply(404, &json!({})),
    })
    .await;
    let (_server, api) = start(&[]).await;
    let test = async |body: Value| {
        let name = body["name"].as_str().expect("a name").to_owned();
        make(&api, "/api/providers", &body).await;
        let reply = api.post(&format!("/api/providers/{name}/test"), &json!({})).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.body);
        assert!(!reply.body.to_string().contains(KEY), "{}", reply.body);
        reply.data().clone()
    };
    let at = |path: &str| upstream.url(path);
    let good = test(json!({"name": "good", "kind": "openai", "baseUrl": at("/v1/"), "apiKey": KEY})).await;
    assert_eq!(
        good,
        json!({"ok": true, "status": 200, "message": "127.0.0.1 is reachable and has 2 models", "models": ["glm-5", "echo ***"]})
    );
    let claude =
        test(json!({"name": "claude", "kind": "anthropic", "baseUrl": at("/"), "apiKey": KEY})).await;
    assert_eq!((&claude["ok"], &claude["models"]), (&json!(true), &json!(["large"])));
    for (body, status, expected) in [
        (
            json!({"name": "keyless", "kind": "openai", "baseUrl": at("/v1")}),
            json!(401),
            "the key is invalid",
        ),
        (
            json!({"name": "page", "kind": "openai", "baseUrl": at("/page")}),
            json!(200),
            "not with a list of models",
        ),
        (json!({"name": "missing", "kind": "gemini", "baseUrl": at("/")}), json!(404), "answered 404"),
        (
            json!({"name": "unset", "kind": "openai", "baseUrl": at("/v1"), "apiKey": "secret://nothing"}),
            json!(null),
            "secret://nothing has no value yet",
        ),
    ] {
        let outcome = test(body).await;
        assert_eq!((&outcome["ok"], &outcome["status"]), (&json!(false), &status), "{outcome}");
        assert!(outcome["message"].as_str().is_some_and(|message| message.contains(expected)), "{outcome}");
    }
    let scripted =
        test(json!({"name": "scripted", "kind": "scripted", "models": ["m"], "script": [{"text": "a"}]}))
            .await;
    assert_eq!((&scripted["ok"], &scripted["models"]), (&json!(true), &json!(["m"])));
    assert_eq!(api.post("/api/providers/nobody/test", &json!({})).await.status, 404);
}

#[tokio::test]
async fn invalid_provider_is_refused_without_showing_its_key() {
    let (_server, api) = start(&[]).await;
    let name = "name: must have 1 to 64 letters, digits, _ or -";
    let url = "baseUrl: must be an absolute http or https URL without a user name or password";
    let key = "apiKey: must be a key without whitespace, or the name of a secret";
    let (long, longer) = ("x".repeat(52), "x".repeat(65));
    for (body, expected) in [
        (json!([]), "(root): [] is not of type \"object\""),
        (json!({"kind": "openai"}), "name: is required"),
        (json!({"name": "a"}), "kind: is required"),
        (json!({"name": "", "kind": "openai"}), name),
        (json!({"name": "a b", "kind": "openai"}), name),
        (json!({"name": "智谱", "kind": "openai"}), name),
        (json!({"name": longer, "kind": "openai"}), name),
        (json!({"name": "0190b5a0-0000-7000-8000-000000000000", "kind": "openai"}), name),
        (json!({"name": "a", "kind": "grpc"}), "kind: \"grpc\" is not one of \"openai\", \"anthropic\""),
        (json!({"name": "a", "kind": "openai", "baseUrl": "/v1"}), url),
        (json!({"name": "a", "kind": "openai", "baseUrl": "ftp://a.example"}), url),
        (json!({"name": "a", "kind": "openai", "baseUrl": "https://u:p@a.example"}), url),
        (json!({"name": "a", "kind": "openai", "baseUrl": 7}), "baseUrl: 7 is not of type \"string\""),
        (json!({"name": "a", "kind": "openai", "apiKey": ""}), key),
        (json!({"name": "a", "kind": "openai", "apiKey": "two words"}), key),
        (json!({"name": "a", "kind": "openai", "apiKey": "Bearer secret://x"}), key),
        (json!({"name": "a", "kind": "openai", "apiKey": "secret://a b"}), key),
        (json!({"name": "a", "kind": "openai", "apiKey": 12_345_678}), key),
        (json!({"name": "a", "kind": "openai", "apiKey": "***"}), "apiKey: is masked, but no key is stored"),
        (
            json!({"name": long, "kind": "openai", "apiKey": KEY}),
            "apiKey: cannot be stored under a name of more than 51",
        ),
        (json!({"name": "a", "kind": "openai", "models": "m"}), "models: \"m\" is not of type \"array\""),
        (json!({"name": "a", "kind": "openai", "models": ["m", "m"]}), "models: has equal items"),
        (
            json!({"name": "a", "kind": "openai", "models": [""]}),
            "models.0: \"\" is shorter than 1 characters",
        ),
        (json!({"name": "a", "kind": "openai", "colour": 1}), "colour: is not a known property"),
        (json!({"name": "a", "kind": "openai", "version": 1}), "version: is set by the server"),
        (json!({"name": "a", "kind": "openai", "byOperator": true}), "byOperator: is set by the server"),
        (json!({"name": "a", "kind": "openai", "source": "found"}), "source: is set by the server"),
        (json!({"name": "a b", "kind": "openai", "apiKey": KEY}), name),
    ] {
        let reply = api.post("/api/providers", &body).await;
        refused(&reply, expected, &body);
        for secret in [KEY, "two words", "12345678", "u:p"] {
            assert!(!reply.body.to_string().contains(secret), "{}", reply.body);
        }
    }
    let long =
        make(&api, "/api/providers", &json!({"name": long, "kind": "gemini", "apiKey": "secret://gemini"}))
            .await;
    assert_eq!((&long["baseUrl"], &long["models"]), (&Value::Null, &json!([])));
    assert_eq!(
        api.get("/api/secrets").await.data()["items"],
        json!([]),
        "no key of a refused request is stored"
    );
}

#[tokio::test]
async fn providers_belong_to_a_space_and_are_changed_by_its_admins() {
    let (server, api) = start(&[]).await;
    let provider = make(&api, "/api/providers", &json!({"name": "local", "kind": "ollama"})).await;
    let id = provider["id"].as_str().expect("an id");
    let bob = stranger(&server, &api).await;
    let body = json!({"name": "local", "kind": "ollama"});
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        for name in ["local", id] {
            let reply = bob.send_json(method.clone(), &format!("/api/providers/{name}"), &body).await;
            assert_eq!(
                (reply.status, reply.message()),
                (404, format!("there is no provider {name}").as_str()),
                "{method}"
            );
        }
    }
    assert_eq!(bob.get("/api/providers").await.data()["items"], json!([]));
    make(&bob, "/api/providers", &body).await;

    for scope in ["read", "call"] {
        let client = scoped(&server, &api, scope).await;
        assert_eq!(client.get("/api/providers/local").await.data()["id"], provider["id"]);
        for (method, path) in [
            (Method::POST, "/api/providers"),
            (Method::PUT, "/api/providers/local"),
            (Method::DELETE, "/api/providers/local"),
            (Method::POST, "/api/providers/local/test"),
        ] {
            let reply = client.send_json(method.clone(), path, &body).await;
            assert_eq!((reply.status, reply.kind()), (403, "Permission"), "{scope}: {method} {path}");
        }
    }
}
