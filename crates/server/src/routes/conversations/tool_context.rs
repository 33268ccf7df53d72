//! `GET /api/conversations/{id}/tool-context`: tools, calls and results of a conversation, as its journal has them.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_agent::{CallState, StepCall, Transcript};
use haft_core::ErrorKind;
use haft_engine::context::ToolDefinition;
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
    let transcript = transcript(&tasks(&state)?.journal, &run).await?;
    let tools = state.tools_of(&caller).await?;
    let agent = match &run.about.agent {
        Some(id) => state.store.agent(caller.space, id).await?,
        None => None,
    };
    let mut bindings = agent.map(|agent| agent.spec.bindings.clone()).unwrap_or_default();
    bindings.retain(|binding| binding.is_enabled);
    bindings.sort_by_key(|binding| binding.sort_order);
    let mut definitions: Vec<ToolDefinition> = Vec::new();
    for binding in &bindings {
        let (id, Ok(meant)) = (binding.tool_id.to_string(), binding.to_binding()) else { continue };
        let tool = match state.tools.version(caller.space, &id, Some(&meant)).await {
            Ok(Some(tool)) => tool,
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error.into()),
            // A version that is no longer there is not shown to the model either.
            Ok(None) | Err(_) => continue,
        };
        if tool.spec.is_active {
            let mut definition = ToolDefinition::from(&tool.spec);
            // What the model can neither see nor change is not shown to it.
            meant.tool_config.hide_fixed(&mut definition.parameters);
            definition.run_async = binding.overrides.run_async.unwrap_or(definition.run_async);
            definitions.push(definition);
        }
    }
    let named = transcript.turns.iter().flat_map(|turn| &turn.input).flat_map(|letter| letter.tools());
    for tool in named.filter_map(|name| tools.get(name)) {
        if !definitions.iter().any(|known| known.name == tool.spec.name) {
            definitions.push(ToolDefinition::from(&tool.spec));
        }
    }
    let (calls, results) = of(&transcript);
    let data = json!({"toolDefinitions": definitions, "toolCalls": calls, "toolResults": results});
    Ok(envelope::success(StatusCode::OK, data))
}

fn of(transcript: &Transcript) -> (Vec<Value>, Vec<Value>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    let mut number = 0;
    for turn in &transcript.turns {
        for step in &turn.steps {
            number += 1;
            let at = step.answer.at;
            for call in &step.calls {
                calls.push(json!({
                    "callId": call.call_id, "name": call.name, "arguments": call.arguments, "step": number, "at": at,
                }));
                results.extend(result(transcript, call).map(|mut result| {
                    result["step"] = json!(number);
                    result["at"] = json!(at);
                    result
                }));
            }
        }
    }
    (calls, results)
}

fn result(transcript: &Transcript, call: &StepCall) -> Option<Value> {
    let (mut row, status) = match &call.state {
        CallState::Running => return None,
        CallState::Done(result) => (Value::clone(result), "done"),
        CallState::Pending(task) | CallState::Awaited(task) => {
            match transcript.ended(call.call_id.as_str()) {
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
