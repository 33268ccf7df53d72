//! The duration of pages of the log with every filter, and of single calls.

use std::time::{Duration, Instant};

use anyhow::ensure;
use fastrand::Rng;
use haft_core::{AgentId, ErrorKind, Source, SpaceId, UserId};
use haft_store::{CallFilter, CallLog, CallStatus, Page};

use super::calls::{Calls, SampleCall};
use super::times::Times;
use crate::table::{median, print};

/// The number of repetitions of each query, which alternate between the spaces.
const REPEATS: usize = 30;

/// The number of calls per page, which is the default of the API.
const PAGE: u32 = 50;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// The source of random parameters of a filter.
struct FilterInput<'a> {
    calls: &'a Calls,
    space: SpaceId,
    rng: &'a mut Rng,
}

type Filter = fn(&mut FilterInput<'_>) -> CallFilter;

const FILTERS: &[(&str, Filter)] = &[
    ("all", |_| any()),
    ("a tool, by name", |it| CallFilter { tool: Some(it.tool()), ..any() }),
    ("a tool, by id", |it| CallFilter { tool: Some(it.tool_id()), ..any() }),
    ("a tool without calls", |_| CallFilter { tool: Some("nothing".to_owned()), ..any() }),
    ("an agent", |it| CallFilter { agent: Some(it.agent()), ..any() }),
    ("a user", |it| CallFilter { user: Some(it.user()), ..any() }),
    ("a user of few calls", |it| CallFilter { user: it.calls.users.last().copied(), ..any() }),
    ("status success", |_| CallFilter { status: Some(CallStatus::Success), ..any() }),
    ("status failed", |_| failed()),
    ("status cancelled", |_| CallFilter { status: Some(CallStatus::Cancelled), ..any() }),
    ("a kind of error", |it| CallFilter { kind: Some(it.kind()), ..any() }),
    ("a kind of error without calls", |_| CallFilter { kind: Some(ErrorKind::Denied), ..any() }),
    ("a source", |it| CallFilter { source: Some(it.source()), ..any() }),
    ("a source of few calls", |_| CallFilter { source: Some(Source::Library), ..any() }),
    ("an hour", |it| it.within(HOUR)),
    ("until an instant", |it| CallFilter { from: None, ..it.within(HOUR) }),
    ("text: a word of one error", |it| CallFilter { text: Some(it.incident()), ..any() }),
    ("text: a word of many errors", |_| text("refused")),
    ("text: a word of all errors", |_| text("incident")),
    ("text: the beginning of a word", |_| text("refus*")),
    ("text: a word of no error", |_| text("zeppelin")),
    ("text: a word of tools' names", |_| text("weather")),
    ("text: a name and an error", |_| text("invoice refused")),
    ("tool + kind", |it| CallFilter { tool: Some(it.tool()), kind: Some(it.kind()), ..any() }),
    ("tool + a kind it never had", |it| CallFilter {
        tool: Some(it.tool_without_not_found()),
        kind: Some(ErrorKind::NotFound),
        ..any()
    }),
    ("tool + failed", |it| CallFilter { status: Some(CallStatus::Failed), tool: Some(it.tool()), ..any() }),
    ("tool + agent", |it| CallFilter { tool: Some(it.tool()), agent: Some(it.agent()), ..any() }),
    ("tool + an agent that never used it", |it| it.unrelated_tool_and_agent()),
    ("tool + source of few calls", |it| CallFilter {
        source: Some(Source::Library),
        tool: Some(it.tool()),
        ..any()
    }),
    ("tool + an hour", |it| CallFilter { tool: Some(it.tool()), ..it.within(HOUR) }),
    ("tool + text", |it| CallFilter { tool: Some(it.tool()), ..text("refused") }),
    ("agent + kind", |it| CallFilter { agent: Some(it.agent()), kind: Some(it.kind()), ..any() }),
    ("agent + source", |it| CallFilter { agent: Some(it.agent()), source: Some(Source::Task), ..any() }),
    ("agent + a source it never had", |it| CallFilter {
        agent: Some(it.agent()),
        source: Some(Source::Cli),
        ..any()
    }),
    ("kind + source", |it| CallFilter { kind: Some(it.kind()), source: Some(it.source()), ..any() }),
    ("user + failed", |it| CallFilter { user: Some(it.user()), status: Some(CallStatus::Failed), ..any() }),
    ("failed + an hour", |it| CallFilter { status: Some(CallStatus::Failed), ..it.within(HOUR) }),
    ("tool + agent + kind + a day", |it| CallFilter {
        tool: Some(it.tool()),
        agent: Some(it.agent()),
        kind: Some(it.kind()),
        ..it.within(HOUR * 24)
    }),
];

fn any() -> CallFilter {
    CallFilter::default()
}

fn text(words: &str) -> CallFilter {
    CallFilter { text: Some(words.to_owned()), ..any() }
}

impl FilterInput<'_> {
    fn pick<'b, T>(&mut self, of: &'b [T]) -> &'b T {
        &of[self.rng.usize(0..of.len())]
    }

    fn tool(&mut self) -> String {
        let calls = self.calls;
        self.pick(&calls.tools).name.to_string()
    }

    fn tool_id(&mut self) -> String {
        let calls = self.calls;
        self.pick(&calls.tools).id.to_string()
    }

    /// Returns a tool with an odd index, which never fails with `NotFound`.
    fn tool_without_not_found(&mut self) -> String {
        let index = self.rng.usize(0..self.calls.tools.len() / 2) * 2 + 1;
        self.calls.tools[index].name.to_string()
    }

    fn agent(&mut self) -> AgentId {
        let calls = self.calls;
        *self.pick(&calls.agents)
    }

    fn user(&mut self) -> UserId {
        let calls = self.calls;
        *self.pick(&calls.users)
    }

    fn kind(&mut self) -> ErrorKind {
        *self.pick(&[ErrorKind::Network, ErrorKind::RateLimit, ErrorKind::NotFound, ErrorKind::Internal])
    }

    fn source(&mut self) -> Source {
        *self.pick(&[Source::Api, Source::Chat, Source::Mcp, Source::Task, Source::Cli])
    }

    fn within(&mut self, time: Duration) -> CallFilter {
        let from = self.calls.instant(self.rng);
        CallFilter { from: Some(from), to: Some(from + time), ..any() }
    }

    fn incident(&mut self) -> String {
        let (calls, space) = (self.calls, self.space);
        let own = calls.incidents.iter().filter(|(other, _)| *other == space);
        let words: Vec<&String> = own.map(|(_, word)| word).collect();
        if words.is_empty() { "incident".to_owned() } else { (*self.pick(&words)).clone() }
    }

    /// Returns a filter for an agent and the tool with the same index, which the agent never calls.
    fn unrelated_tool_and_agent(&mut self) -> CallFilter {
        let index = self.rng.usize(0..self.calls.agents.len());
        let (tool, agent) = (&self.calls.tools[index], self.calls.agents[index]);
        CallFilter { tool: Some(tool.name.to_string()), agent: Some(agent), ..any() }
    }
}

