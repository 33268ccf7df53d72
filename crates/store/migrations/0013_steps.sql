-- Each step of a run is one row. Before, a run could have several in the column `begun`, or in a row whose key begins
-- with `+`; the script of each database rewrites those rows.
-- No process that does not know this schema executes runs at this time; `migrate.rs` checks that.
ALTER TABLE runs RENAME COLUMN deaths TO crashes;
ALTER TABLE runs RENAME COLUMN most_deaths TO max_crashes;
ALTER TABLE runs RENAME COLUMN cancel_asked TO cancel_requested;
ALTER TABLE run_steps RENAME COLUMN waits_for TO wait_kind;
ALTER TABLE run_steps RENAME COLUMN shown TO details;
ALTER TABLE run_steps RENAME COLUMN until_at TO deadline_at;
ALTER TABLE run_inbox RENAME COLUMN letter_key TO message_key;

-- A key identifies one run, also if the run has no user. Of earlier runs without a user, the newest keeps its key.
UPDATE runs SET run_key = NULL WHERE user_id IS NULL AND run_key IS NOT NULL AND EXISTS (
    SELECT 1 FROM runs newer
    WHERE newer.space_id = runs.space_id AND newer.user_id IS NULL AND newer.run_key = runs.run_key AND newer.id > runs.id);
DROP INDEX runs_key;
CREATE UNIQUE INDEX runs_key ON runs (space_id, COALESCE(user_id, ''), run_key) WHERE run_key IS NOT NULL;
