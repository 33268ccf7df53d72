//! The log on standard error: text for people or JSON for programs. Standard output is for results.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt;
use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use haft_core::Message;
use haft_core::timestamp::rfc3339;
use haft_engine::Supervisor;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::cli_error::OrFail as _;
use crate::log_writer::LogWriter;
use crate::messages;

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    /// One flat JSON object per line.
    Json,
}

/// Starts logging to standard error directly, for a command. Lines that cannot be written are lost.
pub(crate) fn log_of_command(filter: &str) -> anyhow::Result<()> {
    init(filter, LogFormat::Text, || IgnoreErrors(io::stderr()))
}

/// Starts logging to standard error through a bounded queue, for a server or worker: a stalled or closed
/// output does not block threads that log. Panics are logged, too.
pub(crate) fn log_of_server(
    filter: &str,
    format: LogFormat,
    supervisor: &Supervisor,
) -> anyhow::Result<LogWriter> {
    let writer = LogWriter::start(supervisor)?;
    init(filter, format, writer.clone())?;
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = Backtrace::capture();
        let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace);
        tracing::error!(%panic, backtrace = backtrace.map(tracing::field::display), "A thread panicked");
    }));
    Ok(writer)
}

fn init<W>(filter: &str, format: LogFormat, writer: W) -> anyhow::Result<()>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(filter)
        .or_fail(|| Message::new(&messages::BAD_LOG_FILTER).with("filter", format!("{filter:?}")))?;
    // Internal errors would be printed to the same standard error, and panic if that fails.
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_timer(LogTimer)
        .log_internal_errors(false);
    match format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => {
            lines.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
        }
    }
    Ok(())
}

/// Writes the timestamp of a line in the form that the API uses.
struct LogTimer;

impl FormatTime for LogTimer {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        writer.write_str(&rfc3339(haft_engine::now()))
    }
}

/// Ignores write errors.
struct IgnoreErrors<W>(W);

impl<W: Write> Write for IgnoreErrors<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
