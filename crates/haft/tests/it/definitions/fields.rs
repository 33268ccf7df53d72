//! Generates definitions with values for every field of the API schemas, including fields added later.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::{BoxedStrategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub(super) const TOOL: &str = include_str!("../../../../core/src/tool/schema.json");
pub(super) const HTTP_CONFIG: &str = include_str!("../../../../http/src/config.json");
pub(super) const AGENT: &str = include_str!("../../../../server/src/routes/agents/agent.json");
pub(super) const BINDING: &str = include_str!("../../../../server/src/routes/agents/binding.json");
pub(super) const PROVIDER: &str = include_str!("../../../../server/src/routes/providers/provider.json");
pub(super) const ALERT: &str = include_str!("../../../../server/src/routes/alerts/alert.json");

/// Fields set by the server. Definitions do not contain them.
pub(super) const OF_THE_SERVER: [&str; 16] = [
    "id",
    "spaceId",
    "ownerId",
    "version",
    "createdAt",
    "updatedAt",
    "source",
    "variable",
    "toolName",
    "state",
    "value",
    "since",
    "lastFiredAt",
    "lastResolvedAt",
    "webhookError",
    "toolIds",
];

pub(super) fn parsed(form: &str) -> Value {
    serde_json::from_str(form).expect("a form")
}

/// Returns the fields of a schema that a definition may contain.
pub(super) fn fields(form: &str) -> BTreeSet<String> {
    let form = parsed(form);
    let names = form["properties"].as_object().expect("properties").keys();
    names.filter(|name| !OF_THE_SERVER.contains(&name.as_str())).cloned().collect()
}

/// Webhooks of alerts. Exports mask the path of a webhook, if it has one.
const WEBHOOKS: [&str; 2] = ["https://hooks.example.com/", "https://hooks.example.com/services/T0/key"];

/// Generates values. A failed run prints its seed, which `HAFT_TEST_SEED` repeats.
pub(super) struct Draw(TestRunner);

impl Draw {
    pub(super) fn new() -> Self {
        let seed = match std::env::var("HAFT_TEST_SEED") {
            Ok(seed) => seed.parse().expect("the seed of another run"),
            Err(_) => Uuid::new_v4(),
        };
        println!("HAFT_TEST_SEED={seed}");
        let seed = [seed.into_bytes(), seed.into_bytes()].concat();
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        Self(TestRunner::new_with_rng(Config::default(), random))
    }

    pub(super) fn one<T: std::fmt::Debug>(&mut self, strategy: impl Strategy<Value = T>) -> T {
        strategy.new_tree(&mut self.0).expect("a value").current()
    }

    /// Generates a random subset of the fields of a schema. `own` overrides the generator of a field.
    fn some(&mut self, form: &str, own: impl Fn(&str) -> Option<BoxedStrategy<Value>>) -> Map<String, Value> {
        let properties = parsed(form)["properties"].clone();
        let mut drawn = Map::new();
        for name in fields(form) {
            let strategy = own(&name).unwrap_or_else(|| of_schema(&properties[&name]));
            if self.one(prop::bool::weighted(0.7)) {
                drawn.insert(name, self.one(strategy));
            }
        }
        drawn
    }

    /// Generates a `mock` or `http` tool. The configs are used in turn.
    pub(super) fn tool(&mut self, name: &str, turn: usize) -> Value {
        let config = one_of(configs(), turn);
        let kind = if config.get("answers").is_some() { "mock" } else { "http" };
        let mut tool = self.tool_of(name, kind, config);
        // Arguments that bindings may set. Every config accepts them.
        tool["inputSchema"] = schema();
        tool
    }

    /// Generates a tool with predefined arguments: a built-in variant, or a tool of kind `agent`.
    pub(super) fn variant(&mut self, name: &str, agent: &Value, turn: usize) -> Value {
        let config = vec![
            json!({"tool": "datetime"}),
            json!({"agentId": agent["id"]}),
            json!({"agent": agent["name"]}),
        ];
        let config = one_of(config, turn);
        let kind = if config.get("tool").is_some() { "builtin" } else { "agent" };
        let mut tool = self.tool_of(name, kind, config);
        for field in ["inputSchema", "outputSchema", "askWhen"] {
            tool.as_object_mut().expect("fields").shift_remove(field);
        }
        tool
    }

