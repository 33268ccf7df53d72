-- The token that a session was made from: the session ends with it. Sessions from before this column end now,
-- since it is not known what they were made from.
DELETE FROM sessions;
ALTER TABLE sessions ADD COLUMN token_id TEXT REFERENCES tokens (id) ON DELETE CASCADE;
CREATE INDEX sessions_token ON sessions (token_id);
