//! The command line: the commands and arguments of `haft`, with their help texts.
//!
//! The settings of all commands are in this file, the arguments of single commands in the submodules.

mod audit;
mod call;
mod chat;
mod files;
mod import;
mod monitoring;
mod people;
mod secrets;
mod tasks;
mod tools;
mod usage_error;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use haft_core::{ErrorKind, Locale, Message};
use haft_egress::Networks;
use url::Url;

pub(crate) use audit::{AuditArgs, AuditCommand};
pub(crate) use call::CallArgs;
pub(crate) use chat::ChatArgs;
pub(crate) use files::{ApplyArgs, DiffArgs, ExportArgs};
pub(crate) use import::{ImportArgs, ImportCommand};
pub(crate) use monitoring::{
    AlertsArgs, AlertsCommand, CallsArgs, CallsCommand, EventsArgs, OpenArgs, ProvidersArgs,
    ProvidersCommand, StatsArgs,
};
pub(crate) use people::{
    AdminCommand, LoginArgs, LogoutArgs, SpacesArgs, SpacesCommand, TokensArgs, TokensCommand, UsersArgs,
    UsersCommand,
};
pub(crate) use secrets::{SecretsArgs, SecretsCommand};
pub(crate) use tasks::{ApprovalsArgs, ApprovalsCommand, TasksArgs, TasksCommand};
pub(crate) use tools::{AgentsArgs, AgentsCommand, ToolsArgs, ToolsCommand};

use crate::cli_error::CliError;
use crate::config::DurationSetting;
use crate::log::LogFormat;
use crate::messages;

const EXAMPLES: &str = "\
Examples:
  haft tools                          list the tools of this process
  haft call calculator expression='12.7 cm to inch'
  haft call --file weather.json city=Tokyo
  haft chat -m 'Hello'                chat with the default model; with an agent: haft chat NAME
  haft serve                          start a server; it prints its address and a token
  haft login http://127.0.0.1:7420    send all further commands to that server
  HAFT_TOKEN=… haft tools             use a server without a login

  Without --url, a token or a login, commands run in this process.
Settings, such as the data directory or the networks that tools may reach: haft help settings";

/// The help heading of settings that every command accepts. Only the help of [`WITH_SETTINGS`] lists them.
const SETTINGS: &str = "Settings";

/// The heading of the arguments of `haft serve` in `haft help settings`.
const SERVER_SETTINGS: &str = "Settings of haft serve";

/// The commands whose help lists the settings.
const WITH_SETTINGS: [&str; 2] = ["serve", "settings"];

/// Define a tool once; agents, OpenAI clients, REST and the command line call it.
#[derive(Parser)]
#[command(name = "haft", version, about, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Returns the derived definition of the command line, with the settings hidden from most commands.
    pub(crate) fn definition() -> clap::Command {
        let command = Self::command();
        let is_setting = |arg: &Arg| arg.get_help_heading() == Some(SETTINGS);
        let settings: Vec<Arg> = command.get_arguments().filter(|arg| is_setting(arg)).cloned().collect();
        let hidden = |arg: Arg| {
            let is_hidden = is_setting(&arg);
            arg.hide(is_hidden)
        };
        // An argument that a subcommand defines itself replaces the hidden global one.
        let command = WITH_SETTINGS.into_iter().fold(command.mut_args(hidden), |command, name| {
            command.mut_subcommand(name, |with_settings| with_settings.args(settings.clone()))
        });
        let serve = ServeArgs::augment_args(clap::Command::new("serve"));
        let of_serve = serve.get_arguments().map(|arg| arg.clone().help_heading(SERVER_SETTINGS));
        let of_serve: Vec<Arg> = of_serve.collect();
        command.mut_subcommand("settings", |list| list.args(of_serve))
    }

    /// Parses the arguments of this process. Exits with the help or a usage error if they are not a command.
    pub(crate) fn from_process() -> Self {
        let matches = Self::definition().try_get_matches();
        let parsed = matches.and_then(|matches| Self::from_arg_matches(&matches));
        parsed.unwrap_or_else(|error| usage_error::exit(&error))
    }
}

