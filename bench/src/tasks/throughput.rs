//! Tasks through the whole path: queued over HTTP by many, and carried out meanwhile, until the last has ended.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::time::sleep;

use super::{Door, SETTLING, row};
use crate::connection::{Connection, request};
use crate::load::{Round, cpu_time, take};
use crate::table::{part, print};

/// So many in one round.
const TASKS: usize = 5_000;
const ROUNDS: usize = 3;
const PLAIN: Duration = Duration::from_secs(2);

/// How often it is asked whether all have ended.
const LOOK: Duration = Duration::from_millis(5);

pub(super) async fn run(binary: &Path) -> anyhow::Result<()> {
    let door = Door::open(binary)?;
    let plain = door.target("read");
    for connections in [16, 64] {
        let (mut calls, mut reads, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        plain.round(connections, PLAIN / 2).await?;
        for _ in 0..ROUNDS {
            calls.push(plain.round(connections, PLAIN).await?);
            reads.push(round(&door, "read", connections).await?);
            writes.push(round(&door, "write", connections).await?);
        }
        let heading = ["", "per second", "median answer", "slowest 1 %", "CPU each"];
        let rows = [
            heading.map(str::to_owned).to_vec(),
            row("plain calls, answered when done", &Round::middle(&calls)),
            row("tasks of a tool that reads", &Round::middle(&reads)),
            row("tasks of a tool that writes", &Round::middle(&writes)),
        ];
        print(&format!("{TASKS} tasks to their end, {connections} connections, SQLite"), &rows);
    }
    Ok(())
}

/// Queues tasks and waits until all have succeeded.
async fn round(door: &Door, tool: &str, connections: usize) -> anyhow::Result<Round> {
    let (address, process) = (door.server.address(), door.server.process());
    let body = r#"{"arguments":{"city":"Tokyo"},"options":{"mode":"async"}}"#;
    let task: Arc<[u8]> = request("POST", address, &format!("/api/tools/{tool}/execute"), "", body).into();
    let left = Arc::new(AtomicUsize::new(TASKS));
    let mut looking = Connection::open(address).await?;
    let cpu_before = cpu_time(process)?;
    let start = Instant::now();
    let clients =
        (0..connections).map(|_| tokio::spawn(client(address.to_owned(), task.clone(), left.clone())));
    let (mut times, mut taken) = (Vec::new(), HashSet::new());
    for client in clients.collect::<Vec<_>>() {
        let (its_times, its_tasks) = client.await??;
        times.extend(its_times);
        taken.extend(its_tasks);
    }
    while under_way(&mut looking, address).await? > 0 {
        sleep(LOOK).await;
    }
    let elapsed = start.elapsed();
    sleep(SETTLING).await;
    let cpu = cpu_time(process)?.checked_sub(cpu_before).context("time goes on")?;
    ensure!(taken.len() == TASKS, "{TASKS} tasks were asked for and {} taken", taken.len());
    check_all(&mut looking, address, taken).await?;
    Ok(Round {
        per_second: TASKS as f64 / elapsed.as_secs_f64(),
        median: part(&times, 0.5),
        slowest: part(&times, 0.99),
        cpu: cpu.as_secs_f64() * 1e6 / TASKS as f64,
    })
}

/// Queues tasks as long as there are any left; how long each answer took in microseconds, and which they are.
async fn client(
    address: String,
    task: Arc<[u8]>,
    left: Arc<AtomicUsize>,
) -> anyhow::Result<(Vec<f64>, Vec<String>)> {
    let mut connection = Connection::open(&address).await?;
    let (mut times, mut taken) = (Vec::new(), Vec::new());
    while take(&left) {
        let start = Instant::now();
        let accepted = connection.data(&task, 202).await?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        taken.push(accepted["taskId"].as_str().context("an id")?.to_owned());
    }
    Ok((times, taken))
}

/// How many tasks have not ended.
async fn under_way(connection: &mut Connection, address: &str) -> anyhow::Result<u64> {
    let answer = connection.ask(&request("GET", address, "/metrics", "", "")).await?;
    answer.expect(200)?;
    let text = std::str::from_utf8(answer.body)?;
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

/// Each of them must have succeeded: the newest there are.
async fn check_all(
    connection: &mut Connection,
    address: &str,
    mut taken: HashSet<String>,
) -> anyhow::Result<()> {
    let mut cursor = None::<String>;
    while !taken.is_empty() {
        let after = cursor.as_ref().map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let path = format!("/api/tasks?limit=200{after}");
        let page = connection.data(&request("GET", address, &path, "", ""), 200).await?;
        for task in page["items"].as_array().context("a page of tasks")? {
            let id = task["id"].as_str().unwrap_or_default();
            ensure!(!taken.remove(id) || task["status"] == "succeeded", "a task ended otherwise: {task}");
        }
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        ensure!(cursor.is_some() || taken.is_empty(), "{} tasks are not there", taken.len());
    }
    Ok(())
}
