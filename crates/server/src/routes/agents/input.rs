//! Agents and bindings as bodies write them: every spelling is read, and all that is wrong with their form is said.
//!
//! Whether the tools they name are there, and take what they are given, is said in `bind`.

use std::sync::LazyLock;

use haft_core::agent::AgentSpec;
use haft_core::duration::{self, Unit};
use haft_core::error::ROOT;
use haft_core::tool::input::{SERVER_FIELDS, camel_keys};
use haft_core::{Message, ToolName, Violation};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::routes::chat::read_options;
use crate::routes::saving::{Form, form, misfits, take};

haft_core::templates! {
    BAD_NAME = "agents.badName",
        "must have 1 to {most} visible characters, and no whitespace at either end",
        "必须为 1 到 {most} 个可见字符，首尾不能有空白";
    NAME_LIKE_ID = "agents.nameLikeId",
        "must not have the form of an id",
        "不能是 id 的形式";
    BAD_TOOL_CHOICE = "agents.badToolChoice",
        "must be auto, none, required or the name of one of the agent's tools",
        "必须是 auto、none、required 或该智能体某个工具的名称";
}

static AGENT: Form = LazyLock::new(|| form(include_str!("agent.json")));
static BINDING: Form = LazyLock::new(|| form(include_str!("binding.json")));

const LONGEST_NAME: usize = 64;

/// More bindings than this are refused, and so not looked at.
pub(crate) const MOST_BINDINGS: usize = 1000;

/// What a body says of an agent.
#[derive(Default)]
pub(crate) struct AgentInput {
    /// Fields that the server sets, where the body carried them along.
    pub(crate) server_fields: Map<String, Value>,
    /// Without bindings; none when something is wrong with it.
    pub(crate) spec: Option<AgentSpec>,
    /// The short form of the bindings, by id or name.
    pub(crate) tool_ids: Option<Vec<String>>,
    pub(crate) bindings: Option<Vec<Wanted>>,
    pub(crate) violations: Vec<Violation>,
}

/// A binding as somebody wants it.
pub(crate) struct Wanted {
    /// Where it stands in the body; empty when it is the body.
    pub(crate) path: String,
    /// The tool, by id or name.
    pub(crate) tool: String,
    /// All else that is said of it. Null stands for the default.
    pub(crate) fields: Map<String, Value>,
}

/// Reads an agent. Null stands for the default everywhere.
pub(crate) async fn agent(body: Value) -> AgentInput {
    let mut body = without_nulls(body);
    if let Some(config) = body.get_mut("config") {
        *config = without_nulls(config.take());
        if let Some(seconds) = config.get_mut("maxSeconds") {
            duration::read(seconds, Unit::Seconds);
        }
    }
    let mut violations = misfits(&AGENT, &body);
    let Value::Object(mut fields) = body else {
        return AgentInput { violations, ..AgentInput::default() };
    };
    if let Some(message) = fields.get("name").and_then(Value::as_str).and_then(wrong_name) {
        violations.push(Violation::new("name", message));
    }
    let choice = fields.get("config").and_then(|config| config.get("toolChoice"));
    if let Some(Err(message)) = choice.map(tool_chosen) {
        violations.push(Violation::new("config.toolChoice", message));
    }
    if let Some(Value::Object(options)) =
        fields.get_mut("config").and_then(|config| config.get_mut("options"))
    {
        let misfits = match read_options(options.clone()).await {
            Ok(read) => {
                // Without options that have no effect.
                options.retain(|name, _| read.get(name).is_some());
                read.check_supported().err().unwrap_or_default()
            }
            Err(misfits) => misfits,
        };
        violations.extend(misfits.into_iter().map(|violation| violation.within("config.options")));
    }
    let server_fields = take(&mut fields, &SERVER_FIELDS);
    let tool_ids = fields.shift_remove("toolIds").and_then(|ids| serde_json::from_value(ids).ok());
    let bindings = fields.shift_remove("bindings").map(|bindings| self::bindings(bindings, &mut violations));
    let spec = if violations.is_empty() { read_spec(fields, &mut violations) } else { None };
    AgentInput { server_fields, spec, tool_ids, bindings, violations }
}

fn read_spec(fields: Map<String, Value>, violations: &mut Vec<Violation>) -> Option<AgentSpec> {
    let read = serde_json::from_value(Value::Object(fields));
    read.map_err(|error| violations.push(Violation::new(ROOT, Message::verbatim(error.to_string())))).ok()
}

fn bindings(bodies: Value, violations: &mut Vec<Violation>) -> Vec<Wanted> {
    let Value::Array(bodies) = bodies else { return Vec::new() };
    let bodies = bodies.into_iter().take(MOST_BINDINGS).enumerate();
    bodies.filter_map(|(at, body)| binding(body, &format!("bindings.{at}"), violations)).collect()
}

