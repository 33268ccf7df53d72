//! Built-in tools over the API: the calculator's digits, dates and units, descriptions in the reader's language.

use serde_json::{Value, json};

use super::execute;
use crate::agents::make;
use crate::http_tools::start;

#[tokio::test]
async fn the_calculator_writes_large_numbers_out() {
    let (_server, api) = start(&[]).await;
    let reply = execute(&api, "calculator", json!({"expression": "1234 * 5678"})).await;
    assert_eq!(
        reply.data()["data"],
        json!({"expression": "1234 * 5678", "result": 7_006_652, "text": "7006652"})
    );
}

#[tokio::test]
async fn dates_are_parsed_echoed_and_refused_as_the_contract_specifies() {
    let (_server, api) = start(&[]).await;
    let diff = json!({"operation": "diff", "date": "2018 February 03", "targetDate": "20180306T012345", "unit": "days", "timezone": "UTC"});
    let reply = execute(&api, "datetime", diff).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let data = &reply.data()["data"];
    assert_eq!(
        (&data["from"], &data["to"], &data["unit"], &data["value"], &data["humanReadable"]),
        (&json!("2018 February 03"), &json!("20180306T012345"), &json!("day"), &json!(31), &json!("31 days"))
    );
    let zh = api.with("accept-language", "zh");
    for (arguments, expected) in [
        (
            json!({"operation": "diff", "date": "2024-01-01", "targetDate": null}),
            "输入无效：targetDate: 计算日期差需要提供目标日期 (targetDate)",
        ),
        (
            json!({"operation": "diff", "date": "2024-01-01", "targetDate": ""}),
            "输入无效：targetDate: 计算日期差需要提供目标日期 (targetDate)",
        ),
        (
            json!({"operation": "diff", "date": "2024-01-01"}),
            "输入无效：targetDate: 计算日期差需要提供目标日期 (targetDate)",
        ),
        (json!({"operation": "format", "date": ""}), "无法解析日期: "),
        (json!({"operation": "diff", "date": "", "targetDate": "2024-01-01"}), "无法解析日期: "),
        (json!({"operation": "add", "date": "", "amount": 1, "unit": "day"}), "无法解析日期: "),
        (
            json!({"operation": "add", "date": "2024-01-01", "amount": null, "unit": "day"}),
            "输入无效：amount: 日期加减需要提供数量 (amount)",
        ),
        (
            json!({"operation": "add", "date": "2024-01-01", "amount": 1, "unit": "fortnight"}),
            "未知的单位: fortnight",
        ),
    ] {
        let reply = execute(&zh, "datetime", arguments.clone()).await;
        assert_eq!((reply.status, reply.kind()), (400, "Validation"), "{arguments}");
        assert!(reply.message().contains(expected), "{arguments}: {}", reply.message());
    }
}

#[tokio::test]
async fn people_read_descriptions_in_their_language_and_models_in_english() {
    let (_server, api) = start(&[]).await;
    let zh = api.with("accept-language", "zh-CN");
    let is_chinese =
        |text: &Value| text.as_str().is_some_and(|text| text.chars().any(|c| ('一'..='龥').contains(&c)));
    let tools = zh.get("/api/tools?owner=system&limit=50").await;
    let tools = tools.data()["items"].as_array().expect("a list").clone();
    assert!(tools.len() >= 8, "{}", tools.len());
    for tool in &tools {
        assert!(is_chinese(&tool["description"]), "{tool}");
        let name = tool["name"].as_str().expect("a name");
        let one = zh.get(&format!("/api/tools/{name}")).await;
        assert_eq!(one.data()["description"], tool["description"]);
        let english = api.get(&format!("/api/tools/{name}")).await;
        assert!(!is_chinese(&english.data()["description"]), "{name}");
    }
    make(&api, "/api/agents", &json!({"name": "helper"})).await;
    make(&api, "/api/agents/helper/tools", &json!([{"toolId": "calculator"}])).await;
    let rows = zh.get("/api/agents/helper/tools").await;
    assert!(is_chinese(&rows.data()[0]["description"]), "{}", rows.body);
    let effective = zh.get("/api/agents/helper/tools?effective=true").await;
    assert!(!is_chinese(&effective.data()[0]["description"]), "{}", effective.body);
}
