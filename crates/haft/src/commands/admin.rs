//! `haft admin reset`

use std::process::ExitCode;

use crate::cli::AdminCommand;
use crate::config::Config;
use crate::maintenance;

pub(crate) async fn run(command: AdminCommand, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    match command {
        AdminCommand::Reset => maintenance::reset_admin(&config).await,
    }
}
