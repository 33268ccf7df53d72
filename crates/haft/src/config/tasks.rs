//! How tasks are carried out here: what was set, as what the worker goes by.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::Context;
use haft_core::Message;
use haft_runs::Failpoints;

use crate::cli::Settings;
use crate::messages;
use crate::refusal::failure;

const DAYS: RangeInclusive<u64> = 1..=3650;
const PLACES: RangeInclusive<u64> = 1..=10_000;
const QUEUE: RangeInclusive<u64> = 1..=100_000_000;
const DAY: u64 = 24 * 60 * 60;

/// What is set for tasks.
pub(crate) struct TaskSettings {
    /// What has ended stays for so long.
    pub(crate) keep: Duration,
    /// So many run at once in this process.
    pub(crate) places: usize,
    /// So many of one space may wait.
    pub(crate) queue: u64,
    pub(crate) lease: Option<Duration>,
    /// A worker may die with a task so often.
    pub(crate) deaths: u32,
    /// Where a test lets the process die.
    pub(crate) failpoints: Option<String>,
}

type Written = (Option<u64>, Option<u64>, Option<u64>);

pub(super) fn settings(
    flags: &Settings,
    (days, places, queue): Written,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<TaskSettings> {
    let days = within("task_days", flags.task_days.or(days).unwrap_or(7), DAYS)?;
    let places = within("task_places", flags.task_places.or(places).unwrap_or(64), PLACES)?;
    let queue = within("task_queue", flags.task_queue.or(queue).unwrap_or(100_000), QUEUE)?;
    // For tests alone, and so not among the flags: leases that end soon, how often and where to die.
    let deaths = variable("HAFT_TASK_DEATHS").map(|text| text.parse().context("HAFT_TASK_DEATHS"));
    let lease = variable("HAFT_TASK_LEASE_MS").map(|text| text.parse().context("HAFT_TASK_LEASE_MS"));
    Ok(TaskSettings {
        keep: Duration::from_secs(days * DAY),
        places: usize::try_from(places)?,
        queue,
        lease: lease.transpose()?.map(Duration::from_millis),
        deaths: deaths.transpose()?.unwrap_or(3),
        failpoints: variable("HAFT_FAILPOINT"),
    })
}

impl TaskSettings {
    /// Where a test lets the process die. One that is not known is a mistake of the test.
    pub(crate) fn failpoints(&self) -> anyhow::Result<Failpoints> {
        match &self.failpoints {
            Some(text) => {
                Failpoints::parse(text).with_context(|| format!("HAFT_FAILPOINT: there is no {text}"))
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
