//! Bodies: every coding, alone and nested, complete, broken and truncated, up to the limit.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use haft_core::ErrorKind;
use haft_egress::{Egress, Request};
use http::Method;

use crate::support::{
    Outcome, Then, error, failed, get, get_within, limits_of, open_loopback, raw, send, url,
};

/// Encodes with one coding. `raw` is deflate without its zlib header, as some servers send it.
fn encode(coding: &str, bytes: &[u8]) -> Vec<u8> {
    match coding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(bytes).expect("memory");
            encoder.finish().expect("memory")
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(bytes).expect("memory");
            encoder.finish().expect("memory")
        }
        "raw" => {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(bytes).expect("memory");
            encoder.finish().expect("memory")
        }
        "br" => {
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 3, 20);
            encoder.write_all(bytes).expect("memory");
            encoder.into_inner()
        }
        "zstd" => zstd::encode_all(bytes, 3).expect("memory"),
        unknown => panic!("no such coding: {unknown}"),
    }
}

/// Encodes with several codings, the first one first.
fn encode_all(codings: &[&str], bytes: &[u8]) -> Vec<u8> {
    codings.iter().fold(bytes.to_vec(), |bytes, coding| encode(coding, &bytes))
}

/// The `Content-Encoding` lines of a server, and the codings it applied.
const CODED: &[(&[&str], &[&str])] = &[
    (&[], &[]),
    (&["identity"], &[]),
    (&[""], &[]),
    (&["gzip"], &["gzip"]),
    (&["GZip"], &["gzip"]),
    (&["x-gzip"], &["gzip"]),
    (&["deflate"], &["deflate"]),
    (&["deflate"], &["raw"]),
    (&["br"], &["br"]),
    (&["zstd"], &["zstd"]),
    (&["identity, gzip"], &["gzip"]),
    (&["gzip, br"], &["gzip", "br"]),
    (&["br,gzip"], &["br", "gzip"]),
    (&["gzip , gzip"], &["gzip", "gzip"]),
    (&["zstd, deflate"], &["zstd", "deflate"]),
    (&["deflate, zstd"], &["raw", "zstd"]),
    (&["gzip", "br"], &["gzip", "br"]),
    (&["zstd", "gzip, br"], &["zstd", "gzip", "br"]),
    (&["gzip, deflate, br, zstd"], &["gzip", "deflate", "br", "zstd"]),
];

/// The codings with an end marker, each with its header.
const WITH_END_MARKER: [(&str, &str); 5] =
    [("gzip", "gzip"), ("deflate", "deflate"), ("deflate", "raw"), ("br", "br"), ("zstd", "zstd")];

/// Text that compresses, but not to nothing.
fn text() -> Vec<u8> {
    (0..10_000_u32)
        .flat_map(|number| format!("{} ", number.wrapping_mul(2_654_435_761)).into_bytes())
        .collect()
}

/// The head of a response with these lines of `Content-Encoding`.
fn head(lines: &[&str], more: &str) -> Vec<u8> {
    let lines: String = lines.iter().map(|line| format!("content-encoding: {line}\r\n")).collect();
    format!("HTTP/1.1 200 OK\r\n{lines}{more}\r\n\r\n").into_bytes()
}

/// Requests this body from a server.
async fn response_to(egress: &Egress, lines: &[&str], body: &[u8], limit: usize) -> Outcome {
    let more = format!("content-length: {}\r\nconnection: close", body.len());
    let server = raw([head(lines, &more).as_slice(), body].concat(), Then::Close).await;
    get_within(egress, &server.url("/"), limits_of(Duration::from_secs(5), limit)).await
}

#[tokio::test]
async fn every_coding_is_decoded_alone_and_nested() {
    let egress = open_loopback();
    let text = text();
    let plains: [&[u8]; 3] = [b"", b"x", &text];
    for (lines, codings) in CODED {
        for plain in plains {
            let case = format!("{lines:?} with {} bytes", plain.len());
            let answer =
                response_to(&egress, lines, &encode_all(codings, plain), 1 << 20).await.expect(&case);
            assert!(answer.body == plain, "{case}: {} bytes came out", answer.body.len());
        }
    }
}

