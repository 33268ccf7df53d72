//! Providers as they are shown, wherever they come from. No key is ever among it.

use haft_core::provider::Provider;
use serde_json::{Value, json};

use crate::models::{Provided, Source};

/// One that is stored.
pub(super) fn stored(provider: &Provider) -> Value {
    let mut shown = json!(provider);
    shown["source"] = json!(Source::Stored);
    shown
}

/// One that is not: it has no space, no version and no history.
pub(super) fn besides(provided: &Provided) -> Value {
    json!({
        "id": provided.id,
        "spaceId": null,
        "name": provided.name,
        "kind": provided.kind,
        "baseUrl": provided.base(),
        "apiKey": null,
        "models": provided.models,
        "byOperator": true,
        "source": provided.source,
        "variable": provided.variable,
        "version": 0,
        "createdAt": null,
        "updatedAt": null,
    })
}
