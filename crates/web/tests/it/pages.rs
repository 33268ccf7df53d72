//! Ordinary pages and responses: charsets, plain text, other media, statuses, redirects, lengths.

use haft_engine::{ErrorKind, Locale};
use haft_testkit::{Upstream, http_response};
use haft_web::SearchProviders;
use serde_json::json;

use crate::support::{call, read, read_as, serving, tools};

const CHINESE: &str =
    "潮汐一天涨落两次，港口的人们早已习惯了它的节奏，渔船总是趁着涨潮出海，又随着退潮归来。";

#[tokio::test]
async fn charsets_are_honoured() {
    let body = format!("<title>潮汐</title><article><p>{CHINESE}</p><p>{CHINESE}</p></article>");
    let named = format!("<meta charset=gb2312>{body}");
    let older = format!("<META http-equiv='Content-Type' content='text/html; charset=GBK'>{body}");
    let gbk = |text: &str| encoding_rs::GBK.encode(text).0.into_owned();
    for (case, kind, bytes) in [
        ("GBK by its header", "text/html; charset=GBK", gbk(&body)),
        ("GBK by its meta tag", "text/html", gbk(&named)),
        ("GBK by an older meta tag", "text/html", gbk(&older)),
        ("UTF-8 by nothing", "text/html", body.clone().into_bytes()),
        ("UTF-8 by its mark", "text/html", format!("\u{feff}{body}").into_bytes()),
        ("no content type", "", body.clone().into_bytes()),
        ("XHTML", "application/xhtml+xml; charset=utf-8", body.clone().into_bytes()),
    ] {
        let made = read_as(kind, bytes).await;
        assert_eq!(made.text("title", case), "潮汐", "{case}");
        assert!(made.text("content", case).contains(CHINESE), "{case}: {}", made.visible_text());
    }
}

#[tokio::test]
async fn plain_text_is_returned_unchanged() {
    for (kind, body, content) in [
        ("text/plain", "one\n  <b>two</b>\n", "one\n  <b>two</b>\n"),
        ("text/plain; charset=utf-8", "两行\n文字", "两行\n文字"),
        ("", "no type, and no tags", "no type, and no tags"),
        ("text/plain", "", ""),
    ] {
        let headers = [("content-type", kind)];
        let server = serving(200, if kind.is_empty() { &[] } else { &headers }, body).await;
        let url = server.url("/files/notes%20%E4%B8%AD.txt?v=2");
        let made = read(&url).await;
        let expected = json!({
            "url": url,
            "title": "notes 中.txt",
            "description": "",
            "content": content,
            "contentLength": content.chars().count(),
            "truncated": false,
        });
        assert_eq!(made.data(body), &expected, "{kind}");
    }
}

#[tokio::test]
async fn pages_without_an_article_return_all_text() {
    for (page, title, words) in [
        ("", "", ""),
        ("<html><head><title>Nothing</title></head><body></body></html>", "Nothing", ""),
        ("<title>Short</title><p>Only a few words.</p>", "Short", "Only a few words."),
        ("<title>Menu</title><nav><a href=/a>First</a> <a href=/b>Second</a></nav>", "Menu", "First"),
        ("just words, no tags", "", "just words, no tags"),
        ("<table><tr><td>Name<td>Ada<tr><td>Born<td>1815</table>", "", "1815"),
        ("<!-- <p>not this", "", ""),
    ] {
        let made = read_as("text/html", page).await;
        assert_eq!(made.text("title", page), title, "{page}");
        let content = made.text("content", page);
        assert!(content.contains(words) && content.is_empty() == words.is_empty(), "{page}: {content}");
    }
}