    fn tool_of(&mut self, name: &str, kind: &str, config: Value) -> Value {
        let mut tool = self.some(TOOL, |field| match field {
            "type" | "config" => Some(just(json!(null))),
            "name" => Some(just(json!(name))),
            "title" => Some(prop_oneof![text(), just(json!({"en": "A title", "zh": "标题"}))].boxed()),
            "inputSchema" => Some(just(schema())),
            "outputSchema" => Some(just(json!({"type": "object", "properties": {"x": {"type": "integer"}}}))),
            "askWhen" => Some(just(json!("amount > 100"))),
            "rateLimit" => Some(just(json!({"perMinute": 7, "burst": 3}))),
            _ => None,
        });
        tool.insert("type".to_owned(), kind.into());
        tool.insert("config".to_owned(), config);
        tool.insert("name".to_owned(), name.into());
        tool.entry("description").or_insert("It does something.".into());
        if tool.contains_key("askWhen") {
            tool.insert("policy".to_owned(), "ask".into());
        }
        Value::Object(tool)
    }

    /// Generates an agent with tools and a provider, named by id or by name.
    pub(super) fn agent(&mut self, name: &str, tools: &[Value], providers: &[Value]) -> Value {
        let form = parsed(AGENT);
        let mut agent = self.some(AGENT, |field| match field {
            "config" | "bindings" => Some(just(json!(null))),
            "description" | "systemPrompt" | "name" => Some(text()),
            _ => None,
        });
        let mut config = Map::new();
        for (name, schema) in form["properties"]["config"]["properties"].as_object().expect("a config") {
            let strategy = match name.as_str() {
                "provider" => prop_oneof![text(), prop::sample::select(providers.to_vec())].boxed(),
                "toolChoice" => just(json!("required")),
                "options" => just(json!({"top_p": 0.5, "seed": 1, "stop": ["end"], "drop_params": true})),
                _ => of_schema(schema),
            };
            if self.one(prop::bool::weighted(0.7)) {
                config.insert(name.clone(), self.one(strategy));
            }
        }
        let bindings: Vec<Value> = tools.iter().map(|tool| self.binding(tool)).collect();
        agent.insert("name".to_owned(), name.into());
        agent.insert("config".to_owned(), Value::Object(config));
        agent.insert("bindings".to_owned(), Value::Array(bindings));
        Value::Object(agent)
    }

    fn binding(&mut self, tool: &Value) -> Value {
        let live = tool["version"].as_u64().expect("a version");
        let has_own_schema = ["http", "mock"].map(Value::from).contains(&tool["type"]);
        // Earlier versions of a variant may have another kind.
        let oldest = if has_own_schema { 1 } else { live };
        let mut binding = self.some(BINDING, |field| match field {
            "toolId" => Some(just(tool["name"].clone())),
            "pinnedVersion" => Some((oldest..=live).prop_map(Value::from).boxed()),
            // The strictest policy, which every tool allows.
            "policy" => Some(just(json!("block"))),
            "askWhen" => Some(just(json!("amount > 5"))),
            "toolConfig" => Some(just(json!({"city": "Berlin", "$fixed": {"amount": 3}}))),
            _ => None,
        });
        binding.insert("toolId".to_owned(), tool["name"].clone());
        if !has_own_schema {
            binding.shift_remove("toolConfig");
            binding.shift_remove("askWhen");
        }
        // The policy of an earlier version is unknown here.
        let is_live = binding.get("pinnedVersion").is_none_or(|version| *version == live);
        if binding.contains_key("askWhen") && is_live && tool["policy"] != "block" {
            binding.insert("policy".to_owned(), "ask".into());
        } else {
            binding.shift_remove("askWhen");
        }
        Value::Object(binding)
    }

    /// Generates a provider. The kinds are used in turn.
    pub(super) fn provider(&mut self, name: &str, turn: usize) -> Value {
        let kinds = parsed(PROVIDER)["properties"]["kind"]["enum"].as_array().expect("kinds").clone();
        let mut provider = self.some(PROVIDER, |field| match field {
            // The server sets it from the rights of the creator.
            "byOperator" => Some(just(json!(null))),
            "name" => Some(just(json!(name))),
            "baseUrl" => Some(just(json!("https://models.example.com/v1"))),
            "apiKey" => Some(just(json!("secret://model_key"))),
            "models" => Some(just(json!(["small", "large"]))),
            "script" => Some(just(json!([{"text": "Hello."}]))),
            _ => None,
        });
        provider.shift_remove("byOperator");
        provider.insert("name".to_owned(), name.into());
        provider.insert("kind".to_owned(), one_of(kinds, turn));
        let is_scripted = provider["kind"] == "scripted";
        if is_scripted {
            provider.insert("script".to_owned(), json!([{"text": "Hello."}]));
        } else {
            provider.shift_remove("script");
        }
        Value::Object(provider)
    }

