//! Misbehaving servers that send malformed data, stall or disconnect: every one causes a clear error, in
//! time.

use std::time::Duration;

use haft_core::{CallError, ErrorKind, Locale};
use haft_egress::{Egress, Limits};
use haft_testkit::Upstream;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::support::{
    Then, closed_port, error, failed, get, get_within, limits, limits_of, open_loopback, pause, raw,
    read_head,
};

const BROKEN: &str = "The connection to 127.0.0.1 broke before the response was complete";
const HEAD_TOO_LARGE: &str = "Response headers too large or too many: limit 65536 bytes and 100 headers";

/// The error of a request whose URL contains a secret, which the error must not contain.
async fn failure_of(egress: &Egress, server: &Upstream, limits: Limits) -> CallError {
    let failure = error(get_within(egress, &server.url("/hidden?token=s3cret"), limits).await);
    let shown = format!("{failure:?} {}", failure.to_json(Locale::En));
    assert!(!shown.contains("hidden") && !shown.contains("s3cret"), "{shown}");
    failure
}

#[tokio::test]
async fn an_incomplete_response_is_a_broken_connection() {
    let egress = open_loopback();
    let ok = "HTTP/1.1 200 OK\r\n";
    for (what, bytes, then) in [
        ("no answer at all", String::new(), Then::Close),
        ("a reset instead of an answer", String::new(), Then::Reset),
        ("half a head", format!("{ok}content-le"), Then::Close),
        ("less than announced", format!("{ok}content-length: 100\r\n\r\nshort"), Then::Close),
        ("a reset within the body", format!("{ok}content-length: 100\r\n\r\nshort"), Then::Reset),
        ("a cut chunk", format!("{ok}transfer-encoding: chunked\r\n\r\n5\r\nhel"), Then::Close),
        ("no last chunk", format!("{ok}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"), Then::Close),
        ("a chunk of no size", format!("{ok}transfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n"), Then::Wait),
        ("two lengths", format!("{ok}content-length: 5\r\ncontent-length: 6\r\n\r\nhello"), Then::Wait),
        ("a length that is none", format!("{ok}content-length: many\r\n\r\nhello"), Then::Wait),
        ("a header without a name", format!("{ok}: x\r\n\r\n"), Then::Wait),
        ("another protocol", "SSH-2.0-OpenSSH_9.6\r\n".to_owned(), Then::Wait),
        ("a page without a head", "<html>hello, this is no HTTP</html>\r\n".to_owned(), Then::Wait),
        ("an old version", "HTTP/0.9 200 OK\r\n\r\n".to_owned(), Then::Wait),
    ] {
        let server = raw(bytes, then).await;
        let failure = failure_of(&egress, &server, limits()).await;
        let said = (failure.kind(), failure.message().to_string());
        assert_eq!(said, (ErrorKind::Network, BROKEN.to_owned()), "{what}, then {then:?}");
        assert!(!failure.did_nothing(), "{what}: the request was sent");
        assert!(!failure.is_connection_failure(), "{what}: the connection was made");
    }
}

#[tokio::test]
async fn a_refused_connection_had_no_effect() {
    let target = format!("http://127.0.0.1:{}/hidden?token=s3cret", closed_port());
    let refused = error(get(&open_loopback(), &target).await);
    assert_eq!(refused.kind(), ErrorKind::Network);
    assert_eq!(refused.message().to_string(), "127.0.0.1 cannot be reached");
    assert!(refused.did_nothing() && refused.is_retryable() && refused.is_connection_failure());
    assert!(!format!("{refused:?}").contains("s3cret"), "{refused:?}");
}

#[tokio::test]
async fn bytes_after_the_announced_length_belong_to_no_response() {
    let forged = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged";
    for extra in ["more", "\r\n", forged] {
        let server =
            raw(format!("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello{extra}"), Then::Wait).await;
        let egress = open_loopback();
        for calls in 1..=3 {
            let answer = get(&egress, &server.url("/")).await.expect("an answer");
            assert_eq!(answer.body, "hello", "call {calls} with {extra:?}");
            pause().await;
            assert_eq!(server.connections(), calls, "such a connection is not used again");
        }
    }
}

