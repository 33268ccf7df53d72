//! Synthetic pages that each test one feature: links, code, lazy images, missing end tags. Real ones are in
//! `sites`.

use crate::support::{CallOutcome, read, read_as, serving};

const NEWS: &str = include_str!("../pages/news.html");
const DOCS: &str = include_str!("../pages/docs.html");
const BLOG: &str = include_str!("../pages/blog.html");

#[track_caller]
fn check(made: &CallOutcome, has: &[&str], has_not: &[&str]) {
    let content = made.text("content", "an article");
    for words in has {
        assert!(content.contains(words), "{words:?} is missing in {content}");
    }
    for words in has_not {
        assert!(!content.contains(words), "{words:?} is in {content}");
    }
    assert!(!content.contains("\\."), "needless backslashes in {content}");
    let data = made.data("an article");
    assert_eq!(data["contentLength"], content.chars().count(), "the length");
    assert_eq!(data["truncated"], false);
}

#[tokio::test]
async fn a_news_article_is_extracted() {
    let server = serving(200, &[("content-type", "text/html; charset=utf-8")], NEWS).await;
    let made = read(&server.url("/news/harbour-tides")).await;
    assert_eq!(made.text("title", "news"), "Harbour town raises its sea wall for the third time in a decade");
    assert_eq!(
        made.text("description", "news"),
        "Engineers in Port Ellery say the new wall will hold until 2060, if the tides keep to the forecast."
    );
    let link = format!("[the annual tide report]({})", server.url("/reports/tides-2026"));
    check(
        &made,
        &[
            "Port Ellery began work on Monday on a sea wall",
            "“We are not building for the tides we have,”",
            "## The cost of the wall",
            "The council expects to pay 48 million over six years",
            &link,
        ],
        &[
            "We use cookies",
            "Subscribe for unlimited access",
            "Most read",
            "Ferry timetable changes",
            "Bakery wins regional prize",
            "All rights reserved",
            "Sport",
            "window.dataLayer",
        ],
    );
}

#[tokio::test]
async fn a_documentation_page_is_extracted() {
    let server = serving(200, &[("content-type", "text/html")], DOCS).await;
    let made = read(&server.url("/docs/listener/")).await;
    assert_eq!(made.text("title", "docs"), "Configuring the listener");
    assert_eq!(
        made.text("description", "docs"),
        "How Quillon listens: addresses, time limits and graceful stops."
    );
    let link = format!("({})", server.url("/docs/listener/tls"));
    check(
        &made,
        &[
            "A listener accepts connections on one address",
            "## Time limits",
            "```rust",
            "let listener = Listener::bind(\"0.0.0.0:8080\")",
            "`read_timeout`",
            "`idle_timeout`",
            &link,
        ],
        &["Edit this page", "Getting started", "Was this page helpful", "Cookie settings", "Copyright"],
    );
}

#[tokio::test]
async fn a_blog_post_is_extracted() {
    let server = serving(200, &[("content-type", "text/html")], BLOG).await;
    let made = read(&server.url("/2026/09/slow-tests")).await;
    assert_eq!(made.text("title", "blog"), "What I learned from making our tests four times faster");
    check(
        &made,
        &[
            "Our test suite took twenty-two minutes",
            "Measure before you cut",
            "- Start the database once for each run",
            "> A slow test is a question without an answer",
            "**four times**",
            "/images/timeline.png",
        ],
        &[
            "Leave a comment",
            "First! Great post",
            "You may also like",
            "Join 4,000 readers",
            "Powered by",
            "Accept all",
            "data:image/gif",
        ],
    );
}

#[tokio::test]
async fn an_unclosed_section_does_not_hide_the_article() {
    let footer = "<footer class=\"site-footer\">";
    let page = NEWS.replace(footer, &format!("{footer}<nav><a href=\"/map\">Site map</a></nav>"));
    let no_nav = page.replacen("</nav>", "", 1);
    let no_header = no_nav.replace("</header>", "");
    for (case, page) in [
        ("well-formed", page.clone()),
        ("nav", no_nav),
        ("nav and header", no_header.clone()),
        ("nav and header before an article", no_header.replace("<main>", "").replace("</main>", "")),
        ("aside", page.replace("</aside>", "")),
        ("aside before the main text", page.replace("<main>", "<aside><p>Most read</p><main>")),
        ("footer before the main text", page.replace("<main>", "<footer><p>Most read</p><main>")),
    ] {
        let made = read_as("text/html", page).await;
        assert!(made.text("title", case).starts_with("Harbour town raises"), "{case}");
        check(
            &made,
            &["Port Ellery began work on Monday", "The work is to be finished by the autumn of 2028."],
            &["Sport", "Site map", "Most read", "All rights reserved"],
        );
    }
}
