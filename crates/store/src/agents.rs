//! Agents. Each agent and its bindings are one document with one version; a separate table maps tools to the
//! agents that bind them.

use std::collections::{HashMap, HashSet};

use haft_core::agent::{Agent, AgentSpec};
use haft_core::{AgentId, CallError, Message, SpaceId, ToolId, UserId, Violation};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::db::{Tx, args};
use crate::feed::Change;
use crate::history::{Action, Note, What, changed_fields};
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::{Store, failure, name};

haft_core::templates! {
    BOUND_TWICE = "store.boundTwice",
        "is already bound; an agent can bind a tool only once",
        "已绑定；每个工具只能绑定一次";
}

/// Maximum length of a search text, in characters.
const MAX_SEARCH_LENGTH: usize = 200;

/// Selects agents of a space.
#[derive(Debug, Clone, Default)]
pub struct AgentFilter {
    /// Matches agents whose name or description contains this text, case-insensitively.
    pub q: Option<String>,
    pub is_active: Option<bool>,
    pub category: Option<String>,
}

/// Reads an agent. All statements below select the columns in this order.
fn agent(row: &Row) -> Result<Agent, CallError> {
    Ok(Agent {
        id: row.id(0)?,
        space_id: row.id(1)?,
        owner_id: row.maybe_id(2)?,
        spec: row.json(3)?,
        version: row.number(4)?,
        created_at: row.time(5)?,
        updated_at: row.time(6)?,
    })
}

const BY_ID: &str = "SELECT id, space_id, owner_id, doc, version, created_at, updated_at
                     FROM agents WHERE space_id = $1 AND id = $2";

impl Store {
    /// Creates an agent with its bindings.
    pub async fn create_agent(
        &self,
        space: SpaceId,
        owner: Option<UserId>,
        spec: AgentSpec,
    ) -> Result<Agent, CallError> {
        let mut change = self.change(space).await?;
        let agent = add(&mut change, space, owner, spec).await?;
        change.commit().await?;
        Ok(agent)
    }

    /// Returns the agent with this id or name.
    pub async fn get_agent(&self, space: SpaceId, id_or_name: &str) -> Result<Option<Agent>, CallError> {
        let row = self.db().row(
            "SELECT id, space_id, owner_id, doc, version, created_at, updated_at
             FROM agents WHERE space_id = $1 AND (id = $2 OR name = $3)",
            args![space, by_id(id_or_name), id_or_name],
        );
        row.await?.map(|row| agent(&row)).transpose()
    }

    /// Lists the agents of a space, by name.
    pub async fn list_agents(
        &self,
        space: SpaceId,
        filter: &AgentFilter,
        page: &Page,
    ) -> Result<(Vec<Agent>, Option<String>), CallError> {
        let (name, id) = page.start_key()?;
        let rows = self.db().rows(
            "SELECT id, space_id, owner_id, doc, version, created_at, updated_at FROM agents
             WHERE space_id = $1 AND (name, id) > ($2, $3)
               AND ($4 IS NULL OR search LIKE $4 ESCAPE '!') AND ($5 IS NULL OR is_active = $5)
               AND ($6 IS NULL OR category = $6)
             ORDER BY name, id LIMIT $7",
            args![
                space,
                name,
                id,
                filter.q.as_deref().map(pattern),
                filter.is_active,
                filter.category.clone(),
                page.rows()
            ],
        );
        let agents: Result<Vec<Agent>, CallError> = rows.await?.iter().map(agent).collect();
        Ok(page.cut(agents?, |agent| (agent.spec.name.as_str(), agent.id.to_string())))
    }

    /// Returns the names of all agents by id.
    pub async fn agent_names(&self, space: SpaceId) -> Result<HashMap<AgentId, String>, CallError> {
        let rows = self.db().rows("SELECT id, name FROM agents WHERE space_id = $1", args![space]).await?;
        rows.iter().map(|row| Ok((row.id(0)?, row.text(1)?))).collect()
    }

