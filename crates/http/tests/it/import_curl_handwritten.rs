//! Imports cURL commands as written by hand, several at once, and with errors.

use haft_http::import::{CurlOptions, curl};
use serde_json::{Value, json};

use crate::import_curl::{NONE, apart, check, file, read, secrets};

#[tokio::test]
async fn handwritten_commands_are_imported() {
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
            (json!({"a": {"type": "number", "default": 1}, "b": {"type": "string", "default": "x y"}}), NONE),
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
            json!({"url": "https://db.example.com/_all_dbs", "method": "GET", "auth": {"type": "basic", "username": "secret://db_example_com_username", "password": "secret://db_example_com_password"}}),
            nothing(),
            vec![("db_example_com_username", Some("admin")), ("db_example_com_password", Some("p@ssword"))],
        ),
        (
            "curl -u :abc123 https://dev.azure.com/_apis/projects",
            "get_apis_projects",
            json!({"url": "https://dev.azure.com/_apis/projects", "method": "GET", "headers": {"Authorization": "Basic secret://dev_azure_com_basic"}}),
            nothing(),
            vec![("dev_azure_com_basic", Some("OmFiYzEyMw=="))],
        ),
        (
            "export API_TOKEN=tok-12345678\ncurl --oauth2-bearer \"$API_TOKEN\" https://api.example.com/items",
            "get_items",
            json!({"url": url, "method": "GET", "auth": {"type": "bearer", "token": "secret://example_com_api_token"}}),
            nothing(),
            vec![("example_com_api_token", Some("tok-12345678"))],
        ),
        (
            "curl -d '{\"user\": {\"email\": \"a@b.example\", \"password\": \"correct-horse\"}, \"note\": \"{{x}}\", \"list\": [\"{{y}}\"]}' https://api.example.com/items",
            "post_items",
            json!({"url": url, "method": "POST", "body": {"user": {"email": "{{user_email}}", "password": "secret://example_com_password"}, "note": "{{x}}", "list": ["{{y}}"]}}),
            (
                json!({"user_email": {"type": "string", "default": "a@b.example"}, "x": {"type": "string"}, "y": {"type": "string"}}),
                &["x", "y"] as &[&str],
            ),
            vec![("example_com_password", Some("correct-horse"))],
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
async fn limits_names_and_several_commands_are_imported() {
    let imported = read(
        "curl --json '{\"a\": {\"b\": {\"c\": {\"d\": 1}}}, \"n\": null}' https://httpbin.org/anything --max-time 2.5 --retry 3 -kso /dev/null",
    );
    let definition = &imported.tools[0].definition;
    assert_eq!((&definition["timeout"], &definition["retryCount"]), (&json!(2500), &json!(3)));
    assert_eq!(definition["config"]["headers"], json!({"Accept": "application/json"}));
    assert_eq!(definition["config"]["body"], json!({"a": {"b": {"c": {"d": 1}}}, "n": null}));
    assert_eq!(definition["description"], "POST httpbin.org/anything");
    assert_eq!(imported.notes.len(), 1);
    assert_eq!(imported.notes[0].operation, "POST /anything");
    assert!(imported.notes[0].reason.to_string().contains("the option -k was ignored"));

    let imported = read(
        "# two of them\ncurl https://a.example.com/users/123 && cd x; curl.exe https://a.example.com/users/ada@b.example",
    );
    let names: Vec<&Value> = imported.tools.iter().map(|tool| &tool.definition["name"]).collect();
    let first = names[0].as_str().expect("a name");
    assert!(first.starts_with("get_users_"), "{first}");
    assert_eq!(names, [&json!(first), &json!(format!("{first}_2"))]);
    assert_eq!(imported.tools[1].path, "/users/{user_id}");
    assert_eq!(imported.skipped.len(), 1);
    assert_eq!(
        (imported.skipped[0].operation.as_str(), imported.skipped[0].reason.to_string().as_str()),
        ("cd", "is not a curl command")
    );

    let (name, description) = (Some("Find it".to_owned()), Some("Finds it.".to_owned()));
    let options = CurlOptions { name, description, ..CurlOptions::default() };
    let imported = curl("curl https://a.example.com", &options).expect("a tool");
    let definition = &imported.tools[0].definition;
    assert_eq!((&definition["name"], &definition["description"]), (&json!("Find_it"), &json!("Finds it.")));
}

#[tokio::test]
async fn unsupported_commands_are_rejected_with_a_reason() {
    for (command, words) in [
        ("curl 'https://x.example/a", "a quote (') is never closed"),
        ("curl \"https://x.example/$(date)\"", "$(…) would be run by a shell"),
        ("curl https://x.example/`date`", "`…` would be run by a shell"),
        ("curl https://x.example/${A:-b}", "${A:-b} would be run by a shell"),
        ("curl https://x.example/a < body.json", "< outside of quotes reads from a file"),
        ("curl https://x.example/a -d @- <<EOF\n{}", "the heredoc <<EOF is not terminated by a line EOF"),
        ("curl -H @headers.txt https://x.example/a", "the option -H reads a file"),
        ("curl -b cookies.txt https://x.example/a", "the option -b reads a file"),
        ("curl -H Authorization https://x.example/a", "written Name: value"),
        ("curl -F file https://x.example/a", "written name=value"),
        ("curl https://x.example/a -d", "the option -d has no value"),
        ("curl --frobnicate https://x.example/a", "--frobnicate is not a known curl option"),
        ("curl --digest -u a:b https://x.example/a", "tools do not support the option --digest"),
        ("curl 'https://x.example/{a,b}'", "the URL contains a list or a range"),
        ("curl 'https://x.example/[1-3]'", "the URL contains a list or a range"),
        ("curl -s", "the command has no URL"),
        ("curl https://a.example https://b.example", "the command has several URLs"),
        ("curl ftp://x.example/f", "begins with ftp://"),
        ("curl https://$HOST/x", "the variable HOST is in the scheme, host or port"),
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
        let reported = violations[0].message.to_string();
        assert!(reported.contains(words), "{command}: {reported}");
    }
    let violations =
        curl("curl https://a.example; curl --foo -d @x https://b.example", &CurlOptions::default());
    let paths: Vec<String> =
        violations.expect_err("wrong").into_iter().map(|violation| violation.path).collect();
    assert_eq!(paths, ["1"], "a body in a file refuses nothing");
}

#[tokio::test]
async fn only_commands_with_a_body_in_a_file_are_skipped() {
    for (command, operation, option) in [
        ("curl -d @body.json https://x.example/a", "POST /a", "-d"),
        ("curl -sd@body.json https://x.example/a", "POST /a", "-d"),
        ("curl -X PATCH --json @- https://x.example/a", "PATCH /a", "--json"),
        ("curl --data-urlencode name@file https://x.example/a", "POST /a", "--data-urlencode"),
        ("curl -T report.pdf https://x.example/a/{id}", "PUT /a/{id}", "-T"),
    ] {
        let imported = read(&format!("{command}; curl https://x.example/b"));
        assert_eq!(imported.tools.len(), 1, "{command}");
        let skipped: Vec<String> = imported
            .skipped
            .iter()
            .map(|skipped| format!("{}: {}", skipped.operation, skipped.reason))
            .collect();
        let says = format!(
            "{operation}: the option {option} reads a file, which is not available here; write its content instead"
        );
        assert_eq!(skipped, [says], "{command}");
    }
}

#[tokio::test]
async fn templates_are_variables_at_any_position() {
    let imported = read(
        "curl 'https://api.example.com/users/{{id}}?page={{ page }}' -H 'X-Tenant: {{tenant}}' \
         -H 'Authorization: Bearer {{token}}' --json '{\"name\": \"{{name}}\", \"count\": {{count}}, \"in\": {\"{\": \"{{{x\"}}'",
    );
    let definition = &imported.tools[0].definition;
    let config = &definition["config"];
    assert_eq!(config["url"], "https://api.example.com/users/{{id}}");
    assert_eq!(config["query"], json!({"page": "{{page}}"}));
    assert_eq!(config["headers"]["X-Tenant"], "{{tenant}}");
    assert_eq!(config["auth"], json!({"type": "bearer", "token": "secret://example_com_token"}));
    assert_eq!(
        (&config["body"]["name"], &config["body"]["count"]),
        (&json!("{{name}}"), &json!("{{count}}"))
    );
    let properties = definition["inputSchema"]["properties"].as_object().expect("properties");
    for name in ["id", "page", "tenant", "name"] {
        assert_eq!(properties[name], json!({"type": "string"}), "{name}");
    }
    assert_eq!(properties["count"], json!({}), "outside of quotes it may be anything");
}

#[tokio::test]
async fn commands_in_documentation_style_are_imported() {
    for (command, url, required) in [
        ("curl https://api.example.com/users/{id}", "/users/{{id}}", vec!["id"]),
        ("curl 'https://api.example.com/users/{{ user-id }}/x'", "/users/{{user_id}}/x", vec!["user_id"]),
        (
            "curl https://api.example.com/users/:id/posts/:post_id",
            "/users/{{id}}/posts/{{post_id}}",
            vec!["id", "post_id"],
        ),
        ("curl https://api.example.com/users/<id>", "/users/{{id}}", vec!["id"]),
        ("curl 'https://api.example.com/users/<user-id>.json'", "/users/{{user_id}}.json", vec!["user_id"]),
        ("curl -g 'https://api.example.com/a/{id}'", "/a/{{id}}", vec!["id"]),
        ("curl https://api.example.com/v1/models/gemini:generate", "/v1/models/gemini:generate", vec![]),
        ("% curl https://api.example.com/a", "/a", vec![]),
        ("ada@host$ curl https://api.example.com/a", "/a", vec![]),
        ("ada@host:~$ curl https://api.example.com/a", "/a", vec![]),
        ("root@host:/srv# sudo curl https://api.example.com/a", "/a", vec![]),
        ("$ sudo curl https://api.example.com/a \\\n> -H 'X-A: 1'", "/a", vec![]),
    ] {
        let imported = read(command);
        assert_eq!(imported.tools.len(), 1, "{command}");
        let definition = &imported.tools[0].definition;
        assert_eq!(definition["config"]["url"], format!("https://api.example.com{url}"), "{command}");
        let empty = json!([]);
        let found = definition["inputSchema"].get("required").unwrap_or(&empty);
        assert_eq!(*found, json!(required), "{command}");
        assert!(imported.skipped.is_empty(), "{command}: {:?}", imported.skipped);
    }
    let imported = read("curl 'https://api.example.com/search?q=<query>&page={page}'");
    let definition = &imported.tools[0].definition;
    assert_eq!(definition["config"]["query"], json!({"q": "{{query}}", "page": "{{page}}"}));
}

#[tokio::test]
async fn heredocs_are_the_body() {
    let url = "https://api.example.com/items";
    let fields = json!({"name": "{{name}}", "count": "{{COUNT}}"});
    for command in [
        "curl -X POST URL -H 'Content-Type: application/json' -d @- <<EOF\n{\"name\": \"Ada\",\n \"count\": $COUNT}\nEOF\n",
        "curl --json @- URL <<-EOF | jq .\n\t{\"name\": \"Ada\", \"count\": ${COUNT}}\n\tEOF\necho done",
        "curl --data-binary @- URL <<< \"{\\\"name\\\": \\\"Ada\\\", \\\"count\\\": $COUNT}\"",
    ] {
        let imported = read(&command.replace("URL", url));
        let definition = &imported.tools[0].definition;
        assert_eq!(definition["config"]["body"], fields, "{command}");
        assert_eq!(definition["inputSchema"]["required"], json!(["COUNT"]), "{command}");
    }
    let imported =
        read(&format!("curl --data-binary @- -H 'Content-Type: text/x' {url} <<'END'\na $B `c`\nEND"));
    let properties = &imported.tools[0].definition["inputSchema"]["properties"];
    assert_eq!(*properties, json!({"body": {"type": "string", "default": "a $B `c`\n"}}));
}

#[tokio::test]
async fn placeholders_for_credentials_are_not_values() {
    for credential in [
        "YOUR_TOKEN",
        "<token>",
        "xxxxxxxxxxxx",
        "...",
        "…",
        "$TOKEN",
        "${TOKEN}",
        "{{token}}",
        "sk-...",
        "API_KEY",
        "changeme",
        "your-api-key-here",
        "sk-ant-REDACTED",
    ] {
        let command = format!("curl https://api.example.com/a -H 'Authorization: Bearer {credential}'");
        let expected: [(&str, Option<&str>); 1] = [("example_com_token", None)];
        assert_eq!(secrets(&read(&command)), expected, "{credential}");
    }
    for (command, expected) in [
        ("curl 'https://api.example.com/a?api_key=YOUR_API_KEY'", vec![("example_com_api_key", None)]),
        (
            "curl -u username:password https://api.example.com/a",
            vec![("example_com_username", None), ("example_com_password", None)],
        ),
        (
            "TOKEN=changeme curl -H \"Authorization: Bearer $TOKEN\" https://api.example.com/a",
            vec![("example_com_token", None)],
        ),
        (
            "curl https://api.example.com/a --json '{\"token\": \"<token>\", \"client_secret\": \"s3cr3t-s3cr3t\"}'",
            vec![("example_com_token", None), ("example_com_client_secret", Some("s3cr3t-s3cr3t"))],
        ),
    ] {
        assert_eq!(secrets(&read(command)), expected, "{command}");
    }
}

#[tokio::test]
async fn imported_definitions_contain_no_credential() {
    for (command, value) in [
        ("curl 'https://api.example.com/a?session_id=0a1b2c3d4e&sid=9z8y7x6w5v'", "0a1b2c3d4e"),
        ("curl 'https://api.example.com/a?session_id=0a1b2c3d4e&sid=9z8y7x6w5v'", "9z8y7x6w5v"),
        ("curl https://api.example.com/a -d 'PHPSESSID=0a1b2c3d4e&q=x'", "0a1b2c3d4e"),
        ("curl https://api.example.com/a --json '{\"sessionId\": \"0a1b2c3d4e\"}'", "0a1b2c3d4e"),
        (
            "curl https://api.example.com/a --json '{\"users\": [{\"password\": \"hunter2secret\"}]}'",
            "hunter2secret",
        ),
        ("curl https://api.example.com/a --json '{\"password\": 8675309867}'", "8675309867"),
        (
            "curl https://api.example.com/a -H 'Content-Type: application/xml' -d '<a><password>hunter2secret</password></a>'",
            "hunter2secret",
        ),
        (
            "curl https://api.example.com/a -H 'Content-Type: text/xml' -d \"<id>$ID</id><password>hunter2secret</password>\"",
            "hunter2secret",
        ),
        (
            "curl https://api.example.com/a --form-string 'doc=<a><api_key>hunter2secret</api_key></a>'",
            "hunter2secret",
        ),
        (
            "API_TOKEN=hunter2secret; curl https://api.example.com/a -H \"X-Other: a $API_TOKEN\"",
            "hunter2secret",
        ),
        (
            "T=ghp_0123456789abcdefABCDEF; curl \"https://api.example.com/a?x=$T\"",
            "ghp_0123456789abcdefABCDEF",
        ),
    ] {
        for tool in read(command).tools {
            let text = Value::Object(tool.definition).to_string();
            assert!(!text.contains(value), "{command}: {text}");
        }
    }
    // A variable at the position of the credential may stay.
    let imported = read(
        "curl https://api.example.com/a -H 'Content-Type: text/xml' -d \"<id>$ID</id><password>$PASSWORD</password>\"",
    );
    let body = &imported.tools[0].definition["config"]["body"];
    assert_eq!(*body, json!("<id>{{ID}}</id><password>secret://example_com_password</password>"));
}

#[tokio::test]
async fn files_can_be_given_as_text_or_in_base64() {
    let imported = read(
        "curl https://api.example.com/a -F 'f=@a.png,dir/b.png;type=image/png' -F 'g=@c.txt;filename=d.txt' -F \"h=@$FILE\"",
    );
    let definition = &imported.tools[0].definition;
    let expected = json!({"f": ["{{f}}", "{{f_2}}"], "g": "{{g}}", "h": "{{h}}"});
    assert_eq!(definition["config"]["body"], expected);
    let properties = &definition["inputSchema"]["properties"];
    assert_eq!(properties["f"], file("a.png", Some("image/png")));
    assert_eq!(properties["f_2"], file("b.png", Some("image/png")));
    assert_eq!(properties["g"], file("d.txt", None));
    assert_eq!(properties["h"]["required"], json!(["filename"]));
    assert_eq!(definition["inputSchema"]["required"], json!(["f", "f_2", "g", "h"]));
}

#[tokio::test]
async fn tools_contain_their_origin() {
    let graphql =
        "curl https://api.example.com/graphql --json '{\"query\": \"query GetUser { user { id } }\"}'";
    for (command, name, operation) in [
        (
            "curl https://api.example.com/users/123?x=1",
            "get_users",
            "GET https://api.example.com/users/{user_id}",
        ),
        ("curl -XPOST api.example.com", "post_example", "POST https://api.example.com/"),
        (graphql, "get_user", "POST https://api.example.com/graphql GetUser"),
    ] {
        let imported = read(command);
        let definition = &imported.tools[0].definition;
        let expected = json!({"from": "curl", "document": "api.example.com", "operation": operation});
        assert_eq!(apart(definition).1, expected, "{command}");
        assert_eq!(definition["name"], name, "{command}");
    }
}

#[tokio::test]
async fn selected_commands_are_imported() {
    let commands = "curl https://a.example.com/users/123; curl -XPOST https://a.example.com/users; \
                    curl https://a.example.com/orders/:id -H 'X-Api-Key: k3y-k3y-k3y'";
    for (only, expected) in [
        ("get_users", vec!["get_users"]),
        ("GET /users/123", vec!["get_users"]),
        ("GET /users/{user_id}", vec!["get_users"]),
        ("post /users", vec!["post_users"]),
        ("GET /orders/:id", vec!["get_orders"]),
        ("GET /orders/{id}", vec!["get_orders"]),
        ("GET /nothing", vec![]),
    ] {
        let options = CurlOptions { only: vec![only.to_owned()], ..CurlOptions::default() };
        let imported = curl(commands, &options).expect("tools");
        let names: Vec<&Value> = imported.tools.iter().map(|tool| &tool.definition["name"]).collect();
        assert_eq!(names, expected, "{only}");
        let missing: Vec<&str> = imported.skipped.iter().map(|skipped| skipped.operation.as_str()).collect();
        let is_missing = expected.is_empty();
        assert_eq!(missing, if is_missing { vec![only] } else { vec![] }, "{only}");
        let is_keyed = expected.contains(&"get_orders");
        assert_eq!(imported.secrets.len(), usize::from(is_keyed), "{only}");
    }
}

#[tokio::test]
async fn unsupported_options_are_reported() {
    let imported =
        read("curl -k -x http://proxy:8080 --cacert ca.pem -H 'Host: other.example' https://a.example.com/x");
    let notes: Vec<String> = imported.notes.iter().map(|note| note.reason.to_string()).collect();
    let expected = [
        "the header Host was ignored: tools take it from the URL",
        "the option -k was ignored: tools cannot configure it",
        "the option -x was ignored: tools cannot configure it",
        "the option --cacert was ignored: tools cannot configure it",
    ];
    assert_eq!(notes, expected);
    assert!(read("curl -H 'Host: a.example.com' https://a.example.com/x").notes.is_empty());
}
