//! `object`: every operation, on ordinary, empty, Unicode and hostile objects.

use serde_json::{Value, json};

use crate::support::run;

/// Runs one operation on each of the arguments, which omit the operation.
async fn gives<const N: usize>(operation: &str, cases: [(Value, Value); N]) {
    for (mut arguments, expected) in cases {
        arguments["operation"] = operation.into();
        let shown: String = arguments.to_string().chars().take(200).collect();
        assert_eq!(run("object", arguments).await, Ok(expected), "{shown}");
    }
}

/// Runs one operation on each of the arguments, and asserts a part of the error message.
async fn refuses<const N: usize>(operation: &str, cases: [(Value, &str); N]) {
    for (mut arguments, words) in cases {
        arguments["operation"] = operation.into();
        let shown: String = arguments.to_string().chars().take(200).collect();
        let error = run("object", arguments).await.expect_err(&shown);
        assert!(error.contains(words), "{shown}: {error}");
    }
}

/// `[[[…]]]`, nested to this depth.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

#[tokio::test]
async fn get_what_is_at_a_path() {
    let object =
        json!({"a": {"b": [{"c": 1}], "n": null}, "x.y": 2, "\\": 3, "名": {"前": "世"}, "": {"": 4}});
    for (path, expected) in [
        (json!("a.b.0.c"), json!(1)),
        (json!(["a", "b", 0, "c"]), json!(1)),
        (json!("a.n"), json!(null)),
        (json!("x\\.y"), json!(2)),
        (json!(["x.y"]), json!(2)),
        (json!("\\\\"), json!(3)),
        (json!("\\"), json!(3)),
        (json!("名.前"), json!("世")),
        (json!("."), json!(4)),
        (json!(""), object.clone()),
        (json!([]), object.clone()),
        (json!("a.b.1"), json!(null)),
        (json!("a.b.00"), json!(null)),
        (json!("a.b.-1"), json!(null)),
        (json!("a.b.99999999999999999999"), json!(null)),
        (json!("a.b.0.c.d"), json!(null)),
        (json!("x.y"), json!(null)),
    ] {
        let arguments = json!({"operation": "get", "object": object, "path": path});
        assert_eq!(run("object", arguments).await, Ok(expected), "{path}");
    }
    gives(
        "get",
        [
            (json!({"object": {}, "path": "a", "default": [1]}), json!([1])),
            (json!({"object": {"a": null}, "path": "a", "default": 1}), json!(null)),
            (json!({"object": [5, 6], "path": "1"}), json!(6)),
            (json!({"object": [5, 6], "path": 1}), json!(6)),
        ],
    )
    .await;
    refuses(
        "get",
        [
            (json!({"object": {}, "path": "a.".repeat(100)}), "101 segments"),
            (json!({"object": {}, "path": "a".repeat(1001)}), "path"),
            (json!({"object": {}, "path": [{}]}), "path"),
            (json!({"object": {}, "path": [-1]}), "path"),
            (json!({"object": true, "path": "a"}), "object"),
            (json!({"object": {}}), "path"),
        ],
    )
    .await;
}

#[tokio::test]
async fn set_creates_missing_containers() {
    gives(
        "set",
        [
            (json!({"object": {}, "path": "a.b", "value": 1}), json!({"a": {"b": 1}})),
            (json!({"object": {"a": {"c": 2}}, "path": "a.b", "value": 1}), json!({"a": {"c": 2, "b": 1}})),
            (json!({"object": {}, "path": "a.0.b", "value": 1}), json!({"a": [{"b": 1}]})),
            (json!({"object": {}, "path": "years.2024", "value": 1}), json!({"years": {"2024": 1}})),
            (json!({"object": {"a": [1]}, "path": "a.1", "value": 2}), json!({"a": [1, 2]})),
            (json!({"object": {"a": [1]}, "path": "a.0", "value": null}), json!({"a": [null]})),
            (json!({"object": {"a": null}, "path": "a.b", "value": 1}), json!({"a": {"b": 1}})),
            (json!({"object": {"a": {"0": 1}}, "path": "a.0", "value": 2}), json!({"a": {"0": 2}})),
            (json!({"object": {"x.y": 1}, "path": "x\\.y", "value": 2}), json!({"x.y": 2})),
            (json!({"object": [], "path": ["0", "名"], "value": "世"}), json!([{"名": "世"}])),
        ],
    )
    .await;
    refuses(
        "set",
        [
            (json!({"object": {"a": [1]}, "path": "a.2", "value": 1}), "which has 1 items"),
            (json!({"object": {"a": [1]}, "path": "a.b", "value": 1}), "not a position in the list at \"a\""),
            (json!({"object": {"a": {"b": 5}}, "path": "a.b.c", "value": 1}), "\"a.b\" is neither"),
            (json!({"object": {}, "path": "", "value": 1}), "path is empty"),
            (json!({"object": {}, "path": "a.".repeat(100), "value": 1}), "101 segments"),
            (json!({"object": {}, "path": vec!["a"; 100], "value": nested(30)}), "130 levels"),
            (json!({"object": {}, "path": "a"}), "value"),
        ],
    )
    .await;
    let deep = json!({"operation": "set", "object": {}, "path": vec!["0"; 100], "value": 1});
    assert!(run("object", deep).await.is_ok(), "as deep as a path may be");
}