#[tokio::test]
async fn a_body_may_come_byte_by_byte() {
    let egress = open_loopback();
    let plain = b"little by little, and little again";
    for (lines, codings) in CODED {
        let mut bytes = head(lines, "transfer-encoding: chunked\r\nconnection: close");
        for byte in encode_all(codings, plain) {
            bytes.extend([b'1', b'\r', b'\n', byte, b'\r', b'\n']);
        }
        bytes.extend(b"0\r\n\r\n");
        let server = raw(bytes, Then::Close).await;
        let answer = get(&egress, &server.url("/")).await;
        assert_eq!(answer.expect("an answer").body, &plain[..], "{lines:?}");
    }
}

#[tokio::test]
async fn a_gzip_body_may_have_several_members() {
    let body = [encode("gzip", b"one, "), encode("gzip", b""), encode("gzip", b"two")].concat();
    let answer = response_to(&open_loopback(), &["gzip"], &body, 100).await;
    assert_eq!(answer.expect("an answer").body, "one, two");
}

#[tokio::test]
async fn an_unknown_coding_is_reported() {
    let egress = open_loopback();
    let cases: &[(&[&str], &str)] = &[
        (&["compress"], "compress"),
        (&["gzip, exotic"], "exotic"),
        (&["br", "aws-chunked"], "aws-chunked"),
        (&["gzip;q=1"], "gzip;q=1"),
    ];
    for (lines, named) in cases {
        let words = format!(
            "The response is encoded as {named}, which is not supported; gzip, deflate, br and zstd are"
        );
        let outcome = response_to(&egress, lines, b"whatever", 100).await;
        assert_eq!(failed(outcome), (ErrorKind::Execution, words), "{lines:?}");
    }
    let five: [&[&str]; 2] = [&["gzip, gzip, gzip, gzip, gzip"], &["br", "br", "br", "br", "br"]];
    for lines in five {
        let words = "The response has more than 4 nested encodings, which is not supported".to_owned();
        let outcome = response_to(&egress, lines, b"whatever", 100).await;
        assert_eq!(failed(outcome), (ErrorKind::Execution, words), "{lines:?}");
    }
    let (_, words) = failed(response_to(&egress, &["x".repeat(10_000).as_str()], b"", 100).await);
    assert!(words.len() < 200, "a long name is cut: {} bytes", words.len());
}

async fn assert_broken(egress: &Egress, what: &str, line: &str, body: &[u8]) {
    let broken = error(response_to(egress, &[line], body, 1 << 20).await);
    let said = (broken.kind(), broken.message().to_string());
    let words = "The response cannot be decoded: its compressed data is corrupt".to_owned();
    assert_eq!(said, (ErrorKind::Network, words), "{what}, {line}");
    assert!(!broken.did_nothing() && !broken.is_connection_failure(), "{what}, {line}");
}

#[tokio::test]
async fn corrupt_compression_is_an_error() {
    let egress = open_loopback();
    for (line, _) in WITH_END_MARKER {
        assert_broken(&egress, "bytes of no coding", line, &[0xff; 64]).await;
    }
    let plain = text();
    for coding in ["gzip", "deflate"] {
        let mut body = encode(coding, &plain);
        let last = body.len() - 1;
        body[last] ^= 1;
        assert_broken(&egress, "another checksum", coding, &body).await;
    }
    let inner = encode("br", b"this is not what gzip looks like");
    assert_broken(&egress, "a broken layer within", "gzip, br", &inner).await;
}

async fn assert_cut_is_broken(line: &str, coding: &str) {
    let egress = open_loopback();
    let body = encode(coding, &text());
    for (what, length) in [("half of it", body.len() / 2), ("all but a byte", body.len() - 1)] {
        assert_broken(&egress, &format!("{what}, {coding}"), line, &body[..length]).await;
    }
    let nested = encode("gzip", &body[..body.len() / 2]);
    assert_broken(&egress, &format!("a cut layer within, {coding}"), &format!("{line}, gzip"), &nested).await;
}

#[tokio::test]
async fn truncated_gzip_is_an_error() {
    assert_cut_is_broken("gzip", "gzip").await;
}

#[tokio::test]
async fn truncated_deflate_is_an_error() {
    assert_cut_is_broken("deflate", "deflate").await;
}

#[tokio::test]
async fn truncated_raw_deflate_is_an_error() {
    assert_cut_is_broken("deflate", "raw").await;
}

#[tokio::test]
async fn truncated_brotli_is_an_error() {
    assert_cut_is_broken("br", "br").await;
}

#[tokio::test]
async fn truncated_zstd_is_an_error() {
    assert_cut_is_broken("zstd", "zstd").await;
}

