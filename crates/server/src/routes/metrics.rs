//! What Prometheus reads: `GET /metrics`. It names the tools of all spaces, so only operators may.

use std::error::Error;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use haft_core::{CallError, ErrorKind};

use tokio::time::timeout;

use crate::app::AppState;
use crate::error::Failure;

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// A database that takes longer to count tasks is away.
const PATIENCE: Duration = Duration::from_secs(2);

/// `GET /metrics`
pub(crate) async fn metrics(State(state): State<AppState>) -> Result<Response, Failure> {
    // Without tasks rather than without anything, where the database does not answer.
    let tasks = match state.tasks.get() {
        Some(tasks) => timeout(PATIENCE, tasks.journal.counts()).await.ok().and_then(Result::ok),
        None => None,
    };
    let page = tokio::task::spawn_blocking(move || {
        state.metrics.page(&state.tools, state.store.supervisor(), tasks)
    })
    .await;
    let page = page.map_err(not_written)?.map_err(not_written)?;
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], page).into_response())
}

fn not_written(error: impl Error + Send + Sync + 'static) -> Failure {
    CallError::text(ErrorKind::Internal, "the metrics could not be written").caused_by(error).into()
}