/// Reads one binding.
pub(super) fn binding(body: Value, path: &str, violations: &mut Vec<Violation>) -> Option<Wanted> {
    let mut body = camel_keys(body);
    if let Some(overrides) = body.get_mut("overrides") {
        *overrides = without_nulls(overrides.take());
        if let Value::Object(fields) = overrides {
            duration::read_fields(fields, &[("timeout", Unit::Milliseconds), ("cacheTtl", Unit::Seconds)]);
        }
    }
    let found = misfits(&BINDING, &without_nulls(body.clone()));
    let is_good = found.is_empty();
    violations.extend(found.into_iter().map(|violation| within(path, violation)));
    let Value::Object(mut fields) = body else { return None };
    let tool = fields.shift_remove("toolId")?.as_str()?.to_owned();
    is_good.then(|| Wanted { path: path.to_owned(), tool, fields })
}

/// The same violation, seen from the whole body.
pub(super) fn within(path: &str, violation: Violation) -> Violation {
    if path.is_empty() { violation } else { violation.within(path) }
}

/// An object with its keys in camelCase and without nulls; anything else as it is.
fn without_nulls(value: Value) -> Value {
    let mut value = camel_keys(value);
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

fn wrong_name(name: &str) -> Option<Message> {
    let fits = (1..=LONGEST_NAME).contains(&name.chars().count());
    if !fits || name.trim() != name || !name.chars().all(is_visible) {
        return Some(Message::new(&BAD_NAME).with("most", LONGEST_NAME));
    }
    Uuid::try_parse(name).is_ok().then(|| Message::new(&NAME_LIKE_ID))
}

/// Letters of any script, signs and plain blanks; nothing that only looks like them.
fn is_visible(character: char) -> bool {
    let is_hidden = matches!(
        character,
        '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    let is_odd_blank = character.is_whitespace() && character != ' ';
    !(character.is_control() || is_hidden || is_odd_blank)
}

/// The tool that a `toolChoice` names, where it is not one of the words: as a text, as `{"name": …}`,
/// or as the API of a model takes it.
pub(super) fn tool_chosen(choice: &Value) -> Result<Option<&str>, Message> {
    let name = match choice {
        Value::String(text) if ["auto", "none", "required"].contains(&text.as_str()) => return Ok(None),
        Value::String(_) => Some(choice),
        Value::Object(fields) => {
            let only = |names: [&str; 2]| fields.keys().all(|name| names.contains(&name.as_str()));
            let kind = fields.get("type").and_then(Value::as_str);
            match fields.get("function") {
                Some(function) if only(["type", "function"]) && kind == Some("function") => {
                    function.get("name")
                }
                None if only(["type", "name"]) && matches!(kind, None | Some("tool" | "function")) => {
                    fields.get("name")
                }
                Some(_) | None => None,
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    let name = name.and_then(Value::as_str).filter(|name| name.parse::<ToolName>().is_ok());
    name.map(Some).ok_or_else(|| Message::new(&BAD_TOOL_CHOICE))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_forms_are_good() {
        assert!(AGENT.is_ok() && BINDING.is_ok());
    }

    #[test]
    fn names_are_visible_and_no_ids() {
        for good in ["a", "Ada Lovelace", "天气助手", "naïve-🤖", &"x".repeat(64)] {
            assert_eq!(wrong_name(good), None, "{good:?}");
        }
        for bad in [
            "",
            " a",
            "a ",
            "a\tb",
            "a\u{200b}b",
            "a\u{a0}b",
            &"x".repeat(65),
            "0190b5a0-0000-7000-8000-000000000000",
        ] {
            assert!(wrong_name(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn a_tool_is_chosen_in_every_form_that_models_take() {
        for (choice, tool) in [
            (json!("auto"), Ok(None)),
            (json!("none"), Ok(None)),
            (json!("required"), Ok(None)),
            (json!("weather"), Ok(Some("weather"))),
            (json!({"name": "weather"}), Ok(Some("weather"))),
            (json!({"type": "tool", "name": "weather"}), Ok(Some("weather"))),
            (json!({"type": "function", "function": {"name": "weather"}}), Ok(Some("weather"))),
            (json!({"type": "function", "function": {}}), Err(())),
            (json!({"type": "any", "name": "weather"}), Err(())),
            (json!({"name": "weather", "colour": 1}), Err(())),
            (json!("no good"), Err(())),
            (json!(true), Err(())),
        ] {
            assert_eq!(tool_chosen(&choice).map_err(drop), tool, "{choice}");
        }
    }

    #[tokio::test]
    async fn every_spelling_is_read_and_null_stands_for_the_default() {
        let body = json!({
            "name": "clerk", "system_prompt": "Be brief.", "is_active": null, "version": 3,
            "config": {"max_steps": 4, "temperature": null}, "tool_ids": ["calculator"],
            "bindings": [{"tool_id": "calculator", "overrides": {"retry_count": 1}, "policy": null}],
        });
        let AgentInput { server_fields, spec, tool_ids, bindings, violations } = agent(body).await;
        assert!(violations.is_empty(), "{violations:?}");
        assert_eq!(Value::Object(server_fields), json!({"version": 3}));
        let spec = spec.expect("an agent");
        assert_eq!(
            (spec.system_prompt.as_str(), spec.is_active, spec.config.max_steps),
            ("Be brief.", true, 4)
        );
        assert_eq!(tool_ids, Some(vec!["calculator".to_owned()]));
        let fields: Vec<Value> =
            bindings.into_iter().flatten().map(|wanted| Value::Object(wanted.fields)).collect();
        assert_eq!(fields, [json!({"overrides": {"retryCount": 1}, "policy": null})]);
    }
}
