//! The command line: what can be said to `haft`, with the help that teaches it.
//!
//! What every command knows is here; what only some know is in the files below.

mod audit;
mod call;
mod chat;
mod files;
mod import;
mod people;
mod secrets;
mod tasks;
mod tools;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use haft_core::Locale;
use haft_egress::Networks;
use url::Url;

pub(crate) use audit::{AuditArgs, AuditCommand};
pub(crate) use call::CallArgs;
pub(crate) use chat::ChatArgs;
pub(crate) use files::{ApplyArgs, ExportArgs};
pub(crate) use import::{ImportArgs, ImportCommand};
pub(crate) use people::{
    AdminCommand, LoginArgs, LogoutArgs, SpacesArgs, SpacesCommand, TokensArgs, TokensCommand, UsersArgs,
    UsersCommand,
};
pub(crate) use secrets::{SecretsArgs, SecretsCommand};
pub(crate) use tasks::{ApprovalsArgs, ApprovalsCommand, TasksArgs, TasksCommand};
pub(crate) use tools::{AgentsArgs, AgentsCommand, ToolsArgs, ToolsCommand};

use crate::log::LogFormat;

const EXAMPLES: &str = "\
Examples:
  haft tools                          what there is to call, in this process alone
  haft call calculator expression='12.7 cm to inch'
  haft call --file weather.json city=Tokyo
  haft chat -m 'Hello'                a model, or an agent with tools: haft chat NAME
  haft serve                          start a server; it prints its address and token
  haft login http://127.0.0.1:7420    from now on, commands ask that server
  HAFT_TOKEN=… haft tools             the same without a login

