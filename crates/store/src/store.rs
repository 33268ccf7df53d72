//! The store: opening, closing and checking it. The resources are in separate modules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{CallError, ErrorKind, Message, UserId};
use haft_supervisor::Supervisor;
use jiff::Timestamp;
use secrecy::SecretString;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent_cache::AgentCache;
use crate::db::Db;
use crate::keys::MasterKeys;
use crate::postgres::{self, PostgresDb};
use crate::sqlite::{DATABASE_FILE, SqliteDb};
use crate::{alerts, feed, migrate, secrets};

haft_core::templates! {
    ONLY_SQLITE = "store.onlySqlite",
        "Only SQLite databases can be backed up to a file. Use pg_dump for PostgreSQL.",
        "备份到文件仅适用于 SQLite；PostgreSQL 请使用 pg_dump";
}

/// The location of the data.
#[derive(Debug, Clone)]
pub enum Database {
    /// A data directory, used by this process only.
    Sqlite(PathBuf),
    /// The URL of a database that several processes may share.
    Postgres(SecretString),
    /// In memory; lost when the process ends.
    Memory,
}

/// Maximum number of concurrent password hashes; each takes 19 MB.
const MAX_CONCURRENT_HASHES: usize = 4;

/// A handle to the database. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    /// The user who makes the changes. `None` for changes of the server itself.
    actor: Option<UserId>,
}

struct Inner {
    db: Db,
    keys: MasterKeys,
    changed: watch::Sender<u64>,
    hashing: Semaphore,
    agents: AgentCache,
    supervisor: Supervisor,
    /// Aborted when the last clone is dropped.
    _listening: JoinSet<()>,
}

impl Store {
    /// Opens or creates a database and migrates it. Fails if it has secrets that none of the keys decrypts.
    pub async fn open(database: &Database, keys: MasterKeys) -> Result<Self, CallError> {
        Self::open_supervised(database, keys, Supervisor::default()).await
    }

    /// Opens a store whose background tasks run under the given supervisor.
    pub async fn open_supervised(
        database: &Database,
        keys: MasterKeys,
        supervisor: Supervisor,
    ) -> Result<Self, CallError> {
        let db = match database {
            Database::Sqlite(directory) => Db::Sqlite(SqliteDb::open(directory).await?),
            Database::Memory => Db::Sqlite(SqliteDb::in_memory().await?),
            Database::Postgres(url) => Db::Postgres(PostgresDb::open(url).await?),
        };
        migrate::migrate(&db).await?;
        keys.check(secrets::key_ids(&db).await?)?;
        alerts::encrypt_plain_webhooks(&db, &keys).await?;
        let changed = watch::Sender::new(feed::current(&db).await?);
        let mut listening = JoinSet::new();
        if let Db::Postgres(db) = &db {
            let (pool, changed, supervisor) = (db.pool.clone(), changed.clone(), supervisor.clone());
            listening.spawn(async move {
                let start = || postgres::listen(pool.clone(), changed.clone());
                supervisor.run("change listener", &CancellationToken::new(), start).await;
            });
        }
        let hashing = Semaphore::new(MAX_CONCURRENT_HASHES);
        let inner = Arc::new(Inner {
            db,
            keys,
            changed,
            hashing,
            agents: AgentCache::default(),
            supervisor,
            _listening: listening,
        });
        Ok(Self { inner, actor: None })
    }

    /// Returns a handle that records the user as the author of all changes.
    #[must_use]
    pub fn acting_for(&self, user: Option<UserId>) -> Self {
        Self { inner: self.inner.clone(), actor: user }
    }

    /// Fails if the database does not respond, or if a statement has found its file damaged.
    pub async fn check(&self) -> Result<(), CallError> {
        if let Db::Sqlite(db) = self.db() {
            db.damage.check(DATABASE_FILE)?;
        }
        self.current_revision().await.map(drop)
    }

    /// Checks the pages of a SQLite file; `check` fails after damage was found.
    pub async fn check_pages(&self) {
        if let Db::Sqlite(db) = self.db() {
            db.check_pages().await;
        }
    }

    /// Fails with a conflict if a newer program has upgraded a shared database since it was opened.
    pub async fn check_schema(&self) -> Result<(), CallError> {
        match self.is_shared() {
            true => migrate::check_version(self.db().row(migrate::ACTUAL, Vec::new()).await?),
            false => Ok(()),
        }
    }

    /// Closes the connections. All later requests fail with `Unavailable`.
    pub async fn close(&self) {
        self.inner.db.close().await;
    }

    /// Copies a SQLite database into a new file as a consistent snapshot.
    pub async fn vacuum_into(&self, path: &Path) -> Result<(), CallError> {
        match &self.inner.db {
            Db::Sqlite(db) => db.vacuum_into(path).await,
            Db::Postgres(_) => Err(CallError::new(ErrorKind::BadRequest, Message::new(&ONLY_SQLITE))),
        }
    }

    /// Returns the supervisor of the background tasks.
    pub fn supervisor(&self) -> &Supervisor {
        &self.inner.supervisor
    }

    pub(crate) fn actor(&self) -> Option<UserId> {
        self.actor
    }

    /// Returns true if other processes may use the same database.
    pub fn is_shared(&self) -> bool {
        match self.db() {
            Db::Sqlite(_) => false,
            Db::Postgres(_) => true,
        }
    }

    pub(crate) fn db(&self) -> &Db {
        &self.inner.db
    }

    pub(crate) fn keys(&self) -> &MasterKeys {
        &self.inner.keys
    }

    pub(crate) fn revision_sender(&self) -> &watch::Sender<u64> {
        &self.inner.changed
    }

    pub(crate) fn agent_cache(&self) -> &AgentCache {
        &self.inner.agents
    }

    pub(crate) fn hashing(&self) -> &Semaphore {
        &self.inner.hashing
    }
}

/// Whether to delete a resource that is still in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Force {
    #[default]
    No,
    Yes,
}

/// Returns the current time in milliseconds, a precision that every client can represent.
pub(crate) fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
