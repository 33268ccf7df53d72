//! What the tests share: a provider at a server, a conversation, and an answer read to its end.

use std::time::Duration;

use futures_util::StreamExt;
use haft_core::CallError;
use haft_egress::{Egress, Limits};
use haft_llm::{Asked, Dialect, Gathered, Model, ModelAnswer, ModelRequest, Reach, Wire};
use haft_testkit::{ModelServer, Upstream};
use tokio::time::Instant;

pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

pub(crate) const DIALECTS: [Dialect; 4] =
    [Dialect::OpenAi, Dialect::Anthropic, Dialect::Gemini, Dialect::Ollama];

pub(crate) fn limits() -> Limits {
    Limits { deadline: Some(Instant::now() + Duration::from_secs(10)), bytes: 1 << 20 }
}

/// A provider of the operator's, with a key.
pub(crate) fn wire(dialect: Dialect, server: &Upstream) -> Wire {
    at(dialect, &server.url(""))
}

/// The same at a server that knows the rules of the dialect.
pub(crate) fn wire_at(dialect: haft_testkit::Dialect, server: &ModelServer) -> Wire {
    let spoken = match dialect {
        haft_testkit::Dialect::Openai => Dialect::OpenAi,
        haft_testkit::Dialect::Anthropic => Dialect::Anthropic,
        haft_testkit::Dialect::Gemini => Dialect::Gemini,
        haft_testkit::Dialect::Ollama => Dialect::Ollama,
    };
    at(spoken, &server.base(dialect))
}

fn at(dialect: Dialect, base: &str) -> Wire {
    Wire {
        name: "the provider".to_owned(),
        dialect,
        base: base.parse().expect("a URL"),
        key: Some(KEY.into()),
        reach: Reach::Operator,
        egress: Egress::default(),
    }
}

/// A conversation with a picture, two calls and their results.
pub(crate) fn conversation() -> ModelRequest {
    serde_json::from_str(include_str!("../golden/conversation.json")).expect("a request")
}

/// What a server of a dialect sends for two calls.
pub(crate) fn transcript(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAi => include_str!("../golden/openai.stream"),
        Dialect::Anthropic => include_str!("../golden/anthropic.stream"),
        Dialect::Gemini => include_str!("../golden/gemini.stream"),
        Dialect::Ollama => include_str!("../golden/ollama.stream"),
    }
}

/// Asks, and reads to the end.
pub(crate) async fn ask(model: &dyn Model, request: &ModelRequest) -> Result<ModelAnswer, CallError> {
    gather(request, model.ask(request, limits()).await?).await
}

/// The rest of an answer that has begun.
pub(crate) async fn gather(request: &ModelRequest, mut asked: Asked) -> Result<ModelAnswer, CallError> {
    let mut gathered = Gathered::of(request);
    while let Some(delta) = asked.deltas.next().await {
        gathered.add(&delta?);
    }
    Ok(gathered.finish())
}
