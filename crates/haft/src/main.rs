//! The `haft` binary: reads the command line and the configuration, and hands over to a command.

mod ask;
mod assembly;
mod cli;
mod commands;
mod config;
mod definitions;
mod door;
mod engine;
mod exit;
mod first;
mod local;
mod log;
mod login;
mod show;
mod storage;
mod tasks;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use config::Config;

/// Records are made on one thread and freed on another, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match Config::load(&cli.settings) {
        Ok(config) => run(cli.command, config).await,
        Err(error) => Err(error),
    };
    outcome.unwrap_or_else(|error| {
        anstream::eprintln!("{}error:{:#} {error:#}", show::BAD, show::BAD);
        exit::code_of(&error).into()
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
        Command::Export(args) => commands::export::run(args, config).await,
        Command::Apply(args) => commands::apply::run(args, config).await,
        Command::Spaces(args) => commands::spaces::run(args, config).await,
        Command::Tokens(args) => commands::tokens::run(args, config).await,
        Command::Users(args) => commands::users::run(args, config).await,
        Command::Audit(args) => commands::audit::run(args, config).await,
        Command::Admin { command } => commands::admin::run(command, config).await,
        Command::Completions { shell } => commands::completions::run(shell),
    }
}
