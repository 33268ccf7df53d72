//! `GET /api/tools/categories`: the tools of a space by category, for pickers.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::{ToolId, ToolName, ToolSpec};
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Known;
use crate::envelope;
use crate::error::Failure;

/// What a tool without a category is among.
const NONE: &str = "custom";

/// The category that a tool is shown in.
pub(super) fn category_of(spec: &ToolSpec) -> &str {
    spec.category.as_deref().unwrap_or(NONE)
}

pub(super) fn routes() -> Vec<Route> {
    let list = Route::get("/tools/categories", categories).needs(Needs::Read);
    vec![list.says("List categories with their tools").answers(200, "CategoryList")]
}

#[derive(Serialize)]
struct Category {
    category: String,
    count: usize,
    tools: Vec<Short>,
}

#[derive(Serialize)]
struct Short {
    id: ToolId,
    name: ToolName,
    title: Value,
}

async fn categories(State(state): State<AppState>, Known(caller): Known) -> Result<Response, Failure> {
    let mut by_category: BTreeMap<String, Vec<Short>> = BTreeMap::new();
    for tool in state.tools_of(&caller).await?.list() {
        let category = category_of(&tool.spec).to_owned();
        let title = tool.spec.title.as_ref().map_or_else(|| json!(tool.spec.name), |title| json!(title));
        let short = Short { id: tool.id.clone(), name: tool.spec.name.clone(), title };
        by_category.entry(category).or_default().push(short);
    }
    let category = |(category, tools): (String, Vec<Short>)| Category { category, count: tools.len(), tools };
    let items: Vec<Category> = by_category.into_iter().map(category).collect();
    Ok(envelope::success(StatusCode::OK, json!({"items": items})))
}
