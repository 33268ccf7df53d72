//! Counts of calls by space and tool: how they ended, how long they took. Memory has a bound.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::{CallError, ErrorKind, Source, SpaceId};
use haft_engine::CallRecord;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::text::{Labels, Quoted, counter};

/// So many tools of spaces are told apart; what comes after is counted together.
const MOST_TOOLS: usize = 2_000;

/// The tool of calls that named none: names that callers make up would fill the memory. No tool is called so.
const UNKNOWN: &str = "(unknown)";

/// Space and tool of what is counted together.
const OTHER: &str = "(other)";

/// The upper bounds of durations, in seconds.
const BOUNDS: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

/// Counts of all calls.
#[derive(Default)]
pub(super) struct Calls(Mutex<Counted>);

struct Counted {
    by_tool: HashMap<(SpaceId, Arc<str>), Series>,
    others: Series,
    unknown: Arc<str>,
}

/// What is counted of one tool.
#[derive(Debug, Clone, Default)]
struct Series {
    /// By where they came from and how they ended; few of all there could be.
    calls: Vec<(Source, Option<ErrorKind>, u64)>,
    attempts: u64,
    cached: u64,
    seconds: f64,
    /// One for each bound, and one for what is longer.
    buckets: [u64; BOUNDS.len() + 1],
}

/// Counts at one moment.
#[derive(Debug)]
pub(super) struct CallsNow(Vec<(String, Arc<str>, Series)>);

impl Default for Counted {
    fn default() -> Self {
        Self { by_tool: HashMap::new(), others: Series::default(), unknown: UNKNOWN.into() }
    }
}

impl Calls {
    pub(super) fn count(&self, records: &[CallRecord]) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            counted.series(record).add(record);
        }
    }

    /// A copy, so that nobody who counts waits until all is written out.
    pub(super) fn now(&self) -> CallsNow {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = counted.by_tool.iter();
        let mut all: Vec<(String, Arc<str>, Series)> =
            known.map(|((space, tool), series)| (space.to_string(), tool.clone(), series.clone())).collect();
        let others = counted.others.clone();
        drop(counted);
        if !others.calls.is_empty() {
            all.push((OTHER.to_owned(), OTHER.into(), others));
        }
        all.sort_by(|(space, tool, _), (other, its_tool, _)| (space, tool).cmp(&(other, its_tool)));
        CallsNow(all)
    }
}

impl Counted {
    fn series(&mut self, record: &CallRecord) -> &mut Series {
        let tool = if record.tool.is_some() { &record.tool_name } else { &self.unknown };
        let has_room = self.by_tool.len() < MOST_TOOLS;
        match self.by_tool.entry((record.space, tool.clone())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) if has_room => new.insert(Series::default()),
            Entry::Vacant(_) => &mut self.others,
        }
    }
}

impl Series {
    fn add(&mut self, record: &CallRecord) {
        let outcome = record.outcome.as_ref().err().map(CallError::kind);
        let mut known = self.calls.iter_mut();
        match known.find(|(source, error, _)| *source == record.source && *error == outcome) {
            Some((_, _, count)) => *count += 1,
            None => self.calls.push((record.source, outcome, 1)),
        }
        self.attempts += u64::from(record.attempts);
        self.cached += u64::from(record.cached);
        let seconds = record.duration.as_secs_f64();
        self.seconds += seconds;
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket] += 1;
    }
}

impl Collector for CallsNow {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let all = &self.0;
        let mut family = encoder.encode_descriptor(
            "haft_tool_calls",
            "Calls, by outcome: success, or the kind of the error.",
            None,
            MetricType::Counter,
        )?;
        for (space, tool, series) in all {
            for (source, error, count) in &series.calls {
                let outcome = error.map_or("success".to_owned(), |kind| kind.to_string());
                let [space, tool] = named(space, tool);
                let source = ("source", Quoted(source.as_str()));
                let labels = [space, tool, source, ("outcome", Quoted(&outcome))];
                family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(count, None)?;
            }
        }
        let seconds = Unit::Seconds;
        let mut family = encoder.encode_descriptor(
            "haft_tool_call_duration",
            "Duration of calls, with all their attempts.",
            Some(&seconds),
            MetricType::Histogram,
        )?;
        for (space, tool, series) in all {
            let ends = BOUNDS.into_iter().chain([f64::MAX]);
            let buckets: Vec<(f64, u64)> = ends.zip(series.buckets).collect();
            let count = series.buckets.iter().sum();
            let labels = named(space, tool);
            let mut histogram = family.encode_family(&labels)?;
            histogram.encode_histogram::<NoLabelSet>(series.seconds, count, &buckets, None)?;
        }
        let help = "Attempts of calls. Calls that were refused or answered from the cache have none.";
        let attempts = all.iter().map(|(space, tool, series)| (named(space, tool), series.attempts));
        counter(&mut encoder, "haft_tool_call_attempts", help, attempts)?;
        let help = "Calls that were answered from the cache.";
        let cached = all.iter().map(|(space, tool, series)| (named(space, tool), series.cached));
        counter(&mut encoder, "haft_tool_calls_cached", help, cached)
    }
}

