//! Agents, each with its bindings as one document with one version, and which of them bind a tool.

use std::collections::{HashMap, HashSet};

use haft_core::agent::{Agent, AgentSpec};
use haft_core::{AgentId, CallError, Message, SpaceId, ToolId, UserId, Violation};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::db::{Tx, args};
use crate::feed::Change;
use crate::history::{Action, Note, What, changed};
use crate::page::Page;
use crate::row::Row;
use crate::store::now;
use crate::{Store, failure, name};

haft_core::templates! {
    BOUND_TWICE = "store.boundTwice",
        "is bound already; a tool is bound once",
        "已绑定；每个工具只能绑定一次";
}

/// The longest text to search for.
const LONGEST_SEARCH: usize = 200;

/// Which agents of a space.
#[derive(Debug, Clone, Default)]
pub struct AgentFilter {
    /// A part of the name or the description, in any case.
    pub q: Option<String>,
    pub is_active: Option<bool>,
    pub category: Option<String>,
}

/// The order of columns here is that of every statement below.
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

    /// The agent of that id or name.
    pub async fn get_agent(&self, space: SpaceId, id_or_name: &str) -> Result<Option<Agent>, CallError> {
        let row = self.db().row(
            "SELECT id, space_id, owner_id, doc, version, created_at, updated_at
             FROM agents WHERE space_id = $1 AND (id = $2 OR name = $3)",
            args![space, by_id(id_or_name), id_or_name],
        );
        row.await?.map(|row| agent(&row)).transpose()
    }

    pub async fn list_agents(
        &self,
        space: SpaceId,
        filter: &AgentFilter,
        page: &Page,
    ) -> Result<(Vec<Agent>, Option<String>), CallError> {
        let (name, id) = page.after()?;
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

    /// The names of all agents.
    pub async fn agent_names(&self, space: SpaceId) -> Result<HashMap<AgentId, String>, CallError> {
        let rows = self.db().rows("SELECT id, name FROM agents WHERE space_id = $1", args![space]).await?;
        rows.iter().map(|row| Ok((row.id(0)?, row.text(1)?))).collect()
    }

    /// Replaces an agent, bindings included.
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

/// A new agent, with its bindings.
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
    let added = change.tx.run(
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
    added.await?;
    bind(&mut change.tx, &agent).await?;
    change.note(noted(&agent, Action::Created, json!({}))).await?;
    Ok(agent)
}

/// The next version of an agent.
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
    let details = json!({"changed": changed(&before.spec, &spec)});
    let after = Agent { spec, version: before.version + 1, updated_at: now(), ..before };
    check_name(&mut change.tx, &after).await?;
    update(&mut change.tx, &after).await?;
    change.note(noted(&after, Action::Updated, details)).await?;
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
    change.note(noted(&before, Action::Deleted, json!({}))).await
}

/// What is put on record of an agent that was changed.
fn noted(agent: &Agent, action: Action, details: Value) -> Note {
    let (id, name) = (agent.id.to_string(), agent.spec.name.clone());
    Note { what: What::Agent, action, id, name, version: Some(agent.version), details }
}

/// The names of the agents that bind a tool.
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

/// Takes a tool from every agent that binds it.
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
        change.note(noted(&agent, Action::Updated, json!({"changed": ["bindings"]}))).await?;
    }
    Ok(())
}

async fn update(tx: &mut Tx, agent: &Agent) -> Result<(), CallError> {
    let spec = &agent.spec;
    let kept = tx.run(
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
    kept.await?;
    bind(tx, agent).await
}

/// Writes down which tools an agent binds, for the way back.
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
    let twice = spec.bindings.iter().enumerate().filter(|(_, binding)| !seen.insert(&binding.tool_id));
    let violations: Vec<Violation> = twice
        .map(|(at, _)| Violation::new(format!("bindings.{at}.toolId"), Message::new(&BOUND_TWICE)))
        .collect();
    if violations.is_empty() { Ok(()) } else { Err(CallError::invalid(violations)) }
}

async fn check_name(tx: &mut Tx, agent: &Agent) -> Result<(), CallError> {
    let sql = "SELECT id FROM agents WHERE space_id = $1 AND name = $2 AND id <> $3";
    match tx.row(sql, args![agent.space_id, &agent.spec.name, agent.id]).await? {
        Some(_) => Err(failure::taken(&agent.spec.name)),
        None => Ok(()),
    }
}

fn doc(spec: &AgentSpec) -> Result<String, CallError> {
    serde_json::to_string(spec).map_err(failure::unreadable)
}

fn search(spec: &AgentSpec) -> String {
    format!("{}\n{}", spec.name, spec.description).to_lowercase()
}

/// A pattern that holds a text as it is.
fn pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.to_lowercase().chars().take(LONGEST_SEARCH) {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// The one spelling in which ids are stored; nothing for what is no id.
pub(crate) fn by_id(text: &str) -> Option<String> {
    Uuid::try_parse(text).ok().map(|id| id.to_string())
}
