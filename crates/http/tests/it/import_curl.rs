//! Imports cURL commands as copied by browsers, printed in documentation and written by hand.

use haft_http::import::{CurlOptions, Imported, curl};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::{engine, wrong};

/// The secrets of an import, with their values if known.
pub(crate) fn secrets(imported: &Imported) -> Vec<(&str, Option<&str>)> {
    imported
        .secrets
        .iter()
        .map(|found| (found.name.as_str(), found.value.as_ref().map(|value| value.expose_secret())))
        .collect()
}

/// Every tool is valid for the engine, and none contains a credential.
#[track_caller]
pub(crate) fn assert_accepted(imported: &Imported) {
    let tools = engine(&[]);
    for tool in &imported.tools {
        let definition = Value::Object(tool.definition.clone());
        let text = definition.to_string();
        let reported = wrong(&tools, definition);
        assert!(reported.is_empty(), "{text}: {reported:?}");
        for (name, value) in secrets(imported) {
            let is_held = value.is_some_and(|value| value.len() >= 8 && text.contains(value));
            assert!(!is_held, "the value of {name} is in {text}");
        }
    }
}

#[track_caller]
pub(crate) fn read(command: &str) -> Imported {
    match curl(command, &CurlOptions::default()) {
        Ok(imported) => {
            assert_accepted(&imported);
            imported
        }
        Err(violations) => panic!("{command}: {violations:?}"),
    }
}

/// A config without its origin, and the origin.
pub(crate) fn apart(definition: &serde_json::Map<String, Value>) -> (Value, Value) {
    let mut config = definition["config"].clone();
    let origin = config.as_object_mut().and_then(|config| config.shift_remove("imported"));
    (config, origin.unwrap_or_default())
}

/// A file that a call must supply.
pub(crate) fn file(filename: &str, media: Option<&str>) -> Value {
    let media = media.map_or(json!({"type": "string"}), |media| json!({"type": "string", "default": media}));
    json!({
        "type": "object", "description": "A file, with its content as text or in base64.",
        "properties": {
            "filename": {"type": "string", "default": filename}, "contentType": media,
            "content": {"type": "string", "description": "The content, as text."},
            "base64": {"type": "string", "description": "The content in base64, instead of content."},
        },
    })
}

/// Checks the import of a command: name, config, properties of the arguments, required ones, secrets.
#[track_caller]
pub(crate) fn check(
    command: &str,
    name: &str,
    config: Value,
    (properties, required): (Value, &[&str]),
    expected: &[(&str, Option<&str>)],
) {
    let imported = read(command);
    assert_eq!(imported.tools.len(), 1, "{command}");
    let definition = &imported.tools[0].definition;
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    assert_eq!(definition["name"], name, "{command}");
    assert_eq!(definition["type"], "http", "{command}");
    let (found, origin) = apart(definition);
    assert_eq!(found, config, "{command}");
    assert_eq!(origin["from"], "curl", "{command}");
    assert_eq!(definition["inputSchema"], schema, "{command}");
    assert_eq!(secrets(&imported), expected, "{command}");
}

pub(crate) const NONE: &[&str] = &[];

