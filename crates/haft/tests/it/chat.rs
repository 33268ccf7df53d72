//! Chat end to end: a real server, fake models that stream in the providers' wire formats, and HTTP tools.

mod binding_overrides;
mod budgets;
mod chat_log;
mod continuation;
mod conversation_events;
mod conversations;
mod crashes;
mod crashes_between_calls;
mod dialogue;
mod hostile;
mod limits;
mod nesting;
mod odd_schemas;
mod shared;
mod streams;
mod tasks;

use axum::http::Response;
use haft_testkit::{
    Client, FakeDialect, HaftProcess, ModelReply, ModelServer, RecordedModelRequest, RecordedRequest,
    TestResponse, TestStorage, Upstream, json_reply,
};
use serde_json::{Value, json};

use crate::survival::Settings;

/// The dialects for which every chat feature is tested.
pub(crate) const DIALECTS: [FakeDialect; 3] =
    [FakeDialect::Openai, FakeDialect::Anthropic, FakeDialect::Gemini];

/// A Haft server, a fake model server, and a tool `weather` with its upstream.
pub(crate) struct Desk {
    pub(crate) server: HaftProcess,
    pub(crate) api: Client,
    pub(crate) model: ModelServer,
    pub(crate) weather: Upstream,
    pub(crate) settings: Settings,
    pub(crate) place: TestStorage,
}

/// Adds the environment variables that configure the fake model server as the provider of each dialect.
pub(crate) fn asking(settings: Settings, model: &ModelServer) -> Settings {
    settings
        .with("OPENAI_API_KEY", "sk-openai")
        .with("OPENAI_BASE_URL", &model.base(FakeDialect::Openai))
        .with("ANTHROPIC_API_KEY", "sk-anthropic")
        .with("ANTHROPIC_BASE_URL", &model.base(FakeDialect::Anthropic))
        .with("GEMINI_API_KEY", "sk-gemini")
        .with("GEMINI_BASE_URL", &model.base(FakeDialect::Gemini))
        .with("OLLAMA_HOST", &model.base(FakeDialect::Ollama))
}

impl Desk {
    /// Starts the servers. The closure defines the responses of the model; `weather` knows every city.
    pub(crate) async fn new<A>(respond: impl Fn(RecordedModelRequest) -> A + Send + Sync + 'static) -> Self
    where
        A: Future<Output = ModelReply> + Send + 'static,
    {
        Self::with(ModelServer::start(respond).await, Upstream::start(weather).await).await
    }

    /// Starts a Haft server with the given model server and upstream.
    pub(crate) async fn with(model: ModelServer, weather: Upstream) -> Self {
        Self::with_settings(model, weather, &[]).await
    }

    /// Starts a Haft server with further environment variables.
    pub(crate) async fn with_settings(
        model: ModelServer,
        weather: Upstream,
        variables: &[(&'static str, &'static str)],
    ) -> Self {
        let place = TestStorage::new();
        // A short lease: if servers share a database, the runs of a killed server are soon claimed by the
        // next.
        let settings = asking(Settings::of(&place), &model).with("HAFT_TASK_LEASE_MS", "1000");
        let settings = variables.iter().fold(settings, |settings, (name, value)| settings.with(name, value));
        let (server, api) = settings.start().await;
        let desk = Self { server, api, model, weather, settings, place };
        desk.tool("weather", json!({})).await;
        desk
    }

    /// Creates an HTTP tool that requests the weather of a city from the upstream.
    pub(crate) async fn tool(&self, name: &str, more: Value) {
        let mut tool = json!({
            "name": name,
            "description": "The weather of a city.",
            "url": format!("http://{}/{name}?city={{{{city}}}}", self.weather.address),
            "inputSchema": {
                "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
            },
        });
        for (field, value) in more.as_object().expect("an object") {
            tool[field] = value.clone();
        }
        crate::tasks::make(&self.api, tool).await;
    }

    /// Creates an agent with a provider of this dialect and these tools. Returns its name.
    pub(crate) async fn agent(&self, dialect: FakeDialect, tools: &[&str], more: Value) -> String {
        // The fake server accepts a thinking configuration for some model names only.
        let model = if dialect == FakeDialect::Gemini { "gemini-3-test" } else { "test-model" };
        let mut config = json!({"provider": dialect.kind(), "model": model});
        for (field, value) in more.as_object().expect("an object") {
            config[field] = value.clone();
        }
        let name = format!("{}-{}", dialect.kind(), uuid::Uuid::new_v4().simple());
        let agent = json!({"name": name, "systemPrompt": "You are a clerk.", "toolIds": tools_of(&self.api, tools).await, "config": config});
        let created = self.api.post("/api/agents", &agent).await;
        assert_eq!(created.status, 201, "{}", created.body);
        name
    }

    /// Sends a message to an agent and waits for the complete response.
    pub(crate) async fn ask(&self, agent: &str, text: &str) -> TestResponse {
        self.api.post("/api/chat", &json!({"agentId": agent, "messages": [user(text)]})).await
    }

    /// Asserts that the fake model server rejected no request as invalid.
    pub(crate) fn check(&self) {
        assert_eq!(self.model.refused(), Vec::<String>::new());
    }
}

pub(crate) async fn tools_of(api: &Client, names: &[&str]) -> Vec<Value> {
    let mut ids = Vec::new();
    for name in names {
        let tool = api.get(&format!("/api/tools?q={name}&limit=200")).await;
        let items = tool.data()["items"].as_array().expect("a list").clone();
        let found = items.into_iter().find(|tool| tool["name"] == *name).expect("the tool is there");
        ids.push(found["id"].clone());
    }
    ids
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Returns the weather of the city in the query.
pub(crate) fn weather(request: &RecordedRequest) -> Response<Vec<u8>> {
    let city = city_of(request);
    json_reply(200, &json!({"city": city, "temperature": city.len()}))
}

pub(crate) fn city_of(request: &RecordedRequest) -> String {
    request.target.rsplit("city=").next().unwrap_or_default().to_owned()
}

/// Returns the text of the agent's final message.
pub(crate) fn final_text(reply: &TestResponse) -> &str {
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.data()["message"]["content"].as_str().expect("a text")
}
