//! cURL commands as people write them, several at once, and what is said where one cannot be a tool.

use haft_http::import::{CurlOptions, curl};
use serde_json::{Value, json};

use crate::import_curl::{NONE, check, read};

#[tokio::test]
async fn commands_as_people_write_them() {
    let nothing = || (json!({}), NONE);
    let url = "https://api.example.com/items";
    for (command, name, config, arguments, expected) in [
        (
            "curl -G https://httpbin.org/get -d q=rust --data-urlencode 'text=a b&c' -d limit=5",
            "get_get",
            json!({"url": "https://httpbin.org/get", "method": "GET", "query": {"q": "{{q}}", "text": "{{text}}", "limit": "{{limit}}"}}),
            (
                json!({"q": {"type": "string", "default": "rust"}, "text": {"type": "string", "default": "a b&c"}, "limit": {"type": "integer", "default": 5}}),
                NONE,
            ),
            vec![],
        ),
        (
            "$ curl -sS -XPOST https://api.example.com/items 2>/dev/null | jq '.[] | .id'",
            "post_items",
            json!({"url": url, "method": "POST", "query": {}}),
            nothing(),
            vec![],
        ),
        (
            "curl -I example.com",
            "head_example",
            json!({"url": "https://example.com", "method": "HEAD"}),
            nothing(),
            vec![],
        ),
        (
            "curl https://ntfy.example.com/topic -d \"Backup successful\"",
            "post_topic",
            json!({"url": "https://ntfy.example.com/topic", "method": "POST", "body": "{{body}}", "bodyType": "text", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}),
            (json!({"body": {"type": "string", "default": "Backup successful"}}), NONE),
            vec![],
        ),
        (
            "curl https://api.example.com/items?a=1&b=x%20y -A my-app/1.0 -e https://ref.example/",
            "get_items",
            json!({"url": url, "method": "GET", "query": {"a": "{{a}}", "b": "{{b}}"}, "headers": {"User-Agent": "my-app/1.0", "Referer": "https://ref.example/"}}),
            (
                json!({"a": {"type": "integer", "default": 1}, "b": {"type": "string", "default": "x y"}}),
                NONE,
            ),
            vec![],
        ),
        (
            "curl -X DELETE \"https://api.example.com/items/${ITEM_ID}\"\n  -H \"X-Trace: ${TRACE}\"",
            "delete_items",
            json!({"url": "https://api.example.com/items/{{ITEM_ID}}", "method": "DELETE", "headers": {"X-Trace": "{{TRACE}}"}}),
            (
                json!({"ITEM_ID": {"type": "string"}, "TRACE": {"type": "string"}}),
                &["ITEM_ID", "TRACE"] as &[&str],
            ),
            vec![],
        ),
        (
            "curl https://admin:p%40ssword@db.example.com/_all_dbs",
            "get_all_dbs",
            json!({"url": "https://db.example.com/_all_dbs", "method": "GET", "auth": {"type": "basic", "username": "secret://example_username", "password": "secret://example_password"}}),
            nothing(),
            vec![("example_username", Some("admin")), ("example_password", Some("p@ssword"))],
        ),
        (
            "curl -u :abc123 https://dev.azure.com/_apis/projects",
            "get_apis_projects",
            json!({"url": "https://dev.azure.com/_apis/projects", "method": "GET", "headers": {"Authorization": "Basic secret://azure_basic"}}),
            nothing(),
            vec![("azure_basic", Some("OmFiYzEyMw=="))],
        ),
        (
            "export API_TOKEN=tok-12345678\ncurl --oauth2-bearer \"$API_TOKEN\" https://api.example.com/items",
            "get_items",
            json!({"url": url, "method": "GET", "auth": {"type": "bearer", "token": "secret://api_token"}}),
            nothing(),
            vec![("api_token", Some("tok-12345678"))],
        ),
        (
            "curl -d '{\"user\": {\"email\": \"a@b.example\", \"password\": \"correct-horse\"}, \"note\": \"{{x}}\", \"list\": [\"{{y}}\"]}' https://api.example.com/items",
            "post_items",
            json!({"url": url, "method": "POST", "body": {"user": {"email": "{{user_email}}", "password": "secret://example_password"}, "note": "{{note}}", "list": "{{list}}"}}),
            (
                json!({"user_email": {"type": "string", "default": "a@b.example"}, "note": {"type": "string", "default": "{{x}}"}, "list": {"type": "array", "default": ["{{y}}"]}}),
                NONE,
            ),
            vec![("example_password", Some("correct-horse"))],
        ),
        (
            "curl -d \"{\\\"count\\\": $COUNT, \\\"city\\\": \\\"$CITY\\\"}\" https://api.example.com/items",
            "post_items",
            json!({"url": url, "method": "POST", "body": {"count": "{{COUNT}}", "city": "{{CITY}}"}}),
            (json!({"COUNT": {}, "CITY": {"type": "string"}}), &["COUNT", "CITY"] as &[&str]),
            vec![],
        ),
    ] {
        check(command, name, config, arguments, &expected);
    }
}

