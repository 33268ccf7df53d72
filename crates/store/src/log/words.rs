//! Words to find calls by: those of a tool's name and of an error, the same for both databases.

use haft_core::SpaceId;
use uuid::Uuid;

use super::call::CallRow;
use crate::db::Db;

/// A longer word is cut.
const LONGEST: usize = 40;

/// So many different words of a call are kept.
const MOST: usize = 64;

/// So many words may be looked for at once.
const MOST_ASKED: usize = 16;

/// Too many words have the same beginning when it is shorter.
const SHORTEST_BEGINNING: usize = 3;

/// A word that is looked for, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    word: String,
    is_beginning: bool,
}

impl Asked {
    /// Whether all words that begin so are meant.
    pub(super) fn is_beginning(&self) -> bool {
        self.is_beginning
    }

    /// Whether so many words begin so that the index of words is of no help.
    pub(super) fn is_vague(&self) -> bool {
        self.is_beginning && self.word.chars().count() < SHORTEST_BEGINNING
    }

    /// What words that are kept, with a space before and after each, are like when this is among them.
    pub(super) fn pattern(&self) -> String {
        let Self { word, is_beginning } = self;
        if *is_beginning { format!("% {word}%") } else { format!("% {word} %") }
    }
}

/// The words that a failed call is found by; nothing for one that worked, which is found by its tool's name.
pub(super) fn of_row(row: &CallRow) -> String {
    let Some(error) = &row.error else { return String::new() };
    let mut words = vec![of_space(row.space)];
    for Asked { word, .. } in parts(&row.tool_name).into_iter().chain(parts(&error.message)) {
        if words.len() <= MOST && !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// What a text asks for: all of its words. `refus*` stands for all that begin so.
pub(super) fn asked(text: &str) -> Vec<Asked> {
    let mut asked = parts(text);
    asked.truncate(MOST_ASKED);
    asked
}

/// Whether a name holds all words.
pub(super) fn are_in(asked: &[Asked], name: &str) -> bool {
    let words = parts(name);
    asked.iter().all(|asked| {
        words.iter().any(|Asked { word, .. }| match asked.is_beginning {
            true => word.starts_with(&asked.word),
            false => *word == asked.word,
        })
    })
}

/// The same in the language of the database's index. Words hold letters and digits alone, so nothing in them
/// could mean something else there.
pub(super) fn query(db: &Db, space: SpaceId, asked: &[Asked]) -> String {
    let own = Asked { word: of_space(space), is_beginning: false };
    let words = [own].into_iter().chain(asked.iter().cloned());
    let (one, beginning, and) = match db {
        Db::Sqlite(_) => ('"', "*", " AND "),
        Db::Postgres(_) => ('\'', ":*", " & "),
    };
    let written = words.map(|Asked { word, is_beginning }| {
        format!("{one}{word}{one}{}", if is_beginning { beginning } else { "" })
    });
    written.collect::<Vec<_>>().join(and)
}

/// The space as a word, so that the index leads to its rows alone.
fn of_space(space: SpaceId) -> String {
    format!("s{}", Uuid::from(space).simple())
}

/// Letters and digits in a row, in lower case; each character of scripts without spaces is a word.
fn parts(text: &str) -> Vec<Asked> {
    let mut parts = Vec::new();
    let mut word = String::new();
    let mut length = 0;
    let end = |word: &mut String, length: &mut usize, is_beginning: bool, parts: &mut Vec<Asked>| {
        if !word.is_empty() {
            parts.push(Asked { word: std::mem::take(word), is_beginning });
        }
        *length = 0;
    };
    for character in text.chars().flat_map(char::to_lowercase) {
        if is_word_itself(character) {
            end(&mut word, &mut length, false, &mut parts);
            parts.push(Asked { word: character.to_string(), is_beginning: false });
        } else if character.is_alphanumeric() {
            length += 1;
            if length <= LONGEST {
                word.push(character);
            }
        } else {
            end(&mut word, &mut length, character == '*', &mut parts);
        }
    }
    end(&mut word, &mut length, false, &mut parts);
    parts
}

fn is_word_itself(character: char) -> bool {
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
    fn words_are_letters_and_digits_in_lower_case() {
        let words = |text| parts(text).into_iter().map(|asked| asked.word).collect::<Vec<_>>().join("|");
        for (text, expected) in [
            ("weather_forecast-v2", "weather|forecast|v2"),
            ("Connection REFUSED: 10.0.0.1", "connection|refused|10|0|0|1"),
            ("连接失败 x", "连|接|失|败|x"),
            ("it's \"quoted\" & 'odd' | \\", "it|s|quoted|odd"),
            (" *, ", ""),
        ] {
            assert_eq!(words(text), expected);
        }
        assert_eq!(parts(&"x".repeat(500))[0].word.len(), LONGEST);
    }

    #[test]
    fn a_row_that_has_a_word_is_like_its_pattern() {
        let patterns: Vec<String> = asked("Refused ti* 连").iter().map(Asked::pattern).collect();
        assert_eq!(patterns, ["% refused %", "% ti%", "% 连 %"]);
        let vague: Vec<bool> = asked("ti tim* ti*").iter().map(Asked::is_vague).collect();
        assert_eq!(vague, [false, false, true]);
    }

    #[test]
    fn a_star_stands_for_the_rest_of_a_word() {
        assert!(are_in(&asked("fore* WEATHER"), "weather_forecast"));
        assert!(!are_in(&asked("fore weather"), "weather_forecast"));
        assert!(!are_in(&asked("weather wind"), "weather_forecast"));
    }
}
