//! PostgreSQL: connection pools, and notifications about changes of other processes.

use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message};
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use tokio::sync::watch;

use crate::sqlite::STATEMENT_CACHE;
use crate::{failure, feed};

haft_core::templates! {
    BAD_URL = "store.databaseUrl",
        "The database URL is invalid. It must look like postgres://user:password@host:5432/name.",
        "数据库 URL 无法解析；格式如 postgres://user:password@host:5432/name";
}

const READERS: u32 = 6;
const WRITERS: u32 = 4;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
const STATEMENT_TIMEOUT: &str = "10s";
const LOCK_TIMEOUT: &str = "5s";

pub(crate) struct PostgresDb {
    /// For reads. Separate, because the change feed must never wait for writers.
    pub(crate) pool: PgPool,
    pub(crate) writers: PgPool,
}

impl PostgresDb {
    pub(crate) async fn open(url: &SecretString) -> Result<Self, CallError> {
        let options = url.expose_secret().parse::<PgConnectOptions>();
        let options = options.map_err(|_| CallError::new(ErrorKind::Validation, Message::new(&BAD_URL)))?;
        let options = options.application_name("haft").statement_cache_capacity(STATEMENT_CACHE).options([
            ("statement_timeout", STATEMENT_TIMEOUT),
            // A client that stalls in a transaction must not block all others.
            ("idle_in_transaction_session_timeout", LOCK_TIMEOUT),
            ("lock_timeout", LOCK_TIMEOUT),
            // Compiling a query over many partitions takes longer than any of our queries may.
            ("jit", "off"),
        ]);
        let pool = |most| PgPoolOptions::new().max_connections(most).acquire_timeout(ACQUIRE_TIMEOUT);
        let connected = pool(READERS).connect_with(options.clone()).await.map_err(failure::connect_error)?;
        Ok(Self { pool: connected, writers: pool(WRITERS).connect_lazy_with(options) })
    }
}

/// Publishes the revision whenever any process commits a change. Notifications may be lost, so consumers must
/// also poll.
pub(crate) async fn listen(pool: PgPool, revision: watch::Sender<u64>) {
    while !pool.is_closed() {
        if let Err(error) = receive_notices(&pool, &revision).await {
            tracing::warn!(cause = %failure::driver_error(error), "The change notifications were interrupted; reconnecting");
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn receive_notices(pool: &PgPool, revision: &watch::Sender<u64>) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(feed::CHANNEL).await?;
    loop {
        let notice = listener.recv().await?;
        if let Ok(latest) = notice.payload().parse() {
            feed::publish_revision(revision, latest);
        }
    }
}