#[tokio::test]
async fn commands_of_api_documentation() {
    check(
        r#"curl https://api.openai.com/v1/chat/completions \
  -H "Content-Type: application/json" \
  -H "Authorization: Bearer $OPENAI_API_KEY" \
  -d '{
    "model": "gpt-4o",
    "messages": [{"role": "user", "content": "Hello!"}],
    "temperature": 0.7
  }'"#,
        "post_chat_completions",
        json!({
            "url": "https://api.openai.com/v1/chat/completions", "method": "POST",
            "body": {"model": "{{model}}", "messages": "{{messages}}", "temperature": "{{temperature}}"},
            "auth": {"type": "bearer", "token": "secret://openai_com_api_key"},
        }),
        (
            json!({"model": {"type": "string", "default": "gpt-4o"}, "messages": {"type": "array", "items": {"type": "object", "properties": {"role": {"type": "string"}, "content": {"type": "string"}}},
            "default": [{"role": "user", "content": "Hello!"}]},
            "temperature": {"type": "number", "default": 0.7}}),
            NONE,
        ),
        &[("openai_com_api_key", None)],
    );
    check(
        r#"curl https://api.anthropic.com/v1/messages --header "x-api-key: sk-ant-0123456789abcdef" \
     --header "anthropic-version: 2023-06-01" --header "content-type: application/json" \
     --data '{"model": "claude-sonnet", "max_tokens": 1024, "messages": [{"role": "user", "content": "Hi"}]}'"#,
        "post_messages",
        json!({
            "url": "https://api.anthropic.com/v1/messages", "method": "POST",
            "headers": {"x-api-key": "secret://anthropic_com_api_key", "anthropic-version": "2023-06-01"},
            "body": {"model": "{{model}}", "max_tokens": "{{max_tokens}}", "messages": "{{messages}}"},
        }),
        (
            json!({"model": {"type": "string", "default": "claude-sonnet"}, "max_tokens": {"type": "integer", "default": 1024},
            "messages": {"type": "array", "items": {"type": "object", "properties": {"role": {"type": "string"}, "content": {"type": "string"}}},
            "default": [{"role": "user", "content": "Hi"}]}}),
            NONE,
        ),
        &[("anthropic_com_api_key", Some("sk-ant-0123456789abcdef"))],
    );
    check(
        r#"curl https://api.stripe.com/v1/customers -u "sk_test_4eC39HqLyjWDarjtT1zdp7dc:" \
  -d name="Jenny Rosen" --data-urlencode "email=jenny@example.com" -d "metadata[order_id]"=6735"#,
        "post_customers",
        json!({
            "url": "https://api.stripe.com/v1/customers", "method": "POST", "bodyType": "form",
            "body": {"name": "{{name}}", "email": "{{email}}", "metadata[order_id]": "{{metadata_order_id}}"},
            "auth": {"type": "basic", "username": "secret://stripe_com_api_key"},
        }),
        (
            json!({"name": {"type": "string", "default": "Jenny Rosen"}, "email": {"type": "string", "default": "jenny@example.com"},
            "metadata_order_id": {"type": "integer", "default": 6735}}),
            NONE,
        ),
        &[("stripe_com_api_key", Some("sk_test_4eC39HqLyjWDarjtT1zdp7dc"))],
    );
    check(
        r#"curl -L -X POST -H "Accept: application/vnd.github+json" -H "Authorization: token ghp_0123456789abcdefABCDEF" \
  -H "X-GitHub-Api-Version: 2022-11-28" https://api.github.com/repos/octocat/Hello-World/issues \
  -d '{"title":"Found a bug","labels":["bug"],"milestone":1}'"#,
        "post_hello_world_issues",
        json!({
            "url": "https://api.github.com/repos/octocat/Hello-World/issues", "method": "POST",
            "headers": {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "Authorization": "token secret://github_com_token"},
            "body": {"title": "{{title}}", "labels": "{{labels}}", "milestone": "{{milestone}}"},
        }),
        (
            json!({"title": {"type": "string", "default": "Found a bug"}, "milestone": {"type": "number", "default": 1},
            "labels": {"type": "array", "items": {"type": "string"}, "default": ["bug"]}}),
            NONE,
        ),
        &[("github_com_token", Some("ghp_0123456789abcdefABCDEF"))],
    );
    check(
        r#"curl -X POST -H 'Authorization: Bearer xoxb-not-a-real-token' -H 'Content-type: application/json; charset=utf-8' \
--data '{"channel":"C061EG9SL","text":"Hi & bye"}' https://slack.com/api/chat.postMessage"#,
        "post_chat_post_message",
        json!({
            "url": "https://slack.com/api/chat.postMessage", "method": "POST",
            "body": {"channel": "{{channel}}", "text": "{{text}}"},
            "auth": {"type": "bearer", "token": "secret://slack_com_token"},
        }),
        (
            json!({"channel": {"type": "string", "default": "C061EG9SL"}, "text": {"type": "string", "default": "Hi & bye"}}),
            NONE,
        ),
        &[("slack_com_token", Some("xoxb-not-a-real-token"))],
    );
    check(
        r#"curl -X POST "https://api.twilio.com/2010-04-01/Accounts/$TWILIO_ACCOUNT_SID/Messages.json" \
--data-urlencode "Body=Hi there" --data-urlencode "From=+15017122661" -u $TWILIO_ACCOUNT_SID:$TWILIO_AUTH_TOKEN"#,
        "post_accounts_messages",
        json!({
            "url": "https://api.twilio.com/2010-04-01/Accounts/{{TWILIO_ACCOUNT_SID}}/Messages.json", "method": "POST",
            "body": {"Body": "{{Body}}", "From": "{{From}}"}, "bodyType": "form",
            "auth": {"type": "basic", "username": "secret://twilio_com_account_sid", "password": "secret://twilio_com_auth_token"},
        }),
        (
            json!({"TWILIO_ACCOUNT_SID": {"type": "string"}, "Body": {"type": "string", "default": "Hi there"},
            "From": {"type": "string", "default": "+15017122661"}}),
            &["TWILIO_ACCOUNT_SID"],
        ),
        &[("twilio_com_account_sid", None), ("twilio_com_auth_token", None)],
    );
    check(
        r#"curl "https://api.cloudflare.com/client/v4/zones/023e105f4ecef8ad9ca31a8372d0c353/dns_records?type=A&per_page=20" \
     -H "X-Auth-Email: user@example.com" -H "X-Auth-Key: 0123456789abcdef0123456789abcdef01234""#,
        "get_zones_dns_records",
        json!({
            "url": "https://api.cloudflare.com/client/v4/zones/{{zone_id}}/dns_records", "method": "GET",
            "headers": {"X-Auth-Email": "user@example.com", "X-Auth-Key": "secret://cloudflare_com_auth_key"},
            "query": {"type": "{{type}}", "per_page": "{{per_page}}"},
        }),
        (
            json!({"zone_id": {"type": "string", "examples": ["023e105f4ecef8ad9ca31a8372d0c353"]},
            "type": {"type": "string", "default": "A"}, "per_page": {"type": "integer", "default": 20}}),
            &["zone_id"],
        ),
        &[("cloudflare_com_auth_key", Some("0123456789abcdef0123456789abcdef01234"))],
    );
    check(
        "curl -X GET \"localhost:9200/my-index-000001/_search?pretty\" -H 'Content-Type: application/json' -d'\n\
         { \"query\": { \"match\": { \"message\": \"hello\" } }, \"size\": 10 }\n'\n",
        "get_my_index_000001_search",
        json!({
            "url": "http://localhost:9200/my-index-000001/_search?pretty", "method": "GET",
            "body": {"query": {"match": {"message": "{{query_match_message}}"}}, "size": "{{size}}"},
        }),
        (
            json!({"query_match_message": {"type": "string", "default": "hello"}, "size": {"type": "integer", "default": 10}}),
            NONE,
        ),
        &[],
    );
    check(
        r#"curl "https://api.openweathermap.org/data/2.5/weather?q=London&appid=0123456789abcdef0123456789abcdef""#,
        "get_data_weather",
        json!({
            "url": "https://api.openweathermap.org/data/2.5/weather", "method": "GET",
            "query": {"q": "{{q}}", "appid": "secret://openweathermap_org_api_key"},
        }),
        (json!({"q": {"type": "string", "default": "London"}}), NONE),
        &[("openweathermap_org_api_key", Some("0123456789abcdef0123456789abcdef"))],
    );
    check(
        r#"curl https://api.openai.com/v1/files -H "Authorization: Bearer sk-proj-abcdefghijklmnop" \
  -F "purpose=fine-tune" -F "file=@data/mydata.jsonl;type=application/jsonl""#,
        "post_files",
        json!({
            "url": "https://api.openai.com/v1/files", "method": "POST", "bodyType": "multipart",
            "body": {"purpose": "{{purpose}}", "file": "{{file}}"},
            "auth": {"type": "bearer", "token": "secret://openai_com_token"},
        }),
        (
            json!({"purpose": {"type": "string", "default": "fine-tune"}, "file": file("mydata.jsonl", Some("application/jsonl"))}),
            &["file"],
        ),
        &[("openai_com_token", Some("sk-proj-abcdefghijklmnop"))],
    );
}