#[tokio::test]
async fn limits_names_and_several_commands() {
    let imported = read(
        "curl --json '{\"a\": {\"b\": {\"c\": {\"d\": 1}}}, \"n\": null}' https://httpbin.org/anything --max-time 2.5 --retry 3 -kso /dev/null",
    );
    let definition = &imported.tools[0].definition;
    assert_eq!((&definition["timeout"], &definition["retryCount"]), (&json!(2500), &json!(3)));
    assert_eq!(definition["config"]["headers"], json!({"Accept": "application/json"}));
    assert_eq!(definition["config"]["body"], json!({"a": {"b": {"c": {"d": 1}}}, "n": null}));
    assert_eq!(definition["description"], "POST httpbin.org/anything");

    let imported = read(
        "# two of them\ncurl https://a.example.com/users/123 && cd x; curl.exe https://a.example.com/users/ada@b.example",
    );
    let names: Vec<&Value> = imported.tools.iter().map(|tool| &tool.definition["name"]).collect();
    assert_eq!((names.len(), names[0]), (2, &json!("get_users")));
    assert_ne!(names[0], names[1]);
    assert_eq!(imported.tools[1].path, "/users/{user_id}");
    assert_eq!(imported.skipped.len(), 1);
    assert_eq!(
        (imported.skipped[0].operation.as_str(), imported.skipped[0].reason.to_string().as_str()),
        ("cd", "is not a curl command")
    );

    let options = CurlOptions { name: Some("Find it".to_owned()), description: Some("Finds it.".to_owned()) };
    let imported = curl("curl https://a.example.com", &options).expect("a tool");
    let definition = &imported.tools[0].definition;
    assert_eq!((&definition["name"], &definition["description"]), (&json!("Find_it"), &json!("Finds it.")));
}

#[tokio::test]
async fn what_cannot_be_a_tool_is_refused_in_words() {
    for (command, words) in [
        ("curl 'https://x.example/a", "a quote (') is never closed"),
        ("curl \"https://x.example/$(date)\"", "$(…) would be run by a shell"),
        ("curl https://x.example/`date`", "`…` would be run by a shell"),
        ("curl https://x.example/${A:-b}", "${A:-b} would be run by a shell"),
        ("curl https://x.example/<id>", "< outside of quotes reads from a file"),
        ("curl -d @body.json https://x.example/a", "the option -d reads from a file"),
        ("curl -sd@body.json https://x.example/a", "the option -d reads from a file"),
        (
            "curl --data-urlencode name@file https://x.example/a",
            "the option --data-urlencode reads from a file",
        ),
        ("curl -H @headers.txt https://x.example/a", "the option -H reads from a file"),
        ("curl -b cookies.txt https://x.example/a", "the option -b reads from a file"),
        ("curl -H Authorization https://x.example/a", "written Name: value"),
        ("curl -F file https://x.example/a", "written name=value"),
        ("curl https://x.example/a -d", "the option -d has no value behind it"),
        ("curl --frobnicate https://x.example/a", "--frobnicate is not an option of curl"),
        ("curl --digest -u a:b https://x.example/a", "a tool cannot do what the option --digest says"),
        ("curl 'https://x.example/{a,b}'", "the URL holds braces or a range"),
        ("curl 'https://x.example/[1-3]'", "the URL holds braces or a range"),
        ("curl -s", "the command names no URL"),
        ("curl https://a.example https://b.example", "the command names several URLs"),
        ("curl ftp://x.example/f", "begins with ftp://"),
        ("curl https://$HOST/x", "the variable HOST stands in the scheme, host or port"),
        ("curl -X OPTIONS https://x.example/a", "OPTIONS is not a method that tools can use"),
        ("curl -I -d a=b https://x.example/a", "a HEAD request cannot carry a body"),
        ("curl -H 'A b: c' https://x.example/a", "the header A b cannot be sent"),
        ("wget https://x.example/a", "there is no curl command here"),
        ("", "there is no curl command here"),
        ("Invoke-WebRequest -Uri https://x.example/a", "written for PowerShell"),
    ] {
        let violations = curl(command, &CurlOptions::default()).expect_err(command);
        assert_eq!(violations.len(), 1, "{command}: {violations:?}");
        assert_eq!(violations[0].path, "(root)", "{command}");
        let told = violations[0].message.to_string();
        assert!(told.contains(words), "{command}: {told}");
    }
    let violations =
        curl("curl https://a.example; curl --foo -d @x https://b.example", &CurlOptions::default());
    let paths: Vec<String> =
        violations.expect_err("wrong").into_iter().map(|violation| violation.path).collect();
    assert_eq!(paths, ["1", "1"]);
}
