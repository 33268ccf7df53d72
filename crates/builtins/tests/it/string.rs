//! `string`: every operation, on ordinary, empty, Unicode and hostile text.

use serde_json::{Value, json};

use crate::support::run;

pub(crate) const FAMILY: &str = "👨‍👩‍👧‍👦";

/// Runs one operation on each of the arguments, which omit the operation.
pub(crate) async fn gives<const N: usize>(operation: &str, cases: [(Value, Value); N]) {
    for (mut arguments, expected) in cases {
        arguments["operation"] = operation.into();
        let shown: String = arguments.to_string().chars().take(200).collect();
        assert_eq!(run("string", arguments).await, Ok(expected), "{shown}");
    }
}

/// Runs one operation on each of the arguments, and asserts a part of the error message.
pub(crate) async fn refuses<const N: usize>(operation: &str, cases: [(Value, &str); N]) {
    for (mut arguments, words) in cases {
        arguments["operation"] = operation.into();
        let shown: String = arguments.to_string().chars().take(200).collect();
        let error = run("string", arguments).await.expect_err(&shown);
        assert!(error.contains(words), "{shown}: {error}");
    }
}

#[tokio::test]
async fn upper_lower_and_title() {
    gives(
        "upper",
        [
            (json!({"text": "Hello"}), json!("HELLO")),
            (json!({"text": ""}), json!("")),
            (json!({"text": "straße, 世界 e\u{301}"}), json!("STRASSE, 世界 E\u{301}")),
        ],
    )
    .await;
    refuses("upper", [(json!({"text": "ß".repeat(600_000)}), "1,000,000 characters")]).await;
    gives(
        "lower",
        [
            (json!({"text": "HeLLo"}), json!("hello")),
            (json!({"text": ""}), json!("")),
            (json!({"text": "ΣΑΣ İ"}), json!("σας i\u{307}")),
        ],
    )
    .await;
    gives(
        "title",
        [
            (json!({"text": "hello wORLD"}), json!("Hello World")),
            (json!({"text": "jean-paul  sartre"}), json!("Jean-Paul  Sartre")),
            (json!({"text": "(ab) 3rd o'neil"}), json!("(Ab) 3rd O'neil")),
            (json!({"text": "e\u{301}tude ﬁne 世界"}), json!("E\u{301}tude Fine 世界")),
            (json!({"text": ""}), json!("")),
        ],
    )
    .await;
}

#[tokio::test]
async fn trim_on_each_side() {
    gives(
        "trim",
        [
            (json!({"text": " \t a b \n\u{3000}"}), json!("a b")),
            (json!({"text": "  a  ", "side": "both"}), json!("a")),
            (json!({"text": "  a  ", "side": "start"}), json!("a  ")),
            (json!({"text": "  a  ", "side": "end"}), json!("  a")),
            (json!({"text": "   "}), json!("")),
        ],
    )
    .await;
    refuses("trim", [(json!({"text": "a", "side": "left"}), "side")]).await;
}

#[tokio::test]
async fn length_counts_what_people_see() {
    gives(
        "length",
        [
            (json!({"text": ""}), json!(0)),
            (json!({"text": "abc"}), json!(3)),
            (json!({"text": "世界"}), json!(2)),
            (json!({"text": "e\u{301}"}), json!(1)),
            (json!({"text": FAMILY}), json!(1)),
            (json!({"text": "🇨🇳🇫🇷👍🏽"}), json!(3)),
            (json!({"text": "\r\n"}), json!(1)),
            (json!({"text": format!("e{}", "\u{301}".repeat(100_000))}), json!(1)),
        ],
    )
    .await;
    refuses("length", [(json!({"text": {"a": 1}}), "text"), (json!({"text": null}), "text")]).await;
    refuses("length", [(json!({}), "text"), (json!({"text": "a", "other": 1}), "other")]).await;
    let long = json!({"operation": "length", "text": "x".repeat(1_000_001)});
    assert!(run("string", long).await.is_err(), "longer than the schema allows");
}

#[tokio::test]
async fn slice_like_a_list() {
    let mixed = format!("a{FAMILY}e\u{301}b");
    gives(
        "slice",
        [
            (json!({"text": "hello", "start": 1, "end": 3}), json!("el")),
            (json!({"text": "hello", "start": -3}), json!("llo")),
            (json!({"text": "hello", "start": 1, "end": -1}), json!("ell")),
            (json!({"text": "hello", "start": 3, "end": 1}), json!("")),
            (json!({"text": "hello", "start": 100}), json!("")),
            (json!({"text": "hello", "start": -100, "end": 2}), json!("he")),
            (json!({"text": "hello", "start": 1.0, "end": 2.0}), json!("e")),
            (json!({"text": "", "start": 0}), json!("")),
            (json!({"text": mixed, "start": 1, "end": 2}), json!(FAMILY)),
            (json!({"text": mixed, "start": -2}), json!("e\u{301}b")),
        ],
    )
    .await;
    refuses("slice", [(json!({"text": "a", "start": 1_000_001}), "start")]).await;
    refuses("slice", [(json!({"text": "a", "start": 0.5}), "start"), (json!({"text": "a"}), "start")]).await;
}

