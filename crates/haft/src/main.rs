//! The `haft` binary: reads the command line and the configuration, and hands over to a command.

mod cli;
mod commands;
mod config;
mod door;
mod engine;
mod exit;
mod secrets;
mod show;

use std::process::ExitCode;

use clap::Parser;
use haft_core::ErrorKind;

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
        let code = error.downcast_ref::<door::Unreachable>().map(|_| exit::code(ErrorKind::Unavailable));
        code.unwrap_or(exit::FAILURE).into()
    })
}

async fn run(command: Command, config: Config) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => commands::serve::run(args, config).await,
        Command::Tools(args) => commands::tools::run(args, config).await,
        Command::Call(args) => commands::call::run(args, config).await,
        Command::Import(args) => commands::import::run(args, config).await,
        Command::Completions { shell } => commands::completions::run(shell),
    }
}