#[tokio::test]
async fn a_short_id_in_the_path_is_a_default_for_reads_and_an_example_for_changes() {
    let url = "https://api.example.com/users/{{user_id}}";
    check(
        "curl https://api.example.com/users/42",
        "get_users",
        json!({"url": url, "method": "GET"}),
        (json!({"user_id": {"type": "integer", "default": 42}}), NONE),
        &[],
    );
    check(
        "curl -X POST https://api.example.com/users/42",
        "post_users",
        json!({"url": url, "method": "POST", "query": {}}),
        (json!({"user_id": {"type": "integer", "examples": [42]}}), &["user_id"]),
        &[],
    );
}

#[tokio::test]
async fn commands_copied_from_browsers_are_imported() {
    check(
        r#"curl 'https://app.example.com/api/v2/users/48213/orders?status=open&limit=50' \
  -H 'accept: application/json, text/plain, */*' \
  -b 'session=0a1b2c3d4e5f; theme=dark' \
  -H 'priority: u=1, i' \
  -H 'referer: https://app.example.com/' \
  -H 'sec-ch-ua: "Chromium";v="130", "Not?A_Brand";v="99"' \
  -H 'user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36' \
  -H 'x-csrf-token: 9f8e7d6c5b4a' --compressed"#,
        "get_users_orders",
        json!({
            "url": "https://app.example.com/api/v2/users/{{user_id}}/orders", "method": "GET",
            "headers": {"accept": "application/json, text/plain, */*", "Cookie": "secret://app_example_com_cookie", "x-csrf-token": "secret://app_example_com_csrf_token"},
            "query": {"status": "{{status}}", "limit": "{{limit}}"},
        }),
        (
            json!({"user_id": {"type": "integer", "default": 48213}, "status": {"type": "string", "default": "open"},
            "limit": {"type": "integer", "default": 50}}),
            NONE,
        ),
        &[
            ("app_example_com_cookie", Some("session=0a1b2c3d4e5f; theme=dark")),
            ("app_example_com_csrf_token", Some("9f8e7d6c5b4a")),
        ],
    );
    check(
        r#"curl 'https://app.example.com/api/comments' -H 'content-type: application/json' \
  --data-raw $'{"text":"It\'s \u00e9t\xc3\xa9 \ud83d\ude00\\n","rating":5}'"#,
        "post_comments",
        json!({
            "url": "https://app.example.com/api/comments", "method": "POST",
            "body": {"text": "{{text}}", "rating": "{{rating}}"},
        }),
        (
            json!({"text": {"type": "string", "default": "It's été 😀\n"}, "rating": {"type": "number", "default": 5}}),
            NONE,
        ),
        &[],
    );
    check(
        "curl ^\"https://app.example.com/api/search?q=a^%^20b^&page=2^\" ^\r\n  -H ^\"accept: */*^\" ^\r\n  \
         -H ^\"authorization: Bearer eyJ0eXAiOiJKV1QifQ.e30.c2ln^\" ^\r\n  \
         -H ^\"sec-ch-ua: ^\\^\"Chromium^\\^\";v=^\\^\"130^\\^\"^\" ^\r\n  \
         --data-raw ^\"^{^\\^\"name^\\^\":^\\^\"Ada ^& co^\\^\"^}^\"\r\n",
        "post_search",
        json!({
            "url": "https://app.example.com/api/search", "method": "POST", "headers": {"accept": "*/*"},
            "query": {"q": "{{q}}", "page": "{{page}}"}, "body": {"name": "{{name}}"},
            "auth": {"type": "bearer", "token": "secret://app_example_com_token"},
        }),
        (
            json!({"q": {"type": "string", "default": "a b"}, "page": {"type": "integer", "default": 2},
            "name": {"type": "string", "default": "Ada & co"}}),
            NONE,
        ),
        &[("app_example_com_token", Some("eyJ0eXAiOiJKV1QifQ.e30.c2ln"))],
    );
    check(
        r#"curl 'https://shop.example.org/cart' --compressed -X PUT -H 'User-Agent: Mozilla/5.0 (rv:130.0) Gecko/20100101' \
-H 'Accept: application/json' -H 'Accept-Encoding: gzip, deflate, br' -H 'Content-Type: application/x-www-form-urlencoded' \
-H 'Origin: https://shop.example.org' -H 'Connection: keep-alive' -H 'Cookie: sid=1a2b3c4d5e; lang=en' -H 'TE: trailers' \
--data-raw 'sku=AB-1&qty=2&gift=true&tag=a&tag=b'"#,
        "put_cart",
        json!({
            "url": "https://shop.example.org/cart", "method": "PUT", "bodyType": "form",
            "headers": {"Accept": "application/json", "Cookie": "secret://shop_example_org_cookie"},
            "body": {"sku": "{{sku}}", "qty": "{{qty}}", "gift": "{{gift}}", "tag": "{{tag}}"},
        }),
        (
            json!({"sku": {"type": "string", "default": "AB-1"}, "qty": {"type": "integer", "default": 2},
            "gift": {"type": "boolean", "default": true},
            "tag": {"type": "array", "items": {"type": "string"}, "default": ["a", "b"]}}),
            NONE,
        ),
        &[("shop_example_org_cookie", Some("sid=1a2b3c4d5e; lang=en"))],
    );
}

