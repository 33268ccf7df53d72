//! From a name to addresses. Whether they may be dialled is decided where they are dialled.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use haft_core::BoxFuture;
use tokio::sync::Semaphore;

/// Looks up names.
pub trait Resolver: Send + Sync {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Lookups at once. Each holds a thread until the system gives up on it, long after we have.
const MOST_LOOKUPS: usize = 64;

/// The resolver of the system, with its hosts file.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    places: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(MOST_LOOKUPS)) }
    }
}

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let place = self.places.clone().acquire_owned().await.map_err(io::Error::other)?;
            let name = name.to_owned();
            let lookup = tokio::task::spawn_blocking(move || {
                let _place = place;
                let found = (name.as_str(), 0).to_socket_addrs()?;
                Ok(found.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}
