-- Files, each of one user in one space. One without a hash is still on its way in, and is seen by nobody.
CREATE TABLE artifacts (
    id TEXT NOT NULL PRIMARY KEY,
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    owner_id TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    sha256 BYTEA,
    created_at BIGINT NOT NULL
);
CREATE INDEX artifacts_owner ON artifacts (space_id, owner_id, id);

-- Their bytes, in pieces of one size but for the last, counted from 0.
CREATE TABLE artifact_chunks (
    artifact_id TEXT NOT NULL REFERENCES artifacts (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (artifact_id, n)
);

-- What the files of each user count for in each space, those on their way in too. A space and a user hold
-- what their rows add up to; a row goes with its space like the files that it counts.
CREATE TABLE artifact_usage (
    space_id TEXT NOT NULL REFERENCES spaces (id) ON DELETE CASCADE,
    owner_id TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (space_id, owner_id)
);
CREATE INDEX artifact_usage_owner ON artifact_usage (owner_id);
