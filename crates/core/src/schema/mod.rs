//! JSON schemas of arguments and results: checked when a tool is saved, compiled once per version, used for
//! every call.
//!
//! A [`ToolSchema`] has a bounded cost, and one of arguments describes an object. Nothing here fetches
//! schemas.

mod binding_only;
mod coerce;
mod defaults;
pub mod flatten;
mod foreign_properties;
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
use self::foreign_properties::ForeignProperties;
use self::limits::Cost;

/// Formats that the library would validate, in addition to date, date-time, email, uri, uuid, ipv4 and ipv6.
/// Here they are annotations.
const UNCHECKED_FORMATS: [&str; 12] = [
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

/// Maximum memory of all compiled patterns of a schema, and of one of them.
const ALL_PATTERNS_BYTES: usize = 16 << 20;
const PATTERN_BYTES: usize = 1 << 20;

/// Maximum number of coercion rounds: JSON text may contain JSON text.
const COERCIONS: usize = 4;

/// Maximum number of listed errors.
const MAX_ERRORS: usize = 100;

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
        "does not match the schema; it is too large or too deep to list every error",
        "不符合 schema；内容过大或嵌套过深，无法列出具体错误";
    AND_MORE = "schema.andMore",
        "and {count} more errors",
        "另有 {count} 处错误";
}

/// Returns all templates of this module and its submodules.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, defaults::TEMPLATES, graph::TEMPLATES, limits::TEMPLATES, violation::TEMPLATES]
        .into_iter()
        .flatten()
        .copied()
}

/// The level of detail in which the errors of a value can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorDetail {
    Everything,
    /// Only the first one. One error for each of a million values would fill the memory.
    First,
    /// None: even the first error would be collected from too many alternatives.
    Nothing,
}

/// A value that the `enum` of an argument accepts without listing it, so that models see one name per
/// meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlsoAccepted {
    pub argument: &'static str,
    pub value: &'static str,
    /// A listed value with the same meaning. A schema that does not list it does not accept `value`.
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

/// A checked and compiled schema.
#[derive(Debug)]
pub struct ToolSchema {
    document: Value,
    validator: Validator,
    defaults: Defaults,
    cost: Cost,
    foreign: Option<ForeignProperties>,
}

/// Valid arguments, and the changes that were made to them.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    pub arguments: Arguments,
    /// Paths of values that were coerced.
    pub coerced: Vec<String>,
    /// Ignored properties of another alternative.
    pub ignored: Map<String, Value>,
}

/// Invalid arguments with the error, in their state when it was found.
#[derive(Debug, Clone)]
pub struct Refused {
    pub error: CallError,
    pub arguments: Value,
    pub coerced: Vec<String>,
}

impl ToolSchema {
    /// Checks and compiles an input schema. Slow: do not run it on async threads.
    pub fn of_arguments(schema: &Value) -> Result<Self, Vec<Violation>> {
        Self::of_arguments_accepting(schema, &[])
    }

    /// Checks and compiles an input schema. Arguments may have the values of `also_accepted` too, but `document`
    /// does not list them. Slow: do not run it on async threads.
    ///
    /// An absent `type` stands for `object`. Ignores a value whose argument has no `enum`, or one that does not
    /// list `beside`. Returns an error if the schema is invalid or does not describe an object.
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

