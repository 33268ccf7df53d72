//! The known words most similar to an unknown one, for "did you mean".

const MAX_LENGTH: usize = 64;

/// Returns at most `most` similar words of `known`, the most similar first.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    // Names are short: a longer word is no name, and comparing it would be slow.
    if word.len() > MAX_LENGTH {
        return Vec::new();
    }
    let wanted = word.to_ascii_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .map(|name| (likeness(&wanted, &name.to_ascii_lowercase()), name))
        .filter(|(score, _)| *score >= 0.7)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.into_iter().take(most).map(|(_, name)| name).collect()
}

fn likeness(wanted: &str, name: &str) -> f64 {
    // A name that contains the word, or is contained in it, is similar whatever their lengths.
    let holds = wanted.len() >= 3 && name.len() >= 3 && (name.contains(wanted) || wanted.contains(name));
    let score = strsim::jaro_winkler(wanted, name);
    if holds { score.max(0.85) } else { score }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_typos_and_parts_and_nothing_unlike() {
        let known = ["weather", "web_search", "calculator"];
        assert_eq!(nearest("wether", known.into_iter(), 3), ["weather"]);
        assert_eq!(nearest("search", known.into_iter(), 3), ["web_search"]);
        assert_eq!(nearest("Calculater", known.into_iter(), 1), ["calculator"]);
        assert!(nearest(&"weather".repeat(1000), known.into_iter(), 3).is_empty());
        assert!(nearest("zzz", known.into_iter(), 3).is_empty());
    }
}
