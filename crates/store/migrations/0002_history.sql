-- Who changed what. `seq` is a row's place in the chain; the nil space stands for what belongs to none.
-- Nothing refers to other tables: what is on record outlives what it tells of.
CREATE TABLE history (
    seq BIGINT NOT NULL PRIMARY KEY,
    space_id TEXT NOT NULL,
    at BIGINT NOT NULL,
    user_id TEXT,
    what TEXT NOT NULL,
    action TEXT NOT NULL,
    thing_id TEXT NOT NULL,
    thing_name TEXT NOT NULL,
    version BIGINT,
    details TEXT NOT NULL,
    chain BYTEA NOT NULL
);
CREATE INDEX history_space ON history (space_id, seq);

-- The last link of the chain, and the one after which it begins now that older rows are gone. Before the first
-- row there is no link.
CREATE TABLE history_chain (
    id BIGINT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,
    chain BYTEA NOT NULL,
    anchor_seq BIGINT NOT NULL,
    anchor_chain BYTEA NOT NULL
);
INSERT INTO history_chain (id, seq, chain, anchor_seq, anchor_chain) VALUES (1, 0, '', 0, '');