#[tokio::test]
async fn a_stalling_server_times_out_at_the_deadline() {
    let egress = open_loopback();
    let ok = "HTTP/1.1 200 OK\r\n";
    for (what, bytes, then) in [
        ("silence", String::new(), Then::Wait),
        ("half a head", format!("{ok}x-a: b\r\n"), Then::Wait),
        ("a slow head", format!("{ok}x-a: "), Then::Drip),
        ("half a body", format!("{ok}content-length: 100\r\n\r\nhalf"), Then::Wait),
        ("a slow body", format!("{ok}content-length: 100000\r\n\r\n"), Then::Drip),
        ("a slow body without a length", format!("{ok}\r\n"), Then::Drip),
        (
            "a last chunk that does not come",
            format!("{ok}transfer-encoding: chunked\r\n\r\n1\r\na\r\n"),
            Then::Wait,
        ),
    ] {
        let server = raw(bytes, then).await;
        let late = failure_of(&egress, &server, limits_of(Duration::from_millis(200), 1 << 20)).await;
        let said = (late.kind(), late.message().to_string());
        assert_eq!(said, (ErrorKind::Timeout, "127.0.0.1 did not respond in time".to_owned()), "{what}");
        assert!(!late.did_nothing(), "{what}: the request was sent");
    }
}

#[tokio::test]
async fn headers_are_limited_in_number_and_size() {
    let egress = open_loopback();
    let head = |headers: usize, bytes: usize| {
        // One of the headers is the length.
        let lines: String =
            (1..headers).map(|number| format!("x-{number}: {}\r\n", "a".repeat(bytes))).collect();
        format!("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n{lines}\r\nok")
    };
    for (what, bytes, is_allowed) in [
        ("a hundred headers", head(100, 1), true),
        ("one more", head(101, 1), false),
        ("a thousand", head(1_000, 1), false),
        ("a large header", head(2, 60_000), true),
        ("too large a header", head(2, 200_000), false),
        ("many that are too large together", head(50, 4_000), false),
    ] {
        let server = raw(bytes, Then::Wait).await;
        if is_allowed {
            let answer = get(&egress, &server.url("/")).await.expect(what);
            assert_eq!(answer.body, "ok", "{what}");
        } else {
            let failure = failure_of(&egress, &server, limits()).await;
            let said = (failure.kind(), failure.message().to_string());
            assert_eq!(said, (ErrorKind::ResponseTooLarge, HEAD_TOO_LARGE.to_owned()), "{what}");
        }
    }
}

#[tokio::test]
async fn an_endless_response_is_aborted() {
    let egress = open_loopback();
    let ok = "HTTP/1.1 200 OK\r\n";
    let chunk = format!("4000\r\n{}\r\n", "a".repeat(0x4000));
    let too_large = "Response too large: limit 65536 bytes";
    for (what, head, part, words) in [
        ("chunks", format!("{ok}transfer-encoding: chunked\r\n\r\n"), chunk.clone(), too_large),
        (
            "tiny chunks",
            format!("{ok}transfer-encoding: chunked\r\n\r\n"),
            "1\r\na\r\n".repeat(1_000),
            too_large,
        ),
        ("a body without a length", format!("{ok}\r\n"), chunk, too_large),
        ("headers", ok.to_owned(), "x-a: b\r\n".to_owned(), HEAD_TOO_LARGE),
        ("one header", format!("{ok}x-a: "), "a".repeat(1_000), HEAD_TOO_LARGE),
        ("a name of a header", format!("{ok}x-"), "a".repeat(1_000), HEAD_TOO_LARGE),
    ] {
        let (tell, mut ended) = mpsc::unbounded_channel();
        let server = Upstream::raw(move |mut stream| {
            let (tell, head, part) = (tell.clone(), head.clone(), part.clone());
            async move {
                read_head(&mut stream).await;
                let mut written = stream.write_all(head.as_bytes()).await;
                while written.is_ok() {
                    written = stream.write_all(part.as_bytes()).await;
                }
                let _ = tell.send(());
            }
        })
        .await;
        let failure = failure_of(&egress, &server, limits_of(Duration::from_secs(5), 1 << 16)).await;
        let said = (failure.kind(), failure.message().to_string());
        assert_eq!(said, (ErrorKind::ResponseTooLarge, words.to_owned()), "{what}");
        let noticed = timeout(Duration::from_secs(5), ended.recv()).await;
        assert_eq!(noticed.ok().flatten(), Some(()), "{what}: the server sees the connection end");
    }
}

#[tokio::test]
async fn endless_interim_responses_time_out() {
    let server = Upstream::raw(|mut stream| async move {
        read_head(&mut stream).await;
        while stream.write_all(b"HTTP/1.1 103 Early Hints\r\n\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let limits = limits_of(Duration::from_millis(200), 1 << 20);
    let (kind, _) = failed(get_within(&open_loopback(), &server.url("/"), limits).await);
    assert_eq!(kind, ErrorKind::Timeout);
}

#[tokio::test]
async fn interim_responses_are_skipped() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n";
    let server = raw(format!("{interim}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"), Then::Wait).await;
    let answer = get(&open_loopback(), &server.url("/")).await.expect("an answer");
    assert_eq!((answer.status.as_u16(), &*answer.body), (200, &b"ok"[..]));
}
