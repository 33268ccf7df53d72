//! Who may do what: every operation of the server's own document, asked by everyone there is.
//!
//! Each operation has a row in the table; one without fails the test. Who is no member finds no trace.

mod holes;
mod references;
mod table;
mod world;

use axum::http::Method;
use haft_testkit::{Client, Reply};
use serde_json::Value;

use self::table::{Case, Needs, Rights, Row, table};
use self::world::{MARK, Things, World, new_name};

/// A body that works for an operation, with a name that nothing has; for other tests too.
pub(crate) fn good_body(operation: &str, name: &str) -> Option<Value> {
    let row = table().into_iter().find(|row| row.operation == operation)?;
    let body = row.cases.into_iter().next()?.body?;
    Some(named(&body, name))
}

fn named(body: &Value, name: &str) -> Value {
    serde_json::from_str(&body.to_string().replace("NEW", name)).expect("JSON")
}

/// A row's method and path.
fn parts(row: &Row) -> (Method, &'static str) {
    let (method, path) = row.operation.split_once(' ').expect("a method and a path");
    (Method::from_bytes(method.as_bytes()).expect("a method"), path)
}

/// Sends a request with names of its own.
async fn ask(client: &Client, method: &Method, path: &str, body: Option<&Value>) -> Reply {
    let Some(body) = body else { return client.send(method.clone(), path, Vec::new()).await };
    client.send_json(method.clone(), path, &named(body, &new_name())).await
}

/// An answer without what differs each time, and with one word for whatever the request named.
fn said(reply: &Reply, named: &[&str]) -> String {
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

/// The kind of a failure, which OpenAI's form tells in words of its own.
fn kind(reply: &Reply) -> &str {
    match reply.body["error"]["code"].as_str() {
        Some("permission_denied") => "Permission",
        Some("not_found" | "model_not_found") => "NotFound",
        Some(_) | None => reply.kind(),
    }
}

/// Fails unless naming a thing of somebody else is answered as naming nothing is.
#[track_caller]
fn same(about: &str, (foreign, named): (&Reply, &[&str]), (missing, nothing): (&Reply, &[&str])) {
    assert_eq!(said(foreign, named), said(missing, nothing), "{about} tells a foreign thing from none");
}

/// Fails when an answer holds anything of the space.
#[track_caller]
fn no_trace(about: &str, reply: &Reply, world: &World) {
    let text = reply.body.to_string();
    for trace in world.by_id.all().into_iter().chain([MARK]) {
        assert!(!text.contains(trace), "{about} shows {trace}: {text}");
    }
}

/// The rows, as long as they are those of the document.
fn rows(document: &Value) -> Vec<Row> {
    let rows = table();
    let mut known = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let name = format!("{} {path}", method.to_ascii_uppercase());
            let row = rows.iter().find(|row| row.operation == name);
            let row = row.unwrap_or_else(|| panic!("{name} has no row in permissions/table.rs"));
            assert_eq!(operation["x-needs"], row.needs.word(), "{name} needs something else than it did");
            known.push(name);
        }
    }
    for row in &rows {
        assert!(known.iter().any(|name| name == row.operation), "{} is no longer there", row.operation);
    }
    assert_eq!(known.len(), rows.len(), "one row for each operation");
    rows
}

