//! The call log with ten million rows: the cost of writing a row as the log grows, and the duration of pages
//! and statistics at the full size.

mod calls;
mod pages;
mod stats;
mod times;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use haft_store::{CallLog, Database};
use jiff::Timestamp;

use crate::load::cpu_time;
use crate::machine::machine;
use crate::scratch::Scratch;
use crate::table::print;

use self::calls::Calls;

pub(crate) const ROWS: u64 = 10_000_000;

/// The number of rows per insert, which is that of the engine's sink.
const BATCH: usize = 512;

/// The number of rows that are written first to estimate time and size of all rows.
const SAMPLE: u64 = 200_000;

/// The number of parts that are measured separately while the log is filled.
const PARTS: u64 = 10;

/// Maximum time to fill the log.
const MAX_FILL_TIME: Duration = Duration::from_secs(45 * 60);

/// Space on the disk that stays free.
const RESERVED_BYTES: u64 = 1 << 30;

pub(crate) async fn run(rows: u64) -> anyhow::Result<()> {
    ensure!(rows >= PARTS, "at least {PARTS} rows");
    let scratch = Scratch::new("log")?;
    // Ctrl-C ends the function normally, so that the directory is deleted.
    tokio::select! {
        done = measure(scratch.path(), rows) => done,
        _ = tokio::signal::ctrl_c() => bail!("stopped"),
    }
}

async fn measure(directory: &Path, rows: u64) -> anyhow::Result<()> {
    let (rows, time) = affordable_rows(rows).await?;
    let log = open(directory).await?;
    // The last row is written at about the time at which its call started.
    let mut calls = Calls::new(rows, Timestamp::now() + time);
    println!("\nFilling a call log with {rows} rows, {BATCH} at once, in {PARTS} parts");
    let mut parts = Vec::new();
    for part in 0..PARTS {
        let written = write(&log, &mut calls, rows * (part + 1) / PARTS - rows * part / PARTS).await?;
        println!("  part {} of {PARTS}: {:.0} rows/s", part + 1, written.per_second());
        parts.push(written);
    }
    // Closed, so that only the operating system has pages of it in its cache.
    log.close().await;
    show(&parts, size(directory)?);
    let log = open(directory).await?;
    pages::time_pages(&log, &calls).await?;
    stats::time_stats(&log, &calls).await?;
    println!("  {}; again with `target/release/haft-bench log --rows {rows}`", machine());
    log.close().await;
    Ok(())
}

async fn open(directory: &Path) -> anyhow::Result<CallLog> {
    Ok(CallLog::open(&Database::Sqlite(directory.to_owned())).await?)
}

/// The cost of writing one part of the rows.
struct Part {
    rows: u64,
    inserting: Duration,
    slowest: Duration,
    /// CPU time of this process, without the time to generate the rows.
    cpu: Duration,
    rolling_up: Duration,
}

impl Part {
    fn per_second(&self) -> f64 {
        self.rows as f64 / (self.inserting + self.rolling_up).as_secs_f64()
    }

    fn per_row(&self, time: Duration) -> String {
        format!("{:.1} µs", time.as_secs_f64() * 1e6 / self.rows as f64)
    }
}

async fn write(log: &CallLog, calls: &mut Calls, rows: u64) -> anyhow::Result<Part> {
    let cpu_before = cpu_time(std::process::id())?;
    let (mut inserting, mut slowest, mut generating) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let mut left = usize::try_from(rows)?;
    while left > 0 {
        let start = Instant::now();
        let batch: Vec<_> = calls.by_ref().take(BATCH.min(left)).collect();
        generating += start.elapsed();
        let start = Instant::now();
        log.insert(&batch).await?;
        let took = start.elapsed();
        inserting += took;
        slowest = slowest.max(took);
        left -= batch.len();
    }
    let cpu = cpu_time(std::process::id())?.saturating_sub(cpu_before).saturating_sub(generating);
    let start = Instant::now();
    stats::roll_up(log).await?;
    Ok(Part { rows, inserting, slowest, cpu, rolling_up: start.elapsed() })
}

fn show(parts: &[Part], bytes: u64) {
    let heading = ["", "written in", "CPU", "slowest 512", "rolled up in"].map(str::to_owned).to_vec();
    let mut rows = vec![heading];
    let mut before = 0;
    for part in parts {
        let name = format!("rows {} to {}", before + 1, before + part.rows);
        let (inserting, cpu, rolling_up) =
            (part.per_row(part.inserting), part.per_row(part.cpu), part.per_row(part.rolling_up));
        let slowest = format!("{:.1} ms", part.slowest.as_secs_f64() * 1e3);
        rows.push(vec![name, inserting, cpu, slowest, rolling_up]);
        before += part.rows;
    }
    print("The call log: cost per row (SQLite)", &rows);
    let gigabytes = bytes as f64 / 1e9;
    println!("  {gigabytes:.2} GB on disk, {:.0} bytes for a row", bytes as f64 / before as f64);
}

/// Returns the number of rows that the disk and the maximum time allow, and the time to write them.
async fn affordable_rows(rows: u64) -> anyhow::Result<(u64, Duration)> {
    let scratch = Scratch::new("log-sample")?;
    let sample = rows.min(SAMPLE);
    let log = open(scratch.path()).await?;
    let mut calls = Calls::new(sample, Timestamp::now());
    let start = Instant::now();
    write(&log, &mut calls, sample).await?;
    let seconds = start.elapsed().as_secs_f64() / sample as f64;
    log.close().await;
    let bytes = size(scratch.path())? as f64 / sample as f64;

    let mut max_rows = rows;
    if let Some(free_bytes) = free_bytes(scratch.path()) {
        // The write-ahead log and larger indexes may need a fifth more.
        max_rows = max_rows.min((free_bytes.saturating_sub(RESERVED_BYTES) as f64 / (bytes * 1.2)) as u64);
    }
    max_rows = max_rows.min((MAX_FILL_TIME.as_secs_f64() / seconds) as u64).max(PARTS);
    if max_rows < rows {
        println!(
            "\nOnly {max_rows} of {rows} rows: the disk has no space for more, or they would take too long"
        );
    }
    let time = Duration::from_secs_f64(seconds * max_rows as f64);
    println!("\nThe call log: {max_rows} rows will take about {:.0} s", time.as_secs_f64());
    Ok((max_rows, time))
}

/// Returns the total size of all files in a directory.
fn size(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// Returns the free bytes of the disk. Returns `None` if `df` fails.
fn free_bytes(directory: &Path) -> Option<u64> {
    let output = Command::new("df").arg("-Pk").arg(directory).output().ok()?;
    let output = String::from_utf8(output.stdout).ok()?;
    let kilobytes: u64 = output.lines().last()?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kilobytes << 10)
}
