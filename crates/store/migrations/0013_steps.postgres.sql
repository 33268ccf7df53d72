-- Steps that were stored with the run come before all others.
INSERT INTO run_steps (run_id, space_id, key, n, effect, state, output, expired, created_at, ended_at)
SELECT run.id, run.space_id, step.value ->> 'key', run.created_at + step.number - 1, step.value ->> 'effect', 'done',
       CAST(step.value -> 'output' AS TEXT), 0, run.created_at, run.created_at
FROM runs run CROSS JOIN LATERAL json_array_elements(CAST(run.begun AS JSON)) WITH ORDINALITY AS step (value, number)
WHERE run.begun IS NOT NULL
ON CONFLICT (run_id, key) DO NOTHING;

-- Of several steps with one key the last one counts.
INSERT INTO run_steps (run_id, space_id, key, n, effect, state, output, expired, created_at, ended_at)
SELECT DISTINCT ON (several.run_id, step.value ->> 'key')
       several.run_id, several.space_id, step.value ->> 'key', several.n + step.number - 1, step.value ->> 'effect', 'done',
       CAST(step.value -> 'output' AS TEXT), 0, several.created_at, several.ended_at
FROM run_steps several CROSS JOIN LATERAL json_array_elements(CAST(several.output AS JSON))
     WITH ORDINALITY AS step (value, number)
WHERE substr(several.key, 1, 1) = '+'
ORDER BY several.run_id, step.value ->> 'key', several.n DESC, step.number DESC
ON CONFLICT (run_id, key) DO UPDATE SET state = excluded.state, output = excluded.output, ended_at = excluded.ended_at
    WHERE excluded.n > run_steps.n;

DELETE FROM run_steps WHERE substr(key, 1, 1) = '+';
ALTER TABLE runs DROP COLUMN begun;

-- Programs without a check of the schema version now fail at the renamed columns.
DROP TRIGGER runs_fence ON runs;
DROP FUNCTION refuse_older_program();
ALTER TABLE runs DROP COLUMN worker;