    /// Replaces an agent and its bindings, and increments its version. Fails if its version is not `expected`.
    pub async fn put_agent(
        &self,
        space: SpaceId,
        id: AgentId,
        spec: AgentSpec,
        expected: u64,
    ) -> Result<Agent, CallError> {
        let mut change = self.change(space).await?;
        let after = replace(&mut change, space, id, spec, expected).await?;
        change.commit().await?;
        Ok(after)
    }

    /// Deletes an agent. Fails if its version is not `expected`.
    pub async fn delete_agent(
        &self,
        space: SpaceId,
        id: AgentId,
        expected: Option<u64>,
    ) -> Result<(), CallError> {
        let mut change = self.change(space).await?;
        remove(&mut change, space, id, expected).await?;
        change.commit().await
    }
}

/// Inserts an agent and its bindings, within a change.
pub(crate) async fn add(
    change: &mut Change<'_>,
    space: SpaceId,
    owner: Option<UserId>,
    spec: AgentSpec,
) -> Result<Agent, CallError> {
    check(&spec)?;
    let now = now();
    let id = AgentId::from(Uuid::now_v7());
    let agent =
        Agent { id, space_id: space, owner_id: owner, spec, version: 1, created_at: now, updated_at: now };
    check_name(&mut change.tx, &agent).await?;
    let spec = &agent.spec;
    let insert = change.tx.run(
        "INSERT INTO agents
             (id, space_id, name, owner_id, category, is_active, search, doc, version, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $9)",
        args![
            id,
            space,
            &spec.name,
            owner,
            spec.category.clone(),
            spec.is_active,
            search(spec),
            doc(spec)?,
            now
        ],
    );
    insert.await?;
    bind(&mut change.tx, &agent).await?;
    change.note(history_note(&agent, Action::Created, json!({}))).await?;
    Ok(agent)
}

/// Replaces an agent within a change. Fails if its version is not `expected`.
pub(crate) async fn replace(
    change: &mut Change<'_>,
    space: SpaceId,
    id: AgentId,
    spec: AgentSpec,
    expected: u64,
) -> Result<Agent, CallError> {
    check(&spec)?;
    let row = change.tx.row(BY_ID, args![space, id]).await?;
    let before = agent(&row.ok_or_else(|| failure::not_found(&failure::AGENT, id))?)?;
    failure::check_version(&before.spec.name, before.version, expected)?;
    let details = json!({"changed": changed_fields(&before.spec, &spec)});
    let after = Agent { spec, version: before.version + 1, updated_at: now(), ..before };
    check_name(&mut change.tx, &after).await?;
    update(&mut change.tx, &after).await?;
    change.note(history_note(&after, Action::Updated, details)).await?;
    Ok(after)
}

pub(crate) async fn remove(
    change: &mut Change<'_>,
    space: SpaceId,
    id: AgentId,
    expected: Option<u64>,
) -> Result<(), CallError> {
    let row = change.tx.row(BY_ID, args![space, id]).await?;
    let before = agent(&row.ok_or_else(|| failure::not_found(&failure::AGENT, id))?)?;
    if let Some(expected) = expected {
        failure::check_version(&before.spec.name, before.version, expected)?;
    }
    change.tx.run("DELETE FROM agents WHERE space_id = $1 AND id = $2", args![space, id]).await?;
    change.note(history_note(&before, Action::Deleted, json!({}))).await
}

/// Returns the history entry for a change of an agent.
fn history_note(agent: &Agent, action: Action, details: Value) -> Note {
    let (id, name) = (agent.id.to_string(), agent.spec.name.clone());
    Note { what: What::Agent, action, id, name, version: Some(agent.version), details }
}

/// Returns the names of the agents that bind a tool.
pub(crate) async fn names_binding(
    tx: &mut Tx,
    space: SpaceId,
    tool: &ToolId,
) -> Result<Vec<String>, CallError> {
    let rows = tx.rows(
        "SELECT a.name FROM agent_tools b JOIN agents a ON a.id = b.agent_id
         WHERE b.space_id = $1 AND b.tool_id = $2 ORDER BY a.name",
        args![space, tool],
    );
    rows.await?.iter().map(|row| row.text(0)).collect()
}

