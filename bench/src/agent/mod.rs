//! Agent turns with one tool call, through Haft's interfaces and through a bare loop.
//!
//! Each variant is a separate process and receives the same requests from the same client. The model and the
//! API behind the tool are two more processes, on loopback. The main figure is the CPU time of the variant
//! per turn.

mod bare_loop;
mod hyper_loop;
mod latency;
mod response_checks;
mod upstreams;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

pub(crate) use self::bare_loop::serve as serve_loop;
pub(crate) use self::latency::run as latency;
pub(crate) use self::upstreams::{serve_model, serve_weather};

use crate::connection::{Connection, request};
use crate::haft::{Server, binary};
use crate::http::{BenchServer, start};
use crate::load::{Check, FRESH_KEY, Round, SINGLE_USE_ID, Target};
use crate::machine::machine;
use crate::scratch::Scratch;
use crate::table::{median, print};

const ROUNDS: usize = 5;
pub(crate) const ROUND: Duration = Duration::from_secs(2);
const SETTLING: Duration = Duration::from_millis(300);

/// The number of conversations that are started before a round of second turns, and the number of clients
/// that do it.
const CONVERSATIONS: usize = 4096;
const PREPARING_CLIENTS: usize = 16;

const COMPLETIONS: &str = "/v1/chat/completions";
const CHAT: &str = "/api/chat";
/// The route of the bare loop with hyper's client.
const BY_HAND: &str = "/by-hand/chat/completions";

const AGENT: &str = "clerk";
const MODEL: &str = "test-model";
const INSTRUCTIONS: &str = "You are a clerk. Look things up, and answer in one sentence.";

/// Returns the argument schema of the tool.
fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string"}},
        "additionalProperties": false,
    })
}

/// The processes behind all variants.
struct Upstreams {
    model: BenchServer,
    weather: BenchServer,
}

impl Upstreams {
    fn start() -> anyhow::Result<Self> {
        Self::with_latency("0")
    }

    /// Starts a model that takes this many milliseconds for each response.
    fn with_latency(milliseconds: &str) -> anyhow::Result<Self> {
        Ok(Self { model: start(&["model", milliseconds])?, weather: start(&["weather"])? })
    }
}

/// A Haft server with default settings on SQLite, and an agent with one tool.
struct HaftServer {
    server: Server,
    _data: Scratch,
}

impl HaftServer {
    fn start(binary: &Path, upstreams: &Upstreams) -> anyhow::Result<Self> {
        Self::start_with(binary, upstreams, &[])
    }

    /// Starts a server with further settings.
    fn start_with(binary: &Path, upstreams: &Upstreams, settings: &[(&str, &str)]) -> anyhow::Result<Self> {
        let data = Scratch::new("agent")?;
        let base = format!("http://{}/v1", upstreams.model.address());
        let environment = [
            ("HAFT_ALLOW_PRIVATE_NETWORKS", "127.0.0.0/8"),
            ("HAFT_FIND_OLLAMA", "false"),
            ("HAFT_LOG", "warn"),
            ("OPENAI_API_KEY", "sk-bench"),
            ("OPENAI_BASE_URL", &base),
        ];
        let environment = [&environment, settings].concat();
        let server = Server::start(binary, data.path(), &environment)?;
        let tool = json!({
            "name": "weather", "description": "The weather of a city.", "type": "http", "effect": "read",
            "config": {"url": format!("http://{}/weather?city={{{{city}}}}", upstreams.weather.address())},
            "inputSchema": schema(), "maxConcurrency": 1000,
            "rateLimit": {"perMinute": 1_000_000, "burst": 1_000_000},
        });
        let created = server.post("/api/tools", &tool)?;
        ensure!(created["code"] == 201, "the tool was not created: {created}");
        let agent = json!({
            "name": AGENT, "systemPrompt": INSTRUCTIONS, "toolIds": [created["data"]["id"]],
            "config": {"provider": "openai", "model": MODEL},
        });
        let created = server.post("/api/agents", &agent)?;
        ensure!(created["code"] == 201, "the agent was not created: {created}");
        Ok(Self { server, _data: data })
    }

    fn target(&self) -> Target {
        Target::new(self.server.address(), "/", vec![self.server.process()])
    }
}

/// The turn of a conversation that is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MeasuredTurn {
    First,
    /// The second turn. Variants without storage receive the first turn in the request.
    Second,
}

