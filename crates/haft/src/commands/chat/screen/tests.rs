//! Tests of the output of a turn, in a terminal and in a pipe.

use serde_json::json;

use super::*;

type Test = Screen<Vec<u8>, Vec<u8>>;

fn show_all(is_live: bool, events: &[(&str, Value)]) -> (String, String, Test) {
    let mut screen = Screen::new(Vec::new(), Vec::new(), is_live);
    for (name, data) in events {
        let event = Event { id: None, name: (*name).to_owned(), data: data.clone() };
        screen.show(&event, Duration::from_millis(1234));
    }
    let text =
        |bytes: &[u8]| anstream::adapter::strip_str(std::str::from_utf8(bytes).expect("text")).to_string();
    (text(&screen.out), text(&screen.err), screen)
}

fn turn() -> Vec<(&'static str, Value)> {
    vec![
        ("turn.start", json!({"turn": 1})),
        ("reasoning.delta", json!({"text": "Hm"})),
        ("message.delta", json!({"text": "Let me "})),
        ("message.delta", json!({"text": "look."})),
        ("tool.call", json!({"name": "weather", "arguments": {"city": "Paris"}})),
        ("tool.call", json!({"name": "report", "arguments": {}})),
        ("tool.result", json!({"name": "weather", "success": true, "executionTime": 245})),
        ("tool.pending", json!({"name": "report", "taskId": "t1", "reason": "async"})),
        ("message.delta", json!({"text": "18 °C\n\u{1b}[31m\tdry"})),
        ("message.done", json!({"message": {"content": "18 °C\n\u{1b}[31m\tdry"}})),
        ("usage", json!({"input": 412, "output": 38})),
        ("done", json!({"finishReason": "stop", "steps": 2})),
    ]
}

#[test]
fn terminal_shows_text_as_it_arrives() {
    let (out, err, screen) = show_all(true, &turn());
    assert_eq!(out, "Let me look.\n18 °C\n[31m\tdry\n");
    let lines: Vec<&str> = err.lines().collect();
    let expected = [
        "Hm",
        "⚙ weather {\"city\":\"Paris\"}",
        "⚙ report {}",
        "✓ weather 245 ms",
        "… report pending (task t1)",
        "2 steps, 412 + 38 tokens, 1234 ms",
    ];
    assert_eq!(lines, expected);
    assert_eq!(screen.exit_code("stop"), 0);
}

#[test]
fn pipe_receives_only_the_response() {
    let (out, err, _) = show_all(false, &turn());
    assert_eq!(out, "18 °C\n[31m\tdry\n");
    assert!(err.contains("✓ weather") && !err.contains("Hm"), "{err}");
}

#[test]
fn message_of_a_tool_that_ended_the_turn_is_printed() {
    let stopped = [
        ("turn.start", json!({"turn": 1})),
        ("message.delta", json!({"text": "A moment."})),
        ("tool.call", json!({"name": "stop_response", "arguments": {}})),
        ("tool.result", json!({"name": "stop_response", "success": true, "executionTime": 0})),
        ("message.done", json!({"message": {"content": "It is dry."}})),
        ("done", json!({"finishReason": "tool_stop", "steps": 1})),
    ];
    assert_eq!(show_all(true, &stopped).0, "A moment.\nIt is dry.\n");
    assert_eq!(show_all(false, &stopped).0, "It is dry.\n");
}

#[test]
fn failure_is_printed_and_sets_the_exit_code() {
    let failed = [
        ("message.delta", json!({"text": "Half"})),
        ("message.reset", json!({"step": 1})),
        (
            "tool.result",
            json!({"name": "pay", "success": false, "error": {"kind": "Denied", "message": "no"}}),
        ),
        ("error", json!({"kind": "Timeout", "message": "it took too long"})),
        ("done", json!({"finishReason": "error", "steps": 1})),
    ];
    let (out, err, screen) = show_all(true, &failed);
    assert_eq!(out, "Half\n");
    let lines: Vec<&str> = err.lines().take(3).collect();
    assert_eq!(lines, ["retrying…", "✗ pay Denied: no", "Timeout: it took too long"]);
    assert_eq!(
        [screen.exit_code("error"), screen.exit_code("cancelled"), screen.exit_code("max_steps")],
        [6, 130, 6]
    );
    let (_, err, screen) = show_all(true, &[("done", json!({"finishReason": "max_steps", "steps": 8}))]);
    assert!(err.starts_with("stopped: "), "{err}");
    assert_eq!(screen.exit_code("max_steps"), 1);
}

#[test]
fn pending_approval_shows_the_command_that_approves_it() {
    let waits = json!({"name": "pay", "taskId": "t1", "reason": "approval"});
    let (_, err, _) = show_all(false, &[("tool.pending", waits)]);
    assert_eq!(err, "… pay waits for approval: haft approvals approve t1\n");
}
