-- Fences off programs of the first release candidate, which do not watch the version of the schema: on a shared
-- database they must not claim runs that only newer programs can read, nor send alerts whose webhooks they cannot see.
-- Their claims write `worker`, which `0012_fence.postgres.sql` refuses; newer programs write `claimed_by`.
ALTER TABLE runs ADD COLUMN claimed_by TEXT;
UPDATE runs SET claimed_by = worker;
ALTER TABLE alerts RENAME COLUMN told TO notified;
