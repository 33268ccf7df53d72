//! How changes look: one line for each thing that was compared, and under it where it differs; and how many there are.

use haft_core::{Locale, Message, Template};
use serde_json::Value;

use super::text;
use crate::show::{QUIET, STRONG};
use crate::{messages, show};

/// What may happen to a thing: the word of the API, and the words of a dry run.
const CHANGES: [(&str, &str); 4] = [
    ("created", "would create"),
    ("updated", "would update"),
    ("removed", "would remove"),
    ("unchanged", "unchanged"),
];

/// What was done, by the word of the API.
const DID: [(&str, &Template); 4] = [
    ("created", &messages::CREATED),
    ("updated", &messages::UPDATED),
    ("removed", &messages::REMOVED),
    ("unchanged", &messages::UNCHANGED),
];

/// What a dry run would do.
const WOULD: [(&str, &Template); 4] = [
    ("created", &messages::WOULD_CREATE),
    ("updated", &messages::WOULD_UPDATE),
    ("removed", &messages::WOULD_REMOVE),
    ("unchanged", &messages::UNCHANGED),
];

/// The width of the widest name.
pub(super) fn width(things: &[&Value]) -> usize {
    things.iter().map(|thing| text(thing, "name").chars().count()).max().unwrap_or(0)
}

/// Shows what happened to one thing, or would, and where it differs.
pub(super) fn show(thing: &Value, width: usize, more: &str, dry_run: bool) {
    let change = word(text(thing, "change"), dry_run);
    let change_width = if dry_run { 12 } else { 9 };
    show::line_out(format_args!(
        "{STRONG}{:width$}{STRONG:#}  {QUIET}{change:change_width$}{QUIET:#}  {}",
        show::plain(text(thing, "name")),
        show::plain(more),
    ));
    for change in thing["changes"].as_array().into_iter().flatten() {
        let (before, after) = (change["before"].to_string(), change["after"].to_string());
        show::line_out(format_args!(
            "{:width$}  {}: {QUIET}{}{QUIET:#} → {}",
            "",
            show::plain(text(change, "path")),
            show::plain(&before),
            show::plain(&after),
        ));
    }
}

/// How many things were changed in which way, such as `2 created, 3 unchanged`.
pub(super) fn counts<'a>(things: impl Iterator<Item = &'a Value>, dry_run: bool, locale: Locale) -> String {
    let things: Vec<&str> = things.map(|thing| text(thing, "change")).collect();
    let count = |change: &str| things.iter().filter(|thing| **thing == change).count();
    let templates = if dry_run { &WOULD } else { &DID };
    let counted = templates.iter().map(|(change, template)| (count(change), *template));
    let mut said: Vec<Message> = counted
        .filter(|(count, _)| *count > 0)
        .map(|(count, template)| Message::new(template).with("count", count))
        .collect();
    if said.is_empty() {
        said.push(Message::new(&messages::NOTHING_TO_CHANGE));
    }
    let template = if dry_run { &messages::NOTHING_STORED } else { &messages::COUNTS };
    Message::new(template).with_messages("counts", said).render(locale)
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
        let things = ["created", "created", "updated", "unchanged"].map(|change| json!({"change": change}));
        let counts = |things: &[Value], dry_run, locale| counts(things.iter(), dry_run, locale);
        assert_eq!(counts(&things, false, Locale::En), "2 created, 1 updated, 1 unchanged");
        assert_eq!(
            counts(&things, true, Locale::En),
            "would create 2, would update 1, 1 unchanged; nothing was stored"
        );
        let in_chinese = counts(&things, true, Locale::Zh);
        assert!(
            in_chinese.starts_with("将创建 2 个") && in_chinese.ends_with("；未保存任何内容"),
            "{in_chinese}"
        );
        assert_eq!(counts(&[], false, Locale::En), "nothing to change");
    }
}
