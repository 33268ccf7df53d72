//! `haft worker`

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use haft_core::CallError;

use crate::assembly::{Assembly, GRACE, stop_on_signal};
use crate::cli::WorkerArgs;
use crate::config::Config;
use crate::first::{self, Samples};
use crate::storage::told;
use crate::{config, log};

pub(crate) async fn run(args: WorkerArgs, config: Config) -> anyhow::Result<ExitCode> {
    let format = args.log_format.or(config.log_format).unwrap_or_default();
    log::to_stderr(config.log.as_deref().unwrap_or("info"), format)?;
    let locale = config.locale;
    let said = |error: CallError| anyhow::anyhow!("{}", told(&error, locale));
    let keep = config.retention()?;
    config::traces()?;
    let store = config.storage.open(locale).await?;
    if !store.is_shared() {
        bail!(
            "a data directory is for one process, and haft serve carries out its tasks itself; for workers beside it set HAFT_DATABASE_URL to a PostgreSQL"
        );
    }
    let log = config.storage.open_log(locale).await?;
    let admin = first::admin(&store, Samples::No).await.map_err(said)?;
    let assembly = Assembly::put_together(config, (store, log), admin.space, None).await?;
    let stop = assembly.app.stopping();
    stop_on_signal(stop.clone())?;
    let following = assembly.app.clone().follow(assembly.revision, stop.clone());
    let tidying = haft_server::keep_up(assembly.log.clone(), keep, stop.clone());
    let working = assembly.runs.work(stop.clone(), GRACE);
    // A worker goes on when nobody reads that any more.
    let _ = writeln!(std::io::stdout(), "working");
    tokio::join!(following, tidying, working);
    Ok(assembly.take_apart().await)
}
