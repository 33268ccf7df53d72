-- The webhook of an alert, encrypted like a secret: its path and query may be a credential. Addresses that older
-- versions wrote into `doc` are moved here when the database is opened.
ALTER TABLE alerts ADD COLUMN webhook_key TEXT;
ALTER TABLE alerts ADD COLUMN webhook BYTEA;
