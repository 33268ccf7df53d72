//! The loop that one would write by hand: axum, one route, the model asked until it calls nothing more.
//!
//! It asks with Haft's own client (`haft-llm` on `haft-egress`) under the operator's policy; a second route
//! does the same with hyper's. Nothing is checked, limited, remembered or logged.

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
use haft_egress::{Destination, Egress, Limits, Policy, Request};
use haft_llm::{
    Call, Delta, Dialect, Gathered, Model, ModelRequest, Reach, ToolDefinition, ToolResult, Turn, Wire,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use url::Url;

use super::by_hand::ByHand;
use super::{BY_HAND, COMPLETIONS, INSTRUCTIONS, MODEL, schema};

pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
const MOST_BYTES: usize = 1 << 20;

struct Loop {
    model: Wire,
    weather: Destination,
}

#[derive(Deserialize)]
struct Asked {
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
        tool_calls: Vec<Called>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Deserialize)]
struct Called {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

impl From<Message> for Turn {
    fn from(message: Message) -> Self {
        match message {
            Message::User { content } => Self::user(content),
            Message::Assistant { content, tool_calls } => {
                let call = |Called { id, function: Function { name, arguments } }| Call {
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
    let by_hand = by_hand.with_state(Arc::new(ByHand::new(model, weather)));
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

async fn completions(State(agent): State<Arc<Loop>>, Json(asked): Json<Asked>) -> Response {
    let turns = asked.messages.into_iter().map(Turn::from).collect();
    if asked.stream {
        return streamed(agent, turns);
    }
    whole(agent.turn(turns, |_| {}).await)
}

async fn completions_by_hand(State(agent): State<Arc<ByHand>>, Json(asked): Json<Asked>) -> Response {
    let question = asked.messages.into_iter().find_map(|message| match message {
        Message::User { content } => Some(content),
        Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    whole(agent.turn(&question.unwrap_or_default()).await)
}

fn whole(answer: anyhow::Result<String>) -> Response {
    match answer {
        Ok(text) => {
            let message = json!({"role": "assistant", "content": text});
            let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
            Json(json!({"object": "chat.completion", "model": MODEL, "choices": [choice]})).into_response()
        }
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

fn streamed(agent: Arc<Loop>, turns: Vec<Turn>) -> Response {
    let (sender, lines) = unbounded_channel();
    tokio::spawn(async move {
        let last = match agent.turn(turns, |text| say(&sender, &json!({"content": text}), &Value::Null)).await
        {
            Ok(_) => {
                say(&sender, &json!({}), &json!("stop"));
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

fn say(lines: &UnboundedSender<String>, delta: &Value, finish: &Value) {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let chunk = json!({"object": "chat.completion.chunk", "model": MODEL, "choices": [choice]});
    let _ = lines.send(format!("data: {chunk}\n\n"));
}

impl Loop {
    /// Asks, calls, and asks again until there is an answer; `hear` is told of its text as it comes.
    async fn turn(&self, turns: Vec<Turn>, hear: impl Fn(&str)) -> anyhow::Result<String> {
        let mut request = ModelRequest::new(MODEL, turns);
        request.system = Some(INSTRUCTIONS.to_owned());
        let (name, description) = ("weather".to_owned(), "The weather of a city.".to_owned());
        request.tools =
            vec![Arc::new(ToolDefinition { name, description, parameters: schema().into(), strict: None })];
        loop {
            let mut asked = self.model.ask(&request, limits()).await?;
            let mut gathered = Gathered::of(&request);
            while let Some(delta) = asked.deltas.next().await {
                let delta = delta?;
                if let Delta::Text(text) = &delta {
                    hear(text);
                }
                gathered.add(&delta);
            }
            let answer = gathered.finish();
            if answer.calls.is_empty() {
                return Ok(answer.text);
            }
            let mut results = Vec::new();
            for call in &answer.calls {
                results.push(self.call(call).await?);
            }
            request.turns.push(answer.into_turn());
            request.turns.push(Turn::ToolResults { results });
        }
    }

    async fn call(&self, call: &Call) -> anyhow::Result<ToolResult> {
        let arguments: Value = serde_json::from_str(&call.arguments)?;
        let path = format!("/weather?city={}", arguments["city"].as_str().context("a city")?);
        let request = Request::to(Method::GET, self.weather.clone(), path)?;
        let answer = self.model.egress.send(Policy::Operator, request, limits()).await?;
        ensure!(answer.status.is_success(), "{}", answer.status);
        let content = String::from_utf8(answer.body.to_vec())?;
        Ok(ToolResult { call_id: call.id.clone(), name: call.name.clone(), content, is_error: false })
    }
}

fn limits() -> Limits {
    Limits { deadline: Some(Instant::now() + TIMEOUT), bytes: MOST_BYTES }
}
