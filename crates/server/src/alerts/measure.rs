//! What alerts are held against: the value of a metric now, for a space or for one of its tools.

use std::collections::HashMap;
use std::time::Duration;

use haft_core::alert::{Alert, Metric};
use haft_core::{CallError, ErrorKind, SpaceId, ToolId};
use haft_store::RunCounts;
use tokio::time::timeout;

use crate::app::App;

/// Calls are measured over this minute and so many before it.
const WINDOW: u32 = 1;

/// A database that takes longer to tell is away.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is asked.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    space: SpaceId,
    tool: Option<ToolId>,
    metric: Metric,
}

/// Answers of one turn: whoever asks the same gets the same.
#[derive(Default)]
pub(super) struct Values {
    known: HashMap<Question, Option<Option<f64>>>,
    /// The call log does not answer, so that it is not asked again in this turn.
    log_is_away: bool,
    /// How many tasks there are, once somebody wanted to know; nothing within where that cannot be told.
    tasks: Option<Option<Vec<RunCounts>>>,
}

impl Values {
    /// The value that an alert is about, where there is one; nothing when that cannot be told now.
    pub(super) async fn of(&mut self, app: &App, alert: &Alert) -> Option<Option<f64>> {
        let question =
            Question { space: alert.space_id, tool: alert.spec.tool.clone(), metric: alert.spec.metric };
        if let Some(known) = self.known.get(&question) {
            return *known;
        }
        let value = self.ask(app, &question).await;
        self.known.insert(question, value);
        value
    }

    async fn ask(&mut self, app: &App, question: &Question) -> Option<Option<f64>> {
        let is_logged = match question.metric {
            Metric::ErrorRate | Metric::P95 => true,
            Metric::CircuitOpen | Metric::QueueDepth | Metric::DeadLetters => false,
        };
        if is_logged && self.log_is_away {
            return None;
        }
        if !is_logged && question.metric != Metric::CircuitOpen {
            return self.of_tasks(app, question).await;
        }
        let measured = timeout(PATIENCE, measure(app, question)).await.unwrap_or_else(|_| {
            Err(CallError::text(ErrorKind::Unavailable, "the database does not respond"))
        });
        measured
            .inspect_err(|error| {
                let metric = question.metric.as_str();
                tracing::warn!(%error, metric, space.id = %question.space, "A metric cannot be measured");
                self.log_is_away |= is_logged && error.kind() == ErrorKind::Unavailable;
            })
            .ok()
    }
}

impl Values {
    /// How many tasks wait, or were given up. All spaces are asked about at once.
    async fn of_tasks(&mut self, app: &App, question: &Question) -> Option<Option<f64>> {
        if self.tasks.is_none() {
            let counted = match app.tasks.get() {
                Some(tasks) => timeout(PATIENCE, tasks.journal.counts()).await.ok().and_then(Result::ok),
                None => Some(Vec::new()),
            };
            if counted.is_none() {
                tracing::warn!("Tasks cannot be counted");
            }
            self.tasks = Some(counted);
        }
        let counts = self.tasks.as_ref()?.as_ref()?;
        let lane = question.tool.as_ref().map(ToString::to_string);
        let is_asked = |counts: &&RunCounts| {
            counts.space == question.space && lane.as_ref().is_none_or(|lane| *lane == counts.lane)
        };
        let count: u64 = counts
            .iter()
            .filter(is_asked)
            .map(|counts| match question.metric {
                Metric::DeadLetters => counts.dead_letters,
                Metric::QueueDepth => counts.queued,
                Metric::ErrorRate | Metric::P95 | Metric::CircuitOpen => 0,
            })
            .sum();
        Some(Some(count as f64))
    }
}

/// The value now; nothing where there is nothing to measure, which is not above anything.
async fn measure(app: &App, question: &Question) -> Result<Option<f64>, CallError> {
    match question.metric {
        Metric::ErrorRate | Metric::P95 => of_calls(app, question).await,
        Metric::CircuitOpen => Ok(Some(open_circuits(app, question))),
        Metric::QueueDepth | Metric::DeadLetters => Ok(None),
    }
}

async fn of_calls(app: &App, question: &Question) -> Result<Option<f64>, CallError> {
    let name = match &question.tool {
        None => None,
        Some(tool) => match name_of(app, question.space, tool).await? {
            Some(name) => Some(name),
            // One that is gone is not called any more.
            None => return Ok(None),
        },
    };
    let totals = app.log.recent(question.space, name.as_deref(), WINDOW).await?;
    if totals.calls == 0 {
        return Ok(None);
    }
    Ok(match question.metric {
        Metric::ErrorRate => Some(totals.error_rate()),
        Metric::P95 => totals.percentile(0.95).map(|time| time.as_secs_f64() * 1000.0),
        Metric::CircuitOpen | Metric::QueueDepth | Metric::DeadLetters => None,
    })
}

/// What a tool is called now; also one that is kept and cannot be called.
async fn name_of(app: &App, space: SpaceId, tool: &ToolId) -> Result<Option<String>, CallError> {
    app.tools.make_ready(space).await?;
    let id = tool.to_string();
    if let Some(tool) = app.tools.in_space(space).get(&id) {
        return Ok(Some(tool.spec.name.to_string()));
    }
    let kept = app.store.find_tool(space, &id).await?;
    Ok(kept.map(|tool| tool.spec.name.to_string()))
}

/// How many circuits are open in this process. One that waits for its trial is: nobody has seen its
/// upstream well yet.
fn open_circuits(app: &App, question: &Question) -> f64 {
    let tools = app.tools.in_space(question.space);
    let circuits = match &question.tool {
        Some(tool) => tools.circuits_of(tool),
        None => tools.circuits(),
    };
    let open = circuits.iter().filter(|circuit| !circuit.is_closed()).count();
    u32::try_from(open).map_or(f64::MAX, f64::from)
}
