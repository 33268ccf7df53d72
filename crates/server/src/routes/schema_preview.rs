//! The schema a definition would have: `POST /api/tools/schema-preview`, for forms that are still being filled in.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::ToolName;
use serde::Serialize;
use serde_json::Value;

use super::tools::{Definition, prepare};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::JsonBody;
use crate::envelope;
use crate::error::Failure;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Preview<'a> {
    input_schema: &'a Value,
}

pub(crate) fn routes() -> Vec<Route> {
    let preview = Route::post("/tools/schema-preview", schema_preview).needs(Needs::Read);
    vec![
        preview
            .says("The schema that a definition would have; it may still lack name and description")
            .takes("ToolPatch")
            .answers(200, "SchemaPreview"),
    ]
}

/// A definition that may still lack its name and description, and is kept nowhere.
async fn schema_preview(
    State(state): State<AppState>,
    Who(visitor): Who,
    JsonBody(definition): JsonBody,
) -> Result<Response, Failure> {
    let mut definition = definition;
    if let Value::Object(fields) = &mut definition {
        // What is still being typed shall not be in the way.
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let named = text("name").parse::<ToolName>().is_ok();
        let described = !text("description").is_empty();
        for (name, is_there) in [("name", named), ("description", described)] {
            if !is_there {
                fields.insert(name.to_owned(), "preview".into());
            }
        }
    }
    let Definition { prepared, .. } = prepare(&state, &visitor, definition).await?;
    Ok(envelope::success(StatusCode::OK, Preview { input_schema: prepared.input_schema() }))
}
