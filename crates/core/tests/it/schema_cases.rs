//! The keywords that tools use, for draft 2020-12 and draft 7, as a table of schemas and values.

use haft_core::ToolSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Group {
    keyword: String,
    note: Option<String>,
    drafts: Vec<String>,
    schema: Value,
    valid: Vec<Value>,
    invalid: Vec<Value>,
}

#[test]
fn every_case_of_the_table_is_judged_as_the_standard_says() {
    let groups: Vec<Group> = serde_json::from_str(include_str!("schema_cases.json")).expect("a table");
    let mut checked = 0;
    let mut wrong = Vec::new();
    for group in &groups {
        for draft in &group.drafts {
            let mut schema = group.schema.clone();
            schema["$schema"] = match draft.as_str() {
                "7" => "http://json-schema.org/draft-07/schema#".into(),
                draft => format!("https://json-schema.org/draft/{draft}/schema").into(),
            };
            let name = format!("{} ({draft}) {}", group.keyword, group.note.as_deref().unwrap_or_default());
            let compiled = match ToolSchema::of_arguments(&schema) {
                Ok(compiled) => compiled,
                Err(violations) => {
                    wrong.push(format!("{name}: refused: {violations:?}"));
                    continue;
                }
            };
            let values = group.valid.iter().map(|value| (value, true));
            for (value, fits) in values.chain(group.invalid.iter().map(|value| (value, false))) {
                checked += 1;
                if compiled.violations(value).is_empty() != fits {
                    wrong.push(format!(
                        "{name}: {value} should be {}",
                        if fits { "valid" } else { "invalid" }
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} cases:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 3000, "the table has shrunk to {checked} cases");
}
