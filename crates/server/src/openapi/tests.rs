//! The document of a small table, and whether the components still say what the code says.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use haft_core::ErrorKind;
use haft_core::user::Scope;

use super::*;

fn table() -> Vec<Route> {
    let nothing = || async { StatusCode::OK };
    let mut table = vec![
        Route::get("/tools/{id}/versions/{n}", nothing).needs(Needs::Read).answers(200, "Tool"),
        Route::put("/tools/{id}", nothing)
            .needs(Needs::Edit)
            .says("Replaces a tool.")
            .parameter("dryRun", "boolean", "Stores nothing.")
            .takes("ToolInput")
            .answers(200, "Tool"),
        Route::post("/tools", nothing)
            .needs(Needs::Edit)
            .parameter("dryRun", "boolean", "Stores nothing.")
            .takes("ToolInput")
            .answers(201, "Tool"),
        Route::post("/tools/{id}/execute", nothing)
            .needs(Needs::Call)
            .takes("ExecuteTool")
            .answers(200, "ToolExecutionResult"),
        Route::post("/login", nothing).needs(Needs::Nothing).takes("Login").answers(200, "Me"),
    ];
    table.extend(crate::routes::docs::routes());
    table.extend(crate::routes::events::routes());
    table
}

fn statuses(operation: &Value) -> Vec<&str> {
    operation["responses"].as_object().expect("answers").keys().map(String::as_str).collect()
}

#[test]
fn what_a_handler_checks_itself_is_in_the_document() {
    let route = Route::post("/tokens", || async { StatusCode::OK })
        .needs(Needs::Identity)
        .checks(Scope::Admin, "A token must have the scope admin.")
        .answers(201, "Token");
    let document = document(&[route]);
    let create = &document["paths"]["/api/tokens"]["post"];
    assert_eq!(create["security"], json!([{"bearer": ["admin"]}, {"session": []}]));
    assert_eq!(create["description"], "A token must have the scope admin.");
}

#[test]
fn a_route_is_told_with_its_parameters_rights_and_answers() {
    let document = document(&table());
    let replace = &document["paths"]["/api/tools/{id}"]["put"];
    assert_eq!(
        (&replace["operationId"], &replace["tags"], &replace["x-needs"]),
        (&json!("putToolsById"), &json!(["tools"]), &json!("edit"))
    );
    assert_eq!(replace["security"], json!([{"bearer": ["admin"]}, {"session": ["editor"]}]));
    let names: Vec<&Value> = replace["parameters"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|parameter| parameter.get("name").unwrap_or(&parameter["$ref"]))
        .collect();
    assert_eq!(
        names,
        ["id", "dryRun", "#/components/parameters/IfMatch", "#/components/parameters/HaftSpace"]
    );
    assert_eq!(
        statuses(replace),
        ["200", "400", "401", "403", "404", "408", "409", "413", "415", "429", "500", "503"]
    );
    assert_eq!(statuses(&document["paths"]["/api/tools"]["post"])[..2], ["200", "201"], "a dry run is 200");
    let read = &document["paths"]["/api/tools/{id}/versions/{n}"]["get"];
    assert_eq!(read["parameters"][1]["schema"], json!({"type": "integer"}));
    assert!(!statuses(read).contains(&"409"));
    let login = &document["paths"]["/api/login"]["post"];
    assert_eq!(login["security"], json!([]));
}

#[test]
fn a_call_may_end_in_every_way_of_the_contract() {
    let document = document(&table());
    let expected = [
        "200", "400", "401", "403", "404", "408", "409", "413", "415", "422", "429", "499", "500", "502",
        "503", "504",
    ];
    let execute = &document["paths"]["/api/tools/{id}/execute"]["post"];
    assert_eq!(statuses(execute), expected);
    let failed = execute["responses"]["502"]["content"]["application/json"]["schema"]["$ref"].as_str();
    assert_eq!(failed, Some("#/components/schemas/ExecutionError"));
}

#[test]
fn the_document_tells_of_itself_without_an_envelope() {
    let document = document(&table());
    let own = &document["paths"]["/api/openapi.json"]["get"];
    assert_eq!(statuses(own), ["200", "304"]);
    let schema = &own["responses"]["200"]["content"]["application/json"]["schema"];
    assert_eq!(schema, &reference("schemas", "OpenApiDocument"));
    assert!(document["paths"]["/api/docs"]["get"]["responses"]["200"]["content"]["text/html"].is_object());
}

#[test]
fn a_stream_has_no_envelope_but_its_refusals_do() {
    let document = document(&table());
    let events = &document["paths"]["/api/events"]["get"];
    assert_eq!(statuses(events), ["200", "400", "401", "403", "404", "429", "500", "503"]);
    let answers = &events["responses"];
    let schema = &answers["200"]["content"]["text/event-stream"]["schema"];
    assert_eq!(schema, &reference("schemas", "EventStream"));
    assert_eq!(answers["400"], reference("responses", "Error400"));
    let parameters = events["parameters"].as_array().expect("a list");
    assert!(parameters.contains(&reference("parameters", "LastEventId")));
}

/// Fields of a tool that accept a duration.
const DURATIONS: [&str; 4] = ["timeout", "totalTimeout", "retryDelay", "cacheTtl"];

#[test]
fn durations_are_numbers_or_texts_wherever_a_body_has_them() {
    let components = components();
    let of_tool = DURATIONS.map(|name| format!("/ToolFields/properties/{name}"));
    let others = [
        "/ToolFields/properties/security/properties/timeout",
        "/AgentConfigInput/properties/maxSeconds",
        "/BindingOverridesInput/properties/timeout",
        "/BindingOverridesInput/properties/cacheTtl",
        "/AlertInput/properties/forSeconds",
    ];
    for pointer in of_tool.iter().map(String::as_str).chain(others) {
        let field = components["schemas"].pointer(pointer).expect("a field");
        let types = field["type"].as_array().expect("types");
        assert!(types.contains(&json!("integer")) && types.contains(&json!("string")), "{pointer}");
        let example = field["examples"][0].as_str();
        assert!(example.and_then(haft_core::duration::milliseconds).is_some(), "{pointer}");
    }
}

#[test]
fn the_components_say_what_the_code_says() {
    let components = components();
    let kinds: Vec<String> = ErrorKind::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(components["schemas"]["ErrorKind"]["enum"], json!(kinds));
    let core: Value =
        serde_json::from_str(include_str!("../../../core/src/tool/schema.json")).expect("a schema");
    let fields = components["schemas"]["ToolFields"]["properties"].as_object().expect("fields");
    let sent = components["schemas"]["Tool"]["properties"].as_object().expect("fields");
    for (name, expected) in core["properties"].as_object().expect("fields") {
        let mut written = fields[name].as_object().expect("a schema").clone();
        written.retain(|keyword, _| !["description", "default", "examples"].contains(&keyword.as_str()));
        // A duration as text becomes a number before the schema of the core sees it.
        if DURATIONS.contains(&name.as_str()) {
            written["type"].as_array_mut().expect("types").retain(|kind| kind != "string");
        }
        assert_eq!(&Value::Object(written), expected, "{name}");
        assert!(sent.contains_key(name), "{name} is sent too");
    }
    let required: BTreeSet<&str> = components["schemas"]["Tool"]["required"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(required, sent.keys().map(String::as_str).collect::<BTreeSet<_>>());
}
