//! A common interface for SQLite and PostgreSQL. Statements use the SQL that both support, with `$1…` for
//! arguments.
//!
//! The statements themselves are next to each resource. A statement is a constant or is composed of
//! constants; values are always arguments.
//!
//! Driver futures are boxed: they take 15 KB, which every caller's future would otherwise include.

use std::sync::Arc;

use haft_core::id::{AlertId, ArtifactId, ProviderId, TokenId};
use haft_core::{AgentId, CallError, RunId, SpaceId, ToolId, UserId};
use jiff::Timestamp;
use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Encode, Executor as _, Postgres, SqlSafeStr, Sqlite, Transaction, Type};

use crate::failure;
use crate::insert::{Placeholders, Rows};
use crate::postgres::PostgresDb;
use crate::readers::BorrowedReader;
use crate::row::Row;
use crate::sqlite::{Damage, SqliteDb};

pub(crate) enum Db {
    Sqlite(SqliteDb),
    Postgres(PostgresDb),
}

impl Db {
    /// Reads rows outside of a transaction.
    pub(crate) async fn rows(&self, sql: impl SqlSafeStr, args: Vec<Arg>) -> Result<Vec<Row>, CallError> {
        self.reader().await?.rows(sql, args).await
    }

    /// Returns a connection for several consecutive reads.
    pub(crate) async fn reader(&self) -> Result<Reader<'_>, CallError> {
        Box::pin(async move {
            let reader = match self {
                Self::Sqlite(db) => match &db.readers {
                    Some(readers) => readers.take().await.map(Reader::Sqlite),
                    None => db.writer.acquire().await.map(Reader::Memory),
                },
                Self::Postgres(db) => db.pool.acquire().await.map(Reader::Postgres),
            };
            reader.map_err(failure::connect_error)
        })
        .await
    }

    /// Reads the first row, if any.
    pub(crate) async fn row(&self, sql: impl SqlSafeStr, args: Vec<Arg>) -> Result<Option<Row>, CallError> {
        self.reader().await?.row(sql, args).await
    }

    /// Begins a write transaction. It is rolled back if dropped without a commit.
    pub(crate) async fn begin(&self) -> Result<Tx, CallError> {
        Box::pin(async move {
            let tx = match self {
                Self::Sqlite(db) => {
                    let tx = db.writer.begin_with("BEGIN IMMEDIATE").await;
                    let tx = tx.inspect_err(|error| db.damage.note(error));
                    tx.map(|inner| Tx::Sqlite(SqliteTx { inner, damage: db.damage.clone() }))
                }
                Self::Postgres(db) => db.writers.begin().await.map(Tx::Postgres),
            };
            tx.map_err(failure::connect_error)
        })
        .await
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(db) => {
                if let Some(readers) = &db.readers {
                    readers.close().await;
                }
                db.writer.close().await;
            }
            Self::Postgres(db) => {
                db.pool.close().await;
                db.writers.close().await;
            }
        }
    }
}

