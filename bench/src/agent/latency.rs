//! Agent turns with a model that takes 300 ms for each response, as models on a network do: CPU and disk writes per
//! turn at 60 and 600 turns at a time, late turns of a conversation, and the memory of turns that wait for the model.

use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;

use super::{AGENT, CHAT, COMPLETIONS, HaftServer, MeasuredTurn, Upstreams, Variant, weather_question};
use crate::connection::{Connection, request};
use crate::haft::binary;
use crate::http::start;
use crate::load::{FRESH_KEY, Round, cpu_time};
use crate::machine::machine;
use crate::memory::resident_of;
use crate::table::{median, print};

/// The latency of the model in milliseconds. A turn asks it twice.
const LATENCY: &str = "300";
const MODEL_TIME: Duration = Duration::from_millis(600);

/// The latency of the model while waiting turns are counted.
const LONG_LATENCY: &str = "20000";

const ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_secs(8);
const IDLE: Duration = Duration::from_secs(2);

/// Number of conversations, and of turns of each.
const CONVERSATIONS: usize = 8;
const TURNS: usize = 100;

/// Number of turns that wait for the model at a time.
const WAITING: usize = 10_000;

/// One variant with the figures of its rounds.
struct Measured {
    variant: Variant,
    /// CPU per turn in microseconds, without the idle CPU of the same time.
    cpu: Vec<f64>,
    /// Bytes written to disk per turn.
    written: Vec<f64>,
}

pub(crate) async fn run() -> anyhow::Result<()> {
    let Some(binary) = binary()? else {
        println!("\nTurns with a slow model are not measured: build the binary first (`make build`)");
        return Ok(());
    };
    let upstreams = Upstreams::with_latency(LATENCY)?;
    let bare = start(&["agent", upstreams.model.address(), upstreams.weather.address()])?;
    let (haft, storing_haft) =
        (HaftServer::start(&binary, &upstreams)?, HaftServer::start(&binary, &upstreams)?);
    for connections in [60, 600] {
        let measured = |name, target, path| Measured {
            variant: Variant::new(name, target, path, MeasuredTurn::First, false),
            cpu: Vec::new(),
            written: Vec::new(),
        };
        let mut variants = [
            measured("bare loop: axum and Haft's own client", bare.target("/"), COMPLETIONS),
            measured("haft: POST /v1/chat/completions, not stored", haft.target(), COMPLETIONS),
            measured("haft: POST /api/chat, stored", storing_haft.target(), CHAT),
        ];
        for measured in &mut variants {
            measured.variant.round(connections, ROUND / 4).await?;
        }
        for _ in 0..ROUNDS {
            for measured in &mut variants {
                measured.round(connections).await?;
            }
        }
        show(connections, &variants);
    }
    late_turns(&storing_haft).await?;
    waiting_turns(&binary).await?;
    println!("  {}; again with `target/release/haft-bench latency`", machine());
    Ok(())
}

impl Measured {
    async fn round(&mut self, connections: usize) -> anyhow::Result<()> {
        let processes = self.variant.target.processes.clone();
        let cpu = || processes.iter().map(|process| cpu_time(*process)).sum::<anyhow::Result<Duration>>();
        let before = cpu()?;
        tokio::time::sleep(IDLE).await;
        let idle = cpu()?.saturating_sub(before).as_secs_f64() / IDLE.as_secs_f64();
        let (written, started) = (disk_writes(&processes)?, Instant::now());
        let round = self.variant.round(connections, ROUND).await?;
        let seconds = started.elapsed().as_secs_f64();
        let turns = round.per_second * (seconds - self.variant.target.settling.as_secs_f64());
        self.cpu.push(round.cpu - idle * seconds * 1e6 / turns);
        self.written.push((disk_writes(&processes)? - written) as f64 / turns);
        self.variant.rounds.push(round);
        Ok(())
    }
}

/// Returns the bytes that processes have written to disk.
fn disk_writes(processes: &[u32]) -> anyhow::Result<u64> {
    let written = processes.iter().map(|process| {
        let io = std::fs::read_to_string(format!("/proc/{process}/io"))?;
        let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).context("a count")?;
        Ok(line.trim().parse::<u64>()?)
    });
    written.sum()
}

