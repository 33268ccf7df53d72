//! Where two definitions differ: each place with what was there and what is.

use serde::Serialize;
use serde_json::Value;

/// So many differences of one definition are told.
const MOST_CHANGES: usize = 20;

/// A longer value is cut where a difference is told.
const LONGEST_VALUE: usize = 200;

/// One place at which two definitions differ.
#[derive(Serialize)]
pub(crate) struct Difference {
    path: String,
    before: Value,
    after: Value,
}

/// Where two definitions differ, as far as it is worth telling.
pub(crate) fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    differ("", before, after, &mut found);
    found
}

fn differ(path: &str, before: &Value, after: &Value, found: &mut Vec<Difference>) {
    if before == after || found.len() >= MOST_CHANGES {
        return;
    }
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let none = Value::Null;
            let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
            for name in names {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                differ(&path, before.get(name).unwrap_or(&none), after.get(name).unwrap_or(&none), found);
            }
        }
        _ => found.push(Difference { path: path.to_owned(), before: short(before), after: short(after) }),
    }
}

fn short(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= LONGEST_VALUE {
        return value.clone();
    }
    let end = text.floor_char_boundary(LONGEST_VALUE);
    format!("{}…", text.get(..end).unwrap_or_default()).into()
}
