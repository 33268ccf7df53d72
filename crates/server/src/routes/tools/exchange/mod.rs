//! Definitions as files: `GET /api/tools/export`, and `POST /api/tools/import`, which takes the same back.
//!
//! Ids, dates and values of secrets mean nothing on another server and are never part of it. Things are matched by
//! name; applying an unchanged export changes nothing.

mod agents;
mod alerts;
mod pins;
mod portable;
mod providers;
mod tools;

use std::collections::{HashMap, HashSet};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::alert::Alert;
use haft_core::{CallError, ErrorKind, Message, SpaceId, Template, ToolId, Violation};
use haft_http::import::CancelFlag;
use haft_store::{Apply, Force, Page};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use self::portable::Names;
use super::save::secret_names;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::difference::{Difference, differences};
use crate::envelope;
use crate::error::Failure;
use crate::query::Parameters;
use crate::request::Asked;
use crate::routes::agents::ComingTools;
use crate::routes::import::ImportBody;
use crate::routes::saving::{Saving, refuse};
use crate::visitors::Visitor;

haft_core::templates! {
    TWICE = "exchange.twice",
        "{name} is given twice",
        "{name} 重复给出";
    NOTHING_TO_PRUNE = "exchange.nothingToPrune",
        "must be given with prune: everything that it does not list is removed",
        "使用 prune 时必须提供：不在其中的都会被移除";
}

const UPDATED: &str = "updated";

/// Items read at a time.
const PAGE: u32 = 1000;

/// Violations after which the rest of a request is not read.
const MOST_VIOLATIONS: usize = 100;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tools/export", export)
            .needs(Needs::Read)
            .says("Export the tools, agents, providers and alerts of the space as definitions, and the names of its secrets")
            .answers(200, "Export"),
        Route::post("/tools/import", import)
            .needs(Needs::Edit)
            .says("Apply definitions of tools, agents, providers and alerts, matched by name; all or none are stored")
            .dry_run()
            .takes("ImportDefinitions")
            .answers(200, "ImportDefinitionsReport"),
    ]
}

pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    let all = [TEMPLATES, alerts::TEMPLATES, pins::TEMPLATES, providers::TEMPLATES, tools::TEMPLATES];
    all.into_iter().flatten().copied()
}

/// Lists that are absent leave the things of that noun as they are.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Definitions {
    tools: Option<Vec<Value>>,
    agents: Option<Vec<Value>>,
    providers: Option<Vec<Value>>,
    alerts: Option<Vec<Value>>,
    /// Names of secrets that should be there.
    #[serde(default)]
    secrets: Vec<String>,
    /// What an export left out. It changes nothing.
    #[serde(default, rename = "notes")]
    _notes: IgnoredAny,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    prune: bool,
    /// Removes tools also where agents that stay use them.
    #[serde(default)]
    force: bool,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Report {
    tools: Vec<Changed>,
    agents: Vec<Changed>,
    providers: Vec<Changed>,
    alerts: Vec<Changed>,
    missing_secrets: Vec<String>,
    /// Titles of alerts that have no webhook here, since the definition shows a masked one.
    missing_webhooks: Vec<String>,
}

#[derive(Serialize)]
struct Changed {
    name: String,
    change: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Difference>,
}

impl Changed {
    /// Compares two definitions as an export writes them.
    fn new(name: &str, before: Option<&Value>, after: &Value) -> Self {
        let changes = before.map(|before| differences(before, after));
        let change = match &changes {
            None => "created",
            Some(changes) if changes.is_empty() => "unchanged",
            Some(_) => UPDATED,
        };
        Self { name: name.to_owned(), change, changes: changes.unwrap_or_default() }
    }

    fn removed(name: &str) -> Self {
        Self { name: name.to_owned(), change: "removed", changes: Vec::new() }
    }

    fn is_change(&self) -> bool {
        self.change != "unchanged"
    }
}

/// What a request would change, as far as it was read.
struct Plan<'a> {
    state: &'a AppState,
    visitor: &'a Visitor,
    cancel: &'a CancelFlag,
    names: Names,
    prune: bool,
    /// Tools of the request, each with the id and version that it has or gets.
    coming: ComingTools,
    /// Digests of versions that were computed for pins.
    digests: HashMap<(ToolId, u64), String>,
    apply: Apply,
    report: Report,
    violations: Vec<Violation>,
}

