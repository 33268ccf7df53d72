//! The languages of messages, and how the language of a caller is selected.

use serde::{Deserialize, Serialize};

/// A language of messages and titles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Locale {
    #[default]
    En,
    Zh,
}

impl Locale {
    /// Parses an `Accept-Language` value: selects the supported language with the highest weight, the first
    /// one among equals, and English by default.
    pub fn from_accept_language(header: &str) -> Self {
        let mut best = (Self::En, 0.0_f32);
        for entry in header.split(',') {
            let (tag, weight) = entry.split_once(';').unwrap_or((entry, ""));
            let weight = match weight.trim().strip_prefix("q=") {
                Some(q) => q.trim().parse().unwrap_or(0.0),
                None => 1.0,
            };
            if let Some(locale) = Self::from_tag(tag)
                && weight > best.1
            {
                best = (locale, weight);
            }
        }
        best.0
    }

    /// Parses a language tag or a POSIX locale: `zh`, `zh-Hans-CN`, `zh_CN.UTF-8`.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let language = tag.trim().split(['-', '_', '.']).next()?;
        if language.eq_ignore_ascii_case("zh") {
            Some(Self::Zh)
        } else if language.eq_ignore_ascii_case("en") {
            Some(Self::En)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_supported_language_with_the_highest_weight_is_selected() {
        let check = |header, expected| {
            assert_eq!(Locale::from_accept_language(header), expected, "{header:?}");
        };
        check("", Locale::En);
        check("fr", Locale::En);
        check("zh", Locale::Zh);
        check("zh-CN,zh;q=0.9,en;q=0.8", Locale::Zh);
        check("en-US,en;q=0.9,zh;q=0.8", Locale::En);
        check("fr;q=1, zh-Hant;q=0.5, en;q=0.4", Locale::Zh);
        check("zh;q=0", Locale::En);
        check("zh;q=abc, en", Locale::En);
    }
}
