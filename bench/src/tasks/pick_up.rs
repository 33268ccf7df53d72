//! How soon a task is picked up by a server with nothing else to do, and how soon its end is seen.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::sleep;

use super::Door;
use crate::connection::{Connection, request};
use crate::table::{part, print};

/// So many, one at a time.
const TASKS: usize = 300;

/// Between them the server has gone to sleep.
const PAUSE: Duration = Duration::from_millis(30);

pub(super) async fn run(binary: &Path) -> anyhow::Result<()> {
    let door = Door::open(binary)?;
    let address = door.server.address();
    let execute = |options: &str| {
        let body = format!(r#"{{"arguments":{{"city":"Tokyo"}},"options":{options}}}"#);
        request("POST", address, "/api/tools/read/execute", "", &body)
    };
    let (alone, awaited) = (execute(r#"{"mode":"async"}"#), execute(r#"{"mode":"async","asyncAfter":30}"#));
    let plain = execute("{}");
    let mut connection = Connection::open(address).await?;
    let (mut delays, mut answers, mut ends, mut calls) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TASKS {
        let start = Instant::now();
        let accepted = connection.data(&alone, 202).await?;
        answers.push(milliseconds(start.elapsed()));
        sleep(PAUSE).await;
        let id = accepted["taskId"].as_str().context("an id")?;
        delays.push(delay(&mut connection, address, id).await?);
        sleep(PAUSE).await;
        // It goes by the queue as well, and whoever asked waits for its end.
        let start = Instant::now();
        connection.ask(&awaited).await?.expect(200)?;
        ends.push(milliseconds(start.elapsed()));
        sleep(PAUSE).await;
        let start = Instant::now();
        connection.ask(&plain).await?.expect(200)?;
        calls.push(milliseconds(start.elapsed()));
        sleep(PAUSE).await;
    }
    let heading = ["", "median", "95 %", "99 %"].map(str::to_owned).to_vec();
    let row = |name: &str, times: &[f64]| {
        let at = |share| format!("{:.2} ms", part(times, share));
        vec![name.to_owned(), at(0.5), at(0.95), at(0.99)]
    };
    let rows = [
        heading,
        row("a plain call, until it is answered", &calls),
        row("a task, until it is taken on (202)", &answers),
        row("picked up: createdAt to startedAt", &delays),
        row("a task through the queue, until its end is seen", &ends),
    ];
    print(
        &format!("{TASKS} tasks one at a time, each after {} ms of quiet, SQLite", PAUSE.as_millis()),
        &rows,
    );
    Ok(())
}

/// From when a task was kept to when a worker had it, in milliseconds, as it says itself.
async fn delay(connection: &mut Connection, address: &str, id: &str) -> anyhow::Result<f64> {
    let task = loop {
        let task =
            connection.data(&request("GET", address, &format!("/api/tasks/{id}"), "", ""), 200).await?;
        match task["status"].as_str() {
            Some("queued" | "running") => sleep(PAUSE).await,
            _ => break task,
        }
    };
    ensure!(task["status"] == "succeeded", "a task ended otherwise: {task}");
    let at = |field: &Value| -> anyhow::Result<Timestamp> { Ok(field.as_str().context("a time")?.parse()?) };
    let waited = at(&task["startedAt"])?.duration_since(at(&task["createdAt"])?);
    Ok(waited.as_secs_f64() * 1e3)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
