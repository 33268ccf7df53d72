//! The services that a server and a worker share: built at the start, closed in order at the end.

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

use crate::cli_error::OrFail as _;
use crate::config::{self, Config};
use crate::engine::{Parts, Telemetry};
use crate::storage::with_cause;
use crate::tasks::ChatServices;
use crate::{engine, exit, messages, tasks};

/// Maximum time that running requests and tasks may take after a stop signal.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// Maximum time to write the last call records.
const CALL_LOG_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Assembly {
    pub(crate) app: App,
    pub(crate) runs: Runs,
    pub(crate) egress: Egress,
    pub(crate) artifacts: Arc<StoredArtifacts>,
    pub(crate) callbacks: Arc<SignedCallbacks>,
    pub(crate) store: Store,
    pub(crate) log: CallLog,
    /// The revision of the store at the start. Everything that is read later is at least as new.
    pub(crate) revision: u64,
    tools: ToolService,
    traces: Option<Arc<Traces>>,
}

impl Assembly {
    /// Opens all services on the stores. `space` is the one whose secrets environment variables may set.
    pub(crate) async fn build(
        config: Config,
        (store, log): (Store, CallLog),
        space: SpaceId,
        alert_interval: Option<Duration>,
        log_lines_dropped: Arc<AtomicU64>,
    ) -> anyhow::Result<Self> {
        let (egress, collector, locale) = (config.egress()?, config::traces()?, config.locale);
        let to_error = |error: CallError| anyhow::anyhow!("{}", with_cause(&error, locale));
        let revision = store.current_revision().await.map_err(to_error)?;
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
        let chat_services = ChatServices {
            models: models.clone(),
            artifacts: artifacts.clone(),
            artifact_quota: settings.artifact_quota(),
        };
        let tasks = tasks::open((&store, &log), &tools, callbacks.clone(), chat_services, &config.tasks);
        let tasks = tasks.await.map_err(to_error)?;
        agents.set_conversations(tasks.conversations.clone());
        let runs = tasks.runs.clone();
        let stores = (store.clone(), log.clone());
        let app = App::new(tools.clone(), stores, secrets, models, egress.clone(), metrics, settings);
        let app = app.with_tasks(tasks);
        Ok(Self { app, runs, egress, artifacts, callbacks, store, log, revision, tools, traces })
    }

    /// Cancels running calls, writes the last call records, and closes the stores.
    pub(crate) async fn close(self) -> ExitCode {
        // A cancelled call is recorded like any other.
        self.tools.stop();
        let is_written = tokio::time::timeout(CALL_LOG_TIMEOUT, self.tools.close()).await.is_ok();
        if let Some(traces) = self.traces {
            traces.close().await;
        }
        self.log.close().await;
        self.store.close().await;
        if !is_written {
            tracing::error!("Shutdown: the last call records were not written in time and are lost");
            return exit::FAILURE.into();
        }
        tracing::info!("Stopped");
        ExitCode::SUCCESS
    }
}

/// Cancels `stop` on the first SIGTERM or SIGINT. The second one ends the process immediately.
pub(crate) fn stop_on_signal(supervisor: &Supervisor, stop: CancellationToken) -> anyhow::Result<()> {
    // Registered once, so that no signal is lost while the task restarts after a panic.
    let signals = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let signals = Arc::new(Mutex::new(signals));
    let start = move || watch_signals(signals.clone(), stop.clone());
    // The task runs until the process ends.
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
            std::process::exit(exit::of_kind(haft_core::ErrorKind::Cancelled).into());
        }
        stop.cancel();
        tracing::info!("Stopping: no new work is accepted, running work is finished");
    }
}
