//! `haft worker`

use std::io::Write as _;
use std::process::ExitCode;

use haft_core::{CallError, Message};
use haft_engine::Supervisor;

use crate::assembly::{Assembly, GRACE, stop_on_signal};
use crate::cli::WorkerArgs;
use crate::config::Config;
use crate::first::{self, Samples};
use crate::log_writer::LogWriter;
use crate::refusal::failure;
use crate::storage::told;
use crate::{config, log, messages, upgrade};

pub(crate) async fn run(args: WorkerArgs, config: Config) -> anyhow::Result<ExitCode> {
    let format = args.log_format.or(config.log_format).unwrap_or_default();
    let supervisor = config::supervisor()?;
    let log = log::log_of_server(config.log.as_deref().unwrap_or("info"), format, &supervisor)?;
    let locale = config.locale;
    let ended = work(config, supervisor, &log).await;
    Ok(log.finish(ended, format, locale))
}

async fn work(config: Config, supervisor: Supervisor, process_log: &LogWriter) -> anyhow::Result<ExitCode> {
    let locale = config.locale;
    let said = |error: CallError| anyhow::anyhow!("{}", told(&error, locale));
    let keep = config.retention()?;
    config::traces()?;
    let store = config.storage.open_supervised(locale, supervisor.clone()).await?;
    if !store.is_shared() {
        return Err(failure(Message::new(&messages::NOT_SHARED)));
    }
    let log = config.storage.open_log(locale).await?;
    let admin = first::admin(&store, Samples::No).await.map_err(said)?;
    let dropped = process_log.dropped();
    let assembly = Assembly::put_together(config, (store, log), admin.space, None, dropped).await?;
    let stop = assembly.app.stopping();
    stop_on_signal(&supervisor, stop.clone())?;
    let following = assembly.app.clone().follow(assembly.revision, stop.clone());
    let tidying = haft_server::keep_up(&supervisor, assembly.log.clone(), keep, stop.clone());
    let working = supervisor.run("run worker", &stop, || assembly.runs.work(stop.clone(), GRACE));
    let watching = upgrade::watch(assembly.store.clone(), stop.clone());
    // A worker goes on when nobody reads that any more.
    let _ = writeln!(std::io::stdout(), "working");
    let (upgraded, (), (), ()) = tokio::join!(watching, following, tidying, working);
    let code = assembly.take_apart().await;
    upgraded.map_err(said)?;
    Ok(code)
}
