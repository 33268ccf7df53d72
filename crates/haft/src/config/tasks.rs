//! The settings of the task worker.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::Context;
use haft_core::Message;
use haft_runs::Failpoints;

use crate::cli::Settings;
use crate::cli_error::failure;
use crate::messages;

const DAYS: RangeInclusive<u64> = 1..=3650;
const SLOTS: RangeInclusive<u64> = 1..=10_000;
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
    pub(crate) lease: Option<Duration>,
    /// Maximum number of worker crashes per task.
    pub(crate) max_crashes: u32,
    /// The points at which a test crashes the process.
    pub(crate) failpoints: Option<String>,
}

/// The days, slots and queue length of the file.
type FileValues = (Option<u64>, Option<u64>, Option<u64>);

pub(super) fn settings(
    flags: &Settings,
    (days, slots, queue): FileValues,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<TaskSettings> {
    let days = within("task_days", flags.task_days.or(days).unwrap_or(7), DAYS)?;
    let slots = within("task_places", flags.task_places.or(slots).unwrap_or(64), SLOTS)?;
    let queue = within("task_queue", flags.task_queue.or(queue).unwrap_or(100_000), QUEUE)?;
    // Variables for tests, which have no flag: a short lease, the maximum number of crashes, failpoints.
    let max_crashes = variable("HAFT_TASK_DEATHS").map(|text| text.parse().context("HAFT_TASK_DEATHS"));
    let lease = variable("HAFT_TASK_LEASE_MS").map(|text| text.parse().context("HAFT_TASK_LEASE_MS"));
    Ok(TaskSettings {
        retention: Duration::from_secs(days * DAY),
        slots: usize::try_from(slots)?,
        queue,
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
