//! `array`: every operation, on ordinary, empty, Unicode and hostile lists.

use serde_json::{Value, json};

use crate::support::run;

/// Runs one operation on each of the arguments, which omit the operation.
async fn gives<const N: usize>(operation: &str, cases: [(Value, Value); N]) {
    for (mut arguments, expected) in cases {
        arguments["operation"] = operation.into();
        let shown: String = arguments.to_string().chars().take(200).collect();
        assert_eq!(run("array", arguments).await, Ok(expected), "{shown}");
    }
}

/// Runs one operation on each of the arguments, and asserts a part of the error message.
async fn refuses<const N: usize>(operation: &str, cases: [(Value, &str); N]) {
    for (mut arguments, words) in cases {
        arguments["operation"] = operation.into();
        let shown: String = arguments.to_string().chars().take(200).collect();
        let error = run("array", arguments).await.expect_err(&shown);
        assert!(error.contains(words), "{shown}: {error}");
    }
}

fn many(count: usize) -> Value {
    Value::Array(vec![json!(1); count])
}

#[tokio::test]
async fn length_of_lists() {
    gives(
        "length",
        [
            (json!({"array": []}), json!(0)),
            (json!({"array": [1, [2, 3], null]}), json!(3)),
            (json!({"array": "[1, 2]"}), json!(2)),
            (json!({"array": many(100_000)}), json!(100_000)),
        ],
    )
    .await;
    refuses("length", [(json!({"array": {"a": 1}}), "array"), (json!({"array": null}), "array")]).await;
    refuses("length", [(json!({}), "array"), (json!({"array": [], "colour": "a"}), "colour")]).await;
    let long = json!({"operation": "length", "array": many(100_001)});
    assert!(run("array", long).await.is_err(), "longer than the schema allows");
}

