//! The command line: commands and arguments of `haft`, with their help.
//!
//! Arguments that every command has are here, those of single commands in the files below.

mod audit;
mod call;
mod chat;
mod files;
mod import;
mod observe;
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
pub(crate) use observe::{
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

use crate::config::DurationSetting;
use crate::log::LogFormat;
use crate::messages;
use crate::refusal::Refused;

const EXAMPLES: &str = "\
Examples:
  haft tools                          what there is to call, in this process alone
  haft call calculator expression='12.7 cm to inch'
  haft call --file weather.json city=Tokyo
  haft chat -m 'Hello'                a model, or an agent with tools: haft chat NAME
  haft serve                          start a server; it prints its address and token
  haft login http://127.0.0.1:7420    from now on, commands ask that server
  HAFT_TOKEN=… haft tools             the same without a login

Without --url, a token or a login, tools and calls run in this very process.
Settings, such as the data directory or the networks that tools may reach: haft help settings";

/// The heading of arguments that configure the process. They are accepted everywhere, and listed where a server is
/// configured.
const SETTINGS: &str = "Settings";

/// The heading of the arguments of `haft serve` in the list of all settings.
const SERVER_SETTINGS: &str = "Settings of haft serve";

/// The commands whose help lists the settings.
const WITH_SETTINGS: [&str; 2] = ["serve", "settings"];

/// The handle by which AI agents hold their tools.
#[derive(Parser)]
#[command(name = "haft", version, about, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// The command line as it is parsed.
    pub(crate) fn definition() -> clap::Command {
        let command = Self::command();
        let is_setting = |arg: &Arg| arg.get_help_heading() == Some(SETTINGS);
        let settings: Vec<Arg> = command.get_arguments().filter(|arg| is_setting(arg)).cloned().collect();
        let hidden = |arg: Arg| {
            let is_hidden = is_setting(&arg);
            arg.hide(is_hidden)
        };
        // A command that has an argument itself does not get the hidden one of the program.
        let command = WITH_SETTINGS.into_iter().fold(command.mut_args(hidden), |command, name| {
            command.mut_subcommand(name, |with_settings| with_settings.args(settings.clone()))
        });
        let serve = ServeArgs::augment_args(clap::Command::new("serve"));
        let of_serve = serve.get_arguments().map(|arg| arg.clone().help_heading(SERVER_SETTINGS));
        let of_serve: Vec<Arg> = of_serve.collect();
        command.mut_subcommand("settings", |list| list.args(of_serve))
    }

    /// Parses the arguments of this process, or ends it with the help or what is wrong with them.
    pub(crate) fn from_process() -> Self {
        let matches = Self::definition().try_get_matches();
        let parsed = matches.and_then(|matches| Self::from_arg_matches(&matches));
        parsed.unwrap_or_else(|error| usage_error::exit(&error))
    }
}

