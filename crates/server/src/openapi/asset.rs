//! What is sent as it stands, without an envelope. Tagged, so that who has it already is not sent it again.

use std::hash::{DefaultHasher, Hasher};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;

use crate::query::has_already;

/// Nothing from elsewhere, nothing inline, in nobody's frame.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

/// A file, as a browser is sent it.
pub(crate) struct Asset {
    content_type: &'static str,
    bytes: Bytes,
    tag: HeaderValue,
}

impl Asset {
    pub(crate) fn new(content_type: &'static str, bytes: Bytes) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(&bytes);
        let tag = HeaderValue::from_str(&format!("\"{:016x}\"", hasher.finish()));
        Self { content_type, bytes, tag: tag.unwrap_or(HeaderValue::from_static("\"\"")) }
    }

    pub(crate) fn answer(&self, asked: &HeaderMap) -> Response {
        let is_known = has_already(asked, &self.tag);
        let body = if is_known { Body::empty() } else { Body::from(self.bytes.clone()) };
        let mut response = Response::new(body);
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        response.headers_mut().extend([
            (header::CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (header::ETAG, self.tag.clone()),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        ]);
        response
    }
}
