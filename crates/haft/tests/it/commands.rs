//! The commands of the command line: arguments, exit codes, and output on standard output and standard error.

use haft_testkit::{Client, HaftProcess, eventually, run};
use serde_json::json;

use crate::HAFT;
use crate::cli_over_http::{Desk, mock, parsed, refused, worked};

/// A setting that only the help of server commands may list.
const SETTING: &str = "--artifact-quota";

/// Variables that only `haft serve` uses.
const OF_SERVE: [&str; 9] = [
    "HAFT_ADDR",
    "HAFT_ADMIN_TOKEN",
    "HAFT_LOG_FORMAT",
    "HAFT_ALERT_INTERVAL",
    "HAFT_MAX_CONNECTIONS",
    "HAFT_MAX_CONNECTIONS_PER_ADDRESS",
    "HAFT_HEADER_TIMEOUT",
    "HAFT_IDLE_TIMEOUT",
    "HAFT_BODY_TIMEOUT",
];

/// A command with an id in its path.
const USER: &str = "curl https://api.example.com/users/42";

#[tokio::test]
async fn server_settings_are_listed_in_the_help_of_server_commands() {
    let help = async |arguments: &[&str]| run(HAFT, arguments, &[], "").await.stdout;
    for listed in [["serve", "--help"].as_slice(), &["help", "serve"], &["help", "settings"], &["settings"]] {
        let text = help(listed).await;
        assert!(text.contains(SETTING) && text.contains("HAFT_ALLOW_PRIVATE_NETWORKS"), "{listed:?}: {text}");
        for variable in OF_SERVE {
            assert!(text.contains(variable), "{listed:?} lacks {variable}: {text}");
        }
    }
    let settings = help(&["help", "settings"]).await;
    assert!(settings.contains("default_provider") && settings.contains("HAFT_DEFAULT_MODEL"), "{settings}");
    for command in [
        "",
        "login",
        "logout",
        "tools",
        "call",
        "chat",
        "import",
        "tasks",
        "approvals",
        "agents",
        "calls",
        "stats",
        "events",
        "providers",
        "alerts",
        "open",
        "secrets",
        "export",
        "apply",
        "diff",
        "spaces",
        "tokens",
        "users",
        "audit",
    ] {
        let text =
            help(&[command, "--help"].iter().copied().filter(|word| !word.is_empty()).collect::<Vec<_>>())
                .await;
        assert!(!text.contains(SETTING) && text.contains("Usage: haft"), "{command}: {text}");
    }
    // The settings are accepted by every command anyway.
    let quota = run(HAFT, &["tools", SETTING, "1000"], &[], "").await;
    assert_eq!(quota.code, 0, "{}", quota.stderr);
    assert!(run(HAFT, &["completions", "bash"], &[], "").await.stdout.contains("providers"));
}

#[tokio::test]
async fn empty_lists_say_so_in_both_languages() {
    let desk = Desk::new("empty-lists").await;
    for (command, en, zh) in [
        ("tasks", "No tasks.\n", "没有任务。\n"),
        ("approvals", "No calls wait for approval.\n", "没有等待批准的调用。\n"),
        ("agents", "No agents.\n", "没有智能体。\n"),
        ("secrets", "No secrets.\n", "没有密钥。\n"),
        ("calls", "No calls.\n", "没有调用。\n"),
        ("stats", "No calls.\n", "没有调用。\n"),
        ("alerts", "No alerts.\n", "没有告警。\n"),
    ] {
        let empty = worked(desk.haft(&[command]).await);
        assert_eq!((empty.stdout.as_str(), empty.stderr.as_str()), ("", en), "{command}");
        assert_eq!(worked(desk.haft(&[command, "--lang", "zh"]).await).stderr, zh, "{command}");
        if command != "stats" {
            assert_eq!(parsed(&worked(desk.haft(&[command, "--json"]).await)), json!([]), "{command}");
        }
    }
}

