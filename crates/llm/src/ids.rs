//! Ids of calls in provider requests: a provider's own id is returned unchanged; any other id is converted to
//! a form that all providers accept.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::request::Call;
use crate::response::is_made_up;

/// Replaces an empty id.
const UNNAMED: &str = "call";

/// Mistral accepts only ids of exactly nine letters and digits; all other providers accept them too.
const PORTABLE_LENGTH: usize = 9;

/// A provider's rule for ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) fits: fn(char) -> bool,
    /// Maximum length in characters.
    pub(crate) longest: usize,
}

/// The ids of one conversation, assigned from the beginning: when the conversation grows, earlier calls keep
/// their ids.
pub(crate) struct Ids<'a> {
    rule: Rule,
    used: HashSet<String>,
    /// The last number appended to each id.
    numbered: HashMap<String, u64>,
    /// Calls of the last response without a result: the ids sent to the provider, by Haft's ids.
    open: HashMap<&'a str, VecDeque<String>>,
    /// The ids that were sent for calls of the last response.
    sent: HashSet<String>,
}

impl<'a> Ids<'a> {
    pub(crate) fn new(rule: Rule) -> Self {
        Self {
            rule,
            used: HashSet::new(),
            numbered: HashMap::new(),
            open: HashMap::new(),
            sent: HashSet::new(),
        }
    }

    /// The id under which a call is sent.
    pub(crate) fn call(&mut self, call: &'a Call) -> String {
        let id = match &call.provider_id {
            // The provider accepts its own ids, whatever their form. Some servers restart numbering in each
            // response, so ids must be unique only within a response.
            Some(own) if !own.is_empty() && !self.sent.contains(own) => own.clone(),
            Some(_) | None => self.unused(&call.id),
        };
        self.used.insert(id.clone());
        self.sent.insert(id.clone());
        self.open.entry(&call.id).or_default().push_back(id.clone());
        id
    }

    /// An id that no earlier call has. Numbering continues from the last number, so that many equal ids take
    /// linear time.
    fn unused(&mut self, id: &str) -> String {
        let written = |number: u64| {
            if is_made_up(id) {
                return portable(id, number);
            }
            let behind = if number == 1 { String::new() } else { format!("_{number}") };
            self.rule.written(id, &behind)
        };
        let first = written(1);
        if !self.used.contains(&first) {
            return first;
        }
        let number = self.numbered.entry(first).or_insert(1);
        loop {
            *number += 1;
            let next = written(*number);
            if !self.used.contains(&next) {
                return next;
            }
        }
    }

    /// The id for a result: that of the first open call with this id.
    pub(crate) fn result(&mut self, id: &str) -> String {
        let waiting = self.open.get_mut(id).and_then(VecDeque::pop_front);
        waiting.unwrap_or_else(|| self.unused(id))
    }

    /// Starts a new response. Results for earlier responses are no longer expected.
    pub(crate) fn start_response(&mut self) {
        self.open.clear();
        self.sent.clear();
    }
}

/// Derives nine letters and digits from an id, identically in every process.
fn portable(id: &str, number: u64) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // FNV-1a: a stable hash; it need not be cryptographic.
    let bytes = id.bytes().chain(number.to_le_bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let digits = (0..PORTABLE_LENGTH).map(|_| {
        let digit = DIGITS[(hash % 62) as usize];
        hash /= 62;
        char::from(digit)
    });
    digits.collect()
}

