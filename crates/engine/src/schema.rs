//! Schemas of stored tools, compiled at the first call of the tool: most tools of a large import are never
//! called.

use std::sync::{Arc, OnceLock};

use haft_core::{CallError, ErrorKind, Message, Prepared, ToolName, ToolSchema, Violation};
use serde_json::Value;

haft_core::templates! {
    UNUSABLE = "tool.schemaUnusable",
        "{tool} cannot be called: its {field} is invalid: {reason}; save the tool with a valid one",
        "{tool} 无法调用，因为其 {field} 无法使用：{reason}；请修改后重新保存工具";
}

/// A lazily compiled schema. Its document stays in the tool's definition.
pub(crate) struct LazySchema {
    /// The tool whose input schema this is. `None` for an output schema.
    arguments_of: Option<Arc<dyn Prepared>>,
    compiled: OnceLock<Result<ToolSchema, Vec<Violation>>>,
}

/// Compiles an input schema, including the values and properties that the tool's kind accepts or ignores
/// beyond it.
pub(crate) fn of_arguments(prepared: &dyn Prepared, document: &Value) -> Result<ToolSchema, Vec<Violation>> {
    let schema = ToolSchema::of_arguments_accepting(document, &prepared.also_accepted())?;
    if !prepared.ignores_foreign_properties() {
        return Ok(schema);
    }
    Ok(schema.ignoring_foreign_properties(prepared.input_schema().as_ref()))
}

impl LazySchema {
    /// Creates an input schema that was checked when its tool was saved.
    pub(crate) fn of_arguments(prepared: Arc<dyn Prepared>) -> Self {
        Self { arguments_of: Some(prepared), compiled: OnceLock::new() }
    }

    /// Creates an output schema that was checked when its tool was saved.
    pub(crate) fn of_output() -> Self {
        Self { arguments_of: None, compiled: OnceLock::new() }
    }

    /// Sets the compiled schema.
    pub(crate) fn with(self, schema: ToolSchema) -> Self {
        Self { compiled: OnceLock::from(Ok(schema)), ..self }
    }

    pub(crate) fn is_compiled(&self) -> bool {
        self.compiled.get().is_some()
    }

    /// Returns the compiled schema. The first call compiles it, which is slow: do not run it on async
    /// threads.
    pub(crate) fn get(&self, document: &Value, tool: &ToolName) -> Result<&ToolSchema, CallError> {
        let compile = || match &self.arguments_of {
            Some(prepared) => of_arguments(prepared.as_ref(), document),
            None => ToolSchema::of_output(document),
        };
        self.compiled.get_or_init(compile).as_ref().map_err(|violations| {
            let field = if self.arguments_of.is_some() { "inputSchema" } else { "outputSchema" };
            let reasons = violations.iter().take(3).map(|violation| violation.message.clone()).collect();
            let message = Message::new(&UNUSABLE).with("tool", tool).with("field", field);
            CallError::new(ErrorKind::Execution, message.with_messages("reason", reasons))
        })
    }
}
