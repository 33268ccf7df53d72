//! A server within this process that also carries on what was begun there: conversations, and their tasks.

use std::sync::Arc;

use haft_core::CallError;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Door, Identity, Way};
use crate::assembly::{Assembly, GRACE};
use crate::cli::ServerArgs;
use crate::config::Config;
use crate::first::{self, Samples};
use crate::storage::{Storage, told};

/// Who carries things on, until told to end.
pub(crate) struct Working {
    assembly: Assembly,
    stop: CancellationToken,
    work: JoinHandle<()>,
    /// What is said here is gone with the process.
    pub(crate) is_forgetful: bool,
}

impl Door {
    /// A server when one is named; otherwise one within this process, which has to be ended.
    pub(crate) async fn at_work(
        args: &ServerArgs,
        config: Config,
    ) -> anyhow::Result<(Self, Option<Working>)> {
        if let Some(door) = Self::named(args, &config)? {
            return Ok((door, None));
        }
        let locale = config.locale;
        let said = |error: CallError| anyhow::anyhow!("{}", told(&error, locale));
        let is_forgetful = !config.storage.exists();
        let (store, log) = if is_forgetful {
            Storage::in_memory(locale).await?
        } else {
            let store = config.storage.open(locale).await?;
            (store, config.storage.open_log(locale).await?)
        };
        let admin = first::admin(&store, Samples::No).await.map_err(said)?;
        let assembly =
            Assembly::put_together(config, (store, log), admin.space, None, Arc::default()).await?;
        let stop = assembly.app.stopping();
        let (runs, following) = (assembly.runs.clone(), assembly.app.clone());
        let (revision, until) = (assembly.revision, stop.clone());
        #[expect(clippy::disallowed_methods, reason = "Working::end waits for it")]
        let work = tokio::spawn(async move {
            tokio::join!(runs.work(until.clone(), GRACE), following.follow(revision, until));
        });
        let token = assembly.app.let_in(admin.user, admin.space);
        let way = Way::Here(assembly.app.router());
        let door = Self { identity: Identity::Token(token), locale, way };
        Ok((door, Some(Working { assembly, stop, work, is_forgetful })))
    }
}

impl Working {
    /// Ends what is under way; what is kept goes on with the next who works on it.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        if self.work.await.is_err() {
            tracing::error!("what carries conversations on has failed");
        }
        self.assembly.take_apart().await;
    }
}
