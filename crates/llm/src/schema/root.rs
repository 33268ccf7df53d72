//! Flattens the root of a schema to one object: no provider supports alternatives there.

use haft_core::Message;
use haft_core::schema::flatten::{FlattenError, flatten};
use serde_json::Value;

use super::{BAD_REFERENCE, NOT_OBJECT, TOO_LARGE};

/// Returns the schema with one object at its root, or the reason why that is impossible.
pub(super) fn flattened(schema: &Value) -> Result<Value, Message> {
    flatten(schema).map_err(|error| match error {
        FlattenError::NotObject => Message::new(&NOT_OBJECT),
        FlattenError::TooLarge => Message::new(&TOO_LARGE),
        FlattenError::UnknownReference(reference) => {
            Message::new(&BAD_REFERENCE).with("reference", reference)
        }
    })
}
