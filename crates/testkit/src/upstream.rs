//! Fake servers on loopback for tools to call: one with scripted responses, one that controls every byte.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use axum::serve::ListenerExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A recorded request.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub method: String,
    /// Path and query, exactly as received.
    pub target: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl RecordedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("text")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// A server that runs until dropped, and records its requests.
pub struct Upstream {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<RecordedRequest>>>,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Upstream {
    /// Starts a server that calls a function for each response.
    pub async fn start<F>(respond: F) -> Self
    where
        F: Fn(&RecordedRequest) -> Response<Vec<u8>> + Send + Sync + 'static,
    {
        Self::start_async(move |seen| std::future::ready(respond(&seen))).await
    }

    /// Starts a server that calls an async function for each response.
    pub async fn start_async<F, A>(respond: F) -> Self
    where
        F: Fn(RecordedRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Response<Vec<u8>>> + Send + 'static,
    {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (list, respond) = (seen.clone(), Arc::new(respond));
        let router = Router::new().fallback(move |request: Request| {
            let (list, respond) = (list.clone(), respond.clone());
            async move {
                let (head, body) = request.into_parts();
                let seen = RecordedRequest {
                    method: head.method.to_string(),
                    target: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
                    headers: head.headers,
                    body: to_bytes(body, usize::MAX).await.expect("a body").to_vec(),
                };
                list.lock().expect("not poisoned").push(seen.clone());
                respond(seen).await.map(Body::from)
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let listener = listener.tap_io(move |stream| {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.set_nodelay(true);
        });
        #[expect(clippy::disallowed_methods, reason = "aborted when the server is dropped")]
        let task = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { address, seen, connections, task }
    }

    /// Starts a server that passes each TCP connection to a function, which may violate HTTP.
    pub async fn raw<F, A>(serve: F) -> Self
    where
        F: Fn(TcpStream) -> A + Send + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        #[expect(clippy::disallowed_methods, reason = "aborted when the server is dropped")]
        let task = tokio::spawn(async move {
            let mut serving = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                serving.spawn(serve(stream));
            }
        });
        Self { address, seen: Arc::default(), connections, task }
    }

    /// Returns the URL of a path on this server.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns all requests so far.
    pub fn seen(&self) -> Vec<RecordedRequest> {
        self.seen.lock().expect("not poisoned").clone()
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Builds a response with a status and a JSON body.
pub fn json_reply(status: u16, body: &serde_json::Value) -> Response<Vec<u8>> {
    http_response(status, &[("content-type", "application/json")], body.to_string())
}

/// Builds a response with a status, headers and a body.
pub fn http_response(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Response<Vec<u8>> {
    let builder = Response::builder().status(status);
    let builder = headers.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
    builder.body(body.into()).expect("a response")
}
