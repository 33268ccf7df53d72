//! Shared helpers: a provider, a conversation, and reading complete responses.

use std::time::Duration;

use futures_util::StreamExt;
use haft_core::CallError;
use haft_egress::{Egress, Limits};
use haft_llm::{Dialect, Model, ModelRequest, ModelResponse, ModelStream, Reach, ResponseBuilder, Wire};
use haft_testkit::{ModelServer, Upstream};
use tokio::time::Instant;

pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

pub(crate) const DIALECTS: [Dialect; 4] =
    [Dialect::OpenAi, Dialect::Anthropic, Dialect::Gemini, Dialect::Ollama];

pub(crate) fn limits() -> Limits {
    Limits { deadline: Some(Instant::now() + Duration::from_secs(10)), bytes: 1 << 20 }
}

/// A provider of the operator, with a key.
pub(crate) fn wire(dialect: Dialect, server: &Upstream) -> Wire {
    wire_to(dialect, &server.url(""))
}

/// The provider at a server that enforces the rules of the dialect.
pub(crate) fn wire_at(dialect: haft_testkit::FakeDialect, server: &ModelServer) -> Wire {
    let spoken = match dialect {
        haft_testkit::FakeDialect::Openai => Dialect::OpenAi,
        haft_testkit::FakeDialect::Anthropic => Dialect::Anthropic,
        haft_testkit::FakeDialect::Gemini => Dialect::Gemini,
        haft_testkit::FakeDialect::Ollama => Dialect::Ollama,
    };
    wire_to(spoken, &server.base(dialect))
}

fn wire_to(dialect: Dialect, base: &str) -> Wire {
    Wire {
        name: "the provider".to_owned(),
        dialect,
        base: base.parse().expect("a URL"),
        key: Some(KEY.into()),
        reach: Reach::Operator,
        egress: Egress::default(),
    }
}

/// A conversation with an image, two calls and their results.
pub(crate) fn conversation() -> ModelRequest {
    serde_json::from_str(include_str!("../golden/conversation.json")).expect("a request")
}

/// The response of a server of a dialect with two calls.
pub(crate) fn transcript(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAi => include_str!("../golden/openai.stream"),
        Dialect::Anthropic => include_str!("../golden/anthropic.stream"),
        Dialect::Gemini => include_str!("../golden/gemini.stream"),
        Dialect::Ollama => include_str!("../golden/ollama.stream"),
    }
}

/// Sends a request and reads the whole response.
pub(crate) async fn ask(model: &dyn Model, request: &ModelRequest) -> Result<ModelResponse, CallError> {
    gather(request, model.ask(request, limits()).await?).await
}

/// Reads the rest of a started response.
pub(crate) async fn gather(
    request: &ModelRequest,
    mut asked: ModelStream,
) -> Result<ModelResponse, CallError> {
    let mut gathered = ResponseBuilder::of(request);
    while let Some(delta) = asked.deltas.next().await {
        gathered.add(&delta?);
    }
    Ok(gathered.finish())
}
