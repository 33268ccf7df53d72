//! The call log: one row per call, with a hash chain that reveals tampering, and statistics from counts that
//! are stored beside it. On SQLite it is a separate database file; on PostgreSQL it is partitioned by day.
//!
//! Rows are never updated: they are inserted, and deleted by retention.

mod bucket;
mod call;
mod chain;
mod find;
mod full_text;
mod histogram;
mod id;
mod insert;
mod migrate;
mod names;
mod partitions;
mod retention;
mod rollup;
mod scan;
mod span;
mod statement;
mod stats;
mod totals;
mod walk;
mod window;

use std::sync::Arc;

use haft_core::CallError;
use jiff::Timestamp;
use sqlx::sqlite::SqliteSynchronous;

pub use self::call::{CallBodies, CallFailure, CallRow, CallStatus, LoggedCall};
pub use self::find::CallFilter;
pub(crate) use self::find::TEMPLATES;
pub use self::retention::LogRetention;
pub use self::stats::{AgentStats, Stats, StatsOf, StatsQuery, StatsStep, ToolStats};
pub use self::totals::Totals;
pub use self::window::StatsWindow;

use self::names::Names;
use self::rollup::Pending;
use crate::db::{Db, args};
use crate::postgres::PostgresDb;
use crate::sqlite::{LOG_FILE, SqliteDb};
use crate::store::Database;

/// Page size in bytes. Rows arrive in batches, and each page is written twice with one system call per write,
/// which makes large pages cheaper.
const PAGE_SIZE: u32 = 8192;

/// A handle to the call log. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct CallLog(Arc<Inner>);

struct Inner {
    db: Db,
    names: Names,
    pending: Pending,
}

impl CallLog {
    /// Opens or creates the log and migrates it. Open the store first: it locks the data directory.
    pub async fn open(database: &Database) -> Result<Self, CallError> {
        let db = match database {
            Database::Sqlite(directory) => {
                // A power failure may lose the last half minute of the log. Waiting for the disk would slow
                // down every call.
                Db::Sqlite(SqliteDb::beside(directory, LOG_FILE, PAGE_SIZE, SqliteSynchronous::Normal).await?)
            }
            Database::Memory => Db::Sqlite(SqliteDb::in_memory().await?),
            Database::Postgres(url) => Db::Postgres(PostgresDb::open(url).await?),
        };
        migrate::migrate(&db).await?;
        let log = Self(Arc::new(Inner { db, names: Names::default(), pending: Pending::default() }));
        if let Db::Postgres(_) = log.db() {
            partitions::make_ahead(log.db(), Timestamp::now()).await?;
        }
        Ok(log)
    }

    /// Fails if the log cannot be read, or if a statement has found its file damaged.
    pub async fn check(&self) -> Result<(), CallError> {
        if let Db::Sqlite(db) = self.db() {
            db.damage.check(LOG_FILE)?;
        }
        self.db().row("SELECT seq FROM tool_call_chain WHERE id = 1", args![]).await.map(drop)
    }

    /// Checks the pages of a SQLite log file; `check` fails after damage was found.
    pub async fn check_pages(&self) {
        if let Db::Sqlite(db) = self.db() {
            db.check_pages().await;
        }
    }

    /// Closes the connections. All later requests fail with `Unavailable`.
    pub async fn close(&self) {
        self.db().close().await;
    }

    fn db(&self) -> &Db {
        &self.0.db
    }

    fn names(&self) -> &Names {
        &self.0.names
    }

    fn pending(&self) -> &Pending {
        &self.0.pending
    }
}
