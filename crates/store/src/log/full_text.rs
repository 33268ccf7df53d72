//! Full-text search of failed calls: tokenizes tool names and error messages identically for both databases.

use haft_core::SpaceId;
use uuid::Uuid;

use super::call::CallRow;
use crate::db::Db;

/// Maximum length of a word in characters; longer ones are truncated.
const MAX_TERM_LENGTH: usize = 40;

/// Maximum number of different words that are indexed per call.
const MAX_TERMS: usize = 64;

/// Maximum number of words in a query.
const MAX_QUERY_TERMS: usize = 16;

/// Minimum length of a prefix for which the index is used; shorter ones match too many words.
const MIN_PREFIX_LENGTH: usize = 3;

/// A word or a prefix to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchWord {
    word: String,
    is_prefix: bool,
}

impl SearchWord {
    /// Returns true if this is a prefix.
    pub(super) fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    /// Returns true if the prefix is so short that the index is of no use.
    pub(super) fn is_vague(&self) -> bool {
        self.is_prefix && self.word.chars().count() < MIN_PREFIX_LENGTH
    }

    /// Returns a `LIKE` pattern for the indexed words with a space before and after.
    pub(super) fn pattern(&self) -> String {
        let Self { word, is_prefix } = self;
        if *is_prefix { format!("% {word}%") } else { format!("% {word} %") }
    }
}

/// Returns the words under which a failed call is indexed. Empty for a successful call, which is found by its
/// tool name.
pub(super) fn indexed_terms(row: &CallRow) -> String {
    let Some(error) = &row.error else { return String::new() };
    let mut words = vec![space_word(row.space)];
    for SearchWord { word, .. } in tokenize(&row.tool_name).into_iter().chain(tokenize(&error.message)) {
        if words.len() <= MAX_TERMS && !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Parses a query. All words must match; `refus*` matches a prefix.
pub(super) fn parse_query(text: &str) -> Vec<SearchWord> {
    let mut query = tokenize(text);
    query.truncate(MAX_QUERY_TERMS);
    query
}

/// Returns true if a name contains all words.
pub(super) fn contains_all(query: &[SearchWord], name: &str) -> bool {
    let words = tokenize(name);
    query.iter().all(|wanted| {
        words.iter().any(|SearchWord { word, .. }| match wanted.is_prefix {
            true => word.starts_with(&wanted.word),
            false => *word == wanted.word,
        })
    })
}

/// Builds a query in the syntax of the database. Words consist of letters and digits only, so nothing needs
/// escaping.
pub(super) fn query(db: &Db, space: SpaceId, query: &[SearchWord]) -> String {
    let own = SearchWord { word: space_word(space), is_prefix: false };
    let words = [own].into_iter().chain(query.iter().cloned());
    let (quote, prefix_mark, and) = match db {
        Db::Sqlite(_) => ('"', "*", " AND "),
        Db::Postgres(_) => ('\'', ":*", " & "),
    };
    let written = words.map(|SearchWord { word, is_prefix }| {
        format!("{quote}{word}{quote}{}", if is_prefix { prefix_mark } else { "" })
    });
    written.collect::<Vec<_>>().join(and)
}

/// Encodes the space as a word, so that the index leads only to rows of this space.
fn space_word(space: SpaceId) -> String {
    format!("s{}", Uuid::from(space).simple())
}

/// Splits a text into runs of letters and digits in lower case. Characters of scripts without spaces are one
/// word each.
fn tokenize(text: &str) -> Vec<SearchWord> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut length = 0;
    let end = |word: &mut String, length: &mut usize, is_prefix: bool, words: &mut Vec<SearchWord>| {
        if !word.is_empty() {
            words.push(SearchWord { word: std::mem::take(word), is_prefix });
        }
        *length = 0;
    };
    for character in text.chars().flat_map(char::to_lowercase) {
        if is_single_character_word(character) {
            end(&mut word, &mut length, false, &mut words);
            words.push(SearchWord { word: character.to_string(), is_prefix: false });
        } else if character.is_alphanumeric() {
            length += 1;
            if length <= MAX_TERM_LENGTH {
                word.push(character);
            }
        } else {
            end(&mut word, &mut length, character == '*', &mut words);
        }
    }
    end(&mut word, &mut length, false, &mut words);
    words
}

fn is_single_character_word(character: char) -> bool {
    let is_script = matches!(
        character,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    );
    is_script && character.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_into_lower_case_terms() {
        let words = |text| tokenize(text).into_iter().map(|word| word.word).collect::<Vec<_>>().join("|");
        for (text, expected) in [
            ("weather_forecast-v2", "weather|forecast|v2"),
            ("Connection REFUSED: 10.0.0.1", "connection|refused|10|0|0|1"),
            ("连接失败 x", "连|接|失|败|x"),
            ("it's \"quoted\" & 'odd' | \\", "it|s|quoted|odd"),
            (" *, ", ""),
        ] {
            assert_eq!(words(text), expected);
        }
        assert_eq!(tokenize(&"x".repeat(500))[0].word.len(), MAX_TERM_LENGTH);
    }

    #[test]
    fn patterns_match_whole_terms_and_prefixes() {
        let patterns: Vec<String> = parse_query("Refused ti* 连").iter().map(SearchWord::pattern).collect();
        assert_eq!(patterns, ["% refused %", "% ti%", "% 连 %"]);
        let vague: Vec<bool> = parse_query("ti tim* ti*").iter().map(SearchWord::is_vague).collect();
        assert_eq!(vague, [false, false, true]);
    }

    #[test]
    fn star_matches_a_prefix() {
        assert!(contains_all(&parse_query("fore* WEATHER"), "weather_forecast"));
        assert!(!contains_all(&parse_query("fore weather"), "weather_forecast"));
        assert!(!contains_all(&parse_query("weather wind"), "weather_forecast"));
    }
}
