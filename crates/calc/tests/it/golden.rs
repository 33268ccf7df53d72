//! A table whose expected values are computed by mathjs in Node when the test runs.

use haft_engine::ErrorKind;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{engine, evaluate};

#[derive(Deserialize)]
struct Row {
    group: String,
    expression: String,
    result: Option<Value>,
    text: Option<String>,
    error: Option<String>,
}

fn table() -> Vec<Row> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/js/golden.mjs");
    serde_json::from_slice(&haft_testkit::node(script.as_ref(), haft_calc::MATHJS_DIR.as_ref()))
        .expect("a table")
}

#[tokio::test]
async fn every_expression_has_the_result_of_mathjs() {
    let tools = engine();
    let rows = table();
    assert!(rows.len() > 400, "the table has shrunk to {}", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let got = evaluate(&tools, &row.expression).await;
        let expected = match (&row.error, &row.result, &row.text) {
            (Some(error), _, _) => Err((ErrorKind::Execution, error.clone())),
            (None, Some(result), Some(text)) => {
                Ok(json!({"expression": row.expression, "result": result, "text": text}))
            }
            (None, _, _) => panic!("{}: a row without an answer", row.expression),
        };
        if got != expected {
            wrong.push(format!(
                "{}: {}\n  got      {got:?}\n  expected {expected:?}",
                row.group, row.expression
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[tokio::test]
async fn the_examples_of_the_specification() {
    let tools = engine();
    for (expression, result, text) in [
        ("(10 * 5) + 2", json!(52), "52"),
        ("12.7 cm to inch", json!("5 inch"), "5 inch"),
        ("sin(45 deg) ^ 2", json!(0.499_999_999_999_999_9), "0.5"),
        ("9 / 3 + 2i", json!("3 + 2i"), "3 + 2i"),
        ("det([-1, 2; 3, 1])", json!(-7), "-7"),
        ("f(x) = x^2; f(4)", json!("[16]"), "[16]"),
        ("25 degC to degF", json!("77 degF"), "77 degF"),
        ("0.1 + 0.2", json!(0.300_000_000_000_000_04), "0.3"),
        ("1234 * 5678", json!(7_006_652), "7006652"),
        ("123456789 * 1000.5", json!(123_518_517_394.5), "123518517394.5"),
        ("-99999 * 10000", json!(-999_990_000), "-999990000"),
        ("999999999999999", json!(999_999_999_999_999_i64), "999999999999999"),
        ("10 ^ 15", json!(1_000_000_000_000_000_i64), "1e+15"),
        ("[123456789012345]", json!("[1.2345678901235e+14]"), "[1.2345678901235e+14]"),
        ("[12345678901234]", json!("[12345678901234]"), "[12345678901234]"),
        ("123456789012345", json!(123_456_789_012_345_i64), "123456789012345"),
        ("[1234567, 7654321] * 10", json!("[12345670, 76543210]"), "[12345670, 76543210]"),
        ("20000000 km to m", json!("20000000000 m"), "20000000000 m"),
        ("1 / 0", json!("Infinity"), "Infinity"),
        ("-1 / 0", json!("-Infinity"), "-Infinity"),
        ("0 / 0", json!("NaN"), "NaN"),
        ("2 > 1", json!(true), "true"),
    ] {
        let expected = json!({"expression": expression, "result": result, "text": text});
        assert_eq!(evaluate(&tools, expression).await, Ok(expected));
    }
    for (expression, words) in
        [("foo", "Undefined symbol foo"), ("(3 +", "Unexpected end of expression (char 5)")]
    {
        assert_eq!(evaluate(&tools, expression).await, Err((ErrorKind::Execution, words.to_owned())));
    }
}
