//! `GET /api/openapi.json`, and `GET /api/docs`, the page that shows it. Not in the envelope, and for everyone.

use std::future::ready;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;

use crate::api::{Needs, Route};
use crate::openapi::{self, Asset};

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page and its parts: path, what it is, component, type, content.
const PAGE: [(&str, &str, &str, &str, &str); 5] = [
    (
        "/docs",
        "Browse this document as a web page",
        "DocsPage",
        "text/html; charset=utf-8",
        include_str!("docs/docs.html"),
    ),
    ("/docs/docs.js", "Script of the documentation page", "DocsScript", SCRIPT, include_str!("docs/docs.js")),
    (
        "/docs/schema.js",
        "Script of the documentation page that reads schemas",
        "DocsScript",
        SCRIPT,
        include_str!("docs/schema.js"),
    ),
    (
        "/docs/words.js",
        "Texts of the documentation page",
        "DocsScript",
        SCRIPT,
        include_str!("docs/words.js"),
    ),
    (
        "/docs/docs.css",
        "Style sheet of the documentation page",
        "DocsStyle",
        "text/css; charset=utf-8",
        include_str!("docs/docs.css"),
    ),
];

pub(crate) fn routes() -> Vec<Route> {
    let document = Route::get("/openapi.json", document)
        .needs(Needs::Nothing)
        .says("Get this OpenAPI document")
        .answers(200, "OpenApiDocument");
    let page = PAGE.map(|(path, says, component, content_type, content)| {
        let asset = Arc::new(Asset::new(content_type, Bytes::from_static(content.as_bytes())));
        let handler = move |asked: HeaderMap| ready(asset.answer(&asked));
        Route::get(path, handler).needs(Needs::Nothing).says(says).answers(200, component)
    });
    std::iter::once(document).chain(page).collect()
}

async fn document(headers: HeaderMap) -> Response {
    openapi::response(&headers)
}
