//! Answers kept for equal calls of reading tools, and one flight for equal calls at the same time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::json::weight;
use haft_core::{Arguments, CallError, SpaceId, UserId};
use moka::Expiry;
use moka::future::Cache;
use serde_json::Value;

/// What makes two calls equal.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    space: SpaceId,
    user: Option<UserId>,
    /// Which entry of the catalogue: another version, or another tool of the same name, is another one.
    entry: u64,
    /// Whoever wants answers to be younger takes none that was kept for longer.
    ttl: Duration,
    arguments: String,
}

impl CallKey {
    pub(crate) fn new(
        space: SpaceId,
        user: Option<UserId>,
        (entry, ttl): (u64, Duration),
        arguments: &Arguments,
    ) -> Self {
        let mut text = String::new();
        write_canonical(arguments.as_value(), &mut text);
        Self { space, user, entry, ttl, arguments: text }
    }
}

#[derive(Clone)]
struct Kept {
    data: Arc<Value>,
    ttl: Duration,
}

/// Answers of this process, bounded by their size in bytes.
pub(crate) struct AnswerCache(Cache<CallKey, Kept>);

impl AnswerCache {
    pub(crate) fn new(bytes: u64) -> Self {
        let weigh = |key: &CallKey, kept: &Kept| {
            u32::try_from(key.arguments.len() + weight(&kept.data)).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(bytes).weigher(weigh).expire_after(ByTtl).build())
    }

    /// The kept answer, if there is one.
    pub(crate) async fn get(&self, key: &CallKey) -> Option<Arc<Value>> {
        self.0.get(key).await.map(|kept| kept.data)
    }

    /// Keeps an answer.
    pub(crate) async fn keep(&self, key: CallKey, ttl: Duration, data: Arc<Value>) {
        self.0.insert(key, Kept { data, ttl }).await;
    }

    /// The kept answer and true, or what `make` answers and false. Of equal calls at
    /// the same time only one makes it; when that one goes away, the next does.
    pub(crate) async fn get_or_make(
        &self,
        key: CallKey,
        ttl: Duration,
        make: impl Future<Output = Result<Arc<Value>, CallError>>,
    ) -> Result<(Arc<Value>, bool), CallError> {
        let make = async { make.await.map(|data| Kept { data, ttl }) };
        match self.0.entry(key).or_try_insert_with(make).await {
            Ok(entry) => {
                let fresh = entry.is_fresh();
                Ok((entry.into_value().data, !fresh))
            }
            Err(error) => Err((*error).clone()),
        }
    }
}

struct ByTtl;

impl Expiry<CallKey, Kept> for ByTtl {
    fn expire_after_create(&self, _key: &CallKey, kept: &Kept, _created: Instant) -> Option<Duration> {
        Some(kept.ttl)
    }
}

/// JSON with its keys in order, so that equal arguments are equal text.
fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            text.push('{');
            for name in names {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_canonical(&fields[name], text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_arguments_have_equal_text_and_others_do_not() {
        let text = |value: Value| {
            let mut text = String::new();
            write_canonical(&value, &mut text);
            text
        };
        assert_eq!(
            text(json!({"a": 1, "b": {"d": [1], "c": 2}})),
            text(json!({"b": {"c": 2, "d": [1]}, "a": 1}))
        );
        for (one, other) in [
            (json!({"a": 1}), json!({"a": "1"})),
            (json!({"a": [1, 2]}), json!({"a": [2, 1]})),
            (json!({"a": [[1], 2]}), json!({"a": [[1, 2]]})),
            (json!({"a": "b\":1"}), json!({"a\":\"b": 1})),
            (json!({"a": null}), json!({})),
        ] {
            assert_ne!(text(one), text(other));
        }
    }
}
