//! TLS: trusted certificates, names and validity.

use std::time::Duration;

use haft_core::ErrorKind;
use haft_egress::{Egress, Request, RequestPolicy};
use haft_testkit::{Upstream, http_response};
use http::Method;

use crate::authority::{Authority, NOW};
use crate::support::{Lookup, error, failed, get, get_within, limits, limits_of, networks, url};

const RESPONSE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\nconnection: close\r\n\r\nreached";

/// A client that trusts an authority, with every name resolving to loopback.
fn trusting(authority: &Authority) -> Egress {
    Egress::builder()
        .open(networks("127.0.0.0/8"))
        .resolver(Lookup::always(&["127.0.0.1"]))
        .trust(authority.pem.as_bytes())
        .expect("a certificate")
        .build()
}

#[tokio::test]
async fn a_trusted_server_is_reached_and_receives_the_name() {
    let authority = Authority::new();
    let egress = trusting(&authority);
    for (certified, host, sni) in [
        ("api.test", "api.test", Some("api.test")),
        ("api.test", "API.Test", Some("api.test")),
        ("*.svc.test", "api.svc.test", Some("api.svc.test")),
        ("xn--mnchen-3ya.test", "münchen.test", Some("xn--mnchen-3ya.test")),
        ("127.0.0.1", "127.0.0.1", None),
        ("127.0.0.1", "0x7f.1", None),
    ] {
        let server = authority.serve(certified, NOW, RESPONSE).await;
        let answer = get(&egress, &format!("https://{host}:{}/", server.port())).await.expect(host);
        assert_eq!(answer.body, "reached", "{host} with a certificate for {certified}");
        assert_eq!(server.names(), [sni.map(str::to_owned)], "the SNI name for {host}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_prove_its_name_gets_no_request() {
    let (trusted, stranger) = (Authority::new(), Authority::new());
    let egress = trusting(&trusted);
    let nothing_trusted =
        Egress::builder().open(networks("127.0.0.0/8")).resolver(Lookup::always(&["127.0.0.1"])).build();
    for (what, egress, authority, certified, years) in [
        ("an untrusted authority", &egress, &stranger, "api.test", NOW),
        ("no authority of our own", &nothing_trusted, &trusted, "api.test", NOW),
        ("another name", &egress, &trusted, "other.test", NOW),
        ("a name below", &egress, &trusted, "x.api.test", NOW),
        ("a wildcard below", &egress, &trusted, "*.api.test", NOW),
        ("the address behind the name", &egress, &trusted, "127.0.0.1", NOW),
        ("a time that is over", &egress, &trusted, "api.test", (2000, 2001)),
        ("a time to come", &egress, &trusted, "api.test", (2089, 2090)),
    ] {
        let server = authority.serve(certified, years, RESPONSE).await;
        let target = format!("https://api.test:{}/hidden?token=s3cret", server.port());
        let refused = error(get(egress, &target).await);
        let (kind, words) = (refused.kind(), refused.message().to_string());
        assert_eq!((kind, words.as_str()), (ErrorKind::Network, "api.test cannot be reached"), "{what}");
        assert!(refused.did_nothing() && refused.is_connection_failure(), "{what}");
        assert!(!format!("{refused:?}").contains("s3cret"), "{what}: {refused:?}");
        let request = Request::new(Method::GET, &url(&target)).expect("a request");
        let by_operator = egress.send(RequestPolicy::Operator, request, limits()).await;
        assert_eq!(failed(by_operator).0, ErrorKind::Network, "{what}, for the operator");
        assert_eq!(server.connections(), 2, "{what}: both came as far as the handshake");
        assert!(server.names().is_empty(), "{what}: no handshake was finished");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_not_reached_by_https() {
    let egress = trusting(&Authority::new());
    let plain = Upstream::start(|_| http_response(200, &[], "reached")).await;
    let closing = Upstream::raw(|stream| async move { drop(stream) }).await;
    for (what, server) in [("plain HTTP", &plain), ("a server that hangs up", &closing)] {
        let refused = error(get(&egress, &format!("https://api.test:{}/", server.address.port())).await);
        let (kind, words) = (refused.kind(), refused.message().to_string());
        assert_eq!((kind, words.as_str()), (ErrorKind::Network, "api.test cannot be reached"), "{what}");
        assert!(refused.did_nothing() && refused.is_connection_failure(), "{what}");
    }
    assert!(plain.seen().is_empty(), "no request was made in the clear");
}

#[tokio::test]
async fn an_endless_handshake_times_out() {
    let egress = trusting(&Authority::new());
    let silent = Upstream::raw(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let target = format!("https://api.test:{}/", silent.address.port());
    let outcome = get_within(&egress, &target, limits_of(Duration::from_millis(200), 1 << 20)).await;
    assert_eq!(failed(outcome), (ErrorKind::Timeout, "api.test did not respond in time".to_owned()));
}

#[test]
fn files_without_certificates_are_rejected() {
    let wrong = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let unclosed = "-----BEGIN CERTIFICATE-----\nAAAA\n";
    let not_base64 = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
    for pem in ["", "nonsense", wrong, unclosed, not_base64] {
        let refused = Egress::builder().trust(pem.as_bytes()).err().expect(pem);
        assert!(refused.to_string().starts_with("no certificates in PEM form: "), "{pem:?}: {refused}");
    }
    let both = format!("{}{}", Authority::new().pem, Authority::new().pem);
    assert!(Egress::builder().trust(both.as_bytes()).is_ok(), "several at once");
}
