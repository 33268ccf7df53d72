//! Reserved names, and long histories: the work of reading one is counted, and grows with its length and no faster.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use haft_agent::{ConversationInput, Transcript};
use haft_core::Effect;
use haft_runs::{INBOX, Step};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{CallIds, Fields, RESERVED_NAMES, without_result};

const SHORT: usize = 2_000;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    COUNT.set(COUNT.get() + 1);
}

/// Checks that the work for histories of one, two and four times the length grows with the length. Quadratic work
/// would be four and sixteen times as much.
#[track_caller]
fn assert_linear(name: &str, work: impl Fn(usize)) {
    let [one, two, four] = [1, 2, 4].map(|times| {
        COUNT.set(0);
        work(times * SHORT);
        COUNT.get()
    });
    assert!(two <= 3 * one && four <= 6 * one, "{name}: {one}, {two}, {four}");
}

/// The id of a call. Counts how often it is hashed and compared.
#[derive(Debug, Clone, Copy)]
struct Id(usize);

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        count();
        self.0 == other.0
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        count();
        self.0.hash(state);
    }
}

fn made(id: usize) -> CallIds<Id> {
    CallIds::Made(vec![Id(id)])
}

fn answered(id: usize) -> CallIds<Id> {
    CallIds::Answered(Some(Id(id)))
}

#[test]
fn the_check_for_missing_results_takes_linear_work() {
    type History = fn(usize) -> Vec<CallIds<Id>>;
    let histories: [(&str, History); 6] = [
        ("a result after each call", |length| (0..length).flat_map(|id| [made(id), answered(id)]).collect()),
        ("equal ids", |length| (0..length).flat_map(|_| [made(0), answered(0)]).collect()),
        ("results at the end", |length| (0..length).map(made).chain((0..length).map(answered)).collect()),
        ("results in reverse order", |length| {
            (0..length).map(made).chain((0..length).rev().map(answered)).collect()
        }),
        ("one message", |length| {
            let all = CallIds::Made((0..length).map(Id).collect());
            std::iter::once(all).chain((0..length).map(answered)).collect()
        }),
        ("no results", |length| (0..length).map(made).collect()),
    ];
    for (name, history) in histories {
        for is_strict in [true, false] {
            assert_linear(name, |length| {
                let _ = without_result(history(length).into_iter(), is_strict);
            });
        }
    }
}

/// A conversation as it is stored: one answer per turn, with two calls.
fn stored(turns: usize) -> HashMap<String, Arc<Step>> {
    let at = Timestamp::UNIX_EPOCH;
    let mut steps = HashMap::new();
    let mut add = |key: String, output: Value| {
        let step = Step::done(&key, Effect::Read, Arc::new(output));
        steps.insert(key, Arc::new(step));
    };
    for turn in 1..=turns {
        let call =
            |place: usize| json!({"id": format!("call-{turn}-{place}"), "name": "look", "arguments": "{}"});
        let answer = json!({
            "text": "", "calls": [call(0), call(1)], "end": "tool_calls", "model": "p/m", "at": at, "ms": 1,
        });
        add(format!("{INBOX}:{}", turn - 1), json!({"messages": []}));
        add(format!("{turn}.setup"), json!({"from": turn - 1, "to": turn, "at": at}));
        add(format!("{turn}.1"), answer);
        add(format!("{turn}.1.0"), json!({"success": true, "data": "dry"}));
        add(format!("{turn}.1.1"), json!({"success": true, "data": "wet"}));
        let usage = json!({"input": 1, "output": 1});
        add(format!("{turn}.end"), json!({"finish": "stop", "text": "", "usage": usage, "at": at}));
    }
    steps
}

#[test]
fn a_stored_conversation_is_read_with_a_linear_number_of_lookups() {
    let asked = json!({"at": Timestamp::UNIX_EPOCH, "locale": "en"});
    let chat = json!({"first": {"id": "first", "messages": [], "asked": asked}, "source": "api"});
    let chat: ConversationInput = serde_json::from_value(chat).expect("a conversation");
    assert_linear("turns", |turns| {
        let steps = stored(turns);
        let transcript = Transcript::of(&chat, |key| {
            count();
            steps.get(key).cloned()
        });
        assert_eq!(transcript.turns.len(), turns);
        assert!(transcript.turns.iter().all(|turn| turn.calls().count() == 2 && turn.end.is_some()));
    });
}

#[test]
fn tool_with_a_reserved_name_is_refused_at_its_name() {
    for name in RESERVED_NAMES {
        let function = json!({"name": name, "parameters": {"type": "object"}});
        let in_chat = json!({"tools": [{"type": "function", "function": function}]});
        let mut in_response = json!({"tools": [function]});
        in_response["tools"][0]["type"] = json!("function");
        for (body, inner, path) in
            [(in_chat, Some("function"), "tools.0.function.name"), (in_response, None, "tools.0.name")]
        {
            let refused = Fields::of(&body).and_then(|fields| fields.tools(inner)).expect_err("refused");
            let paths: Vec<&str> =
                refused.violations().iter().map(|violation| violation.path.as_str()).collect();
            assert_eq!(paths, [path], "{refused}");
            assert!(refused.to_string().contains(name), "{refused}");
        }
    }
    let body = json!({"tools": [{"type": "function", "name": "find_tools_of_mine"}]});
    let tools = Fields::of(&body).and_then(|fields| fields.tools(None)).expect("tools");
    assert_eq!(tools.len(), 1);
}
