//! The shared database: a pool of connections, and an ear for what other processes changed.

use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message};
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use tokio::sync::watch;

use crate::sqlite::STATEMENTS;
use crate::{failure, feed};

haft_core::templates! {
    BAD_URL = "store.databaseUrl",
        "the database URL cannot be read; it looks like postgres://user:password@host:5432/name",
        "数据库 URL 无法解析；格式如 postgres://user:password@host:5432/name";
}

const READERS: u32 = 6;
const WRITERS: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(5);
const STATEMENT: &str = "10s";
const LOCK: &str = "5s";

pub(crate) struct PostgresDb {
    /// For what reads; the feed must never wait behind writers.
    pub(crate) pool: PgPool,
    pub(crate) writers: PgPool,
}

impl PostgresDb {
    pub(crate) async fn open(url: &SecretString) -> Result<Self, CallError> {
        let options = url.expose_secret().parse::<PgConnectOptions>();
        let options = options.map_err(|_| CallError::new(ErrorKind::Validation, Message::new(&BAD_URL)))?;
        let options = options.application_name("haft").statement_cache_capacity(STATEMENTS).options([
            ("statement_timeout", STATEMENT),
            // Whoever stops in the middle of a change must not stop all others.
            ("idle_in_transaction_session_timeout", LOCK),
            ("lock_timeout", LOCK),
            // Compiling a statement over many days of calls takes longer than any of ours may.
            ("jit", "off"),
        ]);
        let pool = |most| PgPoolOptions::new().max_connections(most).acquire_timeout(PATIENCE);
        let connected = pool(READERS).connect_with(options.clone()).await.map_err(failure::of_start)?;
        Ok(Self { pool: connected, writers: pool(WRITERS).connect_lazy_with(options) })
    }
}

/// Raises the known revision when any process commits a change. Only a hint: who must know polls.
pub(crate) async fn listen(pool: PgPool, known: watch::Sender<u64>) {
    while !pool.is_closed() {
        if let Err(error) = hear(&pool, &known).await {
            tracing::warn!(cause = %failure::of(error), "Notices of changes stopped; listening again");
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn hear(pool: &PgPool, known: &watch::Sender<u64>) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(feed::CHANNEL).await?;
    loop {
        let notice = listener.recv().await?;
        if let Ok(revision) = notice.payload().parse() {
            feed::raise(known, revision);
        }
    }
}
