//! Test of the shutdown of the runtime during an import.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use haft_core::ErrorKind;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::ImportGate;

/// The maximum time that the test waits for a runtime that does not shut down.
const TIMEOUT: Duration = Duration::from_secs(30);

#[test]
fn runtime_shuts_down_without_waiting_for_an_import() {
    let (events, log) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    // Work that ignores its cancellation, like the parsing of one large value.
    let work_events = events.clone();
    let work = move |_: &_| {
        work_events.send("began").expect("a receiver");
        released.recv().expect("a sender");
        work_events.send("ended").expect("a receiver");
        Ok(())
    };
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let stop = CancellationToken::new();
        let slot = ImportGate::new(stop.clone()).small().await.expect("a slot");
        let stopping = async {
            assert_eq!(log.recv(), Ok("began"));
            stop.cancel();
        };
        let (result, ()) = tokio::join!(slot.run(work), stopping);
        assert_eq!(result.expect_err("stopped").kind(), ErrorKind::Overloaded);
    });
    thread::spawn(move || {
        drop(runtime);
        events.send("shut down").expect("a receiver");
    });
    let first = log.recv_timeout(TIMEOUT);
    release.send(()).expect("the work waits");
    assert_eq!(
        (first, log.recv()),
        (Ok("shut down"), Ok("ended")),
        "the shutdown does not wait for the work"
    );
}
