//! Ids of calls as a provider takes them: in its alphabet, short enough, and no two calls with the same.

use std::collections::HashSet;

/// An id with nothing in it that fits becomes this.
const UNNAMED: &str = "call";

/// What a provider asks of an id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) fits: fn(char) -> bool,
    /// In characters.
    pub(crate) longest: usize,
}

/// The ids of one conversation, given out from its beginning on: whoever reads it again, with more behind it,
/// gives every call the id that it had.
pub(crate) struct Ids<'a> {
    rule: Rule,
    used: HashSet<String>,
    /// Calls of the last answer that no result was seen of: their own id, and the one they got.
    open: Vec<(&'a str, String)>,
}

impl<'a> Ids<'a> {
    pub(crate) fn new(rule: Rule) -> Self {
        Self { rule, used: HashSet::new(), open: Vec::new() }
    }

    /// The id of a call, of which there is none yet.
    pub(crate) fn call(&mut self, id: &'a str) -> String {
        let own = self.rule.written(id, "");
        let numbered = (2..).map(|number: u64| self.rule.written(id, &format!("_{number}")));
        let free = std::iter::once(own.clone()).chain(numbered).find(|id| !self.used.contains(id));
        let given = free.unwrap_or(own);
        self.used.insert(given.clone());
        self.open.push((id, given.clone()));
        given
    }

    /// The id of a result: that of the first call that waits for one of this name.
    pub(crate) fn result(&mut self, id: &str) -> String {
        match self.open.iter().position(|(own, _)| *own == id) {
            Some(place) => self.open.remove(place).1,
            None => self.rule.written(id, ""),
        }
    }

    /// A new answer begins; nobody waits for what came of an older one.
    pub(crate) fn next_answer(&mut self) {
        self.open.clear();
    }
}

impl Rule {
    /// An id with something behind it that fits already.
    fn written(self, id: &str, behind: &str) -> String {
        let id = if id.is_empty() { UNNAMED } else { id };
        let left = self.longest.saturating_sub(behind.len());
        let fitting = id.chars().take(left).map(|each| if (self.fits)(each) { each } else { '_' });
        fitting.chain(behind.chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { fits: |character| character.is_ascii_alphanumeric(), longest: 6 };

    #[test]
    fn what_fits_stays_as_it_is() {
        let mut ids = Ids::new(RULE);
        assert_eq!([ids.call("abc123"), ids.result("abc123")], ["abc123", "abc123"]);
    }

    #[test]
    fn ids_that_would_be_one_get_numbers() {
        let mut ids = Ids::new(RULE);
        let calls = ["a.b:c", "a.b.c", "abcdefgh", "abcdefxy", ""].map(|id| ids.call(id));
        assert_eq!(calls, ["a_b_c", "a_b__2", "abcdef", "abcd_2", "call"]);
        let results = ["a.b.c", "", "abcdefxy", "abcdefgh", "a.b:c"].map(|id| ids.result(id));
        assert_eq!(results, ["a_b__2", "call", "abcd_2", "abcdef", "a_b_c"]);
    }

    #[test]
    fn an_id_that_comes_again_belongs_to_the_call_that_is_open() {
        let mut ids = Ids::new(RULE);
        assert_eq!(
            [ids.call("c"), ids.call("c"), ids.result("c"), ids.result("c")],
            ["c", "c_2", "c", "c_2"]
        );
        ids.next_answer();
        assert_eq!([ids.call("c"), ids.result("c")], ["c_3", "c_3"]);
        // One call of this answer was never answered; the next answer's result is not its own.
        ids.next_answer();
        ids.call("c");
        ids.next_answer();
        assert_eq!([ids.call("c"), ids.result("c")], ["c_5", "c_5"]);
    }
}
