//! Argument schemas: checked when a tool is saved, compiled once per version, used for every call.
//!
//! A [`ToolSchema`] that exists is an object schema of bounded cost. Fetching
//! schemas from anywhere never happens here.

mod binding_only;
mod coerce;
mod defaults;
pub mod flatten;
mod foreign;
mod graph;
mod limits;
mod violation;

use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value};

use crate::call::Validation;
use crate::error::ROOT;
use crate::{Arguments, Binding, CallError, Message, Template, Violation, json};

pub use self::binding_only::take_out_binding_only;
use self::defaults::Defaults;
use self::foreign::ForeignProperties;
use self::limits::Cost;

/// Formats the library would assert besides date, date-time, email, uri, uuid, ipv4 and ipv6.
/// To us they are remarks.
const REMARKS: [&str; 12] = [
    "duration",
    "hostname",
    "idn-email",
    "idn-hostname",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri-reference",
    "uri-template",
];

/// The most memory all compiled patterns of a schema may take, and one of them.
const ALL_PATTERNS_BYTES: usize = 16 << 20;
const PATTERN_BYTES: usize = 1 << 20;

/// JSON text may hold JSON text; so often is it unfolded.
const COERCIONS: usize = 4;

/// So many errors are told at once; more help nobody.
const MOST_TOLD: usize = 100;

crate::templates! {
    NOT_AN_OBJECT_SCHEMA = "schema.notObject",
        "a schema of arguments must have \"type\": \"object\"",
        "参数 schema 的 type 必须是 object";
    UNKNOWN_DRAFT = "schema.unknownDraft",
        "{draft} is not a known JSON Schema draft; leave it out, or name draft 4, 6, 7, 2019-09 or 2020-12",
        "{draft} 不是已知的 JSON Schema 草案；请省略，或使用 draft 4、6、7、2019-09 或 2020-12";
    TOO_MANY_VALUES = "schema.tooManyValues",
        "holds more values than the {limit} that this schema can check",
        "包含的值超过此 schema 能校验的 {limit} 个";
    TOO_DEEP_ARGUMENTS = "schema.argumentsTooDeep",
        "is nested {depth} levels deep; at most {limit}",
        "嵌套了 {depth} 层，最多 {limit} 层";
    NOT_TOLD = "schema.notTold",
        "does not fit the schema; it is too large or too deep for every error to be told",
        "不符合 schema；内容过大或嵌套过深，无法列出具体错误";
    AND_MORE = "schema.andMore",
        "and {count} more errors",
        "另有 {count} 处错误";
}

/// Every template of this module and the ones below it.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, defaults::TEMPLATES, graph::TEMPLATES, limits::TEMPLATES, violation::TEMPLATES]
        .into_iter()
        .flatten()
        .copied()
}

/// How much can be told of what is wrong with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Everything,
    /// One error for each of a million values would fill the memory.
    First,
    /// Even the first error would be collected from too many alternatives.
    Nothing,
}

/// A value that the `enum` of an argument accepts and does not list, so that models see few names for one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlsoAccepted {
    pub argument: &'static str,
    pub value: &'static str,
    /// The listed value it goes with: a schema that does not list this one does not accept the other.
    pub beside: &'static str,
}

impl AlsoAccepted {
    /// Adds the value to the argument's `enum`, at the root and in its alternatives.
    fn widen(&self, schema: &mut Value) {
        let listed =
            schema.get_mut("properties").and_then(|fields| fields.get_mut(self.argument)?.get_mut("enum"));
        if let Some(Value::Array(listed)) = listed
            && listed.iter().any(|value| value == self.beside)
            && !listed.iter().any(|value| value == self.value)
        {
            listed.push(self.value.into());
        }
        for alternatives in ["oneOf", "anyOf"] {
            let forms = schema.get_mut(alternatives).and_then(Value::as_array_mut);
            forms.into_iter().flatten().for_each(|form| self.widen(form));
        }
    }
}

/// A schema that was checked and compiled.
#[derive(Debug)]
pub struct ToolSchema {
    document: Value,
    validator: Validator,
    defaults: Defaults,
    cost: Cost,
    foreign: Option<ForeignProperties>,
}