    /// Checks and compiles an output schema, which need not describe an object.
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
            // All references are local, so a base URI is useless and would change their meaning.
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
        let options = UNCHECKED_FORMATS
            .iter()
            .fold(options, |options, name| options.with_format(*name, |_: &str| true));
        let validator = options.build(&bare).map_err(|error| violation::of_error(&error))?;
        let mut defaults = Defaults::of(&document).map_err(|violation| vec![violation])?;
        defaults.drop_unfit(&validator, &cost);
        Ok(Self { document, validator, defaults, cost, foreign: None })
    }

    /// Ignores properties of another alternative than the one that the arguments select by a constant. A
    /// schema without such alternatives uses those of `operations`; the properties that it requires itself
    /// are never ignored.
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

    /// Returns the arguments without properties of other alternatives. Returns `None` if they have no such
    /// property.
    pub(crate) fn without_foreign_properties(&self, arguments: &Arguments) -> Option<Arguments> {
        let (foreign, fields) = (self.foreign.as_ref()?, arguments.as_value().as_object()?);
        let mut fields = foreign.has_any(fields).then(|| fields.clone())?;
        foreign.take_out(&mut fields);
        Some(Arguments::checked(Value::Object(fields)))
    }

    /// Returns the schema as models and people get it.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Prepares arguments for a call: fills in the values of the binding and the defaults of the schema,
    /// validates, and coerces unless `validation` is strict.
    pub fn admit(
        &self,
        arguments: Value,
        binding: Option<&Binding>,
        validation: Validation,
    ) -> Result<Admitted, Refused> {
        let (mut fields, coerced) = merged(arguments, binding, validation)?;
        let ignored = self.ignore(&mut fields);
        Ok(Admitted { ignored, ..self.check(fields, coerced, validation)? })
    }

    /// Prepares arguments for a call, but uses the schema's defaults only for validation.
    pub fn admit_without_defaults(
        &self,
        arguments: Value,
        binding: Option<&Binding>,
        validation: Validation,
    ) -> Result<Admitted, Refused> {
        let (mut fields, coerced) = merged(arguments, binding, validation)?;
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
        let detail = match self.measure(&value) {
            Ok(detail) => detail,
            Err(violation) => {
                let error = CallError::invalid(vec![violation]);
                return Err(Refused { error, arguments: value, coerced });
            }
        };
        if !self.validator.is_valid(&value) {
            if validation == Validation::Gentle && detail == ErrorDetail::Everything {
                self.coerce(&mut value, &mut coerced);
            }
            let violations = self.violations(&value);
            if !violations.is_empty() {
                return Err(Refused { error: CallError::invalid(violations), arguments: value, coerced });
            }
        }
        Ok(Admitted { arguments: Arguments::checked(value), coerced, ignored: Map::new() })
    }

    /// Coerces repeatedly: parsed text may contain more text, lack defaults, or be too large for a list of
    /// errors.
    fn coerce(&self, value: &mut Value, coerced: &mut Vec<String>) {
        for _ in 0..COERCIONS {
            if !coerce::coerce_once(&self.validator, value, coerced) {
                return;
            }
            let most = self.cost.most_values();
            let filled = value.as_object_mut().is_none_or(|fields| self.defaults.fill(fields, most));
            if !filled || self.measure(value) != Ok(ErrorDetail::Everything) {
                return;
            }
        }
    }

    /// Returns the errors of a value, as many as can be listed. Returns an empty list if it is valid.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        let mut violations: Vec<Violation> = match self.measure(value) {
            Err(violation) => vec![violation],
            Ok(ErrorDetail::Everything) => {
                self.validator.iter_errors(value).flat_map(|error| violation::of_error(&error)).collect()
            }
            Ok(ErrorDetail::First) => {
                self.validator.validate(value).err().iter().flat_map(violation::of_error).collect()
            }
            Ok(ErrorDetail::Nothing) if self.validator.is_valid(value) => Vec::new(),
            Ok(ErrorDetail::Nothing) => vec![Violation::new(ROOT, Message::new(&NOT_TOLD))],
        };
        let more = violations.len().saturating_sub(MAX_ERRORS);
        if more > 0 {
            violations.truncate(MAX_ERRORS);
            violations.push(Violation::new(ROOT, Message::new(&AND_MORE).with("count", more)));
        }
        violations
    }

    /// Checks the size of a value. Returns the level of detail in which its errors can be listed.
    fn measure(&self, value: &Value) -> Result<ErrorDetail, Violation> {
        let size = json::size(value);
        if size.depth > limits::MAX_VALUE_DEPTH {
            let message = Message::new(&TOO_DEEP_ARGUMENTS).with("depth", size.depth);
            return Err(Violation::new(ROOT, message.with("limit", limits::MAX_VALUE_DEPTH)));
        }
        let most = self.cost.most_values();
        if size.values > most {
            return Err(Violation::new(ROOT, Message::new(&TOO_MANY_VALUES).with("limit", most)));
        }
        Ok(match (self.cost.allows_details(size), self.cost.has_alternatives) {
            (true, _) => ErrorDetail::Everything,
            (false, false) => ErrorDetail::First,
            (false, true) => ErrorDetail::Nothing,
        })
    }

    /// Returns the approximate number of validation steps for a value, to decide whether it may run on an
    /// async thread.
    pub fn steps(&self, value: &Value) -> u64 {
        self.cost.steps(json::size(value))
    }

    /// Returns the schema without properties that are hidden from a model: those whose names are keys of `hidden`.
    /// The values of `hidden` are not used. Removes the names from `properties` and `required` of the root only,
    /// not from alternatives such as `oneOf`.
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

/// Parses the arguments and merges the binding's values, before any default.
fn merged(
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

/// Returns the schema that accepts any arguments.
pub fn any_arguments() -> Value {
    serde_json::json!({"type": "object", "properties": {}})
}

fn not_an_object(arguments: Value) -> Refused {
    let violation = violation::not_of_type(ROOT, &arguments, "object");
    Refused { error: CallError::invalid(vec![violation]), arguments, coerced: Vec::new() }
}

/// Returns the draft that `$schema` names, in any of its common spellings.
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
