//! The definition of a tool in a Rust program, before it is registered.

use std::sync::Arc;

use haft_core::schema::any_arguments;
use haft_core::{CallContext, CallError, Effect, Policy, Prepared, ToolSpec, tool};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::native::{Native, NativeResult};

/// An unchecked definition: its fields and, if it is native, its function. It is validated when it is
/// registered.
pub struct Tool {
    definition: Value,
    native: Option<Native>,
    /// No field of a definition, so it is passed separately.
    description_zh: Option<&'static str>,
}

impl Tool {
    /// Creates a tool of any kind from its main fields.
    pub fn new(name: &str, description: &str, kind: &str, config: Value) -> Self {
        Self::from_fields(
            json!({"name": name, "description": description, "type": kind, "config": config}),
            None,
        )
    }

    /// Creates a tool of any kind from its definition as JSON, in any form that the API accepts.
    pub fn from_json(definition: Value) -> Self {
        Self::from_fields(definition, None)
    }

    /// Creates a tool from a Rust function, sync or async. Its schema is generated from its argument type. A
    /// sync function runs on a thread for blocking work.
    pub fn native<A, F, R, M>(name: &str, description: &str, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A) -> R + Send + Sync + 'static,
        R: NativeResult<M>,
        M: 'static,
    {
        Self::native_with(name, description, move |arguments: A, _: CallContext| function(arguments))
    }

    /// Creates a tool from a function that also receives a context: ids of the call, progress, cancellation.
    pub fn native_with<A, F, R, M>(name: &str, description: &str, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, CallContext) -> R + Send + Sync + 'static,
        R: NativeResult<M>,
        M: 'static,
    {
        Self::with_function(name, description, schema_of::<A>(), Native::new(function))
    }

    /// Creates a tool from a function with a given schema and JSON arguments.
    pub fn native_json<F, R, M>(name: &str, description: &str, schema: Value, function: F) -> Self
    where
        F: Fn(Value, CallContext) -> R + Send + Sync + 'static,
        R: NativeResult<M>,
        M: 'static,
    {
        Self::with_function(name, description, schema, Native::new(function))
    }

    fn with_function(name: &str, description: &str, schema: Value, native: Native) -> Self {
        let fields = json!({
            "name": name, "description": description, "type": crate::prepare::NATIVE, "inputSchema": schema,
        });
        Self::from_fields(fields, Some(native))
    }

    fn from_fields(definition: Value, native: Option<Native>) -> Self {
        Self { definition, native, description_zh: None }
    }

    #[must_use]
    pub fn input_schema(self, schema: Value) -> Self {
        self.set("inputSchema", schema)
    }

    #[must_use]
    pub fn output_schema(self, schema: Value) -> Self {
        self.set("outputSchema", schema)
    }

    /// Marks the tool as slow: an agent continues without waiting for its result.
    #[must_use]
    pub fn run_async(self) -> Self {
        self.set("async", true)
    }

    #[must_use]
    pub fn timeout_ms(self, milliseconds: u64) -> Self {
        self.set("timeout", milliseconds)
    }

    /// Sets the timeout of the whole call, with all attempts and the pauses between them: 1 to 3,600,000 ms. Any other
    /// value is an error when the tool is registered. A longer timeout in the call options extends it.
    ///
    /// The default is 120,000 ms, or the timeout of one attempt (`timeout_ms`) if that is longer.
    #[must_use]
    pub fn total_timeout_ms(self, milliseconds: u64) -> Self {
        self.set("totalTimeout", milliseconds)
    }

    #[must_use]
    pub fn effect(self, effect: Effect) -> Self {
        self.set("effect", json!(effect))
    }

    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        self.set("policy", json!(policy))
    }

    /// Sets the number of retries after the first attempt.
    #[must_use]
    pub fn retries(self, further_attempts: u32) -> Self {
        self.set("retryCount", further_attempts)
    }

    #[must_use]
    pub fn retry_delay_ms(self, milliseconds: u64) -> Self {
        self.set("retryDelay", milliseconds)
    }

    #[must_use]
    pub fn cache_seconds(self, seconds: u64) -> Self {
        self.set("cacheTtl", seconds)
    }

    #[must_use]
    pub fn per_minute(self, calls: u32, burst: u32) -> Self {
        self.set("rateLimit", json!({"perMinute": calls, "burst": burst}))
    }

    #[must_use]
    pub fn max_concurrency(self, calls: u32) -> Self {
        self.set("maxConcurrency", calls)
    }

    #[must_use]
    pub fn category(self, category: &str) -> Self {
        self.set("category", category)
    }

    #[must_use]
    pub fn title(self, en: &str, zh: &str) -> Self {
        self.set("title", json!({"en": en, "zh": zh}))
    }

    #[must_use]
    pub fn icon(self, name: &str) -> Self {
        self.set("icon", name)
    }

    /// Disables the tool: a call returns `ToolDisabled`.
    #[must_use]
    pub fn inactive(self) -> Self {
        self.set("isActive", false)
    }

    fn set(mut self, field: &str, value: impl Into<Value>) -> Self {
        // A definition that is not an object is rejected on registration, whatever is set here.
        if let Value::Object(fields) = &mut self.definition {
            fields.insert(field.to_owned(), value.into());
        }
        self
    }

    /// Returns the tool as models get it: `{"type": "function", "function": {…}}`.
    pub fn definition(&self) -> Value {
        let field = |name: &str| self.definition.get(name).cloned();
        json!({
            "type": "function",
            "function": {
                "name": field("name"),
                "description": field("description"),
                "parameters": field("inputSchema").unwrap_or_else(any_arguments),
            },
        })
    }

    pub(crate) fn into_parts(self) -> Result<(ToolSpec, Option<Arc<dyn Prepared>>), CallError> {
        let input = tool::input::parse(self.definition).map_err(CallError::invalid)?;
        let spec = ToolSpec { description_zh: self.description_zh, ..input.spec };
        Ok((spec, self.native.map(|native| Arc::new(native) as Arc<dyn Prepared>)))
    }
}

impl From<ToolSpec> for Tool {
    fn from(spec: ToolSpec) -> Self {
        Self { description_zh: spec.description_zh, ..Self::from_fields(json!(spec), None) }
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// Returns the schema of an argument type, without the fields that only its generator uses.
fn schema_of<A: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(A);
    schema.remove("$schema");
    schema.remove("title");
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Forecast {
        /// The name of the city.
        city: String,
        days: Option<u8>,
    }

    #[test]
    fn the_schema_comes_from_the_argument_type() {
        let tool = Tool::native("forecast", "Weather.", |_: Forecast| async move { Ok(json!({})) });
        assert_eq!(
            tool.definition(),
            json!({"type": "function", "function": {"name": "forecast", "description": "Weather.", "parameters": {
                "type": "object",
                "properties": {
                    "city": {"description": "The name of the city.", "type": "string"},
                    "days": {"type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 255},
                },
                "required": ["city"],
            }}})
        );
    }
}
