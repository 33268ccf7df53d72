//! Arguments of the commands that show calls, statistics, events, providers and alerts, and open the console.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const CALLS_HELP: &str = "\
Examples:
  haft calls                          the last 50 calls, newest first
  haft calls --status failed --tool weather --limit 200
  haft calls --since 2026-08-01T00:00:00Z --agent clerk
  haft calls show ID                  one call with its arguments and result";

pub(super) const STATS_HELP: &str = "\
Examples:
  haft stats                          the last 24 hours, by tool
  haft stats --window 7d --tool weather";

pub(super) const EVENTS_HELP: &str = "\
Examples:
  haft events                         until Ctrl-C
  haft events --types 'tool.call.*' --tool weather
  haft events --json | jq .           one JSON object per line

After a disconnect, the command reconnects and continues after the last event.";

pub(super) const PROVIDERS_HELP: &str = "\
Examples:
  haft providers
  haft providers show openai
  haft providers test openai          check address and key
  haft providers rm openai

Providers are created and changed from files: haft apply --help";

pub(super) const ALERTS_HELP: &str = "\
Examples:
  haft alerts                         all alerts with their states
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
    /// Only calls with this status: success, failed or cancelled
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only calls that started at this time or later, such as 2026-08-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only calls with these words in the tool's name or the error
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
    /// Maximum number of calls to list
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
    /// Time range up to now: 15m, 1h, 6h, 24h, 7d, 30d or 90d [default: 24h]
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
    /// Only events of these types, separated by commas; tool.call.* matches all types with that prefix
    #[arg(long, value_name = "TYPE,…")]
    pub(crate) types: Option<String>,
    /// Only events of this tool, by name or id
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Exit after this number of events
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
    /// Check address and key by listing the models of a provider
    Test {
        /// The provider's name or id
        name: String,
    },
    /// Delete a provider; the secret with its key is not deleted
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
    /// Print the address without opening it
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
