//! A model provider over HTTP: sends requests, and reads streamed responses.

use std::borrow::Cow;

use bytes::Bytes;
use futures_util::stream;
use haft_core::{BoxFuture, CallError, ErrorKind, ModelOptions, SpaceId};
use haft_egress::{Egress, Limits, Request, RequestPolicy, StreamedResponse, ToolPolicy};
use http::header::{ACCEPT, ACCEPT_ENCODING};
use http::{HeaderValue, Method};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::delta::Delta;
use crate::dialect::{Body, Dialect};
use crate::failure::Asking;
use crate::format::FormatBy;
use crate::model::{Model, ModelStream, with_dropped};
use crate::ollama::ContextWindow;
use crate::options::unsupported;
use crate::reading::Reading;
use crate::refusal::{MAX_REQUESTS, leave_out_refused};
use crate::request::ModelRequest;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const STREAM: HeaderValue =
    HeaderValue::from_static("text/event-stream, application/x-ndjson, application/json");
/// Proxies often buffer compressed streams.
const PLAIN: HeaderValue = HeaderValue::from_static("identity");

/// Events above this size are parsed on a blocking thread, so that other tasks are not delayed.
const HEAVY: usize = 256 << 10;

/// A provider that is reached over HTTP.
#[derive(Clone)]
pub struct Wire {
    /// The display name.
    pub name: String,
    pub dialect: Dialect,
    pub base: Url,
    pub key: Option<SecretString>,
    pub reach: Reach,
    pub egress: Egress,
}

/// The party that configured the base URL.
#[derive(Debug, Clone)]
pub enum Reach {
    /// The operator: any address is allowed, loopback included.
    Operator,
    /// A user of a space: the egress guard applies the rules for tools.
    Space(SpaceId, ToolPolicy),
}

impl Model for Wire {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        limits: Limits,
    ) -> BoxFuture<'a, Result<ModelStream, CallError>> {
        Box::pin(async move {
            let asking = self.asking(&request.model);
            let mut request = Cow::Borrowed(request);
            let mut dropped = unsupported(self.dialect, &request.options);
            if let Some(name) = dropped.first().filter(|_| !request.options.drops_unsupported()) {
                return Err(asking.unsupported(name));
            }
            for name in &dropped {
                request.to_mut().options.remove(name);
            }
            // Each attempt leaves out the options that the previous one was rejected for.
            let mut requests = 1;
            loop {
                let body = self.dialect.body(&self.base, &request, FormatBy::of(&request));
                let has_format = body.has_format;
                let error = match self.begin(&request, body, limits, &asking).await {
                    Ok(asked) => return Ok(ModelStream { dropped, ..asked }),
                    Err(error) => error,
                };
                let refused = match requests < MAX_REQUESTS {
                    true => leave_out_refused(self.dialect, request.to_mut(), has_format, &error),
                    false => Vec::new(),
                };
                if refused.is_empty() {
                    return Err(with_dropped(error, dropped));
                }
                dropped.extend(refused);
                requests += 1;
            }
        })
    }

    fn unsupported(&self, options: &ModelOptions) -> Vec<String> {
        unsupported(self.dialect, options)
    }
}

impl Wire {
    async fn begin(
        &self,
        request: &ModelRequest,
        body: Body,
        limits: Limits,
        asking: &Asking,
    ) -> Result<ModelStream, CallError> {
        let mut outgoing = Request::new(Method::POST, &self.dialect.url(&self.base, &request.model))?;
        outgoing.headers.insert(ACCEPT, STREAM);
        outgoing.headers.insert(ACCEPT_ENCODING, PLAIN);
        outgoing.body = Bytes::from(body.json.to_string());
        outgoing.content_type = Some(JSON);
        let opened = self.send(outgoing, limits, asking).await?;
        let reading = Reading::new(self.dialect, asking.clone());
        let flow = Flow { opened: Some(opened), reading: Some(reading), asking: asking.clone() };
        let deltas =
            stream::unfold(flow, |mut flow| async move { flow.next().await.map(|delta| (delta, flow)) });
        Ok(ModelStream { left_out: body.left_out, dropped: Vec::new(), deltas: Box::pin(deltas) })
    }

    /// The names of the provider's models.
    pub async fn models(&self, limits: Limits) -> Result<Vec<String>, CallError> {
        let asking = self.asking("");
        let request = Request::new(Method::GET, &self.dialect.models_url(&self.base))?;
        let answer = self.send(request, limits, &asking).await?.whole().await;
        let answer = answer.map_err(|error| asking.masked(error))?;
        let list = serde_json::from_slice::<Value>(&answer.body).ok();
        list.and_then(|list| self.dialect.models(&list))
            .ok_or_else(|| asking.not_understood().detail("status", answer.status.as_u16()))
    }