#[tokio::test]
async fn members_may_what_their_role_and_their_token_both_allow() {
    let world = World::start().await;
    let before = world.standing().await;
    let mut wrong = Vec::new();
    for row in rows(&world.document).iter().filter(|row| row.needs != Needs::Nothing) {
        let (method, path) = parts(row);
        for case in &row.cases {
            wrong.extend(ask_members(&world, row, case).await);
        }
        if method != Method::GET {
            assert_eq!(world.standing().await, before, "{path} changed what it had no right to: {wrong:#?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What was answered otherwise than the rights say.
async fn ask_members(world: &World, row: &Row, case: &Case) -> Vec<String> {
    let (method, path) = parts(row);
    let needs = case.needs.unwrap_or(row.needs);
    let mut wrong = Vec::new();
    for actor in &world.actors {
        let may = needs.allows(actor.rights);
        let uses_up = path.contains('{') && (case.is_own || (may && method != Method::GET));
        let things = if uses_up { world.fresh(actor, case, path).await } else { world.by_id.clone() };
        let target = format!("{}{}", things.fill(path), case.query);
        let reply = ask(&actor.client, &method, &target, case.body.as_ref()).await;
        let expected = if may { case.works } else { case.refused };
        let is_said = reply.status != 403 || kind(&reply) == "Permission";
        if reply.status != expected || !is_said {
            let (who, scope) = (actor.who, actor.rights.scope);
            let about = format!("{method} {target} by {who} with scope {scope}, which needs {needs:?}");
            wrong.push(format!("{about}: {} instead of {expected}: {}", reply.status, reply.body));
        }
        if !may && case.refused == 404 {
            let nothing = Things::missing_by_id();
            let target = format!("{}{}", nothing.fill(path), case.query);
            let missing = ask(&actor.client, &method, &target, case.body.as_ref()).await;
            same(&target, (&reply, &things.all()), (&missing, &nothing.all()));
        }
    }
    wrong
}

#[tokio::test]
async fn who_is_not_known_learns_nothing() {
    let world = World::start().await;
    let refusal = world.anyone.get("/api/tools").await;
    assert_eq!((refusal.status, refusal.kind()), (401, "Unauthorized"));
    no_trace("a refusal", &refusal, &world);
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
            for things in [&world.by_id, &world.by_name, &Things::missing_by_id()] {
                let target = format!("{}{}", things.fill(path), case.query);
                let reply = ask(&world.anyone, &method, &target, case.body.as_ref()).await;
                assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{method} {target}");
                assert_eq!(said(&reply, &[]), said(refusal, &[]), "{method} {target}");
            }
        }
    }
    // Guesses are slowed down before long, so not every route is asked.
    for path in
        [format!("/api/spaces/{}", world.by_id.space), "/api/me".to_owned(), "/api/nothing".to_owned()]
    {
        assert_eq!(said(&unknown.get(&path).await, &[]), said(&unknown_refusal, &[]), "{path}");
    }
}

#[tokio::test]
async fn who_is_no_member_finds_no_trace() {
    let world = World::start().await;
    let before = world.standing().await;
    for (client, is_operator) in [(&world.stranger, false), (&world.operator, true)] {
        let rights = Rights { role: "admin", scope: "admin", is_operator };
        for row in rows(&world.document).iter().filter(|row| row.needs != Needs::Nothing) {
            for case in row.cases.iter().filter(|case| !case.is_own) {
                let needs = case.needs.unwrap_or(row.needs);
                ask_outsider(&world, (client, rights), (row, case, needs)).await;
            }
        }
        assert_eq!(world.standing().await, before, "an outsider changed something: operator {is_operator}");
    }
}

async fn ask_outsider(
    world: &World,
    (client, rights): (&Client, Rights),
    (row, case, needs): (&Row, &Case, Needs),
) {
    let (method, path) = parts(row);
    let ask = async |things: &Things| {
        let target = format!("{}{}", things.fill(path), case.query);
        ask(client, &method, &target, case.body.as_ref()).await
    };
    let about = format!("{}{}", row.operation, case.query);
    if !needs.allows(rights) && case.refused == 403 {
        let reply = ask(&world.by_id).await;
        assert_eq!((reply.status, kind(&reply)), (403, "Permission"), "{about}: {}", reply.body);
        no_trace(&about, &reply, world);
        return;
    }
    if !path.contains('{') {
        let reply = ask(&world.by_id).await;
        assert_eq!(reply.status, case.works, "{about}: {}", reply.body);
        // Users are for those who run the server, whatever spaces they are in.
        if needs != Needs::Operator {
            no_trace(&about, &reply, world);
        }
        return;
    }
    // A name is free in a space of one's own, which is another test; and who runs the server knows its users.
    if case.is_by_name || (needs == Needs::Operator && rights.is_operator) {
        return;
    }
    let pairs = [(&world.by_id, Things::missing_by_id()), (&world.by_name, Things::missing_by_name())];
    for (foreign, nothing) in pairs {
        let (reply, missing) = (ask(foreign).await, ask(&nothing).await);
        assert_eq!((reply.status, kind(&reply)), (404, "NotFound"), "{about}: {}", reply.body);
        same(&about, (&reply, &foreign.all()), (&missing, &nothing.all()));
    }
}
