//! Read connections of a SQLite database. Unlike a pool of sqlx, they are not tested when they are returned,
//! which would wake two threads per read.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Error};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::sqlite::{ACQUIRE_TIMEOUT, Damage};

/// Maximum number of concurrent readers.
const MAX_READERS: usize = 4;

pub(crate) struct Readers {
    options: Box<SqliteConnectOptions>,
    /// Idle connections.
    free: Mutex<Vec<SqliteConnection>>,
    permits: Semaphore,
    damage: Damage,
}

/// A borrowed connection. It is returned when dropped.
pub(crate) struct BorrowedReader<'a> {
    connection: Option<SqliteConnection>,
    readers: &'a Readers,
    _permit: SemaphorePermit<'a>,
}

impl Readers {
    /// Creates the set without connections; each is opened on first use.
    pub(crate) fn new(options: SqliteConnectOptions, damage: Damage) -> Self {
        Self {
            options: Box::new(options),
            free: Mutex::default(),
            permits: Semaphore::new(MAX_READERS),
            damage,
        }
    }

    fn free(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the path of the database file.
    pub(crate) fn file(&self) -> &Path {
        self.options.get_filename()
    }

    /// Opens an additional connection, for a long statement.
    pub(crate) async fn connect(&self) -> Result<SqliteConnection, Error> {
        let connected = SqliteConnection::connect_with(&self.options).await;
        connected.inspect_err(|error| self.damage.note(error))
    }

    pub(crate) async fn take(&self) -> Result<BorrowedReader<'_>, Error> {
        let permit =
            timeout(ACQUIRE_TIMEOUT, self.permits.acquire()).await.map_err(|_| Error::PoolTimedOut)?;
        let permit = permit.map_err(|_| Error::PoolClosed)?;
        let free = self.free().pop();
        let connection = match free {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(BorrowedReader { connection: Some(connection), readers: self, _permit: permit })
    }

    /// Closes all connections, after waiting for those in use to be returned.
    pub(crate) async fn close(&self) {
        let all = timeout(ACQUIRE_TIMEOUT, self.permits.acquire_many(MAX_READERS as u32)).await;
        self.permits.close();
        drop(all);
        let free = std::mem::take(&mut *self.free());
        for connection in free {
            // A read connection has no pending writes, so errors do not matter.
            let _ = connection.close().await;
        }
    }
}

impl BorrowedReader<'_> {
    /// Checks the result of a read. After an error the connection is discarded.
    pub(crate) fn check<T>(&mut self, read: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &read {
            self.readers.damage.note(error);
            self.connection = None;
        }
        read
    }

    pub(crate) fn connection(&mut self) -> Result<&mut SqliteConnection, Error> {
        self.connection.as_mut().ok_or(Error::WorkerCrashed)
    }
}

impl Drop for BorrowedReader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|_| !self.readers.permits.is_closed()) {
            self.readers.free().push(connection);
        }
    }
}
