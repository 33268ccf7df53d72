//! The command line: what can be said to `haft`, with the help that teaches it.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use haft_core::Locale;
use haft_egress::Networks;

const EXAMPLES: &str = "\
Examples:
  haft tools                          what there is to call, in this process alone
  haft call calculator expression='12.7 cm to inch'
  haft call --file weather.json city=Tokyo
  haft serve                          start a server; it prints its address and token
  HAFT_TOKEN=… haft tools             the tools of that server

Without --url or a token, commands run the engine in this very process.";

/// The handle by which AI agents hold their tools.
#[derive(Parser)]
#[command(name = "haft", version, about, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Settings that every command knows. A flag wins over the environment, the environment over the file.
#[derive(Args)]
pub(crate) struct Settings {
    /// Configuration file; haft.toml in this directory when it is there
    #[arg(long, global = true, env = "HAFT_CONFIG", value_name = "FILE", help_heading = "Settings")]
    pub(crate) config: Option<PathBuf>,
    /// What to log, such as info or haft_engine=debug; goes to standard error
    #[arg(long, global = true, env = "HAFT_LOG", value_name = "FILTER", help_heading = "Settings")]
    pub(crate) log: Option<String>,
    /// Networks that tools may reach besides the public internet, such as 10.0.0.0/8,127.0.0.0/8
    #[arg(
        long,
        global = true,
        env = "HAFT_ALLOW_PRIVATE_NETWORKS",
        value_name = "CIDR,…",
        help_heading = "Settings"
    )]
    pub(crate) allow_private_networks: Option<Networks>,
    /// Certificates to trust beside the system's, as a PEM file
    #[arg(long, global = true, env = "HAFT_CA_CERTS", value_name = "FILE", help_heading = "Settings")]
    pub(crate) ca_certs: Option<PathBuf>,
    /// Language of messages: en or zh; by default that of the terminal
    #[arg(long, global = true, value_name = "LANG", value_parser = parse_locale, help_heading = "Settings")]
    pub(crate) lang: Option<Locale>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Start a server
    Serve(ServeArgs),
    /// List tools, or show one of them
    Tools(ToolsArgs),
    /// Call a tool
    #[command(after_help = CALL_HELP)]
    Call(CallArgs),
    /// Make tools from an API document, a cURL command, a Postman collection or a HAR file
    #[command(after_help = IMPORT_HELP)]
    Import(ImportArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  haft completions bash > ~/.local/share/bash-completion/completions/haft"
    )]
    Completions { shell: Shell },
}

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:7420]
    #[arg(long, env = "HAFT_ADDR", value_name = "ADDR")]
    pub(crate) addr: Option<SocketAddr>,
    /// Token of the admin; without one a new token is made and printed
    #[arg(long, env = "HAFT_ADMIN_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub(crate) admin_token: Option<String>,
}

/// Which server to ask; none means the engine in this process.
#[derive(Args)]
pub(crate) struct ServerArgs {
    /// Server to ask, such as http://127.0.0.1:7420
    #[arg(long, global = true, env = "HAFT_URL", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Token for the server; HAFT_ADMIN_TOKEN is taken too
    #[arg(long, global = true, env = "HAFT_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// The same, under the name `haft serve` knows it by
    #[arg(long, global = true, env = "HAFT_ADMIN_TOKEN", hide = true)]
    pub(crate) admin_token: Option<String>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

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
}

const IMPORT_HELP: &str = "\
Examples:
  haft import openapi petstore.yaml --name petstore --dry-run
  haft import openapi https://api.example.com/openapi.json --only getUser --only 'POST /users'
  haft import curl 'curl https://api.example.com/users/42 -H \"Authorization: Bearer …\"'
  pbpaste | haft import curl -
  haft import postman collection.json";

#[derive(Args)]
pub(crate) struct ImportArgs {
    /// Put before the name of each tool
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Only this one: a tool's name, an operationId, or METHOD /path; may be given several times
    #[arg(long, global = true, value_name = "OPERATION")]
    pub(crate) only: Vec<String>,
    /// Show what would come, and keep nothing
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: ImportCommand,
}

#[derive(Subcommand)]
pub(crate) enum ImportCommand {
    /// An OpenAPI 3 or Swagger 2 document, in JSON or YAML
    Openapi {
        /// A file, a URL, or - for standard input
        source: String,
        /// Where the API is, whatever the document says
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
    },
    /// A cURL command, as copied from a browser or an API's documentation
    Curl {
        /// The whole command in quotes, or - for standard input
        command: String,
    },
    /// A Postman collection
    Postman {
        /// A file, or - for standard input
        file: String,
        /// Where the API is, when the collection leaves it to an environment
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
    },
    /// What a browser recorded, as a HAR file
    Har {
        /// A file, or - for standard input
        file: String,
    },
}

const CALL_HELP: &str = "\
Arguments:
  city=Tokyo            a text; becomes a number or boolean where only that fits
  days:=3               JSON as it stands: numbers, lists, objects
  --args '{\"days\": 3}'  all arguments as one JSON object
  -                     the same from standard input

Secrets:
  secret://weather_key in a definition is read from HAFT_SECRET_WEATHER_KEY

Exit codes:
  0  it worked                      5  the upstream failed or is limited
  1  the tool or haft failed        6  it took too long
  2  the arguments are not right    7  the server is busy or away; try again later
  3  there is no such tool          8  the outcome is not known
  4  it is not allowed            130  it was cancelled";

#[derive(Args)]
pub(crate) struct CallArgs {
    /// The tool's name or id; not needed with a --file that holds one tool
    #[arg(required_unless_present = "file")]
    pub(crate) name: Option<String>,
    /// Arguments: key=value, key:=json, or - for JSON from standard input
    #[arg(value_name = "ARGUMENT")]
    pub(crate) pairs: Vec<String>,
    /// Take the tool from a file with its definition, or a list of them, in JSON; it runs in this process
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "pairs")]
    pub(crate) args: Option<String>,
    /// Check everything and show what would be done, but call nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take arguments only as they are: "3" is not 3
    #[arg(long)]
    pub(crate) strict: bool,
    /// Milliseconds for one attempt
    #[arg(long, value_name = "MS")]
    pub(crate) timeout: Option<u64>,
    /// Further attempts after the first
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

fn parse_locale(text: &str) -> Result<Locale, String> {
    Locale::from_tag(text).ok_or_else(|| "haft speaks en and zh".to_owned())
}
