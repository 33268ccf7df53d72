//! Model options: parameters of a model request beyond its messages, in OpenAI's spelling. Nothing here is
//! specific to a dialect.

mod response_format;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::response_format::FormatSchema;
use crate::{Message, Template, ToolSchema, Violation};

pub use self::response_format::{JsonSchemaFormat, ResponseFormat};

crate::templates! {
    NOT_A_NUMBER = "modelOptions.notANumber",
        "must be a number",
        "必须是数字";
    NOT_AN_INTEGER = "modelOptions.notAnInteger",
        "must be an integer",
        "必须是整数";
    NOT_A_BOOLEAN = "modelOptions.notABoolean",
        "must be true or false",
        "必须是 true 或 false";
    NOT_A_STRING = "modelOptions.notAString",
        "must be a string",
        "必须是字符串";
    BAD_STOP = "modelOptions.badStop",
        "must be a non-empty string, or a list of 1 to {most} of them",
        "必须是非空字符串，或由 1 到 {most} 个非空字符串组成的列表";
    BAD_BIAS = "modelOptions.badLogitBias",
        "must be an object that maps token ids to numbers",
        "必须是将 token id 映射到数字的对象";
    BAD_THINKING = "modelOptions.badThinking",
        "must be true, false, or an object with a `type`",
        "必须是 true、false，或带有 type 的对象";
    UNSUPPORTED = "modelOptions.unsupported",
        "is not supported; leave it out, or set drop_params to true",
        "不支持；请去掉该字段，或将 drop_params 设为 true";
    FIELD_OF_CHAT = "modelOptions.fieldOfChat",
        "is not a model option; use the field {field} of POST /api/chat",
        "不是模型选项；请使用 POST /api/chat 的字段 {field}";
    FIELD_OF_AGENT = "modelOptions.fieldOfAgent",
        "is not a model option; use the field {field} of the agent",
        "不是模型选项；请使用智能体的字段 {field}";
    FIELD_OF_BOTH = "modelOptions.fieldOfBoth",
        "is not a model option; use the field {field} of POST /api/chat, or config.{field} of the agent",
        "不是模型选项；请使用 POST /api/chat 的字段 {field}，或智能体的字段 config.{field}";
    BAD_FORMAT = "modelOptions.badResponseFormat",
        "must be an object with a `type` of text, json_object or json_schema, and for json_schema a `name` of letters, digits, _ and - and a `schema`",
        "必须是 type 为 text、json_object 或 json_schema 的对象；json_schema 还需要由字母、数字、_ 和 - 组成的 name，以及 schema";
    TOO_MANY = "modelOptions.tooMany",
        "has {count} options; at most {most}",
        "有 {count} 个选项，最多 {most} 个";
}

/// Maximum number of options of one request.
const MOST_OPTIONS: usize = 64;

const MOST_STOPS: usize = 16;

/// The option that drops options unsupported by a provider.
pub const DROP_PARAMS: &str = "drop_params";

/// Options that control whether and how much a model reasons.
const THINKING_OPTIONS: [&str; 2] = ["thinking", "reasoning_effort"];

/// The option that holds the response format.
pub const RESPONSE_FORMAT: &str = "response_format";

/// Options that Haft supports with no provider.
const UNSUPPORTED_OPTIONS: [&str; 9] = [
    "n",
    "functions",
    "function_call",
    "audio",
    "modalities",
    "web_search_options",
    "background",
    "max_tool_calls",
    "context_management",
];

/// Fields of Responses whose unknown members are options that Haft supports with no provider.
const OBJECT_FIELDS: [&str; 2] = ["reasoning.", "text."];

/// Names in OpenAI's API that are no options here, and the field to use: of a chat request, of an agent, or of both.
static OWN_FIELDS: [(&str, &Template, &str); 11] = [
    ("model", &FIELD_OF_BOTH, "model"),
    ("messages", &FIELD_OF_CHAT, "messages"),
    ("stream", &FIELD_OF_CHAT, "stream"),
    ("stream_options", &FIELD_OF_CHAT, "stream"),
    ("tools", &FIELD_OF_AGENT, "toolIds"),
    ("temperature", &FIELD_OF_AGENT, "config.temperature"),
    ("max_tokens", &FIELD_OF_AGENT, "config.maxTokens"),
    ("max_completion_tokens", &FIELD_OF_AGENT, "config.maxTokens"),
    ("max_output_tokens", &FIELD_OF_AGENT, "config.maxTokens"),
    ("tool_choice", &FIELD_OF_AGENT, "config.toolChoice"),
    ("parallel_tool_calls", &FIELD_OF_AGENT, "config.parallelToolCalls"),
];

