//! Schema migrations, applied in order when a store is opened, each in its own transaction.

use haft_core::{CallError, ErrorKind, Message};

use crate::db::{Db, Tx, args};
use crate::failure;
use crate::row::Row;

haft_core::templates! {
    NEWER = "store.newerSchema",
        "the database was made by a newer Haft: its schema has version {actual}, this one supports up to {known}; use the newer Haft",
        "数据库由更新版本的 Haft 创建：其结构版本为 {actual}，当前程序最高支持 {known}；请使用更新的 Haft";
    UPGRADED = "store.upgraded",
        "A newer Haft upgraded the database to schema version {actual}, and this process supports up to {known}. Run the newer Haft instead.",
        "更新版本的 Haft 已将数据库升级到结构版本 {actual}，当前进程最高支持 {known}；请改用更新的 Haft";
}

/// Selects the schema version of the database, as set by the newest program that opened it.
pub(crate) const ACTUAL: &str = "SELECT COALESCE(MAX(version), 0) FROM schema_version";

/// All migrations: number, SQL for both databases, and additional SQL for PostgreSQL. A released migration
/// never changes; add a new one instead.
const MIGRATIONS: [(u64, &str, &str); 12] = [
    (1, include_str!("../migrations/0001_first.sql"), include_str!("../migrations/0001_first.postgres.sql")),
    (2, include_str!("../migrations/0002_history.sql"), ""),
    (3, include_str!("../migrations/0003_alerts.sql"), ""),
    (4, include_str!("../migrations/0004_artifacts.sql"), ""),
    (5, include_str!("../migrations/0005_runs.sql"), ""),
    (6, include_str!("../migrations/0006_inbox.sql"), ""),
    (7, include_str!("../migrations/0007_conversations.sql"), ""),
    (8, include_str!("../migrations/0008_begun.sql"), ""),
    (9, include_str!("../migrations/0009_invitations.sql"), ""),
    (10, include_str!("../migrations/0010_alert_webhooks.sql"), ""),
    (11, include_str!("../migrations/0011_session_tokens.sql"), ""),
    (12, include_str!("../migrations/0012_fence.sql"), include_str!("../migrations/0012_fence.postgres.sql")),
];

/// Serializes migrations of several processes. The lock id is arbitrary but must be unique within Haft.
const POSTGRES_LOCK: &str = "SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(7420001)";

pub(crate) async fn migrate(db: &Db) -> Result<(), CallError> {
    loop {
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
        let next = MIGRATIONS.iter().find(|(number, _, _)| *number > actual);
        let Some(&(number, script, postgres)) = next else {
            return tx.commit().await;
        };
        tx.script(script).await?;
        if let Tx::Postgres(_) = &tx {
            tx.script(postgres).await?;
        }
        tx.run("INSERT INTO schema_version (version) VALUES ($1)", args![number]).await?;
        tx.commit().await?;
    }
}

/// Returns the newest schema version that this program supports.
fn supported_version() -> u64 {
    MIGRATIONS.last().map_or(0, |(number, _, _)| *number)
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
        assert!(MIGRATIONS.iter().map(|(number, _, _)| *number).eq(1..=MIGRATIONS.len() as u64));
    }
}
