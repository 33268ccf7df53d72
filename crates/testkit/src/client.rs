//! A client of the API, as tests use it: every reply is kept whole.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde_json::Value;

use crate::sse::EventStream;

/// Speaks HTTP to one server.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    headers: HeaderMap,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Client {
    /// A client without a token.
    pub fn anonymous(base: &str) -> Self {
        #[expect(clippy::disallowed_methods, reason = "tests speak to their own server")]
        let http = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        Self { http, base: base.to_owned(), headers: HeaderMap::new() }
    }

    /// A client with a token.
    pub fn new(base: &str, token: &str) -> Self {
        Self::anonymous(base).with("authorization", &format!("Bearer {token}"))
    }

    /// The same client, sending one more header.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        let name: HeaderName = name.parse().expect("a header name");
        client.headers.insert(name, HeaderValue::from_str(value).expect("a header value"));
        client
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, Vec::new()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send_json(Method::POST, path, body).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        self.send_json(Method::PUT, path, body).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, Vec::new()).await
    }

    pub async fn send_json(&self, method: Method, path: &str, body: &Value) -> Reply {
        self.with("content-type", "application/json").send(method, path, body.to_string().into_bytes()).await
    }

    /// Sends bytes as they are. A reply that is not JSON is kept as a text.
    pub async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> Reply {
        self.attempt(method, path, body).await.expect("a reply")
    }

    /// The same where the server may end meanwhile: nothing when no whole reply came.
    pub async fn try_send_json(&self, method: Method, path: &str, body: &Value) -> Option<Reply> {
        let typed = self.with("content-type", "application/json");
        typed.attempt(method, path, body.to_string().into_bytes()).await.ok()
    }

    /// Listens to events at a path.
    pub async fn events(&self, path: &str) -> EventStream {
        self.listen(Method::GET, path, Vec::new()).await
    }

    /// Posts JSON, and listens to the events that answer it. Whoever drops them has left.
    pub async fn post_for_events(&self, path: &str, body: &Value) -> EventStream {
        let typed = self.with("content-type", "application/json");
        typed.listen(Method::POST, path, body.to_string().into_bytes()).await
    }

    async fn listen(&self, method: Method, path: &str, body: Vec<u8>) -> EventStream {
        let response = self.ask(method, path, body).await.expect("an answer");
        if response.status() != 200 {
            let (status, text) = (response.status(), response.text().await);
            panic!("{path}: {status}: {text:?}");
        }
        EventStream::new(response)
    }

    /// What is there as it stands: status, headers and bytes.
    pub async fn download(&self, path: &str) -> (u16, HeaderMap, Vec<u8>) {
        let response = self.ask(Method::GET, path, Vec::new()).await.expect("a reply");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.bytes().await.expect("a body").to_vec())
    }

    async fn ask(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Response, reqwest::Error> {
        let request = self.http.request(method, format!("{}{path}", self.base)).headers(self.headers.clone());
        request.body(body).send().await
    }

    async fn attempt(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Reply, reqwest::Error> {
        let mut response = self.ask(method, path, body).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let is_stream = headers.get("content-type").is_some_and(|value| value == "text/event-stream");
        let text = if is_stream {
            // It has no end, so what it begins with must do.
            let first = response.chunk().await?.unwrap_or_default();
            String::from_utf8_lossy(&first).into_owned()
        } else {
            response.text().await?
        };
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Reply { status, headers, body })
    }
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The envelope's message.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// The envelope's data.
    pub fn data(&self) -> &Value {
        &self.body["data"]
    }

    /// The kind of the envelope's error.
    pub fn kind(&self) -> &str {
        self.body["error"]["kind"].as_str().unwrap_or_default()
    }
}
