//! Statistics of a time window for a space, a tool or an agent, in steps. They are computed from buckets; log
//! rows are not read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use haft_core::{AgentId, CallError, SpaceId};
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::CallLog;
use super::bucket::{Bucket, Series};
use super::call::uuid;
use super::span::Span;
use super::totals::Totals;
use super::window::{Frame, StatsWindow};
use crate::db::{Arg, Db};
use crate::failure;

/// Maximum number of tools, and of agents, that are listed individually.
const MAX_LISTED: u64 = 50;

/// The scope and the window of the requested statistics.
#[derive(Debug, Clone, Default)]
pub struct StatsQuery {
    pub window: StatsWindow,
    pub of: StatsOf,
}

/// The calls to include. Calls are counted per tool and per agent, not per combination.
#[derive(Debug, Clone, Default)]
pub enum StatsOf {
    #[default]
    Space,
    /// A tool, by its id or by a name by which it was called.
    Tool(String),
    Agent(AgentId),
}

/// The statistics of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// Start of the first step.
    pub from: Timestamp,
    /// Time of the request; it lies within the last step.
    pub to: Timestamp,
    /// Length of a step in seconds.
    pub step: i64,
    pub totals: Totals,
    /// All steps of the window.
    pub series: Vec<StatsStep>,
    /// Busiest first. For a tool: one entry per name that it had. For an agent: empty.
    pub tools: Vec<ToolStats>,
    /// Number of further tools that were called.
    pub more_tools: u64,
    /// Busiest first. For a tool: empty.
    pub agents: Vec<AgentStats>,
    /// Number of further agents that made calls.
    pub more_agents: u64,
}

/// Calls that began within one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StatsStep {
    /// Start of the step.
    pub at: Timestamp,
    pub totals: Totals,
}

/// The calls of one tool name.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStats {
    /// The name of the tool at that time. `None` for calls of unknown tools.
    pub name: Option<String>,
    /// The tool that last had this name.
    pub id: Option<String>,
    pub totals: Totals,
    /// Steps in which the tool was called.
    pub series: Vec<StatsStep>,
}

/// The calls made by one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentStats {
    pub id: AgentId,
    pub totals: Totals,
}

/// Buckets by their start.
type Buckets = BTreeMap<i64, Bucket>;

impl CallLog {
    /// Returns the statistics of a space for a window that ends now.
    pub async fn stats(&self, space: SpaceId, query: &StatsQuery) -> Result<Stats, CallError> {
        let frame = Frame::of(query.window, Timestamp::now().as_microsecond());
        let mut stats = Stats::empty(frame)?;
        match &query.of {
            StatsOf::Space => {
                // The response includes the steps of each tool, so small buckets are needed. For agents only
                // sums are returned, for which fewer and larger buckets suffice.
                let (own, (tools, more_tools), (agents, more_agents)) = tokio::try_join!(
                    self.buckets(space, (Series::Space, "", None), frame),
                    self.busiest(space, Series::Tool, frame, frame.now + 1),
                    self.busiest(space, Series::Agent, frame, frame.edge()),
                )?;
                stats.add(&own);
                stats.add_tools(tools)?;
                for (id, buckets) in agents {
                    let id = id.parse::<AgentId>().map_err(failure::unreadable)?;
                    stats.agents.push(AgentStats { id, totals: sum(&buckets) });
                }
                stats.agents.sort_by_key(|agent| Reverse(agent.totals.calls));
                (stats.more_tools, stats.more_agents) = (more_tools, more_agents);
            }
            StatsOf::Tool(tool) => {
                let names = self.buckets_by_name(space, tool, frame).await?;
                names.values().for_each(|buckets| stats.add(buckets));
                stats.add_tools(names)?;
            }
            StatsOf::Agent(id) => {
                let buckets = self.buckets(space, (Series::Agent, &id.to_string(), None), frame).await?;
                stats.add(&buckets);
                if !buckets.is_empty() {
                    stats.agents.push(AgentStats { id: *id, totals: stats.totals.clone() });
                }
            }
        }
        Ok(stats)
    }

