//! Schema migrations of the call log. They have a separate version table, because on PostgreSQL the log
//! shares a database with the store.

use haft_core::{CallError, ErrorKind, Message};

use crate::db::{Db, Tx, args};
use crate::failure;
use crate::migrate::NEWER;

/// All migrations, as number and SQL for SQLite and PostgreSQL, which differ in partitioning and full-text
/// search. A released migration never changes; add a new one instead.
const MIGRATIONS: [(u64, &str, &str); 1] = [(
    1,
    include_str!("../../migrations/log_0001_sqlite.sql"),
    include_str!("../../migrations/log_0001_postgres.sql"),
)];

/// Serializes migrations of several processes. The lock id is arbitrary but must be unique within Haft.
const POSTGRES_LOCK: &str = "SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(7420003)";

pub(super) async fn migrate(db: &Db) -> Result<(), CallError> {
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
    for (number, sqlite, postgres) in MIGRATIONS.into_iter().filter(|(number, ..)| *number > actual) {
        let script = match &tx {
            Tx::Sqlite(_) => sqlite,
            Tx::Postgres(_) => postgres,
        };
        tx.script(script).await?;
        tx.run("INSERT INTO log_schema_version (version) VALUES ($1)", args![number]).await?;
    }
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_consecutively() {
        assert!(MIGRATIONS.iter().map(|(number, _, _)| *number).eq(1..=MIGRATIONS.len() as u64));
    }
}
