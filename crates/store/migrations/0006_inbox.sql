-- What was sent to a run before it ended, in the order in which it came. A step of the run notes what it took.
CREATE TABLE run_inbox (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    space_id TEXT NOT NULL,
    message TEXT NOT NULL,
    sent_at BIGINT NOT NULL,
    PRIMARY KEY (run_id, n)
);

-- Those of which nobody knows what became of them are counted and looked for, and are few.
CREATE INDEX runs_unknown ON runs (space_id) WHERE status = 'unknown';
