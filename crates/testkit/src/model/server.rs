//! The listener: who is let in, what is asked, and what goes back.

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

use super::asked::AskedModel;
use super::dialect::{Dialect, Refusal, Route};
use super::flow::{self, Counts, Frame, UnderWay};
use super::ollama::shown;
use super::reply::{Failure, ModelReply};
use super::rules::Checked;
use super::{anthropic, gemini, ollama, openai};

/// The models that it says it has. It answers for any.
const MODELS: [&str; 2] = ["test-large", "test-small"];

/// A server that runs until it is dropped.
pub struct ModelServer {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

type Answering = Pin<Box<dyn Future<Output = ModelReply> + Send>>;

struct Shared {
    answer: Box<dyn Fn(AskedModel) -> Answering + Send + Sync>,
    seen: Mutex<Vec<AskedModel>>,
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
    /// Answers each question by a function, which may take its time: `async |asked| …`, or
    /// `move |asked| { let mine = mine.clone(); async move { … } }` where it has things of its own.
    pub async fn start<F, A>(answer: F) -> Self
    where
        F: Fn(AskedModel) -> A + Send + Sync + 'static,
        A: Future<Output = ModelReply> + Send + 'static,
    {
        let shared = Arc::new(Shared {
            answer: Box::new(move |asked| Box::pin(answer(asked))),
            seen: Mutex::default(),
            refused: Mutex::default(),
            counts: Arc::default(),
            ids: AtomicUsize::new(1),
            needs_key: AtomicBool::new(true),
        });
        let serving = shared.clone();
        let router = Router::new().fallback(move |request: Request| {
            let shared = serving.clone();
            async move { shared.serve(request).await }
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

    /// Answers with one reply after the other; a question too many is refused for good.
    pub async fn script(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        let left: Mutex<VecDeque<ModelReply>> = Mutex::new(replies.into_iter().collect());
        Self::start(move |_| {
            let next = left.lock().expect("not poisoned").pop_front();
            let none = || ModelReply::refused(400, "the test's script has no reply left", None);
            std::future::ready(next.unwrap_or_else(none))
        })
        .await
    }

    /// The base address for a provider of a kind.
    pub fn base(&self, dialect: Dialect) -> String {
        format!("http://{}{}", self.address, dialect.base())
    }

    /// Lets in whoever has no key, too.
    pub fn needs_no_key(&self) {
        self.shared.needs_key.store(false, Ordering::SeqCst);
    }

    /// All questions that kept to the rules, in their order.
    pub fn seen(&self) -> Vec<AskedModel> {
        self.shared.seen.lock().expect("not poisoned").clone()
    }

    /// All requests that broke a rule of their dialect, and which.
    pub fn refused(&self) -> Vec<String> {
        self.shared.refused.lock().expect("not poisoned").clone()
    }

    /// How many questions are being answered.
    pub fn under_way(&self) -> usize {
        self.shared.counts.under_way.load(Ordering::SeqCst)
    }

    /// How many clients left before the end of their answer.
    pub fn dropped(&self) -> usize {
        self.shared.counts.dropped.load(Ordering::SeqCst)
    }
}

/// What is wanted by a request that keeps to the rules.
enum Wish {
    Document(Value),
    Answer(Box<AskedModel>),
}

impl Shared {
    async fn serve(&self, request: Request) -> Response<Body> {
        let (head, body) = request.into_parts();
        let method = head.method.to_string();
        let target = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let Some((dialect, below)) = Dialect::at(head.uri.path()) else {
            return json(404, &Value::from("no dialect is spoken here"));
        };
        let asked = AskedModel::unread(dialect, target.clone(), head.headers);
        let Ok(bytes) = to_bytes(body, usize::MAX).await else {
            return json(400, &dialect.error(400, "the body broke off"));
        };
        let read = self.let_in(&asked).and_then(|()| match dialect.route(&method, below)? {
            Route::Models => Ok(Wish::Document(dialect.models(&MODELS))),
            Route::Show => Ok(Wish::Document(shown(&document(&bytes, &asked)?)?)),
            Route::Chat { model, is_streamed } => {
                let asked = read(&bytes, AskedModel { model, stream: is_streamed, ..asked })?;
                Ok(Wish::Answer(Box::new(asked)))
            }
        });
        match read {
            Ok(Wish::Document(document)) => json(200, &document),
            Ok(Wish::Answer(asked)) => self.answer(*asked).await,
            Err(refusal) => {
                let why = format!("{method} {target}: {}", refusal.message);
                self.refused.lock().expect("not poisoned").push(why);
                json(refusal.status, &dialect.error(refusal.status, &refusal.message))
            }
        }
    }

    fn let_in(&self, asked: &AskedModel) -> Result<(), Refusal> {
        let is_open = asked.key.is_some() || !self.needs_key.load(Ordering::SeqCst);
        asked.dialect.without_key().filter(|_| !is_open).map_or(Ok(()), Err)
    }

    async fn answer(&self, asked: AskedModel) -> Response<Body> {
        let mut under_way = UnderWay::begin(&self.counts);
        self.seen.lock().expect("not poisoned").push(asked.clone());
        let mut reply = (self.answer)(asked.clone()).await;
        let dialect = asked.dialect;
        if let Some(Failure::Status { status, message, retry_after }) = &reply.failure {
            let mut response = json(*status, &dialect.error(*status, message));
            if let Some(seconds) = retry_after {
                response.headers_mut().insert("retry-after", (*seconds).into());
            }
            under_way.end();
            return response;
        }
        reply.name_calls(dialect, &self.ids);
        let is_events = dialect != Dialect::Gemini || asked.target.contains("alt=sse");
        if reply.is_whole || !asked.stream || !is_events {
            reply.wait().await;
            let document = whole(&asked, &reply);
            return response(200, "application/json", flow::whole(&document, under_way));
        }
        let kind = match dialect {
            Dialect::Openai | Dialect::Anthropic | Dialect::Gemini => "text/event-stream",
            Dialect::Ollama => "application/x-ndjson",
        };
        response(200, kind, flow::body(frames(&asked, &reply), reply, under_way))
    }
}

fn document(bytes: &[u8], asked: &AskedModel) -> Checked<Value> {
    let kind = asked.header("content-type").unwrap_or_default();
    if !kind.starts_with("application/json") {
        return Err(format!("the content type must be application/json, and is '{kind}'"));
    }
    serde_json::from_slice(bytes).map_err(|error| format!("no JSON: {error}"))
}

fn read(bytes: &[u8], asked: AskedModel) -> Checked<AskedModel> {
    let body = document(bytes, &asked)?;
    let read = match asked.dialect {
        Dialect::Openai => openai::read(&body, asked),
        Dialect::Anthropic => anthropic::read(&body, asked),
        Dialect::Gemini => gemini::read(&body, asked),
        Dialect::Ollama => ollama::read(&body, asked),
    };
    read.map(|asked| AskedModel { body, ..asked })
}

fn frames(asked: &AskedModel, reply: &ModelReply) -> Vec<Frame> {
    match asked.dialect {
        Dialect::Openai => openai::frames(asked, reply),
        Dialect::Anthropic => anthropic::frames(asked, reply),
        Dialect::Gemini => gemini::frames(asked, reply),
        Dialect::Ollama => ollama::frames(asked, reply),
    }
}

fn whole(asked: &AskedModel, reply: &ModelReply) -> Value {
    match asked.dialect {
        Dialect::Openai => openai::whole(asked, reply),
        Dialect::Anthropic => anthropic::whole(asked, reply),
        Dialect::Gemini => gemini::whole(asked, reply),
        Dialect::Ollama => ollama::whole(asked, reply),
    }
}

fn json(status: u16, body: &Value) -> Response<Body> {
    response(status, "application/json", Body::from(body.to_string()))
}

fn response(status: u16, kind: &str, body: Body) -> Response<Body> {
    Response::builder().status(status).header("content-type", kind).body(body).expect("a response")
}
