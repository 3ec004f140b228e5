-- Refused requests, and the counts of activities over time.

-- count: how many requests the row stands for.
CREATE TABLE refused_request (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    count INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE INDEX refused_request_by_expiry ON refused_request (expires_at_ms);

-- Both counts read an index alone, and of it only the entries of their period.
CREATE INDEX refused_request_by_time ON refused_request (organization_id, at_ms, count);
CREATE INDEX activity_by_time ON activity (organization_id, status, created_at_ms, type);