/// A connection for reading.
pub(crate) enum Reader<'a> {
    Sqlite(BorrowedReader<'a>),
    Memory(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

impl Reader<'_> {
    pub(crate) async fn rows(&mut self, sql: impl SqlSafeStr, args: Vec<Arg>) -> Result<Vec<Row>, CallError> {
        Box::pin(async move {
            let all = |rows: Vec<SqliteRow>| rows.into_iter().map(Row::Sqlite).collect();
            let rows = match self {
                Self::Sqlite(reader) => {
                    let connection = reader.connection().map_err(failure::driver_error)?;
                    let rows = bind_args::<Sqlite>(sql, args).fetch_all(connection).await;
                    reader.check(rows).map(all)
                }
                Self::Memory(connection) => {
                    bind_args::<Sqlite>(sql, args).fetch_all(&mut **connection).await.map(all)
                }
                Self::Postgres(connection) => bind_args::<Postgres>(sql, args)
                    .fetch_all(&mut **connection)
                    .await
                    .map(|rows| rows.into_iter().map(Row::Postgres).collect()),
            };
            rows.map_err(failure::driver_error)
        })
        .await
    }

    /// Reads the first row. On SQLite, `fetch_optional` needs one message from the driver thread instead of
    /// one per row.
    pub(crate) async fn row(
        &mut self,
        sql: impl SqlSafeStr,
        args: Vec<Arg>,
    ) -> Result<Option<Row>, CallError> {
        Box::pin(async move {
            let row = match self {
                Self::Sqlite(reader) => {
                    let connection = reader.connection().map_err(failure::driver_error)?;
                    let row = bind_args::<Sqlite>(sql, args).fetch_optional(connection).await;
                    reader.check(row).map(|row| row.map(Row::Sqlite))
                }
                Self::Memory(connection) => {
                    let row = bind_args::<Sqlite>(sql, args).fetch_optional(&mut **connection).await;
                    row.map(|row| row.map(Row::Sqlite))
                }
                Self::Postgres(connection) => {
                    let row = bind_args::<Postgres>(sql, args).fetch_optional(&mut **connection).await;
                    row.map(|row| row.map(Row::Postgres))
                }
            };
            row.map_err(failure::driver_error)
        })
        .await
    }
}

pub(crate) enum Tx {
    Sqlite(SqliteTx),
    Postgres(Transaction<'static, Postgres>),
}

/// A SQLite transaction that checks its errors for signs of file corruption.
pub(crate) struct SqliteTx {
    inner: Transaction<'static, Sqlite>,
    damage: Damage,
}

impl Tx {
    /// Executes a statement, and returns the number of affected rows.
    pub(crate) async fn run(
        &mut self,
        sql: impl SqlSafeStr,
        args: impl IntoIterator<Item = Arg>,
    ) -> Result<u64, CallError> {
        Box::pin(async move {
            let changed = match self {
                Self::Sqlite(tx) => {
                    let done = bind_args::<Sqlite>(sql, args).execute(&mut *tx.inner).await;
                    done.inspect_err(|error| tx.damage.note(error)).map(|done| done.rows_affected())
                }
                Self::Postgres(tx) => {
                    bind_args::<Postgres>(sql, args).execute(&mut **tx).await.map(|done| done.rows_affected())
                }
            };
            changed.map_err(failure::driver_error)
        })
        .await
    }

    pub(crate) async fn rows(&mut self, sql: impl SqlSafeStr, args: Vec<Arg>) -> Result<Vec<Row>, CallError> {
        Box::pin(async move {
            let rows = match self {
                Self::Sqlite(tx) => {
                    let rows = bind_args::<Sqlite>(sql, args).fetch_all(&mut *tx.inner).await;
                    let rows = rows.inspect_err(|error| tx.damage.note(error));
                    rows.map(|rows| rows.into_iter().map(Row::Sqlite).collect())
                }
                Self::Postgres(tx) => bind_args::<Postgres>(sql, args)
                    .fetch_all(&mut **tx)
                    .await
                    .map(|rows| rows.into_iter().map(Row::Postgres).collect()),
            };
            rows.map_err(failure::driver_error)
        })
        .await
    }

    pub(crate) async fn row(
        &mut self,
        sql: impl SqlSafeStr,
        args: Vec<Arg>,
    ) -> Result<Option<Row>, CallError> {
        Ok(self.rows(sql, args).await?.into_iter().next())
    }

    /// Inserts rows into a table.
    pub(crate) async fn insert(&mut self, rows: Rows) -> Result<(), CallError> {
        let placeholders = match self {
            Self::Sqlite(_) => Placeholders::Anonymous,
            Self::Postgres(_) => Placeholders::Numbered,
        };
        for (sql, values) in rows.statements(placeholders) {
            self.run(AssertSqlSafe(sql), values).await?;
        }
        Ok(())
    }

    /// Executes several statements without arguments, for migrations.
    pub(crate) async fn script(&mut self, sql: impl SqlSafeStr) -> Result<(), CallError> {
        Box::pin(async move {
            let done = match self {
                Self::Sqlite(tx) => {
                    let done = tx.inner.execute(sqlx::raw_sql(sql)).await;
                    done.inspect_err(|error| tx.damage.note(error)).map(drop)
                }
                Self::Postgres(tx) => tx.execute(sqlx::raw_sql(sql)).await.map(drop),
            };
            done.map_err(failure::driver_error)
        })
        .await
    }

    pub(crate) async fn commit(self) -> Result<(), CallError> {
        Box::pin(async move {
            let done = match self {
                Self::Sqlite(tx) => tx.inner.commit().await.inspect_err(|error| tx.damage.note(error)),
                Self::Postgres(tx) => tx.commit().await,
            };
            done.map_err(failure::driver_error)
        })
        .await
    }
}

/// One argument of a statement. It does not implement `Debug` because some arguments are secrets.
pub(crate) enum Arg {
    Text(Option<String>),
    /// Text that is shared with other owners.
    Shared(Arc<str>),
    Int(Option<i64>),
    Bytes(Option<Vec<u8>>),
}

pub(crate) fn bind_args<DB>(
    sql: impl SqlSafeStr,
    args: impl IntoIterator<Item = Arg>,
) -> Query<'static, DB, <DB as sqlx::Database>::Arguments>
where
    DB: sqlx::Database,
    Option<String>: Encode<'static, DB> + Type<DB>,
    Option<i64>: Encode<'static, DB> + Type<DB>,
    Option<Vec<u8>>: Encode<'static, DB> + Type<DB>,
    Arc<str>: Encode<'static, DB> + Type<DB>,
{
    args.into_iter().fold(sqlx::query::<DB>(sql), |query, arg| match arg {
        Arg::Text(text) => query.bind(text),
        Arg::Shared(text) => query.bind(text),
        Arg::Int(number) => query.bind(number),
        Arg::Bytes(bytes) => query.bind(bytes),
    })
}

/// Converts values to a list of arguments.
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::db::Arg::from($value)),*] };
}
pub(crate) use args;

