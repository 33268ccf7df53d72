//! Rejected redirects: each hop is checked like the first, and https is never redirected to http.

use bytes::Bytes;
use haft_core::ErrorKind;
use haft_egress::Egress;
use haft_testkit::Upstream;
use http::Method;

use crate::authority::{Authority, NOW};
use crate::redirects::{redirected, redirecting};
use crate::support::{
    Lookup, Trap, closed_port, described, error, failed, get_as, networks, open_loopback, private, send,
};

#[tokio::test]
async fn each_hop_is_checked_like_the_first() {
    let front = Upstream::start(redirecting).await;
    let trap = Trap::listen("127.0.0.2", 0);
    let (port, own) = (trap.port(), front.address.port());
    // Only the address of the first server is opened, whatever the list of hosts contains.
    let egress =
        Egress::builder().open(networks("127.0.0.1")).resolver(Lookup::always(&["127.0.0.2"])).build();
    let hosts = ["127.0.0.1", "127.0.0.2", "[::1]", "169.254.169.254", "inner.test", "localhost"];
    let scheme =
        |scheme: &str| (ErrorKind::Permission, format!("Scheme not allowed: {scheme}. Allowed: http, https"));
    let domain = |host: &str| {
        (ErrorKind::Permission, format!("Domain not allowed: {host}. Allowed: {}", hosts.join(", ")))
    };
    let userinfo = "A URL with a user name or password is not allowed; use auth instead (host 127.0.0.1)";
    let unreadable = "127.0.0.1 redirects to something that is not a URL";
    for (location, expected) in [
        ("file:///etc/passwd".to_owned(), scheme("file")),
        (format!("ftp://127.0.0.1:{own}/"), scheme("ftp")),
        (format!("gopher://127.0.0.1:{own}/_x"), scheme("gopher")),
        ("data:text/plain,x".to_owned(), scheme("data")),
        (format!("http://ada:s3cret@127.0.0.1:{own}/"), (ErrorKind::Permission, userinfo.to_owned())),
        (format!("//ada@127.0.0.1:{own}/"), (ErrorKind::Permission, userinfo.to_owned())),
        ("http://evil.test/".to_owned(), domain("evil.test")),
        ("//evil.test/x".to_owned(), domain("evil.test")),
        ("\\\\evil.test\\x".to_owned(), domain("evil.test")),
        ("http://127.0.0.1.evil.test/".to_owned(), domain("127.0.0.1.evil.test")),
        ("http://x.inner.test/".to_owned(), domain("x.inner.test")),
        (format!("http://127.0.0.2:{port}/"), private("127.0.0.2")),
        (format!("//127.0.0.2:{port}/"), private("127.0.0.2")),
        (format!("http://0x7f.2:{port}/"), private("127.0.0.2")),
        (format!("http://2130706434:{port}/"), private("127.0.0.2")),
        (format!("http://[::1]:{port}/"), private("[::1]")),
        (format!("http://[::ffff:127.0.0.2]:{port}/"), private("[::ffff:7f00:2]")),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), private("169.254.169.254")),
        (format!("http://inner.test:{port}/"), private("inner.test")),
        (format!("http://localhost:{port}/"), private("localhost")),
        ("http://[bad/".to_owned(), (ErrorKind::Execution, unreadable.to_owned())),
        ("http://a b/".to_owned(), (ErrorKind::Execution, unreadable.to_owned())),
        ("http://127.0.0.1:99999/".to_owned(), (ErrorKind::Execution, unreadable.to_owned())),
    ] {
        for status in [302, 307] {
            let before = front.seen().len();
            let request = redirected(&front, Method::GET, status, &location);
            let refused = error(send(&egress, &hosts, request).await);
            assert_eq!(described(&refused), expected, "{status} to {location}");
            assert!(!format!("{refused:?}").contains("s3cret"), "{location}: {refused:?}");
            assert_eq!(front.seen().len(), before + 1, "{status} to {location}: only the first request");
        }
    }
    assert!(!trap.was_called());
}

#[tokio::test]
async fn no_redirect_leads_to_this_server() {
    let (front, own) = (Upstream::start(redirecting).await, Upstream::start(redirecting).await);
    let egress = open_loopback();
    egress.never_dial(own.address);
    let (port, hosts) = (own.address.port(), ["127.0.0.1", "inner.test", "localhost"]);
    for host in hosts {
        let request = redirected(&front, Method::GET, 302, &format!("http://{host}:{port}/"));
        let words = format!("Address not allowed: {host} is this server itself");
        assert_eq!(failed(send(&egress, &hosts, request).await), (ErrorKind::Permission, words), "{host}");
    }
    assert_eq!(own.connections(), 0);
}