/// Settings that every command accepts. A flag takes precedence over its environment variable, the variable
/// over the file.
#[derive(Args)]
pub(crate) struct Settings {
    /// Configuration file [default: haft.toml in this directory, if it exists]
    #[arg(long, global = true, env = "HAFT_CONFIG", value_name = "FILE", help_heading = SETTINGS)]
    pub(crate) config: Option<PathBuf>,
    /// Log filter, such as info or haft_engine=debug; logs go to standard error
    #[arg(long, global = true, env = "HAFT_LOG", value_name = "FILTER", help_heading = SETTINGS)]
    pub(crate) log: Option<String>,
    /// Networks that tools may reach besides the public internet, such as 10.0.0.0/8,127.0.0.0/8
    #[arg(
        long,
        global = true,
        env = "HAFT_ALLOW_PRIVATE_NETWORKS",
        value_name = "CIDR,…",
        help_heading = SETTINGS
    )]
    pub(crate) allow_private_networks: Option<Networks>,
    /// PEM file with certificates to trust in addition to those of the system
    #[arg(long, global = true, env = "HAFT_CA_CERTS", value_name = "FILE", help_heading = SETTINGS)]
    pub(crate) ca_certs: Option<PathBuf>,
    /// Directory of the database and the master key [default: ~/.local/share/haft]
    #[arg(long, global = true, env = "HAFT_DATA_DIR", value_name = "DIR", help_heading = SETTINGS)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Database instead of the one in the data directory: postgres://… or sqlite:DIR
    #[arg(
        long,
        global = true,
        env = "HAFT_DATABASE_URL",
        value_name = "URL",
        hide_env_values = true,
        help_heading = SETTINGS
    )]
    pub(crate) database_url: Option<String>,
    /// Master key of secrets instead of the key file: 32 bytes in base64 or hex; older keys after a comma
    #[arg(
        long,
        global = true,
        env = "HAFT_MASTER_KEY",
        value_name = "KEY",
        hide_env_values = true,
        help_heading = SETTINGS
    )]
    pub(crate) master_key: Option<String>,
    /// Public URL of the server, such as https://haft.example.com
    #[arg(long, global = true, env = "HAFT_PUBLIC_URL", value_name = "URL", help_heading = SETTINGS)]
    pub(crate) public_url: Option<Url>,
    /// Proxies whose X-Forwarded-For header is trusted, such as 10.0.0.0/8
    #[arg(
        long,
        global = true,
        env = "HAFT_TRUSTED_PROXIES",
        value_name = "CIDR,…",
        help_heading = SETTINGS
    )]
    pub(crate) trusted_proxies: Option<Networks>,
    /// Other origins that may use the API from a browser (CORS), such as https://app.example.com
    #[arg(
        long,
        global = true,
        env = "HAFT_ALLOWED_ORIGINS",
        value_name = "ORIGIN,…",
        value_delimiter = ',',
        help_heading = SETTINGS
    )]
    pub(crate) allowed_origins: Vec<String>,
    /// Maximum total size of the files of one space, or of one user, in bytes [default: 1 GiB]
    #[arg(long, global = true, env = "HAFT_ARTIFACT_QUOTA", value_name = "BYTES", help_heading = SETTINGS)]
    pub(crate) artifact_quota: Option<u64>,
    /// Days after which calls are deleted from the call log, 1 to 3650 [default: 30]
    #[arg(long, global = true, env = "HAFT_CALL_LOG_DAYS", value_name = "DAYS", help_heading = SETTINGS)]
    pub(crate) call_log_days: Option<u64>,
    /// Maximum size of the call log in bytes, 64 MiB or more [default: 16 GiB]
    #[arg(long, global = true, env = "HAFT_CALL_LOG_BYTES", value_name = "BYTES", help_heading = SETTINGS)]
    pub(crate) call_log_bytes: Option<u64>,
    /// Days after which ended tasks are deleted, 1 to 3650 [default: 7]
    #[arg(long, global = true, env = "HAFT_TASK_DAYS", value_name = "DAYS", help_heading = SETTINGS)]
    pub(crate) task_days: Option<u64>,
    /// Maximum number of tasks that run at the same time in this process [default: 64]
    #[arg(long, global = true, env = "HAFT_TASK_PLACES", value_name = "N", help_heading = SETTINGS)]
    pub(crate) task_places: Option<u64>,
    /// Maximum number of queued tasks per space [default: 100000]
    #[arg(long, global = true, env = "HAFT_TASK_QUEUE", value_name = "N", help_heading = SETTINGS)]
    pub(crate) task_queue: Option<u64>,
    /// Maximum number of turns of agents that run at the same time in this process [default: 10000]
    #[arg(long, global = true, env = "HAFT_MAX_TURNS", value_name = "N", help_heading = SETTINGS)]
    pub(crate) max_turns: Option<u64>,
    /// Maximum number of turns of one user that run at the same time in this process [default: 1000]
    #[arg(long, global = true, env = "HAFT_MAX_TURNS_PER_USER", value_name = "N", help_heading = SETTINGS)]
    pub(crate) max_turns_per_user: Option<u64>,
    /// Language of messages: en or zh [default: that of the terminal]
    #[arg(long, global = true, value_name = "LANG", value_parser = parse_locale, help_heading = SETTINGS)]
    pub(crate) lang: Option<Locale>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Start a server
    Serve(ServeArgs),
    /// Log in to a server, for all further commands
    #[command(after_help = people::LOGIN_HELP)]
    Login(LoginArgs),
    /// Log out: delete the stored login and revoke its token
    Logout(LogoutArgs),
    /// List tools; create, show or delete one, list its versions, restore one
    #[command(after_help = tools::TOOLS_HELP)]
    Tools(ToolsArgs),
    /// Call a tool
    #[command(after_help = call::HELP)]
    Call(CallArgs),
    /// Chat with an agent, or send it one message
    #[command(after_help = chat::HELP)]
    Chat(ChatArgs),
    /// Create tools from an API document, a cURL command, a Postman collection or a HAR file
    #[command(after_help = import::HELP)]
    Import(ImportArgs),
    /// List tasks; show, follow, cancel, retry or resolve one
    #[command(after_help = tasks::TASKS_HELP)]
    Tasks(TasksArgs),
    /// List calls that wait for approval; approve or deny one
    #[command(after_help = tasks::APPROVALS_HELP)]
    Approvals(ApprovalsArgs),
    /// Execute tasks of a shared PostgreSQL database, without serving HTTP
    Worker(WorkerArgs),
    /// List agents; create, show or delete one
    #[command(after_help = tools::AGENTS_HELP)]
    Agents(AgentsArgs),
    /// List secrets by name; set or delete one
    #[command(after_help = secrets::HELP)]
    Secrets(SecretsArgs),
    /// List calls of the call log; show one
    #[command(after_help = monitoring::CALLS_HELP)]
    Calls(CallsArgs),
    /// Show the number, the error rate and the duration of calls
    #[command(after_help = monitoring::STATS_HELP)]
    Stats(StatsArgs),
    /// Follow changes and calls as they happen
    #[command(after_help = monitoring::EVENTS_HELP)]
    Events(EventsArgs),
    /// List model providers; show, test or delete one
    #[command(after_help = monitoring::PROVIDERS_HELP)]
    Providers(ProvidersArgs),
    /// List alerts; show or delete one
    #[command(after_help = monitoring::ALERTS_HELP)]
    Alerts(AlertsArgs),
    /// Open the web console
    Open(OpenArgs),
    /// Write tools, agents, providers and alerts into files, for Git
    #[command(after_help = files::EXPORT_HELP)]
    Export(ExportArgs),
    /// Apply definitions of tools, agents, providers and alerts from files, and show the changes
    #[command(after_help = files::APPLY_HELP)]
    Apply(ApplyArgs),
    /// Show what `haft apply` would change
    #[command(after_help = files::DIFF_HELP)]
    Diff(DiffArgs),
    /// List spaces; create one, manage its members
    #[command(after_help = people::SPACES_HELP)]
    Spaces(SpacesArgs),
    /// List your tokens; create or revoke one
    #[command(after_help = people::TOKENS_HELP)]
    Tokens(TokensArgs),
    /// List the server's users; add one
    #[command(after_help = people::USERS_HELP)]
    Users(UsersArgs),
    /// List changes with their author; check that no recorded change or call was altered
    #[command(after_help = audit::HELP)]
    Audit(AuditArgs),
    /// Repair the server of this machine through its data directory
    Admin {
        #[command(subcommand)]
        command: AdminCommand,
    },
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  haft completions bash > ~/.local/share/bash-completion/completions/haft"
    )]
    Completions { shell: Shell },
    /// List the settings with their flags and environment variables
    #[command(hide = true, after_help = SETTINGS_HELP)]
    Settings,
}