impl Rule {
    /// The id with a suffix, truncated and with invalid characters replaced.
    fn written(self, id: &str, behind: &str) -> String {
        let id = if id.is_empty() { UNNAMED } else { id };
        let left = self.longest.saturating_sub(behind.len());
        let fitting = id.chars().take(left).map(|each| if (self.fits)(each) { each } else { '_' });
        fitting.chain(behind.chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const RULE: Rule = Rule { fits: |character| character.is_ascii_alphanumeric(), longest: 12 };

    fn call(id: &str, provider_id: Option<&str>) -> Call {
        Call { id: id.to_owned(), provider_id: provider_id.map(str::to_owned), ..Call::default() }
    }

    #[test]
    fn provider_ids_are_returned_unchanged() {
        let uuid = "0199a1b2-0000-7000-8000-000000000001";
        let one = call(uuid, Some("D681PevKs"));
        let other = call("0199a1b2-0000-7000-8000-000000000002", Some("D681PevKs"));
        let mut ids = Ids::new(RULE);
        assert_eq!([ids.call(&one), ids.result(&one.id)], ["D681PevKs"; 2]);
        // A server that restarts numbering in each response expects its own ids.
        ids.start_response();
        assert_eq!([ids.call(&other), ids.result(&other.id)], ["D681PevKs"; 2]);
        // The id's form is not checked.
        for own in ["functions.look:0", "chatcmpl-tool-0123456789abcdef0123456789abcdef", uuid] {
            let call = call(uuid, Some(own));
            let mut ids = Ids::new(RULE);
            assert_eq!([ids.call(&call), ids.result(uuid)], [own; 2]);
        }
        // Two calls of one response get different ids.
        ids.start_response();
        let pair = [ids.call(&one), ids.call(&other)];
        assert!(pair[0] == "D681PevKs" && pair[1] != pair[0], "{pair:?}");
    }

    #[test]
    fn foreign_ids_become_nine_alphanumeric_characters() {
        let uuid = "0199a1b2-0000-7000-8000-000000000001";
        for id in [uuid, "haft_told_2_0"] {
            let call = call(id, None);
            let sent = [Ids::new(RULE).call(&call), Ids::new(RULE).call(&call)];
            assert_eq!(sent[0], sent[1], "the same each time");
            let fits = sent[0].len() == 9 && sent[0].bytes().all(|byte| byte.is_ascii_alphanumeric());
            assert!(fits, "{id}: {}", sent[0]);
        }
        assert_eq!(portable(uuid, 1), portable(uuid, 1));
        assert_ne!(portable(uuid, 1), portable(uuid, 2));
    }

    #[test]
    fn equal_ids_are_numbered() {
        const SHORT: Rule = Rule { longest: 6, ..RULE };
        let calls = ["a.b:c", "a.b.c", "abcdefgh", "abcdefxy", ""].map(|id| call(id, None));
        let mut ids = Ids::new(SHORT);
        let sent: Vec<String> = calls.iter().map(|call| ids.call(call)).collect();
        assert_eq!(sent, ["a_b_c", "a_b__2", "abcdef", "abcd_2", "call"]);
        let results = ["a.b.c", "", "abcdefxy", "abcdefgh", "a.b:c"].map(|id| ids.result(id));
        assert_eq!(results, ["a_b__2", "call", "abcd_2", "abcdef", "a_b_c"]);
    }

    #[test]
    fn a_repeated_id_refers_to_the_open_call() {
        let again = call("c", None);
        let mut ids = Ids::new(RULE);
        assert_eq!(
            [ids.call(&again), ids.call(&again), ids.result("c"), ids.result("c")],
            ["c", "c_2", "c", "c_2"]
        );
        ids.start_response();
        assert_eq!([ids.call(&again), ids.result("c")], ["c_3", "c_3"]);
        // One call of this response has no result; the next response's result does not belong to it.
        ids.start_response();
        ids.call(&again);
        ids.start_response();
        assert_eq!([ids.call(&again), ids.result("c")], ["c_5", "c_5"]);
    }

    thread_local! {
        /// Number of id characters written.
        static WRITTEN: Cell<usize> = const { Cell::new(0) };
    }

    const COUNTING: Rule = Rule {
        fits: |character| {
            WRITTEN.set(WRITTEN.get() + 1);
            character.is_ascii_alphanumeric()
        },
        longest: 12,
    };

    #[test]
    fn ids_of_a_history_take_linear_work() {
        type IdOf = fn(usize) -> String;
        let histories: [(&str, IdOf); 4] = [
            ("equal", |_| "call".to_owned()),
            ("distinct", |number| format!("c{number}")),
            ("equal once they are cut", |number| format!("abcdefghijkl{number}")),
            ("equal, with numbers that are taken", |number| match number % 2 {
                0 => "c".to_owned(),
                _ => format!("c_{number}"),
            }),
        ];
        for (name, id) in histories {
            for calls_per_answer in [1, 100] {
                let [one, two, four] = [1, 2, 4].map(|times| {
                    let calls: Vec<Call> = (0..times * 2_000).map(|number| call(&id(number), None)).collect();
                    WRITTEN.set(0);
                    let mut ids = Ids::new(COUNTING);
                    for answer in calls.chunks(calls_per_answer) {
                        ids.start_response();
                        let sent: Vec<String> = answer.iter().map(|call| ids.call(call)).collect();
                        let results: Vec<String> = answer.iter().map(|call| ids.result(&call.id)).collect();
                        assert_eq!(results, sent, "{name}");
                    }
                    WRITTEN.get()
                });
                // Quadratic work would be four and sixteen times as much.
                assert!(two <= 3 * one && four <= 6 * one, "{name}: {one}, {two}, {four}");
            }
        }
    }
}