#[test]
fn the_number_of_commands_is_limited() {
    let imported = curl(&"curl a.b\n".repeat(20_000), &CurlOptions::default()).expect("tools");
    assert_eq!(imported.tools.len(), 2_000);
    let names: std::collections::HashSet<&str> =
        imported.tools.iter().filter_map(|tool| tool.definition["name"].as_str()).collect();
    assert_eq!(names.len(), 2_000);
    assert!(names.iter().all(|name| name.len() <= 64));
    let reported: Vec<String> = imported.skipped.iter().map(|skipped| skipped.reason.to_string()).collect();
    assert_eq!(reported, ["18000 more requests: one import makes at most 2000 tools"]);

    let commands: String =
        (0..2_000).map(|number| format!("curl -u ada:p4ssw0rd-{number} https://a.example/x\n")).collect();
    let imported = curl(&commands, &CurlOptions::default()).expect("tools");
    assert_eq!(imported.tools.len(), 2_000);
    assert_eq!(imported.secrets.len(), 2_001);
    let assigned: String =
        (0..2_000).map(|number| format!("A{number}=x curl https://a.example/$A{number}\n")).collect();
    assert_eq!(curl(&assigned, &CurlOptions::default()).expect("tools").tools.len(), 2_000);

    let others = curl(&format!("{}curl a.b", "wget x\n".repeat(19_999)), &CurlOptions::default());
    let skipped = others.expect("a tool").skipped;
    assert_eq!(skipped.len(), 1_001);
    assert_eq!(skipped[1_000].reason.to_string(), "18999 more were skipped");
    let wrong = curl(&"curl --foo a.b\n".repeat(20_000), &CurlOptions::default()).expect_err("options");
    assert_eq!(wrong.len(), 101);
    assert!(wrong[100].message.to_string().contains("and 19900 more"), "{}", wrong[100].message);
}

