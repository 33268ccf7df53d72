-- The document is what somebody wrote; the rest is how the alert stands.
-- Every step from one way to stand to another takes the next number in `step`, so that of several processes
-- that take one at the same time the first wins. `turns` counts how often it fired and resolved, `told` is
-- the last of these that somebody set out to tell. A value is a number as text.
CREATE TABLE alerts (
    id TEXT NOT NULL PRIMARY KEY,
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    owner_id TEXT,
    doc TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    step BIGINT NOT NULL,
    turns BIGINT NOT NULL,
    told BIGINT NOT NULL,
    above_since BIGINT,
    seen_above_at BIGINT,
    value TEXT,
    fired_at BIGINT,
    resolved_at BIGINT,
    webhook_error TEXT
);
CREATE INDEX alerts_space ON alerts (space_id, id);

-- The last change of each space that only listeners have to know of, by the same numbers as `changes`: that an
-- alert fires is on record, and nothing that is kept of the space elsewhere is any older by it.
CREATE TABLE news (
    space_id TEXT NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL
);
CREATE INDEX news_revision ON news (revision);
