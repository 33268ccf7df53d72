//! Arguments of `haft tools` and `haft agents`.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const TOOLS_HELP: &str = "\
Examples:
  haft tools
  haft tools show weather
  haft tools create weather --address 'https://api.example.com/weather/{{city}}' --about 'The weather in a city'
  haft tools create -f weather.json   a whole definition, in JSON or YAML; - for standard input
  haft tools versions weather
  haft tools rollback weather 3       version 3 again, as a new version
  haft tools rm weather               --force takes it from the agents that use it";

pub(super) const AGENTS_HELP: &str = "\
Examples:
  haft agents
  haft agents show weather_guide
  haft agents create weather_guide --tool weather --tool datetime --prompt 'Be brief.'
  haft agents create -f guide.json    a whole definition, in JSON or YAML; - for standard input
  haft agents rm weather_guide

Agents are changed from files: haft apply --help";

#[derive(Args)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ToolsCommand {
    /// Create a tool, from a URL or from a whole definition
    Create {
        /// The tool's name
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        /// A file with a whole definition, or - for standard input
        #[arg(long, short, value_name = "FILE")]
        file: Option<String>,
        /// The address to call, such as https://api.example.com/items/{{id}}
        #[arg(long, value_name = "URL", conflicts_with = "file")]
        address: Option<String>,
        /// The HTTP method; GET when absent
        #[arg(long, value_name = "METHOD", conflicts_with = "file")]
        method: Option<String>,
        /// When to use it, for the model
        #[arg(long, value_name = "TEXT", conflicts_with = "file")]
        about: Option<String>,
    },
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
    /// Create an agent, from a few words or from a whole definition
    Create {
        /// The agent's name
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        /// A file with a whole definition, or - for standard input
        #[arg(long, short, value_name = "FILE")]
        file: Option<String>,
        /// Its instructions
        #[arg(long, value_name = "TEXT", conflicts_with = "file")]
        prompt: Option<String>,
        /// A tool to bind, by name or id; may be given several times
        #[arg(long, value_name = "TOOL", conflicts_with = "file")]
        tool: Vec<String>,
        /// The model to ask, as PROVIDER/MODEL or MODEL; the default one when absent
        #[arg(long, value_name = "MODEL", conflicts_with = "file")]
        model: Option<String>,
        /// What it is for
        #[arg(long, value_name = "TEXT", conflicts_with = "file")]
        about: Option<String>,
    },
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
