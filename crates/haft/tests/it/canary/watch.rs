//! Canaries: secret values that no output may contain, and the search for all their spellings.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use haft_testkit::{CommandOutput, TestResponse};
use uuid::Uuid;

use super::encodings::{base64, hex, percent};

/// Length of the searched part of a canary. A truncated or URL-encoded echo still contains this part.
const CORE: usize = 16;

/// The spellings and names of canaries, by the first two bytes of the spelling.
type Spellings = HashMap<[u8; 2], Vec<(String, String)>>;

/// Creates canaries, searches outputs for them and collects the leaks.
#[derive(Default)]
pub(super) struct Watch {
    /// Indexed by prefix, so that one pass over an output finds all canaries.
    spellings: RefCell<Spellings>,
    /// Number of outputs searched.
    searches: Cell<usize>,
    leaks: RefCell<Vec<String>>,
}

impl Watch {
    /// Creates a canary: random digits, which URL encodings preserve, followed by characters that they
    /// change.
    pub(super) fn new_canary(&self, what: &str) -> String {
        let digits = Uuid::new_v4().simple().to_string();
        self.register(what, &digits[..CORE]);
        format!("cn-{what}-{digits}/+=&?%~x")
    }

    /// Creates a canary of letters and digits only, for fields that allow no other characters.
    pub(super) fn new_plain_canary(&self, what: &str) -> String {
        let digits = Uuid::new_v4().simple().to_string();
        self.register(what, &digits[..CORE]);
        format!("cn{digits}")
    }

    /// Adds a value that the server created, or that has a special format.
    pub(super) fn add(&self, what: &str, value: &str) {
        let from = value.len() / 2 - CORE / 2;
        self.register(what, &value[from..from + CORE]);
    }

    fn register(&self, what: &str, core: &str) {
        let mut spellings = HashSet::from([core.to_owned(), hex(core.as_bytes())]);
        spellings.insert(hex(core.as_bytes()).to_uppercase());
        for once in in_base64(core) {
            spellings.extend(in_base64(&once));
            spellings.insert(once.replace('+', "-").replace('/', "_"));
            spellings.insert(once);
        }
        let mut registered = self.spellings.borrow_mut();
        for spelling in spellings {
            let start = [spelling.as_bytes()[0], spelling.as_bytes()[1]];
            registered.entry(start).or_default().push((what.to_owned(), spelling));
        }
    }

    /// Searches an output. `source` names it in the report.
    pub(super) fn search(&self, source: &str, text: &str) {
        self.searches.set(self.searches.get() + 1);
        let (bytes, spellings) = (text.as_bytes(), self.spellings.borrow());
        let mut reported = HashSet::new();
        for (at, start) in bytes.windows(2).enumerate() {
            for (what, spelling) in spellings.get(&[start[0], start[1]]).into_iter().flatten() {
                if !bytes[at..].starts_with(spelling.as_bytes()) || !reported.insert(what) {
                    continue;
                }
                let from = text.floor_char_boundary(at.saturating_sub(120));
                let to = text.floor_char_boundary((at + 120).min(text.len()));
                self.leaks.borrow_mut().push(format!("{what} is in {source}: …{}…", &text[from..to]));
            }
        }
    }

    pub(super) fn search_bytes(&self, source: &str, bytes: &[u8]) {
        self.search(source, &String::from_utf8_lossy(bytes));
    }

    pub(super) fn search_reply(&self, source: &str, reply: &TestResponse) {
        self.search(source, &format!("{} {:?} {}", reply.status, reply.headers, reply.body));
    }

    pub(super) fn search_command(&self, source: &str, finished: &CommandOutput) {
        self.search(source, &format!("{}\n{}", finished.stdout, finished.stderr));
    }

    /// Panics if a leak was found, or if fewer than `least` outputs were searched.
    pub(super) fn end(self, least: usize) {
        let (searches, leaks) = (self.searches.get(), self.leaks.into_inner());
        assert!(searches >= least, "only {searches} outputs were searched");
        assert!(leaks.is_empty(), "{} leaks in {searches} outputs:\n{}", leaks.len(), leaks.join("\n"));
    }
}

/// Returns the base64 of a text at each offset within a longer text.
fn in_base64(text: &str) -> [String; 3] {
    [0, 1, 2].map(|offset| {
        let bytes = [vec![0; offset], text.as_bytes().to_vec()].concat();
        // Skips characters that share bits with the surrounding text.
        let (first, end) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
        base64(&bytes)[first..end].to_owned()
    })
}

#[test]
fn canary_is_found_in_all_encodings() {
    let found = |encode: &dyn Fn(&str) -> String| {
        let watch = Watch::default();
        let canary = watch.new_canary("one");
        watch.search("a text", &encode(&canary));
        watch.leaks.into_inner().len() == 1
    };
    assert!(found(&str::to_owned));
    assert!(found(&percent));
    assert!(found(&|canary| hex(canary.as_bytes())));
    assert!(found(&|canary| canary[..30].to_owned()), "a truncated canary is found, too");
    for name in ["", "a", "ad", "ada"] {
        assert!(found(&|canary| base64(format!("{name}:{canary}").as_bytes())), "{name:?}");
        let once = |canary: &str| base64(format!("{name}:{canary}").as_bytes());
        assert!(found(&|canary| base64(once(canary).as_bytes())), "{name:?}");
    }
    assert!(!found(&|_| "***".to_owned()));
}
