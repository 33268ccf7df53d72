//! An agent loop as a developer would write it by hand: axum, one route, model requests until there are no
//! calls.
//!
//! It uses Haft's client (`haft-llm` on `haft-egress`) under the operator's policy; a second route uses
//! hyper's client. It has no validation, limits, storage or logs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use futures_util::{StreamExt, stream};
use haft_egress::{Destination, Egress, Limits, Request, RequestPolicy};
use haft_llm::{
    Call, Delta, Dialect, Model, ModelRequest, ModelTool, ModelTurn, Reach, ResponseBuilder, ToolResult, Wire,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use url::Url;

use super::hyper_loop::HyperLoop;
use super::{BY_HAND, COMPLETIONS, INSTRUCTIONS, MODEL, schema};

pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_BYTES: usize = 1 << 20;

struct Loop {
    model: Wire,
    weather: Destination,
}

#[derive(Deserialize)]
struct CompletionRequest {
    messages: Vec<Message>,
    #[serde(default)]
    stream: bool,
}

#[derive(Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message {
    User {
        content: String,
    },
    Assistant {
        content: Option<String>,
        #[serde(default)]
        tool_calls: Vec<ToolCall>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Deserialize)]
struct ToolCall {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

impl From<Message> for ModelTurn {
    fn from(message: Message) -> Self {
        match message {
            Message::User { content } => Self::user(content),
            Message::Assistant { content, tool_calls } => {
                let call = |ToolCall { id, function: Function { name, arguments } }| Call {
                    id,
                    name,
                    arguments,
                    ..Call::default()
                };
                let calls = tool_calls.into_iter().map(call).collect();
                Self::assistant(content.unwrap_or_default(), None, calls)
            }
            Message::Tool { tool_call_id, content } => {
                let name = "weather".to_owned();
                let result = ToolResult { call_id: tool_call_id, name, content, is_error: false };
                Self::ToolResults { results: vec![result] }
            }
        }
    }
}

pub(crate) async fn serve(listener: TcpListener, model: &str, weather: &str) -> anyhow::Result<()> {
    let by_hand = Router::new().route(BY_HAND, post(completions_by_hand));
    let by_hand = by_hand.with_state(Arc::new(HyperLoop::new(model, weather)));
    let model = Wire {
        name: "openai".to_owned(),
        dialect: Dialect::OpenAi,
        base: Url::parse(&format!("http://{model}/v1"))?,
        key: Some("sk-bench".into()),
        reach: Reach::Operator,
        egress: Egress::default(),
    };
    let weather = Destination::of(&Url::parse(&format!("http://{weather}"))?)?;
    let router = Router::new()
        .route(COMPLETIONS, post(completions))
        .with_state(Arc::new(Loop { model, weather }))
        .merge(by_hand);
    axum::serve(listener.tap_io(|stream| drop(stream.set_nodelay(true))), router).await?;
    Ok(())
}

async fn completions(State(agent): State<Arc<Loop>>, Json(request): Json<CompletionRequest>) -> Response {
    let turns = request.messages.into_iter().map(ModelTurn::from).collect();
    if request.stream {
        return streamed(agent, turns);
    }
    whole(agent.turn(turns, |_| {}).await)
}

async fn completions_by_hand(
    State(agent): State<Arc<HyperLoop>>,
    Json(request): Json<CompletionRequest>,
) -> Response {
    let question = request.messages.into_iter().find_map(|message| match message {
        Message::User { content } => Some(content),
        Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    whole(agent.turn(&question.unwrap_or_default()).await)
}

fn whole(response: anyhow::Result<String>) -> Response {
    match response {
        Ok(text) => {
            let message = json!({"role": "assistant", "content": text});
            let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
            Json(json!({"object": "chat.completion", "model": MODEL, "choices": [choice]})).into_response()
        }
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

fn streamed(agent: Arc<Loop>, turns: Vec<ModelTurn>) -> Response {
    let (sender, lines) = unbounded_channel();
    tokio::spawn(async move {
        let last = match agent
            .turn(turns, |text| send_chunk(&sender, &json!({"content": text}), &Value::Null))
            .await
        {
            Ok(_) => {
                send_chunk(&sender, &json!({}), &json!("stop"));
                "data: [DONE]\n\n".to_owned()
            }
            Err(error) => format!("data: {}\n\n", json!({"error": error.to_string()})),
        };
        let _ = sender.send(last);
    });
    let lines =
        stream::unfold(lines, async |mut lines| Some((Ok::<_, Infallible>(lines.recv().await?), lines)));
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(lines)).into_response()
}

fn send_chunk(lines: &UnboundedSender<String>, delta: &Value, finish: &Value) {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let chunk = json!({"object": "chat.completion.chunk", "model": MODEL, "choices": [choice]});
    let _ = lines.send(format!("data: {chunk}\n\n"));
}

impl Loop {
    /// Runs a turn: asks the model and executes its calls, until it has none. `on_text` receives the text.
    async fn turn(&self, turns: Vec<ModelTurn>, on_text: impl Fn(&str)) -> anyhow::Result<String> {
        let mut request = ModelRequest::new(MODEL, turns);
        request.system = Some(INSTRUCTIONS.to_owned());
        let (name, description) = ("weather".to_owned(), "The weather of a city.".to_owned());
        request.tools =
            vec![Arc::new(ModelTool { name, description, parameters: schema().into(), strict: None })];
        loop {
            let mut response = self.model.ask(&request, limits()).await?;
            let mut gathered = ResponseBuilder::of(&request);
            while let Some(delta) = response.deltas.next().await {
                let delta = delta?;
                if let Delta::Text(text) = &delta {
                    on_text(text);
                }
                gathered.add(&delta);
            }
            let response = gathered.finish();
            if response.calls.is_empty() {
                return Ok(response.text);
            }
            let mut results = Vec::new();
            for call in &response.calls {
                results.push(self.call(call).await?);
            }
            request.turns.push(response.into_turn());
            request.turns.push(ModelTurn::ToolResults { results });
        }
    }

    async fn call(&self, call: &Call) -> anyhow::Result<ToolResult> {
        let arguments: Value = serde_json::from_str(&call.arguments)?;
        let path = format!("/weather?city={}", arguments["city"].as_str().context("a city")?);
        let request = Request::to(Method::GET, self.weather.clone(), path)?;
        let response = self.model.egress.send(RequestPolicy::Operator, request, limits()).await?;
        ensure!(response.status.is_success(), "{}", response.status);
        let content = String::from_utf8(response.body.to_vec())?;
        Ok(ToolResult { call_id: call.id.clone(), name: call.name.clone(), content, is_error: false })
    }
}

fn limits() -> Limits {
    Limits { deadline: Some(Instant::now() + TIMEOUT), bytes: MAX_BYTES }
}
