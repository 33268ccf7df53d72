//! Permissions of every operation, and requests that succeed with these permissions.

use serde_json::{Value, json};

use super::world::{BYSTANDER, PASSWORD};

/// Roles in ascending order of permissions.
const ROLES: [&str; 4] = ["viewer", "caller", "editor", "admin"];
const SCOPES: [&str; 3] = ["read", "call", "admin"];

/// The permissions of a caller in the space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rights {
    pub(super) role: &'static str,
    pub(super) scope: &'static str,
    pub(super) is_operator: bool,
}

/// The permission that a request needs. All but the last are values of `x-needs` in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    Identity,
    Read,
    Call,
    Edit,
    SpaceAdmin,
    Operator,
    /// A token of the scope `admin`, with any role.
    Whole,
}

impl Needs {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Identity => "identity",
            Self::Read => "read",
            Self::Call => "call",
            Self::Edit => "edit",
            Self::SpaceAdmin => "spaceAdmin",
            Self::Operator => "operator",
            Self::Whole => "whole",
        }
    }

    /// The permission rules, written down independently of the server.
    pub(super) fn allows(self, rights: Rights) -> bool {
        let (role, scope) = match self {
            Self::Nothing | Self::Identity | Self::Read => ("viewer", "read"),
            Self::Call => ("caller", "call"),
            Self::Edit => ("editor", "admin"),
            Self::SpaceAdmin => ("admin", "admin"),
            Self::Whole => ("viewer", "admin"),
            Self::Operator => return rights.is_operator && rights.scope == "admin",
        };
        let rank = |list: &[&str], word: &str| list.iter().position(|item| *item == word);
        rank(&ROLES, rights.role) >= rank(&ROLES, role) && rank(&SCOPES, rights.scope) >= rank(&SCOPES, scope)
    }
}

pub(super) struct Row {
    /// Method and path, as in the document.
    pub(super) operation: &'static str,
    pub(super) needs: Needs,
    pub(super) cases: Vec<Case>,
}

/// One request. `NEW` in its body is replaced by an unused name.
pub(super) struct Case {
    /// The permission that this request needs, if it is more than the route needs.
    pub(super) needs: Option<Needs>,
    pub(super) query: &'static str,
    pub(super) body: Option<Value>,
    /// The status with the permission; `refused` is the status without it.
    pub(super) works: u16,
    pub(super) refused: u16,
    /// The request is about a resource of the caller: user, token, secret, membership.
    pub(super) is_own: bool,
    /// The name means another resource in another space, so an outsider's request succeeds and reveals
    /// nothing.
    pub(super) is_by_name: bool,
}

impl Case {
    fn new(works: u16) -> Self {
        let (needs, body) = (None, None);
        Self { needs, query: "", body, works, refused: 403, is_own: false, is_by_name: false }
    }

    fn body(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }

    fn query(self, query: &'static str) -> Self {
        Self { query, ..self }
    }

    fn needs(self, needs: Needs) -> Self {
        Self { needs: Some(needs), ..self }
    }

    /// Without the permission, the caller gets 404.
    fn hidden(self) -> Self {
        Self { refused: 404, ..self }
    }

    fn of_caller(self) -> Self {
        Self { is_own: true, ..self }
    }

    fn by_name(self) -> Self {
        Self { is_by_name: true, ..self }
    }
}

fn tool() -> Value {
    json!({"name": "NEW", "description": "Answers.", "type": "mock", "config": {"answers": [{"data": 1}]}})
}

fn get(operation: &'static str, needs: Needs) -> Row {
    Row { operation, needs, cases: vec![Case::new(200)] }
}

fn row<const N: usize>(operation: &'static str, needs: Needs, cases: [Case; N]) -> Row {
    Row { operation, needs, cases: cases.into() }
}

/// Returns all rows.
pub(super) fn table() -> Vec<Row> {
    let of_all = [
        of_tools(),
        of_imports(),
        of_agents(),
        of_providers_and_secrets(),
        of_alerts(),
        of_tasks(),
        of_chat(),
        of_artifacts(),
        of_people(),
        of_documentation(),
        of_v1(),
    ];
    of_all.into_iter().flatten().collect()
}

