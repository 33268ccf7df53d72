//! The console: its files at their addresses, and its page at every other one that is not an API's.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use haft_console::{FILES, FOR_EVER, File, PAGE};
use haft_core::{CallError, ErrorKind, Message};

use crate::error::{self, Failure};
use crate::query::has_already;

haft_core::templates! {
    NOT_BUILT = "console.notBuilt",
        "This Haft was compiled without its console. Run `make build`, which needs Node, and start the program that it builds.",
        "此 Haft 编译时未包含控制台：请运行 `make build`（需要 Node），然后启动生成的程序";
}

/// Nothing from elsewhere, nothing inline, in nobody's frame. Pictures may be made here.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'; object-src 'none'",
);

struct Served {
    file: &'static File,
    content_type: HeaderValue,
    tag: HeaderValue,
}

static SERVED: LazyLock<HashMap<&'static str, Served>> =
    LazyLock::new(|| FILES.iter().map(|file| (file.path, Served::of(file))).collect());

/// Answers whatever no other route does.
pub(crate) async fn console(request: Request) -> Result<Response, Failure> {
    let path = request.uri().path().trim_start_matches('/');
    // The page finds out by itself what an address means; a file that is not there is not there.
    let wanted = if path.contains('.') { path } else { PAGE };
    match SERVED.get(wanted) {
        _ if !matches!(*request.method(), Method::GET | Method::HEAD) => {
            Err(error::no_such_route(request).await)
        }
        Some(file) => Ok(file.answer(request.headers())),
        None if wanted == PAGE => {
            Err(CallError::new(ErrorKind::Unavailable, Message::new(&NOT_BUILT)).into())
        }
        None => Err(error::no_such_route(request).await),
    }
}

impl Served {
    fn of(file: &'static File) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(file.bytes);
        let tag = HeaderValue::from_str(&format!("\"{:016x}\"", hasher.finish()));
        Self {
            file,
            content_type: HeaderValue::from_static(content_type(file.path)),
            tag: tag.unwrap_or(HeaderValue::from_static("\"\"")),
        }
    }

    fn answer(&self, asked: &HeaderMap) -> Response {
        let is_known = has_already(asked, &self.tag);
        let brotli = self.file.brotli.filter(|_| takes_brotli(asked));
        let body = match (is_known, brotli) {
            (true, _) => Body::empty(),
            (false, Some(small)) => Body::from(small),
            (false, None) => Body::from(self.file.bytes),
        };
        let mut response = Response::new(body);
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let kept = match self.file.path.starts_with(FOR_EVER) {
            true => "public, max-age=31536000, immutable",
            false => "no-cache",
        };
        let headers = response.headers_mut();
        headers.extend([
            (header::CONTENT_TYPE, self.content_type.clone()),
            (header::ETAG, self.tag.clone()),
            (header::CACHE_CONTROL, HeaderValue::from_static(kept)),
            (header::VARY, HeaderValue::from_static("accept-encoding")),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        ]);
        if !is_known && brotli.is_some() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("br"));
        }
        response
    }
}

fn takes_brotli(asked: &HeaderMap) -> bool {
    let lines = asked.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim().eq_ignore_ascii_case("br") && quality.trim() != "q=0"
    })
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
