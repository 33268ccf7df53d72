//! DNS rebinding: the checked addresses are the dialed ones, and each connection uses one lookup.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use haft_core::{BoxFuture, ErrorKind, Locale};
use haft_egress::{Egress, Resolver};
use haft_testkit::{Upstream, http_response};
use tokio::time::Instant;

use crate::support::{
    Lookup, Then, Trap, addresses, described, error, failed, get, get_in, get_within, limits, limits_of,
    networks, pause, private, raw,
};

#[tokio::test]
async fn one_forbidden_address_rejects_all() {
    let trap = Trap::listen("127.0.0.1", 0);
    let answers: &[&[&str]] = &[
        &["127.0.0.1"],
        &["8.8.8.8", "127.0.0.1"],
        &["127.0.0.1", "8.8.8.8"],
        &["8.8.8.8", "2606:4700::1111", "::1"],
        &["::1", "8.8.8.8"],
        &["8.8.8.8", "::ffff:127.0.0.1"],
        &["8.8.8.8", "64:ff9b::7f00:1"],
        &["8.8.8.8", "0.0.0.0"],
        &["8.8.8.8", "1.1.1.1", "8.8.4.4", "169.254.169.254"],
    ];
    for answer in answers {
        let lookup = Lookup::always(answer);
        let egress = Egress::builder().resolver(lookup.clone()).build();
        let refused = error(get(&egress, &format!("http://rebind.test:{}/", trap.port())).await);
        let said = described(&refused);
        assert_eq!(said, private("rebind.test"), "{answer:?}");
        assert!(refused.did_nothing(), "{answer:?}");
        assert_eq!(lookup.count(), 1, "{answer:?}: a refused name is not asked for again");
        assert!(!trap.was_called(), "{answer:?}");
    }
}

#[tokio::test]
async fn an_unopened_address_rejects_an_opened_one() {
    let server = Upstream::start(|_| http_response(200, &[], "reached")).await;
    let trap = Trap::listen("127.0.0.2", server.address.port());
    let target = format!("http://rebind.test:{}/", trap.port());
    let answers: &[(&[&str], bool)] = &[
        (&["127.0.0.1"], true),
        (&["127.0.0.1", "127.0.0.1"], true),
        (&["127.0.0.2"], false),
        (&["127.0.0.1", "127.0.0.2"], false),
        (&["127.0.0.2", "127.0.0.1"], false),
        (&["127.0.0.1", "::1"], false),
        (&["127.0.0.1", "10.0.0.1"], false),
    ];
    for (answer, is_open) in answers {
        let egress = Egress::builder().open(networks("127.0.0.1")).resolver(Lookup::always(answer)).build();
        let outcome = get(&egress, &target).await;
        if *is_open {
            assert_eq!(outcome.expect("an opened address").body, "reached", "{answer:?}");
        } else {
            assert_eq!(failed(outcome), private("rebind.test"), "{answer:?}");
        }
        assert!(!trap.was_called(), "{answer:?}");
    }
}

#[tokio::test]
async fn a_second_resolution_is_checked_like_the_first() {
    let server = Upstream::start(|_| http_response(200, &[], "reached")).await;
    let trap = Trap::listen("127.0.0.2", server.address.port());
    let target = format!("http://rebind.test:{}/", trap.port());
    // The allowed addresses come first, or second.
    for good in [0, 1] {
        let lookup = Lookup::by(move |_, before| {
            Ok(addresses(&[if before == good { "127.0.0.1" } else { "127.0.0.2" }]))
        });
        let egress = Egress::builder().open(networks("127.0.0.1")).resolver(lookup.clone()).build();
        // A separate space for each request, so that each opens a new connection.
        for lookups in 0..4 {
            let outcome = get_in(&egress, lookups as u8, &target, limits()).await;
            if lookups == good {
                assert_eq!(outcome.expect("an opened address").body, "reached", "{lookups}, {good} is good");
            } else {
                assert_eq!(failed(outcome), private("rebind.test"), "{lookups}, {good} is good");
            }
            assert_eq!(lookup.count(), lookups + 1, "one lookup for each connection");
            assert!(!trap.was_called(), "{lookups}, {good} is good");
        }
    }
}

#[tokio::test]
async fn only_new_connections_resolve_the_name() {
    let closing = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (keeps, closes) =
        (Upstream::start(|_| http_response(200, &[], "reached")).await, raw(closing, Then::Close).await);
    for (what, server, expected) in [("kept", &keeps, 1), ("closed", &closes, 3)] {
        let lookup = Lookup::always(&["127.0.0.1"]);
        let egress = Egress::builder().open(networks("127.0.0.0/8")).resolver(lookup.clone()).build();
        for _ in 0..3 {
            get(&egress, &format!("http://api.test:{}/", server.address.port())).await.expect(what);
            pause().await;
        }
        assert_eq!((lookup.count(), server.connections()), (expected, expected), "{what}");
    }
}

#[tokio::test]
async fn a_name_without_an_address_had_no_effect() {
    type LookupResult = fn() -> io::Result<Vec<IpAddr>>;
    let cases: [(&str, LookupResult); 2] = [
        ("it has no address", || Ok(Vec::new())),
        ("no such host is known", || Err(io::Error::other("no such host is known"))),
    ];
    for (cause, answer) in cases {
        let lookup = Lookup::by(move |_, _| answer());
        let egress = Egress::builder().resolver(lookup.clone()).build();
        let gone = error(get(&egress, "http://gone.test/hidden?token=s3cret").await);
        assert_eq!(gone.kind(), ErrorKind::Network, "{cause}");
        assert_eq!(gone.message().to_string(), "gone.test cannot be found: check the name", "{cause}");
        assert!(gone.did_nothing() && gone.is_retryable() && gone.is_connection_failure(), "{cause}");
        assert_eq!(gone.details(Locale::En)["cause"], cause);
        assert!(!format!("{gone:?}").contains("s3cret"), "{gone:?}");
        assert_eq!(lookup.count(), 1, "{cause}");
    }
}

/// A resolver that never responds.
struct Silent;

impl Resolver for Silent {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_never_responds_times_out() {
    let egress = Egress::builder().resolver(Silent).build();
    for (deadline, seconds, kind, words) in [
        (60, 10, ErrorKind::Network, "slow.test cannot be reached"),
        (2, 2, ErrorKind::Timeout, "slow.test did not respond in time"),
    ] {
        let start = Instant::now();
        let outcome =
            get_within(&egress, "http://slow.test/", limits_of(Duration::from_secs(deadline), 1)).await;
        assert_eq!(failed(outcome), (kind, words.to_owned()), "with {deadline} s");
        assert_eq!(start.elapsed().as_secs(), seconds, "with {deadline} s");
    }
    let start = Instant::now();
    let slow = error(get_within(&egress, "http://slow.test/", limits_of(Duration::from_secs(60), 1)).await);
    assert!(slow.did_nothing(), "no connection was made");
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn the_next_address_is_dialed_if_one_does_not_respond() {
    let server = Upstream::start(|_| http_response(200, &[], "reached")).await;
    let egress = Egress::builder()
        .open(networks("127.0.0.0/8, ::1"))
        .resolver(Lookup::always(&["127.0.0.3", "::1", "127.0.0.1"]))
        .build();
    let answer = get(&egress, &format!("http://api.test:{}/", server.address.port())).await;
    assert_eq!(answer.expect("one of them answers").body, "reached");
}