/// Options by their name in OpenAI's API. Types of known options are checked. Values are passed to the
/// providers: compatible servers accept values that OpenAI does not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelOptions {
    fields: Map<String, Value>,
    #[serde(skip)]
    schema: FormatSchema,
}

impl ModelOptions {
    /// Validates the options of a request or an agent. `null` stands for the default. Does not compile the
    /// schema of the response format: [`Self::format_schema`] does.
    pub fn read(fields: Map<String, Value>) -> Result<Self, Vec<Violation>> {
        let mut options = fields;
        options.retain(|name, value| !value.is_null() && !has_no_effect(name, value));
        let count = options.len();
        if count > MOST_OPTIONS {
            let message = Message::new(&TOO_MANY).with("count", count).with("most", MOST_OPTIONS);
            return Err(vec![Violation::new("options", message)]);
        }
        let violation = |(name, value): (&String, &Value)| {
            let message = check(name, value).err()?;
            Some(Violation::new(name.as_str(), message))
        };
        let violations: Vec<Violation> = options.iter().filter_map(violation).collect();
        if violations.is_empty() { Ok(Self { fields: options, ..Self::default() }) } else { Err(violations) }
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// Returns the options for a provider, without those for Haft itself.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        let own = [DROP_PARAMS, RESPONSE_FORMAT];
        let all = self.fields.iter().map(|(name, value)| (name.as_str(), value));
        all.filter(move |(name, _)| !own.contains(name))
    }

    pub fn remove(&mut self, name: &str) -> Option<Value> {
        if name == RESPONSE_FORMAT {
            self.schema = FormatSchema::default();
        }
        self.fields.shift_remove(name)
    }

    /// Returns true if unsupported options are dropped with a warning instead of rejected.
    pub fn drops_unsupported(&self) -> bool {
        self.fields.get(DROP_PARAMS) == Some(&Value::Bool(true))
    }

    /// Rejects options that Haft supports with no provider, unless `drop_params` is set.
    pub fn check_supported(&self) -> Result<(), Vec<Violation>> {
        let unsupported = self.fields.iter().filter(|(name, value)| is_unsupported(name, value));
        let violations =
            unsupported.map(|(name, _)| Violation::new(name.as_str(), Message::new(&UNSUPPORTED)));
        let violations: Vec<Violation> = violations.collect();
        if violations.is_empty() || self.drops_unsupported() { Ok(()) } else { Err(violations) }
    }

    /// Removes the options that Haft supports with no provider, and returns their names.
    pub fn take_unsupported(&mut self) -> Vec<String> {
        let unsupported = self.fields.iter().filter(|(name, value)| is_unsupported(name, value));
        let names: Vec<String> = unsupported.map(|(name, _)| name.clone()).collect();
        self.fields.retain(|name, _| !names.contains(name));
        names
    }

    /// Returns the requested response format, if there is one.
    pub fn response_format(&self) -> Option<ResponseFormat> {
        ResponseFormat::read(self.fields.get(RESPONSE_FORMAT)?).ok().flatten()
    }

    /// Returns the compiled schema of the response format, if there is one. The first call compiles it, which
    /// is slow: do not run it on async threads.
    pub fn format_schema(&self) -> Result<Option<Arc<ToolSchema>>, Vec<Violation>> {
        self.schema.get(|| self.response_format())
    }

    /// Returns these options, completed by others. Options for reasoning are one setting and are not mixed.
    #[must_use]
    pub fn or(&self, others: &Self) -> Self {
        let mut fields = others.fields.clone();
        if THINKING_OPTIONS.iter().any(|name| self.fields.contains_key(*name)) {
            fields.retain(|name, _| !THINKING_OPTIONS.contains(&name.as_str()));
        }
        fields.extend(self.fields.clone());
        let schema = if self.fields.contains_key(RESPONSE_FORMAT) { &self.schema } else { &others.schema };
        Self { fields, schema: schema.clone() }
    }
}

/// Returns true if an option requests the default behavior.
fn has_no_effect(name: &str, value: &Value) -> bool {
    let is_empty = match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    match name {
        "n" => value.as_u64() == Some(1),
        "functions" | "audio" => is_empty,
        "function_call" => value == "none" || value == "auto",
        "modalities" => value.as_array().is_some_and(|kinds| kinds.iter().all(|kind| kind == "text")),
        "background" => *value == Value::Bool(false),
        _ => false,
    }
}