#[tokio::test]
async fn sort_has_one_order_for_everything() {
    gives(
        "sort",
        [
            (json!({"array": [3, 1, 2]}), json!([1, 2, 3])),
            (json!({"array": [3, 1, 2], "order": "desc"}), json!([3, 2, 1])),
            (json!({"array": []}), json!([])),
            (
                json!({"array": [{}, [], "a", 1, true, null, false]}),
                json!([null, false, true, 1, "a", [], {}]),
            ),
            (json!({"array": ["é", "z", "中", "a", ""]}), json!(["", "a", "z", "é", "中"])),
            (json!({"array": [[2], [1, 5], [1]]}), json!([[1], [1, 5], [2]])),
            (
                json!({"array": [{"b": 1, "a": 2}, {"a": 1, "b": 9}]}),
                json!([{"a": 1, "b": 9}, {"b": 1, "a": 2}]),
            ),
            (
                json!({"array": [9_007_199_254_740_993_i64, 9_007_199_254_740_992.0, u64::MAX, -1.5, 1e300, -2]}),
                json!([-2, -1.5, 9_007_199_254_740_992.0, 9_007_199_254_740_993_i64, u64::MAX, 1e300]),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn sort_by_a_key_is_stable_and_puts_missing_ones_last() {
    let items =
        json!([{"n": 1, "a": {"b": 2}}, {"n": 2}, {"n": 3, "a": {"b": 1}}, {"n": 4, "a": {"b": 2.0}}, 5]);
    let numbers = |sorted: Value| -> Vec<Value> {
        sorted.as_array().expect("a list").iter().map(|item| item.get("n").unwrap_or(item).clone()).collect()
    };
    for (order, expected) in [("asc", [3, 1, 4, 2, 5]), ("desc", [1, 4, 3, 2, 5])] {
        for key in [json!("a.b"), json!(["a", "b"])] {
            let arguments = json!({"operation": "sort", "array": items, "key": key, "order": order});
            assert_eq!(numbers(run("array", arguments).await.expect("sorted")), expected, "{order}");
        }
    }
    refuses(
        "sort",
        [
            (json!({"array": [1], "order": "up"}), "order"),
            (json!({"array": [1], "key": "a.".repeat(100)}), "101 segments"),
            (json!({"array": [1], "key": vec!["a"; 101]}), "key"),
        ],
    )
    .await;
}

#[tokio::test]
async fn unique_removes_equal_values() {
    gives(
        "unique",
        [
            (json!({"array": [1, 1.0, "1", 1, null, null]}), json!([1, "1", null])),
            (json!({"array": []}), json!([])),
            (json!({"array": [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]}), json!([{"a": 1, "b": [2]}])),
            (json!({"array": ["é", "e\u{301}", "é"]}), json!(["é", "e\u{301}"])),
            (
                json!({"array": [{"k": 1, "n": 1}, {"k": 1, "n": 2}, {"n": 3}, {"n": 4}], "key": "k"}),
                json!([{"k": 1, "n": 1}, {"n": 3}]),
            ),
            (json!({"array": many(100_000)}), json!([1])),
        ],
    )
    .await;
}

#[tokio::test]
async fn filter_by_every_condition() {
    let people = json!([
        {"name": "安娜", "age": 30, "tags": ["a", 1]},
        {"name": "Bob", "age": 20.5, "tags": []},
        {"name": "Bo", "age": "20"},
        {"name": null},
    ]);
    for (key, op, value, expected) in [
        ("age", "eq", json!(30.0), vec![0]),
        ("age", "ne", json!(30), vec![1, 2, 3]),
        ("age", "lt", json!(30), vec![1]),
        ("age", "lte", json!(30), vec![0, 1]),
        ("age", "gt", json!(20), vec![0, 1]),
        ("age", "gte", json!(20.5), vec![0, 1]),
        ("name", "gt", json!("Bo"), vec![0, 1]),
        ("name", "gte", json!("Bo"), vec![0, 1, 2]),
        ("name", "contains", json!("安"), vec![0]),
        ("name", "contains", json!(""), vec![0, 1, 2]),
        ("name", "contains", json!(1), vec![]),
        ("name", "startsWith", json!("Bo"), vec![1, 2]),
        ("name", "endsWith", json!("b"), vec![1]),
        ("tags", "contains", json!(1.0), vec![0]),
        ("tags.0", "eq", json!("a"), vec![0]),
        ("tags", "exists", json!(true), vec![0, 1]),
        ("tags", "exists", json!(false), vec![2, 3]),
        ("name", "eq", json!(null), vec![3]),
        ("age", "in", json!([30, "20"]), vec![0, 2]),
        ("age", "in", json!([]), vec![]),
        ("", "contains", json!("age"), vec![0, 1, 2]),
        ("nothing.there", "eq", json!(null), vec![]),
    ] {
        let arguments = json!({"operation": "filter", "array": people, "key": key, "op": op, "value": value});
        let kept: Vec<Value> = expected.iter().map(|index: &usize| people[*index].clone()).collect();
        assert_eq!(run("array", arguments).await, Ok(json!(kept)), "{key} {op} {value}");
    }
    gives(
        "filter",
        [
            (json!({"array": [3, 1, 2], "op": "gte", "value": 2}), json!([3, 2])),
            (json!({"array": [], "op": "eq", "value": 1}), json!([])),
            (json!({"array": [1, null], "op": "exists"}), json!([1, null])),
            (json!({"array": [{"a": null}, {}], "key": "a", "op": "exists"}), json!([{"a": null}])),
            (json!({"array": many(50_000), "op": "in", "value": many(50_000)}), many(50_000)),
        ],
    )
    .await;
    refuses(
        "filter",
        [
            (json!({"array": [1], "op": "eq"}), "eq needs a value"),
            (json!({"array": [1], "op": "in", "value": 1}), "in needs a list"),
            (json!({"array": [1], "op": "like", "value": 1}), "op"),
        ],
    )
    .await;
}

#[tokio::test]
async fn map_slice_and_flatten() {
    gives(
        "map",
        [
            (json!({"array": [{"a": [1, 2]}, {"a": []}, 3], "path": "a.1"}), json!([2, null, null])),
            (json!({"array": [{"名": 1}], "path": "名"}), json!([1])),
            (json!({"array": [{"x.y": 1}], "path": "x\\.y"}), json!([1])),
            (json!({"array": [[5, 6]], "path": 1}), json!([6])),
            (json!({"array": [1, 2], "path": ""}), json!([1, 2])),
            (json!({"array": [], "path": "a"}), json!([])),
        ],
    )
    .await;
    gives(
        "slice",
        [
            (json!({"array": [1, 2, 3, 4], "start": 1, "end": 3}), json!([2, 3])),
            (json!({"array": [1, 2, 3, 4], "start": -2}), json!([3, 4])),
            (json!({"array": [1, 2, 3, 4], "start": 0, "end": -1}), json!([1, 2, 3])),
            (json!({"array": [1, 2], "start": 9}), json!([])),
            (json!({"array": [1, 2], "start": 1, "end": 0}), json!([])),
            (json!({"array": [1, 2], "start": -9, "end": 9}), json!([1, 2])),
            (json!({"array": [], "start": 0}), json!([])),
        ],
    )
    .await;
    refuses("slice", [(json!({"array": [], "start": 1_000_001}), "start")]).await;
    gives(
        "flatten",
        [
            (json!({"array": [1, [2, [3, [4]]], []]}), json!([1, 2, [3, [4]]])),
            (json!({"array": [1, [2, [3, [4]]]], "depth": 2}), json!([1, 2, 3, [4]])),
            (json!({"array": [[[[[[["世"]]]]]]], "depth": 20}), json!(["世"])),
            (json!({"array": []}), json!([])),
        ],
    )
    .await;
    refuses(
        "flatten",
        [
            (json!({"array": [many(60_000), many(60_000)]}), "100,000 items"),
            (json!({"array": [], "depth": 21}), "depth"),
            (json!({"array": [], "depth": 0}), "depth"),
        ],
    )
    .await;
}

#[tokio::test]
async fn group_by_the_value_at_a_key() {
    gives(
        "groupBy",
        [
            (
                json!({"array": [{"k": "a"}, {"k": "b"}, {"k": "a", "n": 1}], "key": "k"}),
                json!({"a": [{"k": "a"}, {"k": "a", "n": 1}], "b": [{"k": "b"}]}),
            ),
            (
                json!({"array": [{"k": 1}, {"k": true}, {"k": null}, {}, {"k": [1]}], "key": "k"}),
                json!({"1": [{"k": 1}], "true": [{"k": true}], "null": [{"k": null}, {}], "[1]": [{"k": [1]}]}),
            ),
            (json!({"array": ["世", "世"], "key": ""}), json!({"世": ["世", "世"]})),
            (json!({"array": [], "key": "k"}), json!({})),
        ],
    )
    .await;
}

#[tokio::test]
async fn numbers_are_aggregated() {
    gives(
        "sum",
        [
            (json!({"array": [1, 2, -5]}), json!(-2)),
            (json!({"array": []}), json!(0)),
            (json!({"array": [0.1, 0.2]}), json!(0.1 + 0.2)),
            (json!({"array": [1.5, 2]}), json!(3.5)),
            (json!({"array": [i64::MAX, 1]}), json!(9_223_372_036_854_775_808.0)),
            (json!({"array": [i64::MAX, 1, -1]}), json!(i64::MAX)),
            (json!({"array": [{"p": {"q": 2}}, {"p": {"q": 3}}], "key": "p.q"}), json!(5)),
        ],
    )
    .await;
    gives(
        "min",
        [
            (json!({"array": [3, 1.5, 2]}), json!(1.5)),
            (json!({"array": [-1, u64::MAX]}), json!(-1)),
            (json!({"array": []}), json!(null)),
            (json!({"array": [{"a": 2}, {"a": 1}], "key": "a"}), json!(1)),
        ],
    )
    .await;
    gives(
        "max",
        [
            (json!({"array": [3, 1.5, 2]}), json!(3)),
            (
                json!({"array": [9_007_199_254_740_993_i64, 9_007_199_254_740_992.0]}),
                json!(9_007_199_254_740_993_i64),
            ),
            (json!({"array": []}), json!(null)),
        ],
    )
    .await;
    gives(
        "average",
        [
            (json!({"array": [1, 2]}), json!(1.5)),
            (json!({"array": [1, 3]}), json!(2)),
            (json!({"array": [1.0, 3.0]}), json!(2.0)),
            (json!({"array": [i64::MAX, i64::MAX]}), json!(i64::MAX)),
            (json!({"array": []}), json!(null)),
            (json!({"array": [{"a": 4}], "key": "a"}), json!(4)),
        ],
    )
    .await;
    for operation in ["sum", "min", "max", "average"] {
        refuses(
            operation,
            [
                (json!({"array": [1, "2"]}), "Item 1 is not a number"),
                (json!({"array": [null]}), "Item 0 is not a number"),
                (json!({"array": [{"a": 1}, {}], "key": "a"}), "Item 1 has no value at the key"),
            ],
        )
        .await;
    }
    refuses("sum", [(json!({"array": [1e308, 1e308]}), "too large")]).await;
    refuses("average", [(json!({"array": [1e308, 1e308]}), "too large")]).await;
}

#[tokio::test]
async fn join_writes_everything() {
    gives(
        "join",
        [
            (
                json!({"array": [1, "a", null, true, [1, 2], {"a": 1.0}]}),
                json!(r#"1,a,,true,[1,2],{"a":1.0}"#),
            ),
            (json!({"array": ["一", "二"], "separator": "、"}), json!("一、二")),
            (json!({"array": ["a", "b"], "separator": ""}), json!("ab")),
            (json!({"array": []}), json!("")),
        ],
    )
    .await;
    refuses(
        "join",
        [
            (json!({"array": many(2000), "separator": "x".repeat(1000)}), "1,000,000 characters"),
            (json!({"array": ["x".repeat(600_000), "x".repeat(600_000)]}), "1,000,000 characters"),
            (json!({"array": [1], "separator": "x".repeat(1001)}), "separator"),
        ],
    )
    .await;
}

#[tokio::test]
async fn concat_chunk_and_zip() {
    gives(
        "concat",
        [(json!({"arrays": [[1], [2, [3]], []]}), json!([1, 2, [3]])), (json!({"arrays": []}), json!([]))],
    )
    .await;
    refuses(
        "concat",
        [
            (json!({"arrays": [many(60_000), many(60_000)]}), "100,000 items"),
            (json!({"arrays": [1]}), "arrays"),
        ],
    )
    .await;
    gives(
        "chunk",
        [
            (json!({"array": [1, 2, 3], "size": 2}), json!([[1, 2], [3]])),
            (json!({"array": [1, 2], "size": 100_000}), json!([[1, 2]])),
            (json!({"array": [], "size": 1}), json!([])),
        ],
    )
    .await;
    refuses("chunk", [(json!({"array": [1], "size": 0}), "size"), (json!({"array": [1]}), "size")]).await;
    gives(
        "zip",
        [
            (json!({"arrays": [[1, 2, 3], ["a", "世"]]}), json!([[1, "a"], [2, "世"]])),
            (json!({"arrays": [[1, 2], []]}), json!([])),
            (json!({"arrays": [[1, 2]]}), json!([[1], [2]])),
            (json!({"arrays": []}), json!([])),
        ],
    )
    .await;
    refuses("zip", [(json!({"arrays": [[1], {}]}), "arrays")]).await;
}

#[tokio::test]
async fn includes_compares_deeply() {
    gives(
        "includes",
        [
            (json!({"array": [1, 2], "value": 1.0}), json!(true)),
            (json!({"array": [{"a": [1.0], "b": "世"}], "value": {"b": "世", "a": [1]}}), json!(true)),
            (json!({"array": ["1"], "value": 1}), json!(false)),
            (json!({"array": [null], "value": null}), json!(true)),
            (json!({"array": [], "value": null}), json!(false)),
            (json!({"array": [[1, 2]], "value": [2, 1]}), json!(false)),
        ],
    )
    .await;
    refuses("includes", [(json!({"array": []}), "value")]).await;
}

#[tokio::test]
async fn an_unknown_operation_is_rejected() {
    refuses("shuffle", [(json!({"array": []}), "shuffle")]).await;
}
