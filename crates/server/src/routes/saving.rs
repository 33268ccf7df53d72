//! What saving anything has in common: the form of a body, dry runs, versions, patches, fields that the server sets.

use std::sync::LazyLock;

use haft_core::{CallError, ErrorKind, Message, ToolSchema, Violation};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tools::KEPT_BY_SERVER;

haft_core::templates! {
    STALE = "saving.stale",
        "{name} has been changed: its version is {actual}, not {expected}; read it again and repeat the change",
        "{name} 已被修改：当前版本是 {actual}，不是 {expected}；请重新读取后再修改";
    TAKEN = "saving.taken",
        "{name} exists already",
        "{name} 已存在";
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Saving {
    /// All checks are made and nothing is stored.
    #[serde(default, alias = "dry_run")]
    pub(crate) dry_run: bool,
}

/// The form that bodies of one sort have.
pub(crate) type Form = LazyLock<Result<ToolSchema, Vec<Violation>>>;

/// Reads a form. A test of whoever has one shows that it is good.
pub(crate) fn form(document: &str) -> Result<ToolSchema, Vec<Violation>> {
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    ToolSchema::of_arguments(&document)
}

/// Where a body does not have its form, all at once.
pub(crate) fn misfits(form: &Form, body: &Value) -> Vec<Violation> {
    match &**form {
        Ok(form) => form.violations(body),
        Err(violations) => violations.clone(),
    }
}

pub(crate) fn refuse(violations: Vec<Violation>) -> Result<(), CallError> {
    if violations.is_empty() { Ok(()) } else { Err(CallError::invalid(violations)) }
}

/// Takes those of some fields that are there.
pub(crate) fn take(fields: &mut Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let taken = names.iter().filter_map(|name| Some(((*name).to_owned(), fields.shift_remove(*name)?)));
    taken.collect()
}

/// Fields that the server sets may come along, as long as they say what is so.
pub(crate) fn differing(server_fields: &Map<String, Value>, actual: &Value) -> Vec<Violation> {
    let differs =
        |(name, value): &(&String, &Value)| !value.is_null() && actual.get(name.as_str()) != Some(*value);
    let say = |(name, _): (&String, &Value)| Violation::new(name, Message::new(&KEPT_BY_SERVER));
    server_fields.iter().filter(differs).map(say).collect()
}

/// Says that a change builds upon another version than the one that is there.
pub(crate) fn check_version(name: &str, actual: u64, expected: u64) -> Result<(), CallError> {
    if actual == expected {
        return Ok(());
    }
    let message = Message::new(&STALE).with("name", name).with("actual", actual).with("expected", expected);
    Err(CallError::new(ErrorKind::Conflict, message).detail("version", actual))
}

pub(crate) fn taken(name: &str) -> CallError {
    CallError::new(ErrorKind::Conflict, Message::new(&TAKEN).with("name", name)).detail("name", name)
}

/// RFC 7396: objects merge, null takes away, everything else replaces.
pub(crate) fn merge(into: &mut Value, changes: Value) {
    let Value::Object(changes) = changes else {
        *into = changes;
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    let Value::Object(fields) = into else { return };
    for (name, value) in changes {
        if value.is_null() {
            fields.shift_remove(&name);
        } else {
            merge(fields.entry(name).or_insert(Value::Null), value);
        }
    }
}

/// Adds the other language to a title in one language if the stored title has the same text in both.
///
/// The stored text was then copied from one language to the other, and the copy would be outdated. If one text is
/// Chinese and the other is not, the new one is a translation, and the stored text stays.
pub(crate) fn complete_title(before: &Value, changes: &mut Map<String, Value>) {
    let stored = &before["title"];
    let Some(copied) = stored["en"].as_str().filter(|text| stored["zh"] == **text) else { return };
    let Some(title) = changes.get_mut("title").and_then(Value::as_object_mut) else { return };
    for (given, missing) in [("en", "zh"), ("zh", "en")] {
        if let Some(text) = title.get(given).and_then(Value::as_str)
            && !title.contains_key(missing)
            && is_chinese(text) == is_chinese(copied)
        {
            let text = Value::from(text);
            title.insert(missing.to_owned(), text);
        }
    }
}

fn is_chinese(text: &str) -> bool {
    text.chars().any(|character| ('\u{4e00}'..='\u{9fff}').contains(&character))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn title_in_both_languages_follows_a_change_of_one_unless_it_is_the_translation() {
        let same = json!({"en": "Weather", "zh": "Weather"});
        for (stored, given, expected) in [
            (&same, json!({"en": "New"}), json!({"en": "New", "zh": "New"})),
            (&same, json!({"zh": "New"}), json!({"zh": "New", "en": "New"})),
            (&same, json!({"zh": "天气"}), json!({"zh": "天气"})),
            (&same, json!({"en": "New", "zh": "天气"}), json!({"en": "New", "zh": "天气"})),
            (&same, json!({"en": "New", "zh": null}), json!({"en": "New", "zh": null})),
            (&same, json!("New"), json!("New")),
            (&same, json!(null), json!(null)),
            (&json!({"en": "天气", "zh": "天气"}), json!({"en": "Weather"}), json!({"en": "Weather"})),
            (
                &json!({"en": "天气", "zh": "天气"}),
                json!({"zh": "气象"}),
                json!({"zh": "气象", "en": "气象"}),
            ),
            (&json!({"en": "Weather", "zh": "天气"}), json!({"en": "New"}), json!({"en": "New"})),
            (&json!(null), json!({"en": "New"}), json!({"en": "New"})),
        ] {
            let mut changes = Map::from_iter([("title".to_owned(), given.clone())]);
            complete_title(&json!({"title": stored}), &mut changes);
            assert_eq!(changes["title"], expected, "{stored} and {given}");
        }
    }

    #[test]
    fn a_patch_merges_objects_and_null_takes_away() {
        let mut value = json!({"a": {"b": 1, "c": 2}, "d": [1, 2], "e": 3});
        merge(&mut value, json!({"a": {"b": null, "x": {"y": null}}, "d": [3], "e": {"f": 1}}));
        assert_eq!(value, json!({"a": {"c": 2, "x": {}}, "d": [3], "e": {"f": 1}}));
        merge(&mut value, json!([1]));
        assert_eq!(value, json!([1]));
    }

    #[test]
    fn what_the_server_sets_may_come_along_when_it_is_so() {
        let actual = json!({"id": "a", "version": 2});
        let kept = |value: Value| value.as_object().cloned().unwrap_or_default();
        assert!(differing(&kept(json!({"id": "a", "version": 2, "ownerId": null})), &actual).is_empty());
        let wrong = differing(&kept(json!({"id": "b", "ownerId": "x"})), &actual);
        assert_eq!(
            wrong.iter().map(|violation| violation.path.as_str()).collect::<Vec<_>>(),
            ["id", "ownerId"]
        );
    }
}
