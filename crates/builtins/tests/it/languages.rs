//! Chinese messages and descriptions of `string`, `array` and `object`.

use haft_engine::{ErrorKind, Locale};
use serde_json::json;

use crate::support::{call_in, tools};

#[tokio::test]
async fn failures_have_chinese_messages() {
    for (tool, arguments, expected) in [
        (
            "string",
            json!({"operation": "match", "text": "a", "pattern": "(a"}),
            "正则表达式无法使用: unclosed group",
        ),
        (
            "string",
            json!({"operation": "regexReplace", "text": "a", "pattern": "a", "replacement": "$1"}),
            "正则表达式中没有可用于替换的分组 \"1\"；美元符号请写作 $$",
        ),
        (
            "string",
            json!({"operation": "urlDecode", "text": "a%zz"}),
            "字节 1 处的 % 后面不是两位十六进制数字",
        ),
        ("string", json!({"operation": "urlDecode", "text": "%ff"}), "解码后的字节不是 UTF-8 文本"),
        (
            "string",
            json!({"operation": "repeat", "text": "a".repeat(2000), "count": 1000}),
            "结果将超过 1,000,000 个字符",
        ),
        (
            "array",
            json!({"operation": "filter", "array": [1], "op": "eq"}),
            "eq 需要一个用于比较的值 (value)",
        ),
        (
            "array",
            json!({"operation": "filter", "array": [1], "op": "in", "value": 1}),
            "in 的值 (value) 必须是列表",
        ),
        ("array", json!({"operation": "sum", "array": [1, "2"]}), "第 1 项 (从 0 开始) 不是数字"),
        (
            "object",
            json!({"operation": "set", "object": {}, "path": "", "value": 1}),
            "路径为空: 没有指向对象中的任何内容",
        ),
        (
            "object",
            json!({"operation": "set", "object": {"a": [1]}, "path": "a.5", "value": 1}),
            "\"5\" 不是 \"a\" 处列表中的位置，该列表有 1 项",
        ),
        (
            "object",
            json!({"operation": "query", "object": {}, "expression": "nope(a)"}),
            "JMESPath: 没有函数 nope",
        ),
    ] {
        let shown: String = arguments.to_string().chars().take(200).collect();
        let answer = call_in(tool, arguments, Locale::Zh).await;
        assert_eq!(answer, Err((ErrorKind::Execution, expected.to_owned())), "{tool} {shown}");
    }
}

#[test]
fn every_tool_is_described_in_both_languages() {
    for tool in tools().list() {
        let (en, zh) = (tool.spec.description_in(Locale::En), tool.spec.description_in(Locale::Zh));
        assert_eq!(en, tool.spec.description, "{}: what models read", tool.spec.name);
        assert!(zh.chars().any(|character| ('一'..='龥').contains(&character)), "{}: {zh}", tool.spec.name);
        assert_ne!(en, zh);
    }
}