#[tokio::test]
async fn a_body_may_be_as_large_as_the_limit_and_no_larger() {
    let egress = open_loopback();
    let plain = vec![b'a'; 10_000];
    for (lines, codings) in CODED {
        for (limit, is_allowed) in [(10_000, true), (9_999, false), (0, false)] {
            let case = format!("{lines:?} with a limit of {limit}");
            let outcome = response_to(&egress, lines, &encode_all(codings, &plain), limit).await;
            if is_allowed {
                assert_eq!(outcome.expect(&case).body, plain, "{case}");
            } else {
                let words = format!("Response too large: limit {limit} bytes");
                assert_eq!(failed(outcome), (ErrorKind::ResponseTooLarge, words), "{case}");
            }
        }
    }
    assert!(response_to(&egress, &[], b"", 0).await.expect("nothing").body.is_empty());
}

#[tokio::test]
async fn a_body_without_a_length_is_limited_while_it_arrives() {
    let egress = open_loopback();
    for (more, part, end) in [
        ("transfer-encoding: chunked", "a\r\n0123456789\r\n", "0\r\n\r\n"),
        ("connection: close", "0123456789", ""),
    ] {
        let bytes = [head(&[], more), part.repeat(10).into_bytes(), end.as_bytes().to_vec()].concat();
        for (limit, is_allowed) in [(100, true), (99, false)] {
            let server = raw(bytes.clone(), Then::Close).await;
            let limits = limits_of(Duration::from_secs(5), limit);
            let outcome = get_within(&egress, &server.url("/"), limits).await;
            if is_allowed {
                assert_eq!(outcome.expect("an answer").body, "0123456789".repeat(10), "{more}");
            } else {
                let words = format!("Response too large: limit {limit} bytes");
                assert_eq!(failed(outcome), (ErrorKind::ResponseTooLarge, words), "{more}");
            }
        }
    }
}

#[tokio::test]
async fn a_length_beyond_the_limit_is_rejected_before_the_body() {
    let egress = open_loopback();
    for length in ["1001", "1000000000000", "18446744073709551615"] {
        let server = raw(head(&[], &format!("content-length: {length}")), Then::Wait).await;
        let limits = limits_of(Duration::from_secs(5), 1_000);
        let (kind, _) = failed(get_within(&egress, &server.url("/"), limits).await);
        assert_eq!(kind, ErrorKind::ResponseTooLarge, "{length}");
    }
}

#[tokio::test]
async fn a_response_without_a_body_is_neither_decoded_nor_limited() {
    let egress = open_loopback();
    for (method, status) in [(Method::HEAD, 200), (Method::GET, 204), (Method::GET, 304)] {
        for coding in ["gzip", "deflate", "br", "zstd", ""] {
            // The headers describe the body that a GET would have returned, encoded or not.
            let line = if coding.is_empty() { "x-plain" } else { "content-encoding" };
            let length = if status == 204 { "x-none: 1" } else { "content-length: 5000000" };
            let bytes =
                format!("HTTP/1.1 {status} X\r\n{line}: {coding}\r\n{length}\r\nconnection: close\r\n\r\n");
            let server = raw(bytes, Then::Close).await;
            let request = Request::new(method.clone(), &url(&server.url("/"))).expect("a request");
            let answer = send(&egress, &[], request).await;
            let answer = answer.unwrap_or_else(|error| panic!("{method}, {status}, {coding}: {error}"));
            assert!(
                answer.status.as_u16() == status && answer.body.is_empty(),
                "{method}, {status}, {coding}"
            );
        }
    }
}

#[tokio::test]
async fn the_number_of_gzip_members_is_limited() {
    let egress = open_loopback();
    let member = |text: &[u8]| encode_all(&["gzip"], text);
    let few = [member(b"one, "), member(b""), member(b"two")].concat();
    let answer = response_to(&egress, &["gzip"], &few, 100).await.expect("an answer");
    assert_eq!(answer.body, "one, two");
    let many = member(b"").repeat(2_000);
    let nested = encode_all(&["gzip"], &many);
    for (lines, body) in [(&["gzip"][..], &many), (&["gzip, gzip"][..], &nested)] {
        let (kind, _) = failed(response_to(&egress, lines, body, 1 << 20).await);
        assert_eq!(kind, ErrorKind::ResponseTooLarge, "{lines:?}");
    }
}
