//! PostgreSQL stopped and started again: a clear error in between, and recovery without a restart of Haft.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use haft_testkit::Client;
use serde_json::json;
use tokio::task::JoinHandle;

use super::cluster::{Cluster, Stop};
use super::{FIVE_SECONDS, Settings, call, mock, within};

/// Creates tools one after the other until it is ended, and returns the names of the acknowledged ones.
struct Writer {
    ends: Arc<AtomicBool>,
    task: JoinHandle<Vec<String>>,
}

impl Writer {
    fn start(api: &Client, prefix: &str) -> Self {
        let (ends, api, prefix) = (Arc::new(AtomicBool::new(false)), api.clone(), prefix.to_owned());
        let is_over = ends.clone();
        let task = tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for number in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let name = format!("{prefix}{number}");
                let reply = api.post("/api/tools", &mock(&name, &json!(number))).await;
                match reply.status {
                    201 => acknowledged.push(name),
                    503 => assert_eq!(reply.kind(), "Unavailable", "{}", reply.body),
                    other => panic!("a write ended with {other}: {}", reply.body),
                }
            }
            acknowledged
        });
        Self { ends, task }
    }

    async fn end(self) -> Vec<String> {
        self.ends.store(true, Ordering::Relaxed);
        self.task.await.expect("only successes and 503")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_recovers_when_the_database_is_started_again() {
    let Some(cluster) = Cluster::new() else { return };
    let (_server, api) = Settings::sharing(&cluster.url()).start().await;
    assert_eq!(api.post("/api/tools", &mock("kept", &json!("kept"))).await.status, 201);
    assert_eq!(call(&api, "kept").await.status, 200);

    let gone = Instant::now();
    cluster.stop(Stop::Immediate);
    let first = call(&api, "kept").await;
    // Cached definitions are still valid for a moment, and calls need no database.
    if gone.elapsed() < Duration::from_millis(1500) {
        assert_eq!((first.status, &first.data()["data"]), (200, &json!("kept")), "{}", first.body);
    }
    let asked = Instant::now();
    let refused = api.post("/api/tools", &mock("late", &json!(1))).await;
    assert_eq!((refused.status, refused.kind()), (503, "Unavailable"), "{}", refused.body);
    assert!(refused.header("retry-after").is_some(), "{:?}", refused.headers);
    assert!(asked.elapsed() < FIVE_SECONDS, "{:?}", asked.elapsed());
    within(FIVE_SECONDS, "callers are refused", async || call(&api, "kept").await.status == 503).await;
    assert_eq!((api.get("/healthz").await.status, api.get("/readyz").await.status), (200, 503));

    cluster.start();
    within(FIVE_SECONDS, "calls are back", async || call(&api, "kept").await.status == 200).await;
    let is_made = async || api.post("/api/tools", &mock("late", &json!(1))).await.status == 201;
    within(FIVE_SECONDS, "writes are back", is_made).await;
    assert_eq!(call(&api, "late").await.status, 200);
    // The call log is written again after a pause.
    within(FIVE_SECONDS, "the server is ready", async || api.get("/readyz").await.status == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_restarts_of_the_database() {
    let Some(cluster) = Cluster::new() else { return };
    let (_server, api) = Settings::sharing(&cluster.url()).start().await;
    assert_eq!(api.get("/api/tools").await.status, 200);
    let writers: Vec<Writer> = (0..4).map(|writer| Writer::start(&api, &format!("w{writer}n"))).collect();
    for how in [Stop::Immediate, Stop::Fast, Stop::Immediate] {
        tokio::time::sleep(Duration::from_millis(700)).await;
        cluster.stop(how);
        cluster.start();
        let before = Instant::now();
        let is_made = async || {
            let name = format!("after_{how:?}_{}", before.elapsed().as_millis());
            api.post("/api/tools", &mock(&name, &json!(1))).await.status == 201
        };
        within(FIVE_SECONDS, "writes are back", is_made).await;
    }
    for writer in writers {
        let acknowledged = writer.end().await;
        assert!(!acknowledged.is_empty(), "nothing was written");
        for name in acknowledged {
            let called = call(&api, &name).await;
            assert_eq!(called.status, 200, "{name}: {}", called.body);
            assert_eq!(api.get(&format!("/api/tools/{name}/versions")).await.status, 200, "{name}");
        }
    }
}