/// One of the compared variants, with its rounds so far.
struct Variant {
    name: &'static str,
    target: Target,
    /// The target of the first turns, if second turns of stored conversations are measured.
    first: Option<Target>,
    rounds: Vec<Round>,
}

impl Variant {
    /// Each request names another city, so that a cached or mixed-up response is detected.
    fn new(name: &'static str, target: Target, path: &str, which: MeasuredTurn, is_streamed: bool) -> Self {
        let check: Check = match (path == CHAT, is_streamed) {
            (false, false) => response_checks::completion,
            (false, true) => response_checks::streamed_completion,
            (true, false) => response_checks::chat,
            (true, true) => response_checks::streamed_chat,
        };
        let post = |body: Value| request("POST", &target.address, path, "", &body.to_string());
        let question = json!({"role": "user", "content": weather_question(FRESH_KEY)});
        let first = |is_streamed: bool| {
            let agent_field = if path == CHAT { "agentId" } else { "model" };
            post(json!({agent_field: AGENT, "messages": [&question], "stream": is_streamed}))
        };
        let request_bytes = match (which, path == CHAT) {
            (MeasuredTurn::First, _) => first(is_streamed),
            (MeasuredTurn::Second, true) => {
                post(json!({"conversationId": SINGLE_USE_ID, "messages": [&question], "stream": is_streamed}))
            }
            (MeasuredTurn::Second, false) => {
                let mut messages = past_turn();
                messages.push(question.clone());
                post(json!({"model": AGENT, "messages": messages, "stream": is_streamed}))
            }
        };
        let is_prepared = which == MeasuredTurn::Second && path == CHAT;
        let first = is_prepared.then(|| Target { request: first(false), ..target.clone() });
        let target = Target { request: request_bytes, check, settling: SETTLING, ..target };
        Self { name, target, first, rounds: Vec::new() }
    }

    /// Starts the conversations whose second turns are measured.
    async fn prepare(&mut self) -> anyhow::Result<()> {
        if let Some(first) = &self.first {
            self.target.single_use_ids = Some(Arc::new(Mutex::new(start_conversations(first).await?)));
            tokio::time::sleep(SETTLING).await;
        }
        Ok(())
    }

    async fn round(&mut self, connections: usize, time: Duration) -> anyhow::Result<Round> {
        self.prepare().await?;
        self.target.round(connections, time).await.context(self.name)
    }
}

fn weather_question(city: &str) -> String {
    format!("Look up the weather in {city}.")
}

/// Returns the messages of a first turn, for variants without storage.
fn past_turn() -> Vec<Value> {
    let city = "key-00000000000000000007";
    let arguments = json!({"city": city}).to_string();
    let function = json!({"name": "weather", "arguments": arguments});
    let result = json!({"city": city, "celsius": 7, "sky": "clear", "wind": {"kmh": 12}});
    vec![
        json!({"role": "user", "content": weather_question(city)}),
        json!({"role": "assistant", "content": null,
               "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": result.to_string()}),
        json!({"role": "assistant", "content": format!("It is 7 °C in {city}.")}),
    ]
}

/// Starts conversations and returns their ids.
async fn start_conversations(first: &Target) -> anyhow::Result<Vec<String>> {
    let count = CONVERSATIONS / PREPARING_CLIENTS;
    let clients = (0..PREPARING_CLIENTS).map(|_| {
        let (address, request) = (first.address.clone(), first.request.clone());
        tokio::spawn(async move {
            let mut connection = Connection::open(&address).await?;
            let mut ids = Vec::with_capacity(count);
            for _ in 0..count {
                let data = connection.data(&request, 200).await?;
                ids.push(data["conversationId"].as_str().context("a conversation")?.to_owned());
            }
            anyhow::Ok(ids)
        })
    });
    let mut ids = Vec::with_capacity(CONVERSATIONS);
    for client in clients.collect::<Vec<_>>() {
        ids.extend(client.await??);
    }
    Ok(ids)
}

