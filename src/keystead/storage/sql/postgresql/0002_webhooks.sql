-- Webhooks.

-- id: the activity and its revision, so that the rows of an activity sort in order. body: what endpoints get.
CREATE TABLE webhook_event (
    organization_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE INDEX webhook_event_by_expiry ON webhook_event (expires_at_ms);

-- organization_id: of the activity. due_ms: null once it is done with.
CREATE TABLE webhook_delivery (
    organization_id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    due_ms BIGINT,
    expires_at_ms BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (organization_id, endpoint_id, id)
);

CREATE INDEX webhook_delivery_by_expiry ON webhook_delivery (expires_at_ms);

-- The deliveries that an endpoint waits for, in order; and which endpoints wait for any.
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (endpoint_id, id) WHERE due_ms IS NOT NULL;

-- The process that delivers to an endpoint. organization_id: of the endpoint.
CREATE TABLE webhook_lease (
    organization_id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (organization_id, endpoint_id)
);

CREATE INDEX webhook_lease_by_expiry ON webhook_lease (expires_at_ms);