fn show(connections: usize, variants: &[Measured]) {
    let heading = ["", "CPU per turn", "to bare", "turns/s", "over the model", "slowest 1 %", "disk writes"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let Some(bare) = variants.first() else { return };
    for measured in variants {
        let middle = Round::medians(&measured.variant.rounds);
        let ratios = measured.cpu.iter().zip(&bare.cpu).map(|(cpu, bare)| cpu / bare).collect();
        let over = |micros: f64| format!("{:.1} ms", micros / 1e3 - MODEL_TIME.as_secs_f64() * 1e3);
        rows.push(vec![
            measured.variant.name.to_owned(),
            format!("{:.0} µs", median(measured.cpu.clone())),
            format!("{:.2}", median(ratios)),
            format!("{:.0}", middle.per_second),
            over(middle.median),
            over(middle.slowest),
            format!("{:.1} KB", median(measured.written.clone()) / 1e3),
        ]);
    }
    print(
        &format!(
            "The first turn of a conversation, {connections} at a time, with a model that takes {LATENCY} ms (idle CPU subtracted; client, model and tool on the same cores)"
        ),
        &rows,
    );
}

/// Measures how long turns of a conversation take beyond the model, from the first to the last.
async fn late_turns(haft: &HaftServer) -> anyhow::Result<()> {
    let address = haft.server.address().to_owned();
    let conversations = (0..CONVERSATIONS).map(|number| {
        let address = address.clone();
        tokio::spawn(async move {
            let mut connection = Connection::open(&address).await?;
            let (mut times, mut conversation) = (Vec::with_capacity(TURNS), None::<String>);
            for turn in 0..TURNS {
                let key = format!("key-{:020}", 1_000_000 + number * TURNS + turn);
                let message = json!({"role": "user", "content": weather_question(&key)});
                let body = match &conversation {
                    Some(id) => json!({"conversationId": id, "messages": [message]}),
                    None => json!({"agentId": AGENT, "messages": [message]}),
                };
                let started = Instant::now();
                let data =
                    connection.data(&request("POST", &address, CHAT, "", &body.to_string()), 200).await?;
                times.push(started.elapsed().saturating_sub(MODEL_TIME).as_secs_f64() * 1e3);
                conversation = data["conversationId"].as_str().map(str::to_owned);
            }
            anyhow::Ok(times)
        })
    });
    let mut all = Vec::new();
    for conversation in conversations.collect::<Vec<_>>() {
        all.push(conversation.await??);
    }
    let mut rows = vec![["turn", "median over the model"].map(str::to_owned).to_vec()];
    for turn in [1, 2, 10, 50, TURNS] {
        let times = all.iter().filter_map(|times| times.get(turn - 1).copied()).collect();
        rows.push(vec![turn.to_string(), format!("{:.1} ms", median(times))]);
    }
    print(
        &format!("Turns of {CONVERSATIONS} stored conversations, with a model that takes {LATENCY} ms"),
        &rows,
    );
    Ok(())
}

/// Measures the memory of stored turns that wait for the model.
async fn waiting_turns(binary: &std::path::Path) -> anyhow::Result<()> {
    let upstreams = Upstreams::with_latency(LONG_LATENCY)?;
    let limit = (WAITING * 2).to_string();
    let environment = [("HAFT_MAX_TURNS", limit.as_str()), ("HAFT_MAX_TURNS_PER_USER", &limit)];
    let haft = HaftServer::start_with(binary, &upstreams, &environment)?;
    let process = haft.server.process().to_string();
    let before = resident_of(&process)?;
    let mut connection = Connection::open(haft.server.address()).await?;
    let message = json!({"role": "user", "content": weather_question(FRESH_KEY)});
    let body = json!({"agentId": AGENT, "messages": [message], "detach": true}).to_string();
    let detached = request("POST", haft.server.address(), CHAT, "", &body);
    for _ in 0..WAITING {
        connection.data(&detached, 202).await?;
    }
    let after = resident_of(&process)?;
    let each = (after - before) * 1024.0 / WAITING as f64;
    println!("\n{WAITING} stored turns that wait for the model: {each:.1} KB of resident memory for each");
    Ok(())
}
