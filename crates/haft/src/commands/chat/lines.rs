//! What is typed, line by line, and Ctrl-C.

use std::io::IsTerminal as _;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Lines of standard input. They are read on a thread of their own, which nobody waits for at the end: a read
/// from a terminal cannot be broken off.
pub(super) struct Lines(mpsc::Receiver<String>);

impl Lines {
    pub(super) fn start() -> Self {
        let (sender, receiver) = mpsc::channel(1);
        std::thread::spawn(move || {
            for line in std::io::stdin().lines() {
                let Ok(line) = line else { return };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self(receiver)
    }

    /// The next line; nothing when no more come.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.0.recv().await
    }
}

/// Whether somebody sits there and types.
pub(super) fn is_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Every Ctrl-C from now on, which ends nothing by itself any more.
pub(super) struct Interrupts(Signal);

impl Interrupts {
    pub(super) fn start() -> anyhow::Result<Self> {
        Ok(Self(signal(SignalKind::interrupt())?))
    }

    pub(super) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending().await
        }
    }
}
