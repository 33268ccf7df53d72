//! Followed redirects: method, body and headers of the next request, and their limits.

use std::time::Duration;

use bytes::Bytes;
use haft_core::ErrorKind;
use haft_egress::{Egress, Request, RequestPolicy};
use haft_testkit::{RecordedRequest, Upstream, http_response};
use http::{HeaderValue, Method, Response};

use crate::support::{failed, get, get_within, limits, limits_of, open_loopback, send, url};

/// Redirects from `/redirect/{status}` to the target in the header `x-to`; responds to everything else.
pub(crate) fn redirecting(seen: &RecordedRequest) -> Response<Vec<u8>> {
    let Some(status) = seen.target.strip_prefix("/redirect/") else { return http_response(200, &[], "done") };
    let to = seen.header("x-to").expect("a header that says where to");
    http_response(status.parse().expect("a status"), &[("location", to)], "moved")
}

/// A request that a server redirects.
pub(crate) fn redirected(front: &Upstream, method: Method, status: u16, to: &str) -> Request {
    let mut request =
        Request::new(method, &url(&front.url(&format!("/redirect/{status}")))).expect("a request");
    request.headers.insert("x-to", HeaderValue::from_str(to).expect("a location"));
    request
}

async fn two_servers() -> (Upstream, Upstream) {
    (Upstream::start(redirecting).await, Upstream::start(redirecting).await)
}

fn last(server: &Upstream) -> RecordedRequest {
    server.seen().last().cloned().expect("a request")
}

/// Headers from a tool's configuration; none of them may reach another origin.
const CONFIGURED: [(&str, &str); 7] = [
    ("authorization", "Bearer s3cret"),
    ("cookie", "session=s3cret"),
    ("x-api-key", "s3cret"),
    ("user-agent", "mine/1"),
    ("accept", "text/csv"),
    ("accept-encoding", "identity"),
    ("idempotency-key", "call_1"),
];

#[tokio::test]
async fn the_status_decides_about_method_and_body() {
    let egress = open_loopback();
    let (front, back) = two_servers().await;
    let cases: [(&[u16], Method, Method); 7] = [
        (&[301, 302, 303, 307, 308], Method::GET, Method::GET),
        (&[301, 302, 303, 307, 308], Method::HEAD, Method::HEAD),
        (&[301, 302, 303], Method::POST, Method::GET),
        (&[307, 308], Method::POST, Method::POST),
        (&[301, 302, 307, 308], Method::PUT, Method::PUT),
        (&[303], Method::PUT, Method::GET),
        (&[303], Method::DELETE, Method::GET),
    ];
    for (statuses, method, becomes) in cases {
        for status in statuses {
            for (place, server) in [("the same origin", &front), ("another origin", &back)] {
                let case = format!("{method} with {status} to {place}");
                let to = server.url("/end");
                let mut request = redirected(&front, method.clone(), *status, &to);
                let has_body = matches!(method, Method::POST | Method::PUT);
                if has_body {
                    request.body = Bytes::from_static(b"payload");
                    request.content_type = Some(HeaderValue::from_static("text/plain"));
                }
                let answer = send(&egress, &["127.0.0.1"], request).await.expect(&case);
                assert_eq!((answer.status.as_u16(), answer.url().as_str()), (200, to.as_str()), "{case}");
                let seen = last(server);
                assert_eq!(
                    (seen.method.as_str(), seen.target.as_str()),
                    (becomes.as_str(), "/end"),
                    "{case}"
                );
                let is_kept = has_body && becomes == method;
                assert_eq!(seen.text(), if is_kept { "payload" } else { "" }, "{case}");
                assert_eq!(seen.header("content-type"), is_kept.then_some("text/plain"), "{case}");
            }
        }
    }
}

