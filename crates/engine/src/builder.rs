//! Putting an engine together: which kinds it can run and which guards are on.

use std::sync::Arc;

use haft_core::call::ProgressSink;
use haft_core::{Artifacts, Kind};
use tokio_util::sync::CancellationToken;

use crate::breaker::{BreakerSettings, Breakers};
use crate::cache::AnswerCache;
use crate::catalogue::Catalogue;
use crate::events::Events;
use crate::prepare::Kinds;
use crate::record::{CallSink, Recorder};
use crate::secrets::SecretSource;
use crate::service::{Inner, ToolService, local_caller};
use crate::source::{Loader, ToolSource};
use crate::supervisor::Supervisor;

/// So many events a slow subscriber may be behind.
const EVENTS_BEHIND: usize = 1024;

/// So many records may wait for the sink.
const RECORDS_WAITING: usize = 16_384;

/// So much memory kept answers may take.
const CACHE_BYTES: u64 = 64 << 20;

/// Builds a [`ToolService`]. Everything beside validation, deadlines and retries is off until it is turned on.
#[derive(Default)]
#[must_use]
pub struct Builder {
    kinds: Kinds,
    breaker: Option<BreakerSettings>,
    cache_bytes: Option<u64>,
    limits: bool,
    events: Option<usize>,
    sink: Option<(Arc<dyn CallSink>, usize)>,
    secrets: Option<Arc<dyn SecretSource>>,
    artifacts: Option<Arc<dyn Artifacts>>,
    source: Option<Arc<dyn ToolSource>>,
    supervisor: Supervisor,
}

impl Builder {
    /// Adds a kind of tool.
    pub fn kind(mut self, kind: impl Kind + 'static) -> Self {
        self.kinds.add(Arc::new(kind));
        self
    }

    /// Leaves an upstream alone that keeps failing.
    pub fn breaker(mut self, settings: BreakerSettings) -> Self {
        self.breaker = Some(settings);
        self
    }

    /// Keeps answers of tools that set `cacheTtl`.
    pub fn cache(self) -> Self {
        self.cache_of(CACHE_BYTES)
    }

    /// The same, in so much memory.
    pub fn cache_of(mut self, bytes: u64) -> Self {
        self.cache_bytes = Some(bytes);
        self
    }

    /// Holds tools to their `rateLimit` and `maxConcurrency`.
    pub fn limits(mut self) -> Self {
        self.limits = true;
        self
    }

    /// Publishes events of calls to subscribers.
    pub fn events(self) -> Self {
        self.events_of(EVENTS_BEHIND)
    }

    /// The same, where a slow subscriber may be so many events behind.
    pub fn events_of(mut self, behind: usize) -> Self {
        self.events = Some(behind);
        self
    }

    /// Records every call into a sink. The writer runs on the runtime of the first call and ends with it.
    pub fn sink(self, sink: Arc<dyn CallSink>) -> Self {
        self.sink_of(sink, RECORDS_WAITING)
    }

    /// The same, with so many records waiting at most.
    pub fn sink_of(mut self, sink: Arc<dyn CallSink>, waiting: usize) -> Self {
        self.sink = Some((sink, waiting));
        self
    }

    /// Where the secrets are kept that tools name.
    pub fn secrets(mut self, source: Arc<dyn SecretSource>) -> Self {
        self.secrets = Some(source);
        self
    }

    /// Where the files are kept that calls name.
    pub fn artifacts(mut self, artifacts: Arc<dyn Artifacts>) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// Where the tools of spaces are kept.
    pub fn tools(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.source = Some(source);
        self
    }

    /// Restarts the background tasks of the engine.
    pub fn supervisor(mut self, supervisor: Supervisor) -> Self {
        self.supervisor = supervisor;
        self
    }

    #[must_use]
    pub fn build(self) -> ToolService {
        let events = self.events.map(Events::new);
        let tools = self.kinds.tools();
        let catalogue = Catalogue::with_aliases(self.kinds.tool_aliases());
        let service = ToolService::new(Inner {
            kinds: self.kinds,
            catalogue,
            breakers: self.breaker.map(Breakers::new),
            cache: self.cache_bytes.map(AnswerCache::new),
            limits_on: self.limits,
            progress: events.clone().map(|events| Arc::new(events) as Arc<dyn ProgressSink>),
            events,
            recorder: self.sink.map(|(sink, waiting)| Recorder::new(sink, waiting, self.supervisor)),
            secrets: self.secrets,
            no_secrets: Arc::default(),
            artifacts: self.artifacts,
            loader: self.source.map(Loader::new),
            local: local_caller(),
            stop: CancellationToken::new(),
        });
        for spec in tools {
            let name = spec.name.clone();
            if let Err(error) = service.register(spec) {
                tracing::error!(tool.name = %name, %error, "A tool that comes with its kind is not right and is left out");
            }
        }
        service
    }
}