pub(crate) async fn run(round: Duration) -> anyhow::Result<()> {
    let Some(binary) = binary()? else {
        println!("\nTurns of an agent are not measured: build the binary first (`make build`)");
        return Ok(());
    };
    let upstreams = Upstreams::start()?;
    let bare = start(&["agent", upstreams.model.address(), upstreams.weather.address()])?;
    // Two servers, so that stored conversations do not slow down the completions.
    let (haft, storing_haft) =
        (HaftServer::start(&binary, &upstreams)?, HaftServer::start(&binary, &upstreams)?);
    for which in [MeasuredTurn::First, MeasuredTurn::Second] {
        for (connections, is_streamed) in [(1, false), (1, true), (16, false), (16, true)] {
            let variant = |name, target, path| Variant::new(name, target, path, which, is_streamed);
            let mut variants = vec![
                variant("bare loop: axum and Haft's own client", bare.target("/"), COMPLETIONS),
                variant("haft: POST /v1/chat/completions, not stored", haft.target(), COMPLETIONS),
                variant("haft: POST /api/chat, stored", storing_haft.target(), CHAT),
            ];
            if !is_streamed && which == MeasuredTurn::First {
                variants.push(variant(
                    "for scale, bare loop: axum and hyper's client",
                    bare.target("/"),
                    BY_HAND,
                ));
            }
            for variant in &mut variants {
                variant.round(connections, round / 2).await?;
            }
            for turn in 0..ROUNDS {
                // Rotates the order, so that each is the first in some rounds.
                let first = turn % variants.len();
                let (rest, front) = variants.split_at_mut(first);
                for variant in front.iter_mut().chain(rest) {
                    let round = variant.round(connections, round).await?;
                    variant.rounds.push(round);
                }
            }
            show(which, connections, is_streamed, &variants);
        }
    }
    println!("  {}; again with `target/release/haft-bench agent`", machine());
    Ok(())
}

/// Prints the median of the rounds, and the median of the ratios of each round to the bare loop's round of
/// the same turn, since other load on the machine affects both.
fn show(which: MeasuredTurn, connections: usize, is_streamed: bool, variants: &[Variant]) {
    let heading = ["", "CPU per turn", "to bare", "turns/s", "to bare", "median", "slowest 1 %"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let Some(bare) = variants.first() else { return };
    for variant in variants {
        let middle = Round::medians(&variant.rounds);
        let ratio = |figure: fn(&Round) -> f64| {
            median(
                variant
                    .rounds
                    .iter()
                    .zip(&bare.rounds)
                    .map(|(round, bare)| figure(round) / figure(bare))
                    .collect(),
            )
        };
        rows.push(vec![
            variant.name.to_owned(),
            format!("{:.1} µs", middle.cpu),
            format!("{:.2}", ratio(|round| round.cpu)),
            format!("{:.0}", middle.per_second),
            format!("{:.2}", ratio(|round| round.per_second)),
            format!("{:.2} ms", middle.median / 1e3),
            format!("{:.2} ms", middle.slowest / 1e3),
        ]);
    }
    let turn = match which {
        MeasuredTurn::First => "The first turn",
        MeasuredTurn::Second => "The second turn",
    };
    let form = if is_streamed { "streamed" } else { "whole" };
    print(
        &format!(
            "{turn} of a conversation with an agent, {form}, {connections} at a time (client, model and tool on the same cores)"
        ),
        &rows,
    );
}

/// Puts load on one variant only, for profiling: prints the process id and runs for `time`.
pub(crate) async fn load(which: &str, time: Duration, connections: usize) -> anyhow::Result<()> {
    let binary = binary()?.context("the binary is not built; `make build` does that")?;
    let upstreams = Upstreams::start()?;
    let bare = start(&["agent", upstreams.model.address(), upstreams.weather.address()])?;
    let haft = HaftServer::start(&binary, &upstreams)?;
    let (first, second) = (MeasuredTurn::First, MeasuredTurn::Second);
    let mut variant = match which {
        "bare-loop" => Variant::new("bare loop", bare.target("/"), COMPLETIONS, first, false),
        "by-hand" => Variant::new("by hand", bare.target("/"), BY_HAND, first, false),
        "completions" => Variant::new("completions", haft.target(), COMPLETIONS, first, false),
        "chat" => Variant::new("chat", haft.target(), CHAT, first, false),
        "second-chat" => Variant::new("second turns", haft.target(), CHAT, second, false),
        other => {
            bail!("unknown load {other:?}; use bare-loop, by-hand, completions, chat or second-chat")
        }
    };
    variant.round(connections, ROUND / 2).await?;
    variant.prepare().await?;
    for process in &variant.target.processes {
        println!("{process}");
    }
    let round = variant.target.round(connections, time).await?;
    println!("{:.0} turns/s, {:.1} µs of CPU for each", round.per_second, round.cpu);
    Ok(())
}
