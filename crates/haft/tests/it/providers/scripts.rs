//! Scripted providers: a list of responses instead of a model, validated when it is saved.

use serde_json::{Value, json};

use crate::agents::{make, refused};
use crate::http_tools::start;

#[tokio::test]
async fn script_is_stored_unchanged_and_replayed() {
    let (_server, api) = start(&[]).await;
    let script = json!([
        {"toolCalls": [{"name": "weather", "arguments": {"the_city": "Paris"}}]},
        {"text": "Dry.", "reasoning": "It said so.", "usage": {"input": 3, "output": 1}},
    ]);
    let body = json!({"name": "play", "kind": "scripted", "script": script});
    let made = make(&api, "/api/providers", &body).await;
    assert_eq!((&made["script"], &made["kind"]), (&script, &json!("scripted")));
    let back = api.put("/api/providers/play", &made).await;
    assert_eq!((back.status, back.data()), (200, &made), "a provider can be sent back unchanged");
    let list = api.get("/api/providers").await;
    assert_eq!(list.data()["items"], json!([made]));

    let asked = api.post("/api/providers/play/test", &json!({"model": "any"})).await;
    assert_eq!(
        (&asked.data()["ok"], &asked.data()["status"]),
        (&json!(true), &Value::Null),
        "{}",
        asked.body
    );
    assert!(
        asked.data()["message"].as_str().is_some_and(|message| message.starts_with("any answered within "))
    );

    // A provider of another kind has no script, and stores none.
    let changed = json!({"name": "play", "kind": "ollama"});
    let changed = api.put("/api/providers/play", &changed).await;
    assert_eq!((changed.status, changed.data().get("script")), (200, None), "{}", changed.body);
}

#[tokio::test]
async fn invalid_script_is_refused() {
    let (_server, api) = start(&[]).await;
    let scripted = |script: Value| json!({"name": "a", "kind": "scripted", "script": script});
    for (body, expected) in [
        (json!({"name": "a", "kind": "scripted"}), "script: is required for the kind scripted"),
        (scripted(json!(null)), "script: is required for the kind scripted"),
        (scripted(json!([])), "script: "),
        (scripted(json!({"text": "a"})), "script: "),
        (scripted(json!(["a"])), "script: The script is not a list of responses: "),
        (scripted(json!([{"words": "a"}])), "unknown field `words`"),
        (scripted(json!([{"toolCalls": [{"arguments": {}}]}])), "missing field `name`"),
        (
            json!({"name": "a", "kind": "openai", "script": [{"text": "a"}]}),
            "script: is allowed for the kind scripted only",
        ),
    ] {
        refused(&api.post("/api/providers", &body).await, expected, &body);
    }
    assert_eq!(api.get("/api/providers").await.data()["items"], json!([]));
}
