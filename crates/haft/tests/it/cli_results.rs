//! Output of successful commands in Chinese.

use haft_testkit::eventually;
use serde_json::{Value, json};

use crate::cli_over_http::{Desk, worked};

#[tokio::test]
async fn success_messages_use_the_language_of_the_terminal() {
    let desk = Desk::new("results").await;
    let tool = desk.write("echo.yaml", "name: echo\ndescription: One.\ntype: mock\n");
    for (arguments, message) in [
        (["tools", "create", "-f", &tool].as_slice(), "已创建工具 echo\n"),
        (&["call", "echo", "a=1"], "尝试次数：1\n"),
        (&["agents", "create", "guide"], "已创建智能体 guide\n"),
        (&["agents", "rm", "guide"], "已删除智能体 guide\n"),
        (&["spaces", "create", "research"], "已创建空间 research，id 为 "),
        (&["users", "add", "ada"], "已添加用户 ada，id 为 "),
        (&["spaces", "add", "research", "ada", "editor"], "ada 在 research 中的角色是 editor\n"),
        (&["spaces", "remove", "research", "ada"], "ada 已不在 research 中\n"),
        (&["tokens", "create", "ci", "--scope", "call"], "已创建令牌 ci，id 为 "),
        (&["tools", "rm", "echo"], "已删除工具 echo\n"),
    ] {
        let ended = worked(desk.haft(&[arguments, &["--lang", "zh"]].concat()).await);
        assert!(ended.stderr.contains(message), "{arguments:?}: {}", ended.stderr);
    }
    eventually("the call is counted", async || {
        let stats = worked(desk.haft(&["stats", "--lang", "zh"]).await);
        stats.stdout.contains("错误率") && stats.stdout.contains("全部，24h")
    })
    .await;
    let login = ["login", &desk.server.url, "--token", crate::TOKEN, "--lang", "zh"];
    let logged_in = worked(desk.at_home(&login, "").await);
    assert!(logged_in.stderr.starts_with("已以 admin 的身份登录 "), "{}", logged_in.stderr);
    let logged_out = worked(desk.at_home(&["logout", "--lang", "zh"], "").await);
    assert!(logged_out.stderr.contains("令牌由你提供给 haft login"), "{}", logged_out.stderr);
    let logged_out = worked(desk.at_home(&["logout", "--lang", "zh"], "").await);
    assert_eq!(logged_out.stderr, "当前没有登录\n");
}

#[tokio::test]
async fn import_lists_removed_operations_in_both_languages() {
    let desk = Desk::new("import-results").await;
    let document = |paths: Value| {
        json!({"openapi": "3.0.3", "info": {"title": "Pets", "version": "1"},
            "servers": [{"url": "https://pets.example.com"}], "paths": paths})
        .to_string()
    };
    let operation = |id: &str| json!({"get": {"operationId": id, "summary": "One."}});
    let both = document(json!({"/pets": operation("listPets"), "/owners": operation("listOwners")}));
    let spec = desk.write("pets.json", &both);
    worked(desk.haft(&["import", "openapi", &spec]).await);
    desk.write("pets.json", &document(json!({"/pets": operation("listPets")})));
    for (lang, gone, stays) in
        [("en", "  gone  ", "no longer in the document"), ("zh", "  已移除  ", "文档中已不存在")]
    {
        let again = worked(desk.haft(&["import", "openapi", &spec, "--lang", lang]).await);
        assert!(again.stdout.starts_with("listOwners"), "{lang}: {}", again.stdout);
        assert!(again.stdout.contains(gone) && again.stdout.contains(stays), "{lang}: {}", again.stdout);
    }
}