#[tokio::test]
async fn other_media_types_are_rejected_in_both_languages() {
    let tools = tools(SearchProviders::default());
    for kind in ["application/json", "application/pdf", "image/png", "application/json; charset=utf-8"] {
        let server = serving(200, &[("content-type", kind)], "%PDF {}").await;
        let arguments = json!({"url": server.url("/file")});
        let english = call(&tools, "url_reader", arguments.clone(), Locale::En).await.failed(kind);
        let words =
            format!("Unsupported content type: {kind}. Only HTML and plain text pages are supported.");
        assert_eq!(english, (ErrorKind::Execution, words));
        let chinese = call(&tools, "url_reader", arguments, Locale::Zh).await.failed(kind);
        assert_eq!(
            chinese,
            (ErrorKind::Execution, format!("不支持的内容类型: {kind}。仅支持 HTML 和纯文本页面。"))
        );
    }
    let binary = read_as("", b"\x89PNG\r\n\x1a\n\0\0".as_slice()).await.failed("no content type");
    let words =
        "Unsupported content type: application/octet-stream. Only HTML and plain text pages are supported.";
    assert_eq!(binary, (ErrorKind::Execution, words.to_owned()));
}

#[tokio::test]
async fn a_failure_status_is_an_error_of_its_kind() {
    let tools = tools(SearchProviders::default());
    for (status, kind, words) in [
        (400, ErrorKind::Validation, "400 Bad Request"),
        (401, ErrorKind::Authentication, "401 Unauthorized"),
        (403, ErrorKind::Permission, "403 Forbidden"),
        (404, ErrorKind::NotFound, "404 Not Found"),
        (410, ErrorKind::Execution, "410 Gone"),
        (429, ErrorKind::RateLimit, "429 Too Many Requests"),
        (500, ErrorKind::Server, "500 Internal Server Error"),
        (503, ErrorKind::Server, "503 Service Unavailable"),
        (599, ErrorKind::Server, "599"),
        (302, ErrorKind::Execution, "302 Found"),
    ] {
        let server =
            serving(status, &[("content-type", "text/html"), ("retry-after", "7")], "<p>no</p>").await;
        let arguments = json!({"url": server.url("/")});
        let english = call(&tools, "url_reader", arguments.clone(), Locale::En).await;
        assert_eq!(english.failed(words), (kind, format!("Cannot access page: {words}")));
        let details = english.details(words);
        assert_eq!(details["status"], status, "{words}");
        let waits = matches!(status, 429 | 500 | 503 | 599);
        assert_eq!(details.get("retryAfterMs"), waits.then_some(&json!(7000)), "{words}");
        let chinese = call(&tools, "url_reader", arguments, Locale::Zh).await;
        assert_eq!(chinese.failed(words), (kind, format!("无法访问页面: {words}")));
    }
}

#[tokio::test]
async fn redirects_to_other_hosts_are_followed_and_reported() {
    let back =
        serving(200, &[("content-type", "text/html")], "<title>There</title><p>You have arrived.</p>").await;
    let to = back.url("/there?a=1");
    let location = to.clone();
    let front = Upstream::start(move |seen| match seen.target.as_str() {
        "/away" => http_response(302, &[("location", location.as_str())], ""),
        "/private" => http_response(302, &[("location", "http://10.0.0.1/")], ""),
        "/loop" => http_response(302, &[("location", "/loop")], ""),
        _ => http_response(301, &[("location", "/away")], ""),
    })
    .await;
    let made = read(&front.url("/start")).await;
    assert_eq!(made.text("url", "redirected"), to);
    assert_eq!(made.text("title", "redirected"), "There");
    let (kind, private) = read(&front.url("/private")).await.failed("private");
    let words = "Address not allowed: 10.0.0.1 resolves to a private address";
    assert!(kind == ErrorKind::Permission && private.starts_with(words), "{kind}: {private}");
    let (kind, words) = read(&front.url("/loop")).await.failed("loop");
    assert!(kind == ErrorKind::Execution && words.starts_with("Too many redirects"), "{kind}: {words}");
}

