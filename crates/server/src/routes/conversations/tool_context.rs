//! `GET /api/conversations/{id}/tool-context`: tools, calls and results of a conversation, as its journal has them.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_agent::{CallState, InboxMessage, StepCall, Transcript, Turn};
use haft_core::timestamp::rfc3339;
use haft_core::{ErrorKind, RunId};
use haft_engine::context::ContextTool;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{find, tasks, transcript};
use crate::app::AppState;
use crate::auth::Known;
use crate::envelope;
use crate::error::Failure;
use crate::query::Named;

pub(super) async fn read(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(name): Named,
) -> Result<Response, Failure> {
    let run = find(&state, &caller, &name).await?;
    let journal = &tasks(&state)?.journal;
    let transcript = transcript(journal, &run).await?;
    let tools = state.tools_of(&caller).await?;
    let agent = match &run.labels.agent {
        Some(id) => state.store.agent(caller.space, id).await?,
        None => None,
    };
    let mut bindings = agent.map(|agent| agent.spec.bindings.clone()).unwrap_or_default();
    bindings.retain(|binding| binding.is_enabled);
    bindings.sort_by_key(|binding| binding.sort_order);
    let mut definitions: Vec<ContextTool> = Vec::new();
    for binding in &bindings {
        let (id, Ok(meant)) = (binding.tool_id.to_string(), binding.to_binding()) else { continue };
        let tool = match state.tools.version(caller.space, &id, Some(&meant)).await {
            Ok(Some(tool)) => tool,
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error.into()),
            // A version that is no longer there is not shown to the model either.
            Ok(None) | Err(_) => continue,
        };
        if tool.spec.is_active {
            let mut definition = ContextTool::from(&tool.spec);
            // What the model can neither see nor change is not shown to it.
            meant.tool_config.hide_fixed(&mut definition.parameters);
            definition.run_async = binding.overrides.run_async.unwrap_or(definition.run_async);
            definitions.push(definition);
        }
    }
    let named = transcript.turns.iter().flat_map(|turn| &turn.input).flat_map(|letter| letter.tools());
    for tool in named.filter_map(|name| tools.get(name)) {
        if !definitions.iter().any(|known| known.name == tool.spec.name) {
            definitions.push(ContextTool::from(&tool.spec));
        }
    }
    let tasks = transcript.turns.iter().flat_map(Turn::calls).filter_map(|call| call.task.as_ref());
    let tasks: Vec<RunId> = tasks.filter_map(|task| task.task_id.parse().ok()).collect();
    let ended = journal.ended_at(caller.space, &tasks).await?;
    let (calls, results) = of(&transcript, &ended);
    let data = json!({"toolDefinitions": definitions, "toolCalls": calls, "toolResults": results});
    Ok(envelope::success(StatusCode::OK, data))
}

fn of(transcript: &Transcript, ended: &HashMap<RunId, Timestamp>) -> (Vec<Value>, Vec<Value>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    let received = received_at(transcript);
    let mut number = 0;
    for turn in &transcript.turns {
        for step in &turn.steps {
            number += 1;
            // The model was asked at `at`; its calls are executed once it has answered.
            let at = step.response.at;
            let answered_at = after(at, step.response.ms);
            for call in &step.calls {
                calls.push(json!({
                    "callId": call.call_id, "name": call.name, "arguments": call.arguments, "step": number,
                    "at": rfc3339(at),
                }));
                results.extend(result(transcript, call).map(|mut result| {
                    let by_task = || ended.get(&call.task.as_ref()?.task_id.parse().ok()?).copied();
                    let by_letter = || received.get(call.call_id.as_str()).copied();
                    let taken = result["executionTime"].as_u64().unwrap_or_default();
                    let done_at =
                        || by_task().or_else(by_letter).unwrap_or_else(|| after(answered_at, taken));
                    let came_at = if result["status"] == "pending" { at } else { done_at().max(at) };
                    result["step"] = json!(number);
                    result["at"] = json!(rfc3339(came_at));
                    result
                }));
            }
        }
    }
    (calls, results)
}

fn after(at: Timestamp, milliseconds: u64) -> Timestamp {
    at.saturating_add(Duration::from_millis(milliseconds)).unwrap_or(Timestamp::MAX)
}

/// When the results arrived that the conversation received as inbox messages, by call: those of the client's tools when
/// the client sent them, those of tasks when the turn began that received them.
fn received_at(transcript: &Transcript) -> HashMap<&str, Timestamp> {
    let mut received = HashMap::new();
    for turn in &transcript.turns {
        for letter in &turn.input {
            match letter {
                InboxMessage::ToolResults(returned) => {
                    for (call, _) in &returned.results {
                        received.entry(call.as_str()).or_insert(returned.asked.at);
                    }
                }
                InboxMessage::TaskEnded(ended) => {
                    received.entry(ended.name.as_str()).or_insert(turn.setup.at);
                }
                InboxMessage::User(_) | InboxMessage::Continue(_) => {}
            }
        }
    }
    received
}

fn result(transcript: &Transcript, call: &StepCall) -> Option<Value> {
    let (mut row, status) = match &call.state {
        CallState::Running => return None,
        CallState::Done(result) => (Value::clone(result), "done"),
        CallState::Pending(task) | CallState::Awaited(task) => {
            match transcript.task_output(call.call_id.as_str()) {
                Some(result) => (result.clone(), "done"),
                None => {
                    let pending =
                        json!({"callId": call.call_id, "toolName": call.name, "taskId": task.task_id});
                    (pending, "pending")
                }
            }
        }
    };
    row["status"] = json!(status);
    Some(row)
}
