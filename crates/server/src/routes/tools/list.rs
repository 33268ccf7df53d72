//! `GET /api/tools`: by name, a page at a time, from memory.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::{Caller, Message, ToolVersion};
use serde::{Deserialize, Serialize};

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Known;
use crate::envelope;
use crate::error::Failure;
use crate::query::Parameters;

haft_core::templates! {
    BAD_LIMIT = "tools.badLimit",
        "limit must be between 1 and {most}",
        "limit 必须在 1 到 {most} 之间";
}

const PAGE: usize = 50;
const LARGEST_PAGE: usize = 200;

pub(crate) fn routes() -> Vec<Route> {
    let list = Route::get("/tools", list).needs(Needs::Read).says("Tools by name, a page at a time");
    vec![
        list.parameter("type", "string", "Only tools of this kind")
            .parameter("category", "string", "Only tools of this category")
            .parameter("q", "string", "A part of the name or the description")
            .parameter("active", "boolean", "Only those that are on, or off")
            .parameter("owner", "string", "`system` for those that come with Haft, `me` for one's own")
            .pages()
            .answers(200, "ToolPage"),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    #[serde(rename = "type")]
    kind: Option<String>,
    category: Option<String>,
    q: Option<String>,
    active: Option<bool>,
    owner: Option<Owner>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Owner {
    System,
    Me,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    items: &'a [Arc<ToolVersion>],
    next_cursor: Option<String>,
    total: usize,
}

async fn list(
    State(state): State<AppState>,
    Known(caller): Known,
    Parameters(filter): Parameters<Filter>,
) -> Result<Response, Failure> {
    let limit = filter.limit.unwrap_or(PAGE);
    if !(1..=LARGEST_PAGE).contains(&limit) {
        let message = Message::new(&BAD_LIMIT).with("most", LARGEST_PAGE);
        return Err(Failure::with_status(StatusCode::BAD_REQUEST, message));
    }
    let mut tools = state.tools_of(&caller).await?.list();
    tools.retain(|tool| filter.takes(tool, &caller));
    let after = |tool: &Arc<ToolVersion>| {
        filter.cursor.as_deref().is_some_and(|cursor| tool.spec.name.as_str() <= cursor)
    };
    let start = tools.partition_point(after);
    let items = tools.get(start..tools.len().min(start + limit)).unwrap_or_default();
    let more = start + items.len() < tools.len();
    let next_cursor = items.last().filter(|_| more).map(|tool| tool.spec.name.to_string());
    Ok(envelope::success(StatusCode::OK, Page { items, next_cursor, total: tools.len() }))
}

impl Filter {
    fn takes(&self, tool: &ToolVersion, caller: &Caller) -> bool {
        let spec = &tool.spec;
        let holds = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
        self.kind.as_ref().is_none_or(|kind| spec.kind.as_str().eq_ignore_ascii_case(kind))
            && self.category.as_deref().is_none_or(|category| spec.category.as_deref() == Some(category))
            && self.q.as_ref().is_none_or(|q| holds(spec.name.as_str(), q) || holds(&spec.description, q))
            && self.active.is_none_or(|active| spec.is_active == active)
            && self.owner.as_ref().is_none_or(|owner| match owner {
                Owner::System => tool.owner_id.is_none(),
                Owner::Me => tool.owner_id.is_some() && tool.owner_id == caller.user,
            })
    }
}
