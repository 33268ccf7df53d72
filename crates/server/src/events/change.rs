//! A change as callers see it: the same in the list of changes and in the stream of events.

use haft_core::UserId;
use haft_store::{Action, HistoryEntry, What};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownChange<'a> {
    /// The place in the order of all changes.
    id: String,
    #[serde(rename = "type")]
    pub(super) event: String,
    what: What,
    action: Action,
    thing_id: &'a str,
    thing_name: &'a str,
    version: Option<u64>,
    user_id: Option<UserId>,
    user_name: Option<&'a str>,
    details: &'a Value,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    at: Timestamp,
}

impl<'a> From<&'a HistoryEntry> for ShownChange<'a> {
    fn from(entry: &'a HistoryEntry) -> Self {
        Self {
            id: entry.seq.to_string(),
            event: entry.event_name(),
            what: entry.what,
            action: entry.action,
            thing_id: &entry.id,
            thing_name: &entry.name,
            version: entry.version,
            user_id: entry.user,
            user_name: entry.user_name.as_deref(),
            details: &entry.details,
            at: entry.at,
        }
    }
}
