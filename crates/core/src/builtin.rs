//! Built-in tools: code behind a definition, available to every space under a constant name.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use crate::ToolSchema;
use crate::schema::{AlsoAccepted, any_arguments};

use crate::{
    Arguments, BoxFuture, BreakerKey, CallContext, CallError, ConfigError, Effect, Kind, Message, Prepared,
    ToolContext, ToolName, ToolOutput, ToolSpec, Violation,
};

crate::templates! {
    UNKNOWN = "builtin.unknown",
        "there is no built-in tool of that name; there are {known}",
        "没有这个内置工具；可用的有：{known}";
}

/// One built-in tool: its definition and its code.
pub trait Builtin: Send + Sync + 'static {
    /// Returns the definition: name, title, description, schemas. The name is the id.
    fn spec(&self) -> ToolSpec;

    /// Returns former names.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the key of calls that fail together. Returns `None` for a tool without an upstream.
    fn breaker_key(&self, _arguments: &Arguments) -> Option<BreakerKey> {
        None
    }

    /// Returns true if a call reads files of its caller: its result is then cached for that caller only.
    fn reads_own_files(&self, _arguments: &Arguments) -> bool {
        false
    }

    /// Returns a better message for a violation than the schema gives, if there is one.
    fn explain(&self, _violation: &Violation, _arguments: &Value) -> Option<Message> {
        None
    }

    /// Returns values that an argument's `enum` accepts without listing them.
    fn also_accepted(&self) -> Vec<AlsoAccepted> {
        Vec::new()
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>>;
}

/// The kind `builtin`. `config` names the tool, so a user can define a variant with a narrower schema.
#[derive(Default)]
pub struct BuiltinKind(Vec<Arc<BuiltinTool>>);

/// A built-in tool with its definition.
struct BuiltinTool {
    builtin: Box<dyn Builtin>,
    spec: ToolSpec,
    /// The tool's own input schema, compiled at its first call.
    schema: OnceLock<Result<ToolSchema, Vec<Violation>>>,
}

impl BuiltinKind {
    /// Adds a tool.
    #[must_use]
    pub fn with(mut self, builtin: impl Builtin) -> Self {
        let spec = builtin.spec();
        self.0.push(Arc::new(BuiltinTool { builtin: Box::new(builtin), spec, schema: OnceLock::new() }));
        self
    }
}

impl BuiltinTool {
    fn name(&self) -> &str {
        self.spec.name.as_str()
    }

    fn schema(&self) -> Result<&ToolSchema, CallError> {
        let compile = || {
            let any = any_arguments();
            let document = self.spec.input_schema.as_ref().unwrap_or(&any);
            let schema = ToolSchema::of_arguments_accepting(document, &self.builtin.also_accepted())?;
            Ok(schema.ignoring_foreign_properties(None))
        };
        let schema = self.schema.get_or_init(compile).as_ref();
        schema.map_err(|violations| CallError::invalid(violations.clone()))
    }
}

impl Kind for BuiltinKind {
    fn name(&self) -> &'static str {
        "builtin"
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let config = |spec: &ToolSpec| Map::from_iter([("tool".to_owned(), json!(spec.name))]);
        let specs = self.0.iter().map(|tool| tool.spec.clone());
        specs.map(|spec| ToolSpec { config: config(&spec), kind: self.name().into(), ..spec }).collect()
    }

    fn tool_aliases(&self) -> Vec<(&'static str, ToolName)> {
        let of = |tool: &Arc<BuiltinTool>| {
            let name = tool.spec.name.clone();
            tool.builtin.aliases().iter().map(move |alias| (*alias, name.clone()))
        };
        self.0.iter().flat_map(of).collect()
    }

    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        let wanted = tool.config.get("tool").and_then(Value::as_str);
        match self.0.iter().find(|tool| Some(tool.name()) == wanted) {
            Some(tool) => Ok(Arc::new(PreparedBuiltin(tool.clone()))),
            None => {
                let known: Vec<&str> = self.0.iter().map(|tool| tool.name()).collect();
                Err(Violation::new("tool", Message::new(&UNKNOWN).with("known", known.join(", "))).into())
            }
        }
    }
}

/// A built-in tool, ready to be called.
struct PreparedBuiltin(Arc<BuiltinTool>);

impl PreparedBuiltin {
    /// Validates against the tool's own schema, because the code relies on its bounds, whatever schema a
    /// variant has.
    fn check(schema: &ToolSchema, arguments: &Arguments) -> Result<(), CallError> {
        let violations = schema.violations(arguments.as_value());
        if violations.is_empty() { Ok(()) } else { Err(CallError::invalid(violations)) }
    }
}

impl Prepared for PreparedBuiltin {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn input_schema(&self) -> Option<Value> {
        self.0.spec.input_schema.clone()
    }

    fn breaker_key(&self, arguments: &Arguments) -> Option<BreakerKey> {
        self.0.builtin.breaker_key(arguments)
    }

    fn reads_own_files(&self, arguments: &Arguments) -> bool {
        self.0.builtin.reads_own_files(arguments)
    }

    /// Models see all operations as one object, and send properties of several.
    fn ignores_foreign_properties(&self) -> bool {
        true
    }

    fn explain(&self, violation: &Violation, arguments: &Value) -> Option<Message> {
        self.0.builtin.explain(violation, arguments)
    }

    fn also_accepted(&self) -> Vec<AlsoAccepted> {
        self.0.builtin.also_accepted()
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        let schema = match self.0.schema() {
            Ok(schema) => schema,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        // The schema of a variant may allow, require or fill in properties of another operation.
        if let Some(own) = schema.without_foreign_properties(arguments) {
            return Box::pin(async move {
                Self::check(schema, &own)?;
                self.0.builtin.run(&own, context).await
            });
        }
        match Self::check(schema, arguments) {
            Ok(()) => self.0.builtin.run(arguments, context),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}
