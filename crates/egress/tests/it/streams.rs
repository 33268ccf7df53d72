//! Streamed bodies: chunks, limits, and errors in the middle.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use haft_core::{CallError, ErrorKind};
use haft_egress::{Egress, Limits, Request, RequestPolicy, StreamedResponse};
use haft_testkit::Upstream;
use http::Method;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

use crate::support::{Then, limits, limits_of, open_loopback, pause, raw, read_head, url};

async fn open(egress: &Egress, target: &str, limits: Limits) -> Result<StreamedResponse, CallError> {
    egress.open(RequestPolicy::Operator, Request::new(Method::GET, &url(target))?, limits).await
}

async fn all(opened: &mut StreamedResponse) -> Result<Vec<u8>, CallError> {
    let mut whole = Vec::new();
    while let Some(piece) = opened.chunk().await? {
        assert!(!piece.is_empty(), "a piece is never empty");
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

/// The two halves of a body. The first half can be decoded without the second.
fn halves(coding: &str) -> (Vec<u8>, Vec<u8>) {
    fn both<E: Write>(
        mut encoder: E,
        so_far: fn(&E) -> &Vec<u8>,
        end: fn(E) -> Vec<u8>,
    ) -> (Vec<u8>, Vec<u8>) {
        encoder.write_all(b"first, ").expect("memory");
        encoder.flush().expect("memory");
        let first = so_far(&encoder).clone();
        encoder.write_all(b"second").expect("memory");
        let second = end(encoder).split_off(first.len());
        (first, second)
    }
    let level = Compression::default();
    match coding {
        "gzip" => both(GzEncoder::new(Vec::new(), level), |e| e.get_ref(), |e| e.finish().expect("memory")),
        "deflate" => {
            both(ZlibEncoder::new(Vec::new(), level), |e| e.get_ref(), |e| e.finish().expect("memory"))
        }
        "br" => {
            both(brotli::CompressorWriter::new(Vec::new(), 4096, 3, 20), |e| e.get_ref(), |e| e.into_inner())
        }
        "zstd" => {
            let encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("memory");
            both(encoder, |e| e.get_ref(), |e| e.finish().expect("memory"))
        }
        plain => {
            assert_eq!(plain, "identity");
            (b"first, ".to_vec(), b"second".to_vec())
        }
    }
}

/// A server that sends the second half when the gate opens.
async fn in_halves(coding: &'static str, gate: Arc<Semaphore>) -> Upstream {
    let (first, second) = halves(coding);
    Upstream::raw(move |mut stream| {
        let (first, second, gate) = (first.clone(), second.clone(), gate.clone());
        async move {
            read_head(&mut stream).await;
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: {}\r\n\r\n",
                first.len() + second.len()
            );
            stream.write_all(head.as_bytes()).await.expect("a client");
            stream.write_all(&first).await.expect("a client");
            gate.acquire().await.expect("a gate").forget();
            stream.write_all(&second).await.expect("a client");
        }
    })
    .await
}

#[tokio::test]
async fn chunks_are_returned_before_the_rest_arrives_in_every_coding() {
    let egress = open_loopback();
    for coding in ["identity", "gzip", "deflate", "br", "zstd"] {
        let gate = Arc::new(Semaphore::new(0));
        let server = in_halves(coding, gate.clone()).await;
        let mut opened = open(&egress, &server.url("/"), limits()).await.expect("an answer");
        let mut first = Vec::new();
        while first.len() < 7 {
            let piece = opened.chunk().await.unwrap_or_else(|error| panic!("{coding}: {error}"));
            first.extend_from_slice(&piece.expect("more to come"));
        }
        assert_eq!(first, b"first, ", "{coding}");
        gate.add_permits(1);
        assert_eq!(all(&mut opened).await.expect(coding), b"second", "{coding}");
        assert_eq!(opened.chunk().await.expect("the end again"), None::<Bytes>, "{coding}");
    }
}

#[tokio::test]
async fn the_limit_covers_all_chunks() {
    let egress = open_loopback();
    for coding in ["identity", "gzip", "zstd"] {
        for (limit, is_allowed) in [(13, true), (12, false), (7, false)] {
            let server = in_halves(coding, Arc::new(Semaphore::new(1))).await;
            let limits = limits_of(Duration::from_secs(5), limit);
            let read = match open(&egress, &server.url("/"), limits).await {
                Ok(mut opened) => all(&mut opened).await,
                Err(error) => Err(error),
            };
            match read {
                Ok(whole) => assert!(is_allowed && whole == b"first, second", "{coding}, {limit}"),
                Err(error) => {
                    assert!(!is_allowed, "{coding}, {limit}: {error}");
                    assert_eq!(error.kind(), ErrorKind::ResponseTooLarge, "{coding}, {limit}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_truncated_body_returns_its_chunks_and_then_an_error() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this";
    for then in [Then::Close, Then::Reset] {
        let server = raw(head, then).await;
        let mut opened = open(&open_loopback(), &server.url("/"), limits()).await.expect("an answer");
        // A reset may overtake data that was sent before it.
        let broken = loop {
            match opened.chunk().await {
                Ok(piece) => assert_eq!(piece.expect("not the end"), "only this"),
                Err(error) => break error,
            }
        };
        assert_eq!(broken.kind(), ErrorKind::Network, "{then:?}");
        assert_eq!(opened.chunk().await.expect("nothing more"), None::<Bytes>, "{then:?}");
    }
}

#[tokio::test]
async fn the_deadline_covers_the_body() {
    let server = raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this", Then::Wait).await;
    let limits = limits_of(Duration::from_millis(300), 1_000);
    let mut opened = open(&open_loopback(), &server.url("/"), limits).await.expect("an answer");
    assert_eq!(opened.chunk().await.expect("a piece").expect("a piece"), "only this");
    let late = opened.chunk().await.expect_err("nothing more comes");
    assert_eq!(late.kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn a_failed_response_can_be_read_completely() {
    let body = "HTTP/1.1 429 X\r\nretry-after: 7\r\ncontent-length: 4\r\nconnection: close\r\n\r\nslow";
    let server = raw(body, Then::Close).await;
    let opened = open(&open_loopback(), &server.url("/"), limits()).await.expect("an answer");
    assert_eq!(opened.status(), 429);
    assert_eq!(opened.headers()["retry-after"], "7");
    let answer = opened.whole().await.expect("its body");
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (429, &b"slow"[..]));
    assert_eq!(answer.requested_pause(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn redirects_are_followed_before_streaming() {
    let egress = open_loopback();
    let there = raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nthere", Then::Wait).await;
    let location = there.url("/");
    let sent_on = format!("HTTP/1.1 307 X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    let here = raw(sent_on, Then::Wait).await;
    let refused = open(&egress, &here.url("/"), limits()).await.expect_err("another origin");
    assert_eq!(refused.kind(), ErrorKind::Permission, "{refused}");
    assert_eq!(there.connections(), 0);
}

#[tokio::test]
async fn a_drained_connection_is_reused() {
    let egress = open_loopback();
    let server = Upstream::start(|_| haft_testkit::http_response(200, &[], "all of it")).await;
    for _ in 0..3 {
        let mut opened = open(&egress, &server.url("/"), limits()).await.expect("an answer");
        assert_eq!(opened.chunk().await.expect("a piece").expect("a piece"), "all of it");
        opened.drain().await;
        pause().await;
    }
    assert_eq!(server.connections(), 1);
}
