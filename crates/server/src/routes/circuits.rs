//! Circuit breakers: `GET /api/circuits`, `POST /api/circuits/reset`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::{CallError, ErrorKind, Message};
use haft_engine::Circuit;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Known;
use crate::body::{self, JsonBody};
use crate::envelope;
use crate::error::Failure;
use crate::query::Parameters;

haft_core::templates! {
    NO_CIRCUIT = "circuits.unknown",
        "There is no circuit breaker with the key {key}. GET /api/circuits lists the existing ones.",
        "没有 key 为 {key} 的熔断器；GET /api/circuits 会列出现有的熔断器。";
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/circuits", list)
            .needs(Needs::Read)
            .says("List circuit breakers of this process that calls of the space have used")
            .parameter("tool", "string", "Only breakers that calls of this tool pass, by id or name")
            .answers(200, "CircuitList"),
        Route::post("/circuits/reset", reset)
            .needs(Needs::Edit)
            .says("Close a circuit breaker")
            .takes("ResetCircuit")
            .answers(200, "CircuitReset"),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    tool: Option<String>,
}

/// A circuit, with the message that a refused caller gets.
#[derive(Serialize)]
struct CircuitResponse {
    #[serde(flatten)]
    circuit: Circuit,
    /// Null while it is closed.
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResetRequest {
    key: String,
}

async fn list(
    State(state): State<AppState>,
    Known(caller): Known,
    Parameters(query): Parameters<ListQuery>,
) -> Result<Response, Failure> {
    let tools = state.tools_of(&caller).await?;
    let circuits = match query.tool {
        None => tools.circuits(),
        Some(name) => {
            let tool = tools.get(&name).ok_or_else(|| tools.unknown(&name))?;
            tools.circuits_of(&tool.id)
        }
    };
    let response = |circuit: Circuit| {
        let message = (!circuit.is_closed()).then(|| circuit.message().render(caller.locale));
        CircuitResponse { circuit, message }
    };
    let items: Vec<CircuitResponse> = circuits.into_iter().map(response).collect();
    Ok(envelope::success(StatusCode::OK, json!({"items": items})))
}

async fn reset(
    State(state): State<AppState>,
    Known(caller): Known,
    JsonBody(request): JsonBody,
) -> Result<Response, Failure> {
    let ResetRequest { key } = body::read(request)?;
    if !state.tools.in_space(caller.space).reset_circuit(&key) {
        let message = Message::new(&NO_CIRCUIT).with("key", &key);
        return Err(CallError::new(ErrorKind::NotFound, message).detail("what", "circuit").into());
    }
    Ok(envelope::success(StatusCode::OK, json!({"reset": true})))
}
