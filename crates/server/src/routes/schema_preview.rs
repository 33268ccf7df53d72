//! The schema a definition would have, and what to warn of: `POST /api/tools/schema-preview`, for forms that are
//! still being filled in.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::tool::input::camel_case;
use haft_core::{Message, ToolName};
use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use super::tools::{Definition, prepare};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::{Known, Who};
use crate::body::JsonBody;
use crate::envelope;
use crate::error::Failure;

/// Places in a config with an address that calls of the tool use.
const ADDRESSES: [&[&str]; 4] = [&["url"], &["baseUrl"], &["poll", "url"], &["auth", "tokenUrl"]];

/// Fields of a config that say nothing about arguments. In a preview they may be incomplete.
const WITHOUT_ARGUMENTS: [&str; 2] = ["auth", "poll"];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Preview<'a> {
    input_schema: &'a Value,
    /// What would go wrong although the definition may be saved, in the language of the request.
    warnings: Vec<String>,
}

pub(crate) fn routes() -> Vec<Route> {
    let preview = Route::post("/tools/schema-preview", schema_preview).needs(Needs::Read);
    vec![
        preview
            .says("Preview the schema of a definition, with warnings; name and description may be missing")
            .takes("ToolPatch")
            .answers(200, "SchemaPreview"),
    ]
}

/// Addresses of a config that calls would be refused for, each host once.
pub(crate) fn address_warnings(state: &AppState, config: &Map<String, Value>) -> Vec<Message> {
    let urls = ADDRESSES.iter().filter_map(|place| Url::parse(text_at(config, place)?).ok());
    let mut warnings = Vec::new();
    for warning in urls.filter_map(|url| state.egress.preflight_refusal(&url)) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// The text of a field, in any of its spellings. Returns `None` if there is none.
fn text_at<'a>(fields: &'a Map<String, Value>, place: &[&str]) -> Option<&'a str> {
    let (name, within) = place.split_first()?;
    let (_, value) = fields.iter().find(|(written, _)| camel_case(written) == *name)?;
    if within.is_empty() { value.as_str() } else { text_at(value.as_object()?, within) }
}

/// A definition that may lack its name and description, and whose `auth` and `poll` may be incomplete.
async fn schema_preview(
    State(state): State<AppState>,
    Who(visitor): Who,
    Known(caller): Known,
    JsonBody(definition): JsonBody,
) -> Result<Response, Failure> {
    let mut definition = definition;
    let mut incomplete = Map::new();
    if let Value::Object(fields) = &mut definition {
        if let Some(Value::Object(config)) = fields.get_mut("config") {
            incomplete.extend(WITHOUT_ARGUMENTS.iter().filter_map(|name| config.shift_remove_entry(*name)));
        }
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
    incomplete.extend(prepared.spec().config.clone());
    let warnings = address_warnings(&state, &incomplete);
    let warnings = warnings.iter().map(|warning| warning.render(caller.locale)).collect();
    Ok(envelope::success(StatusCode::OK, Preview { input_schema: prepared.input_schema(), warnings }))
}
