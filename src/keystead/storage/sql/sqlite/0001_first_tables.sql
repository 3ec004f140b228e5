-- The first tables.
--
-- organization_id leads every key, so that the tables can be distributed by it. The exceptions are `lookup`, which
-- is read across organizations, and `instance`, which belongs to none. Texts of callers are UTF-8 bytes: JSON may
-- hold U+0000, which PostgreSQL's text cannot. To read them: CAST(request AS TEXT).

CREATE TABLE organization (
    id TEXT NOT NULL,
    parent_id TEXT,
    version INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (id)
) WITHOUT ROWID;

-- A page of a parent's sub-organizations. A deleted sub-organization has no parent here.
CREATE INDEX organization_by_parent ON organization (parent_id, id);

-- A deleted record keeps its row, with an empty body: other processes ask which records changed since a version.
CREATE TABLE record (
    organization_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
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
    created_at_ms INTEGER NOT NULL,
    request BLOB NOT NULL,
    status TEXT NOT NULL,
    result BLOB NOT NULL,
    app_proofs BLOB,
    failure BLOB,
    proofs BLOB NOT NULL,
    approvals_since_ms INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE UNIQUE INDEX activity_by_fingerprint ON activity (organization_id, fingerprint);

-- A page of any statuses merges one walk of the first index for each status; a page of any types and statuses, one
-- walk of the second for each pair. So a page costs the same however many activities there are.
CREATE INDEX activity_by_status ON activity (organization_id, status, id);
CREATE INDEX activity_by_type ON activity (organization_id, type, status, id);

-- Bodies that many rows share, stored once: who a voter was, what the policies said. digest: SHA-256 of the body.
CREATE TABLE snapshot (
    organization_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (organization_id, digest)
);

-- message: what the voter signed; null where it is the activity's request, as for its submitter.
-- user_digest: the snapshot of the voter, as of the vote.
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
    created_at_ms INTEGER NOT NULL,
    user_digest BLOB NOT NULL,
    PRIMARY KEY (organization_id, activity_id, user_id)
) WITHOUT ROWID;

-- activity_id: of an activity on record, or of a submission that was denied and left none.
-- findings_digest: the snapshot of what the policies said.
CREATE TABLE policy_evaluation (
    organization_id TEXT NOT NULL,
    activity_id TEXT NOT NULL,
    id TEXT NOT NULL,
    vote_id TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    findings_digest BLOB NOT NULL,
    PRIMARY KEY (organization_id, activity_id, id)
) WITHOUT ROWID;

CREATE TABLE interface_text (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    text BLOB NOT NULL,
    PRIMARY KEY (organization_id, id)
);

-- address: in the one form that stands for all spellings (`chains.address_forms.stored_form`).
-- exported: whether the key of this account was exported on its own. Callers do not see it.
CREATE TABLE wallet_account (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    wallet_id TEXT NOT NULL,
    normalized_path TEXT NOT NULL,
    curve TEXT NOT NULL,
    address_format TEXT NOT NULL,
    address TEXT NOT NULL,
    name TEXT,
    exported INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE INDEX wallet_account_by_wallet ON wallet_account (organization_id, wallet_id, id);

-- Across wallets: a request to sign names an account by its address alone.
CREATE INDEX wallet_account_by_address ON wallet_account (organization_id, address, id);
CREATE UNIQUE INDEX wallet_account_by_name ON wallet_account (organization_id, name);

-- The path comes before the curve, so that an account is found by its path alone.
CREATE UNIQUE INDEX wallet_account_by_path
    ON wallet_account (organization_id, wallet_id, normalized_path, curve, address_format);

CREATE TABLE sealed_secret (
    organization_id TEXT NOT NULL,
    record_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    key_id TEXT NOT NULL,
    ciphertext BLOB NOT NULL,
    PRIMARY KEY (organization_id, record_id, purpose)
);

-- Rows with a revision: each is replaced only where the revision before it is still there.

CREATE TABLE one_time_code (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE INDEX one_time_code_by_expiry ON one_time_code (expires_at_ms);

-- subject: a digest of the contact, or of the caller's identifier of its user.
CREATE TABLE one_time_code_count (
    organization_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    revision INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (organization_id, subject)
);

CREATE INDEX one_time_code_count_by_expiry ON one_time_code_count (expires_at_ms);

-- Verification tokens that are good for one use, once they were used. id: one use over all organizations, since a
-- parent's token is good in each of its sub-organizations.
CREATE TABLE used_token (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE UNIQUE INDEX used_token_by_id ON used_token (id);
CREATE INDEX used_token_by_expiry ON used_token (expires_at_ms);

-- due_ms: null once the message was sent or given up.
CREATE TABLE outgoing_message (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    due_ms INTEGER,
    expires_at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE INDEX outgoing_message_by_expiry ON outgoing_message (expires_at_ms);

-- Any process takes what is due, of any organization.
CREATE INDEX outgoing_message_due ON outgoing_message (due_ms) WHERE due_ms IS NOT NULL;

CREATE TABLE email_event (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    event_type TEXT NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (organization_id, id)
);

CREATE INDEX email_event_by_expiry ON email_event (expires_at_ms);
CREATE INDEX email_event_by_recipient ON email_event (organization_id, recipient, id);

-- parent_id: '' for an organization without a parent, since null could not be part of the key.
-- holder_id: two holders in one organization may have the same value.
-- is_exclusive: a credential that the organization registered itself, so that no sibling may.
CREATE TABLE lookup (
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    parent_id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    holder_id TEXT NOT NULL,
    is_exclusive INTEGER NOT NULL,
    PRIMARY KEY (kind, value, parent_id, organization_id, holder_id)
) WITHOUT ROWID;

-- Of two sub-organizations of a parent that register one credential in the same instant, the second finds this row.
CREATE UNIQUE INDEX lookup_exclusive ON lookup (kind, value, parent_id) WHERE is_exclusive;

-- For the deletion of an organization.
CREATE INDEX lookup_by_organization ON lookup (organization_id);

CREATE TABLE instance (
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (name)
) WITHOUT ROWID;

-- The number of the last migration that was applied. One row.
CREATE TABLE schema_version (
    version INTEGER NOT NULL,
    PRIMARY KEY (version)
) WITHOUT ROWID;
