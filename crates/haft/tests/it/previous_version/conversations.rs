//! Conversations that the previous version left: they read back complete, continue, and interrupted turns end.

use haft_testkit::{RecordedModelRequest, eventually};
use serde_json::{Value, json};

use super::{AGENT, Opened, text};
use crate::chat::{final_text, user};
use crate::v1::{choice, complete, function};

/// The idle conversations of the fixtures.
const IDLE: [&str; 4] = ["one_row", "one_row_with_call", "several_rows", "mixed_rows"];

/// Returns the texts of a turn: of its input, the results of its calls, and its message.
fn texts(turn: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let input = list(&turn["input"]).into_iter().map(|message| message["content"].clone());
    let steps = list(&turn["steps"]);
    let results = steps.iter().flat_map(|step| list(&step["calls"])).map(|call| call["result"].clone());
    let all = input.chain(results).chain([turn["message"]["content"].clone()]);
    all.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
}

/// Waits until the conversation is idle with this number of turns, and returns the turns.
async fn finished_turns(copy: &Opened, name: &str, count: usize) -> Vec<Value> {
    let turns = |shown: &Value| shown["turns"].as_array().expect("turns").clone();
    eventually(&format!("{name} is idle"), async || {
        let shown = copy.conversation(name).await;
        let all = turns(&shown);
        shown["status"] == "idle"
            && all.len() == count
            && all.iter().all(|turn| turn["finishReason"] == "stop")
    })
    .await;
    turns(&copy.conversation(name).await)
}

/// Sends a message to a conversation. Returns the response, and the messages that the model received.
async fn ask(copy: &Opened, name: &str, message: &str) -> (String, Vec<Value>) {
    let id = text(&copy.expected["conversations"][name]["id"]);
    let body = json!({"conversationId": id, "messages": [user(message)]});
    let reply = copy.api.post("/api/chat", &body).await;
    let response = final_text(&reply).to_owned();
    let requests = copy.model.seen();
    let request = requests.iter().rfind(|request| request.user_text() == message).expect("a request");
    (response, request.body["messages"].as_array().expect("messages").clone())
}

#[tokio::test]
async fn idle_conversations_read_back_and_continue_with_their_complete_history() {
    Opened::each(async |copy| {
        for name in IDLE {
            let expected = &copy.expected["conversations"][name];
            let shown = copy.conversation(name).await;
            assert_eq!(shown["status"], "idle", "{name}");
            assert_eq!(shown["turns"], expected["turns"], "{name}");
            // The model gets all that it got before, then its last response and the new message.
            let (response, messages) = ask(copy, name, "And now?").await;
            let mut history = expected["lastRequest"].as_array().expect("messages").clone();
            let turns = expected["turns"].as_array().expect("turns");
            let last = turns.last().expect("a turn");
            history.push(json!({"role": "assistant", "content": last["message"]["content"]}));
            history.push(json!({"role": "user", "content": "And now?"}));
            assert_eq!(messages, history, "{name}");
            let previous = messages.iter().filter(|message| message["role"] == "assistant").count();
            assert_eq!(response, format!("And now? after {previous}"), "{name}");
            let all = copy.conversation(name).await["turns"].as_array().expect("turns").clone();
            assert_eq!((all.len(), &all[..turns.len()]), (turns.len() + 1, turns.as_slice()), "{name}");
            assert_eq!(texts(&all[turns.len()]), ["And now?", response.as_str()], "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn interrupted_turn_reports_its_write_as_unknown_and_the_inbox_is_processed() {
    Opened::each(async |copy| {
        let turns = finished_turns(copy, "reserved_write", 3).await;
        assert_eq!(texts(&turns[0]), ["Hello", "Hello after 0"]);
        let call = &turns[1]["steps"][0]["calls"][0];
        assert_eq!(call["result"]["error"]["kind"], "Unknown", "{call}");
        let interrupted = texts(&turns[1]);
        assert_eq!(interrupted[0], "Order 9");
        assert!(
            interrupted[2].starts_with("Results: ") && interrupted[2].contains("Unknown"),
            "{interrupted:?}"
        );
        assert_eq!(texts(&turns[2]), ["Thanks", "Thanks after 3"]);
        assert!(copy.requests("/order").is_empty(), "the write is not repeated");
        let (_, messages) = ask(copy, "reserved_write", "And now?").await;
        let roles: Vec<&str> = messages.iter().map(|message| text(&message["role"])).collect();
        let expected = [
            "system",
            "user",
            "assistant",
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant",
            "user",
        ];
        assert_eq!(roles, expected, "{messages:?}");
    })
    .await;
}

#[tokio::test]
async fn interrupted_model_request_is_repeated() {
    Opened::each(async |copy| {
        let turns = finished_turns(copy, "model_request", 1).await;
        assert_eq!(texts(&turns[0]), ["Wait", "Wait after 0"]);
    })
    .await;
}

#[tokio::test]
async fn turn_that_waits_for_an_approval_continues_after_the_decision() {
    Opened::each(async |copy| {
        let described = &copy.expected["conversations"]["approval"];
        assert_eq!(copy.conversation("approval").await["status"], "waiting");
        let path = format!("/api/approvals/{}", text(&described["task"]));
        let decided = copy.api.post(&path, &json!({"decision": "approve"})).await;
        assert_eq!(decided.status, 200, "{}", decided.body);
        let turns = finished_turns(copy, "approval", 1).await;
        let shown = texts(&turns[0]);
        assert!(shown[0] == "Pay 3" && shown[2].contains("/pay"), "{shown:?}");
        assert_eq!(copy.requests("/pay").iter().filter(|seen| seen.json()["n"] == "3").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn result_of_a_queued_task_starts_a_turn_of_its_conversation() {
    Opened::each(async |copy| {
        let turns = finished_turns(copy, "pending_result", 2).await;
        assert!(texts(&turns[0]).last().is_some_and(|text| text.contains("pending")), "{turns:?}");
        assert_eq!(turns[1]["input"][0]["role"], "task", "{turns:?}");
        assert_eq!(copy.conversation("pending_result").await["pending"], json!([]));
    })
    .await;
}

#[tokio::test]
async fn suspended_turn_accepts_the_results_of_the_client() {
    Opened::each(async |copy| {
        let suspended = &copy.expected["suspended"];
        // The turn continues from its journal, not from the history of the client.
        let mut messages = vec![user("The history of the client"), suspended["message"].clone()];
        for call in suspended["message"]["tool_calls"].as_array().expect("calls") {
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "a garden"}));
        }
        let tools = json!({"tools": [function("look")]});
        let reply = complete(&copy.api, AGENT, &json!(messages), &tools).await;
        assert_eq!(choice(&reply)["message"]["content"], "Results: a garden", "{}", reply.body);
        let is_result = |request: &&RecordedModelRequest| !request.results().is_empty();
        let requests = copy.model.seen();
        let texts: Vec<&str> =
            requests.iter().filter(is_result).map(RecordedModelRequest::user_text).collect();
        assert!(texts.contains(&"Look around"), "{texts:?}");
        assert!(!texts.contains(&"The history of the client"), "{texts:?}");
    })
    .await;
}
