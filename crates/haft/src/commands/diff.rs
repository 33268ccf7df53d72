//! Output of comparisons: one line per definition, the changed fields below it, and a summary of counts.

use haft_core::{Locale, Message, Template};
use serde_json::Value;

use super::text;
use crate::output::{QUIET, STRONG};
use crate::{messages, output};

/// The changes of the API, each with its text in a dry run.
const CHANGES: [(&str, &str); 4] = [
    ("created", "would create"),
    ("updated", "would update"),
    ("removed", "would remove"),
    ("unchanged", "unchanged"),
];

/// The summaries of changes that were made, by the change of the API.
const DID: [(&str, &Template); 4] = [
    ("created", &messages::CREATED),
    ("updated", &messages::UPDATED),
    ("removed", &messages::REMOVED),
    ("unchanged", &messages::UNCHANGED),
];

/// The summaries of changes of a dry run, by the change of the API.
const WOULD: [(&str, &Template); 4] = [
    ("created", &messages::WOULD_CREATE),
    ("updated", &messages::WOULD_UPDATE),
    ("removed", &messages::WOULD_REMOVE),
    ("unchanged", &messages::UNCHANGED),
];

/// Returns the width of the longest name.
pub(super) fn width(entries: &[&Value]) -> usize {
    entries.iter().map(|entry| text(entry, "name").chars().count()).max().unwrap_or(0)
}

/// Prints the change of one definition, and its changed fields.
pub(super) fn show(entry: &Value, width: usize, more: &str, dry_run: bool) {
    let change = word(text(entry, "change"), dry_run);
    let change_width = if dry_run { 12 } else { 9 };
    output::print_line(format_args!(
        "{STRONG}{:width$}{STRONG:#}  {QUIET}{change:change_width$}{QUIET:#}  {}",
        output::sanitized(text(entry, "name")),
        output::sanitized(more),
    ));
    for change in entry["changes"].as_array().into_iter().flatten() {
        let (before, after) = (change["before"].to_string(), change["after"].to_string());
        output::print_line(format_args!(
            "{:width$}  {}: {QUIET}{}{QUIET:#} → {}",
            "",
            output::sanitized(text(change, "path")),
            output::sanitized(&before),
            output::sanitized(&after),
        ));
    }
}

/// Returns the number of definitions per change, such as `2 created, 3 unchanged`.
pub(super) fn counts<'a>(entries: impl Iterator<Item = &'a Value>, dry_run: bool, locale: Locale) -> String {
    let entries: Vec<&str> = entries.map(|entry| text(entry, "change")).collect();
    let count = |change: &str| entries.iter().filter(|entry| **entry == change).count();
    let templates = if dry_run { &WOULD } else { &DID };
    let counted = templates.iter().map(|(change, template)| (count(change), *template));
    let mut parts: Vec<Message> = counted
        .filter(|(count, _)| *count > 0)
        .map(|(count, template)| Message::new(template).with("count", count))
        .collect();
    if parts.is_empty() {
        parts.push(Message::new(&messages::NOTHING_TO_CHANGE));
    }
    let template = if dry_run { &messages::NOTHING_STORED } else { &messages::COUNTS };
    Message::new(template).with_messages("counts", parts).render(locale)
}

fn word(change: &str, dry_run: bool) -> &str {
    let known = CHANGES.iter().find(|(known, _)| *known == change);
    known.filter(|_| dry_run).map_or(change, |(_, would)| would)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_name_each_change_that_happened_or_would() {
        let entries = ["created", "created", "updated", "unchanged"].map(|change| json!({"change": change}));
        let counts = |entries: &[Value], dry_run, locale| counts(entries.iter(), dry_run, locale);
        assert_eq!(counts(&entries, false, Locale::En), "2 created, 1 updated, 1 unchanged");
        assert_eq!(
            counts(&entries, true, Locale::En),
            "would create 2, would update 1, 1 unchanged; nothing was stored"
        );
        let in_chinese = counts(&entries, true, Locale::Zh);
        assert!(
            in_chinese.starts_with("将创建 2 个") && in_chinese.ends_with("；未保存任何内容"),
            "{in_chinese}"
        );
        assert_eq!(counts(&[], false, Locale::En), "nothing to change");
    }
}
