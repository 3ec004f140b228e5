CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

-- Running upgrade  -> 0001

CREATE TABLE organization (
    id TEXT COLLATE "C" NOT NULL,
    parent_id TEXT COLLATE "C",
    version BIGINT NOT NULL,
    changed_by TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX organization_by_parent ON organization (parent_id, id);

CREATE TABLE record (
    organization_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (organization_id, kind, id)
);

CREATE INDEX record_by_version ON record (organization_id, version);

CREATE TABLE activity (
    organization_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    submitter_id TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    request BYTEA NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    result BYTEA NOT NULL,
    app_proofs BYTEA,
    failure BYTEA,
    proofs BYTEA NOT NULL,
    approvals_since_ms BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE UNIQUE INDEX activity_by_fingerprint ON activity (organization_id, fingerprint);

CREATE INDEX activity_by_status ON activity (organization_id, status, id);

CREATE INDEX activity_by_type ON activity (organization_id, type, status, id);

CREATE TABLE shared_body (
    organization_id TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (organization_id, digest)
);

CREATE TABLE vote (
    organization_id TEXT COLLATE "C" NOT NULL,
    activity_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    selection TEXT COLLATE "C" NOT NULL,
    message BYTEA,
    public_key TEXT COLLATE "C" NOT NULL,
    signature TEXT COLLATE "C" NOT NULL,
    scheme TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    user_digest BYTEA NOT NULL,
    PRIMARY KEY (organization_id, activity_id, user_id)
);

CREATE TABLE policy_evaluation (
    organization_id TEXT COLLATE "C" NOT NULL,
    activity_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    vote_id TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    judgement_digest BYTEA NOT NULL,
    PRIMARY KEY (organization_id, activity_id, id)
);

CREATE TABLE interface_text (
    organization_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    text BYTEA NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE TABLE wallet_account (
    organization_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    wallet_id TEXT COLLATE "C" NOT NULL,
    normalized_path TEXT COLLATE "C" NOT NULL,
    curve TEXT COLLATE "C" NOT NULL,
    address_format TEXT COLLATE "C" NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C",
    exported BOOLEAN NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE INDEX wallet_account_by_address ON wallet_account (organization_id, address, id);

CREATE UNIQUE INDEX wallet_account_by_name ON wallet_account (organization_id, name);

CREATE UNIQUE INDEX wallet_account_by_path ON wallet_account (organization_id, wallet_id, normalized_path, curve, address_format);

CREATE INDEX wallet_account_by_wallet ON wallet_account (organization_id, wallet_id, id);

CREATE TABLE sealed_secret (
    organization_id TEXT COLLATE "C" NOT NULL,
    record_id TEXT COLLATE "C" NOT NULL,
    purpose TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    ciphertext BYTEA NOT NULL,
    PRIMARY KEY (organization_id, record_id, purpose)
);

CREATE TABLE lookup (
    kind TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    parent_id TEXT COLLATE "C" NOT NULL,
    organization_id TEXT COLLATE "C" NOT NULL,
    holder_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, value, parent_id, organization_id, holder_id)
);

CREATE INDEX lookup_by_organization ON lookup (organization_id);

CREATE TABLE instance (
    name TEXT COLLATE "C" NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (name)
);

INSERT INTO alembic_version (version_num) VALUES ('0001') RETURNING alembic_version.version_num;
