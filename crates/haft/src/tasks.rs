//! The worker that this binary ships: every program it knows, on the journal of its store.

use std::sync::Arc;

use haft_agent::{Chat, Models};
use haft_core::{CallError, ErrorKind};
use haft_engine::ToolService;
use haft_runs::{CallProgram, Callbacks, Programs, Runs, Settings};
use haft_server::{StoredArtifacts, StoredSurroundings, Tasks};
use haft_store::{RunJournal, Store};

use crate::config::TaskSettings;

/// What conversations are carried on with, besides tools.
pub(crate) struct Talking {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) artifacts: Arc<StoredArtifacts>,
    pub(crate) artifact_quota: u64,
}

pub(crate) async fn open(
    store: &Store,
    tools: &ToolService,
    callbacks: Arc<dyn Callbacks>,
    talking: Talking,
    settings: &TaskSettings,
) -> Result<Tasks, CallError> {
    let failpoints = settings.failpoints();
    let failpoints = failpoints.map_err(|error| CallError::text(ErrorKind::Validation, error.to_string()))?;
    let journal = RunJournal::open(store, settings.queue).await?;
    let Talking { models, artifacts, artifact_quota } = talking;
    let around =
        StoredSurroundings { store: store.clone(), artifacts, journal: journal.clone(), artifact_quota };
    let chat = Chat::new(tools.clone(), models, Arc::new(around), settings.deaths);
    let programs = Programs::default()
        .with(Arc::new(CallProgram::new(tools.clone(), callbacks)))
        .with(haft_agent::program(chat.clone()));
    let mut how = Settings { places: settings.places, ..Settings::default() };
    if let Some(lease) = settings.lease {
        how.lease = lease;
    }
    let runs = Runs::new(Arc::new(journal.clone()), programs, how, failpoints);
    chat.runs_at(runs.clone());
    Ok(Tasks { runs, journal, chat, keep: settings.keep, most_deaths: settings.deaths })
}
