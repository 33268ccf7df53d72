//! Providers from environment variables: visible in every space, testable and read-only.

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, RecordedRequest, Upstream, http_response, json_reply, run};
use serde_json::{Value, json};

use crate::HAFT;
use crate::agents::{make, stranger};

const KEY: &str = "sk-environment-0123456789";

/// An upstream that speaks like OpenAI to callers with the key, and like Ollama to all others.
async fn models() -> Upstream {
    Upstream::start(|seen: &RecordedRequest| {
        let has_key = seen.header("authorization") == Some(&format!("Bearer {KEY}"));
        match seen.target.as_str() {
            "/v1/models" if has_key => json_reply(200, &json!({"data": [{"id": "large"}, {"id": KEY}]})),
            "/v1/chat/completions" if has_key => {
                let chunk = json!({"choices": [{"delta": {"content": "OK"}, "finish_reason": "stop"}]});
                http_response(
                    200,
                    &[("content-type", "text/event-stream")],
                    format!("data: {chunk}\n\ndata: [DONE]\n\n"),
                )
            }
            "/api/tags" => json_reply(200, &json!({"models": [{"name": "llama3.2:latest"}]})),
            _ => json_reply(401, &json!({"error": {"message": format!("no such key: {KEY}")}})),
        }
    })
    .await
}

async fn started(upstream: &Upstream, more: &[(&str, &str)]) -> (HaftProcess, Client) {
    let (openai, ollama) = (upstream.url("/v1"), upstream.address.to_string());
    // Tools are allowed no private network; variables of the environment are trusted like an operator.
    let mut environment = vec![
        ("HAFT_ADMIN_TOKEN", crate::TOKEN),
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", openai.as_str()),
        ("OLLAMA_HOST", ollama.as_str()),
    ];
    environment.extend_from_slice(more);
    let server = HaftProcess::start(HAFT, &["serve"], &environment).await;
    let api = Client::new(&server.url, crate::TOKEN);
    (server, api)
}

#[tokio::test]
async fn every_space_has_environment_providers_without_their_keys() {
    let upstream = models().await;
    let (server, api) = started(&upstream, &[]).await;
    let bob = stranger(&server, &api).await;
    for client in [&api, &bob] {
        let list = client.get("/api/providers").await;
        let shown = |name: &str, kind: &str, base: String, variable: &str| {
            json!({
                "id": name, "spaceId": null, "name": name, "kind": kind, "baseUrl": base, "apiKey": null,
                "models": [], "byOperator": true, "source": "environment", "variable": variable, "version": 0,
                "createdAt": null, "updatedAt": null,
            })
        };
        let openai = shown("openai", "openai", upstream.url("/v1"), "OPENAI_API_KEY");
        let ollama = shown("ollama", "ollama", upstream.url("/"), "OLLAMA_HOST");
        assert_eq!(list.data()["items"], json!([openai, ollama]), "{}", list.body);
        let read = client.get("/api/providers/openai").await;
        assert_eq!((read.status, read.data(), read.header("etag")), (200, &openai, None));

        let tried = client.post("/api/providers/openai/test", &json!({})).await;
        let expected = json!({
            "ok": true, "status": 200, "message": "127.0.0.1 is reachable and has 2 models", "models": ["large", "***"],
        });
        assert_eq!(tried.data(), &expected, "{}", tried.body);
        let asked = client.post("/api/providers/openai/test", &json!({"model": "large"})).await;
        assert_eq!(
            (&asked.data()["ok"], &asked.data()["status"]),
            (&json!(true), &json!(200)),
            "{}",
            asked.body
        );
        let message = asked.data()["message"].as_str().expect("a text");
        assert!(message.starts_with("large answered within ") && message.ends_with(" ms"), "{message}");
        let found = client.post("/api/providers/ollama/test", &json!({})).await;
        assert_eq!(found.data()["models"], json!(["llama3.2:latest"]), "{}", found.body);
        let missing = client.post("/api/providers/ollama/test", &json!({"model": "none"})).await;
        assert_eq!((&missing.data()["ok"], &missing.data()["status"]), (&json!(false), &json!(401)));
        for reply in [list, read, tried, asked, found] {
            assert!(!reply.body.to_string().contains(KEY), "{}", reply.body);
        }
    }
    let question = upstream.seen().into_iter().find(|seen| seen.target == "/v1/chat/completions");
    let question = question.expect("a question").json();
    assert_eq!(question["model"], "large");
    assert!(question.to_string().contains("Say OK."), "{question}");
    let unknown = api.post("/api/providers/openai/test", &json!({"modell": "large"})).await;
    assert_eq!((unknown.status, unknown.kind()), (400, "Validation"), "{}", unknown.body);
}

