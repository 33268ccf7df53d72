-- What a run had done when it was first kept, where it was carried on before that and waits for what is sent to it:
-- its first steps in their order, as JSON. Such a run is one row, and all that comes later is in `run_steps`.
ALTER TABLE runs ADD COLUMN begun TEXT;
