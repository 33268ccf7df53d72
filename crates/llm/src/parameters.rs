//! The parameter schema of a tool, with its adaptation for each dialect cached.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use haft_core::Message;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::schema::Form;

/// A JSON Schema; each dialect gets the part that it supports. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Parameters(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    schema: Value,
    open_ai: OnceLock<Result<Value, Message>>,
    anthropic: OnceLock<Result<Value, Message>>,
    subset: OnceLock<Result<Value, Message>>,
}

impl Parameters {
    /// The schema adapted for a dialect, or the reason why it cannot be.
    pub(crate) fn adapted(&self, form: Form) -> Result<&Value, &Message> {
        let known = match form {
            Form::OpenAi => &self.0.open_ai,
            Form::Anthropic => &self.0.anthropic,
            Form::Subset => &self.0.subset,
        };
        known.get_or_init(|| form.adapt(&self.0.schema)).as_ref()
    }
}

impl From<Value> for Parameters {
    fn from(schema: Value) -> Self {
        let (open_ai, anthropic, subset) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self(Arc::new(Inner { schema, open_ai, anthropic, subset }))
    }
}

impl Deref for Parameters {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0.schema
    }
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.schema.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}
