//! The delay until an idle server claims a task, and until the caller receives its result.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::sleep;

use super::TaskServer;
use crate::connection::{Connection, request};
use crate::table::{print, quantile};

/// The number of tasks, one at a time.
const TASKS: usize = 300;

/// The pause between tasks, in which the server becomes idle.
const PAUSE: Duration = Duration::from_millis(30);

pub(super) async fn run(binary: &Path) -> anyhow::Result<()> {
    let haft = TaskServer::start(binary)?;
    let address = haft.server.address();
    let execute = |options: &str| {
        let body = format!(r#"{{"arguments":{{"city":"Tokyo"}},"options":{options}}}"#);
        request("POST", address, "/api/tools/read/execute", "", &body)
    };
    let (queued, awaited) = (execute(r#"{"mode":"async"}"#), execute(r#"{"mode":"async","asyncAfter":30}"#));
    let plain = execute("{}");
    let mut connection = Connection::open(address).await?;
    let (mut delays, mut accepted_times, mut ends, mut calls) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TASKS {
        let start = Instant::now();
        let accepted = connection.data(&queued, 202).await?;
        accepted_times.push(milliseconds(start.elapsed()));
        sleep(PAUSE).await;
        let id = accepted["taskId"].as_str().context("an id")?;
        delays.push(delay(&mut connection, address, id).await?);
        sleep(PAUSE).await;
        // This task goes through the queue as well, and the caller waits for its result.
        let start = Instant::now();
        connection.send(&awaited).await?.expect(200)?;
        ends.push(milliseconds(start.elapsed()));
        sleep(PAUSE).await;
        let start = Instant::now();
        connection.send(&plain).await?.expect(200)?;
        calls.push(milliseconds(start.elapsed()));
        sleep(PAUSE).await;
    }
    let heading = ["", "median", "95 %", "99 %"].map(str::to_owned).to_vec();
    let row = |name: &str, times: &[f64]| {
        let quantile_cell = |share| format!("{:.2} ms", quantile(times, share));
        vec![name.to_owned(), quantile_cell(0.5), quantile_cell(0.95), quantile_cell(0.99)]
    };
    let rows = [
        heading,
        row("a plain call, until the response", &calls),
        row("a task, until it is accepted (202)", &accepted_times),
        row("claim delay: createdAt to startedAt", &delays),
        row("a task through the queue, until the response", &ends),
    ];
    print(
        &format!("{TASKS} tasks one at a time, each after {} ms of quiet, SQLite", PAUSE.as_millis()),
        &rows,
    );
    Ok(())
}

/// Returns the milliseconds between `createdAt` and `startedAt` of a task.
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
    let timestamp =
        |field: &Value| -> anyhow::Result<Timestamp> { Ok(field.as_str().context("a time")?.parse()?) };
    let waited = timestamp(&task["startedAt"])?.duration_since(timestamp(&task["createdAt"])?);
    Ok(waited.as_secs_f64() * 1e3)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