fn of_tools() -> Vec<Row> {
    use Needs::{Call, Edit, Operator, Read};
    let version = || Case::new(200).body(json!({"version": 1}));
    let of_server = Case::new(200).query("?of=server").needs(Operator);
    let asked = |query| Case::new(200).query(query);
    vec![
        // First, because later requests of outsiders are logged in their spaces, with the same names.
        row("GET /api/tool-calls", Read, [Case::new(200)]),
        // First, because later changes of outsiders are recorded in their spaces, with the same names.
        row("GET /api/changes", Read, [Case::new(200), of_server]),
        get("GET /api/audit/verify", Operator),
        row("POST /api/tools", Edit, [Case::new(201).body(tool())]),
        get("GET /api/tools", Read),
        get("GET /api/tools/{id}", Read),
        row("PUT /api/tools/{id}", Edit, [Case::new(200).body(tool())]),
        row("PATCH /api/tools/{id}", Edit, [Case::new(200).body(json!({"category": "math"}))]),
        row("DELETE /api/tools/{id}", Edit, [Case::new(200).query("?force=true")]),
        row("POST /api/tools/{id}/circuit/reset", Edit, [Case::new(200)]),
        get("GET /api/circuits", Read),
        // No circuit exists yet, so a permitted request gets 404.
        row("POST /api/circuits/reset", Edit, [Case::new(404).body(json!({"key": "none"}))]),
        get("GET /api/tools/categories", Read),
        get("GET /api/tools/{id}/versions", Read),
        get("GET /api/tools/{id}/versions/{version}", Read),
        row("GET /api/tools/{id}/diff", Read, [Case::new(200).query("?from=1&to=1")]),
        row("POST /api/tools/{id}/rollback", Edit, [version()]),
        // No version is held, so a permitted request gets 409.
        row("POST /api/tools/{id}/approve", Edit, [Case { works: 409, ..version() }]),
        row("POST /api/tools/{id}/execute", Call, [Case::new(200).body(json!({"arguments": {}}))]),
        row("GET /api/tool-calls/{id}", Read, [Case::new(200)]),
        get("GET /api/tool-calls/{id}/curl", Read),
        row("POST /api/tool-calls/{id}/replay", Call, [Case::new(200).body(json!({}))]),
        row("GET /api/stats", Read, ["", "?tool=zeppelin_tool", "?agent=zeppelin_agent"].map(asked)),
        get("GET /api/events", Read),
        row("POST /api/tools/schema-preview", Read, [Case::new(200).body(tool())]),
    ]
}

fn of_imports() -> Vec<Row> {
    use Needs::{Edit, Read};
    let spec = json!({
        "openapi": "3.1.0", "info": {"title": "Any", "version": "1"}, "servers": [{"url": "https://api.example.com"}],
        "paths": {"/NEW": {"get": {"operationId": "NEW", "summary": "Gets one."}}},
    });
    let command = json!({"command": "curl https://api.example.com/NEW"});
    let request = json!({"method": "GET", "url": "https://api.example.com/NEW"});
    let collection = json!({"info": {"name": "NEW"}, "item": [{"name": "NEW", "request": request}]});
    let request = json!({"method": "GET", "url": "https://api.example.com/NEW", "headers": []});
    let content = json!({"mimeType": "application/json", "text": "{}"});
    let response = json!({"status": 200, "headers": [], "content": content});
    let recorded = json!({"log": {"entries": [{"request": request, "response": response}]}});
    vec![
        get("GET /api/tools/export", Read),
        row("POST /api/tools/import", Edit, [Case::new(200).body(json!({"tools": [tool()]}))]),
        row("POST /api/tools/import/openapi", Edit, [Case::new(201).body(json!({"spec": spec}))]),
        row("POST /api/tools/import/curl", Edit, [Case::new(201).body(command)]),
        row("POST /api/tools/import/postman", Edit, [Case::new(201).body(json!({"document": collection}))]),
        row("POST /api/tools/import/har", Edit, [Case::new(201).body(json!({"document": recorded}))]),
    ]
}

fn of_agents() -> Vec<Row> {
    use Needs::{Edit, Read};
    let agent = json!({"name": "NEW", "toolIds": ["calculator"]});
    let description = json!({"description": "Another."});
    let binding = json!({"toolId": "calculator"});
    vec![
        row("POST /api/agents", Edit, [Case::new(201).body(agent)]),
        get("GET /api/agents", Read),
        get("GET /api/agents/{id}", Read),
        row("PUT /api/agents/{id}", Edit, [Case::new(200).body(json!({"name": "NEW"}))]),
        row("PATCH /api/agents/{id}", Edit, [Case::new(200).body(description)]),
        row("DELETE /api/agents/{id}", Edit, [Case::new(200)]),
        get("GET /api/agents/{id}/tools", Read),
        row("POST /api/agents/{id}/tools", Edit, [Case::new(201).body(binding)]),
        row(
            "PATCH /api/agents/{id}/tools/{toolId}",
            Edit,
            [Case::new(200).body(json!({"isEnabled": false}))],
        ),
        row("DELETE /api/agents/{id}/tools/{toolId}", Edit, [Case::new(200)]),
    ]
}

