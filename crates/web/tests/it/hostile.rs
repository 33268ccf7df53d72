//! Malicious pages and blocked addresses: bounded time, bounded memory, no access to private networks.

use std::time::{Duration, Instant};

use haft_egress::Egress;
use haft_engine::{CallOptions, ErrorKind, Locale};
use haft_testkit::Upstream;
use haft_web::SearchProviders;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{call, call_with, read, read_as, serving, tools, tools_over};

const CONTENT: &str = "This is the content that readers came for, and it is present in spite of it all.";

#[tokio::test]
async fn pages_that_would_exhaust_memory_or_stack_are_read() {
    let distinct: String = (0..2_000).map(|number| format!("<b id=b{number}>")).collect();
    let nested = |tags: &str, times: usize| format!("{}{CONTENT}", tags.repeat(times));
    let tools = tools(SearchProviders::default());
    for (case, page) in [
        ("a million divs", nested("<div>", 1_000_000)),
        ("a million unclosed b", nested("<b>", 1_000_000)),
        ("nested lists", nested("<ul><li>", 20_000)),
        ("nested quotes", nested("<blockquote>", 20_000)),
        ("nested tables", nested("<table><tr><td>", 20_000)),
        ("nested tables without cells", nested("<table>", 20_000)),
        ("nested links and insertions", nested("<a href=x><ins>", 50_000)),
        ("nested forms and fields", nested("<form><fieldset><select>", 50_000)),
        (
            "formatting opened again in every block",
            format!("<p>{distinct}{}<p>{CONTENT}", "<p>x".repeat(3_000)),
        ),
        (
            "formatting opened again in every row",
            format!("<table>{distinct}{}</table>{CONTENT}", "<tr>x".repeat(3_000)),
        ),
        (
            "formatting hidden in a cell",
            format!("{distinct}<table><td>{}</table></div>{CONTENT}", "</b>".repeat(2_000)),
        ),
        ("attributes without end", format!("<div {}>{CONTENT}</div>", "a=b ".repeat(200_000))),
        ("a million menus without end", nested("<nav>", 1_000_000)),
        ("sections without end", nested("<header><aside><footer>", 100_000)),
        ("a menu in every item", format!("<p>{CONTENT}</p>{}", "<li><nav>x".repeat(100_000))),
        (
            "menus that end with their parent",
            format!("<p>{CONTENT}</p>{}", "<div><nav></div>".repeat(10_000)),
        ),
        ("end tags only", format!("{}{CONTENT}", "</div></p></table>".repeat(50_000))),
        ("scripts without end", nested("<script><svg><title>", 50_000)),
        ("comments without end tags", format!("<p>{CONTENT}</p>{}", "<!--".repeat(100_000))),
        ("brackets", format!("<p>{CONTENT}</p>{}", "<".repeat(50_000))),
        ("quotes without end", format!("<p>{CONTENT}</p>{}", "<a href=\"".repeat(100_000))),
        (
            "a video of nowhere",
            format!("<p>{CONTENT}</p><iframe src='x中youtube.com'></iframe><embed src='中youtube.com'>"),
        ),
        ("breaks", format!("<p>{CONTENT}</p>{}", "<br>".repeat(20_000))),
        ("too many elements", format!("<p>{CONTENT}</p>{}", "<p>x</p>".repeat(100_000))),
    ] {
        let server = serving(200, &[("content-type", "text/html")], page).await;
        let arguments = json!({"url": server.url("/"), "maxLength": 50_000});
        let made = call(&tools, "url_reader", arguments, Locale::En).await;
        let content = made.text("content", case);
        assert!(
            content.contains("content that readers came for"),
            "{case}: {} characters: {:?}",
            content.len(),
            content.chars().take(300).collect::<String>()
        );
    }
}

