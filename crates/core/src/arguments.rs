//! Arguments that conform to their tool's schema. Only [`crate::ToolSchema::admit`] creates them.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Validated arguments: always an object that conforms to its schema. Cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments(Arc<Value>);

impl Arguments {
    /// Wraps `object`, which the caller has validated.
    pub(crate) fn checked(object: Value) -> Self {
        Self(Arc::new(object))
    }

    /// Creates empty arguments, for queries about a tool outside of a call.
    pub fn none() -> Self {
        Self(Arc::new(Value::Object(serde_json::Map::new())))
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// Returns the value without copying it.
    pub fn shared(&self) -> Arc<Value> {
        self.0.clone()
    }

    /// Deserializes the arguments as a Rust type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(self.as_value())
    }
}