fn is_unsupported(name: &str, value: &Value) -> bool {
    let is_member = OBJECT_FIELDS.iter().any(|field| name.starts_with(field));
    (is_member || UNSUPPORTED_OPTIONS.contains(&name)) && !has_no_effect(name, value)
}

fn check(name: &str, value: &Value) -> Result<(), Message> {
    if let Some((_, template, field)) = OWN_FIELDS.iter().find(|(own, ..)| *own == name) {
        return Err(Message::new(template).with("field", field));
    }
    let is_integer = value.is_i64() || value.is_u64();
    match name {
        "top_p" | "frequency_penalty" | "presence_penalty" if !value.is_number() => {
            Err(Message::new(&NOT_A_NUMBER))
        }
        "top_k" | "seed" | "top_logprobs" if !is_integer => Err(Message::new(&NOT_AN_INTEGER)),
        "logprobs" | DROP_PARAMS if !value.is_boolean() => Err(Message::new(&NOT_A_BOOLEAN)),
        "reasoning_effort" | "verbosity" if !value.is_string() => Err(Message::new(&NOT_A_STRING)),
        "stop" if stops(value).is_none() => Err(Message::new(&BAD_STOP).with("most", MOST_STOPS)),
        "logit_bias" if !is_bias(value) => Err(Message::new(&BAD_BIAS)),
        "thinking" if !is_thinking(value) => Err(Message::new(&BAD_THINKING)),
        RESPONSE_FORMAT => ResponseFormat::read(value).map(drop),
        _ => Ok(()),
    }
}

