//! What a server and a worker are both made of: put together at the start, taken apart in order at the end.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use haft_agent::AgentKind;
use haft_core::{CallError, Message, SpaceId};
use haft_egress::Egress;
use haft_engine::{Supervisor, ToolService};
use haft_runs::Runs;
use haft_server::{
    App, Metrics, Settings, SignedCallbacks, StoredArtifacts, StoredModels, StoredSecrets, Traces,
};
use haft_store::{CallLog, Store};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::config::{self, Config};
use crate::engine::{Parts, Telemetry};
use crate::refusal::OrFail as _;
use crate::storage::told;
use crate::tasks::Talking;
use crate::{engine, exit, messages, tasks};

/// What is under way may take so long after a stop was asked for.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// And so long the last records may take to be written.
const LAST_WRITES: Duration = Duration::from_secs(5);

pub(crate) struct Assembly {
    pub(crate) app: App,
    pub(crate) runs: Runs,
    pub(crate) egress: Egress,
    pub(crate) artifacts: Arc<StoredArtifacts>,
    pub(crate) callbacks: Arc<SignedCallbacks>,
    pub(crate) store: Store,
    pub(crate) log: CallLog,
    /// Whatever is read is at least as new.
    pub(crate) revision: u64,
    tools: ToolService,
    traces: Option<Arc<Traces>>,
}

impl Assembly {
    /// `space` is the one whose secrets the environment may give.
    pub(crate) async fn put_together(
        config: Config,
        (store, log): (Store, CallLog),
        space: SpaceId,
        alert_interval: Option<Duration>,
        log_lines_dropped: Arc<AtomicU64>,
    ) -> anyhow::Result<Self> {
        let (egress, collector, locale) = (config.egress()?, config::traces()?, config.locale);
        let said = |error: CallError| anyhow::anyhow!("{}", told(&error, locale));
        let revision = store.current_revision().await.map_err(said)?;
        let secrets = Arc::new(StoredSecrets::new(store.clone(), space, config.storage.environment));
        let models =
            Arc::new(StoredModels::new(store.clone(), secrets.clone(), egress.clone(), config.models));
        let artifacts = Arc::new(StoredArtifacts::new(store.clone(), config.public_url.clone()));
        let callbacks = Arc::new(SignedCallbacks::new(store.clone(), config.public_url.clone()));
        let agents = AgentKind::default();
        let parts = Parts {
            egress: egress.clone(),
            store: store.clone(),
            secrets: secrets.clone(),
            artifacts: artifacts.clone(),
            search: config.search,
            agents: agents.clone(),
        };
        let metrics = Arc::new(Metrics::with_log_lines_dropped(log_lines_dropped));
        let traces = collector
            .map(|collector| Traces::start(collector, egress.clone(), metrics.clone(), store.supervisor()));
        let traces = traces.transpose().or_fail(|| Message::new(&messages::BAD_COLLECTOR))?.map(Arc::new);
        let telemetry = Telemetry { metrics: metrics.clone(), traces: traces.clone() };
        let tools = engine::for_server(parts, log.clone(), telemetry);
        let settings = Settings {
            public_url: config.public_url,
            trusted_proxies: config.trusted_proxies,
            allowed_origins: config.allowed_origins,
            alert_interval,
            artifact_quota: config.artifact_quota,
        };
        let talking = Talking {
            models: models.clone(),
            artifacts: artifacts.clone(),
            artifact_quota: settings.artifact_quota(),
        };
        let tasks = tasks::open((&store, &log), &tools, callbacks.clone(), talking, &config.tasks);
        let tasks = tasks.await.map_err(said)?;
        agents.asks(tasks.chat.clone());
        let runs = tasks.runs.clone();
        let kept = (store.clone(), log.clone());
        let app = App::new(tools.clone(), kept, secrets, models, egress.clone(), metrics, settings);
        let app = app.with_tasks(tasks);
        Ok(Self { app, runs, egress, artifacts, callbacks, store, log, revision, tools, traces })
    }

    /// Ends what is under way, writes the last records, and lets go of everything.
    pub(crate) async fn take_apart(self) -> ExitCode {
        // Whatever is still under way is cancelled now, and leaves its record like any other call.
        self.tools.stop();
        let is_written = tokio::time::timeout(LAST_WRITES, self.tools.close()).await.is_ok();
        if let Some(traces) = self.traces {
            traces.close().await;
        }
        self.log.close().await;
        self.store.close().await;
        if !is_written {
            tracing::error!("The last records of calls could not be written in time");
            return exit::FAILURE.into();
        }
        tracing::info!("Stopped");
        ExitCode::SUCCESS
    }
}

/// The first SIGTERM or SIGINT cancels; the second ends the process at once.
pub(crate) fn stop_on_signal(supervisor: &Supervisor, stop: CancellationToken) -> anyhow::Result<()> {
    // Made once, so that no signal is lost while the task restarts.
    let signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let signals = Arc::new(Mutex::new(signals));
    let start = move || watch_signals(signals.clone(), stop.clone());
    // It ends with the process.
    drop(supervisor.spawn("signals", start));
    Ok(())
}

async fn watch_signals(signals: Arc<Mutex<(Signal, Signal)>>, stop: CancellationToken) {
    let (term, int) = &mut *signals.lock().await;
    loop {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        if stop.is_cancelled() {
            std::process::exit(exit::code(haft_core::ErrorKind::Cancelled).into());
        }
        stop.cancel();
        tracing::info!("Stopping: nothing new is begun, what is under way ends");
    }
}
