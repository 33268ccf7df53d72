//! The one connection that writes, between two uses of it. To give it back to its pool and to take it again wakes two
//! threads twice, so it stays with whoever used it last for as long as nobody else wants it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_core::CallError;
use sqlx::pool::PoolConnection;
use sqlx::{Sqlite, SqlitePool};

use crate::failure;

/// Where it lies.
#[derive(Default)]
pub(crate) struct Spare(Mutex<State>);

#[derive(Default)]
struct State {
    connection: Option<PoolConnection<Sqlite>>,
    /// So many wait for the pool to have it.
    wanted: usize,
}

/// Somebody who waits for the pool to have it.
pub(crate) struct Wanted<'a>(&'a Spare);

impl Spare {
    /// Where it never lies: others read by the same connection.
    pub(crate) fn never() -> Self {
        Self(Mutex::new(State { connection: None, wanted: 1 }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it back to the pool now, and whenever somebody puts it here, until what this answers is dropped.
    pub(crate) fn want(&self) -> Wanted<'_> {
        let mut state = self.state();
        state.wanted += 1;
        let lying = state.connection.take();
        drop(state);
        drop(lying);
        Wanted(self)
    }

    /// Takes it, from here or from the pool.
    pub(crate) async fn take(&self, pool: &SqlitePool) -> Result<PoolConnection<Sqlite>, CallError> {
        if let Some(lying) = self.state().connection.take() {
            return Ok(lying);
        }
        let _wanted = self.want();
        pool.acquire().await.map_err(failure::of_start)
    }

    /// Lays it down.
    pub(crate) fn put(&self, connection: PoolConnection<Sqlite>) {
        let mut state = self.state();
        let is_wanted = state.wanted > 0;
        let back = if is_wanted { Some(connection) } else { state.connection.replace(connection) };
        drop(state);
        drop(back);
    }
}

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        self.0.state().wanted -= 1;
    }
}
