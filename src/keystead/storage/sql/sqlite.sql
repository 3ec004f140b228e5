CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

-- Running upgrade  -> 0001

CREATE TABLE organization (
    id TEXT NOT NULL,
    parent_id TEXT,
    version BIGINT NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (id)
)
 WITHOUT ROWID;

CREATE INDEX organization_by_parent ON organization (parent_id, id);

CREATE TABLE record (
    organization_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version BIGINT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (organization_id, kind, id)
);

CREATE INDEX record_by_version ON record (organization_id, version);

CREATE TABLE activity (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    type TEXT NOT NULL,
    submitter_id TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    request BLOB NOT NULL,
    status TEXT NOT NULL,
    result BLOB NOT NULL,
    app_proofs BLOB,
    failure BLOB,
    proofs BLOB NOT NULL,
    approvals_since_ms BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE UNIQUE INDEX activity_by_fingerprint ON activity (organization_id, fingerprint);

CREATE INDEX activity_by_status ON activity (organization_id, status, id);

CREATE INDEX activity_by_type ON activity (organization_id, type, status, id);

CREATE TABLE shared_body (
    organization_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (organization_id, digest)
);

CREATE TABLE vote (
    organization_id TEXT NOT NULL,
    activity_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    id TEXT NOT NULL,
    selection TEXT NOT NULL,
    message BLOB,
    public_key TEXT NOT NULL,
    signature TEXT NOT NULL,
    scheme TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    user_digest BLOB NOT NULL,
    PRIMARY KEY (organization_id, activity_id, user_id)
)
 WITHOUT ROWID;

CREATE TABLE policy_evaluation (
    organization_id TEXT NOT NULL,
    activity_id TEXT NOT NULL,
    id TEXT NOT NULL,
    vote_id TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    judgement_digest BLOB NOT NULL,
    PRIMARY KEY (organization_id, activity_id, id)
)
 WITHOUT ROWID;

CREATE TABLE interface_text (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    text BLOB NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE TABLE wallet_account (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    wallet_id TEXT NOT NULL,
    normalized_path TEXT NOT NULL,
    curve TEXT NOT NULL,
    address_format TEXT NOT NULL,
    address TEXT NOT NULL,
    name TEXT,
    exported BOOLEAN NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE INDEX wallet_account_by_address ON wallet_account (organization_id, address, id);

CREATE UNIQUE INDEX wallet_account_by_name ON wallet_account (organization_id, name);

CREATE UNIQUE INDEX wallet_account_by_path ON wallet_account (organization_id, wallet_id, normalized_path, curve, address_format);

CREATE INDEX wallet_account_by_wallet ON wallet_account (organization_id, wallet_id, id);

CREATE TABLE sealed_secret (
    organization_id TEXT NOT NULL,
    record_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    key_id TEXT NOT NULL,
    ciphertext BLOB NOT NULL,
    PRIMARY KEY (organization_id, record_id, purpose)
);

CREATE TABLE lookup (
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    parent_id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    holder_id TEXT NOT NULL,
    PRIMARY KEY (kind, value, parent_id, organization_id, holder_id)
)
 WITHOUT ROWID;

CREATE INDEX lookup_by_organization ON lookup (organization_id);

CREATE TABLE instance (
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (name)
)
 WITHOUT ROWID;

INSERT INTO alembic_version (version_num) VALUES ('0001') RETURNING version_num;
