//! A table of schemas and values for the keywords that tools use, in draft 2020-12 and draft 7.

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
fn every_case_of_the_table_conforms_to_the_standard() {
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

#[test]
fn older_drafts_are_supported() {
    let judge = |draft: &str, property: Value, value: Value| {
        let schema = serde_json::json!({"$schema": draft, "type": "object", "properties": {"v": property}});
        let schema =
            ToolSchema::of_arguments(&schema).unwrap_or_else(|violations| panic!("{draft}: {violations:?}"));
        schema.violations(&serde_json::json!({"v": value})).is_empty()
    };
    let json = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    for (draft, property, fits, does_not) in [
        ("http://json-schema.org/draft-04/schema#", r#"{"minimum": 1, "exclusiveMinimum": true}"#, "2", "1"),
        ("http://json-schema.org/draft-04/schema#", r#"{"type": "integer"}"#, "1", "1.5"),
        ("http://json-schema.org/draft-06/schema#", r#"{"exclusiveMinimum": 1}"#, "2", "1"),
        ("http://json-schema.org/draft-06/schema#", r#"{"const": "a"}"#, r#""a""#, r#""b""#),
        ("http://json-schema.org/draft-06/schema#", r#"{"contains": {"const": 1}}"#, "[1]", "[2]"),
        (
            "https://json-schema.org/draft/2019-09/schema",
            r#"{"dependentRequired": {"a": ["b"]}}"#,
            "{}",
            r#"{"a": 1}"#,
        ),
        (
            "https://json-schema.org/draft/2019-09/schema",
            r#"{"items": [{"type": "string"}], "additionalItems": false}"#,
            r#"["a"]"#,
            r#"["a", 1]"#,
        ),
        (
            "https://json-schema.org/draft/2019-09/schema",
            r#"{"contains": {"const": 1}, "minContains": 2}"#,
            "[1, 1]",
            "[1]",
        ),
    ] {
        assert!(judge(draft, json(property), json(fits)), "{draft} {property} {fits}");
        assert!(!judge(draft, json(property), json(does_not)), "{draft} {property} {does_not}");
    }
}