impl Plan<'_> {
    fn space(&self) -> SpaceId {
        self.visitor.space
    }

    /// Whether further definitions are not read: there are violations enough, or the client disconnected.
    fn is_over(&self) -> bool {
        self.violations.len() >= MOST_VIOLATIONS || self.cancel.is_cancelled()
    }

    /// Takes the violations of a definition; any other error ends the request.
    fn refuse_one(&mut self, path: &str, error: CallError) -> Result<(), CallError> {
        if error.violations().is_empty() {
            return Err(error);
        }
        self.violations.extend(error.violations().iter().cloned().map(|found| found.within(path)));
        Ok(())
    }

    /// Whether a name was given by an earlier definition of the same list, which is a violation.
    fn is_twice(&mut self, path: &str, name: &str, is_known: bool) -> bool {
        if is_known {
            let message = Message::new(&TWICE).with("name", name);
            self.violations.push(Violation::new(format!("{path}.name"), message));
        }
        is_known
    }
}

async fn export(State(state): State<AppState>, Who(visitor): Who, asked: Asked) -> Result<Response, Failure> {
    let space = visitor.space;
    let names = Names::of(&state, space).await?;
    let mut notes = tools::left_out(&state, &names.unusable).await?;
    let tools: Vec<Value> =
        tools::own(&state, space).await?.iter().map(|tool| names.tool(&tool.spec)).collect();
    let mut agents = Vec::new();
    for agent in agents::all(&state, space).await? {
        agents.push(pins::exported(&state, &names, &agent, &mut notes).await?);
    }
    let providers: Vec<Value> =
        providers::all(&state, space).await?.iter().map(|provider| json!(provider.spec)).collect();
    let alerts = alerts::exported(&all_alerts(&state, space).await?, &names, &mut notes);
    let mut secrets: Vec<String> = secret_names(&state, space).await?.into_iter().collect();
    secrets.sort();
    let notes: Vec<String> = notes.iter().map(|note| note.render(asked.locale)).collect();
    let exported = json!({
        "tools": tools, "agents": agents, "providers": providers, "alerts": alerts, "secrets": secrets,
        "notes": notes,
    });
    Ok(envelope::success(StatusCode::OK, exported))
}

async fn import(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(saving): Parameters<Saving>,
    body: ImportBody,
) -> Result<Response, Failure> {
    // The slot is held until the answer is made.
    let (definitions, slot) = body.read::<Definitions>().await?;
    if definitions.prune && definitions.tools.is_none() {
        return Err(CallError::invalid(vec![Violation::new("tools", Message::new(&NOTHING_TO_PRUNE))]).into());
    }
    let dry_run = definitions.dry_run || saving.dry_run;
    let (runtime, app, caller) = (Handle::current(), state.clone(), visitor.clone());
    // Many definitions take much CPU time to compare, which the async threads do not have.
    let planned = slot.run(move |cancel| runtime.block_on(plan(&app, &caller, definitions, cancel)));
    let (apply, report) = planned.await?;
    if !(dry_run || apply.is_empty()) {
        let space = visitor.space;
        state.store_for(&visitor).apply(space, apply, Some(visitor.user.id)).await?;
        state.secrets.forget(space);
        state.models.forget(space);
        state.tools.renew(space).await?;
    }
    Ok(envelope::success(StatusCode::OK, report))
}

/// Compares definitions with those of the space. Nothing is stored.
async fn plan(
    state: &AppState,
    visitor: &Visitor,
    definitions: Definitions,
    cancel: &CancelFlag,
) -> Result<(Apply, Report), CallError> {
    let Definitions { tools, agents, providers, alerts, secrets, prune, force, .. } = definitions;
    let mut plan = Plan {
        state,
        visitor,
        cancel,
        names: Names::of(state, visitor.space).await?,
        prune,
        coming: ComingTools::default(),
        digests: HashMap::new(),
        apply: Apply { force: if force { Force::Yes } else { Force::No }, ..Apply::default() },
        report: Report::default(),
        violations: Vec::new(),
    };
    plan.tools(tools.unwrap_or_default()).await?;
    if let Some(agents) = agents {
        plan.agents(agents).await?;
    }
    if let Some(providers) = providers {
        plan.providers(providers).await?;
    }
    if let Some(alerts) = alerts {
        plan.alerts(alerts).await?;
    }
    refuse(std::mem::take(&mut plan.violations))?;
    plan.check_bound().await?;
    plan.check_rights()?;
    if cancel.is_cancelled() {
        return Err(CallError::text(ErrorKind::Cancelled, "the import was cancelled"));
    }
    let Plan { apply, mut report, .. } = plan;
    let mut known: HashSet<String> = secret_names(state, visitor.space).await?;
    known.extend(apply.secrets.iter().map(|(coming, _)| coming.clone()));
    report.missing_secrets = secrets.into_iter().filter(|name| !known.contains(name)).collect();
    Ok((apply, report))
}

async fn all_alerts(state: &AppState, space: SpaceId) -> Result<Vec<Alert>, CallError> {
    let (alerts, _) = state.store.list_alerts(space, &Page::first(PAGE)).await?;
    Ok(alerts)
}
