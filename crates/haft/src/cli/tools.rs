//! What `haft tools` and `haft agents` take.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const TOOLS_HELP: &str = "\
Examples:
  haft tools
  haft tools show weather
  haft tools versions weather
  haft tools rollback weather 3       version 3 again, as a new version
  haft tools rm weather               --force takes it from the agents that use it";

pub(super) const AGENTS_HELP: &str = "\
Examples:
  haft agents
  haft agents show weather_guide
  haft agents rm weather_guide

Agents are made and changed from files: haft apply --help";

#[derive(Args)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ToolsCommand {
    /// Show one tool: what it does, what it takes, how to call it
    Show {
        /// The tool's name or id
        name: String,
    },
    /// Delete a tool
    Rm {
        /// The tool's name or id
        name: String,
        /// Also when agents use it; it is taken from them
        #[arg(long)]
        force: bool,
    },
    /// List the versions of a tool, the newest first
    Versions {
        /// The tool's name or id
        name: String,
    },
    /// Make an old version the newest again
    Rollback {
        /// The tool's name or id
        name: String,
        /// The version to go back to
        version: u64,
    },
}

#[derive(Args)]
pub(crate) struct AgentsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<AgentsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum AgentsCommand {
    /// Show one agent: its model, its tools, what it is told
    Show {
        /// The agent's name or id
        name: String,
    },
    /// Delete an agent
    Rm {
        /// The agent's name or id
        name: String,
    },
}
