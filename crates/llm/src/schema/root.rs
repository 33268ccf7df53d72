//! The root of a schema as one plain object: no provider takes alternatives there.

use haft_core::Message;
use haft_core::schema::flatten::{FlattenError, flatten};
use serde_json::Value;

use super::{BAD_REFERENCE, NOT_OBJECT, TOO_LARGE};

/// Returns the schema with one object at its root, or why there is none.
pub(super) fn flattened(schema: &Value) -> Result<Value, Message> {
    flatten(schema).map_err(|error| match error {
        FlattenError::NotObject => Message::new(&NOT_OBJECT),
        FlattenError::TooLarge => Message::new(&TOO_LARGE),
        FlattenError::UnknownReference(reference) => {
            Message::new(&BAD_REFERENCE).with("reference", reference)
        }
    })
}
