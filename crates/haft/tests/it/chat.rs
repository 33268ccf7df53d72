//! Chat end to end: a real server, a model that speaks the true protocols in fragments, and tools over HTTP.

mod bound;
mod budgets;
mod conversations;
mod crashes;
mod dialogue;
mod going_on;
mod halfway;
mod heard;
mod hostile;
mod limits;
mod logged;
mod nesting;
mod odd_schemas;
mod shared;
mod streams;
mod tasks;

use axum::http::Response;
use haft_testkit::{
    AskedModel, Client, Dialect, HaftProcess, ModelReply, ModelServer, Place, Reply, Seen, Upstream,
    json_reply,
};
use serde_json::{Value, json};

use crate::survival::Settings;

/// Those that have to understand each other with everything.
pub(crate) const DIALECTS: [Dialect; 3] = [Dialect::Openai, Dialect::Anthropic, Dialect::Gemini];

/// A server with models, and a tool that tells the weather.
pub(crate) struct Desk {
    pub(crate) server: HaftProcess,
    pub(crate) api: Client,
    pub(crate) model: ModelServer,
    pub(crate) weather: Upstream,
    pub(crate) settings: Settings,
    pub(crate) place: Place,
}

/// The variables by which a server finds the models.
pub(crate) fn asking(settings: Settings, model: &ModelServer) -> Settings {
    settings
        .with("OPENAI_API_KEY", "sk-openai")
        .with("OPENAI_BASE_URL", &model.base(Dialect::Openai))
        .with("ANTHROPIC_API_KEY", "sk-anthropic")
        .with("ANTHROPIC_BASE_URL", &model.base(Dialect::Anthropic))
        .with("GEMINI_API_KEY", "sk-gemini")
        .with("GEMINI_BASE_URL", &model.base(Dialect::Gemini))
        .with("OLLAMA_HOST", &model.base(Dialect::Ollama))
}

impl Desk {
    /// With a model that a closure speaks for, and the weather of every city.
    pub(crate) async fn new<A>(answer: impl Fn(AskedModel) -> A + Send + Sync + 'static) -> Self
    where
        A: Future<Output = ModelReply> + Send + 'static,
    {
        Self::with(ModelServer::start(answer).await, Upstream::start(weather).await).await
    }

    pub(crate) async fn with(model: ModelServer, weather: Upstream) -> Self {
        let place = Place::new();
        // Where servers share a database, what one left behind is taken over soon.
        let settings = asking(Settings::of(&place), &model).with("HAFT_TASK_LEASE_MS", "1000");
        let (server, api) = settings.start().await;
        let desk = Self { server, api, model, weather, settings, place };
        desk.tool("weather", json!({})).await;
        desk
    }

    /// Makes a tool that asks the upstream for the weather of a city.
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

    /// Makes an agent that asks the model in a dialect, and has these tools.
    pub(crate) async fn agent(&self, dialect: Dialect, tools: &[&str], more: Value) -> String {
        // Only models of some names think.
        let model = if dialect == Dialect::Gemini { "gemini-3-test" } else { "test-model" };
        let mut config = json!({"provider": dialect.kind(), "model": model});
        for (field, value) in more.as_object().expect("an object") {
            config[field] = value.clone();
        }
        let name = format!("{}-{}", dialect.kind(), uuid::Uuid::new_v4().simple());
        let agent = json!({"name": name, "systemPrompt": "You are a clerk.", "toolIds": tools_of(&self.api, tools).await, "config": config});
        let made = self.api.post("/api/agents", &agent).await;
        assert_eq!(made.status, 201, "{}", made.body);
        name
    }

    /// Asks an agent, and waits for the whole answer.
    pub(crate) async fn ask(&self, agent: &str, text: &str) -> Reply {
        self.api.post("/api/chat", &json!({"agentId": agent, "messages": [user(text)]})).await
    }

    /// What the model refused must be nothing: every request kept to the rules of its maker.
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

/// The weather of the city in the query.
pub(crate) fn weather(request: &Seen) -> Response<Vec<u8>> {
    let city = city_of(request);
    json_reply(200, &json!({"city": city, "temperature": city.len()}))
}

pub(crate) fn city_of(request: &Seen) -> String {
    request.target.rsplit("city=").next().unwrap_or_default().to_owned()
}

/// The answer in which an agent said what it came to.
pub(crate) fn said(reply: &Reply) -> &str {
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.data()["message"]["content"].as_str().expect("words")
}
