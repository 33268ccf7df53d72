//! Turns of an agent: the model is asked, calls a tool, and is asked again. Haft's doors beside a bare loop.
//!
//! Each is a process of its own and is asked the same by the same client; the model and the API that the tool
//! asks are two more, on loopback. The main figure is the CPU of the process between them for one turn.

mod answers;
mod bare_loop;
mod by_hand;
mod upstreams;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

pub(crate) use self::bare_loop::serve as serve_loop;
pub(crate) use self::upstreams::{serve_model, serve_weather};

use crate::connection::{Connection, request};
use crate::haft::{Server, binary};
use crate::http::{Served, start};
use crate::load::{Check, FRESH_KEY, ONCE, Round, Target};
use crate::machine::machine;
use crate::scratch::Scratch;
use crate::table::{median, print};

const ROUNDS: usize = 5;
pub(crate) const ROUND: Duration = Duration::from_secs(2);
const SETTLING: Duration = Duration::from_millis(300);

/// So many conversations are begun before a round of second turns, by so many clients.
const PREPARED: usize = 4096;
const PREPARING: usize = 16;

const COMPLETIONS: &str = "/v1/chat/completions";
const CHAT: &str = "/api/chat";
/// Of the bare loop, with hyper's client.
const BY_HAND: &str = "/by-hand/chat/completions";

const AGENT: &str = "clerk";
const MODEL: &str = "test-model";
const INSTRUCTIONS: &str = "You are a clerk. Look things up, and answer in one sentence.";

/// What the tool takes.
fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string"}},
        "additionalProperties": false,
    })
}

/// What is behind all of them.
struct Behind {
    model: Served,
    weather: Served,
}

impl Behind {
    fn start() -> anyhow::Result<Self> {
        Ok(Self { model: start(&["model"])?, weather: start(&["weather"])? })
    }
}

/// Haft on SQLite as it is by default, with an agent that has one tool.
struct Door {
    server: Server,
    _data: Scratch,
}

impl Door {
    fn open(binary: &Path, behind: &Behind) -> anyhow::Result<Self> {
        let data = Scratch::new("agent")?;
        let base = format!("http://{}/v1", behind.model.address());
        let environment = [
            ("HAFT_ALLOW_PRIVATE_NETWORKS", "127.0.0.0/8"),
            ("HAFT_FIND_OLLAMA", "false"),
            ("HAFT_LOG", "warn"),
            ("OPENAI_API_KEY", "sk-bench"),
            ("OPENAI_BASE_URL", &base),
        ];
        let server = Server::start(binary, data.path(), &environment)?;
        let tool = json!({
            "name": "weather", "description": "The weather of a city.", "type": "http", "effect": "read",
            "config": {"url": format!("http://{}/weather?city={{{{city}}}}", behind.weather.address())},
            "inputSchema": schema(), "maxConcurrency": 1000,
            "rateLimit": {"perMinute": 1_000_000, "burst": 1_000_000},
        });
        let made = server.post("/api/tools", &tool)?;
        ensure!(made["code"] == 201, "the tool was not taken: {made}");
        let agent = json!({
            "name": AGENT, "systemPrompt": INSTRUCTIONS, "toolIds": [made["data"]["id"]],
            "config": {"provider": "openai", "model": MODEL},
        });
        let made = server.post("/api/agents", &agent)?;
        ensure!(made["code"] == 201, "the agent was not taken: {made}");
        Ok(Self { server, _data: data })
    }

    fn target(&self) -> Target {
        Target::new(self.server.address(), "/", vec![self.server.process()])
    }
}

/// Which turn of a conversation is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    First,
    /// The one after it. Who keeps nothing is sent what was said before.
    Second,
}

/// One of those that are compared, with its rounds so far.
struct Way {
    name: &'static str,
    target: Target,
    /// Of the first turns of those conversations whose second ones are measured.
    first: Option<Target>,
    rounds: Vec<Round>,
}

impl Way {
    /// A question for another city each time, so that nobody can answer it from memory, or in another's place.
    fn new(name: &'static str, target: Target, path: &str, which: Which, is_streamed: bool) -> Self {
        let check: Check = match (path == CHAT, is_streamed) {
            (false, false) => answers::completion,
            (false, true) => answers::streamed_completion,
            (true, false) => answers::chat,
            (true, true) => answers::streamed_chat,
        };
        let asks = |body: Value| request("POST", &target.address, path, "", &body.to_string());
        let question = json!({"role": "user", "content": question(FRESH_KEY)});
        let first = |is_streamed: bool| {
            let who = if path == CHAT { "agentId" } else { "model" };
            asks(json!({who: AGENT, "messages": [&question], "stream": is_streamed}))
        };
        let asked = match (which, path == CHAT) {
            (Which::First, _) => first(is_streamed),
            (Which::Second, true) => {
                asks(json!({"conversationId": ONCE, "messages": [&question], "stream": is_streamed}))
            }
            (Which::Second, false) => {
                let mut messages = said_before();
                messages.push(question.clone());
                asks(json!({"model": AGENT, "messages": messages, "stream": is_streamed}))
            }
        };
        let is_prepared = which == Which::Second && path == CHAT;
        let first = is_prepared.then(|| Target { request: first(false), ..target.clone() });
        let target = Target { request: asked, check, settling: SETTLING, ..target };
        Self { name, target, first, rounds: Vec::new() }
    }

    /// Begins the conversations that are gone on with.
    async fn prepare(&mut self) -> anyhow::Result<()> {
        if let Some(first) = &self.first {
            self.target.once = Some(Arc::new(Mutex::new(begun(first).await?)));
            tokio::time::sleep(SETTLING).await;
        }
        Ok(())
    }

