//! The result of a call: the tool's data or its error, with facts about the call.

use std::sync::Arc;
use std::time::Duration;

use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::Value;

use crate::{CallError, CallId, Locale};

/// One finished call. A tool's failure is data, like its success.
#[derive(Debug, Clone)]
pub struct ToolExecutionResult {
    pub call_id: CallId,
    /// The tool's name, or the name given by the caller if there is no such tool.
    pub tool_name: Arc<str>,
    pub outcome: Result<Arc<Value>, CallError>,
    pub execution_time: Duration,
    pub attempts: u32,
    pub cached: bool,
}

impl ToolExecutionResult {
    pub fn is_success(&self) -> bool {
        self.outcome.is_ok()
    }

    pub fn data(&self) -> Option<&Value> {
        self.outcome.as_deref().ok()
    }

    pub fn error(&self) -> Option<&CallError> {
        self.outcome.as_ref().err()
    }

    /// Returns the result for serialization in one language; the data is not copied.
    pub fn localized(&self, locale: Locale) -> Localized<'_> {
        Localized { result: self, locale }
    }
}

impl Serialize for ToolExecutionResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.localized(Locale::En).serialize(serializer)
    }
}

/// A result to be serialized in one language.
#[derive(Debug, Clone, Copy)]
pub struct Localized<'a> {
    result: &'a ToolExecutionResult,
    locale: Locale,
}

impl Serialize for Localized<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { result, locale } = self;
        let mut fields = serializer.serialize_struct("ToolExecutionResult", 7)?;
        fields.serialize_field("success", &result.is_success())?;
        match &result.outcome {
            Ok(data) => fields.serialize_field("data", data.as_ref())?,
            Err(error) => fields.serialize_field("error", &error.to_json(*locale))?,
        }
        fields.serialize_field("callId", &result.call_id)?;
        fields.serialize_field("toolName", &result.tool_name)?;
        fields.serialize_field("executionTime", &(result.execution_time.as_millis() as u64))?;
        fields.serialize_field("attempts", &result.attempts)?;
        fields.serialize_field("cached", &result.cached)?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_result_is_written_in_the_form_of_the_contract() {
        let mut result = ToolExecutionResult {
            call_id: "c1".parse().expect("an id"),
            tool_name: "weather".into(),
            outcome: Ok(Arc::new(json!({"t": 20}))),
            execution_time: Duration::from_micros(245_900),
            attempts: 1,
            cached: false,
        };
        assert_eq!(
            serde_json::to_string(&result).expect("written"),
            r#"{"success":true,"data":{"t":20},"callId":"c1","toolName":"weather","executionTime":245,"attempts":1,"cached":false}"#
        );
        result.outcome = Err(CallError::text(ErrorKind::Server, "down"));
        assert_eq!(
            serde_json::to_string(&result).expect("written"),
            r#"{"success":false,"error":{"kind":"Server","message":"down","retryable":true,"details":{}},"callId":"c1","toolName":"weather","executionTime":245,"attempts":1,"cached":false}"#
        );
    }
}
