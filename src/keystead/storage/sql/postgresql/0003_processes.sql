-- Processes that serve, of all machines. Each renews its row; a row that has expired is of a process that ended.
-- Belongs to no organization, so a distributed database keeps it whole, as it keeps `instance`.

CREATE TABLE process (
    id TEXT COLLATE "C" NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX process_by_expiry ON process (expires_at_ms);
