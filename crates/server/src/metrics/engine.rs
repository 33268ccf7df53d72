//! How the engine fares, asked for when somebody wants to know.

use std::fmt;

use haft_core::SpaceId;
use haft_engine::{RecordQueue, ToolService};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::text::{Quoted, counter, gauge};

/// So many circuits are told of; who has more that are open has other worries.
const MOST_CIRCUITS: usize = 500;

#[derive(Debug)]
pub(super) struct Engine {
    queue: Option<RecordQueue>,
    subscribers: usize,
    open_circuits: Vec<(SpaceId, String)>,
}

impl Engine {
    pub(super) fn now(tools: &ToolService) -> Self {
        let mut open_circuits = tools.open_circuits();
        open_circuits.sort();
        open_circuits.truncate(MOST_CIRCUITS);
        Self { queue: tools.record_queue(), subscribers: tools.subscribers(), open_circuits }
    }
}

impl Collector for Engine {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        if let Some(queue) = self.queue {
            let help = "Calls in progress.";
            gauge(&mut encoder, "haft_tool_calls_in_flight", help, queue.under_way)?;
            let help = "Finished calls that wait to be written to the call log.";
            gauge(&mut encoder, "haft_call_log_queue_length", help, queue.waiting)?;
            let help = "Maximum number of calls in progress and calls that wait for the call log.";
            gauge(&mut encoder, "haft_call_log_queue_capacity", help, queue.capacity)?;
            let help = "Approximate memory, in bytes, of calls that wait for the call log.";
            gauge(&mut encoder, "haft_call_log_queue_bytes", help, queue.bytes)?;
            let help = "Calls that were refused before they started.";
            let full = ([("reason", Quoted("log_full"))], queue.refused);
            counter(&mut encoder, "haft_calls_refused", help, [full])?;
        }
        let help = "Subscribers to call events.";
        gauge(&mut encoder, "haft_events_subscribers", help, self.subscribers)?;
        let mut family = encoder.encode_descriptor(
            "haft_circuit_open",
            "1 for each open circuit breaker; closed ones are not listed.",
            None,
            MetricType::Gauge,
        )?;
        for (space, origin) in &self.open_circuits {
            let space = space.to_string();
            let labels = [("space", Quoted(&space)), ("circuit", Quoted(origin))];
            family.encode_family(&labels)?.encode_gauge(&1_u32)?;
        }
        Ok(())
    }
}
