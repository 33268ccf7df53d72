//! Preparation: turns a definition into a callable tool. Finds its kind, checks its config, compiles its
//! schemas.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use haft_core::call::{CallInfo, Validation};
use haft_core::nearest::nearest;
use haft_core::schema::{Admitted, any_arguments};
use haft_core::{
    CallContext, CallError, CallId, Caller, CurlCommand, Effect, Kind, KindName, Message, PolicyRule,
    Prepared, SpaceId, ToolContext, ToolId, ToolIdentity, ToolName, ToolSchema, ToolSpec, Violation,
};
use serde_json::Value;

use crate::schema::{LazySchema, of_arguments};

haft_core::templates! {
    UNKNOWN_KIND = "tool.unknownKind",
        "{kind} is not a kind of tool this server can run; it can run {known}",
        "{kind} 不是本服务支持的工具类型；支持：{known}";
    UNKNOWN_KIND_NEAR = "tool.unknownKindNear",
        "{kind} is not a kind of tool this server can run; did you mean {near}?",
        "{kind} 不是本服务支持的工具类型；是否想用 {near}？";
    NOT_STORABLE = "tool.nativeWithoutFunction",
        "a native tool is a function of the program itself and cannot be defined from outside",
        "原生工具是程序自身的函数，不能从外部定义";
}

/// Kinds that some programs do not include. They are no misspellings of another kind.
const NAMED_KINDS: [&str; 5] = ["agent", "builtin", "flow", "mcp", "python"];

/// The `type` of tools that are Rust functions.
pub(crate) const NATIVE: &str = "native";

/// The tool kinds that a service can run, by name and alias.
#[derive(Default, Clone)]
pub(crate) struct Kinds(HashMap<&'static str, Arc<dyn Kind>>);

impl Kinds {
    pub(crate) fn add(&mut self, kind: Arc<dyn Kind>) {
        for alias in kind.aliases() {
            self.0.insert(alias, kind.clone());
        }
        self.0.insert(kind.name(), kind);
    }

    /// Returns the tools that the kinds provide.
    pub(crate) fn tools(&self) -> Vec<ToolSpec> {
        // An alias is the same kind under another key.
        let kinds = self.0.iter().filter(|(name, kind)| **name == kind.name());
        kinds.flat_map(|(_, kind)| kind.tools()).collect()
    }

    /// Returns the aliases of those tools.
    pub(crate) fn tool_aliases(&self) -> HashMap<&'static str, ToolName> {
        self.0.values().flat_map(|kind| kind.tool_aliases()).collect()
    }

    /// Prepares a definition that is to be saved, or returns everything that is wrong with it. Slow: do not
    /// run it on async threads.
    pub(crate) fn prepare(
        &self,
        space: Option<SpaceId>,
        id: Option<&ToolId>,
        spec: ToolSpec,
        native: Option<Arc<dyn Prepared>>,
    ) -> Result<PreparedTool, CallError> {
        let mut spec = spec;
        let mut violations = Vec::new();
        let prepared = match native {
            Some(native) => Some(native),
            None => match self.prepare_config(space, id, &mut spec) {
                Ok(prepared) => Some(prepared),
                Err(found) => {
                    violations.extend(found);
                    None
                }
            },
        };
        if let Some(prepared) = &prepared {
            let found = prepared.save_violations().iter().cloned();
            violations.extend(found.map(|violation| violation.within("config")));
        }
        if spec.input_schema.is_none() {
            let generated = prepared.as_ref().and_then(|prepared| prepared.input_schema());
            spec.input_schema = Some(generated.unwrap_or_else(any_arguments));
        }
        let input = spec.input_schema.as_ref().map(|schema| match &prepared {
            Some(prepared) => of_arguments(prepared.as_ref(), schema),
            None => ToolSchema::of_arguments(schema),
        });
        let input = collect(input.transpose(), "inputSchema", &mut violations);
        let output = spec.output_schema.as_ref().map(ToolSchema::of_output);
        let output = collect(output.transpose(), "outputSchema", &mut violations);
        let policy = PolicyRule::read(spec.policy, spec.ask_when.as_deref()).unwrap_or_else(|violation| {
            violations.push(violation);
            PolicyRule::default()
        });
        match (prepared, input) {
            (Some(prepared), Some(input)) if violations.is_empty() => {
                spec.input_schema = Some(input.document().clone());
                let effect = spec.effect.unwrap_or_else(|| prepared.effect());
                let input = LazySchema::of_arguments(prepared.clone()).with(input);
                let output = output.map(|output| LazySchema::of_output().with(output));
                let callable = Callable { input, output, prepared, effect, policy };
                Ok(PreparedTool { spec, callable })
            }
            _ => Err(CallError::invalid(violations)),
        }
    }

    /// Prepares a stored definition, which was checked when it was saved. Its schemas are compiled at the
    /// first call.
    pub(crate) fn prepare_stored(
        &self,
        space: Option<SpaceId>,
        id: &ToolId,
        spec: &ToolSpec,
    ) -> Result<Callable, CallError> {
        if spec.input_schema.is_none() {
            return self.prepare(space, Some(id), spec.clone(), None).map(|tool| tool.callable);
        }
        let kind = self.find(&spec.kind).map_err(|violation| CallError::invalid(vec![violation]))?;
        let prepared =
            kind.prepare(&context(space, Some(id), spec)).map_err(|error| CallError::invalid(error.0))?;
        let policy = PolicyRule::read(spec.policy, spec.ask_when.as_deref())
            .map_err(|violation| CallError::invalid(vec![violation]))?;
        Ok(Callable {
            input: LazySchema::of_arguments(prepared.clone()),
            output: spec.output_schema.is_some().then(LazySchema::of_output),
            effect: spec.effect.unwrap_or_else(|| prepared.effect()),
            prepared,
            policy,
        })
    }

    pub(crate) fn find(&self, kind: &KindName) -> Result<&Arc<dyn Kind>, Violation> {
        self.0.get(kind.as_str()).ok_or_else(|| Violation::new("type", self.unknown(kind)))
    }

    fn prepare_config(
        &self,
        space: Option<SpaceId>,
        id: Option<&ToolId>,
        spec: &mut ToolSpec,
    ) -> Result<Arc<dyn Prepared>, Vec<Violation>> {
        let kind = self.find(&spec.kind).map_err(|violation| vec![violation])?;
        spec.kind = KindName::from(kind.name());
        let within_config = |error: haft_core::ConfigError| {
            error.0.into_iter().map(|violation| violation.within("config")).collect::<Vec<_>>()
        };
        kind.prepare(&context(space, id, spec)).map_err(within_config)
    }

    fn unknown(&self, kind: &KindName) -> Message {
        if kind.as_str() == NATIVE {
            return Message::new(&NOT_STORABLE);
        }
        let mut known: Vec<&str> = self.0.values().map(|kind| kind.name()).collect();
        known.sort_unstable();
        known.dedup();
        let is_misspelled = !NAMED_KINDS.contains(&kind.as_str());
        let near = nearest(kind.as_str(), known.iter().copied().filter(|_| is_misspelled), 1);
        match near.first() {
            Some(near) => Message::new(&UNKNOWN_KIND_NEAR).with("kind", kind).with("near", near),
            None if known.is_empty() => Message::new(&UNKNOWN_KIND).with("kind", kind).with("known", NATIVE),
            None => Message::new(&UNKNOWN_KIND).with("kind", kind).with("known", known.join(", ")),
        }
    }
}