    /// Returns the totals of the current minute and a number of whole minutes before it, for a tool (by id or
    /// name) or for the space. Minutes are retained for six hours.
    pub async fn recent(
        &self,
        space: SpaceId,
        tool: Option<&str>,
        minutes: u32,
    ) -> Result<Totals, CallError> {
        let frame = Frame::back(Span::Minute, i64::from(minutes), Timestamp::now().as_microsecond());
        let Some(tool) = tool else {
            return Ok(sum(&self.buckets(space, (Series::Space, "", None), frame).await?));
        };
        let mut totals = Totals::default();
        for buckets in self.buckets_by_name(space, tool, frame).await?.values() {
            totals.merge(&sum(buckets));
        }
        Ok(totals)
    }

    /// Returns the buckets of a tool by name. For a tool id, buckets of a name that another tool has taken
    /// over are excluded.
    async fn buckets_by_name(
        &self,
        space: SpaceId,
        tool: &str,
        frame: Frame,
    ) -> Result<BTreeMap<String, Buckets>, CallError> {
        let (names, id) = match Uuid::try_parse(tool) {
            Ok(id) => {
                let id = id.to_string();
                (self.names_of(space, Some(&id)).await?, Some(id))
            }
            Err(_) => (vec![tool.to_owned()], None),
        };
        let mut found = BTreeMap::new();
        for name in names {
            let buckets = self.buckets(space, (Series::Tool, &name, id.as_deref()), frame).await?;
            if !buckets.is_empty() {
                found.insert(name, buckets);
            }
        }
        Ok(found)
    }

    /// Returns the buckets of one name in a series; if a tool id is given, only those of that tool.
    async fn buckets(
        &self,
        space: SpaceId,
        (series, name, tool_id): (Series, &str, Option<&str>),
        frame: Frame,
    ) -> Result<Buckets, CallError> {
        let sql = format!(
            "SELECT s.start, {} FROM tool_call_stats AS s{}
             WHERE s.space_id = $1 AND s.span = $2 AND s.series = $3 AND s.name = $4
               AND s.start >= $5 AND s.start <= $6 AND ($7 IS NULL OR s.tool_id = $7)",
            Bucket::selected(),
            index_hint(self.db()),
        );
        let args = vec![
            uuid(space),
            Arg::Int(Some(frame.span.seconds())),
            Arg::from(series.as_str()),
            Arg::from(name),
            Arg::Int(Some(frame.from)),
            Arg::Int(Some(frame.now)),
            Arg::Text(tool_id.map(str::to_owned)),
        ];
        let rows = self.db().rows(AssertSqlSafe(sql), args).await?;
        rows.iter().map(|row| Ok((row.int(0)?, Bucket::read(row, 1)?))).collect()
    }

