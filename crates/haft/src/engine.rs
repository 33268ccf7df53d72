//! The engine of this binary: the list of all kinds of tools and all built-in tools.

use std::sync::Arc;

use haft_agent::AgentKind;
use haft_core::builtin::BuiltinKind;
use haft_egress::Egress;
use haft_engine::{
    BoxFuture, BreakerSettings, CallRecord, CallSink, MockKind, SinkError, ToolService, ToolServiceBuilder,
};

use haft_http::HttpKind;
use haft_web::SearchProviders;

use haft_server::{LoggedCalls, Metrics, StoredArtifacts, StoredSecrets, StoredTools, Traces};
use haft_store::{CallLog, Store};

/// Maximum number of events that a subscriber may be behind before it is disconnected. All spaces share this
/// buffer, so it is large: a burst of events in one space must not disconnect subscribers of another.
const EVENT_BUFFER: usize = 4096;

/// The services that an engine is built from.
pub(crate) struct Parts {
    pub(crate) egress: Egress,
    pub(crate) store: Store,
    pub(crate) secrets: Arc<StoredSecrets>,
    pub(crate) artifacts: Arc<StoredArtifacts>,
    pub(crate) search: SearchProviders,
    pub(crate) agents: AgentKind,
}

/// Metrics and traces, which receive each finished call.
pub(crate) struct Telemetry {
    pub(crate) metrics: Arc<Metrics>,
    /// `None` if no collector is configured.
    pub(crate) traces: Option<Arc<Traces>>,
}

/// Builds the engine of a server, which records every call.
pub(crate) fn for_server(parts: Parts, log: CallLog, telemetry: Telemetry) -> ToolService {
    let sink = CallRecorder { call_log: LoggedCalls::new(log), telemetry };
    let supervisor = parts.store.supervisor().clone();
    let builder = ToolService::builder().supervisor(supervisor).events_of(EVENT_BUFFER);
    build(builder.sink(Arc::new(sink)), parts)
}

/// Builds the engine of a single command, which records no calls.
pub(crate) fn for_command(parts: Parts) -> ToolService {
    build(ToolService::builder(), parts)
}

fn build(builder: ToolServiceBuilder, parts: Parts) -> ToolService {
    let Parts { egress, store, secrets, artifacts, search, agents } = parts;
    let builder =
        builder.kind(builtins(&egress, search)).kind(MockKind).kind(HttpKind::new(egress)).kind(agents);
    let builder = builder.secrets(secrets).artifacts(artifacts).tools(Arc::new(StoredTools::new(store)));
    builder.breaker(BreakerSettings::default()).cache().limits().build()
}

fn builtins(egress: &Egress, search: SearchProviders) -> BuiltinKind {
    haft_builtins::kind()
        .with(haft_calc::calculator())
        .with(haft_web::url_reader(egress.clone()))
        .with(haft_web::web_search(egress.clone(), search))
}

/// Writes each call to the call log, then to metrics, traces and the log of the process.
struct CallRecorder {
    call_log: LoggedCalls,
    telemetry: Telemetry,
}

impl CallSink for CallRecorder {
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async move {
            let Telemetry { metrics, traces } = &self.telemetry;
            // First, since records that fail to be written are sent again.
            self.call_log.write(records).await.inspect_err(|_| metrics.not_kept())?;
            metrics.count(records);
            if let Some(traces) = traces {
                traces.send(records);
            }
            records.iter().for_each(log_call);
            Ok(())
        })
    }
}

/// Logs one line for a call. The level is `info` for a failed call and `debug` for a successful one.
fn log_call(record: &CallRecord) {
    macro_rules! log_line {
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
        Ok(_) => log_line!(debug, "success"),
        Err(error) => log_line!(info, error.kind().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_built_in_tools_are_valid() {
        let builtins = builtins(&Egress::default(), SearchProviders::default());
        let tools = ToolService::builder().kind(builtins).build();
        assert_eq!(tools.list().len(), 8);
        for tool in tools.list() {
            let checked = tools.validate(tool.spec.clone());
            assert_eq!(checked.map_err(|error| error.to_string()), Ok(()), "{}", tool.spec.name);
        }
    }
}