const SETTINGS_HELP: &str = "\
A flag takes precedence over its environment variable, and the variable over the file haft.toml. The keys of the file
are the names of the flags with _ instead of -; --config, --lang and --master-key have no key. The keys
default_provider and default_model have no flag, but the variables HAFT_DEFAULT_PROVIDER and HAFT_DEFAULT_MODEL. Every
command accepts the flags under Settings; those under Settings of haft serve belong to that command. Providers, search
engines and traces are set by environment variables only; the guides list them.";

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 selects a free port [default: 127.0.0.1:7420]
    #[arg(long, env = "HAFT_ADDR", value_name = "ADDR")]
    pub(crate) addr: Option<SocketAddr>,
    /// Token of the admin [default: the first start creates a token and prints it]
    #[arg(long, env = "HAFT_ADMIN_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub(crate) admin_token: Option<String>,
    /// Format of log lines: text for people, json for programs [default: text]
    #[arg(long, env = "HAFT_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// Interval between checks of alerts, such as 30s; a number is in milliseconds [default: 5s]
    #[arg(long, env = "HAFT_ALERT_INTERVAL", value_name = "DURATION")]
    pub(crate) alert_interval: Option<DurationSetting>,
    #[command(flatten)]
    pub(crate) connections: ConnectionArgs,
}

