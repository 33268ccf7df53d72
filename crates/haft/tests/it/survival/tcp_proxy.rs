//! A stalled connection to the database: no error arrives and no data, and the server soon refuses callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use haft_testkit::Client;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::database::Database;
use super::{FIVE_SECONDS, ONE_SECOND, Settings, call, mock, within};

/// A TCP proxy to the database that can stall, and that can break connections inside a commit.
pub(crate) struct TcpProxy {
    pub(crate) port: u16,
    is_stalled: watch::Sender<bool>,
    commits: Arc<Commits>,
    task: JoinHandle<()>,
}

/// Numbers of commits that passed the proxy, and of connections that it broke.
#[derive(Default)]
struct Commits {
    seen: AtomicUsize,
    broken: AtomicUsize,
    /// On average, one in this many commits breaks; 0 for none.
    one_of: AtomicUsize,
}

/// The point inside a commit at which a connection breaks.
#[derive(Clone, Copy)]
enum Break {
    /// The server does not receive the commit.
    Before,
    /// The server commits, and the client gets no confirmation.
    After,
}

impl Commits {
    /// Returns the point at which data for the server breaks the connection: by turns before a commit and
    /// after it. Returns `None` if the data passes.
    fn pass(&self, sent: &[u8]) -> Option<Break> {
        let one_of = self.one_of.load(Ordering::SeqCst);
        if one_of == 0 || !sent.windows(COMMIT.len()).any(|part| part == COMMIT) {
            return None;
        }
        // Pseudo-random, because a write that repeats at a regular pace could break each time.
        let drawn = self.seen.fetch_add(1, Ordering::SeqCst).wrapping_mul(2_654_435_761) >> 16;
        if !drawn.is_multiple_of(one_of) {
            return None;
        }
        let broken = self.broken.fetch_add(1, Ordering::SeqCst);
        Some(if broken.is_multiple_of(2) { Break::After } else { Break::Before })
    }
}

/// A COMMIT statement with its terminator, as drivers send it.
const COMMIT: &[u8] = b"COMMIT\0";

impl TcpProxy {
    pub(crate) async fn to(address: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (is_stalled, watched) = watch::channel(false);
        let commits = Arc::new(Commits::default());
        let counted = commits.clone();
        let task = tokio::spawn(async move {
            let mut forwarding = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                forwarding.spawn(forward(near, address.clone(), watched.clone(), counted.clone()));
            }
        });
        Self { port, is_stalled, commits, task }
    }

    /// Breaks on average one in `one_of` commits from now on, or none if it is 0. Returns the number of
    /// broken connections so far.
    pub(crate) fn break_commits(&self, one_of: usize) -> usize {
        self.commits.one_of.store(one_of, Ordering::SeqCst);
        self.commits.broken.load(Ordering::SeqCst)
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(
    near: TcpStream,
    address: String,
    mut is_stalled: watch::Receiver<bool>,
    commits: Arc<Commits>,
) {
    if !wait_while_stalled(&mut is_stalled).await {
        return;
    }
    let Ok(far) = TcpStream::connect(&address).await else { return };
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let is_broken = AtomicBool::new(false);
    // A broken connection loses the commit, or every response after it.
    let forwards_request = |sent: &[u8]| match commits.pass(sent) {
        Some(Break::Before) => false,
        Some(Break::After) => {
            is_broken.store(true, Ordering::SeqCst);
            true
        }
        None => true,
    };
    let forwards_response = |_: &[u8]| !is_broken.load(Ordering::SeqCst);
    tokio::select! {
        () = pump(near_in, far_out, is_stalled.clone(), forwards_request) => {}
        () = pump(far_in, near_out, is_stalled, forwards_response) => {}
    }
}

/// Forwards one direction until `passes` returns false.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut is_stalled: watch::Receiver<bool>,
    passes: impl Fn(&[u8]) -> bool,
) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if !wait_while_stalled(&mut is_stalled).await || !passes(&buffer[..length]) {
            return;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

/// Waits while the proxy is stalled. Returns false if the proxy is gone.
async fn wait_while_stalled(is_stalled: &mut watch::Receiver<bool>) -> bool {
    is_stalled.wait_for(|is_stalled| !*is_stalled).await.is_ok()
}

#[tokio::test]
async fn server_that_cannot_follow_changes_refuses_callers() {
    let Some(database) = Database::new() else { return };
    let proxy = TcpProxy::to(database.address()).await;
    let settings = Settings::sharing(&database.url());
    let (_first, here) = settings.start().await;
    let cut_off = settings.with("HAFT_DATABASE_URL", &database.url_by(proxy.port));
    let (second, there) = cut_off.start().await;
    assert_eq!(here.post("/api/tools", &mock("kept", &json!(1))).await.status, 201);
    let made = here.post("/api/tokens", &json!({"name": "revoked", "scope": "call"})).await;
    let text = |field: &str| made.data()[field].as_str().expect("a text").to_owned();
    let revoked = Client::new(&second.url, &text("token"));
    within(ONE_SECOND, "the token works at the second server", async || {
        call(&revoked, "kept").await.status == 200
    })
    .await;

    proxy.is_stalled.send(true).expect("a proxy");
    assert_eq!(here.delete(&format!("/api/tokens/{}", text("id"))).await.status, 200);
    // The second server cannot receive the change, so it refuses all callers after five seconds.
    within(FIVE_SECONDS, "callers are refused", async || call(&revoked, "kept").await.status == 503).await;
    let closed = call(&there, "kept").await;
    assert_eq!((closed.status, closed.kind()), (503, "Unavailable"), "{}", closed.body);
    assert!(closed.header("retry-after").is_some(), "{:?}", closed.headers);
    let write = there.post("/api/tools", &mock("late", &json!(1))).await;
    assert_eq!((write.status, write.kind()), (503, "Unavailable"), "{}", write.body);
    assert_eq!(there.get("/healthz").await.status, 200, "the process is healthy");
    assert_eq!(there.get("/readyz").await.status, 503);

    proxy.is_stalled.send(false).expect("a proxy");
    within(FIVE_SECONDS, "callers are accepted again", async || call(&there, "kept").await.status == 200)
        .await;
    assert_eq!(
        call(&revoked, "kept").await.status,
        401,
        "the token that was revoked during the stall is refused"
    );
    assert_eq!(there.post("/api/tools", &mock("late", &json!(1))).await.status, 201);
}