#[tokio::test]
async fn a_failure_after_the_first_hop_may_have_had_an_effect() {
    let front = Upstream::start(redirecting).await;
    let trap = Trap::listen("127.0.0.2", 0);
    let lookup = Lookup::by(|_, _| Err(std::io::Error::other("no such host")));
    let egress = Egress::builder().open(networks("127.0.0.1")).resolver(lookup).build();
    let hosts = ["127.0.0.1", "127.0.0.2", "gone.test"];
    for (location, kind) in [
        (format!("http://127.0.0.1:{}/", closed_port()), ErrorKind::Network),
        ("http://gone.test/".to_owned(), ErrorKind::Network),
        (format!("http://127.0.0.2:{}/", trap.port()), ErrorKind::Permission),
        ("http://evil.test/".to_owned(), ErrorKind::Permission),
        ("file:///etc/passwd".to_owned(), ErrorKind::Permission),
    ] {
        // The usual response to a form: the work is done, and its result is at another URL.
        let mut request = redirected(&front, Method::POST, 303, &location);
        request.body = Bytes::from_static(b"order=1");
        let failure = error(send(&egress, &hosts, request).await);
        assert_eq!(failure.kind(), kind, "{location}");
        assert!(!failure.did_nothing(), "{location}: the first server has the order");
        assert!(!failure.is_connection_failure(), "{location}: the first server was reached");
    }
    assert!(!trap.was_called());
}

#[tokio::test]
async fn https_never_leads_to_http() {
    let authority = Authority::new();
    let egress = Egress::builder()
        .open(networks("127.0.0.0/8"))
        .resolver(Lookup::always(&["127.0.0.1"]))
        .trust(authority.pem.as_bytes())
        .expect("a certificate")
        .build();
    let trap = Trap::listen("127.0.0.1", 0);
    let hosts = ["api.test", "127.0.0.1"];
    for location in [
        format!("http://api.test:{}/", trap.port()),
        format!("http://127.0.0.1:{}/", trap.port()),
        format!("HTTP://API.test:{}/", trap.port()),
    ] {
        let answer = format!(
            "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let server = authority.serve("api.test", NOW, &answer).await;
        let own = format!("https://api.test:{}/", server.port());
        let words = "Redirect not allowed: from https to http (api.test)".to_owned();
        let outcome = get_as(&egress, &own, &hosts, &own).await;
        assert_eq!(failed(outcome), (ErrorKind::Permission, words), "{location}");
    }
    assert!(!trap.was_called());
}

#[tokio::test]
async fn http_may_lead_to_https_and_https_to_https() {
    let authority = Authority::new();
    let egress = Egress::builder()
        .open(networks("127.0.0.0/8"))
        .resolver(Lookup::always(&["127.0.0.1"]))
        .trust(authority.pem.as_bytes())
        .expect("a certificate")
        .build();
    let done = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ndone";
    let end = authority.serve("end.test", NOW, done).await;
    let to_end = format!("https://end.test:{}/", end.port());
    let front = Upstream::start(redirecting).await;
    let request = redirected(&front, Method::GET, 301, &to_end);
    let answer = send(&egress, &["127.0.0.1", "end.test"], request).await.expect("from http to https");
    assert_eq!((answer.url().as_str(), &*answer.body), (to_end.as_str(), &b"done"[..]));

    let moved =
        format!("HTTP/1.1 301 Moved\r\nlocation: {to_end}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let first = authority.serve("api.test", NOW, &moved).await;
    let own = format!("https://api.test:{}/", first.port());
    let answer = get_as(&egress, &own, &["*.test"], &own).await.expect("from https to https");
    assert_eq!(answer.url().as_str(), to_end);
    assert_eq!(end.names(), [Some("end.test".to_owned()), Some("end.test".to_owned())]);

    // A redirect does not bypass the certificate check.
    let elsewhere = format!("https://other.test:{}/", end.port());
    let request = redirected(&front, Method::GET, 302, &elsewhere);
    let outcome = send(&egress, &["127.0.0.1", "other.test"], request).await;
    assert_eq!(failed(outcome), (ErrorKind::Network, "other.test cannot be reached".to_owned()));
}
