//! The engine this binary ships: every kind and built-in tool it knows, in one readable list.

use std::sync::Arc;

use haft_egress::Egress;
use haft_engine::{
    BoxFuture, BreakerSettings, Builder, CallRecord, CallSink, MockKind, SinkError, ToolService,
};

use haft_http::HttpKind;
use haft_web::SearchProviders;

use crate::secrets::Secrets;

/// An engine for a server: all guards on, every call logged.
pub(crate) fn for_server(egress: Egress, secrets: Secrets, search: SearchProviders) -> ToolService {
    ready(ToolService::builder().events().sink(Arc::new(LogLines)), egress, secrets, search)
}

/// An engine for one command.
pub(crate) fn for_command(egress: Egress, secrets: Secrets, search: SearchProviders) -> ToolService {
    ready(ToolService::builder(), egress, secrets, search)
}

fn ready(builder: Builder, egress: Egress, secrets: Secrets, search: SearchProviders) -> ToolService {
    let builtins = haft_builtins::kind()
        .with(haft_calc::calculator())
        .with(haft_web::url_reader(egress.clone()))
        .with(haft_web::web_search(egress.clone(), search));
    let builder =
        builder.kind(builtins).kind(MockKind).kind(HttpKind::new(egress)).secrets(Arc::new(secrets));
    builder.breaker(BreakerSettings::default()).cache().limits().build()
}

/// Writes one line for each call to the process's log.
struct LogLines;

impl CallSink for LogLines {
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        for record in records {
            let outcome =
                record.outcome.as_ref().err().map_or("success".to_owned(), |error| error.kind().to_string());
            tracing::info!(
                call.id = %record.call_id,
                tool.name = %record.tool_name,
                call.outcome = outcome,
                call.attempts = record.attempts,
                call.duration_ms = record.duration.as_millis() as u64,
                "Called tool `{}`: {outcome}", record.tool_name
            );
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