/// Removes a tool from all agents that bind it.
pub(crate) async fn unbind(change: &mut Change<'_>, space: SpaceId, tool: &ToolId) -> Result<(), CallError> {
    let rows = change.tx.rows(
        "SELECT a.id, a.space_id, a.owner_id, a.doc, a.version, a.created_at, a.updated_at
         FROM agent_tools b JOIN agents a ON a.id = b.agent_id
         WHERE b.space_id = $1 AND b.tool_id = $2",
        args![space, tool],
    );
    for row in rows.await? {
        let mut agent = agent(&row)?;
        agent.spec.bindings.retain(|binding| binding.tool_id != *tool);
        agent.version += 1;
        agent.updated_at = now();
        update(&mut change.tx, &agent).await?;
        change.note(history_note(&agent, Action::Updated, json!({"changed": ["bindings"]}))).await?;
    }
    Ok(())
}

async fn update(tx: &mut Tx, agent: &Agent) -> Result<(), CallError> {
    let spec = &agent.spec;
    let update = tx.run(
        "UPDATE agents SET name = $3, is_active = $4, search = $5, doc = $6, version = $7, updated_at = $8,
                category = $9
         WHERE space_id = $1 AND id = $2",
        args![
            agent.space_id,
            agent.id,
            &spec.name,
            spec.is_active,
            search(spec),
            doc(spec)?,
            agent.version,
            agent.updated_at,
            spec.category.clone()
        ],
    );
    update.await?;
    bind(tx, agent).await
}

/// Replaces the rows that map the bound tools to this agent.
async fn bind(tx: &mut Tx, agent: &Agent) -> Result<(), CallError> {
    tx.run("DELETE FROM agent_tools WHERE agent_id = $1", args![agent.id]).await?;
    for binding in &agent.spec.bindings {
        let sql = "INSERT INTO agent_tools (agent_id, space_id, tool_id) VALUES ($1, $2, $3)";
        tx.run(sql, args![agent.id, agent.space_id, &binding.tool_id]).await?;
    }
    Ok(())
}

fn check(spec: &AgentSpec) -> Result<(), CallError> {
    name::check(&spec.name)?;
    let mut seen = HashSet::new();
    let duplicates = spec.bindings.iter().enumerate().filter(|(_, binding)| !seen.insert(&binding.tool_id));
    let violations: Vec<Violation> = duplicates
        .map(|(at, _)| Violation::new(format!("bindings.{at}.toolId"), Message::new(&BOUND_TWICE)))
        .collect();
    if violations.is_empty() { Ok(()) } else { Err(CallError::invalid(violations)) }
}

async fn check_name(tx: &mut Tx, agent: &Agent) -> Result<(), CallError> {
    let sql = "SELECT id FROM agents WHERE space_id = $1 AND name = $2 AND id <> $3";
    match tx.row(sql, args![agent.space_id, &agent.spec.name, agent.id]).await? {
        Some(_) => Err(failure::name_taken(&agent.spec.name)),
        None => Ok(()),
    }
}

fn doc(spec: &AgentSpec) -> Result<String, CallError> {
    serde_json::to_string(spec).map_err(failure::unreadable)
}

fn search(spec: &AgentSpec) -> String {
    format!("{}\n{}", spec.name, spec.description).to_lowercase()
}

/// Returns a `LIKE` pattern that matches texts containing `text`, with `!` as the escape character.
fn pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.to_lowercase().chars().take(MAX_SEARCH_LENGTH) {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// Returns the canonical spelling of an id. Returns `None` if the text is not a UUID.
pub(crate) fn by_id(text: &str) -> Option<String> {
    Uuid::try_parse(text).ok().map(|id| id.to_string())
}
