//! The result cache of reading tools. Concurrent equal calls are executed once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::json::weight;
use haft_core::{Arguments, CallError, SpaceId, UserId};
use moka::Expiry;
use moka::future::Cache;
use serde_json::Value;

/// Cache key: calls with equal keys have equal results.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    space: SpaceId,
    user: Option<UserId>,
    /// Number of the catalog entry. Another version, or another tool of the same name, has another one.
    entry: u64,
    /// Part of the key, so that a caller with a shorter TTL never gets an older result.
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
struct CachedResult {
    data: Arc<Value>,
    ttl: Duration,
}

/// Results cached by this process, bounded by their size in bytes.
pub(crate) struct ResultCache(Cache<CallKey, CachedResult>);

impl ResultCache {
    pub(crate) fn new(bytes: u64) -> Self {
        let weigh = |key: &CallKey, cached: &CachedResult| {
            u32::try_from(key.arguments.len() + weight(&cached.data)).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(bytes).weigher(weigh).expire_after(ByTtl).build())
    }

    /// Returns the cached result, if there is one.
    pub(crate) async fn get(&self, key: &CallKey) -> Option<Arc<Value>> {
        self.0.get(key).await.map(|cached| cached.data)
    }

    /// Caches a result.
    pub(crate) async fn insert(&self, key: CallKey, ttl: Duration, data: Arc<Value>) {
        self.0.insert(key, CachedResult { data, ttl }).await;
    }

    /// Returns the cached result and true, or the result of `make` and false. Of concurrent equal calls only
    /// one runs `make`; if it is cancelled, another call runs it.
    pub(crate) async fn get_or_make(
        &self,
        key: CallKey,
        ttl: Duration,
        make: impl Future<Output = Result<Arc<Value>, CallError>>,
    ) -> Result<(Arc<Value>, bool), CallError> {
        let make = async { make.await.map(|data| CachedResult { data, ttl }) };
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

impl Expiry<CallKey, CachedResult> for ByTtl {
    fn expire_after_create(
        &self,
        _key: &CallKey,
        cached: &CachedResult,
        _created: Instant,
    ) -> Option<Duration> {
        Some(cached.ttl)
    }
}

/// Writes JSON with sorted keys, so that equal arguments have equal text.
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
