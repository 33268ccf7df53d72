//! An API within this process, with a worker that executes conversations and their tasks.

use std::sync::Arc;

use haft_core::CallError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{ApiClient, Identity, Transport};
use crate::assembly::{Assembly, GRACE};
use crate::cli::ServerArgs;
use crate::config::Config;
use crate::first_start::{self, Samples};
use crate::storage::{Storage, with_cause};

/// The services and the worker of this process. [`LocalWorker::end`] has to be called at the end.
pub(crate) struct LocalWorker {
    assembly: Assembly,
    stop: CancellationToken,
    task: JoinHandle<()>,
    /// True if the store is in memory, so that conversations are lost when the process ends.
    pub(crate) is_ephemeral: bool,
}

impl ApiClient {
    /// Returns a client of the named server, or else of an API within this process and its worker.
    pub(crate) async fn with_local_worker(
        args: &ServerArgs,
        config: Config,
    ) -> anyhow::Result<(Self, Option<LocalWorker>)> {
        if let Some(client) = Self::for_named_server(args, &config)? {
            return Ok((client, None));
        }
        let locale = config.locale;
        let to_error = |error: CallError| anyhow::anyhow!("{}", with_cause(&error, locale));
        let is_ephemeral = !config.storage.exists();
        let (store, log) = if is_ephemeral {
            Storage::in_memory(locale).await?
        } else {
            let store = config.storage.open(locale).await?;
            (store, config.storage.open_log(locale).await?)
        };
        let admin = first_start::admin(&store, Samples::No).await.map_err(to_error)?;
        let assembly = Assembly::build(config, (store, log), admin.space, None, Arc::default()).await?;
        let stop = assembly.app.stopping();
        let (runs, following) = (assembly.runs.clone(), assembly.app.clone());
        let (revision, until) = (assembly.revision, stop.clone());
        #[expect(clippy::disallowed_methods, reason = "LocalWorker::end waits for it")]
        let task = tokio::spawn(async move {
            tokio::join!(runs.work(until.clone(), GRACE), following.follow(revision, until));
        });
        let token = assembly.app.let_in(admin.user, admin.space);
        let transport = Transport::InProcess(assembly.app.router());
        let client = Self { identity: Identity::Token(token), locale, transport };
        Ok((client, Some(LocalWorker { assembly, stop, task, is_ephemeral })))
    }
}

impl LocalWorker {
    /// Stops the worker. Persisted runs are continued by the next worker on this database.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        if self.task.await.is_err() {
            tracing::error!("Shutdown: the worker of this process panicked");
        }
        self.assembly.close().await;
    }
}
