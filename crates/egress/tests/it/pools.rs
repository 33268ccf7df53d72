//! Connection pools, separate for each space, and the headers of every request.

use haft_egress::{Request, RequestPolicy};
use haft_testkit::{Upstream, http_response};
use http::{HeaderValue, Method};

use crate::support::{get, get_in, limits, open_loopback, pause, send, url};

#[tokio::test]
async fn a_space_reuses_its_connection_and_shares_it_with_no_other() {
    let server = Upstream::start(|_| http_response(200, &[], "reached")).await;
    let egress = open_loopback();
    for (from, connections) in [(1, 1), (1, 1), (2, 2), (1, 2), (2, 2), (3, 3), (1, 3)] {
        // A clone shares the connections.
        get_in(&egress.clone(), from, &server.url("/"), limits()).await.expect("an answer");
        pause().await;
        assert_eq!(server.connections(), connections, "after a call from space {from}");
    }
    for _ in 0..2 {
        let request = Request::new(Method::GET, &url(&server.url("/"))).expect("a request");
        egress.send(RequestPolicy::Operator, request, limits()).await.expect("an answer");
        pause().await;
        assert_eq!(server.connections(), 4, "the operator has separate connections");
    }
    get(&open_loopback(), &server.url("/")).await.expect("an answer");
    assert_eq!(server.connections(), 5, "another guard shares nothing");
}

#[tokio::test]
async fn concurrent_calls_have_a_connection_each() {
    let server = Upstream::start_async(|_| async {
        pause().await;
        http_response(200, &[], "reached")
    })
    .await;
    let (egress, target) = (open_loopback(), server.url("/"));
    let outcomes = tokio::join!(get(&egress, &target), get(&egress, &target), get(&egress, &target));
    assert!(outcomes.0.is_ok() && outcomes.1.is_ok() && outcomes.2.is_ok());
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn every_request_has_the_default_headers() {
    let server = Upstream::start(|_| http_response(200, &[], "reached")).await;
    let egress = open_loopback();
    get(&egress, &server.url("/a%20b?c=d%26e#part")).await.expect("an answer");
    let mut request = Request::new(Method::POST, &url(&server.url("/"))).expect("a request");
    request.body = "{}".into();
    request.content_type = Some(HeaderValue::from_static("application/json"));
    for (name, value) in
        [("user-agent", "mine/1"), ("accept", "text/csv"), ("accept-encoding", "identity"), ("x-odd", "1")]
    {
        request.headers.insert(name, HeaderValue::from_static(value));
    }
    send(&egress, &[], request).await.expect("an answer");
    let seen = server.seen();
    let (plain, configured) = (&seen[0], &seen[1]);
    assert_eq!((plain.method.as_str(), plain.target.as_str()), ("GET", "/a%20b?c=d%26e"));
    let host = server.address.to_string();
    for (name, ours, theirs) in [
        ("host", Some(host.as_str()), Some(host.as_str())),
        ("user-agent", Some(concat!("haft/", env!("CARGO_PKG_VERSION"))), Some("mine/1")),
        ("accept", Some("*/*"), Some("text/csv")),
        ("accept-encoding", Some("gzip, deflate, br, zstd"), Some("identity")),
        ("content-type", None, Some("application/json")),
        ("x-odd", None, Some("1")),
        ("referer", None, None),
        ("cookie", None, None),
    ] {
        assert_eq!(plain.header(name), ours, "{name}");
        assert_eq!(configured.header(name), theirs, "{name}, configured");
    }
    assert_eq!(configured.text(), "{}");
}
