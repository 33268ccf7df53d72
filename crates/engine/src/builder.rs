//! Builder of the engine: the tool kinds it runs and the guards that are on.

use std::sync::Arc;

use haft_core::call::ProgressSink;
use haft_core::{Artifacts, Kind};
use tokio_util::sync::CancellationToken;

use crate::breaker::{BreakerSettings, Breakers};
use crate::cache::ResultCache;
use crate::catalog::Catalog;
use crate::events::Events;
use crate::prepare::Kinds;
use crate::record::{CallSink, Recorder};
use crate::secrets::SecretSource;
use crate::service::{Inner, ToolService, local_caller};
use crate::source::{Loader, ToolSource};
use haft_supervisor::Supervisor;

/// Default number of events that a slow subscriber may lag behind.
const EVENT_CAPACITY: usize = 1024;

/// Default number of records that may wait for the sink.
const RECORD_CAPACITY: usize = 16_384;

/// Default memory limit of the result cache.
const CACHE_BYTES: u64 = 64 << 20;

/// Builds a [`ToolService`]. Everything except validation, timeouts and retries is off by default.
#[derive(Default)]
#[must_use]
pub struct ToolServiceBuilder {
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

impl ToolServiceBuilder {
    /// Adds a kind of tool.
    pub fn kind(mut self, kind: impl Kind + 'static) -> Self {
        self.kinds.add(Arc::new(kind));
        self
    }

    /// Turns on circuit breakers.
    pub fn breaker(mut self, settings: BreakerSettings) -> Self {
        self.breaker = Some(settings);
        self
    }

    /// Caches results of tools that set `cacheTtl`.
    pub fn cache(self) -> Self {
        self.cache_of(CACHE_BYTES)
    }

    /// Caches results of tools that set `cacheTtl`, within a memory limit.
    pub fn cache_of(mut self, bytes: u64) -> Self {
        self.cache_bytes = Some(bytes);
        self
    }

    /// Enforces `rateLimit` and `maxConcurrency` of tools.
    pub fn limits(mut self) -> Self {
        self.limits = true;
        self
    }

    /// Emits events of calls to subscribers.
    pub fn events(self) -> Self {
        self.events_of(EVENT_CAPACITY)
    }

    /// Emits events of calls to subscribers, which lose events if they lag behind by more than this number.
    pub fn events_of(mut self, capacity: usize) -> Self {
        self.events = Some(capacity);
        self
    }

    /// Writes a record of every call to a sink. The writer runs on the runtime of the first call and ends
    /// with it.
    pub fn sink(self, sink: Arc<dyn CallSink>) -> Self {
        self.sink_of(sink, RECORD_CAPACITY)
    }

    /// Writes a record of every call to a sink, with at most this number of records waiting.
    pub fn sink_of(mut self, sink: Arc<dyn CallSink>, capacity: usize) -> Self {
        self.sink = Some((sink, capacity));
        self
    }

    /// Sets the source of the secrets that tools reference.
    pub fn secrets(mut self, source: Arc<dyn SecretSource>) -> Self {
        self.secrets = Some(source);
        self
    }

    /// Sets the store of the files that calls reference.
    pub fn artifacts(mut self, artifacts: Arc<dyn Artifacts>) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// Sets the source of the tools of spaces.
    pub fn tools(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.source = Some(source);
        self
    }

    /// Sets the supervisor that restarts the engine's background tasks.
    pub fn supervisor(mut self, supervisor: Supervisor) -> Self {
        self.supervisor = supervisor;
        self
    }

    #[must_use]
    pub fn build(self) -> ToolService {
        let events = self.events.map(Events::new);
        let tools = self.kinds.tools();
        let catalog = Catalog::with_aliases(self.kinds.tool_aliases());
        let service = ToolService::new(Inner {
            kinds: self.kinds,
            catalog,
            breakers: self.breaker.map(Breakers::new),
            cache: self.cache_bytes.map(ResultCache::new),
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
            if let Err(error) = service.register_provided(spec) {
                tracing::error!(tool.name = %name, %error, "A built-in tool is invalid and was not registered");
            }
        }
        service
    }
}
