//! Rules of the repository: small files with a module comment, complete messages, permissive licenses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository").to_owned()
}

fn tracked(pattern: &str) -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", pattern])
        .current_dir(root())
        .output()
        .expect("git runs");
    let names = String::from_utf8(listed.stdout).expect("names");
    let files: Vec<PathBuf> =
        names.lines().map(|name| root().join(name)).filter(|path| path.exists()).collect();
    assert!(!files.is_empty(), "no file matches {pattern}");
    files
}

#[test]
fn every_file_says_what_it_is_and_is_small_enough_to_read() {
    for path in tracked("*.rs") {
        let text = std::fs::read_to_string(&path).expect("readable");
        assert!(
            text.starts_with("//!"),
            "{}: start with a //! line that says what lives there",
            path.display()
        );
        let code = text.split("#[cfg(test)]").next().unwrap_or_default().lines().count();
        assert!(code <= 500, "{}: {code} lines before its tests; split it", path.display());
    }
}

#[test]
fn every_message_is_there_in_both_languages_and_its_id_is_its_own() {
    let mut templates = haft_core::all_templates();
    templates.extend(haft_engine::all_templates());
    templates.extend(haft_query::all_templates());
    templates.extend(haft_egress::all_templates());
    templates.extend(haft_http::all_templates());
    templates.extend(haft_web::all_templates());
    templates.extend(haft_llm::all_templates());
    templates.extend(haft_agent::all_templates());
    templates.extend(haft_runs::all_templates());
    templates.extend(haft_tasks::all_templates());
    templates.extend(haft_store::all_templates());
    templates.extend(haft_builtins::all_templates());
    templates.extend(haft_calc::all_templates());
    templates.extend(haft_server::all_templates());
    haft_core::message::check_templates(&templates).expect("complete messages");
}

#[test]
fn arrows_between_crates_point_one_way() {
    // Each crate may depend only on crates that precede it.
    let order = [
        "haft-core",
        "haft-supervisor",
        "haft-engine",
        "haft-query",
        "haft-egress",
        "haft-http",
        "haft-web",
        "haft-builtins",
        "haft-calc",
        "haft-llm",
        "haft-runs",
        "haft-tasks",
        "haft-agent",
        "haft-store",
        "haft-console",
        "haft-server",
        "haft",
    ];
    for package in packages(&["--no-deps"]) {
        let name = package["name"].as_str().expect("a name").to_owned();
        let Some(place) = order.iter().position(|known| *known == name) else {
            assert!(
                ["haft-testkit", "haft-bench"].contains(&name.as_str()),
                "{name} has no place in the order"
            );
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("a list") {
            let used = dependency["name"].as_str().expect("a name");
            let is_normal = dependency["kind"].is_null();
            if let Some(below) = order.iter().position(|known| *known == used) {
                assert!(below < place, "{name} must not use {used}");
            }
            assert!(!(is_normal && used == "haft-testkit"), "{name}: the testkit is for tests only");
        }
    }
}

/// Returns true if the HTTP server uses the library without its client.
fn is_server_side(package: &str, dependency: &Value) -> bool {
    let is_http = ["hyper", "hyper-util"].iter().any(|name| dependency["name"] == *name);
    let features = dependency["features"].as_array().expect("a list");
    let has_client = features.iter().any(|name| name.as_str().is_some_and(|name| name.starts_with("client")));
    package == "haft-server" && is_http && !has_client
}

#[test]
fn only_egress_opens_outgoing_connections() {
    // Code that creates an HTTP client, dials a socket or resolves a name depends on one of these or contains one of
    // these.
    let clients = [
        "reqwest",
        "hyper",
        "hyper-util",
        "hyper-rustls",
        "ureq",
        "isahc",
        "curl",
        "attohttpc",
        "rustls",
        "tokio-rustls",
        "native-tls",
        "h2",
        "socket2",
    ];
    for package in packages(&["--no-deps"]) {
        let name = package["name"].as_str().expect("a name");
        // Tests and benchmarks stand outside, as clients of ours do.
        if ["haft-egress", "haft-testkit", "haft-bench"].contains(&name) {
            continue;
        }
        for dependency in package["dependencies"].as_array().expect("a list") {
            let used = dependency["name"].as_str().expect("a name");
            let is_normal = dependency["kind"].is_null();
            let is_client = clients.contains(&used) && !is_server_side(name, dependency);
            assert!(!(is_normal && is_client), "{name} uses {used}: only haft-egress may");
        }
    }
    let dialling = [
        "TcpStream::connect",
        "TcpSocket",
        "UdpSocket",
        "UnixStream::connect",
        "lookup_host",
        "to_socket_addrs",
        "hyper::client",
        "hyper_util::client",
    ];
    for path in tracked("crates/*/src/*.rs") {
        let inside = path.strip_prefix(root()).expect("within").to_string_lossy().into_owned();
        if inside.starts_with("crates/egress/") || inside.starts_with("crates/testkit/") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in dialling {
            assert!(!code.contains(word), "{inside} says {word}: only haft-egress opens connections");
        }
    }
}

#[test]
fn every_dependency_has_a_licence_we_allow() {
    let deny = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml");
    let deny: Value = toml::from_str(&deny).expect("TOML");
    let allowed: BTreeSet<&str> =
        deny["licenses"]["allow"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let mut refused = Vec::new();
    for package in packages(&[]) {
        let licence = package["license"].as_str().unwrap_or("none");
        if !is_allowed(licence, &allowed) {
            refused.push(format!("{} {}: {licence}", package["name"], package["version"]));
        }
    }
    assert!(refused.is_empty(), "licences that deny.toml does not allow:\n{}", refused.join("\n"));
}

fn packages(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().expect("a list").clone()
}

/// An SPDX expression: one side of an OR is enough, both sides of an AND are needed.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let expression = expression.trim();
    if let Some(inner) = enclosed(expression) {
        return is_allowed(inner, allowed);
    }
    if let Some((left, right)) = split_outside(expression, " OR ") {
        return is_allowed(left, allowed) || is_allowed(right, allowed);
    }
    if let Some((left, right)) = split_outside(expression, " AND ") {
        return is_allowed(left, allowed) && is_allowed(right, allowed);
    }
    // The older way of writing OR.
    expression.split('/').any(|name| allowed.contains(name.trim()))
}

fn enclosed(expression: &str) -> Option<&str> {
    let inner = expression.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0;
    for character in inner.chars() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return None,
            ')' => depth -= 1,
            _ => {}
        }
    }
    Some(inner)
}

fn split_outside<'a>(expression: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let depth_at = |end: usize| {
        let before = &expression[..end];
        before.matches('(').count() - before.matches(')').count()
    };
    let (at, _) = expression.match_indices(word).find(|(at, _)| depth_at(*at) == 0)?;
    Some((&expression[..at], &expression[at + word.len()..]))
}

#[test]
fn licence_expressions_are_read_as_spdx_means_them() {
    let allowed = BTreeSet::from(["MIT", "Apache-2.0"]);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", false),
        ("(MIT OR GPL-3.0) AND Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND (GPL-2.0 OR MIT)", true),
        ("MIT/Apache-2.0", true),
        ("none", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}
