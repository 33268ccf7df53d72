//! Round trip: an export changes nothing on its own server, and is equal after it is applied to other
//! servers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::TestSpace;
use super::fields::{self, AGENT, ALERT, BINDING, Draw, OF_THE_SERVER, PROVIDER, TOOL, fields};
use crate::cli_over_http::{Desk, parsed, worked};

const CASES: usize = 12;

/// The index of the tool that is a variant of a built-in tool.
const VARIANT: usize = 2;

/// The name of a built-in tool.
const BUILT_IN: &str = "calculator";

const LISTS: [(&str, &str, &str); 4] = [
    ("tools", "/api/tools?limit=200", TOOL),
    ("agents", "/api/agents?limit=200", AGENT),
    ("providers", "/api/providers?limit=200", PROVIDER),
    ("alerts", "/api/alerts?limit=200", ALERT),
];

/// Reads all definitions of a space in a form that is comparable between servers.
async fn comparable_content(space: &TestSpace<'_>) -> BTreeMap<&'static str, Vec<Value>> {
    let mut names = BTreeMap::new();
    for path in ["/api/tools?limit=200", "/api/agents?limit=200", "/api/providers?limit=200"] {
        for item in space.items(path).await {
            names.insert(item["id"].to_string(), item["name"].clone());
        }
    }
    // A tool's config may contain the id of an agent, and an agent's config the id of a provider.
    let portable = |config: &mut Value| {
        for field in ["agentId", "provider"] {
            if let Some(name) = config.get(field).and_then(|id| names.get(&id.to_string())) {
                config[field] = name.clone();
            }
        }
    };
    let mut all = BTreeMap::new();
    for (list, path, _) in LISTS {
        let mut items = space.items(path).await;
        items.retain(|item| !item["spaceId"].is_null());
        for item in &mut items {
            let fields = item.as_object_mut().expect("an object");
            fields.retain(|name, _| !OF_THE_SERVER.contains(&name.as_str()));
            if let Some(config) = fields.get_mut("config") {
                portable(config);
            }
            if let Some(tool) = fields.get_mut("tool").filter(|tool| !tool.is_null()) {
                *tool = names[&tool.to_string()].clone();
            }
            for binding in fields.get_mut("bindings").and_then(Value::as_array_mut).into_iter().flatten() {
                let tool = names[&binding["toolId"].to_string()].clone();
                if let Some(number) = binding["pinnedVersion"].as_u64().filter(|_| tool != BUILT_IN) {
                    // Version numbers differ between servers, the content does not.
                    let name = tool.as_str().expect("a name");
                    let path = format!("/api/tools/{name}/versions/{number}");
                    let mut version = space.api.get(&path).await.data().clone();
                    portable(&mut version["config"]);
                    binding["pinnedVersion"] = json!([version["description"], version["config"]]);
                }
                binding["toolId"] = tool;
            }
        }
        items.sort_by_key(Value::to_string);
        all.insert(list, items);
    }
    all
}

/// Removes the webhooks, which are missing on servers that received an export.
fn without_webhooks(mut all: BTreeMap<&'static str, Vec<Value>>) -> BTreeMap<&'static str, Vec<Value>> {
    let alerts = all.get_mut("alerts").expect("alerts");
    for alert in alerts.iter_mut().filter(|alert| has_path(&alert["webhook"])) {
        alert["webhook"] = Value::Null;
    }
    alerts.sort_by_key(Value::to_string);
    all
}

/// Returns true if a webhook has a path, which exports mask.
fn has_path(webhook: &Value) -> bool {
    webhook.as_str().is_some_and(|webhook| !webhook.ends_with(".com/"))
}

/// Removes the parts of an export that differ between servers: version numbers and masked webhooks.
fn unnumbered(export: &str) -> Value {
    let mut export: Value = serde_json::from_str(export).expect("JSON");
    for alert in export["alerts"].as_array_mut().into_iter().flatten() {
        if has_path(&alert["webhook"])
            && let Some(alert) = alert.as_object_mut()
        {
            alert.shift_remove("webhook");
        }
    }
    if let Some(alerts) = export["alerts"].as_array_mut() {
        alerts.sort_by_key(Value::to_string);
    }
    let agents = export["agents"].as_array_mut().into_iter().flatten();
    for binding in agents.flat_map(|agent| agent["bindings"].as_array_mut().into_iter().flatten()) {
        if let Some(binding) = binding.as_object_mut() {
            binding.shift_remove("pinnedVersion");
        }
    }
    export
}

async fn unchanged(space: &TestSpace<'_>, export: &str, what: &str) {
    let compared = space.haft(&["diff", "-f", "-", "--prune", "--json"], export).await;
    assert_eq!(compared.code, 0, "{what}: {}{}\n{export}", compared.stdout, compared.stderr);
    let before = comparable_content(space).await;
    worked(space.haft(&["apply", "-f", "-", "--prune"], export).await);
    assert_eq!(comparable_content(space).await, before, "{what}");
}

/// Creates or replaces a tool.
async fn put(space: &TestSpace<'_>, tool: &Value) {
    let path = format!("/api/tools/{}", tool["name"].as_str().expect("a name"));
    if space.api.get(&path).await.status == 404 {
        space.make("/api/tools", tool).await;
    } else {
        let reply = space.api.put(&path, tool).await;
        assert_eq!(reply.status, 200, "{tool}: {}", reply.body);
    }
}

/// Returns the tools with a pinned version that is not live, with the number of that version.
async fn old_pins(space: &TestSpace<'_>, tools: &[Value]) -> BTreeSet<(String, usize)> {
    let mut pins = BTreeSet::new();
    for agent in space.items("/api/agents?limit=200").await {
        for binding in agent["bindings"].as_array().into_iter().flatten() {
            let tool = tools.iter().find(|tool| tool["id"] == binding["toolId"]).expect("a tool");
            let pinned = binding["pinnedVersion"].as_u64().filter(|pinned| tool["version"] != *pinned);
            if let Some(pinned) = pinned {
                let name = tool["name"].as_str().expect("a name").to_owned();
                pins.insert((name, usize::try_from(pinned).expect("a small number")));
            }
        }
    }
    pins
}

#[tokio::test]
async fn export_is_equal_on_all_servers() {
    let (here, there) = (Desk::new("fields-here").await, Desk::new("fields-there").await);
    let mut draw = Draw::new();
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let config_form = fields::parsed(AGENT)["properties"]["config"].to_string();
    let (mut kinds, mut pins, mut old_pinned) = (BTreeSet::new(), BTreeSet::new(), 0);
    for case in 0..CASES {
        let from = TestSpace::new(&here, &format!("case {case}")).await;
        let callee = from.make("/api/agents", &json!({"name": "callee"})).await;
        let (mut tools, mut history) = (Vec::new(), BTreeMap::new());
        for number in 0..3 {
            let name = format!("tool_{number}");
            let mut versions = Vec::new();
            // The last version of each case differs from that of the previous case.
            for turn in (0..draw.one(1..4_usize)).rev() {
                let tool = match number {
                    VARIANT => draw.variant(&name, &callee, case + turn),
                    _ => draw.tool(&name, 2 * case + number + turn),
                };
                put(&from, &tool).await;
                versions.push(tool);
            }
            tools.push(from.api.get(&format!("/api/tools/{name}")).await.data().clone());
            history.insert(name, versions);
        }
        tools.push(from.api.get(&format!("/api/tools/{BUILT_IN}")).await.data().clone());
        let mut providers = Vec::new();
        for number in 0..2 {
            let provider = draw.provider(&format!("provider_{number}"), 2 * case + number);
            providers.push(from.make("/api/providers", &provider).await["id"].clone());
        }
        for number in 0..2 {
            let agent = draw.agent(&format!("agent {number}"), &tools, &providers);
            from.make("/api/agents", &agent).await;
        }
        for _ in 0..3 {
            from.make("/api/alerts", &draw.alert(&tools)).await;
        }
        let export = from.export().await;
        let whole = comparable_content(&from).await;
        for (list, _, form) in LISTS {
            for thing in &whole[list] {
                if list == "tools" {
                    kinds.insert(thing["type"].to_string());
                }
                let is_set = |name: &String| !thing[name].is_null();
                seen.entry(form).or_default().extend(fields(form).into_iter().filter(is_set));
                if list == "agents" {
                    let is_set = |name: &String| !thing["config"][name].is_null();
                    seen.entry(&config_form)
                        .or_default()
                        .extend(fields(&config_form).into_iter().filter(is_set));
                }
                for binding in thing["bindings"].as_array().into_iter().flatten() {
                    pins.insert((binding["toolId"] == BUILT_IN, !binding["pinnedVersion"].is_null()));
                    let is_set = |name: &String| !binding[name].is_null();
                    seen.entry(BINDING).or_default().extend(fields(BINDING).into_iter().filter(is_set));
                }
            }
        }

        unchanged(&from, &export, "its own server").await;
        let to = TestSpace::new(&there, &format!("case {case}")).await;
        let mut updated = BTreeSet::new();
        for (name, number) in old_pins(&from, &tools).await {
            // The other server stores this content under another number.
            put(&to, &draw.tool(&name, case)).await;
            put(&to, &history[&name][number - 1]).await;
            updated.insert(name);
            old_pinned += 1;
        }
        let applied = worked(to.haft(&["apply", "-f", "-", "--json"], &export).await);
        let report = parsed(&applied);
        for (list, ..) in LISTS {
            let changes = report[list].as_array().expect("a list");
            for thing in changes {
                let is_updated = thing["name"].as_str().is_some_and(|name| updated.contains(name));
                assert_eq!(thing["change"], if is_updated { "updated" } else { "created" }, "{report}");
            }
            assert_eq!(changes.len(), whole[list].len(), "{list}: {report}");
        }
        let masked = whole["alerts"].iter().filter(|alert| has_path(&alert["webhook"])).count();
        assert_eq!(report["missingWebhooks"].as_array().map(Vec::len), Some(masked), "{report}");
        assert_eq!(comparable_content(&to).await, without_webhooks(whole), "an empty server got all of it");
        unchanged(&to, &export, "a server that has it already").await;
        assert_eq!(unnumbered(&to.export().await), unnumbered(&export));
    }
    assert_eq!(kinds.len(), 4, "{kinds:?}");
    assert!(
        pins.contains(&(true, true)) && old_pinned > 0,
        "{pins:?}: pins of a built-in and of old versions"
    );
    for form in [TOOL, AGENT, &config_form, BINDING, PROVIDER, ALERT] {
        let missing: Vec<String> =
            fields(form).into_iter().filter(|name| !seen[form].contains(name)).collect();
        assert!(missing.is_empty(), "no case had {missing:?}; draw it in fields.rs");
    }
}
