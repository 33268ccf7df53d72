//! A small load: connections that are kept alive, each sending the same request again and again.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::haft::TOKEN;
use crate::table::median;

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
pub(crate) struct Target {
    pub(crate) address: String,
    /// Whose CPU is counted.
    pub(crate) processes: Vec<u32>,
    pub(crate) request: Vec<u8>,
    /// What the server still does so long after its last answer, such as writing its log, counts too.
    pub(crate) settling: Duration,
}

impl Target {
    /// A server that is asked for the forecast of a city.
    pub(crate) fn new(address: &str, path: &str, processes: Vec<u32>) -> Self {
        let body = r#"{"arguments":{"city":"Tokyo"}}"#;
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (address, request) = (address.to_owned(), request.into_bytes());
        Self { address, processes, request, settling: Duration::ZERO }
    }

    pub(crate) async fn round(&self, connections: usize, time: Duration) -> anyhow::Result<Round> {
        let until = Instant::now() + time;
        let cpu_before = self.cpu()?;
        let start = Instant::now();
        let clients =
            (0..connections).map(|_| tokio::spawn(client(self.address.clone(), self.request.clone(), until)));
        let mut times = Vec::new();
        for client in clients.collect::<Vec<_>>() {
            times.extend(client.await??);
        }
        let elapsed = start.elapsed();
        tokio::time::sleep(self.settling).await;
        let cpu = self.cpu()?.checked_sub(cpu_before).context("time goes on")?;
        times.sort_unstable();
        let at = |share: f64| {
            let index = (times.len() as f64 * share) as usize;
            times
                .get(index.min(times.len().saturating_sub(1)))
                .map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
        };
        Ok(Round {
            per_second: times.len() as f64 / elapsed.as_secs_f64(),
            median: at(0.5),
            slowest: at(0.99),
            cpu: cpu.as_secs_f64() * 1e6 / times.len() as f64,
        })
    }

    fn cpu(&self) -> anyhow::Result<Duration> {
        self.processes.iter().map(|process| cpu_time(*process)).sum()
    }
}

async fn client(address: String, request: Vec<u8>, until: Instant) -> anyhow::Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut times = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    while Instant::now() < until {
        let start = Instant::now();
        stream.write_all(&request).await?;
        read_answer(&mut stream, &mut buffer).await?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Reads one answer to its end, by its content length.
async fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) -> anyhow::Result<()> {
    let mut filled = 0;
    loop {
        let read = stream.read(buffer.get_mut(filled..).unwrap_or_default()).await?;
        if read == 0 {
            bail!("the server closed the connection");
        }
        filled += read;
        let seen = buffer.get(..filled).unwrap_or_default();
        let Some(end) = seen.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(seen.get(..end).unwrap_or_default())?;
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned))
            .and_then(|length| length.parse::<usize>().ok())
            .with_context(|| format!("an answer with a length, not {head}"))?;
        if filled < end + 4 + length {
            continue;
        }
        if !head.starts_with("HTTP/1.1 200") {
            bail!("the server answered {}", String::from_utf8_lossy(seen));
        }
        return Ok(());
    }
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
