//! `haft serve` from its start to its first response, and its resident memory, on an empty database and on
//! full ones.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::haft::{Server, binary};
use crate::memory::resident_of;
use crate::scratch::Scratch;
use crate::table::{median, print};

const ROUNDS: usize = 11;
const TOOLS: usize = 10_000;
/// Pause before memory is read.
const IDLE: Duration = Duration::from_millis(200);
/// Number of tools in one request.
const BATCH: usize = 1_000;

const HEADING: [&str; 5] = ["", "ready", "first call answered", "idle memory", "after the calculator"];

/// Measures this build and, if given, another binary. Every round starts each binary once.
pub(crate) fn run(other: Option<&Path>) -> anyhow::Result<()> {
    let Some(binary) = binary()? else {
        println!("\nStart-up is not measured: build the binary first (`make build`)");
        return Ok(());
    };
    let mut candidates = vec![Candidate::new("", &binary)?];
    if let Some(other) = other {
        candidates.push(Candidate::new(", the other binary", other)?);
    }
    let mut rows = vec![HEADING.map(str::to_owned).to_vec()];
    for database in [Database::New, Database::Existing, Database::Full] {
        rows.extend(measured(database, &candidates)?);
    }
    print("Start of `haft serve` (SQLite)", &rows);
    Ok(())
}

#[derive(Clone, Copy)]
enum Database {
    New,
    Existing,
    Full,
}

impl Database {
    fn name(self) -> &'static str {
        match self {
            Self::New => "first start, a new database",
            Self::Existing => "start on an existing database",
            Self::Full => "start with 10,000 stored tools",
        }
    }
}

/// A binary under test, with databases that it made itself.
struct Candidate<'a> {
    suffix: &'static str,
    binary: &'a Path,
    existing: Scratch,
    full: Scratch,
}

impl<'a> Candidate<'a> {
    fn new(suffix: &'static str, binary: &'a Path) -> anyhow::Result<Self> {
        let candidate =
            Self { suffix, binary, existing: Scratch::new("existing")?, full: Scratch::new("full")? };
        drop(Server::start(binary, candidate.existing.path(), &[])?);
        fill(binary, candidate.full.path())?;
        Ok(candidate)
    }

    fn start(&self, database: Database) -> anyhow::Result<Start> {
        let new = Scratch::new("new")?;
        let directory = match database {
            Database::New => new.path(),
            Database::Existing => self.existing.path(),
            Database::Full => self.full.path(),
        };
        let start = Instant::now();
        let server = Server::start(self.binary, directory, &[])?;
        let ready = start.elapsed().as_secs_f64() * 1e3;
        call(&server, "string", &json!({"operation": "upper", "text": "a"}))?;
        let called = start.elapsed().as_secs_f64() * 1e3;
        drop(server);
        // Memory of a server without requests, then of the same server after one call of the calculator.
        let server = Server::start(self.binary, directory, &[])?;
        let process = server.process().to_string();
        std::thread::sleep(IDLE);
        let idle = resident_of(&process)?;
        call(&server, "calculator", &json!({"expression": "1 + 1"}))?;
        std::thread::sleep(IDLE);
        let calculator = resident_of(&process)?;
        Ok(Start { ready, called, idle, calculator })
    }
}

/// Figures of one round: milliseconds from the start, and resident memory in MiB.
struct Start {
    ready: f64,
    called: f64,
    idle: f64,
    calculator: f64,
}

/// One row per binary, each with the medians of its rounds.
fn measured(database: Database, candidates: &[Candidate<'_>]) -> anyhow::Result<Vec<Vec<String>>> {
    let mut starts: Vec<Vec<Start>> = candidates.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (candidate, starts) in candidates.iter().zip(&mut starts) {
            starts.push(candidate.start(database)?);
        }
    }
    let rows = candidates.iter().zip(&starts);
    Ok(rows.map(|(candidate, starts)| row(database, candidate, starts)).collect())
}

fn row(database: Database, candidate: &Candidate<'_>, starts: &[Start]) -> Vec<String> {
    let middle = |figure: fn(&Start) -> f64| median(starts.iter().map(figure).collect());
    vec![
        format!("{}{}", database.name(), candidate.suffix),
        format!("{:.1} ms", middle(|start| start.ready)),
        format!("{:.1} ms", middle(|start| start.called)),
        format!("{:.1} MiB", middle(|start| start.idle)),
        format!("{:.1} MiB", middle(|start| start.calculator)),
    ]
}

fn call(server: &Server, tool: &str, arguments: &Value) -> anyhow::Result<()> {
    let response = server.post(&format!("/api/tools/{tool}/execute"), &json!({"arguments": arguments}))?;
    ensure!(response["code"] == 200, "the call of {tool} failed: {response}");
    Ok(())
}

fn fill(binary: &Path, directory: &Path) -> anyhow::Result<()> {
    let server = Server::start(binary, directory, &[])?;
    for batch in 0..TOOLS / BATCH {
        let tools: Vec<Value> = (batch * BATCH..(batch + 1) * BATCH)
            .map(|number| {
                json!({
                    "name": format!("tool_{number}"), "description": "A tool of many.",
                    "url": format!("https://api.example.com/{number}/{{{{id}}}}"), "params": {"q": "{{q}}"},
                })
            })
            .collect();
        let response = server.post("/api/tools/import", &json!({"tools": tools}))?;
        ensure!(response["code"] == 200, "the tools were refused: {}", response["message"]);
    }
    Ok(())
}