/// Settings that every command knows. A flag wins over the environment, the environment over the file.
#[derive(Args)]
pub(crate) struct Settings {
    /// Configuration file; haft.toml in this directory when it is there
    #[arg(long, global = true, env = "HAFT_CONFIG", value_name = "FILE", help_heading = SETTINGS)]
    pub(crate) config: Option<PathBuf>,
    /// What to log, such as info or haft_engine=debug; goes to standard error
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
    /// Certificates to trust beside the system's, as a PEM file
    #[arg(long, global = true, env = "HAFT_CA_CERTS", value_name = "FILE", help_heading = SETTINGS)]
    pub(crate) ca_certs: Option<PathBuf>,
    /// Directory for the database and the key of secrets [default: ~/.local/share/haft]
    #[arg(long, global = true, env = "HAFT_DATA_DIR", value_name = "DIR", help_heading = SETTINGS)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Database in place of the embedded one: postgres://… or sqlite:DIR
    #[arg(
        long,
        global = true,
        env = "HAFT_DATABASE_URL",
        value_name = "URL",
        hide_env_values = true,
        help_heading = SETTINGS
    )]
    pub(crate) database_url: Option<String>,
    /// Key of secrets in place of the key file: 32 bytes in base64 or hex; older ones after a comma
    #[arg(
        long,
        global = true,
        env = "HAFT_MASTER_KEY",
        value_name = "KEY",
        hide_env_values = true,
        help_heading = SETTINGS
    )]
    pub(crate) master_key: Option<String>,
    /// Where people reach the server, such as https://haft.example.com
    #[arg(long, global = true, env = "HAFT_PUBLIC_URL", value_name = "URL", help_heading = SETTINGS)]
    pub(crate) public_url: Option<Url>,
    /// Proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8
    #[arg(
        long,
        global = true,
        env = "HAFT_TRUSTED_PROXIES",
        value_name = "CIDR,…",
        help_heading = SETTINGS
    )]
    pub(crate) trusted_proxies: Option<Networks>,
    /// Other sites whose pages may use the API, such as https://app.example.com
    #[arg(
        long,
        global = true,
        env = "HAFT_ALLOWED_ORIGINS",
        value_name = "ORIGIN,…",
        value_delimiter = ',',
        help_heading = SETTINGS
    )]
    pub(crate) allowed_origins: Vec<String>,
    /// Bytes that all files of one space, or of one user, may have together [default: 1 GiB]
    #[arg(long, global = true, env = "HAFT_ARTIFACT_QUOTA", value_name = "BYTES", help_heading = SETTINGS)]
    pub(crate) artifact_quota: Option<u64>,
    /// Days for which calls stay on record, 1 to 3650 [default: 30]
    #[arg(long, global = true, env = "HAFT_CALL_LOG_DAYS", value_name = "DAYS", help_heading = SETTINGS)]
    pub(crate) call_log_days: Option<u64>,
    /// Bytes that calls on record may take, 64 MiB or more [default: 16 GiB]
    #[arg(long, global = true, env = "HAFT_CALL_LOG_BYTES", value_name = "BYTES", help_heading = SETTINGS)]
    pub(crate) call_log_bytes: Option<u64>,
    /// Days for which tasks stay after their end, 1 to 3650 [default: 7]
    #[arg(long, global = true, env = "HAFT_TASK_DAYS", value_name = "DAYS", help_heading = SETTINGS)]
    pub(crate) task_days: Option<u64>,
    /// Tasks that run at once in this process [default: 64]
    #[arg(long, global = true, env = "HAFT_TASK_PLACES", value_name = "N", help_heading = SETTINGS)]
    pub(crate) task_places: Option<u64>,
    /// Tasks of one space that may wait [default: 100000]
    #[arg(long, global = true, env = "HAFT_TASK_QUEUE", value_name = "N", help_heading = SETTINGS)]
    pub(crate) task_queue: Option<u64>,
    /// Language of messages: en or zh; by default that of the terminal
    #[arg(long, global = true, value_name = "LANG", value_parser = parse_locale, help_heading = SETTINGS)]
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
    /// List tools; create, show or delete one, list its versions, go back to one
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
    /// List agents; create, show or delete one
    #[command(after_help = tools::AGENTS_HELP)]
    Agents(AgentsArgs),
    /// List secrets by name, set one, delete one
    #[command(after_help = secrets::HELP)]
    Secrets(SecretsArgs),
    /// List calls on record; show one
    #[command(after_help = observe::CALLS_HELP)]
    Calls(CallsArgs),
    /// Show how many calls there were, how they ended and how long they took
    #[command(after_help = observe::STATS_HELP)]
    Stats(StatsArgs),
    /// Follow changes and calls as they happen
    #[command(after_help = observe::EVENTS_HELP)]
    Events(EventsArgs),
    /// List model providers; show, test or delete one
    #[command(after_help = observe::PROVIDERS_HELP)]
    Providers(ProvidersArgs),
    /// List alerts; show or delete one
    #[command(after_help = observe::ALERTS_HELP)]
    Alerts(AlertsArgs),
    /// Open the web console
    Open(OpenArgs),
    /// Write tools, agents, providers and alerts into files, for Git
    #[command(after_help = files::EXPORT_HELP)]
    Export(ExportArgs),
    /// Make tools, agents, providers and alerts what files say, and show what changed
    #[command(after_help = files::APPLY_HELP)]
    Apply(ApplyArgs),
    /// Show what `haft apply` would change
    #[command(after_help = files::DIFF_HELP)]
    Diff(DiffArgs),
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
    /// List the settings that have a flag, with their environment variables
    #[command(hide = true, after_help = SETTINGS_HELP)]
    Settings,
}

const SETTINGS_HELP: &str = "\
A flag wins over the environment variable, the variable over the file haft.toml, whose keys are the names of the
flags with _ for -, except that --config, --lang and --master-key have no key. The keys default_provider and
default_model have no flag, but the variables HAFT_DEFAULT_PROVIDER and HAFT_DEFAULT_MODEL. Every command accepts the
flags under Settings; those under Settings of haft serve belong to that command. Providers, search engines and traces
are set by variables alone, which the README and the guide list.";

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
    /// How often alerts are checked, such as 30s; a number is in milliseconds [default: 5s]
    #[arg(long, env = "HAFT_ALERT_INTERVAL", value_name = "DURATION")]
    pub(crate) alert_interval: Option<DurationSetting>,
    #[command(flatten)]
    pub(crate) connections: ConnectionArgs,
}

/// Limits on connections, as a flag, a variable or a key of the file says them.
#[derive(Args, Default)]
pub(crate) struct ConnectionArgs {
    /// Connections at a time [default: 8192, and at most three quarters of the open files the system allows]
    #[arg(long, env = "HAFT_MAX_CONNECTIONS", value_name = "N")]
    pub(crate) max_connections: Option<u64>,
    /// Connections at a time from one address, except proxies [default: an eighth of all, 8 to 256; loopback none]
    #[arg(long, env = "HAFT_MAX_CONNECTIONS_PER_ADDRESS", value_name = "N")]
    pub(crate) max_connections_per_address: Option<u64>,
    /// Time in which the head of a request must arrive, such as 10s; a number is in seconds [default: 10s]
    #[arg(long, env = "HAFT_HEADER_TIMEOUT", value_name = "DURATION")]
    pub(crate) header_timeout: Option<DurationSetting>,
    /// Time without a further request after which a connection is closed; a number is in seconds [default: 75s]
    #[arg(long, env = "HAFT_IDLE_TIMEOUT", value_name = "DURATION")]
    pub(crate) idle_timeout: Option<DurationSetting>,
    /// Time in which the body of a request must arrive; a number is in seconds [default: 2m]
    #[arg(long, env = "HAFT_BODY_TIMEOUT", value_name = "DURATION")]
    pub(crate) body_timeout: Option<DurationSetting>,
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

fn parse_locale(text: &str) -> Result<Locale, Refused> {
    Locale::from_tag(text)
        .ok_or_else(|| Refused::new(ErrorKind::Validation, Message::new(&messages::NOT_A_LOCALE)))
}