/// Implements the conversion for types that are stored as text.
macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl From<$type> for Arg {
            fn from(value: $type) -> Self {
                Self::Text(Some(value.to_string()))
            }
        }
    )*};
}

as_text!(&str, &String, SpaceId, UserId, AgentId, TokenId, ProviderId, AlertId, ArtifactId, RunId, &ToolId);

impl From<String> for Arg {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&Arc<str>> for Arg {
    fn from(text: &Arc<str>) -> Self {
        Self::Shared(text.clone())
    }
}

impl From<Option<String>> for Arg {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<Option<Vec<u8>>> for Arg {
    fn from(bytes: Option<Vec<u8>>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Option<UserId>> for Arg {
    fn from(user: Option<UserId>) -> Self {
        Self::Text(user.map(|user| user.to_string()))
    }
}

impl From<u64> for Arg {
    fn from(number: u64) -> Self {
        Self::Int(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<bool> for Arg {
    fn from(flag: bool) -> Self {
        Self::Int(Some(i64::from(flag)))
    }
}

impl From<Option<bool>> for Arg {
    fn from(flag: Option<bool>) -> Self {
        Self::Int(flag.map(i64::from))
    }
}

impl From<Timestamp> for Arg {
    fn from(instant: Timestamp) -> Self {
        Self::Int(Some(instant.as_microsecond()))
    }
}

impl From<Option<Timestamp>> for Arg {
    fn from(instant: Option<Timestamp>) -> Self {
        Self::Int(instant.map(Timestamp::as_microsecond))
    }
}

impl From<Vec<u8>> for Arg {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(Some(bytes))
    }
}