#[tokio::test]
async fn environment_providers_are_read_only_and_shadowed_by_providers_of_a_space() {
    let upstream = models().await;
    let (server, api) = started(&upstream, &[]).await;
    let bob = stranger(&server, &api).await;
    let body = json!({"name": "openai", "kind": "openai", "baseUrl": "https://models.example.com/v1"});
    for method in [Method::PUT, Method::DELETE] {
        let reply = api.send_json(method.clone(), "/api/providers/openai", &body).await;
        assert_eq!((reply.status, reply.kind()), (409, "Conflict"), "{method}: {}", reply.body);
        assert!(
            reply.message().starts_with("openai comes from the environment variable OPENAI_API_KEY"),
            "{method}"
        );
        assert_eq!(api.send_json(method, "/api/providers/nobody", &body).await.status, 404);
    }
    let made = make(&api, "/api/providers", &body).await;
    let sources = async |client: &Client| {
        let list = client.get("/api/providers").await;
        let items = list.data()["items"].as_array().expect("a list").clone();
        items
            .iter()
            .map(|item| format!("{}: {}", item["name"], item["source"]))
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(sources(&api).await, r#""openai": "stored", "ollama": "environment""#);
    assert_eq!(sources(&bob).await, r#""openai": "environment", "ollama": "environment""#);
    assert_eq!(api.get("/api/providers/openai").await.data(), &made);
    assert_eq!(api.delete("/api/providers/openai").await.status, 200);
    assert_eq!(api.get("/api/providers/openai").await.data()["source"], "environment");
}

#[tokio::test]
async fn environment_providers_follow_the_last_page() {
    let upstream = models().await;
    let (_server, api) = started(&upstream, &[]).await;
    for name in ["a", "b"] {
        make(&api, "/api/providers", &json!({"name": name, "kind": "openai"})).await;
    }
    let names = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().expect("a list");
        items.iter().map(|item| item["name"].as_str().expect("a name").to_owned()).collect()
    };
    let first = api.get("/api/providers?limit=1").await;
    assert_eq!(names(first.data()), ["a"]);
    let cursor = first.data()["nextCursor"].as_str().expect("another page");
    let last = api.get(&format!("/api/providers?limit=1&cursor={cursor}")).await;
    assert_eq!(
        (names(last.data()), &last.data()["nextCursor"]),
        (["b", "openai", "ollama"].map(str::to_owned).to_vec(), &Value::Null)
    );
}

#[tokio::test]
async fn script_can_be_set_and_an_invalid_variable_prevents_the_start() {
    let path = std::env::temp_dir().join(format!("haft-script-{}.json", std::process::id()));
    let file = path.to_str().expect("a path");
    std::fs::write(&path, r#"[{"text": "Hello."}]"#).expect("written");
    let environment = [("HAFT_ADMIN_TOKEN", crate::TOKEN), ("HAFT_SCRIPT", file)];
    let server = HaftProcess::start(HAFT, &["serve"], &environment).await;
    let api = Client::new(&server.url, crate::TOKEN);
    let read = api.get("/api/providers/scripted").await;
    let shown = (&read.data()["kind"], &read.data()["source"], &read.data()["variable"]);
    assert_eq!(shown, (&json!("scripted"), &json!("environment"), &json!("HAFT_SCRIPT")), "{}", read.body);
    let asked = api.post("/api/providers/scripted/test", &json!({"model": "m"})).await;
    assert_eq!(asked.data()["ok"], json!(true), "{}", asked.body);

    std::fs::write(&path, r#"[{"words": 1}]"#).expect("written");
    for (set, expected) in [
        (("HAFT_SCRIPT", file), "HAFT_SCRIPT: The script is not a list of responses: unknown field `words`"),
        (("HAFT_FIND_OLLAMA", "perhaps"), "HAFT_FIND_OLLAMA must be true or false"),
        (("OLLAMA_HOST", "ftp://gpu"), "OLLAMA_HOST is not an http or https URL"),
    ] {
        let ended = run(HAFT, &["serve"], &[set], "").await;
        assert!(ended.code == 1 && ended.stderr.contains(expected), "{set:?}: {}", ended.stderr);
    }
    let _ = std::fs::remove_file(path);
}