#[tokio::test]
async fn split_at_a_separator_or_at_every_character() {
    gives(
        "split",
        [
            (json!({"text": "a,b,,c", "separator": ","}), json!(["a", "b", "", "c"])),
            (json!({"text": "a,b,,c", "separator": ",", "limit": 2}), json!(["a", "b,,c"])),
            (json!({"text": "a", "separator": ", "}), json!(["a"])),
            (json!({"text": "", "separator": ","}), json!([""])),
            (json!({"text": "", "separator": ""}), json!([])),
            (json!({"text": "一、二", "separator": "、"}), json!(["一", "二"])),
            (json!({"text": "e\u{301}👍🏽界", "separator": ""}), json!(["e\u{301}", "👍🏽", "界"])),
            (json!({"text": "abc", "separator": "", "limit": 2}), json!(["a", "bc"])),
            (json!({"text": "abc", "separator": "", "limit": 1}), json!(["abc"])),
            (json!({"text": "abc", "separator": "", "limit": 9}), json!(["a", "b", "c"])),
        ],
    )
    .await;
    refuses(
        "split",
        [
            (json!({"text": "x".repeat(100_001), "separator": ""}), "100,000 items"),
            (json!({"text": ",".repeat(100_000), "separator": ","}), "100,000 items"),
            (json!({"text": "a", "separator": ",", "limit": 0}), "limit"),
        ],
    )
    .await;
}

