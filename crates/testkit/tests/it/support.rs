//! What the tests share: a provider at the server, a conversation, and an answer read to its end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use haft_core::CallError;
use haft_egress::{Egress, Limits};
use haft_llm::{Asked, Delta, Gathered, Model, ModelAnswer, ModelRequest, Reach, ToolDefinition, Turn, Wire};
use haft_testkit::{Dialect, ModelServer};
use serde_json::json;
use tokio::time::Instant;

/// Neither it nor its base64 begins with a letter of the answers: a text that may begin the key is held back.
pub(crate) const KEY: &str = "KEY-of-tests-0123456789";

/// A provider of the operator's, with a key.
pub(crate) fn wire(dialect: Dialect, server: &ModelServer) -> Wire {
    let spoken = match dialect {
        Dialect::Openai => haft_llm::Dialect::OpenAi,
        Dialect::Anthropic => haft_llm::Dialect::Anthropic,
        Dialect::Gemini => haft_llm::Dialect::Gemini,
        Dialect::Ollama => haft_llm::Dialect::Ollama,
    };
    Wire {
        name: "the provider".to_owned(),
        dialect: spoken,
        base: server.base(dialect).parse().expect("a URL"),
        key: Some(KEY.into()),
        reach: Reach::Operator,
        egress: Egress::default(),
    }
}

pub(crate) fn limits() -> Limits {
    Limits { deadline: Some(Instant::now() + Duration::from_secs(10)), bytes: 1 << 20 }
}

/// A question with two tools.
pub(crate) fn question() -> ModelRequest {
    let mut request = ModelRequest::new("gemini-3-test", vec![Turn::user("How warm is Köln?")]);
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
        request.tools.push(Arc::new(ToolDefinition {
            name,
            description,
            parameters: parameters.into(),
            strict: None,
        }));
    }
    request
}

/// Asks, and reads to the end.
pub(crate) async fn ask(model: &Wire, request: &ModelRequest) -> Result<ModelAnswer, CallError> {
    let (deltas, error) = read(model.ask(request, limits()).await?).await;
    let mut gathered = Gathered::of(request);
    deltas.iter().for_each(|delta| gathered.add(delta));
    error.map_or_else(|| Ok(gathered.finish()), Err)
}

/// All that comes of an answer, and the error it ends with.
pub(crate) async fn read(mut asked: Asked) -> (Vec<Delta>, Option<CallError>) {
    let mut deltas = Vec::new();
    while let Some(delta) = asked.deltas.next().await {
        match delta {
            Ok(delta) => deltas.push(delta),
            Err(error) => return (deltas, Some(error)),
        }
    }
    (deltas, None)
}