/// Limits on connections, from flags, environment variables or the file.
#[derive(Args, Default)]
pub(crate) struct ConnectionArgs {
    /// Maximum number of connections [default: 8192, at most three quarters of the open files that the system
    /// allows]
    #[arg(long, env = "HAFT_MAX_CONNECTIONS", value_name = "N")]
    pub(crate) max_connections: Option<u64>,
    /// Maximum number of connections from one address, except proxies [default: an eighth of all, 8 to 256;
    /// no limit for loopback]
    #[arg(long, env = "HAFT_MAX_CONNECTIONS_PER_ADDRESS", value_name = "N")]
    pub(crate) max_connections_per_address: Option<u64>,
    /// Timeout for receiving the head of a request, such as 10s; a number is in seconds [default: 10s]
    #[arg(long, env = "HAFT_HEADER_TIMEOUT", value_name = "DURATION")]
    pub(crate) header_timeout: Option<DurationSetting>,
    /// Timeout after which an idle connection is closed; a number is in seconds [default: 75s]
    #[arg(long, env = "HAFT_IDLE_TIMEOUT", value_name = "DURATION")]
    pub(crate) idle_timeout: Option<DurationSetting>,
    /// Timeout for receiving the body of a request; a number is in seconds [default: 2m]
    #[arg(long, env = "HAFT_BODY_TIMEOUT", value_name = "DURATION")]
    pub(crate) body_timeout: Option<DurationSetting>,
}

#[derive(Args)]
pub(crate) struct WorkerArgs {
    /// Format of log lines: text for people, json for programs [default: text]
    #[arg(long, env = "HAFT_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
}

/// The server of a command, and how its response is printed.
#[derive(Args)]
pub(crate) struct ServerArgs {
    /// URL of the server, such as http://127.0.0.1:7420 [default: that of the login]
    #[arg(long, global = true, env = "HAFT_URL", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Token for the server; HAFT_ADMIN_TOKEN is accepted, too
    #[arg(long, global = true, env = "HAFT_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Token for the server, from the variable that `haft serve` reads
    #[arg(long, global = true, env = "HAFT_ADMIN_TOKEN", hide = true)]
    pub(crate) admin_token: Option<String>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

fn parse_locale(text: &str) -> Result<Locale, CliError> {
    Locale::from_tag(text)
        .ok_or_else(|| CliError::new(ErrorKind::Validation, Message::new(&messages::NOT_A_LOCALE)))
}
