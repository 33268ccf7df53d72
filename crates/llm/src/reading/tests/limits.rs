//! Responses with too many calls: counts how much of them is read.

use serde_json::{Value, json};

use super::request;
use crate::delta::{Delta, EndReason, MAX_CALLS};
use crate::dialect::Dialect;
use crate::failure::Asking;
use crate::reading::Reading;
use crate::response::ResponseBuilder;

const FLOOD: usize = 20_000;

/// Bodies with many calls: one event for each, and all in one event.
fn bodies(dialect: Dialect) -> [String; 2] {
    let function = json!({"name": "get_weather", "arguments": {}});
    let numbers = 0..FLOOD;
    let event = |value: Value| format!("data: {value}\n\n");
    match dialect {
        Dialect::OpenAi => {
            let call = |index| json!({"index": index, "id": format!("c{index}"), "function": {"name": "get_weather", "arguments": "{}"}});
            let chunk = |calls: Vec<Value>| event(json!({"choices": [{"delta": {"tool_calls": calls}}]}));
            [
                numbers.clone().map(|number| chunk(vec![call(number)])).collect(),
                chunk(numbers.map(call).collect()),
            ]
        }
        Dialect::Anthropic => {
            let block = |number| json!({"type": "tool_use", "id": format!("c{number}"), "name": "get_weather", "input": {"city": "Rom"}});
            let begun = |number| {
                event(json!({"type": "content_block_start", "index": number, "content_block": block(number)}))
            };
            let whole = json!({"type": "message", "content": numbers.clone().map(block).collect::<Vec<_>>(), "stop_reason": "tool_use"});
            [numbers.map(begun).collect(), whole.to_string()]
        }
        Dialect::Gemini => {
            let part = |_| json!({"functionCall": {"name": "get_weather", "args": {}}});
            let chunk = |parts: Vec<Value>| event(json!({"candidates": [{"content": {"parts": parts}}]}));
            [
                numbers.clone().map(|number| chunk(vec![part(number)])).collect(),
                chunk(numbers.map(part).collect()),
            ]
        }
        Dialect::Ollama => {
            let call = |_| json!({"function": function});
            let line = |calls: Vec<Value>| format!("{}\n", json!({"message": {"tool_calls": calls}}));
            [
                numbers.clone().map(|number| line(vec![call(number)])).collect(),
                line(numbers.map(call).collect()),
            ]
        }
    }
}

#[test]
fn reading_stops_at_the_last_allowed_call() {
    for dialect in [Dialect::OpenAi, Dialect::Anthropic, Dialect::Gemini, Dialect::Ollama] {
        for body in bodies(dialect) {
            let asking = Asking { provider: "test".to_owned(), model: "the-model".to_owned(), key: None };
            let (mut reading, mut gathered) =
                (Reading::new(dialect, asking), ResponseBuilder::of(&request()));
            let (mut fed, mut deltas, mut calls) = (0, 0, 0);
            for piece in body.as_bytes().chunks(1_000) {
                if reading.is_over() {
                    break;
                }
                fed += 1;
                reading.feed(piece).expect("read");
            }
            if !reading.is_over() {
                reading.finish().expect("read");
            }
            while let Some(delta) = reading.next() {
                let delta = delta.expect("no error");
                deltas += 1;
                calls += usize::from(matches!(delta, Delta::Call { .. }));
                gathered.add(&delta);
            }
            let answer = gathered.finish();
            assert_eq!((calls, answer.calls.len()), (MAX_CALLS, MAX_CALLS), "{dialect:?}");
            assert_eq!(answer.end, EndReason::ToolCalls, "{dialect:?}");
            assert!(deltas <= 2 * MAX_CALLS + 1, "{dialect:?}: {deltas} deltas");
            let has_events = body.lines().count() > 2;
            assert!(!has_events || fed * 1_000 < body.len() / 10, "{dialect:?}: {fed} pieces");
        }
    }
}
