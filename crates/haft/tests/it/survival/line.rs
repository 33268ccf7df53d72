//! A line to the database that goes dead: nothing is refused, nothing arrives, and nobody is let in for long.

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
struct Line {
    port: u16,
    is_dead: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Line {
    async fn to(address: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (is_dead, watched) = watch::channel(false);
        let task = tokio::spawn(async move {
            let mut carrying = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                carrying.spawn(carry(near, address.clone(), watched.clone()));
            }
        });
        Self { port, is_dead, task }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(near: TcpStream, address: String, mut is_dead: watch::Receiver<bool>) {
    if !lives(&mut is_dead).await {
        return;
    }
    let Ok(far) = TcpStream::connect(&address).await else { return };
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    tokio::join!(pump(near_in, far_out, is_dead.clone()), pump(far_in, near_out, is_dead));
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_dead: watch::Receiver<bool>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if !lives(&mut is_dead).await || to.write_all(&buffer[..length]).await.is_err() {
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
