//! What Prometheus reads: `GET /metrics`. It names the tools of all spaces, so only operators may.

use std::error::Error;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use haft_core::{CallError, ErrorKind};

use crate::app::AppState;
use crate::error::Failure;

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// `GET /metrics`
pub(crate) async fn metrics(State(state): State<AppState>) -> Result<Response, Failure> {
    let page = tokio::task::spawn_blocking(move || state.metrics.page(&state.tools)).await;
    let page = page.map_err(not_written)?.map_err(not_written)?;
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], page).into_response())
}

fn not_written(error: impl Error + Send + Sync + 'static) -> Failure {
    CallError::text(ErrorKind::Internal, "the metrics could not be written").caused_by(error).into()
}
