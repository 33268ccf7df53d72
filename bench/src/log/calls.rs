//! Calls as a busy month leaves them: some tools used much and many little, agents, failures of all kinds.
//! Every run makes the same ones, but for the instant at which the month ends.

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

/// So many calls, and words of errors, are remembered to ask for.
const KEPT: u64 = 300;

const NOUNS: [&str; 10] =
    ["weather", "invoice", "customer", "calendar", "ticket", "stock", "map", "mail", "search", "payment"];
const VERBS: [&str; 5] = ["read", "list", "create", "update", "report"];

/// In a hundred calls.
const SPACES: [(u32, usize); 3] = [(80, 0), (15, 1), (5, 2)];

/// In a thousand calls of agents. None comes from the command line or from a library.
const OF_AGENTS: [(u32, Source); 4] =
    [(700, Source::Chat), (150, Source::Flow), (100, Source::Mcp), (50, Source::Task)];

/// In a thousand calls of others.
const OF_OTHERS: [(u32, Source); 4] =
    [(930, Source::Api), (50, Source::Cli), (19, Source::Mcp), (1, Source::Library)];

/// In a hundred failures. `NotFound` is said by every second tool alone.
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

const TEXT: &str = "The quick brown fox jumps over the lazy dog, then turns back to see whether anybody \
    has noticed; nobody has, so it goes on to the river, drinks, and sleeps until the moon is up again.";

/// Draws small numbers more often: the second half as often as the first, the third a third as often.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(count: usize) -> Self {
        let mut sum = 0.0;
        let sums = (1..=count).map(|place| {
            sum += 1.0 / place as f64;
            sum
        });
        Self(sums.collect())
    }

    fn draw(&self, rng: &mut Rng) -> usize {
        let at = rng.f64() * self.0.last().copied().unwrap_or_default();
        self.0.partition_point(|sum| *sum <= at).min(self.0.len().saturating_sub(1))
    }
}

/// A tool, by both its names.
pub(super) struct CalledTool {
    pub(super) id: Uuid,
    pub(super) name: Arc<str>,
}

/// A call that one may ask for.
pub(super) struct Kept {
    pub(super) space: SpaceId,
    pub(super) id: Uuid,
    pub(super) call_id: CallId,
}

/// Calls in the order of time, and what of them can be asked for.
pub(super) struct Calls {
    pub(super) spaces: Vec<SpaceId>,
    /// The first ones are used most.
    pub(super) tools: Vec<CalledTool>,
    /// No agent uses the tool of its own place.
    pub(super) agents: Vec<AgentId>,
    /// The last one calls twice in a million calls.
    pub(super) users: Vec<UserId>,
    pub(super) kept: Vec<Kept>,
    /// Words that only one error has.
    pub(super) incidents: Vec<(SpaceId, String)>,
    /// Microseconds since the epoch.
    begin: i64,
    step: u64,
    rows: u64,
    made: u64,
    failed: u64,
    rng: Rng,
    by_use: Zipf,
    by_diligence: Zipf,
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
            kept: Vec::new(),
            incidents: Vec::new(),
            begin: ends.as_microsecond().saturating_sub_unsigned(month),
            step: (month / rows.max(1)).max(1),
            rows,
            made: 0,
            failed: 0,
            by_use: Zipf::new(tools.len()),
            by_diligence: Zipf::new(USERS),
            tools,
            rng,
        }
    }

    /// Some instant of the month.
    pub(super) fn instant(&self, rng: &mut Rng) -> Timestamp {
        self.at(rng.u64(0..self.step.saturating_mul(self.rows.max(1))))
    }

    fn at(&self, micros: u64) -> Timestamp {
        let since = self.begin.saturating_add_unsigned(micros);
        Timestamp::from_microsecond(since).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    fn failure(&mut self, space: SpaceId, tool: usize) -> CallFailure {
        let (mut kind, said) = drawn(&mut self.rng, &FAILURES);
        if kind == ErrorKind::NotFound && tool % 2 == 1 {
            kind = ErrorKind::Server;
        }
        let incident = format!("{:08x}", self.rng.u32(..));
        let message = format!("{said} api{}.example.com, incident {incident}", self.rng.u32(0..40));
        // About three in a hundred calls fail.
        if self.failed.is_multiple_of((self.rows * 3 / 100 / KEPT).max(1)) {
            self.incidents.push((space, incident));
        }
        self.failed += 1;
        CallFailure { kind, message, details: r#"{"status":503,"host":"api.example.com"}"#.to_owned() }
    }

    fn make(&mut self) -> LoggedCall {
        let number = self.made;
        let micros = number * self.step + self.rng.u64(0..self.step);
        let started_at = self.at(micros);
        let tool = self.by_use.draw(&mut self.rng);
        let space = self.spaces[drawn(&mut self.rng, &SPACES)];
        let agent = (self.rng.u32(0..100) < 30).then(|| self.rng.usize(0..AGENTS));
        let agent = agent.map(|agent| if agent == tool % AGENTS { (agent + 1) % AGENTS } else { agent });
        let source = drawn(&mut self.rng, if agent.is_some() { &OF_AGENTS } else { &OF_OTHERS });
        let error = (self.rng.u32(0..100) < 3).then(|| self.failure(space, tool));
        let user = if number % 500_000 == 7 { USERS } else { self.by_diligence.draw(&mut self.rng) };
        let call_id = self.call_id(source, started_at);
        let id = row_id(started_at, number);
        if number.is_multiple_of((self.rows / KEPT).max(1)) {
            self.kept.push(Kept { space, id, call_id: call_id.clone() });
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
            // Most are quick and some are not.
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
        self.made += 1;
        LoggedCall { row, bodies }
    }

    /// A model gives its own, which have no order; ours are in that of time.
    fn call_id(&mut self, source: Source, at: Timestamp) -> CallId {
        let (high, low) = (self.rng.u64(..), self.rng.u32(..));
        let of_model: Result<CallId, _> = format!("call_{high:016x}{low:08x}").parse();
        match of_model {
            Ok(id) if source == Source::Chat => id,
            Ok(_) | Err(_) => {
                let mut random = [0; 10];
                self.rng.fill(&mut random);
                let millis = u64::try_from(at.as_millisecond()).unwrap_or_default();
                uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().into()
            }
        }
    }
}

impl Iterator for Calls {
    type Item = LoggedCall;

    fn next(&mut self) -> Option<LoggedCall> {
        (self.made < self.rows).then(|| self.make())
    }
}

/// One of several, as often as the number before it says.
fn drawn<T: Copy, const N: usize>(rng: &mut Rng, choices: &[(u32, T); N]) -> T {
    let all: u32 = choices.iter().map(|(share, _)| share).sum();
    let mut at = rng.u32(0..all);
    for (share, choice) in choices {
        match at.checked_sub(*share) {
            Some(rest) => at = rest,
            None => return *choice,
        }
    }
    choices[N - 1].1
}

/// A small body: 64 to 183 bytes of JSON.
fn body(rng: &mut Rng) -> String {
    let note = TEXT.get(..rng.usize(40..160)).unwrap_or(TEXT);
    format!(r#"{{"id":{},"note":"{note}"}}"#, rng.u32(1_000_000..10_000_000))
}

/// The id of a row, in the order of time.
fn row_id(at: Timestamp, number: u64) -> Uuid {
    let millis = u64::try_from(at.as_millisecond()).unwrap_or(0);
    Uuid::from_u64_pair((millis << 16) | 0x7000, (1 << 63) | number)
}
