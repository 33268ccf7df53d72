//! The response format of a request, and its compiled schema.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BAD_FORMAT;
use crate::{Message, ToolSchema, Violation};

/// The format of a response, in OpenAI's spelling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Any JSON object.
    JsonObject,
    JsonSchema {
        json_schema: JsonSchemaFormat,
    },
}

/// A JSON value that conforms to a schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JsonSchemaFormat {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub schema: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

impl ResponseFormat {
    /// Parses `response_format`; `None` stands for plain text.
    pub fn read(given: &Value) -> Result<Option<Self>, Message> {
        let bad = || Message::new(&BAD_FORMAT);
        if given["type"] == "text" {
            return Ok(None);
        }
        let format = Self::deserialize(given).map_err(|_| bad())?;
        if let Self::JsonSchema { json_schema: JsonSchemaFormat { name, schema, .. } } = &format {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let is_name = (1..=64).contains(&name.len()) && name.chars().all(is_plain);
            if !is_name || !schema.is_object() {
                return Err(bad());
            }
        }
        Ok(Some(format))
    }

    /// Returns the schema that the response must conform to.
    pub fn schema(&self) -> Option<&Value> {
        match self {
            Self::JsonObject => None,
            Self::JsonSchema { json_schema } => Some(&json_schema.schema),
        }
    }

    /// Checks and compiles the schema. Slow: do not run it on async threads.
    fn compile(&self) -> Result<ToolSchema, Vec<Violation>> {
        let Some(schema) = self.schema() else {
            return ToolSchema::of_output(&serde_json::json!({"type": "object"}));
        };
        let within = |violation: Violation| violation.within("response_format.json_schema.schema");
        ToolSchema::of_output(schema).map_err(|violations| violations.into_iter().map(within).collect())
    }
}

/// The schema of the response format, compiled on first use. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct FormatSchema(Arc<OnceLock<CompiledSchema>>);

type CompiledSchema = Result<Option<Arc<ToolSchema>>, Vec<Violation>>;

/// The schema is derived from the options, so it does not affect their equality.
impl PartialEq for FormatSchema {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl FormatSchema {
    pub(super) fn get(&self, format: impl FnOnce() -> Option<ResponseFormat>) -> CompiledSchema {
        let compile = || format().map(|format| format.compile().map(Arc::new)).transpose();
        self.0.get_or_init(compile).clone()
    }
}
