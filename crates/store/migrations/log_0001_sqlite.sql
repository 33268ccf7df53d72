-- The call log, in a file of its own. Ids are the 16 bytes of a UUID, instants microseconds since the
-- epoch, durations microseconds, booleans 0 or 1, JSON is text.

-- `seq` is a row's place in the chain, in the order in which rows were written; `id` begins with the
-- instant at which the call began, so that its order is that of time.
CREATE TABLE tool_call_log (
    seq INTEGER NOT NULL PRIMARY KEY,
    id BYTEA NOT NULL,
    space_id BYTEA NOT NULL,
    call_id TEXT,
    tool_id TEXT,
    tool_version BIGINT,
    tool_name TEXT NOT NULL,
    agent_id BYTEA,
    conversation_id BYTEA,
    user_id BYTEA,
    source TEXT NOT NULL,
    status TEXT NOT NULL,
    error_kind TEXT,
    error_message TEXT,
    error_details TEXT,
    attempts BIGINT NOT NULL,
    is_cached BIGINT NOT NULL,
    coerced TEXT,
    warnings TEXT,
    duration BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    replay_of TEXT,
    arguments_cut BIGINT NOT NULL,
    result_cut BIGINT NOT NULL,
    is_replayable BIGINT NOT NULL,
    chain BYTEA NOT NULL,
    UNIQUE (space_id, id)
);
-- A call id that is not the row's own was given by the caller, who may have given it often: the last is meant.
CREATE INDEX tool_call_log_call ON tool_call_log (space_id, call_id, id) WHERE call_id IS NOT NULL;
CREATE INDEX tool_call_log_tool ON tool_call_log (space_id, tool_name, id);
-- What is rare is found by an index of its own; what is common is met soon on the way through all.
-- Each ends with the id, so that a walk along it goes back in time.
CREATE INDEX tool_call_log_errors ON tool_call_log (space_id, id) WHERE status <> 'success';
CREATE INDEX tool_call_log_kind ON tool_call_log (space_id, error_kind, id) WHERE error_kind IS NOT NULL;
CREATE INDEX tool_call_log_agent ON tool_call_log (space_id, agent_id, id) WHERE agent_id IS NOT NULL;
CREATE INDEX tool_call_log_source ON tool_call_log (space_id, source, id) WHERE source <> 'api';

CREATE TABLE tool_call_bodies (
    seq INTEGER NOT NULL PRIMARY KEY,
    id BYTEA NOT NULL,
    arguments TEXT NOT NULL,
    result TEXT
);

-- Under which names each tool was called.
CREATE TABLE tool_call_names (
    space_id BYTEA NOT NULL,
    tool_id TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    PRIMARY KEY (space_id, tool_id, tool_name)
);

-- The words of calls that failed; rowid is `seq`.
CREATE VIRTUAL TABLE tool_call_words USING fts5(words, detail = none, tokenize = 'ascii');

-- The last link of the chain, and the one after which it begins now that older rows are gone.
CREATE TABLE tool_call_chain (
    id BIGINT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,
    chain BYTEA NOT NULL,
    anchor_seq BIGINT NOT NULL,
    anchor_chain BYTEA NOT NULL
);
INSERT INTO tool_call_chain (id, seq, chain, anchor_seq, anchor_chain)
VALUES (1, 0, zeroblob(32), 0, zeroblob(32));

-- What is counted of calls, in buckets of `span` seconds that begin at `start`: of the space, of each tool by
-- the name it was called by, of each agent by its id. `tool_id` is the tool that had the name last.
-- Durations are microseconds; `by_kind` is JSON, the errors by kind; `histogram` is the store's own.
CREATE TABLE tool_call_stats (
    space_id BYTEA NOT NULL,
    span BIGINT NOT NULL,
    series TEXT NOT NULL,
    start BIGINT NOT NULL,
    name TEXT NOT NULL,
    tool_id TEXT,
    calls BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    cancelled BIGINT NOT NULL,
    cached BIGINT NOT NULL,
    by_kind TEXT NOT NULL,
    sum_duration BIGINT NOT NULL,
    max_duration BIGINT NOT NULL,
    histogram BYTEA NOT NULL,
    PRIMARY KEY (space_id, span, series, start, name)
) WITHOUT ROWID;
-- One name over time; what is old, wherever it is.
CREATE INDEX tool_call_stats_name ON tool_call_stats (space_id, span, series, name, start);
CREATE INDEX tool_call_stats_age ON tool_call_stats (span, start);

-- The place in the chain up to which rows are counted.
CREATE TABLE tool_call_rolled (
    id BIGINT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL
);
INSERT INTO tool_call_rolled (id, seq) VALUES (1, 0);
