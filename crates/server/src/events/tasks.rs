//! What listeners hear of tasks: that one has ended, and that a person is asked. Read in the store, as it stands there.
//!
//! Nobody writes these events: they are the state of runs, in the order in which it came about. Whoever comes again
//! with the last id hears of everything since; on several servers, of some of it twice.

use std::collections::HashSet;
use std::time::Duration;

use haft_core::{CallError, RunId};
use haft_store::{RunJournal, RunNews};
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::broadcast::Receiver;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::Filter;
use crate::tasks::Tasks;
use crate::visitors::Visitor;

const ENDED: &str = "task.ended";
const ASKED: &str = "approval.asked";

/// So often at most it is looked for news.
const PACE: Duration = Duration::from_millis(200);

/// And so often at least: other processes carry out tasks too.
const LOOK: Duration = Duration::from_secs(1);

/// What was read so long before may be read again.
const AGAIN: Duration = Duration::from_secs(2);

/// About so many are told of at once.
const TOGETHER: usize = 200;

/// The tasks of a space, as one listener hears of them.
pub(super) struct TaskFeed {
    journal: RunJournal,
    ends: Receiver<RunId>,
    pace: Interval,
    look: Instant,
    /// Everything up to here was told of, but for what is committed late.
    since: Timestamp,
    /// And of that moment, everything up to this run.
    last: String,
    /// What was over when the listener came for the first time is not told of.
    first: Timestamp,
    /// What was told of lately, and may be read again.
    told: HashSet<(RunId, Timestamp, bool)>,
}

/// One event, as it is sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told<'a> {
    #[serde(rename = "type")]
    pub(super) event: &'static str,
    task_id: RunId,
    call_id: Option<&'a str>,
    tool_id: &'a str,
    tool_name: &'a str,
    status: &'static str,
    dead_letter: bool,
    #[serde(serialize_with = "haft_core::timestamp::serialize_optional")]
    expires_at: Option<Timestamp>,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    at: Timestamp,
}

impl TaskFeed {
    /// Nothing where the listener wants to hear of no task.
    pub(super) async fn begin(
        tasks: Option<&Tasks>,
        filter: &Filter,
        since: Option<i64>,
    ) -> Result<Option<Self>, CallError> {
        let Some(tasks) = tasks.filter(|_| filter.takes(ENDED) || filter.takes(ASKED)) else {
            return Ok(None);
        };
        let journal = tasks.journal.clone();
        // Before it is read what the time is, so that no end falls in between.
        let ends = tasks.runs.released();
        let now = journal.now().await?;
        let since = since.and_then(|since| Timestamp::from_microsecond(since).ok());
        let first = if since.is_some() { Timestamp::MIN } else { now };
        let since = since.map_or(now, |since| since.min(now));
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (look, last, told) = (Instant::now(), String::new(), HashSet::new());
        Ok(Some(Self { journal, ends, pace, look, since, last, first, told }))
    }

    /// Where whoever hears of all that was read stands.
    pub(super) fn place(&self) -> i64 {
        self.since.as_microsecond()
    }

    /// Waits until there may be news.
    pub(super) async fn due(&mut self) {
        self.pace.tick().await;
        tokio::select! {
            // Whether one was missed makes no difference.
            _ = self.ends.recv() => {}
            () = sleep_until(self.look) => {}
        }
    }

    /// Some of the news since the last time, in order.
    pub(super) async fn read(&mut self, visitor: &Visitor) -> Result<Vec<RunNews>, CallError> {
        while self.ends.try_recv().is_ok() {}
        let late = self.journal.max_commit_delay();
        let mut from = match late.is_zero() {
            true => (self.since, self.last.clone()),
            false => (self.since.saturating_sub(late).unwrap_or(self.since), String::new()),
        };
        let mut fresh: Vec<RunNews> = Vec::new();
        loop {
            let (news, is_all) = self.journal.news(visitor.space, (from.0, &from.1)).await?;
            if let Some(ended) = news.iter().rfind(|news| !news.is_asked) {
                from = (ended.at, ended.run.id.to_string());
                (self.since, self.last) = (self.since.max(from.0), from.1.clone());
            }
            let is_new = |news: &RunNews| {
                news.at >= self.first && self.told.insert((news.run.id, news.at, news.is_asked))
            };
            fresh.extend(news.into_iter().filter(is_new));
            if is_all || fresh.len() >= TOGETHER {
                self.look = if is_all { Instant::now() + LOOK } else { Instant::now() };
                break;
            }
        }
        if let Some(newest) = fresh.last().filter(|newest| newest.at > self.since) {
            (self.since, self.last) = (newest.at, String::new());
        }
        let kept = self.since.saturating_sub(late + AGAIN).unwrap_or(self.since);
        self.told.retain(|(_, at, _)| *at >= kept);
        Ok(fresh)
    }
}

impl<'a> From<&'a RunNews> for Told<'a> {
    fn from(news: &'a RunNews) -> Self {
        let run = &news.run;
        Self {
            event: if news.is_asked { ASKED } else { ENDED },
            task_id: run.id,
            call_id: run.labels.call_id.as_deref(),
            tool_id: &run.labels.lane,
            tool_name: &run.labels.name,
            status: crate::tasks::shown_status(run.status),
            dead_letter: run.is_dead_letter,
            expires_at: run.due_at.filter(|_| news.is_asked),
            at: news.at,
        }
    }
}
