//! `haft worker`

use std::io::Write as _;
use std::process::ExitCode;

use haft_core::{CallError, Message};
use haft_engine::Supervisor;

use crate::assembly::{Assembly, GRACE, stop_on_signal};
use crate::cli::WorkerArgs;
use crate::cli_error::failure;
use crate::config::Config;
use crate::first_start::{self, Samples};
use crate::log_writer::LogWriter;
use crate::storage::with_cause;
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
    let to_error = |error: CallError| anyhow::anyhow!("{}", with_cause(&error, locale));
    let retention = config.retention()?;
    config::traces()?;
    let store = config.storage.open_supervised(locale, supervisor.clone()).await?;
    if !store.is_shared() {
        return Err(failure(Message::new(&messages::NOT_SHARED)));
    }
    let log = config.storage.open_log(locale).await?;
    let admin = first_start::admin(&store, Samples::No).await.map_err(to_error)?;
    let dropped = process_log.dropped();
    let assembly = Assembly::build(config, (store, log), admin.space, None, dropped).await?;
    let stop = assembly.app.stopping();
    stop_on_signal(&supervisor, stop.clone())?;
    let following = assembly.app.clone().follow(assembly.revision, stop.clone());
    let cleaning_up = haft_server::keep_up(&supervisor, assembly.log.clone(), retention, stop.clone());
    let working = supervisor.run("run worker", &stop, || assembly.runs.work(stop.clone(), GRACE));
    let watching = upgrade::watch(assembly.store.clone(), stop.clone());
    // Errors are ignored: the worker does not depend on the reader of its output.
    let _ = writeln!(std::io::stdout(), "working");
    let (upgraded, (), (), ()) = tokio::join!(watching, following, cleaning_up, working);
    let code = assembly.close().await;
    upgraded.map_err(to_error)?;
    Ok(code)
}
