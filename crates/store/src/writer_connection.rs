//! Parks the SQLite writer connection between uses. Returning it to the pool and acquiring it again would
//! wake two threads twice, so it stays here until another task waits for it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_core::CallError;
use sqlx::pool::PoolConnection;
use sqlx::{Sqlite, SqlitePool};

use crate::failure;

/// A slot for the parked connection.
#[derive(Default)]
pub(crate) struct WriterConnection(Mutex<State>);

#[derive(Default)]
struct State {
    connection: Option<PoolConnection<Sqlite>>,
    /// Number of tasks that wait for the pool to have the connection.
    waiters: usize,
}

/// A waiting task. While it exists, the connection is not parked.
pub(crate) struct Waiter<'a>(&'a WriterConnection);

impl WriterConnection {
    /// Creates a slot that never parks, for databases whose readers share the connection.
    pub(crate) fn shared() -> Self {
        Self(Mutex::new(State { connection: None, waiters: 1 }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection to the pool, now and after every use, until the result is dropped.
    pub(crate) fn wait(&self) -> Waiter<'_> {
        let mut state = self.state();
        state.waiters += 1;
        let connection = state.connection.take();
        drop(state);
        drop(connection);
        Waiter(self)
    }

    /// Takes the parked connection, or acquires one from the pool.
    pub(crate) async fn take(&self, pool: &SqlitePool) -> Result<PoolConnection<Sqlite>, CallError> {
        if let Some(connection) = self.state().connection.take() {
            return Ok(connection);
        }
        let _waiter = self.wait();
        pool.acquire().await.map_err(failure::connect_error)
    }

    /// Parks the connection, or returns it to the pool if another task waits.
    pub(crate) fn put(&self, connection: PoolConnection<Sqlite>) {
        let mut state = self.state();
        let is_awaited = state.waiters > 0;
        let returned = if is_awaited { Some(connection) } else { state.connection.replace(connection) };
        drop(state);
        drop(returned);
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.state().waiters -= 1;
    }
}
