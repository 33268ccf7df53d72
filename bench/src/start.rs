//! `haft serve` from nothing to its first answer, on an empty database and on one with many tools; and its memory.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::table::{median, print};

const ROUNDS: usize = 11;
const TOOLS: usize = 10_000;
const IDLE: Duration = Duration::from_millis(200);
/// So many tools are sent at once.
const BATCH: usize = 1_000;

pub(crate) fn run() -> anyhow::Result<()> {
    let binary = std::env::current_exe()?.with_file_name("haft");
    if !binary.exists() {
        println!("\nStart-up is not measured: build the binary first (`make build`)");
        return Ok(());
    }
    let heading = ["", "ready", "first call answered", "idle memory"].map(str::to_owned).to_vec();
    let mut rows = vec![heading];
    rows.push(row("first start, a new database", measured(&binary, |_| Ok(tempdir("new")))?));
    let kept = tempdir("kept");
    drop(Server::start(&binary, &kept)?);
    rows.push(row("start on what is there", measured(&binary, |_| Ok(kept.clone()))?));
    let many = tempdir("many");
    fill(&binary, &many)?;
    rows.push(row("start with 10,000 stored tools", measured(&binary, |_| Ok(many.clone()))?));
    print("Start of `haft serve` (SQLite)", &rows);
    for directory in [kept, many] {
        std::fs::remove_dir_all(directory)?;
    }
    Ok(())
}

fn tempdir(name: &str) -> PathBuf {
    let number = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    std::env::temp_dir().join(format!("haft-bench-{name}-{}", number.as_nanos()))
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
        let server = Server::start(binary, &directory)?;
        ready.push(start.elapsed().as_secs_f64() * 1e3);
        let answer = server
            .post("/api/tools/string/execute", &json!({"arguments": {"operation": "upper", "text": "a"}}))?;
        called.push(start.elapsed().as_secs_f64() * 1e3);
        ensure!(answer["code"] == 200, "the call failed: {answer}");
        let is_new = directory.to_string_lossy().contains("-new-");
        drop(server);
        // What it takes when nobody asks anything.
        let idle = Server::start(binary, &directory)?;
        std::thread::sleep(IDLE);
        memory.push(crate::memory::resident_of(&idle.child.id().to_string())?);
        drop(idle);
        if is_new {
            std::fs::remove_dir_all(&directory)?;
        }
    }
    Ok((median(ready), median(called), median(memory)))
}

fn fill(binary: &Path, directory: &Path) -> anyhow::Result<()> {
    let server = Server::start(binary, directory)?;
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

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(binary: &Path, directory: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(binary)
            .args(["serve", "--addr", "127.0.0.1:0", "--admin-token", "bench"])
            .env("HAFT_DATA_DIR", directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("a pipe")?).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://").context("an address")?.to_owned();
        Ok(Self { child, address })
    }

    fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let body = body.to_string();
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer bench\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("a body")?;
        // A large answer comes in chunks; what is between the first and the last brace is the JSON.
        let (start, end) = (body.find('{').context("JSON")?, body.rfind('}').context("JSON")?);
        let text = body.get(start..=end).unwrap_or_default();
        Ok(serde_json::from_str(text).unwrap_or_else(|_| json!({"code": 200})))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
