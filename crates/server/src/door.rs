//! The door of each route: a request gets its id, is known or refused, and its answer is put into words and counted.
//!
//! One layer for all of it: a request passes it twice, on its way in and on its way out, and most are known at once.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use haft_core::{BoxFuture, CallError};
use tower::{Layer, Service};

use crate::api::{Base, Needs};
use crate::app::App;
use crate::auth;
use crate::connection::{Connection, RequestGuard, WatchedBody};
use crate::error::{self, Failure};
use crate::metrics::Answers;
use crate::origin::Origin;
use crate::request::{Asked, Exchange};
use crate::visitors::Visitor;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Stands before a route.
#[derive(Clone)]
pub(crate) struct Door(Arc<Frame>);

struct Frame {
    app: App,
    /// Says in which form it refuses.
    base: Base,
    needs: Needs,
    /// Where answers are counted, if they are.
    answers: Option<Arc<Answers>>,
}

impl Door {
    /// Lets in who has what the route needs.
    pub(crate) fn new(app: &App, base: Base, needs: Needs, answers: Arc<Answers>) -> Self {
        Self(Arc::new(Frame { app: app.clone(), base, needs, answers: Some(answers) }))
    }

    /// Lets everyone in.
    pub(crate) fn open(app: &App) -> Self {
        Self(Arc::new(Frame { app: app.clone(), base: Base::Api, needs: Needs::Nothing, answers: None }))
    }
}

impl<S> Layer<S> for Door {
    type Service = Behind<S>;

    fn layer(&self, inside: S) -> Behind<S> {
        Behind { frame: self.0.clone(), inside }
    }
}

/// A route behind its door.
#[derive(Clone)]
pub(crate) struct Behind<S> {
    frame: Arc<Frame>,
    inside: S,
}

/// How far a request came.
enum Step<S, F> {
    In(F),
    /// Who it is has to be looked up first.
    Before(Box<(S, Request)>),
    Refused(CallError),
    /// A browser only wants to know whether it may.
    Asks,
}

/// What is remembered of a request until it is answered.
struct Visit {
    asked: Asked,
    exchange: Exchange,
    origin: Option<Origin>,
    /// Whether the body was read to its end, where there is one.
    is_body_read: Option<Arc<AtomicBool>>,
    /// Tells the connection that a request is in progress; none within this process.
    in_progress: Option<RequestGuard>,
}

impl<S> Service<Request> for Behind<S>
where
    S: Service<Request, Error = Infallible> + Clone + Send + 'static,
    S::Response: IntoResponse,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inside.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let frame = self.frame.clone();
        let (visit, mut request) = Visit::of(&frame.app, request);
        let step = match auth::known_at_once(&frame.app, frame.needs, &request) {
            _ if visit.origin.as_ref().is_some_and(|origin| origin.is_question) => Step::Asks,
            Some(Ok(visitor)) => {
                visit.enters(&mut request, visitor);
                Step::In(self.inside.call(request))
            }
            Some(Err(error)) => Step::Refused(error),
            None => Step::Before(Box::new((self.inside.clone(), request))),
        };
        Box::pin(async move {
            let answered = AssertUnwindSafe(frame.take(step, &visit)).catch_unwind().await;
            let response = answered.unwrap_or_else(|panic| error::panicked(&*panic).into_response());
            Ok(frame.answer(response, visit))
        })
    }
}

impl Frame {
    async fn take<S>(&self, step: Step<S, S::Future>, visit: &Visit) -> Response
    where
        S: Service<Request, Error = Infallible>,
        S::Response: IntoResponse,
    {
        let (mut inside, request) = match step {
            Step::In(answer) => return answered(answer.await),
            Step::Refused(error) => return Failure::from(error).into_response(),
            Step::Asks => return StatusCode::NO_CONTENT.into_response(),
            Step::Before(coming) => *coming,
        };
        let (parts, body) = request.into_parts();
        match Box::pin(auth::let_in(&self.app, self.needs, &parts)).await {
            Ok(visitor) => {
                let mut request = Request::from_parts(parts, body);
                visit.enters(&mut request, visitor);
                answered(inside.call(request).await)
            }
            Err(error) => Failure::from(error).into_response(),
        }
    }

    fn answer(&self, mut response: Response, visit: Visit) -> Response {
        let Visit { asked, exchange, origin, is_body_read, in_progress } = visit;
        // Here the language is known, so here a failure gets its words.
        if let Some(failure) = response.extensions_mut().remove::<Arc<Failure>>() {
            failure.log(&asked, &exchange);
            response = failure.answer(self.base, &asked);
        }
        let status = response.status();
        let headers = response.headers_mut();
        // A body that was not read makes the connection unusable, and the client must know.
        if is_body_read.is_some_and(|is_read| !is_read.load(Ordering::Relaxed)) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        headers.insert(REQUEST_ID, asked.header());
        if let Some(origin) = origin {
            origin.mark(headers);
        }
        if let Some(answers) = &self.answers {
            answers.count(status);
        }
        match in_progress {
            Some(guard) => response.map(|body| guard.until_end_of(body)),
            None => response,
        }
    }
}

fn answered(answer: Result<impl IntoResponse, Infallible>) -> Response {
    match answer {
        Ok(response) => response.into_response(),
        Err(never) => match never {},
    }
}

impl Visit {
    fn of(app: &App, mut request: Request) -> (Self, Request) {
        let connection = request.extensions().get::<Connection>();
        let in_progress = connection.map(|connection| RequestGuard::begin(&connection.activity));
        let mut is_body_read = None;
        if !request.body().is_end_stream() {
            request = request.map(|body| {
                let (body, is_read) = WatchedBody::watch(body);
                is_body_read = Some(is_read);
                body
            });
        }
        let visit = Self {
            asked: Asked::of(request.headers()),
            exchange: Exchange::of(&request),
            origin: Origin::of(app, &request),
            is_body_read,
            in_progress,
        };
        (visit, request)
    }

    /// Leaves with the request what its handler may want to know.
    fn enters(&self, request: &mut Request, visitor: Option<Arc<Visitor>>) {
        request.extensions_mut().insert(Entered { asked: self.asked.clone(), visitor });
    }
}

/// What a handler may know of the request and of who sent it.
#[derive(Clone)]
pub(crate) struct Entered {
    pub(crate) asked: Asked,
    /// Nobody, where nobody has to be known.
    pub(crate) visitor: Option<Arc<Visitor>>,
}
