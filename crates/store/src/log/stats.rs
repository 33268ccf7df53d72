//! Statistics of a window: the counts of a space, of its busiest tools and agents, or of one of them, step by
//! step. They come from buckets alone; no row of the log is read.

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
use super::window::{Frame, Window};
use crate::db::{Arg, Db};
use crate::failure;

/// So many tools, and so many agents, are told one by one.
const MOST: u64 = 50;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct StatsQuery {
    pub window: Window,
    pub of: StatsOf,
}

/// Whose calls. They are counted for each tool and for each agent, and not for both together.
#[derive(Debug, Clone, Default)]
pub enum StatsOf {
    #[default]
    Space,
    /// A tool, by its id or by the name it was called by.
    Tool(String),
    Agent(AgentId),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// When the first step begins.
    pub from: Timestamp,
    /// The moment of the answer, within the last step.
    pub to: Timestamp,
    /// How long a step is, in seconds.
    pub step: i64,
    pub totals: Totals,
    /// Every step of the window.
    pub series: Vec<StatsStep>,
    /// The busiest first. Of one tool: once for each name it had. Of an agent: none.
    pub tools: Vec<ToolStats>,
    /// So many more were called.
    pub more_tools: u64,
    /// The busiest first. Of a tool: none.
    pub agents: Vec<AgentStats>,
    /// So many more made calls.
    pub more_agents: u64,
}

/// The calls that began within one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StatsStep {
    /// When the step begins.
    pub at: Timestamp,
    pub totals: Totals,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolStats {
    /// What the tool was called at the time. None: calls of names that no tool had.
    pub name: Option<String>,
    /// The tool that had the name last.
    pub id: Option<String>,
    pub totals: Totals,
    /// The steps in which it was called.
    pub series: Vec<StatsStep>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AgentStats {
    pub id: AgentId,
    pub totals: Totals,
}

/// By when they begin.
type Buckets = BTreeMap<i64, Bucket>;

impl CallLog {
    /// The statistics of a space, in a window that ends now.
    pub async fn stats(&self, space: SpaceId, query: &StatsQuery) -> Result<Stats, CallError> {
        let frame = Frame::of(query.window, Timestamp::now().as_microsecond());
        let mut stats = Stats::nothing(frame)?;
        match &query.of {
            StatsOf::Space => {
                // The steps of tools are shown, so their buckets are read one by one. Of agents the sum is
                // enough, which fewer and larger buckets hold as well.
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
                let names = self.names_of_one(space, tool, frame).await?;
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

    /// What is counted of the current minute and so many whole ones before it: for a tool, by its id or the
    /// name it was called by, or for the space. Minutes are kept for six hours.
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
        for buckets in self.names_of_one(space, tool, frame).await?.values() {
            totals.merge(&sum(buckets));
        }
        Ok(totals)
    }

    /// The buckets of a tool, under each name it had. Buckets of a name that is another tool's by now are not
    /// among those of an id.
    async fn names_of_one(
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

    /// The buckets of one name in a series, and of one tool where its id is given.
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
            by_name(self.db()),
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

    /// The buckets of the names with the most calls, and how many more names there are. Who is busiest is
    /// found by large buckets, and small ones only before the first of these begins: with a thousand tools in
    /// a week that is thirty thousand counts instead of a hundred and seventy thousand. Those of the busiest
    /// are then read: small ones before `until`, large ones from there on.
    async fn busiest(
        &self,
        space: SpaceId,
        series: Series,
        frame: Frame,
        until: i64,
    ) -> Result<(BTreeMap<String, Buckets>, u64), CallError> {
        let (counted, by_name) = (Bucket::selected(), by_name(self.db()));
        let sql = format!(
            "WITH busiest AS (
                 SELECT t.name, SUM(t.calls) AS total, COUNT(*) OVER () AS names
                 FROM (SELECT name, calls FROM tool_call_stats
                       WHERE space_id = $1 AND span = $2 AND series = $3 AND start >= $4 AND start < $5
                       UNION ALL
                       SELECT name, calls FROM tool_call_stats
                       WHERE space_id = $1 AND span = $6 AND series = $3 AND start >= $5 AND start <= $8) t
                 GROUP BY t.name ORDER BY total DESC, t.name LIMIT {MOST})
             SELECT b.names, s.name, s.start, {counted}
             FROM busiest b CROSS JOIN tool_call_stats AS s{by_name}
             WHERE s.space_id = $1 AND s.span = $2 AND s.series = $3 AND s.name = b.name
               AND s.start >= $4 AND s.start < $7
             UNION ALL
             SELECT b.names, s.name, s.start, {counted}
             FROM busiest b CROSS JOIN tool_call_stats AS s{by_name}
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
    /// Every step, without a call.
    fn nothing(frame: Frame) -> Result<Self, CallError> {
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

    /// Adds buckets to the whole, and each to its step.
    fn add(&mut self, buckets: &Buckets) {
        for (start, bucket) in buckets {
            self.totals.merge(&bucket.totals);
            let place = self.series.binary_search_by_key(start, |step| step.at.as_microsecond());
            if let Some(step) = place.ok().and_then(|place| self.series.get_mut(place)) {
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

/// SQLite takes the index by name for the dearer way unless it is told to use it.
fn by_name(db: &Db) -> &'static str {
    match db {
        Db::Sqlite(_) => " INDEXED BY tool_call_stats_name",
        Db::Postgres(_) => "",
    }
}
