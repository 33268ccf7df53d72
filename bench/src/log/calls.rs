//! Generated calls of a busy month: a few tools with many calls and many with few, agents, failures of all
//! kinds. Every run generates the same calls, except for the time at which the month ends.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use haft_core::{AgentId, CallId, ConversationId, ErrorKind, Source, SpaceId, ToolId, UserId};
use haft_store::{CallBodies, CallFailure, CallRow, LoggedCall};
use jiff::Timestamp;
use uuid::Uuid;

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const AGENTS: usize = 20;
const USERS: usize = 30;

/// The number of calls, and of words in errors, that are remembered for queries.
const SAMPLES: u64 = 300;

const NOUNS: [&str; 10] =
    ["weather", "invoice", "customer", "calendar", "ticket", "stock", "map", "mail", "search", "payment"];
const VERBS: [&str; 5] = ["read", "list", "create", "update", "report"];

/// Shares of the spaces, per hundred calls.
const SPACES: [(u32, usize); 3] = [(80, 0), (15, 1), (5, 2)];

/// Shares of the sources per thousand calls of agents, which never use the command line or a library.
const OF_AGENTS: [(u32, Source); 4] =
    [(700, Source::Chat), (150, Source::Flow), (100, Source::Mcp), (50, Source::Task)];

/// Shares of the sources per thousand calls of others.
const OF_OTHERS: [(u32, Source); 4] =
    [(930, Source::Api), (50, Source::Cli), (19, Source::Mcp), (1, Source::Library)];

/// Shares of the failures, per hundred failures. Only every second tool fails with `NotFound`.
const FAILURES: [(u32, (ErrorKind, &str)); 9] = [
    (30, (ErrorKind::Network, "Connection refused by")),
    (22, (ErrorKind::Timeout, "No answer in time from")),
    (20, (ErrorKind::Server, "Status 503, service unavailable, at")),
    (12, (ErrorKind::RateLimit, "Too many requests to")),
    (8, (ErrorKind::Validation, "Invalid inputs: city is required by")),
    (4, (ErrorKind::Authentication, "Key expired at")),
    (2, (ErrorKind::NotFound, "No such customer at")),
    (1, (ErrorKind::Cancelled, "The caller went away while waiting for")),
    (1, (ErrorKind::Internal, "Unexpected end of answer from")),
];

const TEXT: &str = "The quick brown fox jumps over the lazy dog, then turns back at the hedge, looks along the \
    road, walks down to the river, drinks, and sleeps under the willow until the moon is up again.";

/// A Zipf distribution: draws the second number half as often as the first, the third a third as often.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(count: usize) -> Self {
        let mut sum = 0.0;
        let sums = (1..=count).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        Self(sums.collect())
    }

    fn draw(&self, rng: &mut Rng) -> usize {
        let position = rng.f64() * self.0.last().copied().unwrap_or_default();
        self.0.partition_point(|sum| *sum <= position).min(self.0.len().saturating_sub(1))
    }
}

/// A tool with its id and its name.
pub(super) struct CalledTool {
    pub(super) id: Uuid,
    pub(super) name: Arc<str>,
}

/// A call that queries may look up.
pub(super) struct SampleCall {
    pub(super) space: SpaceId,
    pub(super) id: Uuid,
    pub(super) call_id: CallId,
}

/// Calls in chronological order, with samples for queries.
pub(super) struct Calls {
    pub(super) spaces: Vec<SpaceId>,
    /// The first ones have the most calls.
    pub(super) tools: Vec<CalledTool>,
    /// The agents. An agent never calls the tool with the same index.
    pub(super) agents: Vec<AgentId>,
    /// The users. The last one makes two calls per million.
    pub(super) users: Vec<UserId>,
    pub(super) samples: Vec<SampleCall>,
    /// Words that only one error contains.
    pub(super) incidents: Vec<(SpaceId, String)>,
    /// Microseconds since the epoch.
    begin: i64,
    step: u64,
    rows: u64,
    generated: u64,
    failed: u64,
    rng: Rng,
    tool_distribution: Zipf,
    user_distribution: Zipf,
}

impl Calls {
    pub(super) fn new(rows: u64, ends: Timestamp) -> Self {
        let mut rng = Rng::with_seed(7);
        let mut id = || Uuid::from_u64_pair(rng.u64(..), rng.u64(..));
        let names = VERBS.iter().flat_map(|verb| NOUNS.iter().map(move |noun| format!("{noun}_{verb}")));
        let tools: Vec<CalledTool> = names.map(|name| CalledTool { id: id(), name: name.into() }).collect();
        let spaces = SPACES.iter().map(|_| SpaceId::from(id())).collect();
        let agents = (0..AGENTS).map(|_| AgentId::from(id())).collect();
        let users = (0..=USERS).map(|_| UserId::from(id())).collect();
        let month = u64::try_from(MONTH.as_micros()).unwrap_or(u64::MAX);
        Self {
            spaces,
            agents,
            users,
            samples: Vec::new(),
            incidents: Vec::new(),
            begin: ends.as_microsecond().saturating_sub_unsigned(month),
            step: (month / rows.max(1)).max(1),
            rows,
            generated: 0,
            failed: 0,
            tool_distribution: Zipf::new(tools.len()),
            user_distribution: Zipf::new(USERS),
            tools,
            rng,
        }
    }

