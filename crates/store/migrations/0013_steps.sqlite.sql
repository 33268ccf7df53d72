-- Steps that were stored with the run come before all others.
INSERT INTO run_steps (run_id, space_id, key, n, effect, state, output, expired, created_at, ended_at)
SELECT run.id, run.space_id, step.value ->> '$.key', run.created_at + step.key, step.value ->> '$.effect', 'done',
       step.value -> '$.output', 0, run.created_at, run.created_at
FROM runs run, json_each(run.begun) step
WHERE run.begun IS NOT NULL
ON CONFLICT (run_id, key) DO NOTHING;

-- Of several steps with one key the last one counts.
INSERT INTO run_steps (run_id, space_id, key, n, effect, state, output, expired, created_at, ended_at)
SELECT several.run_id, several.space_id, step.value ->> '$.key', several.n + step.key, step.value ->> '$.effect', 'done',
       step.value -> '$.output', 0, several.created_at, several.ended_at
FROM (SELECT * FROM run_steps WHERE substr(key, 1, 1) = '+') several, json_each(several.output) step
WHERE true
ORDER BY several.n, step.key
ON CONFLICT (run_id, key) DO UPDATE SET state = excluded.state, output = excluded.output, ended_at = excluded.ended_at
    WHERE excluded.n > run_steps.n;

DELETE FROM run_steps WHERE substr(key, 1, 1) = '+';
ALTER TABLE runs DROP COLUMN begun;
ALTER TABLE runs DROP COLUMN worker;
