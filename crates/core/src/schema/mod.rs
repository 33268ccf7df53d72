//! Argument schemas: checked when a tool is saved, compiled once per version, used for every call.
//!
//! A [`ToolSchema`] that exists is an object schema of bounded cost. Fetching
//! schemas from anywhere never happens here.

mod coerce;
mod defaults;
mod limits;
mod violation;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value};

use crate::call::Validation;
use crate::error::ROOT;
use crate::{Arguments, Binding, CallError, Message, Template, Violation, json};

use self::defaults::Defaults;
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

/// A larger value is told only of the first thing that is wrong, and not coerced:
/// one error for each of a million values would fill the memory.
const TOLD_IN_FULL: usize = 10_000;

/// The most memory one compiled `pattern` may take.
const PATTERN_BYTES: usize = 1 << 20;

crate::templates! {
    NOT_AN_OBJECT_SCHEMA = "schema.notObject",
        "a schema of arguments must have \"type\": \"object\"",
        "参数模式的 type 必须是 object";
    UNKNOWN_DRAFT = "schema.unknownDraft",
        "{draft} is not a known JSON Schema draft; leave it out, or name draft 4, 6, 7, 2019-09 or 2020-12",
        "{draft} 不是已知的 JSON Schema 草案；请省略，或使用 draft 4、6、7、2019-09 或 2020-12";
    TOO_MANY_VALUES = "schema.tooManyValues",
        "holds {count} values; this schema can check at most {limit}",
        "包含 {count} 个值；此模式最多能校验 {limit} 个";
    TOO_DEEP_ARGUMENTS = "schema.argumentsTooDeep",
        "is nested {depth} levels deep; this schema can check at most {limit}",
        "嵌套了 {depth} 层；此模式最多能校验 {limit} 层";
}

/// Every template of this module and the ones below it.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, limits::TEMPLATES, violation::TEMPLATES].into_iter().flatten().copied()
}

/// Whether a value is too large for everything that is wrong with it to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Large {
    No,
    Yes,
}

/// A schema that was checked and compiled.
#[derive(Debug)]
pub struct ToolSchema {
    document: Value,
    validator: Validator,
    defaults: Defaults,
    cost: Cost,
}

/// Arguments that may be used, and what was done to make them fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    pub arguments: Arguments,
    /// Paths of values that were coerced.
    pub coerced: Vec<String>,
}

/// Arguments that may not be used, why, and how far they got.
#[derive(Debug, Clone)]
pub struct Refused {
    pub error: CallError,
    pub arguments: Value,
}

impl ToolSchema {
    /// Checks and compiles a schema of arguments. It costs time: keep it off async threads.
    pub fn of_arguments(schema: &Value) -> Result<Self, Vec<Violation>> {
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
        Self::compile(Value::Object(fields))
    }

    /// Checks and compiles a schema of results, which need not be objects.
    pub fn of_output(schema: &Value) -> Result<Self, Vec<Violation>> {
        Self::compile(schema.clone())
    }

    fn compile(document: Value) -> Result<Self, Vec<Violation>> {
        let cost = limits::check(&document)?;
        let mut bare = document.clone();
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
        let options = jsonschema::options()
            .offline()
            .with_draft(draft)
            .should_validate_formats(true)
            .with_pattern_options(
                PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES),
            )
            .with_format("uuid", |text: &str| text.len() == 36 && uuid::Uuid::try_parse(text).is_ok());
        let options =
            REMARKS.iter().fold(options, |options, name| options.with_format(*name, |_: &str| true));
        let validator = options.build(&bare).map_err(|error| violation::of_error(&error))?;
        let defaults = Defaults::of(&document);
        Ok(Self { document, validator, defaults, cost })
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
        self.defaults.fill(&mut fields);
        let mut value = Value::Object(fields);
        let large = match self.measure(&value) {
            Ok(large) => large,
            Err(violation) => {
                return Err(Refused { error: CallError::invalid(vec![violation]), arguments: value });
            }
        };
        if !self.validator.is_valid(&value) {
            if validation == Validation::Gentle && large == Large::No {
                coerce::coerce(&self.validator, self.cost, &mut value, &mut coerced);
            }
            let violations = self.violations(&value);
            if !violations.is_empty() {
                return Err(Refused { error: CallError::invalid(violations), arguments: value });
            }
        }
        Ok(Admitted { arguments: Arguments::checked(value), coerced })
    }

    /// All that is wrong with a value, or the first thing when it is large; nothing when it fits.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        match self.measure(value) {
            Err(violation) => vec![violation],
            Ok(Large::Yes) => {
                self.validator.validate(value).err().iter().flat_map(violation::of_error).collect()
            }
            Ok(Large::No) => {
                self.validator.iter_errors(value).flat_map(|error| violation::of_error(&error)).collect()
            }
        }
    }

    /// Whether a value is small enough for this schema, and for everything that is wrong with it to be told.
    fn measure(&self, value: &Value) -> Result<Large, Violation> {
        let json::Size { depth, values } = json::size(value);
        if depth > self.cost.deepest {
            let message =
                Message::new(&TOO_DEEP_ARGUMENTS).with("depth", depth).with("limit", self.cost.deepest);
            return Err(Violation::new(ROOT, message));
        }
        let most = self.cost.most_values();
        if values > most {
            let message = Message::new(&TOO_MANY_VALUES).with("count", values).with("limit", most);
            return Err(Violation::new(ROOT, message));
        }
        Ok(if values > TOLD_IN_FULL { Large::Yes } else { Large::No })
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

fn not_an_object(arguments: Value) -> Refused {
    let violation = violation::not_of_type(ROOT, &arguments, "object");
    Refused { error: CallError::invalid(vec![violation]), arguments }
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