    /// Returns a random time of the month.
    pub(super) fn instant(&self, rng: &mut Rng) -> Timestamp {
        self.timestamp_at(rng.u64(0..self.step.saturating_mul(self.rows.max(1))))
    }

    fn timestamp_at(&self, micros: u64) -> Timestamp {
        let since = self.begin.saturating_add_unsigned(micros);
        Timestamp::from_microsecond(since).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn failure(&mut self, space: SpaceId, tool: usize) -> CallFailure {
        let (mut kind, text) = draw_weighted(&mut self.rng, &FAILURES);
        if kind == ErrorKind::NotFound && tool % 2 == 1 {
            kind = ErrorKind::Server;
        }
        let incident = format!("{:08x}", self.rng.u32(..));
        let message = format!("{text} api{}.example.com, incident {incident}", self.rng.u32(0..40));
        // About three of a hundred calls fail.
        if self.failed.is_multiple_of((self.rows * 3 / 100 / SAMPLES).max(1)) {
            self.incidents.push((space, incident));
        }
        self.failed += 1;
        CallFailure { kind, message, details: r#"{"status":503,"host":"api.example.com"}"#.to_owned() }
    }

    fn generate(&mut self) -> LoggedCall {
        let number = self.generated;
        let micros = number * self.step + self.rng.u64(0..self.step);
        let started_at = self.timestamp_at(micros);
        let tool = self.tool_distribution.draw(&mut self.rng);
        let space = self.spaces[draw_weighted(&mut self.rng, &SPACES)];
        let agent = (self.rng.u32(0..100) < 30).then(|| self.rng.usize(0..AGENTS));
        let agent = agent.map(|agent| if agent == tool % AGENTS { (agent + 1) % AGENTS } else { agent });
        let source = draw_weighted(&mut self.rng, if agent.is_some() { &OF_AGENTS } else { &OF_OTHERS });
        let error = (self.rng.u32(0..100) < 3).then(|| self.failure(space, tool));
        let user = if number % 500_000 == 7 { USERS } else { self.user_distribution.draw(&mut self.rng) };
        let call_id = self.call_id(source, started_at);
        let id = row_id(started_at, number);
        if number.is_multiple_of((self.rows / SAMPLES).max(1)) {
            self.samples.push(SampleCall { space, id, call_id: call_id.clone() });
        }
        let called = &self.tools[tool];
        let row = CallRow {
            id,
            space,
            call_id,
            tool: Some((ToolId::Uuid(called.id), 1 + number * 5 / self.rows.max(1))),
            tool_name: called.name.clone(),
            agent: agent.map(|agent| self.agents[agent]),
            conversation: (source == Source::Chat)
                .then(|| ConversationId::from(Uuid::from_u64_pair(number / 64, u64::MAX))),
            user: Some(self.users[user]),
            source,
            attempts: if error.is_some() { 4 } else { 1 },
            error,
            cached: self.rng.u32(0..100) < 5,
            coerced: None,
            warnings: None,
            // Most calls are fast, some are slow.
            duration: Duration::from_micros(800 + (self.rng.f64().powi(6) * 5e6) as u64),
            started_at,
            replay_of: None,
            arguments_cut: false,
            result_cut: false,
            replayable: true,
        };
        let bodies = CallBodies {
            arguments: body(&mut self.rng).into(),
            result: row.error.is_none().then(|| body(&mut self.rng).into()),
        };
        self.generated += 1;
        LoggedCall { row, bodies }
    }

    /// Returns a call id: for chats one of a model, which is random; otherwise one of Haft's, in
    /// chronological order.
    fn call_id(&mut self, source: Source, time: Timestamp) -> CallId {
        let (high, low) = (self.rng.u64(..), self.rng.u32(..));
        let model_id: Result<CallId, _> = format!("call_{high:016x}{low:08x}").parse();
        match model_id {
            Ok(id) if source == Source::Chat => id,
            Ok(_) | Err(_) => {
                let mut random = [0; 10];
                self.rng.fill(&mut random);
                let millis = u64::try_from(time.as_millisecond()).unwrap_or_default();
                uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().into()
            }
        }
    }
}

impl Iterator for Calls {
    type Item = LoggedCall;

    fn next(&mut self) -> Option<LoggedCall> {
        (self.generated < self.rows).then(|| self.generate())
    }
}

/// Draws one of several choices by their weights.
fn draw_weighted<T: Copy, const N: usize>(rng: &mut Rng, choices: &[(u32, T); N]) -> T {
    let all: u32 = choices.iter().map(|(share, _)| share).sum();
    let mut position = rng.u32(0..all);
    for (share, choice) in choices {
        match position.checked_sub(*share) {
            Some(rest) => position = rest,
            None => return *choice,
        }
    }
    choices[N - 1].1
}

/// Returns a small body: 64 to 183 bytes of JSON.
fn body(rng: &mut Rng) -> String {
    let note = TEXT.get(..rng.usize(40..160)).unwrap_or(TEXT);
    format!(r#"{{"id":{},"note":"{note}"}}"#, rng.u32(1_000_000..10_000_000))
}

/// Returns the id of a row, in chronological order.
fn row_id(time: Timestamp, number: u64) -> Uuid {
    let millis = u64::try_from(time.as_millisecond()).unwrap_or(0);
    Uuid::from_u64_pair((millis << 16) | 0x7000, (1 << 63) | number)
}
