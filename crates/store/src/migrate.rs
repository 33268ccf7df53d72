//! Schema migrations, applied in order when a store is opened, all in one transaction: a commit waits for the
//! disk.

use haft_core::{CallError, ErrorKind, Message};

use crate::db::{Db, Tx, args};
use crate::failure;
use crate::row::Row;
use crate::runs::POSTGRES_NOW;

haft_core::templates! {
    NEWER = "store.newerSchema",
        "the database was made by a newer Haft: its schema has version {actual}, this one supports up to {known}; use the newer Haft",
        "数据库由更新版本的 Haft 创建：其结构版本为 {actual}，当前程序最高支持 {known}；请使用更新的 Haft";
    UPGRADED = "store.upgraded",
        "A newer Haft upgraded the database to schema version {actual}, and this process supports up to {known}. Run the newer Haft instead.",
        "更新版本的 Haft 已将数据库升级到结构版本 {actual}，当前进程最高支持 {known}；请改用更新的 Haft";
    OLDER_EXECUTES = "store.olderExecutes",
        "An older Haft is executing {count} tasks or conversations on this database, which the upgrade would interrupt. Stop all older processes, then start this one again.",
        "旧版本的 Haft 正在此数据库上执行 {count} 个任务或对话，升级会将其中断。请先停止所有旧版本进程，再启动当前版本。";
}

/// Selects the schema version of the database, as set by the newest program that opened it.
pub(crate) const ACTUAL: &str = "SELECT COALESCE(MAX(version), 0) FROM schema_version";

/// One version of the schema.
struct Migration {
    version: u64,
    /// SQL for both databases.
    sql: &'static str,
    /// SQL for one database, which is executed after that for both.
    sqlite: &'static str,
    postgres: &'static str,
    /// True if an older program would damage the new schema while it executes runs.
    needs_idle_database: bool,
}

const fn migration(version: u64, sql: &'static str) -> Migration {
    Migration { version, sql, sqlite: "", postgres: "", needs_idle_database: false }
}

/// All migrations. A released migration never changes; add a new one instead.
const MIGRATIONS: [Migration; 13] = [
    Migration {
        postgres: include_str!("../migrations/0001_first.postgres.sql"),
        ..migration(1, include_str!("../migrations/0001_first.sql"))
    },
    migration(2, include_str!("../migrations/0002_history.sql")),
    migration(3, include_str!("../migrations/0003_alerts.sql")),
    migration(4, include_str!("../migrations/0004_artifacts.sql")),
    migration(5, include_str!("../migrations/0005_runs.sql")),
    migration(6, include_str!("../migrations/0006_inbox.sql")),
    migration(7, include_str!("../migrations/0007_conversations.sql")),
    migration(8, include_str!("../migrations/0008_begun.sql")),
    migration(9, include_str!("../migrations/0009_invitations.sql")),
    migration(10, include_str!("../migrations/0010_alert_webhooks.sql")),
    migration(11, include_str!("../migrations/0011_session_tokens.sql")),
    Migration {
        postgres: include_str!("../migrations/0012_fence.postgres.sql"),
        ..migration(12, include_str!("../migrations/0012_fence.sql"))
    },
    Migration {
        sqlite: include_str!("../migrations/0013_steps.sqlite.sql"),
        postgres: include_str!("../migrations/0013_steps.postgres.sql"),
        needs_idle_database: true,
        ..migration(13, include_str!("../migrations/0013_steps.sql"))
    },
];

/// Serializes migrations of several processes. The lock id is arbitrary but must be unique within Haft.
const POSTGRES_LOCK: &str = "SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(7420001)";

/// Stops all writes to runs until the end of the transaction.
const POSTGRES_LOCK_RUNS: &str = "LOCK TABLE runs IN SHARE ROW EXCLUSIVE MODE";

pub(crate) async fn migrate(db: &Db) -> Result<(), CallError> {
    let (mut tx, actual) = begin(db).await?;
    // A new database has nothing to lose.
    let is_upgrade = (1..supported_version()).contains(&actual);
    if is_upgrade && let Db::Sqlite(sqlite) = db {
        // The directory is locked, so the database does not change before the next transaction.
        drop(tx);
        sqlite.copy_beside(&format!("schema-{actual}")).await?;
        (tx, _) = begin(db).await?;
    }
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > actual) {
        if is_upgrade && migration.needs_idle_database {
            check_idle(&mut tx).await?;
        }
        tx.script(migration.sql).await?;
        match &tx {
            Tx::Sqlite(_) => tx.script(migration.sqlite).await?,
            Tx::Postgres(_) => tx.script(migration.postgres).await?,
        }
        tx.run("INSERT INTO schema_version (version) VALUES ($1)", args![migration.version]).await?;
    }
    tx.commit().await
}

/// Begins the transaction of all migrations. Returns it with the schema version of the database, which is 0 for a new
/// one.
async fn begin(db: &Db) -> Result<(Tx, u64), CallError> {
    let mut tx = db.begin().await?;
    if let Tx::Postgres(_) = &tx {
        tx.script(POSTGRES_LOCK).await?;
    }
    tx.script("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)").await?;
    let (actual, known) = (version_in(tx.row(ACTUAL, args![]).await?)?, supported_version());
    if actual > known {
        let message = Message::new(&NEWER).with("actual", actual).with("known", known);
        return Err(CallError::new(ErrorKind::Internal, message));
    }
    Ok((tx, actual))
}

/// Fails if an older process has claimed runs on a shared database. SQLite has one process.
async fn check_idle(tx: &mut Tx) -> Result<(), CallError> {
    if let Tx::Sqlite(_) = &tx {
        return Ok(());
    }
    tx.script(POSTGRES_LOCK_RUNS).await?;
    let now = tx.row(POSTGRES_NOW, args![]).await?.ok_or_else(|| failure::unreadable("no clock"))?.int(0)?;
    let claimed = "SELECT COUNT(*) FROM runs WHERE status = 'running' AND due_at > $1";
    let count = tx.row(claimed, args![crate::db::Arg::Int(Some(now))]).await?;
    match count.ok_or_else(|| failure::unreadable("no count"))?.number(0)? {
        0 => Ok(()),
        count => {
            let message = Message::new(&OLDER_EXECUTES).with("count", count);
            Err(CallError::new(ErrorKind::Conflict, message))
        }
    }
}

/// Returns the newest schema version that this program supports.
fn supported_version() -> u64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

fn version_in(row: Option<Row>) -> Result<u64, CallError> {
    row.ok_or_else(|| failure::unreadable("no schema version"))?.number(0)
}

/// Fails with a conflict if a newer program upgraded the database since this one opened it.
pub(crate) fn check_version(row: Option<Row>) -> Result<(), CallError> {
    let (actual, known) = (version_in(row)?, supported_version());
    if actual <= known {
        return Ok(());
    }
    let message = Message::new(&UPGRADED).with("actual", actual).with("known", known);
    Err(CallError::new(ErrorKind::Conflict, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_consecutively() {
        let versions = MIGRATIONS.iter().map(|migration| migration.version);
        assert!(versions.eq(1..=MIGRATIONS.len() as u64));
    }
}