#[tokio::test]
async fn replace_is_literal() {
    gives(
        "replace",
        [
            (json!({"text": "a.b.c", "search": ".", "replacement": "-"}), json!("a-b-c")),
            (json!({"text": "a.b.c", "search": ".", "replacement": "-", "all": false}), json!("a-b.c")),
            (json!({"text": "aaa", "search": "aa", "replacement": "b"}), json!("ba")),
            (json!({"text": "a$1", "search": "$1", "replacement": "$0"}), json!("a$0")),
            (json!({"text": "世界世", "search": "世", "replacement": ""}), json!("界")),
            (json!({"text": "", "search": "x", "replacement": "y"}), json!("")),
        ],
    )
    .await;
    refuses(
        "replace",
        [
            (json!({"text": "a", "search": "", "replacement": "b"}), "search"),
            (
                json!({"text": "a".repeat(2000), "search": "a", "replacement": "b".repeat(1000)}),
                "1,000,000 characters",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn pad_at_either_end() {
    gives(
        "padStart",
        [
            (json!({"text": "5", "length": 3, "fill": "0"}), json!("005")),
            (json!({"text": "5", "length": 3}), json!("  5")),
            (json!({"text": "abc", "length": 2}), json!("abc")),
            (json!({"text": "x", "length": 4, "fill": "ab"}), json!("abax")),
            (json!({"text": "", "length": 0}), json!("")),
            (json!({"text": FAMILY, "length": 3, "fill": "界"}), json!(format!("界界{FAMILY}"))),
        ],
    )
    .await;
    gives(
        "padEnd",
        [
            (json!({"text": "5", "length": 3, "fill": "0"}), json!("500")),
            (json!({"text": "x", "length": 4, "fill": "ab"}), json!("xaba")),
            (json!({"text": "é", "length": 2, "fill": FAMILY}), json!(format!("é{FAMILY}"))),
        ],
    )
    .await;
    for operation in ["padStart", "padEnd"] {
        refuses(
            operation,
            [
                (json!({"text": "", "length": 1_000_000, "fill": FAMILY}), "1,000,000 characters"),
                (json!({"text": "", "length": 1_000_001}), "length"),
                (json!({"text": "", "length": -1}), "length"),
                (json!({"text": "", "length": 1, "fill": ""}), "fill"),
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn repeat_and_reverse() {
    gives(
        "repeat",
        [
            (json!({"text": "ab", "count": 3}), json!("ababab")),
            (json!({"text": "ab", "count": 0}), json!("")),
            (json!({"text": "", "count": 100_000}), json!("")),
            (json!({"text": FAMILY, "count": 2}), json!(format!("{FAMILY}{FAMILY}"))),
        ],
    )
    .await;
    refuses(
        "repeat",
        [
            (json!({"text": "x".repeat(11), "count": 100_000}), "1,000,000 characters"),
            (json!({"text": "x".repeat(1_000_000), "count": 100_000}), "1,000,000 characters"),
            (json!({"text": "x", "count": 100_001}), "count"),
            (json!({"text": "x", "count": -1}), "count"),
        ],
    )
    .await;
    gives(
        "reverse",
        [
            (json!({"text": "abc"}), json!("cba")),
            (json!({"text": ""}), json!("")),
            (json!({"text": format!("界b{FAMILY}e\u{301}")}), json!(format!("e\u{301}{FAMILY}b界"))),
        ],
    )
    .await;
}

#[tokio::test]
async fn includes_with_and_without_case() {
    gives(
        "includes",
        [
            (json!({"text": "Hello", "search": "ell"}), json!(true)),
            (json!({"text": "Hello", "search": "ELL"}), json!(false)),
            (json!({"text": "Hello", "search": "ELL", "ignoreCase": true}), json!(true)),
            (json!({"text": "STRASSE", "search": "straße", "ignoreCase": true}), json!(true)),
            (json!({"text": "ΟΔΟΣ", "search": "οδος", "ignoreCase": true}), json!(true)),
            (json!({"text": "你好世界", "search": "世界"}), json!(true)),
            (json!({"text": "", "search": ""}), json!(true)),
            (json!({"text": "", "search": "a"}), json!(false)),
        ],
    )
    .await;
}

#[tokio::test]
async fn base64_both_ways() {
    gives(
        "base64Encode",
        [
            (json!({"text": "hello"}), json!("aGVsbG8=")),
            (json!({"text": "世界"}), json!("5LiW55WM")),
            (json!({"text": ""}), json!("")),
        ],
    )
    .await;
    refuses("base64Encode", [(json!({"text": "x".repeat(800_000)}), "1,000,000 characters")]).await;
    gives(
        "base64Decode",
        [
            (json!({"text": "aGVsbG8="}), json!("hello")),
            (json!({"text": "aGVsbG8"}), json!("hello")),
            (json!({"text": "Pz8/fn5+"}), json!("???~~~")),
            (json!({"text": "Pz8_fn5-"}), json!("???~~~")),
            (json!({"text": "5LiW55WM"}), json!("世界")),
            (json!({"text": ""}), json!("")),
        ],
    )
    .await;
    refuses(
        "base64Decode",
        [
            (json!({"text": "a"}), "not Base64"),
            (json!({"text": "!!!!"}), "not Base64"),
            (json!({"text": "世界"}), "not Base64"),
            (json!({"text": "/w=="}), "not UTF-8"),
        ],
    )
    .await;
}

#[tokio::test]
async fn url_escapes_both_ways() {
    gives(
        "urlEncode",
        [
            (json!({"text": "a b&c=1/2?é"}), json!("a%20b%26c%3D1%2F2%3F%C3%A9")),
            (json!({"text": "-_.!~*'()"}), json!("-_.!~*'()")),
            (json!({"text": "世"}), json!("%E4%B8%96")),
            (json!({"text": ""}), json!("")),
        ],
    )
    .await;
    refuses("urlEncode", [(json!({"text": "世".repeat(120_000)}), "1,000,000 characters")]).await;
    gives(
        "urlDecode",
        [
            (json!({"text": "a%20b+c"}), json!("a b+c")),
            (json!({"text": "%e4%B8%96界"}), json!("世界")),
            (json!({"text": "%2525"}), json!("%25")),
            (json!({"text": ""}), json!("")),
        ],
    )
    .await;
    refuses(
        "urlDecode",
        [
            (json!({"text": "100%"}), "byte 3"),
            (json!({"text": "%zz"}), "two hexadecimal digits"),
            (json!({"text": "%4世"}), "two hexadecimal digits"),
            (json!({"text": "%FF"}), "not UTF-8"),
        ],
    )
    .await;
}

#[tokio::test]
async fn hash_is_sha256() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    gives(
        "hash",
        [
            (json!({"text": ""}), json!(empty)),
            (json!({"text": "abc"}), json!(abc)),
            (json!({"text": "abc", "algorithm": "sha256"}), json!(abc)),
        ],
    )
    .await;
    refuses("hash", [(json!({"text": "abc", "algorithm": "md5"}), "md5")]).await;
}

#[tokio::test]
async fn template_is_filled_in_once() {
    let values = json!({
        "name": "世界", "n": 1.5, "yes": true, "none": null, "list": [1, {"a": "b"}], "a": {"b": ["x", "y"]},
        "a.b": "dotted", "trick": "{{name}}", "": "empty",
    });
    let filled =
        |template: &str, expected: &str| (json!({"template": template, "values": values}), json!(expected));
    gives(
        "template",
        [
            filled("Hi {{name}}, {{ a.b.1 }}!", "Hi 世界, y!"),
            filled("{{n}} {{yes}} {{list}}", r#"1.5 true [1,{"a":"b"}]"#),
            filled("[{{none}}{{missing}}{{a.b.2}}{{name.x}}]", "[]"),
            filled(r"{{a\.b}}", "dotted"),
            filled("{{trick}}", "{{name}}"),
            filled("{{}}{{ }}", ""),
            filled("{name} {{name", "{name} {{name"),
            filled("}} {{name}} }}", "}} 世界 }}"),
            filled("", ""),
        ],
    )
    .await;
    let deep = format!("{{{{{}a}}}}", "a.".repeat(100));
    refuses(
        "template",
        [
            (
                json!({"template": "{{v}}".repeat(200), "values": {"v": "x".repeat(10_000)}}),
                "1,000,000 characters",
            ),
            (json!({"template": deep, "values": {}}), "101 segments"),
            (json!({"template": "a", "values": "b"}), "values"),
            (json!({"template": "a"}), "values"),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_unknown_operation_is_rejected() {
    refuses("explode", [(json!({"text": "a"}), "explode")]).await;
}
