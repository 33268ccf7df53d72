//! Call records: one per call, written in batches, and none lost.

use std::sync::Arc;
use std::time::Duration;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use haft_engine::{
    BoxFuture, CallError, CallOptions, CallRecord, CallSink, ErrorKind, KindName, SinkError, Supervisor,
    ToolService, TraceParent, TruncatedJson,
};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{MemorySink, builder, call, call_with, failed, failing, mock};

fn recording(sink: &Arc<MemorySink>) -> ToolService {
    let tools = builder().cache().sink(sink.clone()).build();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "default": 1}}});
    let output = json!({"type": "object", "required": ["ok"]});
    tools
        .register(
            mock(json!([{"data": {"bad": true}}, failing("Execution")]))
                .input_schema(schema)
                .output_schema(output),
        )
        .expect("registered");
    tools
}

#[tokio::test]
async fn each_outcome_writes_one_record() {
    let sink = Arc::new(MemorySink::default());
    let tools = recording(&sink);
    call(&tools, json!({"n": "7"})).await;
    call(&tools, json!({})).await;
    call(&tools, json!({"n": "x"})).await;
    tools.execute("none", json!({"a": 1}), CallOptions::default()).await.expect("an answer");
    call_with(&tools, json!({}), CallOptions::default().dry_run()).await;
    tools.close().await;

    let rows = sink.records();
    assert_eq!(rows.len(), 4, "a dry run leaves none");
    assert_eq!(rows[0].arguments.value(), Some(json!({"n": 7})));
    assert_eq!(rows[0].coerced, ["n"]);
    assert_eq!(rows[0].warnings[0].path, "ok", "the result still went through");
    assert_eq!(rows[0].outcome.as_ref().ok().and_then(TruncatedJson::value), Some(json!({"bad": true})));
    assert_eq!(
        rows[0].tool.as_ref().map(|(id, version)| (id.to_string(), *version)),
        Some(("t".to_owned(), 1))
    );
    assert_eq!((rows[0].attempts, rows[0].cached), (1, false));
    assert_eq!((rows[0].kind.as_ref().map(KindName::as_str), &rows[3].kind), (Some("mock"), &None));

    let kind = |n: usize| rows[n].outcome.as_ref().expect_err("failed").kind();
    assert_eq!((kind(1), rows[1].arguments.value() == Some(json!({"n": 1}))), (ErrorKind::Execution, true));
    assert_eq!(
        (kind(2), rows[2].arguments.value() == Some(json!({"n": "x"}))),
        (ErrorKind::Validation, true)
    );
    assert_eq!((kind(3), &*rows[3].tool_name, rows[3].tool.is_none()), (ErrorKind::NotFound, "none", true));
    assert_eq!(rows[3].arguments.value(), Some(json!({"a": 1})));
}

