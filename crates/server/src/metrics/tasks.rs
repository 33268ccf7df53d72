//! How many tasks there are, in all spaces and all processes, at one moment.

use std::fmt;

use haft_store::RunCounts;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::text::gauge;

#[derive(Debug, Default)]
pub(super) struct TaskCounts {
    queued: u64,
    running: u64,
    waiting: u64,
    dead_letters: u64,
}

impl TaskCounts {
    pub(super) fn of(counts: &[RunCounts]) -> Self {
        counts.iter().fold(Self::default(), |sum, counts| Self {
            queued: sum.queued + counts.queued,
            running: sum.running + counts.running,
            waiting: sum.waiting + counts.waiting,
            dead_letters: sum.dead_letters + counts.dead_letters,
        })
    }
}

impl Collector for TaskCounts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for (name, help, count) in [
            ("haft_tasks_queued", "Tasks that wait for a free slot or for their start time.", self.queued),
            ("haft_tasks_running", "Running tasks, in all processes.", self.running),
            ("haft_tasks_waiting", "Tasks that wait for an approval, a callback or a timer.", self.waiting),
            (
                "haft_tasks_dead_letters",
                "Tasks that failed after all retries and are still stored.",
                self.dead_letters,
            ),
        ] {
            gauge(&mut encoder, name, help, signed(count))?;
        }
        Ok(())
    }
}
