//! The process's own log: lines on standard error, for people or programs. Standard output is for answers.

use std::io::IsTerminal;

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    /// One object for each line, with all its fields beside each other.
    Json,
}

/// Writes what a filter lets through to standard error from now on.
pub(crate) fn to_stderr(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| anyhow::anyhow!("HAFT_LOG: {filter:?} is not a log filter: {error}"))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => {
            lines.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
            // A panic is a line like any other, so that every line can be read by a program.
            std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "A thread panicked")));
        }
    }
    Ok(())
}
