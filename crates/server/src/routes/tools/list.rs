//! `GET /api/tools`: by name, a page at a time, from memory.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use haft_core::{CallError, Caller, Locale, Message, ToolName, ToolVersion, Violation};
use serde::{Deserialize, Serialize};

use super::categories::category_of;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Known;
use crate::envelope;
use crate::error::Failure;
use crate::query::{ListOf, Parameters};

haft_core::templates! {
    BAD_CURSOR = "tools.badCursor",
        "is not a cursor of this list",
        "不是此列表给出的游标";
}

pub(crate) fn routes() -> Vec<Route> {
    let list = Route::get("/tools", list).needs(Needs::Read).says("List tools by name");
    vec![
        list.parameter("type", "string", "Only tools of this kind")
            .parameter("category", "string", "Only tools of this category")
            .parameter("q", "string", "Part of the name or the description")
            .parameter("active", "boolean", "true: only active ones; false: only inactive ones")
            .parameter("owner", "string", "`system`: tools that come with Haft; `me`: your own")
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
    limit: Option<u32>,
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
    let page = ListOf { limit: filter.limit, cursor: filter.cursor.clone() }.checked()?;
    let last = page.cursor.as_deref().map(name_in).transpose()?;
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let mut tools = state.tools_of(&caller).await?.list();
    tools.iter_mut().for_each(|tool| localize(tool, caller.locale));
    tools.retain(|tool| filter.takes(tool, &caller));
    let is_before = |tool: &Arc<ToolVersion>| last.as_ref().is_some_and(|last| tool.spec.name <= *last);
    let start = tools.partition_point(is_before);
    let items = tools.get(start..tools.len().min(start + limit)).unwrap_or_default();
    let more = start + items.len() < tools.len();
    let next_cursor =
        items.last().filter(|_| more).map(|tool| URL_SAFE_NO_PAD.encode(tool.spec.name.as_str()));
    Ok(envelope::success(StatusCode::OK, Page { items, next_cursor, total: tools.len() }))
}

/// Translates the description into the language of the caller. Models get the description as it is defined.
pub(super) fn localize(tool: &mut Arc<ToolVersion>, locale: Locale) {
    let description = tool.spec.description_in(locale);
    if description != tool.spec.description {
        let description = description.to_owned();
        Arc::make_mut(tool).spec.description = description;
    }
}

/// The name after which a page begins.
fn name_in(cursor: &str) -> Result<ToolName, CallError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let name = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).and_then(|name| name.parse().ok());
    name.ok_or_else(bad_cursor)
}

pub(super) fn bad_cursor() -> CallError {
    CallError::invalid(vec![Violation::new("cursor", Message::new(&BAD_CURSOR))])
}

impl Filter {
    fn takes(&self, tool: &ToolVersion, caller: &Caller) -> bool {
        let spec = &tool.spec;
        let holds = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
        self.kind.as_ref().is_none_or(|kind| spec.kind.as_str().eq_ignore_ascii_case(kind))
            && self.category.as_deref().is_none_or(|category| category == category_of(spec))
            && self.q.as_ref().is_none_or(|q| holds(spec.name.as_str(), q) || holds(&spec.description, q))
            && self.active.is_none_or(|active| spec.is_active == active)
            && self.owner.as_ref().is_none_or(|owner| match owner {
                Owner::System => tool.owner_id.is_none(),
                Owner::Me => tool.owner_id.is_some() && tool.owner_id == caller.user,
            })
    }
}
