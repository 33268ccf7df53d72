//! Arguments that fit their tool's schema. Only [`crate::ToolSchema::admit`] makes them.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Checked arguments: always an object, and valid against the schema they were checked with. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments(Arc<Value>);

impl Arguments {
    /// The caller has validated `object`.
    pub(crate) fn checked(object: Value) -> Self {
        Self(Arc::new(object))
    }

    /// No arguments at all, for what is asked of a tool outside of any call.
    pub fn none() -> Self {
        Self(Arc::new(Value::Object(serde_json::Map::new())))
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The same value, kept for as long as anyone needs it.
    pub fn shared(&self) -> Arc<Value> {
        self.0.clone()
    }

    /// Reads them as a Rust type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(self.as_value())
    }
}
