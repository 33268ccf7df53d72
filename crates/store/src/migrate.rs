//! The schema, brought up to date when a store is opened: one transaction for each step, in order.

use haft_core::{CallError, ErrorKind, Message};

use crate::db::{Db, Tx, args};
use crate::failure;

haft_core::templates! {
    NEWER = "store.newerSchema",
        "the database was made by a newer Haft: its schema has version {actual}, this one knows up to {known}; use the newer Haft",
        "数据库由更新版本的 Haft 创建：其结构版本为 {actual}，当前程序最高支持 {known}；请使用更新的 Haft";
}

/// Every step there has ever been, and what PostgreSQL needs besides. One that was released is never
/// changed; a change is another step.
const MIGRATIONS: [(u64, &str, &str); 8] = [
    (1, include_str!("../migrations/0001_first.sql"), include_str!("../migrations/0001_first.postgres.sql")),
    (2, include_str!("../migrations/0002_history.sql"), ""),
    (3, include_str!("../migrations/0003_alerts.sql"), ""),
    (4, include_str!("../migrations/0004_artifacts.sql"), ""),
    (5, include_str!("../migrations/0005_runs.sql"), ""),
    (6, include_str!("../migrations/0006_inbox.sql"), ""),
    (7, include_str!("../migrations/0007_conversations.sql"), ""),
    (8, include_str!("../migrations/0008_begun.sql"), ""),
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
        let row = tx.row("SELECT COALESCE(MAX(version), 0) FROM schema_version", args![]).await?;
        let actual = row.ok_or_else(|| failure::unreadable("no schema version"))?.number(0)?;
        let known = MIGRATIONS.last().map_or(0, |(number, _, _)| *number);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbered_without_a_gap() {
        assert!(MIGRATIONS.iter().map(|(number, _, _)| *number).eq(1..=MIGRATIONS.len() as u64));
    }
}
