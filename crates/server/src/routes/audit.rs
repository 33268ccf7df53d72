//! Whether what is on record is as it was written: `GET /api/audit/verify`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_store::Verification;
use serde::Serialize;

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::envelope;
use crate::error::Failure;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/audit/verify", verify)
            .needs(Needs::Operator)
            .says("Verify the hash chains of all changes and all calls, and report the first break")
            .answers(200, "Audit"),
    ]
}

/// What was found out about everything on record, of all spaces.
#[derive(Serialize)]
struct Audit {
    changes: Verification,
    calls: Verification,
}

async fn verify(State(state): State<AppState>) -> Result<Response, Failure> {
    let audit = Audit { changes: state.store.verify_history().await?, calls: state.log.verify().await? };
    Ok(envelope::success(StatusCode::OK, audit))
}
