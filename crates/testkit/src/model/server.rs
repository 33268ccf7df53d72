//! The HTTP server of the fake models: checks the key, parses and records the request, sends the response.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::Response;
use axum::serve::ListenerExt;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::dialect::{FakeDialect, RequestError, Route};
use super::model_reply::{Failure, ModelReply};
use super::ollama::show_model;
use super::request::RecordedModelRequest;
use super::response_body::{self, ActiveReply, Counts, Frame};
use super::rules::Checked;
use super::{anthropic, gemini, ollama, openai};

/// The models that the server lists. It accepts any model name.
const MODELS: [&str; 2] = ["test-large", "test-small"];

/// A server that runs until dropped.
pub struct ModelServer {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

type ReplyFuture = Pin<Box<dyn Future<Output = ModelReply> + Send>>;

struct Shared {
    respond: Box<dyn Fn(RecordedModelRequest) -> ReplyFuture + Send + Sync>,
    seen: Mutex<Vec<RecordedModelRequest>>,
    refused: Mutex<Vec<String>>,
    counts: Arc<Counts>,
    ids: AtomicUsize,
    needs_key: AtomicBool,
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ModelServer {
    /// Starts a server that calls an async function for each response: `async |request| …`, or
    /// `move |request| { let mine = mine.clone(); async move { … } }` if the function owns values.
    pub async fn start<F, A>(respond: F) -> Self
    where
        F: Fn(RecordedModelRequest) -> A + Send + Sync + 'static,
        A: Future<Output = ModelReply> + Send + 'static,
    {
        let shared = Arc::new(Shared {
            respond: Box::new(move |request| Box::pin(respond(request))),
            seen: Mutex::default(),
            refused: Mutex::default(),
            counts: Arc::default(),
            ids: AtomicUsize::new(1),
            needs_key: AtomicBool::new(true),
        });
        let serving = shared.clone();
        let router = Router::new().fallback(move |http_request: Request| {
            let shared = serving.clone();
            async move { shared.serve(http_request).await }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        #[expect(clippy::disallowed_methods, reason = "aborted when the server is dropped")]
        let task = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { address, shared, task }
    }

    /// Starts a server that sends these responses in order. Further requests get status 400.
    pub async fn script(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        let replies: Mutex<VecDeque<ModelReply>> = Mutex::new(replies.into_iter().collect());
        Self::start(move |_| {
            let next = replies.lock().expect("not poisoned").pop_front();
            let none = || ModelReply::refused(400, "the test's script has no reply left", None);
            std::future::ready(next.unwrap_or_else(none))
        })
        .await
    }

    /// Returns the base URL of a dialect.
    pub fn base(&self, dialect: FakeDialect) -> String {
        format!("http://{}{}", self.address, dialect.base())
    }

    /// Accepts requests without a key.
    pub fn needs_no_key(&self) {
        self.shared.needs_key.store(false, Ordering::SeqCst);
    }

    /// Returns all valid requests, in order.
    pub fn seen(&self) -> Vec<RecordedModelRequest> {
        self.shared.seen.lock().expect("not poisoned").clone()
    }

    /// Returns a message for each rejected request: method, target and the violated rule.
    pub fn refused(&self) -> Vec<String> {
        self.shared.refused.lock().expect("not poisoned").clone()
    }

    /// Returns the number of active responses.
    pub fn under_way(&self) -> usize {
        self.shared.counts.active.load(Ordering::SeqCst)
    }

    /// Returns the number of clients that disconnected before the end of their response.
    pub fn dropped(&self) -> usize {
        self.shared.counts.dropped.load(Ordering::SeqCst)
    }
}

/// A valid request: for a static document, or for a response of the model.
enum ValidRequest {
    Document(Value),
    Model(Box<RecordedModelRequest>),
}

impl Shared {
    async fn serve(&self, http_request: Request) -> Response<Body> {
        let (head, body) = http_request.into_parts();
        let method = head.method.to_string();
        let target = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let Some((dialect, below)) = FakeDialect::split_path(head.uri.path()) else {
            return json(404, &Value::from("no dialect is served at this path"));
        };
        let request = RecordedModelRequest::unparsed(dialect, target.clone(), head.headers);
        let Ok(bytes) = to_bytes(body, usize::MAX).await else {
            return json(400, &dialect.error(400, "the body is incomplete"));
        };
        let read = self.check_key(&request).and_then(|()| match dialect.route(&method, below)? {
            Route::Models => Ok(ValidRequest::Document(dialect.models(&MODELS))),
            Route::Show => Ok(ValidRequest::Document(show_model(&document(&bytes, &request)?)?)),
            Route::Chat { model, is_streamed } => {
                let request = read(&bytes, RecordedModelRequest { model, stream: is_streamed, ..request })?;
                Ok(ValidRequest::Model(Box::new(request)))
            }
        });
        match read {
            Ok(ValidRequest::Document(document)) => json(200, &document),
            Ok(ValidRequest::Model(request)) => self.respond(*request).await,
            Err(rejection) => {
                let message = format!("{method} {target}: {}", rejection.message);
                self.refused.lock().expect("not poisoned").push(message);
                json(rejection.status, &dialect.error(rejection.status, &rejection.message))
            }
        }
    }

    fn check_key(&self, request: &RecordedModelRequest) -> Result<(), RequestError> {
        let is_open = request.key.is_some() || !self.needs_key.load(Ordering::SeqCst);
        request.dialect.missing_key_error().filter(|_| !is_open).map_or(Ok(()), Err)
    }

    async fn respond(&self, request: RecordedModelRequest) -> Response<Body> {
        let mut active = ActiveReply::begin(&self.counts);
        self.seen.lock().expect("not poisoned").push(request.clone());
        let mut reply = (self.respond)(request.clone()).await;
        let dialect = request.dialect;
        if let Some(Failure::Status { status, message, retry_after }) = &reply.failure {
            let mut response = json(*status, &dialect.error(*status, message));
            if let Some(seconds) = retry_after {
                response.headers_mut().insert("retry-after", (*seconds).into());
            }
            active.end();
            return response;
        }
        reply.assign_call_ids(dialect, &self.ids);
        let is_events = dialect != FakeDialect::Gemini || request.target.contains("alt=sse");
        if reply.is_whole || !request.stream || !is_events {
            reply.wait().await;
            let document = whole(&request, &reply);
            return response(200, "application/json", response_body::whole(&document, active));
        }
        let kind = match dialect {
            FakeDialect::Openai | FakeDialect::Anthropic | FakeDialect::Gemini => "text/event-stream",
            FakeDialect::Ollama => "application/x-ndjson",
        };
        response(200, kind, response_body::body(frames(&request, &reply), reply, active))
    }
}

fn document(bytes: &[u8], request: &RecordedModelRequest) -> Checked<Value> {
    let kind = request.header("content-type").unwrap_or_default();
    if !kind.starts_with("application/json") {
        return Err(format!("the content type must be application/json, and is '{kind}'"));
    }
    serde_json::from_slice(bytes).map_err(|error| format!("no JSON: {error}"))
}

fn read(bytes: &[u8], request: RecordedModelRequest) -> Checked<RecordedModelRequest> {
    let body = document(bytes, &request)?;
    let read = match request.dialect {
        FakeDialect::Openai => openai::read(&body, request),
        FakeDialect::Anthropic => anthropic::read(&body, request),
        FakeDialect::Gemini => gemini::read(&body, request),
        FakeDialect::Ollama => ollama::read(&body, request),
    };
    read.map(|request| RecordedModelRequest { body, ..request })
}

fn frames(request: &RecordedModelRequest, reply: &ModelReply) -> Vec<Frame> {
    match request.dialect {
        FakeDialect::Openai => openai::frames(request, reply),
        FakeDialect::Anthropic => anthropic::frames(request, reply),
        FakeDialect::Gemini => gemini::frames(request, reply),
        FakeDialect::Ollama => ollama::frames(request, reply),
    }
}

fn whole(request: &RecordedModelRequest, reply: &ModelReply) -> Value {
    match request.dialect {
        FakeDialect::Openai => openai::whole(request, reply),
        FakeDialect::Anthropic => anthropic::whole(request, reply),
        FakeDialect::Gemini => gemini::whole(request, reply),
        FakeDialect::Ollama => ollama::whole(request, reply),
    }
}

fn json(status: u16, body: &Value) -> Response<Body> {
    response(status, "application/json", Body::from(body.to_string()))
}

fn response(status: u16, kind: &str, body: Body) -> Response<Body> {
    Response::builder().status(status).header("content-type", kind).body(body).expect("a response")
}
