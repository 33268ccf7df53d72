//! Connections that read an embedded database. A pool asks each how it is whenever it is given back, which wakes two
//! threads for every read; a file does not hang up.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Error};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::sqlite::{Damage, PATIENCE};

/// So many read at once.
const MOST: usize = 4;

pub(crate) struct Readers {
    options: Box<SqliteConnectOptions>,
    /// Those that nobody uses.
    free: Mutex<Vec<SqliteConnection>>,
    seats: Semaphore,
    damage: Damage,
}

/// One of them, in the hands of somebody who gives it back when it is dropped.
pub(crate) struct Reading<'a> {
    connection: Option<SqliteConnection>,
    readers: &'a Readers,
    _seat: SemaphorePermit<'a>,
}

impl Readers {
    /// Each is opened when it is first needed.
    pub(crate) fn new(options: SqliteConnectOptions, damage: Damage) -> Self {
        Self { options: Box::new(options), free: Mutex::default(), seats: Semaphore::new(MOST), damage }
    }

    fn free(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path of the database file.
    pub(crate) fn file(&self) -> &Path {
        self.options.get_filename()
    }

    /// Opens a connection that is not one of these, for a statement that takes long.
    pub(crate) async fn connect(&self) -> Result<SqliteConnection, Error> {
        let connected = SqliteConnection::connect_with(&self.options).await;
        connected.inspect_err(|error| self.damage.note(error))
    }

    pub(crate) async fn take(&self) -> Result<Reading<'_>, Error> {
        let seat = timeout(PATIENCE, self.seats.acquire()).await.map_err(|_| Error::PoolTimedOut)?;
        let seat = seat.map_err(|_| Error::PoolClosed)?;
        let free = self.free().pop();
        let connection = match free {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(Reading { connection: Some(connection), readers: self, _seat: seat })
    }

    /// Lets go of all of them, once those that are used are given back.
    pub(crate) async fn close(&self) {
        let all = timeout(PATIENCE, self.seats.acquire_many(MOST as u32)).await;
        self.seats.close();
        drop(all);
        let free = std::mem::take(&mut *self.free());
        for connection in free {
            // What only reads has nothing to lose.
            let _ = connection.close().await;
        }
    }
}

impl Reading<'_> {
    /// One that failed is not used again.
    pub(crate) fn heed<T>(&mut self, read: Result<T, Error>) -> Result<T, Error> {
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

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|_| !self.readers.seats.is_closed()) {
            self.readers.free().push(connection);
        }
    }
}
