//! The store itself: opening and closing it. What it keeps has a file per noun.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::{CallError, ErrorKind, Message, UserId};
use haft_engine::Supervisor;
use jiff::Timestamp;
use secrecy::SecretString;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::db::Db;
use crate::keys::MasterKeys;
use crate::known_agents::KnownAgents;
use crate::postgres::{self, PostgresDb};
use crate::sqlite::{DATABASE, SqliteDb};
use crate::{alerts, feed, migrate, secrets};

haft_core::templates! {
    ONLY_SQLITE = "store.onlySqlite",
        "a backup into a file is for SQLite; use pg_dump for PostgreSQL",
        "备份到文件仅适用于 SQLite；PostgreSQL 请使用 pg_dump";
}

/// Where things are kept.
#[derive(Debug, Clone)]
pub enum Database {
    /// A data directory of this process alone.
    Sqlite(PathBuf),
    /// The URL of a database that processes share.
    Postgres(SecretString),
    /// Gone with the process.
    Memory,
}

/// Passwords are hashed so many at a time, since each takes 19 MB.
const HASHING_AT_ONCE: usize = 4;

/// All that Haft keeps. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    /// For whom changes are made; nobody when the program makes them by itself.
    actor: Option<UserId>,
}

struct Inner {
    db: Db,
    keys: MasterKeys,
    changed: watch::Sender<u64>,
    hashing: Semaphore,
    agents: KnownAgents,
    supervisor: Supervisor,
    /// Ended when the last clone goes.
    _listening: JoinSet<()>,
}

impl Store {
    /// Opens what is there, or makes it, and brings it up to date. Refused when there are secrets that none
    /// of the keys opens.
    pub async fn open(database: &Database, keys: MasterKeys) -> Result<Self, CallError> {
        Self::open_supervised(database, keys, Supervisor::default()).await
    }

    /// Opens a store whose background tasks run under a supervisor of the process.
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
        let hashing = Semaphore::new(HASHING_AT_ONCE);
        let inner = Arc::new(Inner {
            db,
            keys,
            changed,
            hashing,
            agents: KnownAgents::default(),
            supervisor,
            _listening: listening,
        });
        Ok(Self { inner, actor: None })
    }

    /// The same store in the hands of somebody: what is changed through it is on record as theirs.
    #[must_use]
    pub fn acting_for(&self, user: Option<UserId>) -> Self {
        Self { inner: self.inner.clone(), actor: user }
    }

    /// Fails if the database does not answer, or a statement found its file damaged.
    pub async fn check(&self) -> Result<(), CallError> {
        if let Db::Sqlite(db) = self.db() {
            db.damage.check(DATABASE)?;
        }
        self.current_revision().await.map(drop)
    }

    /// Looks for damaged pages in the file of an embedded database; `check` fails after one was found.
    pub async fn check_pages(&self) {
        if let Db::Sqlite(db) = self.db() {
            db.check_pages().await;
        }
    }

    /// Fails with a conflict if a newer program upgraded the database, which several processes share, since this one
    /// opened it.
    pub async fn check_schema(&self) -> Result<(), CallError> {
        match self.is_shared() {
            true => migrate::check_version(self.db().row(migrate::ACTUAL, Vec::new()).await?),
            false => Ok(()),
        }
    }

    /// Lets go of the connections; whatever is asked afterwards is `Unavailable`.
    pub async fn close(&self) {
        self.inner.db.close().await;
    }

    /// Copies a SQLite database as it is at this moment into a new file.
    pub async fn vacuum_into(&self, path: &Path) -> Result<(), CallError> {
        match &self.inner.db {
            Db::Sqlite(db) => db.vacuum_into(path).await,
            Db::Postgres(_) => Err(CallError::new(ErrorKind::BadRequest, Message::new(&ONLY_SQLITE))),
        }
    }

    /// The supervisor of this process's background tasks.
    pub fn supervisor(&self) -> &Supervisor {
        &self.inner.supervisor
    }

    pub(crate) fn actor(&self) -> Option<UserId> {
        self.actor
    }

    /// Whether other processes may use the same database.
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

    pub(crate) fn known_revision(&self) -> &watch::Sender<u64> {
        &self.inner.changed
    }

    pub(crate) fn known_agents(&self) -> &KnownAgents {
        &self.inner.agents
    }

    pub(crate) fn hashing(&self) -> &Semaphore {
        &self.inner.hashing
    }
}

/// Whether something goes although it is still of use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Force {
    #[default]
    No,
    Yes,
}

/// Now, to the millisecond: what every client can hold and give back unchanged.
pub(crate) fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
