//! An HTTP client of the API for tests. It reads every response completely.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde_json::Value;

use crate::sse::EventStream;

/// An HTTP client of one server, with fixed headers.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    headers: HeaderMap,
}

/// A response, with its body parsed as JSON.
#[derive(Debug)]
pub struct TestResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Client {
    /// Returns a client without a token.
    pub fn anonymous(base: &str) -> Self {
        #[expect(clippy::disallowed_methods, reason = "tests speak to their own server")]
        let http = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        Self { http, base: base.to_owned(), headers: HeaderMap::new() }
    }

    /// Returns a client that sends a bearer token.
    pub fn new(base: &str, token: &str) -> Self {
        Self::anonymous(base).with("authorization", &format!("Bearer {token}"))
    }

    /// Returns a copy of this client that sends one more header.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        let name: HeaderName = name.parse().expect("a header name");
        client.headers.insert(name, HeaderValue::from_str(value).expect("a header value"));
        client
    }

    pub async fn get(&self, path: &str) -> TestResponse {
        self.send(Method::GET, path, Vec::new()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.send_json(Method::POST, path, body).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> TestResponse {
        self.send_json(Method::PUT, path, body).await
    }

    pub async fn delete(&self, path: &str) -> TestResponse {
        self.send(Method::DELETE, path, Vec::new()).await
    }

    pub async fn send_json(&self, method: Method, path: &str, body: &Value) -> TestResponse {
        self.with("content-type", "application/json").send(method, path, body.to_string().into_bytes()).await
    }

    /// Sends a request with a raw body. The body of a response that is not JSON is returned as a string.
    pub async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> TestResponse {
        self.attempt(method, path, body).await.expect("a response")
    }

    /// Sends JSON to a server that may stop during the request. Returns `None` if the response is incomplete.
    pub async fn try_send_json(&self, method: Method, path: &str, body: &Value) -> Option<TestResponse> {
        let typed = self.with("content-type", "application/json");
        typed.attempt(method, path, body.to_string().into_bytes()).await.ok()
    }

    /// Subscribes to the events at a path.
    pub async fn events(&self, path: &str) -> EventStream {
        self.open_stream(Method::GET, path, Vec::new()).await
    }

    /// Posts JSON and returns the events of the response. Dropping the stream disconnects the client.
    pub async fn post_for_events(&self, path: &str, body: &Value) -> EventStream {
        let typed = self.with("content-type", "application/json");
        typed.open_stream(Method::POST, path, body.to_string().into_bytes()).await
    }

    async fn open_stream(&self, method: Method, path: &str, body: Vec<u8>) -> EventStream {
        let response = self.request(method, path, body).await.expect("a response");
        if response.status() != 200 {
            let (status, text) = (response.status(), response.text().await);
            panic!("{path}: {status}: {text:?}");
        }
        EventStream::new(response)
    }

    /// Downloads a path: returns status, headers and the raw body.
    pub async fn download(&self, path: &str) -> (u16, HeaderMap, Vec<u8>) {
        let response = self.request(Method::GET, path, Vec::new()).await.expect("a response");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.bytes().await.expect("a body").to_vec())
    }

    async fn request(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Response, reqwest::Error> {
        let request = self.http.request(method, format!("{}{path}", self.base)).headers(self.headers.clone());
        request.body(body).send().await
    }

    async fn attempt(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<TestResponse, reqwest::Error> {
        let mut response = self.request(method, path, body).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let is_stream = headers.get("content-type").is_some_and(|value| value == "text/event-stream");
        let text = if is_stream {
            // An event stream has no end: only its first chunk is read.
            let first = response.chunk().await?.unwrap_or_default();
            String::from_utf8_lossy(&first).into_owned()
        } else {
            response.text().await?
        };
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(TestResponse { status, headers, body })
    }
}

impl TestResponse {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the message of the envelope, or an empty string.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// Returns the data of the envelope.
    pub fn data(&self) -> &Value {
        &self.body["data"]
    }

    /// Returns the kind of the envelope's error, or an empty string.
    pub fn kind(&self) -> &str {
        self.body["error"]["kind"].as_str().unwrap_or_default()
    }
}
