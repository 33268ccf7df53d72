//! The writer of the log: a bounded queue of lines, and a thread that writes them to standard error.
//!
//! Logging never blocks: if the reader stalls or a write fails, lines are dropped and counted.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::Locale;
use haft_engine::Supervisor;
use tracing_subscriber::fmt::MakeWriter;

use crate::log::LogFormat;
use crate::{cli_error, exit};

/// The maximum size of all waiting lines, in bytes. Further lines are dropped.
const MAX_WAITING: usize = 4 << 20;

/// The maximum size of lines that are written at once, in bytes.
const MAX_WRITE: usize = 64 << 10;

/// The pause after a failed write; it doubles with each failure in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The maximum time to wait at the end of the process for lines that are not written yet.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Queues log lines without blocking. Cheap to clone; clones share the queue.
#[derive(Clone)]
pub(crate) struct LogWriter(Arc<Queue>);

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    /// Notified when a line arrives.
    arrived: Condvar,
    /// Notified when all lines are written.
    emptied: Condvar,
    dropped: Arc<AtomicU64>,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    is_writing: bool,
}

impl LogWriter {
    /// Starts the thread that writes to standard error.
    pub(crate) fn start(supervisor: &Supervisor) -> io::Result<Self> {
        let writer = Self(Arc::default());
        let queue = writer.0.clone();
        let work = move |checkpoint: &dyn Fn()| queue.write_to(&mut io::stderr(), checkpoint);
        supervisor.run_thread("process log writer", work)?;
        Ok(writer)
    }

    /// The count of lines that were dropped so far.
    pub(crate) fn dropped(&self) -> Arc<AtomicU64> {
        self.0.dropped.clone()
    }

    /// Logs the error that ended a server, if any, and flushes the queue. Returns the exit code.
    ///
    /// The error is queued like all lines, since standard error may be a pipe that is not read.
    pub(crate) fn finish(
        &self,
        ended: anyhow::Result<ExitCode>,
        format: LogFormat,
        locale: Locale,
    ) -> ExitCode {
        let code = ended.unwrap_or_else(|error| {
            match format {
                LogFormat::Json => tracing::error!(error = format!("{error:#}"), "The server stopped"),
                LogFormat::Text => {
                    self.0.push(format!("error: {}\n", cli_error::render_error(&error, locale)).as_bytes())
                }
            }
            exit::of_error(&error).into()
        });
        self.flush();
        code
    }

    /// Waits until all lines are written, at most [`LAST_LINES`].
    fn flush(&self) {
        let is_busy = |waiting: &mut Waiting| waiting.is_writing || !waiting.lines.is_empty();
        drop(self.0.emptied.wait_timeout_while(self.0.lock(), LAST_LINES, is_busy));
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: &[u8]) {
        let mut waiting = self.lock();
        if waiting.bytes + line.len() > MAX_WAITING {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        waiting.bytes += line.len();
        waiting.lines.push_back(line.to_vec());
        self.arrived.notify_one();
    }

    /// Writes lines as they arrive. Never returns.
    fn write_to(&self, output: &mut dyn Write, checkpoint: &dyn Fn()) {
        let (mut pause, mut reported) = (FIRST_PAUSE, 0);
        loop {
            checkpoint();
            let (lines, count) = self.next_lines();
            if output.write_all(&lines).and_then(|()| output.flush()).is_err() {
                self.dropped.fetch_add(count, Ordering::Relaxed);
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
            pause = FIRST_PAUSE;
            let dropped = self.dropped.load(Ordering::Relaxed);
            // Reported when the queue is empty, so that the report is not dropped itself.
            if dropped > reported && self.lock().lines.is_empty() {
                let lines = dropped - reported;
                reported = dropped;
                tracing::warn!(
                    log.lines = lines,
                    "Lines of this log were dropped because they could not be written"
                );
            }
        }
    }

    /// Waits for lines and returns a batch of them with their count.
    fn next_lines(&self) -> (Vec<u8>, u64) {
        let mut waiting = self.lock();
        waiting.is_writing = false;
        if waiting.lines.is_empty() {
            self.emptied.notify_all();
        }
        let is_empty = |waiting: &mut Waiting| waiting.lines.is_empty();
        let waited = self.arrived.wait_while(waiting, is_empty);
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner);
        waiting.is_writing = true;
        let (mut lines, mut count) = (Vec::new(), 0);
        while let Some(line) =
            waiting.lines.pop_front_if(|line| lines.is_empty() || lines.len() + line.len() <= MAX_WRITE)
        {
            waiting.bytes -= line.len();
            lines.extend_from_slice(&line);
            count += 1;
        }
        (lines, count)
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { queue: &self.0, bytes: Vec::new() }
    }
}

/// One line, which is queued when it is dropped.
pub(crate) struct Line<'a> {
    queue: &'a Queue,
    bytes: Vec<u8>,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if !self.bytes.is_empty() {
            self.queue.push(&self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// An output that fails a number of times and then sends all written bytes to the test.
    struct Output {
        failures: u32,
        written: Sender<Vec<u8>>,
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.failures > 0 {
                self.failures -= 1;
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.written.send(bytes.to_vec()).expect("the test listens");
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn writer(failures: u32) -> (LogWriter, Receiver<Vec<u8>>) {
        let (written, receiver) = channel();
        let writer = LogWriter(Arc::default());
        let queue = writer.0.clone();
        std::thread::spawn(move || queue.write_to(&mut Output { failures, written }, &|| {}));
        (writer, receiver)
    }

    fn log(writer: &LogWriter, line: &str) {
        writer.make_writer().write_all(line.as_bytes()).expect("it never fails");
    }

    #[test]
    fn lines_are_written_in_order_and_flushed() {
        let (writer, written) = writer(0);
        for number in 0..1000 {
            log(&writer, &format!("line {number}\n"));
        }
        writer.flush();
        let text = written.try_iter().flatten().collect::<Vec<u8>>();
        let text = String::from_utf8(text).expect("text");
        assert!(text.lines().eq((0..1000).map(|number| format!("line {number}"))), "{text}");
        assert_eq!(writer.dropped().load(Ordering::Relaxed), 0);
    }

    #[test]
    fn lines_that_fail_to_be_written_are_counted_and_later_ones_are_written() {
        let (writer, written) = writer(2);
        for line in ["first\n", "second\n", "third\n"] {
            log(&writer, line);
            writer.flush();
        }
        assert_eq!(writer.dropped().load(Ordering::Relaxed), 2);
        assert_eq!(written.try_iter().flatten().collect::<Vec<u8>>(), b"third\n");
    }

    #[test]
    fn queue_without_a_reader_drops_lines_and_stays_bounded() {
        let writer = LogWriter(Arc::default());
        let line = "x".repeat(MAX_WAITING / 4);
        for _ in 0..10 {
            log(&writer, &line);
        }
        assert_eq!(writer.0.lock().lines.len(), 4);
        assert_eq!(writer.dropped().load(Ordering::Relaxed), 6);
    }
}
