//! The throughput of tasks: queued over HTTP by several connections and executed concurrently, until the last
//! ends.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::time::sleep;

use super::{SETTLING, TaskServer, row};
use crate::connection::{Connection, request};
use crate::load::{Round, cpu_time, take_one};
use crate::table::{print, quantile};

/// The number of tasks in one round.
const TASKS: usize = 5_000;
const ROUNDS: usize = 3;
const PLAIN_ROUND: Duration = Duration::from_secs(2);

/// The interval at which `/metrics` is read until all tasks have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(super) async fn run(binary: &Path) -> anyhow::Result<()> {
    let haft = TaskServer::start(binary)?;
    let plain = haft.target("read");
    for connections in [16, 64] {
        let (mut calls, mut reads, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        plain.round(connections, PLAIN_ROUND / 2).await?;
        for _ in 0..ROUNDS {
            calls.push(plain.round(connections, PLAIN_ROUND).await?);
            reads.push(round(&haft, "read", connections).await?);
            writes.push(round(&haft, "write", connections).await?);
        }
        let heading = ["", "per second", "median answer", "slowest 1 %", "CPU each"];
        let rows = [
            heading.map(str::to_owned).to_vec(),
            row("plain calls", &Round::medians(&calls)),
            row("tasks of a tool that reads", &Round::medians(&reads)),
            row("tasks of a tool that writes", &Round::medians(&writes)),
        ];
        print(&format!("{TASKS} tasks to their end, {connections} connections, SQLite"), &rows);
    }
    Ok(())
}

/// Queues tasks and waits until all have succeeded.
async fn round(haft: &TaskServer, tool: &str, connections: usize) -> anyhow::Result<Round> {
    let (address, process) = (haft.server.address(), haft.server.process());
    let body = r#"{"arguments":{"city":"Tokyo"},"options":{"mode":"async"}}"#;
    let task: Arc<[u8]> = request("POST", address, &format!("/api/tools/{tool}/execute"), "", body).into();
    let left = Arc::new(AtomicUsize::new(TASKS));
    let mut connection = Connection::open(address).await?;
    let cpu_before = cpu_time(process)?;
    let start = Instant::now();
    let clients =
        (0..connections).map(|_| tokio::spawn(client(address.to_owned(), task.clone(), left.clone())));
    let (mut times, mut accepted_ids) = (Vec::new(), HashSet::new());
    for client in clients.collect::<Vec<_>>() {
        let (client_times, client_ids) = client.await??;
        times.extend(client_times);
        accepted_ids.extend(client_ids);
    }
    while unfinished_tasks(&mut connection, address).await? > 0 {
        sleep(POLL_INTERVAL).await;
    }
    let elapsed = start.elapsed();
    sleep(SETTLING).await;
    let cpu = cpu_time(process)?.checked_sub(cpu_before).context("CPU time that grows")?;
    ensure!(accepted_ids.len() == TASKS, "{TASKS} tasks were asked for and {} taken", accepted_ids.len());
    check_all(&mut connection, address, accepted_ids).await?;
    Ok(Round {
        per_second: TASKS as f64 / elapsed.as_secs_f64(),
        median: quantile(&times, 0.5),
        slowest: quantile(&times, 0.99),
        cpu: cpu.as_secs_f64() * 1e6 / TASKS as f64,
    })
}

/// Queues tasks until none is left. Returns the microseconds of each response, and the ids of the tasks.
async fn client(
    address: String,
    task: Arc<[u8]>,
    left: Arc<AtomicUsize>,
) -> anyhow::Result<(Vec<f64>, Vec<String>)> {
    let mut connection = Connection::open(&address).await?;
    let (mut times, mut accepted_ids) = (Vec::new(), Vec::new());
    while take_one(&left) {
        let start = Instant::now();
        let accepted = connection.data(&task, 202).await?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        accepted_ids.push(accepted["taskId"].as_str().context("an id")?.to_owned());
    }
    Ok((times, accepted_ids))
}

/// Returns the number of tasks that have not ended.
async fn unfinished_tasks(connection: &mut Connection, address: &str) -> anyhow::Result<u64> {
    let response = connection.send(&request("GET", address, "/metrics", "", "")).await?;
    response.expect(200)?;
    let text = std::str::from_utf8(response.body)?;
    let gauges = ["haft_tasks_queued", "haft_tasks_running", "haft_tasks_waiting"];
    let of_gauge = |line: &str| {
        let (name, value) = line.rsplit_once(' ')?;
        let name = name.split('{').next()?;
        gauges.contains(&name).then(|| value.parse::<u64>().ok()).flatten()
    };
    let counts: Vec<u64> = text.lines().filter_map(of_gauge).collect();
    ensure!(counts.len() >= gauges.len(), "/metrics does not count tasks");
    Ok(counts.iter().sum())
}

/// Checks that all these tasks have succeeded. They are the newest ones of the server.
async fn check_all(
    connection: &mut Connection,
    address: &str,
    mut accepted_ids: HashSet<String>,
) -> anyhow::Result<()> {
    let mut cursor = None::<String>;
    while !accepted_ids.is_empty() {
        let after = cursor.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let path = format!("/api/tasks?limit=200{after}");
        let page = connection.data(&request("GET", address, &path, "", ""), 200).await?;
        for task in page["items"].as_array().context("a page of tasks")? {
            let id = task["id"].as_str().unwrap_or_default();
            ensure!(
                !accepted_ids.remove(id) || task["status"] == "succeeded",
                "a task ended otherwise: {task}"
            );
        }
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        ensure!(cursor.is_some() || accepted_ids.is_empty(), "{} tasks are not there", accepted_ids.len());
    }
    Ok(())
}