    /// Returns the buckets of the names with the most calls, and the number of further names. To rank them,
    /// large buckets are summed, and small ones only before the first large one: for a thousand tools in a
    /// week, 30,000 rows instead of 170,000. Then the buckets of the busiest are read: small ones before
    /// `until`, large ones after it.
    async fn busiest(
        &self,
        space: SpaceId,
        series: Series,
        frame: Frame,
        until: i64,
    ) -> Result<(BTreeMap<String, Buckets>, u64), CallError> {
        let (counted, index_hint) = (Bucket::selected(), index_hint(self.db()));
        let sql = format!(
            "WITH busiest AS (
                 SELECT t.name, SUM(t.calls) AS total, COUNT(*) OVER () AS names
                 FROM (SELECT name, calls FROM tool_call_stats
                       WHERE space_id = $1 AND span = $2 AND series = $3 AND start >= $4 AND start < $5
                       UNION ALL
                       SELECT name, calls FROM tool_call_stats
                       WHERE space_id = $1 AND span = $6 AND series = $3 AND start >= $5 AND start <= $8) t
                 GROUP BY t.name ORDER BY total DESC, t.name LIMIT {MAX_LISTED})
             SELECT b.names, s.name, s.start, {counted}
             FROM busiest b CROSS JOIN tool_call_stats AS s{index_hint}
             WHERE s.space_id = $1 AND s.span = $2 AND s.series = $3 AND s.name = b.name
               AND s.start >= $4 AND s.start < $7
             UNION ALL
             SELECT b.names, s.name, s.start, {counted}
             FROM busiest b CROSS JOIN tool_call_stats AS s{index_hint}
             WHERE s.space_id = $1 AND s.span = $6 AND s.series = $3 AND s.name = b.name
               AND s.start >= $7 AND s.start <= $8"
        );
        let args = vec![
            uuid(space),
            Arg::Int(Some(frame.span.seconds())),
            Arg::from(series.as_str()),
            Arg::Int(Some(frame.from)),
            Arg::Int(Some(frame.edge())),
            Arg::Int(Some(frame.span.coarser().seconds())),
            Arg::Int(Some(until)),
            Arg::Int(Some(frame.now)),
        ];
        let mut found: BTreeMap<String, Buckets> = BTreeMap::new();
        let mut names = 0;
        for row in self.db().rows(AssertSqlSafe(sql), args).await? {
            names = row.number(0)?;
            found.entry(row.text(1)?).or_default().insert(row.int(2)?, Bucket::read(&row, 3)?);
        }
        let more = names.saturating_sub(found.len() as u64);
        Ok((found, more))
    }
}

impl Stats {
    /// Returns statistics with all steps and no calls.
    fn empty(frame: Frame) -> Result<Self, CallError> {
        let series = frame.starts().map(|at| step(at, Totals::default()));
        Ok(Self {
            from: instant(frame.from)?,
            to: instant(frame.now)?,
            step: frame.span.seconds(),
            totals: Totals::default(),
            series: series.collect::<Result<_, CallError>>()?,
            tools: Vec::new(),
            more_tools: 0,
            agents: Vec::new(),
            more_agents: 0,
        })
    }

    /// Adds buckets to the totals and to their steps.
    fn add(&mut self, buckets: &Buckets) {
        for (start, bucket) in buckets {
            self.totals.merge(&bucket.totals);
            let found = self.series.binary_search_by_key(start, |step| step.at.as_microsecond());
            if let Some(step) = found.ok().and_then(|index| self.series.get_mut(index)) {
                step.totals.merge(&bucket.totals);
            }
        }
    }

    fn add_tools(&mut self, names: BTreeMap<String, Buckets>) -> Result<(), CallError> {
        for (name, buckets) in names {
            let totals = sum(&buckets);
            let id = buckets.values().rev().find_map(|bucket| bucket.tool.as_ref().map(ToString::to_string));
            let series = buckets.into_iter().map(|(at, bucket)| step(at, bucket.totals));
            let series = series.collect::<Result<_, CallError>>()?;
            let name = Some(name).filter(|name| !name.is_empty());
            self.tools.push(ToolStats { name, id, totals, series });
        }
        self.tools.sort_by_key(|tool| Reverse(tool.totals.calls));
        Ok(())
    }
}

fn sum(buckets: &Buckets) -> Totals {
    let mut sum = Totals::default();
    buckets.values().for_each(|bucket| sum.merge(&bucket.totals));
    sum
}

fn step(at: i64, totals: Totals) -> Result<StatsStep, CallError> {
    Ok(StatsStep { at: instant(at)?, totals })
}

fn instant(micros: i64) -> Result<Timestamp, CallError> {
    Timestamp::from_microsecond(micros).map_err(failure::unreadable)
}

/// Returns an index hint: SQLite would otherwise choose the more expensive index.
fn index_hint(db: &Db) -> &'static str {
    match db {
        Db::Sqlite(_) => " INDEXED BY tool_call_stats_name",
        Db::Postgres(_) => "",
    }
}