#[tokio::test(start_paused = true)]
async fn a_disconnected_caller_is_recorded() {
    let sink = Arc::new(MemorySink::default());
    let tools = builder().sink(sink.clone()).build();
    tools.register(mock(json!([{"delay": 10_000}]))).expect("registered");
    tokio::time::timeout(Duration::from_secs(1), call(&tools, json!({}))).await.expect_err("gone");
    tools.close().await;
    assert_eq!(sink.records()[0].outcome.as_ref().expect_err("cancelled").kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn records_are_batched_and_none_is_lost_on_a_clean_stop() {
    let gate = Arc::new(Semaphore::new(0));
    let sink = Arc::new(MemorySink::behind(&gate));
    let tools = builder().sink(sink.clone()).build();
    tools.register(mock(json!([{"data": 1}]))).expect("registered");
    for _ in 0..1000 {
        call(&tools, json!({})).await;
    }
    gate.add_permits(1000);
    tools.close().await;
    assert_eq!(sink.records().len(), 1000);
    assert!(sink.batches().len() < 10, "{:?}", sink.batches());
}

#[tokio::test(start_paused = true)]
async fn a_temporary_failure_of_the_sink_is_retried() {
    let sink = Arc::new(MemorySink::failing(5));
    let tools = builder().sink(sink.clone()).build();
    tools.register(mock(json!([{"data": 1}]))).expect("registered");
    call(&tools, json!({})).await;
    tools.close().await;
    assert_eq!(sink.records().len(), 1);
}

#[tokio::test]
async fn calls_are_rejected_when_the_sink_is_too_slow() {
    let gate = Arc::new(Semaphore::new(0));
    let sink = Arc::new(MemorySink::behind(&gate));
    let tools = builder().sink_of(sink.clone(), 8).build();
    tools.register(mock(json!([{"data": 1}]))).expect("registered");
    let mut made = 0;
    let refused = loop {
        match tools.execute("t", json!({}), CallOptions::default()).await {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(refused.kind(), ErrorKind::Overloaded);
    assert!((8..=16).contains(&made), "{made}");
    let queue = tools.record_queue().expect("a sink");
    assert_eq!((queue.under_way, queue.waiting, queue.capacity, queue.refused), (0, 8, 8, 1));

    gate.add_permits(1000);
    while tools.execute("t", json!({}), CallOptions::default()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tools.close().await;
    assert_eq!(sink.records().len(), made + 1, "it recovers, and what ran is there");
}

#[tokio::test(start_paused = true)]
async fn running_calls_and_waiting_records_are_counted_separately() {
    let sink = Arc::new(MemorySink::default());
    let tools = builder().sink(sink.clone()).build();
    tools.register(mock(json!([{"delay": 10_000}]))).expect("registered");
    let under_way = || tools.record_queue().map(|queue| (queue.under_way, queue.waiting));
    assert_eq!(under_way(), Some((0, 0)));
    let parent = TraceParent::parse(b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let options = CallOptions::default().trace_parent(parent.expect("a parent"));
    tokio::join!(call_with(&tools, json!({}), options), call(&tools, json!({})), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(under_way(), Some((2, 0)));
    });
    assert_eq!(under_way().map(|(calls, _)| calls), Some(0));
    tools.close().await;
    let mut told: Vec<Option<TraceParent>> = sink.records().iter().map(|row| row.trace_parent).collect();
    told.sort_by_key(Option::is_none);
    assert_eq!(told, [parent, None]);
}

#[tokio::test]
async fn fast_calls_on_one_thread_do_not_starve_the_writer() {
    let sink = Arc::new(MemorySink::default());
    let tools = builder().sink_of(sink.clone(), 8).build();
    tools.register(mock(json!([{"data": 1}]))).expect("registered");
    for _ in 0..1000 {
        call(&tools, json!({})).await;
    }
    tools.close().await;
    assert_eq!(sink.records().len(), 1000);
}

#[tokio::test]
async fn a_closed_engine_rejects_calls() {
    let sink = Arc::new(MemorySink::default());
    let tools = recording(&sink);
    tools.close().await;
    let refused = tools.execute("t", json!({}), CallOptions::default()).await.expect_err("closed");
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    assert_eq!(refused.message().to_string(), "the engine is stopping and accepts no more calls");
}

#[tokio::test(start_paused = true)]
async fn a_stop_cancels_and_records_running_calls() {
    let sink = Arc::new(MemorySink::default());
    let tools = builder().sink(sink.clone()).build();
    tools.register(mock(json!([{"delay": 60_000}])).timeout_ms(100_000)).expect("registered");
    let (result, ()) = tokio::join!(call(&tools, json!({})), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        tools.stop();
    });
    assert_eq!(failed(&result).0, ErrorKind::Cancelled);
    tools.close().await;
    assert_eq!(sink.records().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_sink_is_retried() {
    struct Panicky(MemorySink, AtomicBool);
    impl CallSink for Panicky {
        fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
            assert!(self.1.swap(true, Ordering::SeqCst), "the first time");
            self.0.write(records)
        }
    }
    let sink = Arc::new(Panicky(MemorySink::default(), AtomicBool::new(false)));
    let tools = builder().sink(sink.clone()).build();
    tools.register(mock(json!([{"data": 1}]))).expect("registered");
    call(&tools, json!({})).await;
    tools.close().await;
    assert_eq!(sink.0.records().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn records_are_written_once_if_the_writer_panics_between_attempts() {
    let sink = Arc::new(MemorySink::failing(1));
    let supervisor = Supervisor::with_panics("call log writer").expect("a debug build");
    let tools = builder().sink(sink.clone()).supervisor(supervisor.clone()).build();
    tools.register(mock(json!([{"data": 1}]))).expect("registered");
    for _ in 0..3 {
        call(&tools, json!({})).await;
    }
    tools.close().await;
    assert_eq!(supervisor.tasks().first().map(|task| task.panics), Some(1));
    assert_eq!(sink.records().len(), 3);
}

/// A sink that permanently rejects the records selected by a function.
struct Picky<F>(MemorySink, F);

impl<F: Fn(&CallRecord) -> bool + Send + Sync> CallSink for Picky<F> {
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        if records.iter().any(&self.1) {
            let refused = CallError::text(ErrorKind::Internal, "there is no such character");
            return Box::pin(std::future::ready(Err(SinkError::from(refused))));
        }
        self.0.write(records)
    }
}

#[tokio::test]
async fn a_permanently_rejected_record_becomes_a_stub_and_blocks_no_other() {
    let gate = Arc::new(Semaphore::new(0));
    let is_bad = |record: &CallRecord| record.arguments.text().contains("poison");
    let sink = Arc::new(Picky(MemorySink::behind(&gate), is_bad));
    let tools = builder().sink(sink.clone()).build();
    let schema = json!({"type": "object"});
    tools.register(mock(json!([])).input_schema(schema)).expect("registered");
    let poison = json!({"q": "poison"});
    for number in 0..1000 {
        let arguments = if number % 300 == 7 { poison.clone() } else { json!({"q": number}) };
        call(&tools, arguments).await;
    }
    // A call of an unknown tool, whose name was given by the caller.
    tools.execute("made up", poison.clone(), CallOptions::default()).await.expect("an answer");
    gate.add_permits(10_000);
    tools.close().await;

    let rows = sink.0.records();
    assert_eq!(rows.len(), 1001, "each is there once");
    let (stubs, whole): (Vec<_>, Vec<_>) = rows.iter().partition(|row| !row.warnings.is_empty());
    assert!(whole.iter().all(|row| row.arguments.value().is_some_and(|given| given["q"].is_number())));
    assert!(rows.iter().map(|row| row.id).is_sorted(), "in their order");
    assert_eq!(stubs.len(), 5);
    for stub in &stubs {
        assert_eq!((stub.arguments.text(), stub.warnings.len()), ("", 1));
        let said = stub.warnings[0].message.to_string();
        assert_eq!(said, "the call log rejected the arguments and the result of this call");
    }
    assert!(stubs[..4].iter().all(|stub| &*stub.tool_name == "t" && stub.outcome.is_ok()));
    let last = stubs[4].outcome.as_ref().expect_err("there is no such tool");
    assert_eq!((&*stubs[4].tool_name, last.kind()), ("(unknown)", ErrorKind::NotFound));
    assert!(!last.to_string().contains("made up"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_temporarily_rejects_everything_loses_nothing() {
    // The record, its stub, and then both again: the sink is at fault, not the record.
    let asked = AtomicUsize::new(0);
    let refuse = move |_: &CallRecord| asked.fetch_add(1, Ordering::SeqCst) < 6;
    let sink = Arc::new(Picky(MemorySink::default(), refuse));
    let tools = builder().sink(sink.clone()).build();
    tools.register(mock(json!([{"data": 1}]))).expect("registered");
    call(&tools, json!({})).await;
    tools.close().await;
    let rows = sink.0.records();
    assert_eq!((rows.len(), rows[0].arguments.text(), rows[0].warnings.len()), (1, "{}", 0));
}

#[tokio::test]
async fn waiting_records_are_limited_in_bytes() {
    let gate = Arc::new(Semaphore::new(0));
    let sink = Arc::new(MemorySink::behind(&gate));
    let tools = builder().sink(sink.clone()).build();
    let schema = json!({"type": "object"});
    tools.register(mock(json!([{"data": "x".repeat(20_000)}])).input_schema(schema)).expect("registered");
    let long = json!({"q": "y".repeat(20_000)});
    let mut made = 0;
    let refused = loop {
        match tools.execute("t", long.clone(), CallOptions::default()).await {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    let said = "the call log queue is full, so the call was rejected; try again shortly";
    assert_eq!((refused.kind(), refused.message().to_string().as_str()), (ErrorKind::Overloaded, said));
    let queue = tools.record_queue().expect("a sink");
    assert!((64 << 20..65 << 20).contains(&queue.bytes), "{queue:?}");
    assert!(queue.waiting < queue.capacity / 2 && queue.refused == 1, "{queue:?}");

    gate.add_permits(1000);
    while tools.execute("t", json!({}), CallOptions::default()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tools.close().await;
    assert_eq!(sink.batches().iter().sum::<usize>(), made + 1, "what ran is there");
    assert_eq!(tools.record_queue().map(|queue| queue.bytes), Some(0));
}

#[tokio::test]
async fn coercions_before_a_rejection_are_recorded() {
    let sink = Arc::new(MemorySink::default());
    let tools = builder().sink(sink.clone()).build();
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
    tools.register(mock(json!([])).input_schema(schema)).expect("registered");
    call(&tools, json!({"a": "1", "b": "x"})).await;
    tools.execute(&"long\nname".repeat(100), json!({}), CallOptions::default()).await.expect("an answer");
    tools.close().await;
    let rows = sink.records();
    assert_eq!(
        (rows[0].coerced.as_slice(), rows[0].arguments.value()),
        (["a".to_owned()].as_slice(), Some(json!({"a": 1, "b": "x"})))
    );
    assert!(
        rows[1].tool_name.chars().count() <= 65 && !rows[1].tool_name.contains('\n'),
        "{}",
        rows[1].tool_name
    );
}
