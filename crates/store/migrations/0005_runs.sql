-- A run: a small program whose steps are journaled. Its row is the queue: `queued` rows may be claimed by any
-- worker; what is `scheduled`, `waiting` or `running` becomes queued when `due_at` is past, which for a running
-- one is the end of its lease. Times are microseconds of the database's clock.
-- `epoch` counts the claims. Whoever writes into a run names the epoch of its claim, and is refused when there
-- was another one since.
CREATE TABLE runs (
    id TEXT NOT NULL PRIMARY KEY,
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    user_id TEXT,
    program TEXT NOT NULL,
    lane TEXT NOT NULL,
    lane_limit BIGINT,
    name TEXT NOT NULL,
    call_id TEXT,
    agent_id TEXT,
    conversation_id TEXT,
    input TEXT NOT NULL,
    priority BIGINT NOT NULL,
    status TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    worker TEXT,
    deaths BIGINT NOT NULL,
    most_deaths BIGINT NOT NULL,
    cancel_asked BIGINT NOT NULL,
    dead_letter BIGINT NOT NULL,
    waiting_for TEXT,
    progress TEXT,
    output TEXT,
    run_key TEXT,
    key_digest TEXT,
    parent_id TEXT,
    parent_step TEXT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    changed_at BIGINT NOT NULL
);
CREATE INDEX runs_space ON runs (space_id, id);
CREATE INDEX runs_queue ON runs (space_id, lane, priority DESC, due_at, id) WHERE status = 'queued';
CREATE INDEX runs_open ON runs (space_id) WHERE status IN ('queued', 'scheduled');
CREATE INDEX runs_due ON runs (due_at) WHERE status IN ('scheduled', 'waiting', 'running');
CREATE INDEX runs_running ON runs (space_id, lane) WHERE status = 'running';
CREATE INDEX runs_live ON runs (space_id, lane, status) WHERE ended_at IS NULL;
CREATE INDEX runs_dead ON runs (space_id, lane) WHERE dead_letter = 1;
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE UNIQUE INDEX runs_key ON runs (space_id, user_id, run_key) WHERE run_key IS NOT NULL;

-- What a run did. A step that is `reserved` may have begun; one that is `waiting` is ended by somebody else.
CREATE TABLE run_steps (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    space_id TEXT NOT NULL,
    n BIGINT NOT NULL,
    effect TEXT NOT NULL,
    state TEXT NOT NULL,
    waits_for TEXT,
    shown TEXT,
    output TEXT,
    until_at BIGINT,
    expired BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (run_id, key)
);
CREATE INDEX run_steps_waiting ON run_steps (space_id, waits_for, run_id) WHERE state = 'waiting';
CREATE INDEX run_steps_until ON run_steps (until_at) WHERE state = 'waiting' AND until_at IS NOT NULL;
