//! Arguments of `haft tools` and `haft agents`.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const TOOLS_HELP: &str = "\
Examples:
  haft tools
  haft tools show weather
  haft tools create weather --address 'https://api.example.com/weather/{{city}}' --about 'The weather in a city'
  haft tools create -f weather.json   a complete definition in JSON or YAML; - for standard input
  haft tools versions weather
  haft tools rollback weather 3       restore version 3 as a new version
  haft tools rm weather               with --force even if agents use the tool";

pub(super) const AGENTS_HELP: &str = "\
Examples:
  haft agents
  haft agents show weather_guide
  haft agents create weather_guide --tool weather --tool datetime --prompt 'Be brief.'
  haft agents create -f guide.json    a complete definition in JSON or YAML; - for standard input
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
    /// Create a tool from a URL or from a complete definition
    Create {
        /// The tool's name
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        /// A file with a complete definition, or - for standard input
        #[arg(long, short, value_name = "FILE")]
        file: Option<String>,
        /// The address to call, such as https://api.example.com/items/{{id}}
        #[arg(long, value_name = "URL", conflicts_with = "file")]
        address: Option<String>,
        /// The HTTP method [default: GET]
        #[arg(long, value_name = "METHOD", conflicts_with = "file")]
        method: Option<String>,
        /// The description of the tool, which the model reads
        #[arg(long, value_name = "TEXT", conflicts_with = "file")]
        about: Option<String>,
    },
    /// Show the description, the arguments and an example call of a tool
    Show {
        /// The tool's name or id
        name: String,
    },
    /// Delete a tool
    Rm {
        /// The tool's name or id
        name: String,
        /// Delete the tool even if agents use it, and remove it from them
        #[arg(long)]
        force: bool,
    },
    /// List the versions of a tool, newest first
    Versions {
        /// The tool's name or id
        name: String,
    },
    /// Restore an old version as a new version
    Rollback {
        /// The tool's name or id
        name: String,
        /// The version to restore
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
    /// Create an agent from a few options or from a complete definition
    Create {
        /// The agent's name
        #[arg(required_unless_present = "file")]
        name: Option<String>,
        /// A file with a complete definition, or - for standard input
        #[arg(long, short, value_name = "FILE")]
        file: Option<String>,
        /// The system prompt
        #[arg(long, value_name = "TEXT", conflicts_with = "file")]
        prompt: Option<String>,
        /// A tool to bind, by name or id; may be given several times
        #[arg(long, value_name = "TOOL", conflicts_with = "file")]
        tool: Vec<String>,
        /// The model, as PROVIDER/MODEL or MODEL [default: the default model]
        #[arg(long, value_name = "MODEL", conflicts_with = "file")]
        model: Option<String>,
        /// The description of the agent
        #[arg(long, value_name = "TEXT", conflicts_with = "file")]
        about: Option<String>,
    },
    /// Show the model, the tools and the system prompt of an agent
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
