//! Permissions: every operation of the server's own OpenAPI document, requested by every kind of caller.
//!
//! Each operation has a row in the table; a missing row fails the test. Outsiders find no trace of a space.

mod bypasses;
mod references;
mod table;
mod world;

use axum::http::Method;
use haft_testkit::{Client, TestResponse};
use serde_json::Value;

use self::table::{Case, Needs, Rights, Row, table};
use self::world::{MARK, Resources, World, new_name};

/// Returns a valid body of an operation, with an unused name. Other tests use it, too.
pub(crate) fn good_body(operation: &str, name: &str) -> Option<Value> {
    let row = table().into_iter().find(|row| row.operation == operation)?;
    let body = row.cases.into_iter().next()?.body?;
    Some(named(&body, name))
}

fn named(body: &Value, name: &str) -> Value {
    serde_json::from_str(&body.to_string().replace("NEW", name)).expect("JSON")
}

/// Returns the method and the path of a row.
fn parts(row: &Row) -> (Method, &'static str) {
    let (method, path) = row.operation.split_once(' ').expect("a method and a path");
    (Method::from_bytes(method.as_bytes()).expect("a method"), path)
}

/// Sends a request with a unique name in its body.
async fn ask(client: &Client, method: &Method, path: &str, body: Option<&Value>) -> TestResponse {
    let Some(body) = body else { return client.send(method.clone(), path, Vec::new()).await };
    client.send_json(method.clone(), path, &named(body, &new_name())).await
}

/// Returns a response as text, without fields that vary, and with `THING` instead of each name in `named`.
fn comparable_text(reply: &TestResponse, named: &[&str]) -> String {
    let mut body = reply.body.clone();
    for (part, field) in [("error", "requestId"), ("data", "callId"), ("data", "executionTime")] {
        if let Some(fields) = body.get_mut(part).and_then(Value::as_object_mut) {
            fields.remove(field);
        }
    }
    let mut named = named.to_vec();
    named.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let text = named.into_iter().fold(body.to_string(), |text, name| text.replace(name, "THING"));
    format!("{} {text}", reply.status)
}

/// Returns the kind of a failure, also in OpenAI's format, which has other codes.
fn kind(reply: &TestResponse) -> &str {
    match reply.body["error"]["code"].as_str() {
        Some("permission_denied") => "Permission",
        Some("not_found" | "model_not_found") => "NotFound",
        Some(_) | None => reply.kind(),
    }
}

/// Asserts that the response for a resource of another space equals that for a missing one.
#[track_caller]
fn assert_indistinguishable(
    about: &str,
    (foreign, named): (&TestResponse, &[&str]),
    (missing, nothing): (&TestResponse, &[&str]),
) {
    assert_eq!(
        comparable_text(foreign, named),
        comparable_text(missing, nothing),
        "{about} distinguishes a foreign resource from a missing one"
    );
}

/// Asserts that a response contains nothing of the space.
#[track_caller]
fn assert_no_trace(about: &str, reply: &TestResponse, world: &World) {
    let text = reply.body.to_string();
    for trace in world.by_id.all().into_iter().chain([MARK]) {
        assert!(!text.contains(trace), "{about} shows {trace}: {text}");
    }
}

/// Returns the rows, after asserting that they match the operations of the document.
fn rows(document: &Value) -> Vec<Row> {
    let rows = table();
    let mut documented = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let name = format!("{} {path}", method.to_ascii_uppercase());
            let row = rows.iter().find(|row| row.operation == name);
            let row = row.unwrap_or_else(|| panic!("{name} has no row in permissions/table.rs"));
            assert_eq!(
                operation["x-needs"],
                row.needs.word(),
                "{name} needs another permission than its row says"
            );
            documented.push(name);
        }
    }
    for row in &rows {
        assert!(
            documented.iter().any(|name| name == row.operation),
            "{} is not in the document",
            row.operation
        );
    }
    assert_eq!(documented.len(), rows.len(), "one row for each operation");
    rows
}

