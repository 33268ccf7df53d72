//! A fake model that calls all tools and echoes its whole request: instructions, tools, results and messages.

use haft_testkit::{Client, FakeDialect, ModelReply, ModelServer, RecordedModelRequest, eventually};
use serde_json::{Value, json};

use super::{Scene, TIMEOUT};
use crate::chat::DIALECTS;

/// A tool whose result is too large for the model and is stored as a file.
const LARGE_TOOL: &str = "mirror_large";

/// An asynchronous tool, whose result starts a new turn.
const ASYNC_TOOL: &str = "mirror_later";

/// Calls all tools, the large one last, reads the end of its result, and then echoes the request.
async fn echo_model(request: RecordedModelRequest) -> ModelReply {
    let calls = |is_included: &dyn Fn(&str) -> bool| {
        let names = request.tool_names().into_iter().filter(|name| is_included(name));
        ModelReply::calls(names.map(|name| (name, json!({}))))
    };
    let cut = request.results().iter().find_map(|result| {
        let data: Value = serde_json::from_str(&result.content).ok()?;
        Some((data["handle"].as_str()?.to_owned(), data["size"].as_u64()?))
    });
    match (request.previous_responses(), cut) {
        (0, _) => calls(&|name| name != LARGE_TOOL),
        (1, _) => calls(&|name| name == LARGE_TOOL),
        (_, Some((handle, size))) => {
            let from = size.saturating_sub(12_000);
            ModelReply::calls([("read_result", json!({"handle": handle, "offset": from}))])
        }
        (_, None) => ModelReply::says(request.body.to_string()).in_fragments_of(4_000),
    }
}

impl Scene {
    /// Runs conversations with the echo model in three dialects, with all tools of the scene and two more.
    pub(super) async fn run_echo_model(&self) {
        let model = ModelServer::start(echo_model).await;
        for (name, path, more) in
            [(LARGE_TOOL, "/large", json!({})), (ASYNC_TOOL, "/text", json!({"async": true}))]
        {
            let mut tool = json!({
                "name": name, "description": "Echoes.", "url": self.upstream.url(path), "retryCount": 0,
                "headers": {
                    "Authorization": format!("Bearer {}", self.watch.new_canary(name)),
                    "X-Token": "secret://shared", "X-Own-Key": "secret://me/own",
                },
            });
            for (field, value) in more.as_object().expect("fields") {
                tool[field] = value.clone();
            }
            assert_eq!(self.post("/api/tools", &tool).await.status, 201);
        }
        for dialect in DIALECTS {
            let before = model.seen().len();
            let (agent, key) = self.add_agent(&model, dialect).await;
            self.converse(&agent).await;
            self.complete(&agent).await;
            self.search_requests(&model.seen()[before..], dialect, &key);
        }
        assert_eq!(model.refused(), Vec::<String>::new());
        self.search_stored_results().await;
    }

    /// Creates an agent with every tool. Returns its name and the key of its provider.
    async fn add_agent(&self, model: &ModelServer, dialect: FakeDialect) -> (String, String) {
        let name = format!("mirror-{}", dialect.kind());
        let key = self.watch.new_canary(&name);
        let provider = json!({
            "name": name, "kind": dialect.kind(), "baseUrl": model.base(dialect), "apiKey": key,
        });
        let created = self.post("/api/providers", &provider).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let tools: Vec<&str> =
            self.tools.iter().map(String::as_str).chain([LARGE_TOOL, ASYNC_TOOL]).collect();
        // The name of a secret is not secret, and references are not resolved in instructions.
        let agent = json!({
            "name": name, "systemPrompt": "You know of secret://shared and secret://me/own.", "toolIds": tools,
            "config": {"provider": name, "model": "test-model"},
        });
        let created = self.post("/api/agents", &agent).await;
        assert_eq!(created.status, 201, "{}", created.body);
        (name, key)
    }

