//! A load generator: keep-alive connections that repeat the same request.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::connection::{Connection, request};
use crate::table::{median, quantile};

/// The placeholder in a request for a key that is different in each request.
pub(crate) const FRESH_KEY: &str = "key-00000000000000000000";

/// The placeholder in a request for an id of [`Target::single_use_ids`].
pub(crate) const SINGLE_USE_ID: &str = "00000000-0000-0000-0000-000000000000";

/// The figures of one round.
pub(crate) struct Round {
    pub(crate) per_second: f64,
    /// Median time from request to response, in microseconds.
    pub(crate) median: f64,
    /// 99 % quantile of the time from request to response, in microseconds.
    pub(crate) slowest: f64,
    /// CPU time of the server per request, in microseconds.
    pub(crate) cpu: f64,
}

impl Round {
    /// Returns the median of each figure.
    pub(crate) fn medians(rounds: &[Self]) -> Self {
        let middle = |figure: fn(&Self) -> f64| median(rounds.iter().map(figure).collect());
        Self {
            per_second: middle(|round| round.per_second),
            median: middle(|round| round.median),
            slowest: middle(|round| round.slowest),
            cpu: middle(|round| round.cpu),
        }
    }
}

/// One server under load.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: String,
    /// The processes whose CPU time is measured.
    pub(crate) processes: Vec<u32>,
    pub(crate) request: Vec<u8>,
    /// Time after the last response in which CPU time is still counted, such as for writing the log.
    pub(crate) settling: Duration,
    /// The ids that replace [`SINGLE_USE_ID`], one per request. The round ends when none is left.
    pub(crate) single_use_ids: Option<Arc<Mutex<Vec<String>>>>,
    /// Maximum number of requests in one round.
    pub(crate) max_requests: usize,
    /// Checks each response, given the key of its request.
    pub(crate) check: Check,
}

/// Checks that a response body is the expected one. An error ends the benchmark.
pub(crate) type Check = fn(key: &str, body: &[u8]) -> anyhow::Result<()>;

impl Target {
    /// Returns the target of requests for the forecast of a city.
    pub(crate) fn new(address: &str, path: &str, processes: Vec<u32>) -> Self {
        let body = r#"{"arguments":{"city":"Tokyo"}}"#;
        Self {
            address: address.to_owned(),
            processes,
            request: request("POST", address, path, "", body),
            settling: Duration::ZERO,
            single_use_ids: None,
            max_requests: usize::MAX,
            check: |_, _| Ok(()),
        }
    }

    pub(crate) async fn round(&self, connections: usize, time: Duration) -> anyhow::Result<Round> {
        let until = Instant::now() + time;
        let left = Arc::new(AtomicUsize::new(self.max_requests));
        let cpu_before = self.cpu()?;
        let start = Instant::now();
        let clients = (0..connections).map(|_| {
            let options = ClientOptions {
                request: self.request.clone(),
                check: self.check,
                single_use_ids: self.single_use_ids.clone(),
                left: left.clone(),
            };
            tokio::spawn(client(self.address.clone(), options, until))
        });
        let mut times = Vec::new();
        for client in clients.collect::<Vec<_>>() {
            times.extend(client.await??);
        }
        let elapsed = start.elapsed();
        tokio::time::sleep(self.settling).await;
        let cpu = self.cpu()?.checked_sub(cpu_before).context("CPU time that grows")?;
        let times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        Ok(Round {
            per_second: times.len() as f64 / elapsed.as_secs_f64(),
            median: quantile(&times, 0.5),
            slowest: quantile(&times, 0.99),
            cpu: cpu.as_secs_f64() * 1e6 / times.len() as f64,
        })
    }

    fn cpu(&self) -> anyhow::Result<Duration> {
        self.processes.iter().map(|process| cpu_time(*process)).sum()
    }
}

/// The request of one client, and its limits.
struct ClientOptions {
    request: Vec<u8>,
    check: Check,
    single_use_ids: Option<Arc<Mutex<Vec<String>>>>,
    left: Arc<AtomicUsize>,
}

async fn client(address: String, options: ClientOptions, until: Instant) -> anyhow::Result<Vec<Duration>> {
    let ClientOptions { mut request, check, single_use_ids, left } = options;
    let mut connection = Connection::open(&address).await?;
    let find = |request: &[u8], word: &str| {
        let start = request.windows(word.len()).position(|part| part == word.as_bytes())?;
        Some(start..start + word.len())
    };
    let (key_position, id_position) = (find(&request, FRESH_KEY), find(&request, SINGLE_USE_ID));
    let mut times = Vec::new();
    while Instant::now() < until && take_one(&left) {
        let key = fresh_key();
        if let Some(position) = key_position.clone().and_then(|position| request.get_mut(position)) {
            position.copy_from_slice(key.as_bytes());
        }
        if let Some(single_use_ids) = &single_use_ids {
            let Some(next) = single_use_ids.lock().unwrap_or_else(PoisonError::into_inner).pop() else {
                break;
            };
            if let Some(position) = id_position.clone().and_then(|position| request.get_mut(position)) {
                position.copy_from_slice(next.as_bytes());
            }
        }
        let start = Instant::now();
        let response = connection.send(&request).await?;
        times.push(start.elapsed());
        response.expect(200)?;
        check(&key, response.body)?;
    }
    Ok(times)
}

/// Decrements the number of remaining requests. Returns false if none is left.
pub(crate) fn take_one(left: &AtomicUsize) -> bool {
    left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// Returns a key that is not used in this process yet.
fn fresh_key() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("key-{:020}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the user and system time of a process.
pub(crate) fn cpu_time(process: u32) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // Fields 14 and 15, counted after the name, which may contain spaces.
    let fields: Vec<&str> = stat.rsplit_once(')').context("a stat line")?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    // The unit is always a hundredth of a second.
    Ok(Duration::from_millis((ticks(11) + ticks(12)) * 10))
}
