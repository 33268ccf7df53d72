//! Arguments that fit their tool's schema. Only [`crate::ToolSchema::admit`] makes them.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Checked arguments: always an object, and valid against the schema they were checked with.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments(Value);

impl Arguments {
    /// The caller has validated `object`.
    pub(crate) fn checked(object: Value) -> Self {
        Self(object)
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// Reads them as a Rust type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        T::deserialize(&self.0)
    }
}

impl From<Arguments> for Value {
    fn from(arguments: Arguments) -> Self {
        arguments.0
    }
}
