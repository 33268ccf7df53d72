//! Statistics: `GET /api/stats`, from what the call log counted. Nothing here looks at a single call.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::{AgentId, CallError, Message, SpaceId, Violation};
use haft_store::{AgentStats, Stats, StatsOf, StatsQuery, StatsStep, StatsWindow, ToolStats, Totals};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::tool_calls::agent_of;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::envelope;
use crate::error::Failure;
use crate::query::Parameters;

haft_core::templates! {
    BAD_WINDOW = "stats.badWindow",
        "must be one of {windows}",
        "必须是以下之一：{windows}";
    BOTH = "stats.both",
        "cannot be given together with tool: calls are counted for each tool and for each agent, not for both at once",
        "不能与 tool 同时使用：调用按工具和按智能体分别统计，不按两者组合统计";
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/stats", read)
            .needs(Needs::Read)
            .says("Get call statistics over time: counts, outcomes and durations")
            .parameter("window", "15m|1h|6h|24h|7d|30d|90d", "Length of the window. Default: 24h")
            .parameter("tool", "string", "Only calls of this tool, by id or name")
            .parameter("agent", "string", "Only calls for this agent, by id or name; not together with tool")
            .answers(200, "Stats"),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    window: Option<String>,
    tool: Option<String>,
    agent: Option<String>,
}

async fn read(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(asked): Parameters<Asked>,
) -> Result<Response, Failure> {
    let query = query(&state, visitor.space, asked).await?;
    let stats = state.log.stats(visitor.space, &query).await?;
    let names = match stats.agents.is_empty() {
        true => HashMap::new(),
        false => state.store.agent_names(visitor.space).await?,
    };
    let circuits = open_circuits(&state, visitor.space);
    Ok(envelope::success(StatusCode::OK, shown(&stats, query.window, &names, circuits)))
}

/// Keys of the circuit breakers of the space that are open or half-open.
fn open_circuits(state: &AppState, space: SpaceId) -> Vec<String> {
    let open = state.tools.open_circuits().into_iter().filter(|(of, _)| *of == space);
    let mut keys: Vec<String> = open.map(|(_, key)| key).collect();
    keys.sort();
    keys
}

async fn query(state: &AppState, space: SpaceId, asked: Asked) -> Result<StatsQuery, CallError> {
    let invalid = |name: &str, message: Message| CallError::invalid(vec![Violation::new(name, message)]);
    let window = match &asked.window {
        None => StatsWindow::default(),
        Some(word) => StatsWindow::named(word).ok_or_else(|| {
            let windows = StatsWindow::ALL.map(StatsWindow::as_str).join(", ");
            invalid("window", Message::new(&BAD_WINDOW).with("windows", windows))
        })?,
    };
    let of = match (asked.tool, asked.agent) {
        (None, None) => StatsOf::Space,
        (Some(tool), None) => StatsOf::Tool(tool),
        (None, Some(name)) => {
            // No call was ever made for an agent that nobody knows, and none has this id.
            let agent = agent_of(state, space, &name).await?;
            StatsOf::Agent(agent.unwrap_or_else(|| AgentId::from(Uuid::nil())))
        }
        (Some(_), Some(_)) => return Err(invalid("agent", Message::new(&BOTH))),
    };
    Ok(StatsQuery { window, of })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    window: &'static str,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    from: Timestamp,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    to: Timestamp,
    /// In seconds.
    step: i64,
    totals: ShownTotals<'a>,
    series: Vec<ShownStep<'a>>,
    tools: Vec<ShownTool<'a>>,
    more_tools: u64,
    agents: Vec<ShownAgent<'a>>,
    more_agents: u64,
    open_circuits: Vec<String>,
}

/// Durations are in milliseconds, and null where there was no call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownTotals<'a> {
    calls: u64,
    errors: u64,
    cancelled: u64,
    cached: u64,
    error_rate: f64,
    errors_by_kind: &'a BTreeMap<String, u64>,
    p50: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    mean: Option<f64>,
    max: Option<f64>,
}

#[derive(Serialize)]
struct ShownStep<'a> {
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    at: Timestamp,
    #[serde(flatten)]
    totals: ShownTotals<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownTool<'a> {
    tool_name: Option<&'a str>,
    tool_id: Option<&'a str>,
    #[serde(flatten)]
    totals: ShownTotals<'a>,
    series: Vec<ShownStep<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownAgent<'a> {
    agent_id: AgentId,
    /// Null when the agent is gone.
    agent_name: Option<&'a str>,
    #[serde(flatten)]
    totals: ShownTotals<'a>,
}

fn shown<'a>(
    stats: &'a Stats,
    window: StatsWindow,
    names: &'a HashMap<AgentId, String>,
    open_circuits: Vec<String>,
) -> Shown<'a> {
    let agent = |AgentStats { id, totals }: &'a AgentStats| ShownAgent {
        agent_id: *id,
        agent_name: names.get(id).map(String::as_str),
        totals: totals.into(),
    };
    Shown {
        window: window.as_str(),
        from: stats.from,
        to: stats.to,
        step: stats.step,
        totals: (&stats.totals).into(),
        series: stats.series.iter().map(ShownStep::from).collect(),
        tools: stats.tools.iter().map(ShownTool::from).collect(),
        more_tools: stats.more_tools,
        agents: stats.agents.iter().map(agent).collect(),
        more_agents: stats.more_agents,
        open_circuits,
    }
}

impl<'a> From<&'a Totals> for ShownTotals<'a> {
    fn from(totals: &'a Totals) -> Self {
        let milliseconds = |duration: Duration| duration.as_micros() as f64 / 1000.0;
        let percentile = |share| totals.percentile(share).map(milliseconds);
        Self {
            calls: totals.calls,
            errors: totals.errors,
            cancelled: totals.cancelled,
            cached: totals.cached,
            error_rate: totals.error_rate(),
            errors_by_kind: &totals.by_kind,
            p50: percentile(0.5),
            p95: percentile(0.95),
            p99: percentile(0.99),
            mean: totals.mean().map(milliseconds),
            max: totals.max().map(milliseconds),
        }
    }
}

impl<'a> From<&'a StatsStep> for ShownStep<'a> {
    fn from(step: &'a StatsStep) -> Self {
        Self { at: step.at, totals: (&step.totals).into() }
    }
}

impl<'a> From<&'a ToolStats> for ShownTool<'a> {
    fn from(tool: &'a ToolStats) -> Self {
        Self {
            tool_name: tool.name.as_deref(),
            tool_id: tool.id.as_deref(),
            totals: (&tool.totals).into(),
            series: tool.series.iter().map(ShownStep::from).collect(),
        }
    }
}
