//! `haft serve` from nothing to its first answer, on an empty database and on one with many tools; and its memory.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::haft::{Server, binary};
use crate::scratch::unused;
use crate::table::{median, print};

const ROUNDS: usize = 11;
const TOOLS: usize = 10_000;
const IDLE: Duration = Duration::from_millis(200);
/// So many tools are sent at once.
const BATCH: usize = 1_000;

pub(crate) fn run() -> anyhow::Result<()> {
    let Some(binary) = binary()? else {
        println!("\nStart-up is not measured: build the binary first (`make build`)");
        return Ok(());
    };
    let heading = ["", "ready", "first call answered", "idle memory"].map(str::to_owned).to_vec();
    let mut rows = vec![heading];
    rows.push(row("first start, a new database", measured(&binary, |_| Ok(unused("new")))?));
    let kept = unused("kept");
    drop(Server::start(&binary, &kept, &[])?);
    rows.push(row("start on what is there", measured(&binary, |_| Ok(kept.clone()))?));
    let many = unused("many");
    fill(&binary, &many)?;
    rows.push(row("start with 10,000 stored tools", measured(&binary, |_| Ok(many.clone()))?));
    print("Start of `haft serve` (SQLite)", &rows);
    for directory in [kept, many] {
        std::fs::remove_dir_all(directory)?;
    }
    Ok(())
}

fn row(name: &str, (ready, called, memory): (f64, f64, f64)) -> Vec<String> {
    vec![name.to_owned(), format!("{ready:.1} ms"), format!("{called:.1} ms"), format!("{memory:.1} MB")]
}

/// The middle of many starts: ready, first call answered, and the memory of one that nobody asks anything.
fn measured(
    binary: &Path,
    directory: impl Fn(usize) -> anyhow::Result<PathBuf>,
) -> anyhow::Result<(f64, f64, f64)> {
    let (mut ready, mut called, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let directory = directory(round)?;
        let start = Instant::now();
        let server = Server::start(binary, &directory, &[])?;
        ready.push(start.elapsed().as_secs_f64() * 1e3);
        let answer = server
            .post("/api/tools/string/execute", &json!({"arguments": {"operation": "upper", "text": "a"}}))?;
        called.push(start.elapsed().as_secs_f64() * 1e3);
        ensure!(answer["code"] == 200, "the call failed: {answer}");
        let is_new = directory.to_string_lossy().contains("-new-");
        drop(server);
        // What it takes when nobody asks anything.
        let idle = Server::start(binary, &directory, &[])?;
        std::thread::sleep(IDLE);
        memory.push(crate::memory::resident_of(&idle.process().to_string())?);
        drop(idle);
        if is_new {
            std::fs::remove_dir_all(&directory)?;
        }
    }
    Ok((median(ready), median(called), median(memory)))
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
        let answer = server.post("/api/tools/import", &json!({"tools": tools}))?;
        ensure!(answer["code"] == 200, "the tools were not taken: {}", answer["message"]);
    }
    Ok(())
}