fn context<'a>(space: Option<SpaceId>, id: Option<&'a ToolId>, spec: &'a ToolSpec) -> ToolContext<'a> {
    ToolContext { space, tool: ToolIdentity { id, name: &spec.name }, config: &spec.config }
}

/// Returns the compiled schema, or adds its errors to the violations.
fn collect(
    compiled: Result<Option<ToolSchema>, Vec<Violation>>,
    field: &str,
    violations: &mut Vec<Violation>,
) -> Option<ToolSchema> {
    compiled.unwrap_or_else(|found| {
        violations.extend(found.into_iter().map(|violation| violation.within(field)));
        None
    })
}

/// A checked definition, ready to be put into the catalog.
pub struct PreparedTool {
    pub(crate) spec: ToolSpec,
    pub(crate) callable: Callable,
}

/// The parts that a call needs in addition to the definition.
pub(crate) struct Callable {
    pub(crate) input: LazySchema,
    pub(crate) output: Option<LazySchema>,
    pub(crate) prepared: Arc<dyn Prepared>,
    pub(crate) effect: Effect,
    pub(crate) policy: PolicyRule,
}

impl PreparedTool {
    /// Returns the definition with everything derived from it: canonical kind, generated schema.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Returns the input schema as models get it.
    pub fn input_schema(&self) -> &Value {
        self.spec.input_schema.as_ref().unwrap_or(&Value::Null)
    }

    /// Returns a call with these arguments as a cURL command. Returns `None` if the kind has no such export.
    pub fn as_curl(
        &self,
        caller: &Caller,
        call_id: &CallId,
        arguments: Value,
    ) -> Result<Option<CurlCommand>, CallError> {
        let Callable { input, prepared, .. } = &self.callable;
        let input = input.get(self.input_schema(), &self.spec.name)?;
        let admitted = if prepared.takes_defaults() {
            input.admit(arguments, None, Validation::Gentle)
        } else {
            input.admit_without_defaults(arguments, None, Validation::Gentle)
        };
        let Admitted { arguments, .. } = admitted.map_err(|refused| refused.error)?;
        let context = CallContext::new(CallInfo {
            call_id: call_id.clone(),
            tool: self.spec.name.clone(),
            space: caller.space,
            user: caller.user,
            agent: None,
            conversation: None,
            request: None,
            locale: caller.locale,
            deadline: Instant::now(),
            secrets: Arc::default(),
            artifacts: None,
            progress: None,
            depth: 0,
            allowance: None,
            callback_url: None,
            trace: None,
            place: None,
        });
        prepared.as_curl_export().map(|export| export.curl(&arguments, &context)).transpose()
    }

    /// Returns the parts of the config that only an admin may save, with the reasons.
    pub fn for_admins(&self) -> &[Violation] {
        self.callable.prepared.for_admins()
    }
}

impl std::fmt::Debug for PreparedTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedTool")
            .field("spec", &self.spec)
            .field("effect", &self.callable.effect)
            .finish_non_exhaustive()
    }
}
