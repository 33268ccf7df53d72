//! Calls in one space while thousands of tools are imported into another space of the same server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::connection::{Connection, request};
use crate::haft::{Server, TOKEN, binary};
use crate::machine::machine;
use crate::scratch::Scratch;
use crate::table::{median, print, quantile};

/// The tools of GitHub's, Kubernetes' and four more APIs together.
const TOOLS: usize = 6_740;
const CALLERS: usize = 4;
/// The pause of a caller between two calls: the machine is not saturated by them alone.
const PAUSE: Duration = Duration::from_millis(2);
const BASELINE: Duration = Duration::from_secs(5);
const ROUNDS: usize = 3;
/// The target for the slowest 1 % of calls during an import, as a multiple of their time without it.
const TARGET: f64 = 2.0;

pub(crate) async fn run() -> anyhow::Result<()> {
    let Some(binary) = binary()? else {
        println!("\nImports are not measured: build the binary first (`make build`)");
        return Ok(());
    };
    let heading = ["", "import", "calls", "median", "slowest 1 %", "slowest", "slowest 1 %, ratio"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let data = Scratch::new("import")?;
        let server = Server::start(&binary, data.path(), &[])?;
        let session = Session::begin(server.address())?;
        let quiet = calls_until(server.address(), sleep(BASELINE)).await?;
        let import = tokio::task::spawn_blocking(move || session.import(TOOLS));
        let started = Instant::now();
        let mut imported = Ok(Ok(()));
        let busy = calls_until(server.address(), async { imported = import.await }).await?;
        imported??;
        rows.push(row(&format!("round {round}: nothing else"), None, &quiet));
        let mut during = row(&format!("round {round}: during the import"), Some(started.elapsed()), &busy);
        let ratio = quantile(&busy, 0.99) / quantile(&quiet, 0.99);
        during.push(format!("{ratio:.2}"));
        rows.push(during);
        ratios.push(ratio);
    }
    print(&format!("Calls in one space while {TOOLS} tools are imported into another"), &rows);
    println!("  median ratio of the slowest 1 %: {:.2}; the target is below {TARGET}", median(ratios));
    println!("  {}; again with `target/release/haft-bench import`", machine());
    Ok(())
}

fn row(name: &str, import: Option<Duration>, times: &[f64]) -> Vec<String> {
    vec![
        name.to_owned(),
        import.map(|time| format!("{:.1} s", time.as_secs_f64())).unwrap_or_default(),
        times.len().to_string(),
        format!("{:.2} ms", quantile(times, 0.5)),
        format!("{:.2} ms", quantile(times, 0.99)),
        format!("{:.2} ms", quantile(times, 1.0)),
    ]
}

/// Makes calls until `end` is over, and returns the milliseconds that each took.
async fn calls_until(address: &str, end: impl Future<Output = ()>) -> anyhow::Result<Vec<f64>> {
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> =
        (0..CALLERS).map(|_| tokio::spawn(call(address.to_owned(), is_over.clone()))).collect();
    end.await;
    is_over.store(true, Ordering::Relaxed);
    let mut times = Vec::new();
    for caller in callers {
        times.extend(caller.await??);
    }
    Ok(times)
}

async fn call(address: String, is_over: Arc<AtomicBool>) -> anyhow::Result<Vec<f64>> {
    let body = r#"{"arguments":{"operation":"upper","text":"a"}}"#;
    let request = request("POST", &address, "/api/tools/string/execute", "", body);
    let mut connection = Connection::open(&address).await?;
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let start = Instant::now();
        connection.send(&request).await?.expect(200)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        sleep(PAUSE).await;
    }
    Ok(times)
}

/// A session in a separate space.
struct Session {
    address: String,
    head: String,
}

impl Session {
    fn begin(address: &str) -> anyhow::Result<Self> {
        let mut session = Self { address: address.to_owned(), head: String::new() };
        let (head, _) = session.post("/api/login", &json!({"token": TOKEN}))?;
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).context("a cookie")?;
        let cookie = cookie.split(';').next().context("a cookie")?;
        session.head = format!("Cookie: {cookie}\r\n");
        let (_, space) = session.post("/api/spaces", &json!({"name": "other"}))?;
        session.head += &format!("Haft-Space: {}\r\n", space["data"]["id"].as_str().context("an id")?);
        Ok(session)
    }

    fn import(&self, count: usize) -> anyhow::Result<()> {
        let tools: Vec<Value> = (0..count)
            .map(|number| {
                json!({
                    "name": format!("tool_{number}"), "description": "A tool of many.",
                    "url": format!("https://api.example.com/{number}/{{{{id}}}}"), "params": {"q": "{{q}}"},
                })
            })
            .collect();
        let (_, response) = self.post("/api/tools/import", &json!({"tools": tools}))?;
        ensure!(response["code"] == 200, "the tools were not imported: {}", response["message"]);
        Ok(())
    }

    /// Returns the head and the body of the response.
    fn post(&self, path: &str, body: &Value) -> anyhow::Result<(String, Value)> {
        let (address, body) = (&self.address, body.to_string());
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {address}\r\n{}Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.head,
            body.len()
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        let (head, body) = response.split_once("\r\n\r\n").context("a head")?;
        Ok((head.to_owned(), serde_json::from_str(body)?))
    }
}
