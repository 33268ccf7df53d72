//! Liveness (`GET /healthz`) and readiness (`GET /readyz`).

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use haft_core::{CallError, Locale};
use serde_json::{Value, json};

use crate::app::AppState;

/// A call log that could not be written for this long makes the server unready.
const UNWRITABLE_AFTER: Duration = Duration::from_secs(3);

/// `GET /healthz`
pub(crate) async fn healthz() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// `GET /readyz`
pub(crate) async fn readyz(State(state): State<AppState>) -> (StatusCode, Json<Value>) {
    let unready = |body: Value| (StatusCode::SERVICE_UNAVAILABLE, Json(body));
    let unusable = |status: &str, error: &CallError| {
        let reason = error.message().render(Locale::En);
        unready(json!({"status": status, "reason": reason}))
    };
    if let Err(error) = state.store.check().await {
        return unusable("the database cannot be used", &error);
    }
    if let Err(error) = state.log.check().await {
        return unusable("the call log cannot be used", &error);
    }
    let failing_for = state.tools.record_queue().and_then(|queue| queue.failing_for);
    if failing_for.is_some_and(|time| time >= UNWRITABLE_AFTER) {
        return unready(json!({"status": "the call log cannot be written"}));
    }
    let tasks = state.store.supervisor().tasks();
    let stopped: Vec<&str> = tasks.iter().filter(|task| !task.is_running).map(|task| task.name).collect();
    if !stopped.is_empty() {
        return unready(json!({"status": "background tasks are not running", "tasks": stopped}));
    }
    (StatusCode::OK, Json(json!({"status": "ok"})))
}
