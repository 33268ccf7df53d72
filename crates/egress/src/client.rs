//! HTTP clients with their connection pools: separate ones per space and reach.

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

/// Time after which an idle connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval of keep-alive pings on HTTP/2 connections.
const PING_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum number of idle connections per origin.
const MAX_IDLE_PER_HOST: usize = 128;

/// Number of clients above which all are dropped and created again. An unused client holds its connections
/// only briefly.
const MAX_CLIENTS: usize = 4_096;

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

    /// Returns the client of one space, for the public internet or only for networks opened by the operator.
    pub(crate) fn of_space(&self, space: SpaceId, only_opened: bool) -> Arc<Http> {
        let key = (space, only_opened);
        if let Some(client) = self.of_spaces.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return client.clone();
        }
        let made = self.make(if only_opened { Reach::Opened } else { Reach::Public });
        let mut clients = self.of_spaces.write().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MAX_CLIENTS {
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
        // TLS sessions are not shared between clients, so servers of one cannot recognize another.
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
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
            .http1_max_buf_size(HEAD_BYTES)
            // Small bodies are copied behind their head, because a single write is faster.
            .http1_writev(false)
            // Detects a vanished peer before the next call uses the connection.
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_INTERVAL)
            .http2_max_header_list_size(HEAD_BYTES as u32)
            .build(connector)
    }
}
