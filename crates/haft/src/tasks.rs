//! The run worker of this binary: opens the journal and registers all programs.

use std::sync::Arc;

use haft_agent::{ConversationSettings, Conversations, Models};
use haft_core::{CallError, ErrorKind};
use haft_engine::ToolService;
use haft_runs::{Programs, Runs, WorkerSettings};
use haft_server::{LoggedCallHistory, StoredArtifacts, StoredHost, Tasks};
use haft_store::{CallLog, RunJournal, Store};
use haft_tasks::{CallHistory, CallProgram, Callbacks};

use crate::config::TaskSettings;

/// The services that conversations need besides tools.
pub(crate) struct ChatServices {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) artifacts: Arc<StoredArtifacts>,
    pub(crate) artifact_quota: u64,
}

pub(crate) async fn open(
    (store, log): (&Store, &CallLog),
    tools: &ToolService,
    callbacks: Arc<dyn Callbacks>,
    chat_services: ChatServices,
    settings: &TaskSettings,
) -> Result<Tasks, CallError> {
    let failpoints = settings.failpoints();
    let failpoints = failpoints.map_err(|error| CallError::text(ErrorKind::Validation, error.to_string()))?;
    let journal = RunJournal::open(store, settings.queue).await?;
    let ChatServices { models, artifacts, artifact_quota } = chat_services;
    let call_history: Arc<dyn CallHistory> = Arc::new(LoggedCallHistory::new(log.clone()));
    let host = StoredHost {
        store: store.clone(),
        artifacts,
        journal: journal.clone(),
        call_history: call_history.clone(),
        artifact_quota,
    };
    let conversation_settings =
        ConversationSettings { max_crashes: settings.max_crashes, limits: settings.turns };
    let conversations = Conversations::new(tools.clone(), models, Arc::new(host), conversation_settings);
    let programs = Programs::default()
        .with(Arc::new(CallProgram::new(tools.clone(), callbacks, call_history)))
        .with(haft_agent::program(conversations.clone()));
    let mut run_settings = WorkerSettings { slots: settings.slots, ..WorkerSettings::default() };
    if let Some(lease) = settings.lease {
        run_settings.lease = lease;
    }
    let runs = Runs::new(Arc::new(journal.clone()), programs, run_settings, failpoints);
    conversations.set_runs(runs.clone());
    Ok(Tasks { runs, journal, conversations, keep: settings.retention, max_crashes: settings.max_crashes })
}
