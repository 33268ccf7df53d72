//! The routes of `/api` and `/v1` as one table: who may come, what it says of itself, who handles it.
//!
//! Router, OpenAPI document and the test of permissions are all made from it, so none can forget a route.

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{self, MethodRouter};
use haft_core::user::Scope;

use crate::app::{App, AppState};
use crate::door::Door;

/// What a caller needs to come through a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: it is how one becomes known.
    Nothing,
    /// To be known, whoever it is.
    Identity,
    /// To see what is in the space.
    Read,
    /// The same, or a link with a signature. The handler asks who it is, and looks at the signature itself.
    ReadOrLink,
    /// To call tools.
    Call,
    /// To change what is in the space.
    Edit,
    /// The same, or a link with a signature, as for [`Needs::ReadOrLink`].
    EditOrLink,
    /// To say who is in the space.
    SpaceAdmin,
    /// To see how the server fares, in all spaces.
    OperatorRead,
    /// To run the server.
    Operator,
}

impl Needs {
    /// The word for it, as messages and the OpenAPI document have it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Identity => "identity",
            Self::Read | Self::ReadOrLink => "read",
            Self::Call => "call",
            Self::Edit | Self::EditOrLink => "edit",
            Self::SpaceAdmin => "spaceAdmin",
            Self::OperatorRead => "operatorRead",
            Self::Operator => "operator",
        }
    }
}

/// Where a route is, and in which form it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// Haft's own, in its envelope.
    Api,
    /// As OpenAI's clients expect it.
    V1,
}

impl Base {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Api => "/api",
            Self::V1 => "/v1",
        }
    }
}

/// One route.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) base: Base,
    /// Behind its base, as axum and OpenAPI both write it.
    pub(crate) path: &'static str,
    pub(crate) needs: Needs,
    pub(crate) doc: Doc,
    handler: MethodRouter<AppState>,
}

/// What the OpenAPI document says of a route.
#[derive(Default)]
pub(crate) struct Doc {
    pub(crate) summary: &'static str,
    /// What the handler checks beyond `needs`: the scope that a token must have, and a sentence.
    pub(crate) checks: Option<(Scope, &'static str)>,
    /// Parameters behind `?`, with their type and meaning.
    pub(crate) parameters: Vec<(&'static str, &'static str, &'static str)>,
    /// The component that the body is.
    pub(crate) body: Option<&'static str>,
    /// The status of success, and the component that `data` is.
    pub(crate) answers: Vec<(u16, &'static str)>,
}

impl Route {
    pub(crate) fn get<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new(Method::GET, path, routing::get(handler))
    }

    pub(crate) fn post<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new(Method::POST, path, routing::post(handler))
    }

    pub(crate) fn put<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new(Method::PUT, path, routing::put(handler))
    }

    pub(crate) fn patch<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new(Method::PATCH, path, routing::patch(handler))
    }

    pub(crate) fn delete<H: Handler<T, AppState>, T: 'static>(path: &'static str, handler: H) -> Self {
        Self::new(Method::DELETE, path, routing::delete(handler))
    }

    fn new(method: Method, path: &'static str, handler: MethodRouter<AppState>) -> Self {
        Self { method, base: Base::Api, path, needs: Needs::Operator, doc: Doc::default(), handler }
    }

    /// Puts it somewhere else than below `/api`.
    pub(crate) fn below(mut self, base: Base) -> Self {
        self.base = base;
        self
    }

    /// The whole of its path.
    pub(crate) fn full_path(&self) -> String {
        format!("{}{}", self.base.path(), self.path)
    }

    /// What a caller needs. Left out, it is the most there is.
    pub(crate) fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    pub(crate) fn says(mut self, summary: &'static str) -> Self {
        self.doc.summary = summary;
        self
    }

    /// What the handler itself checks: the scope that a token must have, and a sentence about roles.
    pub(crate) fn checks(mut self, scope: Scope, says: &'static str) -> Self {
        self.doc.checks = Some((scope, says));
        self
    }

    /// A parameter behind `?`: its name, its type in OpenAPI, what it does.
    pub(crate) fn parameter(mut self, name: &'static str, kind: &'static str, says: &'static str) -> Self {
        self.doc.parameters.push((name, kind, says));
        self
    }

    /// A list that comes a page at a time.
    pub(crate) fn pages(self) -> Self {
        self.parameter("limit", "integer", "Maximum number of items, 1 to 200. Default: 50").parameter(
            "cursor",
            "string",
            "Cursor of the page: `nextCursor` of the previous page",
        )
    }

    /// What can be tried without keeping anything.
    pub(crate) fn dry_run(self) -> Self {
        self.parameter("dryRun", "boolean", "Checks the request and stores nothing")
    }

    pub(crate) fn takes(mut self, component: &'static str) -> Self {
        self.doc.body = Some(component);
        self
    }

    pub(crate) fn answers(mut self, status: u16, component: &'static str) -> Self {
        self.doc.answers.push((status, component));
        self
    }
}

/// The router of a table, each route behind its own door.
pub(crate) fn router(routes: Vec<Route>, app: &App) -> Router<AppState> {
    routes.into_iter().fold(Router::new(), |router, route| {
        let path = route.full_path();
        let answers = app.metrics.answers(route.method.as_str(), &path);
        router.route(&path, route.handler.layer(Door::new(app, route.base, route.needs, answers)))
    })
}
