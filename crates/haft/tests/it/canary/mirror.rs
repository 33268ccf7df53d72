//! A model that speaks as models do, and says all that it was sent: instructions, tools, results and what was said.

use haft_testkit::{AskedModel, Client, Dialect, ModelReply, ModelServer, eventually};
use serde_json::{Value, json};

use super::{PATIENCE, Scene};
use crate::chat::DIALECTS;

/// Echoes of this length are cut, kept as a file, and read on.
const LARGE: &str = "mirror_large";

/// Its result comes by itself.
const LATER: &str = "mirror_later";

/// Calls all that it is offered, what is too large to be shown at last; reads to the end of that, and then says
/// whatever it was sent.
async fn mirror(asked: AskedModel) -> ModelReply {
    let calls = |is_wanted: &dyn Fn(&str) -> bool| {
        let names = asked.tool_names().into_iter().filter(|name| is_wanted(name));
        ModelReply::calls(names.map(|name| (name, json!({}))))
    };
    let cut = asked.results().iter().find_map(|result| {
        let data: Value = serde_json::from_str(&result.content).ok()?;
        Some((data["handle"].as_str()?.to_owned(), data["size"].as_u64()?))
    });
    match (asked.answers_before(), cut) {
        (0, _) => calls(&|name| name != LARGE),
        (1, _) => calls(&|name| name == LARGE),
        (_, Some((handle, size))) => {
            let from = size.saturating_sub(12_000);
            ModelReply::calls([("read_result", json!({"handle": handle, "offset": from}))])
        }
        (_, None) => ModelReply::says(asked.body.to_string()).in_fragments_of(4_000),
    }
}

