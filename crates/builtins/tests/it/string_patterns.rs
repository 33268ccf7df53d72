//! `string` with patterns: regexReplace and match, on ordinary and hostile text.

use serde_json::{Value, json};

use crate::string::{FAMILY, gives, refuses};
use crate::support::run;

#[tokio::test]
async fn regex_replace_with_groups() {
    let date = r"(?<y>\d+)-(\d+)-(\d+)";
    gives(
        "regexReplace",
        [
            (json!({"text": "2024-03-20", "pattern": date, "replacement": "$3/$2/$1"}), json!("20/03/2024")),
            (
                json!({"text": "2024-03-20", "pattern": date, "replacement": "${y}年${2}月"}),
                json!("2024年03月"),
            ),
            (
                json!({"text": "7-8-9", "pattern": date, "replacement": "$1a $0 $$ 5$ $x ${"}),
                json!("7a 7-8-9 $ 5$ $x ${"),
            ),
            (json!({"text": "aAa", "pattern": "a", "replacement": "b"}), json!("bAb")),
            (json!({"text": "aAa", "pattern": "a", "replacement": "b", "ignoreCase": true}), json!("bbb")),
            (json!({"text": "aAa", "pattern": "a", "replacement": "b", "all": false}), json!("bAa")),
            (json!({"text": "ab", "pattern": "", "replacement": "-"}), json!("-a-b-")),
            (json!({"text": "", "pattern": "^$", "replacement": "x"}), json!("x")),
            (json!({"text": "ab世界c", "pattern": r"\p{Han}+", "replacement": "[$0]"}), json!("ab[世界]c")),
            (json!({"text": "b", "pattern": "(a)?b", "replacement": "<$1>"}), json!("<>")),
        ],
    )
    .await;
    refuses(
        "regexReplace",
        [
            (json!({"text": "a", "pattern": "a", "replacement": "$1"}), "no group \"1\""),
            (json!({"text": "a", "pattern": "a", "replacement": "${name}"}), "no group \"name\""),
            (json!({"text": "a", "pattern": "(", "replacement": ""}), "unclosed group"),
            (
                json!({"text": "a".repeat(1000), "pattern": "a+", "replacement": "$0".repeat(5000)}),
                "1,000,000 characters",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn match_returns_the_text_and_its_index() {
    let at = |matched: &str, index: u32, groups: Value, named: Value| json!({"match": matched, "index": index, "groups": groups, "named": named});
    gives(
        "match",
        [
            (
                json!({"text": format!("{FAMILY}ab1"), "pattern": r"b(\d)(x)?"}),
                at("b1", 2, json!(["1", null]), json!({})),
            ),
            (
                json!({"text": "on 2024", "pattern": r"(?<year>\d{4})"}),
                at("2024", 3, json!(["2024"]), json!({"year": "2024"})),
            ),
            (json!({"text": "xe\u{301}", "pattern": "\u{301}"}), at("\u{301}", 1, json!([]), json!({}))),
            (json!({"text": "abc", "pattern": "$"}), at("", 3, json!([]), json!({}))),
            (json!({"text": "ABC", "pattern": "b", "ignoreCase": true}), at("B", 1, json!([]), json!({}))),
            (json!({"text": "ABC", "pattern": "b"}), json!(null)),
            (json!({"text": "", "pattern": "x", "all": true}), json!([])),
            (
                json!({"text": "世a1界b2", "pattern": r"[a-z](\d)", "all": true}),
                json!([at("a1", 1, json!(["1"]), json!({})), at("b2", 4, json!(["2"]), json!({}))]),
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn invalid_patterns_are_reported() {
    for pattern in ["(", "[a", "a{2,1}", r"(?=a)", r"(a)\1", "*", r"\p{Nothing}", "(?<n>a)(?<n>b)"] {
        refuses("match", [(json!({"text": "a", "pattern": pattern}), "The pattern cannot be used: ")]).await;
    }
    refuses(
        "match",
        [
            (json!({"text": "a", "pattern": "(a"}), "unclosed group"),
            (json!({"text": "a", "pattern": r"\w{1000}"}), "size limit"),
            (json!({"text": "a", "pattern": "((a{100}){100}){100}"}), "size limit"),
            (json!({"text": "a", "pattern": "a".repeat(1001)}), "pattern"),
        ],
    )
    .await;
}

#[tokio::test]
async fn hostile_patterns_are_limited() {
    let text = format!("{}b", "a".repeat(99_999));
    gives(
        "match",
        [
            (json!({"text": text, "pattern": "(a+)+$"}), json!(null)),
            (json!({"text": text, "pattern": "(a|aa)+$"}), json!(null)),
            (json!({"text": text, "pattern": "(.*)*c", "all": true}), json!([])),
        ],
    )
    .await;
    gives("regexReplace", [(json!({"text": text, "pattern": "(a+)+$", "replacement": ""}), json!(text))])
        .await;
    let nested = format!("{}a*{}", "(".repeat(12), ")".repeat(12));
    refuses("match", [(json!({"text": text, "pattern": nested}), "1,000,000 characters")]).await;
    // Every match is one letter, and finding it requires reading the rest of the text.
    let quadratic = json!({"text": "A".repeat(100_000), "pattern": ".*[^A-Z]|[A-Z]", "replacement": "b"});
    refuses("regexReplace", [(quadratic, "takes too long")]).await;
    let nothing =
        json!({"operation": "regexReplace", "text": text, "pattern": "()", "replacement": "$1".repeat(5000)});
    assert!(run("string", nothing).await.is_err(), "too much work for no text");
    let everywhere = json!({"operation": "match", "text": text, "pattern": "", "all": true});
    assert!(run("string", everywhere).await.is_err(), "more than 100,000 matches");
    let long = json!({"operation": "match", "text": "x".repeat(100_001), "pattern": "x"});
    assert!(run("string", long).await.is_err(), "longer than patterns are looked for in");
}
