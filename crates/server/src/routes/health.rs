//! Whether the process is there at all.

use axum::Json;
use serde_json::{Value, json};

/// `GET /healthz`
pub(crate) async fn healthz() -> Json<Value> {
    Json(json!({"status": "ok"}))
}
