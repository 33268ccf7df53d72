//! Test helpers: a provider that uses the fake server, a sample request, and functions that read responses.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use haft_core::CallError;
use haft_egress::{Egress, Limits};
use haft_llm::{
    Delta, Model, ModelRequest, ModelResponse, ModelStream, ModelTool, ModelTurn, Reach, ResponseBuilder,
    Wire,
};
use haft_testkit::{FakeDialect, ModelServer};
use serde_json::json;
use tokio::time::Instant;

/// API key. Neither it nor its base64 begins with a letter of the responses, because the client withholds a
/// text that may be the beginning of the key.
pub(crate) const KEY: &str = "KEY-of-tests-0123456789";

/// Returns a provider configured by the operator, with a key.
pub(crate) fn wire(dialect: FakeDialect, server: &ModelServer) -> Wire {
    let wire_dialect = match dialect {
        FakeDialect::Openai => haft_llm::Dialect::OpenAi,
        FakeDialect::Anthropic => haft_llm::Dialect::Anthropic,
        FakeDialect::Gemini => haft_llm::Dialect::Gemini,
        FakeDialect::Ollama => haft_llm::Dialect::Ollama,
    };
    Wire {
        name: "the provider".to_owned(),
        dialect: wire_dialect,
        base: server.base(dialect).parse().expect("a URL"),
        key: Some(KEY.into()),
        reach: Reach::Operator,
        egress: Egress::default(),
    }
}

pub(crate) fn limits() -> Limits {
    Limits { deadline: Some(Instant::now() + Duration::from_secs(10)), bytes: 1 << 20 }
}

/// Returns a request with two tools.
pub(crate) fn sample_request() -> ModelRequest {
    let mut request = ModelRequest::new("gemini-3-test", vec![ModelTurn::user("How warm is Köln?")]);
    request.system = Some("You know the weather.".to_owned());
    request.temperature = Some(0.5);
    request.max_tokens = Some(500);
    let weather = json!({
        "type": "object", "additionalProperties": false, "required": ["city"],
        "properties": {"city": {"type": "string", "format": "city"}, "days": {"$ref": "#/$defs/days"}},
        "$defs": {"days": {"type": ["integer", "null"], "exclusiveMinimum": 0}},
    });
    for (name, parameters) in [("weather", weather), ("now", json!({"type": "object", "properties": {}}))] {
        let (name, description) = (name.to_owned(), format!("The {name}."));
        request.tools.push(Arc::new(ModelTool {
            name,
            description,
            parameters: parameters.into(),
            strict: None,
        }));
    }
    request
}

/// Sends a request and reads the complete response.
pub(crate) async fn ask(model: &Wire, request: &ModelRequest) -> Result<ModelResponse, CallError> {
    let (deltas, error) = read(model.ask(request, limits()).await?).await;
    let mut gathered = ResponseBuilder::of(request);
    deltas.iter().for_each(|delta| gathered.add(delta));
    error.map_or_else(|| Ok(gathered.finish()), Err)
}

/// Reads all deltas of a response, and the error that it ends with, if any.
pub(crate) async fn read(mut response: ModelStream) -> (Vec<Delta>, Option<CallError>) {
    let mut deltas = Vec::new();
    while let Some(delta) = response.deltas.next().await {
        match delta {
            Ok(delta) => deltas.push(delta),
            Err(error) => return (deltas, Some(error)),
        }
    }
    (deltas, None)
}
