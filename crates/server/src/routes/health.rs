//! Whether the process is there at all, and whether it can do its work.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::app::AppState;

/// `GET /healthz`
pub(crate) async fn healthz() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// `GET /readyz`
pub(crate) async fn readyz(State(state): State<AppState>) -> (StatusCode, Json<Value>) {
    match state.store.check().await {
        Ok(()) => (StatusCode::OK, Json(json!({"status": "ok"}))),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "the database is away"}))),
    }
}