    pub(super) fn alert(&mut self, tools: &[Value]) -> Value {
        let names: Vec<Value> = tools.iter().map(|tool| tool["name"].clone()).collect();
        let mut alert = self.some(ALERT, |field| match field {
            "name" => Some(prop::sample::select(vec![json!("slow"), json!("broken"), json!("a b")]).boxed()),
            "tool" => Some(prop::sample::select(names.clone()).boxed()),
            "above" => Some(prop_oneof![Just(json!(0.25)), Just(json!(1)), Just(json!(0))].boxed()),
            "webhook" => Some(prop::sample::select(WEBHOOKS.map(Value::from).to_vec()).boxed()),
            _ => None,
        });
        alert.entry("metric").or_insert("p95".into());
        alert.entry("above").or_insert(json!(0.5));
        Value::Object(alert)
    }
}

fn one_of(values: Vec<Value>, turn: usize) -> Value {
    values[turn % values.len()].clone()
}

fn just(value: Value) -> BoxedStrategy<Value> {
    Just(value).boxed()
}

fn text() -> BoxedStrategy<Value> {
    "[a-z 天气]{0,6}[a-z]".prop_map(|text| json!(text.trim())).boxed()
}

fn schema() -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": {
        "city": {"type": "string", "description": "A city"}, "amount": {"type": "integer", "default": 1}}})
}

/// Generates a value that a schema allows.
fn of_schema(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter(|value| !value.is_null()).cloned().collect::<Vec<Value>>();
        return prop::sample::select(values).boxed();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    let bounds = |least: f64, most: f64| {
        let bound = |name: &str, other: f64| schema[name].as_f64().unwrap_or(other);
        (bound("minimum", least), bound("maximum", most))
    };
    match kind {
        Some("string") => text(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("integer") => {
            let (least, most) = bounds(0.0, 1000.0);
            (least as i64..=most as i64).prop_map(Value::from).boxed()
        }
        Some("number") => {
            let (least, most) = bounds(0.0, 1000.0);
            (0..=8).prop_map(move |eighths| json!(least + (most - least) * f64::from(eighths) / 8.0)).boxed()
        }
        Some("object") if schema["properties"].is_object() => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let fields: Vec<_> = properties
                .map(|(name, schema)| (Just(name.clone()), prop::option::of(of_schema(schema))))
                .collect();
            let given = |fields: Vec<(String, Option<Value>)>| {
                fields
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
                    .collect::<Map<String, Value>>()
            };
            fields.prop_map(move |fields| Value::Object(given(fields))).boxed()
        }
        _ => panic!("say in fields.rs what {schema} may hold"),
    }
}

/// Returns configs that together contain every field of an HTTP tool.
pub(super) fn configs() -> Vec<Value> {
    let url = "https://api.example.com/weather/{{city}}";
    vec![
        json!({"answers": [{"data": {"x": 1}}, {"error": {"kind": "Execution", "message": "no"}, "delay": 1}]}),
        json!({"url": url, "method": "GET", "headers": {"X-Amount": "{{amount}}", "X-Key": "secret://api_key"},
            "cookies": {"a": "b"}, "query": {"list": ["{{city}}"]}, "brackets": ["list"], "sendDefaults": false,
            "sendTrace": false,
            "security": {"allowedDomains": ["api.example.com"], "maxResponseSize": 4096}, "redact": ["token"],
            "responseFilter": "data"}),
        json!({"url": url, "method": "POST", "body": {"n": "{{amount}}"}, "bodyType": "form",
            "auth": {"type": "bearer", "token": "secret://api_key"},
            "imported": {"from": "openapi", "document": "d", "operation": "GET /weather"}}),
        json!({"baseUrl": "https://api.example.com", "url": "/weather/{{city}}", "params": {"n": "{{amount}}"},
            "poll": {"url": "https://api.example.com/jobs/{{response.id}}", "status": "status", "done": ["done"],
                "failed": "failed", "result": "result", "progress": "progress", "interval": 2, "timeout": 60}}),
        json!({"url": url, "method": "POST", "body": {"to": "{{callbackUrl}}", "n": "{{amount}}"},
            "callback": {"status": "status", "done": "done", "result": "result", "timeout": 60}}),
    ]
}

#[test]
fn configs_contain_every_field_of_an_http_tool() {
    let configs = configs();
    let has = |field: &str| configs.iter().any(|config| config.get(field).is_some());
    let missing: Vec<String> = fields(HTTP_CONFIG).into_iter().filter(|field| !has(field)).collect();
    assert!(missing.is_empty(), "no config in fields.rs has {missing:?}");
}
