//! The schema a definition would have: `POST /api/tools/schema-preview`, for forms that are still being filled in.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::ToolName;
use serde::Serialize;
use serde_json::Value;

use super::tools::prepare;
use crate::app::AppState;
use crate::auth::Known;
use crate::body::JsonBody;
use crate::envelope;
use crate::error::ApiError;
use crate::request::Asked;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Preview<'a> {
    input_schema: &'a Value,
}

/// A definition that may still lack its name and description, and is kept nowhere.
pub(crate) async fn schema_preview(
    State(state): State<AppState>,
    Known(_): Known,
    asked: Asked,
    JsonBody(definition): JsonBody,
) -> Result<Response, ApiError> {
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
    let (_, prepared) =
        prepare(&state.tools, definition).await.map_err(|error| ApiError::new(error, &asked))?;
    Ok(envelope::success(StatusCode::OK, Preview { input_schema: prepared.input_schema() }))
}
