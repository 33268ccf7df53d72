//! Which other sites' pages may use the API: those that the operator listed, and no others (CORS).

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, header};

use crate::app::App;

/// A listed site whose page sent a request.
pub(crate) struct Origin {
    site: HeaderValue,
    /// The browser asks whether the page may, before it lets it.
    pub(crate) is_question: bool,
}

impl Origin {
    pub(crate) fn of(app: &App, request: &Request) -> Option<Self> {
        let headers = request.headers();
        let site = headers.get(header::ORIGIN)?;
        let text = site.to_str().ok()?;
        let is_listed = app.settings.allowed_origins.iter().any(|allowed| allowed == text);
        let is_question = request.method() == Method::OPTIONS
            && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        is_listed.then(|| Self { site: site.clone(), is_question })
    }

    /// Says on an answer who may read it, and what else they may send.
    pub(crate) fn mark(self, headers: &mut HeaderMap) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, self.site);
        headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
        if self.is_question {
            let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
            let names = "Authorization, Content-Type, If-Match, Idempotency-Key, Accept-Language, Haft-Space, \
                         Last-Event-ID";
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(names));
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
    }
}