fn of_providers_and_secrets() -> Vec<Row> {
    use Needs::{Call, Edit, Read, SpaceAdmin};
    let provider = |kind: &str| json!({"name": "NEW", "kind": kind});
    let value = || Case::new(200).body(json!({"value": "a value"}));
    let mine = "?owner=me";
    vec![
        row("POST /api/providers", SpaceAdmin, [Case::new(201).body(provider("ollama"))]),
        get("GET /api/providers", Read),
        get("GET /api/providers/{id}", Read),
        row("PUT /api/providers/{id}", SpaceAdmin, [Case::new(200).body(provider("openai"))]),
        row("DELETE /api/providers/{id}", SpaceAdmin, [Case::new(200)]),
        row("POST /api/providers/{id}/test", SpaceAdmin, [Case::new(200)]),
        row("GET /api/secrets", Read, [Case::new(200), Case::new(200).query(mine)]),
        row(
            "PUT /api/secrets/{name}",
            Call,
            [value().needs(Edit).by_name(), value().query(mine).of_caller()],
        ),
        row(
            "DELETE /api/secrets/{name}",
            Call,
            [Case::new(200).needs(Edit), Case::new(200).query(mine).of_caller()],
        ),
    ]
}

fn of_tasks() -> Vec<Row> {
    use Needs::{Call, Edit, Nothing, Read};
    let resolve = json!({"status": "succeeded"});
    vec![
        get("GET /api/tasks", Read),
        get("GET /api/tasks/summary", Read),
        get("GET /api/tasks/{id}", Read),
        row("POST /api/tasks/{id}/cancel", Call, [Case::new(200)]),
        row("POST /api/tasks/{id}/retry", Call, [Case::new(200)]),
        // The outcome of this task is not unknown, so a permitted request gets 409.
        row("POST /api/tasks/{id}/resolve", Edit, [Case::new(409).body(resolve)]),
        get("GET /api/approvals", Read),
        get("GET /api/approvals/{id}", Read),
        row("POST /api/approvals/{id}/link", Edit, [Case::new(200)]),
        // A request without a signature gets 404 from every caller.
        row("POST /api/callbacks/{id}", Nothing, [Case::new(404).body(json!({}))]),
        row("POST /api/approvals/{id}", Edit, [Case::new(200).body(json!({"decision": "deny"}))]),
    ]
}

fn of_alerts() -> Vec<Row> {
    use Needs::{Edit, Read};
    let alert = |above: u32| json!({"name": "NEW", "metric": "queueDepth", "above": above});
    vec![
        row("POST /api/alerts", Edit, [Case::new(201).body(alert(1))]),
        get("GET /api/alerts", Read),
        get("GET /api/alerts/{id}", Read),
        row("PUT /api/alerts/{id}", Edit, [Case::new(200).body(alert(2))]),
        row("DELETE /api/alerts/{id}", Edit, [Case::new(200)]),
    ]
}

fn of_chat() -> Vec<Row> {
    use Needs::{Call, Read};
    // A conversation belongs to one user. For all others it does not exist, whatever their permissions.
    let of_other_user = || Case::new(404);
    let read = || [of_other_user(), Case::new(200).needs(Call).hidden().of_caller()];
    let write = || [of_other_user(), Case::new(200).of_caller()];
    let title = || json!({"title": "Another"});
    let chat = json!({"provider": "NEW", "messages": [{"role": "user", "content": "hi"}]});
    // The provider does not exist, so a permitted request gets 422.
    let asked = || Case::new(422).body(chat.clone());
    vec![
        row("POST /api/chat", Call, [asked()]),
        row("POST /api/chat/with-tools", Call, [asked()]),
        get("GET /api/conversations", Read),
        row("GET /api/conversations/{id}", Read, read()),
        row(
            "PATCH /api/conversations/{id}",
            Call,
            [of_other_user().body(title()), Case::new(200).body(title()).of_caller()],
        ),
        row("DELETE /api/conversations/{id}", Call, write()),
        // The last turn is complete, so there is nothing to continue.
        row("POST /api/conversations/{id}/continue", Call, [of_other_user(), Case::new(409).of_caller()]),
        row("POST /api/conversations/{id}/cancel", Call, write()),
        row("GET /api/conversations/{id}/events", Read, [of_other_user()]),
        row("GET /api/conversations/{id}/export", Read, read()),
        row("GET /api/conversations/{id}/tool-context", Read, read()),
    ]
}

