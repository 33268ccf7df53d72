//! Commands against a server: tools, agents, secrets, spaces, tokens, users.

use std::path::{Path, PathBuf};

use haft_testkit::{Client, CommandOutput, HaftProcess, run};
use serde_json::{Value, json};

use crate::HAFT;
use crate::http_tools::start;

/// A server, and a home directory for the login file and other files. Both are removed on drop.
pub(crate) struct Desk {
    pub(crate) server: HaftProcess,
    pub(crate) api: Client,
    pub(crate) home: PathBuf,
}

impl Desk {
    /// `name` makes the home directory unique.
    pub(crate) async fn new(name: &str) -> Self {
        let home = std::env::temp_dir().join(format!("haft-cli-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&home).expect("a directory");
        let (server, api) = start(&[]).await;
        Self { server, api, home }
    }

    /// Runs a command as the admin, with the token in the environment.
    pub(crate) async fn haft(&self, arguments: &[&str]) -> CommandOutput {
        self.haft_as(crate::TOKEN, arguments, "").await
    }

    /// Runs a command with this token and standard input.
    pub(crate) async fn haft_as(&self, token: &str, arguments: &[&str], input: &str) -> CommandOutput {
        run(HAFT, arguments, &[("HAFT_URL", self.server.url.as_str()), ("HAFT_TOKEN", token)], input).await
    }

    /// Runs a command that uses the login file, with no token in the environment.
    pub(crate) async fn at_home(&self, arguments: &[&str], input: &str) -> CommandOutput {
        let home = self.home.to_str().expect("a path");
        run(HAFT, arguments, &[("XDG_CONFIG_HOME", home)], input).await
    }

    pub(crate) fn login_file(&self) -> PathBuf {
        self.home.join("haft").join("login.toml")
    }

    /// Creates a user without rights on the server.
    pub(crate) async fn add_user(&self, name: &str, password: &str) {
        let added = self.api.post("/api/users", &json!({"name": name, "password": password})).await;
        assert_eq!(added.status, 201, "{}", added.body);
    }

    /// Writes a file below the home directory and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.home.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a directory");
        std::fs::write(&path, text).expect("written");
        path_text(&path)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

pub(crate) fn path_text(path: &Path) -> String {
    path.to_str().expect("a path").to_owned()
}

pub(crate) fn parsed(finished: &CommandOutput) -> Value {
    let CommandOutput { stdout, stderr, .. } = finished;
    serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"))
}

/// Asserts that a command succeeded.
#[track_caller]
pub(crate) fn worked(finished: CommandOutput) -> CommandOutput {
    assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
    finished
}

/// Asserts that a command failed with this exit code, and with this message on standard error only.
#[track_caller]
pub(crate) fn refused(finished: &CommandOutput, code: i32, message: &str) {
    assert_eq!(finished.code, code, "{}{}", finished.stdout, finished.stderr);
    assert!(finished.stderr.contains(message), "{message:?} is not in: {}", finished.stderr);
    assert_eq!(finished.stdout, "", "a failed command prints nothing on standard output");
}

/// Returns the definition of a mock tool with a constant result.
pub(crate) fn mock(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "type": "mock", "config": {"answers": [{"data": 1}]}})
}

#[tokio::test]
async fn tools_are_versioned_rolled_back_and_deleted() {
    let desk = Desk::new("tools").await;
    assert_eq!(desk.api.post("/api/tools", &mock("echo", "The first.")).await.status, 201);
    assert_eq!(desk.api.put("/api/tools/echo", &mock("echo", "The second.")).await.status, 200);

    let listed = worked(desk.haft(&["tools", "versions", "echo"]).await);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert!(lines[0].starts_with("2  live  20") && lines[1].starts_with("1  "), "{}", listed.stdout);
    let versions = parsed(&desk.haft(&["tools", "versions", "echo", "--json"]).await);
    assert_eq!((&versions[0]["version"], &versions[1]["version"]), (&json!(2), &json!(1)));

    let back = worked(desk.haft(&["tools", "rollback", "echo", "1"]).await);
    assert_eq!(back.stderr, "restored version 1 of echo as version 3\n");
    assert_eq!(desk.api.get("/api/tools/echo").await.data()["description"], "The first.");
    refused(&desk.haft(&["tools", "rollback", "echo", "99"]).await, 3, "NotFound");
    refused(&desk.haft(&["tools", "rollback", "echo", "one"]).await, 2, "invalid value 'one'");
    refused(&desk.haft(&["tools", "versions", "ecko"]).await, 3, "did you mean echo?");

    let agent = json!({"name": "helper", "systemPrompt": "Help.", "toolIds": ["echo"]});
    assert_eq!(desk.api.post("/api/agents", &agent).await.status, 201);
    refused(&desk.haft(&["tools", "rm", "echo"]).await, 7, "helper");
    let deleted = worked(desk.haft(&["tools", "rm", "echo", "--force"]).await);
    assert_eq!(deleted.stderr, "deleted the tool echo\n");
    refused(&desk.haft(&["tools", "rm", "echo"]).await, 3, "NotFound");
    refused(&desk.haft(&["tools", "rm", "calculator"]).await, 4, "Permission");
    let json = desk.haft(&["tools", "rm", "echo", "--json"]).await;
    assert_eq!((json.code, &parsed(&json)["error"]["kind"]), (3, &json!("NotFound")));
}

#[tokio::test]
async fn agents_are_listed_printed_and_deleted() {
    let desk = Desk::new("agents").await;
    assert_eq!(worked(desk.haft(&["agents"]).await).stdout, "");
    let agent = json!({"name": "guide", "description": "Knows the way.", "systemPrompt": "Be brief.",
        "config": {"model": "small"}, "toolIds": ["calculator"]});
    assert_eq!(desk.api.post("/api/agents", &agent).await.status, 201);

    let listed = worked(desk.haft(&["agents"]).await);
    assert_eq!(listed.stdout, "guide  small  1 tool  Knows the way.\n");
    assert_eq!(parsed(&desk.haft(&["agents", "--json"]).await)[0]["name"], "guide");
    let shown = worked(desk.haft(&["agents", "show", "guide"]).await);
    for part in ["guide  small\nKnows the way.\n", "\nTools\n  calculator  ", "\nSystem prompt\nBe brief.\n"]
    {
        assert!(shown.stdout.contains(part), "{part:?}: {}", shown.stdout);
    }
    assert_eq!(parsed(&desk.haft(&["agents", "show", "guide", "--json"]).await)["systemPrompt"], "Be brief.");

    refused(&desk.haft(&["agents", "show", "guido"]).await, 3, "NotFound");
    assert_eq!(worked(desk.haft(&["agents", "rm", "guide"]).await).stderr, "deleted the agent guide\n");
    refused(&desk.haft(&["agents", "rm", "guide"]).await, 3, "NotFound");
}

#[tokio::test]
async fn secrets_are_set_and_never_printed() {
    const VALUE: &str = "-----BEGIN-----\nc0rrect h0rse\n-----END-----";
    let desk = Desk::new("secrets").await;
    let set =
        worked(desk.haft_as(crate::TOKEN, &["secrets", "set", "weather_key"], &format!("{VALUE}\n")).await);
    assert_eq!((set.stdout.as_str(), set.stderr.as_str()), ("", "set the secret weather_key\n"));
    let own = worked(desk.haft_as(crate::TOKEN, &["secrets", "set", "mine", "--me", "--json"], VALUE).await);
    assert_eq!((&parsed(&own)["name"], &parsed(&own)["owner"]), (&json!("mine"), &json!("me")));

    let listed = worked(desk.haft(&["secrets"]).await);
    assert!(listed.stdout.starts_with("weather_key  of the space  set 20"), "{}", listed.stdout);
    let listed_own = worked(desk.haft(&["secrets", "--me"]).await);
    assert!(listed_own.stdout.starts_with("mine  yours  set 20"), "{}", listed_own.stdout);
    let json = worked(desk.haft(&["secrets", "--json"]).await);
    assert_eq!(parsed(&json)[0]["name"], "weather_key");
    for finished in [&set, &own, &listed, &listed_own, &json] {
        assert!(!format!("{finished:?}").contains("h0rse"), "{finished:?}");
    }

    refused(
        &desk.haft_as(crate::TOKEN, &["secrets", "set", "empty"], "\n").await,
        2,
        "the value of empty is empty",
    );
    let named_badly = desk.haft_as(crate::TOKEN, &["secrets", "set", "no/name"], VALUE).await;
    refused(&named_badly, 2, "");
    assert!(!format!("{named_badly:?}").contains("h0rse"), "{named_badly:?}");
    assert_eq!(
        worked(desk.haft(&["secrets", "rm", "weather_key"]).await).stderr,
        "deleted the secret weather_key\n"
    );
    refused(&desk.haft(&["secrets", "rm", "weather_key"]).await, 3, "NotFound");
    worked(desk.haft(&["secrets", "rm", "mine", "--me"]).await);
}

#[tokio::test]
async fn spaces_are_created_and_their_members_changed() {
    let desk = Desk::new("spaces").await;
    desk.add_user("ada", "a long password").await;
    let created = worked(desk.haft(&["spaces", "create", "research"]).await);
    assert!(created.stderr.starts_with("created the space research, id "), "{}", created.stderr);
    let listed = worked(desk.haft(&["spaces"]).await);
    assert!(
        listed.stdout.lines().any(|line| line.starts_with("research") && line.contains("  admin  ")),
        "{}",
        listed.stdout
    );

    let added = worked(desk.haft(&["spaces", "add", "research", "ada", "editor"]).await);
    assert_eq!(added.stderr, "ada is editor in research\n");
    let again = worked(desk.haft(&["spaces", "add", "research", "ada", "viewer", "--json"]).await);
    assert_eq!(parsed(&again)["role"], "viewer");
    let members = parsed(&desk.haft(&["spaces", "members", "research", "--json"]).await);
    let roles: Vec<&Value> =
        members.as_array().expect("a list").iter().map(|member| &member["role"]).collect();
    assert!(roles.contains(&&json!("admin")) && roles.contains(&&json!("viewer")), "{members}");
    let shown = worked(desk.haft(&["spaces", "members", "research"]).await);
    assert!(shown.stdout.contains("ada") && shown.stdout.contains("  viewer  "), "{}", shown.stdout);

    let removed = worked(desk.haft(&["spaces", "remove", "research", "ada"]).await);
    assert_eq!(removed.stderr, "ada is no longer in research\n");
    refused(&desk.haft(&["spaces", "remove", "research", "ada"]).await, 3, "NotFound");
    refused(
        &desk.haft(&["spaces", "members", "reserch"]).await,
        3,
        "you are not a member of a space reserch; your spaces: ",
    );
    refused(&desk.haft(&["spaces", "add", "research", "nobody", "viewer"]).await, 3, "NotFound");
    refused(
        &desk.haft(&["spaces", "add", "research", "ada", "king"]).await,
        2,
        "possible values: viewer, caller",
    );
}

#[tokio::test]
async fn tokens_are_printed_once_and_limited_by_their_scope() {
    let desk = Desk::new("tokens").await;
    let created = worked(desk.haft(&["tokens", "create", "ci", "--scope", "read"]).await);
    let token = created.stdout.trim().to_owned();
    assert!(token.starts_with("haft_") && created.stdout.lines().count() == 1, "{}", created.stdout);
    assert!(
        created.stderr.contains("it is shown only once") && !created.stderr.contains(&token),
        "{}",
        created.stderr
    );
    worked(desk.haft_as(&token, &["tools"], "").await);
    refused(&desk.haft_as(&token, &["tools", "rm", "calculator"], "").await, 4, "Permission");

    let listed = worked(desk.haft(&["tokens"]).await);
    let line = listed.stdout.lines().find(|line| line.starts_with("ci ")).expect("the token");
    assert!(
        line.contains("  read  ") && line.contains("  never expires  ") && !line.contains(&token),
        "{line}"
    );
    let id = line.rsplit(' ').next().expect("an id");
    assert_eq!(worked(desk.haft(&["tokens", "rm", id]).await).stderr, "revoked the token ci\n");
    refused(&desk.haft_as(&token, &["tools"], "").await, 4, "Unauthorized");
    refused(&desk.haft(&["tokens", "rm", id]).await, 3, "NotFound");

    let ends = ["tokens", "create", "soon", "--scope", "call", "--expires", "2099-01-01T00:00:00Z", "--json"];
    assert_eq!(parsed(&worked(desk.haft(&ends).await))["scope"], "call");
    let never = ["tokens", "create", "x", "--scope", "call", "--expires", "tomorrow"];
    refused(&desk.haft(&never).await, 2, "");
    refused(&desk.haft(&["tokens", "create", "x"]).await, 2, "--scope");
    refused(
        &desk.haft(&["tokens", "create", "x", "--scope", "root"]).await,
        2,
        "possible values: read, call, admin",
    );
    let nowhere = ["tokens", "create", "x", "--scope", "call", "--space", "nowhere"];
    refused(&desk.haft(&nowhere).await, 3, "you are not a member of a space nowhere");
}

#[tokio::test]
async fn users_are_added_by_operators_only() {
    let desk = Desk::new("users").await;
    let added = worked(desk.haft_as(crate::TOKEN, &["users", "add", "ada"], "a long password\n").await);
    assert!(
        added.stderr.starts_with("added the user ada, id ") && !added.stderr.contains("password"),
        "{added:?}"
    );
    worked(desk.haft(&["users", "add", "robot", "--admin"]).await);
    let users = parsed(&desk.haft(&["users", "--json"]).await);
    let is_admin = |name: &str| {
        let mut users = users.as_array().expect("a list").iter();
        users.find(|user| user["name"] == name).map(|user| user["isAdmin"].clone())
    };
    assert_eq!((is_admin("ada"), is_admin("robot")), (Some(json!(false)), Some(json!(true))));
    assert!(worked(desk.haft(&["users"]).await).stdout.contains("ada"));
    refused(&desk.haft(&["users", "add", "ada"]).await, 7, "Conflict");

    worked(desk.at_home(&["login", &desk.server.url, "--name", "ada"], "a long password\n").await);
    refused(&desk.at_home(&["users"], "").await, 4, "Permission");
}

#[tokio::test]
async fn commands_that_need_a_server_fail_without_one() {
    for arguments in [
        ["agents"].as_slice(),
        &["secrets"],
        &["spaces"],
        &["tokens"],
        &["users"],
        &["export"],
        &["tools", "versions", "calculator"],
    ] {
        refused(&run(HAFT, arguments, &[], "").await, 1, "there is no server to ask: run haft login URL");
    }
    for command in
        ["login", "tools", "agents", "secrets", "export", "apply", "spaces", "tokens", "users", "audit"]
    {
        let help = worked(run(HAFT, &[command, "--help"], &[], "").await);
        assert!(help.stdout.contains("Examples:"), "{command} has no examples: {}", help.stdout);
    }
}
