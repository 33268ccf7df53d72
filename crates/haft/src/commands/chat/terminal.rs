//! Input of a chat: lines of standard input, and Ctrl-C.

use std::io::IsTerminal as _;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Lines of standard input. Reading starts with the first call of [`Lines::next`].
#[derive(Default)]
pub(super) struct Lines(Option<mpsc::Receiver<String>>);

impl Lines {
    /// Returns the next line. Returns `None` at the end of the input.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.0.get_or_insert_with(read).recv().await
    }
}

/// Starts a thread that reads lines. The process ends without joining it, since a read from a terminal cannot
/// be cancelled.
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

/// Returns true if standard input is a terminal.
pub(super) fn is_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Receives Ctrl-C. While this exists, Ctrl-C does not end the process.
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
