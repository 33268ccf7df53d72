//! The engine this binary ships: every kind and built-in tool it knows, in one readable list.

use std::sync::Arc;

use haft_agent::AgentKind;
use haft_egress::Egress;
use haft_engine::{
    BoxFuture, BreakerSettings, Builder, CallRecord, CallSink, MockKind, SinkError, ToolService,
};

use haft_http::HttpKind;
use haft_web::SearchProviders;

use haft_server::{LoggedCalls, Metrics, StoredArtifacts, StoredSecrets, StoredTools, Traces};
use haft_store::{CallLog, Store};

/// So many events a listener may be behind before it is dropped. All listeners share them, and those of all
/// spaces are among them, so a busy moment of one space must not cost another its listeners.
const EVENTS_BEHIND: usize = 4096;

/// What an engine works with.
pub(crate) struct Parts {
    pub(crate) egress: Egress,
    pub(crate) store: Store,
    pub(crate) secrets: Arc<StoredSecrets>,
    pub(crate) artifacts: Arc<StoredArtifacts>,
    pub(crate) search: SearchProviders,
    pub(crate) agents: AgentKind,
}

/// Who else is told of finished calls.
pub(crate) struct Telemetry {
    pub(crate) metrics: Arc<Metrics>,
    /// None where no collector was named.
    pub(crate) traces: Option<Arc<Traces>>,
}

/// An engine for a server: all guards on, every call logged.
pub(crate) fn for_server(parts: Parts, log: CallLog, telemetry: Telemetry) -> ToolService {
    let sink = Recorded { kept: LoggedCalls::new(log), telemetry };
    let supervisor = parts.store.supervisor().clone();
    let builder = ToolService::builder().supervisor(supervisor).events_of(EVENTS_BEHIND);
    ready(builder.sink(Arc::new(sink)), parts)
}

/// An engine for one command.
pub(crate) fn for_command(parts: Parts) -> ToolService {
    ready(ToolService::builder(), parts)
}

fn ready(builder: Builder, parts: Parts) -> ToolService {
    let Parts { egress, store, secrets, artifacts, search, agents } = parts;
    let builtins = haft_builtins::kind()
        .with(haft_calc::calculator())
        .with(haft_web::url_reader(egress.clone()))
        .with(haft_web::web_search(egress.clone(), search));
    let builder = builder.kind(builtins).kind(MockKind).kind(HttpKind::new(egress)).kind(agents);
    let builder = builder.secrets(secrets).artifacts(artifacts).tools(Arc::new(StoredTools::new(store)));
    builder.breaker(BreakerSettings::default()).cache().limits().build()
}

/// Keeps each call in the call log, counts it, and writes one line for it to the process's own.
struct Recorded {
    kept: LoggedCalls,
    telemetry: Telemetry,
}

impl CallSink for Recorded {
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async move {
            let Telemetry { metrics, traces } = &self.telemetry;
            // First, since records that were not kept come again.
            self.kept.write(records).await.inspect_err(|_| metrics.not_kept())?;
            metrics.count(records);
            if let Some(traces) = traces {
                traces.send(records);
            }
            records.iter().for_each(say);
            Ok(())
        })
    }
}

/// One line for a call that failed. One that worked is on record, and told only to who asks for more.
fn say(record: &CallRecord) {
    macro_rules! say {
        ($level:ident, $outcome:expr) => {
            tracing::$level!(
                call.id = %record.call_id,
                tool.name = %record.tool_name,
                space.id = %record.space,
                user.id = record.user.map(display),
                agent.id = record.agent.map(display),
                request.id = record.request.as_ref().map(display),
                call.outcome = $outcome,
                call.attempts = record.attempts,
                call.duration_ms = record.duration.as_millis() as u64,
                "Called tool `{}`: {}", record.tool_name, $outcome
            )
        };
    }
    match &record.outcome {
        Ok(_) => say!(debug, "success"),
        Err(error) => say!(info, error.kind().to_string()),
    }
}
