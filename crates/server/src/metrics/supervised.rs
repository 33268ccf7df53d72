//! The background tasks of this process: whether each is running, and how often it panicked.

use std::fmt;

use haft_engine::{Supervisor, TaskHealth};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::text::{Quoted, counter};

#[derive(Debug)]
pub(super) struct SupervisedTasks(Vec<TaskHealth>);

impl SupervisedTasks {
    pub(super) fn now(supervisor: &Supervisor) -> Self {
        Self(supervisor.tasks())
    }
}

impl Collector for SupervisedTasks {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Panics of a background task; it is restarted after each.";
        let panics = self.0.iter().map(|task| ([("task", Quoted(task.name))], task.panics));
        counter(&mut encoder, "haft_background_task_panics", help, panics)?;
        let (name, help) = ("haft_background_task_running", "1 if a background task runs.");
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for task in &self.0 {
            let labels = [("task", Quoted(task.name))];
            family.encode_family(&labels)?.encode_gauge(&i64::from(task.is_running))?;
        }
        Ok(())
    }
}
