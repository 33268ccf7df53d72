//! The worker that this binary ships: every program it knows, on the journal of its store.

use std::sync::Arc;

use haft_agent::{Chat, Models};
use haft_core::{CallError, ErrorKind};
use haft_engine::ToolService;
use haft_runs::{CallHistory, CallProgram, Callbacks, Programs, Runs, Settings};
use haft_server::{LoggedCallHistory, StoredArtifacts, StoredSurroundings, Tasks};
use haft_store::{CallLog, RunJournal, Store};

use crate::config::TaskSettings;

/// What conversations are carried on with, besides tools.
pub(crate) struct Talking {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) artifacts: Arc<StoredArtifacts>,
    pub(crate) artifact_quota: u64,
}

pub(crate) async fn open(
    (store, log): (&Store, &CallLog),
    tools: &ToolService,
    callbacks: Arc<dyn Callbacks>,
    talking: Talking,
    settings: &TaskSettings,
) -> Result<Tasks, CallError> {
    let failpoints = settings.failpoints();
    let failpoints = failpoints.map_err(|error| CallError::text(ErrorKind::Validation, error.to_string()))?;
    let journal = RunJournal::open(store, settings.queue).await?;
    let Talking { models, artifacts, artifact_quota } = talking;
    let call_history: Arc<dyn CallHistory> = Arc::new(LoggedCallHistory::new(log.clone()));
    let around = StoredSurroundings {
        store: store.clone(),
        artifacts,
        journal: journal.clone(),
        call_history: call_history.clone(),
        artifact_quota,
    };
    let chat = Chat::new(tools.clone(), models, Arc::new(around), settings.deaths);
    let programs = Programs::default()
        .with(Arc::new(CallProgram::new(tools.clone(), callbacks, call_history)))
        .with(haft_agent::program(chat.clone()));
    let mut how = Settings { places: settings.places, ..Settings::default() };
    if let Some(lease) = settings.lease {
        how.lease = lease;
    }
    let runs = Runs::new(Arc::new(journal.clone()), programs, how, failpoints);
    chat.runs_at(runs.clone());
    Ok(Tasks { runs, journal, chat, keep: settings.keep, most_deaths: settings.deaths })
}