#[tokio::test]
async fn headers_are_not_sent_to_another_origin() {
    let egress = open_loopback();
    let (front, back) = two_servers().await;
    for status in [301, 302, 303, 307, 308] {
        for (is_same, server) in [(true, &front), (false, &back)] {
            let mut request = redirected(&front, Method::GET, status, &server.url("/end"));
            for (name, value) in CONFIGURED {
                request.headers.insert(name, HeaderValue::from_static(value));
            }
            send(&egress, &["127.0.0.1"], request).await.expect("an answer");
            let seen = last(server);
            for (name, value) in CONFIGURED {
                let found = seen.header(name);
                assert_eq!(found == Some(value), is_same, "{name} after {status}: {found:?}");
            }
            let shown = format!("{:?}", seen.headers);
            assert_eq!(shown.contains("s3cret") || shown.contains("x-to"), is_same, "{status}: {shown}");
        }
    }
    let seen = last(&back);
    assert!(seen.header("user-agent").is_some_and(|agent| agent.starts_with("haft/")), "ours instead");
    assert_eq!(seen.header("accept"), Some("*/*"));
    for name in ["authorization", "cookie", "x-api-key", "idempotency-key", "referer"] {
        assert_eq!(seen.header(name), None, "{name}");
    }
}

#[tokio::test]
async fn dropped_headers_are_not_restored_on_the_way_back() {
    let egress = open_loopback();
    let front = Upstream::start(redirecting).await;
    let home = front.url("/end");
    let back = Upstream::start(move |_| http_response(307, &[("location", home.as_str())], "")).await;
    let mut request = redirected(&front, Method::GET, 307, &back.url("/there"));
    request.headers.insert("authorization", HeaderValue::from_static("Bearer s3cret"));
    send(&egress, &["127.0.0.1"], request).await.expect("an answer");
    assert_eq!(last(&front).target, "/end");
    assert_eq!(last(&front).header("authorization"), None);
    assert_eq!(last(&back).header("authorization"), None);
}

#[tokio::test]
async fn a_forwarded_body_has_its_content_type_at_another_origin() {
    let egress = open_loopback();
    let (front, back) = two_servers().await;
    for (is_same, server) in [(true, &front), (false, &back)] {
        let mut request = redirected(&front, Method::POST, 307, &server.url("/end"));
        request.body = Bytes::from_static(b"{}");
        request.content_type = Some(HeaderValue::from_static("application/json"));
        request.headers.insert("content-type", HeaderValue::from_static("application/configured"));
        send(&egress, &["127.0.0.1"], request).await.expect("an answer");
        let first = front.seen().into_iter().rfind(|seen| seen.target == "/redirect/307").expect("a request");
        assert_eq!(first.header("content-type"), Some("application/configured"), "a header wins");
        let expected = if is_same { "application/configured" } else { "application/json" };
        assert_eq!(last(server).header("content-type"), Some(expected));
        assert_eq!(last(server).text(), "{}");
    }
}

#[tokio::test]
async fn a_secret_body_is_not_sent_to_another_origin() {
    let egress = open_loopback();
    let (front, back) = two_servers().await;
    let words = "127.0.0.1 redirects a request whose body contains a secret to another origin, which must not receive it";
    for (method, status, is_same, is_followed) in [
        (Method::POST, 307, true, true),
        (Method::POST, 308, true, true),
        (Method::PUT, 301, true, true),
        (Method::POST, 307, false, false),
        (Method::POST, 308, false, false),
        (Method::PUT, 302, false, false),
        // The body is dropped, including the secret.
        (Method::POST, 303, false, true),
        (Method::POST, 302, false, true),
    ] {
        let case = format!("{method} with {status}, same origin: {is_same}");
        let server = if is_same { &front } else { &back };
        let before = server.seen().len();
        let mut request = redirected(&front, method, status, &server.url("/end"));
        request.body = Bytes::from_static(b"token=s3cret");
        request.body_is_secret = true;
        let outcome = send(&egress, &["127.0.0.1"], request).await;
        if is_followed {
            assert!(outcome.is_ok(), "{case}: {outcome:?}");
        } else {
            assert_eq!(failed(outcome), (ErrorKind::Permission, words.to_owned()), "{case}");
            assert_eq!(server.seen().len(), before, "{case}: the other origin saw nothing");
        }
        assert!(back.seen().iter().all(|seen| !seen.text().contains("s3cret")), "{case}");
    }
}