pub(super) async fn time_pages(log: &CallLog, calls: &Calls) -> anyhow::Result<()> {
    let mut rng = Rng::with_seed(11);
    let mut rows = vec![["", "median", "slowest", "calls on it"].map(str::to_owned).to_vec()];
    for (name, filter) in FILTERS {
        let (mut times, mut found) = (Times::default(), Vec::new());
        for space in calls.spaces.iter().copied().cycle().take(REPEATS) {
            let filter = filter(&mut FilterInput { calls, space, rng: &mut rng });
            let start = Instant::now();
            let (page, _) = log.find(space, &filter, &Page::first(PAGE)).await?;
            times.push(start.elapsed());
            found.push(page.len() as f64);
        }
        let [middle, slowest] = times.cells();
        rows.push(vec![(*name).to_owned(), middle, slowest, format!("{:.0}", median(found))]);
    }
    for (name, filter) in [("deep page of all", any()), ("deep page of failed", failed())] {
        rows.push(deep(log, calls, &mut rng, name, &filter).await?);
    }
    rows.push(single_call(log, calls, "one call, by its id", |sample| sample.id.to_string()).await?);
    rows.push(
        single_call(log, calls, "one call, by its call id", |sample| sample.call_id.to_string()).await?,
    );
    print(&format!("Pages of {PAGE} from the call log ({REPEATS} times each)"), &rows);
    Ok(())
}

fn failed() -> CallFilter {
    CallFilter { status: Some(CallStatus::Failed), ..any() }
}

/// Measures pages from the middle of a list, each found by the cursor of the page before it.
async fn deep(
    log: &CallLog,
    calls: &Calls,
    rng: &mut Rng,
    name: &str,
    filter: &CallFilter,
) -> anyhow::Result<Vec<String>> {
    let (mut times, mut found) = (Times::default(), Vec::new());
    for space in calls.spaces.iter().copied().cycle().take(REPEATS) {
        let before = CallFilter { to: Some(calls.instant(rng)), ..filter.clone() };
        let (_, cursor) = log.find(space, &before, &Page::first(1)).await?;
        let page = Page { limit: PAGE, cursor };
        let start = Instant::now();
        let (page, _) = log.find(space, filter, &page).await?;
        times.push(start.elapsed());
        found.push(page.len() as f64);
    }
    let [middle, slowest] = times.cells();
    Ok(vec![name.to_owned(), middle, slowest, format!("{:.0}", median(found))])
}

async fn single_call(
    log: &CallLog,
    calls: &Calls,
    name: &str,
    id: fn(&SampleCall) -> String,
) -> anyhow::Result<Vec<String>> {
    let mut times = Times::default();
    // Spread over the whole month.
    for sample in calls.samples.iter().step_by((calls.samples.len() / REPEATS).max(1)).take(REPEATS) {
        let id = id(sample);
        let start = Instant::now();
        let call = log.get(sample.space, &id).await?;
        times.push(start.elapsed());
        ensure!(call.is_some(), "the log does not contain the call {id}");
    }
    let [middle, slowest] = times.cells();
    Ok(vec![name.to_owned(), middle, slowest, "1".to_owned()])
}
