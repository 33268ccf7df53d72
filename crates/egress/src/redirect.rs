//! Redirects: the next request, and the parts of the original one that it does not contain.

use haft_core::{CallError, ErrorKind, Message};
use http::header::LOCATION;
use http::{HeaderMap, Method, StatusCode};

use crate::destination::Destination;
use crate::request::Request;

haft_core::templates! {
    TOO_MANY = "egress.redirects",
        "Too many redirects: more than {limit} from {host}",
        "重定向过多: {host} 超过 {limit} 次";
    TO_PLAIN = "egress.redirectToHttp",
        "Redirect not allowed: from https to http ({host})",
        "不允许从 https 重定向到 http（{host}）";
    UNREADABLE = "egress.redirectUnreadable",
        "{host} redirects to something that is not a URL",
        "{host} 重定向到的地址不是有效的 URL";
    SECRET_BODY = "egress.redirectSecretBody",
        "{host} redirects a request whose body contains a secret to another origin, which must not receive it",
        "{host} 将含有密钥的请求体重定向到其他源，已拒绝";
    OTHER_ORIGIN = "egress.redirectOtherOrigin",
        "{host} redirects to another origin, which the operator did not configure",
        "{host} 重定向到了运维未指定的其他源";
}

pub(crate) const MAX_REDIRECTS: usize = 5;

/// Returns the request for a redirect. Returns `None` if the response is no redirect.
pub(crate) fn next(
    status: StatusCode,
    headers: &HeaderMap,
    request: &Request,
) -> Result<Option<Request>, CallError> {
    let follows = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = headers.get(LOCATION).filter(|_| follows) else { return Ok(None) };
    let say = |template| Message::new(template).with("host", request.to.host_str());
    let unreadable = || CallError::new(ErrorKind::Execution, say(&UNREADABLE));
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_| unreadable())?;
    let url = request.url().join(location).map_err(|_| unreadable())?;
    if request.to.is_tls() && url.scheme() == "http" {
        return Err(CallError::new(ErrorKind::Permission, say(&TO_PLAIN)));
    }
    let Request { to, path, .. } = Request::new(request.method.clone(), &url)?;
    let mut next = Request { to, path, ..request.clone() };
    let keeps_method = match status.as_u16() {
        303 => matches!(request.method, Method::GET | Method::HEAD),
        301 | 302 => request.method != Method::POST,
        _ => true,
    };
    if !keeps_method {
        next.method = Method::GET;
        next.body = Default::default();
        next.content_type = None;
        next.body_is_secret = false;
        next.headers.remove(http::header::CONTENT_TYPE);
    }
    if !request.to.is(&next.to) {
        if next.body_is_secret {
            return Err(CallError::new(ErrorKind::Permission, say(&SECRET_BODY)));
        }
        next.headers = HeaderMap::new();
    }
    Ok(Some(next))
}

pub(crate) fn too_many(from: &Destination) -> CallError {
    let message = Message::new(&TOO_MANY).with("limit", MAX_REDIRECTS).with("host", from.host_str());
    CallError::new(ErrorKind::Execution, message)
}

pub(crate) fn other_origin(from: &Destination) -> CallError {
    let message = Message::new(&OTHER_ORIGIN).with("host", from.host_str());
    CallError::new(ErrorKind::Permission, message)
}
