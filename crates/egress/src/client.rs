//! The HTTP clients: connections are kept per space, and apart for each reach.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use haft_core::SpaceId;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use rustls::client::Resumption;

use crate::connect::{Connector, Guard, Reach};
use crate::failure::HEAD_BYTES;
use crate::tls::Trust;

/// Connections nobody uses are closed after so long.
const IDLE: Duration = Duration::from_secs(30);

/// Connections that several calls share are asked so often whether they still live.
const PING: Duration = Duration::from_secs(10);

/// So many idle connections are kept to one origin.
const IDLE_PER_HOST: usize = 128;

/// Past so many clients all begin anew: a client that nobody uses holds no connections for long.
const MOST_CLIENTS: usize = 4_096;

pub(crate) type Http = Client<HttpsConnector<Connector>, Full<Bytes>>;

/// All clients of a process.
pub(crate) struct Clients {
    guard: Arc<Guard>,
    trust: Trust,
    tls: OnceLock<ClientConfig>,
    of_spaces: RwLock<HashMap<(SpaceId, bool), Arc<Http>>>,
    of_operator: OnceLock<Arc<Http>>,
}

impl Clients {
    pub(crate) fn new(guard: Arc<Guard>, trust: Trust) -> Self {
        Self {
            guard,
            trust,
            tls: OnceLock::new(),
            of_spaces: RwLock::default(),
            of_operator: OnceLock::new(),
        }
    }

    /// The client of one space, for the public internet or only for what the operator opened.
    pub(crate) fn of_space(&self, space: SpaceId, only_opened: bool) -> Arc<Http> {
        let key = (space, only_opened);
        if let Some(client) = self.of_spaces.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return client.clone();
        }
        let made = self.make(if only_opened { Reach::Opened } else { Reach::Public });
        let mut clients = self.of_spaces.write().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MOST_CLIENTS {
            clients.clear();
        }
        clients.entry(key).or_insert_with(|| Arc::new(made)).clone()
    }

    pub(crate) fn of_operator(&self) -> Arc<Http> {
        self.of_operator.get_or_init(|| Arc::new(self.make(Reach::Anywhere))).clone()
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    fn make(&self, reach: Reach) -> Http {
        let mut tls = self.tls.get_or_init(|| self.trust.config()).clone();
        // What one client's servers remember of it is not told to another's.
        tls.resumption = Resumption::in_memory_sessions(256);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .enable_http2()
            .wrap_connector(Connector { guard: self.guard.clone(), reach });
        Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_PER_HOST)
            .http1_max_buf_size(HEAD_BYTES)
            // Small bodies are copied behind their head: one piece is written faster than two.
            .http1_writev(false)
            // A peer that vanished is noticed before the next call goes to it.
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(PING)
            .http2_max_header_list_size(HEAD_BYTES as u32)
            .build(connector)
    }
}