#[tokio::test]
async fn delete_preserves_the_order_of_the_rest() {
    let arguments = json!({"operation": "delete", "object": {"b": 1, "a": 2, "c": 3}, "path": "b"});
    assert_eq!(run("object", arguments).await.expect("done").to_string(), r#"{"a":2,"c":3}"#);
    gives(
        "delete",
        [
            (json!({"object": {"a": {"b": 1, "c": 2}}, "path": "a.b"}), json!({"a": {"c": 2}})),
            (json!({"object": {"a": [1, 2, 3]}, "path": "a.1"}), json!({"a": [1, 3]})),
            (json!({"object": {"a": [{"名": 1}]}, "path": "a.0.名"}), json!({"a": [{}]})),
            (json!({"object": {"a": [1]}, "path": "a.1"}), json!({"a": [1]})),
            (json!({"object": {"a": 1}, "path": "a.b.c"}), json!({"a": 1})),
            (json!({"object": {}, "path": "a"}), json!({})),
        ],
    )
    .await;
    refuses("delete", [(json!({"object": {}, "path": ""}), "path is empty")]).await;
}

#[tokio::test]
async fn keys_values_and_entries() {
    let object = json!({"z": 1, "名": [2], "": null});
    gives("keys", [(json!({"object": object}), json!(["z", "名", ""])), (json!({"object": {}}), json!([]))])
        .await;
    gives("values", [(json!({"object": object}), json!([1, [2], null])), (json!({"object": {}}), json!([]))])
        .await;
    gives(
        "entries",
        [
            (json!({"object": object}), json!([["z", 1], ["名", [2]], ["", null]])),
            (json!({"object": {}}), json!([])),
        ],
    )
    .await;
    for operation in ["keys", "values", "entries"] {
        refuses(operation, [(json!({"object": [1]}), "object"), (json!({"object": 1}), "object")]).await;
    }
}

#[tokio::test]
async fn merge_goes_down_into_objects() {
    gives(
        "merge",
        [
            (
                json!({"objects": [{"a": {"x": 1, "y": [1, 2]}, "b": 1}, {"a": {"y": [3], "z": 2}, "b": null}]}),
                json!({"a": {"x": 1, "y": [3], "z": 2}, "b": null}),
            ),
            (json!({"objects": [{"a": 1}, {"a": {"b": 1}}, {"a": {"c": 1}}]}), json!({"a": {"b": 1, "c": 1}})),
            (json!({"objects": [{"a": {"b": 1}}, {"a": 1}]}), json!({"a": 1})),
            (json!({"objects": [{}, {"名": "世"}]}), json!({"名": "世"})),
            (json!({"objects": []}), json!({})),
        ],
    )
    .await;
    refuses("merge", [(json!({"objects": [{}, [1]]}), "objects")]).await;
}

#[tokio::test]
async fn pick_and_omit_fields() {
    let object = json!({"a": 1, "b": {"c": 2}, "x.y": 3, "名": 4});
    gives(
        "pick",
        [
            (json!({"object": object, "keys": ["名", "a", "a", "missing"]}), json!({"a": 1, "名": 4})),
            (json!({"object": object, "keys": ["x.y", "b.c"]}), json!({"x.y": 3})),
            (json!({"object": object, "keys": []}), json!({})),
        ],
    )
    .await;
    gives(
        "omit",
        [
            (json!({"object": object, "keys": ["名", "x.y", "missing"]}), json!({"a": 1, "b": {"c": 2}})),
            (json!({"object": {}, "keys": ["a"]}), json!({})),
            (json!({"object": object, "keys": []}), object.clone()),
        ],
    )
    .await;
    refuses("pick", [(json!({"object": {}, "keys": "a"}), "keys"), (json!({"object": {}}), "keys")]).await;
    refuses("omit", [(json!({"object": {}, "keys": [{}]}), "keys")]).await;
}

#[tokio::test]
async fn query_with_jmespath() {
    let object = json!({
        "people": [
            {"name": "Ann", "age": 30, "tags": ["x", "y"], "home": {"city": "上海"}},
            {"name": "Bob", "age": 20, "tags": ["z"]},
        ],
        "名前": "世界", "empty": [], "text": "héllo", "nested": {"a": {"v": 1}, "b": {"v": 2}},
    });
    for (expression, expected) in [
        ("people[?age > `20`].name", json!(["Ann"])),
        ("people[?age >= `20` && name != 'Ann'] | [0].name", json!("Bob")),
        ("people[*].{n: name, c: home.city}", json!([{"n": "Ann", "c": "上海"}, {"n": "Bob", "c": null}])),
        ("people[*].[name, age]", json!([["Ann", 30], ["Bob", 20]])),
        ("people[].tags[]", json!(["x", "y", "z"])),
        ("people[::-1].name", json!(["Bob", "Ann"])),
        ("people[0:1].name", json!(["Ann"])),
        ("people[-1].name", json!("Bob")),
        ("people[-9]", json!(null)),
        ("people[1::2147483647].name", json!(["Bob"])),
        ("people[::-2147483647].name", json!(["Bob"])),
        ("sort_by(people, &age)[*].name", json!(["Bob", "Ann"])),
        ("sort_by(empty, &age)", json!([])),
        ("max_by(people, &age).name", json!("Ann")),
        ("min_by(people, &age).name", json!("Bob")),
        ("min_by(empty, &age)", json!(null)),
        ("map(&length(tags), people)", json!([2, 1])),
        ("people[*].sort_by(@.tags[*].{t: @}, &t) | [0][*].t", json!(["x", "y"])),
        ("join(', ', people[*].name)", json!("Ann, Bob")),
        ("length(people)", json!(2)),
        ("length(text)", json!(5)),
        ("sum(people[*].age)", json!(50.0)),
        ("contains(people[0].tags, 'x')", json!(true)),
        ("keys(people[1])", json!(["age", "name", "tags"])),
        ("nested.*.v", json!([1, 2])),
        ("values(nested)[].v", json!([1, 2])),
        ("\"名前\"", json!("世界")),
        ("missing || 'none'", json!("none")),
        ("missing && 'none'", json!(null)),
        ("!missing", json!(true)),
        ("missing.[a, b]", json!(null)),
        ("text[*]", json!(null)),
        ("text == `\"héllo\"`", json!(true)),
        ("text < `1`", json!(null)),
        ("not_null(missing, `1`)", json!(1)),
        ("to_string(empty)", json!("[]")),
        ("@.empty", json!([])),
    ] {
        let arguments = json!({"operation": "query", "object": object, "expression": expression});
        assert_eq!(run("object", arguments).await, Ok(expected), "{expression}");
    }
    gives(
        "query",
        [
            (json!({"object": [{"a": 1}, {"a": 2}], "expression": "[?a == `2`]"}), json!([{"a": 2}])),
            (json!({"object": {}, "expression": "@"}), json!({})),
        ],
    )
    .await;
}

#[tokio::test]
async fn invalid_queries_are_reported() {
    for (expression, words) in [
        ("", "Parse error"),
        ("people[", "Parse error"),
        ("a b", "column 3"),
        ("'open", "Unclosed"),
        ("`{`", "Unable to parse literal"),
        ("nothing(@)", "no function nothing"),
        ("abs('x')", "expects type number, given string"),
        ("abs()", "Not enough arguments"),
        ("map(&a)", "Not enough arguments"),
        ("sort_by(@, &a)", "expects type array"),
        ("sort_by(`[{\"a\": []}]`, &a)", "must return"),
        ("`[1]`[::0]", "step of a slice"),
    ] {
        refuses("query", [(json!({"object": {"a": 1}, "expression": expression}), words)]).await;
    }
    refuses("query", [(json!({"object": {}, "expression": "a".repeat(2001)}), "expression")]).await;
}

#[tokio::test]
async fn hostile_queries_are_limited() {
    for expression in [
        "(".repeat(999) + "a" + &")".repeat(999),
        "[".repeat(2000),
        "!".repeat(1999) + "a",
        "& ".repeat(999) + "a",
        "a.".repeat(999) + "a",
        "*.".repeat(999) + "*",
        "[?a]".repeat(500),
        "[:]".repeat(666),
        "{a:".repeat(600),
        ["a"; 1000].join("|"),
        (0..10).fold("a".to_owned(), |inner, _| format!("[{inner},b]{}", ".s".repeat(60))),
    ] {
        refuses(
            "query",
            [(json!({"object": {}, "expression": expression}), "more than 100 nested operators")],
        )
        .await;
    }
    let doubled = ["[@,@]"; 45].join("|");
    let flattened = ["[@,@][]"; 30].join("|");
    let lengthy = json!({"a": "x".repeat(100_000), "b": vec!["y"; 1000]});
    for (object, expression, words) in [
        (json!([1]), doubled.clone(), "100000 values"),
        (json!([1]), format!("{doubled}|to_string(@)"), "too many steps"),
        (json!([1]), format!("{doubled}|@ == [@]"), "too many steps"),
        (json!([1]), flattened, "too many steps"),
        (lengthy, "join(a, b)".to_owned(), "too many steps"),
        (json!([vec![1; 60_000]]), "[@, @]".to_owned(), "100000 values"),
        (json!({"a": "x".repeat(600_000)}), "[a, a]".to_owned(), "1000000 characters"),
        (json!({"a": nested(110)}), format!("{}a{}", "[".repeat(20), "]".repeat(20)), "levels deep"),
    ] {
        refuses("query", [(json!({"object": object, "expression": expression}), words)]).await;
    }
    // Long and deep, but within the limits.
    let chain = ["a"; 90].join(" || ");
    let filters = format!("a{}", "[?a]".repeat(40));
    gives(
        "query",
        [
            (json!({"object": {"a": 1}, "expression": chain}), json!(1)),
            (json!({"object": {"a": []}, "expression": filters}), json!([])),
            (
                json!({"object": {"a": 1}, "expression": format!("{}a{}", "(".repeat(90), ")".repeat(90))}),
                json!(1),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn diff_reports_changes_with_their_paths() {
    let told = |added: Value, removed: Value, changed: Value| json!({"added": added, "removed": removed, "changed": changed});
    let nothing = told(json!({}), json!({}), json!({}));
    gives(
        "diff",
        [
            (
                json!({"from": {"a": 1, "b": {"c": [1, 2], "d": 1}}, "to": {"a": 2, "b": {"c": [1, 3, 4]}, "e": {}}}),
                told(
                    json!({"b.c.2": 4, "e": {}}),
                    json!({"b.d": 1}),
                    json!({"a": {"from": 1, "to": 2}, "b.c.1": {"from": 2, "to": 3}}),
                ),
            ),
            (
                json!({"from": {"x.y": {"\\": 1}}, "to": {"x.y": {"\\": null}, "名": "世"}}),
                told(json!({"名": "世"}), json!({}), json!({"x\\.y.\\\\": {"from": 1, "to": null}})),
            ),
            (json!({"from": {"a": [1]}, "to": {"a": {"0": 1}}}), told(json!({}), json!({}), json!({"a": {"from": [1], "to": {"0": 1}}}))),
            (json!({"from": 1, "to": "1"}), told(json!({}), json!({}), json!({"": {"from": 1, "to": "1"}}))),
            (json!({"from": [1, 2], "to": []}), told(json!({}), json!({"0": 1, "1": 2}), json!({}))),
            (json!({"from": {"a": 1, "b": [2]}, "to": {"b": [2.0], "a": 1}}), nothing.clone()),
            (json!({"from": {}, "to": {}}), nothing.clone()),
            (json!({"from": null, "to": null}), nothing),
        ],
    )
    .await;
    let wide: serde_json::Map<String, Value> = (0..2000).map(|n| (n.to_string(), json!(n))).collect();
    let name = "k".repeat(1000);
    refuses(
        "diff",
        [
            (json!({"from": {name.as_str(): wide}, "to": {name.as_str(): {}}}), "1,000,000 characters"),
            (json!({"from": vec![1; 60_000], "to": vec![2; 60_000].into_iter().chain(vec![3; 60_000]).collect::<Vec<i32>>()}), "100,000 items"),
            (json!({"from": {}}), "to"),
        ],
    )
    .await;
    let deep = json!({"operation": "diff", "from": nested(100), "to": nested(101)});
    assert!(run("object", deep).await.is_ok(), "deep values are compared too");
}

#[tokio::test]
async fn an_unknown_operation_is_rejected() {
    refuses("explode", [(json!({"object": {}}), "explode")]).await;
}