fn named<'a>(space: &'a str, tool: &'a str) -> Labels<'a, 2> {
    [("space", Quoted(space)), ("tool", Quoted(tool))]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use haft_core::{CallId, ToolId};
    use haft_engine::{TruncatedJson, now};
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;
    use uuid::Uuid;

    use super::*;

    fn record(space: u128, tool: &str, is_known: bool) -> CallRecord {
        CallRecord {
            id: Uuid::nil(),
            request: None,
            call_id: CallId::from(Uuid::nil()),
            tool: is_known.then(|| (ToolId::Uuid(Uuid::nil()), 1)),
            tool_name: tool.into(),
            kind: None,
            space: SpaceId::from(Uuid::from_u128(space)),
            user: None,
            agent: None,
            conversation: None,
            replay_of: None,
            trace_parent: None,
            source: Source::Api,
            arguments: TruncatedJson::default(),
            outcome: Ok(TruncatedJson::default()),
            attempts: 1,
            cached: false,
            coerced: Vec::new(),
            warnings: Vec::new(),
            duration: Duration::from_millis(2),
            started_at: now(),
        }
    }

    fn page(calls: &Calls) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(calls.now()));
        let mut page = String::new();
        encode(&mut page, &registry).expect("written");
        page
    }

    #[test]
    fn each_call_is_counted_once_in_each_family() {
        let calls = Calls::default();
        let failed = CallRecord {
            outcome: Err(CallError::text(ErrorKind::Timeout, "too late")),
            attempts: 3,
            duration: Duration::from_secs(200),
            source: Source::Cli,
            ..record(7, "weather", true)
        };
        let cached = CallRecord { cached: true, attempts: 0, ..record(7, "weather", true) };
        calls.count(&[record(7, "weather", true), cached, failed]);
        let text = page(&calls);
        let labels = format!("space=\"{}\",tool=\"weather\"", Uuid::from_u128(7));
        for line in [
            format!("haft_tool_calls_total{{{labels},source=\"api\",outcome=\"success\"}} 2"),
            format!("haft_tool_calls_total{{{labels},source=\"cli\",outcome=\"Timeout\"}} 1"),
            format!("haft_tool_call_duration_seconds_count{{{labels}}} 3"),
            format!("haft_tool_call_duration_seconds_bucket{{le=\"0.001\",{labels}}} 0"),
            format!("haft_tool_call_duration_seconds_bucket{{le=\"0.0025\",{labels}}} 2"),
            format!("haft_tool_call_duration_seconds_bucket{{le=\"120.0\",{labels}}} 2"),
            format!("haft_tool_call_duration_seconds_bucket{{le=\"+Inf\",{labels}}} 3"),
            format!("haft_tool_call_attempts_total{{{labels}}} 4"),
            format!("haft_tool_calls_cached_total{{{labels}}} 1"),
        ] {
            assert_eq!(text.lines().filter(|known| *known == line).count(), 1, "{line}\n{text}");
        }
    }

    #[test]
    fn names_that_callers_make_up_are_one_series() {
        let calls = Calls::default();
        for number in 0..100 {
            calls.count(&[record(1, &format!("made_up_{number}\"\n"), false)]);
        }
        let text = page(&calls);
        assert!(!text.contains("made_up"), "{text}");
        assert!(text.contains("tool=\"(unknown)\",source=\"api\",outcome=\"success\"} 100\n"), "{text}");
    }

    #[test]
    fn past_the_bound_calls_are_counted_together() {
        let calls = Calls::default();
        for round in 0..2 {
            for number in 0..MOST_TOOLS + 50 {
                calls.count(&[record(number as u128 % 7, &format!("tool_{number}"), true)]);
            }
            let counted = calls.0.lock().expect("not poisoned");
            assert_eq!(counted.by_tool.len(), MOST_TOOLS);
            assert_eq!(counted.others.buckets.iter().sum::<u64>(), 50 * (round + 1));
        }
        let other = "{space=\"(other)\",tool=\"(other)\",source=\"api\",outcome=\"success\"} 100\n";
        assert!(page(&calls).contains(other));
    }
}
