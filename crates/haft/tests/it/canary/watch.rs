//! Canaries: values that must never come out, every spelling they are looked for by, and who looks.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use haft_testkit::{Finished, Reply};
use uuid::Uuid;

use super::encode::{base64, hex, percent};

/// So much of a canary is enough to give it away: an echo that is cut, or encoded as URLs are, still holds it.
const CORE: usize = 16;

/// By their first two bytes.
type Spellings = HashMap<[u8; 2], Vec<(String, String)>>;

/// Looks at whatever comes out, and remembers what should not have.
#[derive(Default)]
pub(super) struct Watch {
    /// What each is and how it may be written, by the first two bytes of that: one pass finds them all.
    spellings: RefCell<Spellings>,
    looks: Cell<usize>,
    leaks: RefCell<Vec<String>>,
}

impl Watch {
    /// A new canary: random digits, which no URL encoding changes, before characters that each one does.
    pub(super) fn make(&self, what: &str) -> String {
        let digits = Uuid::new_v4().simple().to_string();
        self.look_for(what, &digits[..CORE]);
        format!("cn-{what}-{digits}/+=&?%~x")
    }

    /// One of letters and digits alone, which may stand where others may not.
    pub(super) fn make_plain(&self, what: &str) -> String {
        let digits = Uuid::new_v4().simple().to_string();
        self.look_for(what, &digits[..CORE]);
        format!("cn{digits}")
    }

    /// A value that the server made, or that has a form of its own.
    pub(super) fn add(&self, what: &str, value: &str) {
        let from = value.len() / 2 - CORE / 2;
        self.look_for(what, &value[from..from + CORE]);
    }

    fn look_for(&self, what: &str, core: &str) {
        let mut spellings = HashSet::from([core.to_owned(), hex(core.as_bytes())]);
        spellings.insert(hex(core.as_bytes()).to_uppercase());
        for once in in_base64(core) {
            spellings.extend(in_base64(&once));
            spellings.insert(once.replace('+', "-").replace('/', "_"));
            spellings.insert(once);
        }
        let mut known = self.spellings.borrow_mut();
        for spelling in spellings {
            let start = [spelling.as_bytes()[0], spelling.as_bytes()[1]];
            known.entry(start).or_default().push((what.to_owned(), spelling));
        }
    }

    /// Looks at a text, which came out at some place.
    pub(super) fn look(&self, place: &str, text: &str) {
        self.looks.set(self.looks.get() + 1);
        let (bytes, spellings) = (text.as_bytes(), self.spellings.borrow());
        let mut told = HashSet::new();
        for (at, start) in bytes.windows(2).enumerate() {
            for (what, spelling) in spellings.get(&[start[0], start[1]]).into_iter().flatten() {
                if !bytes[at..].starts_with(spelling.as_bytes()) || !told.insert(what) {
                    continue;
                }
                let from = text.floor_char_boundary(at.saturating_sub(120));
                let to = text.floor_char_boundary((at + 120).min(text.len()));
                self.leaks.borrow_mut().push(format!("{what} is in {place}: …{}…", &text[from..to]));
            }
        }
    }

    pub(super) fn look_at_bytes(&self, place: &str, bytes: &[u8]) {
        self.look(place, &String::from_utf8_lossy(bytes));
    }

    pub(super) fn look_at_reply(&self, place: &str, reply: &Reply) {
        self.look(place, &format!("{} {:?} {}", reply.status, reply.headers, reply.body));
    }

    pub(super) fn look_at_command(&self, place: &str, finished: &Finished) {
        self.look(place, &format!("{}\n{}", finished.stdout, finished.stderr));
    }

    /// All that was found, after so many looks at least.
    pub(super) fn end(self, least: usize) {
        let (looks, leaks) = (self.looks.get(), self.leaks.into_inner());
        assert!(looks >= least, "only {looks} looks were taken");
        assert!(leaks.is_empty(), "{} leaks in {looks} looks:\n{}", leaks.len(), leaks.join("\n"));
    }
}

/// Base64 of a text that stands anywhere in a longer one.
fn in_base64(text: &str) -> [String; 3] {
    [0, 1, 2].map(|offset| {
        let bytes = [vec![0; offset], text.as_bytes().to_vec()].concat();
        // Characters that share bits with what stands before or after are not known.
        let (first, end) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
        base64(&bytes)[first..end].to_owned()
    })
}

#[test]
fn a_canary_is_found_however_it_is_written() {
    let found = |written: &dyn Fn(&str) -> String| {
        let watch = Watch::default();
        let canary = watch.make("one");
        watch.look("a place", &written(&canary));
        watch.leaks.into_inner().len() == 1
    };
    assert!(found(&str::to_owned));
    assert!(found(&percent));
    assert!(found(&|canary| hex(canary.as_bytes())));
    assert!(found(&|canary| canary[..30].to_owned()), "what is cut counts too");
    for name in ["", "a", "ad", "ada"] {
        assert!(found(&|canary| base64(format!("{name}:{canary}").as_bytes())), "{name:?}");
        let once = |canary: &str| base64(format!("{name}:{canary}").as_bytes());
        assert!(found(&|canary| base64(once(canary).as_bytes())), "{name:?}");
    }
    assert!(!found(&|_| "***".to_owned()));
}