#[tokio::test]
async fn definitions_are_created_listed_printed_and_deleted() {
    let desk = Desk::new("commands").await;
    let tool = desk.write("echo.yaml", "name: echo\ndescription: One.\ntype: mock\n");
    let alert = desk.write("alert.json", &json!({"name": "slow", "metric": "p95", "above": 5}).to_string());
    let provider = desk.write(
        "local.json",
        &json!({"name": "local", "kind": "scripted",
        "script": [{"text": "Hello."}]})
        .to_string(),
    );
    let defaults = desk.write(
        "list.json",
        &json!({"name": "list", "description": "d", "type": "mock", "inputSchema": {"type": "object",
        "properties": {"limit": {"type": "integer", "default": null}, "page": {"type": "integer", "default": 2}}}})
        .to_string(),
    );
    let mcp = desk.write("mcp.json", &json!({"name": "t", "description": "d", "type": "MCP"}).to_string());
    let outside = desk.write(
        "outside.json",
        &json!({"name": "t", "description": "d", "url": "https://api.example.com/x",
        "security": {"allowedDomains": ["b.example"]}})
        .to_string(),
    );
    let titled = desk.write(
        "titled.json",
        &json!({"name": "titled", "description": "d", "type": "mock", "title": {"en": "Weather"}})
            .to_string(),
    );
    worked(desk.at_home(&["login", &desk.server.url, "--token", crate::TOKEN], "").await);
    let of_server = [("HAFT_URL", desk.server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];
    let of_login = [("XDG_CONFIG_HOME", desk.home.to_str().expect("a path")), ("HAFT_TOKEN", crate::TOKEN)];
    for (finding, arguments, code, out, message) in [
        ("E5", ["tools", "create", "-f", &tool].as_slice(), 0, "", "created the tool echo\n"),
        ("E5", &["tools", "create", "-f", &tool], 7, "", "Conflict: "),
        ("E5", &["tools", "create"], 2, "", "required arguments were not provided"),
        ("E5", &["tools", "create", "bare"], 2, "", "Validation: "),
        ("E5", &["tools", "create", "-f", "/nowhere.json"], 1, "", "cannot read /nowhere.json"),
        (
            "E5",
            &[
                "tools",
                "create",
                "weather",
                "--address",
                "https://api.example.com/{{city}}",
                "--about",
                "Weather.",
            ],
            0,
            "",
            "created the tool weather\n",
        ),
        ("E5", &["tools", "show", "weather"], 0, "city  string, required", ""),
        (
            "E5",
            &[
                "agents",
                "create",
                "guide",
                "--tool",
                "weather",
                "--model",
                "openai/small",
                "--prompt",
                "Be brief.",
            ],
            0,
            "",
            "created the agent guide\n",
        ),
        ("E5", &["agents", "create", "other", "--tool", "nope"], 2, "", "there is no tool nope"),
        ("E5", &["agents", "show", "guide"], 0, "openai/small", ""),
        ("E5", &["call", "echo", "a=1"], 0, "\"a\": \"1\"", "attempts: 1"),
        ("E6", &["call", "echo", "a=1", "--timeout", "30s"], 0, "\"a\": \"1\"", ""),
        ("E6", &["call", "echo", "--timeout", "soon"], 2, "", "invalid value 'soon'"),
        ("E5", &["apply", "-f", &provider, "-f", &alert], 0, "local  created    provider\n", "2 created\n"),
        ("E5", &["providers"], 0, "local  scripted  stored", ""),
        ("E5", &["providers", "show", "local"], 0, "  scripted\n", ""),
        ("E5", &["providers", "test", "local"], 0, "reads its responses from a list", ""),
        ("E5", &["providers", "rm", "local"], 0, "", "deleted the provider local\n"),
        ("E5", &["providers", "rm", "local"], 3, "", "NotFound: "),
        ("E5", &["alerts"], 0, "slow  ok  p95 above 5 for 0 s", ""),
        ("E5", &["alerts", "show", "nope"], 3, "", "there is no alert nope"),
        ("E5", &["calls", "show", "nope"], 3, "", "there is no call nope"),
        ("E5", &["calls", "--status", "odd"], 2, "", "status: must be one of: success, failed, cancelled"),
        ("E5", &["stats", "--window", "2w"], 2, "", "must be one of"),
        ("E5", &["stats", "--tool", "a", "--agent", "b"], 2, "", "cannot be used with"),
        ("E5", &["events", "--types", "?"], 2, "", "Validation: "),
        ("E5", &["open", "--print"], 0, &format!("{}/\n", desk.server.url), ""),
        ("E5", &["open", "tools", "--print"], 0, &format!("{}/tools\n", desk.server.url), ""),
        ("E8", &["open", "--print"], 0, &format!("{}/\n", desk.server.url), ""),
        ("E8", &["agents"], 0, "guide", ""),
        (
            "E1",
            &["tools", "create", "private", "--address", "http://10.0.0.1/x", "--about", "d"],
            0,
            "",
            "created",
        ),
        ("E1", &["call", "private"], 4, "", "To allow it, start Haft with HAFT_ALLOW_PRIVATE_NETWORKS"),
        ("B3", &["tools", "create", "-f", &defaults], 0, "", "created the tool list\n"),
        ("B3", &["call", "list"], 0, "\"page\": 2", ""),
        (
            "B5",
            &["call", "datetime", "operation=diff", "date=2024-01-01", "targetDate=Mar 20, 2024"],
            0,
            "\"to\": \"Mar 20, 2024\"",
            "",
        ),
        (
            "B6",
            &[
                "call",
                "datetime",
                "operation=add",
                "date=2024-01-31",
                "amount:=1",
                "unit=days",
                "timezone=UTC",
            ],
            0,
            "2024-02-01T00:00:00.000Z",
            "",
        ),
        (
            "B7",
            &["call", "datetime", "operation=format", "date=20210102T012345", "timezone=UTC"],
            0,
            "2021-01-02 01:23:45",
            "",
        ),
        (
            "B8",
            &["call", "datetime", "operation=diff", "date=2024-01-01", "targetDate:=null", "--lang", "zh"],
            2,
            "",
            "计算日期差需要提供目标日期 (targetDate)",
        ),
        ("B10", &["import", "curl", USER, "--dry-run"], 0, "/users/{{user_id}}", "would create 1"),
        ("E7", &["import", "curl", USER], 0, "created", "1 created\n"),
        ("E7", &["import", "curl", USER], 0, "", "1 unchanged\n"),
        ("B12", &["tools", "create", "bare", "--about", "d"], 2, "", "type: is missing, and there is no url"),
        ("B12", &["tools", "create", "-f", &mcp], 2, "", "mcp is not a kind of tool this server can run"),
        (
            "B12",
            &["tools", "create", "calculator", "--address", "https://api.example.com/x", "--about", "d"],
            7,
            "",
            "calculator is the name of a tool that comes with the program",
        ),
        ("B12", &["tools", "create", "-f", &outside], 2, "", "does not include api.example.com"),
        ("B15", &["call", "calculator", "expression=1234 * 5678"], 0, "\"7006652\"", ""),
        ("B17", &["tools", "create", "-f", &titled], 0, "", "created the tool titled\n"),
        ("B17", &["tools", "show", "titled", "--json"], 0, "\"zh\":\"Weather\"", ""),
    ] {
        let environment = if finding == "E8" { &of_login } else { &of_server };
        let ended = run(HAFT, arguments, environment, "").await;
        let case = format!("{finding}: {arguments:?}");
        assert_eq!(ended.code, code, "{case}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains(out), "{case}: {out:?} is not in {}", ended.stdout);
        assert!(ended.stderr.contains(message), "{case}: {message:?} is not in {}", ended.stderr);
    }

    // The call log is written shortly after the response.
    eventually("the calls are on record", async || {
        parsed(&desk.haft(&["calls", "--tool", "echo", "--json"]).await).as_array().map(Vec::len) == Some(2)
    })
    .await;
    let calls = worked(desk.haft(&["calls", "--tool", "echo"]).await);
    assert!(calls.stdout.lines().all(|line| line.starts_with("echo  success  20")), "{}", calls.stdout);
    let last = ["calls", "--tool", "echo", "--limit", "1", "--json"];
    let id = parsed(&desk.haft(&last).await)[0]["id"].clone();
    let shown = worked(desk.haft(&["calls", "show", id.as_str().expect("an id")]).await);
    assert!(
        shown.stdout.contains("tool name  ") && shown.stdout.contains("\"a\": \"1\""),
        "{}",
        shown.stdout
    );
    let alert = parsed(&desk.haft(&["alerts", "--json"]).await)[0]["id"].clone();
    let deleted = worked(desk.haft(&["alerts", "rm", alert.as_str().expect("an id")]).await);
    assert_eq!(deleted.stderr, "deleted the alert slow\n");
}

#[tokio::test]
async fn events_are_followed() {
    let desk = Desk::new("events-command").await;
    let arguments = ["events", "--types", "tool.created", "--count", "2", "--json"];
    let url = desk.server.url.clone();
    let following = tokio::spawn(async move {
        run(HAFT, &arguments, &[("HAFT_URL", url.as_str()), ("HAFT_TOKEN", crate::TOKEN)], "").await
    });
    let mut number = 0;
    eventually("two events came", async || {
        number += 1;
        desk.api.post("/api/tools", &mock(&format!("tool_{number}"), "One.")).await;
        following.is_finished()
    })
    .await;
    let followed = worked(following.await.expect("it ended"));
    let lines: Vec<serde_json::Value> =
        followed.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(
        lines.len() == 2 && lines.iter().all(|line| line["type"] == "tool.created"),
        "{}",
        followed.stdout
    );
}

#[tokio::test]
async fn task_is_printed_as_text_and_json() {
    let desk = Desk::new("task-shown").await;
    let mut later = mock("later", "Later.");
    later["async"] = json!(true);
    assert_eq!(desk.api.post("/api/tools", &later).await.status, 201);
    let body = json!({"arguments": {"n": 1}, "options": {"delay": "10m"}});
    let taken = desk.api.post("/api/tools/later/execute", &body).await;
    let id = taken.data()["taskId"].as_str().expect("a task").to_owned();
    let shown = worked(desk.haft(&["tasks", "show", &id]).await);
    let has = |field: &str, value: &str| {
        shown.stdout.lines().any(|line| line.starts_with(field) && line.trim_end().ends_with(value))
    };
    assert!(
        has("tool name", "later") && has("status", "queued") && has("created at", " UTC"),
        "{}",
        shown.stdout
    );
    assert!(!shown.stdout.starts_with('{'), "{}", shown.stdout);
    assert_eq!(parsed(&desk.haft(&["tasks", "show", &id, "--json"]).await)["id"], json!(id));
}

#[tokio::test]
async fn token_of_the_environment_is_sent_to_the_server_of_the_login() {
    let desk = Desk::new("token-url").await;
    worked(desk.at_home(&["login", &desk.server.url, "--token", crate::TOKEN], "").await);
    let home = desk.home.to_str().expect("a path");
    let created = desk.api.post("/api/tokens", &json!({"name": "reader", "scope": "read"})).await;
    let token = created.data()["token"].as_str().expect("a token").to_owned();
    let with_token = [("XDG_CONFIG_HOME", home), ("HAFT_TOKEN", token.as_str())];
    worked(run(HAFT, &["agents"], &with_token, "").await);
    let opened = worked(run(HAFT, &["open", "--print"], &with_token, "").await);
    assert_eq!(opened.stdout, format!("{}/\n", desk.server.url));
    let wrong = [("XDG_CONFIG_HOME", home), ("HAFT_TOKEN", "wrong")];
    refused(&run(HAFT, &["agents"], &wrong, "").await, 4, "Unauthorized");
    // An unreadable login is reported, although `HAFT_TOKEN` works without it.
    let file = desk.home.join("haft/login.toml");
    let login = std::fs::read_to_string(&file).expect("a login");
    std::fs::write(&file, "url = ").expect("written");
    let damaged = run(HAFT, &["open", "--print"], &[("XDG_CONFIG_HOME", home)], "").await;
    refused(&damaged, 1, "cannot be read; run haft login again");
    let unread = run(HAFT, &["agents"], &with_token, "").await;
    assert!(
        unread.stderr.contains("run haft login again. The command asks http://127.0.0.1:7420."),
        "{}",
        unread.stderr
    );
    let beside = [("XDG_CONFIG_HOME", home), ("HAFT_TOKEN", token.as_str()), ("HAFT_URL", &desk.server.url)];
    worked(run(HAFT, &["agents"], &beside, "").await);
    std::fs::write(&file, login).expect("written");
    // An explicit URL overrides that of the login.
    let elsewhere = run(HAFT, &["agents", "--url", "http://127.0.0.1:1"], &with_token, "").await;
    refused(&elsewhere, 7, "cannot reach a server at http://127.0.0.1:1");
    // `HAFT_ADMIN_TOKEN` is not sent to the server of the login.
    let admin = [("XDG_CONFIG_HOME", home), ("HAFT_ADMIN_TOKEN", crate::TOKEN)];
    assert_ne!(run(HAFT, &["agents"], &admin, "").await.code, 0);
}

#[tokio::test]
async fn preview_warns_about_private_addresses_in_both_languages() {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", "secret-admin-token")]).await;
    let api = Client::new(&server.url, "secret-admin-token");
    let preview = async |api: &Client, url: &str| {
        let body = json!({"type": "http", "config": {"url": url}});
        let reply = api.post("/api/tools/schema-preview", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.data()["warnings"].clone()
    };
    for url in ["http://localhost:3000/a", "http://10.1.2.3/{{id}}", "http://[::1]/", "https://db.internal/"]
    {
        let warnings = preview(&api, url).await;
        let warning = warnings[0].as_str().expect("a warning");
        assert!(warning.contains("HAFT_ALLOW_PRIVATE_NETWORKS"), "{url}: {warning}");
        let chinese = preview(&api.with("accept-language", "zh"), url).await;
        assert!(
            chinese[0].as_str().is_some_and(|text| text.contains("私有地址") && text.contains("HAFT_ALLOW_"))
        );
    }
    for url in ["https://api.example.com/{{id}}", "http://93.184.216.34/"] {
        assert_eq!(preview(&api, url).await, json!([]), "{url}");
    }
}

#[tokio::test]
async fn command_line_errors_exist_in_both_languages() {
    for (arguments, code, en, zh) in [
        (["agents"].as_slice(), 1, "error: there is no server to ask", "error: 没有可询问的服务器"),
        (&["apply", "-f", "/nowhere.json"], 1, "cannot read /nowhere.json: ", "无法读取 /nowhere.json: "),
        (&["call", "calculator", "expression"], 2, "is not an argument; write", "不是参数；请写成"),
        (&["call", "calculator", "--args", "{"], 2, "--args is not JSON: ", "--args 不是 JSON: "),
        (&["tools", "create"], 2, "required arguments were not provided", "缺少必需的参数"),
        (&["agents", "--nope"], 2, "unexpected argument '--nope' found", "未知的参数 '--nope'"),
        (&["frobnicate"], 2, "unrecognized subcommand 'frobnicate'", "未知的命令 'frobnicate'"),
        (
            &["call", "t", "--timeout", "soon"],
            2,
            "write a duration such as 30s",
            "请写时长（例如 30s 或 500ms）",
        ),
        (
            &["tools", "--url", "http://127.0.0.1:1", "--token", "x"],
            7,
            "cannot reach a server at http://127.0.0.1:1: is it running? (",
            "无法连接到 http://127.0.0.1:1 的服务器：它是否在运行？ (",
        ),
        (
            &["tools", "--task-days", "0"],
            1,
            "task_days must be from 1 to 3650, not 0",
            "task_days 必须在 1 到 3650 之间",
        ),
        (
            &["serve", "--max-connections", "0"],
            1,
            "max_connections must be from 1 to 1000000, not 0",
            "max_connections 必须在 1 到 1000000 之间",
        ),
        (
            &["serve", "--idle-timeout", "2h"],
            1,
            "idle_timeout must be from 1s to 3600s, not 7200s",
            "idle_timeout 必须在 1s 到 3600s 之间",
        ),
        (
            &["serve", "--alert-interval", "50ms"],
            1,
            "alert_interval must be from 0.1s to 3600s, not 0.05s",
            "alert_interval 必须在 0.1s 到 3600s 之间",
        ),
    ] {
        for (lang, message) in [("en", en), ("zh", zh)] {
            let ended = run(HAFT, &[arguments, &["--lang", lang]].concat(), &[], "").await;
            assert_eq!(ended.code, code, "{arguments:?}: {}", ended.stderr);
            assert!(ended.stderr.contains(message), "{arguments:?}: {message:?} is not in {}", ended.stderr);
        }
    }
}
