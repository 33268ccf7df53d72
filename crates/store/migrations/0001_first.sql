-- One portable subset for SQLite and PostgreSQL: TEXT, BIGINT and BYTEA only.
-- Instants are microseconds since the epoch, booleans 0 or 1, ids and JSON are text.

-- Every change takes the next number first, so that changes are committed in its order.
CREATE TABLE revision (
    id BIGINT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO revision (id, value) VALUES (1, 0);

-- The last change of each space; the nil id stands for users, tokens, sessions and members.
CREATE TABLE changes (
    space_id TEXT NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL
);
CREATE INDEX changes_revision ON changes (revision);

CREATE TABLE users (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    is_admin BIGINT NOT NULL,
    is_active BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE passwords (
    user_id TEXT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    hash TEXT NOT NULL
);

-- A personal space belongs to one user; the others belong to nobody.
CREATE TABLE spaces (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    is_personal BIGINT NOT NULL,
    personal_of TEXT UNIQUE,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE members (
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    PRIMARY KEY (space_id, user_id)
);
CREATE INDEX members_user ON members (user_id);

CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    hash BYTEA NOT NULL UNIQUE,
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT
);
CREATE INDEX tokens_space_user ON tokens (space_id, user_id, name, id);

CREATE TABLE sessions (
    hash BYTEA NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);

CREATE TABLE login_links (
    hash BYTEA NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);

-- The owner is empty for the space's own secrets, else the id of a user.
CREATE TABLE secrets (
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    key_id TEXT NOT NULL,
    value BYTEA NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by TEXT,
    PRIMARY KEY (space_id, owner, name)
);
CREATE INDEX secrets_key ON secrets (key_id);

CREATE TABLE tools (
    id TEXT NOT NULL PRIMARY KEY,
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    owner_id TEXT,
    live_version BIGINT,
    latest_version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    UNIQUE (space_id, name)
);

CREATE TABLE tool_versions (
    tool_id TEXT NOT NULL REFERENCES tools (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    space_id TEXT NOT NULL,
    spec TEXT NOT NULL,
    state TEXT NOT NULL,
    note TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT,
    PRIMARY KEY (tool_id, version)
);

-- The document holds the bindings; what to search in is kept in lower case.
CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    owner_id TEXT,
    category TEXT,
    is_active BIGINT NOT NULL,
    search TEXT NOT NULL,
    doc TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (space_id, name)
);

-- Which agents bind a tool; written together with the agent.
CREATE TABLE agent_tools (
    agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    space_id TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    PRIMARY KEY (agent_id, tool_id)
);
CREATE INDEX agent_tools_tool ON agent_tools (space_id, tool_id);

CREATE TABLE providers (
    id TEXT NOT NULL PRIMARY KEY,
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    doc TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (space_id, name)
);
