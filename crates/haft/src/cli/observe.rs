//! Arguments of the commands that look at what a server did and what it is connected to.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const CALLS_HELP: &str = "\
Examples:
  haft calls                          the last 50, the newest first
  haft calls --status failed --tool weather --limit 200
  haft calls --since 2026-08-01T00:00:00Z --agent clerk
  haft calls show ID                  one, with its arguments and its result";

pub(super) const STATS_HELP: &str = "\
Examples:
  haft stats                          the last 24 hours, by tool
  haft stats --window 7d --tool weather";

pub(super) const EVENTS_HELP: &str = "\
Examples:
  haft events                         until Ctrl-C
  haft events --types 'tool.call.*' --tool weather
  haft events --json | jq .           one JSON object per line

A connection that breaks is made again and goes on behind the last event.";

pub(super) const PROVIDERS_HELP: &str = "\
Examples:
  haft providers
  haft providers show openai
  haft providers test openai          whether address and key are right
  haft providers rm openai

Providers are created and changed from files: haft apply --help";

pub(super) const ALERTS_HELP: &str = "\
Examples:
  haft alerts                         each with its state
  haft alerts show ID
  haft alerts rm ID

Alerts are created and changed from files: haft apply --help";

#[derive(Args)]
pub(crate) struct CallsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Only calls of this tool, by name or id
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Only calls for this agent, by name or id
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Only calls that ended so: success, failed or cancelled
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only calls that began then or later, such as 2026-08-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only calls with these words in the tool's name or the error
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
    /// Calls to list at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    #[command(subcommand)]
    pub(crate) command: Option<CallsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum CallsCommand {
    /// Show one call, with its arguments and its result
    Show {
        /// The call's id
        id: String,
    },
}

#[derive(Args)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// How far back: 15m, 1h, 6h, 24h, 7d, 30d or 90d
    #[arg(long, value_name = "WINDOW")]
    pub(crate) window: Option<String>,
    /// Only calls of this tool, by name or id
    #[arg(long, value_name = "TOOL", conflicts_with = "agent")]
    pub(crate) tool: Option<String>,
    /// Only calls for this agent, by name or id
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
}

#[derive(Args)]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Only events of these types, separated by commas; tool.call.* for all that begin so
    #[arg(long, value_name = "TYPE,…")]
    pub(crate) types: Option<String>,
    /// Only events of this tool, by name or id
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// End after so many events
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
}

#[derive(Args)]
pub(crate) struct ProvidersArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<ProvidersCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ProvidersCommand {
    /// Show one provider
    Show {
        /// The provider's name or id
        name: String,
    },
    /// Ask a provider for its models
    Test {
        /// The provider's name or id
        name: String,
    },
    /// Delete a provider; its key stays among the secrets
    Rm {
        /// The provider's name or id
        name: String,
    },
}

#[derive(Args)]
pub(crate) struct AlertsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<AlertsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum AlertsCommand {
    /// Show one alert
    Show {
        /// The alert's id
        id: String,
    },
    /// Delete an alert
    Rm {
        /// The alert's id
        id: String,
    },
}

#[derive(Args)]
pub(crate) struct OpenArgs {
    /// The page to open, such as tools or chat
    pub(crate) page: Option<String>,
    /// Print the address and open nothing
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
