//! Name resolution. The connector decides whether the addresses may be dialed.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use haft_core::BoxFuture;
use tokio::sync::Semaphore;

/// Resolves names.
pub trait Resolver: Send + Sync {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Maximum number of concurrent lookups. Each occupies a thread until the system gives up, long after the
/// timeout.
const MAX_LOOKUPS: usize = 64;

/// The system's resolver, with its hosts file.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    slots: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { slots: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let slot = self.slots.clone().acquire_owned().await.map_err(io::Error::other)?;
            let name = name.to_owned();
            let lookup = tokio::task::spawn_blocking(move || {
                let _slot = slot;
                let found = (name.as_str(), 0).to_socket_addrs()?;
                Ok(found.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}
