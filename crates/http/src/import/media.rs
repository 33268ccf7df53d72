//! Media types in documents and examples.

/// The lower-case type and subtype without parameters: `Text/HTML; charset=utf-8` becomes `text/html`.
pub(crate) fn essence(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_essence_has_no_parameters() {
        for (media, plain) in [
            ("application/json", "application/json"),
            (" Text/HTML ; charset=utf-8", "text/html"),
            ("application/vnd.api+json;v=1", "application/vnd.api+json"),
            ("", ""),
        ] {
            assert_eq!(essence(media), plain, "{media}");
        }
    }
}
