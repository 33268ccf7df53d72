//! One HTTP API behind several hops: bare ones, nginx, and Haft's REST API with all features on.
//!
//! Each hop is a separate process and receives the same requests from the same client. The main figure is the
//! CPU time of a hop per call, including the time to write the call log.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::haft::{Server, binary};
use crate::http::start;
use crate::http_tool::{config, schema};
use crate::load::{Round, Target};
use crate::machine::machine;
use crate::nginx::Nginx;
use crate::scratch::Scratch;
use crate::subscriber::Subscriber;
use crate::table::{median, print};

const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_secs(1);
const WARM_UP: Duration = Duration::from_secs(1);
const SETTLING: Duration = Duration::from_millis(300);

/// One of the compared hops, with its rounds so far.
struct Hop {
    name: &'static str,
    target: Target,
    rounds: Vec<Round>,
}

impl Hop {
    fn new(name: &'static str, target: Target) -> Self {
        Self { name, target: Target { settling: SETTLING, ..target }, rounds: Vec::new() }
    }
}

/// A Haft server with the API as a tool: token, schema, rate limit, bulkhead, circuit breaker, call log and
/// events.
struct HaftServer {
    server: Server,
    _data: Scratch,
}

impl HaftServer {
    fn start(binary: &Path, upstream: &str) -> anyhow::Result<Self> {
        let data = Scratch::new("hops")?;
        let environment = [("HAFT_ALLOW_PRIVATE_NETWORKS", "127.0.0.0/8")];
        let server = Server::start(binary, data.path(), &environment)?;
        let mut config = config(&format!("http://{upstream}"));
        config["security"] = json!({"allowedDomains": [upstream]});
        let tool = json!({
            "name": "forecast", "description": "A forecast.", "type": "http", "effect": "read",
            "config": config, "inputSchema": schema(), "maxConcurrency": 1000,
            "rateLimit": {"perMinute": 1_000_000, "burst": 1_000_000},
        });
        let created = server.post("/api/tools", &tool)?;
        ensure!(created["code"] == 201, "the tool was not created: {created}");
        let response =
            server.post("/api/tools/forecast/execute", &json!({"arguments": {"city": "Tokyo"}}))?;
        ensure!(response["data"]["data"]["city"] == "Tokyo", "the call failed: {response}");
        Ok(Self { server, _data: data })
    }

    fn target(&self) -> Target {
        Target::new(self.server.address(), "/api/tools/forecast/execute", vec![self.server.process()])
    }
}

/// Measures this build and, if `other` is given, a second binary in the same rounds.
pub(crate) async fn run(other: Option<&Path>) -> anyhow::Result<()> {
    let Some(binary) = binary()? else {
        println!("\nHops are not measured: build the binary first (`make build`)");
        return Ok(());
    };
    let upstream = start(&["upstream"])?;
    let bare = start(&["hop", &format!("http://{}", upstream.address())])?;
    let nginx = Nginx::start(upstream.address())?;
    let haft = HaftServer::start(&binary, upstream.address())?;
    let subscribed = HaftServer::start(&binary, upstream.address())?;
    let mut subscriber = Subscriber::start(subscribed.server.address()).await?;
    let others = match other {
        Some(other) => Some((
            HaftServer::start(other, upstream.address())?,
            HaftServer::start(other, upstream.address())?,
        )),
        None => None,
    };
    let _other_subscriber = match &others {
        Some((_, subscribed)) => Subscriber::start(subscribed.server.address()).await?,
        None => None,
    };

    let mut hops = vec![
        Hop::new("bare: axum and hyper's client", bare.target("/plain")),
        Hop::new("bare: axum and Haft's own client", bare.target("/guarded")),
    ];
    if let Some(nginx) = &nginx {
        hops.push(Hop::new("nginx", nginx.target("/execute")?));
    }
    hops.push(Hop::new("haft: POST /api/tools/{name}/execute", haft.target()));
    hops.push(Hop::new("haft, with a subscriber to all events", subscribed.target()));
    if let Some((plain, subscribed)) = &others {
        hops.push(Hop::new("the other binary", plain.target()));
        hops.push(Hop::new("the other binary, with a subscriber", subscribed.target()));
    }
    for connections in [1, 16, 64] {
        for hop in &hops {
            hop.target.round(connections, WARM_UP).await?;
        }
        for turn in 0..ROUNDS {
            // Rotates the order, so that each is the first in some rounds.
            let first = turn % hops.len();
            let (rest, front) = hops.split_at_mut(first);
            for hop in front.iter_mut().chain(rest) {
                hop.rounds.push(hop.target.round(connections, ROUND).await?);
            }
        }
        show(connections, &mut hops);
    }
    if nginx.is_none() {
        println!("  nginx is not installed, so it is left out; `scripts/nginx` installs it");
    }
    match &mut subscriber {
        Some(subscriber) => println!("  {}", subscriber.summary()?),
        None => println!("  no subscriber to events: the server has no GET /api/events"),
    }
    println!("  {}; again with `target/release/haft-bench hops`", machine());
    Ok(())
}

/// Prints the median of the rounds, and the median of the ratios of each round to the first hop's round of
/// the same turn, since other load on the machine affects both. Clears the rounds.
fn show(connections: usize, hops: &mut [Hop]) {
    let heading = ["", "CPU per call", "to bare", "calls/s", "to bare", "median", "slowest 1 %"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let rounds: Vec<Vec<Round>> = hops.iter_mut().map(|hop| std::mem::take(&mut hop.rounds)).collect();
    let base = rounds.first().map(Vec::as_slice).unwrap_or_default();
    for (hop, rounds) in hops.iter().zip(&rounds) {
        let middle = Round::medians(rounds);
        let ratio = |figure: fn(&Round) -> f64| {
            median(rounds.iter().zip(base).map(|(round, base)| figure(round) / figure(base)).collect())
        };
        rows.push(vec![
            hop.name.to_owned(),
            format!("{:.1} µs", middle.cpu),
            format!("{:.2}", ratio(|round| round.cpu)),
            format!("{:.0}", middle.per_second),
            format!("{:.2}", ratio(|round| round.per_second)),
            format!("{:.0} µs", middle.median),
            format!("{:.0} µs", middle.slowest),
        ]);
    }
    print(&format!("One hop, {connections} connections (client and upstream on the same cores)"), &rows);
}

/// Puts load on Haft only, for profiling: prints the process id and runs for `time`.
pub(crate) async fn load(time: Duration) -> anyhow::Result<()> {
    let binary = binary()?.context("the binary is not built; `make build` does that")?;
    let upstream = start(&["upstream"])?;
    let haft = HaftServer::start(&binary, upstream.address())?;
    let _subscriber = Subscriber::start(haft.server.address()).await?;
    let hop = Hop::new("haft", haft.target());
    hop.target.round(16, WARM_UP).await?;
    println!("{}", haft.server.process());
    let round = hop.target.round(16, time).await?;
    println!("{:.0} calls/s, {:.1} µs of CPU for each", round.per_second, round.cpu);
    Ok(())
}
