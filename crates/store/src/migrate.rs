//! The schema, brought up to date when a store is opened: one transaction for each step, in order.

use haft_core::{CallError, ErrorKind, Message};

use crate::db::{Db, Tx, args};
use crate::failure;
use crate::row::Row;

haft_core::templates! {
    NEWER = "store.newerSchema",
        "the database was made by a newer Haft: its schema has version {actual}, this one knows up to {known}; use the newer Haft",
        "数据库由更新版本的 Haft 创建：其结构版本为 {actual}，当前程序最高支持 {known}；请使用更新的 Haft";
    UPGRADED = "store.upgraded",
        "A newer Haft upgraded the database to schema version {actual}, and this process knows up to {known}. Run the newer Haft in its place",
        "更新版本的 Haft 已将数据库升级到结构版本 {actual}，当前进程最高支持 {known}；请改用更新的 Haft";
}

/// Reads the schema version that the newest program gave the database.
pub(crate) const ACTUAL: &str = "SELECT COALESCE(MAX(version), 0) FROM schema_version";

/// Every step there has ever been, and what PostgreSQL needs besides. One that was released is never
/// changed; a change is another step.
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

/// So that two processes never do this at the same time. Any number nobody else uses.
const POSTGRES_LOCK: &str = "SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(7420001)";

pub(crate) async fn migrate(db: &Db) -> Result<(), CallError> {
    loop {
        let mut tx = db.begin().await?;
        if let Tx::Postgres(_) = &tx {
            tx.script(POSTGRES_LOCK).await?;
        }
        tx.script("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)").await?;
        let (actual, known) = (version_in(tx.row(ACTUAL, args![]).await?)?, known_version());
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

/// The newest schema that this program knows.
fn known_version() -> u64 {
    MIGRATIONS.last().map_or(0, |(number, _, _)| *number)
}

fn version_in(row: Option<Row>) -> Result<u64, CallError> {
    row.ok_or_else(|| failure::unreadable("no schema version"))?.number(0)
}

/// Fails with a conflict if a newer program upgraded the database since this one opened it.
pub(crate) fn check_version(row: Option<Row>) -> Result<(), CallError> {
    let (actual, known) = (version_in(row)?, known_version());
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
    fn steps_are_numbered_without_a_gap() {
        assert!(MIGRATIONS.iter().map(|(number, _, _)| *number).eq(1..=MIGRATIONS.len() as u64));
    }
}
