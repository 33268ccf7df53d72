//! The settings of the task worker and of turns.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::Context;
use haft_agent::TurnLimits;
use haft_core::Message;
use haft_runs::Failpoints;

use crate::cli::Settings;
use crate::cli_error::failure;
use crate::messages;

const DAYS: RangeInclusive<u64> = 1..=3650;
const SLOTS: RangeInclusive<u64> = 1..=10_000;
const TURNS: RangeInclusive<u64> = 1..=1_000_000;
const QUEUE: RangeInclusive<u64> = 1..=100_000_000;
const DAY: u64 = 24 * 60 * 60;

/// The checked settings for tasks.
pub(crate) struct TaskSettings {
    /// The time after which ended tasks are deleted.
    pub(crate) retention: Duration,
    /// Maximum number of tasks that run at the same time in this process.
    pub(crate) slots: usize,
    /// Maximum number of queued tasks per space.
    pub(crate) queue: u64,
    /// Limits of running turns of agents.
    pub(crate) turns: TurnLimits,
    pub(crate) lease: Option<Duration>,
    /// Maximum number of worker crashes per task.
    pub(crate) max_crashes: u32,
    /// The points at which a test crashes the process.
    pub(crate) failpoints: Option<String>,
}

/// The values of the configuration file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileValues {
    pub(super) days: Option<u64>,
    pub(super) slots: Option<u64>,
    pub(super) queue: Option<u64>,
    pub(super) turns: Option<u64>,
    pub(super) turns_per_user: Option<u64>,
}

pub(super) fn settings(
    flags: &Settings,
    file: FileValues,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<TaskSettings> {
    let days = within("task_days", flags.task_days.or(file.days).unwrap_or(7), DAYS)?;
    let slots = within("task_places", flags.task_places.or(file.slots).unwrap_or(64), SLOTS)?;
    let queue = within("task_queue", flags.task_queue.or(file.queue).unwrap_or(100_000), QUEUE)?;
    let defaults = TurnLimits::default();
    let limit = |name, value: Option<u64>, default: usize| {
        let limit = within(name, value.unwrap_or(default as u64), TURNS)?;
        anyhow::Ok(usize::try_from(limit)?)
    };
    let turns = TurnLimits {
        per_process: limit("max_turns", flags.max_turns.or(file.turns), defaults.per_process)?,
        per_user: limit(
            "max_turns_per_user",
            flags.max_turns_per_user.or(file.turns_per_user),
            defaults.per_user,
        )?,
    };
    // Variables for tests, which have no flag: a short lease, the maximum number of crashes, failpoints.
    let max_crashes = variable("HAFT_TASK_DEATHS").map(|text| text.parse().context("HAFT_TASK_DEATHS"));
    let lease = variable("HAFT_TASK_LEASE_MS").map(|text| text.parse().context("HAFT_TASK_LEASE_MS"));
    Ok(TaskSettings {
        retention: Duration::from_secs(days * DAY),
        slots: usize::try_from(slots)?,
        queue,
        turns,
        lease: lease.transpose()?.map(Duration::from_millis),
        max_crashes: max_crashes.transpose()?.unwrap_or(3),
        failpoints: variable("HAFT_FAILPOINT"),
    })
}

impl TaskSettings {
    /// Parses the failpoints. Fails for an unknown failpoint.
    pub(crate) fn failpoints(&self) -> anyhow::Result<Failpoints> {
        match &self.failpoints {
            Some(text) => {
                Failpoints::parse(text).with_context(|| format!("HAFT_FAILPOINT: unknown failpoint {text}"))
            }
            None => Ok(Failpoints::default()),
        }
    }
}

fn within(name: &str, value: u64, range: RangeInclusive<u64>) -> anyhow::Result<u64> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = range.into_inner();
    Err(failure(
        Message::new(&messages::OUT_OF_RANGE)
            .with("name", name)
            .with("least", least)
            .with("most", most)
            .with("value", value),
    ))
}
