//! `haft completions SHELL`

use std::process::ExitCode;

use clap_complete::Shell;

use crate::cli::Cli;

pub(crate) fn run(shell: Shell) -> anyhow::Result<ExitCode> {
    clap_complete::generate(shell, &mut Cli::definition(), "haft", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
