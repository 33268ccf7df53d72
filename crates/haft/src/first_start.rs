//! The first start of an installation: creates the admin, the operator's token, and a sample tool and agent.

use haft_core::agent::{AgentBinding, AgentSpec};
use haft_core::tool::input;
use haft_core::user::{Scope, User};
use haft_core::{CallError, ErrorKind, SpaceId, ToolId, ToolVersion};
use haft_store::{Page, PutTool, Store, VersionState};
use secrecy::SecretString;
use serde_json::json;
use uuid::Uuid;

/// The name of the user that the first start creates.
const ADMIN: &str = "admin";

/// The name of the token that the operator configured.
const ADMIN_TOKEN_NAME: &str = "HAFT_ADMIN_TOKEN";

/// The number of tokens that are read, which is more than an admin has.
const MAX_TOKENS: u32 = 1000;

/// The admin of an installation, with the personal space.
pub(crate) struct Admin {
    pub(crate) user: User,
    pub(crate) space: SpaceId,
    /// True if this start created the admin.
    pub(crate) is_new: bool,
}

/// Selects if the first start creates a sample tool and agent.
#[derive(Clone, Copy)]
pub(crate) enum Samples {
    Yes,
    No,
}

/// Returns the oldest admin. Creates it if there are no users yet.
pub(crate) async fn admin(store: &Store, samples: Samples) -> Result<Admin, CallError> {
    if store.count_users().await? == 0 {
        match store.create_user(ADMIN, None, true).await {
            Ok((user, space)) => {
                match samples {
                    Samples::Yes => add_samples(store, space.id, &user).await?,
                    Samples::No => {}
                }
                return Ok(Admin { user, space: space.id, is_new: true });
            }
            // Another process that starts on the same database created the admin first.
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            Err(error) => return Err(error),
        }
    }
    let missing = || CallError::text(ErrorKind::Internal, "the database has users, but no admin");
    let user = store.oldest_admin().await?.ok_or_else(missing)?;
    let (space, _) = store.personal_space(user.id).await?.ok_or_else(missing)?;
    Ok(Admin { user, space, is_new: false })
}

/// Replaces the operator's token by this one; `None` revokes it.
pub(crate) async fn set_admin_token(
    store: &Store,
    admin: &Admin,
    chosen: Option<&SecretString>,
) -> Result<(), CallError> {
    let current = match chosen {
        Some(value) => {
            let token = store
                .create_token_with(admin.space, admin.user.id, ADMIN_TOKEN_NAME, Scope::Admin, value)
                .await?;
            Some(token.id)
        }
        None => None,
    };
    let (tokens, _) = store.list_tokens(admin.space, admin.user.id, &Page::first(MAX_TOKENS)).await?;
    for token in
        tokens.into_iter().filter(|token| token.name == ADMIN_TOKEN_NAME && Some(token.id) != current)
    {
        match store.delete_token(admin.space, token.id).await {
            // Another process that starts has revoked it already.
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Creates a sample tool and a sample agent, which need no network.
async fn add_samples(store: &Store, space: SpaceId, owner: &User) -> Result<(), CallError> {
    let definition = json!({
        "name": "sample_weather",
        "title": {"en": "Weather (sample)", "zh": "天气（示例）"},
        "description": "The weather in a city. A sample that answers the same without any network: look how a tool is defined, then delete it.",
        "category": "custom",
        "type": "mock",
        "inputSchema": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Name of a city, such as Tokyo"}},
            "required": ["city"],
            "additionalProperties": false,
        },
        "config": {"answers": [{"data": {"sky": "clear", "temperature": 21, "unit": "°C"}}]},
    });
    let spec = input::parse(definition).map_err(CallError::invalid)?.spec;
    let at = haft_engine::now();
    let id = ToolId::Uuid(Uuid::now_v7());
    let version = ToolVersion {
        id: id.clone(),
        space_id: Some(space),
        owner_id: Some(owner.id),
        spec,
        version: 1,
        created_at: at,
        updated_at: at,
    };
    let put = PutTool { version, expected: None, state: VersionState::Live, note: String::new() };
    store.put_tools(space, vec![put], &[], Some(owner.id)).await?;
    let mut agent = AgentSpec::new("sample_assistant");
    agent.description = "A sample: an agent that may look at the weather and calculate.".to_owned();
    agent.system_prompt =
        "You are a helpful assistant. Use your tools instead of guessing. Today is {{today}}.".to_owned();
    let calculator = ToolId::Named(haft_core::ToolName::constant("calculator"));
    agent.bindings =
        vec![AgentBinding::new(id), AgentBinding { sort_order: 1, ..AgentBinding::new(calculator) }];
    store.create_agent(space, Some(owner.id), agent).await.map(drop)
}