    /// The context window of a model. Returns `None` if the dialect cannot set it.
    pub async fn window(&self, model: &str, limits: Limits) -> Result<Option<ContextWindow>, CallError> {
        let Some(url) = self.dialect.window_url(&self.base) else { return Ok(None) };
        let asking = self.asking(model);
        let mut request = Request::new(Method::POST, &url)?;
        request.body = Bytes::from(json!({"model": model}).to_string());
        request.content_type = Some(JSON);
        let answer = self.send(request, limits, &asking).await?.whole().await;
        let answer = answer.map_err(|error| asking.masked(error))?;
        let shown = serde_json::from_slice::<Value>(&answer.body).ok();
        let window = shown.and_then(|shown| ContextWindow::read(&shown));
        window.map(Some).ok_or_else(|| asking.not_understood().detail("status", answer.status.as_u16()))
    }

    /// Sends a request with the provider's headers; a failure status becomes an error.
    async fn send(
        &self,
        mut request: Request,
        limits: Limits,
        asking: &Asking,
    ) -> Result<StreamedResponse, CallError> {
        if let Some(key) = &self.key {
            let (name, before) = self.dialect.key_header();
            let written = format!("{before}{}", key.expose_secret().trim());
            let mut value = HeaderValue::from_str(&written).map_err(|_| asking.bad_key())?;
            value.set_sensitive(true);
            request.headers.insert(name, value);
        }
        if let Some((name, value)) = self.dialect.version_header() {
            request.headers.insert(name, value);
        }
        // Conversations are confidential.
        request.body_is_secret = true;
        let policy = match &self.reach {
            Reach::Operator => RequestPolicy::Operator,
            Reach::Space(space, rules) => RequestPolicy::Tool(*space, rules),
        };
        let opened = self.egress.open(policy, request, limits).await;
        let opened = opened.map_err(|error| asking.masked(error))?;
        if opened.status().is_success() {
            return Ok(opened);
        }
        let answer = opened.whole().await.map_err(|error| asking.masked(error))?;
        Err(asking.masked(asking.status(&answer)))
    }

    fn asking(&self, model: &str) -> Asking {
        Asking { provider: self.name.clone(), model: model.to_owned(), key: self.key.clone() }
    }
}

/// A streamed response.
struct Flow {
    /// `None` once the response has ended.
    opened: Option<StreamedResponse>,
    /// `None` after a parse error.
    reading: Option<Reading>,
    asking: Asking,
}

impl Flow {
    async fn next(&mut self) -> Option<Result<Delta, CallError>> {
        loop {
            let reading = self.reading.as_mut()?;
            if let Some(delta) = reading.next() {
                return Some(delta);
            }
            if reading.is_over() {
                if let Some(opened) = self.opened.take() {
                    opened.drain().await;
                }
                return None;
            }
            // After an error nothing more is read.
            let mut opened = self.opened.take()?;
            let read = match opened.chunk().await {
                Ok(Some(bytes)) => self.work(bytes.len(), move |reading| reading.feed(&bytes)).await,
                Ok(None) => self.work(0, Reading::finish).await,
                Err(error) => self.work(0, move |reading| reading.break_off(error)).await,
            };
            match read {
                Ok(()) => self.opened = Some(opened),
                Err(error) => {
                    let error = self.asking.masked(error);
                    match self.reading.as_mut() {
                        Some(reading) => reading.fail(error),
                        None => return Some(Err(error)),
                    }
                }
            }
        }
    }

    /// Processes the response, on a blocking thread if much data is pending.
    async fn work(
        &mut self,
        more: usize,
        work: impl FnOnce(&mut Reading) -> Result<(), CallError> + Send + 'static,
    ) -> Result<(), CallError> {
        let Some(mut reading) = self.reading.take() else { return Ok(()) };
        if reading.work(more) <= HEAVY {
            let worked = work(&mut reading);
            self.reading = Some(reading);
            return worked;
        }
        let worked = tokio::task::spawn_blocking(move || {
            let worked = work(&mut reading);
            (reading, worked)
        });
        let (reading, worked) = worked.await.map_err(|error| {
            CallError::text(ErrorKind::Internal, "the model's answer could not be read").caused_by(error)
        })?;
        self.reading = Some(reading);
        worked
    }
}
