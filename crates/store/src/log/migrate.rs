//! The schema of the call log, with a version of its own: on PostgreSQL it shares a database with the store.

use haft_core::{CallError, ErrorKind, Message};

use crate::db::{Db, Tx, args};
use crate::failure;
use crate::migrate::NEWER;

/// Every step there has ever been, for SQLite and for PostgreSQL, which partitions and searches otherwise.
/// One that was released is never changed; a change is another step.
const MIGRATIONS: [(u64, &str, &str); 1] = [(
    1,
    include_str!("../../migrations/log_0001_sqlite.sql"),
    include_str!("../../migrations/log_0001_postgres.sql"),
)];

/// So that two processes never do this at the same time. Any number nobody else uses.
const POSTGRES_LOCK: &str = "SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(7420003)";

pub(super) async fn migrate(db: &Db) -> Result<(), CallError> {
    loop {
        let mut tx = db.begin().await?;
        if let Tx::Postgres(_) = &tx {
            tx.script(POSTGRES_LOCK).await?;
        }
        tx.script("CREATE TABLE IF NOT EXISTS log_schema_version (version BIGINT NOT NULL)").await?;
        let row = tx.row("SELECT COALESCE(MAX(version), 0) FROM log_schema_version", args![]).await?;
        let actual = row.ok_or_else(|| failure::unreadable("no schema version"))?.number(0)?;
        let known = MIGRATIONS.last().map_or(0, |(number, _, _)| *number);
        if actual > known {
            let message = Message::new(&NEWER).with("actual", actual).with("known", known);
            return Err(CallError::new(ErrorKind::Internal, message));
        }
        let next = MIGRATIONS.iter().find(|(number, _, _)| *number > actual);
        let Some(&(number, sqlite, postgres)) = next else {
            return tx.commit().await;
        };
        let script = match &tx {
            Tx::Sqlite(_) => sqlite,
            Tx::Postgres(_) => postgres,
        };
        tx.script(script).await?;
        tx.run("INSERT INTO log_schema_version (version) VALUES ($1)", args![number]).await?;
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
