//! Decompression bombs: small bodies that decode to gigabytes end at the limit, without using that memory.
//!
//! A separate test binary with one test, so that nothing else affects the measured peak.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, reason = "tests fail by panicking")]

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use haft_core::{CallError, ErrorKind, SpaceId};
use haft_egress::{Egress, EgressResponse, Hosts, Limits, Request, RequestPolicy, ToolPolicy};
use haft_testkit::{Upstream, http_response};
use http::Method;
use tokio::time::Instant;
use url::Url;

/// Maximum size of a response in this test.
const LIMIT: usize = 1 << 20;

/// Maximum growth of the peak in KiB: twice the limit, and the largest window that HTTP allows.
const MAX_GROWTH: u64 = 24 << 10;

/// 256 MiB of zeros with the largest window of RFC 7932, 16 MiB.
const BROTLI: &str = "\
    cfffff7f002400e2b14072effff9ffff0f8004401c1680eefd3fffffff01900088c302d0bdffe7ffff3f001200715800\
    baf7fffcffff074002200e0b40f7fe9fffffff004800c46101e8defff3ffff1f000980382c00ddfb7ffeffff03200110\
    8705a07bffcfffff7f002400e2b00074effff9ffff0f8004401c1680eefd3fffffff01900088c302d0bdffe7ffff3f00\
    1200715800baf7fffcffff074002200e0b40f7fe9fffffff004800c46101e8defff3ffff1f000980382c00ddfbfffcff\
    ff072001108705a07bff0f";

/// 256 MiB of zeros as "large window brotli", which no RFC defines: its window is 1 GiB.
const LARGE_WINDOW_BROTLI: &str = "\
    111effffff01900088c70221f7fe9fffffff004800c46101a07bffcfffff7f002400e2b000d0bdffe7ffff3f00120071\
    5800e8defff3ffff1f000980382c0074effff9ffff0f8004401c1600baf7fffcffff074002200e0b00ddfb7ffeffff03\
    200110870580eefd3fffffff01900088c30240f7fe9fffffff004800c46101a07bffcfffff7f002400e2b000d0bdffe7\
    ffff3f001200715800e8defff3ffff1f000980382c0074effff9ffff0f8004401c1600baf7fffcffff074002200e0b00\
    ddfbfffcffff07200110870580eefd3f";

fn unhex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Zeros as a deflate stream, which repeats the flushed compressed form of one mebibyte.
fn deflate(mebibytes: usize) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&vec![0; 1 << 20]).expect("memory");
    encoder.flush().expect("memory");
    let mut stream = encoder.get_ref().repeat(mebibytes);
    stream.extend([3, 0]);
    stream
}

/// Zeros as a gzip stream. It has no checksum, because decoding never gets that far.
fn gzip(mebibytes: usize) -> Vec<u8> {
    let mut stream = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    stream.extend(deflate(mebibytes));
    stream
}

fn gzip_again(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Zeros as a zstd frame: blocks that each repeat one byte 128 Ki times.
fn zstd(mebibytes: usize, window: u8) -> Vec<u8> {
    // A window of 1 KiB times two to the power of the value in the upper five bits.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, window << 3];
    let block: u32 = (128 << 13) | (1 << 1);
    let [low, middle, high, _] = block.to_le_bytes();
    frame.extend([low, middle, high, 0].repeat(mebibytes * 8));
    frame.extend([1, 0, 0]);
    frame
}

/// The peak memory of this process in KiB since the last reset.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").expect("/proc");
}

async fn get(egress: &Egress, server: &Upstream) -> Result<EgressResponse, CallError> {
    let url: Url = server.url("/").parse().expect("a URL");
    let space: SpaceId = "00000000-0000-7000-8000-000000000001".parse().expect("an id");
    let policy = ToolPolicy::new(&url, Hosts::of_url(&url));
    let limits = Limits { deadline: Some(Instant::now() + Duration::from_secs(60)), bytes: LIMIT };
    egress.send(RequestPolicy::Tool(space, &policy), Request::new(Method::GET, &url)?, limits).await
}

#[tokio::test]
async fn a_bomb_ends_at_the_limit_and_memory_does_not_follow_it() {
    let too_large: &[ErrorKind] = &[ErrorKind::ResponseTooLarge];
    // Memory must be limited whether the body is too large or malformed.
    let either: &[ErrorKind] = &[ErrorKind::ResponseTooLarge, ErrorKind::Network];
    let bombs = [
        ("1 GiB as gzip", "gzip", gzip(1 << 10), too_large),
        ("1 GiB as deflate", "deflate", deflate(1 << 10), too_large),
        ("10 GiB as zstd", "zstd", zstd(10 << 10, 7), too_large),
        ("10 GiB as zstd with a window of 8 MiB", "zstd", zstd(10 << 10, 13), too_large),
        ("256 MiB as brotli with a window of 16 MiB", "br", unhex(BROTLI), too_large),
        ("1 GiB as gzip within gzip", "gzip, gzip", gzip_again(&gzip(1 << 10)), too_large),
        ("10 GiB as zstd within gzip", "zstd, gzip", gzip_again(&zstd(10 << 10, 7)), too_large),
        ("a zstd window of 16 MiB", "zstd", zstd(1 << 10, 14), either),
        ("a zstd window of 128 MiB", "zstd", zstd(1 << 10, 17), either),
        ("a zstd window of 2 TiB", "zstd", zstd(1 << 10, 31), either),
        ("a brotli window of 1 GiB", "br", unhex(LARGE_WINDOW_BROTLI), either),
    ];
    let egress = Egress::builder().open("127.0.0.0/8".parse().expect("a network")).build();
    let harmless = Upstream::start(|_| http_response(200, &[], "ready")).await;
    get(&egress, &harmless).await.expect("one-time allocations happen before the measurement");
    let mut wrong = Vec::new();
    for (what, coding, body, expected) in bombs {
        let size = body.len();
        let server =
            Upstream::start(move |_| http_response(200, &[("content-encoding", coding)], body.clone())).await;
        forget_peak();
        let before = peak();
        let outcome = get(&egress, &server).await;
        let growth = peak().saturating_sub(before);
        let kind = outcome.err().map(|error| error.kind());
        if growth >= MAX_GROWTH || !kind.is_some_and(|kind| expected.contains(&kind)) {
            wrong.push(format!("{what}, in {size} bytes: {kind:?}, and {growth} KiB more memory"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
