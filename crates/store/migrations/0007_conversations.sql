-- A letter that is sent again with the same key is the same letter.
ALTER TABLE run_inbox ADD COLUMN letter_key TEXT;
ALTER TABLE run_inbox ADD COLUMN key_digest TEXT;
CREATE UNIQUE INDEX run_inbox_key ON run_inbox (run_id, letter_key) WHERE letter_key IS NOT NULL;

-- A person's conversations, the last changed first.
CREATE INDEX runs_conversations ON runs (space_id, user_id, changed_at) WHERE program = 'chat';
