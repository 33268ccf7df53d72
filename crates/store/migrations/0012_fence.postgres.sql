-- A claim by a program that does not know this schema fails, and its log says why. Runs that it holds it may renew,
-- end and give back: none of that sets `worker` to a value.
CREATE FUNCTION refuse_older_program() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A newer Haft upgraded this database. Stop this process and run the newer Haft in its place';
END
$$;
CREATE TRIGGER runs_fence BEFORE INSERT OR UPDATE OF worker ON runs
    FOR EACH ROW WHEN (NEW.worker IS NOT NULL) EXECUTE FUNCTION refuse_older_program();
