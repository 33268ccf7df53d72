//! The call log: one row for each call, in a database of its own beside the store (SQLite) or in partitions
//! of a day each (PostgreSQL), chained so that tampering shows; and statistics, from counts kept beside it.
//!
//! Nothing here makes a call, and no row is ever changed: rows are added, and go when they are old.

mod bucket;
mod call;
mod chain;
mod course;
mod find;
mod histogram;
mod id;
mod insert;
mod migrate;
mod names;
mod partitions;
mod retention;
mod rollup;
mod span;
mod statement;
mod stats;
mod totals;
mod walk;
mod window;
mod words;

use std::sync::Arc;

use haft_core::CallError;
use jiff::Timestamp;
use sqlx::sqlite::SqliteSynchronous;

pub use self::call::{CallBodies, CallFailure, CallRow, CallStatus, LoggedCall};
pub use self::find::CallFilter;
pub(crate) use self::find::TEMPLATES;
pub use self::retention::Retention;
pub use self::stats::{AgentStats, Stats, StatsOf, StatsQuery, StatsStep, ToolStats};
pub use self::totals::Totals;
pub use self::window::Window;

use self::names::Names;
use self::rollup::Pending;
use crate::db::{Db, args};
use crate::postgres::PostgresDb;
use crate::sqlite::{LOG_FILE, SqliteDb};
use crate::store::Database;

/// Rows come many at a time, and each page is written twice, with a call to the system for each.
const PAGE: u32 = 8192;

/// What is on record of calls. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct CallLog(Arc<Inner>);

struct Inner {
    db: Db,
    names: Names,
    pending: Pending,
}

impl CallLog {
    /// Opens what is there, or makes it, and brings it up to date. A directory is held by the store, which
    /// is opened first.
    pub async fn open(database: &Database) -> Result<Self, CallError> {
        let db = match database {
            Database::Sqlite(directory) => {
                // A power cut may take the last half minute of the log: to wait for the disk would cost every call.
                Db::Sqlite(SqliteDb::beside(directory, LOG_FILE, PAGE, SqliteSynchronous::Normal, "").await?)
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

    /// Fails if the log cannot be read, or a statement found its file damaged.
    pub async fn check(&self) -> Result<(), CallError> {
        if let Db::Sqlite(db) = self.db() {
            db.damage.check(LOG_FILE)?;
        }
        self.db().row("SELECT seq FROM tool_call_chain WHERE id = 1", args![]).await.map(drop)
    }

    /// Looks for damaged pages in the file of an embedded log; `check` fails after one was found.
    pub async fn check_pages(&self) {
        if let Db::Sqlite(db) = self.db() {
            db.check_pages().await;
        }
    }

    /// Lets go of the connections; whatever is asked afterwards is `Unavailable`.
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