#[tokio::test]
async fn five_redirects_are_followed_and_six_are_not() {
    let egress = open_loopback();
    for (redirects, is_followed) in [(1, true), (5, true), (6, false), (1_000, false)] {
        let server = Upstream::start(|seen| match seen.target.trim_start_matches('/').parse::<u32>() {
            Ok(left) if left > 0 => http_response(302, &[("location", (left - 1).to_string().as_str())], ""),
            _ => http_response(200, &[], "done"),
        })
        .await;
        let outcome = get(&egress, &server.url(&format!("/{redirects}"))).await;
        if is_followed {
            assert_eq!(outcome.expect("an answer").url().path(), "/0", "{redirects}");
        } else {
            let words = "Too many redirects: more than 5 from 127.0.0.1".to_owned();
            assert_eq!(failed(outcome), (ErrorKind::Execution, words), "{redirects}");
        }
        assert_eq!(server.seen().len(), redirects.min(5) + 1, "{redirects}");
    }
}

#[tokio::test]
async fn a_location_is_relative_to_the_redirecting_url() {
    let egress = open_loopback();
    let server = Upstream::start(|seen| match seen.header("x-to") {
        Some(to) if seen.target == "/dir/start?x=1" => http_response(302, &[("location", to)], ""),
        _ => http_response(200, &[], "done"),
    })
    .await;
    let address = server.address;
    let (absolute, relative) = (format!("http://{address}/a?b=c"), format!("//{address}/sr"));
    for (location, expected) in [
        ("next", "/dir/next"),
        ("./next?y=%20", "/dir/next?y=%20"),
        ("../up", "/up"),
        ("../../../up", "/up"),
        ("/abs", "/abs"),
        ("/abs#part", "/abs"),
        ("?q=2", "/dir/start?q=2"),
        (absolute.as_str(), "/a?b=c"),
        (relative.as_str(), "/sr"),
        ("/a b", "/a%20b"),
        ("\\abs", "/abs"),
    ] {
        let mut request =
            Request::new(Method::GET, &url(&server.url("/dir/start?x=1#here"))).expect("a request");
        request.headers.insert("x-to", HeaderValue::from_str(location).expect("a location"));
        let answer = send(&egress, &[], request).await.expect(location);
        assert_eq!(last(&server).target, expected, "{location}");
        assert_eq!(answer.url().as_str(), server.url(expected), "{location}");
    }
}

#[tokio::test]
async fn a_redirect_without_a_location_is_a_response() {
    let egress = open_loopback();
    let (front, back) = two_servers().await;
    for status in [200, 201, 300, 304, 305, 306, 400] {
        let request = redirected(&front, Method::GET, status, &back.url("/end"));
        let answer = send(&egress, &["127.0.0.1"], request).await.expect("an answer");
        assert_eq!(answer.status.as_u16(), status, "a Location with {status} is not followed");
    }
    assert_eq!(back.connections(), 0);
    for status in [301, 302, 303, 307, 308] {
        let server = Upstream::start(move |_| http_response(status, &[], "stay")).await;
        let answer = get(&egress, &server.url("/")).await.expect("an answer");
        assert_eq!(answer.status.as_u16(), status, "without a Location");
        assert_eq!(answer.body, "stay", "{status}");
    }
}

#[tokio::test]
async fn one_deadline_covers_all_redirects() {
    let slow = Upstream::start_async(|_| async {
        tokio::time::sleep(Duration::from_millis(80)).await;
        http_response(302, &[("location", "/on")], "")
    })
    .await;
    let outcome =
        get_within(&open_loopback(), &slow.url("/"), limits_of(Duration::from_millis(200), 1 << 20)).await;
    assert_eq!(failed(outcome), (ErrorKind::Timeout, "127.0.0.1 did not respond in time".to_owned()));
    assert!(slow.seen().len() < 6, "it was given up on the way");
}

#[tokio::test]
async fn requests_of_the_operator_stay_at_their_origin() {
    let egress = Egress::default();
    let (front, back) = two_servers().await;
    let there = redirected(&front, Method::GET, 302, "/end");
    let answer = egress.send(RequestPolicy::Operator, there, limits()).await.expect("the same origin");
    assert_eq!(answer.url().as_str(), front.url("/end"));
    for method in [Method::GET, Method::POST] {
        let away = redirected(&front, method, 302, &back.url("/end"));
        let words = "127.0.0.1 redirects to another origin, which the operator did not configure".to_owned();
        let outcome = egress.send(RequestPolicy::Operator, away, limits()).await;
        assert_eq!(failed(outcome), (ErrorKind::Permission, words));
    }
    assert_eq!(back.connections(), 0);
}