#[tokio::test]
async fn long_lines_are_imported_or_rejected_with_a_reason() {
    let many = |text: &str| text.repeat((1 << 20) / text.len());
    for (command, words) in [
        (format!("curl https://a.example/{}", many("x")), "its URL has"),
        (format!("curl 'https://a.example/{}'", many("<a")), "its URL has"),
        (format!("curl 'https://a.example/{}'", many("[a")), "its URL has"),
        (format!("curl 'https://a.example/{}'", many("{")), "the URL contains a list or a range"),
        (
            format!(
                "curl 'https://a.example/?{}'",
                (0..100_000).map(|n| format!("a{n}=1&")).collect::<String>()
            ),
            "its values cannot be arguments",
        ),
        (
            format!("curl a.b {}", (0..20_000).map(|n| format!("-H 'X-{n}: 1' ")).collect::<String>()),
            "it has 20000 headers",
        ),
        (format!("curl a.b -d '{}", many("x")), "a quote (') is never closed"),
        (format!("curl a.b -d \"{}", many("\\")), "a quote (\") is never closed"),
        (format!("curl a.b -d @- <<EOF\n{}", many("x\n")), "is not terminated by a line EOF"),
        (many("\\ "), "there is no curl command here"),
        (many("<"), "< outside of quotes reads from a file"),
    ] {
        let shown: String = command.chars().take(40).collect();
        let violations = curl(&command, &CurlOptions::default()).expect_err(&shown);
        let reported = violations[0].message.to_string();
        assert!(reported.contains(words), "{shown}: {}", reported.chars().take(200).collect::<String>());
    }
    let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for body in [many("x"), many("{\"a\":"), nested, many("password ")] {
        let imported = read(&format!("curl a.b -H 'Content-Type: application/json' -d '{body}'"));
        let property = &imported.tools[0].definition["inputSchema"]["properties"]["body"];
        assert_eq!(*property, json!({"type": "string"}));
    }
    let list = read(&format!("curl a.b --json '{{\"list\": [{}1]}}'", many("1,")));
    let property = &list.tools[0].definition["inputSchema"]["properties"]["list"];
    assert_eq!(*property, json!({"type": "array"}));
}