/// Arguments that may be used, and what was done to make them fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    pub arguments: Arguments,
    /// Paths of values that were coerced.
    pub coerced: Vec<String>,
    /// Properties that were ignored: they belong to another alternative.
    pub ignored: Map<String, Value>,
}

/// Arguments that may not be used, why, and how far they got.
#[derive(Debug, Clone)]
pub struct Refused {
    pub error: CallError,
    pub arguments: Value,
    pub coerced: Vec<String>,
}

impl ToolSchema {
    /// Checks and compiles a schema of arguments. It costs time: keep it off async threads.
    pub fn of_arguments(schema: &Value) -> Result<Self, Vec<Violation>> {
        Self::of_arguments_accepting(schema, &[])
    }

    /// The same with an `enum` that accepts more than it lists. Shown is what it lists.
    pub fn of_arguments_accepting(
        schema: &Value,
        also_accepted: &[AlsoAccepted],
    ) -> Result<Self, Vec<Violation>> {
        let Value::Object(fields) = schema else {
            return Err(vec![Violation::new(ROOT, Message::new(&NOT_AN_OBJECT_SCHEMA))]);
        };
        let mut fields = fields.clone();
        match fields.get("type") {
            None => {
                fields.insert("type".to_owned(), "object".into());
            }
            Some(Value::String(name)) if name == "object" => {}
            Some(Value::Array(names)) if names.iter().any(|name| name == "object") => {}
            Some(_) => return Err(vec![Violation::new("type", Message::new(&NOT_AN_OBJECT_SCHEMA))]),
        }
        Self::compile(Value::Object(fields), also_accepted)
    }

    /// Checks and compiles a schema of results, which need not be objects.
    pub fn of_output(schema: &Value) -> Result<Self, Vec<Violation>> {
        Self::compile(schema.clone(), &[])
    }

    fn compile(document: Value, also_accepted: &[AlsoAccepted]) -> Result<Self, Vec<Violation>> {
        let cost = limits::check(&document)?;
        let mut bare = document.clone();
        also_accepted.iter().for_each(|also| also.widen(&mut bare));
        let mut draft = Draft::Draft202012;
        if let Value::Object(fields) = &mut bare {
            if let Some(named) = fields.shift_remove("$schema") {
                draft = draft_named(&named).ok_or_else(|| {
                    vec![Violation::new("$schema", Message::new(&UNKNOWN_DRAFT).with("draft", &named))]
                })?;
            }
            // All references are local, so a base address has no use and only confuses them.
            fields.shift_remove("$id");
            if draft == Draft::Draft4 {
                fields.shift_remove("id");
            }
        }
        let pattern_bytes = (ALL_PATTERNS_BYTES / cost.patterns.max(1)).min(PATTERN_BYTES);
        let options = jsonschema::options()
            .offline()
            .with_draft(draft)
            .should_validate_formats(true)
            .with_pattern_options(
                PatternOptions::regex().size_limit(pattern_bytes).dfa_size_limit(pattern_bytes),
            )
            .with_format("uuid", |text: &str| text.len() == 36 && uuid::Uuid::try_parse(text).is_ok());
        let options =
            REMARKS.iter().fold(options, |options, name| options.with_format(*name, |_: &str| true));
        let validator = options.build(&bare).map_err(|error| violation::of_error(&error))?;
        let mut defaults = Defaults::of(&document).map_err(|violation| vec![violation])?;
        defaults.drop_unfit(&validator, &cost);
        Ok(Self { document, validator, defaults, cost, foreign: None })
    }

    /// Ignores properties that belong to another alternative of the schema than the arguments select, where the
    /// constant of a property selects one. A schema without such alternatives has those of `operations`, but what it
    /// requires itself is never ignored.
    #[must_use]
    pub fn ignoring_foreign_properties(mut self, operations: Option<&Value>) -> Self {
        let required = self.document.get("required").and_then(Value::as_array).into_iter().flatten();
        let of_operations = || {
            let foreign = ForeignProperties::of(operations?)?;
            Some(foreign.with_in_all(required.filter_map(Value::as_str)))
        };
        self.foreign = ForeignProperties::of(&self.document).or_else(of_operations);
        self
    }

