//! How the process fares, under the names that every Prometheus client uses.
//!
//! What the system does not tell is left out.

use std::fmt;
use std::time::{Duration, SystemTime};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use rustix::time::{ClockId, clock_gettime};

use super::text::gauge;

#[derive(Debug)]
pub(super) struct Process {
    started: SystemTime,
    cpu: Duration,
    resident_bytes: Option<u64>,
    open_files: Option<usize>,
    most_files: Option<u64>,
}

impl Process {
    pub(super) fn now(started: SystemTime) -> Self {
        Self {
            started,
            cpu: cpu_time(),
            resident_bytes: number("/proc/self/status", "VmRSS:").map(|kilobytes| kilobytes * 1024),
            // Looking for them opens one more.
            open_files: std::fs::read_dir("/proc/self/fd").ok().map(|files| files.count().saturating_sub(1)),
            most_files: number("/proc/self/limits", "Max open files"),
        }
    }
}

/// Of all threads.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The first number behind a name that begins a line.
fn number(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Total user and system CPU time spent in seconds.";
        let (seconds, bytes) = (Unit::Seconds, Unit::Bytes);
        let mut cpu = encoder.encode_descriptor("process_cpu", help, Some(&seconds), MetricType::Counter)?;
        cpu.encode_counter::<NoLabelSet, _, f64>(&self.cpu.as_secs_f64(), None)?;
        let help = "Start time of the process since unix epoch in seconds.";
        let mut start =
            encoder.encode_descriptor("process_start_time", help, Some(&seconds), MetricType::Gauge)?;
        let since = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        start.encode_gauge(&since.as_secs_f64())?;
        if let Some(resident) = self.resident_bytes {
            let help = "Resident memory size in bytes.";
            let mut memory = encoder.encode_descriptor(
                "process_resident_memory",
                help,
                Some(&bytes),
                MetricType::Gauge,
            )?;
            memory.encode_gauge(&resident)?;
        }
        if let Some(files) = self.open_files {
            gauge(&mut encoder, "process_open_fds", "Number of open file descriptors.", files)?;
        }
        if let Some(files) = self.most_files {
            gauge(&mut encoder, "process_max_fds", "Maximum number of open file descriptors.", files)?;
        }
        Ok(())
    }
}
