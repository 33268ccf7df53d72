//! Built-in tools: code behind a definition, available to every space under a constant name.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::ToolSchema;
use crate::schema::{AlsoAccepted, any_arguments};

use crate::{
    Arguments, BoxFuture, BreakerKey, CallContext, CallError, ConfigError, Effect, Kind, Message, Prepared,
    ToolName, ToolOutput, ToolSpec, Violation,
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
pub struct BuiltinKind(Vec<Arc<dyn Builtin>>);

impl BuiltinKind {
    /// Adds a tool.
    #[must_use]
    pub fn with(mut self, builtin: impl Builtin) -> Self {
        self.0.push(Arc::new(builtin));
        self
    }
}

impl Kind for BuiltinKind {
    fn name(&self) -> &'static str {
        "builtin"
    }

    fn tools(&self) -> Vec<ToolSpec> {
        let config = |spec: &ToolSpec| Map::from_iter([("tool".to_owned(), json!(spec.name))]);
        let specs = self.0.iter().map(|builtin| builtin.spec());
        specs.map(|spec| ToolSpec { config: config(&spec), kind: self.name().into(), ..spec }).collect()
    }

    fn tool_aliases(&self) -> Vec<(&'static str, ToolName)> {
        let of = |builtin: &Arc<dyn Builtin>| {
            let name = builtin.spec().name;
            builtin.aliases().iter().map(move |alias| (*alias, name.clone()))
        };
        self.0.iter().flat_map(of).collect()
    }

    fn prepare(&self, config: &Map<String, Value>) -> Result<Arc<dyn Prepared>, ConfigError> {
        let wanted = config.get("tool").and_then(Value::as_str);
        let found = self.0.iter().find(|builtin| Some(builtin.spec().name.as_str()) == wanted);
        match found {
            Some(builtin) => {
                let own = builtin.spec().input_schema.unwrap_or_else(any_arguments);
                let own = ToolSchema::of_arguments_accepting(&own, &builtin.also_accepted());
                let own = own.map_err(ConfigError)?.ignoring_foreign_properties(None);
                Ok(Arc::new(Ready { builtin: builtin.clone(), own }))
            }
            None => {
                let known: Vec<String> = self.0.iter().map(|builtin| builtin.spec().name.into()).collect();
                Err(Violation::new("tool", Message::new(&UNKNOWN).with("known", known.join(", "))).into())
            }
        }
    }
}

struct Ready {
    builtin: Arc<dyn Builtin>,
    /// The tool's own schema. Always validated, because the code relies on its bounds, whatever schema a
    /// variant has.
    own: ToolSchema,
}

impl Ready {
    fn check(&self, arguments: &Arguments) -> Result<(), CallError> {
        let violations = self.own.violations(arguments.as_value());
        if violations.is_empty() { Ok(()) } else { Err(CallError::invalid(violations)) }
    }
}

impl Prepared for Ready {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn input_schema(&self) -> Option<Value> {
        self.builtin.spec().input_schema
    }

    fn breaker_key(&self, arguments: &Arguments) -> Option<BreakerKey> {
        self.builtin.breaker_key(arguments)
    }

    fn reads_own_files(&self, arguments: &Arguments) -> bool {
        self.builtin.reads_own_files(arguments)
    }

    /// Models see all operations as one object, and send properties of several.
    fn ignores_foreign_properties(&self) -> bool {
        true
    }

    fn explain(&self, violation: &Violation, arguments: &Value) -> Option<Message> {
        self.builtin.explain(violation, arguments)
    }

    fn also_accepted(&self) -> Vec<AlsoAccepted> {
        self.builtin.also_accepted()
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        // The schema of a variant may allow, require or fill in properties of another operation.
        if let Some(own) = self.own.without_foreign_properties(arguments) {
            return Box::pin(async move {
                self.check(&own)?;
                self.builtin.run(&own, context).await
            });
        }
        match self.check(arguments) {
            Ok(()) => self.builtin.run(arguments, context),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}
