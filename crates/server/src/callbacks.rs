//! The addresses at which upstreams call back: signed, each for one run and for as long as that waits.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use haft_core::artifact::SIGNATURE;
use haft_core::{CallError, ErrorKind, Message, RunId, SpaceId};
use haft_store::{LinkTarget, SignedLink, Store};
use haft_tasks::Callbacks;
use jiff::Timestamp;
use url::Url;

haft_core::templates! {
    NO_ADDRESS = "callbacks.noAddress",
        "This worker has no callback address. Set HAFT_PUBLIC_URL to the public URL of the server.",
        "无法回调此 worker：请将 HAFT_PUBLIC_URL 设为服务的访问地址";
}

/// An upstream may be so late with its answer, and is told that it comes too late.
const GRACE: Duration = Duration::from_secs(24 * 3600);

/// Addresses of this server.
pub struct SignedCallbacks {
    store: Store,
    /// Where others reach this server, when that is set.
    public_url: Option<Url>,
    /// Where it listens, once it does.
    listening: OnceLock<SocketAddr>,
}

impl SignedCallbacks {
    pub fn new(store: Store, public_url: Option<Url>) -> Self {
        Self { store, public_url, listening: OnceLock::new() }
    }

    /// Without an address of its own, this is where it is reached.
    pub fn listens_at(&self, address: SocketAddr) {
        let _ = self.listening.set(address);
    }
}

impl Callbacks for SignedCallbacks {
    fn url(&self, space: SpaceId, run: RunId, attempt: u64, due: Timestamp) -> Result<String, CallError> {
        let base = match (&self.public_url, self.listening.get()) {
            (Some(public), _) => public.as_str().trim_end_matches('/').to_owned(),
            (None, Some(address)) => format!("http://{address}"),
            (None, None) => return Err(CallError::new(ErrorKind::Internal, Message::new(&NO_ADDRESS))),
        };
        let until = due.saturating_add(GRACE).unwrap_or(Timestamp::MAX);
        let signature = self
            .store
            .sign(LinkTarget::Callback(run), SignedLink { space, by: None, until, number: attempt })?;
        Ok(format!("{base}/api/callbacks/{run}?{SIGNATURE}={signature}"))
    }
}
