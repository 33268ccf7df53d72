//! A server with the space under test, members of every role, and outsiders.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_testkit::{Client, HaftProcess, TestResponse, eventually};
use serde_json::{Value, json};

use super::table::{Case, Needs, Rights};
use crate::agents::make;
use crate::artifacts::upload;
use crate::cli_over_http::mock;
use crate::http_tools::start;

/// Part of every name in the space, so that a trace of it is found.
pub(super) const MARK: &str = "zeppelin";
pub(super) const BYSTANDER: &str = "zeppelin_bystander";
pub(super) const PASSWORD: &str = "correct horse battery";

/// An id and a name that no resource has.
const MISSING_ID: &str = "0190b5a0-0000-7000-8000-000000000000";
const MISSING_NAME: &str = "zebra";

/// Members of the space besides its admin. The steward is an operator, which gives no role in the space.
const MEMBERS: [(&str, &str); 6] = [
    ("viewer", "viewer"),
    ("caller", "caller"),
    ("editor", "editor"),
    ("steward", "viewer"),
    ("bystander", "viewer"),
    ("filer", "caller"),
];

/// Members whose resources are requested by the others. They send no requests themselves.
const QUIET: [&str; 2] = ["bystander", "filer"];

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Returns an unused name.
pub(super) fn new_name() -> String {
    format!("new_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// One resource of each sort, as paths name them.
#[derive(Debug, Clone)]
pub(super) struct Resources {
    pub(super) tool: String,
    pub(super) agent: String,
    pub(super) provider: String,
    pub(super) secret: String,
    pub(super) token: String,
    pub(super) space: String,
    pub(super) user: String,
    /// A logged call.
    pub(super) call: String,
    pub(super) alert: String,
    /// A file of the filer.
    pub(super) artifact: String,
    /// A call that waits for an approval.
    pub(super) task: String,
    /// A conversation of the filer.
    pub(super) conversation: String,
}

impl Resources {
    /// Resources that do not exist.
    fn missing(named: &str) -> Self {
        let name = || named.to_owned();
        let secret = MISSING_NAME.to_owned();
        Self {
            tool: name(),
            agent: name(),
            provider: name(),
            secret,
            token: name(),
            space: name(),
            user: name(),
            call: name(),
            alert: name(),
            artifact: name(),
            task: name(),
            conversation: name(),
        }
    }

    pub(super) fn missing_by_id() -> Self {
        Self::missing(MISSING_ID)
    }

    pub(super) fn missing_by_name() -> Self {
        Self::missing(MISSING_NAME)
    }

    pub(super) fn all(&self) -> [&str; 12] {
        [
            &self.tool,
            &self.agent,
            &self.provider,
            &self.secret,
            &self.token,
            &self.space,
            &self.user,
            &self.call,
            &self.alert,
            &self.artifact,
            &self.task,
            &self.conversation,
        ]
    }

    /// Returns a path of the document with its `{…}` filled in.
    pub(super) fn fill(&self, path: &str) -> String {
        let id: &str = match kind(path) {
            "tools" => &self.tool,
            "agents" | "models" => &self.agent,
            "providers" => &self.provider,
            "tokens" => &self.token,
            "spaces" | "invitations" => &self.space,
            "users" => &self.user,
            "tool-calls" => &self.call,
            "alerts" => &self.alert,
            "artifacts" => &self.artifact,
            "tasks" | "approvals" | "callbacks" => &self.task,
            "conversations" => &self.conversation,
            _ => MISSING_ID,
        };
        let filled: [(&str, &str); 5] = [
            ("{id}", id),
            ("{toolId}", &self.tool),
            ("{user}", &self.user),
            ("{name}", &self.secret),
            ("{version}", "1"),
        ];
        let path = filled
            .into_iter()
            .fold(path.to_owned(), |path, (placeholder, value)| path.replace(placeholder, value));
        assert!(!path.contains('{'), "{path} has an unknown placeholder");
        path
    }
}

/// Returns the segment of a path that names the sort of resource.
fn kind(path: &str) -> &str {
    path.split('/').nth(2).unwrap_or_default()
}

/// A user with a session.
struct Person {
    id: String,
    session: Client,
}

impl Person {
    async fn enter(operator: &Client, anyone: &Client, name: &str, is_admin: bool) -> Self {
        let body = json!({"name": name, "password": PASSWORD, "isAdmin": is_admin});
        let id = id(&make(operator, "/api/users", &body).await);
        let entered = login(anyone, name).await;
        assert_eq!(entered.status, 200, "{}", entered.body);
        Self { id, session: session(anyone, &entered) }
    }
}

pub(super) async fn login(anyone: &Client, name: &str) -> TestResponse {
    anyone.post("/api/login", &json!({"name": name, "password": PASSWORD})).await
}

/// Returns a client with the session that a login started.
pub(super) fn session(anyone: &Client, entered: &TestResponse) -> Client {
    let cookie = entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    anyone.with("cookie", cookie)
}

/// A token of a member.
pub(super) struct Actor {
    pub(super) who: &'static str,
    pub(super) rights: Rights,
    pub(super) client: Client,
    /// The user's session in the space, with all permissions of the user.
    session: Client,
    /// The id of the user.
    user: String,
}

pub(super) struct World {
    /// Stops when it is dropped.
    _server: HaftProcess,
    pub(super) document: Value,
    pub(super) anyone: Client,
    /// An operator who is no member of the space.
    pub(super) operator: Client,
    /// A user outside the space: a token, and a session.
    pub(super) stranger: Client,
    pub(super) stranger_session: Client,
    /// An admin of the space.
    pub(super) admin: Client,
    bystander: Client,
    filer: Client,
    /// Sessions of the members besides the admin.
    sessions: Vec<(&'static str, Client)>,
    pub(super) actors: Vec<Actor>,
    pub(super) by_id: Resources,
    pub(super) by_name: Resources,
}

impl World {
    pub(super) async fn start() -> Self {
        let (server, operator) = start(&[]).await;
        let anyone = Client::anonymous(&server.url);
        let document = anyone.get("/api/openapi.json").await.body;
        let mut people = BTreeMap::new();
        for (who, _) in MEMBERS.into_iter().chain([("admin", "admin")]) {
            let name = format!("{MARK}_{who}");
            people.insert(who, Person::enter(&operator, &anyone, &name, who == "steward").await);
        }
        let chief = &people["admin"].session;
        let space = id(&make(chief, "/api/spaces", &json!({"name": "zeppelin_space"})).await);
        let sessions: Vec<(&str, Client)> =
            MEMBERS.iter().map(|(who, _)| (*who, people[who].session.clone())).collect();
        invite_members(chief, &space, &sessions).await;
        let mut actors = Vec::new();
        for (who, role) in
            MEMBERS.into_iter().chain([("admin", "admin")]).filter(|(who, _)| !QUIET.contains(who))
        {
            for scope in ["read", "call", "admin"] {
                let Person { id: user, session } = &people[who];
                let client = token(&server, session, scope, &space).await.0;
                let rights = Rights { role, scope, is_operator: who == "steward" };
                let session = session.with("haft-space", &space);
                actors.push(Actor { who, rights, client, session, user: user.clone() });
            }
        }
        let admin = token(&server, chief, "admin", &space).await.0;
        let (bystander, token) = token(&server, &people["bystander"].session, "admin", &space).await;
        let filer = self::token(&server, &people["filer"].session, "call", &space).await.0;
        let by_id = create_resources((&admin, &filer), space, token, people["bystander"].id.clone()).await;
        let by_name = Resources {
            tool: "zeppelin_tool".to_owned(),
            agent: "zeppelin_agent".to_owned(),
            provider: "zeppelin_provider".to_owned(),
            user: BYSTANDER.to_owned(),
            ..by_id.clone()
        };
        let stranger_session = Person::enter(&operator, &anyone, "stranger", false).await.session;
        let made = make(&stranger_session, "/api/tokens", &json!({"name": "mine"})).await;
        let stranger = Client::new(&server.url, text(&made, "token"));
        Self {
            _server: server,
            document,
            anyone,
            operator,
            stranger,
            stranger_session,
            admin,
            bystander,
            filer,
            sessions,
            actors,
            by_id,
            by_name,
        }
    }

    /// Returns the resources of a request that may use them up: new ones, or the caller's if the case is
    /// about the caller.
    pub(super) async fn fresh(&self, actor: &Actor, case: &Case, path: &str) -> Resources {
        let mut resources = self.by_id.clone();
        let name = json!({"name": new_name()});
        let may = |needs: Needs| needs.allows(actor.rights);
        if case.is_own {
            resources.user.clone_from(&actor.user);
        }
        match kind(path) {
            "tools" => {
                resources.tool = id(&make(&self.admin, "/api/tools", &mock(&new_name(), "Answers.")).await);
            }
            "agents" => {
                let agent = json!({"name": new_name(), "toolIds": [resources.tool]});
                resources.agent = id(&make(&self.admin, "/api/agents", &agent).await);
            }
            "providers" => {
                let provider = json!({"name": new_name(), "kind": "ollama"});
                resources.provider = id(&make(&self.admin, "/api/providers", &provider).await);
            }
            "alerts" => {
                let alert = json!({"name": new_name(), "metric": "queueDepth", "above": 1});
                resources.alert = id(&make(&self.admin, "/api/alerts", &alert).await);
            }
            "secrets" => {
                resources.secret = new_name();
                let path = format!("/api/secrets/{}", resources.secret);
                if !case.is_own {
                    put(&self.admin, &path, &json!({"value": "a value"})).await;
                } else if may(Needs::Call) {
                    put(&actor.client, &format!("{path}?owner=me"), &json!({"value": "a value"})).await;
                }
            }
            "artifacts" if case.is_own && may(Needs::Call) => {
                resources.artifact = id(&upload(&actor.client, &new_name(), "text/plain", b"Words.").await);
            }
            "conversations" if case.is_own && may(Needs::Call) => {
                resources.conversation = conversation_of(&actor.client).await;
            }
            "tokens" => {
                let owner = if case.is_own { &actor.session } else { &self.bystander };
                resources.token = id(&make(owner, "/api/tokens", &name).await);
            }
            "spaces" if !case.is_own || may(Needs::Whole) => {
                resources.space = id(&make(&self.admin, "/api/spaces", &name).await);
                invite_members(&self.admin, &resources.space, &self.sessions).await;
                if case.is_own {
                    // The last admin cannot leave.
                    let path = format!("/api/spaces/{}/members/{BYSTANDER}", resources.space);
                    put(&self.admin, &path, &json!({"role": "admin"})).await;
                }
            }
            "tasks" | "approvals" | "callbacks" => {
                resources.task = task_of(&self.admin).await;
                if path.ends_with("/retry") {
                    let ended =
                        self.admin.post(&format!("/api/tasks/{}/cancel", resources.task), &json!({})).await;
                    assert_eq!(ended.status, 200, "{}", ended.body);
                }
            }
            // Requests about other resources change nothing.
            _ => {}
        }
        resources
    }

    /// Reads all resources of the space, to detect whether a refused request has changed them.
    pub(super) async fn snapshot(&self) -> Value {
        let Resources {
            tool,
            agent,
            provider,
            secret,
            token,
            space,
            user,
            call,
            alert,
            artifact,
            task,
            conversation,
        } = &self.by_id;
        let of = async |client: &Client, path: String| {
            let reply = client.get(&path).await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.body);
            reply.data().clone()
        };
        let within = |list: &Value, field: &str, value: &str| {
            let items = list["items"].as_array().expect("a list");
            items.iter().find(|item| item[field] == value).cloned()
        };
        let users = of(&self.operator, "/api/users?limit=200".to_owned()).await;
        let secrets = of(&self.admin, "/api/secrets?limit=200".to_owned()).await;
        let artifacts = of(&self.filer, "/api/artifacts?limit=200".to_owned()).await;
        let tokens = of(&self.bystander, "/api/tokens?limit=200".to_owned()).await;
        json!({
            "tool": of(&self.admin, format!("/api/tools/{tool}")).await,
            "agent": of(&self.admin, format!("/api/agents/{agent}")).await,
            "provider": of(&self.admin, format!("/api/providers/{provider}")).await,
            "space": of(&self.admin, format!("/api/spaces/{space}")).await,
            "members": of(&self.admin, format!("/api/spaces/{space}/members")).await,
            "secret": within(&secrets, "name", secret),
            "artifact": within(&artifacts, "id", artifact),
            "call": of(&self.admin, format!("/api/tool-calls/{call}")).await,
            "alert": of(&self.admin, format!("/api/alerts/{alert}")).await,
            "task": of(&self.admin, format!("/api/tasks/{task}")).await,
            "conversation": of(&self.filer, format!("/api/conversations/{conversation}")).await,
            "approval": of(&self.admin, format!("/api/approvals/{task}")).await,
            // The time of its last use changes.
            "token": within(&tokens, "id", token).is_some(),
            "user": within(&users, "id", user),
        })
    }
}

/// Creates the resources of the space.
async fn create_resources(
    (admin, filer): (&Client, &Client),
    space: String,
    token: String,
    user: String,
) -> Resources {
    let tool = id(&make(admin, "/api/tools", &mock("zeppelin_tool", "Of the zeppelin.")).await);
    let agent = json!({"name": "zeppelin_agent", "description": "Of the zeppelin.", "toolIds": [tool]});
    let agent = id(&make(admin, "/api/agents", &agent).await);
    let provider = json!({"name": "zeppelin_provider", "kind": "ollama"});
    let provider = id(&make(admin, "/api/providers", &provider).await);
    let secret = "zeppelin_secret".to_owned();
    put(admin, &format!("/api/secrets/{secret}"), &json!({"value": "zeppelin_value"})).await;
    let call = call_of(admin, &tool).await;
    // No task is ever queued, so the alert does not change.
    let alert = json!({"name": "zeppelin_alert", "metric": "queueDepth", "above": 1});
    let alert = id(&make(admin, "/api/alerts", &alert).await);
    let artifact = id(&upload(filer, "zeppelin.txt", "text/plain", b"Of the zeppelin.").await);
    let mut asked = mock("zeppelin_asked", "Asks first.");
    asked["policy"] = json!("ask");
    make(admin, "/api/tools", &asked).await;
    let task = task_of(admin).await;
    let script = json!([{"text": "Of the zeppelin."}]);
    let model = json!({"name": "zeppelin_model", "kind": "scripted", "script": script});
    make(admin, "/api/providers", &model).await;
    let conversation = conversation_of(filer).await;
    Resources { tool, agent, provider, secret, token, space, user, call, alert, artifact, task, conversation }
}

/// Creates a conversation with one complete turn.
async fn conversation_of(client: &Client) -> String {
    let messages = json!([{"role": "user", "content": "Describe the zeppelin."}]);
    let reply = client.post("/api/chat", &json!({"provider": "zeppelin_model", "messages": messages})).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    text(reply.data(), "conversationId").to_owned()
}

/// Creates a task that waits for an approval.
async fn task_of(admin: &Client) -> String {
    let reply = admin.post("/api/tools/zeppelin_asked/execute", &json!({})).await;
    assert_eq!(reply.status, 202, "{}", reply.body);
    let task = text(reply.data(), "taskId").to_owned();
    let path = format!("/api/approvals/{task}");
    eventually("the approval is pending", async || admin.get(&path).await.status == 200).await;
    task
}

/// Makes a call, and returns its call id once it is logged.
async fn call_of(admin: &Client, tool: &str) -> String {
    let call = new_name();
    let body = json!({"arguments": {}, "options": {"callId": call}});
    let reply = admin.post(&format!("/api/tools/{tool}/execute"), &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let path = format!("/api/tool-calls/{call}");
    eventually("the call is logged", async || admin.get(&path).await.status == 200).await;
    call
}

/// Invites the members into a space, and accepts with the session of each.
async fn invite_members(admin: &Client, space: &str, sessions: &[(&str, Client)]) {
    for (who, role) in MEMBERS {
        let path = format!("/api/spaces/{space}/members/{MARK}_{who}");
        let invited = admin.put(&path, &json!({"role": role})).await;
        assert_eq!(invited.status, 202, "{path}: {}", invited.body);
        let (_, session) = sessions.iter().find(|(name, _)| *name == who).expect("a session");
        let accepted = session.post(&format!("/api/invitations/{space}/accept"), &json!({})).await;
        assert_eq!(accepted.status, 200, "{path}: {}", accepted.body);
    }
}

/// Creates a token for the space with a session. Returns a client with the token, and the token's id.
async fn token(server: &HaftProcess, session: &Client, scope: &str, space: &str) -> (Client, String) {
    let body = json!({"name": format!("{MARK}_{scope}"), "scope": scope, "spaceId": space});
    let made = make(session, "/api/tokens", &body).await;
    (Client::new(&server.url, text(&made, "token")), id(&made))
}

pub(super) async fn put(client: &Client, path: &str, body: &Value) {
    let reply = client.put(path, body).await;
    assert_eq!(reply.status, 200, "{path} {body}: {}", reply.body);
}

pub(super) fn id(thing: &Value) -> String {
    text(thing, "id").to_owned()
}

fn text<'a>(thing: &'a Value, field: &str) -> &'a str {
    thing[field].as_str().unwrap_or_else(|| panic!("{thing} has no {field}"))
}
