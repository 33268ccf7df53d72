//! The `haft` binary: parses the command line, loads the configuration and runs a command.

mod assembly;
mod cli;
mod cli_error;
mod client;
mod commands;
mod config;
mod definitions;
mod engine;
mod exit;
mod first_start;
mod log;
mod log_writer;
mod login;
mod maintenance;
mod messages;
mod output;
mod storage;
mod tasks;
mod upgrade;
mod user_input;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use cli::{Cli, Command};
use config::Config;

/// mimalloc, since call records are allocated on one thread and freed on another; the system's allocator is
/// slow at that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The maximum time to wait, at the end of the process, for work on other threads that cannot be cancelled.
const LAST_WORK: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let cli = Cli::from_process();
    let locale = cli.settings.lang.unwrap_or_else(config::terminal_locale);
    let outcome = Config::load(&cli.settings).and_then(|config| {
        let runtime = tokio::runtime::Runtime::new()?;
        let outcome = runtime.block_on(run(cli.command, config));
        runtime.shutdown_timeout(LAST_WORK);
        outcome
    });
    outcome.unwrap_or_else(|error| {
        // Ignored: standard error may be closed, and there is no other output for the error.
        let text = cli_error::render_error(&error, locale);
        let _ = writeln!(anstream::stderr(), "{}error:{:#} {text}", output::BAD, output::BAD);
        exit::of_error(&error).into()
    })
}

async fn run(command: Command, config: Config) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => commands::serve::run(args, config).await,
        Command::Login(args) => commands::login::run(args, config).await,
        Command::Logout(args) => commands::logout::run(args, config).await,
        Command::Tools(args) => commands::tools::run(args, config).await,
        Command::Call(args) => commands::call::run(args, config).await,
        Command::Chat(args) => commands::chat::run(args, config).await,
        Command::Import(args) => commands::import::run(args, config).await,
        Command::Tasks(args) => commands::tasks::run(args, config).await,
        Command::Approvals(args) => commands::approvals::run(args, config).await,
        Command::Worker(args) => commands::worker::run(args, config).await,
        Command::Agents(args) => commands::agents::run(args, config).await,
        Command::Secrets(args) => commands::secrets::run(args, config).await,
        Command::Calls(args) => commands::calls::run(args, config).await,
        Command::Stats(args) => commands::stats::run(args, config).await,
        Command::Events(args) => commands::events::run(args, config).await,
        Command::Providers(args) => commands::providers::run(args, config).await,
        Command::Alerts(args) => commands::alerts::run(args, config).await,
        Command::Open(args) => commands::open::run(args, config),
        Command::Export(args) => commands::export::run(args, config).await,
        Command::Apply(args) => commands::apply::run(args, config).await,
        Command::Diff(args) => commands::apply::diff(args, config).await,
        Command::Spaces(args) => commands::spaces::run(args, config).await,
        Command::Tokens(args) => commands::tokens::run(args, config).await,
        Command::Users(args) => commands::users::run(args, config).await,
        Command::Audit(args) => commands::audit::run(args, config).await,
        Command::Admin { command } => commands::admin::run(command, config).await,
        Command::Completions { shell } => commands::completions::run(shell),
        Command::Settings => commands::settings::run(),
    }
}
