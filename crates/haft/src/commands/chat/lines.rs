//! What is typed, line by line, and Ctrl-C.

use std::io::IsTerminal as _;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Lines of standard input, of which none is taken before one is wanted.
#[derive(Default)]
pub(super) struct Lines(Option<mpsc::Receiver<String>>);

impl Lines {
    /// The next line; nothing when no more come.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.0.get_or_insert_with(read).recv().await
    }
}

/// Reads on a thread of its own, which nobody waits for at the end: a read from a terminal cannot be broken off.
fn read() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
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