    /// Runs a conversation whose last turn starts with the result of the asynchronous tool.
    async fn converse(&self, agent: &str) {
        let messages = json!([{"role": "user", "content": "All of them."}]);
        let reply = self.post("/api/chat", &json!({"agentId": agent, "messages": messages})).await;
        assert_eq!(reply.status, 200, "{agent}: {}", reply.body);
        let echoed = reply.data()["message"]["content"].as_str().expect("a text");
        for word in ["You know of secret://shared", LARGE_TOOL, "All of them.", "***"] {
            assert!(echoed.contains(word), "{agent}: {word} is not echoed: {echoed}");
        }
        let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
        let path = format!("/api/conversations/{id}");
        let read = async || self.api.get(&path).await.data()["turns"].as_array().cloned().unwrap_or_default();
        eventually("the result of the task was echoed", async || {
            let turns = read().await;
            turns.len() == 2 && turns[1]["finishReason"] == "stop"
        })
        .await;
        let turn = read().await[1].clone();
        assert_eq!(turn["input"][0]["name"], ASYNC_TOOL, "{agent}: {turn}");
        let echoed = turn["message"]["content"].as_str().expect("a text");
        assert!(echoed.contains("task_result"), "{agent}: {echoed}");
        let again = json!({"agentId": agent, "messages": messages, "stream": true});
        let events = self.stream("/api/chat", &again).await;
        assert!(events.contains("event: done"), "{agent}: {events}");
        self.watch.search(&format!("the events of {agent}"), &events);
        for path in [
            path.clone(),
            format!("{path}/tool-context"),
            format!("{path}/export"),
            format!("{path}/export?format=markdown"),
        ] {
            let read = self.send(&self.api, axum::http::Method::GET, &path, &Value::Null).await;
            assert_eq!(read.status, 200, "{path}: {}", read.body);
        }
    }

    /// Posts a request and returns all events of the response.
    async fn stream(&self, path: &str, body: &Value) -> String {
        let streaming = async { self.api.post_for_events(path, body).await.remaining_text().await };
        let streamed = tokio::time::timeout(TIMEOUT, streaming).await;
        streamed.unwrap_or_else(|_| panic!("{path}: no end in {TIMEOUT:?}"))
    }

    /// Requests completions and responses over `/v1`.
    async fn complete(&self, agent: &str) {
        let text = "All of them.";
        for (path, body) in [
            (
                "/v1/chat/completions",
                json!({"model": agent, "messages": [{"role": "user", "content": text}]}),
            ),
            ("/v1/responses", json!({"model": agent, "input": text})),
        ] {
            let reply = self.post(path, &body).await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.body);
            assert!(reply.body.to_string().contains("***"), "{path}: the model echoes: {}", reply.body);
            let mut streamed = body;
            streamed["stream"] = json!(true);
            let events = self.stream(path, &streamed).await;
            assert!(events.contains("***"), "{path}: the model echoes: {events}");
            self.watch.search(&format!("the events of {path} with {agent}"), &events);
        }
    }

    /// Asserts that the requests to the model contain no canary except the key, which is in one header.
    fn search_requests(&self, requests: &[RecordedModelRequest], dialect: FakeDialect, key: &str) {
        assert!(requests.len() >= 10, "{dialect:?}: only {} requests", requests.len());
        for request in requests {
            assert_eq!((request.dialect, request.key.as_deref()), (dialect, Some(key)));
            let source = format!("a model request in the dialect {dialect:?}");
            self.watch.search(&source, &request.target);
            self.watch.search(&source, &request.body.to_string());
            let headers: Vec<&str> =
                request.headers.values().filter_map(|value| value.to_str().ok()).collect();
            let (with_key, others): (Vec<&str>, Vec<&str>) =
                headers.into_iter().partition(|value| value.contains(key));
            assert_eq!(with_key.len(), 1, "{dialect:?}: {:?}", request.headers);
            self.watch.search(&source, &others.join("\n"));
        }
        // The model received the masked results of all tools.
        let last = requests.iter().max_by_key(|request| request.messages.len()).expect("a request");
        let results: Vec<&str> = last
            .messages
            .iter()
            .flat_map(|message| &message.results)
            .map(|result| result.content.as_str())
            .collect();
        let masked = results.iter().filter(|result| result.contains("***")).count();
        assert!(masked > self.tools.len(), "{dialect:?}: {masked} of {} results are masked", results.len());
    }

    /// Searches the files of large results.
    async fn search_stored_results(&self) {
        let listed =
            self.send(&self.api, axum::http::Method::GET, "/api/artifacts?limit=200", &Value::Null).await;
        let files = listed.data()["items"].as_array().expect("a list").clone();
        let results: Vec<Value> =
            files.into_iter().filter(|file| file["name"].to_string().contains(LARGE_TOOL)).collect();
        assert!(results.len() >= DIALECTS.len(), "{}", listed.body);
        for file in results {
            let text = read(&self.api, file["id"].as_str().expect("an id")).await;
            assert!(text.len() > 32 << 10 && text.matches("***").count() > 10, "{} bytes", text.len());
            self.watch.search("a result stored as a file", &text);
        }
    }
}

async fn read(api: &Client, artifact: &str) -> String {
    let (status, _, bytes) = api.download(&format!("/api/artifacts/{artifact}")).await;
    assert_eq!(status, 200);
    String::from_utf8(bytes).expect("text")
}
