//! Traces over OTLP: finished calls become spans, which go to the collector that the operator named.
//!
//! Nobody waits for a collector. Spans leave through a bounded queue, and what finds no room there is lost
//! and counted. Without a collector nothing of this is made.

mod collector;
mod span;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use haft_egress::Egress;
use haft_engine::{CallRecord, Supervisor};
use opentelemetry::KeyValue;
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::collector::{Collector, LastFailure};
use self::span::SpanMaker;
use crate::metrics::Metrics;

/// So many spans may wait for the collector.
const WAITING: usize = 4_096;

/// So many go to it at once, at most …
const BATCH: usize = 512;

/// … and so often, when there are fewer.
const EVERY: Duration = Duration::from_secs(1);

/// A batch is tried for so long, again and again where the collector is away.
const PATIENCE: Duration = Duration::from_secs(10);

/// And the last ones for so long, when the process stops.
const LAST: Duration = Duration::from_secs(2);

/// Who operates this is told of failures at most so often.
const QUIET: Duration = Duration::from_secs(60);

/// Where traces go, and what they say of who sends them.
pub struct TraceSettings {
    pub endpoint: Url,
    /// Sent with every batch; they hold credentials.
    pub headers: HeaderMap,
    pub service: String,
    /// What else is said of this service.
    pub attributes: Vec<(String, String)>,
}

/// The way of spans to the collector.
pub struct Traces {
    spans: SpanMaker,
    queue: mpsc::Sender<SpanData>,
    batch_waits: Arc<Notify>,
    closing: CancellationToken,
    sender: Mutex<Option<JoinHandle<()>>>,
    metrics: Arc<Metrics>,
}

impl Traces {
    /// Starts sending. Needs a runtime.
    pub fn start(
        settings: TraceSettings,
        egress: Egress,
        metrics: Arc<Metrics>,
        supervisor: &Supervisor,
    ) -> Result<Self, ExporterBuildError> {
        let (queue, waiting) = mpsc::channel(WAITING);
        let (batch_waits, closing) = (Arc::<Notify>::default(), CancellationToken::new());
        let failure = LastFailure::default();
        let sending = Sending {
            exporter: exporter(settings, egress, failure.clone())?,
            waiting,
            batch_waits: batch_waits.clone(),
            closing: closing.clone(),
            metrics: metrics.clone(),
            failure,
            told: None,
        };
        let sending = Arc::new(AsyncMutex::new(sending));
        let start = move || {
            let sending = sending.clone();
            async move { sending.lock().await.run().await }
        };
        // close() waits for it.
        let sender = Mutex::new(Some(supervisor.spawn("trace exporter", start)));
        Ok(Self { spans: SpanMaker::default(), queue, batch_waits, closing, sender, metrics })
    }

    /// Makes spans of finished calls and leaves them to be sent. Never waits.
    pub fn send(&self, records: &[CallRecord]) {
        for span in records.iter().filter_map(|record| self.spans.span_of(record)) {
            if self.queue.try_send(span).is_err() {
                self.metrics.spans().surplus.fetch_add(1, Ordering::Relaxed);
            }
        }
        if self.queue.max_capacity() - self.queue.capacity() >= BATCH {
            self.batch_waits.notify_one();
        }
    }

    /// Sends what is waiting, in a short time or not at all.
    pub async fn close(&self) {
        self.closing.cancel();
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut sender) = sender else { return };
        if tokio::time::timeout(LAST, &mut sender).await.is_err() {
            sender.abort();
            tracing::warn!("The last spans could not be sent to the trace collector in time");
        }
    }
}

fn exporter(
    settings: TraceSettings,
    egress: Egress,
    failure: LastFailure,
) -> Result<SpanExporter, ExporterBuildError> {
    let TraceSettings { endpoint, headers, service, attributes } = settings;
    let attributes = attributes.into_iter().map(|(name, value)| KeyValue::new(name, value));
    let resource = Resource::builder_empty()
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attributes(attributes)
        .with_service_name(service)
        .build();
    let address = endpoint.to_string();
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Collector::new(egress, endpoint, headers, failure))
        .with_endpoint(address)
        .with_protocol(Protocol::HttpBinary)
        .with_timeout(PATIENCE)
        .build()?;
    exporter.set_resource(&resource);
    Ok(exporter)
}

/// Takes spans off the queue and sends them, many at a time.
struct Sending {
    exporter: SpanExporter,
    waiting: mpsc::Receiver<SpanData>,
    batch_waits: Arc<Notify>,
    closing: CancellationToken,
    metrics: Arc<Metrics>,
    failure: LastFailure,
    /// When a failure was last told of.
    told: Option<Instant>,
}

impl Sending {
    async fn run(&mut self) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = self.batch_waits.notified() => {}
                () = self.closing.cancelled() => {}
            }
            // Asked first: whoever closes has put in the last span by then.
            let is_last = self.closing.is_cancelled();
            while let Some(batch) = self.next_batch() {
                self.export(batch).await;
            }
            if is_last {
                return;
            }
        }
    }

    fn next_batch(&mut self) -> Option<Vec<SpanData>> {
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && let Ok(span) = self.waiting.try_recv()
        {
            batch.push(span);
        }
        (!batch.is_empty()).then_some(batch)
    }

    async fn export(&mut self, batch: Vec<SpanData>) {
        let (count, spans) = (batch.len() as u64, self.metrics.spans());
        match self.exporter.export(batch).await {
            Ok(()) => {
                spans.sent.fetch_add(count, Ordering::Relaxed);
            }
            Err(error) => {
                spans.failed.fetch_add(count, Ordering::Relaxed);
                self.tell(&error);
            }
        }
    }

    fn tell(&mut self, error: &OTelSdkError) {
        let cause = self.failure.take();
        let now = Instant::now();
        if self.told.is_some_and(|told| now.duration_since(told) < QUIET) {
            return;
        }
        self.told = Some(now);
        tracing::warn!(%error, cause, "Spans could not be sent to the trace collector and are lost");
    }
}
