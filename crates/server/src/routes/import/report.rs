//! What an import tells: tools with their differences, what was left out, notes, names of secrets.

use haft_core::{Locale, Message};
use haft_http::import::Skipped;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::difference::Difference;

/// What was found out, before it becomes words.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) tools: Vec<ToolReport>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) notes: Vec<Message>,
    pub(super) secrets: Vec<String>,
    pub(super) removed: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    tools: Vec<ToolReport>,
    skipped: Vec<LeftOut>,
    /// What came in, but not as the source has it; and what is to do.
    notes: Vec<String>,
    /// Names that the tools' secrets have; values never go out.
    secrets: Vec<String>,
    /// Tools of an earlier import of the document that it no longer has. They stay.
    removed: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolReport {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) method: String,
    pub(super) path: String,
    /// As text, which takes a tenth of the memory.
    pub(super) input_schema: Box<RawValue>,
    pub(super) change: Change,
    /// The whole definition, of a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) definition: Option<Box<RawValue>>,
    /// A call with example arguments as a cURL command, of a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<String>,
    /// Where the definition differs from the version before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<Difference>,
}

#[derive(Serialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) enum Change {
    Created,
    Updated,
    Unchanged,
}

#[derive(Serialize)]
pub(super) struct LeftOut {
    operation: String,
    reason: String,
}

impl Report {
    pub(super) fn of(found: Findings, locale: Locale) -> Self {
        Self {
            tools: found.tools,
            skipped: left_out(found.skipped, locale),
            notes: found.notes.iter().map(|note| note.render(locale)).collect(),
            secrets: found.secrets,
            removed: found.removed,
        }
    }
}

pub(super) fn left_out(skipped: Vec<Skipped>, locale: Locale) -> Vec<LeftOut> {
    let told =
        |skipped: Skipped| LeftOut { operation: skipped.operation, reason: skipped.reason.render(locale) };
    skipped.into_iter().map(told).collect()
}
