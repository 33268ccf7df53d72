//! A small load: connections that are kept alive, each sending the same request again and again.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::connection::{Connection, request};
use crate::table::{median, part};

/// What a request has in the place of a key that is another one each time it is sent.
pub(crate) const FRESH_KEY: &str = "key-00000000000000000000";

/// What a request has in the place of an id that is used once.
pub(crate) const ONCE: &str = "00000000-0000-0000-0000-000000000000";

/// What one round showed.
pub(crate) struct Round {
    pub(crate) per_second: f64,
    /// Microseconds from request to answer, the middle one.
    pub(crate) median: f64,
    /// The same, of the slowest in a hundred.
    pub(crate) slowest: f64,
    /// Microseconds of the server's CPU for one request.
    pub(crate) cpu: f64,
}

impl Round {
    /// The middle of several, figure by figure.
    pub(crate) fn middle(rounds: &[Self]) -> Self {
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
    /// Whose CPU is counted.
    pub(crate) processes: Vec<u32>,
    pub(crate) request: Vec<u8>,
    /// What the server still does so long after its last answer, such as writing its log, counts too.
    pub(crate) settling: Duration,
    /// What stands in the place of [`ONCE`]: each is used once, and the round ends when none is left.
    pub(crate) once: Option<Arc<Mutex<Vec<String>>>>,
    /// No more than this in one round, however fast they are answered.
    pub(crate) most: usize,
    /// Looks at each answer, beside the key that was sent.
    pub(crate) check: Check,
}

/// Whether a body is what was asked for. What it says otherwise ends the benchmark.
pub(crate) type Check = fn(key: &str, body: &[u8]) -> anyhow::Result<()>;

impl Target {
    /// A server that is asked for the forecast of a city.
    pub(crate) fn new(address: &str, path: &str, processes: Vec<u32>) -> Self {
        let body = r#"{"arguments":{"city":"Tokyo"}}"#;
        Self {
            address: address.to_owned(),
            processes,
            request: request("POST", address, path, "", body),
            settling: Duration::ZERO,
            once: None,
            most: usize::MAX,
            check: |_, _| Ok(()),
        }
    }

    pub(crate) async fn round(&self, connections: usize, time: Duration) -> anyhow::Result<Round> {
        let until = Instant::now() + time;
        let left = Arc::new(AtomicUsize::new(self.most));
        let cpu_before = self.cpu()?;
        let start = Instant::now();
        let clients = (0..connections).map(|_| {
            let asking = Asking {
                request: self.request.clone(),
                check: self.check,
                once: self.once.clone(),
                left: left.clone(),
            };
            tokio::spawn(client(self.address.clone(), asking, until))
        });
        let mut times = Vec::new();
        for client in clients.collect::<Vec<_>>() {
            times.extend(client.await??);
        }
        let elapsed = start.elapsed();
        tokio::time::sleep(self.settling).await;
        let cpu = self.cpu()?.checked_sub(cpu_before).context("time goes on")?;
        let times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        Ok(Round {
            per_second: times.len() as f64 / elapsed.as_secs_f64(),
            median: part(&times, 0.5),
            slowest: part(&times, 0.99),
            cpu: cpu.as_secs_f64() * 1e6 / times.len() as f64,
        })
    }

    fn cpu(&self) -> anyhow::Result<Duration> {
        self.processes.iter().map(|process| cpu_time(*process)).sum()
    }
}

/// What one client sends again and again.
struct Asking {
    request: Vec<u8>,
    check: Check,
    once: Option<Arc<Mutex<Vec<String>>>>,
    left: Arc<AtomicUsize>,
}

async fn client(address: String, asking: Asking, until: Instant) -> anyhow::Result<Vec<Duration>> {
    let Asking { mut request, check, once, left } = asking;
    let mut connection = Connection::open(&address).await?;
    let find = |request: &[u8], word: &str| {
        let start = request.windows(word.len()).position(|part| part == word.as_bytes())?;
        Some(start..start + word.len())
    };
    let (place, of_once) = (find(&request, FRESH_KEY), find(&request, ONCE));
    let mut times = Vec::new();
    while Instant::now() < until && take(&left) {
        let key = fresh_key();
        if let Some(place) = place.clone().and_then(|place| request.get_mut(place)) {
            place.copy_from_slice(key.as_bytes());
        }
        if let Some(once) = &once {
            let Some(next) = once.lock().unwrap_or_else(PoisonError::into_inner).pop() else { break };
            if let Some(place) = of_once.clone().and_then(|place| request.get_mut(place)) {
                place.copy_from_slice(next.as_bytes());
            }
        }
        let start = Instant::now();
        let answer = connection.ask(&request).await?;
        times.push(start.elapsed());
        answer.expect(200)?;
        check(&key, answer.body)?;
    }
    Ok(times)
}

/// Takes one of what is left; false when nothing is.
pub(crate) fn take(left: &AtomicUsize) -> bool {
    left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// One that nobody has used.
fn fresh_key() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("key-{:020}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// User and system time of a process so far.
pub(crate) fn cpu_time(process: u32) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // Fields 14 and 15, counted after the name, which may hold blanks.
    let fields: Vec<&str> = stat.rsplit_once(')').context("a stat line")?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    // The kernel's unit here is always a hundredth of a second.
    Ok(Duration::from_millis((ticks(11) + ticks(12)) * 10))
}
