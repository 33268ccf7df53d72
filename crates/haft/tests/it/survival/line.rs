//! A line to the database that goes dead: nothing is refused, nothing arrives, and nobody is let in for long.

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

/// Carries bytes to a server and back, as long as it is not dead.
pub(crate) struct Line {
    pub(crate) port: u16,
    is_dead: watch::Sender<bool>,
    commits: Arc<Commits>,
    task: JoinHandle<()>,
}

/// Commits that came along, and how many of them the line broke.
#[derive(Default)]
struct Commits {
    seen: AtomicUsize,
    broken: AtomicUsize,
    /// One of so many breaks; 0 for none.
    one_of: AtomicUsize,
}

/// Where in a commit the line breaks.
#[derive(Clone, Copy)]
enum Break {
    /// The server never hears of it.
    Before,
    /// It is done, and nobody is told.
    After,
}

impl Commits {
    /// Whether the line breaks in what is sent to the server: by turns before a commit arrives and after it.
    fn pass(&self, sent: &[u8]) -> Option<Break> {
        let one_of = self.one_of.load(Ordering::SeqCst);
        if one_of == 0 || !sent.windows(COMMIT.len()).any(|part| part == COMMIT) {
            return None;
        }
        // At no even pace: what is written at one would break each time.
        let drawn = self.seen.fetch_add(1, Ordering::SeqCst).wrapping_mul(2_654_435_761) >> 16;
        if !drawn.is_multiple_of(one_of) {
            return None;
        }
        let broken = self.broken.fetch_add(1, Ordering::SeqCst);
        Some(if broken.is_multiple_of(2) { Break::After } else { Break::Before })
    }
}

/// A commit as drivers send it, with the end of the text.
const COMMIT: &[u8] = b"COMMIT\0";

impl Line {
    pub(crate) async fn to(address: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (is_dead, watched) = watch::channel(false);
        let commits = Arc::new(Commits::default());
        let counted = commits.clone();
        let task = tokio::spawn(async move {
            let mut carrying = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                carrying.spawn(carry(near, address.clone(), watched.clone(), counted.clone()));
            }
        });
        Self { port, is_dead, commits, task }
    }

    /// From now on one of so many commits breaks its connection; none when it is 0. Gives how many did so far.
    pub(crate) fn break_commits(&self, one_of: usize) -> usize {
        self.commits.one_of.store(one_of, Ordering::SeqCst);
        self.commits.broken.load(Ordering::SeqCst)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(near: TcpStream, address: String, mut is_dead: watch::Receiver<bool>, commits: Arc<Commits>) {
    if !lives(&mut is_dead).await {
        return;
    }
    let Ok(far) = TcpStream::connect(&address).await else { return };
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let is_broken = AtomicBool::new(false);
    // Of what the server is told, some is not passed on; of what it answers, nothing once the line is broken.
    let told = |sent: &[u8]| match commits.pass(sent) {
        Some(Break::Before) => false,
        Some(Break::After) => {
            is_broken.store(true, Ordering::SeqCst);
            true
        }
        None => true,
    };
    let answered = |_: &[u8]| !is_broken.load(Ordering::SeqCst);
    tokio::select! {
        () = pump(near_in, far_out, is_dead.clone(), told) => {}
        () = pump(far_in, near_out, is_dead, answered) => {}
    }
}

/// Carries one way, until something is not to pass.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut is_dead: watch::Receiver<bool>,
    passes: impl Fn(&[u8]) -> bool,
) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if !lives(&mut is_dead).await || !passes(&buffer[..length]) {
            return;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

/// Waits until the line is not dead; false when it is gone.
async fn lives(is_dead: &mut watch::Receiver<bool>) -> bool {
    is_dead.wait_for(|is_dead| !*is_dead).await.is_ok()
}

#[tokio::test]
async fn who_cannot_follow_changes_lets_nobody_in_for_long() {
    let Some(database) = Database::new() else { return };
    let line = Line::to(database.address()).await;
    let settings = Settings::sharing(&database.url());
    let (_first, here) = settings.start().await;
    let cut_off = settings.with("HAFT_DATABASE_URL", &database.url_by(line.port));
    let (second, there) = cut_off.start().await;
    assert_eq!(here.post("/api/tools", &mock("kept", &json!(1))).await.status, 201);
    let made = here.post("/api/tokens", &json!({"name": "revoked", "scope": "call"})).await;
    let text = |field: &str| made.data()[field].as_str().expect("a text").to_owned();
    let revoked = Client::new(&second.url, &text("token"));
    within(ONE_SECOND, "known there", async || call(&revoked, "kept").await.status == 200).await;

    line.is_dead.send(true).expect("a line");
    assert_eq!(here.delete(&format!("/api/tokens/{}", text("id"))).await.status, 200);
    // Nobody there can hear of it, so after five seconds nobody is let in.
    within(FIVE_SECONDS, "closed", async || call(&revoked, "kept").await.status == 503).await;
    let closed = call(&there, "kept").await;
    assert_eq!((closed.status, closed.kind()), (503, "Unavailable"), "{}", closed.body);
    assert!(closed.header("retry-after").is_some(), "{:?}", closed.headers);
    let write = there.post("/api/tools", &mock("late", &json!(1))).await;
    assert_eq!((write.status, write.kind()), (503, "Unavailable"), "{}", write.body);
    assert_eq!(there.get("/healthz").await.status, 200, "the process itself is well");
    assert_eq!(there.get("/readyz").await.status, 503);

    line.is_dead.send(false).expect("a line");
    within(FIVE_SECONDS, "open again", async || call(&there, "kept").await.status == 200).await;
    assert_eq!(call(&revoked, "kept").await.status, 401, "what was revoked meanwhile is not let in once");
    assert_eq!(there.post("/api/tools", &mock("late", &json!(1))).await.status, 201);
}