/// Returns the stop sequences: one text, or a list, which may be empty.
pub fn stops(value: &Value) -> Option<Vec<&str>> {
    let filled = |text: &Value| -> bool { text.as_str().is_some_and(|text| !text.is_empty()) };
    match value {
        Value::String(text) if !text.is_empty() => Some(vec![text]),
        Value::Array(items) if items.len() <= MOST_STOPS && items.iter().all(filled) => {
            Some(items.iter().filter_map(Value::as_str).collect())
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => None,
    }
}

fn is_bias(value: &Value) -> bool {
    value.as_object().is_some_and(|biases| biases.values().all(Value::is_number))
}

fn is_thinking(value: &Value) -> bool {
    value.is_boolean() || value["type"].is_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(options: Value) -> Result<ModelOptions, Vec<Violation>> {
        let Value::Object(fields) = options else { panic!("{options}") };
        ModelOptions::read(fields)
    }

    fn with_schema(schema: Value) -> Value {
        let format = json!({"type": "json_schema", "json_schema": {"name": "a", "schema": schema}});
        json!({"response_format": format})
    }

    #[test]
    fn options_of_another_type_are_refused_by_name() {
        for (options, at) in [
            (json!({"top_p": "1"}), "top_p"),
            (json!({"presence_penalty": true}), "presence_penalty"),
            (json!({"top_k": 0.5}), "top_k"),
            (json!({"seed": 1.5}), "seed"),
            (json!({"stop": ""}), "stop"),
            (json!({"stop": ["a", 1]}), "stop"),
            (json!({"logit_bias": {"50256": "1"}}), "logit_bias"),
            (json!({"reasoning_effort": 3}), "reasoning_effort"),
            (json!({"verbosity": 1}), "verbosity"),
            (json!({"thinking": "yes"}), "thinking"),
            (json!({"thinking": {"budget_tokens": 1_024}}), "thinking"),
            (json!({"drop_params": "yes"}), "drop_params"),
            (json!({"response_format": {"type": "xml"}}), "response_format"),
            (json!({"response_format": {"type": "json_schema"}}), "response_format"),
            (
                json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}}}),
                "response_format",
            ),
        ] {
            let violations = read(options.clone()).expect_err("refused");
            assert_eq!(violations[0].path, at, "{options}");
        }
    }

    #[test]
    fn values_that_only_some_servers_have_are_options() {
        for options in [
            json!({"top_k": 0}),
            json!({"top_k": -1}),
            json!({"seed": u64::MAX}),
            json!({"top_p": 1.5}),
            json!({"top_logprobs": 50}),
            json!({"frequency_penalty": 3}),
            json!({"logit_bias": {"50256": 101}}),
            json!({"reasoning_effort": "default"}),
            json!({"verbosity": "terse"}),
            json!({"thinking": {"type": "auto"}}),
        ] {
            assert!(read(options.clone()).is_ok_and(|read| !read.is_empty()), "{options}");
        }
    }

    #[test]
    fn names_with_a_field_of_their_own_are_refused_with_that_field() {
        for (name, _, field) in OWN_FIELDS {
            let violations = read(json!({name: 1, "drop_params": true})).expect_err("refused");
            assert_eq!(violations.len(), 1, "{name}");
            assert_eq!(violations[0].path, name);
            let words = violations[0].message.render(crate::Locale::En);
            assert!(words.contains(&format!("the field {field} ")), "{name}: {words}");
        }
    }

    #[test]
    fn unsupported_options_are_refused_or_dropped_and_those_without_effect_are_ignored() {
        for (name, value) in [
            ("n", json!(2)),
            ("n", json!("two")),
            ("functions", json!([{}])),
            ("function_call", json!({"name": "a"})),
            ("audio", json!({"voice": "ash"})),
            ("modalities", json!(["text", "audio"])),
            ("web_search_options", json!({})),
            ("background", json!(true)),
            ("max_tool_calls", json!(3)),
            ("context_management", json!([])),
            ("reasoning.context", json!("all")),
            ("text.tone", json!("dry")),
        ] {
            let violations =
                read(json!({name: value})).expect("read").check_supported().expect_err("refused");
            assert_eq!(violations[0].path, name);
            let agent = read(json!({"drop_params": true})).expect("good");
            let mut both = read(json!({name: value, "seed": 1})).expect("read").or(&agent);
            assert_eq!(both.check_supported(), Ok(()), "{name}");
            assert_eq!(both.take_unsupported(), [name]);
            assert_eq!(both.iter().collect::<Vec<_>>(), [("seed", &json!(1))], "{name}");
        }
        let without_effect = read(json!({
            "n": 1, "functions": [], "function_call": "auto", "audio": {}, "modalities": ["text"],
            "background": false, "web_search_options": null,
        }));
        assert_eq!(without_effect, Ok(ModelOptions::default()));
    }

    #[test]
    fn schema_is_compiled_once_and_not_when_options_are_read() {
        let bad = read(with_schema(json!({"type": "objekt"}))).expect("read without compiling");
        let violations = bad.format_schema().expect_err("the schema is invalid");
        assert!(violations[0].path.starts_with("response_format.json_schema.schema"), "{violations:?}");
        let good = read(with_schema(json!({"type": "array"}))).expect("good");
        let schema_of = |options: &ModelOptions| options.format_schema().expect("valid").expect("a schema");
        let compiled = schema_of(&good);
        let agent = read(json!({"response_format": {"type": "json_object"}})).expect("good");
        assert!(Arc::ptr_eq(&compiled, &schema_of(&good.or(&agent))), "a merged copy shares the schema");
        assert!(!Arc::ptr_eq(&compiled, &schema_of(&ModelOptions::default().or(&agent))));
        assert!(ModelOptions::default().format_schema().expect("valid").is_none());
    }

    #[test]
    fn a_request_goes_before_its_agent_and_null_says_nothing() {
        let agent =
            read(json!({"top_p": 0.5, "seed": 7, "response_format": {"type": "json_object"}})).expect("good");
        let request = read(json!({"seed": 8, "top_p": null, "n": 1, "response_format": {"type": "text"}}))
            .expect("good");
        let both = request.or(&agent);
        let given: Vec<(&str, &Value)> = both.iter().collect();
        assert_eq!(given, [("top_p", &json!(0.5)), ("seed", &json!(8))]);
        assert_eq!(both.response_format(), None, "plain text was asked for");
        assert_eq!(agent.response_format(), Some(ResponseFormat::JsonObject));
        assert!(!both.drops_unsupported());
    }

    #[test]
    fn thinking_of_a_request_replaces_thinking_and_effort_of_its_agent() {
        let agent = read(json!({"thinking": true, "reasoning_effort": "none", "seed": 1})).expect("good");
        for (request, expected) in [
            (json!({"thinking": true}), json!({"seed": 1, "thinking": true})),
            (json!({"reasoning_effort": "low"}), json!({"seed": 1, "reasoning_effort": "low"})),
            (json!({"seed": 2}), json!({"thinking": true, "reasoning_effort": "none", "seed": 2})),
        ] {
            let both = read(request.clone()).expect("good").or(&agent);
            assert_eq!(serde_json::to_value(&both).expect("JSON"), expected, "{request}");
        }
    }
}