impl Scene {
    /// All tools of the scene and two more, called by agents that ask such a model in three dialects.
    pub(super) async fn talk_to_a_mirror(&self) {
        let model = ModelServer::start(mirror).await;
        for (name, path, more) in [(LARGE, "/large", json!({})), (LATER, "/text", json!({"async": true}))] {
            let mut tool = json!({
                "name": name, "description": "Echoes.", "url": self.upstream.url(path), "retryCount": 0,
                "headers": {
                    "Authorization": format!("Bearer {}", self.watch.make(name)),
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
            let (agent, key) = self.mirrored(&model, dialect).await;
            self.converse(&agent).await;
            self.complete(&agent).await;
            self.look_at_questions(&model.seen()[before..], dialect, &key);
        }
        assert_eq!(model.refused(), Vec::<String>::new());
        self.look_at_kept_results().await;
    }

    /// An agent with every tool, and the key of its provider.
    async fn mirrored(&self, model: &ModelServer, dialect: Dialect) -> (String, String) {
        let name = format!("mirror-{}", dialect.kind());
        let key = self.watch.make(&name);
        let provider = json!({
            "name": name, "kind": dialect.kind(), "baseUrl": model.base(dialect), "apiKey": key,
        });
        let made = self.post("/api/providers", &provider).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let tools: Vec<&str> = self.tools.iter().map(String::as_str).chain([LARGE, LATER]).collect();
        // A name of a secret is no secret, and not filled in here.
        let agent = json!({
            "name": name, "systemPrompt": "You know of secret://shared and secret://me/own.", "toolIds": tools,
            "config": {"provider": name, "model": "test-model"},
        });
        let made = self.post("/api/agents", &agent).await;
        assert_eq!(made.status, 201, "{}", made.body);
        (name, key)
    }

    /// A conversation whose last turn begins by itself, with the result that came later.
    async fn converse(&self, agent: &str) {
        let said = json!([{"role": "user", "content": "All of them."}]);
        let reply = self.post("/api/chat", &json!({"agentId": agent, "messages": said})).await;
        assert_eq!(reply.status, 200, "{agent}: {}", reply.body);
        let echoed = reply.data()["message"]["content"].as_str().expect("words");
        for word in ["You know of secret://shared", LARGE, "All of them.", "***"] {
            assert!(echoed.contains(word), "{agent}: {word} is not echoed: {echoed}");
        }
        let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
        let path = format!("/api/conversations/{id}");
        let read = async || self.api.get(&path).await.data()["turns"].as_array().cloned().unwrap_or_default();
        eventually("what came later was echoed", async || {
            let turns = read().await;
            turns.len() == 2 && turns[1]["finishReason"] == "stop"
        })
        .await;
        let later = read().await[1].clone();
        assert_eq!(later["input"][0]["name"], LATER, "{agent}: {later}");
        let echoed = later["message"]["content"].as_str().expect("words");
        assert!(echoed.contains("task_result"), "{agent}: {echoed}");
        let again = json!({"agentId": agent, "messages": said, "stream": true});
        let events = self.stream("/api/chat", &again).await;
        assert!(events.contains("event: done"), "{agent}: {events}");
        self.watch.look(&format!("the events of {agent}"), &events);
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

    /// Posts something, and gives all events that answer it.
    async fn stream(&self, path: &str, body: &Value) -> String {
        let streaming = async { self.api.post_for_events(path, body).await.rest().await };
        let streamed = tokio::time::timeout(PATIENCE, streaming).await;
        streamed.unwrap_or_else(|_| panic!("{path}: no end in {PATIENCE:?}"))
    }

    /// The same in OpenAI's forms.
    async fn complete(&self, agent: &str) {
        let words = "All of them.";
        for (path, body) in [
            (
                "/v1/chat/completions",
                json!({"model": agent, "messages": [{"role": "user", "content": words}]}),
            ),
            ("/v1/responses", json!({"model": agent, "input": words})),
        ] {
            let reply = self.post(path, &body).await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.body);
            assert!(reply.body.to_string().contains("***"), "{path}: the model echoes: {}", reply.body);
            let mut streamed = body;
            streamed["stream"] = json!(true);
            let events = self.stream(path, &streamed).await;
            assert!(events.contains("***"), "{path}: the model echoes: {events}");
            self.watch.look(&format!("the events of {path} with {agent}"), &events);
        }
    }

    /// A key is in the one header where it belongs, and nothing else in any question.
    fn look_at_questions(&self, asked: &[AskedModel], dialect: Dialect, key: &str) {
        assert!(asked.len() >= 10, "{dialect:?}: only {} questions", asked.len());
        for asked in asked {
            assert_eq!((asked.dialect, asked.key.as_deref()), (dialect, Some(key)));
            let place = format!("a question in the dialect {dialect:?}");
            self.watch.look(&place, &asked.target);
            self.watch.look(&place, &asked.body.to_string());
            let headers: Vec<&str> = asked.headers.values().filter_map(|value| value.to_str().ok()).collect();
            let (with_key, others): (Vec<&str>, Vec<&str>) =
                headers.into_iter().partition(|value| value.contains(key));
            assert_eq!(with_key.len(), 1, "{dialect:?}: {:?}", asked.headers);
            self.watch.look(&place, &others.join("\n"));
        }
        // Each of them came to the model, masked.
        let last = asked.iter().max_by_key(|asked| asked.messages.len()).expect("a question");
        let results: Vec<&str> = last
            .messages
            .iter()
            .flat_map(|message| &message.results)
            .map(|result| result.content.as_str())
            .collect();
        let masked = results.iter().filter(|result| result.contains("***")).count();
        assert!(masked > self.tools.len(), "{dialect:?}: {masked} of {} results are masked", results.len());
    }

    /// Results that were too large are files, and hold no more than what the model was shown of them.
    async fn look_at_kept_results(&self) {
        let listed =
            self.send(&self.api, axum::http::Method::GET, "/api/artifacts?limit=200", &Value::Null).await;
        let files = listed.data()["items"].as_array().expect("a list").clone();
        let kept: Vec<Value> =
            files.into_iter().filter(|file| file["name"].to_string().contains(LARGE)).collect();
        assert!(kept.len() >= DIALECTS.len(), "{}", listed.body);
        for file in kept {
            let text = read(&self.api, file["id"].as_str().expect("an id")).await;
            assert!(text.len() > 32 << 10 && text.matches("***").count() > 10, "{} bytes", text.len());
            self.watch.look("a result that is kept as a file", &text);
        }
    }
}

async fn read(api: &Client, artifact: &str) -> String {
    let (status, _, bytes) = api.download(&format!("/api/artifacts/{artifact}")).await;
    assert_eq!(status, 200);
    String::from_utf8(bytes).expect("text")
}