    async fn round(&mut self, connections: usize, time: Duration) -> anyhow::Result<Round> {
        self.prepare().await?;
        self.target.round(connections, time).await.context(self.name)
    }
}

fn question(city: &str) -> String {
    format!("What is the weather in {city}?")
}

/// A first turn, as who keeps nothing is told of it.
fn said_before() -> Vec<Value> {
    let city = "key-00000000000000000007";
    let arguments = json!({"city": city}).to_string();
    let function = json!({"name": "weather", "arguments": arguments});
    let given = json!({"city": city, "celsius": 7, "sky": "clear", "wind": {"kmh": 12}});
    vec![
        json!({"role": "user", "content": question(city)}),
        json!({"role": "assistant", "content": null,
               "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": given.to_string()}),
        json!({"role": "assistant", "content": format!("It is 7 °C in {city}.")}),
    ]
}

/// Begins conversations, and gives their ids.
async fn begun(first: &Target) -> anyhow::Result<Vec<String>> {
    let count = PREPARED / PREPARING;
    let clients = (0..PREPARING).map(|_| {
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
    let mut ids = Vec::with_capacity(PREPARED);
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
    let behind = Behind::start()?;
    let bare = start(&["agent", behind.model.address(), behind.weather.address()])?;
    // What one keeps is no burden to the other.
    let (door, keeping) = (Door::open(&binary, &behind)?, Door::open(&binary, &behind)?);
    for which in [Which::First, Which::Second] {
        for (connections, is_streamed) in [(1, false), (1, true), (16, false), (16, true)] {
            let way = |name, target, path| Way::new(name, target, path, which, is_streamed);
            let mut ways = vec![
                way("bare loop: axum and Haft's own client", bare.target("/"), COMPLETIONS),
                way("haft: POST /v1/chat/completions, not kept", door.target(), COMPLETIONS),
                way("haft: POST /api/chat, kept", keeping.target(), CHAT),
            ];
            if !is_streamed && which == Which::First {
                ways.push(way("for scale, bare loop: axum and hyper's client", bare.target("/"), BY_HAND));
            }
            for way in &mut ways {
                way.round(connections, round / 2).await?;
            }
            for turn in 0..ROUNDS {
                // Each is the first once in a while.
                let first = turn % ways.len();
                let (later, now) = ways.split_at_mut(first);
                for way in now.iter_mut().chain(later) {
                    let round = way.round(connections, round).await?;
                    way.rounds.push(round);
                }
            }
            show(which, connections, is_streamed, &ways);
        }
    }
    println!("  {}; again with `target/release/haft-bench agent`", machine());
    Ok(())
}

/// The middle of the rounds, and of what each was beside the bare loop's round of the same moment: the machine is not
/// always as fast.
fn show(which: Which, connections: usize, is_streamed: bool, ways: &[Way]) {
    let heading = ["", "CPU per turn", "to bare", "turns/s", "to bare", "median", "slowest 1 %"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let Some(bare) = ways.first() else { return };
    for way in ways {
        let middle = Round::middle(&way.rounds);
        let beside = |figure: fn(&Round) -> f64| {
            median(
                way.rounds.iter().zip(&bare.rounds).map(|(its, bare)| figure(its) / figure(bare)).collect(),
            )
        };
        rows.push(vec![
            way.name.to_owned(),
            format!("{:.1} µs", middle.cpu),
            format!("{:.2}", beside(|round| round.cpu)),
            format!("{:.0}", middle.per_second),
            format!("{:.2}", beside(|round| round.per_second)),
            format!("{:.2} ms", middle.median / 1e3),
            format!("{:.2} ms", middle.slowest / 1e3),
        ]);
    }
    let turn = match which {
        Which::First => "The first turn",
        Which::Second => "The second turn",
    };
    let form = if is_streamed { "streamed" } else { "whole" };
    print(
        &format!(
            "{turn} of a conversation with an agent, {form}, {connections} at a time (client, model and tool on the same cores)"
        ),
        &rows,
    );
}

/// Load on one of them alone, for whoever looks into that process: says which it is, and goes on for so long.
pub(crate) async fn load(which: &str, time: Duration, connections: usize) -> anyhow::Result<()> {
    let binary = binary()?.context("the binary is not built; `make build` does that")?;
    let behind = Behind::start()?;
    let bare = start(&["agent", behind.model.address(), behind.weather.address()])?;
    let door = Door::open(&binary, &behind)?;
    let (first, second) = (Which::First, Which::Second);
    let mut way = match which {
        "bare-loop" => Way::new("bare loop", bare.target("/"), COMPLETIONS, first, false),
        "by-hand" => Way::new("by hand", bare.target("/"), BY_HAND, first, false),
        "completions" => Way::new("completions", door.target(), COMPLETIONS, first, false),
        "chat" => Way::new("chat", door.target(), CHAT, first, false),
        "second-chat" => Way::new("second turns", door.target(), CHAT, second, false),
        other => {
            bail!(
                "there is no load on {other:?}, only on bare-loop, by-hand, completions, chat or second-chat"
            )
        }
    };
    way.round(connections, ROUND / 2).await?;
    way.prepare().await?;
    for process in &way.target.processes {
        println!("{process}");
    }
    let round = way.target.round(connections, time).await?;
    println!("{:.0} turns/s, {:.1} µs of CPU for each", round.per_second, round.cpu);
    Ok(())
}
