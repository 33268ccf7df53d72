//! The readable content of a page: its article as Markdown, or all text if there is none.

use std::panic::catch_unwind;

use dom_smoothie::{Config, Readability, TextMode};
use percent_encoding::percent_decode_str;
use url::Url;

use super::markdown::tidy;
use crate::html::{self, Head, MOST_ELEMENTS};

/// Maximum length of a description, in characters.
const LONGEST_DESCRIPTION: usize = 1_000;

/// A converted page.
#[derive(Debug, PartialEq)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) description: String,
    pub(super) content: String,
}

impl Page {
    /// A text file: its content unchanged, titled by the file name.
    pub(super) fn of_text(text: String, title: String) -> Self {
        Self { title, description: String::new(), content: text }
    }

    /// Converts HTML. CPU-intensive: must not run on async threads.
    pub(super) fn of_html(page: &str, url: Option<&Url>) -> Self {
        let head = Head::read(page);
        if let Some(cleaned) = html::sanitize(page, &head)
            && let Some(article) = article(&cleaned, url)
        {
            let is_described = !head.description.is_empty();
            return if is_described { Self { description: head.description, ..article } } else { article };
        }
        Self { title: head.title().to_owned(), content: html::plain(page), description: head.description }
    }
}

/// The file name in a URL, or the host.
pub(super) fn file_name(url: &Url) -> String {
    let file = url.path_segments().and_then(|parts| parts.rev().find(|part| !part.is_empty()));
    match file {
        Some(file) => percent_decode_str(file).decode_utf8_lossy().into_owned(),
        None => url.host_str().unwrap_or_default().to_owned(),
    }
}

/// The article of a page. Returns `None` if none is found.
fn article(cleaned: &str, url: Option<&Url>) -> Option<Page> {
    let config = Config {
        text_mode: TextMode::Markdown,
        // Parsers create some elements that the page does not contain.
        max_elements_to_parse: 2 * MOST_ELEMENTS,
        disable_json_ld: true,
        // Classes name the languages of code blocks.
        keep_classes: true,
        ..Config::default()
    };
    let find = move || {
        let mut reader = Readability::new(cleaned, url.map(Url::as_str), Some(config)).ok()?;
        let article = reader.parse().ok()?;
        let content = tidy(article.text_content.trim());
        let description = article.excerpt.unwrap_or_default().chars().take(LONGEST_DESCRIPTION).collect();
        (!content.is_empty()).then_some(Page { title: article.title, description, content })
    };
    // The library may panic on malformed pages, which are then converted without it.
    catch_unwind(find).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_titled_by_its_file_name() {
        for (url, title) in [
            ("https://example.com/a/b.txt", "b.txt"),
            ("https://example.com/a/%E4%B8%AD.txt?q=1#c", "中.txt"),
            ("https://example.com/a/", "a"),
            ("https://example.com", "example.com"),
        ] {
            let name = file_name(&Url::parse(url).expect("a URL"));
            assert_eq!(name, title, "{url}");
        }
    }
}
