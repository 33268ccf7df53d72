//! The worker that this binary ships: every program it knows, on the journal of its store.

use std::sync::Arc;

use haft_core::{CallError, ErrorKind};
use haft_engine::ToolService;
use haft_runs::{CallProgram, Callbacks, Programs, Runs, Settings};
use haft_server::Tasks;
use haft_store::{RunJournal, Store};

use crate::config::TaskSettings;

pub(crate) async fn open(
    store: &Store,
    tools: &ToolService,
    callbacks: Arc<dyn Callbacks>,
    settings: &TaskSettings,
) -> Result<Tasks, CallError> {
    let failpoints = settings.failpoints();
    let failpoints = failpoints.map_err(|error| CallError::text(ErrorKind::Validation, error.to_string()))?;
    let journal = RunJournal::open(store, settings.queue).await?;
    let programs = Programs::default().with(Arc::new(CallProgram::new(tools.clone(), callbacks)));
    let mut how = Settings { places: settings.places, ..Settings::default() };
    if let Some(lease) = settings.lease {
        how.lease = lease;
    }
    let runs = Runs::new(Arc::new(journal.clone()), programs, how, failpoints);
    Ok(Tasks { runs, journal, keep: settings.keep, most_deaths: settings.deaths })
}
