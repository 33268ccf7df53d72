//! The logs of the turns that this process executes. A log is removed some time after its turn has ended, or when a
//! follower has read all of it at once; later followers read the journal.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::RunId;
use haft_runs::Run;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::event::ChatEvent;
use crate::turn_log::TurnLog;

/// The time for which a complete log is retained for followers that reconnect.
const RETENTION: Duration = Duration::from_secs(20);

/// Maximum number of complete logs that are retained.
const MAX_RETAINED: usize = 1024;

/// The logs of turns in this process, by conversation.
pub struct TurnLogs {
    logs: Mutex<HashMap<RunId, Arc<TurnLog>>>,
    /// Number of logs that were begun.
    begun: watch::Sender<u64>,
    /// Complete logs that are retained, oldest first, by their generations.
    ended: Mutex<VecDeque<(Instant, RunId, u32)>>,
}

impl Default for TurnLogs {
    fn default() -> Self {
        Self { logs: Mutex::default(), begun: watch::Sender::new(0), ended: Mutex::default() }
    }
}

impl TurnLogs {
    fn logs(&self) -> MutexGuard<'_, HashMap<RunId, Arc<TurnLog>>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the log of the last turn of a conversation that this process executed.
    pub fn find(&self, conversation: RunId) -> Option<Arc<TurnLog>> {
        self.logs().get(&conversation).cloned()
    }

    /// Subscribes to the beginnings of turns.
    pub fn begins(&self) -> watch::Receiver<u64> {
        self.begun.subscribe()
    }

    /// Begins the log of a turn, or continues it. A new log starts with the events that the journal contains.
    pub(crate) fn begin(
        &self,
        run: &Run,
        turn: u32,
        earlier: impl FnOnce() -> Vec<ChatEvent>,
    ) -> Arc<TurnLog> {
        let (conversation, epoch) = (run.id, run.epoch);
        let mut logs = self.logs();
        let continues = |log: &&Arc<TurnLog>| {
            // No other process executed the turn in between.
            log.turn == turn && log.is_of(epoch.saturating_sub(1)) && !log.is_complete()
        };
        if let Some(log) = logs.get(&conversation).filter(continues) {
            log.set_epoch(epoch);
            return log.clone();
        }
        let log = Arc::new(TurnLog::new(turn));
        log.set_epoch(epoch);
        earlier().into_iter().for_each(|event| log.emit(event));
        logs.insert(conversation, log.clone());
        drop(logs);
        self.begun.send_modify(|begun| *begun += 1);
        log
    }

    /// Retains a complete log for a while, and removes those whose time is over.
    fn retain(&self, conversation: RunId, generation: u32) {
        let (now, mut old) = (Instant::now(), Vec::new());
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push_back((now, conversation, generation));
        let is_old = |(at, ..): &(Instant, RunId, u32)| now.duration_since(*at) > RETENTION;
        while ended.len() > MAX_RETAINED || ended.front().is_some_and(is_old) {
            old.extend(ended.pop_front());
        }
        drop(ended);
        let mut logs = self.logs();
        for (_, conversation, generation) in old {
            if logs.get(&conversation).is_some_and(|log| log.generation == generation) {
                logs.remove(&conversation);
            }
        }
    }

    /// Ends the turn of a conversation that cannot continue.
    pub(crate) fn fail(&self, conversation: RunId, error: &Value) {
        if let Some(log) = self.find(conversation).filter(|log| !log.is_complete()) {
            log.end(ChatEvent::conversation_failed(error));
        }
    }

    /// Removes a log that another process continues, or that the journal contains.
    pub(crate) fn remove(&self, conversation: RunId, stale: &TurnLog) {
        let mut logs = self.logs();
        if logs.get(&conversation).is_some_and(|log| log.generation == stale.generation) {
            logs.remove(&conversation);
        }
    }

    /// Removes a log that a follower has read at once, unless another follower reads it in parts and may reconnect.
    pub(crate) fn remove_read(&self, conversation: RunId, read: &TurnLog) {
        if !read.is_read_in_parts() {
            self.remove(conversation, read);
        }
    }

    /// Emits the end of a turn, because everything that the conversation did is persisted.
    pub(crate) fn released(&self, conversation: RunId) {
        let Some(log) = self.find(conversation) else { return };
        log.emit_end();
        // A suspended turn uses no memory, unless it has followers.
        if log.is_complete() {
            self.retain(conversation, log.generation);
        } else if log.followers() == 0 {
            self.remove(conversation, &log);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::transcript::FinishReason;

    #[tokio::test(start_paused = true)]
    async fn complete_logs_are_retained_for_a_limited_time_and_number() {
        let turn_logs = TurnLogs::default();
        let begin = |id: RunId| {
            let run = Run::ephemeral(id, Uuid::nil().into(), None, "chat", Value::Null);
            turn_logs.begin(&run, 1, Vec::new)
        };
        let end = |log: &TurnLog, id: RunId| {
            log.end(vec![ChatEvent::Done { finish: FinishReason::Stop, steps: 1 }]);
            turn_logs.released(id);
        };
        let ids: Vec<RunId> = (0..=MAX_RETAINED).map(|_| Uuid::now_v7().into()).collect();
        let running = begin(Uuid::now_v7().into());
        for id in &ids {
            end(&begin(*id), *id);
        }
        let is_retained = |index: usize| turn_logs.find(ids[index]).is_some();
        assert_eq!((is_retained(0), is_retained(1), is_retained(MAX_RETAINED)), (false, true, true));
        // The next turn of a conversation whose last log is due for removal.
        let next = begin(ids[1]);
        tokio::time::advance(RETENTION * 2).await;
        let other = Uuid::now_v7().into();
        end(&begin(other), other);
        assert_eq!((is_retained(1), is_retained(2), turn_logs.find(other).is_some()), (true, false, true));
        assert!(!next.is_complete() && !running.is_complete());
        assert_eq!(turn_logs.logs().len(), 3);
        // A log that was read at once is removed, unless a follower that reads it in parts may reconnect.
        for is_read_in_parts in [false, true] {
            let id = Uuid::now_v7().into();
            let log = begin(id);
            if is_read_in_parts {
                log.read_in_parts();
            }
            end(&log, id);
            turn_logs.remove_read(id, &log);
            assert_eq!(turn_logs.find(id).is_some(), is_read_in_parts);
        }
    }
}
