//! Limits of imports of example requests: requests, bytes and report sizes, with and without `only`.

use haft_http::import::{CancelFlag, CurlOptions, ExampleOptions, Imported, curl, har, postman};
use serde_json::{Value, json};

fn chosen(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn commands(text: &str, names: &[&str]) -> Result<Imported, String> {
    let options = CurlOptions { only: chosen(names), ..CurlOptions::default() };
    curl(text, &options).map_err(|violations| violations[0].message.to_string())
}

fn collection(items: usize) -> Value {
    json!({"info": {"name": "Many"}, "item": vec![json!({"name": "r", "request": {"method": "GET"}}); items]})
}

/// Requests of different kinds.
fn recording(entries: usize) -> Value {
    let entry = |number| {
        let url = format!("https://h{number}.example/a");
        json!({"request": {"method": "PROPFIND", "url": url, "headers": []}})
    };
    json!({"log": {"entries": (0..entries).map(entry).collect::<Vec<Value>>()}})
}

#[test]
fn requests_above_the_limit_are_rejected_before_drafting() {
    let words = "contains more than 20000 requests; import a part of it";
    for names in [&["nothing"][..], &[]] {
        let options = ExampleOptions { only: chosen(names), ..ExampleOptions::default() };
        for (format, refused) in [
            ("sh", commands(&"curl a.b\n".repeat(20_001), names)),
            ("one line", commands(&"curl a.b;".repeat(20_001), names)),
            ("cmd", commands(&"curl ^\"a.b^\"\n".repeat(20_001), names)),
            ("postman", postman(&collection(20_001), &options).map_err(|wrong| wrong[0].message.to_string())),
            ("har", har(&recording(20_001), &options).map_err(|wrong| wrong[0].message.to_string())),
        ] {
            assert_eq!(refused.expect_err(format), words, "{format}, only {names:?}");
        }
    }
}

#[test]
fn commands_above_two_megabytes_are_rejected() {
    let refused = commands(&"curl a.b\n".repeat(250_000), &["nothing"]).expect_err("too long");
    assert_eq!(refused, "has more than 2 MB of commands; import a part of them");
}

#[test]
fn lists_of_skipped_requests_are_limited_with_only() {
    let wget = format!("{}curl a.b", "wget x\n".repeat(10_000));
    let names: Vec<String> = (0..3_000).map(|number| format!("missing_{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (names, more) in [(vec!["wget"], "9000 more were skipped"), (names, "2000 more were skipped")] {
        let skipped = commands(&wget, &names).expect("a report").skipped;
        assert_eq!(skipped.len(), 1_001, "{more}");
        assert_eq!(skipped[1_000].reason.to_string(), more);
    }
    let missing = commands(&wget, &["nothing"]).expect("a report").skipped;
    assert_eq!(missing.len(), 1, "requests that the import does not name are not listed");
}

#[test]
fn refusals_of_one_command_are_counted_and_the_first_are_listed() {
    let command = format!("curl -{} a.b", "@".repeat(50_000));
    let refused = curl(&command, &CurlOptions::default()).expect_err("options");
    assert_eq!(refused.len(), 101);
    let more = refused[100].message.to_string();
    assert_eq!(more, "and 49900 more unsupported items");
    let noted = commands(&format!("curl {}a.b", "-k ".repeat(5_000)), &[]).expect("a tool");
    assert_eq!(noted.notes.len(), 1, "an option is noted once");
}

#[test]
fn cancelled_import_ends_at_its_first_request() {
    let cancel = CancelFlag::default();
    cancel.cancel();
    let options = ExampleOptions { cancel: cancel.clone(), ..ExampleOptions::default() };
    for (format, ended) in [
        ("curl", curl("curl a.b", &CurlOptions { cancel, ..CurlOptions::default() })),
        ("postman", postman(&collection(1), &options)),
        ("har", har(&recording(1), &options)),
    ] {
        let said = ended.expect_err(format)[0].message.to_string();
        assert!(said.contains("the import was cancelled"), "{format}: {said}");
    }
}
