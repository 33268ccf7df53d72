//! `GET /api/conversations/{id}/export`: a conversation as a file, for programs or for people.

use std::collections::HashMap;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use haft_agent::{CallState, Transcript};
use haft_core::{CallError, Message, Violation};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{find, shown, tasks, transcript};
use crate::app::AppState;
use crate::auth::Known;
use crate::error::Failure;
use crate::query::{Named, Parameters};

haft_core::templates! {
    BAD_FORMAT = "conversations.badFormat",
        "must be json or markdown",
        "必须是 json 或 markdown";
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    format: Option<String>,
}

pub(super) async fn export(
    State(state): State<AppState>,
    Known(caller): Known,
    Named(name): Named,
    Parameters(Wanted { format }): Parameters<Wanted>,
) -> Result<Response, Failure> {
    let run = find(&state, &caller, &name).await?;
    let transcript = transcript(&tasks(&state)?.journal, &run).await?;
    let (text, kind, end) = match format.as_deref().unwrap_or("json") {
        "json" => {
            let mut data = super::facts(&state, &run, &mut HashMap::new()).await?;
            data["turns"] = transcript.turns.iter().map(shown::turn).collect();
            let text = serde_json::to_string_pretty(&data).unwrap_or_default();
            (text, "application/json", "json")
        }
        "markdown" => (markdown(&run.labels.name, &transcript), "text/markdown; charset=utf-8", "md"),
        _ => {
            let violation = Violation::new("format", Message::new(&BAD_FORMAT));
            return Err(CallError::invalid(vec![violation]).into());
        }
    };
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"conversation-{}.{end}\"", run.id)),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    Ok((headers, Body::from(text)).into_response())
}

/// The conversation as one reads it.
fn markdown(title: &str, transcript: &Transcript) -> String {
    let mut out = format!("# {title}\n");
    for turn in &transcript.turns {
        for input in turn.input.iter().flat_map(haft_agent::message_json) {
            match input["role"].as_str() {
                Some("task") => {
                    let name = input["name"].as_str().unwrap_or_default();
                    out.push_str(&format!("\n**{name}** came back:\n\n{}\n", fenced(&input["result"])));
                }
                Some(role) => out.push_str(&format!("\n## {role}\n\n{}\n", words(&input["content"]))),
                None => {}
            }
        }
        out.push_str("\n## assistant\n");
        for step in &turn.steps {
            for call in &step.calls {
                out.push_str(&format!("\n**{}**\n\n{}\n", call.name, fenced(&call.arguments)));
                if let CallState::Done(result) = &call.state {
                    out.push_str(&format!("\n{}\n", fenced(result.get("data").unwrap_or(&result["error"]))));
                }
            }
            if !step.response.text.is_empty() {
                out.push_str(&format!("\n{}\n", step.response.text));
            }
        }
    }
    out
}

/// A fence longer than any in the text, so that nothing in it ends it.
fn fenced(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}json\n{text}\n{fence}")
}

fn words(content: &Value) -> String {
    let part = |part: &Value| part["text"].as_str().map_or_else(|| "[image]".to_owned(), str::to_owned);
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(part).collect::<Vec<_>>().join("\n\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => json!(content).to_string(),
    }
}
