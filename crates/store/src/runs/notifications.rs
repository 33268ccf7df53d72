//! Notifies the worker of this process: of queued runs, and of changes to runs that it executes. On PostgreSQL other
//! processes send notifications, too. They are hints: workers also poll.

use std::sync::Arc;
use std::time::Duration;

use haft_core::RunId;
use haft_runs::{Lease, RunSignal};
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::time::sleep;

use super::writer::{CHANNEL, Committed};
use crate::failure;

/// The pause before the connection for notifications is opened again.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Notifications {
    work: Notify,
    signals: mpsc::UnboundedSender<RunSignal>,
    received: Mutex<mpsc::UnboundedReceiver<RunSignal>>,
}

impl Notifications {
    pub(super) fn new() -> Self {
        let (signals, received) = mpsc::unbounded_channel();
        Self { work: Notify::new(), signals, received: Mutex::new(received) }
    }

    /// Notifies the worker that a run may be queued.
    pub(super) fn work(&self) {
        self.work.notify_one();
    }

    pub(super) fn send(&self, signal: RunSignal) {
        // The receiver lives as long as the sender.
        let _ = self.signals.send(signal);
    }

    /// Notifies the worker of the changes that a transaction of this process committed.
    pub(super) fn committed(&self, committed: Committed) {
        if committed.wakes {
            self.work();
        }
        committed.signals.into_iter().for_each(|signal| self.send(signal));
    }

    pub(super) async fn work_available(&self) {
        self.work.notified().await;
    }

    pub(super) async fn signal(&self) -> RunSignal {
        match self.received.lock().await.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }
}

/// The payload of a PostgreSQL notification for the worker that executes a run.
pub(super) fn payload(signal: RunSignal) -> String {
    match signal {
        RunSignal::Cancel(Lease { run, epoch }) => format!("{run} {epoch}"),
        RunSignal::Changed(run) => run.to_string(),
    }
}

/// Parses the payload of a PostgreSQL notification. Returns `None` if it only says that a run may be queued.
fn parse(payload: &str) -> Option<RunSignal> {
    match payload.split_once(' ') {
        Some((run, epoch)) => {
            Some(RunSignal::Cancel(Lease { run: run.parse().ok()?, epoch: epoch.parse().ok()? }))
        }
        None => payload.parse::<RunId>().ok().map(RunSignal::Changed),
    }
}

/// Receives PostgreSQL notifications until the pool is closed.
pub(super) async fn listen(pool: PgPool, notifications: Arc<Notifications>) {
    while !pool.is_closed() {
        if let Err(error) = receive(&pool, &notifications).await {
            tracing::warn!(cause = %failure::driver_error(error), "Notifications of runs stopped; listening again");
        }
        sleep(RECONNECT_PAUSE).await;
    }
}

async fn receive(pool: &PgPool, notifications: &Notifications) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    loop {
        let notification = listener.recv().await?;
        match parse(notification.payload()) {
            Some(signal) => notifications.send(signal),
            None => notifications.work(),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn payloads_are_parsed_as_they_are_written() {
        let run = RunId::from(Uuid::now_v7());
        let lease = Lease { run, epoch: 7 };
        for signal in [RunSignal::Cancel(lease), RunSignal::Changed(run)] {
            assert_eq!(parse(&payload(signal)), Some(signal));
        }
        assert_eq!(parse(""), None);
        assert_eq!(parse("unexpected payload"), None);
    }
}
