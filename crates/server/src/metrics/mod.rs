//! What Prometheus is told: counted off the way of calls, written out when it asks.
//!
//! Nothing here is global: one [`Metrics`] is built at the start and passed on. What a call was given or gave
//! is never among it.

mod answers;
mod calls;
mod engine;
mod process;
mod supervised;
mod tasks;
mod text;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use haft_engine::{CallRecord, Supervisor, ToolService};
use haft_store::RunCounts;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

pub(crate) use self::answers::Answers;
use self::answers::Routes;
use self::calls::Calls;
use self::engine::Engine;
use self::process::Process;
use self::supervised::SupervisedTasks;
use self::tasks::TaskCounts;
use self::text::{Quoted, counter};

/// All that this process counts.
pub struct Metrics {
    started: SystemTime,
    calls: Calls,
    routes: Routes,
    log: LogCounts,
    spans: SpanCounts,
    log_lines_dropped: Arc<AtomicU64>,
    connections_refused: AtomicU64,
}

/// How the call log fares.
#[derive(Default)]
struct LogCounts {
    rows: AtomicU64,
    failures: AtomicU64,
}

/// What became of spans.
#[derive(Default)]
pub(crate) struct SpanCounts {
    pub(crate) sent: AtomicU64,
    /// Not taken, because too many were waiting.
    pub(crate) surplus: AtomicU64,
    /// Taken, and refused by the collector, or it was away.
    pub(crate) failed: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            started: SystemTime::now(),
            calls: Calls::default(),
            routes: Routes::default(),
            log: LogCounts::default(),
            spans: SpanCounts::default(),
            log_lines_dropped: Arc::default(),
            connections_refused: AtomicU64::new(0),
        }
    }
}

impl Metrics {
    /// Metrics that show the count of lines which the process's own log had to drop.
    pub fn with_log_lines_dropped(count: Arc<AtomicU64>) -> Self {
        Self { log_lines_dropped: count, ..Self::default() }
    }

    /// Counts calls whose records were kept: each once, since those that were not are given again.
    pub fn count(&self, records: &[CallRecord]) {
        self.log.rows.fetch_add(records.len() as u64, Ordering::Relaxed);
        self.calls.count(records);
    }

    /// Records could not be kept, this time.
    pub fn not_kept(&self) {
        self.log.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that was closed at once because of a limit.
    pub(crate) fn connection_refused(&self) {
        self.connections_refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn spans(&self) -> &SpanCounts {
        &self.spans
    }

    /// The counter of one route's answers.
    pub(crate) fn answers(&self, method: &str, path: &str) -> Arc<Answers> {
        self.routes.answers(method, path)
    }

    /// Everything as OpenMetrics has it. It may take some milliseconds: keep it off async threads.
    pub(crate) fn page(
        &self,
        tools: &ToolService,
        supervisor: &Supervisor,
        tasks: Option<Vec<RunCounts>>,
    ) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self.own()));
        registry.register_collector(Box::new(self.calls.now()));
        registry.register_collector(Box::new(Engine::now(tools)));
        registry.register_collector(Box::new(self.routes.now()));
        if let Some(counts) = tasks {
            registry.register_collector(Box::new(TaskCounts::of(&counts)));
        }
        registry.register_collector(Box::new(SupervisedTasks::now(supervisor)));
        registry.register_collector(Box::new(Process::now(self.started)));
        let mut page = String::new();
        encode(&mut page, &registry)?;
        Ok(page)
    }

    fn own(&self) -> Own {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Own {
            rows: read(&self.log.rows),
            failures: read(&self.log.failures),
            log_lines_dropped: read(&self.log_lines_dropped),
            connections_refused: read(&self.connections_refused),
            sent: read(&self.spans.sent),
            dropped: [("full", read(&self.spans.surplus)), ("failed", read(&self.spans.failed))],
        }
    }
}

/// What is counted here itself, at one moment.
#[derive(Debug)]
struct Own {
    rows: u64,
    failures: u64,
    log_lines_dropped: u64,
    connections_refused: u64,
    sent: u64,
    dropped: [(&'static str, u64); 2],
}

impl Collector for Own {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let version = [("version", Quoted(env!("CARGO_PKG_VERSION")))];
        let mut build = encoder.encode_descriptor(
            "haft_build",
            "The version of this process.",
            None,
            MetricType::Info,
        )?;
        build.encode_info(&version)?;
        counter(&mut encoder, "haft_call_log_rows", "Calls written to the call log.", [([], self.rows)])?;
        let help = "Failed writes to the call log; each is retried.";
        counter(&mut encoder, "haft_call_log_write_failures", help, [([], self.failures)])?;
        let help = "Lines of the process log that were dropped because they could not be written.";
        counter(&mut encoder, "haft_log_lines_dropped", help, [([], self.log_lines_dropped)])?;
        let help = "Connections that were refused because of a connection limit.";
        counter(&mut encoder, "haft_connections_refused", help, [([], self.connections_refused)])?;
        let help = "Spans that the trace collector accepted.";
        counter(&mut encoder, "haft_trace_spans_sent", help, [([], self.sent)])?;
        let help = "Lost spans: the queue was full, or sending failed.";
        let dropped = self.dropped.map(|(reason, count)| ([("reason", Quoted(reason))], count));
        counter(&mut encoder, "haft_trace_spans_dropped", help, dropped)
    }
}