Without --url, a token or a login, tools and calls run in this very process.";

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
    /// Directory for the database and the key of secrets [default: ~/.local/share/haft]
    #[arg(long, global = true, env = "HAFT_DATA_DIR", value_name = "DIR", help_heading = "Settings")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Database in place of the embedded one: postgres://… or sqlite:DIR
    #[arg(
        long,
        global = true,
        env = "HAFT_DATABASE_URL",
        value_name = "URL",
        hide_env_values = true,
        help_heading = "Settings"
    )]
    pub(crate) database_url: Option<String>,
    /// Key of secrets in place of the key file: 32 bytes in base64 or hex; older ones after a comma
    #[arg(
        long,
        global = true,
        env = "HAFT_MASTER_KEY",
        value_name = "KEY",
        hide_env_values = true,
        help_heading = "Settings"
    )]
    pub(crate) master_key: Option<String>,
    /// Where people reach the server, such as https://haft.example.com
    #[arg(long, global = true, env = "HAFT_PUBLIC_URL", value_name = "URL", help_heading = "Settings")]
    pub(crate) public_url: Option<Url>,
    /// Proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8
    #[arg(
        long,
        global = true,
        env = "HAFT_TRUSTED_PROXIES",
        value_name = "CIDR,…",
        help_heading = "Settings"
    )]
    pub(crate) trusted_proxies: Option<Networks>,
    /// Other sites whose pages may use the API, such as https://app.example.com
    #[arg(
        long,
        global = true,
        env = "HAFT_ALLOWED_ORIGINS",
        value_name = "ORIGIN,…",
        value_delimiter = ',',
        help_heading = "Settings"
    )]
    pub(crate) allowed_origins: Vec<String>,
    /// Bytes that all files of one space, or of one user, may have together [default: 1 GiB]
    #[arg(long, global = true, env = "HAFT_ARTIFACT_QUOTA", value_name = "BYTES", help_heading = "Settings")]
    pub(crate) artifact_quota: Option<u64>,
    /// Days for which calls stay on record, 1 to 3650 [default: 30]
    #[arg(long, global = true, env = "HAFT_CALL_LOG_DAYS", value_name = "DAYS", help_heading = "Settings")]
    pub(crate) call_log_days: Option<u64>,
    /// Bytes that calls on record may take, 64 MiB or more [default: 16 GiB]
    #[arg(long, global = true, env = "HAFT_CALL_LOG_BYTES", value_name = "BYTES", help_heading = "Settings")]
    pub(crate) call_log_bytes: Option<u64>,
    /// Days for which tasks stay after their end, 1 to 3650 [default: 7]
    #[arg(long, global = true, env = "HAFT_TASK_DAYS", value_name = "DAYS", help_heading = "Settings")]
    pub(crate) task_days: Option<u64>,
    /// Tasks that run at once in this process [default: 64]
    #[arg(long, global = true, env = "HAFT_TASK_PLACES", value_name = "N", help_heading = "Settings")]
    pub(crate) task_places: Option<u64>,
    /// Tasks of one space that may wait [default: 100000]
    #[arg(long, global = true, env = "HAFT_TASK_QUEUE", value_name = "N", help_heading = "Settings")]
    pub(crate) task_queue: Option<u64>,
    /// Language of messages: en or zh; by default that of the terminal
    #[arg(long, global = true, value_name = "LANG", value_parser = parse_locale, help_heading = "Settings")]
    pub(crate) lang: Option<Locale>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Start a server
    Serve(ServeArgs),
    /// Log in to a server, for all commands that come
    #[command(after_help = people::LOGIN_HELP)]
    Login(LoginArgs),
    /// Forget the login
    Logout(LogoutArgs),
    /// List tools; show or delete one, see its versions, go back to an old one
    #[command(after_help = tools::TOOLS_HELP)]
    Tools(ToolsArgs),
    /// Call a tool
    #[command(after_help = call::HELP)]
    Call(CallArgs),
    /// Talk to an agent, or ask it once
    #[command(after_help = chat::HELP)]
    Chat(ChatArgs),
    /// Make tools from an API document, a cURL command, a Postman collection or a HAR file
    #[command(after_help = import::HELP)]
    Import(ImportArgs),
    /// List tasks; follow one, cancel it, try it again, say what became of it
    #[command(after_help = tasks::TASKS_HELP)]
    Tasks(TasksArgs),
    /// List calls that wait for a person; approve or deny one
    #[command(after_help = tasks::APPROVALS_HELP)]
    Approvals(ApprovalsArgs),
    /// Carry out tasks beside the servers of a shared database, without listening
    Worker(WorkerArgs),
    /// List agents; show or delete one
    #[command(after_help = tools::AGENTS_HELP)]
    Agents(AgentsArgs),
    /// List secrets by name, set one, delete one
    #[command(after_help = secrets::HELP)]
    Secrets(SecretsArgs),
    /// Write tools and agents into files, for Git
    #[command(after_help = files::EXPORT_HELP)]
    Export(ExportArgs),
    /// Make tools and agents what files say, and show what changed
    #[command(after_help = files::APPLY_HELP)]
    Apply(ApplyArgs),
    /// List spaces, make one, say who is in it
    #[command(after_help = people::SPACES_HELP)]
    Spaces(SpacesArgs),
    /// List your tokens, make one, end one
    #[command(after_help = people::TOKENS_HELP)]
    Tokens(TokensArgs),
    /// List the server's users, add one
    #[command(after_help = people::USERS_HELP)]
    Users(UsersArgs),
    /// Show who changed what, and whether what is on record is as it was written
    #[command(after_help = audit::HELP)]
    Audit(AuditArgs),
    /// Repair the server of this machine, on its data itself
    Admin {
        #[command(subcommand)]
        command: AdminCommand,
    },
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
    /// How lines of the log are written: text for people, json for programs [default: text]
    #[arg(long, env = "HAFT_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// How often alerts are looked at, in milliseconds [default: 5000]
    #[arg(long, env = "HAFT_ALERT_INTERVAL", value_name = "MS")]
    pub(crate) alert_interval: Option<u64>,
}

#[derive(Args)]
pub(crate) struct WorkerArgs {
    /// How lines of the log are written: text for people, json for programs [default: text]
    #[arg(long, env = "HAFT_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
}

/// Which server to ask; none means that of the login.
#[derive(Args)]
pub(crate) struct ServerArgs {
    /// Server to ask, such as http://127.0.0.1:7420; by default that of the login
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

fn parse_locale(text: &str) -> Result<Locale, String> {
    Locale::from_tag(text).ok_or_else(|| "haft speaks en and zh".to_owned())
}