    /// The arguments without properties of other alternatives. Returns `None` if they have no such property.
    pub(crate) fn without_foreign_properties(&self, arguments: &Arguments) -> Option<Arguments> {
        let (foreign, fields) = (self.foreign.as_ref()?, arguments.as_value().as_object()?);
        let mut fields = foreign.has_any(fields).then(|| fields.clone())?;
        foreign.take_out(&mut fields);
        Some(Arguments::checked(Value::Object(fields)))
    }

    /// The schema as it is shown to models and people.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Makes arguments ready to use: binding and schema defaults filled in, checked,
    /// and gently coerced unless that is switched off.
    pub fn admit(
        &self,
        arguments: Value,
        binding: Option<&Binding>,
        validation: Validation,
    ) -> Result<Admitted, Refused> {
        let (mut fields, coerced) = given(arguments, binding, validation)?;
        let ignored = self.ignore(&mut fields);
        Ok(Admitted { ignored, ..self.check(fields, coerced, validation)? })
    }

    /// The same, with the schema's defaults used only to check what was given.
    pub fn admit_without_defaults(
        &self,
        arguments: Value,
        binding: Option<&Binding>,
        validation: Validation,
    ) -> Result<Admitted, Refused> {
        let (mut fields, coerced) = given(arguments, binding, validation)?;
        let ignored = self.ignore(&mut fields);
        let Admitted { arguments, coerced, .. } = self.check(fields.clone(), coerced, validation)?;
        let mut value = Arc::unwrap_or_clone(arguments.shared());
        if let Value::Object(filled) = &mut value {
            self.defaults.take_out(filled, &fields);
        }
        Ok(Admitted { arguments: Arguments::checked(value), coerced, ignored })
    }

    fn ignore(&self, fields: &mut Map<String, Value>) -> Map<String, Value> {
        self.foreign.as_ref().map(|foreign| foreign.take_out(fields)).unwrap_or_default()
    }

    fn check(
        &self,
        fields: Map<String, Value>,
        coerced: Vec<String>,
        validation: Validation,
    ) -> Result<Admitted, Refused> {
        let (mut fields, mut coerced) = (fields, coerced);
        let most = self.cost.most_values();
        if !self.defaults.fill(&mut fields, most) {
            let message = Message::new(&TOO_MANY_VALUES).with("limit", most);
            let error = CallError::invalid(vec![Violation::new(ROOT, message)]);
            return Err(Refused { error, arguments: Value::Object(fields), coerced });
        }
        let mut value = Value::Object(fields);
        let told = match self.measure(&value) {
            Ok(told) => told,
            Err(violation) => {
                let error = CallError::invalid(vec![violation]);
                return Err(Refused { error, arguments: value, coerced });
            }
        };
        if !self.validator.is_valid(&value) {
            if validation == Validation::Gentle && told == Told::Everything {
                self.coerce(&mut value, &mut coerced);
            }
            let violations = self.violations(&value);
            if !violations.is_empty() {
                return Err(Refused { error: CallError::invalid(violations), arguments: value, coerced });
            }
        }
        Ok(Admitted { arguments: Arguments::checked(value), coerced, ignored: Map::new() })
    }

    /// Text that was unfolded may hold more text, lack defaults, and be more than can be told in detail.
    fn coerce(&self, value: &mut Value, coerced: &mut Vec<String>) {
        for _ in 0..COERCIONS {
            if !coerce::once(&self.validator, value, coerced) {
                return;
            }
            let most = self.cost.most_values();
            let filled = value.as_object_mut().is_none_or(|fields| self.defaults.fill(fields, most));
            if !filled || self.measure(value) != Ok(Told::Everything) {
                return;
            }
        }
    }