#[tokio::test]
async fn entities_are_decoded_to_characters_only() {
    let flood = format!("<title>Flood</title><article><p>{}</p></article>", "&amp;".repeat(200_000));
    let made = read_as("text/html", flood).await;
    assert!(made.text("content", "a flood").starts_with("&&&&"), "a flood");
    assert_eq!(made.data("a flood")["truncated"], true);
    let head = "&amp;".repeat(200_000);
    let head = format!("<title>{head}</title><meta name=description content='{head}'><p>Words.</p>");
    let made = read_as("text/html", head).await;
    for (text, most) in [("title", 300), ("description", 1_000), ("content", 300)] {
        let length = made.text(text, "a flood in the head").chars().count();
        assert!((1..=most).contains(&length), "{text}: {length} characters");
    }
    // HTML has no entity definitions, so nothing can be expanded.
    let bomb =
        "<!DOCTYPE html [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;'>]><p>Laughs &b; and no more than that.</p>";
    let made = read_as("text/html", bomb).await;
    assert!(made.text("content", "a bomb").contains("Laughs &b; and no more"), "{}", made.visible_text());
}

#[tokio::test]
async fn the_size_of_a_response_is_limited() {
    let limit = 5 << 20;
    let whole = read_as("text/plain", vec![b'a'; limit]).await;
    assert_eq!(whole.data("whole")["contentLength"], limit);
    let too_large = (ErrorKind::ResponseTooLarge, format!("Response too large: limit {limit} bytes"));
    assert_eq!(read_as("text/html", vec![b'a'; limit + 1]).await.failed("a byte too much"), too_large);
    let endless = Upstream::raw(|mut stream| async move {
        let more = "<p>more and more</p>".repeat(1_000);
        let mut written = begin_page(&mut stream).await;
        while written.is_ok() {
            written = stream.write_all(more.as_bytes()).await;
        }
    })
    .await;
    assert_eq!(read(&endless.url("/")).await.failed("endless"), too_large);
}

/// Sends the beginning of a page that ends with the connection.
async fn begin_page(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<p>").await
}

#[tokio::test]
async fn a_page_without_end_times_out() {
    let silent = Upstream::raw(|mut stream| async move {
        if begin_page(&mut stream).await.is_ok() {
            std::future::pending().await
        }
    })
    .await;
    let started = Instant::now();
    let options = CallOptions::default().timeout_ms(300);
    let arguments = json!({"url": silent.url("/")});
    let tools = tools(SearchProviders::default());
    let (kind, said) = call_with(&tools, "url_reader", arguments, Locale::En, options).await.failed("silent");
    assert_eq!(kind, ErrorKind::Timeout, "{said}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[tokio::test]
async fn pages_at_blocked_addresses_are_not_read() {
    let tools = tools_over(Egress::default(), SearchProviders::default());
    for (url, words) in [
        ("http://127.0.0.1/", "Address not allowed: 127.0.0.1 resolves to a private address"),
        ("http://localhost/", "Address not allowed: localhost resolves to a private address"),
        ("http://2130706433/", "Address not allowed: 127.0.0.1 resolves to a private address"),
        ("http://10.1.2.3/", "Address not allowed: 10.1.2.3 resolves to a private address"),
        (
            "http://169.254.169.254/latest/meta-data",
            "Address not allowed: 169.254.169.254 resolves to a private address",
        ),
        ("http://[::1]/", "Address not allowed: [::1] resolves to a private address"),
        ("http://example.com:22/", "Port not allowed: 22 of example.com."),
        ("http://127.0.0.1:6379/", "Port not allowed: 6379 of 127.0.0.1."),
        ("ftp://example.com/a", "Scheme not allowed: ftp. Allowed: http, https"),
        ("file:///etc/passwd", "Scheme not allowed: file. Allowed: http, https"),
        ("javascript:alert(1)", "Scheme not allowed: javascript. Allowed: http, https"),
        ("http://user:secret@example.com/", "A URL with a user name or password is not allowed"),
    ] {
        let (kind, said) = call(&tools, "url_reader", json!({"url": url}), Locale::En).await.failed(url);
        assert_eq!(kind, ErrorKind::Permission, "{url}: {said}");
        assert!(said.starts_with(words) && !said.contains("secret"), "{url}: {said}");
    }
    for url in [json!("not a url"), json!("example.com/a"), json!(7)] {
        let made = call(&tools, "url_reader", json!({"url": url}), Locale::En).await;
        let (kind, said) = made.failed("no URL");
        assert_eq!(kind, ErrorKind::Validation, "{url}: {said}");
        assert!(said.starts_with("Invalid inputs: url: "), "{url}: {said}");
    }
}