#[tokio::test]
async fn permissions_of_members_are_limited_by_role_and_token() {
    let world = World::start().await;
    let before = world.snapshot().await;
    let mut wrong = Vec::new();
    for row in rows(&world.document).iter().filter(|row| row.needs != Needs::Nothing) {
        let (method, path) = parts(row);
        for case in &row.cases {
            wrong.extend(ask_members(&world, row, case).await);
        }
        if method != Method::GET {
            assert_eq!(
                world.snapshot().await,
                before,
                "{path} changed a resource without permission: {wrong:#?}"
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Lists the responses that contradict the permissions.
async fn ask_members(world: &World, row: &Row, case: &Case) -> Vec<String> {
    let (method, path) = parts(row);
    let needs = case.needs.unwrap_or(row.needs);
    let mut wrong = Vec::new();
    for actor in &world.actors {
        let may = needs.allows(actor.rights);
        let uses_up = path.contains('{') && (case.is_own || (may && method != Method::GET));
        let resources = if uses_up { world.fresh(actor, case, path).await } else { world.by_id.clone() };
        let target = format!("{}{}", resources.fill(path), case.query);
        let reply = ask(&actor.client, &method, &target, case.body.as_ref()).await;
        let expected = if may { case.works } else { case.refused };
        let has_kind = reply.status != 403 || kind(&reply) == "Permission";
        if reply.status != expected || !has_kind {
            let (who, scope) = (actor.who, actor.rights.scope);
            let about = format!("{method} {target} by {who} with scope {scope}, which needs {needs:?}");
            wrong.push(format!("{about}: {} instead of {expected}: {}", reply.status, reply.body));
        }
        if !may && case.refused == 404 {
            let nothing = Resources::missing_by_id();
            let target = format!("{}{}", nothing.fill(path), case.query);
            let missing = ask(&actor.client, &method, &target, case.body.as_ref()).await;
            assert_indistinguishable(&target, (&reply, &resources.all()), (&missing, &nothing.all()));
        }
    }
    wrong
}

#[tokio::test]
async fn anonymous_callers_learn_nothing() {
    let world = World::start().await;
    let refusal = world.anyone.get("/api/tools").await;
    assert_eq!((refusal.status, refusal.kind()), (401, "Unauthorized"));
    assert_no_trace("a refusal", &refusal, &world);
    let v1_refusal = world.anyone.get("/v1/models").await;
    assert_eq!(
        (v1_refusal.status, &v1_refusal.body["error"]["code"]),
        (401, &Value::from("invalid_api_key"))
    );
    let unknown = world.anyone.with("authorization", "Bearer haft_nobody");
    let unknown_refusal = unknown.get("/api/tools").await;
    assert_eq!(unknown_refusal.status, 401);
    for row in rows(&world.document) {
        let (method, path) = parts(&row);
        let refusal = if path.starts_with("/v1/") { &v1_refusal } else { &refusal };
        for case in &row.cases {
            if row.needs == Needs::Nothing {
                let reply = ask(&world.anyone, &method, path, case.body.as_ref()).await;
                assert_eq!(reply.status, case.works, "{path}: {}", reply.body);
                continue;
            }
            for resources in [&world.by_id, &world.by_name, &Resources::missing_by_id()] {
                let target = format!("{}{}", resources.fill(path), case.query);
                let reply = ask(&world.anyone, &method, &target, case.body.as_ref()).await;
                assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{method} {target}");
                assert_eq!(comparable_text(&reply, &[]), comparable_text(refusal, &[]), "{method} {target}");
            }
        }
    }
    // Failed authentication is throttled soon, so only some routes are requested.
    for path in
        [format!("/api/spaces/{}", world.by_id.space), "/api/me".to_owned(), "/api/nothing".to_owned()]
    {
        assert_eq!(
            comparable_text(&unknown.get(&path).await, &[]),
            comparable_text(&unknown_refusal, &[]),
            "{path}"
        );
    }
}

#[tokio::test]
async fn outsiders_find_no_trace_of_a_space() {
    let world = World::start().await;
    let before = world.snapshot().await;
    for (client, is_operator) in [(&world.stranger, false), (&world.operator, true)] {
        let rights = Rights { role: "admin", scope: "admin", is_operator };
        for row in rows(&world.document).iter().filter(|row| row.needs != Needs::Nothing) {
            for case in row.cases.iter().filter(|case| !case.is_own) {
                let needs = case.needs.unwrap_or(row.needs);
                ask_outsider(&world, (client, rights), (row, case, needs)).await;
            }
        }
        assert_eq!(world.snapshot().await, before, "an outsider changed something: operator {is_operator}");
    }
}

async fn ask_outsider(
    world: &World,
    (client, rights): (&Client, Rights),
    (row, case, needs): (&Row, &Case, Needs),
) {
    let (method, path) = parts(row);
    let ask = async |resources: &Resources| {
        let target = format!("{}{}", resources.fill(path), case.query);
        ask(client, &method, &target, case.body.as_ref()).await
    };
    let about = format!("{}{}", row.operation, case.query);
    if !needs.allows(rights) && case.refused == 403 {
        let reply = ask(&world.by_id).await;
        assert_eq!((reply.status, kind(&reply)), (403, "Permission"), "{about}: {}", reply.body);
        assert_no_trace(&about, &reply, world);
        return;
    }
    if !path.contains('{') {
        let reply = ask(&world.by_id).await;
        assert_eq!(reply.status, case.works, "{about}: {}", reply.body);
        // Operators see all users, whatever spaces the users are in.
        if needs != Needs::Operator {
            assert_no_trace(&about, &reply, world);
        }
        return;
    }
    // A name that is free is covered by another test, and operators know all users.
    if case.is_by_name || (needs == Needs::Operator && rights.is_operator) {
        return;
    }
    let pairs = [(&world.by_id, Resources::missing_by_id()), (&world.by_name, Resources::missing_by_name())];
    for (foreign, nothing) in pairs {
        let (reply, missing) = (ask(foreign).await, ask(&nothing).await);
        assert_eq!((reply.status, kind(&reply)), (404, "NotFound"), "{about}: {}", reply.body);
        assert_indistinguishable(&about, (&reply, &foreign.all()), (&missing, &nothing.all()));
    }
}