    /// All that is wrong with a value, or as much as can be told of it; nothing when it fits.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        let mut violations: Vec<Violation> = match self.measure(value) {
            Err(violation) => vec![violation],
            Ok(Told::Everything) => {
                self.validator.iter_errors(value).flat_map(|error| violation::of_error(&error)).collect()
            }
            Ok(Told::First) => {
                self.validator.validate(value).err().iter().flat_map(violation::of_error).collect()
            }
            Ok(Told::Nothing) if self.validator.is_valid(value) => Vec::new(),
            Ok(Told::Nothing) => vec![Violation::new(ROOT, Message::new(&NOT_TOLD))],
        };
        let more = violations.len().saturating_sub(MOST_TOLD);
        if more > 0 {
            violations.truncate(MOST_TOLD);
            violations.push(Violation::new(ROOT, Message::new(&AND_MORE).with("count", more)));
        }
        violations
    }

    /// Whether a value is small enough to be checked, and how much of it could be told.
    fn measure(&self, value: &Value) -> Result<Told, Violation> {
        let size = json::size(value);
        if size.depth > limits::DEEPEST_VALUE {
            let message = Message::new(&TOO_DEEP_ARGUMENTS).with("depth", size.depth);
            return Err(Violation::new(ROOT, message.with("limit", limits::DEEPEST_VALUE)));
        }
        let most = self.cost.most_values();
        if size.values > most {
            return Err(Violation::new(ROOT, Message::new(&TOO_MANY_VALUES).with("limit", most)));
        }
        Ok(match (self.cost.allows_details(size), self.cost.has_alternatives) {
            (true, _) => Told::Everything,
            (false, false) => Told::First,
            (false, true) => Told::Nothing,
        })
    }

    /// About how many steps it takes to check a value: too many for a thread that others wait for?
    pub fn steps(&self, value: &Value) -> u64 {
        self.cost.steps(json::size(value))
    }

    /// The schema without some properties, for a model that may not see them.
    pub fn document_without(&self, hidden: &Map<String, Value>) -> Value {
        let mut document = self.document.clone();
        if let Some(Value::Object(properties)) = document.get_mut("properties") {
            properties.retain(|name, _| !hidden.contains_key(name));
        }
        if let Some(Value::Array(required)) = document.get_mut("required") {
            required.retain(|name| !name.as_str().is_some_and(|name| hidden.contains_key(name)));
        }
        document
    }
}

/// What the caller and the binding give, before any default.
fn given(
    arguments: Value,
    binding: Option<&Binding>,
    validation: Validation,
) -> Result<(Map<String, Value>, Vec<String>), Refused> {
    let mut coerced = Vec::new();
    let mut fields = match (arguments, validation) {
        (Value::Object(fields), _) => fields,
        (Value::String(text), Validation::Gentle) => match json::parse(text.as_bytes()) {
            Ok(Value::Object(fields)) => {
                coerced.push(ROOT.to_owned());
                fields
            }
            Ok(_) | Err(_) => return Err(not_an_object(Value::String(text))),
        },
        (other, _) => return Err(not_an_object(other)),
    };
    if let Some(binding) = binding {
        binding.tool_config.merge_into(&mut fields);
    }
    Ok((fields, coerced))
}

/// The schema that takes any arguments.
pub fn any_arguments() -> Value {
    serde_json::json!({"type": "object", "properties": {}})
}

fn not_an_object(arguments: Value) -> Refused {
    let violation = violation::not_of_type(ROOT, &arguments, "object");
    Refused { error: CallError::invalid(vec![violation]), arguments, coerced: Vec::new() }
}

/// The draft a `$schema` names, in any of its usual spellings.
fn draft_named(named: &Value) -> Option<Draft> {
    let name = named.as_str()?.trim_end_matches('#').trim_end_matches('/');
    let name = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://"))?;
    match name.strip_prefix("json-schema.org/")? {
        "schema" | "draft/2020-12/schema" => Some(Draft::Draft202012),
        "draft/2019-09/schema" => Some(Draft::Draft201909),
        "draft-07/schema" => Some(Draft::Draft7),
        "draft-06/schema" => Some(Draft::Draft6),
        "draft-04/schema" => Some(Draft::Draft4),
        _ => None,
    }
}