fn of_artifacts() -> Vec<Row> {
    use Needs::{Call, Read};
    // A file belongs to one user. For all others it does not exist, whatever their permissions.
    let of_other_user = || Case::new(404);
    vec![
        // The route takes a form, which another test covers. A permitted request gets 415.
        row("POST /api/artifacts", Call, [Case::new(415)]),
        get("GET /api/artifacts", Read),
        row(
            "GET /api/artifacts/{id}",
            Read,
            [of_other_user(), Case::new(200).needs(Call).hidden().of_caller()],
        ),
        row("DELETE /api/artifacts/{id}", Call, [of_other_user(), Case::new(200).of_caller()]),
        row("POST /api/artifacts/{id}/link", Call, [of_other_user(), Case::new(200).of_caller()]),
    ]
}

fn of_people() -> Vec<Row> {
    use Needs::{Identity, Nothing, Operator, SpaceAdmin, Whole};
    let named = |status| Case::new(status).body(json!({"name": "NEW"}));
    let unchanged = || Case::new(200).body(json!({}));
    let login = json!({"name": BYSTANDER, "password": PASSWORD});
    vec![
        row("POST /api/spaces", Identity, [named(201).needs(Whole)]),
        get("GET /api/spaces", Identity),
        get("GET /api/spaces/{id}", Identity),
        row("PUT /api/spaces/{id}", Identity, [named(200).needs(SpaceAdmin)]),
        row("DELETE /api/spaces/{id}", Identity, [Case::new(200).query("?force=true").needs(SpaceAdmin)]),
        get("GET /api/spaces/{id}/members", Identity),
        row(
            "PUT /api/spaces/{id}/members/{user}",
            Identity,
            [Case::new(200).body(json!({"role": "caller"})).needs(SpaceAdmin)],
        ),
        row(
            "DELETE /api/spaces/{id}/members/{user}",
            Identity,
            [Case::new(200).needs(SpaceAdmin), Case::new(200).needs(Whole).of_caller()],
        ),
        row("GET /api/spaces/{id}/invitations", Identity, [Case::new(200).needs(SpaceAdmin)]),
        // The members have accepted, so there is no invitation to withdraw, accept or decline.
        row("DELETE /api/spaces/{id}/invitations/{user}", Identity, [Case::new(404).needs(SpaceAdmin)]),
        get("GET /api/invitations", Identity),
        row("POST /api/invitations/{id}/accept", Identity, [Case::new(404).needs(Whole)]),
        row("DELETE /api/invitations/{id}", Identity, [Case::new(404).needs(Whole)]),
        row("POST /api/users", Operator, [named(201)]),
        get("GET /api/users", Operator),
        row(
            "PATCH /api/users/{id}",
            Identity,
            [unchanged().needs(Operator).hidden(), unchanged().needs(Whole).hidden().of_caller()],
        ),
        row("POST /api/tokens", Identity, [named(201).needs(Whole)]),
        get("GET /api/tokens", Identity),
        row(
            "DELETE /api/tokens/{id}",
            Identity,
            [Case::new(200).needs(SpaceAdmin).hidden(), Case::new(200).needs(Whole).hidden().of_caller()],
        ),
        row("POST /api/login", Nothing, [Case::new(200).body(login)]),
        row("POST /api/logout", Identity, [Case::new(200)]),
        get("GET /api/me", Identity),
    ]
}

fn of_documentation() -> Vec<Row> {
    let paths = [
        "GET /api/openapi.json",
        "GET /api/docs",
        "GET /api/docs/docs.js",
        "GET /api/docs/schema.js",
        "GET /api/docs/words.js",
        "GET /api/docs/docs.css",
    ];
    paths.into_iter().map(|path| get(path, Needs::Nothing)).collect()
}

/// Rows of the OpenAI interface. The space has no model, so a permitted request gets 404.
fn of_v1() -> Vec<Row> {
    use Needs::{Call, Read};
    let completion = json!({"model": "NEW", "messages": [{"role": "user", "content": "hi"}]});
    vec![
        get("GET /v1/models", Read),
        get("GET /v1/models/{id}", Read),
        row("POST /v1/chat/completions", Call, [Case::new(404).body(completion)]),
        row("POST /v1/responses", Call, [Case::new(404).body(json!({"model": "NEW", "input": "hi"}))]),
    ]
}
