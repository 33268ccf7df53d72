//! `haft settings`: prints the same as `haft help settings`.

use std::process::ExitCode;

use crate::cli::Cli;

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let mut definition = Cli::definition();
    definition.build();
    if let Some(settings) = definition.find_subcommand_mut("settings") {
        settings.print_help()?;
    }
    Ok(ExitCode::SUCCESS)
}