#[tokio::test]
async fn requests_have_the_expected_headers() {
    let server = serving(200, &[("content-type", "text/plain")], "x").await;
    let tools = tools(SearchProviders::default());
    for locale in [Locale::En, Locale::Zh] {
        let arguments = json!({"url": server.url("/a%20b?q=%E4%B8%AD#part")});
        call(&tools, "url_reader", arguments, locale).await.data("a page");
    }
    let seen = server.seen();
    let languages: Vec<_> = seen.iter().map(|seen| seen.header("accept-language")).collect();
    assert_eq!(languages, [Some("en, *;q=0.5"), Some("zh-CN, zh;q=0.9, en;q=0.8, *;q=0.5")]);
    for request in seen {
        assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", "/a%20b?q=%E4%B8%AD"));
        let accept = request.header("accept");
        assert_eq!(accept, Some("text/html, application/xhtml+xml;q=0.9, text/plain;q=0.8"));
    }
}

#[tokio::test]
async fn urls_are_parsed_like_in_browsers() {
    let server = serving(200, &[("content-type", "text/plain")], "x").await;
    for (written, target) in [
        ("/wiki/北京", "/wiki/%E5%8C%97%E4%BA%AC"),
        ("/wiki/%E5%8C%97%E4%BA%AC", "/wiki/%E5%8C%97%E4%BA%AC"),
        ("/ü b?q=中 文&r=1#部分", "/%C3%BC%20b?q=%E4%B8%AD%20%E6%96%87&r=1"),
        ("/a/../b\\c", "/b/c"),
    ] {
        let url = server.url(written);
        let made = read(&format!(" {url}\n")).await;
        assert_eq!(made.text("url", written), url);
        assert_eq!(server.seen().pop().expect("a request").target, target, "{written}");
    }
}

#[tokio::test]
async fn invalid_urls_are_rejected_in_both_languages() {
    let tools = tools(SearchProviders::default());
    let no_scheme = ("it must begin with http:// or https://", "必须以 http:// 或 https:// 开头");
    for (url, (english, chinese)) in [
        ("not a url", no_scheme),
        ("example.com/a", no_scheme),
        ("//example.com/a", no_scheme),
        ("北京", no_scheme),
        ("", no_scheme),
        ("http://", ("empty host", "empty host")),
        ("https://example.com:99999/", ("invalid port number", "invalid port number")),
    ] {
        for (locale, words) in [
            (Locale::En, format!("Invalid inputs: url: is not a URL: {english}")),
            (Locale::Zh, format!("输入无效：url: 不是有效的 URL: {chinese}")),
        ] {
            let failed = call(&tools, "url_reader", json!({"url": url}), locale).await.failed(url);
            assert_eq!(failed, (ErrorKind::Validation, words), "{url}");
        }
    }
}

#[tokio::test]
async fn content_is_truncated_by_characters() {
    let tools = tools(SearchProviders::default());
    let server = serving(200, &[("content-type", "text/plain")], "字é".repeat(3_000)).await;
    for (most, kept) in [
        (json!(100), 100),
        (json!(101), 101),
        (json!(300.0), 300),
        (json!("250"), 250),
        (json!(5_999), 5_999),
        (json!(6_000), 6_000),
        (json!(50_000), 6_000),
        (json!(null), 5_000),
    ] {
        let mut arguments = json!({"url": server.url("/text")});
        if !most.is_null() {
            arguments["maxLength"] = most.clone();
        }
        let made = call(&tools, "url_reader", arguments, Locale::En).await;
        let case = most.to_string();
        assert_eq!(made.text("content", &case).chars().count(), kept, "{case}");
        assert_eq!(made.data(&case)["contentLength"], 6_000, "{case}");
        assert_eq!(made.data(&case)["truncated"], kept < 6_000, "{case}");
    }
    for most in [json!(99), json!(50_001), json!(0), json!(-1), json!(100.5), json!("many")] {
        let arguments = json!({"url": server.url("/text"), "maxLength": most});
        let (kind, words) = call(&tools, "url_reader", arguments, Locale::En).await.failed("out of bounds");
        assert_eq!(kind, ErrorKind::Validation, "{most}");
        assert!(words.starts_with("Invalid inputs: maxLength"), "{most}: {words}");
    }
}
