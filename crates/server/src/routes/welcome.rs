//! `GET /login`: the page behind a one-time link. It trades the link for a session and goes on to the documentation.

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::get;
use bytes::Bytes;

use crate::app::AppState;
use crate::openapi::Asset;

pub(crate) fn router() -> Router<AppState> {
    let asset = |content_type, content: &'static str| {
        let asset = Arc::new(Asset::new(content_type, Bytes::from_static(content.as_bytes())));
        get(move |asked: HeaderMap| ready(asset.answer(&asked)))
    };
    Router::new()
        .route("/login", asset("text/html; charset=utf-8", include_str!("welcome/login.html")))
        .route("/login.js", asset("text/javascript; charset=utf-8", include_str!("welcome/login.js")))
}
